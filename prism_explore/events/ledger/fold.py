"""The fold of a journal into a `Ledger`: `Fold` takes events one by one, `ledger` takes them all."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from prism_explore.events.kinds import (
    BaselineMeasured,
    CandidateBounded,
    CandidateInstantiated,
    CandidateRejected,
    CertificateReplayed,
    Event,
    ExplorationFinished,
    ExplorationStarted,
    FamilyCompleted,
    FamilyDominated,
    FloatsAssessed,
    IncumbentImproved,
    KernelGenerated,
    NodeExpanded,
    ParametersProposed,
    PlayedOff,
    RegionPruned,
    RivalTimed,
    SaturationStepped,
    SpaceCounted,
    Steered,
    TrialFailed,
    TrialMeasured,
    VerdictReached,
)
from prism_explore.events.ledger.funnel import Funnel, PruneCount, PruneCounter
from prism_explore.events.ledger.rows import (
    FamilyRow,
    Improvement,
    Ledger,
    Status,
    Trial,
    family_of,
    fastest_baseline,
    fastest_trial,
    withheld,
)
from prism_explore.events.ledger.steering import Steering
from prism_explore.events.near_misses import NearMissFold
from prism_explore.events.no_improvement import NothingFaster, TimeToBeatFold


def ledger(events: Iterable[Event]) -> Ledger:
    """What these facts add up to."""
    fold = Fold()
    for event in events:
        fold.add(event)
    return fold.value()


def prune_counts(events: Iterable[Event]) -> tuple[PruneCount, ...]:
    """Cuts per rule and reason, most frequent first."""
    return ledger(events).prune_counts


def family_rows(events: Iterable[Event]) -> tuple[FamilyRow, ...]:
    """The families in order of birth."""
    return ledger(events).families


class Fold:
    """Adds up facts one by one."""

    def __init__(self) -> None:
        self._started: ExplorationStarted | None = None
        self._finished: ExplorationFinished | None = None
        self._counts: Counter[str] = Counter()
        self._cuts = PruneCounter()
        self._families: dict[str, FamilyCompleted] = {}
        self._candidates: dict[str, str] = {}
        self._maps_rejected: Counter[str] = Counter()
        self._verdicts: dict[str, VerdictReached] = {}
        self._trials: dict[str, Trial] = {}
        self._ended: list[str] = []
        self._floors: dict[str, float] = {}
        self._incumbents: list[Improvement] = []
        self._rivals: dict[str, RivalTimed] = {}
        self._baselines: dict[str, dict[str, BaselineMeasured]] = {}
        """Rows of side-by-side runs, per trial that was raced."""
        self._steering = Steering()
        self._floats: dict[str, FloatsAssessed] = {}
        self._dominated: dict[str, FamilyDominated] = {}
        self._misses = NearMissFold()
        self._held = TimeToBeatFold()
        self._space: SpaceCounted | None = None

    def add(self, event: Event) -> None:
        """Take one fact."""
        self._misses.add(event)
        self._held.add(event)
        match event:
            case ExplorationStarted():
                self._started, self._finished = event, None
            case NodeExpanded():
                self._counts["expanded"] += 1
            case RegionPruned():
                self._counts["pruned"] += 1
                self._cuts.add(event.reason, "region", event.stood_for, event.region)
            case FamilyCompleted():
                self._families[event.family] = event
            case SpaceCounted():
                self._space = event
            case CandidateInstantiated():
                self._candidates[event.candidate] = event.family
            case CandidateRejected():
                self._maps_rejected[event.family] += 1
                self._cuts.add(event.reason, "maps", 1.0, event.family)
            case CandidateBounded():
                self._counts["bounded"] += 1
                self._cuts.add(event.reason, "candidate", 1.0, event.candidate)
                self._floor(event.candidate, event.floor_s)
            case VerdictReached():
                self._verdicts[event.candidate] = event
            case ParametersProposed():
                trial = Trial(event.trial, event.candidate, event.parameters, event.modelled_s)
                self._trials[event.trial] = replace(trial, floor_s=event.floor_s or None)
                if event.floor_s:
                    self._floor(event.candidate, event.floor_s)
            case TrialMeasured():
                self._trials[event.trial] = replace(
                    self._trial(event),
                    time_s=event.time_s,
                    p20_s=event.p20_s,
                    p80_s=event.p80_s,
                    samples=event.samples,
                    error=event.error,
                    waited=event.waited,
                )
                if event.trial not in self._ended:
                    self._ended.append(event.trial)
            case TrialFailed():
                self._trials[event.trial] = replace(self._trial(event), failure=event.reason)
                self._ended.append(event.trial)
            case IncumbentImproved():
                number = len(self._ended)
                self._incumbents.append(Improvement(number, event.trial, event.candidate, event.time_s))
            case BaselineMeasured():
                raced = self._fastest()
                self._baselines.setdefault(raced.trial if raced else "", {})[event.name] = event
            case Steered():
                self._steering = self._steering.after(event)
            case ExplorationFinished():
                self._finished = event
            case FloatsAssessed():
                self._floats[event.family] = event
            case FamilyDominated():
                if event.left_out and event.family not in self._dominated:
                    self._cuts.add(event.reason, "family", 1.0, event.family)
                self._dominated[event.family] = event
            case RivalTimed():
                self._rivals[event.name] = event
            case SaturationStepped() | CertificateReplayed() | KernelGenerated() | PlayedOff():
                pass

    def _fastest(self) -> Trial | None:
        return fastest_trial(self._trials.values(), self._steering, withheld(self._floats.values(), self._steering))

    def _floor(self, candidate: str, floor_s: float) -> None:
        family = family_of(candidate)
        self._floors[family] = min(floor_s, self._floors.get(family, math.inf))

    def _trial(self, event: TrialMeasured | TrialFailed) -> Trial:
        known = self._trials.get(event.trial)
        return known or Trial(event.trial, event.candidate, event.parameters)

    def value(self) -> Ledger:
        """What the facts so far add up to."""
        words = Counter(v.verdict for v in self._verdicts.values())
        trials = tuple(self._trials.values())
        best = self._fastest()
        funnel = Funnel(
            expanded=self._counts["expanded"],
            pruned=self._counts["pruned"],
            families=len(self._families),
            maps_rejected=sum(self._maps_rejected.values()),
            candidates=len(self._candidates),
            proved=words["proved"],
            refuted=words["refuted"],
            unknown=words["unknown"],
            bounded=self._counts["bounded"],
            measured=sum(t.time_s is not None for t in trials),
            failed=sum(t.failure is not None for t in trials),
        )
        return Ledger(
            self._started,
            self._finished,
            funnel,
            self._cuts.rows(),
            self._family_rows(trials),
            trials,
            tuple(self._incumbents),
            tuple(self._baselines.get(best.trial if best else "", {}).values()),
            dict(self._verdicts),
            self._steering,
            dict(self._floats),
            self._misses.nearest(),
            self._cuts.space_breakdown(self._space, len(self._families)) if self._space is not None else None,
            tuple(self._rivals.values()),
            self._unbeaten(),
        )

    def _unbeaten(self) -> NothingFaster | None:
        out = {*withheld(self._floats.values(), self._steering), *self._steering.named("rejected")}
        proved = (c for c, v in self._verdicts.items() if v.verdict == "proved" and family_of(c) not in out)
        if self._trials or any(c not in self._held.candidates for c in proved):
            return None
        by = fastest_baseline(self._rivals.values())
        return self._held.outcome(by.name if by is not None else "")

    def _dominated_by(self, family: str) -> str:
        """Nobody that was rejected dominates."""
        known = self._dominated.get(family)
        return known.by if known and known.by not in self._steering.named("rejected") else ""

    def _family_rows(self, trials: tuple[Trial, ...]) -> tuple[FamilyRow, ...]:
        candidates = Counter(self._candidates.values())
        words: dict[str, Counter[str]] = {f: Counter() for f in self._families}
        for name, verdict in self._verdicts.items():
            words.setdefault(family_of(name), Counter())[verdict.verdict] += 1
        measured: dict[str, list[Trial]] = {}
        for trial in trials:
            measured.setdefault(trial.family, []).append(trial)
        best = self._fastest()
        choices = self._steering.choices
        rows: list[FamilyRow] = []
        for family, born in self._families.items():
            seen = words[family]
            mine = measured.get(family, [])
            times = [t.time_s for t in mine if t.time_s is not None]
            rows.append(
                FamilyRow(
                    family,
                    born.node,
                    born.sgraph,
                    _status(seen, candidates[family], self._maps_rejected[family]),
                    choices.get(family, ""),
                    candidates[family],
                    self._maps_rejected[family],
                    seen["proved"],
                    seen["refuted"],
                    seen["unknown"],
                    len(mine),
                    sum(t.failure is not None for t in mine),
                    min(times, default=None),
                    self._floors.get(family),
                    best is not None and family == best.family,
                    self._floats[family].outcome if family in self._floats else "",
                    self._dominated_by(family),
                )
            )
        return tuple(rows)


def _status(words: Counter[str], candidates: int, maps_rejected: int) -> Status:
    """Proved by one candidate; refuted only by all; unknown is never rounded to no."""
    if words["proved"]:
        return "proved"
    if words["unknown"]:
        return "unknown"
    if candidates and words["refuted"] >= candidates:
        return "refuted"
    return "impossible" if maps_rejected and not candidates else "open"
