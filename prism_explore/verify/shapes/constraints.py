"""Constraints on sizes: the dims of a program and a candidate as variables, and equations between them.

The numbers in shapes, such as 4096, are extents of axes. A trial uses other extents: small, at least 2, and pairwise
different, so that a map to a wrong dim of equal extent is detected. Reshapes relate extents by products, slices and
concatenations by sums, grids by quotients. So every dim of every tensor is a variable, operators that align dims merge
two variables, and the other relations are equations:

    load, store      dim = grid · loop · tile
    reshape          both sides of a group of dims have equal products; a split dim has borders, and borders at
                     the same position of an axis are one variable
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
"""The variables of the dims of a tensor; variable 0 is the literal size 1."""
Path: TypeAlias = tuple[int, ...]
Equation: TypeAlias = tuple[Literal["product", "sum"], Slots, Slots]
"""Two lists of variables with equal products, or equal sums."""


BEGIN = -1
"""The position 0, which has no variable."""


class UnsupportedSizes(Exception):
    """A graph has sizes that these equations cannot express; caught in this package."""


@dataclass(slots=True)
class Variables:
    """Dims as variables, the classes of equal variables, and the equations between them."""

    classes: UnionFind[int] = field(default_factory=lambda: UnionFind((0,)))
    given_extents: list[Dim] = field(default_factory=lambda: [ONE])
    equations: list[Equation] = field(default_factory=list[Equation])
    numbers: dict[int, int] = field(default_factory=lambda: {0: 1})
    """The variables that are constants in the graphs, such as a grid of 3, with their values."""
    sizes: dict[Dim, int] = field(default_factory=dict[Dim, int])
    """The variables of sizes of symbols only, such as n or f*n: one for all occurrences."""
    positions: dict[tuple[str, int, Dim], int] = field(default_factory=dict[tuple[str, int, Dim], int])
    """Positions along an axis: borders of a split (elements below), ends of a slice (elements before)."""
    part_of: dict[int, int] = field(default_factory=dict[int, int])
    """The full dim of each tile, and the split dim of each last factor."""
    tilings: dict[tuple[str, int, Slots], int] = field(default_factory=dict[tuple[str, int, Slots], int])
    """Tiles by full dim and tiling sizes, and full dims by tile and tiling sizes; so equal dims are one variable."""
    concat_operands: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    """The operands' dims of each concatenated dim."""
    may_be_one: set[int] = field(default_factory=set[int])
    """Variables that may be 1: the parts after slices."""
    scanned: set[int] = field(default_factory=set[int])
    """Dims of which an operator takes prefix sums."""
    merges: int = 0

    def copy(self) -> Variables:
        """A copy, to which more variables and equations can be added."""
        return Variables(
            self.classes.copy(),
            self.given_extents.copy(),
            self.equations.copy(),
            self.numbers.copy(),
            self.sizes.copy(),
            self.positions.copy(),
            self.part_of.copy(),
            self.tilings.copy(),
            self.concat_operands.copy(),
            self.may_be_one.copy(),
            self.scanned.copy(),
            self.merges,
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
        slot = len(self.given_extents)
        self.classes.add(slot)
        self.given_extents.append(given)
        return slot

    def find(self, slot: int) -> int:
        """The representative of all variables that were merged with this one."""
        return self.classes.find(slot)

    def merge(self, a: int, b: int) -> None:
        """Merge two variables: their dims have equal extents."""
        self.merges += self.classes.union(a, b)

    def product(self, whole: Iterable[int], parts: Iterable[int]) -> None:
        """Add the equation that both sides have equal products."""
        self.equations.append(("product", tuple(whole), tuple(parts)))

    def sum(self, whole: Iterable[int], parts: Iterable[int]) -> None:
        """Add the equation that both sides have equal sums."""
        self.equations.append(("sum", tuple(whole), tuple(parts)))

    def tile(self, whole: int, parts: Sequence[int], given: Dim) -> int:
        """The variable of the tile of a dim that grid dims and a loop partition."""
        key = ("tile", self.find(whole), tuple(map(self.find, parts)))
        if key not in self.tilings:
            tile = self.tilings[key] = self.new(given)
            self.product((whole,), (*parts, tile))
            if tile:
                self.part_of[tile] = whole
                self.tilings[("whole", self.find(tile), key[2])] = whole
        return self.tilings[key]

    def full_dim(self, tile: int, parts: Sequence[int], given: Dim) -> int:
        """The variable of the dim that tiles form."""
        key = ("whole", self.find(tile), tuple(map(self.find, parts)))
        if key not in self.tilings:
            whole = self.tilings[key] = self.new(given)
            self.product((whole,), (*parts, tile))
        return self.tilings[key]

    def position(self, kind: str, axis: int, at: Dim) -> int:
        """The variable of a position along an axis."""
        key = (kind, self._origin(kind, axis), at)
        if key not in self.positions:
            self.positions[key] = self.new(at)
            self.may_be_one.add(self.positions[key])
        return self.positions[key]

    def border(self, axis: int, below: int) -> None:
        """Add a border to an axis, with `below` elements below it."""
        key = ("border", self._origin("border", axis), self.given_extents[below])
        self.merge(self.positions.setdefault(key, below), below)

    def _origin(self, kind: str, axis: int) -> int:
        """The axis of a position: for the border of a tile, its full dim."""
        axis = self.find(axis)
        for _ in range(16 if kind == "border" else 0):
            if axis not in self.part_of:
                break
            axis = self.find(self.part_of[axis])
        return axis

    def size(self, d: Dim) -> int:
        """The variable of a size whose numbers are literal, such as a grid size."""
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
        """Add the equation between a variable and the size of symbols and numbers that it is."""
        if len(d.terms) == 1:
            ((powers, coefficient),) = d.terms
            numerators = [self.size(dim(s)) for s, e in powers if e > 0 for _ in range(e)]
            denominators = [self.size(dim(s)) for s, e in powers if e < 0 for _ in range(-e)]
            numerators.append(self.size(dim(coefficient.numerator)))
            self.product((slot, *denominators, self.size(dim(coefficient.denominator))), numerators)
            return
        if not all(c.denominator == 1 and all(e > 0 for _, e in powers) for powers, c in d.terms):
            raise UnsupportedSizes(f"a grid size or loop range is the sum {d}")
        added, taken = (
            [self.size(Dim(((powers, abs(c)),))) for powers, c in d.terms if (c > 0) == positive]
            for positive in (True, False)
        )
        self.sum((slot, *taken), added)

    @property
    def symbols(self) -> dict[str, int]:
        """The variable of each symbol in a size of symbols."""
        return {s: slot for d, slot in self.sizes.items() for s in d.symbols[:1] if d == dim(s)}

    # ------------------------------------------------------------ consequences
    def close(self) -> tuple[Equation, ...]:
        """Merge variables that must be equal, up to a fixed point; returns the remaining equations, each once."""
        while True:
            before = self.merges
            equations = self._simplified()
            if self.positions:
                self.part_of = {self.find(tile): whole for tile, whole in self.part_of.items()}
                for (kind, axis, at), slot in [*self.positions.items()]:
                    self.merge(self.positions.setdefault((kind, self._origin(kind, axis), at), slot), slot)
            if before == self.merges:
                return equations

    def _simplified(self) -> tuple[Equation, ...]:
        find, seen, kept = self.find, dict[tuple[object, ...], int](), dict[Equation, None]()
        for kind, left, right in self.equations:
            left_roots = sorted(r for r in map(find, left) if r or kind == "sum")
            right_roots = sorted(r for r in map(find, right) if r or kind == "sum")
            for s in tuple(left_roots):
                if s in right_roots:
                    left_roots.remove(s)
                    right_roots.remove(s)
            if not left_roots and not right_roots:
                continue
            if kind == "product" and not (left_roots and right_roots):
                for s in left_roots or right_roots:
                    self.merge(0, s)
                continue
            if len(left_roots) == len(right_roots) == 1:
                self.merge(left_roots[0], right_roots[0])
                continue
            for side, other, where in ((left_roots, right_roots, 0), (right_roots, left_roots, 1)):
                if len(side) > 1 and len(set(side)) == 1:
                    known = seen.setdefault((kind, where, "alike", len(side), *other), side[0])
                    if find(known) != find(side[0]):
                        self.merge(known, side[0])
                for n, s in enumerate(side):
                    key = (kind, where, *side[:n], *side[n + 1 :], -1, *other)
                    known = seen.setdefault(key, s)
                    if find(known) != find(s):
                        self.merge(known, s)
            kept[(kind, tuple(left_roots), tuple(right_roots))] = None
        return tuple(kept)
