"""What was read of a journal so far: its ledger, and its events by kind.

A reading continues where the last one ended, so that asking a long search for one thing after another takes time for
new events only. The slow plain truth is `ledger(journal.events)` and a scan of all events.
"""

from __future__ import annotations

import threading
from typing import Any, TypeVar, cast

from prism_explore.events.journal import Journal
from prism_explore.events.kinds import KINDS, Event, RegionPruned
from prism_explore.events.ledger import Fold, Ledger

E = TypeVar("E")


class JournalIndex:
    """An index of one journal; any thread may read it."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self._lock = threading.Lock()
        self._seen = 0
        self._fold = Fold()
        self._by_kind: dict[type, list[Event]] = {kind: [] for kind in KINDS}
        self._tuples: dict[type, tuple[Event, ...]] = dict.fromkeys(KINDS, ())
        """The events of a kind when they were last asked for."""

    @property
    def ledger(self) -> Ledger:
        """The ledger of all events so far."""
        with self._lock:
            self._read()
            return self._fold.value()

    def of(self, kind: type[E]) -> tuple[E, ...]:
        """All events of a kind, in order.

        Args:
            kind: a class of `events.kinds`, or a base class of some.
        """
        if kind not in self._by_kind:
            return tuple(event for event in self.journal.events if isinstance(event, kind))
        with self._lock:
            self._read()
            found = self._by_kind[kind]
            if len(self._tuples[kind]) != len(found):
                self._tuples[kind] = tuple(found)
            return cast("tuple[Any, ...]", self._tuples[kind])

    def region(self, region: str) -> RegionPruned | None:
        """The pruning of a subtree; None if there is none of this id.

        Args:
            region: its id; the nth one is called pn.
        """
        regions = self.of(RegionPruned)
        number = int(region[1:]) if region[1:].isascii() and region[1:].isdecimal() and len(region) < 20 else 0
        if 0 < number <= len(regions) and regions[number - 1].region == region:
            return regions[number - 1]
        return next((event for event in regions if event.region == region), None)

    def _read(self) -> None:
        """Read the new events; the lock is held."""
        if len(self.journal) == self._seen:
            return
        for entry in self.journal.since(self._seen):
            self._fold.add(entry.event)
            self._by_kind[type(entry.event)].append(entry.event)
            self._seen += 1
