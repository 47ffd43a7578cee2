"""Which numbers an operator's result can have, and whether they are whole, from the dtypes of the inputs.

Code that computes with integers of a few bits means real numbers only while nothing wraps around. The frontend asks
here, and refuses what may.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf, isfinite
from typing import TypeAlias

from prism_explore.ir.elementwise import BITS, CASTS, UNARY
from prism_explore.ir.ops import (
    Band,
    Binary,
    Concat,
    Expand,
    Input,
    Lookup,
    MatMul,
    Node,
    Permute,
    Reduce,
    Reshape,
    Scalar,
    Slice,
    Unary,
)
from prism_explore.ir.tensors import WHOLE_NUMBERS, TensorType

Range: TypeAlias = tuple[float, float]
ANY: Range = (-inf, inf)
_ROUNDING = frozenset({"floor", "ceil", "round", "trunc"})


def value_ranges(nodes: Sequence[Node], types: Sequence[TensorType], known: Mapping[int, Range]) -> list[Range]:
    """The smallest and the largest number that each node's elements can be.

    Args:
        nodes: of a graph without custom kernels.
        types: the type of each node.
        known: narrower ranges of some nodes, from what is known of them otherwise.

    Returns:
        A range per node; `ANY` for what is not a number of few bits or made of such.
    """
    ranges: list[Range] = []
    for position, node in enumerate(nodes):
        of = [ranges[a] for a in node.args]
        ranges.append(known.get(position) or _range(node, of, [types[a] for a in node.args], types[position]))
    return ranges


def _range(node: Node, of: Sequence[Range], operands: Sequence[TensorType], own: TensorType) -> Range:
    match node.op:
        case Input():
            return WHOLE_NUMBERS.get(own.dtype, ANY)
        case Band(_, _, low, high):
            return (1.0, 1.0) if low is None and high is None else (0.0, 1.0)
        case Permute() | Reshape() | Expand() | Slice() | Lookup():
            return of[0]
        case Concat() | Binary("max" | "min"):
            return _hull(of)
        case Unary(fn) if fn in _ROUNDING:
            numpy = UNARY[fn].numpy
            return tuple(x if abs(x) == inf else float(numpy(x)) for x in of[0])  # pyright: ignore[reportReturnType]
        case Unary(fn) if fn in CASTS and fn != "to_bool":
            return of[0]
        case Unary(fn) if fn in BITS:
            return (0.0, 1.0)
        case Unary(fn) if UNARY[fn].entries and all(map(isfinite, UNARY[fn].entries)):
            return UNARY[fn].range.low, UNARY[fn].range.high
        case Unary("neg"):
            return -of[0][1], -of[0][0]
        case Unary("relu"):
            return max(of[0][0], 0.0), max(of[0][1], 0.0)
        case Unary("sign"):
            return -1.0, 1.0
        case Unary("abs"):
            return max(of[0][0], -of[0][1], 0.0), max(-of[0][0], of[0][1])
        case Scalar("add", value):
            return of[0][0] + float(value), of[0][1] + float(value)
        case Scalar("mul", value):
            return _product(of[0], (float(value), float(value)))
        case Scalar("max", value):
            return max(of[0][0], float(value)), max(of[0][1], float(value))
        case Scalar("min", value):
            return min(of[0][0], float(value)), min(of[0][1], float(value))
        case Binary("add"):
            return of[0][0] + of[1][0], of[0][1] + of[1][1]
        case Binary("sub"):
            return of[0][0] - of[1][1], of[0][1] - of[1][0]
        case Binary("mul"):
            return _product(*of)
        case Binary("div") if of[1][0] > 0.0:
            return _product(of[0], (1.0 / of[1][1], 1.0 / of[1][0]))
        case Binary("keep" | "drop"):
            return _hull((of[0], (0.0, 0.0)))
        case Reduce("sum", along):
            return _repeated(of[0], operands[0].dims[along].constant)
        case Reduce("mean" | "max", _):
            return of[0]
        case MatMul():
            return _repeated(_product(*of), operands[0].dims[-1].constant)
        case _:
            return ANY


def _hull(of: Iterable[Range]) -> Range:
    lows, highs = zip(*of, strict=True)
    return min(lows), max(highs)


def _product(a: Range, b: Range) -> Range:
    products = [x * y if x and y else 0.0 for x in a for y in b]
    return min(products), max(products)


def _repeated(summand: Range, times: int | None) -> Range:
    """The range of a sum of so many; a symbolic number of them is taken as few."""
    return _product(summand, (1.0, float(times or 1)))


def are_whole(nodes: Sequence[Node], types: Sequence[TensorType]) -> list[bool]:
    """Whether all elements of each node are whole numbers for certain.

    Args:
        nodes: of a graph without custom kernels.
        types: the type of each node.
    """
    whole: list[bool] = []
    for position, node in enumerate(nodes):
        match node.op:
            case Input():
                found = types[position].dtype in WHOLE_NUMBERS
            case Band():
                found = True
            case Unary(fn) if fn in _ROUNDING or fn in BITS:
                found = True
            case Unary(fn):
                entries = UNARY[fn].entries
                is_kept = (fn in CASTS or fn in ("neg", "abs")) and whole[node.args[0]]
                found = all(map(float.is_integer, entries)) if entries else is_kept
            case Scalar("add" | "mul" | "max" | "min", value):
                found = value.denominator == 1 and whole[node.args[0]]
            case (
                Permute()
                | Reshape()
                | Expand()
                | Slice()
                | Concat()
                | Binary("add" | "sub" | "mul" | "max" | "min" | "keep" | "drop")
                | Reduce("sum" | "max", _)
                | MatMul()
            ):
                found = all(whole[a] for a in node.args)
            case Lookup():
                found = whole[node.args[0]]
            case _:
                found = False
        whole.append(found)
    return whole
