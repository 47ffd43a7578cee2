"""The events of a search, indexed by the id that they concern; the inspector reads them.

`EventIndex` takes the entries of a journal one by one. The ledger of the events (`events.ledger`) holds the counts.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from prism_explore.events.journal import Entry
from prism_explore.events.kinds import (
    CandidateBounded,
    CandidateInstantiated,
    CandidateRejected,
    CertificateReplayed,
    FamilyCompleted,
    FloatsAssessed,
    KernelGenerated,
    NodeExpanded,
    RegionPruned,
    VerdictReached,
)
from prism_explore.events.phases import Phase, phase_of

MAX_LOG_ENTRIES = 200
"""Largest number of entries in the log; the journal has all."""


@dataclass(slots=True)
class EventIndex:
    """The events by id. The key of each table is the id in its events, unless the docstring of the field differs."""

    nodes: dict[str, NodeExpanded] = field(default_factory=dict[str, NodeExpanded])
    regions: dict[str, RegionPruned] = field(default_factory=dict[str, RegionPruned])
    families: dict[str, FamilyCompleted] = field(default_factory=dict[str, FamilyCompleted])
    candidates: dict[str, CandidateInstantiated] = field(default_factory=dict[str, CandidateInstantiated])
    candidates_by_family: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Per family, the ids of its candidates, oldest first."""
    rejected_maps: dict[str, list[CandidateRejected]] = field(default_factory=dict[str, list[CandidateRejected]])
    """Per family, the choices of maps that the constraints forbid."""
    verdicts: dict[str, VerdictReached] = field(default_factory=dict[str, VerdictReached])
    bounded: dict[str, CandidateBounded] = field(default_factory=dict[str, CandidateBounded])
    floats: dict[str, FloatsAssessed] = field(default_factory=dict[str, FloatsAssessed])
    """Per family."""
    certificates: dict[str, CertificateReplayed] = field(default_factory=dict[str, CertificateReplayed])
    sources: dict[str, KernelGenerated] = field(default_factory=dict[str, KernelGenerated])
    """Per trial."""
    child_count: dict[str, int] = field(default_factory=dict[str, int])
    """Per node, the number of its children."""
    pruned_count: dict[str, int] = field(default_factory=dict[str, int])
    """Per node, the number of regions that were pruned below it."""
    family_at: dict[str, str] = field(default_factory=dict[str, str])
    """Per node, the family that it completes."""
    phase: Phase | None = None
    """Phase of the last event that belongs to one."""
    log: deque[Entry] = field(default_factory=lambda: deque[Entry](maxlen=MAX_LOG_ENTRIES))
    """The last entries, oldest first."""
    count: int = 0

    def add(self, entry: Entry) -> None:
        """Index one entry."""
        event = entry.event
        self.count += 1
        self.phase = phase_of(event) or self.phase
        self.log.append(entry)
        match event:
            case NodeExpanded():
                self.nodes[event.node] = event
                self.child_count[event.parent] = self.child_count.get(event.parent, 0) + 1
            case RegionPruned():
                self.regions[event.region] = event
                self.pruned_count[event.parent] = self.pruned_count.get(event.parent, 0) + 1
            case FamilyCompleted():
                self.families[event.family] = event
                self.family_at[event.node] = event.family
            case CandidateInstantiated():
                if event.candidate not in self.candidates:
                    self.candidates_by_family.setdefault(event.family, []).append(event.candidate)
                self.candidates[event.candidate] = event
            case CandidateRejected():
                self.rejected_maps.setdefault(event.family, []).append(event)
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

    def candidates_of(self, family: str) -> tuple[str, ...]:
        """Ids of the candidates of a family, oldest first."""
        return tuple(self.candidates_by_family.get(family, ()))

    def has_graph(self, ref: str) -> bool:
        """Whether a family or candidate has this id."""
        return ref in self.families or ref in self.candidates
