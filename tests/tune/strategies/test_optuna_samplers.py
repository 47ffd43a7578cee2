"""Optuna's samplers as a strategy: first the model's order, then learning, exhaustive in the end."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from prism_explore.errors import JournalVersionError, ShapeError
from prism_explore.events.journal import Journal
from prism_explore.pipeline.stages import Infeasible, Kernel, Timed
from prism_explore.tune import Budget, Database, StrategyName, TuneRequest, tune
from prism_explore.tune.budget import strategy_of
from prism_explore.tune.space.pool import Key, Point, Pool
from prism_explore.tune.strategies import optuna_samplers
from prism_explore.tune.strategies.optuna_samplers import ENQUEUED, OptunaSampler, SamplerName, StudyFile
from tests.tune.strategies.test_local_search import drain, pool
from tests.tune.test_tune import LONG, SHAPES, ToyBench, best_of, run
from tests.tune.toys import BACKEND, TOY, fused, split

SAMPLERS: tuple[SamplerName, ...] = ("tpe", "random")


def seconds(point: Point) -> float:
    """A bowl that the model knows nothing of: best at large gx and small f."""
    sizes = dict(point.parameters.sizes)
    return (
        1.0
        + abs(math.log2(sizes.get("gx", 1)) - 3)
        + abs(math.log2(sizes.get("f", 1)))
        + point.parameters.schedule[1][1]
    )


def timed(point: Point, time_s: float) -> Timed:
    kernel = Kernel(point.verified, point.parameters, (), "cpu", "")
    return Timed(kernel, time_s, time_s, time_s, 1, 0.0, 0.0)


def play(strategy: OptunaSampler, there: Pool, rounds: int, cost: Callable[[Point], float] = seconds) -> list[Point]:
    tried: set[Key] = set()
    found: list[Point] = []
    for _ in range(rounds):
        point = strategy.propose(there, tried, None)
        if point is None:
            break
        tried.add(point.key)
        found.append(point)
        strategy.observe(there, point, timed(point, cost(point)))
    return found


def test_first_comes_the_model_s_order() -> None:
    there = pool()
    wanted = [p.key for p, _ in zip(there.in_model_order(), range(ENQUEUED), strict=False)]

    assert wanted == [p.key for p in play(OptunaSampler(0, "tpe"), there, ENQUEUED)]


def test_the_baseline_is_not_helped_by_the_model() -> None:
    seeds, drawn = range(120), Counter[str]()
    for seed in seeds:
        (point,) = play(OptunaSampler(seed, "random"), pool(fused(rows=True), split()), 1)
        drawn[point.verified.candidate.id] += 1

    assert 40 <= drawn["f3.c1"] <= 80


@pytest.mark.parametrize("name", SAMPLERS)
def test_nothing_is_proposed_twice_and_everything_in_the_end(name: SamplerName) -> None:
    everything = {p.key for p in drain(strategy_of("exhaustive", 0), pool())}
    found = [p.key for p in play(OptunaSampler(0, name), pool(), 10_000)]

    assert len(set(found)) == len(found)
    assert everything == set(found)


@pytest.mark.parametrize("name", SAMPLERS)
def test_the_same_seed_proposes_the_same_and_another_one_does_not(name: SamplerName) -> None:
    first, again, other = (
        [p.key for p in play(OptunaSampler(seed, name), pool(fused(rows=True), split()), 25)] for seed in (1, 1, 2)
    )

    assert first == again
    assert first != other


def test_observed_outcomes_decide_its_proposals() -> None:
    def cheap(side: str) -> Callable[[Point], float]:
        return lambda p: seconds(p) if p.verified.candidate.id == side else 50.0

    there = [fused(rows=True), split()]
    a, b = (v.candidate.id for v in there)

    def times(candidate: str, side: str) -> int:
        proposed = play(OptunaSampler(3), pool(*there), 34, cheap(side))[ENQUEUED:]
        return sum(p.verified.candidate.id == candidate for p in proposed)

    assert times(a, side=a) > times(a, side=b)
    assert times(b, side=b) > times(b, side=a)


def test_failures_are_learned_from_and_stop_nothing() -> None:
    strategy, there = OptunaSampler(0), pool()
    tried: set[Key] = set()
    for _ in range(ENQUEUED + 10):
        point = strategy.propose(there, tried, None)
        assert point is not None
        tried.add(point.key)
        strategy.observe(there, point, Infeasible(point.verified.candidate, point.parameters, "tune.wrong", "no"))

    assert ENQUEUED + 10 == len(tried)


def test_a_candidate_that_was_dropped_is_not_proposed_again() -> None:
    strategy, there = OptunaSampler(0), pool()
    play(strategy, there, ENQUEUED + 2)
    gone = there.candidates[0]
    there.drop(gone)

    rest = play(strategy, there, 500)
    assert rest
    assert gone.verified.candidate.id not in {p.verified.candidate.id for p in rest}


@pytest.mark.parametrize("name", ["climbing", "halving", "ranked", "exhaustive", "tpe", "random"])
def test_every_strategy_by_name_finds_the_best_of_a_small_space(name: StrategyName) -> None:
    outcomes, _ = run(bench=ToyBench(), strategy=strategy_of(name, 0), budget=LONG)
    best = best_of(outcomes).kernel.parameters

    assert {"gx": 4, "f": 8} == {k: dict(best.sizes)[k] for k in ("gx", "f")}


def test_a_budget_names_its_strategy_and_a_wrong_name_is_an_error() -> None:
    assert isinstance(strategy_of(Budget(strategy="tpe").strategy, 0), OptunaSampler)
    with pytest.raises(ShapeError, match="no strategy 'best'; there are climbing, halving, ranked"):
        Budget(strategy=cast("Any", "best"))
    with pytest.raises(ShapeError, match="no sampler 'best'"):
        OptunaSampler(0, cast("Any", "best"))


def test_a_sampler_whose_library_is_missing_is_rejected_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(name: str) -> None:
        return None

    monkeypatch.setattr(optuna_samplers, "find_spec", nowhere)

    with pytest.raises(ShapeError, match="'gp' needs scipy, which is not installed"):
        Budget(strategy="gp")
    Budget(strategy="tpe")


# ---------------------------------------------------------------- a study in a file
def kept(tmp_path: Path, about: str = "") -> StudyFile:
    return StudyFile(tmp_path / "trials.sqlite.studies", (about,))


def told(strategy: OptunaSampler) -> list[float | None]:
    return [t.value for t in strategy.study.trials if t.state.is_finished()]


def test_a_study_outlives_its_process_and_no_trial_is_proposed_again(tmp_path: Path) -> None:
    there, first = pool(), OptunaSampler(0, "tpe", kept(tmp_path))
    began = play(first, there, ENQUEUED + 3)
    tried = {p.key for p in began}
    second = OptunaSampler(0, "tpe", kept(tmp_path))
    point = second.propose(pool(), tried, None)

    assert point is not None
    assert point.key not in tried
    assert told(first)[: ENQUEUED + 3] == told(second)[: ENQUEUED + 3]
    assert [math.log(seconds(p)) for p in began] == [v for v in told(second) if v is not None]


def test_an_interruption_among_the_enqueued_goes_on_with_the_rest_of_them(tmp_path: Path) -> None:
    wanted = [p.key for p, _ in zip(pool().in_model_order(), range(ENQUEUED), strict=False)]
    first = play(OptunaSampler(0, "tpe", kept(tmp_path)), pool(), 4)
    second, tried = OptunaSampler(0, "tpe", kept(tmp_path)), {p.key for p in first}
    for _ in range(ENQUEUED - 4):
        point = second.propose(pool(), tried, None)
        assert point is not None
        tried.add(point.key)
        second.observe(pool(), point, timed(point, seconds(point)))

    assert set(wanted) == tried


@pytest.mark.parametrize("other", ["program", "candidates"])
def test_other_programs_and_candidates_have_other_studies(tmp_path: Path, other: str) -> None:
    play(OptunaSampler(0, "tpe", kept(tmp_path)), pool(), ENQUEUED + 3)
    there = pool(fused()) if other == "candidates" else pool()
    second = OptunaSampler(0, "tpe", kept(tmp_path, "another" if other == "program" else ""))
    second.propose(there, set(), None)

    assert [] == told(second)


def test_a_file_that_is_not_a_study_is_not_changed(tmp_path: Path) -> None:
    where = kept(tmp_path)
    where.path.write_bytes(b"some text, not a database" * 100)
    with pytest.raises(JournalVersionError, match=r"not a file of Optuna studies, or is damaged.*no trial"):
        OptunaSampler(0, "tpe", where).propose(pool(), set(), None)

    assert where.path.read_bytes().startswith(b"some text")


def test_tuning_with_a_database_stores_the_study_next_to_it(tmp_path: Path) -> None:
    database = Database(tmp_path / "trials.sqlite")
    for trials in (13, 16):
        budget = Budget(trials=trials, patience=10_000, seconds=1e9, near=-1.0, strategy="tpe")
        for _ in tune(TuneRequest(
            (fused(), split()), SHAPES, TOY, Journal(), budget=budget, backend=BACKEND, bench=ToyBench(),
            database=database,
        )):  # fmt: skip
            pass
    program = fused().candidate.family.program
    strategy = OptunaSampler(0, "tpe", database.study(program, SHAPES, TOY, ()))
    strategy.propose(pool(), set(), None)
    values = [v for v in told(strategy) if v is not None]

    assert 16 <= len(values) <= 19  # the three fastest are raced and observed again
    assert 16 == len(database.trials(program, SHAPES, TOY, ()))
