"""Views, maxima, masks, scans and several results: their shapes, texts and meaning."""

import numpy as np
import pytest

from prism_explore.errors import PrismError, ShapeError
from prism_explore.ir.elementwise import UNARY, masked_value
from prism_explore.ir.interpreter.reference import evaluate
from prism_explore.ir.text import parse, parse_program, show
from tests.strategies import random_inputs

ONLINE = """sgraph
  q = input f32[m, 4]
  k = input f32[4, n]
  v = input f32[n, 5]
  %3 = band(rows=m, columns=n, high=6, dtype=f32)
  %4 = custom(q, k, v, %3) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[0])
    %1 = load(1, imap=[-], fmap=1)
    %2 = load(2, imap=[-], fmap=0)
    %3 = load(3, imap=[0], fmap=1)
    %4 = matmul(%0, %1)
    %5 = mask(%4, %3)
    %6 = running_max(%5, dim=1)
    %7 = sub(%5, %6)
    %8 = exp(%7)
    %9 = matmul(%8, %2)
    %10 = accum_rescaled(%9, %6)
    %11 = accum_rescaled(%8, %6, dim=1)
    %12 = store(%10, omap=[0])
    %13 = store(%11, omap=[0])
  %5 = result(%4, index=1)
  %6 = div(%4, %5)
  return %6"""

VIEWS = """program views
  x = input f32[b, 12]
  y = input f32[b, 4]
  %2 = reshape(x, dims=[b, 3, 4])
  %3 = permute(%2, order=[1, 0, 2])
  %4 = slice(%3, dim=0, start=0, stop=2)
  %5 = reshape(y, dims=[1, b, 4])
  %6 = expand(%5, dim=0, size=3)
  %7 = concat(%4, %6, dim=0)
  %8 = max(%7, dim=2)
  return %8"""


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("text", [ONLINE, ONLINE.replace("high=6", "low=1 - n, high=n")])
def test_a_printed_graph_of_all_kinds_parses_back(text):
    assert text == show(parse(text))


def test_views_print_and_parse_back():
    assert VIEWS == show(parse_program(VIEWS))


@pytest.mark.parametrize(("gx", "f"), [(1, 1), (2, 3), (6, 12), (3, 4)])
def test_online_softmax_equals_softmax_also_where_a_whole_tile_is_masked(gx, f):
    inputs = random_inputs(parse(ONLINE), {"m": 6, "n": 12})
    q, k, v = (np.asarray(inputs[name], float) for name in "qkv")
    keep = np.arange(12) - np.arange(6)[:, None] <= 6
    weights = np.where(keep, np.exp(q @ k), 0.0)

    found = evaluate(parse(ONLINE), {"q": q, "k": k, "v": v}, {"gx": gx, "f": f})

    close((weights / weights.sum(1, keepdims=True)) @ v, found)


def test_views_mean_what_numpy_means():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(5, 12)), rng.normal(size=(5, 4))
    cut = x.reshape(5, 3, 4).transpose(1, 0, 2)[:2]

    found = evaluate(parse_program(VIEWS), {"x": x, "y": y})

    close(np.concatenate([cut, np.repeat(y[None], 3, 0)]).max(2, keepdims=True), found)


def test_a_tile_is_reshaped_by_sizes_that_the_grid_decides():
    text = """sgraph
  x = input f32[12, 5]
  %1 = custom(x) grid[x=gx]
    %0 = load(0, imap=[0])
    %1 = reshape(%0, dims=[5, 12/gx])
    %2 = reshape(%1, dims=[12/gx, 5])
    %3 = store(%2, omap=[0])
  return %1"""
    x = np.random.default_rng(0).normal(size=(12, 5))

    close(x, evaluate(parse(text), {"x": x}, {"gx": 3}))
    assert "dims=[5, 4]" in show(parse(text).substitute({"gx": 3}))


def test_two_results_of_one_kernel_are_two_tensors():
    text = """sgraph
  x = input f32[4, 6]
  %1 = custom(x) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[0], fmap=1)
    %1 = accum_sum(%0, dim=1)
    %2 = accum_max(%0, dim=1)
    %3 = store(%1, omap=[0])
    %4 = store(%2, omap=[0])
  %2 = result(%1, index=1)
  %3 = sub(%1, %2)
  return %3"""
    x = np.random.default_rng(0).normal(size=(4, 6))

    close(x.sum(1, keepdims=True) - x.max(1, keepdims=True), evaluate(parse(text), {"x": x}, {"gx": 2, "f": 3}))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("order=[1, 0, 2]", "order=[1, 1, 2]", "no order of 3 dims"),
        ("dims=[b, 3, 4]", "dims=[b, 3, 5]", "changes the number of elements"),
        ("stop=2", "stop=4", "0 to 4 of dim 0, which has size 3"),
        ("stop=2", "stop=0", "0 to 0 of dim 0"),
        ("stop=2", "stop=3 + b", "0 to 3 + b of dim 0, which has size 3"),
        ("start=0, stop=2", "start=1 + b, stop=1", "1 + b to 1 of dim 0"),
        ("dim=0, size=3", "dim=1, size=3", "dim 1 has size b; only a literal 1"),
        ("concat(%4, %6, dim=0)", "concat(%4, %6, dim=1)", "differ in more than dim 1"),
        ("max(%7, dim=2)", "max(%7, dim=3)", "max over dim 3 of a tensor with 3 dims"),
        ("start=0, ", "", "slice needs start=SIZE"),
        ("order=[1, 0, 2]", "order=1", "permute needs order="),
    ],
)
def test_a_view_that_does_not_fit_is_refused_with_its_reason(old, new, message):
    with pytest.raises(PrismError) as refused:
        parse_program(VIEWS.replace(old, new, 1))

    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("result(%4, index=1)", "result(%4, index=2)", "no such further result"),
        ("result(%4, index=1)", "result(q, index=1)", "no such further result"),
        (" loop[i=f]", "", "fmap 1 without a for-loop"),
        ("accum_rescaled(%8, %6, dim=1)", "accum_rescaled(%9, %8)", "scale's dims do not broadcast"),
        ("accum_rescaled(%9, %6)", "running_max(%10, dim=1)", "names no earlier tensor"),
        (
            "    %12 = store(%10, omap=[0])\n    %13",
            "    %12 = store(%10, omap=[0])\n    %13 = exp(%11)\n    %14",
            "stores come last",
        ),
    ],
)
def test_a_scan_or_a_result_in_the_wrong_place_is_refused(old, new, message):
    with pytest.raises(PrismError) as refused:
        parse(ONLINE.replace(old, new, 1)).types()

    assert message in str(refused.value)


def test_a_running_maximum_needs_a_loop():
    with pytest.raises(ShapeError, match="without a for-loop"):
        parse(
            "sgraph\n  x = input f32[4, 6]\n  %1 = custom(x) grid[x=gx]\n    %0 = load(0, imap=[0])\n"
            "    %1 = running_max(%0)\n    %2 = store(%1, omap=[0])\n  return %1"
        )


def test_the_bottom_of_a_type_may_be_doubled_and_its_exponential_is_zero():
    for kind in (np.float32, np.float64):
        low = kind(masked_value(np.dtype(kind)))
        assert np.isfinite(low + low)
        assert np.exp(low) == 0


def test_gelu_is_its_definition():
    from math import erf, sqrt

    x = np.linspace(-3, 3, 7)
    close([v * (1 + erf(v / sqrt(2))) / 2 for v in x], UNARY["gelu"].numpy(x))


def test_a_graph_states_every_size_that_must_be_whole():
    text = """sgraph
  x = input f32[a, 8]
  %1 = slice(x, dim=0, start=c, stop=d)
  %2 = custom(%1) grid[x=b/4] loop[i=f]
    %0 = load(0, imap=[-], fmap=1)
    %1 = accum(%0)
    %2 = store(%1, omap=[-])
  return %2"""

    found = {str(d) for d in parse(text).conditions()}

    assert {"b/4", "8/f", "1 + a - d", "-c + d"} <= found
    assert not any("c + 1" in d for d in found), "c is a positive integer as it stands"


def test_a_constant_beyond_the_range_of_a_float_is_infinite():
    text = f"sgraph\n  x = input f64[2]\n  %1 = mul_scalar(x, -{10**400})\n  return %1"

    assert (evaluate(parse(text), {"x": np.ones(2)}) == -np.inf).all()
