"""Comparison of two searches: settings, counts, prunings, and families.

Input: two journals, of live or saved searches. Families are matched by the canonical form of their graphs, since their
ids may differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from html import escape
from pathlib import Path
from typing import Protocol, TypeAlias

from prism_explore.errors import ShapeError
from prism_explore.events.format import seconds_text
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import Event
from prism_explore.events.ledger import FamilyRow, Ledger, ledger
from prism_explore.generate.canonical_order import ExpressionNumbers
from prism_explore.ir.text import parse

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
class RunComparison:
    """Comparison of two searches; prints the differences, and is a full table in a notebook."""

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
    """Number of the first event that differs; None where one journal is a prefix of the other."""
    event_counts: tuple[int, int]
    """Number of events of each search."""

    @property
    def only_one(self) -> tuple[str, ...]:
        """Families only in the first search, as text."""
        return tuple(g for g, line in zip(self.graphs, self.families, strict=True) if line.second == _ABSENT)

    @property
    def only_other(self) -> tuple[str, ...]:
        """Families only in the second search, as text."""
        return tuple(g for g, line in zip(self.graphs, self.families, strict=True) if line.first == _ABSENT)

    @property
    def text(self) -> str:
        """The differences in one or two sentences."""
        same = sum(_ABSENT not in (line.first, line.second) for line in self.families)
        first, second = len(self.only_one), len(self.only_other)
        sentences = [f"{same} families in both, {first} only in the first, {second} only in the second."]
        if self.first_difference is not None:
            sentences.append(f"The events differ from number {self.first_difference:,} on.")
        elif self.event_counts[0] == self.event_counts[1]:
            sentences.append(f"All {self.event_counts[0]:,} events are the same.")
        else:
            sentences.append(
                f"The first {min(self.event_counts):,} events are the same; there the shorter search ends."
            )
        return " ".join(sentences)

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
        return "\n".join(lines)

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self.html}

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
            head = "<tr><th></th><th></th><th>first</th><th>second</th></tr>"
            parts.append(
                f"<details{' open' if differing else ''}><summary>{title}: {differing} of {len(group)} differ</summary>"
                f"<table>{head}{rows}</table></details>"
            )
        return "".join(parts)


def compare(one: Run, other: Run) -> RunComparison:
    """Compare two searches.

    Args:
        one: a session, a saved search that `px.load` opened, or its file.
        other: the same.

    Returns:
        The two searches line by line; printing it shows what differs.

    Raises:
        JournalVersionError: a file is no saved search.
        ShapeError: an argument is neither a search nor a path.

    Example:
        >>> import prism_explore as px
        >>> program = px.parse_program('''program twice
        ...   x = input f32[b, 8]
        ...   %1 = add(x, x)
        ...   return %1''')
        >>> one, other = (px.Session(program, target=gpu, at={"b": 4}) for gpu in ("h100", "a100"))
        >>> one.run(), other.run()
        (None, None)
        >>> str(px.compare(one, other)).startswith("1 families in both")
        True
    """
    a, b = (_events(run) for run in (one, other))
    first, second = ledger(a), ledger(b)
    families, graphs = _families(first.families, second.families)
    return RunComparison(
        _pair_lines(_settings(first), _settings(second)),
        _pair_lines(_counts(first), _counts(second)),
        _pair_lines(_prunings(first), _prunings(second)),
        families,
        graphs,
        next((n for n, (x, y) in enumerate(zip(a, b, strict=False), 1) if x != y), None),
        (len(a), len(b)),
    )


def _events(run: Run) -> Sequence[Event]:
    if not isinstance(run, str | Path) and not hasattr(run, "journal"):
        raise ShapeError(f"compare takes sessions, saved searches or their files; found a {type(run).__name__}")
    return (Journal.load(run) if isinstance(run, str | Path) else run.journal).events


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


def _families(one: Sequence[FamilyRow], other: Sequence[FamilyRow]) -> tuple[tuple[Line, ...], tuple[str, ...]]:
    table = ExpressionNumbers()
    rows: dict[int, list[FamilyRow | None]] = {}
    for side, families in enumerate((one, other)):
        for row in families:
            rows.setdefault(table.number_graph(parse(row.sgraph)), [None, None])[side] = row
    lines: list[Line] = []
    graphs: list[str] = []
    for both in rows.values():
        known = next(row for row in both if row is not None)
        names = dict.fromkeys(row.family for row in both if row is not None)
        texts = [_ABSENT if row is None else _family_text(row) for row in both]
        lines.append(Line(" / ".join(names), *texts))
        graphs.append(known.sgraph)
    return tuple(lines), tuple(graphs)


def _family_text(row: FamilyRow) -> str:
    counted = f"{row.status}, {row.candidates} candidates, {row.proved} proved"
    return counted if row.best_s is None else f"{counted}, {seconds_text(row.best_s)} measured"
