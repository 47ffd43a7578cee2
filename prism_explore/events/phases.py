"""Which stage of a search a fact belongs to, and how long each took."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias

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

Phase: TypeAlias = Literal["generate", "instantiate", "verify", "tune"]
PHASES: tuple[Phase, ...] = ("generate", "instantiate", "verify", "tune")


def phase_of(event: Event) -> Phase | None:
    """The stage whose work led to this fact; None for facts that no stage worked for."""
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
            | BaselineMeasured()
        ):
            return "tune"
        case ExplorationStarted() | RivalTimed() | Steered() | ExplorationFinished():
            return None


def seconds_per_stage(entries: Iterable[Entry]) -> Mapping[Phase, float]:
    """Time between a fact and the one before it, given to the stage that the fact belongs to.

    A pause between two steps is therefore part of the stage that went on behind it. Units: s.
    """
    total: dict[Phase, float] = dict.fromkeys(PHASES, 0.0)
    before = 0.0
    for entry in entries:
        stage = phase_of(entry.event)
        if stage is not None:
            total[stage] += entry.at_s - before
        before = entry.at_s
    return total
