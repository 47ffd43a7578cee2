"""The journal: an append-only log of events, which is the only output of a search.

It is passed as an argument; there is no global journal. `save` writes an archive with the events as JSON Lines. `load`
builds the event dataclasses from plain values and executes nothing from the file.
"""

from __future__ import annotations

import gc
import json
import marshal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, cast

from prism_explore.errors import JournalVersionError
from prism_explore.events.archive import FileFormat, archive_bytes, page_element, read_archive, write_archive
from prism_explore.events.event_stream import is_event_stream, read_event_stream
from prism_explore.events.kinds import KINDS, Event, ExplorationStarted, Reason
from prism_explore.events.stored_words import present_words, stored_words
from prism_explore.support.caches import memoize
from prism_explore.support.gc_pause import gc_paused
from prism_explore.support.plain_data import Hook, PlainData

FORMAT = FileFormat("prism-journal", 1, "saved search", ".prism")
_EVENTS = "events.jsonl"
LONGEST_S = 1e10
"""No search takes this long; a file that says so is damaged."""
_MANY = 10_000
"""Number of events from which on a collection of garbage takes long enough to be noticed."""
_to_json = json.JSONEncoder(separators=(",", ":")).encode
_BATCH_CHARACTERS = 200_000
"""Lines that are read together have about so many characters."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An event with its position in the journal and the time at which it was appended."""

    seq: int
    """The position, from 0 on."""
    at_s: float
    """Seconds since the journal was created."""
    event: Event


class Journal:
    """A list of events to which one can only append; listeners are called on the thread that appends."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = clock()
        self._entries: list[Entry] = []
        self._lock = threading.Lock()
        self.listeners: list[Callable[[Entry], None]] = []
        self.saved_as = ""
        """Path of the file that was last written or read; empty for none."""
        self.is_cut = False
        """Whether it was read from an autosaved file whose last event was incomplete, and dropped."""

    def append(self, event: Event) -> Entry:
        """Append an event and call the listeners."""
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
        """The event that has to come next while a saved search is replayed; None in any other journal."""
        return None

    def since(self, seq: int) -> tuple[Entry, ...]:
        """The entries from position `seq` on."""
        with self._lock:
            return tuple(self._entries[seq:])

    @property
    def events(self) -> tuple[Event, ...]:
        """The events without positions and times, so that two searches compare with `==`."""
        return tuple(e.event for e in self.entries)

    def save(self, path: str | Path, manifest: Mapping[str, object] | None = None) -> Path:
        """Write all entries to an archive; an existing file is replaced only after the new one is complete."""
        written = write_archive(path, FORMAT, self._members(), manifest)
        self.saved_as = str(written)
        return written

    def page_element(self, manifest: Mapping[str, object] | None = None) -> str:
        """All entries as an element of an HTML page; `load` reads the page."""
        return page_element(archive_bytes(FORMAT, self._members(), manifest, smallest=True))

    def as_archive(self, manifest: Mapping[str, object] | None = None) -> bytes:
        """What `save` writes to a file."""
        return archive_bytes(FORMAT, self._members(), manifest)

    def _members(self) -> Mapping[str, Iterable[str]]:
        return {_EVENTS: (f"{line_of(e)}\n" for e in self.entries)}

    @classmethod
    def load(cls, path: str | Path) -> Journal:
        """The journal that `save` wrote; `read_events` returns the manifest, too.

        Raises:
            JournalVersionError: the file is no saved search, is damaged, or has a version that this code does not read.
        """
        return cls.parse(read_events(path))

    @classmethod
    def parse(cls, stored: StoredEvents) -> Journal:
        """The journal with the events of a file that was read.

        Raises:
            JournalVersionError: a line is no event that this code reads.
        """
        journal = cls()
        with gc_paused():
            for batch in _batches(stored.text):
                journal._read_batch(batch, stored.path)
        if len(journal) > _MANY:
            gc.collect()  # now, so that the collector does not scan the new events while a user waits for a click
        if journal._entries:
            journal._began = journal._clock() - journal._entries[-1].at_s
        journal.saved_as, journal.is_cut = str(stored.path), stored.is_cut
        return journal

    def _read_batch(self, lines: list[str], path: str | Path) -> None:
        """Append the entries of the next lines."""
        rows = _rows(lines)
        for n, line in enumerate(lines):
            number = len(self._entries)
            try:
                entry = from_plain(json.loads(line) if rows is None else rows[n])
                if entry.seq != number:
                    raise ValueError(f"expected entry {number}, found {entry.seq}")
                self._entries.append(entry)
            except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
                raise JournalVersionError(f"{path}: line {number + 1} of {_EVENTS}: {error}") from None


@dataclass(frozen=True, slots=True)
class StoredEvents:
    """A file of a saved search that was read once: its manifest, and its events as lines of text."""

    path: str | Path
    manifest: Mapping[str, Any]
    text: str
    is_cut: bool
    """Whether the last event of an autosaved file was incomplete, and dropped."""


def read_events(path: str | Path) -> StoredEvents:
    """What `Journal.save` wrote, for `Journal.parse`; the checksums of the file are right.

    Raises:
        JournalVersionError: the file is no saved search, is damaged, or has a version that this code does not read.
    """
    if is_event_stream(path):
        found = read_event_stream(path, FORMAT)
        return StoredEvents(path, found.manifest, "\n".join(found.lines), found.is_cut)
    manifest, (text,) = read_archive(path, FORMAT, (_EVENTS,))
    return StoredEvents(path, manifest, text, False)


def _batches(text: str) -> Iterator[list[str]]:
    """The lines of a text, many at a time, so that they are not all in memory at once."""
    start, end = 0, len(text) - text.endswith("\n")
    while start < end:
        stop = text.find("\n", min(start + _BATCH_CHARACTERS, end), end)
        stop = end if stop < 0 else stop
        yield text[start:stop].split("\n")
        start = stop + 1


def _rows(lines: list[str]) -> list[Any] | None:
    """The values of lines of JSON, read at once; None if they must be read one by one, because one is damaged."""
    try:
        rows = json.loads(f"[{','.join(lines)}]")
    except (ValueError, RecursionError):
        return None
    return rows if len(rows) == len(lines) else None


def read_manifest(path: str | Path) -> dict[str, Any]:
    """The manifest of a saved search.

    Raises:
        JournalVersionError: see `Journal.load`.
    """
    if is_event_stream(path):
        return dict(read_event_stream(path, FORMAT).manifest)
    return read_archive(path, FORMAT, ())[0]


def line_of(entry: Entry) -> str:
    """An entry as a line of a saved search."""
    return _to_json(to_plain(entry))


def to_plain(entry: Entry) -> dict[str, Any]:
    """An entry as JSON-ready data: `seq`, `at_s`, `kind` (the class of the event) and the fields of the event."""
    body = _plain_data().write(_reworded(entry.event, stored_words))
    return {"seq": entry.seq, "at_s": round(entry.at_s, 6), "kind": type(entry.event).__name__, **body}


_BY_NAME: dict[str, type] = {k.__name__: k for k in KINDS}


@cache
def _plain_data() -> PlainData:
    return PlainData({Reason: Hook(_reason, _write_reason, is_strict=True)})


@cache
def _plain_reasons() -> PlainData:
    return PlainData()


def _reason(data: Any) -> Reason:
    """Equal reasons are one object: most regions are pruned for one of a few reasons."""
    return _reason_of(marshal.dumps(data, 2))  # a key only; faster than to write JSON


@memoize(4096)
def _reason_of(key: bytes) -> Reason:
    reason = _plain_reasons().read(Reason, marshal.loads(key))
    sentence, reopens = present_words(reason.sentence), present_words(reason.would_reopen_if)
    return replace(reason, sentence=sentence, would_reopen_if=reopens)


def _write_reason(reason: Reason) -> dict[str, Any]:
    data = _plain_reasons().write(reason)
    return data | {name: stored_words(data[name]) for name in ("sentence", "would_reopen_if")}


def _reworded(event: Event, words: Callable[[str], str]) -> Event:
    """The event with the texts of its search space in other words; those of reasons are read and written by a hook."""
    if not isinstance(event, ExplorationStarted):
        return event
    return replace(event, space={limit: words(text) for limit, text in event.space.items()})


def from_plain(data: Mapping[str, Any]) -> Entry:
    """The inverse of `to_plain`: missing fields take their defaults, unknown fields are refused.

    Raises:
        ValueError: the kind or a field is unknown, or a value has the wrong type.
    """
    body = dict(data)
    seq, at_s, name = body.pop("seq"), body.pop("at_s"), body.pop("kind")
    if name not in _BY_NAME:
        raise ValueError(f"unknown kind of event {name!r}")
    if not isinstance(seq, int) or not isinstance(at_s, int | float) or not abs(at_s) < LONGEST_S:
        raise ValueError(f"seq and at_s must be numbers, the latter below {LONGEST_S:g}")
    event = cast(Event, _plain_data().read(_BY_NAME[name], body))
    return Entry(seq, float(at_s), _reworded(event, present_words))
