"""Counts per stage (`Funnel`), per pruning rule (`PruneCount`), and over the full search space (`SpaceBreakdown`)."""

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
"""What was pruned: partial graphs, choices of maps, or proved families and candidates that are not tuned."""
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
        return {"region": "regions", "maps": "maps", "family": "families", "candidate": "candidates"}[self.what]


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


class PruneCounter:
    """Counts prunings per rule and reason."""

    def __init__(self) -> None:
        self._first: dict[PruneKey, tuple[str, str, str, str]] = {}
        """Per key, sentence, example, formula and `reopens` of the first one."""
        self._counts: Counter[PruneKey] = Counter()
        self._stood_for: defaultdict[PruneKey, float] = defaultdict(float)

    def add(self, reason: Reason, what: What, stood_for: float, example: str) -> None:
        """Count one pruning."""
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
        """The breakdown of the full space."""
        regions = {True: 0.0, False: 0.0}
        for (_, _, soundness, what), stood_for in self._stood_for.items():
            if what == "region":
                regions[soundness == "budget"] += stood_for
        return SpaceBreakdown(space.whole, regions[False], regions[True], families, space.unfinished, space.void)


def was_limited_by_budget(events: Iterable[Event]) -> bool:
    """Whether a spent budget left a region, a choice of maps or a verdict out."""
    return any(
        e.reason.soundness == "budget"
        if isinstance(e, RegionPruned | CandidateRejected)
        else isinstance(e, VerdictReached) and bool(e.budget)
        for e in events
    )
