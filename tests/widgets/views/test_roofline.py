from __future__ import annotations

import pytest

from prism_explore.targets import target
from prism_explore.widgets.drawing.charts import LEFT_PX
from prism_explore.widgets.scene import Scene
from prism_explore.widgets.views.roofline import RooflinePoint, Roofs, rate_text, roofline_scene, roofs_of
from tests.widgets.pictures import check

ROOFS = Roofs("box", 100e9, 1e12, True)
FAST = RooflinePoint("u1", 2.0, 150e9, "u1", "u1", "gx=4")
SLOW = RooflinePoint("u2", 40.0, 500e9, "u2", "u2")
FAILED = RooflinePoint("u3", 8.0, None, "u3", "", "tune.crash: it crashed", "trial-failed", "cross")


def at(scene: Scene, ident: str) -> tuple[float, float]:
    shape = next(s for s in scene.shapes if s.id == ident)
    return shape.x + shape.w / 2, shape.y + shape.h / 2


def test_the_roofs_meet_at_the_ridge_and_points_below_them_are_drawn_below() -> None:
    scene = roofline_scene(ROOFS, (FAST, SLOW, FAILED))
    check(scene)
    memory, compute = (next(e for e in scene.edges if e.id == f"roof-{n}").points for n in ("memory", "compute"))

    assert ROOFS.ridge == 10
    assert memory[-1] == compute[0]
    assert memory[0][1] > memory[-1][1]
    assert compute[0][1] == compute[-1][1]
    x, y = at(scene, "u2")
    assert x > memory[-1][0]
    assert y > compute[0][1]


def test_equal_ratios_are_equal_steps_on_both_axes() -> None:
    points = [RooflinePoint(f"u{n}", 4.0**n, 1e9 * 10**n) for n in range(3)]
    (x0, y0), (x1, y1), (x2, y2) = (at(roofline_scene(ROOFS, points), p.id) for p in points)

    assert x1 - x0 == pytest.approx(x2 - x1)
    assert y0 - y1 == pytest.approx(y1 - y2)


def test_a_point_without_a_time_is_a_cross_on_the_axis_with_its_reason() -> None:
    scene = roofline_scene(ROOFS, (FAST, FAILED))
    axis = next(e for e in scene.edges if e.id == "axis-x").points[0][1]
    cross = next(s for s in scene.shapes if s.id == "u3")

    assert ("cross", "u3") == (cross.outline, cross.ref)
    assert at(scene, "u3")[1] == axis
    assert "tune.crash: it crashed\n8 flop/byte modelled; no time" == cross.tip


def test_the_share_is_that_of_the_lower_roof() -> None:
    tips = {s.id: s.tip for s in roofline_scene(ROOFS, (FAST, SLOW)).shapes}

    assert "gx=4\n2 flop/byte modelled, 150 Gflop/s measured: 75% of the memory roof" == tips["u1"]
    assert "40 flop/byte modelled, 500 Gflop/s measured: 50% of the compute roof" in tips["u2"]


def test_without_rates_the_points_are_drawn_and_the_missing_roofs_are_named() -> None:
    scene = roofline_scene(None, (FAST,))

    assert not [e for e in scene.edges if e.kind == "roof"]
    assert "The rates of the machine are not known" in scene.desc
    assert "roof" not in next(s for s in scene.shapes if s.id == "u1").tip


def test_labels_do_not_cover_one_another() -> None:
    points = [RooflinePoint(f"u{n}", 2.0, 1e11, f"u{n}", f"trial {n}") for n in range(8)]
    labels = [s for s in roofline_scene(ROOFS, points).shapes if s.id.endswith("#label") and s.ref]

    assert labels
    for n, a in enumerate(labels):
        assert a.x >= LEFT_PX
        for b in labels[:n]:
            assert a.x + a.w <= b.x or b.x + b.w <= a.x or a.y + a.h <= b.y or b.y + b.h <= a.y


def test_points_without_an_intensity_are_counted_and_nothing_to_draw_is_a_sentence() -> None:
    nothing = RooflinePoint("u9", 0.0, 1e9)

    assert "1 of 2 points have no modelled intensity." == roofline_scene(ROOFS, (FAST, nothing)).omitted
    assert "no kernel with a modelled intensity yet" == roofline_scene(ROOFS, (nothing,)).desc


def test_a_datasheet_is_named_and_rates_have_units() -> None:
    scene = roofline_scene(roofs_of(target("h100"), "bf16"), (SLOW,))

    assert any("datasheet of h100" in t.text for s in scene.shapes for t in s.texts)
    assert ("1 Gflop/s", "1.5 Tflop/s", "12 flop/s") == (rate_text(1e9), rate_text(1.5e12), rate_text(12.0))
