"""Lookups move to a program's inputs, and the program computes what it did."""

import numpy as np
import pytest

from prism_explore.ir.interpreter.reference import evaluate
from prism_explore.ir.ops import Lookup
from prism_explore.ir.text import parse_program, show
from prism_explore.ir.transforms.boundary_views import split_boundary_views
from prism_explore.ir.transforms.duplicate_inputs import duplicate_inputs
from prism_explore.ir.transforms.hoist_lookups import hoist_lookups, is_given

INPUTS = """program looked_up
  x = input f32[b, 4, 6]
  w = input f32[6, 4]
  g = input f32[4, 1]
  i = input i64[b]
  v = input f32[b, 6, 5]
  j = input i64[b, 4]
  k = input i64[2, 3]
  m = input i64[b, 4, 2]
"""
HOISTED = {
    "softmax of rows": "%8 = exp(x)|%9 = sum(%8, dim=2)|%10 = div(%8, %9)|%11 = lookup(%10, k, dim=1)",
    "an element per row": (
        "%8 = sum(x, dim=2)|%9 = reshape(%8, dims=[b, 4])|%10 = exp(%9)|%11 = sum(%10, dim=1)|%12 = log(%11)|"
        "%13 = sub(%9, %12)|%14 = lookup(%13, i, dim=1, batch=1)"
    ),
    "a dim that only one operand has": "%8 = add(x, g)|%9 = exp(%8)|%10 = lookup(%9, k, dim=2)",
    "rows and columns of a product": (
        "%8 = matmul(x, w)|%9 = exp(%8)|%10 = lookup(%9, i, dim=2)|%11 = lookup(%10, i, dim=1)"
    ),
    "an element per row of a product": "%8 = matmul(x, w)|%9 = exp(%8)|%10 = lookup(%9, j, dim=2, batch=2)",
    "an element per row of products": "%8 = matmul(x, v)|%9 = neg(%8)|%10 = lookup(%9, j, dim=2, batch=2)",
    "permuted": "%8 = exp(x)|%9 = permute(%8, order=[2, 0, 1])|%10 = neg(%9)|%11 = lookup(%10, k, dim=0)",
    "permuted, one position per row": (
        "%8 = exp(x)|%9 = permute(%8, order=[0, 2, 1])|%10 = lookup(%9, i, dim=1, batch=1)"
    ),
    "reshaped before the dim": "%8 = exp(x)|%9 = reshape(%8, dims=[1, b, 2, 2, 6])|%10 = lookup(%9, k, dim=4)",
    "reshaped behind the dim": "%8 = exp(x)|%9 = reshape(%8, dims=[b, 24])|%10 = lookup(%9, i, dim=0)",
    "a repeated dim": (
        "%8 = sum(x, dim=1)|%9 = exp(%8)|%10 = expand(%9, dim=1, size=4)|%11 = mul(%10, x)|%12 = lookup(%11, k, dim=1)"
    ),
    "only a repeated dim": "%8 = sum(x, dim=1)|%9 = expand(%8, dim=1, size=4)|%10 = lookup(%9, k, dim=1)",
    "parts": (
        "%8 = exp(x)|%9 = slice(%8, dim=2, start=1, stop=4)|%10 = concat(%9, %8, dim=2)|%11 = lookup(%10, k, dim=1)"
    ),
    "running sums": "%8 = exp(x)|%9 = cumsum(%8, dim=2)|%10 = lookup(%9, i, dim=1, batch=1)",
}
KEPT = {
    "running sums along the dim": "%8 = exp(x)|%9 = cumsum(%8, dim=1)|%10 = lookup(%9, k, dim=1)",
    "a part of the dim": "%8 = exp(x)|%9 = slice(%8, dim=1, start=0, stop=3)|%10 = lookup(%9, k, dim=1)",
    "a merged dim": "%8 = exp(x)|%9 = reshape(%8, dims=[b, 24])|%10 = lookup(%9, k, dim=1)",
    "several entries per row of products": "%8 = matmul(x, v)|%9 = lookup(%8, m, dim=2, batch=2)",
    "a product of shared rows": "%8 = matmul(x, w)|%9 = lookup(%8, i, dim=1, batch=1)",
}


def program_of(lines):
    last = lines.count("|") + 8
    return parse_program(INPUTS + "".join(f"  {line}\n" for line in lines.split("|")) + f"  return %{last}")


def inputs():
    draw = np.random.default_rng(3)
    floats = {n: draw.random(s) for n, s in {"x": (3, 4, 6), "w": (6, 4), "g": (4, 1), "v": (3, 6, 5)}.items()}
    return {
        **floats,
        "i": np.array([1, 0, 2]),
        "j": draw.integers(4, size=(3, 4)),
        "k": np.array([[0, 3, 1], [2, 2, 0]]),
        "m": draw.integers(4, size=(3, 4, 2)),
    }


@pytest.mark.parametrize("name", HOISTED)
def test_a_lookup_is_hoisted_to_the_inputs(name):
    program = program_of(HOISTED[name])

    hoisted = hoist_lookups(program)

    nodes = hoisted.graph.nodes
    assert all(is_given(nodes, n) for n, node in enumerate(nodes) if isinstance(node.op, Lookup)), show(hoisted)
    core = split_boundary_views(hoisted.graph).core
    assert not any(isinstance(nodes[n].op, Lookup) for n in core), show(hoisted)
    np.testing.assert_allclose(evaluate(hoisted, inputs()), evaluate(program, inputs()), rtol=1e-13)


@pytest.mark.parametrize("name", KEPT)
def test_a_lookup_stays_where_it_does_not_commute(name):
    program = program_of(KEPT[name])

    assert hoist_lookups(program) == program


def test_classes_that_a_permuted_tensor_has_last_are_looked_up_in_the_input():
    program = parse_program("""program of_images
  x = input f32[b, 6, 4]
  j = input i64[b, 4]
  %2 = sum(x, dim=1)
  %3 = sub(x, %2)
  %4 = permute(%3, order=[0, 2, 1])
  %5 = lookup(%4, j, dim=2, batch=2)
  return %5""")

    made = duplicate_inputs(program).program

    core = split_boundary_views(made.graph).core
    assert not any(isinstance(made.graph.nodes[n].op, Lookup) for n in core), show(made)
    given = {"x": np.random.default_rng(1).random((3, 6, 4)), "j": inputs()["j"]}
    np.testing.assert_allclose(evaluate(made, given), evaluate(program, given), rtol=1e-13)
