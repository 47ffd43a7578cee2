"""Vectorized interpreter of block graphs: all blocks and iterations at once, with few NumPy calls.

Each value of a block has leading axes: the grid dims, then the loop. An axis has length 1 if the value is the same
along it, so a tile that all blocks load exists once and is broadcast. A load is a view: a partitioned dim is reshaped
to the sizes of its grid dims and loop and the extent of a tile, and these axes move to the front. A store is the
inverse. An accumulator reduces the loop's axis. A rescaled accumulator iterates over it.

Operators are those of `reference.apply`, on the axes after the leading ones. The results equal those of
`reference.run_blocks`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from math import prod

import numpy as np

from prism_explore.errors import ShapeError
from prism_explore.ir.graph import phases
from prism_explore.ir.interpreter.reference import (
    Array,
    Rounding,
    apply,
    contribution,
    equal_elements,
    finish_accumulation,
    run_blocks,
)
from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    Band,
    Binary,
    BlockGraph,
    ComputeOp,
    Concat,
    Custom,
    Expand,
    Input,
    Load,
    Lookup,
    LoopOp,
    MatMul,
    Permute,
    Reduce,
    ReduceFn,
    Reshape,
    Result,
    RunningMax,
    Scalar,
    Scan,
    Slice,
    Store,
    Unary,
)

_ALL = slice(None)
PAIRWISE_FROM = 8
"""So many numbers or more, next to each other in memory, are not added one after the other by NumPy."""


def run_vectorized(
    block: BlockGraph, operands: list[Array], sizes: Mapping[str, int], rounded: Rounding
) -> tuple[Array, ...]:
    """A custom kernel's results, at the shapes of the operands; an argument for `blocks` of `reference.run`.

    Raises:
        ShapeError: the maps are open, or an extent is not divisible by its number of tiles.
    """
    if block.is_open:
        raise ShapeError("this sGraph's maps are still open; evaluate one of its candidates")
    phases(block)  # checks that no value of an iteration is used after the loop
    if any(has_overlapping_tiles(n.op) for n in block.nodes if isinstance(n.op, Store)):
        return run_blocks(block, operands, sizes, rounded)
    lanes, dtype = vectorize(block, sizes), np.result_type(*operands)
    values: list[Array] = []
    stored: list[Array] = []
    for node in block.nodes:
        match node.op:
            case Load(operand):
                values.append(lanes.load(node.op, operands[operand]))
            case Store():
                values.append(values[node.args[0]])
                stored.append(lanes.store(node.op, values[-1]).astype(dtype, copy=False))
            case RunningMax():
                values.append(lanes.apply(node.op, [values[a] for a in node.args]))
            case Input() | Band() | Lookup() | Custom() | Result():
                raise AssertionError("no kernel-level operator in a block")
            case op:
                values.append(rounded(lanes.apply(op, [values[a] for a in node.args])))
    return tuple(stored)


def has_overlapping_tiles(store: Store) -> bool:
    """Whether two grid dims concatenate tiles along one dim, so that tiles overlap."""
    along = [d for d in store.omap or () if d is not None]
    return len(along) != len(set(along))


def vectorize(block: BlockGraph, sizes: Mapping[str, int]) -> VectorizedBlock:
    """The vectorized execution of a block graph at these sizes."""
    return VectorizedBlock(
        tuple(p.size.value(sizes) for p in block.grid), block.loop.size.value(sizes) if block.loop else 1, sizes
    )


@dataclass(frozen=True, slots=True)
class VectorizedBlock:
    """Operations on the values of all blocks and iterations; leading axes are the grid dims, then the loop."""

    grid: tuple[int, ...]
    iterations: int
    sizes: Mapping[str, int]
    """Values of symbols, for operators that contain sizes."""

    @property
    def counts(self) -> tuple[int, ...]:
        """The length of each leading axis."""
        return (*self.grid, self.iterations)

    @property
    def leading(self) -> int:
        """The number of leading axes."""
        return len(self.grid) + 1

    @property
    def loop_axis(self) -> int:
        """The position of the loop's axis."""
        return len(self.grid)

    def load(self, load: Load, operand: Array) -> Array:
        """The loaded tiles of all blocks and iterations, as a view of the operand.

        Raises:
            ShapeError: an extent is not divisible by its number of tiles.
        """
        shape: list[int] = []
        leading: dict[int, int] = {}
        rest: list[int] = []
        cuts = (*(load.imap or ()), load.fmap)
        numbers = self.counts
        for d, extent in enumerate(operand.shape):
            pieces = 1
            if d in cuts:
                for n, along in enumerate(cuts):
                    if along == d:
                        leading[n] = len(shape)
                        shape.append(numbers[n])
                        pieces *= numbers[n]
            length, left = divmod(extent, pieces)
            if left:
                raise ShapeError(f"dim {d} of an operand has {extent} elements, no multiple of {pieces} tiles")
            rest.append(len(shape))
            shape.append(length)
        view = operand.reshape(shape).transpose((*(leading[n] for n in sorted(leading)), *rest))
        return view[(*(_ALL if n in leading else None for n in range(self.leading)), ...)]

    def apply(self, op: ComputeOp | LoopOp, args: list[Array]) -> Array:
        """The result of an operator on values with leading axes."""
        lead = self.leading
        match op:
            case Unary() | Scalar():
                return apply(op, args, self.sizes)
            case Binary() | MatMul():
                return apply(op, self._align_ranks(*args), self.sizes)
            case Reduce(fn, along):
                return apply(Reduce(fn, along + lead), args, self.sizes)
            case Scan(fn, along):
                return apply(Scan(fn, along + lead), args, self.sizes)
            case Accumulate(fn, along):
                return self._accumulate(fn, self._axis(along), args[0])
            case AccumulateRescaled(along):
                return self._accumulate_rescaled(self._axis(along), *args)
            case RunningMax(along):
                return np.maximum.accumulate(contribution("max", self._axis(along), args[0]), axis=self.loop_axis)
            case Permute(order):
                return args[0].transpose((*range(lead), *(d + lead for d in order)))
            case Reshape(dims):
                return args[0].reshape((*args[0].shape[:lead], *(d.value(self.sizes) for d in dims)))
            case Expand(along, size):
                return apply(Expand(along + lead, size), args, self.sizes)
            case Slice(along, start, stop):
                return apply(Slice(along + lead, start, stop), args, self.sizes)
            case Concat(along):
                front = np.broadcast_shapes(*(x.shape[:lead] for x in args))
                whole = [np.broadcast_to(x, (*front, *x.shape[lead:])) for x in args]
                return apply(Concat(along + lead), whole, self.sizes)

    def store(self, store: Store, value: Array) -> Array:
        """The stored tensor; an element to which blocks write different values is NaN."""
        return _assemble(value.squeeze(self.loop_axis), store.omap or (), self.grid)

    def _axis(self, along: int | None) -> int | None:
        return None if along is None else along + self.leading

    def _accumulate(self, fn: ReduceFn, axis: int | None, tile: Array) -> Array:
        """The value of an accumulator after the loop."""
        parts = self._per_iteration(contribution(fn, axis, tile))
        join = np.maximum if fn == "max" else np.add
        if self.iterations < PAIRWISE_FROM:
            total = join.reduce(parts, axis=self.loop_axis, keepdims=True)
        else:
            total = reduce(join, (parts[at] for at in self._each_iteration()))
        return finish_accumulation(fn, axis, total, tile, self.iterations)

    def _per_iteration(self, parts: Array) -> Array:
        """The array with the full length of the loop's axis, broadcast if it is the same in every iteration."""
        if parts.shape[self.loop_axis] == self.iterations:
            return parts
        before, after = parts.shape[: self.loop_axis], parts.shape[self.leading :]
        return np.broadcast_to(parts, (*before, self.iterations, *after))

    def _accumulate_rescaled(self, axis: int | None, tile: Array, scale: Array) -> Array:
        """The value of a rescaled accumulator after the loop, computed iteration by iteration."""
        parts, scales = self._per_iteration(contribution("sum", axis, tile)), self._per_iteration(scale)
        at = self._each_iteration()
        held = parts[at[0]]
        for before, now in pairwise(at):
            held = held * np.exp(scales[before] - scales[now]) + parts[now]
        return held

    def _each_iteration(self) -> list[tuple[slice, ...]]:
        """Per iteration, where its values are."""
        return [(*[_ALL] * self.loop_axis, slice(i, i + 1)) for i in range(self.iterations)]

    def _align_ranks(self, a: Array, b: Array) -> list[Array]:
        """The operands with the same rank; dims of length 1 are inserted after the leading axes."""
        if a.ndim == b.ndim:
            return [a, b]
        rank, lead = max(a.ndim, b.ndim), self.leading
        return [x.reshape((*x.shape[:lead], *[1] * (rank - x.ndim), *x.shape[lead:])) for x in (a, b)]


def _assemble(tile: Array, omap: tuple[int | None, ...], grid: tuple[int, ...]) -> Array:
    """The tiles of all blocks concatenated; an element to which blocks write different values is NaN."""
    count = len(grid)
    concatenated = [g for g in range(count) if omap[g] is not None]
    # Blocks along the other grid dims write to the same elements.
    writers = tile.transpose((*(g for g in range(count) if omap[g] is None), *concatenated, *range(count, tile.ndim)))
    writers = writers.reshape((-1, *writers.shape[count - len(concatenated) :]))
    tile = writers[-1, ...]  # of no dims, an array all the same
    if len(writers) > 1:
        tile = np.where(equal_elements(writers[:-1], writers[1:]).all(axis=0), tile, np.nan)
    extents = tile.shape[len(concatenated) :]
    full = (*(grid[g] for g in concatenated), *extents)
    if tile.shape != full:
        tile = np.broadcast_to(tile, full)
    order: list[int] = []
    shape: list[int] = []
    for d, extent in enumerate(extents):
        along = [k for k, g in enumerate(concatenated) if omap[g] == d]
        order += [*along, len(concatenated) + d]

        shape.append(prod((tile.shape[k] for k in along), start=extent))
    return tile.transpose(order).reshape(shape)
