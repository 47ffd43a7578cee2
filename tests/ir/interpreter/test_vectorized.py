"""All blocks at once give what one block after the other gives."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import pytest

from prism_explore.errors import ShapeError
from prism_explore.ir.graph import SGraph
from prism_explore.ir.interpreter.reference import Array, run
from prism_explore.ir.interpreter.vectorized import run_vectorized
from prism_explore.ir.text import parse
from prism_explore.verify.counterexample.inputs import draw_inputs
from prism_explore.verify.shapes.concretize import TINY, Extents
from prism_explore.verify.shapes.instance import Instance
from tests.strategies import random_inputs
from tests.verify.corpus import CASES, PROGRAMS
from tests.verify.mutate import mutants
from tests.verify.workloads import ENTRIES, program_of, sgraph_of

MATMUL = """sgraph
  x = input f32[b, 12]
  w = input f32[12, 6]
  %2 = custom(x, w) grid[x=gx, y=gy] loop[i=f]
    %0 = load(0, imap=[0, -], fmap=1)
    %1 = load(1, imap=[-, 1], fmap=0)
    %2 = matmul(%0, %1)
    %3 = accum(%2)
    %4 = store(%3, omap=[0, 1])
  return %2"""
SIZES = {"gx": 3, "gy": 2, "f": 2}


def both(graph: SGraph, inputs: Mapping[str, Array], sizes: Mapping[str, int]) -> list[tuple[Array, Array]]:
    with np.errstate(all="ignore"):
        plain, together = run(graph, inputs, sizes), run(graph, inputs, sizes, blocks=run_vectorized)
    return list(zip(plain, together, strict=True))


def assert_alike(graph: SGraph, inputs: Mapping[str, Array], sizes: Mapping[str, int]) -> None:
    for plain, together in both(graph, inputs, sizes):
        assert (plain.shape, plain.dtype) == (together.shape, together.dtype)
        np.testing.assert_allclose(together, plain, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("x", ["[0, -], fmap=1", "[-, 0], fmap=1", "[0, 1]", "[1, 0], fmap=1", "[-, -], fmap=0"])
@pytest.mark.parametrize("w", ["[-, 1], fmap=0", "[1, -], fmap=0", "[1, -]", "[-, 0]", "[-, 0], fmap=0"])
@pytest.mark.parametrize("out", ["[0, 1]", "[1, 0]", "[-, 1]", "[0, -]", "[-, -]", "[1, 1]"])
def test_maps_of_every_kind_right_or_wrong(x, w, out):
    """Also where two grid dims or the loop cut one dim, where blocks race, and where tiles overlap."""
    text = MATMUL.replace("[0, -], fmap=1", x).replace("[-, 1], fmap=0", w).replace("omap=[0, 1]", f"omap={out}")
    graph, inputs = parse(text), random_inputs(parse(MATMUL), {"b": 12})
    try:
        run(graph, inputs, SIZES)
    except ValueError:  # tiles that do not fit each other
        with pytest.raises(ValueError, match="matmul"):
            run(graph, inputs, SIZES, blocks=run_vectorized)
    else:
        assert_alike(graph, inputs, SIZES)


@pytest.mark.parametrize("fn", ["sum", "mean", "rms"])
def test_iterations_are_added_in_their_order(fn):
    """NumPy adds many numbers that are next to each other in memory in another order."""
    text = f"""sgraph
  x = input f32[b, 64]
  %1 = custom(x) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[0], fmap=1)
    %1 = accum_{fn}(%0, dim=1)
    %2 = store(%1, omap=[0])
  return %1"""
    x = np.random.default_rng(0).standard_normal((3, 64)).astype(np.float32)

    ((_, _), (plain, together)) = both(parse(text), {"x": x}, {"gx": 3, "f": 64})

    assert plain.tolist() == together.tolist()


def test_rationals_stay_exact():
    rng = np.random.default_rng(0)
    fractions = np.vectorize(lambda n: Fraction(int(n), 7), otypes=[object])
    x, w = fractions(rng.integers(-9, 9, (6, 12))), fractions(rng.integers(-9, 9, (12, 6)))

    for plain, together in both(parse(MATMUL), {"x": x, "w": w}, SIZES):
        assert (plain == together).all()


def test_a_tile_that_is_not_whole_and_maps_that_are_open_are_refused():
    graph, inputs = parse(MATMUL), random_inputs(parse(MATMUL), {"b": 7})
    with pytest.raises(ShapeError, match="7 elements, no multiple of 3 tiles"):
        run(graph, inputs, SIZES, blocks=run_vectorized)
    with pytest.raises(ShapeError, match="open"):
        run(parse(MATMUL.replace("imap=[0, -]", "imap=?")), inputs, SIZES, blocks=run_vectorized)


def test_all_candidates_that_people_wrote_and_mutants_of_them():
    r = random.Random(3)
    rows = [(PROGRAMS[c.program], c.sgraph) for c in r.sample(CASES, 20)]
    rows += [(program_of(e.workload, tiny=True), sgraph_of(e, tiny=True)) for e in r.sample(ENTRIES, 40)]
    seen = 0
    for program, graph in rows:
        extents = Extents(program)
        for g in (graph, *(m for _ in range(2) if (m := mutants(graph, program, r)) is not None)):
            pair = extents.pair(g)
            found = "" if isinstance(pair, str) else extents.instance(pair, TINY)
            if isinstance(found, Instance):
                assert_alike(found.candidate, draw_inputs(found.shapes, seen), found.symbols)
                seen += 1

    assert seen > 100
