"""Function transforms in graphs: the operators in their place compute the same, and regions contain them."""

import pytest
import torch
import torch.nn.functional as F

from prism_explore.entry.torch_nodes import called_name
from prism_explore.entry.torch_partition import partition
from prism_explore.entry.torch_transforms import expand_transforms
from prism_explore.targets import target

X, Y, W = torch.randn(4, 6), torch.randn(4, 6), torch.randn(6, 5)
CLASSES = torch.tensor([0, 4, 2, 1])


def loss(w, x, y):
    return F.cross_entropy(torch.tanh(x @ w), y)


def derivative_of_derivative(x):
    return torch.vmap(torch.func.grad(torch.func.grad(lambda v: v.sin() * v)))(x)


def jacobian_and_more(x, w):
    return torch.func.jacrev(lambda z: torch.tanh(z @ w))(x[0]).relu() + (x @ w)[0][:, None]


TRANSFORMS = [
    (lambda x, w: torch.vmap(lambda row: torch.tanh(row @ w).sum())(x), (X, W)),
    (lambda x, y: torch.vmap(torch.vmap(lambda a, b: a * b), in_dims=1, out_dims=1)(x, y), (X, Y)),
    (lambda x, v, w: torch.func.jvp(lambda z: torch.tanh(z @ w).sum(-1), (x,), (v,)), (X, Y, W)),
    (lambda w, x, y: torch.func.grad_and_value(loss)(w, x, y), (W, X, CLASSES)),
    (lambda w, x, y: torch.vmap(torch.func.grad(loss), (None, 0, 0))(w, x, y), (W, X, CLASSES)),
    (derivative_of_derivative, (X[0],)),
    (jacobian_and_more, (X, W)),
    (lambda w, x: torch.func.grad(lambda v: F.layer_norm(F.gelu(x @ v), (5,)).exp().mean())(w) * 2.0, (W, X)),
]


def compiled(function, inputs, change):
    """What a function returns whose graph was changed before it ran, and the graph."""
    found = []

    def backend(module, _):
        change(module.graph)
        module.recompile()
        found.append(module.graph)
        return module.forward

    torch.compiler.reset()
    with torch.no_grad():
        return torch.compile(function, backend=backend)(*inputs), found[0]


@pytest.mark.parametrize(("function", "inputs"), TRANSFORMS)
def test_the_operators_in_place_of_a_transform_compute_the_same(function, inputs):
    made, graph = compiled(function, inputs, expand_transforms)

    assert not [n for n in graph.nodes if "nesting" in called_name(n) or "grad" in called_name(n)]
    torch.testing.assert_close(made, function(*inputs))


@pytest.mark.parametrize(("function", "inputs"), TRANSFORMS)
def test_regions_contain_what_a_transform_runs(function, inputs):
    cuts = []

    def change(graph):
        expand_transforms(graph)
        cuts.append(partition(graph, target("h100"), {}, lambda region: ""))

    compiled(function, inputs, change)

    assert cuts[0].covered


def test_a_transform_that_needs_numbers_is_refused_and_leaves_none_begun():
    reasons = []

    def change(graph):
        (product,) = (n for n in graph.nodes if called_name(n) == "mul")
        product.target = lambda a, b: a * float(b.sum())
        reasons.append(expand_transforms(graph))
        product.target = torch.mul

    depth = torch._C._functorch.get_dynamic_layer_stack_depth()
    compiled(lambda x, y: torch.vmap(lambda a, b: torch.mul(a, b))(x, y), (X, Y), change)

    assert "cannot be written as operators" in reasons[0]
    assert depth == torch._C._functorch.get_dynamic_layer_stack_depth()


def test_a_transform_under_autocast_is_refused():
    def function(x, w):
        with torch.autocast("cpu", torch.bfloat16):
            return torch.vmap(lambda row: row @ w)(x)

    reasons = []
    compiled(function, (X, W), lambda graph: reasons.append(expand_transforms(graph)))

    assert "autocast" in reasons[0]
