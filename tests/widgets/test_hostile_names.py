"""Names that look like markup come out as text in every panel, table, picture, report and terminal."""

from __future__ import annotations

import re
import string
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

import prism_explore as px
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import (
    Bookmarked,
    ExplorationStarted,
    NodeExpanded,
    RegionPruned,
    SearchForked,
    Steered,
)
from prism_explore.ir.text import show
from prism_explore.session.record import Record
from prism_explore.session.tables import TABLES
from prism_explore.support.file_names import file_name
from prism_explore.widgets.drawing.svg import to_svg
from prism_explore.widgets.jupyter.recorded import RecordedSession
from prism_explore.widgets.panels.context import Folds, SearchInfo, ViewState
from prism_explore.widgets.panels.panels import sections
from prism_explore.widgets.report import report_page
from tests.widgets.fakes import PRUNED, program
from tests.widgets.recordings import story

HOSTILE = "<img src=x onerror=alert(1)>[bold red]&amp;\"'</script>"


@pytest.fixture(scope="module")
def record() -> Record:
    journal = Journal(clock=lambda: 0.0)
    journal.append(ExplorationStarted(show(program()), "cpu", 0, {HOSTILE: HOSTILE}, ((HOSTILE, "4"),), (("b", 8),)))
    reason = replace(PRUNED.reason, sentence=HOSTILE, formula=HOSTILE, would_reopen_if=HOSTILE)
    for event in story()[1:]:
        match event:
            case NodeExpanded():
                journal.append(replace(event, operator=f"matmul({HOSTILE})", expression=HOSTILE))
            case RegionPruned():
                journal.append(replace(event, operator=HOSTILE, reason=reason))
            case Steered():
                journal.append(replace(event, note=HOSTILE))
            case _:
                journal.append(event)
    journal.append(Bookmarked("b1", "p3", HOSTILE))
    return Record(journal)


class Tags(HTMLParser):
    """The tags of a page, without the contents of scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not any(name.startswith("on") for name, _ in attrs)


def test_pictures_are_well_formed_and_have_the_name_as_text(record: Record) -> None:
    panels = sections(SearchInfo(program()), Folds(record.journal), ViewState(selection="p3"))
    for scene in (panels.map.scene, panels.map.reasons, panels.graph.scene):
        assert scene is not None
        root = ET.fromstring(to_svg(scene))
        assert {tag.rpartition("}")[2] for tag in (e.tag for e in root.iter())}.isdisjoint({"img", "script"})
    assert "<img src=x" in "".join(ET.fromstring(to_svg(panels.map.scene)).itertext())


def test_the_report_has_the_name_as_data_only(record: Record) -> None:
    page = report_page(RecordedSession(record.journal, record))
    tags = Tags()
    tags.feed(page)
    assert "img" not in tags.tags
    assert tags.tags.count("script") == 3  # the data, the module, and what loads it
    assert HOSTILE not in page


def test_the_page_of_a_comparison_has_the_names_of_both_searches_as_text(record: Record) -> None:
    journal = Journal(clock=lambda: 0.0)
    for event in record.journal.events[:9]:
        journal.append(event)
    journal.append(SearchForked(HOSTILE, 9, HOSTILE, HOSTILE, changes=(HOSTILE,)))
    found = px.compare(record, Record(journal))
    assert found.page is not None
    page = found.page()
    tags = Tags()
    tags.feed(page)
    assert "img" not in tags.tags
    assert tags.tags.count("script") == 3
    assert HOSTILE not in page
    assert "<img" not in found.html and "&lt;img" in found.html


ANY_NAMES = (
    *(HOSTILE, "../../etc/passwd", "\x1b]0;title\x07", "a\r\nb", "x" * 5000, "..", "", "C:\\x", "\u202egpj.exe", "-rf"),
    "日本語" * 99,
)


@pytest.mark.parametrize("name", ANY_NAMES)
def test_a_file_named_after_a_search_stays_in_its_folder(name: str, tmp_path: Path) -> None:
    found = file_name(name)
    (tmp_path / f"{found}.prism").write_text("")

    assert [path.name for path in tmp_path.iterdir()] == [f"{found}.prism"]
    assert re.fullmatch(r"\w[\w.-]{0,59}", found)


def test_a_page_names_the_file_of_its_search(record: Record) -> None:
    assert f'<footer data-file="{program().name}">' in report_page(RecordedSession(record.journal, record))


def test_tables_and_texts_have_the_name_unchanged(record: Record) -> None:
    assert any(HOSTILE in str(value) for row in record.table("pruned") for value in row.values())
    assert record.table("bookmarks")[0]["note"] == HOSTILE
    for name in TABLES:
        record.table(name)
    assert "[bold red]" in record.text("ledger")


def test_what_would_control_a_terminal_or_reorder_its_text_is_written_as_an_escape() -> None:
    active = "\x1b]0;title\x07 \u202eright to left\r\n\ud800"
    journal = Journal(clock=lambda: 0.0)
    journal.append(ExplorationStarted(show(program()), active, 0, {"limit": active}, (), (("b", 8),)))
    for event in story()[1:]:
        is_region = isinstance(event, RegionPruned)
        journal.append(replace(event, reason=replace(event.reason, rule=active)) if is_region else event)
    record = Record(journal)
    printed = "".join([record.text("ledger"), *map(record.text, ("pruned", "families")), repr(record)])

    assert "\\x1b]0;title\\x07 \\u202eright to left\\r" in printed
    assert not set(printed) & set(active) - set(" \n" + string.printable[:94])
    assert any(active in row.values() for row in record.table("pruned"))  # data stays as it is

    usual = Journal(clock=lambda: 0.0)
    usual.append(ExplorationStarted(show(program()), "cpu", 0, {}, (), (("b", 8),)))
    compared = repr(px.compare(record, Record(usual)))
    assert "\\x1b]0;title\\x07" in compared
    assert not set(compared) & set(active) - set(" \n" + string.printable[:94])


def test_the_terminal_prints_brackets_as_they_are(capsys: pytest.CaptureFixture[str], record: Record) -> None:
    from rich.console import Console

    from prism_explore.entry.cli import _prunings_table
    from prism_explore.events.ledger import ledger

    Console(width=400, markup=True).print(_prunings_table(ledger(record.journal.events)))
    assert "[bold red]" in capsys.readouterr().out
