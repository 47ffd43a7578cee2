"""Programs with lookups, candidates that equal them, and wrong twins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from prism_explore.ir.graph import SGraph
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.text import parse

INPUTS = """\
  t = input f32[v, 6]
  u = input f32[v, 6]
  w = input f32[6, 4]
  ids = input i64[n]
  others = input i64[n]
"""
SOFTMAX_OF_ROWS = """\
  %5 = lookup(t, ids, dim=0)
  %6 = exp(%5)
  %7 = sum(%6, dim=1)
  %8 = div(%6, %7)
  return %8
"""
LOGITS = """\
  %5 = lookup(t, ids, dim=0)
  %6 = lookup(u, others, dim=0)
  %7 = add(%5, %6)
  %8 = matmul(%7, w)
  return %8
"""
COLUMNS = """\
  %5 = lookup(w, ids, dim=1)
  %6 = matmul(t, %5)
  return %6
"""
TWICE = """\
  %5 = lookup(t, ids, dim=0)
  %6 = permute(%5, order=[1, 0])
  %7 = lookup(%6, others, dim=1)
  return %7
"""
ELEMENTS = """\
  %5 = lookup(t, ids, dim=0)
  %6 = lookup(%5, others, dim=1, batch=1)
  %7 = exp(%6)
  return %7
"""
LIKELIHOODS = """\
  %5 = lookup(t, ids, dim=0)
  %6 = exp(%5)
  %7 = sum(%6, dim=1)
  %8 = div(%6, %7)
  %9 = lookup(%8, others, dim=1, batch=1)
  return %9
"""


@dataclass(frozen=True)
class Pair:
    """A program, a candidate, and whether they are equal."""

    program: str
    candidate: str
    right: bool


ROWS_OF_A_TABLE = """\
  %5 = lookup(w, ids, dim=0)
  %6 = exp(%5)
  return %6
"""


PAIRS: Mapping[str, Pair] = {
    "rows of the identity times a table": Pair(
        ROWS_OF_A_TABLE,
        """\
  %5 = band(rows=6, columns=6, low=0, high=0, dtype=f32)
  %6 = lookup(%5, ids, dim=0)
  %7 = matmul(%6, w)
  %8 = exp(%7)
  return %8
""",
        True,
    ),
    "rows of the next diagonal times a table": Pair(
        ROWS_OF_A_TABLE,
        """\
  %5 = band(rows=6, columns=6, low=1, high=1, dtype=f32)
  %6 = lookup(%5, ids, dim=0)
  %7 = matmul(%6, w)
  %8 = exp(%7)
  return %8
""",
        False,
    ),
    "rows of a triangle times a table": Pair(
        ROWS_OF_A_TABLE,
        """\
  %5 = band(rows=6, columns=6, high=0, dtype=f32)
  %6 = lookup(%5, ids, dim=0)
  %7 = matmul(%6, w)
  %8 = exp(%7)
  return %8
""",
        False,
    ),
    "softmax before the lookup": Pair(
        SOFTMAX_OF_ROWS,
        """\
  %5 = exp(t)
  %6 = sum(%5, dim=1)
  %7 = div(%5, %6)
  %8 = lookup(%7, ids, dim=0)
  return %8
""",
        True,
    ),
    "sums looked up alone": Pair(
        SOFTMAX_OF_ROWS,
        """\
  %5 = exp(t)
  %6 = sum(%5, dim=1)
  %7 = lookup(%6, ids, dim=0)
  %8 = lookup(t, ids, dim=0)
  %9 = exp(%8)
  %10 = div(%9, %7)
  return %10
""",
        True,
    ),
    "one kernel behind the lookup": Pair(
        SOFTMAX_OF_ROWS,
        """\
  %5 = lookup(t, ids, dim=0)
  %6 = custom(%5) grid[x=gx]
    %0 = load(0, imap=[0])
    %1 = exp(%0)
    %2 = sum(%1, dim=1)
    %3 = div(%1, %2)
    %4 = store(%3, omap=[0])
  return %6
""",
        True,
    ),
    "sum over the positions": Pair(
        SOFTMAX_OF_ROWS,
        """\
  %5 = lookup(t, ids, dim=0)
  %6 = exp(%5)
  %7 = sum(%6, dim=0)
  %8 = div(%6, %7)
  return %8
""",
        False,
    ),
    "other positions below": Pair(
        SOFTMAX_OF_ROWS,
        """\
  %5 = exp(t)
  %6 = sum(%5, dim=1)
  %7 = lookup(%6, others, dim=0)
  %8 = lookup(%5, ids, dim=0)
  %9 = div(%8, %7)
  return %9
""",
        False,
    ),
    "sum over the table": Pair(
        SOFTMAX_OF_ROWS,
        """\
  %5 = exp(t)
  %6 = sum(%5, dim=0)
  %7 = div(%5, %6)
  %8 = lookup(%7, ids, dim=0)
  return %8
""",
        False,
    ),
    "products of full tables": Pair(
        LOGITS,
        """\
  %5 = matmul(t, w)
  %6 = matmul(u, w)
  %7 = lookup(%5, ids, dim=0)
  %8 = lookup(%6, others, dim=0)
  %9 = add(%7, %8)
  return %9
""",
        True,
    ),
    "tables swapped": Pair(
        LOGITS,
        """\
  %5 = lookup(u, ids, dim=0)
  %6 = lookup(t, others, dim=0)
  %7 = add(%5, %6)
  %8 = matmul(%7, w)
  return %8
""",
        False,
    ),
    "positions swapped": Pair(
        LOGITS,
        """\
  %5 = lookup(t, others, dim=0)
  %6 = lookup(u, ids, dim=0)
  %7 = add(%5, %6)
  %8 = matmul(%7, w)
  return %8
""",
        False,
    ),
    "one lookup of a sum": Pair(
        LOGITS,
        """\
  %5 = add(t, u)
  %6 = lookup(%5, ids, dim=0)
  %7 = matmul(%6, w)
  return %7
""",
        False,
    ),
    "columns of a product": Pair(
        COLUMNS,
        """\
  %5 = matmul(t, w)
  %6 = lookup(%5, ids, dim=1)
  return %6
""",
        True,
    ),
    "columns by other positions": Pair(
        COLUMNS,
        """\
  %5 = matmul(t, w)
  %6 = lookup(%5, others, dim=1)
  return %6
""",
        False,
    ),
    "tiled product of columns": Pair(
        COLUMNS,
        """\
  %5 = lookup(w, ids, dim=1)
  %6 = custom(t, %5) grid[x=gx, y=gy]
    %0 = load(0, imap=[0, -])
    %1 = load(1, imap=[-, 1])
    %2 = matmul(%0, %1)
    %3 = store(%2, omap=[0, 1])
  return %6
""",
        True,
    ),
    "rows of rows, permuted at the end": Pair(
        TWICE,
        """\
  %5 = lookup(t, ids, dim=0)
  %6 = lookup(%5, others, dim=0)
  %7 = permute(%6, order=[1, 0])
  return %7
""",
        True,
    ),
    "rows of rows in the other order": Pair(
        TWICE,
        """\
  %5 = lookup(t, others, dim=0)
  %6 = lookup(%5, ids, dim=0)
  %7 = permute(%6, order=[1, 0])
  return %7
""",
        False,
    ),
    "elements, columns first": Pair(
        ELEMENTS,
        """\
  %5 = lookup(t, others, dim=1)
  %6 = permute(%5, order=[1, 0])
  %7 = exp(%6)
  %8 = lookup(%7, ids, dim=1, batch=1)
  return %8
""",
        True,
    ),
    "elements with the positions swapped": Pair(
        ELEMENTS,
        """\
  %5 = lookup(t, others, dim=0)
  %6 = lookup(%5, ids, dim=1, batch=1)
  %7 = exp(%6)
  return %7
""",
        False,
    ),
    "quotients of elements": Pair(
        LIKELIHOODS,
        """\
  %5 = lookup(t, ids, dim=0)
  %6 = exp(%5)
  %7 = sum(%6, dim=1)
  %8 = reshape(%7, dims=[n])
  %9 = lookup(%6, others, dim=1, batch=1)
  %10 = div(%9, %8)
  return %10
""",
        True,
    ),
    "elements at the positions of the rows": Pair(
        LIKELIHOODS,
        """\
  %5 = lookup(t, ids, dim=0)
  %6 = exp(%5)
  %7 = sum(%6, dim=1)
  %8 = reshape(%7, dims=[n])
  %9 = lookup(%6, ids, dim=1, batch=1)
  %10 = div(%9, %8)
  return %10
""",
        False,
    ),
    "elements of all rows": Pair(
        LIKELIHOODS,
        """\
  %5 = lookup(t, ids, dim=0)
  %6 = exp(%5)
  %7 = lookup(%6, others, dim=1)
  %8 = sum(%7, dim=1)
  %9 = sum(%6, dim=1)
  %10 = div(%8, %9)
  %11 = reshape(%10, dims=[n])
  return %11
""",
        False,
    ),
}


def graph_of(lines: str) -> SGraph:
    """The graph of these lines; all inputs are there, whether read or not."""
    return parse(f"sgraph\n{INPUTS}{lines}")


def program_of(lines: str) -> TensorProgram:
    """The same as a program."""
    return TensorProgram("looked_up", graph_of(lines))
