"""Index axes: the dims of all tensors of a program, unified and named once.

Dims that an elementwise operator aligns, or that a matmul contracts, are one axis. A map then says
for each *axis* whether it is whole, cut by a grid dim, cut by the loop, or both; imap, omap and
fmap are views of that choice. Two axes of equal extent stay two axes, so "the other dim of the
same size" is never taken by mistake.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from prism_explore.errors import ShapeError
from prism_explore.ir.dims import Dim
from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    Band,
    Binary,
    ComputeOp,
    Concat,
    Custom,
    Expand,
    Input,
    Load,
    LoopOp,
    MatMul,
    Permute,
    Reduce,
    Reshape,
    Result,
    RunningMax,
    Scalar,
    Slice,
    Store,
    Unary,
)
from prism_explore.ir.sgraph import SGraph

AxisNames: TypeAlias = tuple[str | None, ...]
"""The axis of each dim of a tensor; None for a dim of literal size 1."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A named index axis and its extent."""

    name: str
    extent: Dim


@dataclass(frozen=True, slots=True)
class AxisTable:
    """The axes of a flat kernel graph, and of every tensor in it."""

    axes: tuple[Axis, ...]
    of: tuple[AxisNames, ...]
    """Per tensor position, per dim."""

    def extent(self, name: str) -> Dim:
        """The extent of an axis."""
        for axis in self.axes:
            if axis.name == name:
                return axis.extent
        raise ShapeError(f"no axis {name!r}; there are {', '.join(a.name for a in self.axes)}")


def compute_axes(op: ComputeOp | LoopOp, operands: tuple[AxisNames, ...]) -> AxisNames | None:
    """Axes of a result, or None where operands disagree about an axis, or the result would have a new one."""
    match op:
        case Binary():
            return _align(operands[0], operands[1])
        case MatMul():
            a, b = operands
            if len(a) < 2 or len(b) < 2 or a[-1] != b[-2]:
                return None
            batch = _align(a[:-2], b[:-2])
            return None if batch is None else (*batch, a[-2], b[-1])
        case Reduce(_, along):
            return _without(operands[0], along)
        case Accumulate(_, along) | RunningMax(along):
            return _without(operands[0], along)
        case AccumulateRescaled(along):
            total, scale = _without(operands[0], along), operands[1]
            fits = len(scale) == len(total) and all(s is None or s == a for s, a in zip(scale, total, strict=True))
            return total if fits else None
        case Unary() | Scalar():
            return operands[0]
        case Permute(order):
            return tuple(operands[0][d] for d in order)
        case Reshape() | Expand() | Slice() | Concat():
            return None


def _without(axes: AxisNames, along: int | None) -> AxisNames:
    return axes if along is None else (*axes[:along], None, *axes[along + 1 :])


def _align(a: AxisNames, b: AxisNames) -> AxisNames | None:
    rank = max(len(a), len(b))
    left = (None,) * (rank - len(a)) + a
    right = (None,) * (rank - len(b)) + b
    if any(x and y and x != y for x, y in zip(left, right, strict=True)):
        return None
    return tuple(x or y for x, y in zip(left, right, strict=True))


def axes_of(graph: SGraph) -> AxisTable:
    """Name the axes of a flat kernel graph.

    A dim that is a lone symbol lends its name to its axis; the others are d, n, k, m and so on in
    order of appearance.
    """
    types = graph.types()
    parent: dict[tuple[int, int], tuple[int, int]] = {
        (t, d): (t, d) for t, ty in enumerate(types) for d, size in enumerate(ty.dims) if not size.is_one
    }

    def find(slot: tuple[int, int]) -> tuple[int, int]:
        while parent[slot] != slot:
            parent[slot] = parent[parent[slot]]
            slot = parent[slot]
        return slot

    def join(a: tuple[int, int], b: tuple[int, int]) -> None:
        if a in parent and b in parent:
            ra, rb = sorted((find(a), find(b)))
            parent[rb] = ra

    for t, node in enumerate(graph.nodes):
        rank = types[t].rank
        match node.op:
            case Input() | Band() | Reshape():
                pass
            case Permute(order):
                for d, source in enumerate(order):
                    join((t, d), (node.args[0], source))
            case Expand(along) | Slice(along) | Concat(along):
                for operand in node.args:
                    for d in range(rank):
                        if d != along:
                            join((t, d), (operand, d))
            case Custom() | Result() | Load() | Store() | Accumulate() | AccumulateRescaled() | RunningMax():
                raise ShapeError("axes are named on a flat program; a custom kernel has its own")
            case MatMul():
                a, b = node.args
                ra, rb = types[a].rank, types[b].rank
                join((a, ra - 1), (b, rb - 2))
                join((t, rank - 2), (a, ra - 2))
                join((t, rank - 1), (b, rb - 1))
                for operand, r in ((a, ra), (b, rb)):
                    for d in range(r - 2):
                        join((t, d + rank - r), (operand, d))
            case _:
                for operand in node.args:
                    r = types[operand].rank
                    for d in range(r):
                        join((t, d + rank - r), (operand, d))
    names: dict[tuple[int, int], str] = {}
    axes: list[Axis] = []
    symbols = {s for ty in types for d in ty.dims for s in d.symbols}
    spare = (c for c in (*"dnkmhevpqrstu", *(f"a{i}" for i in range(10_000))) if c not in symbols)
    for slot in sorted(parent):
        root = find(slot)
        if root in names:
            continue
        extent = types[slot[0]].dims[slot[1]]
        lone = extent.symbols[0] if len(extent.symbols) == 1 and str(extent) == extent.symbols[0] else None
        name = lone if lone and lone not in names.values() else next(spare)
        names[root] = name
        axes.append(Axis(name, extent))
    of = tuple(
        tuple(names[find((t, d))] if (t, d) in parent else None for d in range(ty.rank)) for t, ty in enumerate(types)
    )
    return AxisTable(tuple(axes), of)
