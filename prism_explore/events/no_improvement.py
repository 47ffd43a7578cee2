"""A search that had a time to beat and found nothing below it: whose time that is, and what came nearest.

Nearest is the proved candidate with the least bound, for it is a whole program; where none came so far, the partial
graph with the least. Bounds of partial graphs only grow, so that one is no estimate of what it would have become.
"""

from __future__ import annotations

from dataclasses import dataclass

from prism_explore.events.format import parse_seconds, seconds_text
from prism_explore.events.kinds import CandidateBounded, Event, RegionPruned

TIME_BOUND_RULE = "cost.floor"
TIME_TO_BEAT = "time to beat"
"""What the reason of a cut calls it; the incumbent's time is called otherwise."""


@dataclass(frozen=True, slots=True)
class NothingFaster:
    """Nothing that was searched is below the time to beat, by its bound."""

    baseline: str
    """The rival whose time it is; empty where seconds were given."""
    time_to_beat: str
    nearest: str
    """A candidate or a region, by its id."""
    bound: str
    """What that takes at least, by its bound."""

    def __str__(self) -> str:
        """The outcome as a sentence."""
        whose = f"that of {self.baseline}, {self.time_to_beat}" if self.baseline else self.time_to_beat
        stays = f"{self.baseline} remains the best" if self.baseline else "there is nothing to put in its place"
        return (
            f"Nothing that was searched is below the time to beat, {whose}: {self.nearest} came nearest, "
            f"with a bound of {self.bound}; {stays}."
        )


class TimeToBeatFold:
    """Collects what was cut because of a time to beat."""

    def __init__(self) -> None:
        self.candidates: dict[str, float] = {}
        self._region: tuple[float, str] | None = None
        self._time = ""

    def add(self, event: Event) -> None:
        """Take one fact; those of other cuts are passed over."""
        match event:
            case RegionPruned() if event.reason.rule == TIME_BOUND_RULE:
                told = event.reason.substitution
                self._time = self._time or told.get(TIME_TO_BEAT, "")
                found = (parse_seconds(told["e"]), event.region)
                if self._region is None or found[0] < self._region[0]:
                    self._region = found
            case CandidateBounded() if TIME_TO_BEAT in event.reason.substitution:
                self._time = self._time or seconds_text(event.best_s)
                self.candidates[event.candidate] = event.floor_s
            case _:
                pass

    def outcome(self, by: str) -> NothingFaster | None:
        """What came nearest to the time to beat; None where nothing was held against one."""
        candidates = ((floor_s, candidate) for candidate, floor_s in self.candidates.items())
        whole = min(candidates, key=lambda found: found[0], default=self._region)
        return None if whole is None else NothingFaster(by, self._time, whole[1], seconds_text(whole[0]))
