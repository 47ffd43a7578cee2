"""The rows of a ledger (trials, families, improvements) and the `Ledger` itself."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeAlias

from prism_explore.events.fastest import NOT_WAITED_FOR, FasterBaseline, find_faster_baseline
from prism_explore.events.kinds import (
    BaselineMeasured,
    CandidateBounded,
    CandidateRejected,
    ExplorationFinished,
    ExplorationStarted,
    FamilyDominated,
    FloatsAssessed,
    FloatsWord,
    Reason,
    RivalTimed,
    SearchRepeated,
    Soundness,
    TuningEnded,
    VerdictReached,
)
from prism_explore.events.ledger.funnel import Funnel, PruneCount, SpaceBreakdown, What
from prism_explore.events.ledger.kernel_time import KernelTime
from prism_explore.events.ledger.steering import Choice, Steering
from prism_explore.events.near_misses import NearMiss
from prism_explore.events.no_improvement import NothingFaster

Status: TypeAlias = Literal["open", "proved", "unknown", "refuted", "impossible"]
"""The status of a family, that of its best candidate; impossible where no maps are legal."""
Stop: TypeAlias = Literal["exhausted", "budget", "cancelled"]


@dataclass(frozen=True, slots=True)
class Trial:
    """One choice of parameters, with its outcome once that is known."""

    trial: str
    candidate: str
    parameters: tuple[tuple[str, int], ...]
    modelled_s: float | None = None
    """The time by the cost model."""
    time_s: float | None = None
    """Median in tuning, comparable with other trials; `kernel_time` is the time to show of one kernel."""
    p20_s: float | None = None
    p80_s: float | None = None
    samples: int = 0
    error: float | None = None
    failure: Reason | None = None
    waited: float = 0.0
    """Share of the time for which its threads waited for a core because other work was running."""
    floor_s: float | None = None
    """The roofline bound of its candidate, modelled."""
    race: BaselineMeasured | None = None
    """Its row in the final race; None if it was not the best kernel."""
    family: str = field(kw_only=True)

    @property
    def kernel_time(self) -> KernelTime | None:
        """The one time of this kernel: that of the race, else that of the trial; None if it was not timed."""
        if self.time_s is not None and self.race is not None:
            r = self.race
            return KernelTime(r.time_s, r.p20_s, r.p80_s, r.samples, "race", self.time_s, self.waited, self.floor_s)
        return self.trial_time

    @property
    def trial_time(self) -> KernelTime | None:
        """The time in its trial, which is comparable with that of other trials; None if it was not timed."""
        if self.time_s is None:
            return None
        p20_s, p80_s = self.p20_s or self.time_s, self.p80_s or self.time_s
        return KernelTime(self.time_s, p20_s, p80_s, self.samples, "trial", self.time_s, self.waited, self.floor_s)

    @property
    def race_s(self) -> float | None:
        """The median in the final race; None if it did not take part."""
        return self.race.time_s if self.race is not None else None


@dataclass(frozen=True, slots=True)
class FamilyRow:
    """A family with its counts and times."""

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
    best: Trial | None
    """The fastest of its trials."""
    floor_s: float | None
    """The least roofline bound of its candidates, modelled."""
    is_best: bool
    """Whether the best kernel belongs to it."""
    floats: FloatsWord | Literal[""] = ""
    """Its assessment in floating point; empty where there is none yet."""
    dominated_by: str = ""
    """A family that costs no more in the cost model for all sizes; empty where there is none."""
    dominated: FamilyDominated | None = None
    """The event that says so, also where the user rejected that family."""
    verdict: VerdictReached | None = None
    """The first verdict with the status of the family."""
    bound: CandidateBounded | None = None
    """Of its candidates that were not timed because of their bound, the one with the least bound."""
    forbidden: CandidateRejected | None = None
    """The first choice of maps that a constraint forbids."""
    failure: Reason | None = None
    """The most frequent failure of its trials."""

    @property
    def time(self) -> KernelTime | None:
        """The time of its fastest kernel; None if none was timed."""
        return self.best.kernel_time if self.best is not None else None

    @property
    def best_s(self) -> float | None:
        """The time of its fastest kernel, measured."""
        return self.time.time_s if self.time is not None else None


@dataclass(frozen=True, slots=True)
class Improvement:
    """A trial that became the incumbent."""

    number: int
    """The number of trials that had ended, including this one."""
    trial: str
    candidate: str
    time_s: float


@dataclass(frozen=True)
class Ledger:
    """The result of all events of a search."""

    started: ExplorationStarted | None = None
    finished: ExplorationFinished | None = None
    funnel: Funnel = field(default_factory=Funnel)
    prune_counts: tuple[PruneCount, ...] = ()
    """Most frequent first."""
    families: tuple[FamilyRow, ...] = ()
    trials: tuple[Trial, ...] = ()
    incumbents: tuple[Improvement, ...] = ()
    final_race: tuple[BaselineMeasured, ...] = ()
    """The rows of the race of the best kernel against the baselines."""
    tuning_ended: TuningEnded | None = None
    """Why the last run of trials ended; None where it tried everything, or has not ended."""
    repeated: SearchRepeated | None = None
    """Where the events repeat a search out of the cache."""
    verdicts: Mapping[str, VerdictReached] = field(default_factory=dict[str, VerdictReached])
    """Per candidate, its last verdict."""
    steering: Steering = field(default_factory=Steering)
    floats: Mapping[str, FloatsAssessed] = field(default_factory=dict[str, FloatsAssessed])
    """Per family, its last assessment."""
    near_misses: tuple[NearMiss, ...] = ()
    """The near misses, nearest first; none where something is proved."""
    space_breakdown: SpaceBreakdown | None = None
    """The number of graphs per outcome; None until the enumeration has ended."""
    initial_baselines: tuple[RivalTimed, ...] = ()
    """The baselines timed before the enumeration; the fastest of them is the time to beat."""
    nothing_faster: NothingFaster | None = None
    """Set where the time to beat excludes all proved candidates that may win."""

    @cached_property
    def best(self) -> Trial | None:
        """The fastest trial of a family that is neither rejected nor withheld; the first of equally fast ones."""
        return fastest_trial(self.trials, self.steering, self.withheld)

    @property
    def withheld(self) -> tuple[str, ...]:
        """Families that are unsafe in floating point and neither allowed nor accepted."""
        return withheld(self.floats.values(), self.steering)

    @property
    def best_s(self) -> float | None:
        """The time of the best kernel: from the final race where there was one, else from tuning."""
        time = self.best_time
        return time.time_s if time is not None else None

    @property
    def best_time(self) -> KernelTime | None:
        """The time of the best kernel with its spread, its source and its warnings."""
        return self.best.kernel_time if self.best is not None else None

    @property
    def faster_baseline(self) -> FasterBaseline | None:
        """The torch baseline that beat the best kernel in the final race; None where none did."""
        return find_faster_baseline(self.final_race)

    @property
    def not_waited_for(self) -> tuple[BaselineMeasured, ...]:
        """The baselines that were still being compiled when the final race began."""
        return tuple(row for row in self.final_race if row.note.startswith(NOT_WAITED_FOR))

    def prunings(self, soundness: Soundness | None = None, what: What | None = None) -> int:
        """How often something was pruned. All counts of prunings that are shown are this one.

        Args:
            soundness: of the rule; any if left out.
            what: regions, maps, families or candidates; all of them if left out.
        """
        rows = (r for r in self.prune_counts if soundness in (None, r.soundness) and what in (None, r.what))
        return sum(row.count for row in rows)

    def by_soundness(self) -> Mapping[Soundness, int]:
        """The number of prunings per soundness class, of all kinds."""
        return {row.soundness: self.prunings(row.soundness) for row in self.prune_counts}


def withheld(assessed: Iterable[FloatsAssessed], steering: Steering) -> tuple[str, ...]:
    """Families that are unsafe in floating point and neither allowed nor accepted, in order."""
    accepted = steering.named("accepted")
    unsafe = {e.family: e for e in assessed if e.outcome == "unsafe" and not e.allowed}
    return tuple(family for family in unsafe if family not in accepted)


def fastest_trial(trials: Iterable[Trial], steering: Steering, excluded: Collection[str]) -> Trial | None:
    """The fastest trial of a family that is neither rejected nor excluded; the first of equally fast ones."""
    out = {*steering.named("rejected"), *excluded}
    timed = [(t.time_s, n, t) for n, t in enumerate(trials) if t.time_s is not None and t.family not in out]
    return min(timed, key=lambda row: row[:2])[2] if timed else None


def fastest_baseline(baselines: Iterable[RivalTimed]) -> RivalTimed | None:
    """The fastest of the baselines that were timed before the enumeration; None where none was timed."""
    return min((b for b in baselines if b.samples), key=lambda b: b.time_s, default=None)
