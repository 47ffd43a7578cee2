"""An e-graph is stepped through like everything else: by selecting ids."""

from __future__ import annotations

import re
from itertools import combinations

import pytest

from prism_explore.events.journal import Journal
from prism_explore.events.kinds import CandidateInstantiated, ExplorationStarted
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.text import show
from prism_explore.verify.egraph.frames import Growth, make_frames
from prism_explore.verify.egraph.limits import Proved
from prism_explore.verify.normal_form.equalities import equalities
from prism_explore.widgets.formulas.mathml import to_mathml
from prism_explore.widgets.jupyter.pictures import picture_scene
from prism_explore.widgets.panels.context import Context, Folds, Memo, SearchInfo, ViewState
from prism_explore.widgets.panels.inspector import inspect
from prism_explore.widgets.panels.panels import sections
from prism_explore.widgets.refs import FrameRef
from prism_explore.widgets.views.egraph_frames import frame_scene, lemma_growth
from prism_explore.widgets.views.egraph_view import EGraphView
from tests.verify.corpus import CASES, PROGRAMS
from tests.widgets.pictures import check, check_texts_fit, overlap, rect

(CASE,) = [c for c in CASES if c.name == "rms_fused"]
PROGRAM: TensorProgram = PROGRAMS[CASE.program]
EVENTS = (
    ExplorationStarted(show(PROGRAM), "cpu", 0, {}, ()),
    CandidateInstantiated("f1.c1", "f1", show(CASE.sgraph), (), ()),
)
FOUND = equalities(PROGRAM, CASE.sgraph)


SEARCH = SearchInfo(PROGRAM, "cpu")


def folds() -> Folds:
    journal = Journal()
    return Folds(journal.append(event) for event in EVENTS)


def context() -> Context:
    return Context.of(SEARCH, folds(), ViewState(), Memo())


@pytest.fixture(scope="module")
def growth() -> Growth:
    found = lemma_growth(FOUND, "k2.b5")
    assert found is not None
    return found


def test_every_frame_is_drawn_with_its_classes_nodes_and_arguments(growth: Growth) -> None:
    for frame in growth.frames:
        scene = frame_scene(FrameRef("f1.c1", "k2.b5", frame.number), growth)
        check(scene)
        check_texts_fit(scene)
        shapes = {s.id: s for s in scene.shapes}
        arguments = sum(len(n.children) for c in frame.classes for n in c.nodes)

        assert {n.id for c in frame.classes for n in c.nodes} <= set(shapes)
        assert all(shapes[n.id].parent == c.id for c in frame.classes for n in c.nodes)
        assert arguments == sum(e.kind == "edge-member" for e in scene.edges)


def test_nothing_moves_from_frame_to_frame_and_classes_do_not_overlap(growth: Growth) -> None:
    corners: dict[str, set[tuple[float, float]]] = {}
    for frame in growth.frames:
        scene = frame_scene(FrameRef("f1.c1", "k2.b5", frame.number), growth)
        classes = [s for s in scene.shapes if s.role == "frame"]
        for s in classes:
            corners.setdefault(s.id, set()).add((s.x, s.y))
        for one, other in combinations(classes, 2):
            assert not overlap(rect(one), rect(other)), (one.id, other.id)

    assert len(growth.frames) > 2
    assert all(len(places) == 1 for places in corners.values())


def test_a_class_is_below_the_classes_of_its_first_node(growth: Growth) -> None:
    scene = frame_scene(FrameRef("f1.c1", "k2.b5", 0), growth)
    y = {s.id: s.y for s in scene.shapes}

    for c in growth.frames[0].classes:
        assert all(y[child] > y[c.id] for child in c.nodes[0].children)


def test_merged_classes_and_the_nodes_of_a_rule_are_marked_in_words_and_outline(growth: Growth) -> None:
    frame = next(f for f in growth.frames if f.merged)
    survivor = frame.merged[0].survivor
    shapes = {
        s.id: s
        for s in frame_scene(FrameRef("f1.c1", "k2.b5", frame.number), growth, view=EGraphView(rule=frame.axiom)).shapes
    }

    assert "eclass-merged" == shapes[survivor].kind
    assert f"+ {frame.merged[0].absorbed[0]}" in shapes[survivor].texts[0].text
    marked = {s.id for s in shapes.values() if s.kind == "enode-marked"}
    assert {n.id for c in frame.classes if c.id == survivor for n in c.nodes} & marked
    assert not {n.id for c in frame.classes if c.id not in {m.survivor for m in frame.merged} for n in c.nodes} & marked


def test_new_nodes_and_classes_say_so() -> None:
    one = {"iteration": 0, "axiom": "", "matches": 0, "nodes": [("At", ['"x"'], [], "a"), ("At", ['"y"'], [], "b")]}
    two = {**one, "iteration": 1, "axiom": "mul commutes", "matches": 1}
    two["nodes"] = [*one["nodes"], ("Mul", [], ["a", "b"], "c")]
    steps = [{**one, "roots": ["a", "b"]}, {**two, "roots": ["a", "b"]}]
    scene = frame_scene(FrameRef("f1.c1", "k1", 1), Growth("k1", "", "", Proved(), make_frames(steps)))
    texts = {s.id: s.texts[0].text for s in scene.shapes if s.texts}

    assert ("× new", "e3 new") == (texts["n3"], texts["e3"])
    assert "enode-new" == next(s.kind for s in scene.shapes if s.id == "n3")
    assert "x" == texts["n1"]


def test_the_neighbourhood_of_a_class_is_drawn_when_there_are_too_many_nodes() -> None:
    rows = [("At", ['"x"'], [], "0"), *(("Inv", [], [str(n)], str(n + 1)) for n in range(300))]
    step = {"iteration": 0, "axiom": "", "matches": 0, "nodes": rows, "roots": ["0", "300"]}
    growth = Growth("k1", "", "", Proved(), make_frames([step]))
    scene = frame_scene(FrameRef("f1.c1", "k1", 0, "e200"), growth, view=EGraphView(nodes=11))
    more = frame_scene(FrameRef("f1.c1", "k1", 0, "e200"), growth, view=EGraphView(nodes=11).changed({"more": True}))

    assert {f"e{n}" for n in range(195, 206)} == {s.id for s in scene.shapes if s.role == "frame"}
    assert "11 of 301 e-nodes are drawn: those near e200." == scene.omitted
    assert "22 of 301" in more.omitted
    assert "eclass-focus" == next(s.kind for s in scene.shapes if s.id == "e200")


def test_a_class_can_be_selected_and_says_what_merged_it_and_where_it_went(growth: Growth) -> None:
    frame = next(f for f in growth.frames if f.merged)
    merge = frame.merged[0]
    shown = inspect(f"f1.c1/k2.b5@{frame.number}.{merge.survivor}", context())
    gone = inspect(f"f1.c1/k2.b5@{frame.number}.{merge.absorbed[0]}", context())

    assert shown is not None
    assert gone is not None
    assert (f"merged in frame {frame.number}", f"{merge.absorbed[0]}, by “{merge.axiom}”") in shown.details or (
        merge.is_congruence
    )
    assert f"was merged into {merge.survivor}" in gone.description[0]
    assert all(inspect(link.ref, context()) is not None for link in (*shown.links, *gone.links))
    assert inspect("f1.c1/k2.b5@0.e999", context()) is None


def test_a_frame_shows_its_classes_and_what_happened(growth: Growth) -> None:
    n = next(f.number for f in growth.frames if f.merged)
    frame = growth.frames[n]
    scene = frame_scene(FrameRef("f1.c1", "k2.b5", n), growth)
    shapes = {s.id: s for s in scene.shapes}

    assert {c.id for c in frame.classes} <= set(shapes)
    assert frame.axiom in scene.desc
    assert {"eclass-shared"} == {shapes[r].kind for r in frame.roots}
    said = [t.text for s in scene.shapes for t in s.texts]
    assert any(frame.merged[0].survivor in t and "merges with" in t for t in said)


def test_a_frame_behind_the_last_is_the_last(growth: Growth) -> None:
    last = len(growth.frames) - 1

    assert f"frame {last} of {last}" in frame_scene(FrameRef("f1.c1", "k2.b5", 99), growth).title


def test_a_large_e_graph_is_cut_off_visibly_and_keeps_its_sides() -> None:
    nodes = [("At", [f'"x{n:03}"'], [], str(n)) for n in range(200)]
    frames = make_frames([{"iteration": 0, "axiom": "", "matches": 0, "nodes": nodes, "roots": ["198", "199"]}])
    scene = frame_scene(FrameRef("f1.c1", "k1", 0), Growth("k1", "", "", Proved(), frames))

    assert "150 of 200 e-nodes are drawn: first those below both sides." == scene.omitted
    assert set(frames[0].roots) <= {s.id for s in scene.shapes}


def test_the_inspector_tells_a_frame_in_words(growth: Growth) -> None:
    last = len(growth.frames) - 1
    found = inspect(f"f1.c1/k2.b5@{last}", context())
    assert found is not None

    assert f"frame {last} of {last}" == found.status
    assert "proved" == found.kind
    assert f"f1.c1/k2.b5@{last - 1}" in {link.ref for link in found.links}
    assert any(label == "merge" and re.search(r"e\d+ merges with e\d+ by ", text) for label, text in found.details)
    assert (found.code, found.code_math) == (growth.value, to_mathml(growth.value))
    assert found.code_math


def test_selecting_a_frame_shows_it_among_the_e_classes() -> None:
    shown = sections(SEARCH, folds(), ViewState("f1.c1/k2.b5@2", "f1.c1"))
    before = sections(SEARCH, folds(), ViewState("f1.c1/k2.b5", "f1.c1"))

    assert shown.eclasses.scene is not None and "frame 2 of" in shown.eclasses.caption
    assert shown.inspector is not None and shown.inspector.status.startswith("frame 2 of")
    assert before.inspector is not None
    assert "f1.c1/k2.b5@0" in {link.ref for link in before.inspector.links}


def test_a_frame_is_a_picture_by_name() -> None:
    scene = picture_scene(EVENTS, "f1.c1/goal@0")

    assert "e-graph of f1.c1/goal, the only frame" == scene.title
    assert "Both sides have the same normal form" in scene.desc


def test_a_tensor_that_is_not_there_has_no_frames() -> None:
    assert lemma_growth(FOUND, "k9") is None
    assert inspect("f1.c1/k9@0", context()) is None
    assert inspect("f7.c1/k2@0", context()) is None
