from __future__ import annotations

import time
from dataclasses import replace

import pytest

from prism_explore.events.journal import Journal
from prism_explore.events.kinds import CandidateInstantiated, FamilyCompleted, NodeExpanded, ParametersProposed
from prism_explore.targets import GPUS
from prism_explore.widgets.panels.context import Context, Folds, Memo, SearchInfo, ViewState
from prism_explore.widgets.panels.graph import graph_panel
from prism_explore.widgets.panels.graph_choices import NO_CHOICES, GraphChoices
from prism_explore.widgets.panels.panels import sections
from prism_explore.widgets.panels.sections import Sections
from tests.widgets.fakes import program
from tests.widgets.pictures import check, check_nothing_overlaps
from tests.widgets.recordings import STARTED, story

INFO = SearchInfo(program(), "cpu", "b=8", shapes=(("b", 8),), machine=GPUS["a100"])
TWO = """sgraph
  x = input f32[b, 4096]
  w = input f32[4096, 4096]
  %2 = custom(x) grid[x=gx]
    %0 = load(0, imap=[0])
    %1 = square(%0)
    %2 = store(%1, omap=[0])
  %3 = custom(%2, w) grid[x=hx, y=hy] loop[i=f]
    %0 = load(0, imap=[0, -], fmap=1)
    %1 = load(1, imap=[-, 1], fmap=0)
    %2 = matmul(%0, %1)
    %3 = accum(%2)
    %4 = store(%3, omap=[0, 1])
  return %3"""


def shown(events: list[object], choices: GraphChoices = NO_CHOICES, subject: str = "f1.c1") -> Sections:
    journal = Journal(clock=lambda: 0.0)
    folds = Folds(journal.append(e) for e in events)  # type: ignore[arg-type]
    return sections(INFO, folds, ViewState(subject, subject, choices), memo=Memo())


def search(graph: str) -> list[object]:
    return [
        STARTED,
        NodeExpanded("n0", "", "", "kernel"),
        FamilyCompleted("f1", "n0", graph),
        CandidateInstantiated("f1.c1", "f1", graph, (), ()),
    ]


def test_one_kernel_collapses_and_the_other_stays() -> None:
    choices = NO_CHOICES.after({"kernels": ["f1.c1/k2"], "expanded": False})
    graph = shown(search(TWO), choices).graph
    assert graph.scene is not None
    boxes = {s.id: s.kind for s in graph.scene.shapes if s.role == "box"}

    assert [(k.ref, k.expanded) for k in graph.kernels] == [("f1.c1/k2", False), ("f1.c1/k3", True)]
    assert boxes["f1.c1/k2"] == "custom"
    assert "f1.c1/k3.b2" in boxes
    assert "f1.c1/k2.b1" not in boxes
    check(graph.scene)


def test_an_entered_kernel_is_shown_with_its_operands_and_its_result_alone() -> None:
    graph = shown(search(TWO), NO_CHOICES.after({"entered": "f1.c1/k3"})).graph
    assert graph.scene is not None
    check(graph.scene)
    check_nothing_overlaps(graph.scene)
    kernel_level = {s.id for s in graph.scene.shapes if s.role == "box" and ".b" not in s.id}

    assert kernel_level == {"f1.c1/k1", "f1.c1/k2", "f1.c1/k3"}
    assert [c.label for c in graph.trail] == ["program rmsnorm_linear", "f1.c1", "kernel %3"]
    assert [c.shows for c in graph.trail] == ["program", "graph", ""]
    assert not any(s.id.startswith("f1.c1/k2.b") for s in graph.scene.shapes)


def test_the_kernel_that_was_entered_is_left_with_its_graph() -> None:
    choices = NO_CHOICES.after({"entered": "f1.c1/k3"})

    assert shown(search(TWO), choices, "f1").graph.entered == ""


def test_the_program_can_be_shown_in_place_of_a_candidate() -> None:
    graph = shown(search(TWO), NO_CHOICES.after({"program": True})).graph

    assert graph.subject == "program"
    assert [(c.label, c.shows) for c in graph.trail] == [("program rmsnorm_linear", ""), ("f1.c1", "graph")]


@pytest.mark.parametrize(
    "message", [{}, {"kernels": "all", "expanded": True}, {"kernels": [3], "expanded": True}, {"entered": 3}]
)
def test_other_messages_change_no_choice(message: dict[str, object]) -> None:
    assert NO_CHOICES == NO_CHOICES.after(message)


def test_expanding_a_kernel_keeps_the_order_of_all_boxes() -> None:
    """Boxes that stand above or left of one another still do."""
    choices = NO_CHOICES.after({"kernels": ["f1.c1/k2", "f1.c1/k3"], "expanded": False})
    scenes = [
        shown(search(TWO), c).graph.scene for c in (choices, choices.after({"kernels": ["f1.c1/k2"], "expanded": True}))
    ]
    before, after = ({s.id: s for s in scene.shapes if s.role == "box"} for scene in scenes if scene is not None)
    kept = [i for i in before if i in after]
    assert {"f1.c1/k0", "f1.c1/k1", "f1.c1/k3"} <= set(kept)
    for a in kept:
        for b in kept:
            if before[a].y + before[a].h < before[b].y:
                assert after[a].y < after[b].y, (a, b)


def chain(kernels: int, operators: int) -> str:
    """A graph of custom kernels one after another."""
    lines = ["sgraph", "  x = input f32[b, 4096]"]
    for k in range(1, kernels + 1):
        lines.append(f"  %{k} = custom({'x' if k == 1 else f'%{k - 1}'}) grid[x=g{k}]")
        lines.append("    %0 = load(0, imap=[0])")
        lines += [f"    %{j} = exp(%{j - 1})" for j in range(1, operators)]
        lines.append(f"    %{operators} = store(%{operators - 1}, omap=[0])")
    return "\n".join([*lines, f"  return %{kernels}"])


def test_a_large_graph_starts_collapsed_and_each_further_layout_takes_less_than_100_ms() -> None:
    events = search(chain(20, 15))
    journal = Journal(clock=lambda: 0.0)
    folds = Folds(journal.append(e) for e in events)  # type: ignore[arg-type]
    memo, view = Memo(), ViewState("f1.c1", "f1.c1")
    first = graph_panel(Context.of(INFO, folds, view, memo))
    assert not any(k.expanded for k in first.kernels)
    took: list[float] = []
    for k in first.kernels[:4]:
        view = replace(view, graph=view.graph.after({"kernels": [k.ref], "expanded": True}))
        start = time.process_time()
        scene = graph_panel(Context.of(INFO, folds, view, memo)).scene
        took.append(time.process_time() - start)
        assert scene is not None
        assert any(s.id == f"{k.ref}.b1" for s in scene.shapes)
    assert min(took) < 0.1, took


def test_sizes_come_from_the_fastest_trial_else_from_the_model() -> None:
    tuned = shown(list(story()), subject="f1.c1").sizes
    modelled = shown(search(TWO)).sizes

    assert "the fastest trial" in tuned.origin
    assert {s.symbol for s in tuned.sliders} == {"gx", "f", "b"}
    assert "least modelled time" in modelled.origin
    assert all(s.value in s.values for s in (*tuned.sliders, *modelled.sliders))


def test_a_proposed_trial_is_no_tuned_choice() -> None:
    proposed = ParametersProposed("u1", "f1.c1", (("gx", 2), ("hx", 1), ("hy", 1), ("f", 1)), 1e-3)

    assert "not tuned yet" in shown([*search(TWO), proposed]).sizes.origin


def test_without_the_figures_of_the_machine_only_shapes_and_regions_are_shown() -> None:
    journal = Journal(clock=lambda: 0.0)
    folds = Folds(journal.append(e) for e in search(TWO))  # type: ignore[arg-type]
    found = sections(replace(INFO, machine=None), folds, ViewState("f1.c1", "f1.c1")).sizes

    assert found.roofline is None
    assert found.figures == found.limits == ()
    assert found.shapes
    assert [k.ref for k in found.kernels] == ["f1.c1/k2", "f1.c1/k3"]
    assert "not known" in found.caption


def test_measured_trials_of_the_candidate_are_in_the_roofline_plot() -> None:
    sizes = shown(list(story()), subject="f1.c1").sizes
    assert sizes.roofline is not None
    marks = {s.id for s in sizes.roofline.scene.shapes if s.role == "mark"}

    assert marks >= {"u1", "u2"}
    assert "u5" not in marks  # it failed
