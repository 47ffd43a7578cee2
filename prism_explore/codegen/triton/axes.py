"""Axes of an sGraph: which dims are the same index, and a name for each, at kernel level and inside custom kernels.

Input: an sGraph. Output: per block tensor, the names of its tile axes. Method: union-find over the dims, with a pair
for each operator that relates two dims. `ir.axes` names the axes of a flat program; inside a block the same axis may
appear as several tiles (a tensor loaded twice with different maps), and each tile axis has one extent, to which its
offsets and masks belong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from prism_explore.ir.axes import AxisNames, unchanged_dims
from prism_explore.ir.axis_typing import result_axes
from prism_explore.ir.graph import SGraph, block_types
from prism_explore.ir.ops import (
    Band,
    BlockGraph,
    Custom,
    Input,
    Load,
    Node,
    Reshape,
    Result,
    Store,
)
from prism_explore.ir.tensors import TensorType
from prism_explore.support.caches import memoize
from prism_explore.support.union_find import UnionFind

Slot: TypeAlias = tuple[int, int, int]
"""A dim: kernel position, block position (-1 for the kernel-level tensor itself), dim."""


@memoize(512)
def tile_axes(graph: SGraph, position: int) -> tuple[AxisNames, ...]:
    """The tile axis of each dim of each block tensor of the custom kernel at `position`.

    Two tiles of one axis that are partitioned in different ways and never combined are two tile axes:
    the second is called `b2` where the first is `b`. A store has the dims of its operand.
    """
    block, types = _nodes_before_stores(graph, position)
    slots = [(position, j, d) for j, ty in enumerate(types) for d, size in enumerate(ty.dims) if not size.is_one]
    root = _representatives(slots, _unified_dims(block, types, position))
    wanted = _global_names(graph)
    names: dict[Slot, str] = {}
    for slot in slots:
        if root[slot] not in names:
            names[root[slot]] = _free_name(wanted[slot], names.values())
    return tuple(
        tuple(names[root[position, j, d]] if (position, j, d) in root else None for d in range(ty.rank))
        for j, ty in enumerate(types)
    )


def partitions(load: Load, rank: int) -> list[tuple[int | None, bool]]:
    """Per dim of the loaded tensor: the grid dim that partitions it, and whether the loop does."""
    imap = load.imap or ()
    return [(imap.index(d) if d in imap else None, load.fmap == d) for d in range(rank)]


def _free_name(wanted: str, taken: Iterable[str]) -> str:
    used = set(taken)
    return next(n for n in (wanted, *(f"{wanted}{i}" for i in range(2, len(used) + 3))) if n not in used)


def _nodes_before_stores(graph: SGraph, position: int) -> tuple[tuple[Node, ...], tuple[TensorType, ...]]:
    node = graph.nodes[position]
    assert isinstance(node.op, Custom), "tile axes belong to a custom kernel"
    kernel_types = graph.types()
    block = node.op.block
    types = block_types(block, tuple(kernel_types[a] for a in node.args))
    first = block.stores[0]
    return block.nodes[:first], types[:first]


def _global_names(graph: SGraph) -> dict[Slot, str]:
    """Names for the dims: the symbol where a kernel-level dim is one symbol alone, else d, n, k, m, ...

    Kernel-level dims that are the same symbol are one axis. So are dims of which a block reads a single index that is
    the same for all of them.
    """
    types = graph.types()
    sizes = {(t, -1, d): size for t, ty in enumerate(types) for d, size in enumerate(ty.dims)}
    pairs = _unified_dims(graph.nodes, types, None)
    for position, block in graph.customs:
        inner, inner_types = _nodes_before_stores(graph, position)
        sizes |= {(position, j, d): s for j, ty in enumerate(inner_types) for d, s in enumerate(ty.dims)}
        pairs += _unified_dims(inner, inner_types, position)
        args = graph.nodes[position].args
        single: dict[tuple[int | None, bool], Slot] = {}
        for j, node in enumerate(inner):
            if isinstance(node.op, Load):
                outside = args[node.op.operand]
                pairs += [((position, j, d), (outside, -1, d)) for d in range(types[outside].rank)]
                for d, place in enumerate(partitions(node.op, types[outside].rank)):
                    if inner_types[j].dims[d].is_one and not types[outside].dims[d].is_one:
                        pairs.append(((outside, -1, d), single.setdefault(place, (outside, -1, d))))
        for result, stored in _stored_tensors(graph, position, block):
            pairs += [((position, stored, d), (result, -1, d)) for d in range(types[result].rank)]
    slots = sorted(slot for slot, size in sizes.items() if not size.is_one)
    first: dict[str, Slot] = {}
    for slot in (s for s in slots if s[1] < 0):
        if symbol := sizes[slot].symbol:
            pairs.append((slot, first.setdefault(symbol, slot)))
    root = _representatives(slots, pairs)
    symbols = {s for size in sizes.values() for s in size.symbols}
    spare = (c for c in (*"dnkmhevpqrstu", *(f"a{i}" for i in range(len(slots)))) if c not in symbols)
    names: dict[Slot, str] = {}
    for slot in sorted(slots, key=lambda s: (s[1] >= 0, s)):
        if root[slot] not in names:
            symbol = sizes[slot].symbol
            names[root[slot]] = symbol if symbol and symbol not in names.values() else next(spare)
    return {slot: names[root[slot]] for slot in slots}


def _stored_tensors(graph: SGraph, position: int, block: BlockGraph) -> Iterator[tuple[int, int]]:
    """Each kernel-level result of a custom kernel, and the block tensor that is stored to it."""
    yield position, block.nodes[block.stores[0]].args[0]
    for t, node in enumerate(graph.nodes):
        if isinstance(node.op, Result) and node.args[0] == position:
            yield t, block.nodes[block.stores[node.op.index]].args[0]


def _unified_dims(nodes: Sequence[Node], types: Sequence[TensorType], position: int | None) -> list[tuple[Slot, Slot]]:
    """Pairs of dims that an operator relates as one index; `position` is None at kernel level."""

    def slots(t: int) -> tuple[Slot | None, ...]:
        node, inner = (t, -1) if position is None else (position, t)
        return tuple(None if size.is_one else (node, inner, d) for d, size in enumerate(types[t].dims))

    pairs: list[tuple[Slot, Slot]] = []

    def unify(a: Slot | None, b: Slot | None) -> Slot | None:
        if a and b:
            pairs.append((a, b))
        return a or b

    for t, node in enumerate(nodes):
        own = slots(t)
        match node.op:
            case Input() | Band() | Load() | Store() | Custom() | Result():
                continue
            case Reshape():
                (source,) = node.args
                unmoved = unchanged_dims(types[source].dims, types[t].dims)
                for d, e in unmoved:
                    unify(own[d], slots(source)[e])
            case op:
                operands = tuple(slots(a) for a in node.args)
                result = result_axes(op, operands, absent=None, fresh=own.__getitem__, align=unify, contract=unify)
                for own_slot, label in zip(own, result, strict=True):
                    unify(own_slot, label)
    return pairs


def _representatives(slots: Iterable[Slot], pairs: Iterable[tuple[Slot, Slot]]) -> dict[Slot, Slot]:
    """The first slot of each slot's class. Dims of literal size 1 are not slots, and pairs with them are left out."""
    same = UnionFind(slots)
    for a, b in pairs:
        if a in same and b in same:
            same.union(a, b)
    return {slot: same.find(slot) for slot in same}
