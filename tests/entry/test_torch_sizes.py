"""Symbolic sizes of a region: its symbols, and the numbers that follow from them."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from prism_explore.entry.torch_sizes import OpenSizes
from prism_explore.ir.dims import dim


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


def test_other_numbers_are_not():
    first, second, third = symbolic(5, 7, 11)
    sizes = OpenSizes.of([(first, second)])

    assert sizes.computed(third, dim, applied) is None
    assert sizes.computed(first // 2, dim, applied) is None
    assert sizes.computed(first * third, dim, applied) is None
    assert dim("n0") + 1 == sizes.computed(first + 1, dim, lambda function, a, b: function(dim(a), b))
