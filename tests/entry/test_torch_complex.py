"""Complex tensors within a graph become pairs of real ones, and the graph computes the same."""

import pytest
import torch

from prism_explore.entry.torch_complex import split_complex
from prism_explore.entry.torch_nodes import called_name, value_of

X, Y = torch.linspace(-1, 1, 24).reshape(4, 6), torch.linspace(0, 3, 24).reshape(4, 6)
TURNS = torch.polar(torch.ones(4, 3), torch.linspace(0, 2, 12).reshape(4, 3))


def pairs(x):
    return torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))


def rotated(x, y):
    """The first argument turned by the angles in half of the second one."""
    return torch.view_as_real(pairs(x) * torch.polar(torch.ones_like(y[:, :3]), y[:, :3])).flatten(1).type_as(x)


def rotated_by_constant(x, y):
    turned = 2 * pairs(x).conj() * TURNS.view(4, 3)
    return torch.view_as_real(turned).flatten(1) + y, torch.view_as_real(-turned[:, None])


def rotated_and_returned(x, y):
    turned = pairs(x) * pairs(y)
    return torch.view_as_real(turned), turned.real * turned.imag, turned


def rows_of_one(x, y):
    return torch.view_as_real(torch.linalg.inv(pairs(x)[:3] + TURNS[:3]) * pairs(y)[:3])


@pytest.mark.parametrize(
    ("code", "complex_left"),
    [
        (rotated, set()),
        (rotated_by_constant, {""}),
        (rotated_and_returned, {"view_as_complex", "mul"}),
        (rows_of_one, {"view_as_complex", "getitem", "add", "linalg_inv", ""}),
    ],
)
def test_a_graph_without_complex_tensors_computes_the_same(code, complex_left):
    found = []

    def backend(module, _):
        split_complex(module.graph)
        module.graph.lint()
        module.recompile()
        found.extend(n for n in module.graph.nodes if getattr(value_of(n), "is_complex", bool)())
        return module.forward

    torch.compiler.reset()
    torch.testing.assert_close(code(X, Y), torch.compile(code, backend=backend, dynamic=False)(X, Y))
    assert complex_left == {called_name(n) for n in found}
