"""Skipped iterations: exactly the completely masked ones, with the result of all iterations."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from prism_explore.codegen.cpu.loop_ir import RangeTest
from prism_explore.codegen.cpu.lower_graph import lower_graph
from prism_explore.ir.text import parse
from tests.codegen.corpus import filled, relative_error
from tests.codegen.cpu.test_loop_ir import run
from tests.codegen.wider import CAUSAL_FLASH

SUMMED = """sgraph
  x = input f32[m, s]
  %1 = band(rows=m, columns=s, low=-3, high=0, dtype=f32)
  %2 = custom(x, %1) grid[x=gy] loop[i=f]
    %0 = load(0, imap=[0], fmap=1)
    %1 = load(1, imap=[0], fmap=1)
    %2 = {}(%0, %1)
    %3 = accum(%2, dim=1)
    %4 = store(%3, omap=[0])
  return %2
"""


def admits(band: RangeTest | None, at: dict[str, int]) -> bool:
    if band is None:
        return True
    x = sum(f * at.get(v, 1) for v, f in band.index)
    return (band.low is None or band.low <= x) and (band.high is None or x <= band.high)


def shows(low: int, high: int, rows: range, columns: range) -> bool:
    return any(low <= c - r <= high for r, c in product(rows, columns))


NUMBERS = st.sampled_from((1, 2, 3, 4))


@settings(max_examples=40, deadline=None)
@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS, st.integers(-9, 3), st.integers(0, 9))
def test_an_iteration_runs_if_its_band_shows_something_and_the_result_stays(
    gy: int, tile: int, f: int, keys: int, low: int, width: int
) -> None:
    m, s, high = gy * tile, f * keys, low + width
    sizes = {"h": 2, "m": m, "d": 2, "s": s, "e": 3, "gy": gy, "f": f}
    text = CAUSAL_FLASH.replace("low=-1*s", f"low={_signed(low)}").replace("high=s-1*m", f"high={_signed(high)}")
    graph = parse(text)
    program = lower_graph(graph.substitute(sizes))
    (nest,) = program.nests
    every_row = all(shows(low, high, range(r, r + 1), range(s)) for r in range(m))

    if not every_row:
        assert nest.predicate is None
        return
    assert (nest.predicate is None) == (f == 1)
    for by, i in product(range(gy), range(f)):
        tiles = range(by * tile, (by + 1) * tile), range(i * keys, (i + 1) * keys)
        assert f == 1 or admits(nest.predicate, {"by": by, "i": i}) == shows(low, high, *tiles)
    inputs = filled(graph, sizes)
    whole = replace(program, nests=(replace(nest, predicate=None),))
    with np.errstate(all="ignore"):
        assert relative_error(run(whole, inputs), run(program, inputs)) < 1e-12


def _signed(number: int) -> str:
    return f"-1*{-number}" if number < 0 else str(number)


def test_without_a_softmax_masked_iterations_are_not_skipped() -> None:
    sizes = {"m": 8, "s": 16384, "gy": 1, "f": 4}  # too large to be summed before the loop
    (masked,) = lower_graph(parse(SUMMED.format("mask")).substitute(sizes)).nests
    (weighted,) = lower_graph(parse(SUMMED.format("mul")).substitute(sizes)).nests

    assert masked.predicate is None
    assert weighted.predicate is not None
