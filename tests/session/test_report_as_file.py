"""A report has the saved search in it: the page is opened and continued like the file."""

from __future__ import annotations

from pathlib import Path

import pytest

import prism_explore as px
from prism_explore.errors import JournalVersionError

PROGRAM = "program twice\n  x = input f32[b, 8]\n  %1 = add(x, x)\n  return %1"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sess = px.Session(px.parse_program(PROGRAM), target="h100", at={"b": 4})
    sess.step(4)
    return sess.report(tmp_path_factory.mktemp("report") / "run.html")


def test_a_report_is_loaded_like_the_saved_search(page: Path, tmp_path: Path) -> None:
    record = px.load(page)
    again = px.load(record.report(tmp_path / "again.html"))

    assert "twice" == record.program.name
    assert record.journal.entries == again.journal.entries


def test_the_search_in_a_report_continues(page: Path) -> None:
    sess = px.Session.load(page)
    before = len(sess.journal)
    sess.run()

    assert "finished" == sess.state and len(sess.journal) > before


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("prism-search", "prism-other", "no search in it"),
        ('"prism-search">UEsD', '"prism-search">U*sD', "no saved search"),
        ('"prism-search">UEsD', '"prism-search">', "no saved search"),
    ],
)
def test_a_page_without_a_readable_search_is_refused_with_the_reason(
    page: Path, tmp_path: Path, old: str, new: str, message: str
) -> None:
    path, text = tmp_path / "changed.html", page.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")

    with pytest.raises(JournalVersionError, match=message):
        px.load(path)


def test_a_search_of_a_program_without_symbols_has_a_report(tmp_path: Path) -> None:
    program = px.parse_program("program one\n  x = input f32[8, 16]\n  %1 = exp(x)\n  return %1")
    with px.Session(program, target="h100", cache=False) as sess:
        sess.step(1, grain="family")
        page = sess.report(tmp_path / "run.html")

        assert sess.claim == px.load(page).claim
