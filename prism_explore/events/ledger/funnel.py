"""Counts of a search per stage (`Funnel`), per pruning rule (`Cut`), and over the complete space (`Account`)."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from prism_explore.events.kinds import (
    CandidateRejected,
    Event,
    Reason,
    RegionPruned,
    Soundness,
    SpaceCounted,
    VerdictReached,
)

What: TypeAlias = Literal["region", "maps", "family", "candidate"]
"""What was cut: partial graphs, choices of maps, or families and candidates that were proved and not tuned."""
PruneKey: TypeAlias = tuple[str, str, Soundness, What]
"""Code, rule, soundness, what was cut."""


@dataclass(frozen=True, slots=True)
class PruneCount:
    """All cuts by one rule for one reason."""

    code: str
    rule: str
    soundness: Soundness
    what: What
    count: int
    stood_for: float
    """Programs, mostly an estimate."""
    sentence: str
    """The first one's."""
    example: str
    """The first region, or the first family whose maps were cut."""
    formula: str = ""
    """The test that failed; its numbers are those of the example."""
    reopens: str = ""
    """What would have to change, as for the first one."""

    @property
    def regions(self) -> int:
        """How many regions of the search tree; none where it was about something else."""
        return self.count if self.what == "region" else 0

    @property
    def things(self) -> str:
        """What was cut, in the plural."""
        return {"region": "regions", "maps": "maps", "family": "families", "candidate": "candidates"}[self.what]


@dataclass(frozen=True, slots=True)
class Funnel:
    """How many things came as far as each stage."""

    expanded: int = 0
    pruned: int = 0
    families: int = 0
    maps_rejected: int = 0
    candidates: int = 0
    proved: int = 0
    refuted: int = 0
    unknown: int = 0
    bounded: int = 0
    measured: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True)
class SpaceBreakdown:
    """How the whole space came to its end, in graphs as they are spelled: any operator on any operands."""

    total: float
    pruned: float
    """By rules, user included."""
    out_of_budget: float
    """By budget."""
    families: int
    unfinished: int
    """Kept on the way, and no program."""
    invalid: float
    """Spellings that are no graphs."""

    @property
    def adds_up(self) -> bool:
        """Whether every graph of the space is in one of the rows, up to the rounding of large numbers."""
        return math.isclose(
            self.total, self.pruned + self.out_of_budget + self.families + self.unfinished + self.invalid, rel_tol=1e-9
        )


class PruneCounter:
    """Adds up cuts one by one, per rule and reason."""

    def __init__(self) -> None:
        self._first: dict[PruneKey, tuple[str, str, str, str]] = {}
        """Sentence, example, formula and what reopens it, of the first cut of each kind."""
        self._counts: Counter[PruneKey] = Counter()
        self._stood_for: defaultdict[PruneKey, float] = defaultdict(float)

    def add(self, reason: Reason, what: What, stood_for: float, example: str) -> None:
        """Count one cut."""
        key = (reason.code, reason.rule, reason.soundness, what)
        self._first.setdefault(key, (reason.sentence, example, reason.formula, reason.would_reopen_if))
        self._counts[key] += 1
        self._stood_for[key] += stood_for

    def rows(self) -> tuple[PruneCount, ...]:
        """One row per rule and reason, most frequent first."""
        return tuple(
            PruneCount(*key, self._counts[key], self._stood_for[key], *self._first[key])
            for key in sorted(self._counts, key=lambda k: (-self._counts[k], k))
        )

    def space_breakdown(self, space: SpaceCounted, families: int) -> SpaceBreakdown:
        """How the complete space splits into cut graphs, graphs that a budget left out, and what was found."""
        regions = {True: 0.0, False: 0.0}
        for (_, _, soundness, what), stood_for in self._stood_for.items():
            if what == "region":
                regions[soundness == "budget"] += stood_for
        return SpaceBreakdown(space.whole, regions[False], regions[True], families, space.unfinished, space.void)


def was_limited_by_budget(events: Iterable[Event]) -> bool:
    """Whether some region, choice of maps or candidate was left out because a budget was spent."""
    return any(
        e.reason.soundness == "budget"
        if isinstance(e, RegionPruned | CandidateRejected)
        else isinstance(e, VerdictReached) and bool(e.budget)
        for e in events
    )
