"""High precision: decimal numbers with sixty digits and unbounded exponents, for trials that float64 does not decide.

Floats overflow, underflow, cancel and divide by 0, while the claims are about real numbers with x/0 = 0. Where a
difference may be a floating-point error, the interpreter runs both sides again on the same inputs with these numbers,
whose rounding errors are negligible. This is a thousand times slower and rarely needed.

Arithmetic, roots and exponentials are those of `decimal`, which is faster than mpmath and has unbounded exponents; the
other functions are those of mpmath. Trials with these numbers are stored under the name `decimals`.
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
EQUALITY_TOLERANCE = Decimal("1e-40")
"""The relative difference up to which two values that blocks write to one element are equal."""
EXPONENTIAL, ERROR_FUNCTION = 20, 100
"""The cost of a function in additions, each about 1.5 microseconds."""
TRANSCENDENTAL = frozenset({"exp", "expm1", "log", "log1p", "sin", "cos", "tanh"})
MAX_ARGUMENT_EXPONENT = 1000
"""The largest decimal exponent of an argument; with a larger one, a sine would take too long."""
_CONTEXT = Context(prec=DIGITS, rounding=ROUND_HALF_EVEN, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])
_NAN = Decimal("NaN")
_ZERO, _ONE, _TWO = Decimal(0), Decimal(1), Decimal(2)


class NotReal(Exception):
    """A value that is no real number, such as the root of a negative number, is compared; caught in this package."""


class HighPrecisionNumber:
    """A decimal number with the operators and functions that the interpreter uses."""

    __slots__ = ("value",)

    def __init__(self, value: Decimal) -> None:
        self.value = value if value.is_finite() else _NAN

    def __add__(self, other: object) -> HighPrecisionNumber:
        return HighPrecisionNumber(_CONTEXT.add(self.value, _decimal(other)))

    __radd__ = __add__

    def __sub__(self, other: object) -> HighPrecisionNumber:
        return HighPrecisionNumber(_CONTEXT.subtract(self.value, _decimal(other)))

    def __rsub__(self, other: object) -> HighPrecisionNumber:
        return HighPrecisionNumber(_CONTEXT.subtract(_decimal(other), self.value))

    def __mul__(self, other: object) -> HighPrecisionNumber:
        return HighPrecisionNumber(_CONTEXT.multiply(self.value, _decimal(other)))

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> HighPrecisionNumber:
        """The quotient, or 0 where the divisor is 0."""
        return HighPrecisionNumber(_divided(self.value, _decimal(other)))

    def __rtruediv__(self, other: object) -> HighPrecisionNumber:
        return HighPrecisionNumber(_divided(_decimal(other), self.value))

    def __neg__(self) -> HighPrecisionNumber:
        return HighPrecisionNumber(self.value.copy_negate())

    def __abs__(self) -> HighPrecisionNumber:
        return HighPrecisionNumber(self.value.copy_abs())

    def __pow__(self, power: object) -> HighPrecisionNumber:
        exponent = Fraction(power)  # type: ignore[arg-type]
        if self.value.is_nan():
            return self
        if self.value == 0:
            return HighPrecisionNumber(_ONE if exponent == 0 else _ZERO)
        if exponent.denominator == 2:
            return self.sqrt() ** exponent.numerator
        if exponent.denominator != 1 and self.value < 0:
            return HighPrecisionNumber(_NAN)
        return HighPrecisionNumber(_CONTEXT.power(self.value, _decimal(exponent)))

    def _compare(self, other: object) -> Decimal:
        """The comparison: -1, 0 or 1."""
        found = _CONTEXT.compare(self.value, _decimal(other))
        if found.is_nan():
            raise NotReal("what is no real number is compared")
        return found

    def __lt__(self, other: object) -> bool:
        return self._compare(other) < 0

    def __le__(self, other: object) -> bool:
        return self._compare(other) <= 0

    def __gt__(self, other: object) -> bool:
        return self._compare(other) > 0

    def __ge__(self, other: object) -> bool:
        return self._compare(other) >= 0

    def __eq__(self, other: object) -> bool:
        """Whether two numbers are equal up to rounding, relative to the larger; so only 0 equals 0."""
        one, two = self.value, _decimal(other)
        difference = _CONTEXT.subtract(one, two).copy_abs()
        if difference.is_nan():
            return False
        return difference <= _CONTEXT.multiply(EQUALITY_TOLERANCE, max(one.copy_abs(), two.copy_abs()))

    __hash__ = None  # type: ignore[assignment]

    def __float__(self) -> float:
        return float(self.value)

    def exp(self) -> HighPrecisionNumber:
        """e to this."""
        return HighPrecisionNumber(_CONTEXT.exp(self.value))

    def sqrt(self) -> HighPrecisionNumber:
        """The square root; NaN for a negative number."""
        return HighPrecisionNumber(_CONTEXT.sqrt(self.value))

    def has_own(self, row: ElementwiseFunction) -> bool:
        """Whether `elementwise` computes a row: where its NumPy formula needs functions that this class lacks."""
        return row.name not in _BY_NUMPY

    def elementwise(self, row: ElementwiseFunction) -> HighPrecisionNumber:
        """The value of a function by its mpmath formula; NaN where it is undefined."""
        if self.value.is_nan() or self.value.adjusted() > MAX_ARGUMENT_EXPONENT:
            return HighPrecisionNumber(_NAN)
        mp: Any = import_module("mpmath").mp
        with mp.workdps(DIGITS + 5):
            _, digits, exponent = self.value.as_tuple()
            assert isinstance(exponent, int), "the number is finite"
            size = mp.mpf(int("".join(map(str, digits)))) * mp.mpf(10) ** exponent
            try:
                found = high_precision(row, -size if self.value.is_signed() else size)
            except ValueError:  # outside of the function's domain, where NumPy has NaN
                return HighPrecisionNumber(_NAN)
            if not isinstance(found, mp.mpf) or not mp.isfinite(found):
                return HighPrecisionNumber(_NAN)
            sign, mantissa, binary, _ = found._mpf_
            scale = _CONTEXT.power(_TWO, Decimal(int(binary)))
            return HighPrecisionNumber(_CONTEXT.multiply(Decimal(int(-mantissa if sign else mantissa)), scale))


_BY_NUMPY = frozenset(
    row.name
    for row in UNARY.values()
    if row.lowering in ("primitive", "transparent") or row.name in ("square", "rsqrt", "recip", "neg", "abs")
)


def _decimal(value: object) -> Decimal:
    match value:
        case HighPrecisionNumber():
            return value.value
        case Decimal():
            return value
        case Fraction():
            return _CONTEXT.divide(Decimal(value.numerator), Decimal(value.denominator))
        case bool() | int():
            return Decimal(int(value))
        case _:
            return Decimal(float(value))  # type: ignore[arg-type]


def _divided(numerator: Decimal, denominator: Decimal) -> Decimal:
    return _CONTEXT.divide(numerator, denominator) if denominator.is_nan() or denominator else _ZERO


_to_number = np.frompyfunc(
    lambda value: value if isinstance(value, HighPrecisionNumber) else HighPrecisionNumber(_decimal(value)), 1, 1
)
_to_float = np.frompyfunc(float, 1, 1)


def additions(op: Op) -> int:
    """The cost of an operator per element, in additions."""
    match op:
        case AccumulateRescaled():
            return EXPONENTIAL
        case Unary(fn):
            used = functions(UNARY[fn].high_precision)
            return ERROR_FUNCTION if "erf" in used else EXPONENTIAL if used & TRANSCENDENTAL else 1
        case _:
            return 1


@dataclass(frozen=True, slots=True)
class BothResults:
    """The results of both sides on the same inputs."""

    expected: Array
    found: Array
    difference: Array
    """The absolute difference, computed before the conversion to floats."""
    largest: float
    """The largest intermediate magnitude below the limit."""


def run_both(
    program: SGraph, candidate: SGraph, inputs: Mapping[str, Array], symbols: Mapping[str, int], limit: float
) -> BothResults:
    """Run both graphs on these inputs; a value that is no real number is NaN.

    Magnitudes above the limit represent infinity, as masked values do.

    Raises:
        NoDecimal: a value that is no real number is compared with another.
    """
    largest = 0.0

    def record(value: Array) -> Array:
        nonlocal largest
        converted = to_high_precision(value)
        magnitudes = np.abs(_floats(converted))
        counted = magnitudes < limit if isfinite(limit) else ~np.isnan(magnitudes)  # infinite floats are counted, too
        largest = max(largest, float(np.max(magnitudes, initial=0.0, where=counted)))
        return converted

    drawn = {name: x if x.dtype.kind == "i" else to_high_precision(x) for name, x in inputs.items()}
    expected, found = (
        run(graph, drawn, symbols, record, run_vectorized)[graph.output] for graph in (program, candidate)
    )
    return BothResults(_floats(expected), _floats(found), np.abs(_floats(expected - found)), largest)


def to_high_precision(value: Array) -> Array:
    """The same numbers, each as a `Wide`."""
    return np.asarray(_to_number(value), dtype=object)


def _floats(value: Array) -> Array:
    return np.asarray(_to_float(value), dtype=np.float64)
