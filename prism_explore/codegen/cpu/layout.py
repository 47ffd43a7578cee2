"""Memory layout of tensors: dense buffers, and views that are strides alone."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

from prism_explore.codegen.cpu.loop_ir import Affine, Buffer
from prism_explore.errors import ShapeError
from prism_explore.ir.ops import Expand, Permute, Reshape, Slice
from prism_explore.ir.tensors import DType, TensorType, dense_strides


def concrete_dims(t: TensorType, where: str) -> tuple[int, ...]:
    """The dims of a tensor as integers.

    Raises:
        ShapeError: one of them is not a positive integer.
    """
    found: list[int] = []
    for d in t.dims:
        if not d.constant:
            raise ShapeError(f"{where} is {t}: {d} is no positive integer; give every symbol a number")
        found.append(d.constant)
    return tuple(found)


def dense_buffer(
    name: str,
    shape: tuple[int, ...],
    order: tuple[int, ...],
    where: Literal["input", "output", "temporary"],
    dtype: DType,
) -> Buffer:
    """A dense buffer whose dims are in this memory order; the last one is contiguous."""
    return Buffer(name, shape, dense_strides(shape, order), where, dtype=dtype)


def view_buffer(name: str, op: Permute | Reshape | Expand | Slice, b: Buffer, shape: tuple[int, ...]) -> Buffer | None:
    """A view as a part of `b`; None where it cannot be expressed by strides."""
    start, strides = b.start, b.strides
    match op:
        case Permute(order):
            strides = tuple(b.strides[d] for d in order)
        case Expand(along, _):
            strides = (*b.strides[:along], 0, *b.strides[along + 1 :])
        case Slice(along, first, _):
            start += (first.constant or 0) * b.strides[along]
        case Reshape():
            found: list[int] = []
            for old, new in matching_groups(b.shape, shape):
                kept = [(b.shape[d], b.strides[d]) for d in old if b.shape[d] > 1]
                if any(s != t * n for (_, s), (n, t) in pairwise(kept)):
                    return None
                step = kept[-1][1] if kept else 0
                inner: list[int] = []
                for d in reversed(new):
                    inner.insert(0, step)
                    step *= shape[d]
                found += inner
            strides = tuple(found)
    return Buffer(name, shape, strides, b.where, b.root, start, b.dtype)


def matching_groups(old: tuple[int, ...], new: tuple[int, ...]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The dims of two shapes in groups of equal product, as many groups as possible; a dim of 1 joins a neighbour."""
    found: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    i = j = 0
    while i < len(old) or j < len(new):
        first, second = i, j
        left = right = 1
        while True:
            if left == right and (i > first or j > second) and left > 1:
                break
            if i == len(old) and j == len(new):
                break
            if left <= right and i < len(old):
                left, i = left * old[i], i + 1
            else:
                right, j = right * new[j], j + 1
        found.append((tuple(range(first, i)), tuple(range(second, j))))
    return found


def padded_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of scratch memory: row-major, with padding per row against conflicts between rows in the same cache sets.

    Sets repeat every 4 KiB, and so do the rows of most weights that are read together with the tile. One line per row
    is not enough: the rows' lines are then in adjacent sets, and the weight's lines pass through all of them. The
    padding is a multiple of two lines because the tile may be stored in bfloat16.
    """
    strides = [1] * len(shape)
    for d in range(len(shape) - 2, -1, -1):
        below = shape[d + 1] * strides[d + 1]
        padding = 160 if below % 512 == 0 else 32 if below % 128 == 0 else 0
        strides[d] = below + (padding if d == len(shape) - 2 and shape[d] > 1 else 0)
    return tuple(strides)


def row_major_index(variables: list[tuple[str, int]]) -> Affine:
    """The row-major index of a group of dims, from their variables and extents."""
    found: list[tuple[str, int]] = []
    step = 1
    for name, extent in reversed(variables):
        if extent > 1:
            found.insert(0, (name, step))
        step *= extent
    return tuple(found)
