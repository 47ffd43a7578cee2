"""The e-class panel in its three modes."""

from __future__ import annotations

from prism_explore.events.journal import Journal
from prism_explore.events.kinds import CandidateInstantiated, ExplorationStarted, FamilyCompleted, VerdictReached
from prism_explore.ir.text import show
from prism_explore.verify.normal_form.equalities import equalities
from prism_explore.widgets.panels.context import Context, Folds, Memo, SearchInfo, ViewState
from prism_explore.widgets.panels.eclasses import eclasses_panel
from prism_explore.widgets.panels.inspector import inspect
from prism_explore.widgets.panels.sections import EClasses
from prism_explore.widgets.views.egraph_view import EGraphView
from tests.verify.corpus import CASES, PROGRAMS

(CASE,) = [c for c in CASES if c.name == "rms_fused"]
PROGRAM = PROGRAMS[CASE.program]
CLASSES = tuple((c.id, c.term, c.members) for c in equalities(PROGRAM, CASE.sgraph).classes)
TEXT = show(CASE.sgraph)
JOURNAL = Journal(clock=lambda: 0.0)
FOLDS = Folds(
    JOURNAL.append(event)
    for event in (
        ExplorationStarted(show(PROGRAM), "cpu", 0, {}, ()),
        FamilyCompleted("f1", "n1", TEXT),
        CandidateInstantiated("f1.c1", "f1", TEXT, (), ()),
        VerdictReached("f1.c1", "proved", "normal form", "equal for all sizes", (), CLASSES),
    )
)
MEMO = Memo()


def context(selection: str = "f1.c1", view: EGraphView | None = None) -> Context:
    state = ViewState(selection, "f1.c1", egraph=view or EGraphView())
    return Context.of(SearchInfo(PROGRAM, "cpu"), FOLDS, state, MEMO)


def panel(selection: str = "f1.c1", view: EGraphView | None = None) -> EClasses:
    return eclasses_panel(context(selection, view))


def test_by_default_the_classes_are_shown_with_the_way_to_the_other_modes() -> None:
    found = panel()

    assert "classes" == found.mode
    assert ["classes", "egraph", "path"] == [m.name for m in found.modes]
    assert "f1.c1/program.%4@0" == found.frame_ref
    assert "f1.c1/k2.b5@0" == panel("f1.c1/k2.b5").frame_ref


def test_a_frame_has_a_slider_and_the_axioms_so_far() -> None:
    first, later = panel("f1.c1/k2.b5@0"), panel("f1.c1/k2.b5@2.e3")
    assert first.slider is not None
    assert later.slider is not None

    assert ("egraph", 0, ()) == (first.mode, first.slider.number, first.rules)
    assert ("f1.c1/k2.b5@", ".e3", 2) == (later.slider.lemma, later.slider.focus, later.slider.number)
    assert later.slider.last >= 2
    assert all("matches" in rule.tip and "merges" in rule.tip for rule in later.rules)
    assert later.rules
    assert {"f1.c1/goal@0", "f1.c1/k2.b5@0", "f1.c1/program.%4@0"} <= {c.name for c in later.statements}
    rule = later.rules[0].name
    assert rule == panel("f1.c1/k2.b5@2", EGraphView(rule=rule)).rule


def test_inputs_in_the_e_graph_select_tensors_of_the_program() -> None:
    scene = panel("f1.c1/k2.b5@0").scene
    assert scene is not None
    refs = {s.ref for s in scene.shapes if s.role == "box" and s.ref}

    assert refs
    assert refs <= {"f1.c1/program.%0", "f1.c1/program.%1", "f1.c1/program.%2"}
    assert all(inspect(ref, context()) is not None for ref in scene.refs)


def test_the_path_leads_from_the_programs_result_to_the_candidates() -> None:
    found = panel(view=EGraphView(path=True)).path
    assert found is not None
    texts = [f"{s.before}{s.changed}{s.after}" for s in found.steps]

    assert found.start.startswith("program.%")
    assert found.end.startswith("k")
    assert len(found.steps) > 2
    assert {found.start, found.end} <= {t.name for t in found.tensors}
    assert all(a != b or s.changed for a, b, s in zip(texts, texts[1:], found.steps[1:], strict=False))
    assert any(s.changed and s.why.startswith("by ") for s in found.steps)
    assert all(inspect(s.ref, context()) is not None for s in found.steps)
    assert "no egglog run has replayed" in found.note


def test_any_two_members_of_a_class_are_the_ends_of_a_path() -> None:
    first = panel(view=EGraphView(path=True)).path
    assert first is not None
    view = EGraphView(path=True).changed({"start": first.end}).changed({"end": first.start}).changed({"step": 99})
    back = panel(view=view).path
    assert back is not None

    assert (first.end, first.start) == (back.start, back.end)
    assert len(back.steps) - 1 == back.step


def test_messages_that_are_not_understood_change_nothing() -> None:
    view = EGraphView().changed({"rule": "mul commutes"}).changed({"mode": "path"})

    assert ("mul commutes", True) == (view.rule, view.path)
    assert "" == view.changed({"rule": "mul commutes"}).rule
    for wrong in ({"mode": "pie"}, {"step": -1}, {"step": "x"}, {"more": 1}, {"start": 4}, {}):
        assert view == view.changed(wrong)
