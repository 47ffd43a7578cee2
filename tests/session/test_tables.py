"""`sess.table(name)`: rows of plain data for every table, the same as the explorer counts."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

import prism_explore as px
from prism_explore.events.ledger import ledger
from prism_explore.session.record import Record
from prism_explore.session.tables import TABLES, Rows
from prism_explore.widgets.drawing.text_metrics import columns


@pytest.fixture(scope="module")
def record() -> Record:
    return px.load(Path(__file__).parent.parent / "data" / "saved" / "relu_double.prism")


def test_every_table_is_a_list_of_dicts_that_json_takes(record: Record) -> None:
    for name in TABLES:
        rows = record.table(name)
        assert json.loads(json.dumps(rows)) is not None
        assert len({tuple(row) for row in rows}) <= 1, f"{name}: all rows have the same columns"


def test_the_tables_agree_with_the_ledger(record: Record) -> None:
    book = ledger(record.journal.events)
    assert [r["family"] for r in record.table("families")] == [f.family for f in book.families]
    assert [r["time_s"] for r in record.table("families")] == [f.best_s for f in book.families]
    assert len(record.table("candidates")) == book.funnel.candidates
    assert len(record.table("pruned")) == book.funnel.pruned
    assert len(record.table("nodes")) == book.funnel.expanded
    assert len(record.table("trials")) == len(book.trials)
    assert sum(r["verdict"] == "proved" for r in record.table("candidates")) == book.funnel.proved
    assert len(record.table("log")) == len(record.journal)
    assert sum(r["count"] for r in record.table("reasons")) == sum(c.count for c in book.prune_counts)


def test_the_best_candidate_of_a_family_has_the_familys_time(record: Record) -> None:
    for family in record.table("families"):
        if family["best_candidate"]:
            row = next(c for c in record.table("candidates") if c["candidate"] == family["best_candidate"])
            assert row["time_s"] == family["time_s"]


def test_an_unknown_table_is_named_with_those_that_exist(record: Record) -> None:
    with pytest.raises(px.ShapeError, match="no table 'family'; there are families, candidates"):
        record.table("family")


def test_rows_print_as_a_table_that_fits_a_terminal_and_says_what_is_left_out(record: Record) -> None:
    for name in TABLES:
        rows = record.table(name)
        *lines, last = repr(rows).splitlines()
        assert all(columns(line) <= 120 for line in lines)
        if not rows:
            assert last == "no rows"
            continue
        named = {word for part in last.split("; ") for word in part.partition(": ")[2].split(", ")}
        heads = repr(rows).splitlines()[0].split()
        assert {*heads} | named >= {*rows[0]}, "every column is printed or named"
        assert rows._repr_html_().startswith("<table>")


def test_rows_that_are_not_printed_are_counted() -> None:
    text = repr(Rows({"event": n, "note": ""} for n in range(1_045)))

    assert "1,005 more rows; empty columns: note" == text.splitlines()[-1]
    assert len(text.splitlines()) == 2 + 40 + 1


def test_the_docstring_names_every_table() -> None:
    assert all(f"`{name}`" in str(Record.table.__doc__) for name in TABLES)


def test_a_frame_is_made_by_pandas(record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    pandas = ModuleType("pandas")
    monkeypatch.setattr(pandas, "DataFrame", lambda rows: ("frame", rows), raising=False)
    monkeypatch.setitem(sys.modules, "pandas", pandas)
    assert record.table("nodes", frame=True) == ("frame", record.table("nodes"))


def test_without_pandas_a_frame_is_refused_and_rows_are_not(record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert record.table("nodes")
    with pytest.raises(px.PrismError, match="pip install pandas"):
        record.table("nodes", frame=True)
