"""What is computed once for many graphs is what the interpreter gives for each, block by block."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from prism_explore.errors import ShapeError
from prism_explore.ir.graph import SGraph
from prism_explore.ir.interpreter.memoized import MemoizedInterpreter, ValueEquality
from prism_explore.ir.interpreter.reference import Array, run
from prism_explore.ir.ops import Input, Node
from prism_explore.ir.text import parse
from prism_explore.verify.counterexample.shared_trials import EQUAL_FLOATS
from tests.strategies import random_inputs
from tests.verify.programs import arbitrary, draw_inputs, sizes_of

EXACT = ValueEquality(lambda value: str(value.item(0)), lambda one, other: bool((one == other).all()))
KERNEL = """sgraph
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
LATER = {
    "exp": "exp(%3)",
    "sum": "sum(%3, dim=1)",
    "turned": "permute(%3, order=[1, 0])",
    "joined": "concat(%3, %3, dim=1)",
}


def beginning(inputs: Mapping[str, Array], graph: SGraph, alike: ValueEquality = EQUAL_FLOATS) -> MemoizedInterpreter:
    """Nothing but a graph's inputs."""
    given = [n.op for n in graph.nodes if isinstance(n.op, Input)]
    program = SGraph(tuple(Node(op, ()) for op in given), 0)
    return MemoizedInterpreter(program, program, [inputs[op.name] for op in given], {"b": 12}, 1 << 20, alike)


def result(shared: MemoizedInterpreter, graph: SGraph, sizes: Mapping[str, int]) -> Array:
    with np.errstate(all="ignore"):
        return shared.values[shared.run(graph, lambda block, shapes: sizes)]


MAPS = [
    (x, w, out)
    for x in ("[0, -], fmap=1", "[-, 0], fmap=1", "[0, 1]", "[1, 0], fmap=1", "[-, -], fmap=0", "[0, 0], fmap=1")
    for w in ("[-, 1], fmap=0", "[1, -], fmap=0", "[1, -]", "[-, 0]", "[-, 0], fmap=0")
    for out in ("[0, 1]", "[1, 0]", "[-, 1]", "[0, -]", "[-, -]", "[1, 1]")
]


@pytest.mark.parametrize("later", LATER)
def test_maps_of_every_kind_right_or_wrong_one_after_the_other(later: str) -> None:
    """Where one axis cuts different dims of two operands, where two cut one dim, where blocks race or do not fit."""
    inputs, ran = random_inputs(parse(KERNEL), {"b": 12}), 0
    shared = beginning(inputs, parse(KERNEL))
    for x, w, out in MAPS:
        text = KERNEL.replace("[0, -], fmap=1", x).replace("[-, 1], fmap=0", w).replace("omap=[0, 1]", f"omap={out}")
        graph = parse(text.replace("%4 = store(%3", f"%4 = {LATER[later]}\n    %5 = store(%4"))
        try:
            plain = run(graph, inputs, SIZES)[graph.output]
        except ValueError:
            with pytest.raises(ValueError):
                result(shared, graph, SIZES)
            continue
        try:
            found = result(shared, graph, SIZES)
        except ShapeError as error:
            assert str(error) == "tiles overlap"
            continue
        np.testing.assert_allclose(found, plain, rtol=1e-9, atol=1e-12)
        ran += 1
    assert ran > 40


def test_arbitrary_graphs_give_what_each_gives_alone() -> None:
    """Views of cut dims, masks, online sums, pieces of a concatenation, several kernels."""
    r, ran = random.Random(3), 0
    for _ in range(1500):
        graph = arbitrary(r)
        for sizes in sizes_of(graph):
            inputs = draw_inputs(graph, sizes, r)
            shared = beginning(inputs, graph)
            try:
                with np.errstate(all="ignore"):
                    found = result(shared, graph, sizes)
            except ShapeError:
                continue
            with np.errstate(all="ignore"):
                plain = run(graph, inputs, sizes)[graph.output]
            scale = np.abs(plain[np.isfinite(plain) & (np.abs(plain) < 1e100)]).max(initial=1e-6)
            np.testing.assert_allclose(found, plain, rtol=1e-8, atol=1e-9 * scale, err_msg=str(graph))
            ran += 1
    assert ran > 500, ran


def test_rationals_stay_exact() -> None:
    rng = np.random.default_rng(0)
    fractions = np.vectorize(lambda n: Fraction(int(n), 7), otypes=[object])
    inputs = {"x": fractions(rng.integers(-9, 9, (6, 12))), "w": fractions(rng.integers(-9, 9, (12, 6)))}

    found = result(beginning(inputs, parse(KERNEL), EXACT), parse(KERNEL), SIZES)

    assert (found == inputs["x"] @ inputs["w"]).all()


def test_tiles_that_are_not_whole_and_maps_that_are_open_are_refused() -> None:
    shared = beginning(random_inputs(parse(KERNEL), {"b": 7}), parse(KERNEL))
    with pytest.raises(ShapeError, match="has no 3 tiles"):
        result(shared, parse(KERNEL), SIZES)
    with pytest.raises(ShapeError, match="open"):
        result(shared, parse(KERNEL.replace("imap=[0, -]", "imap=?")), SIZES)


def test_sums_over_other_parts_are_one_value_and_so_is_what_comes_behind_them() -> None:
    graph = parse(KERNEL.replace("%4 = store(%3", "%4 = exp(%3)\n    %5 = store(%4"))
    shared = beginning(random_inputs(graph, {"b": 12}), graph)
    first = shared.run(graph, lambda block, shapes: SIZES)
    kept = len(shared.values)

    again = shared.run(graph, lambda block, shapes: {"gx": 2, "gy": 3, "f": 4})

    assert again == first
    assert {v.shape for v in shared.values[kept:]} == {(1, 1, 4, 12, 3), (1, 1, 4, 3, 6), (1, 1, 4, 12, 6)}


def test_what_differs_by_more_than_rounding_is_another_value() -> None:
    graph = parse(KERNEL)
    inputs = random_inputs(graph, {"b": 12})
    shared = beginning(inputs, graph)
    first = shared.run(graph, lambda block, shapes: SIZES)
    more = parse(KERNEL.replace("%4 = store(%3", "%4 = mul_scalar(%3, 1000000001/1000000000)\n    %5 = store(%4"))

    assert shared.run(more, lambda block, shapes: SIZES) != first


def test_ways_to_one_value_are_not_kept_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = parse(KERNEL)
    inputs = random_inputs(graph, {"b": 12})
    shared = beginning(inputs, graph)
    monkeypatch.setattr("prism_explore.ir.interpreter.memoized.MOST_KEYS", 40)
    for gx, gy, f in product((1, 2, 3, 4, 6), (1, 2, 3, 6), (1, 2, 3, 4, 6)):
        found = result(shared, graph, {"gx": gx, "gy": gy, "f": f})

        np.testing.assert_allclose(found, inputs["x"] @ inputs["w"], rtol=1e-9)
        assert len(shared._ids) + len(shared._tiles) < 40 + 20
