from __future__ import annotations

import gc
import weakref

from prism_explore.ir.text import parse
from prism_explore.widgets.panels.context import Context, Folds, Memo, SearchInfo, ViewState, best_candidate
from prism_explore.widgets.panels.inspector import INSPECTORS, inspect
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


def test_an_id_is_described_by_one_row_only() -> None:
    for ref in ("", "n2", "p3", "f1", "f1.c1", "u3", "f1.c1/k2.b3", "program.%4", "c3", "mem.smem"):
        found = [row for row in INSPECTORS if row(ref, context()) is not None]
        assert 1 == len(found), ref
        assert inspect(ref, context()) is not None


def test_cached_pictures_end_with_their_explorer() -> None:
    memo = Memo()
    scene = memo.graph_scene(parse(R1), "f1", False)
    assert scene is memo.graph_scene(parse(R1), "f1", False)
    ends = weakref.ref(memo)
    del memo
    gc.collect()

    assert ends() is None
