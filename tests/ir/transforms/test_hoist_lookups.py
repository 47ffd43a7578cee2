"""Lookups move to a program's inputs, and the program computes what it did."""

import numpy as np
import pytest

from prism_explore.ir.interpreter.reference import evaluate
from prism_explore.ir.ops import Lookup
from prism_explore.ir.text import parse_program, show
from prism_explore.ir.transforms.boundary_views import split_boundary_views
from prism_explore.ir.transforms.hoist_lookups import hoist_lookups, is_given

INPUTS = """program looked_up
  x = input f32[b, 4, 6]
  w = input f32[6, 4]
  g = input f32[4, 1]
  i = input i64[b]
  k = input i64[2, 3]
"""
HOISTED = {
    "softmax of rows": "%5 = exp(x)|%6 = sum(%5, dim=2)|%7 = div(%5, %6)|%8 = lookup(%7, k, dim=1)",
    "an element per row": (
        "%5 = sum(x, dim=2)|%6 = reshape(%5, dims=[b, 4])|%7 = exp(%6)|%8 = sum(%7, dim=1)|%9 = log(%8)|"
        "%10 = sub(%6, %9)|%11 = lookup(%10, i, dim=1, batch=1)"
    ),
    "a dim that only one operand has": "%5 = add(x, g)|%6 = exp(%5)|%7 = lookup(%6, k, dim=2)",
    "rows and columns of a product": (
        "%5 = matmul(x, w)|%6 = exp(%5)|%7 = lookup(%6, i, dim=2)|%8 = lookup(%7, i, dim=1)"
    ),
    "permuted": "%5 = exp(x)|%6 = permute(%5, order=[2, 0, 1])|%7 = neg(%6)|%8 = lookup(%7, k, dim=0)",
    "permuted, one position per row": (
        "%5 = exp(x)|%6 = permute(%5, order=[0, 2, 1])|%7 = lookup(%6, i, dim=1, batch=1)"
    ),
    "reshaped before the dim": "%5 = exp(x)|%6 = reshape(%5, dims=[1, b, 2, 2, 6])|%7 = lookup(%6, k, dim=4)",
    "reshaped behind the dim": "%5 = exp(x)|%6 = reshape(%5, dims=[b, 24])|%7 = lookup(%6, i, dim=0)",
    "a repeated dim": (
        "%5 = sum(x, dim=1)|%6 = exp(%5)|%7 = expand(%6, dim=1, size=4)|%8 = mul(%7, x)|%9 = lookup(%8, k, dim=1)"
    ),
    "only a repeated dim": "%5 = sum(x, dim=1)|%6 = expand(%5, dim=1, size=4)|%7 = lookup(%6, k, dim=1)",
    "parts": "%5 = exp(x)|%6 = slice(%5, dim=2, start=1, stop=4)|%7 = concat(%6, %5, dim=2)|%8 = lookup(%7, k, dim=1)",
    "running sums": "%5 = exp(x)|%6 = cumsum(%5, dim=2)|%7 = lookup(%6, i, dim=1, batch=1)",
}
KEPT = {
    "running sums along the dim": "%5 = exp(x)|%6 = cumsum(%5, dim=1)|%7 = lookup(%6, k, dim=1)",
    "a part of the dim": "%5 = exp(x)|%6 = slice(%5, dim=1, start=0, stop=3)|%7 = lookup(%6, k, dim=1)",
    "a merged dim": "%5 = exp(x)|%6 = reshape(%5, dims=[b, 24])|%7 = lookup(%6, k, dim=1)",
    "a product of shared rows": "%5 = matmul(x, w)|%6 = lookup(%5, i, dim=1, batch=1)",
}


def program_of(lines):
    last = lines.count("|") + 5
    return parse_program(INPUTS + "".join(f"  {line}\n" for line in lines.split("|")) + f"  return %{last}")


def inputs():
    draw = np.random.default_rng(3)
    floats = {n: draw.random(s) for n, s in {"x": (3, 4, 6), "w": (6, 4), "g": (4, 1)}.items()}
    return {**floats, "i": np.array([1, 0, 2]), "k": np.array([[0, 3, 1], [2, 2, 0]])}


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
