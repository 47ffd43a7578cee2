"""What runs a graph with symbolic sizes: decided again per bucket of sizes, by the calls themselves."""

import pytest
import torch

from prism_explore.entry import torch_ways
from prism_explore.entry.torch_errors import Errors
from prism_explore.entry.torch_nodes import draws_random_numbers
from prism_explore.entry.torch_race import KERNELS, KERNELS_AND_COMPILED
from prism_explore.entry.torch_report import WholeRace
from prism_explore.entry.torch_ways import FREE_BUCKETS, LEAST_CALLS, WaysBySizes
from prism_explore.events.fastest import COMPILED, EAGER
from prism_explore.runtime import kernel_for_sizes
from prism_explore.runtime.call_race import ROUNDS
from tests.entry.test_torch_sizes import symbolic

AT = 16


class Graph:
    """A graph whose ways say which one ran, by a clock by which each takes its time."""

    def __init__(self, monkeypatch, seconds, errors=None, write=False):
        graph = torch.fx.Graph()
        size, x = graph.placeholder("s"), graph.placeholder("x")
        (size.meta["example_value"],) = symbolic(AT)
        graph.output(graph.call_method("add_", (x, 1)) if write else x)
        self.now, self.jobs, self.compared, self.unsettled, self.seconds = 0.0, [], [], None, seconds
        monkeypatch.setattr(torch_ways, "errors_of", self.errors_of)
        self.errors = errors or {}
        ways = {name: lambda name=name: lambda size, x: self.ran(name, size) for name in seconds}
        module = torch.fx.GraphModule(torch.nn.Module(), graph)
        self.ways = WaysBySizes(
            module, ways, WholeRace(EAGER, {}), ways[COMPILED](), start=self.jobs.append, clock=lambda: self.now
        )

    def ran(self, name, size):
        if isinstance(self.seconds[name], Exception):
            raise self.seconds[name]
        self.now += self.seconds[name] * (1 + 1e-3 * size)
        if name == KERNELS and self.unsettled is not None:
            self.unsettled(kernel_for_sizes._notes.to)
        return name

    def errors_of(self, module, arguments, ways):
        self.compared.append([[*ways], arguments()[1]])
        return Errors(self.errors)

    def __call__(self, size, x=None):
        return self.ways(size, torch.zeros(1) if x is None else x)

    def stage(self):
        return [race for _, race in self.ways.races]


SECONDS = {EAGER: 3e-3, COMPILED: 2e-3, KERNELS: 1.5e-3, KERNELS_AND_COMPILED: 1.2e-3}


def test_calls_of_other_sizes_wait_for_nothing_and_end_with_the_fastest_way(monkeypatch):
    graph = Graph(monkeypatch, SECONDS)
    built = [False]
    graph.unsettled = lambda notes: notes.built.append(lambda: built[0])
    assert [EAGER, KERNELS, COMPILED, COMPILED, EAGER] == [graph(n) for n in (AT, 17, 18, 20, AT)]
    assert "being built" not in graph.stage() and "kernels are built" in graph.stage()[0]

    built[0], turns = True, [2]

    def in_turns(notes):
        turns[0] -= 1
        notes.timed += turns[0] > 0

    graph.unsettled = in_turns
    assert [KERNELS, KERNELS, COMPILED, COMPILED] == [graph(n) for n in (17, 18, 20, 19)]
    assert [1, 0] == [len(graph.jobs), len(graph.compared)]
    graph.jobs.pop()()
    assert [EAGER, KERNELS] == graph.compared[0][0]

    graph.unsettled = None
    ran = [graph(17 + n % 3) for n in range(4 * (ROUNDS + 2))]
    assert set(SECONDS) == set(ran[: 4 * ROUNDS])
    assert [KERNELS_AND_COMPILED] * 3 == ran[-3:]
    (race,) = graph.stage()
    assert KERNELS_AND_COMPILED == race.winner
    assert f"{KERNELS_AND_COMPILED} is 1." in race.note


def test_kernels_that_are_too_inexact_at_other_sizes_do_not_take_part(monkeypatch):
    graph = Graph(monkeypatch, SECONDS, errors={EAGER: 1e-7, KERNELS: 3e-7})
    given = torch.arange(6.0).reshape(2, 3).t()
    graph(17)
    graph(17, given)
    given.zero_()
    graph.jobs.pop()()

    copy = graph.compared[0][1]
    assert [(1, 3), 15.0] == [copy.stride(), float(copy.sum())]
    assert {EAGER, COMPILED} == {graph(17) for _ in range(2 * ROUNDS + 2)}
    assert COMPILED == graph.stage()[0].winner
    assert "has an error of 3.0e-07" in str(graph.stage()[0])


def test_after_some_buckets_another_one_first_has_calls_of_the_default_compiler_s_code(monkeypatch):
    graph = Graph(monkeypatch, SECONDS)
    assert [KERNELS] * FREE_BUCKETS == [graph(2**n) for n in range(5, 5 + FREE_BUCKETS)]

    assert [*[COMPILED] * LEAST_CALLS, KERNELS] == [graph(24) for _ in range(LEAST_CALLS + 1)]


@pytest.mark.parametrize("write", [False, True])
def test_a_way_that_fails_is_left_out_unless_the_graph_writes(monkeypatch, write):
    graph = Graph(monkeypatch, {EAGER: RuntimeError("no"), COMPILED: 2e-3}, write=write)
    graph.ways._first = graph.ran
    if write:
        with pytest.raises(RuntimeError, match="no"):
            [graph(17) for _ in range(2)]
    else:
        assert {COMPILED} == {graph(17) for _ in range(4)}


@pytest.mark.parametrize(
    ("code", "draws"),
    [
        (lambda x: torch.nn.functional.dropout(x, 0.1, True), True),
        (lambda x: torch.nn.functional.dropout(x, 0.1, False), False),
        (lambda x: torch.nn.functional.dropout(x, p=0.1, training=False), False),
        (lambda x: torch.nn.functional.scaled_dot_product_attention(x, x, x), False),
        (lambda x: torch.nn.functional.scaled_dot_product_attention(x, x, x, dropout_p=0.1), True),
        (torch.rand_like, True),
        (torch.bernoulli, True),
        (torch.relu, False),
    ],
)
def test_what_draws_random_numbers_is_known(code, draws):
    graphs = []

    def backend(module, examples):
        graphs.append(module.graph)
        return module.forward

    torch.compiler.reset()
    torch.compile(code, backend=backend, dynamic=False)(torch.rand(1, 2, 3))
    assert draws == any(map(draws_random_numbers, graphs[0].nodes))
