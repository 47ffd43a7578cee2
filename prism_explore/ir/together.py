"""All blocks of a grid at once: what `evaluate.run_blocks` gives, with far fewer calls of NumPy.

Every grid dim is a leading axis of each value in a block, of length 1 where the value is the same along it; so a
tile that all blocks load is there once, and broadcasting does the rest. A load is a view: the dim that grid and loop
cut is reshaped to their numbers and the tile's extent, and the grid's go to the front. A store is the reverse.

Operators mean what `evaluate.meaning` says, at axes that are moved behind those of the grid.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import prod
from typing import TypeAlias

import numpy as np

from prism_explore.errors import ShapeError
from prism_explore.ir.evaluate import Array, Rounding, closed_sum, contribution, meaning, run_blocks, same
from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    Band,
    Binary,
    ComputeOp,
    Concat,
    Custom,
    Expand,
    Input,
    Load,
    MatMul,
    Node,
    Permute,
    Reduce,
    Reshape,
    Result,
    RunningMax,
    Scalar,
    Slice,
    Store,
    Unary,
)
from prism_explore.ir.sgraph import BlockGraph, phases

_Act: TypeAlias = Callable[..., Array]


def run_together(
    block: BlockGraph, operands: list[Array], sizes: Mapping[str, int], rounded: Rounding
) -> tuple[Array, ...]:
    """A custom kernel's results, at whatever shapes the operands have; for the `blocks` of `evaluate.run`.

    Raises:
        ShapeError: the maps are open, or a tile is not whole at these sizes.
    """
    if block.is_open:
        raise ShapeError("this sGraph's maps are still open; evaluate one of its candidates")
    if any(_overlaps(n.op.omap or ()) for n in block.nodes if isinstance(n.op, Store)):
        return run_blocks(block, operands, sizes, rounded)
    grid = tuple(p.size.value(sizes) for p in block.grid)
    run = _Run(block, operands, sizes, grid, rounded)
    stored = run.tiles()
    dtype = np.result_type(*operands)
    return tuple(_laid(tile, omap, grid).astype(dtype, copy=False) for tile, omap in stored)


def _overlaps(omap: tuple[int | None, ...]) -> bool:
    """Whether two grid dims lay tiles along one dim, so that they fall on one another."""
    along = [d for d in omap if d is not None]
    return len(along) != len(set(along))


class _Run:
    """One run of a block graph."""

    def __init__(
        self,
        block: BlockGraph,
        operands: list[Array],
        sizes: Mapping[str, int],
        grid: tuple[int, ...],
        rounded: Rounding,
    ) -> None:
        self.grid, self.lead, self.rounded = grid, len(grid), rounded
        self.iterations = block.loop.size.value(sizes) if block.loop else 1
        self.nodes = block.nodes
        self.values: dict[int, Array] = {}
        self.held: dict[int, Array] = {}
        """Per accumulator, what it held after the last iteration."""
        self.scales: dict[int, Array] = {}
        """Per rescaled accumulator, its last scale."""
        self.loads: dict[int, tuple[Array, int | None]] = {}
        """Per load, its view, and the axis of it that the loop's index picks from."""
        self.acts: dict[int, _Act] = {}
        self.once: list[int] = []
        self.each: list[int] = []
        self.behind: list[int] = []
        for n, (node, when) in enumerate(zip(block.nodes, phases(block), strict=True)):
            match node.op:
                case Load() as load:
                    self.loads[n] = self._view(load, operands[load.operand])
                case Accumulate() | AccumulateRescaled():
                    self.each.append(n)
                case RunningMax() | Store():
                    pass
                case Input() | Band() | Custom() | Result():
                    raise AssertionError("no kernel-level operator in a block")
                case op:
                    self.acts[n] = self._act(op, sizes)
            (self.once if when == "invariant" else self.each if when == "loop" else self.behind).append(n)

    def tiles(self) -> list[tuple[Array, tuple[int | None, ...]]]:
        """What each store writes, with the grid's axes in front, and where."""
        for i in range(self.iterations):
            for n in self.each if i else (*self.once, *self.each):
                self._step(n, self.nodes[n], i)
        out: list[tuple[Array, tuple[int | None, ...]]] = []
        for n in self.behind:
            node = self.nodes[n]
            match node.op:
                case Accumulate(fn, along):
                    axis = None if along is None else along + self.lead
                    tile = self.values[node.args[0]]
                    self.values[n] = self.rounded(closed_sum(fn, axis, self.held[n], tile, self.iterations))
                case AccumulateRescaled():
                    self.values[n] = self.rounded(self.held[n])
                case Store(omap):
                    out.append((self.values[node.args[0]], omap or ()))
                case _:
                    self.values[n] = self.rounded(self.acts[n](*[self.values[a] for a in node.args]))
        return out

    def _step(self, n: int, node: Node, i: int) -> None:
        act = self.acts.get(n)
        if act is not None:
            self.values[n] = self.rounded(act(*[self.values[a] for a in node.args]))
            return
        match node.op:
            case Load():
                view, axis = self.loads[n]
                self.values[n] = view if axis is None else view[(*[slice(None)] * axis, i)]
            case Accumulate(fn, along):
                part = contribution(fn, self._axis(along), self.values[node.args[0]])
                join = np.maximum if fn == "max" else np.add
                self.held[n] = join(self.held[n], part) if i else part
            case AccumulateRescaled(along):
                tile, scale = (self.values[a] for a in node.args)
                part = contribution("sum", self._axis(along), tile)
                if i:
                    part = self.held[n] * np.exp(self.scales[n] - scale) + part
                self.held[n], self.scales[n] = part, scale
            case RunningMax(along):
                part = contribution("max", self._axis(along), self.values[node.args[0]])
                self.values[n] = np.maximum(self.values[n], part) if i else part
            case _:
                raise AssertionError("stores come behind the loop")

    def _axis(self, along: int | None) -> int | None:
        return None if along is None else along + self.lead

    def _view(self, load: Load, operand: Array) -> tuple[Array, int | None]:
        """An operand with the grid's axes in front; and the axis that the loop cuts it along, if it does."""
        shape: list[int] = []
        of_grid: dict[int, int] = {}
        rest: list[int] = []
        loop: int | None = None
        for d, extent in enumerate(operand.shape):
            pieces = 1
            for g, along in enumerate(load.imap or ()):
                if along == d:
                    of_grid[g] = len(shape)
                    shape.append(self.grid[g])
                    pieces *= self.grid[g]
            if load.fmap == d:
                loop = self.lead + len(rest)
                rest.append(len(shape))
                shape.append(self.iterations)
                pieces *= self.iterations
            length, left = divmod(extent, pieces)
            if left:
                raise ShapeError(f"dim {d} of an operand has {extent} elements, no multiple of {pieces} tiles")
            rest.append(len(shape))
            shape.append(length)
        view = operand.reshape(shape).transpose((*(of_grid[g] for g in sorted(of_grid)), *rest))
        front = [n if g in of_grid else 1 for g, n in enumerate(self.grid)]
        return view.reshape((*front, *view.shape[len(of_grid) :])), loop

    def _act(self, op: ComputeOp, sizes: Mapping[str, int]) -> _Act:
        """What an operator does to values with the grid's axes in front."""
        lead = self.lead
        match op:
            case Unary() | Scalar():
                return meaning(op, sizes)
            case Binary() | MatMul():
                return partial(self._aligned, meaning(op, sizes))
            case Reduce(fn, along):
                return meaning(Reduce(fn, along + lead), sizes)
            case Permute(order):
                return meaning(Permute((*range(lead), *(d + lead for d in order))), sizes)
            case Reshape(dims):
                return partial(self._reshaped, tuple(d.value(sizes) for d in dims))
            case Expand(along, size):
                return meaning(Expand(along + lead, size), sizes)
            case Slice(along, start, stop):
                return meaning(Slice(along + lead, start, stop), sizes)
            case Concat(along):
                return partial(self._joined, along + lead)

    def _aligned(self, act: _Act, a: Array, b: Array) -> Array:
        """Of two values with different ranks: dims are aligned from the last on, behind the grid's axes."""
        rank, lead = max(a.ndim, b.ndim), self.lead
        if a.ndim < rank:
            a = a.reshape((*a.shape[:lead], *[1] * (rank - a.ndim), *a.shape[lead:]))
        if b.ndim < rank:
            b = b.reshape((*b.shape[:lead], *[1] * (rank - b.ndim), *b.shape[lead:]))
        return act(a, b)

    def _reshaped(self, shape: tuple[int, ...], x: Array) -> Array:
        return x.reshape((*x.shape[: self.lead], *shape))

    def _joined(self, axis: int, a: Array, b: Array) -> Array:
        front = np.broadcast_shapes(a.shape[: self.lead], b.shape[: self.lead])
        a, b = (np.broadcast_to(x, (*front, *x.shape[self.lead :])) for x in (a, b))
        return np.concatenate((a, b), axis=axis)


def _laid(tile: Array, omap: tuple[int | None, ...], grid: tuple[int, ...]) -> Array:
    """The tiles of all blocks side by side; NaN where blocks write different values to one place."""
    lead = len(grid)
    spread = [g for g in range(lead) if omap[g] is not None]
    rivals = tile.transpose((*(g for g in range(lead) if omap[g] is None), *spread, *range(lead, tile.ndim)))
    rivals = rivals.reshape((-1, *rivals.shape[lead - len(spread) :]))
    tile = rivals[-1]
    if len(rivals) > 1:
        tile = np.where(same(rivals[:-1], rivals[1:]).all(axis=0), tile, np.nan)
    extents = tile.shape[len(spread) :]
    tile = np.broadcast_to(tile, (*(grid[g] for g in spread), *extents))
    order: list[int] = []
    shape: list[int] = []
    for d, extent in enumerate(extents):
        along = [k for k, g in enumerate(spread) if omap[g] == d]
        order += [*along, len(spread) + d]
        shape.append(prod((tile.shape[k] for k in along), start=extent))
    return tile.transpose(order).reshape(shape)
