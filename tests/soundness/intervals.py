"""Bounds of rounding for `plain_evaluator`: what a computation in floats may return, as an interval for each number.

The analysis is the standard one (Higham, Accuracy and Stability of Numerical Algorithms, 2002, sections 2.2, 3.1, 4.2):
an operation errs by at most a unit u of its result, a sum of n terms in any order by n u times the sum of magnitudes,
and a function of this package by 8 units in the last place (`tests/codegen/cpu/llvm/test_vector_math.py`). Errors of
operands are passed on by interval arithmetic. So the exact result, that of float64 and that of a kernel in float32 each
lie in an interval, and the intervals overlap if all three compute the same function.

`None` is an interval that says nothing: after a division by what may be 0, a step at which rounding decides, an
overflow, or a NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, isfinite, isnan
from typing import TypeAlias

import numpy as np

from prism_explore.ir.elementwise import BITS, UNARY, ElementwiseFunction
from prism_explore.support.caches import memoize

Bounds: TypeAlias = tuple[float, float] | None
"""From the lowest to the highest; both infinite with one sign for an infinity."""
ULPS = 8
"""Of a function of the package."""
LARGEST = 1e37
"""Where float32 overflows, with room for a factor."""
SAMPLES = 9


@dataclass(frozen=True)
class Intervals:
    """Interval arithmetic with the rounding of a float."""

    unit: float
    """The largest relative error of a rounding."""
    tiny: float
    """The largest absolute error of one below the normal numbers."""

    def number(self, value: Fraction) -> Bounds:
        """A constant, rounded."""
        x = float(value)
        return self._rounded(x, x)

    def binary(self, fn: str, x: Bounds, y: Bounds) -> Bounds:
        """Each operation, rounded once; a product with a reciprocal instead of a quotient is rounded twice."""
        if fn in ("keep", "drop", "mask"):
            return self._selected(fn, x, y)
        if x is None or y is None:
            return None
        match fn:
            case "add":
                return self._rounded(x[0] + y[0], x[1] + y[1])
            case "sub":
                return self._rounded(x[0] - y[1], x[1] - y[0])
            case "mul":
                ends = [a * b for a in x for b in y]
                return self._rounded(min(ends), max(ends)) if not any(map(isnan, ends)) else None
            case "div":
                if y[0] <= 0 <= y[1] or not (isfinite(y[0]) and isfinite(y[1])):
                    return None
                ends = [a / b for a in x for b in y]
                return self._rounded(min(ends), max(ends), 2)
            case "max":
                return max(x[0], y[0]), max(x[1], y[1])
            case "min":
                return min(x[0], y[0]), min(x[1], y[1])
            case _:
                raise NotImplementedError(f"{fn}: add a case to tests/soundness/intervals.py")

    def _selected(self, fn: str, x: Bounds, where: Bounds) -> Bounds:
        if where is None or where[0] < 0 < where[1] or (0.0 in where and where != (0.0, 0.0)):
            return None
        if (where == (0.0, 0.0)) == (fn != "drop"):
            return (-inf, -inf) if fn == "mask" else (0.0, 0.0)
        return x

    def total(self, terms: Sequence[Bounds]) -> Bounds:
        """A sum in any order: its error is at most n units of the sum of magnitudes."""
        known = [t for t in terms if t is not None]
        if len(known) < len(terms):
            return None
        low, high = sum(t[0] for t in known), sum(t[1] for t in known)
        if not (isfinite(low) and isfinite(high)):
            return None
        error = len(known) * self.unit * sum(max(abs(t[0]), abs(t[1])) for t in known)
        return self._rounded(low - error, high + error)

    def power(self, x: Bounds, exponent: Fraction) -> Bounds:
        """x^e, as a function."""
        domain = (0.0, inf) if exponent.denominator != 1 else (-inf, inf)
        if x is None or x[0] < domain[0] or (exponent < 0 and x[0] <= 0 <= x[1]):
            return None
        return self._image(lambda v: v ** float(exponent), x, is_monotone=False)

    def unary(self, fn: str, x: Bounds) -> Bounds:
        """A function of the table."""
        row = UNARY[fn]
        if row.name == "neg":
            return None if x is None else (-x[1], -x[0])
        if x is None or any(end not in row.domain for end in x if isfinite(end)):
            return None
        if row.name in ("recip", "rsqrt") and x[0] <= 0 <= x[1]:
            return None
        if row.flops == 0:
            return x
        return self._image(_of_number(row.name), x, bool(row.monotone), row)

    def _image(
        self,
        of: Callable[[float], float],
        x: tuple[float, float],
        is_monotone: bool,
        row: ElementwiseFunction | None = None,
    ) -> Bounds:
        """The values of a function on an interval, widened where the function turns; none where it jumps."""
        places = {x[0], x[1]}
        if not is_monotone:
            places |= {float(v) for v in np.linspace(*x, SAMPLES)} if x[0] < x[1] and isfinite(x[1] - x[0]) else set()
            places |= {0.0} if x[0] <= 0 <= x[1] else set()
        values = [of(v) for v in places]
        if any(map(isnan, values)):
            return None
        low, high = min(values), max(values)
        if row is not None and (row.is_step or row.name in BITS or row.name == "sign"):
            return (low, high) if low == high else None
        if not is_monotone and isfinite(high - low):
            low, high = low - (high - low), high + (high - low)
        magnitude = max(abs(low), abs(high), *map(abs, x)) if row is not None and row.name.startswith("gelu") else 0.0
        extra = ULPS * 2 * self.unit * magnitude if isfinite(magnitude) else 0.0
        return self._rounded(low - extra, high + extra, ULPS * 2)

    def _rounded(self, low: float, high: float, roundings: int = 1) -> Bounds:
        """After so many roundings; None where float32 may overflow."""
        if low == high and not isfinite(low) and not isnan(low):
            return low, high
        if not (-LARGEST < low <= high < LARGEST):
            return None
        if low == high == 0.0:
            return 0.0, 0.0
        error = roundings * self.unit * max(abs(low), abs(high))
        return low - error - self.tiny, high + error + self.tiny

    def agree(self, x: Bounds, y: Bounds) -> bool:
        """Whether two blocks may write these."""
        return x is None or y is None or (x[0] <= y[1] and y[0] <= x[1])


FLOAT64 = Intervals(2.0**-53, 2.0**-1050)
FLOAT32 = Intervals(2.0**-24, 2.0**-120)


@memoize(256)
def _of_number(fn: str) -> Callable[[float], float]:
    row = UNARY[fn]

    def of(x: float) -> float:
        with np.errstate(all="ignore"):
            return float(row.numpy(np.float64(x)))

    return of


def exact(x: float) -> Bounds:
    """A given number."""
    return None if isnan(x) else (float(x), float(x))


@dataclass(frozen=True)
class Rounding:
    """What storing a number in a narrower float may do to it."""

    relative: float
    absolute: float
    """Of numbers that are not normal."""
    largest: float


def widened(bounds: Bounds, rounding: Rounding) -> Bounds:
    """After the number was stored; None where it may overflow."""
    if bounds is None or not isfinite(bounds[0]) or bounds == (0.0, 0.0):
        return bounds
    size = max(map(abs, bounds))
    error = rounding.relative * size + rounding.absolute
    return (bounds[0] - error, bounds[1] + error) if size < rounding.largest else None
