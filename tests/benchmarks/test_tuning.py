"""The share of the best speed in `benchmarks/tuning.py live` is not biased by the selection of the smallest median."""

import random
from statistics import mean, median

from benchmarks.tuning import share_of_fastest


def _rounds(speeds, seed, count=300):
    """Simulated rounds: all times of a round drift together, and each time varies by 20 %."""
    rng = random.Random(seed)
    times = {name: [] for name in speeds}
    for _ in range(count):
        drift = rng.uniform(1, 1.5)
        for name, speed in speeds.items():
            times[name].append(drift * rng.lognormvariate(0, 0.2) / speed)
    return times


def test_equal_kernels_have_equal_shares_although_the_smallest_median_is_smaller():
    equal = {f"k{i}": 1.0 for i in range(20)}
    runs = [_rounds(equal, seed, 100) for seed in range(30)]
    share = mean(share_of_fastest(times, "k0") for times in runs)
    smallest_median = mean(min(map(median, times.values())) / median(times["k0"]) for times in runs)
    assert abs(share - 1) < 0.02
    assert smallest_median < 0.97


def test_a_slower_kernel_has_a_smaller_share():
    times = _rounds({"slow": 0.9, "fast": 1.0, **{f"k{i}": 0.8 for i in range(10)}}, 0)
    assert abs(share_of_fastest(times, "slow") - 0.9) < 0.03
    assert abs(share_of_fastest(times, "fast") - 1) < 0.01
