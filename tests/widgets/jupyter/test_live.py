"""Clicks: checked, enqueued once, answered with their line of Python."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_explore.events.kinds import NodeExpanded
from prism_explore.widgets.jupyter.commands import MAX_TEXT_CHARACTERS
from prism_explore.widgets.jupyter.live import Bridge, RecentIds
from tests.widgets.fakes import FakeSession, click


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
        (click("reject", id="x" * (MAX_TEXT_CHARACTERS + 1)), "id must be a text"),
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
    session.journal.append(NodeExpanded("n1", "", "", "kernel"))
    for what in ("state", "select"):
        session.listeners.call(what, "anything")

    assert len(marks) == 3
    bridge.close()
    session.journal.append(NodeExpanded("n2", "n1", "", "kernel"))
    assert len(marks) == 3 and len(session.listeners) == 0


def test_only_the_last_clicks_are_remembered() -> None:
    recent = RecentIds(capacity=2)

    assert [recent.add(i) for i in ("a", "b", "a", "c", "a")] == [True, True, False, True, True]
