"""Convolutions as products and sums over shifted reads of the input.

    tiles      the stride is the kernel's size (1x1 kernels, patches): one matrix product over channels and tile
    channels   one input channel per group: for each position in the kernel, a product of elements
    windows    any other: for each position in the kernel, a matrix product over channels

The products of all positions are added. A transposed convolution is one of the input with zeros between its elements,
with the kernel read backwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from math import prod
from typing import Any

from prism_explore.frontend.aten import constants
from prism_explore.frontend.aten.rearrange import padded, per_dim, steps_in, windows
from prism_explore.frontend.lower_aten import Row, Translation, Value
from prism_explore.ir.dims import ONE, ZERO, Dim

MOST_POSITIONS = 128
"""The largest kernel, in elements per channel: 11 x 11 and 5 x 5 x 5 fit. Each is an operator of the program."""


def _convolution(
    t: Translation,
    x: Any,
    weight: Any,
    bias: Any,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Value:
    """x is (batch, channels, *spatial); the weight is (results, channels per group, *kernel)."""
    kernel = t.dims(weight)[2:]
    sizes, rank = [size for d in kernel if (size := d.constant) is not None], len(kernel)
    if len(sizes) < rank:
        raise t.unsupported(f"a kernel of {' x '.join(map(str, kernel))}", "give its dims numbers")
    steps, pads, gaps, more = (per_dim(n, rank) for n in (stride, padding, dilation, output_padding))
    value, weights, ends = t.value(x), t.value(weight), [(pad, pad) for pad in pads]
    if transposed:
        weights = _exchanged(t, weights, groups)
        for along, step in enumerate(steps, 2):
            value = _spaced(t, value, along, step)
        reaches = [gap * (size - 1) for gap, size in zip(gaps, sizes, strict=True)]
        ends = [(reach - pad, reach - pad + n) for reach, pad, n in zip(reaches, pads, more, strict=True)]
        steps = [1] * rank
    for along, (before, after) in enumerate(ends, 2):
        value = padded(t, value, along, before, after, Fraction(0))
    tiles = all(size == step and (gap == 1 or size == 1) for size, step, gap in zip(sizes, steps, gaps, strict=True))
    if tiles and (groups == 1 or not t.dims_of(weights)[1].is_one):
        out = _over_tiles(t, value, weights, sizes, groups)
    else:
        out = _over_windows(t, value, weights, (sizes, steps, gaps), groups, is_backwards=transposed)
    if bias is None:
        return out
    return t.build.binary("add", out, t.at(t.reshaped(t.value(bias), (*t.dims(bias), *(ONE,) * rank))), t.line)


def _exchanged(t: Translation, weights: Value, groups: int) -> Value:
    """The weight of a transposed convolution, (channels, results per group, *kernel), as that of one that is not."""
    channels, results, *kernel = t.dims_of(weights)
    if groups == 1:
        return t.permuted(weights, [1, 0, *range(2, 2 + len(kernel))])
    count = constants.integer_dim(groups)
    split = t.reshaped(weights, (count, channels / count, results, *kernel))
    exchanged = t.permuted(split, [0, 2, 1, *range(3, 3 + len(kernel))])
    return t.reshaped(exchanged, (count * results, channels / count, *kernel))


def _spaced(t: Translation, value: Value, along: int, step: int) -> Value:
    """One dim with `step - 1` zeros between its elements."""
    if step == 1:
        return value
    *before, extent = t.dims_of(value)[: along + 1]
    after = t.dims_of(value)[along + 1 :]
    runs = padded(t, t.reshaped(value, (*before, extent, ONE, *after)), along + 1, 0, step - 1, Fraction(0))
    whole = extent * constants.integer_dim(step)
    return t.sliced(t.reshaped(runs, (*before, whole, *after)), along, ZERO, whole - (step - 1))


def _over_tiles(t: Translation, value: Value, weights: Value, sizes: Sequence[int], groups: int) -> int:
    """Side by side windows: each spatial dim as tiles, whose positions join the channels."""
    batch, channels, *spatial = t.dims_of(value)
    counts: list[Dim] = []
    for along, (extent, size) in enumerate(zip(spatial, sizes, strict=True), 2):
        counts.append(steps_in(t, extent - (size - 1), size))
        value = t.sliced(value, along, ZERO, counts[-1] * constants.integer_dim(size))
    if prod(sizes) > 1:
        split = [d for n, size in zip(counts, sizes, strict=True) for d in (n, constants.integer_dim(size))]
        value = t.reshaped(value, (batch, channels, *split))
        places = range(2, 2 + 2 * len(sizes))
        value = t.permuted(value, [0, 1, *places[1::2], *places[::2]])
    results, per_group, *_ = t.dims_of(weights)
    depth = per_group * constants.integer_dim(prod(sizes))
    columns = t.reshaped(value, (batch, channels / per_group * depth, *counts))
    product = _product_per_group(t, columns, t.reshaped(weights, (ONE, results, depth)), groups)
    return t.at(t.reshaped(product, (batch, results, *counts)))


def _over_windows(
    t: Translation,
    value: Value,
    weights: Value,
    geometry: tuple[Sequence[int], Sequence[int], Sequence[int]],
    groups: int,
    is_backwards: bool,
) -> int:
    """The sum over positions in the kernel; `geometry` is its sizes, strides and dilations."""
    count = prod(geometry[0])
    if count > MOST_POSITIONS:
        shape = " x ".join(map(str, geometry[0]))
        raise t.unsupported(f"a kernel of {shape}", f"up to {MOST_POSITIONS} elements per channel are supported")
    reads = [value]
    for along, (size, step, gap) in enumerate(zip(*geometry, strict=True), 2):
        reads = [window for read in reads for window in windows(t, read, along, size, step, gap)]
    reads = reads[::-1] if is_backwards else reads
    results, per_group, *_ = t.dims_of(weights)
    batch, _, *spatial = t.dims_of(reads[0])
    total = (_sum_over_channels if per_group.is_one else _sum_over_products)(t, reads, weights, groups)
    return t.at(t.reshaped(total, (batch, results, *spatial)))


def _sum_over_channels(t: Translation, reads: Sequence[Value], weights: Value, groups: int) -> int:
    """The sum over positions where each result has one channel: (batch, groups, results per group, *spatial)."""
    count, (batch, _, *spatial) = constants.integer_dim(groups), t.dims_of(reads[0])
    results = t.dims_of(weights)[0]
    ones = [ONE for _ in spatial[1:]]
    # With one group, or one result per group, products broadcast without a dim of their own for groups.
    joined = groups == 1 or results == count
    shape, own = ((results,), ()) if joined else ((count, results / count), (count, ONE))
    factors = t.reshaped(weights, (*shape, constants.integer_dim(len(reads)), *ones))
    products: list[int] = []
    for position, read in enumerate(reads):
        factor = t.sliced(factors, len(shape), ZERO + position, ZERO + (position + 1))
        read = t.reshaped(read, (batch, *own, *spatial)) if own else read
        products.append(t.build.binary("mul", t.at(read), t.at(factor), t.line))
    return _sum(t, products)


def _sum_over_products(t: Translation, reads: Sequence[Value], weights: Value, groups: int) -> int:
    """The sum over positions of matrix products: (batch, groups, results per group, places)."""
    results, per_group, *kernel = t.dims_of(weights)
    factors = t.permuted(weights, [*range(2, 2 + len(kernel)), 0, 1])
    factors = t.reshaped(factors, (constants.integer_dim(len(reads)), results, per_group))
    return _sum(
        t,
        [
            _product_per_group(t, read, t.sliced(factors, 0, ZERO + position, ZERO + (position + 1)), groups)
            for position, read in enumerate(reads)
        ],
    )


def _sum(t: Translation, terms: Sequence[int]) -> int:
    return reduce(lambda a, b: t.build.binary("add", a, b, t.line), terms)


def _product_per_group(t: Translation, read: Value, weights: Value, groups: int) -> int:
    """The matrix product of weights (1, results, depth) and of (batch, groups * depth, *spatial), by groups."""
    (batch, _, *spatial), (_, results, depth) = t.dims_of(read), t.dims_of(weights)
    count = constants.integer_dim(groups)
    if groups > 1:
        weights = t.reshaped(weights, (count, results / count, depth))
    columns = t.reshaped(read, (batch, *((count,) if groups > 1 else ()), depth, prod(spatial, start=ONE)))
    return t.build.matmul(t.at(weights), t.at(columns), t.line)


CONVOLUTION_ROWS: tuple[Row, ...] = (Row("convolution", "nn.functional.conv2d", _convolution),)
