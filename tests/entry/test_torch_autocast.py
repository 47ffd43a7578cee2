"""The casts of autocast as operators of the graph: the same bits, and nothing that autocast would still cast."""

from contextlib import nullcontext

import pytest
import torch
import torch.nn.functional as F

from prism_explore.entry.torch_autocast import has_named_casts, name_casts
from prism_explore.entry.torch_nodes import CALLS, called_name, value_of

X, W = torch.linspace(-1, 1, 24).reshape(4, 6), torch.linspace(0, 3, 36).reshape(6, 6).sin()
B = torch.linspace(-2, 2, 6)


def under(dtype=torch.bfloat16, enabled=True):
    return torch.autocast("cpu", dtype=dtype, enabled=enabled)


def named(function, outside=False):
    """The nodes of the graph after `name_casts`; it is run without autocast where all casts are in it."""
    graphs = []

    def backend(module, _):
        name_casts(module.graph)
        module.graph.lint()
        module.recompile()
        graphs.append(module.graph)
        return module.forward

    def run(code):
        with torch.no_grad(), under() if outside else nullcontext():
            return code(X, W, B)

    torch.compiler.reset()
    wanted, found = run(function), run(torch.compile(function, backend=backend, dynamic=False))
    torch.testing.assert_close(wanted, found, rtol=0, atol=0)
    return [n for n in graphs[0].nodes if n.op in CALLS and "autocast" not in called_name(n)]


def linear(x, w, b):
    with under():
        return F.gelu(F.linear(x, w, b)) + x


def three_products(x, w, b):
    with under():
        return F.linear(x, w) + F.linear(x, w, b) + x @ w


def loss(x, w, b):
    with under():
        return F.mse_loss((x @ w), x)


def attention(x, w, b):
    with under():
        q, k, v = F.linear(x, w, b).split(2, 1)
        return F.scaled_dot_product_attention(q[None, None], k[None, None], v[None, None])


def promoted(x, w, b):
    with under():
        return torch.cat((x @ w, x), 1)


@pytest.mark.parametrize("function", [linear, three_products, loss, attention, promoted])
@pytest.mark.parametrize("outside", [False, True])
def test_casts_are_in_the_graph_once(function, outside):
    nodes = named(function, outside)

    assert [] == [n for n in nodes if not has_named_casts(n)]
    casts = [(n.args[0], n.args[1]) for n in nodes if called_name(n) == "to"]
    assert casts
    assert len(set(casts)) == len(casts)
    assert all(
        value_of(i).dtype == torch.bfloat16 for n in nodes if called_name(n) in ("linear", "matmul") for i in n.args
    )


def test_where_autocast_is_off_nothing_is_cast():
    def function(x, w, b):
        with under():
            y = x @ w
            with under(enabled=False):
                return y.float() @ w.mT

    first, _, second = (n for n in named(function) if called_name(n) in ("matmul", "float"))
    assert has_named_casts(first)
    assert not has_named_casts(second)
    assert torch.float32 == value_of(second).dtype


def test_what_is_written_after_a_cast_is_cast_again():
    def function(x, w, b):
        with under():
            made = x.exp()
            y = made @ w
            made.mul_(2.0)
            return y + made @ w

    assert 4 == len([n for n in named(function) if called_name(n) == "to"])


def test_a_function_that_casts_between_its_steps_is_left_as_it_is():
    layer = torch.nn.MultiheadAttention(6, 2).eval()

    def function(x, w, b):
        with under():
            return layer(x[None], x[None], x[None])[0] + x

    nodes = named(function)
    (whole,) = (n for n in nodes if called_name(n) == "multi_head_attention_forward")
    assert not has_named_casts(whole)
    assert has_named_casts(nodes[-1])
