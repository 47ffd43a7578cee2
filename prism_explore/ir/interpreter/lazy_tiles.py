"""Lazy tiles: a full tensor together with the dims that grid and loop partition, instead of a materialized tile.

If operands are partitioned alike, the tiles of an operator's result are tiles of its result on the full tensors;
`align_tiles` and `unchanged_dims` decide where that holds. Elsewhere the axes of grid and loop become leading axes of
the tensor (`with_leading_axes`), as all of them are in `vectorized`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from prism_explore.ir.dims import ONE, Dim, is_only_symbols
from prism_explore.ir.interpreter.reference import Array
from prism_explore.ir.ops import Binary, Concat, MatMul
from prism_explore.support.caches import memoize

Partitioned: TypeAlias = tuple[int | None, ...]
"""Per axis of grid and loop, the dim that it partitions."""
Shape: TypeAlias = tuple[int, ...]


class Tile(NamedTuple):
    """The value of a block graph's node in all blocks and iterations."""

    value: int
    """The number of an array."""
    partitioned: Partitioned
    """The dims that are not partitioned in the array yet."""
    has_leading_axes: bool
    """Whether the array has the axes of grid and loop in front, of length 1 if it is the same along one or is not
    partitioned yet."""


class Operand(NamedTuple):
    """The shape of a tile that is an operand together with others."""

    partitioned: Partitioned
    leading: Shape
    """Lengths of the leading axes; empty if there are none."""
    shape: Shape
    """Of the array, without leading axes."""


class AlignedTiles(NamedTuple):
    """How grid and loop partition an operator's result."""

    partitioned: Partitioned
    misaligned: tuple[int, ...]
    """The axes of grid and loop that do not partition operands alike; `partitioned` is invalid unless it is empty."""


@memoize(8192)
def align_tiles(op: Binary | MatMul | Concat, operands: tuple[Operand, ...]) -> AlignedTiles:
    """The partitioned dims of a result, given those of the operands."""
    rank, shapes = max(len(o.shape) for o in operands), [o.shape for o in operands]
    partitioned: list[int | None] = []
    misaligned: list[int] = []
    for n in range(len(operands[0].partitioned)):
        dims = [o.partitioned[n] for o in operands]
        place = None
        if any(d is not None for d in dims):
            place = _partitioned_dim(op, dims, shapes)
            if place is None or any(o.leading and o.leading[n] > 1 for o in operands):
                misaligned.append(n)
        partitioned.append(None if place is None else place + rank)
    return AlignedTiles(tuple(partitioned), tuple(misaligned))


def _partitioned_dim(op: Binary | MatMul | Concat, dims: Sequence[int | None], shapes: Sequence[Shape]) -> int | None:
    """The dim of a result, counted from the end, that an axis partitions if it partitions these dims of operands.

    None if there is none. It must be the same dim, partitioned in all operands that have it; of a matrix product, rows
    of the left factor or columns of the right one.
    """
    places = {d - len(shape) for d, shape in zip(dims, shapes, strict=True) if d is not None}
    if len(places) != 1:
        return None
    (place,) = places
    extents = [shape[place] if len(shape) >= -place else 1 for shape in shapes]
    match op:
        case MatMul() if place >= -2:
            return place if dims[-1 - place] is None else None
        case Concat(along):
            return place if dims.count(along) == dims.count(None) == 0 else None
        case _:
            longest = max(extents)
            alike = all(e == (1 if d is None else longest) for d, e in zip(dims, extents, strict=True))
            return place if alike else None


def with_leading_axes(
    array: Array, partitioned: Partitioned, axes: Mapping[int, int], counts: Shape, led: bool
) -> Array:
    """A view of an array with axes of grid and loop in front.

    Args:
        array: of full dims, after axes of length 1 if it has leading axes.
        partitioned: per axis of grid and loop, the dim that it partitions.
        axes: the axes that become leading ones, and the dim that each partitions; no other axis partitions these dims.
        counts: the length of each axis of grid and loop.
        led: whether the array has leading axes.
    """
    start = len(partitioned) if led else 0
    others = [n for n in range(start) if n not in axes]
    shape = [array.shape[n] for n in others]
    leading = {n: k for k, n in enumerate(others)}
    rest: list[int] = []
    for d, extent in enumerate(array.shape[start:]):
        for n in (n for n, along in axes.items() if along == d):
            leading[n] = len(shape)
            shape.append(counts[n])
            extent //= counts[n]
        rest.append(len(shape))
        shape.append(extent)
    view = array.reshape(shape).transpose((*(leading[n] for n in sorted(leading)), *rest))
    return view[(*(slice(None) if n in leading else None for n in range(len(partitioned))), ...)]


@memoize(4096)
def ungrouped_dims(before: tuple[Dim, ...], after: tuple[Dim, ...]) -> Mapping[int, int]:
    """The dims that a reshape neither splits nor merges: their positions before, and after."""
    positions = [n for n, d in enumerate(after) if not d.is_one]
    found: dict[int, int] = {}
    for old, sizes in reshape_groups(before, after):
        new, positions = positions[: len(sizes)], positions[len(sizes) :]
        if len(old) == len(new) == 1:
            found[old[0]] = new[0]
    return found


@memoize(4096)
def reshape_groups(
    before: tuple[Dim, ...], after: tuple[Dim, ...]
) -> tuple[tuple[tuple[int, ...], tuple[tuple[Dim, bool], ...]], ...]:
    """The smallest groups of consecutive dims with the same product before and after a reshape, dims of 1 left out.

    Returns:
        Per group, the positions of the dims before, and the dims after. With each dim after comes whether its value
        is that of its symbols; the only dim of a group has the extent of the group instead.
    """
    old = [(n, d) for n, d in enumerate(before) if not d.is_one]
    new = [d for d in after if not d.is_one]
    groups: list[tuple[tuple[int, ...], tuple[tuple[Dim, bool], ...]]] = []
    while old or new:
        old_count, new_count = _shortest_equal_products([d for _, d in old], new)
        group = tuple((d, new_count > 1 and is_only_symbols(d)) for d in new[:new_count])
        groups.append((tuple(n for n, _ in old[:old_count]), group))
        old, new = old[old_count:], new[new_count:]
    return tuple(groups)


def _shortest_equal_products(before: list[Dim], after: list[Dim]) -> tuple[int, int]:
    """The fewest leading dims of both sides with the same product; all of them if there are none."""
    products: dict[Dim, int] = {}
    product = ONE
    for n, d in enumerate(before, 1):
        product = product * d
        products.setdefault(product, n)
    product = ONE
    for n, d in enumerate(after, 1):
        product = product * d
        if product in products:
            return products[product], n
    return len(before), len(after)
