"""Which bytes to draw at random for inputs that tabulated functions read.

Random bits of an 8-bit float may be a NaN, and random exponents make numbers whose products overflow. A comparison on
such inputs says nothing. So those are drawn for which a table has finite numbers, and mostly ones of moderate size.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from prism_explore.ir.elementwise import BINARY, UNARY
from prism_explore.ir.graph import SGraph
from prism_explore.ir.interpreter.whole_numbers import Drawn, TableBytes
from prism_explore.ir.ops import Binary, Concat, Expand, Input, Node, Permute, Reshape, Scalar, Slice, Unary
from prism_explore.ir.tensors import BYTE_INTEGERS, WHOLE_NUMBERS

_Values: TypeAlias = "list[npt.NDArray[np.float64]]"
"""What an element can be for each byte of the one input that it depends on: an array per place it comes from."""
_MODERATE = 2.0**12
_MOST_PLACES = 64


@lru_cache(64)
def drawn_numbers(graph: SGraph) -> Mapping[str, Drawn]:
    """How to draw the inputs of a program whose elements are whole numbers, by their names.

    Args:
        graph: of a program, without custom kernels.

    Returns:
        Per input its dtype, or the bytes to choose from.
    """
    found: dict[str, Drawn] = dict(graph.whole_inputs)
    values: list[tuple[str, _Values] | None] = []
    usable: dict[str, list[npt.NDArray[np.float64]]] = {}
    for node in graph.nodes:
        values.append(_values(node, [values[a] for a in node.args]))
        if isinstance(node.op, Unary) and UNARY[node.op.fn].entries and (made := values[-1]) is not None:
            usable.setdefault(made[0], []).extend(made[1])
    for name, results in usable.items():
        dtype = graph.whole_inputs[name]
        size = np.abs(np.array(results))
        is_finite = np.isfinite(size).all(axis=0)
        is_moderate = ((size == 0) | ((size >= 1 / _MODERATE) & (size <= _MODERATE))).all(axis=0)
        numbers = _numbers(dtype == "i8")
        finite = numbers[is_finite] if is_finite.any() else numbers
        moderate = numbers[is_moderate] if is_moderate.sum() > 1 else finite
        if len(finite) < 256 or len(moderate) < 256:
            found[name] = TableBytes(dtype, tuple(map(int, moderate)), tuple(map(int, finite)))
        else:
            found[name] = TableBytes(dtype, tuple(map(int, numbers)), tuple(map(int, numbers)))
    return found


def _numbers(is_signed: bool) -> npt.NDArray[np.float64]:
    low, high = WHOLE_NUMBERS["i8" if is_signed else "u8"]
    return np.arange(low, high + 1, dtype=np.float64)


def _values(node: Node, of: list[tuple[str, _Values] | None]) -> tuple[str, _Values] | None:
    match node.op, of:
        case Input(name, t), _ if t.dtype in BYTE_INTEGERS:
            return name, [_numbers(t.dtype == "i8")]
        case Permute() | Reshape() | Expand() | Slice(), [x]:
            return x
        case Concat(), [(a, left), (b, right)] if a == b and len(left) + len(right) <= _MOST_PLACES:
            return a, [*left, *right]
        case Unary(fn), [(name, x)]:
            with np.errstate(all="ignore"):
                return name, [UNARY[fn].numpy(v) for v in x]
        case Scalar("add" | "mul" | "max" | "min" as fn, value), [(name, x)]:
            return name, [BINARY[fn].numpy(v, float(value)) for v in x]
        case Binary("add" | "sub" | "mul" as fn), [(a, left), (b, right)] if a == b and len(left) == len(right):
            return a, [BINARY[fn].numpy(u, v) for u, v in zip(left, right, strict=True)]
        case _:
            return None
