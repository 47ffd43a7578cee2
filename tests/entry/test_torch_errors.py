"""Errors of whole graphs against the same graph in float64."""

import torch
from torch import nn

from prism_explore.entry.torch_errors import Errors, errors_of
from prism_explore.events.fastest import COMPILED, EAGER


class Casts(nn.Module):
    """Reads a weight, names dtypes, casts, and writes a tensor in place that it reads again."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(8, 8))

    def forward(self, x, cache):
        cache.add_(x)
        found = (cache @ self.weight).to(torch.float32).float() + torch.zeros(8, dtype=torch.float32)
        return {"sum": found, "places": found.argmax(-1)}


def test_float64_reaches_through_casts_weights_and_writes_in_place():
    module, x, cache = torch.fx.symbolic_trace(Casts()), torch.rand(4, 8), torch.rand(4, 8)
    exact = (cache.double() + x.double()) @ module.weight.double()

    found = errors_of(module, lambda: (x, cache.clone()), {EAGER: module, "exact": lambda x, _: {"sum": exact.float()}})

    assert "" == found.note
    assert found.of["exact"] <= 2.0**-24
    assert 0.0 < found.of[EAGER] < 1e-6


def test_a_graph_without_float64_has_no_errors_and_says_why():
    def only_float32(x):
        return torch.ops.aten.mm.dtype_out(x, x, torch.float32, out=x)

    graph = torch.fx.Graph()
    graph.output(graph.call_function(only_float32, (graph.placeholder("x"),)))
    module = torch.fx.GraphModule(nn.Module(), graph)

    assert {} == errors_of(module, lambda: (torch.rand(2, 2),), {EAGER: lambda x: x}).of
    assert "in float64: " in errors_of(module, lambda: (torch.rand(2, 2),), {}).note


def test_a_result_in_float64_is_not_judged():
    module = torch.fx.symbolic_trace(lambda x: x * 2.0)

    found = errors_of(module, lambda: (torch.rand(3).double(),), {EAGER: module, "kernels": module})

    assert "no wider arithmetic" in found.note
    assert "" == found.why_refused("kernels")


def test_a_few_roundings_are_never_too_much_and_torch_is_never_refused():
    errors = Errors({EAGER: 0.0, COMPILED: 1e-3, "kernels": 2.0**-23, "worse": 2.0**-20}, 2.0**-24)

    assert ["", "", ""] == [errors.why_refused(n) for n in (EAGER, COMPILED, "kernels")]
    assert "worse has an error of 9.5e-07, torch eager one of 0.0e+00" in errors.why_refused("worse")
