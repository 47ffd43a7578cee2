"""The fold of a journal into a `Ledger`: `Fold` takes events one by one, `ledger` takes them all."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from copy import copy
from dataclasses import replace
from typing import Any, cast

from prism_explore.events.fastest import OURS
from prism_explore.events.kinds import (
    BaselineMeasured,
    Bookmarked,
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
    SearchForked,
    SearchRepeated,
    SpaceCounted,
    Steered,
    TrialFailed,
    TrialMeasured,
    TuningEnded,
    VerdictReached,
)
from prism_explore.events.ledger.funnel import Funnel, PruneCounter
from prism_explore.events.ledger.rows import (
    FamilyRow,
    Improvement,
    Ledger,
    Status,
    Trial,
    fastest_baseline,
    fastest_trial,
    withheld,
)
from prism_explore.events.ledger.steering import Steering
from prism_explore.events.near_misses import NearMissFold
from prism_explore.events.no_improvement import TIME_BOUND_RULE, NothingFaster, TimeToBeatFold


def ledger(events: Iterable[Event]) -> Ledger:
    """The ledger of these events."""
    fold = Fold()
    for event in events:
        fold.add(event)
    return fold.value()


def family_rows(events: Iterable[Event]) -> tuple[FamilyRow, ...]:
    """The families, in the order in which they were found."""
    return ledger(events).families


_WHILE_CHOOSING = CandidateRejected | Steered | Bookmarked | SearchForked | ExplorationFinished
"""Events after which more maps of the same family can be tried; the search can be steered and cancelled in between."""


class Fold:
    """Computes a ledger from events one by one."""

    def __init__(self) -> None:
        self._started: ExplorationStarted | None = None
        self._finished: ExplorationFinished | None = None
        self._counts: Counter[str] = Counter()
        self._pruned = PruneCounter()
        self._families: dict[str, FamilyCompleted] = {}
        self._candidates: dict[str, str] = {}
        """Per candidate, its family."""
        self._maps_rejected: Counter[str] = Counter()
        self._verdicts: dict[str, VerdictReached] = {}
        self._trials: dict[str, Trial] = {}
        self._ended: dict[str, None] = {}
        self._bounds_s: dict[str, float] = {}
        """Per family, the least roofline bound of its candidates."""
        self._incumbents: list[Improvement] = []
        self._initial_baselines: dict[str, RivalTimed] = {}
        self._races: dict[str, dict[str, BaselineMeasured]] = {}
        """Per trial that was raced against the baselines, the rows by name."""
        self._tuning_ended: TuningEnded | None = None
        self._repeated: SearchRepeated | None = None
        self._steering = Steering()
        self._floats: dict[str, FloatsAssessed] = {}
        self._dominated: dict[str, FamilyDominated] = {}
        self._bounded: dict[str, CandidateBounded] = {}
        """Per family, the candidate with the least bound among those that were not timed because of it."""
        self._forbidden: dict[str, CandidateRejected] = {}
        """Per family, the first choice of maps that is forbidden."""
        self._choosing = ""
        """The family whose choices of maps are tried; another one can still be legal."""
        self._near_misses = NearMissFold()
        self._time_to_beat = TimeToBeatFold()
        self._space: SpaceCounted | None = None
        self._count = self._other_count = 0
        """Number of events, and of those that are no step of the enumeration."""
        self._last: tuple[int, int, Ledger] = (0, 0, Ledger())
        """The last ledger, and both numbers for it."""

    def add(self, event: Event) -> None:
        """Add one event."""
        self._near_misses.add(event)
        if self._choosing and not isinstance(event, _WHILE_CHOOSING):
            self._choosing = ""
            self._other_count += 1  # so that its row is made again
        match event:
            case RegionPruned():
                self._counts["pruned"] += 1
                self._pruned.add(event.reason, "region", event.stood_for, event.region)
                if event.reason.rule == TIME_BOUND_RULE:
                    self._time_to_beat.add(event)
            case NodeExpanded():
                self._counts["expanded"] += 1
            case _:
                self._add_other(event)
        self._count += 1

    def _add_other(self, event: Event) -> None:
        """Add an event that is no step of the enumeration; those are most of all events."""
        self._other_count += 1
        self._time_to_beat.add(event)
        match event:
            case ExplorationStarted():
                self._started, self._finished = event, None
            case FamilyCompleted():
                self._families[event.family] = event
            case SpaceCounted():
                self._space = event
            case CandidateInstantiated():
                self._candidates[event.candidate] = event.family
            case CandidateRejected():
                self._choosing = event.family
                self._maps_rejected[event.family] += 1
                self._forbidden.setdefault(event.family, event)
                self._pruned.add(event.reason, "maps", 1.0, event.family)
            case CandidateBounded():
                self._counts["bounded"] += 1
                self._pruned.add(event.reason, "candidate", 1.0, event.candidate)
                self._add_bound(event.candidate, event.floor_s)
                least = self._bounded.setdefault(self._family(event.candidate), event)
                if event.floor_s < least.floor_s:
                    self._bounded[self._family(event.candidate)] = event
            case VerdictReached():
                self._verdicts[event.candidate] = event
            case ParametersProposed():
                self._trials[event.trial] = replace(
                    self._trial(event), modelled_s=event.modelled_s, floor_s=event.floor_s or None
                )
                if event.floor_s:
                    self._add_bound(event.candidate, event.floor_s)
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
                self._ended.setdefault(event.trial)
            case TrialFailed():
                self._trials[event.trial] = replace(self._trial(event), failure=event.reason)
                self._ended.setdefault(event.trial)
            case IncumbentImproved():
                number = len(self._ended)
                self._incumbents.append(Improvement(number, event.trial, event.candidate, event.time_s))
            case SearchRepeated():
                self._repeated = event
            case TuningEnded():
                self._tuning_ended = event
            case BaselineMeasured():
                raced = self._fastest()
                key = raced.trial if raced else ""
                self._races[key] = {**self._races.get(key, {}), event.name: event}
                if raced is not None and event.name == OURS and event.samples:
                    self._trials[raced.trial] = replace(raced, race=event)
            case Steered():
                self._steering = self._steering.after(event)
            case ExplorationFinished():
                self._finished = event
            case FloatsAssessed():
                self._floats[event.family] = event
            case FamilyDominated():
                if event.left_out and event.family not in self._dominated:
                    self._pruned.add(event.reason, "family", 1.0, event.family)
                self._dominated[event.family] = event
            case RivalTimed():
                self._initial_baselines[event.name] = event
            case (
                SaturationStepped()
                | CertificateReplayed()
                | KernelGenerated()
                | PlayedOff()
                | SearchForked()
                | Bookmarked()
            ):
                pass
            case NodeExpanded() | RegionPruned():
                pass

    def copy(self) -> Fold:
        """An independent copy; the events are shared."""
        twin = copy(self)
        for name, value in vars(self).items():
            if isinstance(value, dict | list | PruneCounter | NearMissFold | TimeToBeatFold):
                setattr(twin, name, cast("dict[str, object]", value).copy())
        return twin

    def _fastest(self) -> Trial | None:
        return fastest_trial(self._trials.values(), self._steering, withheld(self._floats.values(), self._steering))

    def _family(self, candidate: str) -> str:
        """The family of a candidate; a journal of tuning alone has only the candidate's id, which starts with it."""
        return self._candidates.get(candidate) or candidate.split(".")[0]

    def _add_bound(self, candidate: str, bound_s: float) -> None:
        family = self._family(candidate)
        self._bounds_s[family] = min(bound_s, self._bounds_s.get(family, math.inf))

    def _trial(self, event: ParametersProposed | TrialMeasured | TrialFailed) -> Trial:
        known = self._trials.get(event.trial)
        return known or Trial(event.trial, event.candidate, event.parameters, family=self._family(event.candidate))

    def value(self) -> Ledger:
        """The ledger of the events so far. What did not change since the last one is the same object."""
        count, others, last = self._last
        if self._count == count and count:
            return last
        parts = self._enumeration_parts(last.funnel)
        if self._other_count != others:
            parts |= self._other_parts()
        changed = {name: part for name, part in parts.items() if getattr(last, name) != part}
        self._last = (self._count, self._other_count, replace(last, **changed))
        return self._last[2]

    def _enumeration_parts(self, funnel: Funnel) -> dict[str, Any]:
        """The parts of the ledger that each step of the enumeration can change."""
        space = self._space
        return {
            "funnel": replace(funnel, expanded=self._counts["expanded"], pruned=self._counts["pruned"]),
            "prune_counts": self._pruned.rows(),
            "near_misses": self._near_misses.nearest(),
            "space_breakdown": self._pruned.space_breakdown(space, len(self._families)) if space is not None else None,
            "nothing_faster": self._nothing_faster(),
        }

    def _other_parts(self) -> dict[str, Any]:
        """The parts of the ledger that only other events change, and the full funnel."""
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
        return {
            "started": self._started,
            "finished": self._finished,
            "funnel": funnel,
            "families": self._family_rows(trials),
            "trials": trials,
            "incumbents": tuple(self._incumbents),
            "tuning_ended": self._tuning_ended,
            "repeated": self._repeated,
            "final_race": tuple(self._races.get(best.trial if best else "", {}).values()),
            "verdicts": dict(self._verdicts),
            "steering": self._steering,
            "floats": dict(self._floats),
            "initial_baselines": tuple(self._initial_baselines.values()),
        }

    def _nothing_faster(self) -> NothingFaster | None:
        out = {*withheld(self._floats.values(), self._steering), *self._steering.named("rejected")}
        proved = (c for c, v in self._verdicts.items() if v.verdict == "proved" and self._family(c) not in out)
        if self._trials or any(c not in self._time_to_beat.bounds_s for c in proved):
            return None
        fastest = fastest_baseline(self._initial_baselines.values())
        return self._time_to_beat.outcome(fastest.name if fastest is not None else "")

    def _dominated_by(self, family: str) -> str:
        """The family that dominates this one, unless the user rejected that; else empty."""
        known = self._dominated.get(family)
        return known.by if known and known.by not in self._steering.named("rejected") else ""

    def _family_rows(self, trials: tuple[Trial, ...]) -> tuple[FamilyRow, ...]:
        candidates = Counter(self._candidates.values())
        words: dict[str, Counter[str]] = {f: Counter() for f in self._families}
        first: dict[tuple[str, str], VerdictReached] = {}
        for name, verdict in self._verdicts.items():
            words.setdefault(self._family(name), Counter())[verdict.verdict] += 1
            first.setdefault((self._family(name), verdict.verdict), verdict)
        measured: dict[str, list[Trial]] = {}
        for trial in trials:
            measured.setdefault(trial.family, []).append(trial)
        best = self._fastest()
        choices = self._steering.choices
        rows: list[FamilyRow] = []
        for family, completed in self._families.items():
            verdicts = words[family]
            own_trials = measured.get(family, [])
            timed = [t for t in own_trials if t.time_s is not None]
            failures = Counter(t.failure.code for t in own_trials if t.failure is not None).most_common(1)
            forbidden = 0 if family == self._choosing else self._maps_rejected[family]
            status = _status(verdicts, candidates[family], forbidden)
            rows.append(
                FamilyRow(
                    family,
                    completed.node,
                    completed.sgraph,
                    status,
                    choices.get(family, ""),
                    candidates[family],
                    self._maps_rejected[family],
                    verdicts["proved"],
                    verdicts["refuted"],
                    verdicts["unknown"],
                    len(own_trials),
                    sum(t.failure is not None for t in own_trials),
                    min(timed, key=lambda t: t.time_s or 0.0, default=None),
                    self._bounds_s.get(family),
                    best is not None and family == best.family,
                    self._floats[family].outcome if family in self._floats else "",
                    self._dominated_by(family),
                    self._dominated.get(family),
                    first.get((family, status)),
                    self._bounded.get(family),
                    self._forbidden.get(family),
                    next((t.failure for t in own_trials if t.failure and t.failure.code == failures[0][0]), None),
                )
            )
        return tuple(rows)


def _status(words: Counter[str], candidates: int, forbidden: int) -> Status:
    """Proved if one candidate is proved; refuted only if all are; one unknown candidate makes the rest unknown."""
    if words["proved"]:
        return "proved"
    if words["unknown"]:
        return "unknown"
    if candidates and words["refuted"] >= candidates:
        return "refuted"
    return "impossible" if forbidden and not candidates else "open"
