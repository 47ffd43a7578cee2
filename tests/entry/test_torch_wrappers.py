"""Weights of a class that has other tensors in the place of its memory: regions read the tensors inside."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from prism_explore.entry.torch_nodes import CALLS, is_wrapper, translation_of
from prism_explore.entry.torch_race import KERNELS
from prism_explore.events.fastest import EAGER
from tests.entry.test_torch_compile import compiled, compiler, short_searches, without_inductor  # noqa: F401
from tests.entry.test_torch_partition import graph_of

K, N = 32, 16


class Scaled(torch.Tensor):
    """Integers of 8 bits and a scale per row, as libraries for quantized weights have them."""

    @staticmethod
    def __new__(cls, numbers, scales):
        return torch.Tensor._make_wrapper_subclass(cls, numbers.shape, dtype=scales.dtype)

    def __init__(self, numbers, scales):
        self.numbers, self.scales = numbers, scales

    def __tensor_flatten__(self):
        return ["numbers", "scales"], None

    @classmethod
    def __tensor_unflatten__(cls, inside, context, size, stride):
        return cls(inside["numbers"], inside["scales"])

    def wide(self):
        return self.numbers.to(self.scales.dtype) * self.scales

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if function is F.linear:
            return F.linear(args[0], args[1].wide(), *args[2:])
        with torch._C.DisableTorchFunctionSubclass():
            return function(*args, **(kwargs or {}))

    @classmethod
    def __torch_dispatch__(cls, function, types, args, kwargs=None):
        if function is torch.ops.aten.detach.default:
            return cls(args[0].numbers, args[0].scales)
        return function(*[a.wide() if isinstance(a, cls) else a for a in args], **(kwargs or {}))


def layer(bias=True):
    torch.manual_seed(0)
    made = nn.Linear(K, N, bias=bias)
    numbers, scales = torch.randint(-128, 128, (N, K), dtype=torch.int8), torch.rand(N, 1) / 64
    made.weight = nn.Parameter(Scaled(numbers, scales), requires_grad=False)
    return made.eval()


class Twice(nn.Module):
    """A weight that is read twice, and one of its own."""

    def __init__(self):
        super().__init__()
        self.first, self.second = layer(), layer(bias=False)
        self.second.weight = self.first.weight

    def forward(self, x):
        return F.silu(self.first(x)) + self.second(x)


@pytest.mark.parametrize("module", [layer, Twice])
def test_regions_read_the_tensors_inside(module):
    module, backend, x = module(), compiler(), torch.randn(3, K)
    fast = compiled(module, backend)

    with torch.no_grad():
        torch.testing.assert_close(module(x), fast(x), rtol=2e-4, atol=2e-5)
        weight = getattr(module, "first", module).weight
        weight.numbers.neg_()
        torch.testing.assert_close(module(x), fast(x), rtol=2e-4, atol=2e-5)

    assert all(row.replaced for row in backend.outcomes), backend.report()
    assert all("i8[16, 32]" in row.program for row in backend.outcomes)


def test_what_is_not_unwrapped_stays_in_torch():
    module, x = layer(), torch.randn(3, K)

    graph = graph_of(module, x)

    assert any(is_wrapper(n.meta["example_value"]) for n in graph.nodes if n.op == "placeholder")
    assert {"it has a tensor of the class Scaled"} == {translation_of(n).obstacle for n in graph.nodes if n.op in CALLS}


def test_gradients_of_inputs_are_torch_s():
    module, backend, x = layer(), compiler(rest="inductor"), torch.randn(3, K, requires_grad=True)

    compiled(module, backend)(x).sum().backward()

    torch.testing.assert_close(module.weight.wide().sum(0).expand(3, K), x.grad)
    assert not backend.outcomes


def test_the_whole_graph_is_raced_on_the_tensors_inside(without_inductor):  # noqa: F811
    module, backend, x = Twice(), compiler(rest="fastest"), torch.randn(3, K)

    with torch.no_grad():
        found = compiled(module, backend)(x)
        torch.testing.assert_close(module(x), found, rtol=2e-4, atol=2e-5)

    (graph,) = backend.graphs
    assert {EAGER, KERNELS} <= set(graph.race.seconds)
