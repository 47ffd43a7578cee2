"""Local search: neighbours of the incumbent, in turn with another strategy."""

from __future__ import annotations

import random

from prism_explore.pipeline.stages import Outcome
from prism_explore.tune.space.pool import Key, Point, Pool
from prism_explore.tune.strategies.strategy import Strategy


class LocalSearch:
    """After the first `start` proposals, every other proposal differs from the incumbent in one value."""

    def __init__(self, other: Strategy, seed: int, start: int = 8) -> None:
        self._other = other
        self._rng = random.Random(seed)
        self._start_left = start
        self._is_local_turn = False

    def propose(self, pool: Pool, tried: set[Key], best: Point | None) -> Point | None:
        """In its turn a random untried neighbour of the incumbent, if there is one; else the other's proposal."""
        self._start_left -= 1
        self._is_local_turn = not self._is_local_turn
        if best is not None and self._start_left < 0 and self._is_local_turn:
            near = [p for p in pool.neighbours(best) if p.key not in tried]
            if near:
                return self._rng.choice(near)
        found = self._other.propose(pool, tried, best)
        if found is None and best is not None:
            return next((p for p in pool.neighbours(best) if p.key not in tried), None)
        return found

    def observe(self, pool: Pool, point: Point, outcome: Outcome) -> None:
        """Pass the outcome on; the incumbent is an argument of `propose`."""
        self._other.observe(pool, point, outcome)
