"""The stage of a search that an event belongs to, and the time that each stage took."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias

from prism_explore.events.journal import Entry
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

Phase: TypeAlias = Literal["generate", "instantiate", "verify", "tune"]
PHASES: tuple[Phase, ...] = ("generate", "instantiate", "verify", "tune")


def phase_of(event: Event) -> Phase | None:
    """The stage that produced an event; None for events of no stage, such as the start of the search."""
    match event:
        case NodeExpanded() | RegionPruned() | FamilyCompleted() | SpaceCounted():
            return "generate"
        case CandidateInstantiated() | CandidateRejected():
            return "instantiate"
        case SaturationStepped() | VerdictReached() | CertificateReplayed():
            return "verify"
        case (
            CandidateBounded()
            | FloatsAssessed()
            | FamilyDominated()
            | ParametersProposed()
            | KernelGenerated()
            | TrialMeasured()
            | TrialFailed()
            | IncumbentImproved()
            | PlayedOff()
            | TuningEnded()
            | BaselineMeasured()
        ):
            return "tune"
        case (
            ExplorationStarted()
            | RivalTimed()
            | Steered()
            | SearchForked()
            | SearchRepeated()
            | Bookmarked()
            | ExplorationFinished()
        ):
            return None


def seconds_per_stage(entries: Iterable[Entry]) -> Mapping[Phase, float]:
    """Per stage, the sum of the times between its events and the events before them, in seconds.

    A pause counts for the stage of the next event.
    """
    total: dict[Phase, float] = dict.fromkeys(PHASES, 0.0)
    previous_s = 0.0
    for entry in entries:
        stage = phase_of(entry.event)
        if stage is not None:
            total[stage] += entry.at_s - previous_s
        previous_s = entry.at_s
    return total
