"""What runs a graph with symbolic sizes: raced again per bucket of sizes, in a bounded number of races."""

import pytest
import torch

from prism_explore.entry import torch_ways
from prism_explore.entry.torch_report import WholeRace
from prism_explore.entry.torch_ways import FREE_RACES, WaysBySizes
from prism_explore.events.fastest import COMPILED, EAGER
from tests.entry.test_torch_sizes import symbolic


@pytest.fixture
def ways(monkeypatch):
    """Ways that say which one ran, raced by a clock that a race advances by 10 s and the default compiler by 4 s."""
    graph = torch.fx.Graph()
    size, x = graph.placeholder("s"), graph.placeholder("x")
    (size.meta["example_value"],) = symbolic(16)
    graph.output(x)
    raced, now = [], [0.0]

    def race(module, args, ways, clock, seed, *, seconds):
        raced.append(args[0])
        now[0] += 10.0
        return WholeRace("kernels" if args[0] < 100 else EAGER, {})

    def default(size, x):
        now[0] += 4.0
        return COMPILED

    monkeypatch.setattr(torch_ways, "race_whole", race)
    runs = {name: lambda name=name: lambda size, x: name for name in (EAGER, "kernels")}
    module = torch.fx.GraphModule(torch.nn.Module(), graph)
    made = WaysBySizes(module, {**runs, COMPILED: lambda: default}, WholeRace(EAGER, {}), default, clock=lambda: now[0])
    return (lambda size: made(size, torch.zeros(1))), raced, made


def test_each_bucket_is_raced_once_and_runs_its_winner(ways):
    call, raced, made = ways

    assert [EAGER, "kernels", "kernels", EAGER, EAGER, EAGER] == [call(n) for n in (16, 17, 20, 120, 113, 16)]
    assert [17, 120] == raced
    assert ["17", "120"] == [sizes.partition("=")[2] for sizes, _ in made.races]


def test_after_some_races_the_default_runs_until_it_took_as_long_as_a_race(ways):
    call, raced, _ = ways
    for n in range(1, FREE_RACES + 1):
        call(2**n + 1)
    raced.clear()

    assert [COMPILED] * 3 == [call(50) for _ in range(3)]
    assert [] == raced
    assert "kernels" == call(50)
    assert [50] == raced
