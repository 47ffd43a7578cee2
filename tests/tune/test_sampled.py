"""Optuna's samplers as a strategy: seeded by the model, taught by the times, complete in the end."""

import math

import pytest

from prism_explore.errors import ShapeError
from prism_explore.ir.stages import Infeasible, Kernel, Timed
from prism_explore.tune import Budget, sampled, strategy_of
from prism_explore.tune.sampled import SEEDED, Sampled
from tests.tune.test_strategy import drain, pool
from tests.tune.test_tune import LONG, ToyBench, best_of, run
from tests.tune.toys import fused, split

SAMPLERS = ("tpe", "random")


def seconds(point):
    """A bowl that the model knows nothing of: best at large gx and small f."""
    sizes = dict(point.parameters.sizes)
    return (
        1.0
        + abs(math.log2(sizes.get("gx", 1)) - 3)
        + abs(math.log2(sizes.get("f", 1)))
        + point.parameters.schedule[1][1]
    )


def timed(point, time_s):
    kernel = Kernel(point.verified, point.parameters, (), "cpu", "")
    return Timed(kernel, time_s, time_s, time_s, 1, 0.0, 0.0)


def play(strategy, there, rounds, cost=seconds):
    tried, found = set(), []
    for _ in range(rounds):
        point = strategy.propose(there, tried, None)
        if point is None:
            break
        tried.add(point.key)
        found.append(point)
        strategy.hear(there, point, timed(point, cost(point)))
    return found


@pytest.mark.parametrize("name", SAMPLERS)
def test_first_comes_the_model_s_order(name):
    there = pool()
    wanted = [p.key for p, _ in zip(there.by_model(), range(SEEDED), strict=False)]

    assert wanted == [p.key for p in play(Sampled(0, name), there, SEEDED)]


@pytest.mark.parametrize("name", SAMPLERS)
def test_nothing_is_proposed_twice_and_everything_in_the_end(name):
    everything = {p.key for p in drain(strategy_of("exhaustive", 0), pool())}
    found = [p.key for p in play(Sampled(0, name), pool(), 10_000)]

    assert len(set(found)) == len(found)
    assert everything == set(found)


@pytest.mark.parametrize("name", SAMPLERS)
def test_the_same_seed_proposes_the_same_and_another_one_does_not(name):
    first, again, other = (
        [p.key for p in play(Sampled(seed, name), pool(fused(rows=True), split()), 25)] for seed in (1, 1, 2)
    )

    assert first == again
    assert first != other


def test_what_it_was_told_decides_what_it_proposes():
    def cheap(side):
        return lambda p: seconds(p) if p.verified.candidate.id == side else 50.0

    there = [fused(rows=True), split()]
    a, b = (v.candidate.id for v in there)

    def times(candidate, side):
        proposed = play(Sampled(3), pool(*there), 34, cheap(side))[SEEDED:]
        return sum(p.verified.candidate.id == candidate for p in proposed)

    assert times(a, side=a) > times(a, side=b)
    assert times(b, side=b) > times(b, side=a)


def test_failures_are_learned_from_and_stop_nothing():
    strategy, there, tried = Sampled(0), pool(), set()
    for _ in range(SEEDED + 10):
        point = strategy.propose(there, tried, None)
        tried.add(point.key)
        strategy.hear(there, point, Infeasible(point.verified.candidate, point.parameters, "tune.wrong", "no"))

    assert SEEDED + 10 == len(tried)


def test_a_candidate_that_was_dropped_is_not_proposed_again():
    strategy, there = Sampled(0), pool()
    play(strategy, there, SEEDED + 2)
    gone = there.entrants[0]
    there.drop(gone)

    rest = play(strategy, there, 500)
    assert rest
    assert gone.verified.candidate.id not in {p.verified.candidate.id for p in rest}


@pytest.mark.parametrize("name", ["climbing", "ranked", "exhaustive", "tpe", "random"])
def test_every_strategy_by_name_finds_the_best_of_a_small_space(name):
    outcomes, _ = run(bench=ToyBench(), strategy=strategy_of(name, 0), budget=LONG)
    best = best_of(outcomes).kernel.parameters

    assert {"gx": 4, "f": 8} == {k: dict(best.sizes)[k] for k in ("gx", "f")}


def test_a_budget_names_its_strategy_and_a_wrong_name_is_an_error():
    assert isinstance(strategy_of(Budget(strategy="tpe").strategy, 0), Sampled)
    with pytest.raises(ShapeError, match="no strategy 'best'; there are climbing, ranked"):
        Budget(strategy="best")
    with pytest.raises(ShapeError, match="no sampler 'best'"):
        Sampled(0, "best")


def test_a_sampler_whose_library_is_missing_says_so_at_once(monkeypatch):
    monkeypatch.setattr(sampled, "find_spec", lambda _: None)

    with pytest.raises(ShapeError, match="'gp' needs scipy, which is not installed"):
        Budget(strategy="gp")
    Budget(strategy="tpe")
