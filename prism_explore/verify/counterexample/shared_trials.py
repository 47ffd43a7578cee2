"""Trials at sizes that all candidates of a program share, so that equal values are computed once.

Each axis of the program has one small extent with many divisors, the same for every candidate. Grid sizes and loop
ranges are chosen kernel by kernel among the divisors of the dims that they tile: all at least 2, all different, and no
tile a single element long. Values are cached by `ir.interpreter.memoized`.

Only agreement counts at these sizes. A candidate that does not run there, that names extents as numbers, or that
differs from the program is tried again by the refuter, at sizes of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from math import gcd
from typing import TypeAlias

import numpy as np

from prism_explore.errors import ShapeError
from prism_explore.ir.dims import Dim
from prism_explore.ir.graph import SGraph
from prism_explore.ir.interpreter.memoized import MemoizedInterpreter, ValueEquality
from prism_explore.ir.interpreter.reference import Array
from prism_explore.ir.ops import BlockGraph, Load
from prism_explore.support.caches import memoize
from prism_explore.verify.shapes.instance import Instance

CUTS = range(2, 13)
"""Candidates for grid sizes and loop ranges."""
CACHED_CHOICES = 2048
"""Choices of sizes that are cached."""
MANY_SIZES = 4
"""From so many grid sizes and loop ranges on, some may be equal where no different numbers fit."""

ROUNDING = 1e-12
"""Relative: sums of the few terms of a trial, added in another order, mostly differ by less."""

Sizes: TypeAlias = tuple[tuple[str, int], ...]
Known: TypeAlias = dict[tuple[object, ...], tuple[int, ...]]
"""Sizes for grid dims and loops (empty where none fit), by their count, the dims that they tile, and earlier sizes."""
Whole: TypeAlias = Sequence[tuple[int, tuple[int, ...]]]
"""Remaining extents of dims, and which of the open sizes tile them."""


def _sample(value: Array) -> str:
    """The first and the last number, without the digits that rounding may change."""
    return f"{value.item(0):.9e} {value.item(-1):.9e}" if value.size else ""


def _same(one: Array, other: Array) -> bool:
    """Whether all numbers are equal up to rounding; a NaN equals nothing."""
    return bool(((np.abs(one - other) <= ROUNDING * np.abs(other)) | (one == other)).all())


FLOATS = ValueEquality(_sample, _same)


class SharedTrial:
    """One choice of extents and inputs, on which candidates are run one after the other."""

    def __init__(
        self,
        program: SGraph,
        instance: Instance,
        values: Sequence[Array],
        most: int,
        turn: int,
        alike: ValueEquality,
        *,
        tiny: bool = False,
    ) -> None:
        """Start with the values of the program.

        Args:
            program: the program that candidates implement.
            instance: the extents.
            values: every tensor of the program.
            most: elements that are cached.
            turn: which of the fitting sizes is tried first.
            alike: which values count as equal.
            tiny: whether all sizes are 2.
        """
        self._shared = MemoizedInterpreter(program, instance.program, values, instance.symbols, most, alike)
        self._instance, self._turn, self._tiny = instance, turn, tiny
        self._extents = [number for _, number in instance.sizes]
        self._known: Known = {}

    def compare(self, candidate: SGraph, error_of: Callable[[Array], float]) -> tuple[Sizes, float] | None:
        """Run a candidate: its sizes and the error of its result; None where it does not run at these sizes."""
        if len(self._known) >= CACHED_CHOICES:
            self._known.clear()
        cuts = Cuts(self._instance.symbols, self._extents, self._known, self._turn, tiny=self._tiny)
        shared = self._shared
        try:
            with np.errstate(all="ignore"):
                result = shared.run(candidate, cuts)
                if result not in shared.caller_cache:
                    shared.caller_cache[result] = error_of(shared.values[result])
        except (ShapeError, ValueError, OverflowError):
            return None
        chosen = tuple(cuts.chosen.items())
        return (*self._named(frozenset(s for s, _ in chosen)), *chosen), shared.caller_cache[result]

    def _named(self, cuts: frozenset[str]) -> Sizes:
        """The program's axes, under names that no grid dim or loop has."""
        if not any(name in cuts for name, _ in self._instance.sizes):
            return self._instance.sizes
        spelled = ((name, (f"{name}_{k}" for k in count(1))) for name, _ in self._instance.sizes)
        names = [name if name not in cuts else next(s for s in others if s not in cuts) for name, others in spelled]
        return tuple(zip(names, self._extents, strict=True))


class Cuts:
    """Chooses the grid sizes and loop ranges of one candidate, kernel by kernel."""

    def __init__(
        self, given: Mapping[str, int], extents: Sequence[int], known: Known, turn: int, *, tiny: bool = False
    ) -> None:
        """Start with the sizes of the program's symbols.

        Args:
            given: these sizes.
            extents: of the program's axes; no chosen size may equal one.
            known: cached choices for the same extents and turn.
            turn: which of the fitting sizes is tried first.
            tiny: whether all chosen sizes are 2, and tiles may be 1.
        """
        self.sizes = dict(given)
        self._extents = frozenset[int]() if tiny else frozenset(extents)
        self._known, self._turn, self._tiny = known, turn, tiny
        self.chosen: dict[str, int] = {}
        """The sizes that were chosen here."""

    def __call__(self, block: BlockGraph, shapes: Sequence[tuple[int, ...]]) -> Mapping[str, int]:
        """The sizes of a block graph's symbols, by the shapes of its kernel's operands.

        Raises:
            ShapeError: no sizes fit.
        """
        cuts = _symbols(block)
        open_cuts = [*dict.fromkeys([s for s in cuts if s is not None and s not in self.sizes])]
        if open_cuts:
            whole, before = self._whole(block, shapes, cuts, open_cuts), tuple(self.chosen.values())
            key = len(open_cuts), *whole, *before
            fits = self._known.get(key)
            if fits is None:
                many = len(before) + len(open_cuts) >= MANY_SIZES
                fits = self._choose(len(open_cuts), whole, before) or (
                    many and self._choose(len(open_cuts), whole, before, alike=True)
                )
                self._known[key] = fits = fits or ()
            if not fits:
                raise ShapeError("no numbers cut these extents")
            chosen = dict(zip(open_cuts, fits, strict=True))
            self.sizes.update(chosen)
            self.chosen.update(chosen)
        return self.sizes

    def _whole(
        self, block: BlockGraph, shapes: Sequence[tuple[int, ...]], cuts: Sequence[str | None], open_cuts: list[str]
    ) -> list[tuple[int, tuple[int, ...]]]:
        """The remaining extent of each dim that is tiled, and which open sizes tile it, each pair once."""
        found: dict[tuple[int, tuple[int, ...]], None] = {}
        parallel = block.parallel
        for operand, d, along in _cut_dims(block):
            number, which = 1, list[int]()
            for n in along:
                symbol = cuts[n]
                if symbol in open_cuts:
                    which.append(open_cuts.index(symbol))
                else:
                    number *= parallel[n].size.value(self.sizes)
            left, rest = divmod(shapes[operand][d], number)
            if rest:
                raise ShapeError(f"{number} tiles of {shapes[operand][d]} elements")
            if which:
                found[left, tuple(which)] = None
        return [*found]

    def _choose(
        self, count: int, whole: Whole, before: tuple[int, ...], given: tuple[int, ...] = (), *, alike: bool = False
    ) -> tuple[int, ...] | None:
        """Sizes for `count` grid dims and loops, first those given; `alike` allows equal ones. None where none fit."""
        cut = len(given)
        if cut == count:
            return given
        of_it = gcd(*(left for left, cuts in whole if cut in cuts))
        taken = self._extents.union(() if alike else (*before, *given))
        fit = [n for n in ((2,) if self._tiny else CUTS) if of_it % n == 0 and (self._tiny or n not in taken)]
        start = (self._turn + (len(before) + cut) * alike) % len(fit) if fit else 0
        for number in (*fit[start:], *fit[:start]):
            rest = [
                (left // number, tuple(c for c in cuts if c != cut)) if cut in cuts else (left, cuts)
                for left, cuts in whole
            ]
            if not self._tiny and any(left < 2 for left, _ in rest):
                continue
            found = self._choose(count, rest, before, (*given, number), alike=alike)
            if found is not None:
                return found
        return None


@memoize(512)
def _cut_dims(block: BlockGraph) -> tuple[tuple[int, int, tuple[int, ...]], ...]:
    """The dims that loads tile, each once: operand, dim, and which grid dims and loop tile it."""
    found: dict[tuple[int, int, tuple[int, ...]], None] = {}
    for node in block.nodes:
        if isinstance(node.op, Load):
            along = (*(node.op.imap or ()), node.op.fmap)
            for d in dict.fromkeys(d for d in along if d is not None):
                found[node.op.operand, d, tuple(n for n, cut in enumerate(along) if cut == d)] = None
    return tuple(found)


@memoize(512)
def _symbols(block: BlockGraph) -> tuple[str | None, ...]:
    """Per size of the grid and the loop, the symbol that it is."""
    return tuple(_symbol(p.size) for p in block.parallel)


def _symbol(size: Dim) -> str | None:
    """The symbol that a size consists of; None for any other size."""
    if len(size.terms) == 1:
        ((powers, coefficient),) = size.terms
        if coefficient == 1 and len(powers) == 1 and powers[0][1] == 1:
            return powers[0][0]
    return None
