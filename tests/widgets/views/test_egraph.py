from __future__ import annotations

from dataclasses import replace

from prism_explore.events.kinds import VerdictReached
from prism_explore.widgets.views.egraph import egraph_scene
from tests.widgets.pictures import check, check_nothing_overlaps, check_texts_fit
from tests.widgets.recordings import story

VERDICT = next(e for e in story() if isinstance(e, VerdictReached))


def test_a_class_stands_between_the_programs_tensors_and_the_candidates() -> None:
    scene = egraph_scene(VERDICT, labels={"k2.b3": "accum(%2)"})
    check(scene)
    check_nothing_overlaps(scene)
    check_texts_fit(scene)
    shapes = {s.id: s for s in scene.shapes}

    left, row, right = shapes["c3/program.%4"], shapes["c3"], shapes["c3/k2.b5"]
    assert left.x + left.w < row.x and row.x + row.w < right.x
    assert ("f1.c1/program.%4", "f1.c1/c3", "f1.c1/k2.b5") == (left.ref, row.ref, right.ref)
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
