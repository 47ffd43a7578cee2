"""Program and candidate as one system of equations, and the numbers in views and bands.

Small sizes may replace the given ones if the numbers in a graph keep their meaning. The equations ensure this for most
numbers, but not for the factors of a reshape, the ends of a slice and the width of a band.
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

MAX_UNCHANGED_BOUND = 2
"""Bounds of bands with at most this magnitude are the same at small extents."""
MAX_DISTANCE = 2
"""A bound of a band with at most this distance to a number in a view keeps this distance."""
Numbers: TypeAlias = Mapping[int, int]
"""Values of variables."""


@dataclass(frozen=True, slots=True)
class FixedBound:
    """A bound that is a number, at the given extents and at small extents."""

    given: int
    small: int

    @property
    def is_negative(self) -> bool:
        """Whether it is negative, at all extents."""
        return self.given < 0

    def at(self, numbers: Numbers) -> int:
        """The bound at small extents."""
        return self.small


@dataclass(frozen=True, slots=True)
class BoundNear:
    """A bound near a number in a view; for example, the bound of a window near the slice of its last row."""

    given: int
    root: int
    offset: int

    @property
    def is_negative(self) -> bool:
        """Whether it is negative, at the given extents."""
        return self.given < 0

    def at(self, numbers: Numbers) -> int:
        """The bound at small extents."""
        return (numbers[self.root] + self.offset) * (-1 if self.is_negative else 1)


@dataclass(frozen=True, slots=True)
class ExtentDifference:
    """The difference of a band's two extents."""


Bound: TypeAlias = FixedBound | BoundNear | ExtentDifference | Dim | None


@dataclass(frozen=True, slots=True)
class PlacedBand:
    """A band, the variables of its dims, and its bounds at small extents."""

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
    tiling_sizes: tuple[tuple[str, int], ...]
    """Grid sizes and loop ranges with their variables, in the order of choice."""
    axes: tuple[tuple[str, int], ...]
    """The program's axes, and symbols in extents, with their variables; chosen after the grid sizes and loop ranges."""
    inputs: tuple[tuple[str, Slots], ...]
    tensors: tuple[Slots, ...]
    """The kernel-level tensors of both graphs."""
    views: tuple[tuple[View, ...], tuple[View, ...]]
    work: tuple[tuple[Op, Slots], ...]
    """The compute operators of both graphs, and the dims over which each iterates."""
    coinciding: tuple[str, ...]
    ones: tuple[str, ...] = ()
    """Symbols of the candidate that its conditions force to be 1, and that were replaced by 1."""
    limits: tuple[tuple[str, int], ...] = ()
    """Per lookup in either graph, the integer input and the variable of the dim in which it has positions."""
    literal: bool = False
    """Whether bands keep the given bounds."""

    @property
    def names(self) -> tuple[tuple[str, int], ...]:
        """All sizes that are chosen, with their variables."""
        return (*self.tiling_sizes, *self.axes)

    @property
    def system_key(self) -> tuple[object, ...]:
        """The cache key of a solution; candidates with equal tilings share it."""
        bands = tuple(v.op for views in self.views for v in views if isinstance(v.op, Band))
        variables = self.variables
        alike = tuple(map(variables.find, variables.classes))
        free = frozenset(variables.may_be_one)
        numbers = tuple(variables.numbers.items())
        return self.equations, self.tiling_sizes, self.axes, alike, numbers, free, bands, self.literal

    @cached_property
    def given_axes(self) -> dict[str, int]:
        """The axes whose given extent is a number."""
        extents = ((name, self.variables.given_extents[root].constant) for name, root in self.axes)
        return {name: extent for name, extent in extents if extent is not None}

    @cached_property
    def named(self) -> dict[int, int]:
        """The given extents of variables in reshapes, slices and bands, and of those that equations connect to them."""
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
        given = ((root, self.variables.given_extents[root].constant) for root in reached)
        return {root: extent for root, extent in given if extent is not None}

    @cached_property
    def chosen(self) -> frozenset[int]:
        """The variables of `named` that do not follow from the inputs' extents, grid sizes and loop ranges."""
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
        return frozenset((find(0), *(root for _, root in self.tiling_sizes), *map(find, self.variables.numbers)))

    @cached_property
    def bands(self) -> tuple[PlacedBand, ...]:
        """The bands of program and candidate, in order.

        A bound that is the difference of both extents remains this difference. Other numbers above 2 become 3, 4, .. in
        order, so that windows of different widths stay different, unless they are literal or near a number in a view.
        """
        views = [(v, v.op) for views in self.views for v in views if isinstance(v.op, Band)]
        bounds = {d.constant for _, band in views for d in (band.low, band.high) if d is not None}
        large = sorted({abs(c) for c in bounds if c is not None and abs(c) > MAX_UNCHANGED_BOUND})
        small = {c: MAX_UNCHANGED_BOUND + k for k, c in enumerate(large, 1)}
        near = [(root, self.named[root]) for root in sorted(self.chosen)] if small else []

        def bound(d: Dim | None, band: Band) -> Bound:
            given = None if d is None else d.constant
            if d is not None and given != 0 and d == band.columns - band.rows:
                return ExtentDifference()
            if given is None:
                return d
            if abs(given) <= MAX_UNCHANGED_BOUND or self.literal:
                return FixedBound(given, given)
            nears = (
                BoundNear(given, root, abs(given) - at) for root, at in near if abs(abs(given) - at) <= MAX_DISTANCE
            )
            return next(nears, FixedBound(given, small[abs(given)] * (1 if given > 0 else -1)))

        find = self.variables.find
        return tuple(
            PlacedBand(band, find(v.slots[0]), find(v.slots[1]), bound(band.low, band), bound(band.high, band))
            for v, band in views
        )

    def band_bounds(self, place: PlacedBand, numbers: Numbers) -> tuple[Fraction | None, Fraction | None]:
        """A band's bounds at small extents."""

        def at(bound: Bound) -> Fraction | None:
            match bound:
                case None:
                    return None
                case ExtentDifference():
                    return Fraction(numbers[place.columns] - numbers[place.rows])
                case Dim():
                    symbols = self.variables.symbols.items()
                    return bound.rational({s: numbers[self.variables.find(slot)] for s, slot in symbols})
                case FixedBound() | BoundNear():
                    return Fraction(bound.at(numbers))

        return at(place.low), at(place.high)


def _has_other_numbers(band: Band) -> bool:
    """Whether a bound changes at small extents."""
    bounds = [d for d in (band.low, band.high) if d is not None and d != band.columns - band.rows]
    return any(d.constant is not None and abs(d.constant) > MAX_UNCHANGED_BOUND for d in bounds)
