"""Timing of kernels against one another, and the statistics of the measured rounds.

Sources of error on a shared machine, and the countermeasure for each:

* The machine's speed drifts over minutes (memory bandwidth by a factor of 1.8 on the machine of development). So times
  of different minutes are never compared: kernels run in interleaved rounds, in shuffled order, and the ratio within
  each round counts.
* A kernel finds inputs in the cache that the previous kernel read. So inputs are in a ring of copies, at least four
  times the effective last-level cache, and one counter advances for all kernels.
* A sleeping thread wakes up late. So an untimed call precedes every timed one.
* Other processes take cores away. So the time that threads waited for a core is recorded, and only the rounds with the
  least waiting count, for every kernel in them.
* The mean follows outliers, and the minimum favours noisy kernels. So the median is reported for every kernel.

The clock is an argument; with a fake clock all results are deterministic.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from prism_explore.targets import ceilings
from prism_explore.targets.cpus import cores
from prism_explore.tune.runner.bench import Run, Samples
from prism_explore.tune.runner.inputs import InputRing

DISTURBED_SHARE = 0.02
"""A round is disturbed if threads waited for a core for more than this share of its time."""

WAKING_S = 2e-5
"""Waiting time per call that is not counted: waking the threads takes as long on an idle machine."""

ENOUGH_ROUNDS = 10
"""This many undisturbed rounds are enough, however many disturbed rounds there are."""


@dataclass(frozen=True, slots=True)
class InterleavedTimer:
    """Times kernels in interleaved rounds."""

    clock: Callable[[], float] = time.perf_counter
    sleep: Callable[[float], None] = time.sleep
    gap_s: float = 0.001
    """Sleep before each call: the scheduler then lets the following burst run undisturbed.

    On two cores with a load of nine, as many rounds were disturbed after 4 ms, the medians of equal kernels differed
    more, and races took twice as long.
    """
    core_wait_s: Callable[[], float] = ceilings.core_wait_s
    """Seconds that threads of this process have waited for a core so far."""

    def time(self, runs: Mapping[str, Run], ring: InputRing, rounds: int, rng: random.Random) -> Samples:
        """Time every kernel once per round on cold inputs; `rng` shuffles the order in each round."""
        order = list(runs)
        times: dict[str, list[float]] = {key: [] for key in runs}
        waits: list[float] = []
        for _ in range(rounds):
            waited_s = spent_s = 0.0
            rng.shuffle(order)
            for key in order:
                run = runs[key]
                self.sleep(self.gap_s)
                run(*ring.next())
                inputs = ring.next()
                waited_before_s = self.core_wait_s()
                start_s = self.clock()
                run(*inputs)
                time_s = self.clock() - start_s
                waited_s += max(0.0, self.core_wait_s() - waited_before_s - WAKING_S)
                spent_s += time_s
                times[key].append(time_s)
            waits.append(waited_s / spent_s / cores() if spent_s else 0.0)
        return Samples({key: tuple(t) for key, t in times.items()}, tuple(waits))


def counted_rounds(waits: Sequence[float]) -> list[int]:
    """Indices of the rounds that count: the undisturbed ones if there are enough, else the least disturbed.

    Enough is a third of all rounds, at least 3 and at most `ENOUGH_ROUNDS`. A round counts for all its kernels or for
    none, so no kernel is favoured. On an idle machine every round counts.
    """
    wanted = min(len(waits), max(3, min(ENOUGH_ROUNDS, ceil(len(waits) / 3))))
    return least_disturbed(waits, wanted, DISTURBED_SHARE)


def least_disturbed(waits: Sequence[float], wanted: int, most: float) -> list[int]:
    """Indices of rounds that waited for at most the share `most`, if they are enough; else the least disturbed ones.

    Args:
        waits: per round, the share of its time for which threads waited for a core.
        wanted: how many are enough.
        most: the largest share of an undisturbed round.
    """
    undisturbed = [i for i, w in enumerate(waits) if w <= most]
    if len(undisturbed) >= wanted:
        return undisturbed
    return sorted(sorted(range(len(waits)), key=lambda i: waits[i])[:wanted])


def was_disturbed(waits: Sequence[float]) -> bool:
    """Whether there are too few undisturbed rounds, so that disturbed ones count too."""
    return any(waits[i] > DISTURBED_SHARE for i in counted_rounds(waits))


def quantile(values: Sequence[float], q: float) -> float:
    """Linear interpolation between order statistics."""
    return float(np.quantile(np.asarray(values), q))


def ratios(times_s: Sequence[float], reference_s: Sequence[float]) -> tuple[float, ...]:
    """Per round, a kernel's time divided by another's."""
    return tuple(a / b for a, b in zip(times_s, reference_s, strict=True))


def interquartile_mean(values: Sequence[float]) -> float:
    """The mean of the middle half: nearly as robust as the median, with less variance."""
    trimmed = len(values) // 4
    inner = sorted(values)[trimmed : len(values) - trimmed]
    return sum(inner) / len(inner)
