"""Ranges of symbols: the values of a symbol that a caller needs.

A family is proved for all positive integers that meet its conditions, so a range changes neither search nor proof. A
condition such as "b/4 is whole" is evaluated for the values in the range, and a call outside of it raises an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from prism_explore.errors import ShapeError
from prism_explore.ir.dims import Dim
from prism_explore.ir.tensors import TensorType
from prism_explore.ir.to_sympy import bounds_to_latex

MOST_VALUES = 4096
"""The most combinations of values of all symbols with a range. With more, conditions are stated, not evaluated."""
_SHOWN = 6


@dataclass(frozen=True, slots=True)
class Ranges:
    """The least and the largest value of each symbol that has a range."""

    bounds: tuple[tuple[str, int, int], ...] = ()

    def __str__(self) -> str:
        return ", ".join(f"{s} from {low} to {high}" for s, low, high in self.bounds)

    def _repr_latex_(self) -> str:
        return bounds_to_latex(self.bounds)

    def check(self, sizes: Mapping[str, int], where: str) -> None:
        """Check that these sizes are in range.

        Raises:
            ShapeError: one is not.
        """
        for symbol, low, high in self.bounds:
            if symbol in sizes and not low <= sizes[symbol] <= high:
                raise ShapeError(
                    f"{where}: {symbol} is {sizes[symbol]}, and was declared from {low} to {high}; search again with a "
                    f"range that has it, such as ranges={{{symbol!r}: ({min(low, sizes[symbol])}, "
                    f"{max(high, sizes[symbol])})}}"
                )

    def evaluate(self, conditions: Iterable[Dim], numbers: Mapping[str, int]) -> SatisfiedValues | None:
        """The values at which conditions hold, with other symbols at these numbers; None if there are too many.

        Raises:
            ShapeError: a symbol without a range has no number.
        """
        if prod(high - low + 1 for _, low, high in self.bounds) > MOST_VALUES:
            return None
        names = tuple(s for s, _, _ in self.bounds)
        sizes = tuple(conditions)
        good: list[tuple[int, ...]] = []
        total = 0
        for values in product(*(range(low, high + 1) for _, low, high in self.bounds)):
            total += 1
            at = {**numbers, **dict(zip(names, values, strict=True))}
            if all(n.denominator == 1 and n >= 1 for n in (d.rational(at) for d in sizes)):
                good.append(values)
        return SatisfiedValues(names, tuple(good), total, tuple(str(d) for d in sizes if set(d.symbols) & set(names)))


UNBOUNDED = Ranges()
"""No symbol has a range."""


@dataclass(frozen=True, slots=True)
class SatisfiedValues:
    """The values of ranged symbols at which conditions hold."""

    symbols: tuple[str, ...]
    values: tuple[tuple[int, ...], ...]
    total: int
    """The number of values in the ranges."""
    conditions: tuple[str, ...]
    """The conditions that depend on these symbols."""

    def __str__(self) -> str:
        which = self.symbols[0] if len(self.symbols) == 1 else f"({', '.join(self.symbols)})"
        if len(self.values) == self.total:
            return f"at every {which} of the range"
        shown = ", ".join(str(v[0]) if len(v) == 1 else str(v) for v in self.values[:_SHOWN])
        more = ", ..." if len(self.values) > _SHOWN else ""
        kind = "is whole" if len(self.conditions) == 1 else "are whole"
        return (
            f"at {len(self.values)} of {self.total} values of {which}{': ' if shown else ''}{shown}{more}, where "
            f"{' and '.join(self.conditions)} {kind}"
        )


def parse_ranges(given: Mapping[str, tuple[int, int]], symbols: Iterable[str], program: str) -> Ranges:
    """The ranges that a caller declares.

    Raises:
        ShapeError: no such symbol, or a range without a size in it.
    """
    known = tuple(symbols)
    for symbol, bounds in given.items():
        if symbol not in known:
            raise ShapeError(f"{program} has no symbol {symbol!r} to give a range; it has {', '.join(known) or 'none'}")
        numbers = tuple(bounds) if isinstance(bounds, Sequence) else ()  # pyright: ignore[reportUnnecessaryIsInstance]
        if len(numbers) != 2 or any(type(n) is not int for n in numbers):
            raise ShapeError(f"a range is two whole numbers, such as {{{symbol!r}: (1, 64)}}; found {bounds!r}")
        low, high = numbers
        if not 1 <= low <= high:
            raise ShapeError(f"a range is from 1 or more to no less, found {symbol!r} from {low} to {high}")
    return Ranges(tuple((s, *given[s]) for s in known if s in given))


def sizes_of(types: Iterable[TensorType], shapes: Iterable[tuple[int, ...]]) -> dict[str, int]:
    """The values of symbols that are dims of tensors, given the tensors' shapes; a shape of another rank is ignored."""
    found: dict[str, int] = {}
    for t, shape in zip(types, shapes, strict=False):
        if len(shape) == t.rank:
            for d, n in zip(t.dims, shape, strict=True):
                if d.symbol:
                    found.setdefault(d.symbol, n)
    return found
