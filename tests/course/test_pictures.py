from __future__ import annotations

import json
import re
import zlib
from base64 import b64decode

import numpy as np
import pytest

import prism_explore as px
from prism_explore.course.bars import LONGEST_PX, bars_scene
from prism_explore.course.chapters.kernels_inside_kernels import COLUMNS, SIZES
from prism_explore.course.chapters.one_graph_many_programs import SHAPES, figures, legal_sizes
from prism_explore.course.frames import MOST_FRAMES, frames, picture
from prism_explore.course.tiles import tile_range, tile_scene
from prism_explore.widgets.drawing.svg import to_svg
from prism_explore.widgets.scene import to_plain
from prism_explore.widgets.views.block_regions import region_maps


def draw(block: int, iteration: int):
    return tile_scene(COLUMNS, {"x": block, "i": iteration}, SIZES)


def test_tiles_of_all_blocks_and_iterations_cover_each_tensor_once() -> None:
    x, w, store = region_maps(COLUMNS, *COLUMNS.customs[0])
    for region, shape, times in ((x, (8, 64), 4), (w, (64, 96), 1), (store, (8, 96), 8)):
        touched = np.zeros(shape, int)
        for block in range(4):
            for iteration in range(8):
                rows, columns = (tile_range(d, {"x": block, "i": iteration}, SIZES) for d in region.dims)
                touched[rows.start : rows.stop, columns.start : columns.stop] += 1
        assert (touched == times).all()


def test_a_tile_is_drawn_where_it_is() -> None:
    shapes = {s.id: s for s in draw(2, 3).shapes}
    whole, part = shapes["load w 1"], shapes["tile of load w 1"]

    assert part.tip == "load w[24:32, 48:72]"
    assert (part.x - whole.x) / whole.w == pytest.approx(48 / 96)
    assert (part.y - whole.y) / whole.h == pytest.approx(24 / 64)
    assert (part.w / whole.w, part.h / whole.h) == pytest.approx((24 / 96, 8 / 64))


def test_a_graph_without_bound_maps_has_no_tiles() -> None:
    for graph in (px.parse_program("program p\n  x = input f32[b]\n  %1 = exp(x)\n  return %1").graph,):
        with pytest.raises(px.ShapeError, match="whose maps are bound"):
            tile_scene(graph, {}, {"b": 4})


def test_every_position_of_the_sliders_has_its_scene() -> None:
    found = frames(draw, {"block": range(4), "iteration": range(8)}, {"iteration": 3})
    page = found._repr_html_()
    [stored] = re.findall('<script type="text/plain">(.*?)</script>', page)
    data = json.loads(zlib.decompress(b64decode(stored)))
    scenes = [{**scene, "items": [data["items"][n] for n in scene["items"]]} for scene in data["scenes"]]

    assert found.scenes[2 * 8 + 3] == draw(2, 3)
    assert scenes == [json.loads(json.dumps(to_plain(draw(b, i)))) for b in range(4) for i in range(8)]
    assert len(data["items"]) < sum(len(scene["items"]) for scene in scenes) / 2
    assert data["sliders"][1] == {"name": "iteration", "texts": ["0", "1", "2", "3", "4", "5", "6", "7"], "start": 3}
    assert to_svg(draw(0, 3)) in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")


def test_a_scene_alone_has_no_sliders() -> None:
    shown = picture(draw(1, 2))

    assert shown.data["sliders"] == [] and shown.scenes == (draw(1, 2),)
    assert to_svg(draw(1, 2)) in shown._repr_html_()


def test_names_of_sliders_are_text() -> None:
    page = frames(lambda **_: draw(0, 0), {"</script><img src=x onerror=alert(1)>": [1]})._repr_html_()

    assert "<img" not in page and page.count("</script>") == 2


@pytest.mark.parametrize("sliders", [{"a": []}, {"a": range(MOST_FRAMES + 1)}], ids=["none", "many"])
def test_too_few_and_too_many_positions_are_refused(sliders: dict[str, range]) -> None:
    with pytest.raises(px.PrismError, match="give fewer values"):
        frames(draw, sliders)


def test_legal_sizes_are_those_of_three_conditions() -> None:
    memory, (b, k, m) = px.target("h100").shared_memory_bytes, SHAPES.values()
    pairs = [(2**i, 2**j) for i in range(13) for j in range(13)]
    fitting = [(gx, f) for gx, f in pairs if 4 * (b * k // f + k * m // (f * gx)) <= memory]

    assert list(legal_sizes()) == fitting
    assert not figures(3, 8).is_legal


def test_a_bar_is_as_long_as_the_logarithm_of_its_number() -> None:
    numbers = {"none": 0.0, "least": 1e-4, "middle": 1e-2, "most": 1.0, "beyond": 50.0}
    bars = [s.w for s in bars_scene("differences", numbers, 1e-4, 1.0).shapes if s.kind == "bar"]

    assert bars == pytest.approx([0.0, 0.0, LONGEST_PX / 2, LONGEST_PX, LONGEST_PX])
