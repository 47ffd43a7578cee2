"""Maps of a split pair: the blocks of the first kernel store partial results, which the second kernel adds up.

One choice covers both kernels. The last grid dim of the first kernel partitions the split axis in every tensor that has
it. The partial results (shares) of one tensor are stored next to each other along one of its dims, and the loop of the
second kernel partitions that dim, so the number of shares is the range of the loop. No other parallel dim partitions
the axis of that dim.

    loop         one share per iteration; or no loop, all shares in one tile, which is reduced (`without_loop`)
    dim          one of size 1; else one that no grid dim of the first kernel can partition; else every dim
    grids        as many grid dims as possible, because fewer dims are the special case of sizes 1
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Literal

from prism_explore.instantiate.apply_maps import Maps, unused_size, with_maps
from prism_explore.instantiate.constraints import TypedBlock, Violation, grid_violation, loop_choices
from prism_explore.ir.analysis.loop_flow import Flow
from prism_explore.ir.analysis.split_reduction import Pair, second_kernel_states, share_axis, split_states
from prism_explore.ir.axes import AxisNames
from prism_explore.ir.axis_maps import AxisUse
from prism_explore.ir.dims import Dim
from prism_explore.ir.graph import SGraph, block_types
from prism_explore.ir.ops import Accumulate, Binary, BlockGraph, Custom, Load, Node, Op, Reduce, Reshape, Unary


@dataclass(frozen=True, slots=True)
class SplitMaps:
    """A choice of maps for both kernels."""

    axis: str
    """The split axis."""
    maps: tuple[Maps, Maps]


def split_maps(
    graph: SGraph, typed: Sequence[TypedBlock], pair: Pair, grid_dims: int
) -> Iterator[SplitMaps | tuple[str, int, Violation]]:
    """Every legal choice, in the order of axes, loops, layouts, grids.

    Args:
        graph: the kernel graph without maps.
        typed: the block graphs of its two kernels.
        pair: how the kernels are linked.
        grid_dims: the largest number of grid dims of one kernel.

    Yields:
        A choice; or an axis that cannot be split, with the number of the kernel and the violation.
    """
    first, second = typed
    names, legal = first.names, loop_choices(first).legal
    for axis in names:
        if (broken := _why_not_split(first, second, pair, axis)) is not None:
            yield axis, *broken
            continue
        first_grid_axes = [a for a in names if a != axis and grid_violation(first, a, by_one=True) is None]
        second_grid_axes = [a for a in second.names if grid_violation(second, a) is None]
        stored = [first.axes[share.store] for share in pair.shares]
        seconds = dict[tuple[tuple[int, ...], tuple[str, ...]], Maps]()
        for looped, share_dims in product(legal, product(*(_dims(axes, first_grid_axes) for axes in stored))):
            share_axes = {axes[d] for axes, d in zip(stored, share_dims, strict=True)}
            free = [a for a in first_grid_axes if a not in share_axes | looped]
            later = [a for a in second_grid_axes if a not in share_axes]
            later = list(combinations(later, min(grid_dims, len(later))))
            for grid in combinations(free, min(grid_dims - 1, len(free))):
                one = _close_first(graph, first, pair, share_dims, axis, _uses(names, (*grid, axis), looped))
                for after in later:
                    if (share_dims, after) not in seconds:
                        uses = (*_uses(second.names, after, frozenset()), AxisUse(share_axis(axis), looped=True))
                        seconds[share_dims, after] = _close_second(graph, second, pair, share_dims, axis, uses)
                    yield SplitMaps(axis, (one, seconds[share_dims, after]))


def _why_not_split(first: TypedBlock, second: TypedBlock, pair: Pair, axis: str) -> tuple[int, Violation] | None:
    """The violation if an axis is split, with the number of the kernel; None if it can be split."""
    twice = next((at for at, axes in enumerate(first.axes) if axes.count(axis) > 1), None)
    if twice is not None:
        return 0, Violation("grid.once", twice)
    states = split_states(first.block.nodes, first.axes, axis)
    stored: list[Flow] = []
    for share in pair.shares:
        state = states[share.store]
        if not isinstance(state, Flow) or not state.partial:
            return 0, Violation("split.whole", share.store)
        stored.append(state)
    for position, state in enumerate(second_kernel_states(second.block.nodes, second.axes, pair.shares, stored, axis)):
        if not isinstance(state, Flow):
            return 1, Violation(state, position)
    return None


def _dims(axes: AxisNames, grid_axes: Sequence[str]) -> list[int]:
    """The dims along which the shares of a result may be stored."""
    single = [d for d, a in enumerate(axes) if a is None]
    idle = [d for d, a in enumerate(axes) if a not in grid_axes]
    return single[-1:] or idle[-1:] or list(range(len(axes)))


def _close_first(
    graph: SGraph, typed: TypedBlock, pair: Pair, share_dims: Sequence[int], axis: str, uses: tuple[AxisUse, ...]
) -> Maps:
    """The first kernel with its maps; a dim of shares has the split axis."""
    stores = {share.store: along for share, along in zip(pair.shares, share_dims, strict=True)}
    taken, last = graph.data_symbols, "xyz"[_rank(uses) - 1]
    sizes = {last: unused_size("s", taken)}
    return Maps(uses, with_maps(_with_share_axis(typed, stores, axis), uses, _rank(uses), 1, taken, sizes))


def _close_second(
    graph: SGraph, typed: TypedBlock, pair: Pair, share_dims: Sequence[int], axis: str, uses: tuple[AxisUse, ...]
) -> Maps:
    """The second kernel with its maps; a dim of shares has the share axis."""
    loads = {share.load: along for share, along in zip(pair.shares, share_dims, strict=True)}
    taken = graph.data_symbols
    sizes = {"i": unused_size("s", taken)}
    return Maps(uses, with_maps(_with_share_axis(typed, loads, share_axis(axis)), uses, _rank(uses), 2, taken, sizes))


def _with_share_axis(typed: TypedBlock, share_dims: dict[int, int], axis: str) -> TypedBlock:
    axes = list(typed.axes)
    for position, along in share_dims.items():
        axes[position] = (*axes[position][:along], axis, *axes[position][along + 1 :])
    return replace(typed, axes=tuple(axes))


def _uses(names: Sequence[str], grid: Sequence[str], looped: frozenset[str]) -> tuple[AxisUse, ...]:
    return tuple(AxisUse(a, grid.index(a) if a in grid else None, a in looped) for a in names)


def _rank(uses: tuple[AxisUse, ...]) -> int:
    return sum(u.grid is not None for u in uses)


def without_loop(graph: SGraph, pair: Pair) -> BlockGraph | None:
    """The second kernel without its loop: each block loads all its shares in one tile and reduces them.

    None where a sum relative to a maximum and that maximum are stored along different dims, or the maximum has a tile
    of more than one element along it.

    Args:
        graph: the kernel graph with maps.
        pair: its two kernels.
    """
    node = graph.nodes[pair.second]
    assert isinstance(node.op, Custom), "a pair is two custom kernels"
    block, types = node.op.block, graph.types()
    loop = block.loop
    assert loop is not None, "the second kernel visits share by share"
    tiles = [t.dims for t in block_types(block, tuple(types[a] for a in node.args))]
    along: dict[int, int] = {}
    for share in pair.shares:
        op = block.nodes[share.load].op
        assert isinstance(op, Load) and op.fmap is not None, "shares are visited by the loop"
        along[share.load] = op.fmap
    for share in pair.shares:
        scale = share.scale
        if scale is not None and not (along[scale] == along[share.load] and tiles[scale][along[scale]].is_one):
            return None
    nodes: list[Node] = []
    at: dict[int, int] = {}

    def add(op: Op, *args: int) -> int:
        nodes.append(Node(op, args))
        return len(nodes) - 1

    def split_dim(value: int, dims: tuple[Dim, ...], d: int) -> int:
        """Split dim `d` into a dim of shares and a dim of one share."""
        return add(Reshape((*dims[:d], loop.size, *dims[d:])), value)

    def reduce(fn: Literal["sum", "max"], value: int, dims: tuple[Dim, ...], d: int) -> int:
        if dims[d].is_one:
            return add(Reduce(fn, d), value)
        return add(Reshape(dims), add(Reduce(fn, d), value))

    factors: dict[int, int] = {}
    complete = {share.complete: share for share in pair.shares if share.complete is not None}
    between = {p for share in pair.shares for p in share.between}
    for position, inner in enumerate(block.nodes):
        share = complete.get(position)
        if share is not None:
            dims, d, value = tiles[share.load], along[share.load], at[share.load]
            if (scale := share.scale) is not None:
                if scale not in factors:
                    largest = add(Reduce("max", d), at[scale])
                    factors[scale] = add(Unary("exp"), add(Binary("sub"), at[scale], largest))
                factor = factors[scale]
                if not dims[d].is_one:
                    value, factor = split_dim(value, dims, d), split_dim(factor, tiles[scale], d)
                at[position] = reduce("sum", add(Binary("mul"), value, factor), dims, d)
            else:
                op = inner.op
                assert isinstance(op, Accumulate) and op.fn in ("sum", "max"), "shares are added up, or compared"
                at[position] = reduce(op.fn, value if dims[d].is_one else split_dim(value, dims, d), dims, d)
        elif position not in between:
            op = replace(inner.op, fmap=None) if isinstance(inner.op, Load) else inner.op
            at[position] = add(op, *(at[a] for a in inner.args))
    return BlockGraph(block.grid, None, tuple(nodes))
