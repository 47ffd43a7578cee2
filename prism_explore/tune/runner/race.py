"""One kernel's race: rounds alone, or side by side with the incumbent, until it is clear who is faster.

How many rounds that takes, and what they say, is in `rounds.py`; how a round is timed, in `measure.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, repeat

from prism_explore.tune.runner.measure import (
    Bench,
    Failure,
    Samples,
    calm,
    core,
    middle,
    quantile,
    ratios,
    was_disturbed,
)
from prism_explore.tune.runner.stopping_rule import (
    DOUBT,
    FINAL_ROUNDS,
    FIRST_ROUNDS,
    HOPELESS,
    LEAST_ROUNDS,
    MORE_ROUNDS,
    MOST_ROUNDS,
    NEXT_ROUNDS,
    is_close,
    standing,
)

REPEATED = 2
"""Rounds of which too few were quiet are repeated so often; then the least disturbed of all of them count."""


@dataclass(frozen=True, slots=True)
class Race:
    """What a kernel's rounds gave; only the rounds that count are samples."""

    time_s: float
    p20_s: float
    p80_s: float
    samples: int
    waited: float


@dataclass(frozen=True, slots=True)
class _Rounds:
    """Rounds side by side, and what each of them gave."""

    asked: int = 0
    """Without those that were repeated."""
    values: tuple[float, ...] = ()
    waits: tuple[float, ...] = ()
    long: bool = False
    """Whether they took the seconds of a race."""

    @property
    def counted(self) -> list[float]:
        """The values of those that count."""
        return [self.values[i] for i in calm(self.waits)]

    def in_seconds(self, unit_s: float, least: float = 0.0) -> Race:
        """What they say, in seconds; at `least` so many units, as of a trial that did not win."""
        counted = self.counted
        spread = (quantile(counted, 0.2) * unit_s, quantile(counted, 0.8) * unit_s)
        waited = sum(self.waits) / len(self.waits)
        return Race(max(middle(counted), least) * unit_s, *spread, len(counted), waited)


@dataclass(frozen=True, slots=True)
class Referee:
    """Holds races between kernels that a bench keeps."""

    bench: Bench
    most_s: float
    """Seconds after which an open race ends."""
    clock: Callable[[], float] = time.monotonic
    stop: Callable[[], bool] = lambda: False

    def alone(self, key: str) -> Race | Failure:
        """The race of a kernel that has nobody to run beside: the yardstick of those to come."""
        own = self._rounds([key], lambda found: found.times_s[key], repeat(LEAST_ROUNDS), _is_told)
        return own if isinstance(own, Failure) else own.in_seconds(1.0)

    def beside(self, key: str, rival: str, rival_s: float) -> Race | Failure:
        """Rounds side by side with a rival, until it is clear who is faster or that it cannot be told.

        Its time is in seconds of the minute in which the rival took `rival_s`, and below that only where it won.
        """
        sizes = chain((FIRST_ROUNDS, NEXT_ROUNDS), repeat(MORE_ROUNDS))
        race = self._rounds([rival, key], _to(rival, key), sizes, _is_settled)
        if isinstance(race, Failure):
            return race
        if standing(race.counted) != "ahead":
            return race.in_seconds(rival_s, least=1.0)
        again = self._rounds([rival, key], _to(rival, key), repeat(LEAST_ROUNDS), _is_told)
        return again if isinstance(again, Failure) else again.in_seconds(rival_s)

    def fastest(self, keys: Sequence[str]) -> tuple[tuple[str, ...], int] | Failure:
        """The order of kernels that are about as fast, and how many rounds the last two ran.

        All run in the same rounds, then the better half of them runs twice as many more, until one is left.
        """
        times: dict[str, tuple[float, ...]] = dict.fromkeys(keys, ())
        waits: tuple[float, ...] = ()
        left, gone, rounds = list(keys), list[str](), FINAL_ROUNDS
        while len(left) > 1:
            began = self.clock()
            for _ in range(0, rounds, MORE_ROUNDS):
                found = self._timed(left, MORE_ROUNDS)
                if isinstance(found, Failure):
                    return found
                times |= {key: (*times[key], *found.times_s[key]) for key in left}
                waits = (*waits, *found.waits)
                if self.stop() or self.clock() - began > self.most_s:
                    break
            counted = calm(waits)
            left.sort(key=lambda key: core([times[key][i] for i in counted]))
            stay = -(-len(left) // 2)
            left, gone, rounds = left[:stay], [*left[stay:], *gone], 2 * rounds
        return (*left, *gone), len(waits)

    def again(self, key: str, rival: str, rival_s: float) -> Race | Failure:
        """The time of the fastest, in new rounds beside a rival: as many as it ran with the last one."""
        found = self._timed([rival, key], 4 * FINAL_ROUNDS)
        if isinstance(found, Failure):
            return found
        counted = calm(found.waits)
        own, other = ([found.times_s[k][i] for i in counted] for k in (key, rival))
        unit_s = rival_s / core(other)
        spread = (quantile(own, 0.2) * unit_s, quantile(own, 0.8) * unit_s)
        return Race(core(own) * unit_s, *spread, len(own), sum(found.waits) / len(found.waits))

    def _rounds(
        self,
        keys: Sequence[str],
        value: Callable[[Samples], Sequence[float]],
        sizes: Iterable[int],
        are_enough: Callable[[_Rounds], bool],
    ) -> _Rounds | Failure:
        """Rounds, so many at a time, until they are enough, or `MOST_ROUNDS`."""
        began, rounds = self.clock(), _Rounds()
        for size in sizes:
            found = self._timed(keys, size)
            if isinstance(found, Failure):
                return found
            long = self.clock() - began > self.most_s
            rounds = _Rounds(rounds.asked + size, (*rounds.values, *value(found)), (*rounds.waits, *found.waits), long)
            if are_enough(rounds) or len(rounds.values) >= MOST_ROUNDS or self.stop():
                break
        return rounds

    def _timed(self, keys: Sequence[str], rounds: int) -> Samples | Failure:
        """So many rounds; as many again, at most `REPEATED` times, where too few were quiet."""
        times: dict[str, tuple[float, ...]] = dict.fromkeys(keys, ())
        waits: tuple[float, ...] = ()
        for _ in range(1 + REPEATED):
            found = self.bench.time(keys, rounds)
            if isinstance(found, Failure):
                return found
            times = {key: (*times[key], *found.times_s[key]) for key in keys}
            waits = (*waits, *found.waits)
            if not was_disturbed(waits) or self.stop():
                break
        return Samples(times, waits)


def _to(rival: str, key: str) -> Callable[[Samples], Sequence[float]]:
    """The rounds' ratios of a kernel's time to a rival's."""
    return lambda found: ratios(found.times_s[key], found.times_s[rival])


def _is_settled(race: _Rounds) -> bool:
    """Whether it is clear who is faster, or time to say that it cannot be told; the first rounds only give up."""
    if race.asked == FIRST_ROUNDS:
        return middle(race.counted) > HOPELESS * (DOUBT if was_disturbed(race.waits) else 1.0)
    return standing(race.counted) != "open" or (race.long and len(race.counted) >= LEAST_ROUNDS)


def _is_told(own: _Rounds) -> bool:
    """Whether the median is known well enough, or took long."""
    return is_close(own.counted) or own.long
