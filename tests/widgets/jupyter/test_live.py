"""Clicks: checked, enqueued once, answered with their line of Python."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_explore.errors import ShapeError
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import ExplorationStarted, NodeExpanded
from prism_explore.ir.text import show
from prism_explore.session.handles import Record
from prism_explore.widgets.jupyter.commands import COMMANDS, LONGEST, parse_call
from prism_explore.widgets.jupyter.live import Bridge, RecentIds
from prism_explore.widgets.jupyter.recorded import RecordedSession
from tests.widgets.fakes import FakeSession, program
from tests.widgets.recordings import story


def click(name: str, **args: Any) -> dict[str, Any]:
    return {"kind": "command", "event_id": "v-1", "name": name, "args": args}


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (click("step"), "sess.step()"),
        (click("step", n=3, grain="family"), "sess.step(n=3, grain='family')"),
        (click("start"), "job = sess.start()"),
        (click("reject", id="f2"), "sess.reject('f2')"),
        (click("accept", id="f2", note="try first"), "sess.accept('f2', note='try first')"),
        (click("select", id="f1.c2/k3.b7"), "sess.select('f1.c2/k3.b7')"),
        (click("undo"), "sess.undo()"),
        (click("audit", id="p17"), "sess.audit('p17')"),
        (click("audit", id="p17", nodes=10_000), "sess.audit('p17', nodes=10000)"),
        (
            click("what_if", rules_off=["mem.smem", "dup.canonical"], target="h100", run=True, predefined_kernels=0),
            "sess.what_if(target='h100', rules_off=('dup.canonical', 'mem.smem'), predefined_kernels=0, run=True)",
        ),
        (click("certify", id="f1.c2"), "sess.certify('f1.c2')"),
        (click("withdraw", id="q3"), "sess.withdraw('q3')"),
    ],
)
def test_a_click_is_a_line_of_python(content: dict[str, Any], line: str) -> None:
    assert line == parse_call(content).python


def test_every_command_has_a_method_of_the_session() -> None:
    from prism_explore.session.session import Session

    for command in COMMANDS:
        assert callable(getattr(Session, command.name))
        assert command.description.endswith(".")


def test_hostile_ids_stay_inside_their_quotes() -> None:
    nasty = "f1'); import os; os.system('x"

    assert parse_call(click("reject", id=nasty)).python == f"sess.reject({nasty!r})"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (click("destroy"), "unknown command 'destroy'"),
        (click("step", n=0), "n must be an integer"),
        (click("step", n=True), "n must be an integer"),
        (click("step", grain="year"), "grain must be one of event, candidate, family, phase"),
        (click("reject"), "id must be a text"),
        (click("what_if", rules_off=["mem.smem", "os.system"]), "rules_off must be some of"),
        (click("what_if", rules_off="mem.smem"), "rules_off must be some of"),
        (click("what_if", run="yes"), "run must be true or false"),
        (click("what_if", block_ops=-1), "block_ops must be an integer from 0"),
        (click("reject", id="x" * (LONGEST + 1)), "id must be a text"),
        (click("undo", id="f1"), "undo takes no id"),
        ({"kind": "command", "name": "undo", "args": {}}, "needs an event_id"),
        ({"kind": "command", "event_id": "1", "name": "undo", "args": []}, "args must be a mapping"),
    ],
)
def test_what_is_no_command_is_refused_with_the_reason(content: dict[str, Any], says: str) -> None:
    session = FakeSession()
    answer = Bridge(session, lambda: None).handle(content)

    assert answer is not None
    assert not answer["ok"]
    assert says in answer["message"]
    assert session.submitted == []


@given(st.dictionaries(st.sampled_from(["event_id", "name", "args", "x"]), st.none() | st.integers() | st.text()))
def test_no_message_makes_it_raise(content: dict[str, Any]) -> None:
    session = FakeSession()
    answer = Bridge(session, lambda: None).handle(content)

    assert answer is not None and (answer["ok"] or session.submitted == [])


def test_a_click_is_enqueued_once_even_if_it_comes_twice() -> None:
    session = FakeSession()
    bridge = Bridge(session, lambda: None)

    assert {"event_id": "v-1", "ok": True, "python": "sess.undo()"} == bridge.handle(click("undo"))
    assert bridge.handle(click("undo")) is None
    assert [("undo", {})] == session.submitted


def test_what_the_session_refuses_is_answered_with_its_reason() -> None:
    answer = Bridge(FakeSession(), lambda: None).handle(click("reject", id="n7"))

    assert {"event_id": "v-1", "ok": False, "message": "no family 'n7' to reject"} == answer


def test_clicks_may_come_on_any_thread() -> None:
    session = FakeSession()
    bridge = Bridge(session, lambda: None)

    def many(thread: int) -> None:
        for i in range(50):
            bridge.handle({**click("undo"), "event_id": f"{thread}-{i}"})

    threads = [threading.Thread(target=many, args=(n,)) for n in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()

    assert len(session.submitted) == 400


def test_facts_and_changes_of_state_and_selection_are_marked() -> None:
    session, marks = FakeSession(), []
    bridge = Bridge(session, lambda: marks.append(1))
    session.journal.note(NodeExpanded("n1", "", "", "kernel"))
    for fns in session.listeners.values():
        fns[0]("anything")

    assert len(marks) == 3
    bridge.close()
    session.journal.note(NodeExpanded("n2", "n1", "", "kernel"))
    assert len(marks) == 3


def test_a_saved_search_can_be_looked_at_but_not_continued() -> None:
    journal = Journal(clock=lambda: 0.0)
    started = ExplorationStarted(show(program()), "cpu", 0, {}, (), (("b", 8),))
    for event in (started, *story()[1:]):
        journal.note(event)
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


def test_only_the_last_clicks_are_remembered() -> None:
    recent = RecentIds(most=2)

    assert [recent.add(i) for i in ("a", "b", "a", "c", "a")] == [True, True, False, True, True]
