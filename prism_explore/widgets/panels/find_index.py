"""One find over everything that a search has: objects, reasons, lemmas, code and the log, listed in the browser or not.

`FindIndex` reads entries one by one and keeps their texts in lower case, in blocks that are searched as one string
each. A search that continues the last one, because events were added, reads only the new texts. The order of the
matches is that of the events, but an id that equals the text comes first.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from prism_explore.events import kinds
from prism_explore.events.journal import Entry
from prism_explore.widgets.panels.event_text import log_line
from prism_explore.widgets.refs import eclass_id, member_ref, tensor_name
from prism_explore.widgets.views.tuning import parameters_text

MAX_MATCHES = 10_000
"""Largest number of matches that are counted; the text says `10,000+` beyond."""
BLOCK_RECORDS = 2_048
MAX_TEXT_CHARACTERS = 200
"""Largest length of the text to find."""

PANEL_OF: Mapping[str, str] = {
    "node": "map",
    "pruned subtree": "map",
    "family": "families",
    "candidate": "graph",
    "tensor": "graph",
    "e-class": "eclasses",
    "lemma": "eclasses",
    "trial": "tuning",
    "code": "code",
    "reason": "ledger",
    "bookmark": "bookmarks",
    "event": "ledger",
}
"""Per kind of object, the panel that shows it."""


class Found(NamedTuple):
    """An object with a text that can be found."""

    kind: str
    ref: str
    text: str


@dataclass(slots=True)
class _Block:
    """The texts of consecutive records as one string in lower case, in UTF-8: half the bytes of a `str` with a `≥`."""

    first: int
    """Number of its first record."""
    text: bytearray = field(default_factory=bytearray)
    starts: list[int] = field(default_factory=list[int])
    """Where each record starts in `text`; a list, because bisection in an `array` makes an `int` per comparison."""

    def append(self, line: str) -> None:
        """Add the text of the next record."""
        self.starts.append(len(self.text))
        self.text += line.encode("utf-8", "surrogatepass") + b"\n"

    def hits(self, needle: bytes, first: int) -> list[int]:
        """Numbers of the records with the needle, from record number `first` on."""
        find, starts, last = self.text.find, self.starts, len(self.starts) - 1
        found: list[int] = []
        place = starts[first - self.first] if first > self.first else 0
        while (place := find(needle, place)) >= 0:
            record = bisect_right(starts, place) - 1
            found.append(self.first + record)
            if record == last:
                break
            place = starts[record + 1]
        return found


class FindIndex:
    """The texts of all entries so far, and the last search in them."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._seqs = array("q")
        """Per record, the position of its event."""
        self._parts = array("q")
        """Per record, its number among those of its event."""
        self._kinds: list[str] = []
        self._refs: list[str] = []
        self._objects: list[int] = []
        """Per record, the first record of the same object: an object with two texts is one match."""
        self._first_of: dict[str, dict[str, int]] = defaultdict(dict)
        """Per kind and reference, the first record."""
        self._blocks: list[_Block] = []
        self._needle = ""
        self._searched = 0
        """Number of records that the last search has read."""
        self._matches: list[int] = []
        self._seen: set[int] = set()
        """Objects of the matches."""
        self._is_full = False
        self._answer: tuple[tuple[str, int, int], tuple[int, ...]] | None = None
        """The last answer of `find`, and the question: needle, number of events, number of records."""

    @property
    def count(self) -> int:
        """Number of entries that were read."""
        return len(self._entries)

    def extend(self, entries: Iterable[Entry]) -> None:
        """Read entries."""
        for entry in entries:
            self._entries.append(entry)
            for part, found in enumerate(records(entry.event)):
                kind, ref, number = found.kind, found.ref, len(self._seqs)
                first = number if kind == "event" else self._first_of[kind].setdefault(ref, number)
                if kind == "reason" and first != number:
                    continue
                if not self._blocks or len(self._blocks[-1].starts) >= BLOCK_RECORDS:
                    self._blocks.append(_Block(number))
                self._blocks[-1].append(f"{ref} {found.text}".lower())
                self._seqs.append(entry.seq)
                self._parts.append(part)
                self._kinds.append(kind)
                self._refs.append(ref)
                self._objects.append(first)

    def find(self, text: str, before: int) -> tuple[int, ...]:
        """Numbers of the records with a text, of the first `before` events; at most `MAX_MATCHES`, each object once.

        An id that equals the text comes first, then they are in the order of the events.
        """
        needle = needle_of(text)
        question = (needle, before, len(self._seqs))
        if self._answer is None or self._answer[0] != question:
            self._answer = question, self._find(needle, before)
        return self._answer[1]

    def _find(self, needle: str, before: int) -> tuple[int, ...]:
        if needle != self._needle:
            self._needle, self._searched, self._matches, self._is_full = needle, 0, [], False
            self._seen = set()
        if needle and not self._is_full:
            self._search()
        found = self._matches[: bisect_left(self._matches, bisect_left(self._seqs, before))]
        exact = [m for m in found if self._refs[m].lower() == needle]
        return (*exact, *(m for m in found if self._refs[m].lower() != needle)) if exact else tuple(found)

    def _search(self) -> None:
        needle, seen = self._needle.encode("utf-8", "surrogatepass"), self._seen
        for block in self._blocks:
            if block.first + len(block.starts) <= self._searched:
                continue
            for record in block.hits(needle, self._searched):
                described = self._objects[record]
                if described in seen:
                    continue
                seen.add(described)
                self._matches.append(record)
                if len(self._matches) >= MAX_MATCHES:
                    self._is_full = True
                    return
        self._searched = len(self._seqs)

    def __getitem__(self, record: int) -> Found:
        found = list(records(self._entries[self._seqs[record]].event))
        return found[self._parts[record]]

    def kinds(self, matches: Iterable[int]) -> Counter[str]:
        """How many of these records there are per kind, a key of `PANEL_OF`."""
        return Counter(map(self._kinds.__getitem__, matches))

    def seq(self, record: int) -> int:
        """The position of the event of a record."""
        return self._seqs[record]


# ---------------------------------------------------------------- the texts of an event
def records(event: kinds.Event) -> Iterator[Found]:
    """What can be found of an event."""
    match event:
        case kinds.NodeExpanded():
            yield Found("node", event.node, f"{event.operator} {event.expression}")
        case kinds.RegionPruned():
            yield Found("pruned subtree", event.region, f"{event.operator} {_reason_text(event.reason)}")
            yield _reason(event.reason)
        case kinds.FamilyCompleted():
            yield Found("family", event.family, f"completed at {event.node}")
            yield from _tensors(event.family, event.sgraph)
        case kinds.CandidateInstantiated():
            yield Found("candidate", event.candidate, " ".join((*event.uses, *event.conditions)))
            yield from _tensors(event.candidate, event.sgraph)
        case kinds.VerdictReached():
            yield Found("candidate", event.candidate, f"{event.verdict} {event.method} {event.detail}")
            for name, term, members in event.classes:
                text = f"{term} {' '.join(members)}"
                yield Found("e-class", eclass_id(event.candidate, name), text)
        case kinds.CertificateReplayed():
            for tensor, operation, value, axioms, _, note in event.lemmas:
                text = " ".join((operation, value, *axioms, note))
                yield Found("lemma", member_ref(event.candidate, tensor), text)
        case kinds.ParametersProposed():
            yield Found("trial", event.trial, f"{event.candidate} {parameters_text(event.parameters)}")
        case kinds.KernelGenerated():
            yield Found("code", event.trial, event.source)
        case kinds.TrialFailed():
            yield Found("trial", event.trial, _reason_text(event.reason))
            yield _reason(event.reason)
        case kinds.CandidateRejected() | kinds.CandidateBounded():
            yield _logged(event)
            yield _reason(event.reason)
        case kinds.Bookmarked() if not event.deleted:
            yield Found("bookmark", event.bookmark, f"{event.ref} {event.note}")
        case kinds.SaturationStepped() | kinds.TrialMeasured() | kinds.Bookmarked():
            pass
        case _:
            yield _logged(event)


def _logged(event: kinds.Event) -> Found:
    line = log_line(event)
    return Found("event", line.ref, line.text)


def _reason_text(reason: kinds.Reason) -> str:
    return f"{reason.code} {reason.rule} {reason.soundness}: {reason.sentence} {reason.formula}"


def _reason(reason: kinds.Reason) -> Found:
    return Found("reason", reason.code, f"{reason.rule} {reason.soundness} {reason.sentence}")


_BLOCK_LINE = re.compile(r"    %(\d+) = ")


def _tensors(owner: str, sgraph: str) -> Iterator[Found]:
    """The tensors of a graph, from its text: two spaces before a kernel-level line, four before one of a block."""
    position = -1
    for line in sgraph.splitlines()[1:]:
        if (inner := _BLOCK_LINE.match(line)) is not None:
            yield Found("tensor", member_ref(owner, tensor_name(position, int(inner[1]))), line.strip())
        elif not line.startswith("  return"):
            position += 1
            yield Found("tensor", member_ref(owner, tensor_name(position)), line.strip())


def needle_of(text: str) -> str:
    """A text to find in the form in which texts are compared."""
    return " ".join(text.lower().split())
