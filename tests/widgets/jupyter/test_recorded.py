"""A saved search in the explorer: it can be selected, and not continued."""

from __future__ import annotations

import pytest

from prism_explore.errors import ShapeError
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import ExplorationStarted
from prism_explore.ir.text import show
from prism_explore.session.record import Record
from prism_explore.widgets.jupyter.live import Bridge
from prism_explore.widgets.jupyter.recorded import RecordedSession
from tests.widgets.fakes import click, program
from tests.widgets.recordings import story


def test_a_saved_search_can_be_looked_at_but_not_continued() -> None:
    journal = Journal(clock=lambda: 0.0)
    started = ExplorationStarted(show(program()), "cpu", 0, {}, (), (("b", 8),))
    for event in (started, *story()[1:]):
        journal.append(event)
    saved, marks = RecordedSession(journal, Record(journal)), []
    bridge = Bridge(saved, lambda: marks.append(1))
    audited = bridge.handle({**click("audit", id="p1"), "event_id": "v-3"})
    assert audited is not None and "a saved search cannot audit" in audited["message"]
    stepped, selected = bridge.handle(click("step")), bridge.handle({**click("select", id="f1"), "event_id": "v-2"})

    assert stepped is not None and "a saved search cannot step" in stepped["message"]
    assert selected is not None and selected["ok"]
    assert (saved.selection, saved.state, saved.program) == ("f1", "finished", program())
    assert repr(saved) == f"<saved search of rmsnorm_linear: {len(story())} events>"


def test_a_journal_of_something_else_is_no_saved_search() -> None:
    with pytest.raises(ShapeError, match="begins with ExplorationStarted"):
        RecordedSession(Journal(), Record(Journal()))
