"""The share of the fastest's speed that `benchmarks/tuning.py live` tells: luck is not speed."""

import random
from statistics import mean, median

from benchmarks.tuning import share_of_fastest


def _rounds(speeds, seed, count=300):
    """A machine whose rounds drift together, and where each time scatters by 20 %."""
    rng = random.Random(seed)
    times = {name: [] for name in speeds}
    for _ in range(count):
        drift = rng.uniform(1, 1.5)
        for name, speed in speeds.items():
            times[name].append(drift * rng.lognormvariate(0, 0.2) / speed)
    return times


def test_equal_kernels_are_told_equal_where_the_least_median_is_luckier():
    equal = {f"k{i}": 1.0 for i in range(20)}
    runs = [_rounds(equal, seed, 100) for seed in range(30)]
    told = mean(share_of_fastest(times, "k0") for times in runs)
    lucky = mean(min(map(median, times.values())) / median(times["k0"]) for times in runs)
    assert abs(told - 1) < 0.02
    assert lucky < 0.97


def test_a_slower_kernel_is_told_slower():
    times = _rounds({"slow": 0.9, "fast": 1.0, **{f"k{i}": 0.8 for i in range(10)}}, 0)
    assert abs(share_of_fastest(times, "slow") - 0.9) < 0.03
    assert abs(share_of_fastest(times, "fast") - 1) < 0.01
