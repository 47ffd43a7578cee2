from __future__ import annotations

from dataclasses import replace

import pytest

from prism_explore.events.kinds import VerdictReached
from prism_explore.widgets.views.egraph import egraph_scene
from prism_explore.widgets.views.saturation import saturation_scene
from tests.widgets.pictures import check, check_nothing_overlaps, check_texts_fit
from tests.widgets.recordings import saturation, story

VERDICT = next(e for e in story() if isinstance(e, VerdictReached))


def test_a_class_stands_between_the_programs_tensors_and_the_candidates() -> None:
    scene = egraph_scene(VERDICT, labels={"k2.b3": "accum(%2)"})
    check(scene)
    check_nothing_overlaps(scene)
    check_texts_fit(scene)
    shapes = {s.id: s for s in scene.shapes}

    left, row, right = shapes["c3/program.%4"], shapes["c3"], shapes["c3/k2.b5"]
    assert left.x + left.w < row.x and row.x + row.w < right.x
    assert ("program.%4", "c3", "f1.c1/k2.b5") == (left.ref, row.ref, right.ref)
    assert "k2.b3 = accum(%2)" == shapes["c2/k2.b3"].texts[0].text
    assert {"c1": "eclass-shared", "c2": "eclass", "c3": "eclass-shared"} == {
        k: shapes[k].kind for k in ("c1", "c2", "c3")
    }


def test_every_member_is_joined_to_its_class() -> None:
    scene = egraph_scene(VERDICT)

    expected = {(f"{c}/{m}", c) for c, _, members in VERDICT.classes for m in members}
    assert expected == {(e.source, e.target) for e in scene.edges}


def test_too_many_classes_are_cut_off_visibly_and_shared_ones_stay() -> None:
    alone = tuple((f"c{i}", f"term {i}", (f"k2.b{i}", f"k3.b{i}")) for i in range(10, 900))
    verdict = replace(VERDICT, classes=(*alone, *VERDICT.classes))
    scene = egraph_scene(verdict)
    check(scene)
    boxes = [s for s in scene.shapes if s.role == "box"]

    total = sum(1 + len(c[2]) for c in verdict.classes)
    assert len(boxes) <= 150
    assert {"c1", "c3"} <= {s.id for s in boxes}
    assert scene.omitted.startswith(f"{len(boxes)} of {total:,} boxes are drawn")
    assert scene.omitted in [t.text for s in scene.shapes for t in s.texts]


def test_long_terms_are_broken_and_then_cut_with_the_whole_in_the_tip() -> None:
    term = " + ".join(f"sum(k{i}: x[b,k{i}] * w[k{i},n])" for i in range(60)) + "名" * 300
    scene = egraph_scene(replace(VERDICT, classes=(("c1", term, ("program.%1", "k1")),)))
    check(scene)
    check_texts_fit(scene)
    row = next(s for s in scene.shapes if s.id == "c1")

    assert 5 == len(row.texts)
    assert row.texts[-1].text.endswith("…")
    assert term in row.tip


def test_a_verdict_without_classes_says_so() -> None:
    scene = egraph_scene(replace(VERDICT, classes=()))

    assert "the verdict on f1.c1 has no classes" in [t.text for s in scene.shapes for t in s.texts]


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
    events = [*saturation(), *other]
    scene = saturation_scene(events)
    check(scene)
    bars = [s for s in scene.shapes if s.role == "block"]

    assert ["f1.c1/k2.b5", "f2.c1"] == [b.id for b in bars]
    assert 2580 / 380 == pytest.approx(bars[0].w / bars[1].w)
    assert "3 iterations, 380 nodes, 70 classes, 156 matches" in [t.text for s in scene.shapes for t in s.texts]
    assert "saturation of f2.c1" == saturation_scene(events, subject="f2.c1").title
    assert "no e-graph has been run yet" == saturation_scene([]).desc == saturation_scene(events, subject="f9").desc


def test_a_second_run_of_one_subject_replaces_the_first() -> None:
    scene = saturation_scene([*saturation(5), *saturation(3)])

    assert 3 == len([s for s in scene.shapes if s.role == "mark"])


def test_more_runs_than_fit_are_counted() -> None:
    scene = saturation_scene([replace(s, subject=f"f{n}") for n in range(90) for s in saturation(1)])
    check(scene)

    assert "60 of 90 runs are drawn." == scene.omitted
    assert scene.omitted in [t.text for s in scene.shapes for t in s.texts]
