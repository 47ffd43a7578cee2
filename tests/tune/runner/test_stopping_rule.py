"""The stopping rule of a race, with scripted rounds."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_explore.events.kinds import IncumbentImproved, TrialMeasured
from prism_explore.pipeline.stages import Timed
from prism_explore.tune.runner.bench import Failure, Samples
from prism_explore.tune.runner.race import Racer, RaceTimes
from prism_explore.tune.runner.stopping_rule import LEAST_ROUNDS, MOST_ROUNDS, interval, is_precise, standing
from prism_explore.tune.strategies.ranked import Exhaustive
from tests.tune.test_tune import LONG, ToyBench, run

NOISE = 0.2
"""Standard deviation of the logarithm of a round's time."""


class NoisyBench(ToyBench):
    """The same kernels on a machine where every run takes as long as chance has it, half of them longer."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.minute = 1.0
        self.rng = random.Random(seed)

    def time(self, keys: Sequence[str], rounds: int) -> Samples | Failure:
        self.raced.append((tuple(keys), rounds))
        times = {
            key: tuple(self.seconds(self.kernels[key]) * self.rng.lognormvariate(0.0, NOISE) for _ in range(rounds))
            for key in keys
        }
        return Samples(times, (0.0,) * rounds)


@pytest.mark.parametrize("seed", range(4))
def test_on_a_noisy_machine_the_reported_time_is_right_and_few_kernels_are_faster(seed: int) -> None:
    bench = NoisyBench(seed)
    outcomes, events = run(bench=bench, strategy=Exhaustive(), seed=seed)
    timed = [o for o in outcomes if isinstance(o, Timed)]
    best = min(timed, key=lambda o: o.time_s)
    truth = bench.seconds(best.kernel)

    assert len(timed) > 30
    assert best.time_s == [e for e in events if isinstance(e, IncumbentImproved)][-1].time_s
    assert best.time_s == pytest.approx(truth, rel=0.2)
    assert truth <= 1.1 * min(bench.seconds(o.kernel) for o in timed)


def test_a_trial_that_is_not_distinguishable_does_not_replace_the_incumbent() -> None:
    class Alike(NoisyBench):
        """All kernels take as long as each other."""

        def seconds(self, kernel: object) -> float:
            return 1.0

    bench = Alike(0)
    _, events = run(bench=bench, budget=replace(LONG, trials=40), strategy=Exhaustive())
    improved = [e.time_s for e in events if isinstance(e, IncumbentImproved)]
    samples = [e.samples for e in events if isinstance(e, TrialMeasured)]

    assert len(improved) <= 5
    assert improved[-1] == pytest.approx(1.0, rel=0.15)
    assert MOST_ROUNDS == max(samples)


class Undecided(ToyBench):
    """A trial is now 3 % faster than the incumbent and now 1 % slower, and nobody can say which kernel is faster."""

    def time(self, keys: Sequence[str], rounds: int) -> Samples | Failure:
        self.raced.append((tuple(keys), rounds))
        trial = tuple(0.97 if n % 2 else 1.01 for n in range(rounds))
        return Samples({**dict.fromkeys(keys[:-1], (1.0,) * rounds), keys[-1]: trial}, (0.0,) * rounds)


def test_an_open_race_ends_with_its_time() -> None:
    now = [0.0]

    class Slow(Undecided):
        """Every round takes a second."""

        def time(self, keys: Sequence[str], rounds: int) -> Samples | Failure:
            now[0] += rounds
            return super().time(keys, rounds)

    _, events = run(bench=Slow(), budget=replace(LONG, trials=2), strategy=Exhaustive(), clock=lambda: now[0])

    assert [LEAST_ROUNDS] * 2 == [e.samples for e in events if isinstance(e, TrialMeasured)]


def test_an_open_race_ends_with_its_time_where_every_round_is_disturbed() -> None:
    class Disturbed(Undecided):
        """Threads wait for a core during half of each round."""

        def time(self, keys: Sequence[str], rounds: int) -> Samples | Failure:
            found = super().time(keys, rounds)
            return replace(found, waits=(0.5,) * rounds) if isinstance(found, Samples) else found

    bench = Disturbed()
    found = Racer(bench, 0.5, clock=lambda: float(len(bench.raced))).race("trial", "incumbent", 1.0)

    assert isinstance(found, RaceTimes)
    assert LEAST_ROUNDS == sum(rounds for _, rounds in bench.raced)


@pytest.mark.parametrize("rounds", [10, 20, 50, 120])
def test_the_interval_holds_the_median_in_about_95_of_100_cases(rounds: int) -> None:
    rng = random.Random(rounds)
    held = 0
    for _ in range(1000):
        low, high = interval([rng.expovariate(1.0) for _ in range(rounds)])
        held += low <= 0.6931 <= high

    assert 930 <= held <= 995


@given(st.lists(st.floats(0.01, 100.0), min_size=1, max_size=150))
def test_the_interval_is_around_the_sample_s_own_median(values: list[float]) -> None:
    low, high = interval(values)

    assert low <= median(values) <= high
    assert standing(values) == ("faster" if high < 1 else "slower" if low > 0.98 else "undecided")


def test_three_rounds_decide_nothing_and_ten_equal_ones_do() -> None:
    assert "undecided" == standing([0.5] * 3)
    assert ("faster", "slower") == (standing([0.9] * 10), standing([1.1] * 10))


def test_a_trial_that_cannot_be_two_percent_faster_has_lost() -> None:
    assert "slower" == standing([0.99, 1.01] * 5)
    assert "undecided" == standing([0.97, 1.01] * 5)


def test_a_trial_that_takes_many_times_as_long_is_run_once() -> None:
    class OneSlow(ToyBench):
        """The second kernel takes ten times as long as the first."""

        def seconds(self, kernel: object) -> float:
            return 1.0 if kernel is next(iter(self.kernels.values())) else 10.0

    bench = OneSlow()
    run(bench=bench, budget=replace(LONG, trials=2), strategy=Exhaustive())

    assert [1] == [rounds for keys, rounds in bench.raced if len(keys) == 2]


def test_a_median_is_close_where_the_rounds_agree() -> None:
    assert is_precise([1.0, 1.02] * 5)
    assert not is_precise([1.0, 1.3] * 5)


def test_a_short_budget_makes_races_short() -> None:
    now = [0.0]

    class Slow(Undecided):
        """Every round takes a tenth of a second."""

        def time(self, keys: Sequence[str], rounds: int) -> Samples | Failure:
            now[0] += rounds / 10
            return super().time(keys, rounds)

    def samples(seconds: float) -> list[int]:
        now[0] = 0.0
        budget = replace(LONG, trials=2, seconds=seconds)
        _, events = run(bench=Slow(), budget=budget, strategy=Exhaustive(), clock=lambda: now[0])
        return [e.samples for e in events if isinstance(e, TrialMeasured)]

    assert [LEAST_ROUNDS, LEAST_ROUNDS] == samples(6.0)
    assert [LEAST_ROUNDS, 30] == samples(1000.0)
