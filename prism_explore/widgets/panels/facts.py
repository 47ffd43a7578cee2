"""A search's facts by id, so that a panel can say what n12, p3, f1.c2, f1.c2/k3.b7, u9 or c4 is.

`Facts` takes entries one by one, beside `events.ledger.Fold`, which counts them. It also says each fact
as one sentence for the log.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import assert_never

from prism_explore.events.format import seconds_text, verdict_text
from prism_explore.events.journal import Entry
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
from prism_explore.events.phases import Phase, phase_of

LOGGED = 200
"""Entries that the log shows; the journal has all."""


@dataclass(frozen=True, slots=True)
class Line:
    """A fact as a line of the log."""

    seq: int
    at_s: float
    kind: str
    """Of its mark; empty for none."""
    text: str
    ref: str


@dataclass(slots=True)
class Facts:
    """What happened, by the id of what it happened to."""

    nodes: dict[str, NodeExpanded] = field(default_factory=dict[str, NodeExpanded])
    regions: dict[str, RegionPruned] = field(default_factory=dict[str, RegionPruned])
    families: dict[str, FamilyCompleted] = field(default_factory=dict[str, FamilyCompleted])
    candidates: dict[str, CandidateInstantiated] = field(default_factory=dict[str, CandidateInstantiated])
    rejected: dict[str, list[CandidateRejected]] = field(default_factory=dict[str, list[CandidateRejected]])
    """Per family, the choices of maps that the constraints forbid."""
    verdicts: dict[str, VerdictReached] = field(default_factory=dict[str, VerdictReached])
    bounded: dict[str, CandidateBounded] = field(default_factory=dict[str, CandidateBounded])
    floats: dict[str, FloatsAssessed] = field(default_factory=dict[str, FloatsAssessed])
    """Per family, how it fares in floating point."""
    certificates: dict[str, CertificateReplayed] = field(default_factory=dict[str, CertificateReplayed])
    sources: dict[str, KernelGenerated] = field(default_factory=dict[str, KernelGenerated])
    """Per trial."""
    children: dict[str, int] = field(default_factory=dict[str, int])
    """Per node, how many grew from it and were kept."""
    cut_below: dict[str, int] = field(default_factory=dict[str, int])
    """Per node, how many that would have grown from it were cut."""
    family_at: dict[str, str] = field(default_factory=dict[str, str])
    """Per node, the family that it completed."""
    phase: Phase | None = None
    """Of the last fact that a phase worked for."""
    log: deque[Line] = field(default_factory=lambda: deque[Line](maxlen=LOGGED))
    count: int = 0

    @classmethod
    def of(cls, events: Iterable[Event]) -> Facts:
        """What these events add up to; they are taken to have happened at once."""
        facts = cls()
        for number, event in enumerate(events):
            facts.add(Entry(number, 0.0, event))
        return facts

    def add(self, entry: Entry) -> None:
        """Take one entry."""
        event = entry.event
        self.count += 1
        self.phase = phase_of(event) or self.phase
        match event:
            case NodeExpanded():
                self.nodes[event.node] = event
                self.children[event.parent] = self.children.get(event.parent, 0) + 1
            case RegionPruned():
                self.regions[event.region] = event
                self.cut_below[event.parent] = self.cut_below.get(event.parent, 0) + 1
            case FamilyCompleted():
                self.families[event.family] = event
                self.family_at[event.node] = event.family
            case CandidateInstantiated():
                self.candidates[event.candidate] = event
            case CandidateRejected():
                self.rejected.setdefault(event.family, []).append(event)
            case VerdictReached():
                self.verdicts[event.candidate] = event
            case CandidateBounded():
                self.bounded[event.candidate] = event
            case CertificateReplayed():
                self.certificates[event.candidate] = event
            case FloatsAssessed():
                self.floats[event.family] = event
            case KernelGenerated():
                self.sources[event.trial] = event
            case _:
                pass
        kind, text, ref = sentence(event)
        self.log.append(Line(entry.seq, entry.at_s, kind, text, ref))

    def candidates_of(self, family: str) -> tuple[str, ...]:
        """A family's candidates in order of birth."""
        return tuple(c for c, e in self.candidates.items() if e.family == family)

    def knows(self, ref: str) -> bool:
        """Whether there is a family or candidate of this id."""
        return ref in self.families or ref in self.candidates


def sentence(event: Event) -> tuple[str, str, str]:
    """A fact for people: the kind of its mark, a sentence, and the id of what it happened to."""
    match event:
        case ExplorationStarted():
            return "", f"the search began: {event.program.splitlines()[0]}, on {event.target}, seed {event.seed}", ""
        case RivalTimed():
            took = f"takes {seconds_text(event.time_s)}" if event.samples else f"was not timed: {event.note}"
            return "", f"{event.name}, to be beaten, {took}", ""
        case NodeExpanded():
            return "expanded", f"{event.node} grew by {event.operator}", event.node
        case RegionPruned():
            return (
                f"pruned-{event.reason.soundness}",
                f"{event.region} cut, {event.operator}: {event.reason.sentence}",
                event.region,
            )
        case FamilyCompleted():
            return "family", f"{event.family} is complete: its result may equal the program's", event.family
        case SpaceCounted():
            return "", f"all has grown: {event.whole:,.0f} graphs, cut ones and void ones included", ""
        case CandidateInstantiated():
            cut = ", ".join(event.uses) or "nothing cut"
            return "", f"{event.candidate} got its maps: {cut}", event.candidate
        case CandidateRejected():
            return (
                f"pruned-{event.reason.soundness}",
                f"{event.family}: maps {', '.join(event.uses) or '(none)'} cannot be: {event.reason.sentence}",
                event.family,
            )
        case CandidateBounded():
            floor, best = seconds_text(event.floor_s), seconds_text(event.best_s)
            return (
                "",
                f"{event.candidate} was not timed: its modelled bound {floor} is no better than {best}",
                event.candidate,
            )
        case SaturationStepped():
            return "", f"e-graph of {event.subject}, step {event.iteration}: {event.nodes} nodes", event.subject
        case VerdictReached():
            return event.verdict, f"{event.candidate} is {verdict_text(event)}", event.candidate
        case CertificateReplayed():
            done = sum(row[4] for row in event.lemmas)
            return "", f"{event.candidate}: egglog replayed {done} of {len(event.lemmas)} lemmas", event.candidate
        case FloatsAssessed():
            return "", f"{event.family} in floating point, {event.outcome}: {event.detail}", event.family
        case FamilyDominated():
            when = "is not tuned" if event.left_out else "comes behind"
            return "", f"{event.family} {when}: {event.by} costs no more in the cost model", event.family
        case KernelGenerated():
            return "", f"{event.trial}: {event.backend} source for {event.candidate}", event.trial
        case ParametersProposed():
            numbers = numbers_text(event.parameters)
            return "", f"{event.trial} will try {numbers}: {seconds_text(event.modelled_s)} modelled", event.trial
        case TrialMeasured():
            return "", f"{event.trial} took {seconds_text(event.time_s)}, error {event.error:.1e}", event.trial
        case TrialFailed():
            return "trial-failed", f"{event.trial} gave no kernel: {event.reason.sentence}", event.trial
        case IncumbentImproved():
            return (
                "badge-best",
                f"{event.trial} of {event.candidate} is the best so far: {seconds_text(event.time_s)}",
                event.trial,
            )
        case PlayedOff(order):
            return "", f"{order[0]} won the play-off of {len(order)} trials that are about as fast", order[0]
        case BaselineMeasured():
            return "", f"{event.name} takes {seconds_text(event.time_s)}", ""
        case Steered():
            return (
                "pruned-user" if event.action == "reject" else "",
                f"you: {event.action} {event.subject}",
                event.subject,
            )
        case ExplorationFinished():
            return "", f"the search ended: {event.stop}", ""
        case _:
            assert_never(event)


def numbers_text(parameters: tuple[tuple[str, int], ...]) -> str:
    """A choice of numbers, as it is written."""
    return ", ".join(f"{k}={v}" for k, v in parameters) or "no numbers"
