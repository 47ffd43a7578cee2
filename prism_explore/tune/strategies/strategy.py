"""The strategy interface: what to try next.

Proposals depend on the seed and on earlier outcomes, never on the clock.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from prism_explore.pipeline.stages import Outcome
from prism_explore.tune.space.pool import Key, Point, Pool


class Strategy(Protocol):
    """Proposes points and observes outcomes."""

    def propose(self, pool: Pool, tried: set[Key], best: Point | None) -> Point | None:
        """A point that was not tried; None if there is none left."""
        ...

    def observe(self, pool: Pool, point: Point, outcome: Outcome) -> None:
        """Receive the outcome of a trial, whichever strategy proposed it."""
        ...


def next_untried(points: Iterator[Point], pool: Pool, tried: set[Key]) -> Point | None:
    """The next of these points that was not tried and whose candidate is in the pool."""
    return next((p for p in points if p.key not in tried and pool.contains(p)), None)
