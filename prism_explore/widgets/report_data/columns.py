"""The events of a search as columns: one array per field, for the fields that the browser folds.

`widgets/src/fold/columns.ts` reads them. Ids such as n12 are a prefix and whole numbers; numbers that mostly rise are
stored as differences. Texts are indices into the pool of the report.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from prism_explore.events import kinds
from prism_explore.events.journal import Entry
from prism_explore.widgets.panels.event_text import log_line
from prism_explore.widgets.report_data.pool import Pool

FOLDED: Mapping[type, tuple[str, ...]] = {
    kinds.ExplorationStarted: (),
    kinds.NodeExpanded: ("node", "parent", "operator", "level", "expression"),
    kinds.RegionPruned: ("region", "parent", "operator", "level", "reason", "stood_for", "counted"),
    kinds.FamilyCompleted: ("family", "node", "sgraph"),
    kinds.CandidateInstantiated: ("candidate", "family", "sgraph"),
    kinds.CandidateRejected: ("family", "reason", "uses"),
    kinds.CandidateBounded: ("candidate", "reason"),
    kinds.VerdictReached: ("candidate", "verdict"),
    kinds.FloatsAssessed: ("family", "outcome", "allowed"),
    kinds.FamilyDominated: ("family", "left_out", "reason"),
    kinds.ParametersProposed: ("trial", "candidate"),
    kinds.TrialMeasured: ("trial", "candidate", "time_s"),
    kinds.TrialFailed: ("trial", "candidate", "reason"),
    kinds.Steered: ("action", "subject"),
    kinds.ExplorationFinished: (),
}
"""Per kind of event, the fields that the browser reads; of the other kinds it reads the line of the log."""
TREE_KINDS: tuple[type, ...] = (kinds.NodeExpanded, kinds.RegionPruned)
"""Kinds without a stored line of the log: there are too many, and the browser composes it."""

_ID = re.compile(r"([a-z]+)(0|[1-9][0-9]{0,14})")


def event_columns(entries: Sequence[Entry], pool: Pool) -> dict[str, Any]:
    """The columns of all events.

    Args:
        entries: the journal.
        pool: stores the texts and reasons.
    """
    names = [k.__name__ for k in kinds.KINDS]
    numbers = {kind: n for n, kind in enumerate(kinds.KINDS)}
    rows: dict[type, list[Any]] = {kind: [] for kind in FOLDED}
    for entry in entries:
        if (kind := type(entry.event)) in rows:
            rows[kind].append(entry.event)
    lines = [log_line(e.event) for e in entries if type(e.event) not in TREE_KINDS]
    return {
        "kinds": names,
        "kind": "".join(chr(ord("A") + numbers[type(e.event)]) for e in entries),
        # As the log shows them, because JavaScript rounds some halves differently.
        "at": _differences([int(f"{e.at_s:.2f}".replace(".", "")) for e in entries]),
        "fields": {
            kind.__name__: {name: _column([getattr(e, name) for e in rows[kind]], pool) for name in fields}
            for kind, fields in FOLDED.items()
        },
        "log": {name: _column([getattr(line, name) for line in lines], pool) for name in ("text", "ref", "kind")},
    }


def _column(values: Sequence[Any], pool: Pool) -> dict[str, Any]:
    """One field: ids with a common prefix, numbers, or members of the pool."""
    for encode in (_ids, _numbers):
        if (encoded := encode(values)) is not None:
            return encoded
    return {"members": _members(values, pool)}


def _ids(values: Sequence[Any]) -> dict[str, Any] | None:
    """Ids such as n12, and -1 for an empty one."""
    prefix = ""
    numbers: list[int] = []
    for value in values:
        if value == "":
            numbers.append(-1)
            continue
        found = _ID.fullmatch(value) if isinstance(value, str) else None
        if found is None or (prefix and found[1] != prefix):
            return None
        prefix = found[1]
        numbers.append(int(found[2]))
    return {"prefix": prefix, "ids": _differences(numbers)} if prefix else None


def _numbers(values: Sequence[Any]) -> dict[str, Any] | None:
    """Finite numbers."""
    is_number = all(isinstance(v, int | float) and not isinstance(v, bool) and abs(v) < float("inf") for v in values)
    return {"numbers": [int(v) if v == int(v) and abs(v) < 2**53 else v for v in values]} if is_number else None


def _members(values: Sequence[Any], pool: Pool) -> list[int]:
    known: dict[Any, int] = {}
    out: list[int] = []
    for value in values:
        key = reason_key(value) if isinstance(value, kinds.Reason) else value
        if key not in known:
            known[key] = pool.add(value if key is value else _folded(value))
        out.append(known[key])
    return out


def reason_key(reason: kinds.Reason) -> tuple[object, ...]:
    """A reason as a dictionary key; events from a file do not share equal reasons."""
    fields = (reason.code, reason.layer, reason.soundness, reason.rule, reason.sentence, reason.formula)
    return (*fields, reason.would_reopen_if, *reason.substitution.items())


def _folded(reason: kinds.Reason) -> dict[str, str]:
    """The part of a reason that the browser counts and draws."""
    return {name: getattr(reason, name) for name in ("code", "rule", "soundness", "sentence")}


def _differences(numbers: Iterable[int]) -> list[int]:
    out: list[int] = []
    last = 0
    for number in numbers:
        out.append(number - last)
        last = number
    return out
