"""Families verified by the workers of an executor: the same events as without, for any executor."""

import pickle
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

import pytest

import prism_explore as px
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import FamilyCompleted, NodeExpanded, SaturationStepped, VerdictReached
from prism_explore.pipeline.search_space import Operators, default_space
from prism_explore.search.explore import Progress, Steering, explore
from prism_explore.search.worker_pool import verify_family
from prism_explore.verify.prover import AUDIT_INTERVAL
from tests.generate.programs import gate, rms_linear_small
from tests.search.test_budgets import PROGRAM


class Here(Executor):
    """Runs what is submitted at once, on copies as another process would, and remembers what it gave."""

    def __init__(self, breaks=()):
        self.submitted, self.breaks, self.gave = 0, breaks, []

    def submit(self, fn, /, *args, **kwargs):
        self.submitted += 1
        future = Future()
        if self.submitted in self.breaks:
            future.set_exception(RuntimeError("the worker is gone"))
        else:
            future.set_result(pickle.loads(pickle.dumps(fn(*pickle.loads(pickle.dumps(args)), **kwargs))))
            self.gave.append(future.result())
        return future


class Later(Executor):
    """Answers nothing until it is told to."""

    def __init__(self):
        self.asked = []

    def submit(self, fn, /, *args, **kwargs):
        self.asked.append((Future(), lambda: fn(*args, **kwargs)))
        return self.asked[-1][0]

    def answer(self):
        for future, call in self.asked:
            if not future.done():
                future.set_result(call())


def searched(program=PROGRAM, executor=None):
    sess = px.Session(program, target="h100", at={"b": 4}, executor=executor)
    sess.run()
    sess.close()
    return sess


def count(journal, kind):
    return sum(isinstance(e, kind) for e in journal.events)


@pytest.fixture(scope="module")
def alone():
    return searched()


def test_the_facts_are_the_same_and_workers_made_the_verdicts(alone):
    executor = Here()
    found = searched(executor=executor)

    assert 1 < executor.submitted == count(found.journal, FamilyCompleted)
    assert sum(len(answer.candidates) for answer in executor.gave) == count(found.journal, VerdictReached)
    assert alone.journal.events == found.journal.events


def test_growth_runs_ahead_of_verdicts_and_is_told_in_turn(alone):
    executor, journal = Later(), Journal()
    task = px.Session(PROGRAM, target="h100", at={"b": 4}, executor=executor).task
    steps = explore(task, journal, Steering, Progress())
    families = count(alone.journal, FamilyCompleted)
    for _ in steps:
        if len(executor.asked) == families:
            break
    grown = count(journal, NodeExpanded)

    assert families > 1
    assert count(journal, FamilyCompleted) == count(journal, VerdictReached) == 0
    assert grown < count(alone.journal, NodeExpanded)
    executor.answer()
    for _ in steps:
        pass
    assert alone.journal.events == journal.events


def test_the_time_for_proofs_ends_the_waiting(alone):
    space = replace(default_space(PROGRAM), time_s=2.0)
    sess = px.Session(PROGRAM, target="h100", at={"b": 4}, space=space, executor=Later())
    sess.run()
    sess.close()
    verdicts = [e for e in sess.journal.events if isinstance(e, VerdictReached)]

    assert len(verdicts) == count(alone.journal, VerdictReached)
    assert {"unknown"} == {e.verdict for e in verdicts}
    assert all("2" in e.detail for e in verdicts)


def test_what_was_asked_is_taken_back_where_a_search_ends_early():
    executor = Later()
    task = px.Session(PROGRAM, target="h100", at={"b": 4}, executor=executor).task
    progress = Progress()
    steps = explore(task, Journal(), Steering, progress)
    while not executor.asked:
        next(steps)
    steps.close()
    progress.enumeration.close()

    assert all(future.cancelled() for future, _ in executor.asked)


def test_processes_and_threads_give_the_same_facts_too(alone):
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        assert alone.journal.events == searched(executor=processes).journal.events
    with ThreadPoolExecutor(2) as threads:
        assert alone.journal.events == searched(executor=threads).journal.events


class Counting(Executor):
    """Counts what is submitted to another executor."""

    def __init__(self, executor):
        self.executor, self.names = executor, []

    def submit(self, fn, /, *args, **kwargs):
        self.names.append(fn.__name__)
        return self.executor.submit(fn, *args, **kwargs)


def test_a_dask_cluster_proves_with_the_same_facts(alone):
    """Two processes of a LocalCluster."""
    from dask.distributed import Client, LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        executor = Counting(client.get_executor())
        found = searched(executor=executor)

    assert {"verify_family"} == set(executor.names)
    assert alone.journal.events == found.journal.events


def test_an_executor_that_was_shut_down_costs_no_fact(alone):
    executor = ThreadPoolExecutor(1)
    executor.shutdown()

    assert alone.journal.events == searched(executor=executor).journal.events


def test_workers_that_die_cost_no_fact(alone):
    assert alone.journal.events == searched(executor=Here(breaks={1, 2, 5})).journal.events


def test_audits_of_refuted_candidates_fall_on_the_same_ones():
    few = Operators((), (), ("div",), True, ("rms",), ("plain", "rms"))
    off = frozenset({"expr.unreachable", "expr.apart"})
    space = replace(default_space(PROGRAM), block=few, block_ops=6, rules_off=off)

    def facts(executor):
        sess = px.Session(PROGRAM, target="h100", at={"b": 4}, space=space, executor=executor)
        sess.run()
        sess.close()
        return sess.journal.events

    here, elsewhere = facts(None), facts(Here())
    refuted = [e for e in here if isinstance(e, VerdictReached) and e.verdict == "refuted"]

    assert len(refuted) > AUDIT_INTERVAL
    assert here == elsewhere


def test_a_worker_tells_what_a_search_finds_of_a_family():
    task, progress = px.Session(gate(), target="h100", at={"b": 4}).task, Progress()
    for _ in explore(task, Journal(), Steering, progress):
        pass
    answer = verify_family(progress.families[0], task.space, task.target, 0)
    proved = [v.candidate.id for v in progress.proved if v.candidate.family.id == "f1"]

    assert proved == [decided.verdict.candidate.id for decided in answer.candidates]
    assert all(isinstance(s, SaturationStepped) for decided in answer.candidates for s in decided.prover_events)


def test_a_search_with_an_executor_is_saved_without_it(tmp_path):
    sess = searched(rms_linear_small(), Here())
    loaded = px.Session.load(sess.save(tmp_path / "run.prism"))

    assert loaded.task.executor is None
    assert sess.journal.events == loaded.journal.events
