from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from prism_explore.ir.graph import SGraph
from prism_explore.ir.text import parse
from prism_explore.widgets.views.block_regions import RegionMap, region_maps

GRAPH = parse("""sgraph
  x = input f32[4, 24]
  w = input f32[24, 12]
  %2 = custom(x, w) grid[x=gx, y=gy] loop[i=f]
    %0 = load(0, imap=[0, -], fmap=1)
    %1 = load(1, imap=[-, 1], fmap=0)
    %2 = matmul(%0, %1)
    %3 = accum(%2)
    %4 = store(%3, omap=[0, 1])
  return %2""")
BOTH = parse("""sgraph
  x = input f32[2, 3, 24]
  %1 = custom(x) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[2], fmap=2)
    %1 = accum_sum(%0, dim=2)
    %2 = store(%1, omap=[2])
  return %1""")
SIZES = {"gx": 2, "gy": 3, "f": 4}


def touched(graph: SGraph, region: RegionMap) -> np.ndarray:
    """How many blocks and iterations touch each element."""
    block = graph.customs[0][1]
    names = [p.name for p in block.parallel]
    extents = [int(d.extent.rational(SIZES)) for d in region.dims]
    found = np.zeros(extents, int)
    for point in product(*(range(int(p.size.rational(SIZES))) for p in block.parallel)):
        at = dict(zip(names, point, strict=True))
        slices: list[slice] = []
        for d in region.dims:
            start = sum(int(stride.rational(SIZES)) * at[name] for name, stride in d.strides)
            slices.append(slice(start, start + int(d.tile.rational(SIZES))))
        found[tuple(slices)] += 1
    return found


@pytest.mark.parametrize("graph", [GRAPH, BOTH], ids=["two dims", "grid and loop along one dim"])
def test_the_blocks_together_touch_every_element_equally_often(graph: SGraph) -> None:
    block = graph.customs[0][1]
    runs = int(np.prod([int(p.size.rational(SIZES)) for p in block.parallel]))
    for region in region_maps(graph, graph.customs[0][0], block):
        counts = touched(graph, region)
        partitions = {name for d in region.dims for name, _ in d.strides}
        parts = np.prod([int(p.size.rational(SIZES)) for p in block.parallel if p.name in partitions])
        assert counts.min() == counts.max() == runs // parts, region


def test_a_store_is_not_partitioned_by_the_loop() -> None:
    loads_and_store = region_maps(GRAPH, 2, GRAPH.customs[0][1])

    assert ["load", "load", "store"] == [r.kind for r in loads_and_store]
    assert {"x", "y"} == {name for d in loads_and_store[-1].dims for name, _ in d.strides}


def test_open_maps_touch_the_full_tensor() -> None:
    (load, store) = region_maps(OPEN := parse("""sgraph
  x = input f32[8, 64]
  %1 = custom(x) grid[]
    %0 = load(0, imap=?)
    %1 = relu(%0)
    %2 = store(%1, omap=?)
  return %1"""), 1, OPEN.customs[0][1])  # fmt: skip

    for region in (load, store):
        assert region.is_open
        assert all(d.extent == d.tile and not d.strides for d in region.dims)
