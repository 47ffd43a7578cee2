"""The stopping rule of a race: how many rounds a trial runs against the incumbent, and what they decide.

The ratio of one round is noise: on two virtual cores its spread is 40 % for kernels of 200 us, and that of the median
of 20 rounds is still 12 %. Replacing the incumbent whenever the median ratio is below 1 selects for luck (the winner's
curse), and a time that is stored as a ratio times the incumbent's shrinks with every such step: after 64 trials, 76 us
were reported for a kernel that takes 240 us.

So a race runs until a confidence interval for the median ratio is below 1, or above 0.98. A trial that cannot be
distinguished from the incumbent does not replace it. A winner is timed again in new rounds, and only their median is
reported, because the rounds that it won are biased.

The rule is conservative: of dozens of races between nearly equal kernels, some are lost by chance, and a lost race is
not repeated. So at the end of a run the fastest trials are timed once more, in common rounds (`race.Racer.rank`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, inf, sqrt
from statistics import median
from typing import Literal, TypeAlias

HOPELESS_AT_ONCE = 3.0
"""A trial whose ratio in the very first round exceeds this is stopped: its rounds would take the longest of all."""
FIRST_ROUNDS = 3
HOPELESS_RATIO = 1.4
"""A trial whose median ratio in the first rounds exceeds this is stopped."""
DISTURBED_FACTOR = 2.0
"""Multiplies both ratios if the rounds were disturbed."""
NEXT_ROUNDS = 7
"""After the first rounds; then the interval is computed."""
MORE_ROUNDS = 10
"""Added at a time while the race is undecided."""
MOST_ROUNDS = 120
LEAST_ROUNDS = 20
"""Of an undecided race, and of the rounds that only measure a kernel, however long they take."""
RACE_S = 2.0
"""Seconds after which an undecided race with more rounds ends; the incumbent stays.

The limit is half of the budget's time per trial if that is less, so that all trials fit into the budget."""
INTERVAL_SIGMAS = 2.0
"""Half width of the interval in standard deviations: about 95 %."""

FINALISTS = 8
"""Trials in the play-off, including the incumbent."""
FINALIST_RATIO = 1.1
"""A trial that took more than this many times as long as the incumbent is not a finalist."""
PLAY_OFF_TRIALS = 16
"""With fewer timed trials there is no play-off: it takes the time of several trials, and selection bias is small."""
FINAL_ROUNDS = 20
"""Of all finalists; then the slower half is dropped, and the others run twice as many rounds."""

INDIFFERENCE = 0.02
"""A trial that is surely not faster by this share has lost. On replays this saved 12 to 33 % of the rounds, and lost at
most 0.2 % of the trials that were faster by more."""

PRECISION = 0.03
"""A time is reported when half of its interval is at most this share of the median."""

Standing: TypeAlias = Literal["faster", "undecided", "slower"]


def interval(values: Sequence[float]) -> tuple[float, float]:
    """A confidence interval for the median, for any distribution: two order statistics of the sample.

    Source: Hahn and Meeker, "Statistical Intervals", chapter 5, with the normal approximation of the binomial.
    """
    ordered, half_width = sorted(values), INTERVAL_SIGMAS * sqrt(len(values)) / 2
    low, high = floor(len(values) / 2 - half_width), ceil(len(values) / 2 + half_width) - 1
    return (ordered[low] if low >= 0 else 0.0), (ordered[high] if high < len(values) else inf)


def standing(ratios: Sequence[float]) -> Standing:
    """The state of a race, from the ratios of the trial's time to the incumbent's in each round.

    A trial that cannot be faster by more than `INDIFFERENCE` counts as slower.
    """
    low, high = interval(ratios)
    return "faster" if high < 1 else "slower" if low > 1 - INDIFFERENCE else "undecided"


def is_precise(values: Sequence[float]) -> bool:
    """Whether the median of these values is known to `PRECISION`."""
    low, high = interval(values)
    return high - low <= 2 * PRECISION * median(values)
