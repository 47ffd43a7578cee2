"""The filter that the user has chosen, and the one function that applies it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

STATUSES: Mapping[str, str] = {
    "best": "the family of the best kernel",
    "proved": "families and candidates that are proved",
    "unknown": "families and candidates without a proof and without a counterexample",
    "refuted": "families and candidates with a counterexample",
    "open": "families without a verdict",
    "impossible": "families without legal maps",
    "accepted": "families that you accepted",
    "rejected": "families that you rejected",
    "timed": "trials with a time, and their families",
    "failed": "trials without a kernel, and their families",
    "expanded": "nodes that were extended",
    "pruned": "subtrees and maps that were pruned",
}
"""Per status, what it selects."""
MAX_CHOICES = 100
MAX_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Filter:
    """What is shown: all conditions have to hold; an empty one holds always."""

    status: tuple[str, ...] = ()
    """One of these, keys of `STATUSES`."""
    reason: tuple[str, ...] = ()
    """One of these codes, such as `mem.smem`."""
    operator: str = ""
    """Part of the operator, or of the graph, such as `matmul`."""
    events: tuple[int, int] | None = None
    """First and last event."""

    @property
    def is_active(self) -> bool:
        """Whether it has a condition."""
        return self != Filter()

    def changed(self, change: Mapping[str, Any]) -> Filter:
        """The filter after a message that sets some of its conditions.

        Raises:
            ValueError: a condition does not exist or has a wrong value; the message names the allowed ones.
        """
        if unknown := sorted(set(change) - set(_CHECKS)):
            raise ValueError(f"a filter has no {', '.join(map(str, unknown))}; it has {', '.join(_CHECKS)}")
        return replace(self, **{name: _CHECKS[name](value) for name, value in change.items()})


def _status(value: object) -> tuple[str, ...]:
    chosen = _texts("status", value)
    if wrong := [s for s in chosen if s not in STATUSES]:
        raise ValueError(f"no status {wrong[0]!r}; there are {', '.join(STATUSES)}")
    return chosen


def _reason(value: object) -> tuple[str, ...]:
    return _texts("reason", value)


def _texts(name: str, value: object) -> tuple[str, ...]:
    given = (value,) if isinstance(value, str) else value
    if isinstance(given, list | tuple):
        texts = cast("Sequence[object]", given)
        if len(texts) <= MAX_CHOICES and all(isinstance(t, str) and len(t) <= MAX_CHARACTERS for t in texts):
            return tuple(dict.fromkeys(str(t) for t in texts))
    raise ValueError(f"{name} is a text or a list of at most {MAX_CHOICES} texts; found {value!r:.80}")


def _operator(value: object) -> str:
    if isinstance(value, str) and len(value) <= MAX_CHARACTERS:
        return value.strip()
    raise ValueError(f"operator is a text of at most {MAX_CHARACTERS} characters; found {value!r:.80}")


def _events(value: object) -> tuple[int, int] | None:
    match value:
        case None | []:
            return None
        case [int(first), int(last)] | (int(first), int(last)) if 0 <= first <= last:
            return (first, last)
        case _:
            raise ValueError(f"events is a pair of event numbers, the smaller one first; found {value!r:.80}")


_CHECKS = {"status": _status, "reason": _reason, "operator": _operator, "events": _events}
"""Per condition, the function that checks its value."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a filter reads of an object."""

    status: frozenset[str] = frozenset()
    reasons: frozenset[str] = frozenset()
    operator: str = ""
    """The operator, or the text of the graph."""
    seq: int = 0
    """The event with which it appeared."""


def passes(chosen: Filter, facts: Facts) -> bool:
    """Whether an object is shown."""
    return (
        (not chosen.status or not facts.status.isdisjoint(chosen.status))
        and (not chosen.reason or not facts.reasons.isdisjoint(chosen.reason))
        and chosen.operator.lower() in facts.operator.lower()
        and (chosen.events is None or chosen.events[0] <= facts.seq <= chosen.events[1])
    )
