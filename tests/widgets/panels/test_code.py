from __future__ import annotations

import threading
from dataclasses import replace

from prism_explore.events.journal import Journal
from prism_explore.events.kinds import CandidateInstantiated, FamilyCompleted, KernelGenerated, NodeExpanded
from prism_explore.widgets.panels.background import Background
from prism_explore.widgets.panels.code import code_panel
from prism_explore.widgets.panels.code_view import DEFAULT_CODE, CodeView
from prism_explore.widgets.panels.context import Context, Folds, Memo, ViewState
from prism_explore.widgets.panels.sections import Code, CodeTab
from tests.widgets.panels.test_graph import INFO, TWO
from tests.widgets.recordings import R1, STARTED, story


def shown(
    events: list[object], code: CodeView = DEFAULT_CODE, subject: str = "f1.c1", interactive: bool = True
) -> Code:
    journal = Journal(clock=lambda: 0.0)
    folds = Folds(journal.append(e) for e in events)  # type: ignore[arg-type]
    view = ViewState(subject, subject, code=code, interactive=interactive)
    return code_panel(Context.of(INFO, folds, view, Memo()))


def tab(code: Code, name: str) -> CodeTab:
    return next(t for t in code.tabs if t.name == name)


def search() -> list[object]:
    return [
        STARTED,
        NodeExpanded("n0", "", "", "kernel"),
        FamilyCompleted("f1", "n0", R1),
        CandidateInstantiated("f1.c1", "f1", R1, (), ()),
        FamilyCompleted("f2", "n0", TWO),
        CandidateInstantiated("f2.c1", "f2", TWO, (), ()),
    ]


def test_every_tab_has_a_text_or_says_why_not_before_any_tuning() -> None:
    code = shown(search(), CodeView("assembly"))

    assert [t.name for t in code.tabs] == ["program", "sgraph", "loops", "cpu", "triton", "llvm", "assembly"]
    for t in code.tabs:
        assert bool(t.lines) or bool(t.missing) or t.name == "llvm", t
    assert "least modelled time" in tab(code, "cpu").caption
    assert code.tab == "assembly"
    assert tab(code, "assembly").lines


def test_lines_name_tensors_of_the_subject() -> None:
    refs = {r for line in tab(shown(search()), "sgraph").lines for r in line.refs.split()}

    assert "f1.c1/k2.b2" in refs
    assert all(r.startswith("f1.c1/k") for r in refs)


def test_the_generated_source_of_the_fastest_trial_is_shown_first() -> None:
    events = [*story(), KernelGenerated("u1", "f1.c1", "cpu", "some\nsource")]
    code = shown(list(events))

    assert code.title == "u1 of f1.c1"
    assert code.tab == "cpu"
    assert [line.text for line in tab(code, "cpu").lines] == ["some", "source"]


def test_a_difference_has_the_lines_of_both_with_counts() -> None:
    code = shown(search(), CodeView("sgraph", "f2"))
    lines = tab(code, "sgraph").lines

    assert code.other == "f2.c1"
    assert [x.text for x in lines if x.mark != "-"] == R1.splitlines()
    assert [x.text for x in lines if x.mark != "+"] == TWO.splitlines()
    added, removed = (sum(x.mark == m for x in lines) for m in "+-")
    assert f"{removed:,} lines only in f2.c1, {added:,} only in f1.c1" in tab(code, "sgraph").caption
    assert all(r.startswith("f2.c1/") for x in lines if x.mark == "-" for r in x.refs.split())


def test_equal_texts_have_no_difference() -> None:
    events = [*search(), FamilyCompleted("f3", "n0", R1), CandidateInstantiated("f3.c1", "f3", R1, (), ())]

    assert tab(shown(events, CodeView("sgraph", "f3.c1")), "sgraph").caption == "no difference"


def test_other_families_are_offered_for_a_comparison() -> None:
    assert [o.ref for o in shown(search()).others] == ["f2"]


def test_a_family_with_unbound_maps_has_text_but_no_code() -> None:
    unbound = (
        R1.replace("imap=[-], fmap=1", "imap=?").replace("imap=[1], fmap=0", "imap=?").replace("omap=[1]", "omap=?")
    )
    code = shown([STARTED, NodeExpanded("n0", "", "", "kernel"), FamilyCompleted("f1", "n0", unbound)], subject="f1")

    assert tab(code, "loops").lines
    assert "unbound maps" in tab(code, "cpu").missing


def test_a_report_says_where_the_slow_texts_are() -> None:
    code = shown(search(), CodeView("llvm"), interactive=False)

    assert "notebook" in tab(code, "llvm").missing
    assert tab(code, "loops").lines


def test_messages_of_another_form_change_nothing() -> None:
    for change in ({}, {"tab": "nonsense"}, {"tab": 3}, {"other": 3}):
        assert DEFAULT_CODE.changed(change) == DEFAULT_CODE
    assert DEFAULT_CODE.changed({"tab": "llvm"}) == replace(DEFAULT_CODE, tab="llvm")


def test_slow_texts_are_computed_once_in_the_background_and_announced() -> None:
    go, there = threading.Event(), threading.Event()
    background = Background[str](there.set)
    calls: list[int] = []

    def compute() -> str:
        calls.append(1)
        go.wait(5)
        return "text"

    assert background.get("k", compute) is None
    assert background.get("k", compute) is None
    go.set()
    assert there.wait(5)
    assert background.get("k", compute) == "text"
    assert calls == [1]
