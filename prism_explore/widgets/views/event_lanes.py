"""The events of a search by lane, with their numbers: expansions, prunings, families, verdicts, trials."""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from prism_explore.events.kinds import (
    Event,
    FamilyCompleted,
    NodeExpanded,
    RegionPruned,
    TrialFailed,
    TrialMeasured,
    VerdictReached,
)

LaneName: TypeAlias = Literal["expansions", "prunings", "families", "verdicts", "trials"]
LANES: tuple[LaneName, ...] = get_args(LaneName)


@dataclass(slots=True)
class Lane:
    """The events of one kind, in their order."""

    numbers: array[int] = field(default_factory=lambda: array("q"))
    """Number of each event in the journal, from 0; ascending."""
    refs: list[str] = field(default_factory=list[str])
    """Per event, the id that it concerns."""
    kinds: list[str] = field(default_factory=list[str])
    """Per event, the style of its mark, a row of `colors.STYLES`."""

    def add(self, number: int, ref: str, kind: str) -> None:
        """Add an event."""
        self.numbers.append(number)
        self.refs.append(ref)
        self.kinds.append(kind)

    def span(self, first: int, end: int) -> tuple[int, int]:
        """The positions of the events from one number on and before another one."""
        return bisect_left(self.numbers, first), bisect_left(self.numbers, end)


class EventLanes:
    """The lanes of a journal; `before(n)` is a view of the first `n` events that shares the data."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._lanes: Mapping[LaneName, Lane] = {name: Lane() for name in LANES}
        self._count = 0
        self._limit = sys.maxsize
        for event in events:
            self.add(event)

    def add(self, event: Event) -> None:
        """Add the next event."""
        number = self._count
        self._count += 1
        match event:
            case RegionPruned():
                self._lanes["prunings"].add(number, event.region, event.reason.soundness)
            case NodeExpanded():
                self._lanes["expansions"].add(number, event.node, "expanded")
            case FamilyCompleted():
                self._lanes["families"].add(number, event.family, "family")
            case VerdictReached():
                self._lanes["verdicts"].add(number, event.candidate, event.verdict)
            case TrialMeasured():
                self._lanes["trials"].add(number, event.trial, "trial")
            case TrialFailed():
                self._lanes["trials"].add(number, event.trial, "trial-failed")
            case _:
                pass

    def before(self, count: int) -> EventLanes:
        """The lanes after the first `count` events; the result is to be read only."""
        view = EventLanes()
        view._lanes, view._count = self._lanes, self._count
        view._limit = min(count, self._limit)
        return view

    @property
    def count(self) -> int:
        """Number of events."""
        return min(self._count, self._limit)

    version = count
    """Two views of one journal with the same version are equal."""

    def lane(self, name: LaneName) -> Lane:
        """A lane with its data; events from `count` on are to be ignored."""
        return self._lanes[name]
