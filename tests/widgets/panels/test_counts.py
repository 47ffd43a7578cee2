"""Counts agree: header, map, bars of reasons, ledger, tables, overview and the claim."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from prism_explore.events.claim import shown_claim
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import Event, RegionPruned
from prism_explore.events.ledger import THINGS, ledger
from prism_explore.widgets.panels.context import Folds, SearchInfo, ViewState
from prism_explore.widgets.panels.panels import sections
from prism_explore.widgets.panels.sections import Cell, Sections
from prism_explore.widgets.panels.tables import TABLES
from tests.widgets.fakes import FakeSession, program
from tests.widgets.recordings import large, story

SAVED = Path(__file__).parent.parent.parent / "data" / "saved"
SEARCHES: dict[str, tuple[Event, ...]] = {
    "story": story(),
    "first half": story()[:20],
    "large": tuple(large(400)),
    **{path.stem: tuple(e.event for e in Journal.load(path).entries) for path in sorted(SAVED.glob("*.prism"))},
}


def shown(events: Sequence[Event]) -> Sections:
    return sections(SearchInfo(program(), state="finished"), Folds(FakeSession(events).journal.entries), ViewState())


def number(text: str) -> int:
    found = re.search(r"[\d,]+", text)
    return int(found.group().replace(",", "")) if found else 0


def column(rows: Sequence[Sequence[str | Cell]], at: int) -> int:
    cells = [row[at] for row in rows]
    return sum(int(c.sort or 0) for c in cells if isinstance(c, Cell))


@pytest.mark.parametrize("name", SEARCHES)
def test_pruned_regions_are_the_same_number_everywhere(name: str) -> None:
    events = SEARCHES[name]
    seen, book = shown(events), ledger(events)
    regions = sum(isinstance(e, RegionPruned) for e in events)
    header = next(c for c in seen.transport.counters if c.label == "subtrees pruned")
    overview = dict(seen.inspector.details) if seen.inspector else {}
    bars = [s for s in seen.map.reasons.shapes if s.role == "block" and s.id.endswith("/region")]

    assert regions == book.funnel.pruned == book.prunings(what="region")
    assert regions == number(header.value) == number(overview["subtrees pruned"])
    assert regions == number(seen.map.summary.split("expanded, ")[1])
    assert regions == sum(s.count for s in bars)
    assert regions == column([r.cells for r in seen.ledger.soundness.rows], 1)
    assert f"{regions:,} subtrees pruned" in " ".join(seen.map.scene.desc.split())


@pytest.mark.parametrize("name", SEARCHES)
def test_every_kind_of_pruning_has_one_number(name: str) -> None:
    seen, book = shown(SEARCHES[name]), ledger(SEARCHES[name])
    rows = [
        r.cells
        for r in seen.ledger.soundness.rows
        if not (isinstance(r.cells[0], Cell) and r.cells[0].text == "unknown")
    ]

    for at, what in enumerate(THINGS, 1):
        listed = [r.cells[3] for r in seen.ledger.reasons.rows]
        total = sum(int(c.sort or 0) for c in listed if isinstance(c, Cell) and c.text.endswith(f" {THINGS[what]}"))
        bars = sum(s.count for s in seen.map.reasons.shapes if s.role == "block" and s.id.endswith(f"/{what}"))
        assert book.prunings(what=what) == column(rows, at) == total == bars, what
    assert book.funnel.maps_rejected == book.prunings(what="maps")
    assert book.funnel.bounded == book.prunings(what="candidate")
    assert book.prunings() == sum(book.by_soundness().values())


@pytest.mark.parametrize("name", SEARCHES)
def test_the_cuts_of_the_claim_are_explained_by_the_ledger(name: str) -> None:
    seen, book = shown(SEARCHES[name]), ledger(SEARCHES[name])
    said = re.search(r"sound rules \(([\d,]+) prunings?\)", shown_claim(book))
    meaning = str(seen.ledger.soundness.rows[0].cells[-1])

    assert said is not None
    assert f"The result counts {said.group(1)} prunings: subtrees and choices of maps." in meaning


@pytest.mark.parametrize("name", SEARCHES)
def test_no_two_bars_of_reasons_have_the_same_label(name: str) -> None:
    for labels in (_labels(name, 240), _labels(name, 420), _labels(name, 960)):
        assert len(labels) == len(set(labels))


def _labels(name: str, width: int) -> list[str]:
    info, folds = SearchInfo(program()), Folds(FakeSession(SEARCHES[name]).journal.entries)
    scene = sections(info, folds, ViewState(map_px=width)).map.reasons
    return [s.texts[1].text for s in scene.shapes if s.id.endswith("#label")]


@pytest.mark.parametrize("name", SEARCHES)
def test_tables_in_the_terminal_have_the_same_numbers(name: str) -> None:
    journal, book = FakeSession(SEARCHES[name]).journal, ledger(SEARCHES[name])
    text = TABLES["ledger"](journal.entries)
    lines = {
        line.rsplit("  ", 1)[0].strip(): line.rsplit("  ", 1)[-1].strip() for line in text.splitlines() if "  " in line
    }

    assert f"{book.funnel.pruned:,}" == lines["subtrees pruned"]
    assert f"{book.funnel.maps_rejected:,}" == lines["choices of maps forbidden"]
    assert f"{book.funnel.proved:,}" == lines["proved"]
