"""Fusion of column sums with a product: legality, and equal results with and without fusion."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism_explore.codegen.cpu.load import load_plan
from prism_explore.codegen.cpu.loop_ir import Contract, Fold
from prism_explore.codegen.cpu.lower_graph import lower_graph
from prism_explore.codegen.cpu.passes.fuse_column_sums import FusedSum, find_column_sums
from prism_explore.codegen.cpu.schedule import schedule_space
from prism_explore.ir.tensors import numpy_dtype
from prism_explore.ir.text import parse
from prism_explore.targets.cpus import host_cpu
from tests.codegen.corpus import filled, reference, relative_error
from tests.codegen.cpu.test_compile import planned


def text(of: str = "square(%1)", sums: str = "mean", along: int = 1, first: bool = True, dtype: str = "f32") -> str:
    """Scores of queries over keys, times something of each key, which is computed before or after the product."""
    made = (f"%3 = {of}", f"%4 = {sums}(%3, dim={along})", "%5 = matmul(%0, %1)")
    behind = ("%3 = matmul(%0, %1)", f"%4 = {of}", f"%5 = {sums}(%4, dim={along})")
    lines = "\n    ".join(made if first else behind)
    of_keys, scores = ("%4", "%5") if first else ("%5", "%3")
    return f"""sgraph
  q = input {dtype}[h, m, d]
  k = input {dtype}[h, t, d]
  z = input {dtype}[h, t, d]
  %3 = permute(k, order=[0, 2, 1])
  %4 = permute(z, order=[0, 2, 1])
  %5 = custom(q, %3, %4) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[0])
    %1 = load(1, imap=[0], fmap=2)
    %2 = load(2, imap=[0], fmap=2)
    {lines}
    %6 = add_scalar({of_keys}, 1)
    %7 = mul({scores}, %6)
    %8 = mul(%7, {scores})
    %9 = accum(%8, dim=2)
    %10 = store(%9, omap=[0])
  return %5
"""


USUAL = {"h": 4, "m": 3, "t": 96, "d": 32, "gx": 2, "f": 2}


def found(source: str, **sizes: int) -> list[tuple[Contract, FusedSum]]:
    (nest,) = (n for n in lower_graph(parse(source).substitute({**USUAL, **sizes})).nests if n.body)
    kept = [(nest.body[at], ride) for at, ride in find_column_sums(nest.body).items()]
    return [(c, ride) for c, ride in kept if isinstance(c, Contract)]


@pytest.mark.parametrize("first", [True, False])
def test_the_squares_of_keys_are_summed_with_their_scores(first) -> None:
    ((product, ride),) = found(text(first=first))

    assert isinstance(ride.fold, Fold)
    assert set(ride.fold.along) == {r.name for r in product.k}
    assert ride.fold.target.stride(product.n.name) == 1
    made = planned(parse(text(first=first)), USUAL)
    assert (1, 0) == next(c.values for c in schedule_space(made.loops, host_cpu()) if c.name == "ride")
    assert f"; beside it {ride.fold.target}" in made.source
    assert "; beside it" not in planned(parse(text(first=first)), USUAL, ride=0).source


@pytest.mark.parametrize(
    ("why", "source", "sizes"),
    [
        ("a maximum", text(sums="max"), {}),
        ("something else is read, too", text(of="mul(%1, %2)"), {}),
        ("another operand is read", text(of="square(%2)"), {}),
        ("a vector is not whole", text(), {"d": 24}),
        ("a product in pairs", text(dtype="bf16"), {}),
    ],
)
def test_what_is_another_sum_does_not(why, source, sizes) -> None:
    assert [] == found(source, **sizes), why


@settings(max_examples=25, deadline=None)
@given(
    m=st.integers(1, 9),
    t=st.sampled_from((2, 6, 34, 80)),
    vectors=st.integers(1, 5),
    h=st.integers(1, 3),
    ride=st.sampled_from((1, 0)),
    lanes=st.sampled_from((16, 8, 4)),
    mr=st.sampled_from((1, 2, 4, 8)),
    nr=st.sampled_from((2, 3, 4, 8)),
    kv=st.sampled_from((1, 2)),
    of=st.sampled_from(("square(%1)", "exp(%1)", "mul(%1, %2)")),
    first=st.booleans(),
    dtype=st.sampled_from(("f32", "f16")),
)
def test_with_it_and_without_a_kernel_computes_the_same(
    m, t, vectors, h, ride, lanes, mr, nr, kv, of, first, dtype
) -> None:
    sizes = {"h": h, "m": m, "t": t, "d": 16 * vectors, "gx": h, "f": 2}
    source = text(of=of, first=first, dtype=dtype)
    offered = {c.name for c in schedule_space(planned(parse(source), sizes, lanes).loops, host_cpu())}
    given_ = {"mr": mr, "nr": nr, "kv": kv, "ride": ride}

    chosen = {n: v for n, v in given_.items() if n in offered}
    inputs = {name: x.astype(numpy_dtype(dtype)) for name, x in filled(parse(source), sizes).items()}
    result = load_plan(planned(parse(source), sizes, lanes, **chosen))(*inputs.values())
    wanted = reference(parse(source), {name: x.astype(np.float32) for name, x in inputs.items()}, sizes)

    assert relative_error(wanted, result.astype(np.float32)) < (2e-5 if dtype == "f32" else 2e-3)
