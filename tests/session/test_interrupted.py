"""A new session says that a search of the same program was interrupted, and how to continue it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import prism_explore as px
from prism_explore.frontend import trace
from prism_explore.session.session import Session
from prism_explore.widgets.jupyter import display
from prism_explore.widgets.panels.context import search_info
from tests.session.test_autosave import PROGRAM, session

LEFT = "twice-20260101-00000{}.autosave.prism"


@pytest.fixture(autouse=True)
def notebook_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of a notebook whose user has no other saved searches."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("prism_explore.session.session.is_notebook", lambda: True)
    return tmp_path


def leave(folder: Path, number: int, steps: int) -> Path:
    """The file that a process leaves that is killed after some steps: a copy, which no session writes any more."""
    with session() as sess:
        sess.autosave = folder / "now.prism"
        sess.step(steps)
        shutil.copy(folder / "now.prism", folder / LEFT.format(number))
    (folder / "now.prism").unlink()
    return folder / LEFT.format(number)


def test_the_interrupted_search_with_the_most_events_is_offered_in_one_line_when_the_new_one_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    long, _ = leave(tmp_path, 1, 6), leave(tmp_path, 2, 2)
    count = len(px.load(long).journal)
    capsys.readouterr()
    with session() as sess:
        offer = sess.interrupted
        assert offer is not None
        assert capsys.readouterr().out == ""
        sess.step()
        sess.step()
        assert capsys.readouterr().out == f"{offer}\n"
        line = "sess = sess.resume_interrupted()"
        assert str(offer) == f"A search of twice was interrupted after {count} events. {line} continues {long.name}."
        variables = {"sess": sess}
        exec(offer.line, variables)
        with variables["sess"] as again:
            assert again is not sess
            assert len(again.journal) == count
            again.run()
            assert again.state == "finished"
            assert again.journal.events[:count] == px.load(long).journal.events


def test_the_explorer_offers_it_in_place_of_the_line_until_the_new_search_has_events(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    left = leave(tmp_path, 1, 3)
    capsys.readouterr()
    with session() as sess:
        bar = sess.widget.picture().transport
        assert left.name in bar.interrupted
        assert bar.line == "sess = sess.resume_interrupted()"
        assert search_info(sess, with_questions=False).interrupted is None
        sess.step()
        assert sess.widget.picture().transport.interrupted == ""
        assert capsys.readouterr().out == ""


@pytest.mark.parametrize("mode", ["svg", "text"])
def test_a_session_shown_as_a_picture_or_text_offers_it_in_a_line(
    mode: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(display, "_chosen", [mode])
    leave(tmp_path, 1, 3)
    capsys.readouterr()
    with session() as sess:
        sess._repr_mimebundle_()
        sess.step()
        assert capsys.readouterr().out == f"{sess.interrupted}\n"


def test_a_search_that_goes_on_in_another_session_is_not_offered() -> None:
    with session() as running:
        running.step(3)
        assert running.autosave is not None
        with session() as sess:
            assert sess.interrupted is None
        running.autosave = False
        with session() as sess:
            assert sess.interrupted is not None


def test_a_search_that_was_continued_to_its_end_is_not_offered_again(tmp_path: Path) -> None:
    with Session.load(leave(tmp_path, 1, 3)) as again:
        again.run()
    with session() as sess:
        assert sess.interrupted is None


def test_a_search_of_another_program_machine_or_size_is_not_offered(tmp_path: Path) -> None:
    leave(tmp_path, 1, 3)
    other = px.parse_program(PROGRAM.replace("add(x, x)", "mul(x, x)"))
    for program, machine, size in (
        (other, "h100", 4),
        (px.parse_program(PROGRAM), "b200", 4),
        (px.parse_program(PROGRAM), "h100", 5),
    ):
        with px.Session(program, target=machine, at={"b": size}) as sess:
            assert sess.interrupted is None


def test_a_resumed_search_has_the_torch_code_of_the_new_session_as_its_baseline(tmp_path: Path) -> None:
    leave(tmp_path, 1, 3)
    code = trace(lambda x: x + x, {"x": px.T("b", 8)}, "twice")
    assert code.program == px.parse_program(PROGRAM)
    with px.Session(code, target="h100", at={"b": 4}) as sess, sess.resume_interrupted() as again:
        assert again.task.reference is code


def test_without_an_interrupted_search_resuming_says_what_else_there_is() -> None:
    with session() as sess, pytest.raises(px.ShapeError, match=r"px\.Session\.load\(path, code\)"):
        sess.resume_interrupted()


def test_damaged_files_are_passed_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = leave(tmp_path, 1, 3).read_bytes()
    for number, damaged in enumerate((b"", content[:20], content[:40] + b"\xff" * 5000, b"no search" * 9999), 1):
        (tmp_path / LEFT.format(number)).write_bytes(damaged)
    with session() as sess:
        assert sess.interrupted is None
    assert capsys.readouterr().out == ""
