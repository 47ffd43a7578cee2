"""The index of a journal gives what a scan of all events gives, and is not slower for long searches."""

from __future__ import annotations

import pytest

from prism_explore.events.journal import Journal
from prism_explore.events.kinds import KINDS, RegionPruned
from prism_explore.events.ledger import ledger
from prism_explore.session.journal_index import JournalIndex
from prism_explore.session.pruned import Pruned
from prism_explore.session.record import Record
from tests.widgets.made_up_search import made_up_search

EVENTS = tuple(made_up_search(3_000, seed=5))


@pytest.mark.parametrize("read_at", [(), (0, 1, 700, 701, 2_999)], ids=["at once", "in parts"])
def test_what_is_read_is_what_a_scan_of_all_events_finds(read_at: tuple[int, ...]) -> None:
    journal = Journal()
    index = JournalIndex(journal)
    for n, event in enumerate(EVENTS):
        journal.append(event)
        if n in read_at:
            assert index.ledger == ledger(EVENTS[: n + 1])
            assert index.of(RegionPruned) == tuple(e for e in EVENTS[: n + 1] if isinstance(e, RegionPruned))

    assert index.ledger == ledger(EVENTS)
    for kind in (*KINDS, object):
        assert index.of(kind) == tuple(e for e in EVENTS if isinstance(e, kind))


def test_each_region_is_found_by_its_id() -> None:
    journal = Journal()
    for event in EVENTS:
        journal.append(event)
    pruned = Record(journal).pruned
    regions = [e for e in EVENTS if isinstance(e, RegionPruned)]

    assert [pruned[region.region].event for region in regions] == regions
    for unknown in ("p0", f"p{len(regions) + 1}", "p²", "p-1", "p" + "9" * 5_000, "q1", "p", ""):
        assert unknown not in pruned


def test_regions_with_other_ids_are_found_too() -> None:
    journal = Journal()
    for event in (e for e in EVENTS if isinstance(e, RegionPruned) and e.region != "p1"):
        journal.append(event)
    pruned = Record(journal).pruned

    assert pruned["p2"].event.region == "p2"
    assert "p1" not in pruned


class CountingJournal(Journal):
    """Counts the entries that are read of it."""

    read = 0

    def since(self, seq: int) -> tuple:
        found = super().since(seq)
        self.read += len(found)
        return found


def test_a_handle_per_family_and_region_reads_the_journal_once() -> None:
    journal = CountingJournal()
    for event in EVENTS:
        journal.append(event)
    record = Record(journal)
    for family in record.families.values():
        assert family.row.family == family.id
        assert family.floats is None or family.floats.family == family.id
    assert len(list(Pruned(record).values())) == len(record.of(RegionPruned))
    assert record.claim and record.near_misses is not None

    assert journal.read == len(EVENTS)
