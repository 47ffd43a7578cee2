"""The builder: every elementwise function at every width, sums across lanes, and what runs at the edges."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from prism_explore.codegen.cpu.llvm.builder import FunctionBuilder, Memory, module_text, new_module
from prism_explore.codegen.cpu.llvm.jit import JitModule, host_cpu
from prism_explore.codegen.cpu.llvm.vector_math import FUNCTIONS, apply, power
from prism_explore.ir.ops import BINARY, UNARY

WIDTHS = (16, 8, 4)


def call(write, arrays: list[np.ndarray], lanes: int) -> None:
    """Compile `write(function, *pointers)` and run it once on these arrays."""
    module = new_module()
    builder = FunctionBuilder(module, "f", len(arrays), lanes)
    write(builder, *map(Memory, builder.arguments))
    builder.finish()
    machine = JitModule(module_text(module, lanes), replace(host_cpu(), lanes=lanes))
    code = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(machine.address("f"))
    pointers = (ctypes.c_int64 * len(arrays))(*(a.ctypes.data for a in arrays))
    code(ctypes.addressof(pointers), 0, 1)


def mapped(fn: str, args: list[np.ndarray], lanes: int, width: int) -> np.ndarray:
    """`fn` over vectors of `lanes` lanes (0: scalars); sizes are multiples of the lanes."""
    out = np.zeros_like(args[0])

    def write(builder: FunctionBuilder, target, *sources) -> None:
        with builder.loop(0, len(out), max(1, lanes)) as i:
            builder.store(apply(builder, fn, [builder.load(s, i, lanes) for s in sources]), target, i)

    call(write, [out, *args], width)
    return out


def test_every_elementwise_operator_has_its_function() -> None:
    assert set(FUNCTIONS) == set(UNARY) | set(BINARY)


def points(fn: str) -> np.ndarray:
    rng = np.random.default_rng(1)
    small = np.concatenate([np.linspace(-3, 3, 700), np.logspace(-30, 1.9, 500), -np.logspace(-30, 1.9, 480)])
    wide = rng.uniform(-87, 88, 240)
    x = np.concatenate([small, wide]).astype(np.float32)[:1920]
    return np.abs(x) + np.float32(1e-30) if fn in ("sqrt", "rsqrt") else x


@pytest.mark.parametrize("lanes", [0, 4, 8, 16])
@pytest.mark.parametrize("fn", sorted(UNARY))
def test_a_function_of_one_number_is_accurate_to_a_few_ulps(fn, lanes) -> None:
    x = points(fn)
    expected = UNARY[fn].numpy(x.astype(np.float64))
    found = mapped(fn, [x], lanes, max(4, lanes)).astype(np.float64)
    representable = np.abs(expected) < np.finfo(np.float32).max
    # 1 + erf and 1 + tanh cancel far to the left, in float64 too: there the error is measured against x.
    scale = np.maximum(np.abs(expected), np.abs(x)) if fn in ("gelu", "gelu_tanh") else np.abs(expected)
    ulp = np.spacing(scale[representable].astype(np.float32)).astype(np.float64)

    assert len(ulp) > 1500
    assert np.max(np.abs(found[representable] - expected[representable]) / ulp) <= 8


POWERS = ("0", "1", "2", "3", "7", "-2", "1/2", "-1/2", "3/2", "5/4", "-3/4", "1/3", "17/10")


@pytest.mark.parametrize("lanes", [0, 16])
@pytest.mark.parametrize("exponent", POWERS)
def test_a_power_is_accurate(exponent, lanes) -> None:
    x = np.abs(points("exp")) + np.float32(1e-3)
    expected = np.power(x.astype(np.float64), float(Fraction(exponent)))
    out = np.zeros_like(x)

    def write(builder: FunctionBuilder, target, source) -> None:
        with builder.loop(0, len(x), max(1, lanes)) as i:
            builder.store(power(builder, builder.load(source, i, lanes), Fraction(exponent)), target, i)

    call(write, [out, x], 16)
    # exp(c log x) inherits the rounding of its argument; products and roots do not.
    allowed = 1e-6 if Fraction(exponent).denominator in (1, 2, 4) else 4e-6
    np.testing.assert_allclose(out, expected, rtol=allowed)


def test_a_whole_power_takes_any_sign_and_a_broken_one_of_a_negative_number_is_none() -> None:
    x = np.array([-2, -1, 0, 3], np.float32)
    cube, root = np.zeros(4, np.float32), np.zeros(4, np.float32)

    call(lambda builder, a, b: builder.store(power(builder, builder.load(a, 0, 4), Fraction(3)), b, 0), [x, cube], 4)
    call(lambda builder, a, b: builder.store(power(builder, builder.load(a, 0, 4), Fraction(1, 3)), b, 0), [x, root], 4)

    np.testing.assert_array_equal(x**3, cube)
    np.testing.assert_array_equal([True, True, False, False], np.isnan(root))
    assert root[2] == 0


@pytest.mark.parametrize("lanes", [0, 1, 5, 16])
@pytest.mark.parametrize("step", [-3, 0, 1, 4])
def test_a_band_is_one_between_its_bounds(lanes, step) -> None:
    out = np.full(16, 9, np.float32)

    call(lambda builder, b: builder.store(builder.in_range(2, step, -5, 12, lanes), b, 0), [out], 16)

    width = max(lanes, 1)
    expected = [float(-5 <= 2 + step * lane <= 12) for lane in range(width)]
    np.testing.assert_array_equal(expected, out[:width])


@pytest.mark.parametrize("lanes", [1, 3, 4, 11, 16])
def test_a_vector_has_a_largest_number(lanes) -> None:
    x = np.random.default_rng(0).standard_normal(16).astype(np.float32)
    out = np.zeros(1, np.float32)

    call(lambda builder, a, b: builder.store(builder.reduce_max(builder.load(a, 0, lanes)), b, 0), [x, out], 16)

    assert out[0] == x[:lanes].max()


@pytest.mark.parametrize("lanes", [1, 3, 4, 16])
def test_a_vector_with_something_that_is_no_number_has_no_largest_number(lanes) -> None:
    for lane in range(lanes):
        x = np.arange(16, dtype=np.float32)
        x[lane] = np.nan
        out = np.zeros(1, np.float32)
        call(lambda builder, a, b: builder.store(builder.reduce_max(builder.load(a, 0, lanes)), b, 0), [x, out], 16)

        assert np.isnan(out[0])


@pytest.mark.parametrize("lanes", [0, 4, 16])
@pytest.mark.parametrize("fn", ["max", "min"])
def test_neither_the_larger_nor_the_smaller_one_forgets_what_is_no_number(fn, lanes) -> None:
    x, y = np.arange(16, dtype=np.float32), np.full(16, 8, np.float32)
    x[::3], y[::2] = np.nan, np.nan

    np.testing.assert_array_equal(BINARY[fn].numpy(x, y), mapped(fn, [x, y], lanes, 16))


@pytest.mark.parametrize("fn", sorted(BINARY))
def test_a_function_of_two_numbers_is_correctly_rounded(fn) -> None:
    x, y = points("neg"), points("neg")[::-1].copy()
    with np.errstate(all="ignore"):
        expected = BINARY[fn].numpy(x, y)

    np.testing.assert_array_equal(expected, mapped(fn, [x, y], 16, 16))


@pytest.mark.parametrize("lanes", [0, 16])
@pytest.mark.parametrize("fn", sorted(UNARY))
def test_not_a_number_stays_one(fn, lanes) -> None:
    assert np.isnan(mapped(fn, [np.full(16, np.nan, np.float32)], lanes, 16)).all()


@pytest.mark.parametrize(
    ("fn", "x", "expected"),
    [
        ("exp", 89.5, np.inf), ("exp", np.inf, np.inf), ("exp", -np.inf, 0.0), ("exp", -120.0, 0.0),
        ("exp", 0.0, 1.0), ("tanh", 1e6, 1.0), ("tanh", -np.inf, -1.0), ("tanh", 0.0, 0.0),
        ("sigmoid", 200.0, 1.0), ("sigmoid", -200.0, 0.0), ("silu", -200.0, 0.0), ("silu", 100.0, 100.0),
        ("relu", -np.inf, 0.0), ("relu", np.inf, np.inf), ("recip", 0.0, np.inf), ("rsqrt", 0.0, np.inf),
    ],
)  # fmt: skip
def test_the_edges_are_those_of_the_mathematics(fn, x, expected) -> None:
    found = mapped(fn, [np.full(16, x, np.float32)], 16, 16)

    np.testing.assert_array_equal(np.full(16, expected, np.float32), found)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("lanes", range(1, 16))
def test_a_ragged_vector_touches_only_its_lanes(width, lanes) -> None:
    if lanes >= width:
        return
    x = np.arange(1, 33, dtype=np.float32)
    out = np.zeros(32, np.float32)

    call(lambda builder, a, b: builder.store(builder.load(a, 3, lanes), b, 5), [x, out], width)

    expected = np.zeros(32, np.float32)
    expected[5 : 5 + lanes] = x[3 : 3 + lanes]
    np.testing.assert_array_equal(expected, out)


@pytest.mark.parametrize("stride", [0, 2, 7])
def test_strided_lanes_are_gathered_and_scattered(stride) -> None:
    x = np.arange(64, dtype=np.float32)
    out = np.zeros(64, np.float32)

    call(lambda builder, a, b: builder.store(builder.load(a, 1, 8, stride), b, 2, 3), [x, out], 8)

    expected = np.zeros(64, np.float32)
    expected[2 : 2 + 24 : 3] = x[1 + stride * np.arange(8)]
    np.testing.assert_array_equal(expected, out)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 8, 13, 16])
def test_the_sums_of_many_vectors_come_out_in_order(width, count) -> None:
    if count > width:
        return
    x = np.random.default_rng(0).integers(-99, 99, (count, width)).astype(np.float32)
    out = np.zeros(count, np.float32)

    call(
        lambda builder, a, b: builder.store(
            builder.reduce_sums([builder.load(a, v * width, width) for v in range(count)]), b, 0
        ),
        [x, out],
        width,
    )

    np.testing.assert_array_equal(x.sum(axis=1), out)


@pytest.mark.parametrize("lanes", [1, 3, 4, 11, 16])
def test_a_vector_adds_up_to_a_number(lanes) -> None:
    x = np.arange(1, 17, dtype=np.float32)
    out = np.zeros(1, np.float32)

    call(lambda builder, a, b: builder.store(builder.reduce_sum(builder.load(a, 0, lanes)), b, 0), [x, out], 16)

    assert out[0] == lanes * (lanes + 1) / 2


@pytest.mark.parametrize(("start", "stop", "step"), [(0, 1, 1), (2, 11, 3), (0, 4, 4), (5, 6, 9)])
def test_a_loop_visits_what_range_does(start, stop, step) -> None:
    out = np.zeros(16, np.float32)

    def write(builder: FunctionBuilder, target) -> None:
        with builder.loop(start, stop, step) as i:
            builder.store(builder.add(builder.load(target, i, 0), builder.constant(1.0, 0)), target, i)

    call(write, [out], 4)

    assert [i for i in range(16) for _ in range(int(out[i]))] == list(range(start, stop, step))


def test_written_vector_widths_are_asked_for() -> None:
    module = new_module()
    FunctionBuilder(module, "f", 0, 16).finish()

    assert '"min-legal-vector-width"="512"' in module_text(module, 16)


def test_this_machine_has_vectors_and_threads() -> None:
    assert host_cpu().lanes in WIDTHS
    assert host_cpu().threads >= 1
