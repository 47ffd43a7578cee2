"""Folds over a journal: what the facts add up to.

Widgets, tables and the command line draw these values and compute nothing else, so their counts agree.
`Fold` takes facts one by one, for those who follow a live search; `ledger` takes them all.

Steering is folded like an editor's history: undo takes back the last step that still stands, redo puts
it back, and a new step forgets what was undone.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from prism_explore.events.fastest import OURS, Outrun, outrun
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
    FloatsWord,
    IncumbentImproved,
    KernelGenerated,
    NodeExpanded,
    ParametersProposed,
    PlayedOff,
    Reason,
    RegionPruned,
    RivalTimed,
    SaturationStepped,
    Soundness,
    SpaceCounted,
    Steered,
    TrialFailed,
    TrialMeasured,
    VerdictReached,
)
from prism_explore.events.near_misses import Miss, Misses
from prism_explore.events.no_improvement import Held, NothingBelow

What: TypeAlias = Literal["region", "maps", "family", "candidate"]
"""What was cut: partial graphs, choices of maps, or families and candidates that were proved and not tuned."""
CutKey: TypeAlias = tuple[str, str, Soundness, What]
"""Code, rule, soundness, what was cut."""
Status: TypeAlias = Literal["open", "proved", "unknown", "refuted", "impossible"]
"""Of a family: what its best candidate came to; impossible where the constraints admit no maps."""
Choice: TypeAlias = Literal["", "accepted", "rejected"]
Stop: TypeAlias = Literal["exhausted", "budget", "cancelled"]


@dataclass(frozen=True, slots=True)
class Cut:
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
class Steering:
    """What was decided by hand and still stands, oldest first."""

    standing: tuple[Steered, ...] = ()
    undone: tuple[Steered, ...] = ()
    """What redo would put back, the next one last."""

    @property
    def choices(self) -> Mapping[str, Choice]:
        """Per subject, the last decision."""
        words: dict[str, Choice] = {}
        for step in self.standing:
            if step.action != "prefer":
                words.pop(step.subject, None)
                words[step.subject] = "accepted" if step.action == "accept" else "rejected"
        return words

    def prefers(self, family: str, text: str) -> bool:
        """Whether a family was preferred, by its name or by something that its graph says."""
        wanted = (step.subject for step in self.standing if step.action == "prefer")
        return any(w == family or (w in text and not _FAMILY.fullmatch(w)) for w in wanted)

    def named(self, choice: Choice) -> tuple[str, ...]:
        """Subjects with this choice."""
        return tuple(s for s, c in self.choices.items() if c == choice)

    def after(self, step: Steered) -> Steering:
        """With one more step."""
        match step.action:
            case "undo":
                return Steering(self.standing[:-1], (*self.undone, *self.standing[-1:]))
            case "redo":
                return Steering((*self.standing, *self.undone[-1:]), self.undone[:-1])
            case "accept" | "reject" | "prefer":
                return Steering((*self.standing, step), ())


@dataclass(frozen=True, slots=True)
class Account:
    """How the whole space came to its end, in graphs as they are spelled: any operator on any operands."""

    whole: float
    cut: float
    """By rules, user included."""
    left: float
    """By budget."""
    families: int
    unfinished: int
    """Kept on the way, and no program."""
    void: float
    """Spellings that are no graphs."""

    @property
    def adds_up(self) -> bool:
        """Whether every graph of the space is in one of the rows, up to the rounding of large numbers."""
        return math.isclose(
            self.whole, self.cut + self.left + self.families + self.unfinished + self.void, rel_tol=1e-9
        )


@dataclass(frozen=True, slots=True)
class Ledger:
    """What a journal adds up to."""

    started: ExplorationStarted | None = None
    finished: ExplorationFinished | None = None
    funnel: Funnel = Funnel()
    cuts: tuple[Cut, ...] = ()
    """Most frequent first."""
    families: tuple[FamilyRow, ...] = ()
    trials: tuple[Trial, ...] = ()
    incumbents: tuple[Improvement, ...] = ()
    baselines: tuple[BaselineMeasured, ...] = ()
    """Of the run in which the present best was raced."""
    verdicts: Mapping[str, VerdictReached] = field(default_factory=dict[str, VerdictReached])
    """Per candidate, the last one."""
    steering: Steering = Steering()
    floats: Mapping[str, FloatsAssessed] = field(default_factory=dict[str, FloatsAssessed])
    """Per family, the last one."""
    misses: tuple[Miss, ...] = ()
    """What came farthest, nearest first; none where something is proved."""
    account: Account | None = None
    """Once all has grown."""
    rivals: tuple[RivalTimed, ...] = ()
    """Timed before anything grew, where the fastest of them is the time to beat."""
    unbeaten: NothingBelow | None = None
    """What the search says so far, where all that was proved and may win was cut because of a time to beat."""

    @property
    def best(self) -> Trial | None:
        """The fastest trial of a family that nobody rejected and that is not withheld; the first of equals."""
        return fastest(self.trials, self.steering, self.withheld)

    @property
    def withheld(self) -> tuple[str, ...]:
        """Families that are unsafe in floating point, and that nobody allowed or accepted."""
        return withheld(self.floats.values(), self.steering)

    @property
    def best_s(self) -> float | None:
        """The incumbent's time: side by side with its rivals once that was done, else as tuning found it."""
        if self.best is None:
            return None
        ours = next((b for b in self.baselines if b.name == OURS and b.samples), None)
        return ours.time_s if ours is not None else self.best.time_s

    @property
    def outrun(self) -> Outrun | None:
        """Who beat the best kernel in the side-by-side run, and is called instead of it."""
        return outrun(self.baselines)

    def by_soundness(self) -> Mapping[Soundness, int]:
        """How many regions and maps were cut, per soundness class."""
        counts: Counter[Soundness] = Counter()
        for cut in self.cuts:
            counts[cut.soundness] += cut.count
        return dict(counts)


_FAMILY = re.compile(r"f[0-9]+")


def withheld(assessed: Iterable[FloatsAssessed], steering: Steering) -> tuple[str, ...]:
    """Families that are unsafe in floating point, and that nobody allowed or accepted, in order."""
    accepted = steering.named("accepted")
    unsafe = {e.family: e for e in assessed if e.outcome == "unsafe" and not e.allowed}
    return tuple(family for family in unsafe if family not in accepted)


def fastest(trials: Iterable[Trial], steering: Steering, but: Collection[str] = ()) -> Trial | None:
    """The fastest trial of a family that nobody rejected and that is not in `but`; the first of equals."""
    out = {*steering.named("rejected"), *but}
    timed = [(t.time_s, n, t) for n, t in enumerate(trials) if t.time_s is not None and t.family not in out]
    return min(timed, key=lambda row: row[:2])[2] if timed else None


def family_of(candidate: str) -> str:
    """The family that a candidate's id names: f1.c2 belongs to f1."""
    return candidate.split(".")[0]


def ledger(events: Iterable[Event]) -> Ledger:
    """What these facts add up to."""
    fold = Fold()
    for event in events:
        fold.add(event)
    return fold.value()


def cuts(events: Iterable[Event]) -> tuple[Cut, ...]:
    """Cuts per rule and reason, most frequent first."""
    return ledger(events).cuts


def family_rows(events: Iterable[Event]) -> tuple[FamilyRow, ...]:
    """The families in order of birth."""
    return ledger(events).families


def was_cut_by_budget(events: Iterable[Event]) -> bool:
    """Whether some region, choice of maps or candidate was left out because a budget was spent."""
    return any(
        e.reason.soundness == "budget"
        if isinstance(e, RegionPruned | CandidateRejected)
        else isinstance(e, VerdictReached) and bool(e.budget)
        for e in events
    )


class Fold:
    """Adds up facts one by one."""

    def __init__(self) -> None:
        self._started: ExplorationStarted | None = None
        self._finished: ExplorationFinished | None = None
        self._counts: Counter[str] = Counter()
        self._first: dict[CutKey, tuple[str, str, str, str]] = {}
        """Sentence, example, formula and what reopens it, of the first cut of each kind."""
        self._cuts: Counter[CutKey] = Counter()
        self._stood_for: defaultdict[CutKey, float] = defaultdict(float)
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
        self._misses = Misses()
        self._held = Held()
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
                self._cut(event.reason, "region", event.stood_for, event.region)
            case FamilyCompleted():
                self._families[event.family] = event
            case SpaceCounted():
                self._space = event
            case CandidateInstantiated():
                self._candidates[event.candidate] = event.family
            case CandidateRejected():
                self._maps_rejected[event.family] += 1
                self._cut(event.reason, "maps", 1.0, event.family)
            case CandidateBounded():
                self._counts["bounded"] += 1
                self._cut(event.reason, "candidate", 1.0, event.candidate)
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
                    self._cut(event.reason, "family", 1.0, event.family)
                self._dominated[event.family] = event
            case RivalTimed():
                self._rivals[event.name] = event
            case SaturationStepped() | CertificateReplayed() | KernelGenerated() | PlayedOff():
                pass

    def _fastest(self) -> Trial | None:
        return fastest(self._trials.values(), self._steering, withheld(self._floats.values(), self._steering))

    def _cut(self, reason: Reason, what: What, stood_for: float, example: str) -> None:
        key = (reason.code, reason.rule, reason.soundness, what)
        self._first.setdefault(key, (reason.sentence, example, reason.formula, reason.would_reopen_if))
        self._cuts[key] += 1
        self._stood_for[key] += stood_for

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
            tuple(
                Cut(*key, self._cuts[key], self._stood_for[key], *self._first[key])
                for key in sorted(self._cuts, key=lambda k: (-self._cuts[k], k))
            ),
            self._family_rows(trials),
            trials,
            tuple(self._incumbents),
            tuple(self._baselines.get(best.trial if best else "", {}).values()),
            dict(self._verdicts),
            self._steering,
            dict(self._floats),
            self._misses.nearest(),
            self._account(),
            tuple(self._rivals.values()),
            self._unbeaten(),
        )

    def _unbeaten(self) -> NothingBelow | None:
        out = {*withheld(self._floats.values(), self._steering), *self._steering.named("rejected")}
        proved = (c for c, v in self._verdicts.items() if v.verdict == "proved" and family_of(c) not in out)
        if self._trials or any(c not in self._held.candidates for c in proved):
            return None
        by = fastest_rival(self._rivals.values())
        return self._held.value(by.name if by is not None else "")

    def _dominated_by(self, family: str) -> str:
        """Nobody that was rejected dominates."""
        known = self._dominated.get(family)
        return known.by if known and known.by not in self._steering.named("rejected") else ""

    def _account(self) -> Account | None:
        counted = self._space
        if counted is None:
            return None
        rows = {True: 0.0, False: 0.0}
        for (_, _, soundness, what), stood_for in self._stood_for.items():
            if what == "region":
                rows[soundness == "budget"] += stood_for
        return Account(counted.whole, rows[False], rows[True], len(self._families), counted.unfinished, counted.void)

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


def fastest_rival(rivals: Iterable[RivalTimed]) -> RivalTimed | None:
    """The fastest rival of those that were timed before anything grew."""
    return min((r for r in rivals if r.samples), key=lambda r: r.time_s, default=None)
