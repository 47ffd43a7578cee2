"""Lookups of a constant table at positions that are computed: codebooks of weights, powers of two.

A table of up to 256 numbers is a function of one number, whose name lists them (`ir.tabulated`). A lookup of it is
that function of the positions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from prism_explore.frontend.aten.constants import MaskedConstant, Ramp
from prism_explore.frontend.lower_aten import Integers, Translation, Value, View
from prism_explore.ir.dims import Dim
from prism_explore.ir.ops import Permute, Reshape, Scalar
from prism_explore.ir.tabulated import MOST_ENTRIES, table_name


def numbers_of(t: Translation, value: Value) -> npt.NDArray[np.float64] | None:
    """The numbers of a small constant tensor under views; None for all else."""
    match value:
        case View(placeholder, order):
            found = t.known_numbers(placeholder)
            return None if found is None else found.transpose(order)
        case Integers(placeholder):
            found, order = t.known_numbers(placeholder), [d for group in value.groups for d in group]
            if found is None or value.offset:
                return None
            order += [d for d in range(found.ndim) if d not in order]
            return _reshaped(found.transpose(order), value.dims)
        case Ramp() | MaskedConstant():
            return _numbers_of_constant(value)
        case int():
            view = next((v for v, at in t.inputs.items() if at == value), None)
            if view is not None:
                return numbers_of(t, view)
            node = t.build.nodes[value]
            match node.op:
                case Reshape(dims):
                    inner = numbers_of(t, node.args[0])
                    return None if inner is None else _reshaped(inner, dims)
                case Permute(order):
                    inner = numbers_of(t, node.args[0])
                    return None if inner is None else inner.transpose(order)
                case _:
                    return None
        case _:
            return None


def _reshaped(x: npt.NDArray[np.float64], dims: Sequence[Dim]) -> npt.NDArray[np.float64] | None:
    sizes = [d.constant or 0 for d in dims]
    return x.reshape(sizes) if prod(sizes) == x.size else None


def _numbers_of_constant(value: Ramp | MaskedConstant) -> npt.NDArray[np.float64] | None:
    sizes = [d.constant or 0 for d in value.dims]
    if not 0 < prod(sizes) <= MOST_ENTRIES:
        return None
    if isinstance(value, MaskedConstant):
        is_known = value.is_uniform and value.if_true is not None
        return np.full(sizes, float(value.if_true or 0)) if is_known else None
    first = value.offset.constant
    if first is None:
        return None
    found = np.full(sizes, float(first))
    for step, at in zip(value.steps, np.indices(sizes), strict=True):
        found += step * at
    return found


def looked_up(t: Translation, table: npt.NDArray[np.float64], positions: Value, *, from_end: bool) -> int:
    """The numbers of a table at positions.

    Args:
        t: the translation.
        table: up to `MOST_ENTRIES` numbers in one dim.
        positions: whole numbers of the program.
        from_end: whether negative ones count from the end.

    Raises:
        UnsupportedOperator: some positions may be out of range, where torch raises an error.
    """
    tensor = t.tensor_of(positions)
    least, most = t.range_of(tensor)
    lowest = -table.size if from_end else 0
    if not lowest <= least <= most < table.size:
        shown = f"from {least:.0f} to {most:.0f}" if isfinite(least) and isfinite(most) else "of any size"
        raise t.unsupported(
            f"a lookup at positions {shown} in a table of {table.size} numbers",
            f"let them be from 0 to {table.size - 1} for any data, such as bits & 15 or a clamped number are",
        )
    low, high = int(np.ceil(least)), int(np.floor(most))
    return applied(t, [table[n] for n in range(low, high + 1)], tensor, low)


def power_of_two(t: Translation, exponent: int) -> int | None:
    """2 to the power of whole numbers of a few bits, exact as in torch; None for all else."""
    least, most = t.range_of(exponent)
    if not (t.is_whole(exponent) and most - least < MOST_ENTRIES):
        return None
    with np.errstate(over="ignore"):
        powers = np.exp2(np.arange(least, most + 1)).astype(np.float32)
    return applied(t, powers, exponent, int(least))


def applied(t: Translation, entries: Sequence[float] | npt.NDArray[Any], tensor: int, low: int) -> int:
    """The tabulated function whose values are these at `low`, `low + 1`, .. of whole numbers in that range."""
    node = t.build.nodes[tensor]
    if isinstance(node.op, Scalar) and node.op.fn == "add" and node.op.value.denominator == 1:
        (inner,) = node.args
        least, most = t.range_of(inner)
        if (least, most) == (low - node.op.value, low - node.op.value + len(entries) - 1):
            tensor, low = inner, int(least)
    from_zero = t.build.scalar("add", tensor, -low, t.line) if low else tensor
    return t.build.unary(table_name(entries), from_zero, t.line)


def numbers_of_tensors(tensors: Mapping[str, Any]) -> dict[str, npt.NDArray[np.float64]]:
    """The numbers of those tensors of torch that can be tables: small ones, which no training changes."""
    return {name: x.detach().cpu().double().numpy() for name, x in tensors.items() if x is not None and _is_table(x)}


def _is_table(tensor: Any) -> bool:
    is_real = 0 < tensor.numel() <= MOST_ENTRIES and not tensor.is_complex() and str(tensor.dtype) != "torch.bool"
    return is_real and not (tensor.requires_grad or tensor.is_meta or type(tensor).__name__ == "FakeTensor")
