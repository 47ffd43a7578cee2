"""Successive halving across families: few trials for each, then twice as many for the better half, until one is left.

Source: Jamieson and Talwalkar, "Non-stochastic best arm identification", AISTATS 2016.
"""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Iterator

from prism_explore.pipeline.stages import Outcome, Timed
from prism_explore.tune.space.pool import Key, Point, Pool
from prism_explore.tune.strategies.strategy import Strategy, next_untried


class SuccessiveHalving:
    """Families compete in brackets of `width`, in the order of their best modelled time.

    A family's trials are its points in the model's order and, from its second round on, also neighbours of its fastest
    point. A family whose candidates were all dropped, because their lower bounds exceed the incumbent's time, leaves at
    once, and its trials go to the others. After the last bracket another strategy continues with all remaining points,
    so a family that lost in a bracket is not excluded.
    """

    def __init__(self, then: Strategy, seed: int, start: int = 2, width: int = 8) -> None:
        self._then = then
        self._rng = random.Random(seed)
        self._start, self._width = start, width
        self._waiting: list[str] | None = None
        self._round: list[str] = []
        """Families of the current bracket that have not lost."""
        self._trials_each = 0
        """Trials of each of them in this round."""
        self._used: dict[str, int] = {}
        self._fastest: dict[str, tuple[float, Point]] = {}
        self._ranked: dict[str, Iterator[Point]] = {}

    def propose(self, pool: Pool, tried: set[Key], best: Point | None) -> Point | None:
        """A point of the family with the fewest trials in this round; after the last bracket, of the other strategy."""
        if self._waiting is None:
            by_model = sorted((c for c in pool.candidates if c.sizes), key=lambda c: (c.sizes[0][0], c.deferred))
            self._waiting = list(dict.fromkeys(c.family for c in by_model))
            self._ranked = {family: pool.in_model_order(family) for family in self._waiting}
        while True:
            in_pool = {c.family for c in pool.candidates}
            self._round = [f for f in self._round if f in in_pool]
            unspent = [f for f in self._round if self._used[f] < self._trials_each]
            if not unspent:
                if not self._start_round(in_pool, self._waiting):
                    return self._then.propose(pool, tried, best)
                continue
            family = min(unspent, key=lambda f: self._used[f])
            point = self._point_of(family, pool, tried)
            if point is not None:
                self._used[family] += 1
                return point
            self._used[family] = self._trials_each  # it has no other points

    def observe(self, pool: Pool, point: Point, outcome: Outcome) -> None:
        """Store the fastest point of the family, and pass the outcome on."""
        family = point.verified.candidate.family.id
        if isinstance(outcome, Timed) and outcome.time_s < self._fastest.get(family, (math.inf, point))[0]:
            self._fastest[family] = outcome.time_s, point
        self._then.observe(pool, point, outcome)

    def _start_round(self, in_pool: Collection[str], waiting: list[str]) -> bool:
        """Continue with the better half and twice the trials, or with the next bracket; False if there is none."""
        if len(self._round) > 1:
            order = sorted(self._round, key=lambda f: self._fastest[f][0] if f in self._fastest else math.inf)
            self._round, self._trials_each = order[: math.ceil(len(order) / 2)], 2 * self._trials_each
        else:
            entering = [f for f in waiting if f in in_pool][: self._width]
            waiting[:] = [f for f in waiting if f not in entering]
            self._round, self._trials_each = [*self._round, *entering] if entering else [], self._start
        self._used = dict.fromkeys(self._round, 0)
        return bool(self._round)

    def _point_of(self, family: str, pool: Pool, tried: set[Key]) -> Point | None:
        if family in self._fastest and self._trials_each > self._start and self._used[family] % 2 == 0:
            near = [p for p in pool.neighbours(self._fastest[family][1]) if p.key not in tried]
            if near:
                return self._rng.choice(near)
        return next_untried(self._ranked[family], pool, tried)
