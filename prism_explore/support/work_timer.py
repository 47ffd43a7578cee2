"""A time budget that counts only the time spent working: pauses between two steps of a search are free."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


class WorkTimer:
    """Sums the intervals during which it runs, and compares the sum with a limit.

    >>> ticks = iter(range(0, 100, 10))
    >>> timer = WorkTimer(15.0, lambda: next(ticks))
    >>> with timer:
    ...     pass
    >>> timer.spent_s, timer.is_over()
    (10.0, False)
    """

    def __init__(self, limit_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.limit_s = limit_s
        self._clock = clock
        self._total_s = 0.0
        self._started_s: float | None = None

    def __enter__(self) -> WorkTimer:
        assert self._started_s is None, "the timer is already running"
        self._started_s = self._clock()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._started_s is not None, "the timer is not running"
        self._total_s += self._clock() - self._started_s
        self._started_s = None

    @property
    def spent_s(self) -> float:
        """Seconds it has run so far."""
        return self._total_s + (0.0 if self._started_s is None else self._clock() - self._started_s)

    def is_over(self) -> bool:
        """Whether the limit is reached."""
        return self.spent_s >= self.limit_s

    def during(self, steps: Iterable[T]) -> Iterator[T]:
        """Yield the same steps; the timer runs while a step is computed and is stopped between steps."""
        remaining = iter(steps)
        while True:
            with self:
                try:
                    step = next(remaining)
                except StopIteration:
                    return
            yield step
