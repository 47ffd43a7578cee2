"""Pooling: reductions of windows, as reductions of a reshape where windows tile, else as combinations of slices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from math import prod
from typing import Any, cast

from prism_explore.frontend.aten import constants
from prism_explore.frontend.aten.rearrange import padded, per_dim, steps_in, windows
from prism_explore.frontend.aten.views import drop_dims
from prism_explore.frontend.lower_aten import LARGEST, Row, Translation, Unused, Value
from prism_explore.ir.dims import ONE, ZERO, Dim
from prism_explore.ir.ops import ReduceFn


def _pooled(t: Translation, value: Value, along: int, size: int, step: int, gap: int, fn: ReduceFn) -> int:
    """The windows of one dim, summed or reduced to their maxima."""
    dims, width = t.dims_of(value), constants.integer_dim(size)
    if gap == 1 and step == size:
        count = steps_in(t, dims[along] - (size - 1), size)
        split = t.reshaped(
            t.sliced(value, along, ZERO, count * width), (*dims[:along], count, width, *dims[along + 1 :])
        )
        return t.at(drop_dims(t, t.build.reduce(fn, t.at(split), along + 1, t.line), [along + 1]))
    first, *rest = (t.at(w) for w in windows(t, value, along, size, step, gap))
    for part in rest:
        first = t.build.binary("max" if fn == "max" else "add", first, part, t.line)
    return first


def _missing(t: Translation, extent: Dim, size: int, step: int, pad: int, gap: int) -> int:
    """Elements to append so that ceil mode's last, partial window is whole."""
    length = (extent + 2 * pad - (gap * (size - 1) + 1)).constant
    if length is None:
        raise t.unsupported("ceil_mode over a symbolic dim", "give the dim a number")
    steps = -(-length // step)
    # A window that begins in the padding on the right is dropped.
    steps -= steps * step >= (extent.constant or 0) + pad
    return max(0, steps * step - length)


def strides(given: Any, sizes: list[int]) -> list[int]:
    """One stride per spatial dim; windows are side by side if none is given."""
    return per_dim(given, len(sizes)) if given not in ((), [], None) else sizes


def _max_pool(
    t: Translation,
    x: Any,
    size: Any,
    stride: Any = (),
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    *,
    rank: int,
) -> Value:
    tensor = t.tensor(x)
    sizes, pads, gaps = (per_dim(n, rank) for n in (size, padding, dilation))
    steps = strides(stride, sizes)
    value: Value = tensor
    lowest = -Fraction(LARGEST[t.build.type_of(tensor).dtype])
    for n, along in enumerate(_last_dims(t, x, rank)):
        extra = _missing(t, t.dims(x)[along], sizes[n], steps[n], pads[n], gaps[n]) if ceil_mode else 0
        if pads[n] or extra:
            value = padded(t, value, along, pads[n], pads[n] + extra, lowest)
        value = _pooled(t, value, along, sizes[n], steps[n], gaps[n], "max")
    return value


def _last_dims(t: Translation, x: Any, count: int) -> list[int]:
    rank = len(t.dims(x))
    return list(range(rank - count, rank))


def _avg_pool(
    t: Translation,
    x: Any,
    size: Any,
    stride: Any = (),
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    rank: int,
) -> Value:
    axes = _last_dims(t, x, rank)
    sizes, pads = (per_dim(n, len(axes)) for n in (size, padding))
    steps = strides(stride, sizes)
    dims = t.dims(x)
    extra = [
        _missing(t, dims[a], k, s, p, 1) if ceil_mode else 0
        for a, k, s, p in zip(axes, sizes, steps, pads, strict=True)
    ]
    total = _window_sums(t, t.tensor(x), axes, sizes, steps, pads, extra)
    if divisor_override:
        return t.build.scalar("mul", total, Fraction(1, int(divisor_override)), t.line)
    if not any(extra) and (count_include_pad or not any(pads)):
        return t.build.scalar("mul", total, Fraction(1, prod(sizes)), t.line)
    # The number of elements of each window, as the same sums of ones.
    ones: Value = t.at(constants.constant(tuple(dims[a] for a in axes), Fraction(1)))
    own = list(range(len(axes)))
    if count_include_pad:
        for a in own:
            ones = padded(t, ones, a, pads[a], pads[a], Fraction(1))
        counts = _window_sums(t, t.at(ones), own, sizes, steps, [0] * len(own), extra)
    else:
        counts = _window_sums(t, t.at(ones), own, sizes, steps, pads, extra)
    return t.build.binary("div", total, counts, t.line)


def _window_sums(
    t: Translation, x: int, axes: list[int], sizes: list[int], steps: list[int], pads: list[int], extra: list[int]
) -> int:
    value: Value = x
    for along, size, step, pad, more in zip(axes, sizes, steps, pads, extra, strict=True):
        if pad or more:
            value = padded(t, value, along, pad, pad + more, Fraction(0))
        value = _pooled(t, value, along, size, step, 1, "sum")
    return t.at(value)


# ---------------------------------------------------------------- pooling to a given size
def _adaptive(fn: ReduceFn, rank: int) -> Callable[..., Value]:
    def lower(t: Translation, x: Any, sizes: Any) -> Value:
        value: Value = t.tensor(x)
        axes = _last_dims(t, x, rank)
        for along, size in zip(axes, cast("Sequence[Any]", sizes), strict=True):
            value = _adapted(t, value, along, t.dims(x)[along] if size is None else t.size(size), fn)
        return value

    return lower


def _adapted(t: Translation, value: Value, along: int, size: Dim, fn: ReduceFn) -> Value:
    """One dim cut into `size` windows of about equal length, each reduced."""
    dims = t.dims_of(value)
    extent = dims[along]
    if size == extent:
        return value
    each = extent / size
    if all(c.denominator == 1 for _, c in each.terms):
        split = t.reshaped(value, (*dims[:along], size, each, *dims[along + 1 :]))
        return drop_dims(t, t.build.reduce(fn, t.at(split), along + 1, t.line), [along + 1])
    n, m = extent.constant, size.constant
    if n is None or m is None:
        raise t.unsupported(f"pooling a dim of {extent} to {size}", "a number that divides the dim is supported")
    bounds = [(i * n // m, -(-(i + 1) * n // m)) for i in range(m)]
    return t.concatenated(
        [t.build.reduce(fn, t.at(t.sliced(value, along, ZERO + a, ZERO + b)), along, t.line) for a, b in bounds], along
    )


def _with_positions(lower: Callable[..., Value]) -> Callable[..., Value]:
    def both(t: Translation, x: Any, *arguments: Any, **named: Any) -> Value:
        return lower(t, x, *arguments, **named), Unused("the positions of maxima")

    return both


def _patches(t: Translation, x: Any, size: Any, dilation: Any, padding: Any, stride: Any) -> Value:
    """torch.nn.Unfold: each window's elements as a column."""
    sizes, gaps, pads, steps = (per_dim(n, 2) for n in (size, dilation, padding, stride))
    value, axes = t.value(x), _last_dims(t, x, 2)
    for along, pad in zip(axes, pads, strict=True):
        value = padded(t, value, along, pad, pad, Fraction(0)) if pad else value
    parts: list[int] = []
    for row in windows(t, value, axes[0], sizes[0], steps[0], gaps[0]):
        for part in windows(t, row, axes[1], sizes[1], steps[1], gaps[1]):
            *batch, channels, rows, columns = t.dims_of(part)
            parts.append(t.at(t.reshaped(part, (*batch, channels, ONE, rows * columns))))
    *batch, channels, _, places = t.dims_of(parts[0])
    return t.reshaped(t.concatenated(parts, len(batch) + 1), (*batch, channels * prod(sizes), places))


POOLING_ROWS: tuple[Row, ...] = (
    Row("im2col", "nn.functional.unfold", _patches),
    *(Row(f"max_pool{n}d", f"nn.functional.max_pool{n}d", partial(_max_pool, rank=n)) for n in (1, 2, 3)),
    *(
        Row(f"max_pool{n}d_with_indices", f"nn.functional.max_pool{n}d", _with_positions(partial(_max_pool, rank=n)))
        for n in (2, 3)
    ),
    *(Row(f"avg_pool{n}d", f"nn.functional.avg_pool{n}d", partial(_avg_pool, rank=n)) for n in (1, 2, 3)),
    *(Row(f"adaptive_avg_pool{n}d", f"nn.functional.adaptive_avg_pool{n}d", _adaptive("mean", n)) for n in (1, 2, 3)),
    *(
        Row(f"adaptive_max_pool{n}d", f"nn.functional.adaptive_max_pool{n}d", _with_positions(_adaptive("max", n)))
        for n in (1, 2, 3)
    ),
)
