"""The rows that a journal adds up to: trials, families, improvements, and the `Ledger` that holds all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from prism_explore.events.fastest import OURS, FasterBaseline, find_faster_baseline
from prism_explore.events.kinds import (
    BaselineMeasured,
    ExplorationFinished,
    ExplorationStarted,
    FloatsAssessed,
    FloatsWord,
    Reason,
    RivalTimed,
    Soundness,
    VerdictReached,
)
from prism_explore.events.ledger.funnel import Funnel, PruneCount, SpaceBreakdown
from prism_explore.events.ledger.steering import Choice, Steering
from prism_explore.events.near_misses import NearMiss
from prism_explore.events.no_improvement import NothingFaster

Status: TypeAlias = Literal["open", "proved", "unknown", "refuted", "impossible"]
"""Of a family: what its best candidate came to; impossible where the constraints admit no maps."""
Stop: TypeAlias = Literal["exhausted", "budget", "cancelled"]


@dataclass(frozen=True, slots=True)
class Trial:
    """One choice of numbers, from proposal to outcome."""

    trial: str
    candidate: str
    parameters: tuple[tuple[str, int], ...]
    modelled_s: float | None = None
    """The likely time, by a model."""
    time_s: float | None = None
    p20_s: float | None = None
    p80_s: float | None = None
    samples: int = 0
    error: float | None = None
    failure: Reason | None = None
    waited: float = 0.0
    """Share of the timed span for which it waited for a core: other work was running."""
    floor_s: float | None = None
    """The roofline bound of its candidate, modelled."""

    @property
    def family(self) -> str:
        """The family it belongs to."""
        return family_of(self.candidate)


@dataclass(frozen=True, slots=True)
class FamilyRow:
    """A family at a glance."""

    family: str
    node: str
    sgraph: str
    status: Status
    choice: Choice
    candidates: int
    maps_rejected: int
    proved: int
    refuted: int
    unknown: int
    trials: int
    failed: int
    best_s: float | None
    """Measured."""
    floor_s: float | None
    """The lowest roofline bound seen, modelled."""
    is_best: bool
    """Whether the fastest kernel that nobody rejected is one of its."""
    floats: FloatsWord | Literal[""] = ""
    """What it came to in floating point; empty where that was not asked yet."""
    dominated_by: str = ""
    """A family that costs no more in the cost model, whatever the sizes; empty where none is known."""


@dataclass(frozen=True, slots=True)
class Improvement:
    """A point of the incumbent's curve."""

    number: int
    """How many trials had ended, this one included."""
    trial: str
    candidate: str
    time_s: float


@dataclass(frozen=True, slots=True)
class Ledger:
    """What a journal adds up to."""

    started: ExplorationStarted | None = None
    finished: ExplorationFinished | None = None
    funnel: Funnel = field(default_factory=Funnel)
    prune_counts: tuple[PruneCount, ...] = ()
    """Most frequent first."""
    families: tuple[FamilyRow, ...] = ()
    trials: tuple[Trial, ...] = ()
    incumbents: tuple[Improvement, ...] = ()
    final_race: tuple[BaselineMeasured, ...] = ()
    """Of the run in which the present best was raced."""
    verdicts: Mapping[str, VerdictReached] = field(default_factory=dict[str, VerdictReached])
    """Per candidate, the last one."""
    steering: Steering = field(default_factory=Steering)
    floats: Mapping[str, FloatsAssessed] = field(default_factory=dict[str, FloatsAssessed])
    """Per family, the last one."""
    near_misses: tuple[NearMiss, ...] = ()
    """What came farthest, nearest first; none where something is proved."""
    space_breakdown: SpaceBreakdown | None = None
    """Once all has grown."""
    initial_baselines: tuple[RivalTimed, ...] = ()
    """Timed before anything grew, where the fastest of them is the time to beat."""
    nothing_faster: NothingFaster | None = None
    """What the search says so far, where all that was proved and may win was cut because of a time to beat."""

    @property
    def best(self) -> Trial | None:
        """The fastest trial of a family that nobody rejected and that is not withheld; the first of equals."""
        return fastest_trial(self.trials, self.steering, self.withheld)

    @property
    def withheld(self) -> tuple[str, ...]:
        """Families that are unsafe in floating point, and that nobody allowed or accepted."""
        return withheld(self.floats.values(), self.steering)

    @property
    def best_s(self) -> float | None:
        """The incumbent's time: side by side with its rivals once that was done, else as tuning found it."""
        if self.best is None:
            return None
        ours = next((b for b in self.final_race if b.name == OURS and b.samples), None)
        return ours.time_s if ours is not None else self.best.time_s

    @property
    def faster_baseline(self) -> FasterBaseline | None:
        """Who beat the best kernel in the side-by-side run, and is called instead of it."""
        return find_faster_baseline(self.final_race)

    def by_soundness(self) -> Mapping[Soundness, int]:
        """How many regions and maps were cut, per soundness class."""
        counts: Counter[Soundness] = Counter()
        for cut in self.prune_counts:
            counts[cut.soundness] += cut.count
        return dict(counts)


def withheld(assessed: Iterable[FloatsAssessed], steering: Steering) -> tuple[str, ...]:
    """Families that are unsafe in floating point, and that nobody allowed or accepted, in order."""
    accepted = steering.named("accepted")
    unsafe = {e.family: e for e in assessed if e.outcome == "unsafe" and not e.allowed}
    return tuple(family for family in unsafe if family not in accepted)


def fastest_trial(trials: Iterable[Trial], steering: Steering, but: Collection[str] = ()) -> Trial | None:
    """The fastest trial of a family that nobody rejected and that is not in `but`; the first of equals."""
    out = {*steering.named("rejected"), *but}
    timed = [(t.time_s, n, t) for n, t in enumerate(trials) if t.time_s is not None and t.family not in out]
    return min(timed, key=lambda row: row[:2])[2] if timed else None


def family_of(candidate: str) -> str:
    """The family that a candidate's id names: f1.c2 belongs to f1."""
    return candidate.split(".")[0]


def fastest_baseline(rivals: Iterable[RivalTimed]) -> RivalTimed | None:
    """The fastest rival of those that were timed before anything grew."""
    return min((r for r in rivals if r.samples), key=lambda r: r.time_s, default=None)
