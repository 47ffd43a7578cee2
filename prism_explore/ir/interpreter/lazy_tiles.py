"""Lazy tiles: a full tensor together with the dims that grid and loop partition, instead of a materialized tile.

If operands are partitioned alike, the tiles of an operator's result are tiles of its result on the full tensors;
`meeting` and `staying` decide where that holds. Elsewhere the axes of grid and loop move to the front of the tensor
(`in_front`), as in `vectorized`, where all of them are there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from prism_explore.ir.dims import ONE, Dim, in_symbols
from prism_explore.ir.interpreter.reference import Array
from prism_explore.ir.ops import Binary, Concat, MatMul
from prism_explore.support.caches import memoize

Cut: TypeAlias = tuple[int | None, ...]
"""Per axis of grid and loop, the dim that it cuts."""
Shape: TypeAlias = tuple[int, ...]


class Tile(NamedTuple):
    """What a node of a block graph has in each block and iteration."""

    value: int
    """Which array it is made of."""
    cut: Cut
    """What grid and loop still have to cut of it."""
    has_leading_axes: bool
    """Whether the array has their axes in front, of length 1 where it is the same along one or not cut yet."""


class Operand(NamedTuple):
    """What has to be known of a tile that meets another."""

    cut: Cut
    front: Shape
    """How long the axes in front are; empty where there are none."""
    shape: Shape
    """Of the array, without these."""


class AlignedTiles(NamedTuple):
    """How grid and loop cut what an operator gives."""

    cut: Cut
    apart: tuple[int, ...]
    """The axes along which operands are not cut alike; `cut` says nothing until they are in front."""


@memoize(8192)
def align_tiles(op: Binary | MatMul | Concat, operands: tuple[Operand, ...]) -> AlignedTiles:
    """Which dims of a result are cut where operands are; see `Meeting`."""
    rank, shapes = max(len(o.shape) for o in operands), [o.shape for o in operands]
    cut: list[int | None] = []
    apart: list[int] = []
    for n in range(len(operands[0].cut)):
        dims = [o.cut[n] for o in operands]
        place = None
        if any(d is not None for d in dims):
            place = _place(op, dims, shapes)
            if place is None or any(o.front and o.front[n] > 1 for o in operands):
                apart.append(n)
        cut.append(None if place is None else place + rank)
    return AlignedTiles(tuple(cut), tuple(apart))


def _place(op: Binary | MatMul | Concat, dims: Sequence[int | None], shapes: Sequence[Shape]) -> int | None:
    """The dim of a result, from the end, that an axis cuts where it cuts these dims of operands; None if none.

    It must be the same dim, cut in all operands that have it; or rows of the left factor, or columns of the right.
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


def with_leading_axes(array: Array, cut: Cut, axes: Mapping[int, int], numbers: Shape, led: bool) -> Array:
    """A view of an array that has some axes of grid and loop in front.

    Args:
        array: of whole dims, behind axes of length 1 where it is led.
        cut: what is cut of it.
        axes: the axes to put there, by what they cut; none of the others cuts that.
        numbers: how long each axis of grid and loop is.
        led: whether the array has such axes already.
    """
    start = len(cut) if led else 0
    others = [n for n in range(start) if n not in axes]
    shape = [array.shape[n] for n in others]
    ahead = {n: k for k, n in enumerate(others)}
    rest: list[int] = []
    for d, extent in enumerate(array.shape[start:]):
        for n in (n for n, along in axes.items() if along == d):
            ahead[n] = len(shape)
            shape.append(numbers[n])
            extent //= numbers[n]
        rest.append(len(shape))
        shape.append(extent)
    view = array.reshape(shape).transpose((*(ahead[n] for n in sorted(ahead)), *rest))
    return view[(*(slice(None) if n in ahead else None for n in range(len(cut))), ...)]


@memoize(4096)
def unmoved_tiled_dims(ours: tuple[Dim, ...], theirs: tuple[Dim, ...]) -> Mapping[int, int]:
    """The dims that a reshape leaves as they are, by position, and where they are then."""
    places = [n for n, d in enumerate(theirs) if not d.is_one]
    stays: dict[int, int] = {}
    for of_ours, of_theirs in groups(ours, theirs):
        here, places = places[: len(of_theirs)], places[len(of_theirs) :]
        if len(of_ours) == len(here) == 1:
            stays[of_ours[0]] = here[0]
    return stays


@memoize(4096)
def groups(
    ours: tuple[Dim, ...], theirs: tuple[Dim, ...]
) -> tuple[tuple[tuple[int, ...], tuple[tuple[Dim, bool], ...]], ...]:
    """The fewest dims of both sides that have one product, from the first on: ours by position, without those of 1.

    With each of theirs comes whether it means itself, as a dim alone need not, which is the other.
    """
    open_ours = [(n, d) for n, d in enumerate(ours) if not d.is_one]
    open_theirs = [d for d in theirs if not d.is_one]
    groups: list[tuple[tuple[int, ...], tuple[tuple[Dim, bool], ...]]] = []
    while open_ours or open_theirs:
        taken, given = _together([d for _, d in open_ours], open_theirs)
        here = tuple((d, given > 1 and in_symbols(d)) for d in open_theirs[:given])
        groups.append((tuple(n for n, _ in open_ours[:taken]), here))
        open_ours, open_theirs = open_ours[taken:], open_theirs[given:]
    return tuple(groups)


def _together(ours: list[Dim], theirs: list[Dim]) -> tuple[int, int]:
    """How many dims of either side, from the first on, have one product; all where no fewer do."""
    products: dict[Dim, int] = {}
    product = ONE
    for n, d in enumerate(ours, 1):
        product = product * d
        products.setdefault(product, n)
    product = ONE
    for n, d in enumerate(theirs, 1):
        product = product * d
        if product in products:
            return products[product], n
    return len(ours), len(theirs)
