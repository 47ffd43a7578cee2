"""Vectorized interpreter of block graphs: all blocks and iterations at once, with few NumPy calls.

Each value inside a block has the grid dims and then the loop as leading axes. An axis has length 1 if the value is
the same along it, so a tile that all blocks load exists once, and broadcasting does the rest. A load is a view: the
dim that grid and loop partition is reshaped to their sizes and the tile's extent, and their axes move to the front. A
store is the inverse. An accumulator reduces the loop's axis; a rescaled accumulator goes along it step by step.

Operators compute what `reference.apply` does, on the axes after those of grid and loop. The results equal those of
`reference.run_blocks`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
    LoopOp,
    MatMul,
    Permute,
    Reduce,
    ReduceFn,
    Reshape,
    Result,
    RunningMax,
    Scalar,
    Slice,
    Store,
    Unary,
)

_ALL = slice(None)


def run_vectorized(
    block: BlockGraph, operands: list[Array], sizes: Mapping[str, int], rounded: Rounding
) -> tuple[Array, ...]:
    """A custom kernel's results, at whatever shapes the operands have; for the `blocks` of `evaluate.run`.

    Raises:
        ShapeError: the maps are open, or a tile is not whole at these sizes.
    """
    if block.is_open:
        raise ShapeError("this sGraph's maps are still open; evaluate one of its candidates")
    phases(block)  # no value of one iteration is used behind the loop
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
            case Input() | Band() | Custom() | Result():
                raise AssertionError("no kernel-level operator in a block")
            case op:
                values.append(rounded(lanes.apply(op, [values[a] for a in node.args])))
    return tuple(stored)


def has_overlapping_tiles(store: Store) -> bool:
    """Whether two grid dims lay tiles along one dim, so that tiles overlap."""
    along = [d for d in store.omap or () if d is not None]
    return len(along) != len(set(along))


def vectorize(block: BlockGraph, sizes: Mapping[str, int]) -> VectorizedBlock:
    """How often a block graph runs at these sizes."""
    return VectorizedBlock(
        tuple(p.size.value(sizes) for p in block.grid), block.loop.size.value(sizes) if block.loop else 1, sizes
    )


@dataclass(frozen=True, slots=True)
class VectorizedBlock:
    """Values of all blocks and iterations: each has the grid's axes in front, and the loop's behind them."""

    grid: tuple[int, ...]
    iterations: int
    sizes: Mapping[str, int]
    """For operators that name sizes themselves."""

    @property
    def counts(self) -> tuple[int, ...]:
        """How long each of these axes is."""
        return (*self.grid, self.iterations)

    @property
    def leading(self) -> int:
        """How many axes are in front of a tile's."""
        return len(self.grid) + 1

    @property
    def loop_axis(self) -> int:
        """The loop's axis."""
        return len(self.grid)

    def load(self, load: Load, operand: Array) -> Array:
        """What a load brings, as a view.

        Raises:
            ShapeError: a tile is not whole.
        """
        shape: list[int] = []
        ahead: dict[int, int] = {}
        rest: list[int] = []
        cuts = (*(load.imap or ()), load.fmap)
        numbers = self.counts
        for d, extent in enumerate(operand.shape):
            pieces = 1
            if d in cuts:
                for n, along in enumerate(cuts):
                    if along == d:
                        ahead[n] = len(shape)
                        shape.append(numbers[n])
                        pieces *= numbers[n]
            length, left = divmod(extent, pieces)
            if left:
                raise ShapeError(f"dim {d} of an operand has {extent} elements, no multiple of {pieces} tiles")
            rest.append(len(shape))
            shape.append(length)
        view = operand.reshape(shape).transpose((*(ahead[n] for n in sorted(ahead)), *rest))
        return view[(*(_ALL if n in ahead else None for n in range(self.leading)), ...)]

    def apply(self, op: ComputeOp | LoopOp, args: list[Array]) -> Array:
        """What any other operator gives but a store, of values with the axes of grid and loop in front."""
        lead = self.leading
        match op:
            case Unary() | Scalar():
                return apply(op, args, self.sizes)
            case Binary() | MatMul():
                return apply(op, self._align_ranks(*args), self.sizes)
            case Reduce(fn, along):
                return apply(Reduce(fn, along + lead), args, self.sizes)
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
        """The tiles of all blocks side by side; NaN where blocks write different values to one place."""
        return _assemble(value.squeeze(self.loop_axis), store.omap or (), self.grid)

    def _axis(self, along: int | None) -> int | None:
        return None if along is None else along + self.leading

    def _accumulate(self, fn: ReduceFn, axis: int | None, tile: Array) -> Array:
        """What an accumulator holds behind the loop."""
        parts = contribution(fn, axis, tile)
        join = np.maximum if fn == "max" else np.add
        total = join.reduce(self._per_iteration(parts), axis=self.loop_axis, keepdims=True)
        return finish_accumulation(fn, axis, total, tile, self.iterations)

    def _per_iteration(self, parts: Array) -> Array:
        """What is the same in every iteration is there in each of them."""
        if parts.shape[self.loop_axis] == self.iterations:
            return parts
        before, after = parts.shape[: self.loop_axis], parts.shape[self.leading :]
        return np.broadcast_to(parts, (*before, self.iterations, *after))

    def _accumulate_rescaled(self, axis: int | None, tile: Array, scale: Array) -> Array:
        """Iteration by iteration, as each needs what the one before it held."""
        parts, scales = self._per_iteration(contribution("sum", axis, tile)), self._per_iteration(scale)
        at = [(*[slice(None)] * self.loop_axis, slice(i, i + 1)) for i in range(self.iterations)]
        held = parts[at[0]]
        for before, now in pairwise(at):
            held = held * np.exp(scales[before] - scales[now]) + parts[now]
        return held

    def _align_ranks(self, a: Array, b: Array) -> list[Array]:
        """Values of different ranks: dims are aligned from the last on, behind the axes of grid and loop."""
        if a.ndim == b.ndim:
            return [a, b]
        rank, lead = max(a.ndim, b.ndim), self.leading
        return [x.reshape((*x.shape[:lead], *[1] * (rank - x.ndim), *x.shape[lead:])) for x in (a, b)]


def _assemble(tile: Array, omap: tuple[int | None, ...], grid: tuple[int, ...]) -> Array:
    """The tiles of all blocks side by side; NaN where blocks write different values to one place."""
    lead = len(grid)
    spread = [g for g in range(lead) if omap[g] is not None]
    rivals = tile.transpose((*(g for g in range(lead) if omap[g] is None), *spread, *range(lead, tile.ndim)))
    rivals = rivals.reshape((-1, *rivals.shape[lead - len(spread) :]))
    tile = rivals[-1]
    if len(rivals) > 1:
        tile = np.where(equal_elements(rivals[:-1], rivals[1:]).all(axis=0), tile, np.nan)
    extents = tile.shape[len(spread) :]
    whole = (*(grid[g] for g in spread), *extents)
    if tile.shape != whole:
        tile = np.broadcast_to(tile, whole)
    order: list[int] = []
    shape: list[int] = []
    for d, extent in enumerate(extents):
        along = [k for k, g in enumerate(spread) if omap[g] == d]
        order += [*along, len(spread) + d]
        shape.append(prod((tile.shape[k] for k in along), start=extent))
    return tile.transpose(order).reshape(shape)
