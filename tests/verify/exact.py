"""Exact arithmetic for the interpreter: what both sides of a rule are, without rounding.

An `Exact` is a rational number plus a multiple of a number that goes to minus infinity, which is what a mask
puts in. Sums, products, quotients (x/0 = 0) and comparisons are exact. Where the real function is irrational
an algebraic stand-in obeys the laws that a rule may rely on, and nothing else:

    exp(x)    64^x, where 6 x is whole
    √x        the rational root where there is one; of a negative number some positive number
    erf(x)    x / (1 + x^2), which is odd; tanh as defined by exp

Elsewhere `Inexact` says that other numbers must be drawn.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from math import isqrt
from typing import Any

import numpy as np

from prism_explore.ir import elementwise

LARGEST_POWER = 60


class Inexact(Exception):
    """The value is irrational, or has no limit: draw other numbers."""


class Exact:
    """`value + low * B` for a B that goes to minus infinity."""

    __slots__ = ("low", "value")

    def __init__(self, value: Fraction | int | float, low: Fraction | int = 0) -> None:
        self.value = Fraction(value)
        self.low = Fraction(low)

    def __repr__(self) -> str:
        return f"{self.value}" + (f"+{self.low}B" if self.low else "")

    # ------------------------------------------------------------ field
    def __add__(self, other: Any) -> Exact:
        b = exact(other)
        return Exact(self.value + b.value, self.low + b.low)

    __radd__ = __add__

    def __neg__(self) -> Exact:
        return Exact(-self.value, -self.low)

    def __sub__(self, other: Any) -> Exact:
        return self + -exact(other)

    def __rsub__(self, other: Any) -> Exact:
        return exact(other) + -self

    def __mul__(self, other: Any) -> Exact:
        b = exact(other)
        if self.low and b.low:
            raise Inexact
        return Exact(self.value * b.value, self.value * b.low + self.low * b.value)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Exact:
        b = exact(other)
        if b.low:
            raise Inexact
        return self * (Exact(1 / b.value) if b.value else Exact(0))

    def __rtruediv__(self, other: Any) -> Exact:
        return exact(other) / self

    def __pow__(self, e: Any) -> Exact:
        q = Fraction(e)
        base = self if q.denominator == 1 else self.root(q.denominator)
        if base.low:
            raise Inexact
        return Exact(base.value**q.numerator if base.value else 0)

    # ------------------------------------------------------------ order
    def _key(self) -> tuple[Fraction, Fraction]:
        return -self.low, self.value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Exact | int | Fraction) and self._key() == exact(other)._key()

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: Any) -> bool:
        return self._key() < exact(other)._key()

    def __le__(self, other: Any) -> bool:
        return self._key() <= exact(other)._key()

    def __gt__(self, other: Any) -> bool:
        return exact(other) < self

    def __ge__(self, other: Any) -> bool:
        return exact(other) <= self

    def __hash__(self) -> int:
        return hash(self._key())

    def __abs__(self) -> Exact:
        return self if self >= 0 else -self

    # ------------------------------------------------------------ functions, by the names that NumPy calls
    def exp(self) -> Exact:
        if self.low > 0:
            return Exact(0)
        power = self.value * 6
        if self.low or power.denominator != 1 or abs(power) > LARGEST_POWER:
            raise Inexact
        return Exact(Fraction(2) ** int(power))

    def sqrt(self) -> Exact:
        return self.root(2)

    def root(self, degree: int) -> Exact:
        if self.low:
            raise Inexact
        if self.value < 0:
            return Exact(-self.value * Fraction(37, 100) + Fraction(11, 100))
        return Exact(Fraction(_root(self.value.numerator, degree), _root(self.value.denominator, degree)))

    def tanh(self) -> Exact:
        return Exact(1) - Exact(2) / (Exact(1) + (self * 2).exp())


def _root(n: int, degree: int) -> int:
    found = isqrt(n) if degree == 2 else round(n ** (1 / degree))
    if found**degree != n:
        raise Inexact
    return found


def exact(x: Any) -> Exact:
    return x if isinstance(x, Exact) else Exact(x)


BOTTOM = Exact(0, 1)


@contextmanager
def exact_functions() -> Iterator[None]:
    """The interpreter's functions that are not made of operators which an `Exact` has."""
    unary = {"erf": lambda x: x / (1 + x * x), "recip": lambda x: 1 / x, "rsqrt": lambda x: 1 / np.sqrt(x)}
    binary = {"mask": lambda x, keep: np.where(keep != 0, x, BOTTOM)}
    before = dict(elementwise.UNARY), dict(elementwise.BINARY)
    elementwise.UNARY.update({name: replace(elementwise.UNARY[name], numpy=fn) for name, fn in unary.items()})
    elementwise.BINARY.update({name: replace(elementwise.BINARY[name], numpy=fn) for name, fn in binary.items()})
    try:
        yield
    finally:
        elementwise.UNARY.update(before[0])
        elementwise.BINARY.update(before[1])


def in_the_limit(x: Exact) -> Fraction | str:
    """The number it is, or which infinity."""
    if not x.low:
        return x.value
    return "minus infinity" if x.low > 0 else "infinity"
