"""A budget of time that counts work only: a pause between two steps of a search costs nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


class Stopwatch:
    """Adds up the spans in which it runs, and says when they exceed a limit.

    >>> ticks = iter(range(0, 100, 10))
    >>> watch = Stopwatch(15.0, lambda: next(ticks))
    >>> with watch:
    ...     pass
    >>> watch.spent_s, watch.is_over()
    (10.0, False)
    """

    def __init__(self, limit_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.limit_s = limit_s
        self._clock = clock
        self._total = 0.0
        self._since: float | None = None

    def __enter__(self) -> Stopwatch:
        assert self._since is None, "a stopwatch that runs is not started again"
        self._since = self._clock()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._since is not None, "a stopwatch that stands is not stopped again"
        self._total += self._clock() - self._since
        self._since = None

    @property
    def spent_s(self) -> float:
        """Seconds that it ran, up to now."""
        return self._total + (0.0 if self._since is None else self._clock() - self._since)

    def is_over(self) -> bool:
        """Whether the limit is reached."""
        return self.spent_s >= self.limit_s

    def during(self, steps: Iterable[T]) -> Iterator[T]:
        """The same steps, with the watch running while each is made and standing between them."""
        left = iter(steps)
        while True:
            with self:
                try:
                    step = next(left)
                except StopIteration:
                    return
            yield step
