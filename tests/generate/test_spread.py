"""Growth by an executor's workers has the very facts of growth in one process, wherever a budget falls."""

import pickle
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace

import pytest

import prism_explore as px
from prism_explore.cost.floor import Ceiling
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import NodeExpanded
from prism_explore.frontend import trace
from prism_explore.generate import generate, spread
from prism_explore.ir.space import default_space
from prism_explore.ir.text import show
from prism_explore.targets import GPUS
from tests.generate.programs import chain, safe_softmax
from tests.generate.test_sizes import square_mlp

H100 = GPUS["h100"]


class Apart(Executor):
    """Runs what is submitted at once, on copies, as another process would; some calls fail."""

    def __init__(self, fails=lambda call: False):
        self.calls, self.fails = 0, fails

    def submit(self, fn, /, *args, **kwargs):
        self.calls += 1
        future = Future()
        if self.fails(self.calls):
            future.set_exception(OSError("the worker is gone"))
        else:
            future.set_result(pickle.loads(pickle.dumps(fn(*pickle.loads(pickle.dumps(args)), **kwargs))))
        return future


def workload(name):
    row = px.workload(name)
    return trace(row.code, row.inputs, name).program


def grown(program, space, executor=None, ceiling=None):
    journal = Journal(clock=lambda: 0.0)
    found = list(generate(program, space, H100, journal, ceiling=ceiling, executor=executor))
    families = [(f.id, show(f.sgraph)) for f in found if f is not None]
    return journal.events, families


MLP = workload("rmsnorm_mlp")
CASES = {
    "rmsnorm_mlp": (MLP, default_space(MLP)),
    "running maximum": (safe_softmax(), replace(default_space(safe_softmax()), block_ops=9)),
    "dims by size": (square_mlp(), replace(default_space(square_mlp()), rules_off=frozenset({"shape.mismatch"}))),
    "two kernels": (chain(), replace(default_space(chain()), custom_kernels=2, block_ops=5)),
    "library calls": (chain(), replace(default_space(chain()), predefined_kernels=1, block_ops=6)),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("nodes", [150, 20])
def test_facts_and_families_are_the_same_wherever_the_budget_falls(name, nodes, monkeypatch):
    monkeypatch.setattr(spread, "FEWEST", 1)
    program, space = CASES[name]
    space = replace(space, nodes=nodes)
    executor = Apart()

    assert grown(program, space) == grown(program, space, executor)
    assert executor.calls


def test_workers_grow_most_of_it():
    program, space = CASES["rmsnorm_mlp"]
    executor = Apart()
    facts, families = grown(program, space, executor)

    assert (facts, families) == grown(program, space)
    assert executor.calls > 20
    assert sum(isinstance(f, NodeExpanded) for f in facts) > 400


def test_a_time_to_beat_cuts_in_workers_as_it_does_here():
    program, space = CASES["rmsnorm_mlp"]
    tight = Ceiling(25e-6, (("b", 16),), H100)
    here, elsewhere = grown(program, space, ceiling=tight), grown(program, space, Apart(), tight)

    assert here == elsewhere
    assert any("cost.floor" in str(f) for f in here[0])


@pytest.mark.parametrize("fails", [lambda call: True, lambda call: call % 3 == 0])
def test_what_workers_fail_at_is_grown_here(fails):
    program, space = CASES["rmsnorm_mlp"]

    assert grown(program, space) == grown(program, space, Apart(fails))


def test_an_executor_that_was_shut_down_costs_nothing():
    program, space = CASES["rmsnorm_mlp"]
    executor = ThreadPoolExecutor(1)
    executor.shutdown()

    assert grown(program, space) == grown(program, space, executor)


class Never(Executor):
    """Answers nothing."""

    def __init__(self):
        self.asked = []

    def submit(self, fn, /, *args, **kwargs):
        self.asked.append(Future())
        return self.asked[-1]


def test_the_time_budget_ends_the_waiting_and_what_was_asked_is_taken_back():
    program, space = CASES["rmsnorm_mlp"]
    executor, steps = Never(), []
    journal = Journal(clock=lambda: 0.0)
    for _ in generate(program, space, H100, journal, lambda: len(steps) > 150, executor=executor):
        steps.append(len(executor.asked))

    assert executor.asked
    assert all(f.cancelled() for f in executor.asked)
    assert any("budget.time" in str(e) for e in journal.events)
