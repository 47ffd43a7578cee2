"""What a row of the table of elementwise functions declares, tried on numbers: one test per fact, for every row."""

from __future__ import annotations

from fractions import Fraction
from math import inf, isfinite

import numpy as np
import pytest
from mpmath import mp

from prism_explore.ir.elementwise import (
    BIT,
    CASTS,
    COMPOSITE,
    REAL,
    UNARY,
    ElementwiseFunction,
    high_precision,
    in_mpmath,
)
from prism_explore.ir.formulas import evaluate, formula, functions, without_quotients
from prism_explore.tune.runner.correctness import TOLERANCE

ROWS = list(UNARY.values())
EXTREMES = (0.0, 1e-30, 1e-8, 0.3, 0.5, 0.99, 1.0, 1.5, 3.0, 7.7, 20.0, 50.0, 88.0, 300.0)
ids = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)


def points(row: ElementwiseFunction) -> list[float]:
    """Numbers of the row's domain: extremes, and random ones."""
    rng = np.random.default_rng(7)
    found = [*EXTREMES, *(-x for x in EXTREMES), *rng.uniform(-4, 4, 60), *rng.uniform(-60, 60, 20)]
    return sorted({float(x) for x in found if x in row.domain and not (row.name == "recip" and x == 0)})


def value(row: ElementwiseFunction, x: float):
    return high_precision(row, mp.mpf(x))


@pytest.fixture(autouse=True)
def many_digits():
    with mp.workdps(60):
        yield


@ids
def test_numpy_and_high_precision_are_one_function(row):
    for x in points(row):
        expected = value(row, x)
        found = float(row.numpy(np.float64(x)) if row.name != "erf" else row.numpy(np.array(x)))
        if abs(expected) < 1e300:
            error = abs(found - expected)
            assert error <= 1e-12 * max(abs(expected), 1e-300) or error <= 4e-16 * abs(x), f"{row.name}({x})"


@ids
def test_torch_means_the_same(row):
    torch = pytest.importorskip("torch")
    x = np.array(points(row))
    if CASTS.get(row.name) in ("i8", "u8"):  # of whole numbers that fit
        x = np.arange(*((-128.0, 128.0) if row.name == "to_i8" else (0.0, 256.0)))
    with np.errstate(all="ignore"):
        wanted = row.numpy(x)
    found = eval(row.torch.format("x"), {"torch": torch, "x": torch.tensor(x)}).double().numpy()
    if row.name in CASTS:  # torch rounds, and exceeds the range of the narrow dtypes
        held = np.isfinite(found) & (found != 0)
        np.testing.assert_allclose(found[held], wanted[held], rtol=TOLERANCE[CASTS[row.name]] + 1e-6)
        return
    # torch's softplus is x beyond 20, off by exp(-20) / 20.
    np.testing.assert_allclose(found, wanted, rtol=1e-9 if row.name in ("softplus", "mish") else 1e-12, atol=1e-14)


@ids
def test_float32_is_float64_rounded(row):
    x = np.array([p for p in points(row) if abs(p) < 80 or row.domain != REAL], np.float32)
    with np.errstate(all="ignore"):
        wanted, found = row.numpy(x.astype(np.float64)), row.numpy(x)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=1e-6)


@ids
def test_its_values_lie_in_its_range(row):
    low, high = row.range.low, row.range.high
    for x in points(row):
        y = value(row, x)
        # A bound other than 0 may be met by what 60 digits cannot tell from it.
        assert y > low or ((row.range.has_low or low) and y == low), f"{row.name}({x})"
        assert y < high or ((row.range.has_high or high) and y == high), f"{row.name}({x})"


@ids
def test_its_sign_holds_for_every_argument(row):
    if row.sign and row.is_symbol:
        assert row.domain == REAL
        assert all(value(row, x) > 0 or (row.sign == "nonnegative" and value(row, x) == 0) for x in points(row))


@ids
def test_its_parity_holds(row):
    for x in points(row):
        if row.parity and -x in row.domain:
            assert value(row, -x) == pytest.approx(value(row, x) * (-1 if row.parity == "odd" else 1), rel=1e-50)


@ids
def test_it_is_zero_at_zero_where_it_says_so(row):
    if 0.0 in row.domain and row.name != "recip":
        assert (value(row, 0.0) == 0) == row.zero_at_zero
    else:
        assert not row.zero_at_zero


@ids
def test_it_is_monotone_where_it_says_so(row):
    values = [value(row, x) for x in points(row)]
    if row.monotone == "increasing":
        assert values == sorted(values)
    if row.monotone == "decreasing":
        assert values == sorted(values, reverse=True)


@ids
def test_a_step_function_alone_has_only_integers_as_values(row):
    has_integers = all(value(row, x) == mp.nint(value(row, x)) for x in points(row))
    assert row.is_step == (has_integers and row.name != "sign" and row.range != BIT)


@ids
def test_its_degree_holds(row):
    if row.degree is None:
        return
    for x in points(row):
        for c in (0.25, 3.0):
            assert abs(value(row, c * x)) == pytest.approx(mp.mpf(c) ** mp.mpf(float(row.degree)) * abs(value(row, x)))


@ids
def test_its_derivative_is_the_limit_of_quotients(row):
    if not row.derivative:
        return
    for x in (p for p in points(row) if 0.01 < abs(p) < 60 and p - 1e-3 in row.domain):
        h = mp.mpf(10) ** -18
        quotient = (high_precision(row, x + h) - high_precision(row, x - h)) / (2 * h)
        assert quotient == pytest.approx(in_mpmath(formula(row.derivative), {"x": mp.mpf(x)}), rel=1e-15, abs=1e-25)


@ids
def test_its_definition_holds_everywhere(row):
    if not row.definition:
        return
    for x in points(row):
        body = without_quotients(formula(row.definition))
        assert total(body, mp.mpf(x)) == pytest.approx(value(row, x), rel=1e-40, abs=1e-40)


def total(f, x):
    """A definition by its own parts, with 1/0 = 0."""

    def operation(fn, args):
        match fn, args:
            case "inv", (a,):
                return 1 / a if a else mp.mpf(0)
            case "add", (a, b):
                return a + b
            case "mul", (a, b):
                return a * b
            case "max", _:
                return max(args)
            case _, (a,):
                return high_precision(UNARY[fn], a)
            case _:
                raise AssertionError(fn)

    return evaluate(f, {"x": x}, lambda v: mp.mpf(v.numerator) / v.denominator, operation)


@ids
def test_a_definition_uses_what_every_stage_knows(row):
    """Arithmetic, the maximum, primitives and function symbols; and no definition is circular."""
    used = functions(formula(row.definition)) if row.definition else frozenset()
    for fn in used - {"add", "sub", "mul", "div", "neg", "max"}:
        assert UNARY[fn].lowering == "primitive" or UNARY[fn].is_symbol
        assert row.name not in functions(formula(UNARY[fn].definition or "x"))
    assert bool(row.definition) or row.lowering in ("primitive", "named")


# ---------------------------------------------------------------- a wrong fact is noticed
@pytest.mark.parametrize(
    ("change", "test"),
    [
        ({"parity": "even"}, test_its_parity_holds),
        ({"monotone": "decreasing"}, test_it_is_monotone_where_it_says_so),
        ({"zero_at_zero": False}, test_it_is_zero_at_zero_where_it_says_so),
        ({"degree": Fraction(1)}, test_its_degree_holds),
        ({"definition": "1 - 2 / (1 + exp(x))"}, test_its_definition_holds_everywhere),
        ({"derivative": "1 - tanh(x)"}, test_its_derivative_is_the_limit_of_quotients),
    ],
    ids=lambda x: next(iter(x)) if isinstance(x, dict) else "",
)
def test_a_wrong_fact_of_tanh_is_noticed(change, test):
    from dataclasses import replace

    with pytest.raises(AssertionError):
        test(replace(UNARY["tanh"], **change))


def test_a_wrong_range_is_noticed():
    from dataclasses import replace

    with pytest.raises(AssertionError):
        test_its_values_lie_in_its_range(replace(UNARY["silu"], range=UNARY["relu"].range))


def test_the_inverse_of_erf_has_a_value_at_the_numbers_next_to_1():
    torch = pytest.importorskip("torch")
    x = np.array([1 - 1e-9, np.nextafter(1.0, 0.0), -np.nextafter(1.0, 0.0), 1.0, -1.0])

    np.testing.assert_allclose(UNARY["erfinv"].numpy(x), torch.erfinv(torch.tensor(x)).numpy(), rtol=1e-12)


# ---------------------------------------------------------------- formulas
def test_formulas_are_exact_and_refuse_what_they_do_not_know():
    assert "Number(value=Fraction(1, 3))" == repr(formula("1/3"))
    assert formula("0.044715") == formula("44715/1000000")
    with pytest.raises(ValueError, match="no formula"):
        formula("x if x else 0")


@pytest.mark.parametrize("row", COMPOSITE.values(), ids=lambda row: row.name)
def test_a_composite_means_what_torch_computes(row):
    torch = pytest.importorskip("torch")
    from operator import attrgetter

    x = np.array([*EXTREMES, *(-e for e in EXTREMES), *np.linspace(-8, 8, 41)])
    code = attrgetter(row.torch or f"nn.functional.{row.name}")(torch)
    names = {name: mp.mpf(v.numerator) / v.denominator for name, v in row.parameters.items()}
    wanted = [float(in_mpmath(formula(row.formula), {**names, "x": mp.mpf(float(p))})) for p in x]

    np.testing.assert_allclose(code(torch.tensor(x)).numpy(), wanted, rtol=3e-9, atol=1e-12)
    assert all(map(isfinite, wanted)) and inf not in wanted
