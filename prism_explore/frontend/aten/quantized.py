"""Operators of torch for quantized numbers: whole numbers of 8 bits, without their zero point, times a scale."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

from prism_explore.frontend.aten.views import transpose_last_two
from prism_explore.frontend.lower_aten import Row, Translation, Value
from prism_explore.ir.dims import ONE, Dim


def _weight_int8pack_mm(t: Translation, x: Any, weight: Any, scales: Any) -> Value:
    """x times the transposed weight, whose rows have a scale each."""
    product = t.build.matmul(t.tensor(x), t.at(transpose_last_two(t, weight)), t.line)
    return t.build.binary("mul", product, t.tensor(scales), t.line)


def _dequantized(t: Translation, x: Any, scale: Any, zero: Any, *rest: Any, per_channel: bool, **_: Any) -> Value:
    """(x - zero) * scale."""
    axis, tensor = int(rest[0]) if per_channel else None, t.tensor(x)
    return _scaled(t, _moved(t, tensor, zero, axis, -1), scale, axis)


def _quantized(t: Translation, x: Any, scale: Any, zero: Any, *rest: Any, per_channel: bool) -> Value:
    """x / scale, rounded, plus the zero point, within the bounds of the quantized dtype."""
    axis, (low, high) = (int(rest[0]), rest[1:3]) if per_channel else (None, rest[:2])
    number = t.number(scale)
    if number is not None:
        divided = t.build.scalar("mul", t.tensor(x), 1 / number, t.line)
    else:
        divided = t.build.binary("div", t.tensor(x), _along(t, scale, axis, t.dims_of(t.value(x))), t.line)
    return _within(t, _moved(t, t.build.unary("round", divided, t.line), zero, axis, 1), low, high)


def _dequantized_groups(
    t: Translation,
    x: Any,
    scales: Any,
    zeros: Any,
    low: Any,
    high: Any,
    dtype: Any,
    size: Any = 128,
    *_: Any,
    **__: Any,
) -> Value:
    """(x - zero) * scale, where `size` numbers in a row share both."""
    rows, columns = t.dims(x)
    groups = columns / int(size)
    shared = (rows, groups, ONE)
    tensor = t.at(t.reshaped(t.value(x), (rows, groups, columns / groups)))
    if zeros is not None:
        tensor = t.build.binary("sub", tensor, t.at(t.reshaped(t.value(zeros), shared)), t.line)
    found = t.build.binary("mul", tensor, t.at(t.reshaped(t.value(scales), shared)), t.line)
    return t.reshaped(found, (rows, columns))


def _dequantized_rows(t: Translation, x: Any, scales: Any, zeros: Any, *_: Any, **__: Any) -> Value:
    """(x - zero) * scale, where each row has both."""
    return t.build.binary("mul", t.build.binary("sub", t.tensor(x), t.tensor(zeros), t.line), t.tensor(scales), t.line)


def _quantized_rows(t: Translation, x: Any, scales: Any, zeros: Any, low: Any, high: Any, *_: Any) -> Value:
    """x / scale plus the zero point, rounded, within the bounds; each row has both."""
    scaled = t.build.binary("mul", t.tensor(x), t.build.unary("recip", t.tensor(scales), t.line), t.line)
    moved = t.build.unary("round", t.build.binary("add", scaled, t.tensor(zeros), t.line), t.line)
    return _within(t, moved, low, high)


def _within(t: Translation, tensor: int, low: Any, high: Any) -> int:
    return t.build.scalar("min", t.build.scalar("max", tensor, int(low), t.line), int(high), t.line)


def _moved(t: Translation, tensor: int, zero: Any, axis: int | None, sign: int) -> int:
    """Plus or minus the zero point: a number, a tensor, or none."""
    number = Fraction(0) if zero is None else t.number(zero)
    if number is None:
        uniform = t.constant_of(zero)
        number = uniform.if_true if uniform is not None else None
    if number is not None:
        return t.build.scalar("add", tensor, sign * number, t.line) if number else tensor
    other = _along(t, zero, axis, t.dims_of(tensor))
    return t.build.binary("add" if sign > 0 else "sub", tensor, other, t.line)


def _scaled(t: Translation, tensor: int, scale: Any, axis: int | None) -> int:
    number = t.number(scale)
    if number is not None:
        return t.build.scalar("mul", tensor, number, t.line)
    return t.build.binary("mul", tensor, _along(t, scale, axis, t.dims_of(tensor)), t.line)


def _along(t: Translation, x: Any, axis: int | None, dims: tuple[Dim, ...]) -> int:
    """A tensor of one number, or of one per position of a dim, as one that broadcasts with `dims`."""
    shape = [ONE] * len(dims)
    if axis is not None:
        shape[axis] = dims[axis]
    return t.at(t.reshaped(t.value(x), tuple(shape)))


QUANTIZED_ROWS: tuple[Row, ...] = (
    Row("_weight_int8pack_mm", "_weight_int8pack_mm", _weight_int8pack_mm),
    *(
        Row(f"quantized_decomposed::{name}_per_{which}", f"{name}_per_{which}", partial(lower, per_channel=is_channel))
        for name, lower in (("dequantize", _dequantized), ("quantize", _quantized))
        for which, is_channel in (("tensor", False), ("channel", True))
    ),
    *(
        Row(f"quantized_decomposed::{name}", name, lower)
        for name, lower in (
            ("dequantize_per_channel_group", _dequantized_groups),
            ("dequantize_per_token", _dequantized_rows),
            ("quantize_per_token", _quantized_rows),
        )
    ),
)
