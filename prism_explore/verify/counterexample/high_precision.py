"""High precision: decimal numbers with sixty digits and unbounded exponents, for trials where float64 is in doubt.

Floats overflow, underflow, cancel and divide by 0, while the claims are about real numbers with x/0 = 0. Where a
difference may be an error of floats, the interpreter runs both sides again on the same inputs, with these numbers. They
round far below the digits that matter. It is a thousand times slower, and rarely needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from importlib import import_module
from math import isfinite
from typing import Any

import numpy as np

from prism_explore.ir.elementwise import UNARY, ElementwiseFunction, high_precision
from prism_explore.ir.formulas import functions
from prism_explore.ir.graph import SGraph
from prism_explore.ir.interpreter.reference import Array, run
from prism_explore.ir.interpreter.vectorized import run_vectorized
from prism_explore.ir.ops import AccumulateRescaled, Op, Unary

DIGITS = 60
ROUNDING = 1e-50
"""The error of a few hundred operations, relative to the largest intermediate value."""
ALIKE = Decimal("1e-40")
"""The relative difference up to which two values that blocks write to one element are equal."""
EXPONENTIAL, ERROR_FUNCTION = 20, 100
"""The time of a function, in additions of about 1.5 microseconds."""
TRANSCENDENTAL = frozenset({"exp", "expm1", "log", "log1p", "sin", "cos", "tanh"})
LARGEST_ARGUMENT = 1000
"""The largest decimal exponent of an argument: of a sine of more, no digit is worth its time."""
_CONTEXT = Context(prec=DIGITS, rounding=ROUND_HALF_EVEN, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])
_NAN = Decimal("NaN")
_ZERO, _ONE, _TWO = Decimal(0), Decimal(1), Decimal(2)


class NoDecimal(Exception):
    """A comparison with a value that is no real number, such as the root of a negative one; caught in this package."""


class Wide:
    """A number with the operators and functions that the interpreter uses."""

    __slots__ = ("value",)

    def __init__(self, value: Decimal) -> None:
        self.value = value if value.is_finite() else _NAN

    def __add__(self, other: object) -> Wide:
        return Wide(_CONTEXT.add(self.value, _decimal(other)))

    __radd__ = __add__

    def __sub__(self, other: object) -> Wide:
        return Wide(_CONTEXT.subtract(self.value, _decimal(other)))

    def __rsub__(self, other: object) -> Wide:
        return Wide(_CONTEXT.subtract(_decimal(other), self.value))

    def __mul__(self, other: object) -> Wide:
        return Wide(_CONTEXT.multiply(self.value, _decimal(other)))

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> Wide:
        """The quotient, or 0 where the divisor is 0."""
        return Wide(_divided(self.value, _decimal(other)))

    def __rtruediv__(self, other: object) -> Wide:
        return Wide(_divided(_decimal(other), self.value))

    def __neg__(self) -> Wide:
        return Wide(self.value.copy_negate())

    def __abs__(self) -> Wide:
        return Wide(self.value.copy_abs())

    def __pow__(self, power: object) -> Wide:
        exponent = Fraction(power)  # type: ignore[arg-type]
        if self.value.is_nan():
            return self
        if self.value == 0:
            return Wide(_ONE if exponent == 0 else _ZERO)
        if exponent.denominator == 2:
            return self.sqrt() ** exponent.numerator
        if exponent.denominator != 1 and self.value < 0:
            return Wide(_NAN)
        return Wide(_CONTEXT.power(self.value, _decimal(exponent)))

    def _order(self, other: object) -> Decimal:
        """-1, 0, or 1."""
        found = _CONTEXT.compare(self.value, _decimal(other))
        if found.is_nan():
            raise NoDecimal("what is no real number is compared")
        return found

    def __lt__(self, other: object) -> bool:
        return self._order(other) < 0

    def __le__(self, other: object) -> bool:
        return self._order(other) <= 0

    def __gt__(self, other: object) -> bool:
        return self._order(other) > 0

    def __ge__(self, other: object) -> bool:
        return self._order(other) >= 0

    def __eq__(self, other: object) -> bool:
        """Up to rounding; so 0 equals nothing but 0."""
        one, two = self.value, _decimal(other)
        apart = _CONTEXT.subtract(one, two).copy_abs()
        if apart.is_nan():
            return False
        return apart <= _CONTEXT.multiply(ALIKE, max(one.copy_abs(), two.copy_abs()))

    __hash__ = None  # type: ignore[assignment]

    def __float__(self) -> float:
        return float(self.value)

    def exp(self) -> Wide:
        """e to this."""
        return Wide(_CONTEXT.exp(self.value))

    def sqrt(self) -> Wide:
        """The root, of what is not negative."""
        return Wide(_CONTEXT.sqrt(self.value))

    def has_own(self, row: ElementwiseFunction) -> bool:
        """Whether `elementwise` is to be used for a row: where its NumPy meaning needs more than these methods."""
        return row.name not in _BY_NUMPY

    def elementwise(self, row: ElementwiseFunction) -> Wide:
        """A function by its formula for high precision, in mpmath."""
        if self.value.is_nan() or self.value.adjusted() > LARGEST_ARGUMENT:
            return Wide(_NAN)
        mp: Any = import_module("mpmath").mp
        with mp.workdps(DIGITS + 5):
            _, digits, exponent = self.value.as_tuple()
            assert isinstance(exponent, int), "it is finite"
            size = mp.mpf(int("".join(map(str, digits)))) * mp.mpf(10) ** exponent
            found = high_precision(row, -size if self.value.is_signed() else size)
            if not isinstance(found, mp.mpf) or not mp.isfinite(found):
                return Wide(_NAN)
            sign, mantissa, binary, _ = found._mpf_
            scale = _CONTEXT.power(_TWO, Decimal(int(binary)))
            return Wide(_CONTEXT.multiply(Decimal(int(-mantissa if sign else mantissa)), scale))


_BY_NUMPY = frozenset(
    row.name
    for row in UNARY.values()
    if row.lowering in ("primitive", "transparent") or row.name in ("square", "rsqrt", "recip", "neg", "abs")
)


def _decimal(value: object) -> Decimal:
    match value:
        case Wide():
            return value.value
        case Decimal():
            return value
        case Fraction():
            return _CONTEXT.divide(Decimal(value.numerator), Decimal(value.denominator))
        case bool() | int():
            return Decimal(int(value))
        case _:
            return Decimal(float(value))  # type: ignore[arg-type]


def _divided(above: Decimal, below: Decimal) -> Decimal:
    return _CONTEXT.divide(above, below) if below.is_nan() or below else _ZERO


_wide = np.frompyfunc(lambda value: value if isinstance(value, Wide) else Wide(_decimal(value)), 1, 1)
_float = np.frompyfunc(float, 1, 1)


def additions(op: Op) -> int:
    """The time of an operator per element, in additions."""
    match op:
        case AccumulateRescaled():
            return EXPONENTIAL
        case Unary(fn):
            used = functions(UNARY[fn].high_precision)
            return ERROR_FUNCTION if "erf" in used else EXPONENTIAL if used & TRANSCENDENTAL else 1
        case _:
            return 1


@dataclass(frozen=True, slots=True)
class Both:
    """The results of both sides on the same inputs."""

    expected: Array
    found: Array
    difference: Array
    """Their absolute difference, taken before the conversion to floats."""
    largest: float
    """The largest intermediate magnitude below the limit."""


def run_both(
    program: SGraph, candidate: SGraph, inputs: Mapping[str, Array], symbols: Mapping[str, int], limit: float
) -> Both:
    """Run both graphs on these inputs; NaN where a value is no real number.

    Magnitudes above the limit stand for infinity, as masked values do.

    Raises:
        NoDecimal: a value that is no real number is compared with another.
    """
    largest = 0.0

    def seen(value: Array) -> Array:
        nonlocal largest
        wide = widened(value)
        sizes = np.abs(_floats(wide))
        counted = sizes < limit if isfinite(limit) else ~np.isnan(sizes)  # what no float holds is large, too
        largest = max(largest, float(np.max(sizes, initial=0.0, where=counted)))
        return wide

    drawn = {name: widened(value) for name, value in inputs.items()}
    expected, found = (run(graph, drawn, symbols, seen, run_vectorized)[graph.output] for graph in (program, candidate))
    return Both(_floats(expected), _floats(found), np.abs(_floats(expected - found)), largest)


def widened(value: Array) -> Array:
    """The same numbers, each as a `Wide`."""
    return np.asarray(_wide(value), dtype=object)


def _floats(value: Array) -> Array:
    return np.asarray(_float(value), dtype=np.float64)
