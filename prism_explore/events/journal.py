"""The journal: an append-only record of facts, and the only channel out of the engine.

It is passed as an argument, never global. `save` writes a zip of a manifest and JSON Lines; `load`
builds dataclasses from plain values and runs nothing that the file says.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

from prism_explore.errors import JournalVersionError
from prism_explore.events.archive import read_archive, write_archive
from prism_explore.events.kinds import KINDS, Event
from prism_explore.support.plain_data import PlainData

VERSION = 1
FORM, MEMBER, WHAT = "prism-journal", "events.jsonl", ("saved search", ".prism")


@dataclass(frozen=True, slots=True)
class Entry:
    """A fact in its envelope: its number and when it was noted, in seconds since the journal began."""

    seq: int
    at_s: float
    event: Event


class Journal:
    """Facts in order; listeners hear each one on the thread that noted it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = clock()
        self._entries: list[Entry] = []
        self._lock = threading.Lock()
        self.listeners: list[Callable[[Entry], None]] = []

    def append(self, event: Event) -> Entry:
        """Append a fact."""
        with self._lock:
            entry = Entry(len(self._entries), self._clock() - self._began, event)
            self._entries.append(entry)
        for listener in tuple(self.listeners):
            listener(entry)
        return entry

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All entries so far."""
        return self.since(0)

    @property
    def next_saved(self) -> Event | None:
        """The fact that must be noted next, where a saved search is told again; None in any other journal."""
        return None

    def since(self, seq: int) -> tuple[Entry, ...]:
        """Entries numbered `seq` and later."""
        with self._lock:
            return tuple(self._entries[seq:])

    @property
    def events(self) -> tuple[Event, ...]:
        """The facts without their envelopes; two runs' compare with `==`."""
        return tuple(e.event for e in self.entries)

    def save(self, path: str | Path, manifest: Mapping[str, object] | None = None) -> Path:
        """Write everything to a zip at `path`, replacing it only when the new file is whole."""
        lines = "".join(json.dumps(to_plain(e), separators=(",", ":")) + "\n" for e in self.entries)
        return write_archive(path, FORM, VERSION, {MEMBER: lines}, manifest)

    @classmethod
    def load(cls, path: str | Path) -> Journal:
        """The journal that was saved; see `read_manifest` for its head.

        Raises:
            JournalVersionError: not a saved search, damaged, or of a version this code does not read.
        """
        _, (text,) = read_archive(path, FORM, VERSION, (MEMBER,), WHAT)
        lines = text.split("\n")
        journal = cls()
        for number, line in enumerate(lines[: -1 if not lines[-1] else None], 1):
            try:
                entry = from_plain(json.loads(line))
                if entry.seq != number - 1:
                    raise ValueError(f"expected entry {number - 1}, found {entry.seq}")
                journal._entries.append(entry)
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                raise JournalVersionError(f"{path}: line {number} of events.jsonl: {error}") from None
        if journal._entries:
            journal._began = journal._clock() - journal._entries[-1].at_s
        return journal


def read_manifest(path: str | Path) -> dict[str, Any]:
    """The head of a saved search.

    Raises:
        JournalVersionError: see `Journal.load`.
    """
    return read_archive(path, FORM, VERSION, (MEMBER,), WHAT)[0]


def to_plain(entry: Entry) -> dict[str, Any]:
    """An entry as JSON-ready data: seq, at_s, kind and the fact's own fields."""
    body = _plain_data().write(entry.event)
    return {"seq": entry.seq, "at_s": round(entry.at_s, 6), "kind": type(entry.event).__name__, **body}


_BY_NAME: dict[str, type] = {k.__name__: k for k in KINDS}


@cache
def _plain_data() -> PlainData:
    return PlainData()


def from_plain(data: Mapping[str, Any]) -> Entry:
    """The entry that `to_plain` spelled; unknown fields are refused, missing ones take their defaults.

    Raises:
        ValueError: an unknown kind, field or value of the wrong type.
    """
    body = dict(data)
    seq, at_s, name = body.pop("seq"), body.pop("at_s"), body.pop("kind")
    if name not in _BY_NAME:
        raise ValueError(f"unknown kind of event {name!r}")
    if not isinstance(seq, int) or not isinstance(at_s, int | float):
        raise ValueError("seq and at_s must be numbers")
    return Entry(seq, float(at_s), cast(Event, _plain_data().read(_BY_NAME[name], body)))
