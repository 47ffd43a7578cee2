"""Trials in parallel: the same journal with every executor, and no lost trial without workers."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from multiprocessing import get_context
from typing import Any

import pytest

import prism_explore as px
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import (
    Event,
    IncumbentImproved,
    KernelGenerated,
    ParametersProposed,
    TrialFailed,
    TrialMeasured,
)
from prism_explore.events.replay_journal import ReplayedJournal
from prism_explore.pipeline.stages import Infeasible, Kernel, Outcome, Timed
from prism_explore.search.worker_pool import FamilyVerdicts
from prism_explore.tune import Budget, StrategyName, TuneRequest, tune
from prism_explore.tune.database import Database
from prism_explore.tune.runner import remote
from prism_explore.tune.runner import worker as worker_module
from prism_explore.tune.runner.bench import Failure
from prism_explore.tune.runner.trial import Incumbent, TrialResult
from prism_explore.tune.strategies.ranked import Exhaustive
from prism_explore.tune.strategies.strategy import Strategy
from tests.search.test_worker_pool import Here, Later
from tests.session.test_session import session
from tests.tune.benches import WRONG_S, DeadlyBench, LostBench, PureBench, backend, seconds
from tests.tune.test_tune import SHAPES
from tests.tune.toys import TOY, fused, kernel, rmsnorm_linear, split

THREE = Budget(trials=28, seconds=1e9, patience=100, near=-1.0, at_once=3)


class Watched(Executor):
    """Records the futures of another executor."""

    def __init__(self, executor: Executor) -> None:
        self.executor = executor
        self.futures: list[Future[Any]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **more: Any) -> Future[Any]:
        self.futures.append(self.executor.submit(fn, *args, **more))
        return self.futures[-1]

    @property
    def gave(self) -> list[object]:
        return [f.result() for f in self.futures]


def flown(
    executor: Executor | None = None,
    budget: Budget = THREE,
    journal: Journal | None = None,
    bench: PureBench | None = None,
    made: Any = None,
    strategy: Strategy | None = None,
    stop: Callable[[], bool] = lambda: False,
    database: Database | None = None,
) -> Iterator[Outcome]:
    return tune(TuneRequest(
        [fused(), split()], SHAPES, TOY, Journal() if journal is None else journal,
        budget=budget, backend=made or backend(), bench=bench, strategy=strategy, stop=stop, executor=executor,
        database=database,
    ))  # fmt: skip


def facts(executor: Executor | None = None, budget: Budget = THREE, **more: Any) -> tuple[Event, ...]:
    journal = Journal()
    for _ in flown(executor, budget, journal, **more):
        pass
    return journal.events


@pytest.fixture(scope="module")
def alone() -> tuple[Event, ...]:
    return facts()


# ---------------------------------------------------------------- whoever runs them
def test_workers_that_receive_copies_give_the_same_journal(alone: tuple[Event, ...]) -> None:
    executor = Here()

    assert alone == facts(executor)
    assert {TrialResult, Failure} == {type(answer) for answer in executor.gave}
    assert 20 < len(executor.gave) < 28  # the first trial is alone, and so is a batch of one


def test_processes_and_threads_give_the_same_journal(alone: tuple[Event, ...]) -> None:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        pool = Watched(processes)
        assert alone == facts(pool)
        assert {TrialResult, Failure} == {type(answer) for answer in pool.gave}
    with ThreadPoolExecutor(3) as threads:
        pool = Watched(threads)
        assert alone == facts(pool)
        assert {TrialResult, Failure} == {type(answer) for answer in pool.gave}


def test_a_dask_cluster_gives_the_same_journal(alone: tuple[Event, ...]) -> None:
    """Two processes of a LocalCluster."""
    from dask.distributed import Client, LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        executor = Watched(client.get_executor())
        assert alone == facts(executor)
        assert {TrialResult, Failure} == {type(answer) for answer in executor.gave}


@pytest.mark.parametrize("strategy", ["halving", "ranked", "exhaustive", "tpe"])
def test_so_it_is_with_every_strategy(strategy: StrategyName) -> None:
    if strategy == "tpe":
        pytest.importorskip("optuna")
    budget = replace(THREE, strategy=strategy, at_once=5)

    assert facts(budget=budget) == facts(Here(), budget)


def test_one_trial_at_once_submits_nothing() -> None:
    executor = Here()

    assert facts(budget=replace(THREE, at_once=1)) == facts(executor, replace(THREE, at_once=1))
    assert 0 == executor.submitted


# ---------------------------------------------------------------- a batch
class Named(PureBench):
    """A kernel's time is a function of its trial's number."""

    def __init__(self, *seconds: float) -> None:
        super().__init__()
        self.numbered = seconds

    def seconds(self, key: str) -> float:
        return self.numbered[int(key[1:]) - 1]

    def check(self, key: str, kernel: Kernel) -> Any:
        self.kernels[key] = kernel
        return super().check(key, replace(kernel, source="7"))


def told(bench: PureBench, budget: Budget) -> list[float]:
    found = list(flown(bench=bench, budget=budget, strategy=Exhaustive()))
    return [o.time_s for o in found if isinstance(o, Timed)]


def test_who_beat_an_incumbent_that_was_replaced_meanwhile_races_the_new_one_before_it_takes_its_place() -> None:
    bench = Named(1.0, 0.9, 0.8, 0.95, 0.5, 1.3, 0.6)
    times = told(bench, replace(THREE, trials=7))

    assert [1.0, 0.9, 0.8, 0.95, 0.5, 1.3, 0.6] == pytest.approx(times)
    assert [
        ("u1",),
        ("u1", "u2"), ("u1", "u3"), ("u2", "u3"), ("u1", "u4"), ("u3", "u4"),
        ("u3", "u5"), ("u3", "u6"), ("u3", "u7"), ("u5", "u7"),
    ] == bench.raced  # fmt: skip
    assert ["u5"] == list(bench.kernels)


def test_a_winner_over_the_old_incumbent_also_races_the_new_one() -> None:
    class Lucky(Named):
        """The third kernel is fast in rounds with the first one, and slow in rounds with the second."""

        def seconds(self, key: str) -> float:
            return 0.5 if key == "u3" and self.raced[-1] == ("u1", "u3") else super().seconds(key)

    bench = Lucky(1.0, 0.8, 0.9)
    journal = Journal()
    outcomes = list(flown(bench=bench, budget=replace(THREE, trials=3), strategy=Exhaustive(), journal=journal))

    assert ["u1", "u2"] == [e.trial for e in journal.events if isinstance(e, IncumbentImproved)]
    assert isinstance(outcomes[2], Timed)
    assert outcomes[2].time_s == pytest.approx(0.9)


def test_events_of_a_trial_are_adjacent(alone: tuple[Event, ...]) -> None:
    kinds = (ParametersProposed, KernelGenerated, TrialMeasured, TrialFailed, IncumbentImproved)
    trials = [int(e.trial[1:]) for e in alone if isinstance(e, kinds)]

    assert sorted(trials) == trials
    assert list(range(1, 29)) == sorted(set(trials))


def test_each_incumbent_beat_the_one_before(alone: tuple[Event, ...]) -> None:
    curve = [e.time_s for e in alone if isinstance(e, IncumbentImproved)]

    assert len(curve) > 3
    assert all(later < earlier for earlier, later in pairwise(curve))


def test_a_budget_that_is_smaller_than_a_flight_is_kept() -> None:
    executor = Here()

    assert 4 == len(list(flown(executor, replace(THREE, trials=4, at_once=16))))
    assert 0 < executor.submitted < 4


def test_patience_is_kept_to_the_trial() -> None:
    events = facts(budget=replace(THREE, trials=1000, patience=5, at_once=4))
    improved = [int(e.trial[1:]) for e in events if isinstance(e, IncumbentImproved)]

    assert improved[-1] + 5 == sum(isinstance(e, ParametersProposed) for e in events)


def test_no_flight_holds_two_kernels_that_are_the_same() -> None:
    def emit(*given: Any) -> Kernel | Infeasible:
        made = backend().emit(*given)
        return replace(made, source=str(len(made.source) % 2)) if isinstance(made, Kernel) else made

    events = facts(Here(), replace(THREE, at_once=8), made=replace(backend(), emit=emit))
    sources = [e.source for e in events if isinstance(e, KernelGenerated)]

    assert ["0", "1"] == sorted(sources)


def test_what_the_code_generator_refuses_takes_its_place_in_a_flight() -> None:
    def emit(verified: Any, parameters: Any, *rest: Any) -> Kernel | Infeasible:
        if dict(parameters.schedule).get("unroll") == 2:
            return Infeasible(verified.candidate, parameters, "tune.illegal", "refused on request")
        return backend().emit(verified, parameters, *rest)

    refusing = replace(backend(), emit=emit)
    events = facts(made=refusing)

    assert events == facts(Here(), made=refusing)
    assert "tune.illegal" in {e.reason.code for e in events if isinstance(e, TrialFailed)}


@pytest.mark.parametrize("given", [0, -1, True, 1.5, "3", None])
def test_at_once_must_be_an_integer(given: Any) -> None:
    with pytest.raises(
        px.ShapeError, match=rf"Budget\(at_once=...\) must be an integer of at least 1, found {given!r}"
    ):
        Budget(at_once=given)


# ---------------------------------------------------------------- workers without an answer
def test_workers_that_die_lose_no_event(alone: tuple[Event, ...]) -> None:
    executor = ThreadPoolExecutor(1)
    executor.shutdown()

    assert alone == facts(Here(breaks={1, 2, 5}))
    assert alone == facts(executor)


def test_a_pool_that_breaks_within_a_batch_loses_no_event(alone: tuple[Event, ...]) -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        pool = Watched(processes)
        assert alone == facts(pool, made=backend(DeadlyBench))
        assert any(f.exception() for f in pool.futures)


def test_a_worker_where_the_incumbent_does_not_come_through_times_nothing(alone: tuple[Event, ...]) -> None:
    executor = Here()

    assert alone == facts(executor, made=backend(LostBench))
    assert {None} == set(executor.gave)


@pytest.mark.parametrize(
    ("name", "said"),
    [("local_machine", "another processor, 64 cores"), ("local_machine", ""), ("_versions", "prism-explore 0.0.1")],
)
def test_a_worker_on_another_kind_of_machine_or_of_another_version_times_nothing(
    alone: tuple[Event, ...], monkeypatch: pytest.MonkeyPatch, name: str, said: str
) -> None:
    class Abroad(Here):
        """Whose workers are elsewhere."""

        def submit(self, *given: Any, **more: Any) -> Any:
            with monkeypatch.context() as there:
                there.setattr(remote, name, lambda *_: said)
                return super().submit(*given, **more)

    executor = Abroad()

    assert alone == facts(executor)
    assert {None} == set(executor.gave)


def test_where_an_answer_takes_too_long_home_runs_the_trial(
    alone: tuple[Event, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "ANSWER_S", 0.0)
    executor = Later()

    assert alone == facts(executor)
    assert all(future.cancelled() for future, _ in executor.asked)


def test_an_incumbent_that_is_lost_at_home_too_makes_the_next_trial_the_yardstick() -> None:
    first = next(o for o in flown(budget=replace(THREE, trials=1)) if isinstance(o, Timed))

    class Forgetful(PureBench):
        """Knows no kernel of an earlier run."""

        def check(self, key: str, kernel: Kernel) -> Any:
            return Failure("tune.compile", "not here") if key == "incumbent" else super().check(key, kernel)

    bench = Forgetful()
    executor = Here(breaks=range(100))
    found = list(
        tune(TuneRequest(
            [fused(), split()], SHAPES, TOY, Journal(), budget=replace(THREE, trials=5), backend=backend(),
            bench=bench, executor=executor, incumbent=first,
        ))
    )  # fmt: skip

    assert 5 == len(found)
    assert 1 == len(bench.raced[0])
    assert all("incumbent" not in keys for keys in bench.raced)


# ---------------------------------------------------------------- stopped, and going on
@pytest.mark.parametrize("strategy", ["climbing", "halving", "tpe"])
def test_resuming_after_any_event_gives_the_same_events(strategy: StrategyName) -> None:
    if strategy == "tpe":
        pytest.importorskip("optuna")
    journal, budget = Journal(), replace(THREE, strategy=strategy)
    outcomes = list(flown(journal=journal, budget=budget))
    for length in range(0, len(journal) + 1, 10 if strategy == "tpe" else 3):
        again = ReplayedJournal(journal.entries[:length])

        assert outcomes == list(flown(Here(), journal=again, budget=budget)), f"cut at {length}"
        assert journal.events == again.events


def test_what_is_stopped_in_mid_flight_loses_nothing_and_goes_on(alone: tuple[Event, ...]) -> None:
    for heard in range(1, 9):
        journal = Journal()
        told: list[Outcome] = []
        executor = Here()
        for outcome in flown(executor, journal=journal, stop=lambda: len(told) >= heard):  # noqa: B023 (it ends here)
            told.append(outcome)
        again = ReplayedJournal(journal.entries)

        assert heard == len(told)
        assert alone[: len(journal)] == journal.events
        assert [*told] == list(flown(journal=again))[:heard]
        assert alone == again.events


class Tired(Later):
    """Answers one question and no more."""

    def submit(self, *given: Any, **more: Any) -> Any:
        future = super().submit(*given, **more)
        if len(self.asked) == 1:
            self.answer()
        return future


def test_a_stopped_run_cancels_its_submitted_trials() -> None:
    executor = Later()

    assert 1 == len(list(flown(executor, stop=lambda: bool(executor.asked))))
    assert 3 == len(executor.asked)
    assert all(future.cancelled() for future, _ in executor.asked)


def test_a_closed_run_cancels_its_submitted_trials() -> None:
    executor = Tired()
    running = flown(executor)
    assert isinstance(running, Generator)
    next(running), next(running)
    running.close()

    assert [False, True, True] == [future.cancelled() for future, _ in executor.asked]


def test_what_a_database_knows_counts_and_a_search_goes_on_with_it(tmp_path: Any) -> None:
    journal = Journal()
    database = Database(tmp_path / "trials.sqlite")
    running = flown(journal=journal, database=database)
    told = [next(running) for _ in range(6)]
    running.close()
    again = ReplayedJournal(journal.entries)
    outcomes = list(flown(Here(), journal=again, database=database))

    assert told == outcomes[:6]
    assert facts() == again.events
    assert 3 == len(list(flown(Here(), database=database)))


# ---------------------------------------------------------------- in a worker
SETTING = remote.settings_of(rmsnorm_linear(), SHAPES, TOY, backend(), 0, 1.0)


def some_kernels() -> list[Kernel]:
    return [kernel(fused(), (("gx", gx), ("f", 4)), unroll=u) for gx in (1, 2, 4) for u in (1, 2, 4)]


def test_a_worker_keeps_a_bench_for_as_many_settings_and_closes_the_others() -> None:
    first, second, *_ = some_kernels()
    before = PureBench.living
    for seed in range(3 * remote.MOST_IDLE):
        remote.run_trial(first, Incumbent("u1", second, 1.0), replace(SETTING, seed=seed))

    assert remote.MOST_IDLE >= PureBench.living - before


def test_searches_that_count_their_trials_alike_do_not_take_each_other_s_kernels() -> None:
    right = [k for k in some_kernels() if seconds(k) <= WRONG_S]
    for rival in right[:2]:
        for entry in right[2:]:
            found = remote.run_trial(entry, Incumbent("u1", rival, 1.0), SETTING)

            assert isinstance(found, TrialResult)
            assert found.times.time_s == pytest.approx(seconds(entry) / seconds(rival))


def test_a_worker_s_kernels_have_the_threads_that_home_s_have(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[PureBench] = []
    monkeypatch.setattr(PureBench, "close", lambda self: made.append(self))
    setting = replace(SETTING, threads=(("OMP_NUM_THREADS", "2"),), seed=12345)
    with pytest.raises(RuntimeError), remote._trial_runner(setting):
        raise RuntimeError("so that it is closed")

    assert [{"OMP_NUM_THREADS": "2"}] == [bench.threads for bench in made]


# ---------------------------------------------------------------- for real
def pids() -> list[int]:
    """The processes of this process's benches."""
    return [w.pid for w in worker_module._RUNNING if w.pid is not None]


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.slow
def test_a_search_whose_kernels_a_pool_compares_and_races_ends_with_a_kernel_and_leaves_no_process() -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        pool = Watched(processes)
        sess = session(baselines=(), executor=pool)
        sess.task = replace(sess.task, budget=px.Budget(trials=4, seconds=1e9, near=-1.0, at_once=2))
        sess.run()
        best, events = sess.best(), sess.journal.events
        sess.close()
        answers = [a for a in pool.gave if not isinstance(a, FamilyVerdicts)]
        children: Sequence[int] = processes.submit(pids).result()

    measured = [e for e in events if isinstance(e, TrialMeasured)]
    assert "finished" == sess.state
    assert 4 == len(measured)
    assert all(e.error < 1e-4 and e.time_s > 0 for e in measured)
    assert isinstance(best, px.Best)
    assert [TrialResult, TrialResult] == [type(a) for a in answers]
    assert 1 == len(children)
    until = time.monotonic() + 60.0
    while any(map(is_alive, children)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(map(is_alive, children))
