"""Maps of two kernels of which the second adds up what the first's blocks store of a split axis.

One choice is made for both. An axis is split: the first kernel's last grid dim cuts it, in every tensor that has
it. Each result is laid out along one of its dims, share by share, and along that dim the second kernel's loop
cuts it again, so the number of shares is that loop's range. No other parallel dim cuts the axis of such a dim.

    visits       one share per iteration of the loop; or no loop, all shares in one tile, which is reduced
    which dim    one of size 1; else one that no grid dim of the first kernel could cut anyway; else each in turn
    grids        as many dims as may be: a grid with fewer is the case of sizes 1
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Literal

from prism_explore.instantiate.apply_maps import Maps, unused_size, with_maps
from prism_explore.instantiate.constraints import TypedBlock, Violation, grid_violation, loop_violation
from prism_explore.ir.analysis.loop_flow import Flow
from prism_explore.ir.analysis.split_reduction import Pair, second_kernel_states, share_axis, split_states
from prism_explore.ir.axes import AxisNames
from prism_explore.ir.axis_maps import AxisUse
from prism_explore.ir.dims import Dim
from prism_explore.ir.graph import SGraph, block_types
from prism_explore.ir.ops import Accumulate, Binary, BlockGraph, Custom, Load, Node, Op, Reduce, Reshape, Unary


@dataclass(frozen=True, slots=True)
class SplitMaps:
    """One choice for both kernels."""

    axis: str
    """Which is split."""
    maps: tuple[Maps, Maps]


def split_maps(
    graph: SGraph, typed: Sequence[TypedBlock], pair: Pair, grid_dims: int
) -> Iterator[SplitMaps | tuple[str, int, Violation]]:
    """Every choice, in order of axes, loops, layouts, grids; an axis that cannot be split with why not, and in which.

    Args:
        graph: maps open.
        typed: its two kernels.
        pair: how they are linked.
        grid_dims: of one kernel, at most.
    """
    first, second = typed
    names = first.names
    for axis in names:
        if (broken := _why_not_split(first, second, pair, axis)) is not None:
            yield axis, *broken
            continue
        cuttable = [a for a in names if a != axis and grid_violation(first, a, by_one=True) is None]
        behind = [a for a in second.names if grid_violation(second, a) is None]
        loops = (frozenset(c) for size in range(len(names) + 1) for c in combinations(names, size))
        legal = [looped for looped in loops if loop_violation(first, looped) is None]
        stored = [first.axes[share.store] for share in pair.shares]
        for looped, lays in product(legal, product(*(_dims(axes, cuttable) for axes in stored))):
            laid = {axes[d] for axes, d in zip(stored, lays, strict=True)}
            free = [a for a in cuttable if a not in laid | looped]
            later = [a for a in behind if a not in laid]
            grids = combinations(free, min(grid_dims - 1, len(free)))
            for grid, after in product(grids, combinations(later, min(grid_dims, len(later)))):
                uses = _uses(names, (*grid, axis), looped)
                more = (*_uses(second.names, after, frozenset()), AxisUse(share_axis(axis), looped=True))
                yield SplitMaps(axis, _close_pair(graph, typed, pair, lays, axis, uses, more))


def _why_not_split(first: TypedBlock, second: TypedBlock, pair: Pair, axis: str) -> tuple[int, Violation] | None:
    """Why an axis cannot be the one that is split, and in which kernel."""
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


def _dims(axes: AxisNames, cuttable: Sequence[str]) -> list[int]:
    """The dims along which a result's shares may lie."""
    single = [d for d, a in enumerate(axes) if a is None]
    idle = [d for d, a in enumerate(axes) if a not in cuttable]
    return single[-1:] or idle[-1:] or list(range(len(axes)))


def _close_pair(
    graph: SGraph,
    typed: Sequence[TypedBlock],
    pair: Pair,
    lays: Sequence[int],
    axis: str,
    first: tuple[AxisUse, ...],
    second: tuple[AxisUse, ...],
) -> tuple[Maps, Maps]:
    """Both kernels with their maps. Where its shares lie, a result's dim is the split axis, or that of its parts."""
    taken = graph.data_symbols
    count = unused_size("s", taken)
    stores = {share.store: along for share, along in zip(pair.shares, lays, strict=True)}
    loads = {share.load: along for share, along in zip(pair.shares, lays, strict=True)}
    last = "xyz"[_rank(first) - 1]
    one = with_maps(_with_share_axis(typed[0], stores, axis), first, _rank(first), 1, taken, {last: count})
    two = with_maps(_with_share_axis(typed[1], loads, share_axis(axis)), second, _rank(second), 2, taken, {"i": count})
    return Maps(first, one), Maps(second, two)


def _with_share_axis(typed: TypedBlock, lays: dict[int, int], axis: str) -> TypedBlock:
    axes = list(typed.axes)
    for position, along in lays.items():
        axes[position] = (*axes[position][:along], axis, *axes[position][along + 1 :])
    return replace(typed, axes=tuple(axes))


def _uses(names: Sequence[str], grid: Sequence[str], looped: frozenset[str]) -> tuple[AxisUse, ...]:
    return tuple(AxisUse(a, grid.index(a) if a in grid else None, a in looped) for a in names)


def _rank(uses: tuple[AxisUse, ...]) -> int:
    return sum(u.grid is not None for u in uses)


def without_loop(graph: SGraph, pair: Pair) -> BlockGraph | None:
    """The second kernel without its loop: each block has all shares of its part in one tile, and reduces them.

    None where sums and the maxima that they are relative to do not lie along the same dim, the maxima one by one.

    Args:
        graph: maps closed.
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
    made: list[Node] = []
    at: dict[int, int] = {}

    def put(op: Op, *args: int) -> int:
        made.append(Node(op, args))
        return len(made) - 1

    def apart(value: int, dims: tuple[Dim, ...], d: int) -> int:
        """A tensor whose dim `d` is so many shares of a size, as one that has a dim of shares before that size."""
        return put(Reshape((*dims[:d], loop.size, *dims[d:])), value)

    def reduced(fn: Literal["sum", "max"], value: int, dims: tuple[Dim, ...], d: int) -> int:
        if dims[d].is_one:
            return put(Reduce(fn, d), value)
        return put(Reshape(dims), put(Reduce(fn, d), value))

    factors: dict[int, int] = {}
    wholes = {share.complete: share for share in pair.shares if share.complete is not None}
    between = {p for share in pair.shares for p in share.between}
    for position, inner in enumerate(block.nodes):
        share = wholes.get(position)
        if share is not None:
            dims, d, value = tiles[share.load], along[share.load], at[share.load]
            if (scale := share.scale) is not None:
                if scale not in factors:
                    largest = put(Reduce("max", d), at[scale])
                    factors[scale] = put(Unary("exp"), put(Binary("sub"), at[scale], largest))
                factor = factors[scale]
                if not dims[d].is_one:
                    value, factor = apart(value, dims, d), apart(factor, tiles[scale], d)
                at[position] = reduced("sum", put(Binary("mul"), value, factor), dims, d)
            else:
                op = inner.op
                assert isinstance(op, Accumulate) and op.fn in ("sum", "max"), "shares are added up, or compared"
                at[position] = reduced(op.fn, value if dims[d].is_one else apart(value, dims, d), dims, d)
        elif position not in between:
            op = replace(inner.op, fmap=None) if isinstance(inner.op, Load) else inner.op
            at[position] = put(op, *(at[a] for a in inner.args))
    return BlockGraph(block.grid, None, tuple(made))
