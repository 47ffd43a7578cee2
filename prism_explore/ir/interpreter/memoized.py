"""Interpreter with memoization across graphs that run on the same inputs: equal values are computed once.

A value is identified by its operator and the values of its operands. Inside a kernel, tiles are materialized only
where necessary (`lazy_tiles`). So two candidates that multiply the same tensors share the product, even if they
partition it differently. A new value is compared with known values, and values that differ only by rounding become
one value. So candidates with different partial sums share the values that are computed from these. The results equal
those of `vectorized` up to rounding. The number of cached elements is bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import prod
from typing import NamedTuple, TypeAlias

from prism_explore.errors import ShapeError
from prism_explore.ir.dims import Dim, is_only_symbols
from prism_explore.ir.graph import SGraph, block_types, op_sizes
from prism_explore.ir.interpreter.lazy_tiles import (
    Operand,
    Partitioned,
    Tile,
    align_tiles,
    reshape_groups,
    ungrouped_dims,
    with_leading_axes,
)
from prism_explore.ir.interpreter.reference import Array, apply
from prism_explore.ir.interpreter.vectorized import VectorizedBlock, has_overlapping_tiles, vectorize
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
    Node,
    Permute,
    Reduce,
    Reshape,
    Result,
    RunningMax,
    Scalar,
    Scan,
    Slice,
    Store,
    Unary,
)
from prism_explore.ir.tensors import TensorType

SizesOf: TypeAlias = Callable[[BlockGraph, Sequence[tuple[int, ...]]], Mapping[str, int]]
"""The values of all symbols of a block graph, given the shapes of its kernel's operands."""


MOST_KEYS = 1 << 15
"""The most cache keys, about 10 MB. Many keys may have one value, whose elements are counted once."""
_NAMES_SIZES = (Reshape, Expand, Slice)
"""Operators that contain sizes."""
_LOOPING = (Accumulate, AccumulateRescaled, RunningMax)


class ValueEquality(NamedTuple):
    """Equality of arrays of one shape."""

    sample: Callable[[Array], Hashable]
    """A hash that is the same for nearly all equal arrays; it only preselects."""
    same: Callable[[Array, Array], bool]


class MemoizedInterpreter:
    """An interpreter of graphs on the same inputs that computes equal values once."""

    def __init__(
        self,
        program: SGraph,
        with_extents: SGraph,
        values: Sequence[Array],
        sizes: Mapping[str, int],
        most: int,
        equality: ValueEquality,
    ) -> None:
        """Start with the values of a program.

        Args:
            program: a graph without custom kernels.
            with_extents: the same graph with the extents that its tensors have here.
            values: all of its tensors.
            sizes: the values of the symbols in its dims.
            most: the number of cached elements, those of the program not counted.
            equality: which arrays are equal.
        """
        self._sizes, self._most, self._elements, self._equality = sizes, most, 0, equality
        self._ids: dict[tuple[object, ...], int] = {}
        self._tiles: dict[tuple[object, ...], Tile] = {}
        """Results of operators on tiles, by operator, sizes of grid and loop, and operands."""
        self._by_hash: dict[Hashable, list[int]] = {}
        """Positions in `values`, by shape and hash."""
        self.values: list[Array] = []
        self._inputs: dict[str, int] = {}
        self._with_extents: dict[tuple[object, ...], ComputeOp] = {}
        """Operators that contain sizes, with the extents here; by the operator and the shape of its operand."""
        ids: list[int] = []
        for node, here, value in zip(program.nodes, with_extents.nodes, values, strict=True):
            if isinstance(here.op, Reshape | Expand | Slice):
                self._with_extents[node.op, self.values[ids[node.args[0]]].shape] = here.op
            key = node.op, *(ids[a] for a in node.args)
            if key not in self._ids:
                self._intern(key, value)
            ids.append(self._ids[key])
            if isinstance(node.op, Input):
                self._inputs[node.op.name] = ids[-1]
        self.program = ids[program.output]
        """The value of the program's result."""
        self._program_values, self._elements, self._program_ids = len(self.values), 0, dict(self._ids)
        self.caller_cache: dict[int, float] = {}
        """A cache that the caller fills with results about values; it is cleared together with them."""

    def run(self, graph: SGraph, sizes_of: SizesOf) -> int:
        """The position in `values` of a graph's result.

        Raises:
            ShapeError: an extent is not divisible by its number of tiles, maps are open, tiles overlap, or an operator
                contains numbers that are not the extents of these inputs.
            ValueError: extents of operands do not match.
        """
        if self._elements > self._most or len(self._ids) + len(self._tiles) > MOST_KEYS:
            self._clear()
        ids: list[int] = []
        results: dict[int, list[int]] = {}
        for position, node in enumerate(graph.nodes):
            match node.op:
                case Input(name, _):
                    ids.append(self._inputs[name])
                case Custom(block):
                    args = [ids[a] for a in node.args]
                    sizes = sizes_of(block, [self.values[a].shape for a in args])
                    types = partial(_types, graph, position, block)
                    results[position] = self._block(block, args, vectorize(block, sizes), types)
                    ids.append(results[position][0])
                case Result(index):
                    ids.append(results[node.args[0]][index])
                case Load() | Store() | Accumulate() | AccumulateRescaled() | RunningMax():
                    raise AssertionError("SGraph refuses block-level operators")
                case op:
                    ids.append(self._kernel_level(op, [ids[a] for a in node.args]))
        return ids[graph.output]

    def _kernel_level(self, op: Band | ComputeOp | Lookup, args: list[int]) -> int:
        key = op, *args
        known = self._ids.get(key)
        if known is not None:
            return known
        if isinstance(op, Band):
            raise ShapeError("a band that the program does not have")
        values = [self.values[a] for a in args]
        here = self._with_extents.get((op, values[0].shape))
        if here is None and isinstance(op, _NAMES_SIZES):
            _size_values(op, self._sizes)
        return self._intern(key, apply(here or op, values, self._sizes))

    # ------------------------------------------------------------ inside a kernel
    def _block(
        self,
        block: BlockGraph,
        operands: list[int],
        blocks: VectorizedBlock,
        types: Callable[[], tuple[TensorType, ...]],
    ) -> list[int]:
        """The values that a block graph stores; `types` returns its types, which only a reshape needs."""
        counts, known = blocks.counts, self._tiles
        tiles: list[Tile] = []
        for node in block.nodes:
            op = node.op
            args = [tiles[a] for a in node.args]
            key = op, counts, *(args or [operands[op.operand] if isinstance(op, Load) else None])
            tile = known.get(key)
            if tile is None:
                tile = known[key] = self._tile(node, operands, args, blocks, types)
            tiles.append(tile)
        return [tiles[n].value for n in block.stores]

    def _tile(
        self,
        node: Node,
        operands: list[int],
        args: list[Tile],
        blocks: VectorizedBlock,
        types: Callable[[], tuple[TensorType, ...]],
    ) -> Tile:
        """The tile of a block graph's node, computed."""
        match node.op:
            case Load() as load:
                return self._load(load, operands[load.operand], blocks)
            case Store() as store:
                return self._store(store, args[0], blocks)
            case Reshape() as op:
                return self._reshape(op, types()[node.args[0]].dims, args[0], blocks)
            case Input() | Band() | Lookup() | Custom() | Result():
                raise AssertionError("no kernel-level operator in a block")
            case op:
                return self._apply(op, args, blocks)

    def _load(self, load: Load, operand: int, blocks: VectorizedBlock) -> Tile:
        """A loaded tile: the full operand and the dims that are partitioned; nothing is copied."""
        if load.imap is None:
            raise ShapeError("this sGraph's maps are still open; evaluate one of its candidates")
        partitioned = (*load.imap, load.fmap)
        extents = [*self.values[operand].shape]
        for d, count in zip(partitioned, blocks.counts, strict=True):
            if d is not None:
                extents[d], remainder = divmod(extents[d], count)
                if remainder:
                    raise ShapeError(f"dim {d} of an operand of {self.values[operand].shape} has no {count} tiles")
        return Tile(operand, partitioned, False)

    def _apply(self, op: ComputeOp | LoopOp, args: list[Tile], blocks: VectorizedBlock) -> Tile:
        """The result of an operator on tiles."""
        first = args[0]
        dims = first.partitioned
        match op:
            case Unary() | Scalar():
                return Tile(self._compute(op, args, blocks), dims, first.has_leading_axes)
            case Binary() | MatMul() | Concat():
                args, dims = self._align(op, args, blocks)
            case Reduce(_, along) | Scan(_, along) | Slice(along) | Expand(along):
                args = [self._partition(first, (along,), blocks)]
                dims = args[0].partitioned
            case Accumulate(_, along):
                args = [self._with_all_axes(self._partition(first, (along, dims[blocks.loop_axis]), blocks), blocks)]
                dims = args[0].partitioned
            case Permute(order):
                dims = tuple([None if d is None else order.index(d) for d in dims])
            case Reshape():
                raise AssertionError("a reshape needs types")
            case AccumulateRescaled() | RunningMax():
                args = [self._with_all_axes(self._partition(tile, tile.partitioned, blocks), blocks) for tile in args]
                dims = args[0].partitioned
        if len(args) > 1 and args[0].has_leading_axes != args[1].has_leading_axes:
            args = [self._with_all_axes(tile, blocks) for tile in args]
        return self._without_axes(Tile(self._compute(op, args, blocks), dims, args[0].has_leading_axes), blocks)

    def _align(
        self, op: Binary | MatMul | Concat, args: list[Tile], blocks: VectorizedBlock
    ) -> tuple[list[Tile], Partitioned]:
        """The operands, partitioned where they do not align, and the partitioned dims of the result."""
        while True:
            aligned = align_tiles(op, tuple([self._operand(tile, blocks) for tile in args]))
            if not aligned.misaligned:
                return args, aligned.partitioned
            args = [self._partition(tile, [tile.partitioned[n] for n in aligned.misaligned], blocks) for tile in args]

    def _operand(self, tile: Tile, blocks: VectorizedBlock) -> Operand:
        start = blocks.leading if tile.has_leading_axes else 0
        shape = self.values[tile.value].shape
        return Operand(tile.partitioned, shape[:start], shape[start:])

    def _reshape(self, op: Reshape, dims: tuple[Dim, ...], tile: Tile, blocks: VectorizedBlock) -> Tile:
        """A tile with these dims, reshaped; a dim that the reshape does not change may stay partitioned."""
        unchanged = ungrouped_dims(dims, op.dims)
        tile = self._partition(tile, [d for d in tile.partitioned if d not in unchanged], blocks)
        value = self.values[tile.value]
        start = blocks.leading if tile.has_leading_axes else 0
        shape = *value.shape[:start], *_reshape_extents(op, dims, value.shape[start:], blocks.sizes)
        found = self._find_or_compute((Reshape, tile.value, *shape), lambda: value.reshape(shape))
        partitioned = tuple([None if d is None else unchanged[d] for d in tile.partitioned])
        return Tile(found, partitioned, tile.has_leading_axes)

    def _compute(self, op: ComputeOp | LoopOp, args: list[Tile], blocks: VectorizedBlock) -> int:
        """The value of an operator on tiles; all or none of them have leading axes."""
        has_leading_axes = args[0].has_leading_axes
        key: tuple[object, ...] = op, *[tile.value for tile in args]
        if has_leading_axes:
            key = blocks.leading, blocks.iterations, *key
        if isinstance(op, _NAMES_SIZES):
            key = *key, *_size_values(op, blocks.sizes)
        known = self._ids.get(key)
        if known is not None:
            return known
        values = [self.values[tile.value] for tile in args]
        if has_leading_axes:
            return self._intern(key, blocks.apply(op, values))
        assert not isinstance(op, _LOOPING), "these operators need the loop as a leading axis"
        return self._intern(key, apply(op, values, blocks.sizes))

    def _store(self, store: Store, tile: Tile, blocks: VectorizedBlock) -> Tile:
        """A stored tile, which is the full tensor; nothing is copied if the omap partitions it as the tile is."""
        if has_overlapping_tiles(store):
            raise ShapeError("tiles overlap")
        omap = store.omap or ()
        moved = [d for d, to in zip(tile.partitioned, (*omap, None), strict=True) if d != to]
        tile = self._partition(tile, moved, blocks)
        as_stored = all(to is None or d == to for d, to in zip(tile.partitioned, omap, strict=False))
        if as_stored and not tile.has_leading_axes:
            return tile
        value = self._with_all_axes(tile, blocks).value
        grid = tuple([n if d is None else 1 for d, n in zip(tile.partitioned, blocks.grid, strict=False)])
        key = Store, value, *[None if to is None else (to, n) for to, n in zip(omap, grid, strict=True)]
        stored = self._find_or_compute(key, lambda: replace(blocks, grid=grid).store(store, self.values[value]))
        return Tile(stored, tile.partitioned, False)

    # ------------------------------------------------------------ leading axes
    def _partition(self, tile: Tile, dims: Sequence[int | None], blocks: VectorizedBlock) -> Tile:
        """The same tile; the axes of grid and loop that partition one of these dims become leading axes."""
        partitioned = tile.partitioned
        moved = {n: d for n, d in enumerate(partitioned) if d is not None and d in dims}
        if not moved:
            return tile
        led = tile.has_leading_axes
        key = Tile, led, tile.value, blocks.leading, *[(n, d, blocks.counts[n]) for n, d in moved.items()]
        value = self._find_or_compute(
            key, lambda: with_leading_axes(self.values[tile.value], partitioned, moved, blocks.counts, led)
        )
        return Tile(value, tuple([None if n in moved else d for n, d in enumerate(partitioned)]), True)

    def _with_all_axes(self, tile: Tile, blocks: VectorizedBlock) -> Tile:
        """The same tile with leading axes, of length 1 if it has none."""
        if tile.has_leading_axes:
            return tile
        key = Tile, False, tile.value, blocks.leading
        value = self._find_or_compute(
            key, lambda: with_leading_axes(self.values[tile.value], tile.partitioned, {}, blocks.counts, False)
        )
        return Tile(value, tile.partitioned, True)

    def _without_axes(self, tile: Tile, blocks: VectorizedBlock) -> Tile:
        """The same tile without leading axes if all of them have length 1."""
        if not tile.has_leading_axes:
            return tile
        shape = self.values[tile.value].shape
        if shape[: blocks.leading] != (1,) * blocks.leading:
            return tile
        key = Tile, None, tile.value, blocks.leading
        value = self._find_or_compute(key, lambda: self.values[tile.value].reshape(shape[blocks.leading :]))
        return Tile(value, tile.partitioned, False)

    # ------------------------------------------------------------ the cache
    def _find_or_compute(self, key: tuple[object, ...], compute: Callable[[], Array]) -> int:
        known = self._ids.get(key)
        return self._intern(key, compute()) if known is None else known

    def _intern(self, key: tuple[object, ...], value: Array) -> int:
        """The position in `values` of a value, which is that of an equal one if there is one."""
        candidates = self._by_hash.setdefault((value.shape, self._equality.sample(value)), [])
        for known in candidates:
            if self._equality.same(value, self.values[known]):
                self._ids[key] = known
                return known
        candidates.append(len(self.values))
        self._ids[key] = len(self.values)
        self.values.append(value)
        self._elements += value.size if value.base is None else 0
        return self._ids[key]

    def _clear(self) -> None:
        """Delete all values but the program's."""
        self._elements = 0
        self._tiles.clear()
        del self.values[self._program_values :]
        # Not every key of a program's value: some name operands that are deleted.
        self._ids = dict(self._program_ids)
        kept = {key: [n for n in ids if n < self._program_values] for key, ids in self._by_hash.items()}
        self._by_hash = {key: ids for key, ids in kept.items() if ids}
        self.caller_cache.clear()


def _types(graph: SGraph, position: int, block: BlockGraph) -> tuple[TensorType, ...]:
    types = graph.types()
    return block_types(block, tuple(types[a] for a in graph.nodes[position].args))


def _size_values(op: ComputeOp | LoopOp, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """The values of the sizes in an operator, which must be 1 or expressions of symbols alone."""
    if not all(d.is_one or is_only_symbols(d) for d in op_sizes(op)):
        raise ShapeError("an operator contains extents as numbers")
    return tuple(d.value(sizes) for d in op_sizes(op))


def _reshape_extents(
    op: Reshape, dims: tuple[Dim, ...], shape: tuple[int, ...], sizes: Mapping[str, int]
) -> tuple[int, ...]:
    """The extents of a reshape's result, given dims and shape of its operand.

    In each group of dims, those of symbols alone have their value, and the extent of at most one more follows.
    """
    found: list[int] = []
    for before, after in reshape_groups(dims, op.dims):
        elements = prod(shape[n] for n in before)
        known = [d.value(sizes) if of_symbols else 0 for d, of_symbols in after]
        if known.count(0) > 1:
            raise ShapeError("an operator contains extents as numbers")
        quotient, remainder = divmod(elements, prod(n for n in known if n))
        if remainder or (quotient > 1 and 0 not in known):
            raise ShapeError(f"{elements} elements in dims of {known}")
        found += [n or quotient for n in known]
    extents = iter(found)
    return tuple(1 if d.is_one else next(extents) for d in op.dims)
