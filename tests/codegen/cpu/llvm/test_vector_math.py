"""Elementwise operators: accuracy at every width, and the results at the edges."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp

from prism_explore.codegen.cpu.llvm.builder import FunctionBuilder
from prism_explore.codegen.cpu.llvm.vector_math import OPERATIONS, apply, power
from prism_explore.ir.elementwise import BINARY, BIT, REAL, UNARY
from prism_explore.ir.formulas import formula, functions
from tests.codegen.cpu.llvm.test_builder import call


def mapped(fn: str, args: list[np.ndarray], lanes: int, width: int) -> np.ndarray:
    """`fn` over vectors of `lanes` lanes (0: scalars); sizes are multiples of the lanes."""
    out = np.zeros_like(args[0])

    def write(builder: FunctionBuilder, target, *sources) -> None:
        with builder.loop(0, len(out), max(1, lanes)) as i:
            builder.store(apply(builder, fn, [builder.load(s, i, lanes) for s in sources]), target, i)

    call(write, [out, *args], width)
    return out


def test_every_elementwise_operator_has_its_function() -> None:
    assert set(OPERATIONS) >= set(BINARY)
    assert all(functions(formula(row.llvm)) <= set(OPERATIONS) | set(UNARY) for row in UNARY.values())


def points(fn: str) -> np.ndarray:
    rng = np.random.default_rng(1)
    small = np.concatenate([np.linspace(-3, 3, 700), np.logspace(-30, 1.9, 500), -np.logspace(-30, 1.9, 480)])
    wide = rng.uniform(-87, 88, 240)
    x = np.concatenate([small, wide]).astype(np.float32)[:1920]
    row = UNARY[fn]
    if row.domain.high < np.inf:
        return np.where(np.abs(x) < 1, x, np.tanh(x / 20)).astype(np.float32)
    return np.abs(x) + np.float32(1e-30) if row.domain != REAL else x


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


@pytest.mark.parametrize("fn", ["sin", "cos"])
def test_a_sine_of_any_float_is_within_one_ulp(fn) -> None:
    """Also of the largest, and of those next to multiples of half a turn: the range is reduced without loss."""
    rng = np.random.default_rng(3)
    exponents = rng.uniform(-126, 127.9, 1500)
    near = np.arange(1, 200) * np.pi / 2
    worst = [16367173.0 * 2.0**72, 1.5707964, 3.1415927, 6381956970095103.0, 2.0**127]
    x = np.concatenate([2.0**exponents * rng.choice([-1, 1], 1500), near, worst, np.zeros(16)]).astype(np.float32)
    x = x[: len(x) // 16 * 16]
    with mp.workdps(80):
        expected = np.array([float(getattr(mp, fn)(mp.mpf(float(v)))) for v in x])

    found = mapped(fn, [x], 16, 16).astype(np.float64)

    assert np.max(np.abs(found - expected) / np.spacing(np.abs(expected).astype(np.float32))) <= 0.51


EDGES = [
    "log",
    "log1p",
    "expm1",
    "softplus",
    "mish",
    "sin",
    "cos",
    "sign",
    "atan",
    "floor",
    "ceil",
    "trunc",
    "round",
    "erfc",
    "erfinv",
    "is_nan",
]


@pytest.mark.parametrize("fn", EDGES)
def test_edges_of_a_function_are_those_of_numpy(fn) -> None:
    x = np.array(
        [0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3e38, -3e38, 1, -1, 0.5, 2.5, -0.5, -2.5, 7, 9], np.float32
    )
    with np.errstate(all="ignore"):
        expected = UNARY[fn].numpy(x)

    np.testing.assert_allclose(mapped(fn, [x], 8, 8), expected, rtol=2e-6, atol=1e-44)


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


def test_an_integer_power_takes_any_sign_and_a_fractional_one_of_a_negative_is_nan() -> None:
    x = np.array([-2, -1, 0, 3], np.float32)
    cube, root = np.zeros(4, np.float32), np.zeros(4, np.float32)

    call(lambda builder, a, b: builder.store(power(builder, builder.load(a, 0, 4), Fraction(3)), b, 0), [x, cube], 4)
    call(lambda builder, a, b: builder.store(power(builder, builder.load(a, 0, 4), Fraction(1, 3)), b, 0), [x, root], 4)

    np.testing.assert_array_equal(x**3, cube)
    np.testing.assert_array_equal([True, True, False, False], np.isnan(root))
    assert root[2] == 0


@pytest.mark.parametrize("lanes", [0, 4, 16])
@pytest.mark.parametrize("fn", ["max", "min"])
def test_neither_the_larger_nor_the_smaller_one_forgets_what_is_no_number(fn, lanes) -> None:
    x, y = np.arange(16, dtype=np.float32), np.full(16, 8, np.float32)
    x[::3], y[::2] = np.nan, np.nan

    np.testing.assert_array_equal(BINARY[fn].numpy(x, y), mapped(fn, [x, y], lanes, 16))


@pytest.mark.parametrize("fn", sorted(BINARY))
def test_a_function_of_two_values_is_correctly_rounded(fn) -> None:
    x, y = points("neg"), points("neg")[::-1].copy()
    with np.errstate(all="ignore"):
        expected = BINARY[fn].numpy(x, y)

    np.testing.assert_array_equal(expected, mapped(fn, [x, y], 16, 16))


@pytest.mark.parametrize("lanes", [0, 16])
@pytest.mark.parametrize("fn", sorted(name for name, row in UNARY.items() if row.range != BIT))
def test_not_a_number_stays_one(fn, lanes) -> None:
    assert np.isnan(mapped(fn, [np.full(16, np.nan, np.float32)], lanes, 16)).all()


@pytest.mark.parametrize("lanes", [0, 16])
@pytest.mark.parametrize("fn", sorted(name for name, row in UNARY.items() if row.range == BIT))
def test_not_a_number_is_noticed_differs_from_0_and_compares_as_false(fn, lanes) -> None:
    expected = np.full(16, float(fn in ("nonzero", "is_nan", "to_bool")), np.float32)

    np.testing.assert_array_equal(expected, mapped(fn, [np.full(16, np.nan, np.float32)], lanes, 16))


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
