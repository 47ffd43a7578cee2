"""Containers of events that can be read as they were after any number of events.

Entries are added in the order of the journal. `before(n)` is a view of the first `n` events. It shares the data, so it
costs the same at any moment, and reading it needs one binary search per id at most. `version` is the number of changes
within the view: two views of one container with the same version are equal.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left
from collections.abc import Callable, ItemsView, Iterator, Mapping, ValuesView
from itertools import islice
from typing import Any, Generic, TypeVar, cast

from prism_explore.events.journal import Entry

V = TypeVar("V")
Read = Callable[[Any], Any]


def _event(event: object) -> object:
    return event


def _seq(entry: Entry) -> int:
    return entry.seq


class History:
    """All entries."""

    __slots__ = ("_entries", "_limit")

    def __init__(self, entries: list[Entry] | None = None, limit: int = sys.maxsize) -> None:
        self._entries: list[Entry] = [] if entries is None else entries
        self._limit = limit

    def add(self, entry: Entry) -> None:
        """Add the next entry."""
        self._entries.append(entry)

    def before(self, count: int) -> History:
        """The first entries."""
        return History(self._entries, min(count, self._limit))

    def __len__(self) -> int:
        return min(len(self._entries), self._limit)

    version = property(__len__)

    def last(self, count: int) -> tuple[Entry, ...]:
        """The last entries, oldest first."""
        end = len(self)
        return tuple(self._entries[max(0, end - count) : end])

    def between(self, start: int, end: int) -> list[Entry]:
        """The entries from one position to another."""
        return self._entries[start:end]

    def __iter__(self) -> Iterator[Entry]:
        return islice(self._entries, len(self))

    def __reversed__(self) -> Iterator[Entry]:
        """The entries, newest first."""
        return (self._entries[i] for i in range(len(self) - 1, -1, -1))


class _Log:
    """The data that all views of one container share."""

    __slots__ = ("changes", "entries", "firsts")

    def __init__(self) -> None:
        self.entries: dict[str, list[Entry] | Entry] = {}
        """Per id its entries, oldest first; a single entry without a list, because most ids have one."""
        self.firsts = array("q")
        """Per id, the position of its first entry; ascending."""
        self.changes = array("q")
        """Positions of the further entries of ids; ascending."""

    def put(self, key: str, entry: Entry) -> None:
        """Add an entry of an id."""
        known = self.entries.setdefault(key, entry)
        if known is entry:
            self.firsts.append(entry.seq)
            return
        self.changes.append(entry.seq)
        if isinstance(known, list):
            known.append(entry)
        else:
            self.entries[key] = [known, entry]


class _Items(ItemsView[str, V]):
    """Ids and values, which can be read backwards."""

    def __reversed__(self) -> Iterator[tuple[str, V]]:
        mapping = cast("_View[V]", self._mapping)
        return ((key, mapping[key]) for key in reversed(mapping))


class _Values(ValuesView[V]):
    """Values, which can be read backwards."""

    def __reversed__(self) -> Iterator[V]:
        mapping = cast("_View[V]", self._mapping)
        return (mapping[key] for key in reversed(mapping))


class _View(Mapping[str, V]):
    """A view of a log up to a position."""

    __slots__ = ("_limit", "_log", "_read", "put")

    def __init__(self, read: Read = _event, log: _Log | None = None, limit: int = sys.maxsize) -> None:
        self._read = read
        self._log = _Log() if log is None else log
        self._limit = limit
        self.put = self._log.put
        """Adds an entry of an id."""

    @property
    def version(self) -> int:
        """The number of entries in the view."""
        return len(self) + bisect_left(self._log.changes, self._limit)

    def __len__(self) -> int:
        return bisect_left(self._log.firsts, self._limit)

    def __iter__(self) -> Iterator[str]:
        return islice(self._log.entries, len(self))

    def __reversed__(self) -> Iterator[str]:
        """The ids, newest first."""
        return reversed(tuple(self))

    def items(self) -> _Items[V]:
        """Ids and values, oldest first."""
        return _Items(self)

    def values(self) -> _Values[V]:
        """The values, oldest first."""
        return _Values(self)

    def __contains__(self, key: object) -> bool:
        found = self._log.entries.get(cast("str", key))
        first = found[0] if isinstance(found, list) else found
        return first is not None and first.seq < self._limit

    def seq(self, key: str) -> int:
        """The position of the first event of an id.

        Raises:
            KeyError: no such id.
        """
        found = self._entries(key)
        if not found:
            raise KeyError(key)
        return found[0].seq

    def _entries(self, key: str) -> list[Entry]:
        """The entries of an id in the view, oldest first; empty for an unknown id."""
        found = self._log.entries.get(key, [])
        entries = found if isinstance(found, list) else [found]
        if not entries or entries[-1].seq < self._limit:
            return entries
        return entries[: bisect_left(entries, self._limit, key=_seq)]


class Timeline(_View[V], Generic[V]):
    """Per id, its last event.

    Args:
        read: the value of an event; by default the event itself.
    """

    __slots__ = ()

    def before(self, count: int) -> Timeline[V]:
        """The mapping after the first `count` events."""
        return Timeline(self._read, self._log, min(count, self._limit))

    def __getitem__(self, key: str) -> V:
        found = self._entries(key)
        if not found:
            raise KeyError(key)
        return self._read(found[-1].event)


class Groups(_View[tuple[V, ...]], Generic[V]):
    """Per id, all its events, oldest first.

    Args:
        read: the value of an event; by default the event itself.
    """

    __slots__ = ()

    def before(self, count: int) -> Groups[V]:
        """The mapping after the first `count` events."""
        return Groups(self._read, self._log, min(count, self._limit))

    def __getitem__(self, key: str) -> tuple[V, ...]:
        found = self._entries(key)
        if not found:
            raise KeyError(key)
        return tuple(self._read(entry.event) for entry in found)

    def first(self, key: str, count: int) -> tuple[V, ...]:
        """The first events of an id."""
        return tuple(self._read(entry.event) for entry in self._entries(key)[:count])
