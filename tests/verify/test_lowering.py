"""Loads, accumulators and stores become arithmetic on indices; what has no meaning gets no form."""

from __future__ import annotations

import random

import pytest

from prism_explore.ir.text import parse
from prism_explore.verify.algebra import Algebra, Stuck
from prism_explore.verify.lowering import lower
from prism_explore.verify.normal_form import show
from tests.verify.corpus import R1_FULL, graph_of, numbered
from tests.verify.test_meaning import disagreement


def graph(text: str, inputs: str = "  x = input f32[b, 24]"):
    return parse(f"sgraph\n{inputs}\n{numbered(text)}")


def result(text: str) -> str:
    g = graph(text)
    return show(lower(g, Algebra()).values[g.output])


BLOCK_SUMS = """
  %1 = custom(x) grid[x=gx] loop[i=f]
    $x = load(0, imap=[1], fmap=1)
    $sum = accum_sum($x, dim=1)
    $out = store($sum, omap=[1])
  return %1
"""
"""One sum per block: where grid and loop cut one dim, the grid cuts first."""


def test_the_grid_cuts_before_the_loop():
    assert "Σ_{k1:24/gx} x[p0,(p1,k1)]" == result(BLOCK_SUMS)
    assert disagreement(graph(BLOCK_SUMS), random.Random(0)) < 1e-9


def test_a_tile_is_read_at_block_iteration_and_position():
    blocks = lower(graph_of("rms_full", R1_FULL), Algebra()).blocks[3]

    assert ["x[p0,(i,p1)]", "g[(i,p0)]", "w[(i,p0),(x,p1)]"] == [show(n) for n in blocks[:3]]
    assert "Σ_{k1:4096/f} g[(i,k1)] w[(i,k1),(x,p1)] x[p0,(i,k1)]" == show(blocks[4])
    assert "Σ_{k1:4096} g[k1] w[k1,(x,p1)] x[p0,k1]" == show(blocks[5])


def test_a_store_undoes_a_load():
    text = """
  %1 = custom(x) grid[x=gx, y=gy]
    $x = load(0, imap=[1, 0])
    $y = neg($x)
    $out = store($y, omap=[1, 0])
  return %1
"""

    assert "-x[p0,p1]" == result(text)


def test_blocks_stored_in_another_order_are_digits_of_the_position():
    text = """
  %1 = custom(x) grid[x=gx]
    $x = load(0, imap=[1])
    $sum = sum($x, dim=1)
    $all = add($x, $sum)
    $out = store($all, omap=[1])
  return %1
"""

    assert "x[p0,p1] + Σ_{k1:24/gx} x[p0,(p1<1|gx|24/gx>,k1)]" == result(text)
    assert disagreement(graph(text), random.Random(0)) < 1e-9


def test_a_replicated_value_counts_once_per_iteration():
    text = """
  %1 = custom(x) grid[] loop[i=f]
    $x = load(0, imap=[])
    $sum = accum($x)
    $out = store($sum, omap=[])
  return %1
"""

    assert "f x[p0,p1]" == result(text)


def test_a_mean_over_tiles_and_iterations_loses_every_symbol():
    text = """
  %1 = custom(x) grid[] loop[i=f]
    $x = load(0, imap=[], fmap=1)
    $mean = accum_mean($x, dim=1)
    $out = store($mean, omap=[])
  return %1
"""

    assert "1/24 Σ_{k1:24} x[p0,k1]" == result(text)


def test_blocks_that_would_write_different_values_to_one_place_have_no_form():
    with pytest.raises(Stuck, match="race: blocks along x would write different values to one place"):
        result(BLOCK_SUMS.replace("omap=[1]", "omap=[-]"))


def test_two_grid_dims_along_one_dim_of_the_result_have_no_form():
    text = """
  %1 = custom(x) grid[x=gx, y=gy]
    $x = load(0, imap=[0, 1])
    $sum = sum($x, dim=0)
    $out = store($sum, omap=[1, 1])
  return %1
"""

    with pytest.raises(Stuck, match="race: two grid dims store along one dim"):
        result(text)


def test_open_maps_have_no_form():
    with pytest.raises(Stuck, match="maps are still open"):
        result(BLOCK_SUMS.replace("omap=[1]", "omap=?"))


def test_dims_in_front_are_filled_with_ones():
    inputs = "  x = input f32[h, b, 24]\n  w = input f32[24, 8]\n  g = input f32[8]"
    g = graph("  %3 = matmul(x, w)\n  %4 = mul(%3, g)\n  return %4", inputs)

    assert "Σ_{k1:24} g[p2] w[k1,p2] x[p0,p1,k1]" == show(lower(g, Algebra()).values[g.output])
    assert disagreement(g, random.Random(0)) < 1e-9
