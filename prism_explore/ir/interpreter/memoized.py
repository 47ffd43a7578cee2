"""Interpreter with memoization across graphs that run on the same inputs: equal values are computed once.

A value is identified by its operator and the values of its operands. Inside a kernel, tiles are materialized only
where necessary (`lazy_tiles`), so two candidates that multiply the same tensors share the product, however they
partition it. A new value is compared with known ones, and values that differ by no more than rounding become one
value; so candidates with different partial sums share what follows them. The results equal those of `vectorized` up
to rounding. The number of cached elements is bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import prod
from typing import NamedTuple, TypeAlias

from prism_explore.errors import ShapeError
from prism_explore.ir.dims import Dim, in_symbols
from prism_explore.ir.graph import SGraph, block_types, op_sizes
from prism_explore.ir.interpreter.lazy_tiles import (
    Cut,
    Operand,
    Tile,
    align_tiles,
    groups,
    unmoved_tiled_dims,
    with_leading_axes,
)
from prism_explore.ir.interpreter.reference import Array, apply
from prism_explore.ir.interpreter.vectorized import VectorizedBlock, overlaps, vectorize
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
from prism_explore.ir.tensors import TensorType

Numbers: TypeAlias = Callable[[BlockGraph, Sequence[tuple[int, ...]]], Mapping[str, int]]
"""The values of all symbols of a block graph, given the shapes of its kernel's operands."""


MOST_WAYS = 1 << 15
"""The most cache keys that are kept, about 10 MB: many keys lead to one value, whose elements count once."""
_NAMING = (Reshape, Expand, Slice)
"""Operators that name extents."""
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
        numbered: SGraph,
        values: Sequence[Array],
        sizes: Mapping[str, int],
        most: int,
        alike: ValueEquality,
    ) -> None:
        """Start with the values of a program.

        Args:
            program: a graph without custom kernels.
            numbered: the same graph with the extents that its tensors have here.
            values: all of its tensors.
            sizes: the values of the symbols in its dims.
            most: the number of cached elements, the program's not counted.
            alike: which arrays are equal.
        """
        self._sizes, self._most, self._elements, self._alike = sizes, most, 0, alike
        self._ids: dict[tuple[object, ...], int] = {}
        self._made: dict[tuple[object, ...], Tile] = {}
        """Results of operators on tiles, by the sizes of grid and loop."""
        self._sampled: dict[Hashable, list[int]] = {}
        """Values by shape and hash."""
        self.values: list[Array] = []
        self._inputs: dict[str, int] = {}
        self._numbered: dict[tuple[object, ...], ComputeOp] = {}
        """Operators that name extents, with the extents here, by the shape of their operand."""
        ids: list[int] = []
        for node, here, value in zip(program.nodes, numbered.nodes, values, strict=True):
            if isinstance(here.op, Reshape | Expand | Slice):
                self._numbered[node.op, self.values[ids[node.args[0]]].shape] = here.op
            key = node.op, *(ids[a] for a in node.args)
            if key not in self._ids:
                self._keep(key, value)
            ids.append(self._ids[key])
            if isinstance(node.op, Input):
                self._inputs[node.op.name] = ids[-1]
        self.program = ids[program.output]
        """The value of the program's result."""
        self._first, self._elements, self._begun = len(self.values), 0, dict(self._ids)
        self.judged: dict[int, float] = {}
        """A cache for the caller: results about values; cleared together with them."""

    def run(self, graph: SGraph, numbers: Numbers) -> int:
        """The value of a graph's result.

        Raises:
            ShapeError: a tile is not whole, maps are open, tiles overlap, or an operator names extents by number that
                are not those of these inputs.
            ValueError: extents do not fit each other.
        """
        if self._elements > self._most or len(self._ids) + len(self._made) > MOST_WAYS:
            self._forget()
        ids: list[int] = []
        results: dict[int, list[int]] = {}
        for position, node in enumerate(graph.nodes):
            match node.op:
                case Input(name, _):
                    ids.append(self._inputs[name])
                case Custom(block):
                    args = [ids[a] for a in node.args]
                    known = numbers(block, [self.values[a].shape for a in args])
                    types = partial(_types, graph, position, block)
                    results[position] = self._block(block, args, vectorize(block, known), types)
                    ids.append(results[position][0])
                case Result(index):
                    ids.append(results[node.args[0]][index])
                case Load() | Store() | Accumulate() | AccumulateRescaled() | RunningMax():
                    raise AssertionError("SGraph refuses block-level operators")
                case op:
                    ids.append(self._kernel_level(op, [ids[a] for a in node.args]))
        return ids[graph.output]

    def _kernel_level(self, op: Band | ComputeOp, args: list[int]) -> int:
        key = op, *args
        known = self._ids.get(key)
        if known is not None:
            return known
        if isinstance(op, Band):
            raise ShapeError("a band that the program does not have")
        values = [self.values[a] for a in args]
        here = self._numbered.get((op, values[0].shape))
        if here is None and isinstance(op, _NAMING):
            _sizes(op, self._sizes)
        return self._keep(key, apply(here or op, values, self._sizes))

    # ------------------------------------------------------------ inside a kernel
    def _block(
        self,
        block: BlockGraph,
        operands: list[int],
        lanes: VectorizedBlock,
        types: Callable[[], tuple[TensorType, ...]],
    ) -> list[int]:
        """The values that a block graph's stores give; its types are asked where it names extents in numbers."""
        numbers, made = lanes.numbers, self._made
        tiles: list[Tile] = []
        for node in block.nodes:
            op = node.op
            args = [tiles[a] for a in node.args]
            key = op, numbers, *(args or [operands[op.operand] if isinstance(op, Load) else None])
            tile = made.get(key)
            if tile is None:
                tile = made[key] = self._tile(node, operands, args, lanes, types)
            tiles.append(tile)
        return [tiles[n].value for n in block.stores]

    def _tile(
        self,
        node: Node,
        operands: list[int],
        args: list[Tile],
        lanes: VectorizedBlock,
        types: Callable[[], tuple[TensorType, ...]],
    ) -> Tile:
        """What a node of a block graph has, which nobody had before."""
        match node.op:
            case Load() as load:
                return self._loaded(load, operands[load.operand], lanes)
            case Store() as store:
                return self._stored(store, args[0], lanes)
            case Reshape() as op:
                return self._reshaped(op, types()[node.args[0]].dims, args[0], lanes)
            case Input() | Band() | Custom() | Result():
                raise AssertionError("no kernel-level operator in a block")
            case op:
                return self._applied(op, args, lanes)

    def _loaded(self, load: Load, operand: int, lanes: VectorizedBlock) -> Tile:
        """A load's tile, for which nothing is done."""
        if load.imap is None:
            raise ShapeError("this sGraph's maps are still open; evaluate one of its candidates")
        cut = (*load.imap, load.fmap)
        left = [*self.values[operand].shape]
        for d, number in zip(cut, lanes.numbers, strict=True):
            if d is not None:
                left[d], rest = divmod(left[d], number)
                if rest:
                    raise ShapeError(f"dim {d} of an operand of {self.values[operand].shape} has no {number} tiles")
        return Tile(operand, cut, False)

    def _applied(self, op: ComputeOp | LoopOp, args: list[Tile], lanes: VectorizedBlock) -> Tile:
        """What an operator gives of tiles."""
        first = args[0]
        cut = first.cut
        match op:
            case Unary() | Scalar():
                return Tile(self._result(op, args, lanes), cut, first.has_leading_axes)
            case Binary() | MatMul() | Concat():
                args, cut = self._met(op, args, lanes)
            case Reduce(_, along) | Slice(along) | Expand(along):
                args = [self._in_front(first, (along,), lanes)]
                cut = args[0].cut
            case Accumulate(_, along):
                args = [self._led(self._in_front(first, (along, cut[lanes.loop]), lanes), lanes)]
                cut = args[0].cut
            case Permute(order):
                cut = tuple([None if d is None else order.index(d) for d in cut])
            case Reshape():
                raise AssertionError("a reshape asks for types")
            case AccumulateRescaled() | RunningMax():
                args = [self._led(self._in_front(tile, tile.cut, lanes), lanes) for tile in args]
                cut = args[0].cut
        if len(args) > 1 and args[0].has_leading_axes != args[1].has_leading_axes:
            args = [self._led(tile, lanes) for tile in args]
        return self._bare(Tile(self._result(op, args, lanes), cut, args[0].has_leading_axes), lanes)

    def _met(self, op: Binary | MatMul | Concat, args: list[Tile], lanes: VectorizedBlock) -> tuple[list[Tile], Cut]:
        """The operands as they may be put together, and what is cut of the result."""
        while True:
            meets = align_tiles(op, tuple([self._operand(tile, lanes) for tile in args]))
            if not meets.apart:
                return args, meets.cut
            args = [self._in_front(tile, [tile.cut[n] for n in meets.apart], lanes) for tile in args]

    def _operand(self, tile: Tile, lanes: VectorizedBlock) -> Operand:
        start = lanes.lead if tile.has_leading_axes else 0
        shape = self.values[tile.value].shape
        return Operand(tile.cut, shape[:start], shape[start:])

    def _reshaped(self, op: Reshape, ours: tuple[Dim, ...], tile: Tile, lanes: VectorizedBlock) -> Tile:
        """The same elements in other dims; a dim that stays may still be cut."""
        stays = unmoved_tiled_dims(ours, op.dims)
        tile = self._in_front(tile, [d for d in tile.cut if d not in stays], lanes)
        value = self.values[tile.value]
        start = lanes.lead if tile.has_leading_axes else 0
        shape = *value.shape[:start], *_dims(op, ours, value.shape[start:], lanes.sizes)
        cut = tuple([None if d is None else stays[d] for d in tile.cut])
        return Tile(self._once((Reshape, tile.value, *shape), lambda: value.reshape(shape)), cut, tile.has_leading_axes)

    def _result(self, op: ComputeOp | LoopOp, args: list[Tile], lanes: VectorizedBlock) -> int:
        """What an operator gives of values that all have axes in front, or all have none."""
        led = args[0].has_leading_axes
        key: tuple[object, ...] = op, *[tile.value for tile in args]
        if led:
            key = lanes.lead, lanes.iterations, *key
        if isinstance(op, _NAMING):
            key = *key, *_sizes(op, lanes.sizes)
        known = self._ids.get(key)
        if known is not None:
            return known
        values = [self.values[tile.value] for tile in args]
        if led:
            return self._keep(key, lanes.apply(op, values))
        assert not isinstance(op, _LOOPING), "the loop is in front there"
        return self._keep(key, apply(op, values, lanes.sizes))

    def _stored(self, store: Store, tile: Tile, lanes: VectorizedBlock) -> Tile:
        """What a kernel gives: the whole tensor, where its tiles are laid as they were cut."""
        if overlaps(store):
            raise ShapeError("tiles overlap")
        omap = store.omap or ()
        tile = self._in_front(tile, [d for d, to in zip(tile.cut, (*omap, None), strict=True) if d != to], lanes)
        if not tile.has_leading_axes and all(to is None or d == to for d, to in zip(tile.cut, omap, strict=False)):
            return tile
        value = self._led(tile, lanes).value
        grid = tuple([n if d is None else 1 for d, n in zip(tile.cut, lanes.grid, strict=False)])
        key = Store, value, *[None if to is None else (to, n) for to, n in zip(omap, grid, strict=True)]
        laid = self._once(key, lambda: replace(lanes, grid=grid).laid(store, self.values[value]))
        return Tile(laid, tile.cut, False)

    # ------------------------------------------------------------ axes in front
    def _in_front(self, tile: Tile, dims: Sequence[int | None], lanes: VectorizedBlock) -> Tile:
        """The same tile with the axes in front that cut one of these dims."""
        cut = tile.cut
        moved = {n: d for n, d in enumerate(cut) if d is not None and d in dims}
        if not moved:
            return tile
        key = Tile, tile.has_leading_axes, tile.value, lanes.lead, *[(n, d, lanes.numbers[n]) for n, d in moved.items()]
        value = self._once(
            key, lambda: with_leading_axes(self.values[tile.value], cut, moved, lanes.numbers, tile.has_leading_axes)
        )
        return Tile(value, tuple([None if n in moved else d for n, d in enumerate(cut)]), True)

    def _led(self, tile: Tile, lanes: VectorizedBlock) -> Tile:
        """The same tile with all axes in front, be it with length 1."""
        if tile.has_leading_axes:
            return tile
        key = Tile, False, tile.value, lanes.lead
        value = self._once(key, lambda: with_leading_axes(self.values[tile.value], tile.cut, {}, lanes.numbers, False))
        return Tile(value, tile.cut, True)

    def _bare(self, tile: Tile, lanes: VectorizedBlock) -> Tile:
        """The same tile with no axes in front, where it is the same along all of them."""
        if not tile.has_leading_axes:
            return tile
        shape = self.values[tile.value].shape
        if shape[: lanes.lead] != (1,) * lanes.lead:
            return tile
        key = Tile, None, tile.value, lanes.lead
        value = self._once(key, lambda: self.values[tile.value].reshape(shape[lanes.lead :]))
        return Tile(value, tile.cut, False)

    # ------------------------------------------------------------ what is kept
    def _once(self, key: tuple[object, ...], make: Callable[[], Array]) -> int:
        known = self._ids.get(key)
        return self._keep(key, make()) if known is None else known

    def _keep(self, key: tuple[object, ...], value: Array) -> int:
        """The id of a new value, which may turn out to be known."""
        sampled = self._sampled.setdefault((value.shape, self._alike.sample(value)), [])
        for known in sampled:
            if self._alike.same(value, self.values[known]):
                self._ids[key] = known
                return known
        sampled.append(len(self.values))
        self._ids[key] = len(self.values)
        self.values.append(value)
        self._elements += value.size if value.base is None else 0
        return self._ids[key]

    def _forget(self) -> None:
        """All but the program's values."""
        self._elements = 0
        self._made.clear()
        del self.values[self._first :]
        self._ids = dict(self._begun)  # not all that lead to the program's values: some are made of what is forgotten
        kept = {at: [n for n in ids if n < self._first] for at, ids in self._sampled.items()}
        self._sampled = {at: ids for at, ids in kept.items() if ids}
        self.judged.clear()


def _types(graph: SGraph, position: int, block: BlockGraph) -> tuple[TensorType, ...]:
    types = graph.types()
    return block_types(block, tuple(types[a] for a in graph.nodes[position].args))


def _sizes(op: ComputeOp | LoopOp, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """The numbers of the sizes that an operator names, each of which must mean itself at all extents."""
    if not all(_means_itself(d) for d in op_sizes(op)):
        raise ShapeError("extents are named in numbers")
    return tuple(d.value(sizes) for d in op_sizes(op))


def _means_itself(d: Dim) -> bool:
    return d.is_one or in_symbols(d)


def _dims(op: Reshape, dims: tuple[Dim, ...], shape: tuple[int, ...], sizes: Mapping[str, int]) -> tuple[int, ...]:
    """The extents of a reshape's dims, by those of what it takes.

    Of several dims that belong together, those that name symbols mean themselves, and one more follows.
    """
    found: list[int] = []
    for ours, theirs in groups(dims, op.dims):
        whole = prod(shape[n] for n in ours)
        numbers = [d.value(sizes) if of_symbols else 0 for d, of_symbols in theirs]
        if numbers.count(0) > 1:
            raise ShapeError("extents are named in numbers")
        rest, left = divmod(whole, prod(n for n in numbers if n))
        if left or (rest > 1 and 0 not in numbers):
            raise ShapeError(f"{whole} elements in dims of {numbers}")
        found += [n or rest for n in numbers]
    numbered = iter(found)
    return tuple(1 if d.is_one else next(numbered) for d in op.dims)
