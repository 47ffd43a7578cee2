from __future__ import annotations

from dataclasses import replace

import pytest

from prism_explore.widgets.views.saturation import saturation_scene
from tests.widgets.pictures import check
from tests.widgets.recordings import saturation


def test_saturation_has_a_mark_per_iteration_higher_for_more_nodes() -> None:
    scene = saturation_scene(saturation(6))
    check(scene)
    marks = [s for s in scene.shapes if s.role == "mark"]

    assert [f"step{i}" for i in range(1, 7)] == [s.id for s in marks]
    assert sorted(s.x for s in marks) == [s.x for s in marks]
    assert sorted((s.y for s in marks), reverse=True) == [s.y for s in marks]
    assert "iteration 2: 180 nodes in 50 classes\n  38 × sum-mul\n  14 × assoc" == marks[1].tip


def test_several_runs_are_a_row_each_as_long_as_their_graphs_are_large() -> None:
    other = [replace(s, subject="f2.c1") for s in saturation(3)]
    scene = saturation_scene([*saturation(), *other])
    check(scene)
    bars = [s for s in scene.shapes if s.role == "block"]

    assert ["f1.c1/k2.b5", "f2.c1"] == [b.id for b in bars]
    assert 2580 / 380 == pytest.approx(bars[0].w / bars[1].w)
    assert "3 iterations, 380 nodes, 70 classes, 156 matches" in [t.text for s in scene.shapes for t in s.texts]
    assert "saturation of f2.c1" == saturation_scene(other).title
    assert "no e-graph has been run yet" == saturation_scene([]).desc


def test_a_second_run_of_one_subject_replaces_the_first() -> None:
    scene = saturation_scene([*saturation(5), *saturation(3)])

    assert 3 == len([s for s in scene.shapes if s.role == "mark"])


def test_more_runs_than_fit_are_counted() -> None:
    scene = saturation_scene([replace(s, subject=f"f{n}") for n in range(90) for s in saturation(1)])
    check(scene)

    assert "60 of 90 runs are drawn." == scene.omitted
    assert scene.omitted in [t.text for s in scene.shapes for t in s.texts]
