from fractions import Fraction

import numpy as np
import pytest

from prism_explore.errors import ShapeError
from prism_explore.ir.interpreter.reference import evaluate
from prism_explore.ir.text import parse
from tests.strategies import R1, r1_example, random_inputs, rmsnorm_linear

MATMUL = """sgraph
  x = input f32[b, 12]
  w = input f32[12, 8]
  %2 = custom(x, w) grid[x=gx, y=gy] loop[i=f]
    %0 = load(0, imap=[0, -], fmap=1)
    %1 = load(1, imap=[-, 1], fmap=0)
    %2 = matmul(%0, %1)
    %3 = accum(%2)
    %4 = store(%3, omap=[0, 1])
  return %2"""


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("gx", [1, 2, 9, 36])
@pytest.mark.parametrize("f", [1, 3, 24])
def test_the_fused_rmsnorm_equals_the_program_at_every_size(gx, f):
    example = r1_example()
    inputs = random_inputs(example.sgraph, {"b": 5})

    close(evaluate(example.program, inputs), evaluate(example.sgraph, inputs, {"gx": gx, "f": f}))


def test_a_matmul_on_a_grid_of_two_dims_equals_numpy_exactly_in_rationals():
    rng = np.random.default_rng(0)
    fractions = np.vectorize(lambda n: Fraction(int(n), 7))
    x, w = fractions(rng.integers(-9, 9, (6, 12))), fractions(rng.integers(-9, 9, (12, 8)))

    found = evaluate(parse(MATMUL), {"x": x, "w": w}, {"gx": 3, "gy": 2, "f": 4})

    assert (x @ w == found).all()


def test_a_loop_that_accumulates_an_invariant_tile_multiplies_it():
    text = MATMUL.replace(", fmap=1", "").replace(", fmap=0", "")
    inputs = random_inputs(parse(text), {"b": 6})

    close(4 * inputs["x"] @ inputs["w"], evaluate(parse(text), inputs, {"gx": 3, "gy": 2, "f": 4}))


def test_blocks_that_write_different_values_to_one_place_give_nan():
    text = MATMUL.replace("omap=[0, 1]", "omap=[-, 1]")
    inputs = random_inputs(parse(text), {"b": 6})

    found = evaluate(parse(text).substitute({"b": 6}), inputs, {"gx": 3, "gy": 2, "f": 4})

    assert np.isnan(found).all()


def test_a_tile_that_is_not_whole_is_named():
    example = r1_example()
    inputs = random_inputs(example.sgraph, {"b": 5})

    with pytest.raises(ShapeError, match="size 36/gx is 36/5"):
        evaluate(example.sgraph, inputs, {"gx": 5, "f": 2})


def test_a_missing_input_and_a_wrong_shape_are_named():
    program = rmsnorm_linear()
    inputs = random_inputs(program.graph, {"b": 5})

    with pytest.raises(ShapeError, match="input 'w' is missing"):
        evaluate(program, {"x": inputs["x"], "g": inputs["g"]})
    with pytest.raises(ShapeError, match=r"input 'g' is f32\[24\], here \(24,\); found \(23,\)"):
        evaluate(program, {**inputs, "g": inputs["g"][1:]})


def test_an_open_sgraph_has_no_meaning_yet():
    text = R1.replace("omap=[1]", "omap=?")

    with pytest.raises(ShapeError, match="still open"):
        evaluate(parse(text), random_inputs(parse(text), {"b": 2}), {"gx": 2, "f": 2})


def test_a_graph_without_inputs_is_computed_in_float64():
    graph = parse("sgraph\n  %0 = band(rows=2, columns=3, high=0, dtype=f32)\n  %1 = mul_scalar(%0, 2)\n  return %1\n")

    found = evaluate(graph, {})

    assert found.dtype == np.float64
    assert [[2, 0, 0], [2, 2, 0]] == found.tolist()
