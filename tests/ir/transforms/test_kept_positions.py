"""Masks of the positions that maxima read: the same results where all is kept, and those of fewer keys otherwise."""

import numpy as np
import pytest

from prism_explore.ir.interpreter.reference import run
from prism_explore.ir.text import parse, show
from prism_explore.ir.transforms.kept_positions import with_kept_positions

SCORES = """
  %3 = matmul(q, k)
  %4 = max(%3, dim=1)
  %5 = sub(%3, %4)
  %6 = exp(%5)
  %7 = sum(%6, dim=1)
  %8 = div(%6, %7)
  %9 = matmul(%8, v)
  return %9"""
WHOLE_ROWS = """
  %3 = custom(q, k, v) grid[x=gx]
    %0 = load(0, imap=[0])
    %1 = load(1, imap=[-])
    %2 = load(2, imap=[-])
    %3 = matmul(%0, %1)
    %4 = max(%3, dim=1)
    %5 = sub(%3, %4)
    %6 = exp(%5)
    %7 = sum(%6, dim=1)
    %8 = div(%6, %7)
    %9 = matmul(%8, %2)
    %10 = store(%9, omap=[0])
  return %3"""
ONLINE = """
  %3 = custom(q, k, v) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[0])
    %1 = load(1, imap=[-], fmap=1)
    %2 = load(2, imap=[-], fmap=0)
    %3 = matmul(%0, %1)
    %4 = running_max(%3, dim=1)
    %5 = sub(%3, %4)
    %6 = exp(%5)
    %7 = matmul(%6, %2)
    %8 = accum_rescaled(%7, %4)
    %9 = accum_rescaled(%6, %4, dim=1)
    %10 = div(%8, %9)
    %11 = store(%10, omap=[0])
  return %3"""
INPUTS = "sgraph\n  q = input f32[m, 4]\n  k = input f32[4, n]\n  v = input f32[n, 5]"


@pytest.mark.parametrize("body", [SCORES, WHOLE_ROWS, ONLINE], ids=["program", "whole rows", "loop over keys"])
def test_results_are_those_of_the_kept_keys(body):
    graph = parse(INPUTS + body)
    masked = with_kept_positions(graph, "n")
    assert masked is not None
    assert "keep = input bool[n]" in show(masked)

    rng = np.random.default_rng(0)
    q, k, v = 3 * rng.normal(size=(6, 4)), rng.normal(size=(4, 8)), rng.normal(size=(8, 5))
    sizes = {"m": 6, "n": 8, "gx": 3, "f": 4}

    def result(g, n, **more):
        return run(g, {"q": q, "k": k[:, :n], "v": v[:n], **more}, {**sizes, "n": n})[g.output]

    everything = np.ones(8, dtype=bool)
    np.testing.assert_allclose(result(masked, 8, keep=everything), result(graph, 8), rtol=1e-12)
    for n in (8, 4) if body is ONLINE else (7, 5, 1):
        kept = result(masked, 8, keep=np.arange(8) < n)
        np.testing.assert_allclose(kept, result(graph, n), rtol=1e-12)
        assert n == 8 or not np.allclose(kept, result(graph, 8))


@pytest.mark.parametrize(
    ("symbol", "body"),
    [
        ("m", SCORES),
        ("n", "\n  %3 = matmul(q, k)\n  %4 = sum(%3, dim=1)\n  return %4"),
        ("n", "\n  %3 = max(k, dim=0)\n  return %3"),
        ("absent", SCORES),
    ],
)
def test_only_maxima_over_the_last_dim_are_masked(symbol, body):
    assert with_kept_positions(parse(INPUTS + body), symbol) is None


def test_a_name_that_is_taken_is_not_given_to_the_mask():
    graph = parse("sgraph\n  keep = input f32[m, n]\n  %1 = max(keep, dim=1)\n  return %1")
    masked = with_kept_positions(graph, "n")
    assert masked is not None
    assert ["keep", "keep_"] == [i.name for i in masked.inputs]
