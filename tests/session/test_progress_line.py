"""The progress line of a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from prism_explore.events.journal import Journal
from prism_explore.session.progress_line import ProgressText, progress_line
from tests.widgets.recordings import story

RUN = """
import prism_explore as px
row = px.workload("rmsnorm")
sess = px.Session(row.code, inputs=row.inputs, at=row.at, target="h100")
sess.run()
"""


def test_the_line_counts_the_events_since_its_last_call() -> None:
    journal = Journal(clock=lambda: 0.0)
    text = ProgressText(journal)
    assert text() == "start: 0 expanded, 0 pruned, 0 proved, 0 trials"

    events = story()
    for event in events[:20]:
        journal.append(event)
    assert text() == "generate: 5 expanded, 14 pruned, 0 proved, 0 trials"
    for event in events[20:]:
        journal.append(event)
    assert "2 proved" in text()
    assert "best trial" in text()


def test_nothing_is_shown_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_line(Journal(clock=lambda: 0.0)) as update:
        update()

    assert capsys.readouterr() == ("", "")


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminal")
def test_a_run_in_a_terminal_shows_it() -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", RUN], stderr=theirs, stdout=subprocess.DEVNULL)
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # Linux: the other end is closed.
            break
        if not part:
            break
        shown += part
    os.close(ours)

    assert process.wait(60) == 0, shown
    assert b"expanded, " in shown
