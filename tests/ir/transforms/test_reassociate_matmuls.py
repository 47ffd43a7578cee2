"""Products of matrices, and scales of what they multiply, where they make the least work."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism_explore.ir.dims import dim
from prism_explore.ir.interpreter.reference import evaluate
from prism_explore.ir.ops import Binary, MatMul
from prism_explore.ir.program import ProgramBuilder, TensorProgram
from prism_explore.ir.text import parse_program, show
from prism_explore.ir.transforms.reassociate_matmuls import reassociate_matmuls
from tests.strategies import random_inputs


def low_rank(rows: int = 2, keys: int = 64, rank: int = 8, width: int = 8) -> TensorProgram:
    """q (c u)ᵀ: products of queries with keys that are made of a low-rank cache."""
    b = ProgramBuilder("low_rank")
    q, c, u = b.input("q", "b", rows, width), b.input("c", "b", keys, rank), b.input("u", rank, width)
    return b.build(b.matmul(q, b.permute(b.matmul(c, u), 0, 2, 1)))


def cheaper(small, large) -> bool:
    return all(small.value({"b": n}) <= large.value({"b": n}) for n in (1, 2, 7))


def work(program: TensorProgram) -> int:
    """Multiplications of products, and elements that scales meet."""
    types = program.graph.types()
    total = dim(0)
    for p, node in enumerate(program.graph.nodes):
        if isinstance(node.op, MatMul | Binary):
            volume = types[node.args[0]].dims[-1] if isinstance(node.op, MatMul) else dim(1)
            for d in types[p].dims:
                volume = volume * d
            total = total + volume
    return total.value({"b": 3})


def agree(one: TensorProgram, other: TensorProgram) -> None:
    inputs = random_inputs(one.graph, {"b": 3})
    np.testing.assert_allclose(evaluate(one, inputs), evaluate(other, inputs), rtol=1e-9)


@pytest.mark.parametrize(("rows", "keys"), [(2, 64), (64, 64), (64, 2)])
def test_products_are_grouped_in_the_cheaper_order_and_compute_the_same(rows, keys):
    program = low_rank(rows, keys)
    made = reassociate_matmuls(program, cheaper)

    assert work(made) <= work(program)
    assert (work(made) < work(program)) == (rows == 2)
    agree(program, made)


def test_what_was_regrouped_once_is_not_regrouped_again():
    made = reassociate_matmuls(low_rank(), cheaper)

    assert made is not low_rank()
    assert made == reassociate_matmuls(made, cheaper)
    assert reassociate_matmuls(low_rank(64, 64), cheaper).graph == low_rank(64, 64).graph


# ---------------------------------------------------------------- scales
KEYS = """program keys
  q = input f32[b, 2, 6]
  k = input f32[b, 6, 64]
  n = input f32[b, 1, 64]
  g = input f32[6]
  %4 = div(k, n)
  %5 = reshape(g, dims=[6, 1])
  %6 = mul(%4, %5)
  %7 = matmul(q, %6)
  return %7"""

WEIGHTS = """program weights
  e = input f32[b, 2, 64]
  l = input f32[b, 2, 1]
  v = input f32[b, 64, 6]
  %3 = div(e, l)
  %4 = matmul(%3, v)
  return %4"""


def test_norms_of_keys_meet_the_scores_and_their_weights_the_queries():
    program = parse_program(KEYS)
    made = reassociate_matmuls(program, cheaper)

    assert """  %4 = mul(q, g)
  %5 = matmul(%4, k)
  %6 = div(%5, n)
  return %6""" in show(made)
    agree(program, made)


def test_the_sum_of_weights_meets_the_result():
    program = parse_program(WEIGHTS)
    made = reassociate_matmuls(program, cheaper)

    assert """  %3 = matmul(e, v)
  %4 = div(%3, l)
  return %4""" in show(made)
    agree(program, made)


@pytest.mark.parametrize(
    "text",
    [
        WEIGHTS.replace("64", "4"),
        WEIGHTS.replace("l = input f32[b, 2, 1]", "l = input f32[b, 2, 64]"),
        WEIGHTS.replace("l = input f32[b, 2, 1]", "l = input f32[b, 1, 64]"),
        WEIGHTS.replace("return %4", "%5 = sum(%3, dim=2)\n  %6 = add(%4, %5)\n  return %6"),
        WEIGHTS.replace("div(e, l)", "sub(e, l)"),
        WEIGHTS.replace("div(e, l)", "div(l, e)"),
    ],
    ids=["no fewer", "of each element", "of each batch", "used besides", "no scale", "over"],
)
def test_what_saves_nothing_or_is_no_scale_stays(text):
    program = parse_program(text)

    assert reassociate_matmuls(program, cheaper) is program


@st.composite
def scaled(draw):
    """A product of two matrices, both scaled by tensors that are repeated along some dims."""
    b = ProgramBuilder("scaled")
    rows, inner, columns = draw(st.permutations((2, 3, 16)))
    sides: list[int] = []
    for name, shape in (("x", ("b", rows, inner)), ("w", ("b", inner, columns))):
        side = b.input(name, *shape)
        for n in range(draw(st.integers(0, 2))):
            own = [d if draw(st.booleans()) else 1 for d in shape][draw(st.integers(0, 2)) :]
            scale = b.unary("exp", b.input(f"{name}{n}", *own))
            pair = (side, scale) if draw(st.booleans()) or len(own) < 3 else (scale, side)
            fn = "mul" if pair[0] == scale else draw(st.sampled_from(("mul", "div")))
            side = b.binary(fn, *pair)
        sides.append(side)
    return b.build(b.matmul(*sides))


@settings(max_examples=100)
@given(scaled())
def test_scaled_products_compute_the_same_with_no_more_work(program):
    made = reassociate_matmuls(program, cheaper)

    assert work(made) <= work(program)
    agree(program, made)
