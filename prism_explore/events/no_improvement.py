"""The outcome of a search with a time to beat in which nothing can be faster, by the modelled lower bounds.

Input: events. Output: the time to beat, and the candidate or region with the least bound. A proved candidate counts
before any partial graph, because it is a complete program; the bound of a partial graph can only grow.
"""

from __future__ import annotations

from dataclasses import dataclass

from prism_explore.events.format import parse_seconds, seconds_text
from prism_explore.events.kinds import CandidateBounded, Event, RegionPruned

TIME_BOUND_RULE = "cost.floor"
"""The rule that prunes by a lower bound on the time."""
TIME_TO_BEAT = "time to beat"
"""The key of the time to beat in a reason; reasons that compare with the incumbent lack it."""


@dataclass(frozen=True, slots=True)
class NothingFaster:
    """No graph of the search has a lower bound below the time to beat."""

    baseline: str
    """The baseline whose time it is; empty where the time was given as a number."""
    time_to_beat: str
    """With its unit."""
    nearest: str
    """The id of the candidate or region with the least bound."""
    bound: str
    """Its lower bound, with its unit."""

    def __str__(self) -> str:
        """The outcome as a sentence; the claim of a search stores it."""
        time = f"that of {self.baseline}, {self.time_to_beat}" if self.baseline else self.time_to_beat
        stays = f"{self.baseline} remains the best" if self.baseline else "there is nothing to put in its place"
        return (
            f"Nothing that was searched is below the time to beat, {time}: {self.nearest} came nearest, "
            f"with a bound of {self.bound}; {stays}."
        )


class TimeToBeatFold:
    """Collects the candidates and regions that the time to beat excludes."""

    def __init__(self) -> None:
        self.bounds_s: dict[str, float] = {}
        """Per excluded candidate, its lower bound."""
        self._region: tuple[float, str] | None = None
        """The least lower bound of an excluded region, and the region."""
        self._time = ""

    def copy(self) -> TimeToBeatFold:
        """An independent copy."""
        twin = TimeToBeatFold()
        twin.bounds_s, twin._region, twin._time = self.bounds_s.copy(), self._region, self._time
        return twin

    def add(self, event: Event) -> None:
        """Add one event; other exclusions are ignored."""
        match event:
            case RegionPruned() if event.reason.rule == TIME_BOUND_RULE:
                values = event.reason.substitution
                self._time = self._time or values.get(TIME_TO_BEAT, "")
                bound_s = parse_seconds(values["e"])
                if self._region is None or bound_s < self._region[0]:
                    self._region = (bound_s, event.region)
            case CandidateBounded() if TIME_TO_BEAT in event.reason.substitution:
                self._time = self._time or seconds_text(event.best_s)
                self.bounds_s[event.candidate] = event.floor_s
            case _:
                pass

    def outcome(self, baseline: str) -> NothingFaster | None:
        """The outcome, with the name of the baseline whose time is to be beaten; None where nothing was excluded."""
        candidates = ((bound_s, candidate) for candidate, bound_s in self.bounds_s.items())
        nearest = min(candidates, key=lambda found: found[0], default=self._region)
        return None if nearest is None else NothingFaster(baseline, self._time, nearest[1], seconds_text(nearest[0]))
