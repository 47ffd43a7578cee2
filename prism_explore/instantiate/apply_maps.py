"""Apply a choice of maps to block graphs and kernel graphs, and describe the choice as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from prism_explore.instantiate.constraints import TypedBlock
from prism_explore.ir.axis_maps import AxisUse, grid_map, loop_map
from prism_explore.ir.dims import Dim, dim
from prism_explore.ir.graph import SGraph
from prism_explore.ir.ops import BlockGraph, Custom, Load, Node, ParallelDim, Reshape, Store

_GRID = "xyz"


@dataclass(frozen=True, slots=True)
class Maps:
    """A legal choice of maps for one custom kernel."""

    uses: tuple[AxisUse, ...]
    block: BlockGraph
    """The block graph with these maps."""


def with_maps(
    typed: TypedBlock,
    uses: tuple[AxisUse, ...],
    rank: int,
    number: int,
    taken: tuple[str, ...],
    sizes: Mapping[str, Dim] | None = None,
) -> BlockGraph:
    """A block graph with the maps for a choice of partitioned axes.

    Args:
        typed: the block graph without maps.
        uses: how each of its axes is partitioned.
        rank: the number of grid dims.
        number: the number of the kernel, from 1 on; names of sizes contain it.
        taken: names of sizes that are in use.
        sizes: sizes of parallel dims that are shared with another kernel, by the names of the dims.
    """
    sizes = sizes or {}
    suffix = str(number) if number > 1 else ""
    grid = tuple(ParallelDim(n, sizes.get(n) or unused_size(f"g{n}{suffix}", taken)) for n in _GRID[:rank])
    loop = ParallelDim("i", sizes.get("i") or unused_size(f"f{suffix}", taken)) if any(u.looped for u in uses) else None

    def tile(size: Dim, axis: str | None) -> Dim:
        for use in uses:
            if use.axis == axis:
                size = size / grid[use.grid].size if use.grid is not None else size
                size = size / loop.size if use.looped and loop else size
        return size

    nodes: list[Node] = []
    for node, axes in zip(typed.block.nodes, typed.axes, strict=True):
        match node.op:
            case Reshape(dims):
                nodes.append(Node(Reshape(tuple(map(tile, dims, axes))), node.args))
            case Load(operand):
                nodes.append(Node(Load(operand, grid_map(uses, axes, rank), loop_map(uses, axes)), node.args))
            case Store():
                nodes.append(Node(Store(grid_map(uses, axes, rank)), node.args))
            case _:
                nodes.append(node)
    return BlockGraph(grid, loop, tuple(nodes))


def unused_size(name: str, taken: tuple[str, ...]) -> Dim:
    """A size with this name, extended by underscores where the name is in use."""
    while name in taken:
        name += "_"
    return dim(name)


def replace_blocks(graph: SGraph, chosen: tuple[Maps, ...]) -> SGraph:
    """A kernel graph whose custom kernels have the block graphs of the chosen maps, in order."""
    remaining = iter(chosen)
    nodes = tuple(Node(Custom(next(remaining).block), n.args) if isinstance(n.op, Custom) else n for n in graph.nodes)
    return replace(graph, nodes=nodes)


def describe_uses(chosen: tuple[Maps, ...]) -> tuple[str, ...]:
    """How the axes are partitioned, as text; with several kernels, each text starts with the number of its kernel."""
    prefix = [f"kernel {k}: " if len(chosen) > 1 else "" for k in range(1, len(chosen) + 1)]
    return tuple(f"{p}{u}" for p, maps in zip(prefix, chosen, strict=True) for u in maps.uses)
