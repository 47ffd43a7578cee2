"""A search is saved while it runs: what a killed process loses, and what is never overwritten or deleted."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import prism_explore as px
from prism_explore.errors import JournalVersionError
from prism_explore.events.journal import Journal
from prism_explore.session import autosave
from prism_explore.session.autosave import KEPT_FILES, Autosave, default_path, delete_old_files
from prism_explore.session.session import Session
from prism_explore.support.user_folders import user_folder

PROGRAM = """program twice
  x = input f32[b, 8]
  %1 = add(x, x)
  return %1"""

CHILD = """
import sys, time
from dataclasses import replace
import prism_explore as px
row = px.workload("ntrans")
space = px.Session(row.code, inputs=row.inputs, at=row.at, target="h100").task.space
space = replace(space, rules_off=frozenset({"expr.apart", "expr.unreachable"}), nodes=10**6)
sess = px.Session(row.code, name=row.name, inputs=row.inputs, at=row.at, target="h100", space=space)
sess.autosave = sys.argv[1]
job = sess.start()
while True:
    print(len(sess.journal), flush=True)
    time.sleep(0.1)
"""
"""A search that makes thousands of events a second for minutes."""
LOSS_S = 2 * autosave.PERIOD_S
"""Events older than this must be in the file: one period, and as much again for a busy machine."""


def session() -> Session:
    return px.Session(px.parse_program(PROGRAM), target="h100", at={"b": 4})


def test_at_every_pause_and_at_the_end_the_file_has_every_event(tmp_path: Path) -> None:
    with session() as sess:
        sess.autosave = tmp_path / "run.prism"
        for _ in range(3):
            sess.step()
            assert Journal.load(tmp_path / "run.prism").events == sess.journal.events
        sess.run()

        assert Journal.load(tmp_path / "run.prism").events == sess.journal.events
        assert sess.autosave == tmp_path / "run.prism"
        assert sess.journal.saved_as == str(tmp_path / "run.prism")


def test_a_cancelled_search_is_saved_with_its_end(tmp_path: Path) -> None:
    with session() as sess:
        sess.autosave = tmp_path / "run.prism"
        sess.step(3)
        sess.cancel()

    assert px.load(tmp_path / "run.prism").claim == sess.claim


def test_an_autosaved_search_continues_to_the_same_events(tmp_path: Path) -> None:
    with session() as whole:
        whole.run()
    with session() as sess:
        sess.autosave = tmp_path / "run.prism"
        sess.step(4)
        # What a process leaves that is killed now.
        shutil.copy(tmp_path / "run.prism", tmp_path / "left.prism")
    with Session.load(tmp_path / "left.prism") as again:
        again.run()

        assert again.journal.events == whole.journal.events


@pytest.mark.serial
def test_a_killed_process_loses_the_events_of_the_last_moments_at_most(tmp_path: Path) -> None:
    path = tmp_path / "run.prism"
    environment = {**os.environ, "PYTHONPATH": str(Path(px.__file__).parent.parent)}
    command = [sys.executable, "-c", CHILD, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as child:
        assert child.stdout is not None
        seen: list[tuple[float, int]] = []
        while not seen or seen[-1][0] - seen[0][0] < 2 * LOSS_S:
            count = int(child.stdout.readline())
            if path.exists():
                seen.append((time.monotonic(), count))
        child.send_signal(signal.SIGKILL)
        killed_s = time.monotonic()
    owed = max(count for at_s, count in seen if at_s <= killed_s - LOSS_S)

    saved = Journal.load(path)
    assert len(saved) >= owed > 0
    assert [e.seq for e in saved] == list(range(len(saved)))


def test_a_cut_event_is_dropped_with_a_sentence_and_the_rest_is_offered_to_be_continued(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.prism"
    with session() as sess:
        sess.autosave = path
        sess.step(3)
        events = sess.journal.events
        content = path.read_bytes()
    path.write_bytes(content[:-40])

    record = px.load(path)
    assert record.journal.events == events[: len(record.journal)]
    assert len(record.journal) < len(events)
    printed = capsys.readouterr().out
    assert "last event was incomplete and was dropped" in printed
    assert f"px.Session.load({str(path)!r})" in printed
    assert "The search had not ended" in repr(record)


@pytest.mark.parametrize("length", (0, 5, 17, 30))
def test_a_file_that_ends_before_its_manifest_is_refused(tmp_path: Path, length: int) -> None:
    path = tmp_path / "run.prism"
    with session() as sess:
        sess.autosave = path
        sess.step()
        path.write_bytes(path.read_bytes()[:length])

    with pytest.raises(JournalVersionError, match=str(path)):
        px.load(path)


def test_an_existing_file_is_never_changed(tmp_path: Path) -> None:
    kept = tmp_path / "run.prism"
    kept.write_text("mine")
    with session() as sess:
        sess.autosave = kept
        sess.step()

        assert kept.read_text() == "mine"
        assert sess.autosave == tmp_path / "run-2.prism"


def test_nothing_is_saved_unless_asked_outside_of_a_notebook_and_false_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with session() as sess:
        sess.step()
        assert sess.autosave is None
        assert not list(tmp_path.iterdir())
        sess.autosave = None
        sess.step()
        (made,) = tmp_path.iterdir()
        assert made == sess.autosave
        sess.autosave = False
        count = len(Journal.load(made))
        sess.step()

        assert sess.autosave is None
        assert len(Journal.load(made)) == count


def test_what_was_stopped_saves_nothing_when_its_session_is_freed(tmp_path: Path) -> None:
    with session() as sess:
        saving = Autosave(sess.journal, dict, "twice", tmp_path / "run.prism", 0)
        saving.stop()
        sess.step()
        saving.stop()  # as at the end of the session's life

    assert list(tmp_path.iterdir()) == []


def test_a_notebook_saves_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("prism_explore.session.session.is_notebook", lambda: True)
    with session() as sess:
        sess.step()
        assert sess.autosave is not None
        assert sess.autosave.name.startswith("twice-")
        shutil.copy(sess.autosave, tmp_path / "left.prism")
    with Session.load(tmp_path / "left.prism") as again:
        assert again.autosave is None
        again.step()
        assert again.autosave not in (None, sess.autosave)


def test_a_folder_that_cannot_be_written_is_replaced_by_that_of_the_users_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(os, "access", lambda *_: False)

    assert default_path("a/b <c>").parent == tmp_path / "state" / "prism_explore"
    assert default_path("a/b <c>").name.startswith("a_b_c-")
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    assert user_folder("state") == Path.home() / ".local" / "state" / "prism_explore"


def test_of_old_autosaved_files_of_a_program_all_but_the_largest_are_deleted(tmp_path: Path) -> None:
    names = [f"twice-20260101-00000{n}.autosave.prism" for n in range(9)]
    for name in names:
        (tmp_path / name).write_bytes(b"prism-autosave 1\n" + (b"a long search" if name == names[1] else b""))
    others = ("twice.prism", "other-20250101-000000.autosave.prism", "twice-x.autosave.prism")
    for name in (*others, names[0]):
        (tmp_path / name).write_text("saved by the user")

    delete_old_files(tmp_path / names[-1])

    left = {path.name for path in tmp_path.iterdir()}
    assert left == {*others, names[0], names[1], *names[-KEPT_FILES:]}


def test_a_file_that_another_session_writes_is_not_deleted(tmp_path: Path) -> None:
    names = [f"twice-20260101-00000{n}.autosave.prism" for n in range(8)]
    for name in names[1:]:
        (tmp_path / name).write_bytes(b"prism-autosave 1\n")
    with session() as sess:
        sess.autosave = tmp_path / names[0]
        sess.step()
        delete_old_files(tmp_path / names[-1])

        assert (tmp_path / names[0]).exists()


@pytest.mark.parametrize("path", (3, True, "no/such/folder/run.prism", "."))
def test_what_is_no_path_is_refused(path: object) -> None:
    with session() as sess, pytest.raises(px.ShapeError, match="autosave"):
        sess.autosave = path  # type: ignore[assignment]


def test_a_full_disk_does_not_stop_the_search(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with session() as sess:
        sess.autosave = tmp_path / "run.prism"
        sess.step()
        assert sess._autosave is not None and sess._autosave._stream is not None
        sess._autosave._stream._file.close()
        sess._autosave._stream.append = _fail  # type: ignore[method-assign]
        sess.run()

        assert sess.state == "finished"
    assert "not saved automatically any more" in caplog.text


def _fail(_: object) -> None:
    raise OSError("No space left on device")


def test_a_saved_search_that_was_opened_is_written_again_with_its_task(tmp_path: Path) -> None:
    with session() as sess:
        sess.step(3)
        sess.save(tmp_path / "run.prism")
    px.load(tmp_path / "run.prism").save(tmp_path / "again.prism")

    with Session.load(tmp_path / "again.prism") as again:
        assert again.task == Session.load(tmp_path / "run.prism").task
