"""Sixty digits and exponents without bounds: what is asked where float64 may be at fault.

Floats overflow, underflow, cancel and divide by 0; the claims are about real numbers, with x/0 = 0. So where a
difference may be the floats' own, the interpreter runs both sides again on the same inputs, on numbers that have none
of this but rounding, far behind the digits that matter. It is a thousand times slower, and seldom asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from math import isfinite

import numpy as np

from prism_explore.ir.graph import SGraph
from prism_explore.ir.interpreter.reference import Array, run
from prism_explore.ir.interpreter.vectorized import run_together
from prism_explore.ir.ops import AccumulateRescaled, Op, Unary

DIGITS = 60
ROUNDING = 1e-50
"""By how much a few hundred operations may be off, relative to the largest number on the way."""
ALIKE = Decimal("1e-40")
"""What two blocks write to one place may differ by so much, relatively."""
EXPONENTIAL, ERROR_FUNCTION = 20, 100
"""What one of these takes, in additions, which take about a microsecond and a half each."""
ERF_IS_ONE = 13
"""Behind it the error function has no other digits."""
_CONTEXT = Context(prec=DIGITS, rounding=ROUND_HALF_EVEN, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])
_NAN = Decimal("NaN")
_ZERO, _ONE, _TWO, _HALF = Decimal(0), Decimal(1), Decimal(2), Decimal("0.5")
_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")
_CUBE = Decimal("0.044715")


class NoDecimal(Exception):
    """An order of what is no real number, as the root of a negative one; it never leaves this package."""


class Wide:
    """A number, and the operators and functions that the interpreter asks of one."""

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
        """A quotient, and 0 where the divisor is, as the claims have it."""
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

    def relu(self) -> Wide:
        """This, or 0 if that is larger."""
        return self if self > 0 else Wide(_ZERO)

    def tanh(self) -> Wide:
        """By an exponential of what is negative."""
        small = _CONTEXT.exp(_CONTEXT.multiply(-_TWO, self.value.copy_abs()))
        size = _CONTEXT.divide(_CONTEXT.subtract(_ONE, small), _CONTEXT.add(_ONE, small))
        return Wide(size.copy_sign(self.value))

    def erf(self) -> Wide:
        """A sum of positive terms times a Gaussian."""
        x = self.value.copy_abs()
        if x.is_nan():
            return self
        if x > ERF_IS_ONE:
            return Wide(_ONE.copy_sign(self.value))
        square = _CONTEXT.multiply(x, x)
        term = total = x
        n = 1
        while term > _CONTEXT.scaleb(total, -DIGITS - 2):
            n += 2
            term = _CONTEXT.divide(_CONTEXT.multiply(_CONTEXT.multiply(term, _TWO), square), Decimal(n))
            total = _CONTEXT.add(total, term)
        scale = _CONTEXT.divide(_TWO, _CONTEXT.sqrt(_PI))
        total = _CONTEXT.multiply(_CONTEXT.multiply(total, scale), _CONTEXT.exp(-square))
        return Wide(total.copy_sign(self.value))

    def gelu(self) -> Wide:
        """By the error function."""
        return self * _HALF * ((self * _CONTEXT.sqrt(_HALF)).erf() + _ONE)

    def gelu_tanh(self) -> Wide:
        """By the hyperbolic tangent."""
        inner = (self + self * self * self * _CUBE) * _CONTEXT.sqrt(_CONTEXT.divide(_TWO, _PI))
        return self * _HALF * (inner.tanh() + _ONE)


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
    """What an operator takes per number."""
    match op:
        case Unary("exp" | "sigmoid" | "silu" | "tanh" | "gelu_tanh") | AccumulateRescaled():
            return EXPONENTIAL
        case Unary("erf" | "gelu"):
            return ERROR_FUNCTION
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
    """The largest magnitude on the way, of those below the limit."""


def run_both(
    program: SGraph, candidate: SGraph, inputs: Mapping[str, Array], symbols: Mapping[str, int], limit: float
) -> Both:
    """Both graphs on these inputs, in decimals; NaN where a value is no real number.

    What is beyond the limit stands for infinity, as it does beside masks.

    Raises:
        NoDecimal: such a value is compared with another.
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
    expected, found = (run(graph, drawn, symbols, seen, run_together)[graph.output] for graph in (program, candidate))
    return Both(_floats(expected), _floats(found), np.abs(_floats(expected - found)), largest)


def widened(value: Array) -> Array:
    """The same numbers, each as a `Wide`."""
    return np.asarray(_wide(value), dtype=object)


def _floats(value: Array) -> Array:
    return np.asarray(_float(value), dtype=np.float64)
