"""Trials at sizes that all candidates of a program share, so that equal values are computed only once.

Each axis of the program has one small extent with many divisors, the same for all candidates. Grid sizes and loop
ranges are chosen kernel by kernel among the divisors of the dims that they tile: all at least 2, and no tile has extent
1. All are different, and no axis has such an extent, where such numbers fit (`WAYS`). Values are cached by
`ir.interpreter.memoized`.

Only agreement counts at these sizes. The refuter tries a candidate again, at sizes of its own, if it differs from the
program here, does not run here, or contains extents as numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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

TILING_SIZES = range(2, 13)
"""Candidates for grid sizes and loop ranges."""
CACHED_CHOICES = 2048
"""The number of cached choices of sizes."""


@dataclass(frozen=True, slots=True)
class _Way:
    """What the numbers for grid sizes and loop ranges may be equal to."""

    each_other: bool
    extents: bool
    """Whether a number may be the extent of an axis of the program."""
    least_sizes: int
    """It is for candidates with so many grid sizes and loop ranges so far."""
    least_axes: int = 0
    """It is for programs with so many axes, whose extents are small."""


WAYS = (
    _Way(each_other=False, extents=False, least_sizes=1),
    _Way(each_other=True, extents=False, least_sizes=4),
    _Way(each_other=False, extents=True, least_sizes=3, least_axes=6),
    _Way(each_other=True, extents=True, least_sizes=3, least_axes=6),
)
"""In the order of trial. Later ways detect fewer mistakes of a candidate. Without them, candidates that tile several
small axes run at sizes of their own, which takes about six times as long."""

ROUNDING = 1e-12
"""A relative difference: sums of the few terms of a trial, added in another order, mostly differ by less."""

Sizes: TypeAlias = tuple[tuple[str, int], ...]
Known: TypeAlias = dict[tuple[object, ...], tuple[int, ...]]
"""Sizes of grid dims and loops (empty if none fit), by their number, the extents that they tile, and earlier sizes."""
TiledExtents: TypeAlias = Sequence[tuple[int, tuple[int, ...]]]
"""The remaining extents of dims, and the open sizes, by number, that tile each."""


def _sample(value: Array) -> str:
    """The first and the last number, without the digits that rounding may change."""
    return f"{value.item(0):.9e} {value.item(-1):.9e}" if value.size else ""


def _same(one: Array, other: Array) -> bool:
    """Whether all numbers are equal up to rounding; NaN is equal to nothing."""
    with np.errstate(all="ignore"):  # infinity minus infinity; the numbers are compared, too
        return bool(((np.abs(one - other) <= ROUNDING * np.abs(other)) | (one == other)).all())


EQUAL_FLOATS = ValueEquality(_sample, _same)


class SharedTrial:
    """One choice of extents and inputs, on which candidates are run."""

    def __init__(
        self,
        program: SGraph,
        instance: Instance,
        values: Sequence[Array],
        most: int,
        turn: int,
        equality: ValueEquality,
        *,
        tiny: bool = False,
    ) -> None:
        """Store the values of the program in the cache.

        Args:
            program: the program that candidates implement.
            instance: the extents.
            values: those of all tensors of the program.
            most: the number of cached elements.
            turn: the number of the fitting size that is tried first.
            equality: which values count as equal.
            tiny: whether all sizes are 2.
        """
        self._shared = MemoizedInterpreter(program, instance.program, values, instance.symbols, most, equality)
        self._instance, self._turn, self._tiny = instance, turn, tiny
        self._extents = [number for _, number in instance.sizes]
        self._choices: Known = {}

    def compare(self, candidate: SGraph, error_of: Callable[[Array], float]) -> tuple[Sizes, float] | None:
        """Run a candidate; returns its sizes and the error of its result, or None where it does not run."""
        if len(self._choices) >= CACHED_CHOICES:
            self._choices.clear()
        tiling = TilingSizes(self._instance.symbols, self._extents, self._choices, self._turn, tiny=self._tiny)
        shared = self._shared
        try:
            with np.errstate(all="ignore"):
                result = shared.run(candidate, tiling)
                if result not in shared.caller_cache:
                    shared.caller_cache[result] = error_of(shared.values[result])
        except (ShapeError, ValueError, OverflowError):
            return None
        chosen = tuple(tiling.chosen.items())
        return (*self._axis_names(frozenset(s for s, _ in chosen)), *chosen), shared.caller_cache[result]

    def _axis_names(self, tiling: frozenset[str]) -> Sizes:
        """The extents of the program's axes, under names that no grid dim or loop has."""
        if not any(name in tiling for name, _ in self._instance.sizes):
            return self._instance.sizes
        variants = ((name, (f"{name}_{k}" for k in count(1))) for name, _ in self._instance.sizes)
        names = [
            name if name not in tiling else next(s for s in others if s not in tiling) for name, others in variants
        ]
        return tuple(zip(names, self._extents, strict=True))


class TilingSizes:
    """Chooses the grid sizes and loop ranges of one candidate, kernel by kernel."""

    def __init__(
        self, given: Mapping[str, int], extents: Sequence[int], known: Known, turn: int, *, tiny: bool = False
    ) -> None:
        """Begin with the sizes of the program's symbols.

        Args:
            given: these sizes.
            extents: those of the program's axes.
            known: cached choices for the same extents and turn.
            turn: the number of the fitting size that is tried first.
            tiny: whether all chosen sizes are 2, and tiles may be 1.
        """
        self.sizes = dict(given)
        self._extents = frozenset[int]() if tiny else frozenset(extents)
        self._ways = [way for way in WAYS if len(extents) >= way.least_axes]
        self._known, self._turn, self._tiny = known, turn, tiny
        self.chosen: dict[str, int] = {}
        """The sizes chosen so far."""

    def __call__(self, block: BlockGraph, shapes: Sequence[tuple[int, ...]]) -> Mapping[str, int]:
        """Choose the sizes of a block graph's symbols, given the shapes of its kernel's operands.

        Raises:
            ShapeError: no sizes fit.
        """
        tiling = _symbols(block)
        open_sizes = [*dict.fromkeys([s for s in tiling if s is not None and s not in self.sizes])]
        if open_sizes:
            extents, earlier = self._tiled_extents(block, shapes, tiling, open_sizes), tuple(self.chosen.values())
            key = len(open_sizes), *extents, *earlier
            fits = self._known.get(key)
            if fits is None:
                sizes = len(earlier) + len(open_sizes)
                found = (
                    self._choose(len(open_sizes), extents, earlier, w) for w in self._ways if sizes >= w.least_sizes
                )
                self._known[key] = fits = next(filter(None, found), ())
            if not fits:
                raise ShapeError("no numbers cut these extents")
            chosen = dict(zip(open_sizes, fits, strict=True))
            self.sizes.update(chosen)
            self.chosen.update(chosen)
        return self.sizes

    def _tiled_extents(
        self, block: BlockGraph, shapes: Sequence[tuple[int, ...]], tiling: Sequence[str | None], open_sizes: list[str]
    ) -> list[tuple[int, tuple[int, ...]]]:
        """The remaining extents of the tiled dims, and the open sizes that tile them, each pair once."""
        found: dict[tuple[int, tuple[int, ...]], None] = {}
        parallel = block.parallel
        for operand, d, along in _tiled_dims(block):
            number, tiling_numbers = 1, list[int]()
            for n in along:
                symbol = tiling[n]
                if symbol in open_sizes:
                    tiling_numbers.append(open_sizes.index(symbol))
                else:
                    number *= parallel[n].size.value(self.sizes)
            left, rest = divmod(shapes[operand][d], number)
            if rest:
                raise ShapeError(f"{number} tiles of {shapes[operand][d]} elements")
            if tiling_numbers:
                found[left, tuple(tiling_numbers)] = None
        return [*found]

    def _choose(
        self,
        count: int,
        extents: TiledExtents,
        earlier: tuple[int, ...],
        way: _Way,
        given: tuple[int, ...] = (),
    ) -> tuple[int, ...] | None:
        """Sizes of `count` grid dims and loops that begin with the given ones; None where none fit."""
        tile = len(given)
        if tile == count:
            return given
        divisor = gcd(*(left for left, tiling in extents if tile in tiling))
        taken = {*(() if way.extents else self._extents), *(() if way.each_other else (*earlier, *given))}
        fit = [n for n in ((2,) if self._tiny else TILING_SIZES) if divisor % n == 0 and (self._tiny or n not in taken)]
        start = (self._turn + (len(earlier) + tile) * way.each_other) % len(fit) if fit else 0
        for number in (*fit[start:], *fit[:start]):
            rest = [
                (left // number, tuple(c for c in tiling if c != tile)) if tile in tiling else (left, tiling)
                for left, tiling in extents
            ]
            if not self._tiny and any(left < 2 for left, _ in rest):
                continue
            found = self._choose(count, rest, earlier, way, (*given, number))
            if found is not None:
                return found
        return None


@memoize(512)
def _tiled_dims(block: BlockGraph) -> tuple[tuple[int, int, tuple[int, ...]], ...]:
    """The dims that loads tile, each once: operand, dim, and the grid dims and loop that tile it."""
    found: dict[tuple[int, int, tuple[int, ...]], None] = {}
    for node in block.nodes:
        if isinstance(node.op, Load):
            along = (*(node.op.imap or ()), node.op.fmap)
            for d in dict.fromkeys(d for d in along if d is not None):
                found[node.op.operand, d, tuple(n for n, dim in enumerate(along) if dim == d)] = None
    return tuple(found)


@memoize(512)
def _symbols(block: BlockGraph) -> tuple[str | None, ...]:
    """The symbol of each grid size and of the loop range; None where it is no symbol."""
    return tuple(_symbol(p.size) for p in block.parallel)


def _symbol(size: Dim) -> str | None:
    """The symbol, if a size is one symbol; else None."""
    if len(size.terms) == 1:
        ((powers, coefficient),) = size.terms
        if coefficient == 1 and len(powers) == 1 and powers[0][1] == 1:
            return powers[0][0]
    return None
