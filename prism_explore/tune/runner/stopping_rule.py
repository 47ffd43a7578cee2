"""How many rounds a trial runs beside the incumbent, and what they say.

One round's ratio is noise: on two virtual cores it scatters by 40 % for kernels of 200 us, and the median of 20 rounds
still by 12 %. Who takes the incumbent's place whenever that median is below 1 takes the luckiest of all trials, and a
time that is told as a ratio times the incumbent's shrinks with every such step: 64 trials once told 76 us of a kernel
that takes 240. So a race goes on until an interval for the median leaves 1 to one side, a trial that cannot be told
from the incumbent does not take its place, and a winner runs again, in rounds that had no part in its winning: their
median is what is told.

That is safe, and it leaves something: of dozens of races with trials that are about as fast some are lost by bad luck,
and a lost race is not run again. So in the end the fastest run once more, all in the same rounds (`race.fastest`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, inf, sqrt
from statistics import median
from typing import Literal, TypeAlias

FIRST_ROUNDS = 3
HOPELESS = 1.4
"""A trial that is so many times behind in the first rounds is given up."""
DOUBT = 2.0
"""On a disturbed machine it must be so many times further behind."""
NEXT_ROUNDS = 7
"""Behind the first ones; then the interval is asked."""
MORE_ROUNDS = 10
"""At a time, while it is open."""
MOST_ROUNDS = 120
LEAST_ROUNDS = 20
"""Of a race that is open, and of the first kernel's and a winner's own run, however long they take."""
RACE_S = 2.0
"""Seconds after which an open race of more rounds ends: then the two are as fast as can be told.

Half of what the budget has for a trial, where that is less, so that its trials fit into its seconds."""
SURE = 2.0
"""Standard deviations of the interval: about 95 %."""

FINALISTS = 8
"""So many run in the play-off, the incumbent among them."""
NEARLY = 1.1
"""Trials that took more than so many times as long as the incumbent do not."""
LUCKY_AMONG = 16
"""Among fewer trials there is no play-off: it takes the time of some, and few of them will have had luck."""
FINAL_ROUNDS = 20
"""Of all finalists; then half of them leave, and the others run twice as many."""

CLOSE = 0.03
"""Half of the interval, as a share of the median, at which a time is told."""

Standing: TypeAlias = Literal["ahead", "open", "behind"]


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Between which values the true median lies, whatever the distribution: two order statistics of the sample.

    Source: Hahn and Meeker, "Statistical Intervals", chapter 5, with the normal approximation of the binomial.
    """
    ordered, off = sorted(values), SURE * sqrt(len(values)) / 2
    low, high = floor(len(values) / 2 - off), ceil(len(values) / 2 + off) - 1
    return (ordered[low] if low >= 0 else 0.0), (ordered[high] if high < len(values) else inf)


def standing(ratios: Sequence[float]) -> Standing:
    """Where a trial is, by the rounds' ratios of its time to the incumbent's."""
    low, high = interval(ratios)
    return "ahead" if high < 1 else "behind" if low > 1 else "open"


def is_close(values: Sequence[float]) -> bool:
    """Whether their median is known to `CLOSE`."""
    low, high = interval(values)
    return high - low <= 2 * CLOSE * median(values)
