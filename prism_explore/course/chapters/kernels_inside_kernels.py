"""Exercises of notebook 01: maps of the grid and of the loop, and what one block reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prism_explore.course.exercise import Exercise, Judgement, Mistake
from prism_explore.course.tiles import tile_range
from prism_explore.entry.equivalence.check import check
from prism_explore.errors import PrismError
from prism_explore.ir.graph import SGraph
from prism_explore.ir.ops import BlockGraph, Load, Store
from prism_explore.ir.text import parse, parse_program
from prism_explore.widgets.views.block_regions import region_maps

LINEAR = """program linear
  x = input f32[b, k]
  w = input f32[k, m]
  %2 = matmul(x, w)
  return %2"""
KERNEL = """sgraph
  x = input f32[b, k]
  w = input f32[k, m]
  %2 = custom(x, w) grid[x=gx] loop[i=f]
    %0 = load(0, imap=[{}], fmap={})
    %1 = load(1, imap=[{}], fmap={})
    %2 = matmul(%0, %1)
    %3 = accum(%2)
    %4 = store(%3, omap=[{}])
  return %2"""
"""A linear layer as one kernel; the blanks are the maps of x, of w and of the result."""
COLUMNS = parse(KERNEL.format("-", 1, 1, 0, 1))
"""Each block has some columns of the result; its loop goes over k."""
SIZES: Mapping[str, int] = {"b": 8, "k": 64, "m": 96, "gx": 4, "f": 8}


def _kernel(answer: Any) -> tuple[SGraph, BlockGraph]:
    if not isinstance(answer, str):
        raise PrismError(f"an answer is the text of an sGraph, found {type(answer).__name__}")
    graph = parse(answer)
    if len(graph.customs) != 1 or len(graph.nodes) != 3 or not graph.customs[0][1].grid or not graph.customs[0][1].loop:
        raise PrismError("the answer is one custom kernel with a grid and a loop, as in the notebook")
    return graph, graph.customs[0][1]


def _judge_maps(answer: Any) -> Judgement:
    """Right is what is proved equal for all sizes."""
    graph, _ = _kernel(answer)
    found = check(parse_program(LINEAR), graph)
    reason = found.results[0].reason
    return Judgement(found.outcome == "proved", f"{found.outcome}: {reason}", {})


def _maps(answer: Any) -> tuple[Load, Load, Store]:
    block = _kernel(answer)[1]
    x, w = (node.op for node in block.nodes[:2])
    store = block.nodes[block.stores[0]].op
    assert isinstance(x, Load) and isinstance(w, Load) and isinstance(store, Store)
    return x, w, store


def _loop_cuts_columns_of_w(answer: Any) -> bool:
    return "load(1" in answer and "fmap=1" in answer.split("load(1")[1].splitlines()[0]


def _result_is_in_rows(answer: Any) -> bool:
    x, w, store = _maps(answer)
    return x.imap == (None,) and w.imap == (1,) and store.omap == (0,)


def _grid_cuts_both(answer: Any) -> bool:
    x, w, _ = _maps(answer)
    return x.imap == (0,) and w.imap == (1,)


def _grid_cuts_nothing(answer: Any) -> bool:
    x, w, _ = _maps(answer)
    return x.imap == w.imap == (None,)


def _judge_tile(answer: Any) -> Judgement:
    load = region_maps(COLUMNS, *COLUMNS.customs[0])[1]
    rows, columns = (tile_range(d, {"x": 2, "i": 3}, SIZES) for d in load.dims)
    given = tuple((s.start, s.stop) for s in answer)
    right = given == ((rows.start, rows.stop), (columns.start, columns.stop))
    read = {(i, j) for i in range(*given[0]) for j in range(*given[1])} if len(given) == 2 else set[tuple[int, int]]()
    wanted = {(i, j) for i in rows for j in columns}
    return Judgement(
        right,
        f"w[{', '.join(f'{start}:{stop}' for start, stop in given)}]",
        {"elements of the tile": len(wanted), "of these in your answer": len(wanted & read)},
    )


EXERCISES = (
    Exercise(
        "01-a",
        "Replace each ? by a dim or by - so that the kernel computes x @ w.",
        "the text of the sGraph with its five maps, which is proved equal to x @ w for all sizes",
        _judge_maps,
        (
            Mistake(
                KERNEL.format("-", 1, 1, 1, 1),
                "The loop cuts dim 1 of w, which are its columns. Each iteration multiplies columns of x with as many "
                "rows of w, so which dim of w has the loop to cut?",
                _loop_cuts_columns_of_w,
            ),
            Mistake(
                KERNEL.format("-", 1, 1, 0, 0),
                "Each block has some columns of w, so it computes columns of the result. It stores them as rows.",
                _result_is_in_rows,
            ),
            Mistake(
                KERNEL.format(0, 1, 1, 0, 1),
                "The one grid dim cuts the rows of x and the columns of w: block 1 multiplies the second rows with the "
                "second columns, and no block multiplies the first rows with the second columns. Cut one of them.",
                _grid_cuts_both,
            ),
            Mistake(
                KERNEL.format("-", 1, "-", 0, 1),
                "The grid cuts nothing, so every block computes all of the result. Which dim of x or w can be cut so "
                "that blocks do not need one another?",
                _grid_cuts_nothing,
            ),
        ),
        (
            "A map says which dim is cut: 0 are rows, 1 are columns, - is none.",
            "The loop has to cut the dim that is summed: columns of x, and rows of w.",
            "If block after block has other columns of w, it computes other columns of the result.",
        ),
        "prism_explore.instantiate.solve chooses the maps of every graph that the search finds",
    ),
    Exercise(
        "01-b",
        "Which rows and columns of w does block 2 read in iteration 3?",
        "a tuple of two slices, rows and columns, such as (slice(0, 8), slice(0, 24)) for block 0 in iteration 0",
        _judge_tile,
        (
            Mistake(
                (slice(48, 72), slice(24, 32)),
                "These are the right numbers for the wrong dims: dim 0 of w, its rows, is cut by the loop.",
            ),
            Mistake((slice(2, 3), slice(3, 4)), "These are numbers of tiles. How many elements does a tile have?"),
            Mistake((slice(3, 4), slice(2, 3)), "These are numbers of tiles. How many elements does a tile have?"),
            Mistake(
                (slice(24, 31), slice(48, 71)),
                "The first elements are right. The end of a slice is the first element that is not in it.",
            ),
            Mistake(
                (slice(32, 48), slice(36, 48)),
                "The loop of 8 iterations cuts the 64 rows, and the grid of 4 blocks cuts the 96 columns.",
            ),
        ),
        (
            "A tile of w has k/f rows and m/gx columns: which numbers are these here?",
            "Block 2 begins after the tiles of blocks 0 and 1.",
        ),
        "prism_explore.widgets.views.block_regions says it for every load and store, in symbols",
    ),
)
