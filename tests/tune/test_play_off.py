"""The play-off: common rounds of all kernels that may be as fast as the incumbent."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from prism_explore.events.journal import Journal
from prism_explore.events.kinds import IncumbentImproved, PlayedOff, TrialMeasured
from prism_explore.events.ledger import ledger
from prism_explore.events.replay_journal import ReplayedJournal
from prism_explore.pipeline.stages import Kernel, Outcome, Timed
from prism_explore.tune import Budget, TuneRequest, tune
from prism_explore.tune.runner.bench import Failure, Samples
from prism_explore.tune.runner.race import Racer
from prism_explore.tune.runner.stopping_rule import FINAL_ROUNDS, FINALISTS, LEAST_ROUNDS, PLAY_OFF_TRIALS
from prism_explore.tune.strategies.ranked import Exhaustive
from tests.tune.test_tune import LONG, SHAPES, ToyBench, best_of, run
from tests.tune.toys import BACKEND, TOY, fused


class Unlucky(ToyBench):
    """The best of all kernels loses its race; all other times are right."""

    def __init__(self) -> None:
        super().__init__()
        self.minute = 1.0

    def time(self, keys: Sequence[str], rounds: int) -> Samples | Failure:
        self.raced.append((tuple(keys), rounds))
        racing = keys[-1] if len(keys) == 2 and rounds < LEAST_ROUNDS else ""
        return Samples({k: (self.told(self.kernels[k], k == racing),) * rounds for k in keys}, (0.0,) * rounds)

    def told(self, kernel: Kernel, racing: bool) -> float:
        true = self.seconds(kernel)
        return true * (1.05 if racing and true == self.base_s else 1.0)


def test_the_best_may_lose_its_race_and_still_be_found() -> None:
    bench = Unlucky()
    outcomes, events = run(bench=bench, strategy=Exhaustive())
    (played,) = (e for e in events if isinstance(e, PlayedOff))
    lost, won = (e for e in events if isinstance(e, TrialMeasured) and e.trial == played.order[0])

    assert bench.base_s == bench.seconds(best_of(outcomes).kernel)
    assert (played, won, IncumbentImproved(won.trial, won.candidate, won.time_s)) == events[-3:]
    assert lost.time_s > bench.base_s == pytest.approx(won.time_s)
    assert outcomes[-1] == best_of(outcomes)
    assert FINALISTS == len(set(played.order))
    assert 7 * FINAL_ROUNDS == played.rounds


def test_a_trial_that_ran_twice_is_one_trial() -> None:
    _, events = run(bench=Unlucky(), strategy=Exhaustive())
    found = ledger(events)
    (trial,) = (t for t in found.trials if t.trial == found.best.trial)

    assert len({e.trial for e in events if isinstance(e, TrialMeasured)}) == len(found.trials)
    assert trial.time_s == [e for e in events if isinstance(e, TrialMeasured)][-1].time_s


def test_an_incumbent_that_wins_again_stays_as_it_is() -> None:
    outcomes, events = run(strategy=Exhaustive())
    improved = [e.trial for e in events if isinstance(e, IncumbentImproved)]

    assert isinstance(events[-1], PlayedOff)
    assert improved[-1] == events[-1].order[0]
    assert len({id(o) for o in outcomes}) == len({e.trial for e in events if isinstance(e, TrialMeasured)})


def test_a_winner_that_loses_its_last_run_replaces_no_incumbent() -> None:
    class Twice(Unlucky):
        """The best kernel is slow again after the play-off."""

        def time(self, keys: Sequence[str], rounds: int) -> Samples | Failure:
            played = rounds == 4 * FINAL_ROUNDS
            found = super().time(keys, rounds)
            assert isinstance(found, Samples)
            slow = {k: tuple(1.05 * t for t in ts) for k, ts in found.times_s.items() if played and k == keys[-1]}
            return replace(found, times_s={**found.times_s, **slow})

    outcomes, events = run(bench=Twice(), strategy=Exhaustive())

    assert isinstance(events[-2], PlayedOff)
    assert isinstance(events[-1], TrialMeasured)
    assert best_of(outcomes).time_s < events[-1].time_s


@pytest.mark.parametrize(
    "budget", [replace(LONG, trials=PLAY_OFF_TRIALS - 1), replace(LONG, near=1e9)], ids=["few trials", "near the floor"]
)
def test_without_finalists_nothing_is_timed_again(budget: Budget) -> None:
    _, events = run(bench=Unlucky(), budget=budget, strategy=Exhaustive())

    assert not any(isinstance(e, PlayedOff) for e in events)


def runs(journal: Journal, bench: ToyBench) -> list[Outcome]:
    """Two runs, the second with the incumbent of the first."""
    outcomes: list[Outcome] = []
    for trials in (40, 20):
        timed = [o for o in outcomes if isinstance(o, Timed)]
        outcomes += tune(TuneRequest(
            [fused()], SHAPES, TOY, journal,
            budget=replace(LONG, trials=trials), backend=BACKEND, bench=bench, strategy=Exhaustive(),
            incumbent=best_of(timed) if timed else None,
        ))  # fmt: skip
    return outcomes


def test_resuming_after_any_event_gives_the_same_events() -> None:
    journal = Journal()
    outcomes = runs(journal, Unlucky())
    assert any(isinstance(e, PlayedOff) for e in journal.events)

    for length in range(len(journal) + 1):
        again = ReplayedJournal(journal.entries[:length])
        assert outcomes == runs(again, Unlucky()), f"cut at {length}"
        assert journal.events == again.events


class Noisy:
    """Kernels of which each is a little slower than the one before, where every run takes as long as chance has it."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def time(self, keys: Sequence[str], rounds: int) -> Samples | Failure:
        minute = self.rng.lognormvariate(0.0, 0.3)
        times = {
            key: tuple(minute * (1 + int(key) / 50) * self.rng.lognormvariate(0.0, 0.05) for _ in range(rounds))
            for key in keys
        }
        return Samples(times, (0.0,) * rounds)


@pytest.mark.parametrize("seed", range(5))
def test_common_rounds_distinguish_kernels_two_percent_apart_on_a_drifting_machine(seed: int) -> None:
    found = Racer(Noisy(seed), most_s=1e9).rank(["3", "1", "0", "7", "2", "5", "4", "6"])
    assert not isinstance(found, Failure)
    order, rounds = found

    assert order[0] == "0"
    assert sorted(order) == list("01234567")
    assert set(order[:4]) <= set("012345")
    assert 7 * FINAL_ROUNDS == rounds


def test_a_play_off_ends_with_its_time() -> None:
    now = [0.0]

    class Slow(Noisy):
        """Every round takes a second."""

        def time(self, keys: Sequence[str], rounds: int) -> Samples | Failure:
            now[0] += rounds
            return super().time(keys, rounds)

    found = Racer(Slow(0), most_s=2.0, clock=lambda: now[0]).rank(list("01234567"))

    assert not isinstance(found, Failure)
    assert 30 == found[1]


def test_a_failure_of_the_bench_is_returned() -> None:
    class Broken(Noisy):
        """A worker that was lost."""

        def time(self, keys: Sequence[str], rounds: int) -> Samples | Failure:
            return Failure("tune.crash", "gone")

    assert Failure("tune.crash", "gone") == Racer(Broken(0), most_s=1.0).rank(["0", "1"])
