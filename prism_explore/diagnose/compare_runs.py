"""Comparison of two searches: settings, counts, prunings, families, winners, search trees, and the first difference.

Input: two journals, of live or saved searches; they are called A and B. Families are matched by the canonical form of
their graphs, since their ids may differ; `merged_tree` matches the steps of the enumeration.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from html import escape
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from prism_explore.diagnose.merged_tree import MergedTree
from prism_explore.errors import ShapeError
from prism_explore.events import kinds
from prism_explore.events.format import count_text, seconds_text
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import Event
from prism_explore.events.ledger import FamilyRow, Ledger, ledger
from prism_explore.generate.canonical_order import ExpressionNumbers
from prism_explore.ir.text import parse
from prism_explore.support.terminal_text import terminal_text
from prism_explore.support.whole_files import write_whole

_ABSENT = "–"


class Recorded(Protocol):
    """Anything with a journal: a session, or a saved search."""

    @property
    def journal(self) -> Journal:
        """The events."""
        ...


Run: TypeAlias = "Recorded | str | Path"


@dataclass(frozen=True, slots=True)
class Line:
    """One compared property, with its text in each search."""

    name: str
    first: str
    second: str

    @property
    def differs(self) -> bool:
        """Whether the two texts differ."""
        return self.first != self.second


@dataclass(frozen=True, slots=True)
class FamilyPair:
    """A family of A and the same one of B; None where the search does not have it."""

    rows: tuple[FamilyRow | None, FamilyRow | None]
    sgraph: str

    @property
    def ratio(self) -> float | None:
        """The time in B divided by the time in A, measured; None unless both were timed."""
        a, b = (row.best_s if row is not None else None for row in self.rows)
        return b / a if a and b else None


@dataclass(frozen=True, slots=True)
class FirstDivergence:
    """The first events that differ in what matters: not in measured times, and not in what the user noted."""

    numbers: tuple[int, int]
    """Per search, the number of the event, counted from 1."""
    events: tuple[Event | None, Event | None]
    """None where the search has no further event."""


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Comparison of two searches; prints the differences, and is a window of both in a notebook."""

    settings: tuple[Line, ...]
    """Program, target, sizes, and every line of the stated space."""
    counts: tuple[Line, ...]
    """How many items reached each stage, and the best time."""
    prunings: tuple[Line, ...]
    """Number of prunings per rule and kind."""
    families: tuple[Line, ...]
    """Per family of either search, its id and status."""
    graphs: tuple[str, ...]
    """The sGraph of each of `families`."""
    first_difference: int | None
    """Number of the first event that differs in any value; None where one journal is a prefix of the other."""
    event_counts: tuple[int, int]
    """Number of events of each search."""
    pairs: tuple[FamilyPair, ...]
    """The same families as data."""
    divergence: FirstDivergence | None
    """None if no event differs in what matters."""
    tree: MergedTree = field(compare=False, repr=False)
    """Both search trees in one."""
    runs: tuple[Recorded, Recorded] = field(compare=False, repr=False)
    """The two searches."""
    window: Callable[[], Any] | None = field(default=None, compare=False, repr=False)
    """Makes the window that a notebook shows; None to show tables."""
    page: Callable[[], str] | None = field(default=None, compare=False, repr=False)
    """Makes the page that `report` writes."""

    def report(self, path: str | Path) -> Path:
        """Write the window of both searches as one HTML file that opens anywhere, without network and Python.

        Args:
            path: the file; an existing one is replaced.

        Returns:
            The path of the file.

        Raises:
            ShapeError: the comparison was not made by `px.compare`.
        """
        if self.page is None:
            raise ShapeError("only a comparison made by px.compare(one, other) has a report")
        write_whole(Path(path), self.page().encode(), durable=True)
        return Path(path)

    @property
    def only_one(self) -> tuple[str, ...]:
        """Families only in the first search, as text."""
        return tuple(pair.sgraph for pair in self.pairs if pair.rows[1] is None)

    @property
    def only_other(self) -> tuple[str, ...]:
        """Families only in the second search, as text."""
        return tuple(pair.sgraph for pair in self.pairs if pair.rows[0] is None)

    @property
    def text(self) -> str:
        """The differences in a few sentences."""
        only_a, only_b = len(self.only_one), len(self.only_other)
        both = len(self.pairs) - only_a - only_b
        differing = sum(line.differs for line in self.settings)
        sentences = [
            f"{count_text(both, 'family', 'families')} in both, {only_a} only in A, {only_b} only in B.",
            f"{count_text(differing, 'setting differs', 'settings differ')}."
            if differing
            else "The settings are the same.",
        ]
        if self.first_difference is None and self.event_counts[0] == self.event_counts[1]:
            sentences.append(f"All {self.event_counts[0]:,} events are the same.")
        elif self.divergence is None:
            sentences.append("No event differs but in measured times.")
        else:
            sentences.append(self._divergence_text(self.divergence))
        return " ".join((*sentences, self.winners))

    @property
    def winners(self) -> str:
        """The best kernel of each search, and the ratio of their times."""
        best = [self._winner(side) for side in (0, 1)]
        times = [row.best_s if row is not None else None for row in best]
        texts = [
            f"{row.family} {seconds_text(row.best_s)}" if row is not None and row.best_s else "no timed kernel"
            for row in best
        ]
        a, b = times
        if not a and not b:
            return "Neither search has timed a kernel."
        ratio = f"; B takes {b / a:.3g} times as long" if a and b else ""
        return f"Best of A: {texts[0]}; best of B: {texts[1]}{ratio}."

    def _winner(self, side: int) -> FamilyRow | None:
        rows = (pair.rows[side] for pair in self.pairs)
        return next((row for row in rows if row is not None and row.is_best), None)

    def _divergence_text(self, found: FirstDivergence) -> str:
        a, b = (_event_name(event) for event in found.events)
        return f"They diverge at event {found.numbers[0]:,} of A, {a}, and event {found.numbers[1]:,} of B, {b}."

    def _groups(self) -> Iterator[tuple[str, tuple[Line, ...]]]:
        yield "settings", self.settings
        yield "counts", self.counts
        yield "prunings", self.prunings
        yield "families", self.families

    def __repr__(self) -> str:
        lines = [self.text]
        for title, group in self._groups():
            differing = [line for line in group if line.differs]
            lines.append(f"{title}: {len(differing)} of {len(group)} differ")
            lines += [f"  {line.name}: {line.first}  |  {line.second}" for line in differing]
        return terminal_text("\n".join(lines))

    def _repr_mimebundle_(self, **_: object) -> Any:
        if self.window is not None:
            return self.window()._repr_mimebundle_()
        return {"text/plain": repr(self), "text/html": self.html}

    def _ipython_display_(self) -> None:
        if self.window is None:
            raise NotImplementedError  # IPython shows the bundle then
        self.window()._ipython_display_()

    @property
    def html(self) -> str:
        """All lines as HTML tables, with differing lines first and in bold."""
        parts = [f"<p>{escape(self.text)}</p>"]
        for title, group in self._groups():
            differing = sum(line.differs for line in group)
            rows = "".join(
                f"<tr{' style=font-weight:bold' if line.differs else ''}><td>{'≠' if line.differs else ''}</td>"
                f"<td style=text-align:left>{escape(line.name)}</td><td>{escape(line.first)}</td>"
                f"<td>{escape(line.second)}</td></tr>"
                for line in sorted(group, key=lambda line: not line.differs)
            )
            head = "<tr><th></th><th></th><th>A</th><th>B</th></tr>"
            parts.append(
                f"<details{' open' if differing else ''}><summary>{title}: {differing} of {len(group)} differ</summary>"
                f"<table>{head}{rows}</table></details>"
            )
        return "".join(parts)


def compare_runs(one: Recorded, other: Recorded) -> RunComparison:
    """Compare two searches.

    Args:
        one: search A.
        other: search B.

    Returns:
        The two searches line by line; printing it shows what differs.
    """
    a, b = one.journal.events, other.journal.events
    first, second = ledger(a), ledger(b)
    pairs = _pair_families(first.families, second.families)
    return RunComparison(
        _pair_lines(_settings(first), _settings(second)),
        _pair_lines(_counts(first), _counts(second)),
        _pair_lines(_prunings(first), _prunings(second)),
        tuple(_family_line(pair) for pair in pairs),
        tuple(pair.sgraph for pair in pairs),
        next((n for n, (x, y) in enumerate(zip(a, b, strict=False), 1) if x != y), None),
        (len(a), len(b)),
        pairs,
        first_divergence(a, b),
        MergedTree(a, b),
        (one, other),
    )


# ---------------------------------------------------------------- the first difference
def first_divergence(one: Sequence[Event], other: Sequence[Event]) -> FirstDivergence | None:
    """The first events of two searches that differ in what matters; None if there are none."""
    sides = _deciding_events(one), _deciding_events(other)
    while True:
        a, b = (next(side, None) for side in sides)
        if a is None and b is None:
            return None
        if a is None or b is None or a[2] != b[2]:
            return FirstDivergence(
                (a[0] if a else len(one), b[0] if b else len(other)), (a[1] if a else None, b[1] if b else None)
            )


def _deciding_events(events: Sequence[Event]) -> Iterator[tuple[int, Event, object]]:
    for number, event in enumerate(events, 1):
        if (key := _deciding(event)) is not None:
            yield number, event, key


def _deciding(event: Event) -> object:
    """What matters of an event; None for an event that says nothing about the search itself."""
    kind = type(event).__name__
    match event:
        case (
            kinds.ExplorationStarted()
            | kinds.SearchForked()
            | kinds.SearchRepeated()
            | kinds.Bookmarked()
            | kinds.PlayedOff()
            | kinds.TuningEnded()
            | kinds.SaturationStepped()
        ):
            return None
        case kinds.CertificateReplayed():
            return None if event.asked else (kind, event.candidate)
        case kinds.RegionPruned():
            return kind, event.parent, event.operator, event.level, event.reason.code
        case kinds.RivalTimed() | kinds.BaselineMeasured():
            return kind, event.name
        case kinds.VerdictReached():
            return kind, event.candidate, event.verdict, event.method
        case kinds.CandidateBounded():
            return kind, event.candidate
        case kinds.FloatsAssessed():
            return kind, event.family, event.outcome
        case kinds.ParametersProposed() | kinds.TrialMeasured():
            return kind, event.trial, event.candidate, event.parameters
        case kinds.TrialFailed():
            return kind, event.trial, event.candidate, event.reason.code
        case kinds.IncumbentImproved():
            return kind, event.trial, event.candidate
        case kinds.Steered():
            return kind, event.action, event.subject
        case kinds.ExplorationFinished():
            return kind, event.stop
        case _:
            return event


def _event_name(event: Event | None) -> str:
    """An event by its kind and its subject."""
    if event is None:
        return "its end"
    subject = getattr(event, fields(event)[0].name)
    return f"{type(event).__name__} {subject}" if isinstance(subject, str) else type(event).__name__


# ---------------------------------------------------------------- lines


def _pair_lines(one: dict[str, str], other: dict[str, str]) -> tuple[Line, ...]:
    names = dict.fromkeys((*one, *other))
    return tuple(Line(name, one.get(name, _ABSENT), other.get(name, _ABSENT)) for name in names)


def _settings(book: Ledger) -> dict[str, str]:
    started = book.started
    if started is None:
        return {}
    texts = {"program": started.program, "target": started.target, "seed": str(started.seed)}
    texts |= {f"size {name}": str(n) for name, n in started.shapes}
    texts |= {f"range of {name}": f"{low} to {high}" for name, low, high in started.ranges}
    return texts | dict(started.space) | {f"version of {name}": text for name, text in started.versions}


def _counts(book: Ledger) -> dict[str, str]:
    texts = {f.name.replace("_", " "): f"{getattr(book.funnel, f.name):,}" for f in fields(book.funnel)}
    texts["ended"] = book.finished.stop if book.finished is not None else "not yet"
    texts["best time, measured"] = _ABSENT if book.best_s is None else seconds_text(book.best_s)
    return texts


def _prunings(book: Ledger) -> dict[str, str]:
    texts: dict[str, str] = {}
    for row in book.prune_counts:
        graphs = f", for {row.stood_for:.4g} graphs" if row.stood_for else ""
        texts[f"{row.rule} [{row.soundness}], {row.things}"] = f"{row.count:,}{graphs}"
    return texts


def _pair_families(one: Sequence[FamilyRow], other: Sequence[FamilyRow]) -> tuple[FamilyPair, ...]:
    """The families of both searches by canonical graph; several with one graph in their order."""
    table = ExpressionNumbers()
    found: dict[tuple[tuple[int, ...], int], list[FamilyRow | None]] = {}
    for side, families in enumerate((one, other)):
        seen: Counter[tuple[int, ...]] = Counter()
        for row in families:
            number = table.number_graph(parse(row.sgraph))
            found.setdefault((number, seen[number]), [None, None])[side] = row
            seen[number] += 1
    pairs: list[FamilyPair] = []
    for a, b in found.values():
        known = a or b
        assert known is not None, "a family of at least one search"
        pairs.append(FamilyPair((a, b), known.sgraph))
    return tuple(pairs)


def _family_line(pair: FamilyPair) -> Line:
    names = dict.fromkeys(row.family for row in pair.rows if row is not None)
    texts = [_ABSENT if row is None else _family_text(row) for row in pair.rows]
    return Line(" / ".join(names), *texts)


def _family_text(row: FamilyRow) -> str:
    counted = f"{row.status}, {row.candidates} candidates, {row.proved} proved"
    return counted if row.best_s is None else f"{counted}, {seconds_text(row.best_s)} measured"
