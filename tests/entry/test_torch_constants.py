"""What a graph computes of no input is computed once, and each call still has memory of its own for what it returns."""

import pytest
import torch

from prism_explore.entry.torch_constants import MOST_ELEMENTS, fold_constants
from prism_explore.entry.torch_nodes import called_name, value_of
from prism_explore.entry.torch_simplify import simplify

X = torch.linspace(-1, 1, 24).reshape(4, 6)


def folded(function, *inputs, dynamic=False):
    """The compiled function, and its graph with constants folded; results of two calls are compared with torch's."""
    found = []

    def backend(module, _):
        simplify(module.graph)
        fold_constants(module.graph)
        module.graph.lint()
        module.recompile()
        found.append(module.graph)
        return module.forward

    torch.compiler.reset()
    compiled = torch.compile(function, backend=backend, dynamic=dynamic)
    for _ in range(2):
        torch.testing.assert_close(function(*inputs), compiled(*inputs))
    return compiled, found[0]


def names(graph):
    return [called_name(n) for n in graph.nodes if called_name(n)]


def test_positions_and_what_is_computed_of_them_are_tables():
    def alibi(x):
        slopes = torch.pow(torch.tensor(0.5), torch.arange(1, 5, dtype=torch.int32))
        distance = torch.arange(6) - torch.arange(6)[:, None]
        spread = torch.arange(6.0).expand(4, 6)
        return x @ x.mT + slopes[:, None] * 2.0, x[:, None] + slopes[:, None, None] * distance.float(), x + spread

    _, graph = folded(alibi, X)

    assert {"arange", "tensor", "pow", "sub", "lt"}.isdisjoint(names(graph))
    tables = [(value_of(n), getattr(graph.owning_module, n.target)) for n in graph.nodes if n.op == "get_attr"]
    assert [example.stride() for example, _ in tables] == [table.stride() for _, table in tables]
    assert any(0 in table.stride() for _, table in tables)


def test_one_number_everywhere_is_made_anew_where_it_is_read():
    def function(x):
        scale = torch.sqrt(torch.tensor(x.shape[-1], dtype=torch.float) * 2)
        fill = torch.zeros_like(x > 0, dtype=x.dtype).masked_fill(x > 0, -1.0)
        return (x / scale + fill + x.new_full((6,), 2.0) * torch.ones_like(x)).exp()

    _, graph = folded(function, X)

    made = [n.args[1] for n in graph.nodes if called_name(n) == "full"]
    assert pytest.approx([0.0, 2.0, 12**0.5], rel=1e-6) == sorted(made)
    assert not any(n.op == "get_attr" for n in graph.nodes)
    assert {"tensor", "sqrt", "zeros_like", "ones_like", "new_full"}.isdisjoint(names(graph))


def test_a_mask_that_operators_know_stays_in_the_graph():
    _, graph = folded(lambda x: (x @ x.mT + torch.full((4, 4), -torch.inf).triu(1)).softmax(-1), X)

    assert {"full", "triu"} <= set(names(graph))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (torch.arange(6), x.exp()),
        lambda x: (torch.arange(6)[None].expand(4, 6), x.exp()),
        lambda x: torch.arange(24.0).reshape(4, 6).add_(x)[1:],
        lambda x: (torch.arange(6.0).requires_grad_(), x.exp()),
    ],
)
def test_what_a_call_returns_or_writes_is_computed_by_each(function):
    compiled, graph = folded(function, X)

    assert "arange" in names(graph)
    wanted = function(X)
    for written in compiled(X):
        written.detach().zero_()
    torch.testing.assert_close(wanted, compiled(X))


def test_random_numbers_large_tensors_and_sizes_that_vary_are_no_constants():
    def function(x):
        return x + torch.rand(6) * 0.0 + torch.arange(MOST_ELEMENTS + 1).sum() + torch.arange(x.shape[0])[:, None]

    _, graph = folded(function, X, dynamic=True)

    assert {"rand", "arange", "sum"} <= set(names(graph))


def test_an_operator_that_someone_registered_is_called_each_time():
    calls = []

    @torch.library.custom_op("prism_tests::counted", mutates_args=())
    def counted(x: torch.Tensor) -> torch.Tensor:
        calls.append(1)
        return x.clone()

    counted.register_fake(torch.empty_like)
    compiled, _ = folded(lambda x: x + counted(torch.arange(6.0)), X)
    before = len(calls)
    compiled(X)

    assert before + 1 == len(calls)
