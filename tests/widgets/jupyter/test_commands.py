"""Commands: checked, and printed as a line of Python."""

from __future__ import annotations

from typing import Any

import pytest

from prism_explore.widgets.jupyter.commands import COMMANDS, parse_call
from tests.widgets.fakes import click


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
    from prism_explore.session.bookmarks import Bookmarks
    from prism_explore.session.session import Session

    for command in COMMANDS:
        owner, _, method = (
            command.python.removeprefix("job = ").removeprefix("sess = ").removeprefix("sess.").rpartition(".")
        )
        assert callable(getattr(Bookmarks if owner else Session, method))
        assert command.description.endswith(".")


def test_hostile_ids_stay_inside_their_quotes() -> None:
    nasty = "f1'); import os; os.system('x"

    assert parse_call(click("reject", id=nasty)).python == f"sess.reject({nasty!r})"


def test_several_families_are_one_line_of_python() -> None:
    call = parse_call({"event_id": "1", "name": "reject", "args": {"id": ["f1", "f2"]}})
    assert call.args["id"] == ("f1", "f2")
    assert call.python == "sess.reject(['f1', 'f2'])"
    assert parse_call({"event_id": "1", "name": "reject", "args": {"id": "f1"}}).python == "sess.reject('f1')"


@pytest.mark.parametrize("ids", [[], [1], ["f1", None], ["f" * 201], ["f1"] * 1_001, {"f1": 1}])
def test_several_families_are_checked(ids: object) -> None:
    with pytest.raises(ValueError, match="reject: id must be"):
        parse_call({"event_id": "1", "name": "reject", "args": {"id": ids}})
