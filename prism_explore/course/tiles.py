"""A picture of what one block of a custom kernel reads and writes: each tensor with its tile."""

from __future__ import annotations

from collections.abc import Mapping

from prism_explore.errors import ShapeError
from prism_explore.ir.graph import SGraph
from prism_explore.ir.ops import Input
from prism_explore.widgets.drawing.text_metrics import width_px
from prism_explore.widgets.scene import Scene, Shape, Text
from prism_explore.widgets.views.block_regions import DimRegion, RegionMap, region_maps

LONGEST_PX = 150.0
SHORTEST_PX = 12.0
GAP_PX = 36.0
HEAD_PX = 30.0


def tile_range(region: DimRegion, at: Mapping[str, int], sizes: Mapping[str, int]) -> range:
    """The elements along one dim of a tensor that a block touches.

    Args:
        region: the dim.
        at: the coordinate of the block along each grid dim, and the iteration of the loop.
        sizes: a number for every symbol.
    """
    first = sum(stride.value(sizes) * at.get(name, 0) for name, stride in region.strides)
    return range(first, first + region.tile.value(sizes))


def tile_scene(graph: SGraph, at: Mapping[str, int], sizes: Mapping[str, int]) -> Scene:
    """Draw the tensors of the first custom kernel, and what a block touches of each.

    Args:
        graph: its maps are bound.
        at: the coordinate of the block along each grid dim, and the iteration of the loop.
        sizes: a number for every symbol.

    Raises:
        ShapeError: the graph has no custom kernel, or open maps.
    """
    if not graph.customs or graph.is_open:
        raise ShapeError("a picture of tiles needs a custom kernel whose maps are bound")
    kernel, block = graph.customs[0]
    items: list[Shape] = []
    left, bottom = GAP_PX / 2, 0.0
    for region in region_maps(graph, kernel, block):
        name = _name(graph, kernel, region)
        width, height, drawn = _drawn(name, region, at, sizes, left)
        items += drawn
        left, bottom = left + width + GAP_PX, max(bottom, height)
    where = ", ".join(f"{name} = {value}" for name, value in at.items())
    desc = f"What the block at {where} touches: {', '.join(i.tip for i in items if i.tip)}."
    return Scene("tiles", f"tiles at {where}", desc, left, bottom + GAP_PX / 2, tuple(items))


def _name(graph: SGraph, kernel: int, region: RegionMap) -> str:
    if region.kind == "store":
        return "result" if region.operand == 0 else f"result {region.operand}"
    source = graph.nodes[graph.nodes[kernel].args[region.operand]].op
    return source.name if isinstance(source, Input) else f"%{graph.nodes[kernel].args[region.operand]}"


def _drawn(
    name: str, region: RegionMap, at: Mapping[str, int], sizes: Mapping[str, int], left: float
) -> tuple[float, float, list[Shape]]:
    """Width, lower end and shapes of one tensor: its last two dims as a rectangle."""
    extents = [d.extent.value(sizes) for d in region.dims]
    tiles = [tile_range(d, at, sizes) for d in region.dims]
    ranges = ", ".join(f"{t.start}:{t.stop}" for t in tiles)
    verb = "load" if region.kind == "load" else "store"
    text = f"{verb} {name}[{ranges}]"
    rows, columns = ([(1, range(1)), *zip(extents, tiles, strict=True)])[-2:] if extents else [(1, range(1))] * 2
    scale = LONGEST_PX / max(rows[0], columns[0])
    h, w = (max(SHORTEST_PX, extent * scale) for extent, _ in (rows, columns))
    whole = Shape(f"{verb} {name} {region.position}", "box", "tensor", left, HEAD_PX, w, h)
    part = Shape(
        f"tile of {verb} {name} {region.position}",
        "block",
        "enode-marked" if region.kind == "load" else "accum",
        left + w * columns[1].start / columns[0],
        HEAD_PX + h * rows[1].start / rows[0],
        w * len(columns[1]) / columns[0],
        h * len(rows[1]) / rows[0],
        tip=text,
    )
    label = Shape(f"name of {verb} {name} {region.position}", "text", "plain", left, 0, 0, HEAD_PX, "none",
                  (Text(left, HEAD_PX - 10, text, "mono", "start"),))  # fmt: skip
    return max(w, width_px(text, "mono")), HEAD_PX + h, [label, whole, part]
