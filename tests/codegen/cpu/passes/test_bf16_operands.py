"""Products of bfloat16 pairs: when the choice exists, which operands are rounded, and the results."""

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from prism_explore.codegen.cpu.load import load_plan
from prism_explore.codegen.cpu.plan import Plan, choices_of, plan
from prism_explore.ir.text import parse
from prism_explore.pipeline.stages import Parameters
from prism_explore.targets.cpus import host_cpu

PRODUCT = """sgraph
  x = input bf16[b, {k}]
  g = input bf16[{k}]
  w = input bf16[{k}, {n}] {order}
  %3 = custom(x, g, w) grid[x=gx]
    %0 = load(0, imap=[-])
    %1 = load(1, imap=[-])
    %2 = load(2, imap=[1])
    %3 = {left}
    %4 = matmul(%3, %2)
    %5 = store(%4, omap=[1])
  return %3
"""
SCALED, COPIED = "mul(%0, %1)", "mul_scalar(%0, 1)"

pytestmark = pytest.mark.skipif(not host_cpu().bf16_dot, reason="this CPU does not multiply bfloat16 in pairs")


def graph(k=64, n=6, left=SCALED, order="order(1, 0)", dtype="bf16"):
    return parse(PRODUCT.format(k=k, n=n, left=left, order=order).replace("bf16", dtype))


def made(text, b, lanes=None, **schedule):
    found = plan(text, Parameters((("gx", 1),), tuple(schedule.items())), {"b": b}, lanes)
    assert isinstance(found, Plan), found
    return found


def inputs(b, k, n):
    rng = np.random.default_rng(5)
    x, g = (rng.standard_normal(s).astype(ml_dtypes.bfloat16) for s in ((b, k), (k,)))
    return x, g, rng.standard_normal((n, k)).astype(ml_dtypes.bfloat16).T


def wide(a):
    return a.astype(np.float64)


def rounded(a):
    return wide(a.astype(np.float32).astype(ml_dtypes.bfloat16))


def names(text, b):
    return {c.name for c in choices_of(text, Parameters((("gx", 1),)), {"b": b})}


def test_it_is_offered_for_weights_of_bfloat16_that_lie_along_k():
    assert "short" in names(graph(), 4)
    assert "short" not in names(graph(order=""), 4)
    assert "short" not in names(graph(dtype="f32"), 4)


def test_the_text_shows_the_bf16_buffers():
    assert "bfloat16 in pairs" in made(graph(), 4).source
    assert "t3[4, 64] bf16" in made(graph(), 4).source
    assert "t3[4, 64] bf16" not in made(graph(), 4, short=0).source


@pytest.mark.parametrize("lanes", [16, 8, 4])
@pytest.mark.parametrize(("b", "k", "n"), [(1, 64, 6), (1, 33, 1), (5, 70, 7), (8, 31, 4), (16, 200, 9), (3, 2, 5)])
def test_the_left_operand_is_rounded_once_and_sums_are_float32(b, k, n, lanes):
    x, g, w = inputs(b, k, n)
    found = wide(load_plan(made(graph(k, n), b, lanes))(x, g, w))

    left = rounded(wide(x) * wide(g))
    wanted = left @ wide(w)
    slack = 2.0**-8 * np.abs(wanted) + 1e-6 * (np.abs(left) @ np.abs(wide(w)))
    assert (np.abs(found - wanted) <= slack).all()


@pytest.mark.parametrize("short", [0, 1])
def test_both_ways_are_near_the_truth(short):
    x, g, w = inputs(6, 96, 10)
    found = wide(load_plan(made(graph(96, 10), 6, short=short))(x, g, w))

    wanted = (wide(x) * wide(g)) @ wide(w)
    assert np.abs(found - wanted).max() <= 2.0**-6 * np.abs(wanted).max()


def test_a_copied_input_loses_nothing():
    x, g, w = inputs(7, 90, 5)
    plain, pairs = (wide(load_plan(made(graph(90, 5, COPIED), 7, short=s))(x, g, w)) for s in (0, 1))

    # Only the order of additions differs: most results are the same, the others one rounding apart.
    assert (np.abs(plain - pairs) <= 2.0**-7 * np.abs(plain) + 1e-6).all()
    assert (plain == pairs).mean() > 0.9


def test_a_tile_that_a_sum_reads_too_stays_float32():
    text = PRODUCT.format(k=64, n=6, left=SCALED, order="order(1, 0)").replace(
        "    %5 = store(%4, omap=[1])\n",
        "    %5 = mean(%3, dim=1)\n    %6 = mul(%4, %5)\n    %7 = store(%6, omap=[1])\n",
    )
    found = made(parse(text), 4)

    assert "pairs" not in found.source
    assert "t3[4, 64]" in found.source
    assert "t3[4, 64] bf16" not in found.source


def test_a_cpu_without_pairs_computes_in_float32(monkeypatch):
    monkeypatch.setitem(plan.__globals__, "host_cpu", lambda: replace(host_cpu(), bf16_dot=""))

    assert "pairs" not in made(graph(), 4).source
    assert "short" not in names(graph(), 4)
    reason = plan(graph(), Parameters((("gx", 1),), (("short", 1),)), {"b": 4})
    assert isinstance(reason, str)
    assert reason.startswith("schedule short=1: this kernel's choices are")


DEQUANTIZED = """sgraph
  x = input {dtype}[b, 64]
  w = input u8[{n}, 64]
  s = input {dtype}[{n}, 2, 1]
  %3 = custom(x, w, s) grid[x=gx]
    %0 = load(0, imap=[-])
    %1 = load(1, imap=[0])
    %2 = load(2, imap=[0])
    %3 = reshape(%1, dims=[{n}/gx, 2, 32])
    %4 = mul(%3, %2)
    %5 = reshape(%4, dims=[{n}/gx, 64])
    %6 = permute(%5, order=[1, 0])
    %7 = matmul(%0, %6)
    %8 = store(%7, omap=[1])
  return %3
"""


def test_a_right_operand_is_rounded_once_in_a_program_of_bfloat16():
    found = made(parse(DEQUANTIZED.format(dtype="bf16", n=6)), 4)
    assert "bfloat16 in pairs" in found.source
    rng = np.random.default_rng(2)
    x, s = (rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in ((4, 64), (6, 2, 1)))
    w = rng.integers(0, 256, (6, 64)).astype(np.uint8)

    right = rounded(w.reshape(6, 2, 32) * wide(s)).reshape(6, 64)
    wanted = wide(x) @ right.T
    slack = 2.0**-8 * np.abs(wanted) + 1e-6 * (np.abs(wide(x)) @ np.abs(right).T)
    assert (np.abs(wide(load_plan(found)(x, w, s)) - wanted) <= slack).all()


def test_a_right_operand_stays_float32_where_a_float_is_float32():
    assert "pairs" not in made(parse(DEQUANTIZED.format(dtype="f32", n=6)), 4).source
    mixed = DEQUANTIZED.format(dtype="bf16", n=6).replace("s = input bf16", "s = input f32")
    assert "pairs" not in made(parse(mixed), 4).source


def test_an_operand_that_cannot_be_rounded_keeps_the_other_in_float32():
    text = DEQUANTIZED.format(dtype="bf16", n=6).replace(
        "    %8 = store(%7, omap=[1])\n",
        "    %8 = mean(%5, dim=1)\n    %9 = permute(%8, order=[1, 0])\n"
        "    %10 = mul(%7, %9)\n    %11 = store(%10, omap=[1])\n",
    )
    found = made(parse(text), 4)

    assert "pairs" not in found.source
    assert "] bf16 strides" not in found.source.partition("scratch")[2]
