"""Every row of the tables of rules has goals, negative twins and exact meaning.

Per rule: two spellings that this rule makes one are proved equal, and egglog replays why; two that it would make one if
its side condition were ignored stay apart, and really differ; and both sides of each goal are run by the interpreter
in exact arithmetic, at random small sizes. The sides are graphs in the text form, so that lowering takes part. A rule
that is added without an entry here fails a test.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest

from prism_explore.errors import ShapeError
from prism_explore.events.journal import Journal
from prism_explore.ir.dims import ONE, Dim, dim
from prism_explore.ir.graph import SGraph
from prism_explore.ir.interpreter.reference import evaluate
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.text import parse
from prism_explore.pipeline.stages import Candidate, Family, Proof, Verified
from prism_explore.verify.certificate.certify import certify
from prism_explore.verify.normal_form.algebra import Algebra, NoNormalForm
from prism_explore.verify.normal_form.index import (
    ZERO,
    Digit,
    Index,
    Moved,
    Radix,
    Var,
    Zero,
    digit,
    extent,
    moved,
    radix,
)
from prism_explore.verify.normal_form.lower_graph import lower
from tests.verify.corpus import numbered
from tests.verify.exact import Inexact, exact, exact_functions, in_the_limit
from tests.verify.normal_form import index_rules
from tests.verify.normal_form.rules import RULES
from tests.verify.pointwise import total_functions

# ---------------------------------------------------------------- writing sides
INPUTS = """
  x = input f32[n, m]
  y = input f32[n, m]
  z = input f32[n, m]
  u = input f32[n, 1]
  a = input f32[n, c]
  b = input f32[n, d]
"""


def graph(text: str) -> SGraph:
    """The graph of an expression such as `sum(add(x, y), dim=1)`, or of a whole kernel."""
    if "custom" in text:
        return parse(f"sgraph{INPUTS}{numbered(text)}")
    lines: list[str] = []
    output = _flatten(text.replace("\n", " ").strip(), lines)
    return parse("\n".join((f"sgraph{INPUTS.rstrip()}", *lines, f"  return {output}")))


def _flatten(text: str, lines: list[str]) -> str:
    """One line per operator; gives the name of the last."""
    call = re.fullmatch(r"(\w+)\((.*)\)", text)
    if call is None:
        return text
    args = [_flatten(part.strip(), lines) for part in _parts(call.group(2))]
    lines.append(f"  %{len(lines) + 6} = {call.group(1)}({', '.join(args)})")
    return f"%{len(lines) + 5}"


def _parts(text: str) -> list[str]:
    """Split at commas outside all brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def halves(first: str, second: str = "", skipped: int = 0) -> str:
    """The greater of the maxima of a row's first half and of its second, or of one's and another's."""
    pieces = (first, "0", "m/2"), (second or first, f"m/2+{skipped}", "m")
    one, other = (f"max(slice({of}, dim=1, start={start}, stop={stop}), dim=1)" for of, start, stop in pieces)
    return f"max({one}, {other})"


def looped(body: str, operands: str = "x") -> str:
    """A kernel whose loop cuts m."""
    return f"\n  %6 = custom({operands}) grid[] loop[i=f]\n{body.rstrip()}\n  return %6\n"


def at(row: int, column: int) -> str:
    """One element of a square."""
    in_row = f"slice({TIMES_U}, dim=0, start={row}, stop={row + 1})"
    return f"slice({in_row}, dim=1, start={column}, stop={column + 1})"


ONES = "add_scalar(mul_scalar(x, 0), 1)"
X_GREATER = "positive(sub(x, y))"
CAUSAL = "band(rows=n, columns=m, high=0, dtype=f32)"
OF_A = "band(rows=n, columns=c, high=0, dtype=f32)"
OF_B = "band(rows=n, columns=d, low=0, dtype=f32)"
DIAGONAL = "band(rows=m, columns=m, low=0, high=0, dtype=f32)"
NEXT = "band(rows=m, columns=m, low=1, high=1, dtype=f32)"
BEFORE = "band(rows=m, columns=m, low=-1, high=-1, dtype=f32)"
TO_NEXT = "band(rows=m, columns=m, low=-1, dtype=f32)"
FROM_SECOND_NEXT = "band(rows=m, columns=m, low=2, dtype=f32)"
UPPER = "band(rows=n, columns=m, low=0, dtype=f32)"
ABOVE = "band(rows=n, columns=m, low=1, dtype=f32)"
TURNED_ROUND = "band(rows=n, columns=m, low=2, high=-1, dtype=f32)"
FROM_THIRD = "band(rows=n, columns=m, low=2, dtype=f32)"
FIRST_ROW = "slice(band(rows=n, columns=m, high=0, dtype=f32), dim=0, start=0, stop=1)"
SQUARE = "band(rows=3, columns=3, high=0, dtype=f32)"
FIRST, SECOND, THIRD = (f"slice({SQUARE}, dim=1, start={k}, stop={k + 1})" for k in range(3))
TIMES_U = f"mul({SQUARE}, sum(u, dim=0))"
NINE = f"mul_scalar(reshape({SQUARE}, dims=[1, 9]), 0)"
NOT_3 = tuple(f"slice({NINE}, dim=1, start={start}, stop={stop})" for start, stop in ((0, 3), (4, 9)))
AT_3 = f"add_scalar(slice({NINE}, dim=1, start=3, stop=4), 1)"
PLACE_3 = f"reshape(concat({NOT_3[0]}, concat({AT_3}, {NOT_3[1]}, dim=1), dim=1), dims=[3, 3])"
"""A square that is 1 at its fourth place, and else 0."""
NOTHING_AFTER = "slice(mul_scalar(x, 0), dim=1, start=1, stop=m)"
IN_FIRST = f"concat(add_scalar(mul_scalar(u, 0), 1), {NOTHING_AFTER}, dim=1)"
TURNED = "permute(band(rows=m, columns=n, high=0, dtype=f32), order=[1, 0])"
WHOLE = Fraction(0), Fraction(1), Fraction(-1), Fraction(2), Fraction(-2), Fraction(3), Fraction(1, 2)
ROOTED = Fraction(0), Fraction(3, 4), Fraction(-3, 4), Fraction(4, 3), Fraction(-4, 3), Fraction(12, 5)
"""One more than their squares is a square."""
SIGNED = Fraction(0), Fraction(1), Fraction(-1), Fraction(4), Fraction(-4)
LEGS = Fraction(0), Fraction(3), Fraction(4), Fraction(-4), Fraction(-3)
"""The sum of two of their squares often is a square."""


@dataclass(frozen=True)
class Goal:
    """Two spellings of one value."""

    left: str
    right: str
    values: tuple[Fraction, ...] = WHOLE
    spelled: bool = False
    """Whether named functions are replaced by their definitions."""
    ordered: bool = False
    """Whether what depends on an order is spelled out, too."""
    floating: bool = False
    """Whether the value is irrational, so that float64 must do."""
    unrolled: bool = False
    """Whether sums over a few values are spelled out, too."""
    certified: bool = True
    """Whether egglog replays from the axioms that both are equal; without, this rests on the normal form alone."""


by_order = partial(Goal, ordered=True)
not_replayed = partial(by_order, certified=False)
unrolled = partial(Goal, unrolled=True)


@dataclass(frozen=True)
class Twin:
    """Two spellings of two values, which the rule without its condition would make one."""

    left: str
    right: str
    why: str
    values: tuple[Fraction, ...] = WHOLE
    floating: bool = False


@dataclass(frozen=True)
class Entry:
    goals: tuple[Goal, ...]
    twins: tuple[Twin, ...]


TILES = looped(
    """
    $x = load(0, imap=[], fmap=1)
    $y = load(1, imap=[], fmap=1)
    $xy = mul($x, $y)
    $sum = accum_sum($xy, dim=1)
    $out = store($sum, omap=[])
""",
    "x, y",
)
REPLICATED = looped(
    """
    $u = load(0, imap=[])
    $all = accum($u)
    $out = store($all, omap=[])
""",
    "u",
)
ONLINE = looped("""
    $x = load(0, imap=[], fmap=1)
    $m = running_max($x, dim=1)
    $low = sub($x, $m)
    $e = exp($low)
    $l = accum_rescaled($e, $m, dim=1)
    $top = accum_max($x, dim=1)
    $scale = exp($top)
    $all = mul($l, $scale)
    $out = store($all, omap=[])
""")
WEIGHTED = looped(
    """
    $x = load(0, imap=[], fmap=1)
    $y = load(1, imap=[], fmap=1)
    $m = running_max($x, dim=1)
    $low = sub($x, $m)
    $e = exp($low)
    $v = mul($e, $y)
    $l = accum_rescaled($v, $m, dim=1)
    $top = accum_max($x, dim=1)
    $scale = exp($top)
    $all = mul($l, $scale)
    $out = store($all, omap=[])
""",
    "x, y",
)
RUNNING = looped("""
    $x = load(0, imap=[], fmap=1)
    $m = running_max($x, dim=1)
    $last = accum_max($m)
    $out = store($last, omap=[])
""")
SHUFFLED = "reshape(permute(reshape(y, dims=[n, 2, m/2]), order=[0, 2, 1]), dims=[n, m])"
WINDOW = "band(rows=n, columns=m, low=m/2-n+1, dtype=f32)"
"""All of its second half is kept, so there the bound is lost."""
SQUARES = "sum(square(x), dim=1)"
ROW = "sum(mul(x, y), dim=1)"
POSITIVE = "add_scalar(square(x), 1)"
OTHER = "add_scalar(square(u), 1)"
ACROSS = f"permute({OTHER}, order=[1, 0])"

ENTRIES: dict[str, Entry] = {
    # ---------------------------------------------------------------- sums
    "S1": Entry(
        (Goal("sum(add(x, y), dim=1)", "add(sum(x, dim=1), sum(y, dim=1))"),),
        (Twin("sum(mul(x, y), dim=1)", "mul(sum(x, dim=1), sum(y, dim=1))", "a product is no sum"),),
    ),
    "S2": Entry(
        (
            Goal("sum(mul(u, x), dim=1)", "mul(u, sum(x, dim=1))"),
            Goal("sum(sum(x, dim=0), dim=1)", "sum(sum(x, dim=1), dim=0)"),
            Goal("square(sum(x, dim=1))", "mul(sum(x, dim=1), sum(x, dim=1))"),
            Goal("matmul(matmul(x, permute(y, order=[1, 0])), z)", "matmul(x, matmul(permute(y, order=[1, 0]), z))"),
        ),
        (
            Twin("sum(mul(y, x), dim=1)", "sum(mul(y, sum(x, dim=1)), dim=1)", "y depends on the index"),
            Twin("sum(div(x, y), dim=1)", "div(sum(x, dim=1), sum(y, dim=1))", "U2: the divisor depends on it"),
            Twin("sum(square(x), dim=1)", "square(sum(x, dim=1))", "the two copies of the index are different ones"),
        ),
    ),
    "S3": Entry(
        (Goal(ROW, TILES),),
        (
            Twin(ROW, f"sum(mul(x, {SHUFFLED}), dim=1)", "places and tiles are exchanged in y"),
            Twin(ROW, TILES.replace("load(1, imap=[], fmap=1)", "load(0, imap=[], fmap=1)"), "x twice"),
        ),
    ),
    "S4": Entry(
        (
            Goal("sum(reshape(x, dims=[1, n*m]), dim=1)", "sum(sum(x, dim=1), dim=0)"),
            Goal(
                "sum(mul(reshape(x, dims=[1, n*m]), reshape(y, dims=[1, n*m])), dim=1)",
                "sum(sum(mul(x, y), dim=1), dim=0)",
            ),
        ),
        (
            Twin(
                "sum(mul(reshape(x, dims=[1, n*m]), reshape(permute(y, order=[1, 0]), dims=[1, n*m])), dim=1)",
                "sum(sum(mul(x, y), dim=1), dim=0)",
                "the digits come in another order in y",
            ),
        ),
    ),
    "S5": Entry(
        (
            Goal("mean(expand(u, dim=1, size=m), dim=1)", "u"),
            Goal("sum(expand(u, dim=1, size=m), dim=1)", f"mul(u, sum({ONES}, dim=1))"),
        ),
        (
            Twin("sum(expand(u, dim=1, size=m), dim=1)", "u", "m copies are not one"),
            Twin("u", REPLICATED, "U4: f copies are not one"),
            Twin("mean(x, dim=1)", "slice(x, dim=1, start=0, stop=1)", "x depends on the index"),
        ),
    ),
    "S6": Entry(
        (
            Goal("sum(concat(a, b, dim=1), dim=1)", "add(sum(a, dim=1), sum(b, dim=1))"),
            Goal(
                "sum(mul(concat(a, b, dim=1), concat(exp(a), b, dim=1)), dim=1)",
                "add(sum(mul(a, exp(a)), dim=1), sum(square(b), dim=1))",
            ),
        ),
        (
            Twin(
                "sum(slice(x, dim=1, start=1, stop=m), dim=1)",
                "sum(slice(x, dim=1, start=0, stop=m-1), dim=1)",
                "the pieces lie elsewhere",
            ),
            Twin("sum(concat(a, b, dim=1), dim=1)", "add(sum(a, dim=1), sum(a, dim=1))", "another piece"),
            Twin(
                "sum(slice(concat(a, mul_scalar(b, 0), dim=1), dim=1, start=0, stop=m), dim=1)",
                "sum(a, dim=1)",
                "m may be less than c",
            ),
        ),
    ),
    "S7": Entry(
        (
            Goal(f"div({ROW}, square({ROW}))", f"recip({ROW})"),
            Goal("div(sum(exp(x), dim=1), sum(exp(x), dim=1))", f"mean({ONES}, dim=1)"),
        ),
        (Twin(f"div({ROW}, {ROW})", f"mean({ONES}, dim=1)", "the sum may be 0"),),
    ),
    "S8": Entry(
        (
            Goal(
                "div(mul(sum(mul(square(y), x), dim=1), sum(square(y), dim=1)), sum(square(y), dim=1))",
                "sum(mul(square(y), x), dim=1)",
            ),
        ),
        (
            Twin(
                "div(mul(sum(mul(y, x), dim=1), sum(y, dim=1)), sum(y, dim=1))",
                ROW,
                "weights of both signs may add up to 0",
            ),
        ),
    ),
    "S9": Entry(
        (unrolled(f"sum({SQUARE}, dim=1)", f"add(add({FIRST}, {SECOND}), {THIRD})"),),
        (Twin(f"sum({SQUARE}, dim=1)", f"add({FIRST}, {THIRD})", "one value is missing"),),
    ),
    # ---------------------------------------------------------------- ring and powers
    "S10": Entry(
        (
            by_order(f"matmul(x, {DIAGONAL})", "x"),
            by_order(f"matmul(x, {NEXT})", "concat(mul_scalar(u, 0), slice(x, dim=1, start=0, stop=m-1), dim=1)"),
        ),
        (
            Twin(f"matmul(x, {NEXT})", "x", "another diagonal"),
            Twin(
                f"matmul(x, {NEXT})", "concat(slice(x, dim=1, start=1, stop=m), mul_scalar(u, 0), dim=1)", "downwards"
            ),
        ),
    ),
    "S11": Entry(
        (
            Goal(f"sum(sum(mul({PLACE_3}, {TIMES_U}), dim=1), dim=0)", at(1, 0)),
            Goal(f"sum(sum(mul({PLACE_3}, exp({TIMES_U})), dim=1), dim=0)", f"exp({at(1, 0)})", floating=True),
        ),
        (
            Twin(f"sum(sum(mul({PLACE_3}, {TIMES_U}), dim=1), dim=0)", at(0, 1), "the digits change places"),
            Twin(f"sum(mul({PLACE_3}, {TIMES_U}), dim=1)", f"expand({at(1, 0)}, dim=0, size=3)", "only one is summed"),
        ),
    ),
    "R1": Entry(
        (
            Goal("mul(x, add(y, z))", "add(mul(z, x), mul(y, x))"),
            Goal("sub(add(x, y), x)", "y"),
            Goal("square(sub(x, y))", "add(sub(square(x), mul_scalar(mul(x, y), 2)), square(y))"),
        ),
        (
            Twin("div(x, y)", "div(y, x)", "U1: a quotient does not commute"),
            Twin("sub(x, y)", "sub(y, x)", "neither does a difference"),
            Twin("div(x, add(y, z))", "add(div(x, y), div(x, z))", "a divisor does not distribute"),
        ),
    ),
    "P1": Entry(
        (Goal("div(mul(x, square(x)), x)", "square(x)"), Goal("pow_scalar(pow_scalar(x, 3), -1)", "pow_scalar(x, -3)")),
        (
            Twin("div(x, x)", ONES, "x may be 0"),
            Twin("sqrt(square(x))", "x", "x may be negative"),
        ),
    ),
    "P2": Entry(
        (
            Goal("recip(mul(x, y))", "mul(recip(x), recip(y))"),
            Goal("square(div(x, y))", "div(square(x), square(y))"),
            Goal("recip(mul(add(x, y), add(x, z)))", "mul(recip(add(x, z)), recip(add(x, y)))"),
            Goal("div(x, mul(add(y, z), add(x, u)))", "div(div(x, add(x, u)), add(y, z))"),
        ),
        (
            Twin("square(add(x, y))", "add(square(x), square(y))", "a sum is no product"),
            Twin("recip(mul(add(x, y), add(x, z)))", "recip(mul(add(x, y), add(y, z)))", "other factors"),
        ),
    ),
    "P3": Entry(
        (
            Goal("sqrt(mul(square(x), exp(y)))", "mul(sqrt(square(x)), sqrt(exp(y)))"),
            Goal(f"sqrt(mul({SQUARES}, exp(u)))", f"mul(sqrt({SQUARES}), sqrt(exp(u)))", LEGS),
            Goal(f"sqrt(mul({POSITIVE}, {OTHER}))", f"mul(sqrt({OTHER}), sqrt({POSITIVE}))", ROOTED),
            Goal(f"rsqrt(matmul({OTHER}, {ACROSS}))", f"div(rsqrt({OTHER}), sqrt({ACROSS}))", ROOTED),
        ),
        (
            Twin("sqrt(mul(x, y))", "mul(sqrt(x), sqrt(y))", "(-1)(-1) has a root, its factors have none", SIGNED),
            Twin("sqrt(mul(add(x, y), add(x, z)))", "mul(sqrt(add(x, y)), sqrt(add(x, z)))", "nor have sums", SIGNED),
            Twin(
                "sqrt(add(square(x), square(y)))", "add(sqrt(square(x)), sqrt(square(y)))", "a sum is no product", LEGS
            ),
        ),
    ),
    "P4": Entry(
        (
            Goal(f"mul(sqrt({POSITIVE}), sqrt({POSITIVE}))", POSITIVE, ROOTED),
            Goal(f"pow_scalar({POSITIVE}, 3/2)", f"mul({POSITIVE}, sqrt({POSITIVE}))", ROOTED),
        ),
        (Twin("square(sqrt(x))", "x", "x may be negative"),),
    ),
    "P5": Entry(
        (
            Goal("recip(add(mul(x, y), mul(x, z)))", "div(recip(x), add(y, z))"),
            Goal("recip(add_scalar(exp(x), 1))", "div(exp(neg(x)), add_scalar(exp(neg(x)), 1))"),
        ),
        (
            Twin("recip(add(mul(x, y), z))", "div(recip(x), add(y, z))", "x is not common"),
            Twin("sqrt(add(mul(x, y), mul(x, z)))", "mul(sqrt(x), sqrt(add(y, z)))", "x may be negative", SIGNED),
        ),
    ),
    "P6": Entry(
        (
            not_replayed("sqrt(mul_scalar(x, 9))", "mul_scalar(sqrt(x), 3)", floating=True),
            not_replayed("rsqrt(mul_scalar(sub(x, y), 1/4))", "mul_scalar(rsqrt(sub(x, y)), 2)", floating=True),
            not_replayed("sqrt(mul(x, exp(y)))", "mul(sqrt(x), sqrt(exp(y)))", floating=True),
        ),
        (
            Twin("sqrt(mul_scalar(x, 9))", "mul_scalar(sqrt(x), 9)", "the root of the factor leaves"),
            Twin("sqrt(mul_scalar(x, -9))", "mul_scalar(sqrt(x), -3)", "a negative factor", SIGNED),
            Twin("sqrt(mul(x, y))", "mul(sqrt(x), sqrt(y))", "both may be negative", SIGNED),
        ),
    ),
    # ---------------------------------------------------------------- exponentials and functions
    "E1": Entry(
        (
            Goal("exp(add(x, y))", "mul(exp(x), exp(y))"),
            Goal("exp(mul_scalar(x, 3))", "pow_scalar(exp(x), 3)"),
            Goal("exp(sub(x, y))", "div(exp(x), exp(y))"),
        ),
        (
            Twin("exp(mul(x, y))", "mul(exp(x), exp(y))", "a product is no sum"),
            Twin("exp(add(x, y))", "add(exp(x), exp(y))", "nor the other way"),
        ),
    ),
    "E2": Entry(
        (Goal("div(mul(exp(x), y), exp(x))", "y"),),
        (
            Twin("exp(x)", ONES, "positive is not one"),
            Twin("div(mul(x, y), x)", "y", "x may be 0, an exponential not"),
        ),
    ),
    "F1": Entry(
        (
            Goal("silu(x)", "div(x, add_scalar(exp(neg(x)), 1))", spelled=True),
            Goal("sigmoid(x)", "div(exp(x), add_scalar(exp(x), 1))", spelled=True),
            Goal("tanh(x)", "sub(mul_scalar(sigmoid(mul_scalar(x, 2)), 2), " + ONES + ")", spelled=True),
            Goal("abs(x)", "sqrt(square(x))", spelled=True),
            Goal(
                "gelu(x)",
                "mul_scalar(mul(x, add_scalar(erf(mul(x, pow_scalar(mul_scalar(" + ONES + ", 2), -1/2))), 1)), 1/2)",
                spelled=True,
                floating=True,
            ),
        ),
        (
            Twin("silu(x)", "div(x, add_scalar(exp(x), 1))", "the sign of the exponent"),
            Twin("tanh(x)", "sigmoid(mul_scalar(x, 2))", "another function of the same exponential"),
            Twin("abs(x)", "x", "x may be negative"),
            Twin("gelu(x)", "mul_scalar(mul(x, add_scalar(erf(x), 1)), 1/2)", "the root of 2", floating=True),
        ),
    ),
    "F2": Entry(
        (
            Goal("relu(mul(exp(y), mul_scalar(x, 2)))", "mul_scalar(mul(exp(y), relu(x)), 2)"),
            Goal("relu(mul_scalar(add(x, y), 3))", "mul_scalar(relu(add(y, x)), 3)"),
            Goal("abs(mul(exp(y), mul_scalar(x, -2)))", "mul_scalar(mul(exp(y), abs(x)), 2)"),
            Goal("abs(sub(mul_scalar(x, 3), mul_scalar(y, 6)))", "mul_scalar(abs(sub(mul_scalar(y, 2), x)), 3)"),
        ),
        (
            Twin("relu(neg(x))", "neg(relu(x))", "c < 0"),
            Twin("relu(mul(y, x))", "mul(y, relu(x))", "y may be negative"),
            Twin("abs(mul(y, x))", "mul(y, abs(x))", "y may be negative"),
            Twin("silu(mul_scalar(x, 2))", "mul_scalar(silu(x), 2)", "silu is not homogeneous"),
        ),
    ),
    "F3": Entry(
        (Goal(f"relu({POSITIVE})", POSITIVE), Goal("abs(exp(x))", "exp(x)")),
        (Twin("relu(x)", "x", "x may be negative"), Twin("abs(x)", "x", "x may be negative")),
    ),
    "F4": Entry(
        (Goal("erf(add(x, y))", "erf(add(y, x))"), Goal("tanh(mul(u, x))", "tanh(mul(x, u))")),
        (Twin("tanh(x)", "sigmoid(x)", "two functions"), Twin("erf(x)", "erf(y)", "two arguments")),
    ),
    "F5": Entry(
        (
            Goal("tanh(concat(a, b, dim=1))", "concat(tanh(a), tanh(b), dim=1)"),
            Goal("recip(concat(a, b, dim=1))", "concat(recip(a), recip(b), dim=1)"),
            Goal("exp(concat(a, b, dim=1))", "concat(exp(a), exp(b), dim=1)"),
            Goal(
                "relu(concat(add(a, exp(a)), b, dim=1))",
                "concat(relu(add(a, exp(a))), relu(b), dim=1)",
            ),
        ),
        (
            Twin("exp(concat(a, b, dim=1))", "concat(exp(a), b, dim=1)", "both pieces"),
            Twin(
                "exp(add(concat(a, mul_scalar(b, 0), dim=1), concat(mul_scalar(a, 0), b, dim=1)))",
                "add(concat(exp(a), mul_scalar(b, 0), dim=1), concat(exp(mul_scalar(a, 0)), exp(b), dim=1))",
                "exp(0) is not 0",
            ),
        ),
    ),
    "F6": Entry(
        (Goal("tanh(neg(x))", "neg(tanh(x))"), Goal("erf(neg(x))", "neg(erf(x))"), Goal("abs(neg(x))", "abs(x)")),
        (
            Twin("silu(neg(x))", "neg(silu(x))", "silu is not odd"),
            Twin("relu(neg(x))", "relu(x)", "relu is not even"),
            Twin("tanh(neg(x))", "tanh(x)", "tanh is not even"),
        ),
    ),
    "F7": Entry(
        (
            Goal("relu(x)", "mul_scalar(add(x, abs(x)), 1/2)", spelled=True),
            Goal("max(x, y)", "add(y, relu(sub(x, y)))", spelled=True),
            Goal("max(x, y)", "add(x, max(sub(y, x), mul_scalar(x, 0)))", spelled=True),
            Goal("abs(sub(x, y))", "sub(max(x, y), min(x, y))", spelled=True),
            Goal("relu(neg(x))", "sub(relu(x), x)", spelled=True),
            Goal("relu(max(x, dim=1))", "mul_scalar(add(max(x, dim=1), abs(max(x, dim=1))), 1/2)", spelled=True),
        ),
        (
            Twin("max(x, y)", "add(x, relu(sub(x, y)))", "the other of the two"),
            Twin("relu(x)", "add(x, abs(x))", "half of it"),
            Twin("min(x, y)", "add(y, relu(sub(x, y)))", "the less is not the greater"),
            Twin("max(max(x, y), z)", "add(z, relu(sub(x, z)))", "three values"),
        ),
    ),
    "F8": Entry(
        (not_replayed("is_nan(sub(x, y))", "mul_scalar(x, 0)"),),
        (Twin("is_nan(x)", ONES, "a number is no NaN"),),
    ),
    # ---------------------------------------------------------------- order
    "F9": Entry(
        (
            by_order("sin(add(x, y))", "add(mul(sin(x), cos(y)), mul(cos(x), sin(y)))", floating=True),
            not_replayed("cos(mul_scalar(x, 2))", "sub(square(cos(x)), square(sin(x)))", floating=True),
            not_replayed("sin(mul_scalar(x, -2))", "mul_scalar(mul(sin(x), cos(x)), -2)", floating=True),
            by_order("add(square(sin(x)), square(cos(x)))", ONES, floating=True),
            not_replayed("cos(mul_scalar(x, 0))", ONES, floating=True),
        ),
        (
            Twin("sin(add(x, y))", "add(sin(x), sin(y))", "the sine is not linear", floating=True),
            Twin("cos(sub(x, y))", "sub(mul(cos(x), cos(y)), mul(sin(x), sin(y)))", "the sign", floating=True),
            Twin("add(square(sin(x)), square(cos(y)))", ONES, "two angles", floating=True),
            Twin("sin(mul_scalar(x, 2))", "mul_scalar(sin(x), 2)", "the sine is not homogeneous", floating=True),
        ),
    ),
    "O1": Entry(
        (
            not_replayed("relu(x)", "keep(x, positive(x))"),
            not_replayed("max(x, y)", f"add(keep(x, {X_GREATER}), drop(y, {X_GREATER}))"),
            not_replayed("sum(relu(x), dim=1)", "sum(keep(x, nonnegative(x)), dim=1)"),
        ),
        (
            Twin("max(x, y)", f"add(keep(y, {X_GREATER}), drop(x, {X_GREATER}))", "the other of the two"),
            Twin("abs(x)", "sub(keep(x, positive(x)), drop(y, positive(x)))", "y is not x"),
        ),
    ),
    "O2": Entry(
        (
            by_order("positive(neg(x))", f"sub({ONES}, nonnegative(x))"),
            by_order("positive(mul(exp(y), mul_scalar(x, 2)))", "positive(x)"),
            by_order("mul(sign(x), sign(y))", "sign(mul(x, y))"),
            by_order("abs(mul(x, y))", "mul(abs(x), abs(y))"),
            not_replayed("is_zero(mul(x, y))", "max(is_zero(x), is_zero(y))"),
            not_replayed("mul(x, sign(x))", "abs(x)"),
            by_order("div(x, x)", "abs(sign(x))"),
        ),
        (
            Twin("positive(x)", "nonnegative(x)", "x may be 0"),
            Twin("positive(neg(x))", f"sub({ONES}, positive(x))", "x may be 0"),
            Twin("positive(mul(y, x))", "positive(x)", "y may be negative"),
            Twin("positive(mul(x, x))", ONES, "x may be 0"),
            Twin("is_zero(mul(x, y))", "mul(is_zero(x), is_zero(y))", "one of them is enough"),
            Twin("div(x, x)", ONES, "x may be 0"),
        ),
    ),
    "O3": Entry(
        (
            not_replayed("min_scalar(max_scalar(x, 0), 2)", "max_scalar(min_scalar(x, 2), 0)"),
            not_replayed("min_scalar(max_scalar(x, 0), 2)", "sub(relu(x), relu(add_scalar(x, -2)))"),
            not_replayed(
                "mean(min_scalar(max_scalar(x, -1), 1), dim=1)",
                "mul_scalar(mean(sub(abs(add_scalar(x, 1)), abs(add_scalar(x, -1))), dim=1), 1/2)",
            ),
            not_replayed("mul(positive(x), nonnegative(add_scalar(x, -1)))", "nonnegative(add_scalar(x, -1))"),
        ),
        (
            Twin("min_scalar(max_scalar(x, 0), -2)", "max_scalar(min_scalar(x, -2), 0)", "2 is not less than 0"),
            Twin("mul(positive(x), positive(add_scalar(x, 1)))", "positive(add_scalar(x, 1))", "the greater border"),
            Twin("mul(nonnegative(x), nonnegative(neg(x)))", "mul_scalar(x, 0)", "x may be 0"),
            Twin("mul(positive(x), positive(y))", "positive(x)", "two values"),
        ),
    ),
    "O4": Entry(
        (
            not_replayed("keep(x, is_zero(sub(x, y)))", "keep(y, is_zero(sub(x, y)))"),
            not_replayed("keep(exp(x), is_zero(add_scalar(x, -1)))", f"keep(exp({ONES}), is_zero(add_scalar(x, -1)))"),
            not_replayed(
                "add(keep(x, nonnegative(sub(x, y))), drop(y, nonnegative(sub(x, y))))",
                f"add(keep(x, {X_GREATER}), drop(y, {X_GREATER}))",
            ),
            not_replayed("keep(tanh(add(x, y)), is_zero(add(x, y)))", "mul_scalar(x, 0)"),
        ),
        (
            Twin("keep(x, is_zero(add(x, y)))", "keep(y, is_zero(add(x, y)))", "the sign"),
            Twin("keep(x, is_zero(y))", "mul_scalar(x, 0)", "another value"),
            Twin("keep(z, is_zero(sub(x, y)))", "keep(x, is_zero(sub(x, y)))", "a third value"),
            Twin("keep(exp(x), is_zero(x))", "mul_scalar(x, 0)", "exp(0) is not 0"),
        ),
    ),
    "O5": Entry(
        (
            not_replayed("exp(relu(x))", f"add(keep(exp(x), positive(x)), drop({ONES}, positive(x)))", floating=True),
            by_order("recip(abs(x))", "abs(recip(x))"),
            not_replayed("erf(keep(x, positive(sub(x, y))))", "keep(erf(x), positive(sub(x, y)))", floating=True),
        ),
        (
            Twin("exp(relu(x))", "keep(exp(x), positive(x))", "exp(0) is not 0", floating=True),
            Twin("exp(sum(relu(x), dim=1))", "sum(relu(exp(x)), dim=1)", "the index is bound", floating=True),
            Twin("exp(relu(x))", "relu(exp(x))", "one is at least 1", floating=True),
        ),
    ),
    "O6": Entry(
        (
            not_replayed("max(exp(x), exp(y))", "exp(max(x, y))"),
            not_replayed("relu(add_scalar(exp(x), -1))", "sub(exp(relu(x)), " + ONES + ")", floating=True),
        ),
        (
            Twin("positive(sub(exp(x), mul_scalar(exp(y), 2)))", "positive(sub(x, y))", "two factors", floating=True),
            Twin("positive(add(exp(x), exp(y)))", "positive(add(x, y))", "a sum is no difference"),
            Twin("positive(sub(exp(x), exp(y)))", "positive(sub(y, x))", "exp is not decreasing"),
        ),
    ),
    "G1": Entry(
        (
            by_order("log(exp(x))", "x", floating=True),
            by_order(
                "log(mul(exp(x), add_scalar(square(y), 1)))",
                "add(x, log(add_scalar(square(y), 1)))",
                floating=True,
            ),
            by_order(
                "log(sum(exp(x), dim=1))",
                "add(log(sum(exp(sub(x, max(x, dim=1))), dim=1)), max(x, dim=1))",
                floating=True,
            ),
            not_replayed("softplus(x)", "add(relu(x), log1p(exp(neg(abs(x)))))", floating=True),
            by_order("exp(log(add_scalar(square(x), 1)))", "add_scalar(square(x), 1)", floating=True),
            by_order("log(sqrt(exp(x)))", "mul_scalar(x, 1/2)", floating=True),
        ),
        (
            Twin("log(mul(exp(x), y))", "add(x, log(y))", "y may be negative", floating=True),
            Twin("exp(log(x))", "x", "x may be negative", floating=True),
            Twin("log(square(x))", "mul_scalar(log(x), 2)", "x may be negative", floating=True),
            Twin("log(add(exp(x), exp(y)))", "add(x, y)", "a sum is no product", floating=True),
        ),
    ),
    # ---------------------------------------------------------------- pieces
    "C1": Entry(
        (
            Goal("square(concat(a, b, dim=1))", "concat(square(a), square(b), dim=1)"),
            Goal("mul(concat(a, b, dim=1), concat(exp(a), b, dim=1))", "concat(mul(a, exp(a)), square(b), dim=1)"),
        ),
        (
            Twin(
                "mul(concat(a, b, dim=1), concat(b, a, dim=1))",
                "mul_scalar(concat(a, b, dim=1), 0)",
                "[0, c) and [d, c+d) may overlap",
            ),
            Twin(
                "mul(concat(a, b, dim=1), concat(b, a, dim=1))",
                "mul(concat(mul_scalar(a, 0), b, dim=1), concat(mul_scalar(b, 0), a, dim=1))",
                "the first pieces meet, too",
            ),
            Twin(
                "mul(concat(a, b, dim=1), concat(b, a, dim=1))",
                "mul(concat(a, mul_scalar(b, 0), dim=1), concat(b, mul_scalar(a, 0), dim=1))",
                "the last pieces meet, too",
            ),
            Twin("square(concat(a, b, dim=1))", "concat(square(a), b, dim=1)", "another piece"),
        ),
    ),
    "C2": Entry(
        (
            Goal("concat(slice(x, dim=1, start=0, stop=2), slice(x, dim=1, start=2, stop=m), dim=1)", "x"),
            Goal("concat(slice(x, dim=1, start=0, stop=m/2), slice(x, dim=1, start=m/2, stop=m), dim=1)", "x"),
        ),
        (
            Twin(
                "concat(slice(x, dim=1, start=m/2, stop=m), slice(x, dim=1, start=0, stop=m/2), dim=1)",
                "x",
                "the pieces are exchanged",
            ),
            Twin(
                "concat(slice(x, dim=1, start=0, stop=m/2), slice(y, dim=1, start=m/2, stop=m), dim=1)",
                "x",
                "pieces of two tensors",
            ),
        ),
    ),
    "C3": Entry(
        (
            Goal("slice(concat(a, b, dim=1), dim=1, start=c, stop=c+d)", "b"),
            Goal("slice(concat(a, b, dim=1), dim=1, start=0, stop=c)", "a"),
            Goal("slice(concat(x, a, dim=1), dim=1, start=1, stop=m)", "slice(x, dim=1, start=1, stop=m)"),
        ),
        (
            Twin("slice(concat(a, b, dim=1), dim=1, start=d, stop=c+d)", "a", "the other piece comes first"),
            Twin(
                "slice(concat(a, b, dim=1), dim=1, start=1, stop=c+1)",
                "a",
                "off by one",
            ),
        ),
    ),
    "C4": Entry(
        (by_order(f"mul(x, {IN_FIRST})", f"concat(slice(x, dim=1, start=0, stop=1), {NOTHING_AFTER}, dim=1)"),),
        (
            Twin(
                f"mul(x, {IN_FIRST})",
                f"concat(slice(x, dim=1, start=m-1, stop=m), {NOTHING_AFTER}, dim=1)",
                "another value",
            ),
        ),
    ),
    "C5": Entry(
        (
            by_order(
                "sub(cumsum(x, dim=1), x)",
                "concat(mul_scalar(u, 0), slice(cumsum(x, dim=1), dim=1, start=0, stop=m-1), dim=1)",
            ),
        ),
        (
            Twin(
                "sub(cumsum(x, dim=1), x)",
                "concat(u, slice(cumsum(x, dim=1), dim=1, start=0, stop=m-1), dim=1)",
                "not equal in the first case",
            ),
        ),
    ),
    # ---------------------------------------------------------------- bands and masks
    "D1": Entry(
        (Goal(f"square({CAUSAL})", CAUSAL), Goal(f"mul(mul({CAUSAL}, x), {CAUSAL})", f"mul(x, {CAUSAL})")),
        (Twin(f"mul({CAUSAL}, x)", "x", "a band is also 0"), Twin(f"add({CAUSAL}, {CAUSAL})", CAUSAL, "1 + 1")),
    ),
    "D2": Entry(
        (
            Goal(
                TURNED,
                UPPER,
            ),
            Goal(
                "slice(band(rows=n, columns=m+1, low=0, high=2, dtype=f32), dim=1, start=1, stop=m+1)",
                "band(rows=n, columns=m, low=-1, high=1, dtype=f32)",
            ),
        ),
        (
            Twin(TURNED, CAUSAL, "the borders change sides"),
            Twin(
                "slice(band(rows=n, columns=m+1, low=0, high=2, dtype=f32), dim=1, start=1, stop=m+1)",
                "band(rows=n, columns=m, low=1, high=3, dtype=f32)",
                "moved the wrong way",
            ),
        ),
    ),
    "D3": Entry(
        (
            Goal("band(rows=n, columns=m, low=1-n, high=m-1, dtype=f32)", ONES),
            Goal("band(rows=n, columns=m, low=m, dtype=f32)", "mul_scalar(x, 0)"),
        ),
        (
            Twin("band(rows=n, columns=m, low=2-n, dtype=f32)", ONES, "the last row begins with 0"),
            Twin("band(rows=n, columns=m, low=m-1, dtype=f32)", "mul_scalar(x, 0)", "there is one corner left"),
            Twin("band(rows=n, columns=m, high=n, dtype=f32)", ONES, "m may be more than n"),
        ),
    ),
    "D4": Entry(
        (by_order(f"add(mul(x, {CAUSAL}), mul(x, {ABOVE}))", "x"), by_order(f"add({ABOVE}, {CAUSAL})", ONES)),
        (
            Twin(f"add(mul(x, {CAUSAL}), mul(x, {UPPER}))", "x", "the diagonal counts twice"),
            Twin(f"add(mul(x, {CAUSAL}), mul(y, {ABOVE}))", "x", "two factors"),
            Twin(f"add(mul(x, {TURNED_ROUND}), mul(x, {UPPER}))", f"mul(x, {FROM_THIRD})", "the first band is empty"),
        ),
    ),
    "D5": Entry(
        (
            by_order("reverse_cumsum(x, dim=1)", "add(sub(sum(x, dim=1), cumsum(x, dim=1)), x)"),
            by_order(f"matmul(x, {TO_NEXT})", f"add(cumsum(x, dim=1), matmul(x, {BEFORE}))"),
            by_order(f"matmul(x, {FROM_SECOND_NEXT})", f"sub(sub(cumsum(x, dim=1), x), matmul(x, {NEXT}))"),
        ),
        (
            Twin("reverse_cumsum(x, dim=1)", "sub(sum(x, dim=1), cumsum(x, dim=1))", "its own term is in both"),
            Twin(f"matmul(x, {TO_NEXT})", "cumsum(x, dim=1)", "one more term"),
        ),
    ),
    "D6": Entry(
        (
            not_replayed(
                "slice(cumsum(x, dim=1), dim=1, start=1, stop=2)", "sum(slice(x, dim=1, start=0, stop=2), dim=1)"
            ),
            by_order(f"mul(x, {FIRST_ROW})", f"mul(x, {IN_FIRST})"),
        ),
        (
            Twin(
                "slice(cumsum(x, dim=1), dim=1, start=1, stop=2)",
                "sum(slice(x, dim=1, start=1, stop=2), dim=1)",
                "a term less",
            ),
        ),
    ),
    "B1": Entry(
        (
            Goal(f"exp(mask(x, {CAUSAL}))", f"mul({CAUSAL}, exp(x))"),
            Goal(f"exp(add(mask(x, {CAUSAL}), y))", f"mul({CAUSAL}, exp(add(x, y)))"),
        ),
        (
            Twin(f"exp(mask(x, {CAUSAL}))", "exp(x)", "something is masked"),
            Twin(f"exp(mask(x, {CAUSAL}))", f"exp(mul({CAUSAL}, x))", "0 is not minus infinity"),
        ),
    ),
    "B2": Entry(
        (
            Goal(f"mul_scalar(mask(x, {CAUSAL}), 2)", f"mask(mul_scalar(x, 2), {CAUSAL})"),
            Goal(f"add(mask(x, {CAUSAL}), mask(y, {CAUSAL}))", f"mask(add(x, y), {CAUSAL})"),
            Goal(f"max(mask(mask(x, y), {CAUSAL}), dim=1)", f"max(mask(x, mul({CAUSAL}, y)), dim=1)"),
        ),
        (
            Twin(f"exp(mask(mask(x, y), {CAUSAL}))", f"exp(mask(x, add({CAUSAL}, y)))", "one of both is enough"),
            Twin(f"neg(mask(x, {CAUSAL}))", f"mask(neg(x), {CAUSAL})", "c < 0"),
            Twin(
                f"add(mask(x, {CAUSAL}), mask(y, {UPPER}))",
                f"mask(add(x, y), {CAUSAL})",
                "two masks",
            ),
        ),
    ),
    "B3": Entry(
        (
            Goal(
                f"exp(concat(mask(a, {OF_A}), mask(b, {OF_B}), dim=1))",
                f"concat(exp(mask(a, {OF_A})), exp(mask(b, {OF_B})), dim=1)",
            ),
            Goal(
                f"max(concat(mask(a, {OF_A}), b, dim=1), dim=1)",
                f"max(max(mask(a, {OF_A}), dim=1), max(b, dim=1))",
            ),
            Goal(
                f"concat(slice(mask(x, {CAUSAL}), dim=1, start=0, stop=m/2), "
                f"slice(mask(x, {CAUSAL}), dim=1, start=m/2, stop=m), dim=1)",
                f"mask(x, {CAUSAL})",
            ),
            Goal(
                f"mul_scalar(concat(mask(a, {OF_A}), mask(b, {OF_B}), dim=1), 2)",
                f"mask(mul_scalar(concat(a, b, dim=1), 2), concat({OF_A}, {OF_B}, dim=1))",
            ),
        ),
        (
            Twin(
                f"exp(concat(mask(a, {OF_A}), b, dim=1))",
                f"concat(exp(a), exp(mask(b, {OF_B})), dim=1)",
                "the other piece is masked",
            ),
            Twin(
                f"exp(concat(mask(a, {OF_A}), mask(b, {OF_B}), dim=1))",
                f"exp(mask(concat(a, b, dim=1), concat({OF_A}, add_scalar({OF_B}, 1), dim=1)))",
                "a piece that is not masked",
            ),
        ),
    ),
    # ---------------------------------------------------------------- maxima and scans
    "M1": Entry(
        (
            Goal("max(max(x, dim=0), dim=1)", "max(max(x, dim=1), dim=0)"),
            Goal("max(concat(a, b, dim=1), dim=1)", "max(max(a, dim=1), max(b, dim=1))"),
            Goal("max(expand(u, dim=1, size=m), dim=1)", "u"),
            Goal("max(x, dim=1)", TILES.replace("accum_sum($xy", "accum_max($x")),
            Goal("max(max(x, y), z)", "max(x, max(z, y))"),
        ),
        (
            Twin("max(max(x, dim=1), dim=0)", "max(sum(x, dim=1), dim=0)", "a sum is no maximum"),
            Twin("max(concat(a, b, dim=1), dim=1)", "max(a, dim=1)", "a piece is forgotten"),
            Twin(
                "max(slice(concat(a, mul_scalar(b, 0), dim=1), dim=1, start=0, stop=c+d-1), dim=1)",
                "max_scalar(max(a, dim=1), 0)",
                "the second piece may be empty",
            ),
            Twin("max(x, dim=1)", "max(slice(x, dim=1, start=1, stop=m), dim=1)", "a place is forgotten"),
        ),
    ),
    "M2": Entry(
        (
            Goal("max(add(u, x), dim=1)", "add(u, max(x, dim=1))"),
            Goal("max(add(x, z), add(y, z))", "add(z, max(x, y))"),
        ),
        (
            Twin("max(add(x, y), dim=1)", "add(max(x, dim=1), max(y, dim=1))", "y depends on the index"),
            Twin("max(add(x, z), y)", "add(z, max(x, y))", "z is not in every piece"),
        ),
    ),
    "M3": Entry(
        (
            Goal("max(mul(exp(u), x), dim=1)", "mul(exp(u), max(x, dim=1))"),
            Goal("max(mul_scalar(x, 3), mul_scalar(y, 3))", "mul_scalar(max(x, y), 3)"),
        ),
        (
            Twin("max(mul(u, x), dim=1)", "mul(u, max(x, dim=1))", "u may be negative"),
            Twin("max(neg(x), dim=1)", "neg(max(x, dim=1))", "a negative number turns the order"),
            Twin("max(mul_scalar(x, 2), y)", "mul_scalar(max(x, y), 2)", "2 is not a factor of y"),
        ),
    ),
    "M4": Entry(
        (
            Goal("max(x, neg(x))", "abs(x)"),
            Goal("max_scalar(x, 0)", "relu(x)"),
            Goal("min(x, y)", "neg(max(neg(x), neg(y)))"),
            Goal("max_scalar(square(x), -1)", "square(x)"),
        ),
        (
            Twin("max_scalar(x, -1)", "x", "x may be less"),
            Twin("max_scalar(square(x), 1)", "square(x)", "1 is positive"),
            Twin("max(x, y)", "min(x, y)", "the greater is not the less"),
            Twin("min_scalar(x, 0)", "relu(x)", "the other side of 0"),
        ),
    ),
    "M5": Entry(
        (
            Goal(halves("x"), "max(x, dim=1)"),
            Goal(f"max({halves('x')}, max(y, dim=1))", "max(max(y, x), dim=1)"),
            Goal(halves("mul(u, add(x, y))"), "max(mul(add(y, x), u), dim=1)"),
            Goal(f"add(u, {halves('x')})", "max(add(x, u), dim=1)"),
            Goal(halves(f"mask(x, {CAUSAL})"), f"max(mask(x, {CAUSAL}), dim=1)"),
            Goal(halves(f"mask(x, {WINDOW})"), f"max(mask(x, {WINDOW}), dim=1)"),
        ),
        (
            Twin(halves("x", skipped=1), "max(x, dim=1)", "a place between the pieces is forgotten"),
            Twin(halves("x", "y"), "max(x, dim=1)", "pieces of two tensors"),
            Twin(halves("x", "y"), "max(y, dim=1)", "pieces of two tensors"),
            Twin(halves("x", "mul_scalar(x, 2)"), "max(x, dim=1)", "one piece is scaled"),
            Twin(halves("x", "y"), halves("y", "x"), "the pieces change places"),
            Twin(halves(f"mask(x, {CAUSAL})", "x"), f"max(mask(x, {CAUSAL}), dim=1)", "one piece is not masked"),
            Twin(halves("x", f"mask(x, {CAUSAL})"), "max(x, dim=1)", "one piece is masked"),
            Twin(
                halves(f"mask(x, {WINDOW})", f"mask(x, {CAUSAL})"),
                f"max(mask(x, {WINDOW}), dim=1)",
                "the other piece keeps less",
            ),
            Twin("max(slice(x, dim=1, start=0, stop=m/2), dim=1)", "max(x, dim=1)", "half of it"),
        ),
    ),
    "M6": Entry(
        (
            Goal("min(x, max(x, dim=1))", "x"),
            Goal("min(max(x, dim=0), x)", "x"),
            Goal("max(x, max(x, dim=1))", "expand(max(x, dim=1), dim=1, size=m)"),
            Goal("relu(sub(max(x, dim=1), x))", "sub(max(x, dim=1), x)"),
            Goal("abs(sub(x, max(x, dim=1)))", "sub(max(x, dim=1), x)"),
            Goal("min_scalar(mul_scalar(sub(x, max(x, dim=1)), 3), 0)", "mul_scalar(sub(x, max(x, dim=1)), 3)"),
            Goal("max(max(x, dim=1), max(slice(x, dim=1, start=0, stop=m/2), dim=1))", "max(x, dim=1)"),
            Goal(f"max(max(x, dim=1), max(mask(x, {CAUSAL}), dim=1))", "max(x, dim=1)"),
            Goal(f"exp(min(mask(x, {CAUSAL}), max(mask(x, {CAUSAL}), dim=1)))", f"exp(mask(x, {CAUSAL}))"),
        ),
        (
            Twin("min(x, max(y, dim=1))", "x", "the maximum of something else"),
            Twin("relu(sub(x, max(x, dim=1)))", "sub(x, max(x, dim=1))", "the wrong way round"),
            Twin("max(max(x, dim=1), max(mul_scalar(x, 2), dim=1))", "max(x, dim=1)", "a multiple is no entry"),
            Twin(
                "max(max(x, dim=1), max(slice(x, dim=1, start=0, stop=m/2), dim=1))",
                "max(slice(x, dim=1, start=0, stop=m/2), dim=1)",
                "a part is not the whole",
            ),
            Twin(
                f"max(max(x, dim=1), max(mask(x, {CAUSAL}), dim=1))", f"max(mask(x, {CAUSAL}), dim=1)", "it keeps less"
            ),
            Twin("min(mul_scalar(x, -1), mul_scalar(max(x, dim=1), -1))", "mul_scalar(x, -1)", "a negative multiple"),
        ),
    ),
    "M7": Entry(
        (unrolled(f"max({SQUARE}, dim=1)", f"max(max({FIRST}, {SECOND}), {THIRD})"),),
        (Twin(f"max({SQUARE}, dim=1)", f"max({SECOND}, {THIRD})", "one value is missing"),),
    ),
    "L1": Entry(
        (
            Goal("sum(exp(x), dim=1)", ONLINE),
            Goal("sum(mul(exp(x), y), dim=1)", WEIGHTED),
        ),
        (
            Twin("sum(exp(x), dim=1)", ONLINE.replace("accum_rescaled($e, $m", "accum_sum($e"), "nothing is rescaled"),
            Twin("sum(exp(x), dim=1)", ONLINE.replace("accum_rescaled($e, $m", "accum_max($e"), "no sum at all"),
        ),
    ),
    "L2": Entry(
        (Goal("max(x, dim=1)", RUNNING),),
        (
            Twin("max(x, dim=1)", RUNNING.replace("accum_max($m)", "accum($m)"), "a sum of maxima"),
            Twin("sum(max(x, dim=1), dim=0)", "max(sum(x, dim=0), dim=1)", "sums and maxima do not swap"),
        ),
    ),
}


# ---------------------------------------------------------------- index terms
A, B, C, D, P = (dim(s) for s in "abcdp")
U, V, W = Var("u", A), Var("v", B), Var("w", C)
K = Var("k", A * B * C)
LONG = Var("j", A * B * C * D)
BLOCK, TILE = Var("x", B), Var("t", C)
INDEX_SIZES = [
    dict(zip("abcdp", sizes, strict=True)) for sizes in product((1, 2, 3), (2, 3), (1, 2, 4), (2, 3), (1, 2))
]


@dataclass(frozen=True)
class IndexEntry:
    """Raw terms, as written: what a rule makes one, and what it must not."""

    goals: tuple[tuple[Index, Index], ...]
    twins: tuple[tuple[Index, Index, str], ...]


def cut(i: Index, before: Dim, size: Dim, after: Dim) -> Index:
    return Digit(i, before, size, after)


SIDE = A


def on_diagonal(first: int, count: Dim = SIDE, side: Dim = SIDE) -> Index:
    """The places of the elements of a diagonal, in a square whose rows follow each other."""
    return Moved(Radix((Var("d", count), Moved(Zero(), dim(0), side + 1))), dim(first), side * side)


INDEX_ENTRIES: dict[str, IndexEntry] = {
    "I1": IndexEntry(
        ((Radix((U, Radix((V, W)))), Radix((U, V, W))), (Radix((ZERO, V, W)), Radix((V, W)))),
        ((Radix((U, Radix((V, W)))), Radix((U, W, V)), "the digits in another order"),),
    ),
    "I2": IndexEntry(
        (
            (Radix((cut(K, ONE, A, B * C), cut(K, A, B, C))), cut(K, ONE, A * B, C)),
            (Radix((cut(K, ONE, A, B * C), cut(K, A, B * C, ONE))), K),
        ),
        (
            (Radix((cut(K, A, B, C), cut(K, ONE, A, B * C))), cut(K, ONE, A * B, C), "the digits in another order"),
            (
                Radix((cut(K, ONE, A, B * C), cut(Var("l", A * B * C), A, B * C, ONE))),
                K,
                "digits of two numbers",
            ),
            (Radix((cut(K, ONE, A, B * C), cut(K, A * B, C, ONE))), cut(K, ONE, A * C, B), "a digit is left out"),
        ),
    ),
    "I3": IndexEntry(
        ((cut(K, ONE, A * B * C, ONE), K), (cut(K, A, ONE, B * C), ZERO)),
        ((cut(K, ONE, A, B * C), K, "one digit of several"), (cut(K, A, B, C), ZERO, "a digit with several values")),
    ),
    "I4": IndexEntry(
        ((cut(cut(LONG, A, B * C, D), B, C, ONE), cut(LONG, A * B, C, D)),),
        (
            (cut(cut(LONG, A, B * C, D), ONE, B, C), cut(LONG, A * B, C, D), "the other digit"),
            (cut(cut(LONG, A, B * C, D), B, C, ONE), cut(LONG, A, C, B * D), "counted from the other end"),
        ),
    ),
    "I5": IndexEntry(
        (
            (cut(Radix((U, BLOCK, TILE)), A, B, C), BLOCK),
            (cut(Radix((U, BLOCK, TILE)), A, B * C, ONE), Radix((BLOCK, TILE))),
        ),
        (
            (cut(Radix((BLOCK, TILE)), ONE, C, B), BLOCK, "the borders lie elsewhere"),
            (cut(Radix((U, BLOCK, TILE)), A, B, C), TILE, "another part"),
        ),
    ),
    "I6": IndexEntry(
        (
            (cut(Radix((Var("k", A * B), TILE)), A, B, C), cut(Var("k", A * B), A, B, ONE)),
            (
                cut(Radix((Var("k", A * B), TILE)), A, B * C, ONE),
                Radix((cut(Var("k", A * B), A, B, ONE), TILE)),
            ),
        ),
        (
            (
                cut(Radix((Var("k", A * B), TILE)), A, B, C),
                cut(Var("k", A * B), ONE, B, A),
                "cut from the other end",
            ),
            (
                cut(Radix((Var("k", B), Var("l", A * C))), A, B * C, ONE),
                Radix((cut(Var("k", B), A, B / A, ONE), Var("l", A * C))),
                "b / a need not be an integer",
            ),
        ),
    ),
    "I7": IndexEntry(
        (
            (
                cut(Radix((U, Var("k", B * C), Var("l", D * P))), A * B, C, D * P),
                cut(Var("k", B * C), B, C, ONE),
            ),
            (
                cut(Radix((W, Var("k", 6 * A), Var("l", D))), C * 2, A, D * 3),
                cut(Var("k", 6 * A), dim(2), A, dim(3)),
            ),
        ),
        (
            (
                cut(Radix((W, Var("k", B * C))), B, C * C, ONE),
                cut(Var("k", B * C), B / C, C * C, ONE),
                "c does not divide b",
            ),
            (
                cut(Radix((W, Var("k", 6 * A), Var("l", D))), C * 2, A, D * 3),
                cut(Var("k", 6 * A), dim(3), A, dim(2)),
                "the window lies elsewhere",
            ),
        ),
    ),
    "I8": IndexEntry(
        (
            (Moved(Moved(U, B, A + B), D, A + B + D), Moved(U, B + D, A + B + D)),
            (Moved(Moved(U, B, A + B), dim("b") - B - B, A), U),
        ),
        (
            (Moved(U, B, A + B), U, "moved and not moved back"),
            (Moved(Moved(U, B, A + B), D, A + B + D), Moved(U, B, A + B + D), "moved once"),
        ),
    ),
    "I9": IndexEntry(
        (
            (cut(Moved(TILE, P * C, (A + P) * C), ONE, A + P, C), Moved(Zero(), P, A + P)),
            (cut(Moved(TILE, P * C, (A + P) * C), A + P, C, ONE), TILE),
            (cut(Moved(TILE, P, A * (P + C)), A, P + C, ONE), Moved(TILE, P, P + C)),
        ),
        (
            (cut(Moved(TILE, P, A * C), A, C, ONE), TILE, "the slice begins inside a row"),
            (cut(Moved(TILE, P, A * C), A, C, ONE), Moved(TILE, P, C), "the slice may leave the first row"),
            (cut(Moved(TILE, P * C, (A + P) * C), ONE, A + P, C), Zero(), "another row"),
        ),
    ),
    "I10": IndexEntry(
        (
            (Radix((Moved(Zero(), P, A + P), TILE)), Moved(TILE, P * C, (A + P) * C)),
            (cut(Moved(Radix((BLOCK, TILE)), P * B * C, (A + P) * B * C), A + P, B, C), BLOCK),
            (
                cut(Moved(Radix((BLOCK, TILE)), P * B * C, (A + P) * B * C), ONE, (A + P) * B, C),
                Moved(BLOCK, P * B, (A + P) * B),
            ),
        ),
        (
            (Radix((Moved(Zero(), P, A + P), TILE)), Moved(TILE, P, (A + P) * C), "a row is |i| long"),
            (cut(Moved(Radix((BLOCK, TILE)), P * C, (A + P) * B * C), A + P, B, C), BLOCK, "it begins inside a row"),
        ),
    ),
    "I11": IndexEntry(
        (
            (cut(Moved(Zero(), dim(7), dim(12)), dim(2), dim(2), dim(3)), Moved(Zero(), dim(0), dim(2))),
            (cut(Moved(Zero(), dim(7), dim(12)), dim(3), dim(4), ONE), Moved(Zero(), dim(3), dim(4))),
            (cut(Moved(Zero(), dim(7), dim(12)), ONE, dim(3), dim(4)), Moved(Zero(), ONE, dim(3))),
        ),
        (
            (cut(Moved(Zero(), P, 6 * P), dim(3), dim(2), P), Moved(Zero(), dim(0), dim(2)), "a symbol has no digits"),
            (cut(Moved(Zero(), dim(7), dim(12)), ONE, dim(3), dim(4)), Moved(Zero(), dim(2), dim(3)), "another digit"),
        ),
    ),
    "I12": IndexEntry(
        (
            (cut(on_diagonal(0), ONE, SIDE, SIDE), Var("d", SIDE)),
            (cut(on_diagonal(0), SIDE, SIDE, ONE), Var("d", SIDE)),
            (cut(on_diagonal(2, dim(5), dim(7)), ONE, dim(7), dim(7)), Moved(Var("d", dim(5)), dim(0), dim(7))),
            (cut(on_diagonal(2, dim(5), dim(7)), dim(7), dim(7), ONE), Moved(Var("d", dim(5)), dim(2), dim(7))),
        ),
        (
            (cut(on_diagonal(1), SIDE, SIDE, ONE), Moved(Var("d", SIDE), ONE, SIDE), "the last one is in the next row"),
            (cut(on_diagonal(2, dim(6), dim(7)), ONE, dim(7), dim(7)), Var("d", dim(6)), "the last two are"),
        ),
    ),
}


def normal(i: Index) -> Index:
    """The term built anew, by the rules."""
    match i:
        case Zero() | Var():
            return i
        case Radix(parts):
            return radix([normal(p) for p in parts])
        case Digit(base, before, size, after):
            return digit(normal(base), before, size, after)
        case Moved(base, by, size):
            return moved(normal(base), by, size)


def variables(i: Index) -> dict[str, Dim]:
    match i:
        case Zero():
            return {}
        case Var(name, size):
            return {name: size}
        case Radix(parts):
            return {name: size for p in parts for name, size in variables(p).items()}
        case Digit(base, _, _, _) | Moved(base, _, _):
            return variables(base)


def extents_of(i: Index) -> list[Dim]:
    match i:
        case Zero():
            return []
        case Var(_, size):
            return [size]
        case Radix(parts):
            return [e for p in parts for e in extents_of(p)]
        case Digit(base, before, size, after):
            return [before, size, after, *extents_of(base)]
        case Moved(base, _, size):
            return [size, *extents_of(base)]


def index_values(left: Index, right: Index) -> list[tuple[int, int]]:
    """Both sides at all values of all variables, wherever all extents are whole."""
    found: list[tuple[int, int]] = []
    names = {**variables(left), **variables(right)}
    for sizes in INDEX_SIZES:
        if any(e.rational(sizes).denominator != 1 or e.rational(sizes) < 1 for e in extents_of(left)):
            continue
        if any(e.rational(sizes) <= 0 for e in extents_of(right)):
            continue
        for at in product(*(range(e.value(sizes)) for e in names.values())):
            here = dict(zip(names, at, strict=True))
            found.append((exact_index(left, here, sizes), exact_index(right, here, sizes)))
    return found


def exact_index(i: Index, at: Mapping[str, int], sizes: Mapping[str, int]) -> int:
    """By the definition of each term alone; a cut that is not whole takes what a careless program would."""
    match i:
        case Zero():
            return 0
        case Var(name, _):
            return at[name]
        case Radix(parts):
            total = 0
            for p in parts:
                total = total * int(extent(p).rational(sizes)) + exact_index(p, at, sizes)
            return total
        case Digit(base, _, size, after):
            whole = exact_index(base, at, sizes) // max(int(after.rational(sizes)), 1)
            return whole % max(int(size.rational(sizes)), 1)
        case Moved(base, by, _):
            return exact_index(base, at, sizes) + int(by.rational(sizes))


# ---------------------------------------------------------------- the tests
def forms(left: SGraph, right: SGraph, algebra: Algebra) -> bool:
    """Whether the verifier's own ways to a proof make them one."""
    try:
        one, other = (lower(g, algebra).values[g.output] for g in (left, right))
        if one == other or algebra.equal_when_cleared(one, other):
            return True
        return algebra.by_order and algebra.equal_by_cases(one, other)
    except NoNormalForm:
        return False


SIZES = [
    {"n": n, "m": m, "f": f, "c": c, "d": d}
    for n, m, f, c, d in product((2, 3), (2, 4, 6), (1, 2), (1, 2, 3), (1, 2, 3))
]


def instances(
    left: SGraph, right: SGraph, r: random.Random, values: tuple[Fraction, ...], floating: bool, many: int
) -> list[bool]:
    """Whether both sides are the same numbers, at some choices of inputs and of sizes at which both have a meaning."""
    found: list[bool] = []
    known = (*left.conditions(), *right.conditions())
    for _ in range(600):
        sizes = r.choice(SIZES)
        inputs = {
            i.name: np.array(
                [r.choice(values) for _ in range(i.type.elements.value(sizes))], dtype=float if floating else object
            ).reshape([d.value(sizes) for d in i.type.dims])
            for i in left.inputs
        }
        if not floating:
            inputs = {name: np.vectorize(exact, otypes=[object])(x) for name, x in inputs.items()}
        try:
            for d in known:
                d.value(sizes)
            one, other = (run(g, inputs, sizes, floating) for g in (left, right))
        except (Inexact, ShapeError):
            continue
        found.append(
            np.allclose(np.asarray(one), np.asarray(other), rtol=1e-12, atol=1e-12) if floating else one == other
        )
        if len(found) == many or (not found[-1] and many > 20):
            break
    return found


def run(g: SGraph, inputs: Mapping[str, np.ndarray], sizes: Mapping[str, int], floating: bool) -> object:
    numbers = {s: sizes[s] for s in (*g.data_symbols, *g.parameters)}
    if floating:
        with total_functions():
            return evaluate(g, inputs, numbers)
    with exact_functions():
        result = evaluate(g, inputs, numbers)
    return result.shape, [in_the_limit(exact(x)) for x in result.flat]


def named(of: str) -> list[Any]:
    rows = [(rule, item) for rule, entry in ENTRIES.items() for item in getattr(entry, of)]
    return [pytest.param(item, id=f"{rule}-{n}") for n, (rule, item) in enumerate(rows)]


def test_every_rule_has_goals_and_twins():
    assert [r.name for r in RULES] == list(ENTRIES)
    assert all(entry.goals and entry.twins for entry in ENTRIES.values())


def test_every_rule_says_when_and_why_it_holds():
    for rule in (*RULES, *index_rules.RULES):
        assert all((rule.name, rule.rule, rule.sentence, rule.condition, rule.source, rule.argument)), rule


@pytest.mark.parametrize("goal", named("goals"))
def test_two_spellings_that_a_rule_makes_one_are_proved_equal(goal: Goal):
    left, right = graph(goal.left), graph(goal.right)

    known = (*left.conditions(), *right.conditions())
    assert left != right
    assert forms(
        left,
        right,
        Algebra(expand_definitions=goal.spelled, by_order=goal.ordered, unrolled=goal.unrolled, integers=known),
    )


@pytest.mark.parametrize("goal", named("goals"))
def test_both_sides_of_a_rule_are_the_same_numbers(goal: Goal):
    found = instances(graph(goal.left), graph(goal.right), random.Random(1), goal.values, goal.floating, many=12)

    assert len(found) >= 4, "too few draws have an exact value"
    assert all(found)


@pytest.mark.parametrize("goal", [row for row in named("goals") if row.values[0].certified])
def test_the_certificate_of_a_goal_replays(goal: Goal):
    """So each rule follows from the axioms, and an independent checker agrees."""
    left, right = graph(goal.left), graph(goal.right)
    found = Candidate("f1.c1", Family("f1", TensorProgram("p", left), right), right, (), right.conditions())

    lemmas = certify(Verified(found, Proof("normal form", "", ()), ()), Journal()).proof.lemmas

    assert [] == [(x.tensor, x.operation, x.note) for x in lemmas if not x.replayed]


@pytest.mark.parametrize("twin", named("twins"))
def test_no_rule_goes_further_than_its_condition(twin: Twin):
    left, right = graph(twin.left), graph(twin.right)

    known = (*left.conditions(), *right.conditions())
    spelled = Algebra(expand_definitions=True), Algebra(unrolled=True), Algebra(by_order=True)
    for algebra in (Algebra(), Algebra(integers=known), *spelled):
        assert not forms(left, right, algebra), twin.why


@pytest.mark.parametrize("twin", named("twins"))
def test_the_two_sides_of_a_twin_really_differ(twin: Twin):
    found = instances(graph(twin.left), graph(twin.right), random.Random(2), twin.values, twin.floating, many=400)

    assert not all(found), twin.why


def index_rows(of: str) -> list[object]:
    rows = [(rule, item) for rule, entry in INDEX_ENTRIES.items() for item in getattr(entry, of)]
    return [pytest.param(*item, id=f"{rule}-{n}") for n, (rule, item) in enumerate(rows)]


def test_every_index_rule_has_goals_and_twins():
    assert [r.name for r in index_rules.RULES] == list(INDEX_ENTRIES)
    assert all(entry.goals and entry.twins for entry in INDEX_ENTRIES.values())


@pytest.mark.parametrize(("left", "right"), index_rows("goals"))
def test_two_index_terms_that_a_rule_makes_one_are_one(left: Index, right: Index):
    assert left != right
    assert extent(left) == extent(right)
    assert normal(left) == normal(right)


@pytest.mark.parametrize(("left", "right"), index_rows("goals"))
def test_both_sides_of_an_index_rule_are_the_same_numbers(left: Index, right: Index):
    found = index_values(left, right)

    assert len(found) >= 20
    assert all(one == other for one, other in found)


@pytest.mark.parametrize(("left", "right", "why"), index_rows("twins"))
def test_no_index_rule_goes_further_than_its_condition(left: Index, right: Index, why: str):
    assert normal(left) != normal(right), why
    assert any(one != other for one, other in index_values(left, right)), why
