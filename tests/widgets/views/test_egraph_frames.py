"""An e-graph is stepped through like everything else: by selecting ids."""

from __future__ import annotations

import re

import pytest

from prism_explore.events.journal import Journal
from prism_explore.events.kinds import CandidateInstantiated, ExplorationStarted
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.text import show
from prism_explore.verify.egraph.frames import Growth, make_frames
from prism_explore.verify.egraph.limits import Proved
from prism_explore.verify.normal_form.equalities import equalities
from prism_explore.widgets.jupyter.pictures import picture_scene
from prism_explore.widgets.panels.context import Context, Folds, Memo, SearchInfo, ViewState
from prism_explore.widgets.panels.inspector import inspect
from prism_explore.widgets.panels.panels import sections
from prism_explore.widgets.refs import FrameRef
from prism_explore.widgets.views.egraph_frames import frame_scene, lemma_growth
from tests.verify.corpus import CASES, PROGRAMS
from tests.widgets.pictures import check, check_nothing_overlaps, check_texts_fit

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


def test_every_frame_is_drawn_with_the_ways_to_its_neighbours(growth: Growth) -> None:
    last = len(growth.frames) - 1
    for n in range(last + 1):
        scene = frame_scene(FrameRef("f1.c1", "k2.b5", n), growth)
        check(scene)
        check_nothing_overlaps(scene)
        check_texts_fit(scene)
        ways = {s.ref for s in scene.shapes if s.id.startswith("to")}

        assert {f"f1.c1/k2.b5@{m}" for m in (n - 1, n + 1) if 0 <= m <= last} == ways


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

    assert "60 of 200 classes are drawn." == scene.omitted
    assert set(frames[0].roots) <= {s.id for s in scene.shapes}


def test_the_inspector_tells_a_frame_in_words(growth: Growth) -> None:
    last = len(growth.frames) - 1
    found = inspect(f"f1.c1/k2.b5@{last}", context())
    assert found is not None

    assert f"frame {last} of {last}" == found.status
    assert "proved" == found.kind
    assert f"f1.c1/k2.b5@{last - 1}" in {link.ref for link in found.links}
    assert re.search(r"e\d+ merges with e\d+ by ", found.code)


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
