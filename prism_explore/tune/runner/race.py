"""Races: rounds of one kernel alone, or of a trial and the incumbent together, until it is clear which is faster.

`stopping_rule.py` decides how many rounds are run and what they mean; `timing.py` times a round.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from statistics import median

from prism_explore.tune.runner.bench import Bench, Failure, Samples, no_samples
from prism_explore.tune.runner.stopping_rule import (
    DISTURBED_FACTOR,
    FINAL_ROUNDS,
    FIRST_ROUNDS,
    HOPELESS_AT_ONCE,
    HOPELESS_RATIO,
    LEAST_ROUNDS,
    MORE_ROUNDS,
    MOST_ROUNDS,
    NEXT_ROUNDS,
    is_precise,
    standing,
)
from prism_explore.tune.runner.timing import counted_rounds, interquartile_mean, quantile, ratios, was_disturbed

REPEATS = 2
"""Rounds are repeated this often if too few were undisturbed, and if they took less than the time of a race; then the
least disturbed of all of them count."""


@dataclass(frozen=True, slots=True)
class RaceTimes:
    """A kernel's times in a race, from the rounds that count."""

    time_s: float
    p20_s: float
    p80_s: float
    samples: int
    waited: float


@dataclass(frozen=True, slots=True)
class _Rounds:
    """One value per round, with what the stopping rule needs."""

    requested: int = 0
    """Without repeated rounds."""
    values: tuple[float, ...] = ()
    waits: tuple[float, ...] = ()
    is_long: bool = False
    """Whether they took as long as a race may take."""

    @property
    def counted(self) -> list[float]:
        """The values of the rounds that count."""
        return [self.values[i] for i in counted_rounds(self.waits)]

    def in_seconds(self, unit_s: float, least: float = 0.0) -> RaceTimes:
        """The values in units of `unit_s`; the median is at least `least` units, as for a trial that did not win."""
        counted = self.counted
        return _race_times(max(median(counted), least) * unit_s, counted, unit_s, self.waits)


@dataclass(frozen=True, slots=True)
class Racer:
    """Runs races between kernels that a bench keeps."""

    bench: Bench
    most_s: float
    """Seconds after which an undecided race ends."""
    clock: Callable[[], float] = time.monotonic
    stop: Callable[[], bool] = lambda: False

    def time_alone(self, key: str) -> RaceTimes | Failure:
        """Time a kernel without an incumbent; later trials are compared with it."""
        own = self._rounds([key], lambda found: found.times_s[key], repeat(LEAST_ROUNDS), _is_measured)
        return own if isinstance(own, Failure) else own.in_seconds(1.0)

    def race(self, key: str, incumbent: str, incumbent_s: float) -> RaceTimes | Failure:
        """Run a trial and the incumbent in common rounds until one is faster or the race takes too long.

        The time is the median ratio times `incumbent_s`; it is below `incumbent_s` only if the trial won.
        """
        sizes = chain((1, FIRST_ROUNDS - 1, NEXT_ROUNDS), repeat(MORE_ROUNDS))
        race = self._rounds([incumbent, key], _ratio(key, incumbent), sizes, _is_decided)
        if isinstance(race, Failure):
            return race
        if standing(race.counted) != "faster":
            return race.in_seconds(incumbent_s, least=1.0)
        fresh = self._rounds([incumbent, key], _ratio(key, incumbent), repeat(LEAST_ROUNDS), _is_measured)
        return fresh if isinstance(fresh, Failure) else fresh.in_seconds(incumbent_s)

    def rank(self, keys: Sequence[str]) -> tuple[tuple[str, ...], int] | Failure:
        """Order kernels of nearly equal speed, fastest first; also the number of rounds of the last two.

        All run in common rounds; then the faster half runs twice as many more, until one is left.
        """
        samples, left, dropped, rounds = no_samples(keys), list(keys), list[str](), FINAL_ROUNDS
        while len(left) > 1:
            start_s = self.clock()
            for _ in range(0, rounds, MORE_ROUNDS):
                found = self._time(left, MORE_ROUNDS)
                if isinstance(found, Failure):
                    return found
                samples = samples.extended(found)
                if self.stop() or self.clock() - start_s > self.most_s:
                    break
            counted, times_s = counted_rounds(samples.waits), samples.times_s
            left.sort(key=lambda key: interquartile_mean([times_s[key][i] for i in counted]))
            kept = -(-len(left) // 2)
            left, dropped, rounds = left[:kept], [*left[kept:], *dropped], 2 * rounds
        return (*left, *dropped), len(samples.waits)

    def measure_again(self, key: str, incumbent: str, incumbent_s: float) -> RaceTimes | Failure:
        """Time the winner of `rank` in new rounds together with the incumbent: as many as its last rounds there."""
        found = self._time([incumbent, key], 4 * FINAL_ROUNDS)
        if isinstance(found, Failure):
            return found
        counted = counted_rounds(found.waits)
        own, other = ([found.times_s[k][i] for i in counted] for k in (key, incumbent))
        unit_s = incumbent_s / interquartile_mean(other)
        return _race_times(interquartile_mean(own) * unit_s, own, unit_s, found.waits)

    def _rounds(
        self,
        keys: Sequence[str],
        value: Callable[[Samples], Sequence[float]],
        sizes: Iterable[int],
        is_enough: Callable[[_Rounds], bool],
    ) -> _Rounds | Failure:
        """Run rounds in groups of these sizes until they are enough, or `MOST_ROUNDS`."""
        start_s, rounds = self.clock(), _Rounds()
        for size in sizes:
            found = self._time(keys, size)
            if isinstance(found, Failure):
                return found
            is_long = self.clock() - start_s > self.most_s
            values, waits = (*rounds.values, *value(found)), (*rounds.waits, *found.waits)
            rounds = _Rounds(rounds.requested + size, values, waits, is_long)
            if is_enough(rounds) or len(rounds.values) >= MOST_ROUNDS or self.stop():
                break
        return rounds

    def _time(self, keys: Sequence[str], rounds: int) -> Samples | Failure:
        """Time rounds; repeat them, at most `REPEATS` times and within `most_s`, while too few are undisturbed."""
        samples, start_s = no_samples(keys), self.clock()
        for _ in range(1 + REPEATS):
            found = self.bench.time(keys, rounds)
            if isinstance(found, Failure):
                return found
            samples = samples.extended(found)
            if not was_disturbed(samples.waits) or self.stop() or self.clock() - start_s > self.most_s:
                break
        return samples


def _race_times(time_s: float, counted: Sequence[float], unit_s: float, waits: Sequence[float]) -> RaceTimes:
    """The times of a kernel, from its values in the rounds that count, in units of `unit_s`."""
    spread_s = (quantile(counted, 0.2) * unit_s, quantile(counted, 0.8) * unit_s)
    return RaceTimes(time_s, *spread_s, len(counted), sum(waits) / len(waits))


def _ratio(key: str, incumbent: str) -> Callable[[Samples], Sequence[float]]:
    """Per round, the ratio of a kernel's time to the incumbent's."""
    return lambda found: ratios(found.times_s[key], found.times_s[incumbent])


def _is_decided(race: _Rounds) -> bool:
    """Whether it is clear which is faster, or the race takes too long; the first rounds only stop hopeless trials."""
    if race.requested <= FIRST_ROUNDS:
        ratio = HOPELESS_AT_ONCE if race.requested == 1 else HOPELESS_RATIO
        return median(race.counted) > ratio * (DISTURBED_FACTOR if was_disturbed(race.waits) else 1.0)
    return standing(race.counted) != "undecided" or (race.is_long and len(race.values) >= LEAST_ROUNDS)


def _is_measured(own: _Rounds) -> bool:
    """Whether the median is known precisely enough, or the rounds take too long."""
    return is_precise(own.counted) or own.is_long
