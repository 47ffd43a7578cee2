"""Families side by side: one column each, and the rows that differ."""

from __future__ import annotations

from prism_explore.widgets.panels.context import Folds, SearchInfo, ViewState
from prism_explore.widgets.panels.panels import sections
from prism_explore.widgets.panels.sections import SideBySide
from tests.widgets.fakes import program
from tests.widgets.panels.test_find import FINISHED, entries


def compared(*families: str, interactive: bool = True) -> SideBySide | None:
    view = ViewState(families=families, interactive=interactive)
    return sections(SearchInfo(program()), Folds(entries(FINISHED)), view).side_by_side


def test_each_family_has_a_column_and_each_property_says_whether_it_differs() -> None:
    found = compared("f1", "f3", "f2")
    assert found is not None and found.table is not None
    rows = {str(r.cells[0]): [c if isinstance(c, str) else c.text for c in r.cells[1:]] for r in found.table.rows}

    assert ["property", "differs", "f1", "f3", "f2"] == [c.label for c in found.table.columns]
    assert ["differs", "proved", "refuted", "unknown"] == rows["status"]
    assert ["differs", "320 µs", "–", "–"] == rows["trial time (measured)"]
    assert ["same", "–", "–", "–"] == rows["final race (measured)"]
    assert "f1.c" in rows["candidate"][1]
    assert all((len(set(texts)) == 1) == (differs == "same") for differs, *texts in rows.values())


def test_fewer_than_two_known_families_are_no_comparison() -> None:
    assert SideBySide((), None) == compared() == compared("f1") == compared("f1", "f99")


def test_a_page_without_python_cannot_compare() -> None:
    assert compared("f1", "f2", interactive=False) is None
