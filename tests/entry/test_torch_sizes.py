"""Symbolic sizes of a region: its symbols, and the numbers that follow from them."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.fx.experimental.symbolic_shapes import ShapeEnv

import prism_explore as px
from prism_explore.entry.torch_sizes import OpenSizes
from prism_explore.frontend import trace
from prism_explore.ir.dims import dim
from prism_explore.ir.tensors import TensorType


def symbolic(*hints):
    """Symbolic integers with these values."""
    env = ShapeEnv()
    found = []
    for n, hint in enumerate(hints):
        source = torch._dynamo.source.ConstantSource(f"x{n}")
        expression = env.create_symbol(
            hint, source, dynamic_dim=torch.fx.experimental.symbolic_shapes.DimDynamic.DYNAMIC
        )
        found.append(env.create_symintnode(expression, hint=hint, source=source))
    return found


def applied(function, *args):
    return function(*args)


def test_each_expression_is_one_symbol():
    b, s = symbolic(5, 7)
    sizes = OpenSizes.of([(b, s, 64), (64, s), (b * s, s)])

    assert {"n0": 5, "n1": 7, "n2": 35} == sizes.at
    assert {"n0": (0, 0), "n1": (0, 1), "n2": (2, 0)} == sizes.places
    assert (dim("n2"), dim(64), dim("n1")) == sizes.dims((b * s, 64, s))
    assert "n0=5, n1=7, n2=35" == str(sizes)
    assert not OpenSizes.of([(3, 4)])


@settings(max_examples=30, deadline=None)
@given(b=st.integers(2, 9), s=st.integers(10, 20), c=st.integers(-3, 9))
def test_a_number_is_computed_from_sizes_where_it_is_a_polynomial_of_them(b, s, c):
    first, second = symbolic(5, 7)
    sizes = OpenSizes.of([(first, 64), (second,)])
    for formula in (lambda x, y: x * y, lambda x, y: x + c, lambda x, y: 2 * x * x + c * y - x * y, lambda x, y: x):
        computed = sizes.computed(formula(first, second), {"n0": b, "n1": s}.__getitem__, applied)
        assert formula(b, s) == computed


def test_sizes_that_are_linear_in_one_term_are_those_of_one_symbol():
    past, b = symbolic(5, 7)
    sizes = OpenSizes.of([(b, 1 + past), (past, b * past), (2 * past + 3, b + 2)])

    assert {"n0": 7, "n2": 5, "n3": 35} == sizes.at
    assert {"n0": (0, 0), "n2": (1, 0), "n3": (1, 1)} == sizes.places
    assert tuple(map(dim, ("n2 + 1", "n2", "n3", "2*n2 + 3", "n0 + 2"))) == sizes.dims(
        (1 + past, past, b * past, 2 * past + 3, b + 2)
    )
    at = {"n0": 4, "n2": 9, "n3": 36}.__getitem__
    assert [10, 9, 22, 8] == [sizes.computed(n, at, applied) for n in (1 + past, past, 2 * past + 4, 2 * b)]

    alone = OpenSizes.of([(past + 1, past + 4)])
    assert (dim("n0"), dim("n0 + 3")) == alone.dims((past + 1, past + 4))
    assert 6 == alone.computed(past, {"n0": 7}.__getitem__, applied)
    assert (dim("n0"), dim("n1")) == OpenSizes.of([(past + 3, 2 * past)]).dims((past + 3, 2 * past))


def test_sizes_that_are_equal_in_the_first_call_can_be_one_symbol():
    keys, values, other = symbolic(5, 5, 7)
    shapes = [(1 + keys, other), (1 + values, 8)]
    apart, merged = (OpenSizes.of(shapes, are_merged) for are_merged in (False, True))

    assert {"n0": 6, "n1": 7, "n2": 6} == apart.at
    assert {"n0": 6, "n1": 7} == merged.at
    assert (dim("n0"), dim(8)) == merged.dims(shapes[1]) != apart.dims(shapes[1])


def test_a_region_with_a_size_and_its_successor_is_traced_for_all_sizes():
    def attended(q, k, new, mask):
        return torch.softmax(q @ torch.cat((k, new), 0).T + mask, -1)

    types = {"q": px.T("n", 8), "k": px.T("n", 8), "new": px.T(1, 8), "mask": TensorType((dim("n"), dim("n + 1")))}
    program = trace(attended, types).program

    assert (dim("n"), dim("n + 1")) == program.graph.output_types[0].dims
    with pytest.raises(px.ShapeError, match="linear in one symbol"):
        trace(attended, {**types, "mask": TensorType((dim("n"), dim("m*n")))})


def test_other_numbers_are_not():
    first, second, third = symbolic(5, 7, 11)
    sizes = OpenSizes.of([(first, second)])

    assert sizes.computed(third, dim, applied) is None
    assert sizes.computed(first // 2, dim, applied) is None
    assert sizes.computed(first * third, dim, applied) is None
    assert dim("n0") + 1 == sizes.computed(first + 1, dim, lambda function, a, b: function(dim(a), b))
