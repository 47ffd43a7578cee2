"""The find field: every object and text of a search is found, in the order of the events, each once."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace

import pytest
import torch

from prism_explore.diagnose.jobs import Question
from prism_explore.events.journal import Entry
from prism_explore.events.kinds import Bookmarked, Event, KernelGenerated
from prism_explore.frontend import trace
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.tensors import tensor as T
from prism_explore.widgets.panels import find_index
from prism_explore.widgets.panels.context import FindView, Folds, Memo, QuestionList, SearchInfo, ViewState
from prism_explore.widgets.panels.find_index import PANEL_OF, FindIndex
from prism_explore.widgets.panels.panels import PANELS, sections
from prism_explore.widgets.panels.sections import Column, CompareSection, FindSection, Row, Sections, Table
from tests.widgets.fakes import program
from tests.widgets.made_up_search import made_up_search
from tests.widgets.recordings import story

FINISHED = story()
PROGRAM = program()


def entries(events: Iterable[Event]) -> list[Entry]:
    return [Entry(n, n / 10, event) for n, event in enumerate(events)]


def found(events: Iterable[Event], text: str, position: int = 0, cursor: int = 0) -> FindSection:
    folds = Folds(entries(events))
    view = ViewState(find=FindView(text, position, True), cursor=cursor)
    if cursor:
        folds = folds.before(cursor)
    return sections(SearchInfo(PROGRAM), folds, view).find or pytest.fail("no section")


def find_in(traced: TensorProgram, text: str) -> FindSection:
    """What is found before the first event."""
    section = sections(SearchInfo(traced), Folds(), ViewState(find=FindView(text, 0, True))).find
    return section or pytest.fail("no section")


def refs(events: Iterable[Event], text: str) -> list[tuple[str, str]]:
    index = FindIndex()
    index.extend(entries(events))
    return [(index[m].kind, index[m].ref) for m in index.find(text, 10**9)]


@pytest.fixture(scope="module")
def events() -> tuple[Event, ...]:
    return tuple(made_up_search(3_000, seed=3, tuned_every=2))


def test_every_kind_of_object_is_found_by_its_id(events: tuple[Event, ...]) -> None:
    for kind, ref in (
        ("node", "n7"),
        ("pruned subtree", "p12"),
        ("family", "f2"),
        ("candidate", "f2.c1"),
        ("tensor", "f2.c1/k2.b5"),
        ("e-class", "f2.c1/c2"),
        ("trial", "u1"),
        ("code", "u1"),
        ("reason", "mem.smem"),
    ):
        hits = refs(events, ref.upper())
        assert (kind, ref) in hits, (kind, ref)
        assert len(set(hits)) == len([h for h in hits if h[0] != "event"]) + len({h for h in hits if h[0] == "event"})


def test_texts_are_found_in_operators_reasons_code_and_sentences(events: tuple[Event, ...]) -> None:
    assert ("code", "u1") in refs(events, "int i = 0; i < 1;")
    assert any(kind == "tensor" for kind, _ in refs(events, "accum_rms(%0, dim=1)"))
    assert any(kind == "event" for kind, _ in refs(events, "torch eager"))
    assert any(kind == "pruned subtree" for kind, _ in refs(events, "shared memory"))
    assert refs(events, "no text has this") == []


def test_the_id_that_is_the_text_comes_first(events: tuple[Event, ...]) -> None:
    assert refs(events, "p12")[0] == ("pruned subtree", "p12")
    assert len(refs(events, "p12")) > 1


def test_every_panel_of_a_match_exists() -> None:
    assert set(PANEL_OF.values()) <= set(Sections.__dataclass_fields__)
    assert set(PANEL_OF.values()) <= set(PANELS)


def test_next_and_previous_go_round(events: tuple[Event, ...]) -> None:
    total = found(events, "matmul").total
    first, last = found(events, "matmul", 1), found(events, "matmul", total)
    assert first.count == f"1 of {total:,}"
    assert found(events, "matmul", total + 1) == first
    assert found(events, "matmul", 1 - 1 + total) == last
    assert first.item is not None and last.item is not None
    assert (first.item.seq, last.item.ref) == (13, "program.%4"), "events in order, then the program"
    assert "matmul" in first.item.text.lower()


def test_the_name_of_a_torch_function_finds_the_operators_that_it_became() -> None:
    def scores(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x, -1) @ w

    traced = trace(scores, {"x": T("b", 8), "w": T(8, 8)}).program
    hits = find_in(traced, "softmax")
    assert (hits.total, dict(hits.kinds)) == (6, {"tensor": "6"}), "each operator of that line"
    assert find_in(traced, "gelu").note.startswith("Nothing has this text. The program was traced to max, sub, exp,")


def test_the_line_of_a_module_is_found_by_the_operator_that_it_calls() -> None:
    class Block(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = torch.nn.LayerNorm(8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.first(x)

    assert find_in(trace(Block(), {"x": T("b", 8)}).program, "layer_norm").total > 1


def test_before_the_first_step_only_the_count_is_shown(events: tuple[Event, ...]) -> None:
    section = found(events, "matmul")
    assert section.item is None
    assert section.count == f"{section.total:,} found"
    assert sum(int(n.replace(",", "")) for _, n in section.kinds) == section.total


def test_nothing_is_indexed_before_the_field_is_used(events: tuple[Event, ...]) -> None:
    memo = Memo()
    sections(SearchInfo(PROGRAM), Folds(entries(events)), ViewState(), memo=memo)
    assert memo.find.count == 0


def test_an_earlier_state_finds_only_what_was_there(events: tuple[Event, ...]) -> None:
    now, then = found(events, "matmul"), found(events, "matmul", cursor=500)
    assert 0 < then.total < now.total
    assert then.total == found(events[:500], "matmul").total


def test_a_search_that_continues_equals_a_new_one(events: tuple[Event, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find_index, "BLOCK_RECORDS", 7)
    step, whole = FindIndex(), FindIndex()
    whole.extend(entries(events))
    for start in range(0, len(events), 191):
        step.extend(entries(events)[start : start + 191])
        step.find("sqrt", 10**9)
    assert step.find("sqrt", 10**9) == whole.find("sqrt", 10**9)


def test_the_number_of_matches_is_limited_and_says_so(
    events: tuple[Event, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    from prism_explore.widgets.panels import find

    for module in (find, find_index):
        monkeypatch.setattr(module, "MAX_MATCHES", 20)
    assert found(events, "m").count == "20+ found"


def test_names_that_look_like_markup_are_found_as_text() -> None:
    hostile = "<img src=x onerror=alert(1)>"
    section = found([*FINISHED, Bookmarked("b1", "f1", hostile)], hostile, 1)
    assert section.item is not None
    assert (section.item.kind, section.item.ref, section.item.panel) == ("bookmark", "b1", "bookmarks")
    assert hostile in section.item.text


def test_long_code_is_shown_as_an_excerpt_around_the_match() -> None:
    code = KernelGenerated("u99", "f1.c1", "cpu", "a = 1\n" * 5_000 + "needle_here = 2\n" + "b = 1\n" * 5_000)
    section = found([*FINISHED, code], "needle_here", 1)
    assert section.item is not None
    assert len(section.item.text) < 120
    assert "needle_here" in section.item.text


@pytest.mark.serial
def test_a_keystroke_at_100_000_events_takes_less_than_100_ms() -> None:
    folds, memo = Folds(entries(made_up_search(100_000, seed=1))), Memo()

    def keystroke(text: str) -> float:
        start = time.process_time()
        sections(SearchInfo(PROGRAM), folds, ViewState(find=FindView(text, 0, True)), memo=memo)
        return time.process_time() - start

    keystroke("")  # the focus, which makes the index
    for text in ("m", "ma", "mat", "matmul(%3", "zzz", "f12"):
        assert keystroke(text) < 0.1, text


def test_a_keystroke_computes_no_panel_but_that_of_the_field(events: tuple[Event, ...]) -> None:
    folds, memo, search = Folds(entries(events)), Memo(), SearchInfo(PROGRAM)
    before = sections(search, folds, ViewState(find=FindView("m", 0, True)), memo=memo)
    after = sections(search, folds, ViewState(find=FindView("ma", 0, True)), memo=memo)

    assert before.find != after.find
    again = {name for name in memo.sections if getattr(after, name) is not getattr(before, name)}
    assert again == {"find"}


def test_texts_beyond_ascii_and_broken_surrogates_are_found() -> None:
    events = [Bookmarked(f"b{n}", "f1", note) for n, note in enumerate(("x ≥ 8", "half \ud800 pair", "ÄPFEL"))]
    assert refs(events, "≥ 8") == [("bookmark", "b0")]
    assert refs(events, "\ud800") == [("bookmark", "b1")]
    assert refs(events, "äpfel") == [("bookmark", "b2")]


def test_the_field_is_a_part_of_the_view() -> None:
    assert replace(ViewState(), find=FindView("x", 1, True)).find.position == 1


def test_questions_with_their_answers_and_the_rows_of_a_comparison_are_found_too() -> None:
    question = Question("q1", "audit", "p12", "sess.audit('p12')", state="failed", failure="the budget was spent")
    column = Column("what", "what")
    steps = Table((column,), (Row("m4", ("only A expanded softmax_of_gates",)),), "")
    search = SearchInfo(
        PROGRAM,
        questions=QuestionList((question,)),
        compare=CompareSection("", steps=steps, settings=Table((column,), (Row("", ("budget 64 or 128",)),), "")),
    )

    def first(text: str) -> tuple[str, str, str, str]:
        view = ViewState(find=FindView(text, 1, True))
        item = (sections(search, Folds(entries(FINISHED)), view).find or pytest.fail("no section")).item
        assert item is not None
        return item.kind, item.ref, item.panel, item.part

    assert ("question", "q1", "questions", "") == first("sess.audit('p12')")
    assert ("difference", "m4", "compare", "steps") == first("softmax_of_gates")
    assert ("setting", "", "compare", "settings") == first("64 or 128")


@pytest.mark.parametrize(("text", "ref"), [("x", "program.%0"), ("X", "program.%0"), ("%2", "program.%2")])
def test_a_tensor_of_the_program_with_that_name_is_found_first(text: str, ref: str) -> None:
    section = found(FINISHED, text, position=1)

    assert section.item is not None
    assert (section.item.kind, section.item.ref) == ("tensor", ref)
    assert section.total > 1
