"""Program and candidate as one system of equations, and which of its numbers views and bands name by themselves.

Small numbers stand for the given ones as long as what a graph says by numbers keeps its meaning. Most of it does by
itself: the equations see to that. What a reshape's factor, a slice's end or a band's width is, a graph just says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

from prism_explore.ir.dims import Dim
from prism_explore.ir.graph import SGraph
from prism_explore.ir.ops import Band, Op, Reshape, Slice
from prism_explore.verify.shapes.constraints import BEGIN, Equation, Slots, Variables
from prism_explore.verify.shapes.read_graph import View

KEPT_AS_THEY_ARE = 2
"""Numbers in bands up to this are the same at small extents."""
NEXT_TO = 2
"""A band's number that is no further from one that a view names goes with it."""
Numbers: TypeAlias = Mapping[int, int]
"""Per variable."""


@dataclass(frozen=True, slots=True)
class Number:
    """A bound that is a number, given and at small extents."""

    given: int
    small: int

    @property
    def is_negative(self) -> bool:
        """Whether it is, at any extents."""
        return self.given < 0

    def at(self, numbers: Numbers) -> int:
        """The bound at small extents."""
        return self.small


@dataclass(frozen=True, slots=True)
class Near:
    """A bound next to a number that a view names, as a window's is to the slice of its last row."""

    given: int
    root: int
    offset: int

    @property
    def is_negative(self) -> bool:
        """Whether it is, at the given extents."""
        return self.given < 0

    def at(self, numbers: Numbers) -> int:
        """The bound at small extents."""
        return (numbers[self.root] + self.offset) * (-1 if self.is_negative else 1)


@dataclass(frozen=True, slots=True)
class Ahead:
    """The difference of a band's two extents, whatever they are."""


Bound: TypeAlias = Number | Near | Ahead | Dim | None


@dataclass(frozen=True, slots=True)
class Place:
    """A band at small extents: the variables of its dims, and rules for its bounds."""

    band: Band
    rows: int
    columns: int
    low: Bound
    high: Bound


@dataclass(frozen=True)
class Pair:
    """Program and candidate as one system of equations."""

    program: SGraph
    candidate: SGraph
    variables: Variables
    equations: tuple[Equation, ...]
    cuts: tuple[tuple[str, int], ...]
    """Grid sizes and loop ranges, and their variables; in this order they are chosen."""
    axes: tuple[tuple[str, int], ...]
    """The program's axes, and the symbols that are no axis but part of the extent of one; chosen behind the cuts."""
    inputs: tuple[tuple[str, Slots], ...]
    tensors: tuple[Slots, ...]
    """All of kernel level, of either graph."""
    views: tuple[tuple[View, ...], tuple[View, ...]]
    work: tuple[tuple[Op, Slots], ...]
    """Of both graphs, the operators that compute, and the dims of what each goes through."""
    coinciding: tuple[str, ...]
    ones: tuple[str, ...] = ()
    """Symbols of the candidate that its conditions leave no number but 1, and that it does not name any more."""
    literal: bool = False
    """Whether bands keep the numbers that they are given with."""

    @property
    def names(self) -> tuple[tuple[str, int], ...]:
        """Of all numbers that are chosen."""
        return (*self.cuts, *self.axes)

    @property
    def system(self) -> tuple[object, ...]:
        """All that the numbers depend on: candidates that are cut alike share them."""
        bands = tuple(v.op for views in self.views for v in views if isinstance(v.op, Band))
        variables = self.variables
        alike = tuple(map(variables.find, variables.same))
        free = frozenset(variables.free)
        numbers = tuple(variables.numbers.items())
        return self.equations, self.cuts, self.axes, alike, numbers, free, bands, self.literal

    @cached_property
    def given_axes(self) -> dict[str, int]:
        """The axes of which the given extent is a number."""
        extents = ((name, self.variables.given[root].constant) for name, root in self.axes)
        return {name: extent for name, extent in extents if extent is not None}

    @cached_property
    def named(self) -> dict[int, int]:
        """Given extents of variables that reshapes, slices and bands name, and of what hangs together with these."""
        find = self.variables.find
        reached = {
            find(slot)
            for views in self.views
            for view in views
            if isinstance(view.op, Reshape | Slice) or (isinstance(view.op, Band) and _has_other_numbers(view.op))
            for slot in view.slots
            if slot != BEGIN
        }
        if not reached:
            return {}
        fixed = self._fixed
        reached -= fixed
        open_ones = [frozenset((*left, *right)) - fixed for _, left, right in self.equations]
        while met := [roots for roots in open_ones if roots & reached]:
            reached = reached.union(*met)
            open_ones = [roots for roots in open_ones if not roots <= reached]
        given = ((root, self.variables.given[root].constant) for root in reached)
        return {root: extent for root, extent in given if extent is not None}

    @cached_property
    def chosen(self) -> frozenset[int]:
        """Of what is named, that which does not follow from the inputs' extents, grid sizes and loop ranges."""
        if not self.named:
            return frozenset()
        find = self.variables.find
        known = {find(slot) for _, slots in self.inputs for slot in slots}
        known |= {*self._fixed, *map(find, self.variables.symbols.values())}
        sides = [frozenset((*left, *right)) for _, left, right in self.equations]
        while follows := {root for roots in sides if len(left := roots - known) == 1 for root in left}:
            known |= follows
        return frozenset(self.named) - known

    @property
    def _fixed(self) -> frozenset[int]:
        find = self.variables.find
        return frozenset((find(0), *(root for _, root in self.cuts), *map(find, self.variables.numbers)))

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """The bands of program and candidate, in order.

        A bound that is the difference of the two extents stays that; other numbers above 2 become 3, 4, .. in order, so
        that windows of different width stay different, unless they are to be taken literally or are next to what a
        view names.
        """
        views = [(v, v.op) for views in self.views for v in views if isinstance(v.op, Band)]
        bounds = {d.constant for _, band in views for d in (band.low, band.high) if d is not None}
        large = sorted({abs(c) for c in bounds if c is not None and abs(c) > KEPT_AS_THEY_ARE})
        small = {c: KEPT_AS_THEY_ARE + k for k, c in enumerate(large, 1)}
        near = [(root, self.named[root]) for root in sorted(self.chosen)] if small else []

        def bound(d: Dim | None, band: Band) -> Bound:
            given = None if d is None else d.constant
            if d is not None and given != 0 and d == band.columns - band.rows:
                return Ahead()
            if given is None:
                return d
            if abs(given) <= KEPT_AS_THEY_ARE or self.literal:
                return Number(given, given)
            nears = (Near(given, root, abs(given) - at) for root, at in near if abs(abs(given) - at) <= NEXT_TO)
            return next(nears, Number(given, small[abs(given)] * (1 if given > 0 else -1)))

        find = self.variables.find
        return tuple(
            Place(band, find(v.slots[0]), find(v.slots[1]), bound(band.low, band), bound(band.high, band))
            for v, band in views
        )

    def bounds(self, place: Place, numbers: Numbers) -> tuple[Fraction | None, Fraction | None]:
        """A band's bounds at small extents."""

        def at(bound: Bound) -> Fraction | None:
            match bound:
                case None:
                    return None
                case Ahead():
                    return Fraction(numbers[place.columns] - numbers[place.rows])
                case Dim():
                    symbols = self.variables.symbols.items()
                    return bound.rational({s: numbers[self.variables.find(slot)] for s, slot in symbols})
                case Number() | Near():
                    return Fraction(bound.at(numbers))

        return at(place.low), at(place.high)


def _has_other_numbers(band: Band) -> bool:
    """Whether a bound is another number at small extents."""
    bounds = [d for d in (band.low, band.high) if d is not None and d != band.columns - band.rows]
    return any(d.constant is not None and abs(d.constant) > KEPT_AS_THEY_ARE for d in bounds)
