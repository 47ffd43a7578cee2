"""The play-off at the end of a run: which trials take part.

A race is decided by few rounds, so some trials won by chance and some lost by chance. Those that may be as fast as the
incumbent are timed once more, in common rounds (`runner.race.Racer.rank`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from prism_explore.pipeline.stages import Timed
from prism_explore.tune.runner.stopping_rule import FINALIST_RATIO, FINALISTS, PLAY_OFF_TRIALS
from prism_explore.tune.runner.trial import Incumbent
from prism_explore.tune.space.pool import Point


@dataclass(frozen=True, slots=True)
class TimedTrial:
    """A trial that gave a time."""

    name: str
    point: Point
    timed: Timed

    @property
    def as_incumbent(self) -> Incumbent:
        """The trial as the kernel that others are raced against."""
        return Incumbent(self.name, self.timed.kernel, self.timed.time_s)

    @property
    def estimate_s(self) -> float:
        """The geometric mean of the quantiles: `time_s` of a trial that lost is at least the incumbent's."""
        return math.sqrt(self.timed.p20_s * self.timed.p80_s)


def finalists(best: TimedTrial | None, timed: Sequence[TimedTrial]) -> list[TimedTrial]:
    """The incumbent and the trials that may be as fast, fastest first; empty if there were too few trials."""
    if best is None or len(timed) < PLAY_OFF_TRIALS:
        return []
    limit_s = FINALIST_RATIO * best.timed.time_s
    others = [t for t in timed if t.name != best.name and t.estimate_s < limit_s]
    return [best, *sorted(others, key=lambda t: t.estimate_s)[: FINALISTS - 1]]
