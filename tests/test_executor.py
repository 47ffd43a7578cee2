"""Verdicts from an executor's workers: the same facts as without, whatever the executor."""

from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

import pytest

import prism_explore as px
from prism_explore.events.kinds import SaturationStepped, VerdictReached
from prism_explore.generate import spread
from prism_explore.ir.space import Operators, default_space
from prism_explore.verify.decide import AUDITED
from prism_explore.verify.elsewhere import decide
from tests.generate.programs import gate, rms_linear_small
from tests.test_budgets import PROGRAM


class Here(Executor):
    """Runs what is submitted at once, and remembers how often."""

    def __init__(self, breaks=()):
        self.submitted, self.breaks = 0, breaks

    def submit(self, fn, /, *args, **kwargs):
        self.submitted += 1
        future = Future()
        if self.submitted in self.breaks:
            future.set_exception(RuntimeError("the worker is gone"))
        else:
            future.set_result(fn(*args, **kwargs))
        return future


def searched(program=PROGRAM, executor=None):
    sess = px.Session(program, target="h100", at={"b": 4}, executor=executor)
    sess.run()
    sess.close()
    return sess


@pytest.fixture(scope="module")
def alone():
    return searched()


def test_the_facts_are_the_same_and_workers_made_the_verdicts(alone):
    executor = Here()
    found = searched(executor=executor)
    verdicts = sum(isinstance(e, VerdictReached) for e in found.journal.events)

    assert 1 < executor.submitted <= verdicts
    assert alone.journal.events == found.journal.events


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


def test_a_dask_cluster_grows_and_proves_with_the_same_facts(alone, monkeypatch):
    """Two processes of a LocalCluster; roots of the search go to them, and candidates."""
    from dask.distributed import Client, LocalCluster

    monkeypatch.setattr(spread, "FEWEST", 1)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        executor = Counting(client.get_executor())
        found = searched(executor=executor)

    assert {"grown", "decide"} == set(executor.names)
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

    assert len(refuted) > AUDITED
    assert here == elsewhere


def test_a_worker_needs_texts_only():
    program = gate()
    sess = searched(program)
    candidate = next(iter(sess.families["f1"].candidates))
    graph = sess.families["f1"].candidates[candidate]
    answer = decide(px.show(program), px.show(graph), candidate, 0)

    assert candidate == answer.verdict.candidate.id
    assert all(isinstance(s, SaturationStepped) for s in answer.steps)


def test_a_search_with_an_executor_is_saved_without_it(tmp_path):
    sess = searched(rms_linear_small(), Here())
    loaded = px.Session.load(sess.save(tmp_path / "run.prism"))

    assert loaded.task.executor is None
    assert sess.journal.events == loaded.journal.events
