"""The typing rules of index axes: the axis of each dim of an operator's result, given the axes of its operands.

There is one rule per operator. The rules are generic in the *label* of an axis: a name, a union-find slot, a variable.
The caller decides what happens if an operator requires two labels to be the same axis:

    align      two dims of an elementwise operator; either may have size 1
    contract   the two inner dims of a matrix product

Both get the two labels; `align` returns the label of the result's dim. Dims of literal size 1 have the label `absent`.

The axes of a reshape depend on the extents, so the callers compute them; see `ir.axes.unchanged_dims`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    Binary,
    ComputeOp,
    Concat,
    Expand,
    Lookup,
    LoopOp,
    MatMul,
    Op,
    Permute,
    Reduce,
    Reshape,
    RunningMax,
    Scalar,
    Scan,
    Slice,
    Unary,
)

Label = TypeVar("Label")


def result_axes(
    op: ComputeOp | Lookup | LoopOp,
    operands: tuple[tuple[Label, ...], ...],
    *,
    absent: Label,
    fresh: Callable[[int], Label],
    align: Callable[[Label, Label], Label],
    contract: Callable[[Label, Label], object],
) -> tuple[Label, ...]:
    """The label of each dim of a result.

    Args:
        op: any operator that computes, except a reshape.
        operands: per operand, the label of each dim; a matrix product's have two dims or more.
        absent: the label of a dim of literal size 1.
        fresh: the label of a result's dim that is no dim of an operand, by its position.
        align: called with the labels of two dims that an elementwise operator aligns, `absent` included.
        contract: called with the labels of the two dims that a matrix product contracts.
    """

    def aligned(a: tuple[Label, ...], b: tuple[Label, ...]) -> tuple[Label, ...]:
        rank = max(len(a), len(b))
        left, right = ((absent,) * (rank - len(s)) + s for s in (a, b))
        return tuple(map(align, left, right))

    match op:
        case Unary() | Scalar() | Scan():
            return operands[0]
        case Binary():
            return aligned(*operands)
        case MatMul():
            a, b = operands
            contract(a[-1], b[-2])
            return (*aligned(a[:-2], b[:-2]), a[-2], b[-1])
        case Reduce(_, along) | Accumulate(_, along) | RunningMax(along):
            return _with_dim(operands[0], along, absent)
        case AccumulateRescaled(along):
            return aligned(_with_dim(operands[0], along, absent), operands[1])
        case Permute(order):
            return tuple(operands[0][d] for d in order)
        case Lookup(along, batch):
            table, integers = operands
            shared = (align(a, b) for a, b in zip(table[:batch], integers[:batch], strict=True))
            return (*shared, *table[batch:along], *integers[batch:], *table[along + 1 :])
        case Expand(along, _) | Slice(along, _, _):
            return _with_dim(operands[0], along, fresh(along))
        case Concat(along):
            sides = (_with_dim(o, along, absent) for o in operands)
            return _with_dim(aligned(*sides), along, fresh(along))
        case Reshape():
            raise AssertionError("the axes of a reshape depend on its extents")


def _with_dim(labels: tuple[Label, ...], along: int | None, label: Label) -> tuple[Label, ...]:
    return labels if along is None else (*labels[:along], label, *labels[along + 1 :])


def scanned_axis(op: Op, operands: tuple[tuple[Label, ...], ...]) -> Label | None:
    """The label of the dim along which an operator scans, so that it needs all of it; None if there is none."""
    return operands[0][op.dim] if isinstance(op, Scan) else None


def uncut_axis(op: Op, operands: tuple[tuple[Label, ...], ...]) -> Label | None:
    """The label of the dim that an operator reduces, contracts or scans; None if there is none."""
    return reduced_axis(op, operands) or scanned_axis(op, operands)


def reduced_axis(op: Op, operands: tuple[tuple[Label, ...], ...]) -> Label | None:
    """The label of the dim that an operator reduces or contracts; None if there is none."""
    match op:
        case MatMul():
            return operands[0][-1]
        case Reduce(_, int() as along) | Accumulate(_, int() as along):
            return operands[0][along]
        case RunningMax(int() as along) | AccumulateRescaled(int() as along):
            return operands[0][along]
        case _:
            return None
