"""Many choices of sizes as columns of numbers: a space of tens of thousands is enumerated and ranked in milliseconds.

A choice becomes names and numbers when it is read, and a search reads a few of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, overload

import numpy as np
import numpy.typing as npt

Sizes: TypeAlias = tuple[tuple[str, int], ...]
"""Values of an sGraph's own symbols, in the order of `SGraph.parameters`."""

Values: TypeAlias = "npt.NDArray[Any]"
"""Shape [symbols, choices]; int64, or Python's integers while products of sizes need more than 64 bits."""

Condition: TypeAlias = Callable[[Values], Any]
"""Which of the choices fulfil it, or whether all do; reads the symbols that have values so far."""

CHUNK = 1 << 16
"""Partial choices that are extended at once: the first legal choices are found without all the others."""


@dataclass(frozen=True, eq=False, slots=True)
class SizeTable(Sequence[Sizes]):
    """Choices of sizes.

    Example:
        >>> table = SizeTable(("g", "f"), np.array([[1, 1, 2], [1, 4, 2]]))
        >>> table[1], len(table)
        ((('g', 1), ('f', 4)), 3)
    """

    symbols: tuple[str, ...]
    values: Values

    def __len__(self) -> int:
        return self.values.shape[1]

    @overload
    def __getitem__(self, at: int) -> Sizes: ...
    @overload
    def __getitem__(self, at: slice) -> SizeTable: ...
    def __getitem__(self, at: int | slice) -> Sizes | SizeTable:
        if isinstance(at, slice):
            return SizeTable(self.symbols, self.values[:, at])
        return tuple(zip(self.symbols, self.values[:, at].tolist(), strict=True))

    def taken(self, at: npt.NDArray[Any]) -> SizeTable:
        """The choices at these places, or those where a mask is True."""
        return SizeTable(self.symbols, self.values[:, at])

    @property
    def columns(self) -> dict[str, npt.NDArray[np.float64]]:
        """By symbol, its values as floats; shape [choices]."""
        return dict(zip(self.symbols, self.values.astype(np.float64), strict=True))


@dataclass(frozen=True, eq=False, slots=True)
class RankedSizes(Sequence[tuple[float, Sizes]]):
    """Modelled seconds and sizes, fastest first."""

    times_s: npt.NDArray[np.float64]
    table: SizeTable

    @classmethod
    def of(cls, times_s: npt.NDArray[np.float64], table: SizeTable) -> RankedSizes:
        """Choices by time; those of one time by their sizes.

        Args:
            times_s: modelled seconds per choice.
            table: the choices.
        """
        order = np.lexsort((*table.values[::-1], times_s))
        return cls(times_s[order], table.taken(order))

    @classmethod
    def of_rows(cls, symbols: tuple[str, ...], rows: Sequence[tuple[float, Sizes]]) -> RankedSizes:
        """Choices that are ranked already.

        Args:
            symbols: in the order of the sizes.
            rows: modelled seconds and sizes.
        """
        values = np.array([[n for _, n in sizes] for _, sizes in rows], np.int64).reshape(len(rows), len(symbols))
        return cls(np.array([time_s for time_s, _ in rows]), SizeTable(symbols, values.T))

    def __len__(self) -> int:
        return len(self.table)

    @overload
    def __getitem__(self, at: int) -> tuple[float, Sizes]: ...
    @overload
    def __getitem__(self, at: slice) -> RankedSizes: ...
    def __getitem__(self, at: int | slice) -> tuple[float, Sizes] | RankedSizes:
        if isinstance(at, slice):
            return RankedSizes(self.times_s[at], self.table[at])
        return float(self.times_s[at]), self.table[at]

    def within(self, ranges: Mapping[str, tuple[int, int]]) -> RankedSizes:
        """The choices whose values are in these ranges.

        Args:
            ranges: by symbol, its least and largest value; symbols without values here are ignored.
        """
        is_left = np.ones(len(self), bool)
        for symbol, (least, most) in ranges.items():
            if symbol in self.table.symbols:
                values = self.table.values[self.table.symbols.index(symbol)]
                is_left &= np.asarray((least <= values) & (values <= most), bool)
        return RankedSizes(self.times_s[is_left], self.table.taken(is_left))

    def nearest(self, own: Sizes) -> Iterator[tuple[float, Sizes]]:
        """The choices that differ from these sizes in one symbol and are next to them: the next value up, and down.

        Args:
            own: values of the table's symbols.
        """
        numbers = np.array([number for _, number in own], np.int64)
        differs = self.table.values != numbers[:, None]
        for place, number in enumerate(numbers):
            (at,) = np.nonzero((differs.sum(axis=0) == 1) & differs[place])
            values = self.table.values[place, at]
            above, below = values > number, values < number
            for rows, nearest in ((at[above], values[above].argmin), (at[below], values[below].argmax)):
                if len(rows):
                    yield self[int(rows[nearest()])]


def enumerated(domains: Sequence[Sequence[int]], conditions: Sequence[Condition], largest: int) -> Iterator[Values]:
    """The choices that fulfil all conditions, in lexicographic order, some at a time.

    Args:
        domains: values to try per symbol.
        conditions: per symbol, what can be tested as soon as it and those before it have values.
        largest: an upper bound of the numbers that the conditions compute.

    Yields:
        Values of shape [symbols, choices].
    """
    kind = np.int64 if largest < 1 << 62 else object

    def extended(rows: Values) -> Iterator[Values]:
        depth = len(rows)
        if depth == len(domains):
            yield rows
            return
        own = np.array(domains[depth], kind)
        step = max(1, CHUNK // max(1, len(own)))
        for start in range(0, rows.shape[1], step):
            before = rows[:, start : start + step]
            longer = np.vstack((np.repeat(before, len(own), axis=1), np.tile(own, before.shape[1])[None]))
            is_legal = np.broadcast_to(np.asarray(conditions[depth](longer), bool), longer.shape[1:])
            longer = longer[:, is_legal]
            if longer.shape[1]:
                yield from extended(longer)

    return (values.astype(np.int64) for values in extended(np.zeros((0, 1), kind)))
