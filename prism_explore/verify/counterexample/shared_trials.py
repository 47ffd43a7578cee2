"""Trials at sizes that all candidates of a program share, so that these share what they compute alike (`ir.shared`).

Each axis of the program has one small extent, the same for every candidate, and one with many divisors; grid sizes and
loop ranges are chosen kernel by kernel among the divisors of what they cut, all at least 2 and all numbers different,
and no tile is a single element long. A candidate that does not run there, whose own numbers name extents, or that
differs from the program, is none for this module: `refute` solves for sizes of its own then, and has the last word. So
nothing is refuted here, and what agrees has agreed at sizes at which it might have been refuted.
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
from prism_explore.ir.interpreter.memoized import Alike, Shared
from prism_explore.ir.interpreter.reference import Array
from prism_explore.ir.ops import BlockGraph, Load
from prism_explore.support.caches import memoize
from prism_explore.verify.shapes.concretize import Instance

CUTS = range(2, 13)
"""Grid sizes and loop ranges of such a trial."""
MOST_KNOWN = 2048
"""Choices of numbers that are remembered."""
MANY_CUTS = 4
"""Of a candidate, that may be equal to each other where no numbers that all differ will do."""

ROUNDING = 1e-12
"""Relative: sums of as few terms as there are here, added in another order, mostly differ by less."""

Sizes: TypeAlias = tuple[tuple[str, int], ...]
Known: TypeAlias = dict[tuple[object, ...], tuple[int, ...]]
"""Numbers for cuts, none where there are none, by how many there are, what they cut, and the numbers before them."""
Whole: TypeAlias = Sequence[tuple[int, tuple[int, ...]]]
"""What is left of dims, and which cuts are still to cut it."""


def _sample(value: Array) -> str:
    """The first of the numbers and the last, without the digits that rounding may touch."""
    return f"{value.item(0):.9e} {value.item(-1):.9e}" if value.size else ""


def _same(one: Array, other: Array) -> bool:
    """Whether each number is the other's, up to rounding; what is no number is like nothing."""
    return bool(((np.abs(one - other) <= ROUNDING * np.abs(other)) | (one == other)).all())


FLOATS = Alike(_sample, _same)


class Common:
    """One choice of extents and inputs, on which candidates run one after the other."""

    def __init__(
        self,
        program: SGraph,
        instance: Instance,
        values: Sequence[Array],
        most: int,
        turn: int,
        alike: Alike,
        *,
        tiny: bool = False,
    ) -> None:
        """Begin with what the program gives there.

        Args:
            program: as candidates were made of it.
            instance: the extents.
            values: every tensor of the program.
            most: elements that are kept.
            turn: which numbers grid sizes and loop ranges prefer.
            alike: which values are one.
            tiny: whether they are all 2.
        """
        self._shared = Shared(program, instance.program, values, instance.symbols, most, alike)
        self._instance, self._turn, self._tiny = instance, turn, tiny
        self._extents = [number for _, number in instance.sizes]
        self._known: Known = {}

    def judged(self, candidate: SGraph, judge: Callable[[Array], float]) -> tuple[Sizes, float] | None:
        """The sizes of a run of a candidate, and what is said of its result; None where it does not run there."""
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        cuts = Cuts(self._instance.symbols, self._extents, self._known, self._turn, tiny=self._tiny)
        shared = self._shared
        try:
            with np.errstate(all="ignore"):
                result = shared.run(candidate, cuts)
                if result not in shared.judged:
                    shared.judged[result] = judge(shared.values[result])
        except (ShapeError, ValueError, OverflowError):
            return None
        chosen = tuple(cuts.chosen.items())
        return (*self._named(frozenset(s for s, _ in chosen)), *chosen), shared.judged[result]

    def _named(self, cuts: frozenset[str]) -> Sizes:
        """The program's axes, under names that no cut has."""
        if not any(name in cuts for name, _ in self._instance.sizes):
            return self._instance.sizes
        spelled = ((name, (f"{name}_{k}" for k in count(1))) for name, _ in self._instance.sizes)
        names = [name if name not in cuts else next(s for s in others if s not in cuts) for name, others in spelled]
        return tuple(zip(names, self._extents, strict=True))


class Cuts:
    """Numbers for the grid sizes and loop ranges of one candidate, chosen when its kernels are met."""

    def __init__(
        self, given: Mapping[str, int], extents: Sequence[int], known: Known, turn: int, *, tiny: bool = False
    ) -> None:
        """Begin with the numbers of the program's symbols.

        Args:
            given: these numbers.
            extents: of its axes, which no cut may equal.
            known: what was chosen for others, for the same extents and turn.
            turn: which of the numbers that fit is taken first.
            tiny: whether all cuts are 2, and tiles may be 1.
        """
        self.sizes = dict(given)
        self._extents = frozenset[int]() if tiny else frozenset(extents)
        self._known, self._turn, self._tiny = known, turn, tiny
        self.chosen: dict[str, int] = {}
        """Those that were not given."""

    def __call__(self, block: BlockGraph, shapes: Sequence[tuple[int, ...]]) -> Mapping[str, int]:
        """Numbers for a block graph's symbols, by the shapes of its kernel's operands.

        Raises:
            ShapeError: there are none.
        """
        cuts = _symbols(block)
        open_cuts = [*dict.fromkeys([s for s in cuts if s is not None and s not in self.sizes])]
        if open_cuts:
            whole, before = self._whole(block, shapes, cuts, open_cuts), tuple(self.chosen.values())
            key = len(open_cuts), *whole, *before
            fits = self._known.get(key)
            if fits is None:
                many = len(before) + len(open_cuts) >= MANY_CUTS
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
        """What is left of each dim that is cut, and by which of the cuts without a number, each pair once."""
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
        """Numbers for so many cuts behind those given, if there are any; alike says that they need not all differ."""
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
    """The dims that loads cut, each once: operand, dim, and which of grid and loop cut it."""
    found: dict[tuple[int, int, tuple[int, ...]], None] = {}
    for node in block.nodes:
        if isinstance(node.op, Load):
            along = (*(node.op.imap or ()), node.op.fmap)
            for d in dict.fromkeys(d for d in along if d is not None):
                found[node.op.operand, d, tuple(n for n, cut in enumerate(along) if cut == d)] = None
    return tuple(found)


@memoize(512)
def _symbols(block: BlockGraph) -> tuple[str | None, ...]:
    """The symbols that the sizes of grid and loop are."""
    return tuple(_symbol(p.size) for p in block.parallel)


def _symbol(size: Dim) -> str | None:
    """The symbol that a size is."""
    if len(size.terms) == 1:
        ((powers, coefficient),) = size.terms
        if coefficient == 1 and len(powers) == 1 and powers[0][1] == 1:
            return powers[0][0]
    return None
