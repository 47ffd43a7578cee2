"""Closed forms: cost functions recorded as lists of operations, so that a browser evaluates what Python computes.

A cost function takes the values of symbols. Called with recorded values in place of numbers, it returns a recorded
value: the index of a row. A row is an operation on earlier rows, a number, or a symbol. `evaluate` is the reference
that the browser half follows.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import ceil, sqrt
from typing import Any, TypeAlias

from prism_explore.ir.dims import Dim

Row: TypeAlias = tuple[str | float, ...]
"""Name of the operation and the indices of its operands; `("number", value)`; `("symbol", name)`."""


def _quotient(a: float, b: float) -> float:
    return a / b


def _both(a: float, b: float) -> bool:
    return a != 0 and b != 0


def _choose(test: float, yes: float, no: float) -> float:
    return yes if test else no


OPERATIONS: Mapping[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": _quotient,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "logical_and": _both,
    "where": _choose,
    "ceil": ceil,
    "sqrt": sqrt,
}
"""What each operation computes; truth values are 1 and 0. The names are those of NumPy's functions."""


class Forms:
    """The rows of recorded functions; equal rows are stored once."""

    def __init__(self) -> None:
        self._rows: dict[Row, int] = {}

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows, operands before the operations on them."""
        return tuple(self._rows)

    def symbol(self, name: str) -> Recorded:
        """The value of a symbol."""
        return self._row("symbol", name)

    def size(self, d: Dim) -> Recorded:
        """A size: per term one numerator and one denominator, so that a whole number stays exact."""
        total = self._row("number", 0.0)
        for number, (monomial, coefficient) in enumerate(d.terms):
            exact = Fraction(coefficient)
            above, below = self.number(float(exact.numerator)), self.number(float(exact.denominator))
            for symbol, exponent in monomial:
                for _ in range(abs(exponent)):
                    if exponent > 0:
                        above = above * self.symbol(symbol)
                    else:
                        below = below * self.symbol(symbol)
            term = above if below.index == self.number(1.0).index else above / below
            total = term if number == 0 else total + term
        return total

    def number(self, value: Any) -> Recorded:
        """A recorded value unchanged, or a number as one."""
        return value if isinstance(value, Recorded) else self._row("number", float(value))

    def apply(self, name: str, *operands: Any) -> Recorded:
        """The row of an operation."""
        return self._row(name, *(self.number(o).index for o in operands))

    def _row(self, *row: str | float) -> Recorded:
        return Recorded(self, self._rows.setdefault(row, len(self._rows)))


class Recorded:
    """A value that is not known yet; operators and the NumPy functions of `OPERATIONS` record rows."""

    __slots__ = ("forms", "index")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, forms: Forms, index: int) -> None:
        self.forms, self.index = forms, index

    def __add__(self, other: Any) -> Recorded:
        return self.forms.apply("add", self, other)

    def __radd__(self, other: Any) -> Recorded:
        return self.forms.apply("add", other, self)

    def __sub__(self, other: Any) -> Recorded:
        return self.forms.apply("subtract", self, other)

    def __rsub__(self, other: Any) -> Recorded:
        return self.forms.apply("subtract", other, self)

    def __mul__(self, other: Any) -> Recorded:
        return self.forms.apply("multiply", self, other)

    def __rmul__(self, other: Any) -> Recorded:
        return self.forms.apply("multiply", other, self)

    def __truediv__(self, other: Any) -> Recorded:
        return self.forms.apply("divide", self, other)

    def __rtruediv__(self, other: Any) -> Recorded:
        return self.forms.apply("divide", other, self)

    def __lt__(self, other: Any) -> Recorded:
        return self.forms.apply("less", self, other)

    def __le__(self, other: Any) -> Recorded:
        return self.forms.apply("less_equal", self, other)

    def __gt__(self, other: Any) -> Recorded:
        return self.forms.apply("greater", self, other)

    def __bool__(self) -> bool:
        raise TypeError("a recorded value has no truth value; use numpy.where in place of if")

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **_: Any) -> Recorded:
        assert method == "__call__" and ufunc.__name__ in OPERATIONS, f"numpy.{ufunc.__name__} is not recorded"
        return self.forms.apply(ufunc.__name__, *operands)

    def __array_function__(self, function: Any, _: Any, operands: Any, __: Any) -> Recorded:
        assert function.__name__ in OPERATIONS, f"numpy.{function.__name__} is not recorded"
        return self.forms.apply(function.__name__, *operands)


def evaluate(rows: Sequence[Row], symbols: Mapping[str, float]) -> list[float]:
    """The value of every row.

    Raises:
        KeyError: a symbol has no value.
    """
    values: list[float] = []
    for name, *operands in rows:
        if name == "number":
            values.append(float(operands[0]))
        elif name == "symbol":
            values.append(float(symbols[str(operands[0])]))
        else:
            values.append(float(OPERATIONS[str(name)](*(values[int(o)] for o in operands))))
    return values
