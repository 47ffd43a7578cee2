"""A race that costs no call: several ways to compute the same run the calls of a user in turns, each timed.

Nothing is computed twice, so a race disturbs calls by no more than the difference between the ways. A way that is far
slower than two others is left out after a few turns. The first turn of each way is not counted: it touches new memory.
Calls may differ in size, so times are compared in rounds of neighbouring calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock

from prism_explore.support.after_fork import renew_after_fork

ROUNDS, LEAST_ROUNDS = 15, 7
RACE_S = 0.25
"""A race ends when its calls have taken so long, if it has the least number of rounds."""
FAR_SLOWER, FEW_ROUNDS = 2.0, 3
"""A way is left out if after so many rounds all of its times are more than so many times all of those of the fastest
way, so that noise does not decide; the best two stay."""


class CallRace:
    """The turns of several ways, and their times; it can be used from several threads.

    Example:
        >>> race = CallRace(("torch", "kernel"))
        >>> while not race.is_over:
        ...     way = race.turn()
        ...     race.took(way, 2.0 if way == "torch" else 1.5)
        >>> {way: len(times) for way, times in race.times.items()}
        {'torch': 7, 'kernel': 7}
    """

    def __init__(self, ways: Sequence[str]) -> None:
        """No call has been timed.

        Args:
            ways: their names.
        """
        self._running = list(ways)
        self._times: dict[str, list[float]] = {way: [] for way in ways}
        self._is_warm: set[str] = set()
        self._turns, self._spent_s = 0, 0.0
        self.is_over = len(ways) < 2
        """Whether there is nothing more to find out."""
        self.after_fork()
        renew_after_fork(self)

    def after_fork(self) -> None:
        """A lock that another thread held."""
        self._lock = Lock()

    def turn(self) -> str:
        """The way that runs the next call."""
        with self._lock:
            self._turns += 1
            return self._running[self._turns % len(self._running)]

    def took(self, way: str, seconds: float) -> None:
        """Count the time of a call.

        Args:
            way: that ran it.
            seconds: it took.
        """
        with self._lock:
            if self.is_over or way not in self._times:
                return
            if way not in self._is_warm:
                self._is_warm.add(way)
                return
            self._times[way].append(seconds)
            self._spent_s += seconds
            rounds = min(len(self._times[w]) for w in self._running)
            if rounds == FEW_ROUNDS:
                first, second, *others = sorted(self._running, key=lambda w: min(self._times[w]))
                most_s = FAR_SLOWER * max(self._times[first])
                self._running = [first, second, *(w for w in others if min(self._times[w]) <= most_s)]
            is_long = rounds >= LEAST_ROUNDS and self._spent_s > RACE_S
            self.is_over = rounds >= ROUNDS or is_long

    def fail(self, way: str) -> None:
        """Leave out a way that cannot run a call.

        Args:
            way: it.
        """
        with self._lock:
            self._running = [w for w in self._running if w != way] or self._running
            self._times.pop(way, None)
            self.is_over = self.is_over or len(self._running) < 2

    @property
    def running(self) -> tuple[str, ...]:
        """The ways that are not left out."""
        with self._lock:
            return tuple(self._running)

    @property
    def times(self) -> Mapping[str, tuple[float, ...]]:
        """Seconds of the counted calls of each way."""
        with self._lock:
            return {way: tuple(times) for way, times in self._times.items()}
