"""The events of a search, indexed by the id that they concern; the inspector reads them.

`EventIndex` takes the entries of a journal one by one. The ledger of the events (`events.ledger`) holds the counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, TypeAlias

from prism_explore.events.journal import Entry
from prism_explore.events.kinds import (
    Bookmarked,
    CandidateBounded,
    CandidateInstantiated,
    CandidateRejected,
    CertificateReplayed,
    FamilyCompleted,
    FloatsAssessed,
    KernelGenerated,
    NodeExpanded,
    ParametersProposed,
    RegionPruned,
    TrialFailed,
    TrialMeasured,
    VerdictReached,
)
from prism_explore.events.phases import Phase, phase_of
from prism_explore.widgets.panels.timeline import Groups, History, Timeline

TrialEvent: TypeAlias = KernelGenerated | ParametersProposed | TrialMeasured | TrialFailed

MAX_LOG_ENTRIES = 200
"""Largest number of entries in the log; the journal has all."""


@dataclass(slots=True)
class EventIndex:
    """The events by id. The key of each table is the id in its events, unless the docstring of the field differs.

    Every field is a container of `panels.timeline`, so that an earlier state is a view.
    """

    entries: History = field(default_factory=History)
    nodes: Timeline[NodeExpanded] = field(default_factory=Timeline[NodeExpanded])
    regions: Timeline[RegionPruned] = field(default_factory=Timeline[RegionPruned])
    regions_by_code: Groups[RegionPruned] = field(default_factory=Groups[RegionPruned])
    """Per code of a reason, the regions that were pruned for it."""
    maps_by_code: Groups[CandidateRejected] = field(default_factory=Groups[CandidateRejected])
    """Per code of a reason, the choices of maps that were rejected for it."""
    families: Timeline[FamilyCompleted] = field(default_factory=Timeline[FamilyCompleted])
    candidates: Timeline[CandidateInstantiated] = field(default_factory=Timeline[CandidateInstantiated])
    candidates_by_family: Groups[str] = field(default_factory=lambda: Groups[str](_candidate))
    """Per family, the ids of its candidates, oldest first."""
    rejected_maps: Groups[CandidateRejected] = field(default_factory=Groups[CandidateRejected])
    """Per family, the choices of maps that the constraints forbid."""
    verdicts: Timeline[VerdictReached] = field(default_factory=Timeline[VerdictReached])
    bounded: Timeline[CandidateBounded] = field(default_factory=Timeline[CandidateBounded])
    floats: Timeline[FloatsAssessed] = field(default_factory=Timeline[FloatsAssessed])
    """Per family."""
    certificates: Timeline[CertificateReplayed] = field(default_factory=Timeline[CertificateReplayed])
    sources: Timeline[KernelGenerated] = field(default_factory=Timeline[KernelGenerated])
    """Per trial."""
    candidate_of_trial: Timeline[str] = field(default_factory=lambda: Timeline[str](_candidate))
    trials_by_candidate: Groups[str] = field(default_factory=lambda: Groups[str](_trial))
    """Per candidate, the ids of its trials, oldest first."""
    family_at: Timeline[str] = field(default_factory=lambda: Timeline[str](_family))
    """Per node, the family that it completes."""
    bookmarks: Timeline[Bookmarked] = field(default_factory=Timeline[Bookmarked])
    """Those of the user, deleted ones included; an earlier state has all of them too."""

    def add(self, entry: Entry) -> None:
        """Index one entry."""
        event = entry.event
        self.entries.add(entry)
        match event:
            case RegionPruned():
                self.regions.put(event.region, entry)
                self.regions_by_code.put(event.reason.code, entry)
            case NodeExpanded():
                self.nodes.put(event.node, entry)
            case FamilyCompleted():
                self.families.put(event.family, entry)
                self.family_at.put(event.node, entry)
            case CandidateInstantiated():
                if event.candidate not in self.candidates:
                    self.candidates_by_family.put(event.family, entry)
                self.candidates.put(event.candidate, entry)
            case CandidateRejected():
                self.rejected_maps.put(event.family, entry)
                self.maps_by_code.put(event.reason.code, entry)
            case VerdictReached():
                self.verdicts.put(event.candidate, entry)
            case CandidateBounded():
                self.bounded.put(event.candidate, entry)
            case CertificateReplayed():
                self.certificates.put(event.candidate, entry)
            case FloatsAssessed():
                self.floats.put(event.family, entry)
            case KernelGenerated():
                self.sources.put(event.trial, entry)
                self._add_trial(event, entry)
            case ParametersProposed() | TrialMeasured() | TrialFailed():
                self._add_trial(event, entry)
            case Bookmarked():
                self.bookmarks.put(event.bookmark, entry)
            case _:
                pass

    def _add_trial(self, event: TrialEvent, entry: Entry) -> None:
        if event.trial not in self.candidate_of_trial:
            self.candidate_of_trial.put(event.trial, entry)
            self.trials_by_candidate.put(event.candidate, entry)

    def before(self, count: int) -> EventIndex:
        """The index of the first `count` events."""
        earlier: dict[str, Any] = {f.name: getattr(self, f.name).before(count) for f in fields(self)}
        earlier["bookmarks"] = self.bookmarks
        return EventIndex(**earlier)

    @property
    def count(self) -> int:
        """Number of events."""
        return len(self.entries)

    @property
    def log(self) -> tuple[Entry, ...]:
        """The last entries, oldest first."""
        return self.entries.last(MAX_LOG_ENTRIES)

    @property
    def phase(self) -> Phase | None:
        """Phase of the last event that belongs to one."""
        for entry in reversed(self.entries):
            if (phase := phase_of(entry.event)) is not None:
                return phase
        return None

    def candidates_of(self, family: str) -> tuple[str, ...]:
        """Ids of the candidates of a family, oldest first."""
        return self.candidates_by_family.get(family, ())

    def has_graph(self, ref: str) -> bool:
        """Whether a family or candidate has this id."""
        return ref in self.families or ref in self.candidates


def _candidate(event: CandidateInstantiated | TrialEvent) -> str:
    return event.candidate


def _trial(event: TrialEvent) -> str:
    return event.trial


def _family(event: FamilyCompleted) -> str:
    return event.family
