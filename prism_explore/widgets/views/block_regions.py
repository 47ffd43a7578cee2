"""Which region of each tensor a block touches: per dim the extent, the tile, and the strides of grid dims and loop.

Input: a custom kernel. Output: a `RegionMap` per load and store, symbolic. A block at one grid point and iteration
touches, along a dim, `tile` elements from the sum of `stride * position` on, over the grid dims and the loop that
partition the dim. The loop partitions what a grid dim leaves, as in the interpreter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from prism_explore.ir.dims import Dim
from prism_explore.ir.graph import SGraph, block_types
from prism_explore.ir.ops import BlockGraph, Load, Store
from prism_explore.ir.tensors import TensorType


@dataclass(frozen=True, slots=True)
class DimRegion:
    """One dim of a tensor."""

    extent: Dim
    tile: Dim
    strides: tuple[tuple[str, Dim], ...]
    """Per grid dim or loop that partitions it, the distance between two neighbouring tiles."""


@dataclass(frozen=True, slots=True)
class RegionMap:
    """A load or store of a block graph."""

    position: int
    """In the block graph."""
    kind: Literal["load", "store"]
    operand: int
    """Number of the operand, or of the result."""
    dims: tuple[DimRegion, ...]
    is_open: bool


def region_maps(graph: SGraph, kernel: int, block: BlockGraph) -> tuple[RegionMap, ...]:
    """The regions of every load and store of a custom kernel."""
    types = graph.types()
    operands = tuple(types[a] for a in graph.nodes[kernel].args)
    tiles = block_types(block, operands)
    found: list[RegionMap] = []
    for j, node in enumerate(block.nodes):
        match node.op:
            case Load(operand, imap, fmap):
                tile = tiles[j]
                dims = _regions(block, operands[operand], tile, imap, fmap)
                found.append(RegionMap(j, "load", operand, dims, block.is_open))
            case Store(omap):
                number, whole = block.stores.index(j), tiles[j]
                dims = _regions(block, whole, tiles[node.args[0]], omap, None)
                found.append(RegionMap(j, "store", number, dims, block.is_open))
            case _:
                pass
    return tuple(found)


def _regions(
    block: BlockGraph, whole: TensorType, tile: TensorType, map_: tuple[int | None, ...] | None, fmap: int | None
) -> tuple[DimRegion, ...]:
    dims: list[DimRegion] = []
    for d, (extent, length) in enumerate(zip(whole.dims, tile.dims, strict=True)):
        strides: list[tuple[str, Dim]] = []
        for p, along in zip(block.grid, map_ or (), strict=False):
            if along == d:
                strides.append((p.name, extent / p.size))
        if block.loop is not None and fmap == d:
            strides.append((block.loop.name, length))
        dims.append(DimRegion(extent, length, tuple(strides)))
    return tuple(dims)
