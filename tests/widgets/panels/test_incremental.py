"""The panels are computed again only where something that they read has changed, and are what they would be anew."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism_explore.diagnose.jobs import Question
from prism_explore.events.journal import Entry
from prism_explore.events.kinds import Event, NodeExpanded, RegionPruned
from prism_explore.widgets.explorer import Explorer
from prism_explore.widgets.jupyter.compare_tab import CompareTab
from prism_explore.widgets.jupyter.live import State
from prism_explore.widgets.panels import panels
from prism_explore.widgets.panels.context import Folds, Memo, ViewState, search_info
from prism_explore.widgets.panels.lineage import lineage_section
from prism_explore.widgets.panels.reads import record
from prism_explore.widgets.panels.sections import Sections
from tests.widgets.fakes import FakeSession
from tests.widgets.made_up_search import made_up_search
from tests.widgets.recordings import UNREACHABLE

REFS = ("", "n0", "n5", "p3", "f1", "f2", "f3.c1", "f2.c1", "u1", "u2", "c1", "f1.c1/k2.b5", "mem.smem", "f99", "q1")
LOOKS: tuple[dict[str, Any], ...] = (
    {"collapsed": True},
    {"collapsed": False},
    {"root": "n1"},
    {"root": ""},
    *({"map": change} for change in ({"mode": "time"}, {"mode": "tree"}, {"mode": "icicle"}, {"similar": True})),
    {"graph": {"collapsed": True}},
    {"map_px": 500, "dock_px": 700, "dock_high_px": 300},
    *({"find": {"text": text, "position": place}} for text, place in (("matmul", 0), ("matmul", 2), ("", 0))),
    *({"filter": change} for change in ({"status": "pruned"}, {"events": [5, 40]}, {"status": [], "events": []})),
    *({"cursor": cursor} for cursor in (0, 1, 17, 60, 61, 150)),
)
STEPS = st.one_of(
    st.tuples(st.just("events"), st.integers(1, 60)),
    st.tuples(st.just("select"), st.sampled_from(REFS)),
    st.tuples(st.just("look"), st.sampled_from(LOOKS)),
    st.tuples(st.just("state"), st.sampled_from(get_args(State))),
    st.tuples(st.just("question"), st.sampled_from(("f1", "p3"))),
)


def anew(explorer: Explorer) -> Sections:
    """The panels, computed from nothing."""
    entries = explorer._session.journal.entries
    view, lines = explorer._view, tuple(line for _, line in explorer._lines)
    cursor = view.cursor if 0 < view.cursor < len(entries) else 0
    folds = Folds(entries[:cursor] if cursor else entries)
    info = search_info(explorer._session)
    lineage = lineage_section(explorer._session, cursor, True)
    info = replace(info, compare=CompareTab(lambda: None).section(explorer._session), lineage=lineage)
    return panels.sections(info, folds, replace(view, cursor=cursor), lines, Memo())


def take(session: FakeSession, explorer: Explorer, events: Iterator[Event], step: tuple[str, Any]) -> None:
    match step:
        case ("events", count):
            for _ in range(count):
                session.journal.append(next(events))
        case ("select", ref):
            session.selection = ref
        case ("look", what):
            explorer._change_view(what)
        case ("state", state):
            session.state = state
        case ("question", subject):
            session.questions._all["q1"] = Question("q1", "audit", subject, f"sess.audit({subject!r})", "running")


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.lists(STEPS, min_size=1, max_size=12))
def test_after_any_clicks_looks_and_events_the_panels_are_as_if_computed_anew(
    seed: int, steps: list[tuple[str, Any]]
) -> None:
    events = made_up_search(10**6, seed, regions_per_node=2, nodes_per_family=2, tuned_every=2)
    session = FakeSession()
    explorer = Explorer(session)
    for step in [("events", 40), *steps]:
        take(session, explorer, events, step)
        seen = explorer.picture()
        expected = anew(explorer)
        for name in Sections.__dataclass_fields__:
            assert getattr(seen, name) == getattr(expected, name), (name, step)
    explorer.close()


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the sections that are computed, in order."""
    names: list[str] = []

    def counted(name: str) -> Any:
        panel = panels.PANELS[name]
        return lambda context: (names.append(name), panel(context))[1]

    monkeypatch.setattr(panels, "PANELS", {name: counted(name) for name in panels.PANELS})
    return names


@pytest.fixture
def session() -> FakeSession:
    return FakeSession(made_up_search(3000, seed=1))


def test_without_a_change_nothing_is_computed(session: FakeSession, computed: list[str]) -> None:
    explorer = Explorer(session)
    first = explorer.picture()
    computed.clear()
    second = explorer.picture()
    explorer.close()

    assert computed == []
    assert all(getattr(first, name) is getattr(second, name) for name in panels.PANELS)


def test_a_click_computes_what_shows_the_selection_and_no_table_or_map(
    session: FakeSession, computed: list[str]
) -> None:
    explorer = Explorer(session)
    session.selection = "f2"
    explorer.picture()
    computed.clear()
    session.selection = "f3"
    explorer.picture()
    explorer.close()

    assert {"view", "inspector", "graph"} <= set(computed)
    assert not {"map", "families", "ledger", "transport", "commands", "questions"} & set(computed)


def test_a_step_of_the_enumeration_computes_no_table_of_families_and_no_graph(
    session: FakeSession, computed: list[str]
) -> None:
    explorer = Explorer(session)
    session.selection = "f2"
    explorer.picture()
    computed.clear()
    session.journal.append(NodeExpanded("n90000", "n1", "mul(%0, %1)", "block"))
    session.journal.append(RegionPruned("p90000", "n1", "mul(%0, %1)", "block", UNREACHABLE))
    explorer.picture()
    explorer.close()

    assert {"transport", "map", "ledger"} <= set(computed)
    assert not {"families", "graph", "code", "tuning", "eclasses"} & set(computed)


def test_a_click_reads_no_event_again(session: FakeSession, monkeypatch: pytest.MonkeyPatch) -> None:
    explorer = Explorer(session)
    explorer.picture()
    read: list[Entry] = []
    monkeypatch.setattr(Folds, "add", lambda _, entry: read.append(entry))
    for ref in ("f1", "f2.c1", "p3", "n5"):
        session.selection = ref
        explorer.picture()
    explorer.close()

    assert read == []


# ---------------------------------------------------------------- the recorder
@dataclass(frozen=True, slots=True)
class View:
    a: int
    b: int

    @property
    def total(self) -> int:
        return self.a + self.b


@dataclass(frozen=True, slots=True)
class Ground:
    view: View
    other: str
    memo: object = None


def test_what_a_property_reads_is_read() -> None:
    found = record(lambda c: c.view.total, Ground(View(1, 2), "x"))

    assert found.result == 3
    assert found.reads.hold_in(Ground(View(1, 2), "y"))
    assert not found.reads.hold_in(Ground(View(1, 3), "x"))


def test_what_is_not_read_may_change() -> None:
    found = record(lambda c: c.view.a, Ground(View(1, 2), "x"))

    assert found.reads.hold_in(Ground(View(1, 9), "y", memo=object()))


def test_a_recorder_is_of_the_class_that_it_records_and_can_be_replaced() -> None:
    def panel(context: Ground) -> object:
        assert isinstance(context, Ground) and isinstance(context.view, View)
        return replace(context.view, a=7)

    found = record(panel, Ground(View(1, 2), "x"))

    assert type(found.result) is View and found.result == View(7, 2)
    assert not found.reads.hold_in(Ground(View(1, 3), "x"))


def test_a_view_that_is_kept_is_still_a_view() -> None:
    assert record(lambda c: c.view == View(1, 2), Ground(View(1, 2), "x")).result
    assert ViewState() != View(1, 2)
