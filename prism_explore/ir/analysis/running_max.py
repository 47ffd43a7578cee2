"""Running maxima: how values inside a loop depend on one, and which accumulators correct for it.

A running maximum m is the largest value so far. It differs from the maximum of all iterations in all iterations but the
last. A value that is computed from m depends on it in one of two ways, where u does not depend on m:

    a term     u + a*m           m itself, x - m
    a factor   u * exp(a*m)      exp(x - m), and its products with values that do not depend on m

An accumulator that is rescaled by a*m adds factors of degree -a. After the loop all of them are relative to the last
m, which is the maximum of all iterations. So the block graph computes the same as the graph in which the running
maximum is replaced by the full maximum, computed in advance, and the rescaled accumulator by a plain one. The
abstract expressions of a search use this (`generate.abstract_expr`). A value that depends on m in any other way is
forbidden: it would use a maximum that is not the last one.

Source: online softmax, arXiv 1805.02867.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, TypeAlias

from prism_explore.ir.axes import AxisNames
from prism_explore.ir.elementwise import UNARY
from prism_explore.ir.ops import (
    AccumulateRescaled,
    Binary,
    BlockOp,
    MatMul,
    Permute,
    Reduce,
    RunningMax,
    Scalar,
    Scan,
    Unary,
)

Lost: TypeAlias = Literal["lost"]
"""A value that depends on a running maximum in another way."""


@dataclass(frozen=True, slots=True)
class MaxDependence:
    """How a value depends on one running maximum."""

    name: int
    """The number of the running maximum."""
    along: frozenset[str]
    """Axes that it varies along: factors that are summed along one of them have no common factor."""
    degree: Fraction = Fraction(1)
    factor: bool = False
    """Whether it depends as a factor; else as a term."""
    pure: bool = False
    """Whether u = 0, so that a sum may be relative to it."""


def dependence_on_max(
    op: BlockOp, args: tuple[MaxDependence | None, ...], axes: tuple[AxisNames, ...], result: AxisNames, name: int
) -> MaxDependence | Lost | None:
    """How a result depends on a running maximum: None if it does not; "lost" if it does in no supported way.

    Args:
        op: a running maximum, or an operator with an operand that depends on one.
        args: how its operands depend on a running maximum.
        axes: axes of its operands.
        result: axes of its result.
        name: a unique number of the result, if it is a running maximum.

    """
    moves = _dependence(op, args, axes, result, name)
    if isinstance(moves, MaxDependence) and any(result.count(a) > 1 for a in moves.along):
        return "lost"
    return moves


def _dependence(
    op: BlockOp, args: tuple[MaxDependence | None, ...], axes: tuple[AxisNames, ...], result: AxisNames, name: int
) -> MaxDependence | Lost | None:
    match op:
        case RunningMax():
            return MaxDependence(name, frozenset(a for a in result if a), pure=True) if args[0] is None else "lost"
        case AccumulateRescaled():
            part, scale = args
            if part is None or scale is None or not part.factor or not scale.pure or part.name != scale.name:
                return "lost"
            return None if part.degree == -scale.degree else "lost"
        case Permute():
            return args[0]
        case Unary(fn):
            return _unary(fn, args[0])
        case Scalar(fn, value):
            return _scalar(fn, value, args[0])
        case Binary(fn):
            return _binary(fn, args[0], args[1])
        case MatMul():
            return _sum(_binary("mul", args[0], args[1]), axes[0][-1])
        case Reduce("sum" | "mean", along) | Scan(_, along):
            return _sum(args[0], axes[0][along])
        case _:
            return "lost"


def _of_degree(moves: MaxDependence, degree: Fraction) -> MaxDependence | None:
    return replace(moves, degree=degree) if degree else None


def _unary(fn: str, x: MaxDependence | None) -> MaxDependence | Lost | None:
    if x is None:
        return None
    if x.factor:
        degree = UNARY[fn].degree
        return _of_degree(x, x.degree * degree) if degree is not None else "lost"
    if fn == "neg":
        return _of_degree(x, -x.degree)
    return replace(x, factor=True, pure=False) if fn == "exp" else "lost"


def _scalar(fn: str, value: Fraction, x: MaxDependence | None) -> MaxDependence | Lost | None:
    match fn:
        case "mul" if x is not None:
            return x if x.factor else _of_degree(x, x.degree * value)
        case "pow" if x is not None and x.factor:
            return _of_degree(x, x.degree * value)
        case "add" if x is not None and not x.factor:
            return replace(x, pure=False)
        case _:
            return "lost"


def _binary(fn: str, a: MaxDependence | None, b: MaxDependence | None) -> MaxDependence | Lost | None:
    if fn == "mask" and a is not None and b is None:
        return "lost" if a.factor else replace(a, pure=False)
    if fn in ("keep", "drop") and a is not None and b is None:
        return replace(a, pure=False) if a.factor else "lost"
    factors, sign = fn in ("mul", "div"), -1 if fn in ("sub", "div") else 1
    if fn not in ("add", "sub", "mul", "div"):
        return "lost"
    if a is not None and b is not None:
        if a.name != b.name:
            return "lost"
        if a.factor and b.factor and not factors:
            return a if a.degree == b.degree else "lost"
        if a.factor != factors or b.factor != factors:
            return "lost"
        return _of_degree(replace(a, pure=a.pure and b.pure), a.degree + sign * b.degree)
    one = a or b
    if one is None or one.factor != factors:
        return "lost" if one else None
    one = replace(one, pure=False)
    return one if a else _of_degree(one, sign * one.degree)


def _sum(x: MaxDependence | Lost | None, axis: str | None) -> MaxDependence | Lost | None:
    """A sum along an axis: a factor that is constant along it can be taken out of the sum."""
    if not isinstance(x, MaxDependence):
        return x
    return x if x.factor and axis not in x.along else "lost"
