"""16-bit dtypes are storage formats: exact on load, float32 arithmetic, rounded once on store."""

import re

import ml_dtypes
import numpy as np
import pytest
import torch

import prism_explore as px
from prism_explore.codegen.cpu.llvm.builder import Memory
from prism_explore.codegen.cpu.load import load_plan
from prism_explore.codegen.cpu.plan import plan
from prism_explore.errors import ShapeError
from prism_explore.ir.interpreter.reference import evaluate
from prism_explore.ir.tensors import numpy_dtype
from prism_explore.ir.text import parse, parse_program
from prism_explore.pipeline.stages import Parameters
from prism_explore.targets.cpus import host_cpu
from tests.codegen.corpus import CASES
from tests.codegen.cpu.llvm.test_builder import call
from tests.codegen.wider import WIDER
from tests.session.test_session import QUICK, machine

SHORT = ("bf16", "f16")
EPS = {"bf16": 2.0**-8, "f16": 2.0**-11}
"""Half a unit in the last place, relative."""

pytestmark = pytest.mark.skipif(not host_cpu().converts_f16, reason="this CPU does not convert float16")


def everything(dtype):
    return np.arange(1 << 16, dtype=np.uint16).view(numpy_dtype(dtype))


@pytest.mark.parametrize("dtype", SHORT)
@pytest.mark.parametrize(("lanes", "width"), [(0, 4), (4, 4), (5, 8), (16, 16)])
def test_every_number_is_read_exactly(dtype, lanes, width):
    x = everything(dtype)[: 65536 - 65536 % max(lanes, 1)]
    out = np.zeros(len(x), dtype=np.float32)

    def write(builder, target, source):
        with builder.loop(0, len(x), max(1, lanes)) as i:
            builder.store(builder.load(Memory(source.pointer, dtype), i, lanes), target, i)

    call(write, [out, x], width)
    np.testing.assert_array_equal(x.astype(np.float32), out)


@pytest.mark.parametrize("dtype", SHORT)
@pytest.mark.parametrize(("lanes", "width"), [(0, 4), (4, 4), (7, 8), (16, 16)])
def test_values_are_rounded_to_the_nearest_ties_to_even(dtype, lanes, width):
    rng = np.random.default_rng(0)
    near = everything(dtype).astype(np.float32)
    near = near[np.isfinite(near)]
    x = np.concatenate(
        [
            near,
            np.nextafter(near, np.float32(np.inf)),
            near[:-1] / 2 + near[1:] / 2,
            rng.standard_normal(9999).astype(np.float32) * np.float32(10.0) ** rng.integers(-30, 30, 9999),
            np.array([np.inf, -np.inf, np.nan, -np.nan, 0.0, -0.0, 3.4e38, 65519.9, 65520.0, 1e-45], np.float32),
        ]
    ).astype(np.float32)
    x = x[: len(x) - len(x) % max(1, lanes)]
    out = np.zeros(len(x), dtype=numpy_dtype(dtype))

    def write(builder, target, source):
        with builder.loop(0, len(x), max(1, lanes)) as i:
            builder.store(builder.load(source, i, lanes), Memory(target.pointer, dtype), i)

    call(write, [out, x], width)
    with np.errstate(all="ignore"):
        wanted = x.astype(numpy_dtype(dtype))
    np.testing.assert_array_equal(wanted.astype(np.float64), out.astype(np.float64))
    np.testing.assert_array_equal(np.signbit(wanted), np.signbit(out))


def small(graph):
    """Values of all symbols at which every extent is divisible."""
    parameters = dict.fromkeys(graph.parameters, 2)
    return parameters, dict.fromkeys(graph.data_symbols, 8)


@pytest.mark.parametrize("dtype", SHORT)
@pytest.mark.parametrize("case", (*CASES, *WIDER), ids=lambda c: c.name)
def test_kernels_store_16_bits_and_add_in_float32(case, dtype):
    graph = parse(re.sub(r"\bf32\b", dtype, case.text))
    sizes, shapes = small(graph)
    made = plan(graph, Parameters(tuple(sizes.items())), shapes)
    if isinstance(made, str):
        pytest.skip(made)
    whole = graph.substitute({**sizes, **shapes})
    rng = np.random.default_rng(3)
    inputs = {
        i.name: rng.uniform(-1, 1, [d.value({}) for d in i.type.dims]).astype(numpy_dtype(dtype)) for i in whole.inputs
    }
    with np.errstate(all="ignore"):
        wanted = evaluate(whole, {k: a.astype(np.float64) for k, a in inputs.items()})
    run = load_plan(made)
    laid = []
    for i in whole.inputs:
        stored = np.ascontiguousarray(inputs[i.name].transpose(i.type.storage_order))
        laid.append(stored.transpose(np.argsort(i.type.storage_order)))
    found = run(*laid)

    assert numpy_dtype(dtype) == found.dtype
    finite = np.isfinite(wanted)
    scale = np.abs(wanted[finite]).max(initial=1e-3)
    np.testing.assert_allclose(wanted[finite] / scale, found.astype(np.float64)[finite] / scale, atol=3 * EPS[dtype])


def test_a_long_sum_of_small_numbers_is_not_lost():
    program = parse_program("program mean\n  x = input bf16[2, 65536]\n  %1 = mean(x, dim=1)\n  return %1")
    text = """sgraph
  x = input bf16[2, 65536]
  %1 = custom(x) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[0], fmap=1)
    %1 = accum_mean(%0, dim=1)
    %2 = store(%1, omap=[0])
  return %1
"""
    made = plan(parse(text), Parameters((("gx", 2), ("f", 64))), {})
    x = np.full((2, 65536), 1.0, dtype=ml_dtypes.bfloat16)
    x[:, 1::2] = 1.03125

    found = load_plan(made)(x).astype(np.float64)
    wanted = evaluate(program, {"x": x.astype(np.float64)})
    np.testing.assert_array_equal(np.full((2, 1), 1.015625), wanted)
    np.testing.assert_array_equal(wanted, found)


def test_a_search_in_bfloat16_ends_with_a_kernel_on_torch_tensors(tmp_path):
    def gated(x, w, v):
        return torch.nn.functional.silu(x @ w) * (x @ v)

    sess = px.Session(
        gated,
        x=px.T("b", 64, dtype="bf16"),
        w=px.T(64, 96, dtype="bf16"),
        v=px.T(64, 96, dtype="bf16"),
        target=machine(),
        at={"b": 3},
        budget=QUICK,
        baselines=("torch eager",),
    )
    best = sess.best()
    sess.close()
    x, w, v = (torch.randn(*s).bfloat16() for s in ((3, 64), (64, 96), (64, 96)))
    wanted = gated(x.double(), w.double(), v.double())

    found = best(x, w, v)
    assert torch.bfloat16 == found.dtype
    torch.testing.assert_close(wanted, found.double(), rtol=1e-2, atol=1e-2 * wanted.abs().max().item())
    assert best.ratios["torch eager"] > 0
    assert max(best.check(2)) < 4 * EPS["bf16"]
    assert " bf16" in best.source
    again = px.load_kernel(best.save(tmp_path / "gated.kernel"))
    torch.testing.assert_close(best.kernel(x, w, v), again(x, w, v), rtol=0, atol=0)  # best may be torch
    with pytest.raises(ShapeError, match="must be bfloat16, found float32"):
        best(x.float(), w, v)
