"""Inlining of tiles that only put values in another order: what is inlined, and equal results with and without it."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism_explore.codegen.cpu import lower_block
from prism_explore.codegen.cpu.block_analysis import LoweringOptions
from prism_explore.codegen.cpu.loop_ir import Contract, Fold, LoopNest, Map
from prism_explore.codegen.cpu.loop_text import show_loops
from prism_explore.codegen.cpu.lower_graph import lower_graph
from prism_explore.ir.text import parse
from tests.codegen.corpus import filled, reference, relative_error
from tests.codegen.cpu.test_loop_ir import run

PACKED = """sgraph
  x = input f32[{rows}, 128]
  w = input u8[8, 64]
  s = input f32[8, 4]
  %3 = reshape(s, dims=[8, 4, 1])
  %4 = custom(x, w, %3) grid[x=gx]
    %0 = load(0, imap=[-])
    %1 = load(1, imap=[0])
    %2 = load(2, imap=[0])
    %3 = mul_scalar(%1, 1/16)
    %4 = floor(%3)
    %5 = mul_scalar(%4, 16)
    %6 = sub(%1, %5)
    %7 = reshape(%6, dims=[8/gx, 64, 1])
    %8 = reshape(%4, dims=[8/gx, 64, 1])
    %9 = concat(%7, %8, dim=2)
    %10 = reshape(%9, dims=[8/gx, 4, 32])
    %11 = mul(%2, %10)
    %12 = reshape(%11, dims=[8/gx, 128])
{end}
  return %4
"""
"""A linear layer whose weight has two numbers of 4 bits in each byte, and a scale for each 32 of them."""
SUM = """    %13 = mul(%0, %12)
    %14 = permute(%13, order=[1, 0])
    %15 = sum(%14, dim=0)
    %16 = store(%15, omap=[1])"""
PRODUCT = """    %13 = permute(%12, order=[1, 0])
    %14 = matmul(%0, %13)
    %15 = store(%14, omap=[1])"""


def packed(end: str = SUM, rows: int = 1, hoist: bool = True) -> LoopNest:
    graph = parse(PACKED.format(end=end, rows=rows)).substitute({"gx": 2})
    nests = lower_graph(graph, LoweringOptions(hoist=hoist)).nests
    return next(n for n in nests if n.grid)


def test_the_text_of_a_sum_over_unpacked_numbers(golden) -> None:
    graph = parse(PACKED.format(end=SUM, rows=1)).substitute({"gx": 2})
    golden("codegen/unpacked", show_loops(lower_graph(graph)))


def test_a_sum_reads_two_numbers_where_they_are_unpacked() -> None:
    nest = packed()
    (fold,) = (s for s in nest.statements if isinstance(s, Fold))

    assert 64 == prod(r.extent for r in fold.domain if r.name in fold.along)
    assert {"p_x", "p_x_"} == {b.name for b in nest.scratch if b.name.startswith("p")}
    assert not [b for b in nest.scratch if b.name.startswith("t")]


def test_an_operand_is_copied_once_per_thread_unless_nothing_is_hoisted() -> None:
    assert 2 == sum(isinstance(s, Map) for s in packed().once)
    assert () == packed(hoist=False).once
    assert 2 == sum(s.target.buffer.name.startswith("p_x") for s in packed(hoist=False).statements)


def test_a_product_reads_the_columns_in_the_order_in_which_they_are_unpacked(golden) -> None:
    graph = parse(PACKED.format(end=PRODUCT, rows=2)).substitute({"gx": 2})
    golden("codegen/unpacked_product", show_loops(lower_graph(graph)))
    (product,) = (s for s in packed(PRODUCT, rows=2).statements if isinstance(s, Contract))

    assert (1, 1) == (product.left.stride(product.k[0].name), product.right.stride(product.k[0].name))


def test_a_product_of_one_row_is_the_same_sum() -> None:
    nest = packed(PRODUCT)

    assert not any(isinstance(s, Contract) for s in nest.statements)
    assert 1 == sum(isinstance(s, Fold) for s in nest.statements)


@pytest.mark.parametrize(("end", "rows"), [(SUM, 1), (PRODUCT, 1), (PRODUCT, 3)])
def test_both_compute_what_the_sgraph_computes(end: str, rows: int) -> None:
    graph = parse(PACKED.format(end=end, rows=rows))
    inputs = filled(graph, {})
    inputs["w"] = np.random.default_rng(0).integers(0, 256, (8, 64)).astype(np.uint8)

    assert (
        relative_error(reference(graph, inputs, {"gx": 2}), run(lower_graph(graph.substitute({"gx": 2})), inputs))
        < 1e-9
    )


# ---------------------------------------------------------------- all orders
@st.composite
def chains(draw: st.DrawFn) -> tuple[str, tuple[int, ...]]:
    """A block that splits, merges, doubles and scales dims of a tile, and sums or stores the result."""
    dims = [draw(st.sampled_from([4, 6, 8, 12]))]
    first, lines = dims[0], []

    def add(line: str) -> None:
        lines.append(f"    %{len(lines) + 2} = {line}")

    at = 1
    for _ in range(draw(st.integers(1, 6))):
        d = draw(st.integers(0, len(dims) - 1))
        match draw(st.sampled_from(["split", "merge", "concat", "scale"])):
            case "split" if parts := [p for p in (2, 3, 4) if dims[d] % p == 0 and dims[d] > p]:
                part = draw(st.sampled_from(parts))
                dims[d : d + 1] = draw(st.sampled_from([[part, dims[d] // part], [dims[d] // part, part]]))
            case "merge" if d + 1 < len(dims):
                dims[d : d + 2] = [dims[d] * dims[d + 1]]
            case "concat" if prod(dims) <= 24:
                add(f"neg(%{at})")
                add(f"concat(%{at}, %{len(lines) + 1}, dim={d + 1})")
                dims[d] *= 2
                at = len(lines) + 1
                continue
            case _:
                add(f"add_scalar(%{at}, 3)")
                at = len(lines) + 1
                continue
        add(f"reshape(%{at}, dims=[4/gx, {', '.join(map(str, dims))}])")
        at = len(lines) + 1
    total = prod(dims)
    add(f"reshape(%{at}, dims=[4/gx, {total}])")
    add(f"mul(%0, %{len(lines) + 1})")
    if draw(st.booleans()):
        add(f"{draw(st.sampled_from(['sum', 'max']))}(%{len(lines) + 1}, dim=1)")
    add(f"store(%{len(lines) + 1}, omap=[0])")
    body = "\n".join(lines)
    text = f"""sgraph
  x = input f32[1, {total}]
  w = input f32[4, {first}]
  %2 = custom(x, w) grid[x=gx]
    %0 = load(0, imap=[-])
    %1 = load(1, imap=[0])
{body}
  return %2
"""
    return text, tuple(dims)


@settings(max_examples=60, deadline=None)
@given(chain=chains(), gx=st.sampled_from([1, 2]), hoist=st.booleans())
def test_any_order_of_values_is_that_of_the_sgraph(chain: tuple[str, tuple[int, ...]], gx: int, hoist: bool) -> None:
    graph = parse(chain[0])
    inputs = filled(graph, {})
    lowered = lower_graph(graph.substitute({"gx": gx}), LoweringOptions(hoist=hoist))

    assert relative_error(reference(graph, inputs, {"gx": gx}), run(lowered, inputs)) < 1e-9


@settings(max_examples=30, deadline=None)
@given(chain=chains())
def test_a_chain_of_orders_needs_no_more_memory_than_without_the_pass(chain: tuple[str, tuple[int, ...]]) -> None:
    graph = parse(chain[0]).substitute({"gx": 2})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lower_block, "inline_tiles", lambda nest, hoist: nest)
        before = [b for n in lower_graph(graph).nests for b in n.scratch]
    after = [b for n in lower_graph(graph).nests for b in n.scratch if not b.name.startswith("p_")]

    assert {b.name for b in after} <= {b.name for b in before}
