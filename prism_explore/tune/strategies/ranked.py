"""Strategies with a fixed order: exhaustive, the time model's order, and known good points first."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from prism_explore.pipeline.stages import Outcome
from prism_explore.tune.space.pool import Key, Point, Pool
from prism_explore.tune.strategies.strategy import Strategy, next_untried


class Exhaustive:
    """Every point, in lexicographic order."""

    def __init__(self) -> None:
        self._points: Iterator[Point] | None = None

    def propose(self, pool: Pool, tried: set[Key], best: Point | None) -> Point | None:
        """The next untried point."""
        if self._points is None:
            self._points = pool.in_lexicographic_order()
        return next_untried(self._points, pool, tried)

    def observe(self, pool: Pool, point: Point, outcome: Outcome) -> None:
        """Outcomes do not change the order."""


class ModelOrder:
    """The time model's order, with a seeded share of uniformly random points: the model is not always right."""

    def __init__(self, seed: int, random_share: float = 0.2) -> None:
        self._rng = random.Random(seed)
        self._share = random_share
        self._points: Iterator[Point] | None = None

    def propose(self, pool: Pool, tried: set[Key], best: Point | None) -> Point | None:
        """The untried point with the least modelled time, or a random one."""
        if self._points is None:
            self._points = pool.in_model_order()
        if self._rng.random() < self._share:
            found = pool.random_point(self._rng)
            if found is not None and found.key not in tried:
                return found
        return next_untried(self._points, pool, tried)

    def observe(self, pool: Pool, point: Point, outcome: Outcome) -> None:
        """The model does not learn."""


class WarmStart:
    """Points that were fast in earlier runs, then another strategy."""

    def __init__(self, points: Sequence[Point], then: Strategy) -> None:
        self._points = iter(points)
        self._then = then

    def propose(self, pool: Pool, tried: set[Key], best: Point | None) -> Point | None:
        """The next untried one of the points; after them, the other strategy's proposal."""
        return next_untried(self._points, pool, tried) or self._then.propose(pool, tried, best)

    def observe(self, pool: Pool, point: Point, outcome: Outcome) -> None:
        """Pass the outcome on."""
        self._then.observe(pool, point, outcome)
