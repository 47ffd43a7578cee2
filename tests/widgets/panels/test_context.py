from __future__ import annotations

import gc
import weakref

from prism_explore.ir.text import parse
from prism_explore.widgets.panels.context import Context, Folds, Memo, SearchInfo, ViewState, best_candidate, select
from prism_explore.widgets.panels.inspector import INSPECTORS, inspect
from prism_explore.widgets.panels.panels import sections
from prism_explore.widgets.views.graph import WHOLE
from tests.strategies import R1
from tests.widgets.fakes import FakeSession, program
from tests.widgets.recordings import story

JOURNAL = FakeSession(story()).journal


def context(selection: str = "") -> Context:
    return Context.of(SearchInfo(program()), Folds(JOURNAL.entries), ViewState(selection, selection), Memo())


def test_without_a_selection_the_best_candidate_is_shown() -> None:
    assert ("f1.c1", "f1.c1") == (context().subject, context().candidate)


def test_of_a_selected_family_the_best_candidate_is_shown() -> None:
    seen = context("f2")

    assert ("f2", "f2.c1") == (seen.subject, seen.candidate)
    assert "f1.c1" == best_candidate("f1", seen.events, seen.ledger)


def test_a_selected_family_without_a_kernel_shows_nothing_of_another_one() -> None:
    folds = Folds(JOURNAL.entries)
    for chosen, owners in (("f2", {"f2", "f2.c1"}), ("f1.c2", {"f1.c2"}), ("f3.c1/k2", {"f3.c1"})):
        view = select(ViewState(), chosen, folds.events)
        seen = sections(SearchInfo(program()), folds, view)

        assert seen.graph.subject in owners and seen.eclasses.subject in owners
        assert {"sgraph", "loops"} <= {t.name for t in seen.code.tabs if t.lines}
        assert all(r.split("/")[0] in (seen.graph.subject, *owners, *(f"{o}.c1" for o in owners))
                   for t in seen.code.tabs if t.name == "sgraph" for x in t.lines for r in x.refs.split())  # fmt: skip
        assert seen.code.caption.startswith(f"{seen.graph.subject} has no generated source")


def test_following_the_search_is_said_and_ends_with_a_selection() -> None:
    folds = Folds(JOURNAL.entries)
    followed = Context.of(SearchInfo(program()), folds, ViewState(), Memo())
    chosen = Context.of(SearchInfo(program()), folds, select(ViewState(), "f1.c1", folds.events), Memo())

    assert "f1.c1 (the best; no family is selected)" == followed.subject_text
    assert "f1.c1" == chosen.subject_text


def test_an_id_without_a_graph_keeps_the_subject_and_no_id_gives_it_up() -> None:
    events = Folds(JOURNAL.entries).events
    chosen = select(ViewState(), "f2", events)

    assert "f2" == select(chosen, "p3", events).subject
    assert "f1.c1" == select(chosen, "u3", events).subject
    assert "f1.c1" == select(chosen, "f1.c1/c3", events).subject
    assert "" == select(chosen, "", events).subject


def test_in_an_earlier_state_a_later_family_is_said_to_be_missing() -> None:
    early = Folds(JOURNAL.entries[:10])
    seen = sections(SearchInfo(program()), early, ViewState("f2", "f2"))

    assert ("f2", None) == (seen.graph.subject, seen.graph.scene)
    assert "f2 did not exist after event 10." == seen.graph.caption
    assert "f2" == seen.eclasses.subject and "f2 did not exist" in seen.eclasses.caption


def test_a_class_of_the_older_form_is_that_of_the_shown_candidate() -> None:
    for candidate in ("f1.c1", "f2.c1"):
        found = inspect("c3", context(candidate))
        assert found is not None and f"{candidate}/c3" == found.ref


def test_an_id_is_described_by_one_row_only() -> None:
    for ref in ("", "n2", "p3", "f1", "f1.c1", "u3", "f1.c1/k2.b3", "program.%4", "c3", "mem.smem"):
        found = [row for row in INSPECTORS if row(ref, context()) is not None]
        assert 1 == len(found), ref
        assert inspect(ref, context()) is not None


def test_cached_pictures_end_with_their_explorer() -> None:
    memo = Memo()
    scene = memo.graph_scene(parse(R1), "f1", WHOLE)
    assert scene is memo.graph_scene(parse(R1), "f1", WHOLE)
    ends = weakref.ref(memo)
    del memo
    gc.collect()

    assert ends() is None
