"""Views move to a program's inputs, and the program computes what it did."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism_explore.ir.dims import dim
from prism_explore.ir.interpreter.reference import evaluate
from prism_explore.ir.ops import Permute, Reduce, Reshape, ViewOp
from prism_explore.ir.program import ProgramBuilder
from prism_explore.ir.text import parse_program
from prism_explore.ir.transforms.boundary_views import split_boundary_views
from prism_explore.ir.transforms.hoist_views import hoist_views
from tests.strategies import random_inputs

NORMALISED = parse_program("""program normalised
  q = input f32[b, 8, 1, 6]
  k = input f32[b, 2, 5, 6]
  g = input f32[6]
  %3 = square(k)
  %4 = mean(%3, dim=3)
  %5 = sqrt(%4)
  %6 = div(k, %5)
  %7 = mul(%6, g)
  %8 = permute(%7, order=[0, 1, 3, 2])
  %9 = exp(q)
  %10 = reshape(%9, dims=[b, 2, 4, 6])
  %11 = matmul(%10, %8)
  return %11""")

USED_TWICE = parse_program("""program used_twice
  x = input f32[b, 6]
  %1 = exp(x)
  %2 = permute(%1, order=[1, 0])
  %3 = matmul(%1, %2)
  return %3""")

SQUARE = parse_program("""program square
  x = input f32[6, 6]
  y = input f32[6, 6]
  %2 = exp(x)
  %3 = permute(%2, order=[1, 0])
  %4 = mul(%3, y)
  return %4""")

REDUCED = parse_program("""program reduced
  x = input f32[b, 4, 6]
  y = input f32[b, 6]
  %2 = sum(x, dim=1)
  %3 = permute(%2, order=[1, 0, 2])
  %4 = exp(y)
  %5 = mul(%3, %4)
  return %5""")

VIEWED_LATER_TOO = parse_program("""program viewed_later_too
  x = input f32[b, 8, 8]
  y = input f32[b, 8, 8]
  %2 = mul(x, y)
  %3 = reshape(%2, dims=[b, 64])
  %4 = sum(%3, dim=1)
  %5 = reshape(x, dims=[b, 64])
  %6 = sum(%5, dim=1)
  %7 = div(%4, %6)
  return %7""")

REGROUPED_AND_REDUCED = parse_program("""program regrouped_and_reduced
  x = input f32[b, 4, 6]
  y = input f32[b, 24]
  %2 = max(x, dim=1)
  %3 = sub(x, %2)
  %4 = reshape(%3, dims=[b, 24])
  %5 = mul(%4, y)
  return %5""")

BEHIND_A_PRODUCT = parse_program("""program behind_a_product
  x = input f32[b, 6]
  w = input f32[6, 8]
  y = input f32[4, 2, b]
  %3 = matmul(x, w)
  %4 = reshape(%3, dims=[b, 2, 4])
  %5 = permute(%4, order=[2, 1, 0])
  %6 = mul(%5, y)
  return %6""")

LIFTED = [NORMALISED, SQUARE, REDUCED, VIEWED_LATER_TOO]
LEFT = [USED_TWICE, REGROUPED_AND_REDUCED, BEHIND_A_PRODUCT]


def inside(program) -> list[ViewOp]:
    peeled = split_boundary_views(program.graph)
    ops = [program.graph.nodes[p].op for p in peeled.core]
    return [op for op in ops if isinstance(op, ViewOp)]


def operators(program) -> int:
    return len(split_boundary_views(program.graph).core) - len(inside(program))


def agree(one, other, b: int) -> None:
    inputs = random_inputs(one.graph, {"b": b})
    np.testing.assert_allclose(evaluate(one, inputs), evaluate(other, inputs), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("program", LIFTED, ids=lambda p: p.name)
def test_views_that_can_are_at_the_inputs(program):
    made = hoist_views(program)

    assert inside(program)
    assert not inside(made)
    assert operators(program) == operators(made)
    agree(program, made, 3)


@pytest.mark.parametrize("program", LEFT, ids=lambda p: p.name)
def test_others_are_left_where_they_are(program):
    assert hoist_views(program) is program


def test_normalised_keys_are_normalised_along_the_other_dim():
    made = hoist_views(NORMALISED)
    ops = [n.op for n in made.graph.nodes]

    assert Reduce("mean", 2) in ops
    assert Reduce("mean", 3) not in ops
    assert Reshape((dim(6), dim(1))) in ops
    assert ["k", "g", "q"] == [
        made.inputs[n].name for n in (1, 2, 0) if split_boundary_views(made.graph).viewed_inputs[n].views
    ]


def test_a_transposed_square_stays_transposed():
    """Its dims look as before; what is in it does not."""
    made = hoist_views(SQUARE)

    assert Permute((1, 0)) in [n.op for n in made.graph.nodes]
    agree(SQUARE, made, 1)


def test_lines_of_the_user_s_code_go_with_what_was_made_of_them():
    b = ProgramBuilder("lines")
    x, y = b.input("x", "b", 6), b.input("y", 6, "b")
    e = b.unary("exp", x, line="e = x.exp()")
    t = b.permute(e, 1, 0, line="t = e.T")
    made = hoist_views(b.build(b.binary("mul", t, y, line="t * y")))

    ops = {type(n.op).__name__: line for n, line in zip(made.graph.nodes, made.lines, strict=True) if n.args}
    assert {"Unary": "e = x.exp()", "Binary": "t * y"}.items() <= ops.items()


# ---------------------------------------------------------------- arbitrary programs
WHOLE = (dim("b"), dim(4), dim(6))
VIEWS = (
    *map(Permute, ((0, 2, 1), (1, 0, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1))),
    Reshape((dim("b"), dim(24))),
    Reshape((dim("b"), dim(2), dim(2), dim(6))),
    Reshape((dim("b"), dim(4), dim(3), dim(2))),
    Reshape((dim("b"), dim(1), dim(4), dim(6))),
    Reshape((dim("b"), dim(6), dim(4))),
    Reshape((dim("b") * 4, dim(6))),
)


@st.composite
def viewed(draw):
    """Elementwise operators and reductions of a tensor and of what is repeated to it, and a view of what they give."""
    b = ProgramBuilder("viewed")
    pool = [b.input("x", *WHOLE)]
    for n in range(draw(st.integers(0, 2))):
        dims = [d if draw(st.booleans()) else dim(1) for d in WHOLE][draw(st.integers(0, 2)) :]
        pool.append(b.input(f"y{n}", *dims))
    value, inputs = pool[0], len(pool)
    for _ in range(draw(st.integers(1, 5))):
        kind = draw(st.sampled_from(("unary", "scalar", "binary", "reduced")))
        if kind == "unary":
            value = b.unary(draw(st.sampled_from(("square", "neg", "tanh"))), value)
        elif kind == "scalar":
            value = b.scalar("add", value, 2)
        else:
            other = draw(st.sampled_from(pool))
            if kind == "reduced" and b.type_of(other).rank == 3:
                fn = draw(st.sampled_from(("sum", "mean", "rms", "max")))
                other = b.reduce(fn, other, draw(st.integers(0, 2)))
            value = b.binary(draw(st.sampled_from(("add", "sub", "mul"))), value, other)
        pool.append(value)
    for given_too in range(1, inputs):
        value = b.binary("add", value, given_too)
    view = b.add(draw(st.sampled_from(VIEWS)), value)
    other = b.input("z", *b.type_of(view).dims)
    return b.build(b.binary("mul", view, b.unary("tanh", other)))


@settings(max_examples=150)
@given(viewed())
def test_the_result_is_the_same(program):
    made = hoist_views(program)

    for b in (3, 4):
        agree(program, made, b)
    assert len(inside(made)) <= len(inside(program))
    assert operators(made) <= operators(program)
    assert hoist_views(made) is made
