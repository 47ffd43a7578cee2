"""Counts per stage (`Funnel`), per pruning rule (`PruneCount`), and over the full search space (`SpaceBreakdown`)."""

from __future__ import annotations

import math
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
"""What was pruned: partial graphs, choices of maps, or proved families and candidates that are not tuned."""
THINGS: dict[What, str] = {
    "region": "subtrees",
    "maps": "choices of maps",
    "family": "families",
    "candidate": "candidates",
}
"""The kinds, in the plural."""
PruneKey: TypeAlias = tuple[str, str, Soundness, What]
"""Code, rule, soundness, kind."""


@dataclass(frozen=True, slots=True)
class PruneCount:
    """How often one rule pruned for one reason."""

    code: str
    rule: str
    soundness: Soundness
    what: What
    count: int
    stood_for: float
    """The number of graphs, mostly an estimate."""
    sentence: str
    """The reason, as for the example."""
    example: str
    """The first region, or the first family whose maps were rejected."""
    formula: str = ""
    """The test that failed, as for the example."""
    reopens: str = ""
    """The change after which the example would pass."""

    @property
    def regions(self) -> int:
        """The number of regions of the search tree; 0 for the other kinds."""
        return self.count if self.what == "region" else 0

    @property
    def things(self) -> str:
        """The kind, in the plural."""
        return THINGS[self.what]


@dataclass(frozen=True, slots=True)
class Funnel:
    """How many items reached each stage."""

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
    """What happened to the graphs of the full space; graphs with any operator on any operands are counted."""

    total: float
    pruned: float
    """Graphs that a rule or the user excluded."""
    out_of_budget: float
    """Graphs that were not searched because a budget was spent."""
    families: int
    unfinished: int
    """Graphs that were extended and are no family."""
    invalid: float
    """Ill-formed graphs."""

    @property
    def adds_up(self) -> bool:
        """Whether the parts add up to the total, up to rounding."""
        return math.isclose(
            self.total, self.pruned + self.out_of_budget + self.families + self.unfinished + self.invalid, rel_tol=1e-9
        )


@dataclass(slots=True)
class _Tally:
    """The prunings for one reason by one rule."""

    count: int
    stood_for: float
    first: tuple[str, str, str, str]
    """Sentence, example, formula and `reopens` of the first one."""


class PruneCounter:
    """Counts prunings per rule and reason."""

    def __init__(self) -> None:
        self._tallies: dict[PruneKey, _Tally] = {}

    def add(self, reason: Reason, what: What, stood_for: float, example: str) -> None:
        """Count one pruning."""
        key = (reason.code, reason.rule, reason.soundness, what)
        tally = self._tallies.get(key)
        if tally is None:
            first = (reason.sentence, example, reason.formula, reason.would_reopen_if)
            self._tallies[key] = _Tally(1, stood_for, first)
        else:
            tally.count += 1
            tally.stood_for += stood_for

    def copy(self) -> PruneCounter:
        """An independent copy."""
        twin = PruneCounter()
        twin._tallies = {key: _Tally(t.count, t.stood_for, t.first) for key, t in self._tallies.items()}
        return twin

    def rows(self) -> tuple[PruneCount, ...]:
        """One row per rule and reason, most frequent first."""
        found = sorted(self._tallies.items(), key=lambda row: (-row[1].count, row[0]))
        return tuple(PruneCount(*key, tally.count, tally.stood_for, *tally.first) for key, tally in found)

    def space_breakdown(self, space: SpaceCounted, families: int) -> SpaceBreakdown:
        """The breakdown of the full space."""
        regions = {True: 0.0, False: 0.0}
        for (_, _, soundness, what), tally in self._tallies.items():
            if what == "region":
                regions[soundness == "budget"] += tally.stood_for
        return SpaceBreakdown(space.whole, regions[False], regions[True], families, space.unfinished, space.void)


def was_limited_by_budget(events: Iterable[Event]) -> bool:
    """Whether a spent budget left a region, a choice of maps or a verdict out."""
    return any(
        e.reason.soundness == "budget"
        if isinstance(e, RegionPruned | CandidateRejected)
        else isinstance(e, VerdictReached) and bool(e.budget)
        for e in events
    )
