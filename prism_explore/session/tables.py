"""`sess.table(name)`: the data of a search as rows of plain values, for `json`, `csv` or pandas.

One function per table, in `TABLES`. A row is a dict of texts, numbers, None and tuples of those; a number has its unit
in its name. `time_s` is the one time of a kernel: in the final race, else in its trial. `tuning_time_s` is that of its
trial, which is comparable with other trials.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

from prism_explore.errors import PrismError, ShapeError
from prism_explore.events import kinds
from prism_explore.events.journal import Entry
from prism_explore.events.ledger import Ledger, Trial, ledger
from prism_explore.events.ledger.family_outcome import outcome

if TYPE_CHECKING:
    from prism_explore.widgets.panels.tables import TextTable

Row: TypeAlias = dict[str, Any]
Entries: TypeAlias = tuple[Entry, ...]


class Rows(list[Row]):
    """Rows of a table; prints as a text table, and a notebook shows it as HTML.

    Only what fits is printed; a last line says what is left out. The data has all of it.
    """

    def __repr__(self) -> str:
        table, note = self._table()
        return f"{table}\n{note}" if note else str(table)

    def __rich__(self) -> object:
        return self._table()[0]

    def _repr_html_(self) -> str:
        table, note = self._table()
        return table.html() + (f"<p>{escape(note)}</p>" if note else "")

    def _table(self) -> tuple[TextTable, str]:
        from prism_explore.widgets.panels.tables import data_table

        return data_table(self)


@dataclass(frozen=True, slots=True)
class DataTable:
    """A table that `sess.table` returns."""

    description: str
    rows: Callable[[Entries, Ledger], Iterator[Row]]


def table_rows(entries: Entries, name: str) -> Rows:
    """The rows of a table.

    Raises:
        ShapeError: no such table.
    """
    if name not in TABLES:
        raise ShapeError(f"no table {name!r}; there are {', '.join(TABLES)}")
    return Rows(TABLES[name].rows(entries, ledger(entry.event for entry in entries)))


def data_frame(rows: list[Row]) -> Any:
    """The rows as a `pandas.DataFrame`.

    Raises:
        PrismError: pandas is not installed.
    """
    try:
        pandas = import_module("pandas")
    except ImportError:
        raise PrismError(
            "frame=True needs pandas, which is not installed here: pip install pandas, or leave out frame=True for a "
            "list of dicts"
        ) from None
    return pandas.DataFrame(rows)


# ---------------------------------------------------------------- one function per table
def _families(_: Entries, book: Ledger) -> Iterator[Row]:
    for f in book.families:
        best, why_not = f.best, outcome(f, book)
        yield {
            "family": f.family,
            "status": f.status,
            "time_s": f.best_s,
            "tuning_time_s": best.time_s if best is not None else None,
            "best_candidate": best.candidate if best is not None else "",
            "best_trial": best.trial if best is not None else "",
            "outcome": why_not.code,
            "why_not": why_not.sentence,
            **_fields(f, without=("best", "dominated", "verdict", "bound", "forbidden", "failure")),
        }


def _candidates(entries: Entries, book: Ledger) -> Iterator[Row]:
    certified = {e.event.candidate for e in entries if isinstance(e.event, kinds.CertificateReplayed)}
    bounded = {e.event.candidate: e.event for e in entries if isinstance(e.event, kinds.CandidateBounded)}
    fastest: dict[str, Trial] = {}
    for trial in book.trials:
        known = fastest.get(trial.candidate)
        if trial.time_s is not None and (known is None or trial.time_s < (known.time_s or 0.0)):
            fastest[trial.candidate] = trial
    for event in (e.event for e in entries if isinstance(e.event, kinds.CandidateInstantiated)):
        verdict, best, bound = (of.get(event.candidate) for of in (book.verdicts, fastest, bounded))
        time = best.kernel_time if isinstance(best, Trial) else None
        yield {
            "candidate": event.candidate,
            "family": event.family,
            "maps": event.uses,
            "conditions": event.conditions,
            "verdict": verdict.verdict if isinstance(verdict, kinds.VerdictReached) else "",
            "method": verdict.method if isinstance(verdict, kinds.VerdictReached) else "",
            "detail": verdict.detail if isinstance(verdict, kinds.VerdictReached) else "",
            "certified": event.candidate in certified,
            "time_s": time.time_s if time is not None else None,
            "bound_s": bound.floor_s if isinstance(bound, kinds.CandidateBounded) else None,
            "sgraph": event.sgraph,
        }


def _trials(_: Entries, book: Ledger) -> Iterator[Row]:
    for t in book.trials:
        shown = t.kernel_time
        yield {
            **_fields(t, without=("parameters", "failure", "race", "time_s")),
            "time_s": shown.time_s if shown is not None else None,
            "tuning_time_s": t.time_s,
            "parameters": dict(t.parameters),
            "failure": t.failure.code if t.failure is not None else "",
            "reason": t.failure.sentence if t.failure is not None else "",
        }


def _pruned(entries: Entries, _: Ledger) -> Iterator[Row]:
    for entry in entries:
        if isinstance(event := entry.event, kinds.RegionPruned):
            yield {**_fields(event, without=("reason",)), **_reason(event.reason), "event": entry.seq}


def _maps(entries: Entries, _: Ledger) -> Iterator[Row]:
    for entry in entries:
        if isinstance(event := entry.event, kinds.CandidateRejected):
            yield {"family": event.family, "maps": event.uses, **_reason(event.reason), "event": entry.seq}


def _reasons(_: Entries, book: Ledger) -> Iterator[Row]:
    return (_fields(count) for count in book.prune_counts)


def _nodes(entries: Entries, book: Ledger) -> Iterator[Row]:
    family_at = {f.node: f.family for f in book.families}
    for entry in entries:
        if isinstance(event := entry.event, kinds.NodeExpanded):
            yield {**_fields(event), "family": family_at.get(event.node, ""), "event": entry.seq}


def _classes(_: Entries, book: Ledger) -> Iterator[Row]:
    for candidate, verdict in book.verdicts.items():
        for ident, term, members in verdict.classes:
            yield {"candidate": candidate, "class": ident, "term": term, "members": members}


def _lemmas(entries: Entries, _: Ledger) -> Iterator[Row]:
    for event in (e.event for e in entries if isinstance(e.event, kinds.CertificateReplayed)):
        for number, (tensor, operation, value, axioms, replayed, note) in enumerate(event.lemmas, 1):
            yield {
                "candidate": event.candidate,
                "lemma": number,
                "tensor": tensor,
                "operation": operation,
                "value": value,
                "axioms": axioms,
                "replayed": replayed,
                "note": note,
            }


def _baselines(_: Entries, book: Ledger) -> Iterator[Row]:
    for rival in book.initial_baselines:
        yield {**_fields(rival), "ratio": None, "ratio_p25": None, "ratio_p75": None, "measured": "before the search"}
    for row in book.final_race:
        yield {**_fields(row), "measured": "in the final race"}


def _steering(entries: Entries, _: Ledger) -> Iterator[Row]:
    for entry in entries:
        if isinstance(event := entry.event, kinds.Steered):
            yield {**_fields(event), "event": entry.seq}


def _bookmarks(entries: Entries, _: Ledger) -> Iterator[Row]:
    made = {e.event.bookmark: e.event for e in entries if isinstance(e.event, kinds.Bookmarked)}
    return (_fields(event) for event in made.values())


def _log(entries: Entries, _: Ledger) -> Iterator[Row]:
    from prism_explore.widgets.panels.event_text import log_line  # a search without pictures does not import them

    for entry in entries:
        line = log_line(entry.event)
        kind = type(entry.event).__name__
        yield {"event": entry.seq, "at_s": entry.at_s, "kind": kind, "id": line.ref, "text": line.text}


def _fields(value: Any, without: tuple[str, ...] = ()) -> Row:
    """The fields of a dataclass."""
    return {f.name: getattr(value, f.name) for f in fields(value) if f.name not in without}


def _reason(reason: kinds.Reason) -> Row:
    return {**_fields(reason, without=("substitution",)), "substitution": dict(reason.substitution)}


TABLES: Mapping[str, DataTable] = {
    "families": DataTable("families with their status, counts and best time", _families),
    "candidates": DataTable("candidates with their maps, verdict and best time", _candidates),
    "trials": DataTable("trials of tuning with parameters, times and failures", _trials),
    "baselines": DataTable("torch and library calls, before the search and in the final race", _baselines),
    "nodes": DataTable("expanded nodes of the search tree", _nodes),
    "pruned": DataTable("pruned subtrees of the search tree with their reasons", _pruned),
    "maps": DataTable("choices of maps that a constraint forbids", _maps),
    "reasons": DataTable("how often each rule pruned for each reason", _reasons),
    "classes": DataTable("e-classes of each candidate with a verdict", _classes),
    "lemmas": DataTable("lemmas of the certificates that egglog replayed", _lemmas),
    "steering": DataTable("decisions of the user", _steering),
    "bookmarks": DataTable("bookmarks with their notes, deleted ones included", _bookmarks),
    "log": DataTable("all events as sentences", _log),
}
"""Per table name, its description and its rows."""
