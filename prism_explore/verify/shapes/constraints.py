"""Constraints on sizes: the dims of a program and a candidate as variables, and the equations between them.

The numbers in shapes, such as 4096, are extents of axes. A trial uses other extents: small, at least 2, and pairwise
different, so that a map to the wrong dim of equal extent shows. Reshapes relate extents by products, slices and
concatenations by sums, grids by quotients. So every dim of every tensor is a variable, operators that align dims merge
two variables, and the rest are equations:

    load, store      dim = grid · loop · tile
    reshape          both sides of a group of dims have one product; a dim that is split has borders,
                     and borders at one position of one axis are one variable
    slice, concat    dim = the part before + the slice + the part after

This module shares no code with the prover, because the sizes of a trial must not depend on what it checks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from prism_explore.ir.dims import ONE, Dim, dim, is_only_symbols
from prism_explore.support.union_find import UnionFind

Slots: TypeAlias = tuple[int, ...]
"""The variables of a tensor's dims; 0 is the literal size 1."""
Path: TypeAlias = tuple[int, ...]
Equation: TypeAlias = tuple[Literal["product", "sum"], Slots, Slots]
"""Both sides have equal products, or equal sums."""


BEGIN = -1
"""Stands for position 0 instead of a variable."""


class NoExtents(Exception):
    """These graphs have sizes outside of the supported equations; caught in this package."""


@dataclass(slots=True)
class Variables:
    """Dims as variables, the classes of equal ones, and the equations between them."""

    same: UnionFind[int] = field(default_factory=lambda: UnionFind((0,)))
    given: list[Dim] = field(default_factory=lambda: [ONE])
    equations: list[Equation] = field(default_factory=list[Equation])
    numbers: dict[int, int] = field(default_factory=lambda: {0: 1})
    """Variables that are constants of the graphs, such as a grid of 3."""
    sizes: dict[Dim, int] = field(default_factory=dict[Dim, int])
    """Sizes of symbols only, such as n or f*n: one variable for all occurrences."""
    marks: dict[tuple[str, int, Dim], int] = field(default_factory=dict[tuple[str, int, Dim], int])
    """Positions along an axis: borders of a split (elements below), ends of a slice (elements before)."""
    part_of: dict[int, int] = field(default_factory=dict[int, int])
    """The dim of which another is the low part: a tile's full dim, or the split dim of its last factor."""
    made: dict[tuple[str, int, Slots], int] = field(default_factory=dict[tuple[str, int, Slots], int])
    """Tiles by full dim and tiling sizes, full dims by tile and tiling sizes, so that equal ones are one variable."""
    concat_operands: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    """Per concatenated dim, those of the operands."""
    free: set[int] = field(default_factory=set[int])
    """Variables that may be 1: the rests of slices."""
    joins: int = 0

    def copy(self) -> Variables:
        """The same variables and equations, to be added to."""
        return Variables(
            self.same.copy(),
            self.given.copy(),
            self.equations.copy(),
            self.numbers.copy(),
            self.sizes.copy(),
            self.marks.copy(),
            self.part_of.copy(),
            self.made.copy(),
            self.concat_operands.copy(),
            self.free.copy(),
            self.joins,
        )

    def new(self, given: Dim) -> int:
        """The variable for a dim of the given extent.

        A size of symbols has one variable, and the literal 1 is variable 0. An extent with another number gets a new
        variable, because the number is the extent of an axis.
        """
        if given.is_one:
            return 0
        return self.size(given) if is_only_symbols(given) else self._fresh(given)

    def _fresh(self, given: Dim) -> int:
        slot = len(self.given)
        self.same.add(slot)
        self.given.append(given)
        return slot

    def find(self, slot: int) -> int:
        """The representative of all variables that were merged with this one."""
        return self.same.find(slot)

    def join(self, a: int, b: int) -> None:
        """State that two dims have equal extents."""
        self.joins += self.same.union(a, b)

    def product(self, whole: Iterable[int], parts: Iterable[int]) -> None:
        """State that both sides have equal products."""
        self.equations.append(("product", tuple(whole), tuple(parts)))

    def sum(self, whole: Iterable[int], parts: Iterable[int]) -> None:
        """State that both sides have equal sums."""
        self.equations.append(("sum", tuple(whole), tuple(parts)))

    def cut(self, whole: int, parts: Sequence[int], given: Dim) -> int:
        """The tile of a dim that grid dims and a loop partition."""
        key = ("tile", self.find(whole), tuple(map(self.find, parts)))
        if key not in self.made:
            tile = self.made[key] = self.new(given)
            self.product((whole,), (*parts, tile))
            if tile:
                self.part_of[tile] = whole
                self.made[("whole", self.find(tile), key[2])] = whole
        return self.made[key]

    def laid(self, tile: int, parts: Sequence[int], given: Dim) -> int:
        """The dim that tiles form."""
        key = ("whole", self.find(tile), tuple(map(self.find, parts)))
        if key not in self.made:
            whole = self.made[key] = self.new(given)
            self.product((whole,), (*parts, tile))
        return self.made[key]

    def mark(self, kind: str, axis: int, at: Dim) -> int:
        """The variable for a position along an axis."""
        key = (kind, self._origin(kind, axis), at)
        if key not in self.marks:
            self.marks[key] = self.new(at)
            self.free.add(self.marks[key])
        return self.marks[key]

    def border(self, axis: int, below: int) -> None:
        """State that an axis has a border with `below` elements below it."""
        key = ("border", self._origin("border", axis), self.given[below])
        self.join(self.marks.setdefault(key, below), below)

    def _origin(self, kind: str, axis: int) -> int:
        """The axis that owns a position: for the border of a tile, its full dim."""
        axis = self.find(axis)
        for _ in range(16 if kind == "border" else 0):
            if axis not in self.part_of:
                break
            axis = self.find(self.part_of[axis])
        return axis

    def size(self, d: Dim) -> int:
        """The variable for a size whose numbers are literal, such as a grid's."""
        if d.is_one:
            return 0
        if d not in self.sizes:
            self.sizes[d] = self._fresh(d)
            if d.constant is not None:
                self.numbers[self.sizes[d]] = d.constant
            elif d not in map(dim, d.symbols):
                self._define(self.sizes[d], d)
        return self.sizes[d]

    def _define(self, slot: int, d: Dim) -> None:
        """Add the equation that defines a variable as a size of symbols and numbers."""
        if len(d.terms) == 1:
            ((powers, coefficient),) = d.terms
            above = [self.size(dim(s)) for s, e in powers if e > 0 for _ in range(e)]
            below = [self.size(dim(s)) for s, e in powers if e < 0 for _ in range(-e)]
            above.append(self.size(dim(coefficient.numerator)))
            self.product((slot, *below, self.size(dim(coefficient.denominator))), above)
            return
        if not all(c.denominator == 1 and all(e > 0 for _, e in powers) for powers, c in d.terms):
            raise NoExtents(f"a grid size or loop range is the sum {d}")
        added, taken = (
            [self.size(Dim(((powers, abs(c)),))) for powers, c in d.terms if (c > 0) == positive]
            for positive in (True, False)
        )
        self.sum((slot, *taken), added)

    @property
    def symbols(self) -> dict[str, int]:
        """The variable of every symbol that occurs by itself or in a size of symbols."""
        return {s: slot for d, slot in self.sizes.items() for s in d.symbols[:1] if d == dim(s)}

    # ------------------------------------------------------------ consequences
    def close(self) -> tuple[Equation, ...]:
        """Merge variables that must be equal until none are left; the remaining equations, each once."""
        while True:
            before = self.joins
            equations = self._cancelled()
            if self.marks:
                self.part_of = {self.find(tile): whole for tile, whole in self.part_of.items()}
                for (kind, axis, at), slot in [*self.marks.items()]:
                    self.join(self.marks.setdefault((kind, self._origin(kind, axis), at), slot), slot)
            if before == self.joins:
                return equations

    def _cancelled(self) -> tuple[Equation, ...]:
        find, seen, kept = self.find, dict[tuple[object, ...], int](), dict[Equation, None]()
        for kind, left, right in self.equations:
            above = sorted(r for r in map(find, left) if r or kind == "sum")
            below = sorted(r for r in map(find, right) if r or kind == "sum")
            for s in tuple(above):
                if s in below:
                    above.remove(s)
                    below.remove(s)
            if not above and not below:
                continue
            if kind == "product" and not (above and below):
                for s in above or below:
                    self.join(0, s)
                continue
            if len(above) == len(below) == 1:
                self.join(above[0], below[0])
                continue
            for side, other, where in ((above, below, 0), (below, above, 1)):
                if len(side) > 1 and len(set(side)) == 1:
                    known = seen.setdefault((kind, where, "alike", len(side), *other), side[0])
                    if find(known) != find(side[0]):
                        self.join(known, side[0])
                for n, s in enumerate(side):
                    key = (kind, where, *side[:n], *side[n + 1 :], -1, *other)
                    known = seen.setdefault(key, s)
                    if find(known) != find(s):
                        self.join(known, s)
            kept[(kind, tuple(above), tuple(below))] = None
        return tuple(kept)


# ---------------------------------------------------------------- graphs to equations
