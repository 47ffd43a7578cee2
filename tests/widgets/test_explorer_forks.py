"""The explorer shows a search, its forks and its comparisons; a click leads from one to the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import prism_explore as px
from prism_explore.events.ledger import KernelTime
from prism_explore.pipeline.search_space import default_space
from prism_explore.session import persistence
from tests.generate.programs import rms_linear_small
from tests.session.test_old_files import OLD
from tests.session.test_resume import SPACE
from tests.session.test_session import machine
from tests.widgets.jupyter.test_wire import until

PROGRAM = rms_linear_small()


def session() -> px.Session:
    space = replace(default_space(PROGRAM), block_ops=6, results=0)
    return px.Session(PROGRAM, target="h100", at={"b": 4}, space=space)


@pytest.fixture
def sess() -> Iterator[px.Session]:
    made = session()
    made.run()
    yield made
    for each in (made, *made.forks):
        each.close()
    made.widget.close()


def click(widget: Any, name: str, **args: Any) -> None:
    click.count += 1  # type: ignore[attr-defined]
    widget._receive(widget, {"kind": "command", "event_id": f"c{click.count}", "name": name, "args": args})  # type: ignore[attr-defined]


click.count = 0  # type: ignore[attr-defined]


def look(widget: Any, **what: Any) -> None:
    widget._receive(widget, {"kind": "look", **what})


def shown(widget: Any) -> Any:
    return widget.picture().compare


def labels(widget: Any) -> list[str]:
    return [link.label for link in widget.picture().lineage.path]


# ---------------------------------------------------------------- forks
def test_a_click_on_fork_shows_the_fork_and_one_click_leads_back(sess: px.Session) -> None:
    widget = sess.widget
    look(widget, cursor=60)
    assert widget.picture().lineage.fork_at == 60
    click(widget, "fork", at=60)
    until(lambda: len(sess.forks) == 1 and widget._next is not None)
    (fork,) = sess.forks
    seen = widget.picture()

    assert [link.label for link in seen.lineage.path] == ["rms_linear_small", "fork 1 at event 60"]
    assert [link.current for link in seen.lineage.path] == [False, True]
    assert seen.transport.events == 61
    assert seen.transport.cursor == 0
    look(widget, search=sess.id)
    seen = widget.picture()
    assert seen.transport.events == len(sess.journal)
    assert [link.label for link in seen.lineage.forks] == ["fork 1 at event 60"]
    look(widget, search=fork.id)
    assert widget.picture().transport.events == 61
    lines = [line for line in widget.picture().script.lines if line.startswith("sess = ")]
    assert lines == ["sess = sess.fork(at=60)", "sess = sess.parent", "sess = sess.forks[0]"]


def test_commands_go_to_the_search_that_is_shown(sess: px.Session) -> None:
    widget = sess.widget
    click(widget, "fork", at=80)
    until(lambda: widget._next is not None)
    before = len(sess.journal)
    widget.picture()
    click(widget, "step", n=1)
    until(lambda: len(sess.forks[0].journal) > 81)

    assert len(sess.journal) == before


def test_a_doubtful_time_is_measured_again_by_one_click(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KernelTime, "warnings", ("The machine was busy.",))
    sess = px.Session(PROGRAM, target=machine(), at={"b": 4}, space=SPACE, budget=px.Budget(trials=1), cache=False)
    sess.run()
    widget = sess.widget
    (button,) = widget.picture().result.actions
    click(widget, button.command, **button.args)
    until(lambda: widget._next is not None, 20)
    (again,) = sess.forks
    again.run()
    seen = widget.picture()
    for each in (widget, again, sess):
        each.close()

    assert button.python == "sess = sess.time_again()"
    assert seen.transport.events == len(again.journal)
    assert again.journal.origin.note == "timed again"
    assert [link.label for link in seen.lineage.path] == ["rms_linear_small", "fork 1: timed again"]


def test_a_fork_in_python_is_linked_and_not_shown(sess: px.Session) -> None:
    widget = sess.widget
    sess.fork(60)
    seen = widget.picture()

    assert seen.transport.events == len(sess.journal)
    assert [link.label for link in seen.lineage.forks] == ["fork 1 at event 60"]


def test_a_fork_that_is_impossible_says_why(sess: px.Session) -> None:
    widget = sess.widget
    click(widget, "fork", at=10**6)
    until(lambda: not any(q.is_open for q in sess.questions.values()))

    assert "at= is a number of events from 1 to" in widget.picture().lineage.status
    assert widget._next is None


# ---------------------------------------------------------------- saved searches
def test_a_saved_search_that_can_be_resumed_is_forked_from_its_explorer(sess: px.Session, tmp_path: Path) -> None:
    record = px.load(sess.save(tmp_path / "run.prism"))
    widget = record.widget
    look(widget, cursor=60)
    assert widget.picture().lineage.fork_at == 60
    click(widget, "fork", at=60)
    until(lambda: widget._next is not None, 20)

    assert labels(widget) == ["rms_linear_small", "fork 1 at event 60"]
    fork = widget._session
    assert fork.parent.journal.events == sess.journal.events
    fork.run()
    assert fork.journal.events[61:] == sess.journal.events[60:]
    widget.close()


def test_a_saved_search_that_cannot_be_resumed_says_why(sess: px.Session, tmp_path: Path) -> None:
    path = sess.journal.save(tmp_path / "events.prism")  # without its task
    with pytest.raises(px.JournalVersionError, match="not its task"):
        px.load(path).fork(60)
    widget = px.load(path).widget
    click(widget, "fork", at=60)
    until(lambda: "not its task" in widget.picture().lineage.status)
    widget.close()


def test_a_file_of_other_versions_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(persistence, "version", lambda _: "0.0")
    with pytest.raises(px.JournalVersionError, match=r"searched with .*, and 0\.0 is installed"):
        px.load(OLD).fork(20)


# ---------------------------------------------------------------- adopting
def test_a_what_if_is_adopted_by_the_button_of_its_card(sess: px.Session) -> None:
    widget = sess.widget
    click(widget, "what_if", results=1, run=True)
    sess.questions.wait(60)
    click(widget, "select", id="q1")
    inspector = widget.picture().inspector
    button = next(a for a in inspector.actions if a.command == "adopt")
    assert button.python == "sess = sess.adopt('q1')"
    assert "adopt these settings" in [card.title for card in inspector.cards]
    gained = [copy.label for card in inspector.cards for copy in card.copies]
    assert gained == ["f4 of that search, proved and not found by this one"]
    assert "1 proved family gained, 0 missing" in widget.picture().questions.table.rows[0].cells[2].text
    click(widget, button.command, **button.args)
    until(lambda: widget._next is not None, 20)

    assert labels(widget) == ["rms_linear_small", "fork 1 with other settings"]
    sess.forks[0].run()
    assert len(sess.forks[0].families) > len(sess.families)


def test_a_what_if_that_changes_nothing_cannot_be_adopted(sess: px.Session) -> None:
    widget = sess.widget
    click(widget, "what_if")
    sess.questions.wait(60)
    click(widget, "select", id="q1")

    assert "adopt" not in [a.command for a in widget.picture().inspector.actions]


# ---------------------------------------------------------------- the Compare tab
def test_a_file_a_live_search_and_the_parent_are_compared(sess: px.Session, tmp_path: Path) -> None:
    widget, other = sess.widget, session()
    other.step(20)
    path = sess.save(tmp_path / "run.prism")
    count = f"{len(sess.journal):,}"
    for subject, text in ((str(path), f"All {count} events"), (other.id, "They diverge"), (sess.id, f"All {count}")):
        click(widget, "compare", id=subject)
        until(lambda text=text: text in shown(widget).summary and not shown(widget).status)
    assert (other.id, f"{other.name} ({other.id})") in widget.picture().compare.choices
    fork = sess.fork(60)
    widget.show(fork)
    assert widget.picture().compare.parent == sess.id
    assert widget.picture().compare.scene is None, "it is the comparison of another search"
    other.close()


@pytest.mark.parametrize("subject", ["/nowhere/run.prism", "", "s99999", "\0"])
def test_what_cannot_be_compared_is_a_text(sess: px.Session, subject: str) -> None:
    widget = sess.widget
    click(widget, "compare", id=subject)
    until(lambda: widget.picture().compare.status != "" and "…" not in widget.picture().compare.status)

    assert widget.picture().compare.scene is None


def test_a_damaged_file_is_refused_with_its_reason(sess: px.Session, tmp_path: Path) -> None:
    (tmp_path / "run.prism").write_bytes(b"PK\x03\x04 not a zip")
    widget = sess.widget
    click(widget, "compare", id=str(tmp_path / "run.prism"))
    until(lambda: "is no saved search" in widget.picture().compare.status)
