"""Index axes: the dims of all tensors of a program, unified and named once.

Dims that an elementwise operator aligns, or that a matmul contracts, are one axis. A map then says
for each *axis* whether it is whole, cut by a grid dim, cut by the loop, or both; imap, omap and
fmap are views of that choice. Two axes of equal extent stay two axes, so "the other dim of the
same size" is never taken by mistake.

A dim that a view leaves as it is keeps its axis. Of a reshape these are the dims before and behind those that are
regrouped, dims of size 1 aside. Equal views of tensors with the same axes give the same axes; what a view gives,
and of what, is read off the program (`AxisTable.views`), because the axes of a part of a dim follow from its uses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from prism_explore.errors import ShapeError
from prism_explore.ir.dims import Dim
from prism_explore.ir.graph import SGraph
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
    Op,
    Permute,
    Reduce,
    Reshape,
    Result,
    RunningMax,
    Scalar,
    Slice,
    Store,
    Unary,
    ViewOp,
)
from prism_explore.ir.tensors import TensorType
from prism_explore.support.union_find import UnionFind

Slot: TypeAlias = tuple[int, int]
"""A tensor's position and one of its dims."""
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
    views: Mapping[tuple[Op, tuple[AxisNames, ...]], AxisNames] = field(
        default_factory=dict[tuple[Op, tuple[AxisNames, ...]], AxisNames]
    )
    """Per view of the program and axes of its operands, the axes that it gives."""

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


def matched(op: ComputeOp | LoopOp, operands: tuple[AxisNames, ...]) -> Iterator[tuple[str, str]]:
    """The axes that an operator takes for one another: by the dims that it aligns, and by those that it contracts."""
    match op:
        case Binary():
            pairs = _beside(operands[0], operands[1])
        case MatMul():
            a, b = operands
            pairs = [*_beside(a[:-2], b[:-2]), (a[-1], b[-2])] if len(a) > 1 and len(b) > 1 else []
        case AccumulateRescaled(along):
            pairs = _beside(_without(operands[0], along), operands[1])
        case _:
            pairs = []
    for x, y in pairs:
        if x and y:
            yield x, y


def _beside(a: AxisNames, b: AxisNames) -> list[tuple[str | None, str | None]]:
    rank = max(len(a), len(b))
    left, right = ((None,) * (rank - len(s)) + s for s in (a, b))
    return list(zip(left, right, strict=True))


def _without(axes: AxisNames, along: int | None) -> AxisNames:
    return axes if along is None else (*axes[:along], None, *axes[along + 1 :])


def _align(a: AxisNames, b: AxisNames) -> AxisNames | None:
    pairs = _beside(a, b)
    if any(x and y and x != y for x, y in pairs):
        return None
    return tuple(x or y for x, y in pairs)


def axes_of(graph: SGraph) -> AxisTable:
    """Name the axes of a flat kernel graph.

    A dim that is a lone symbol lends its name to its axis; the others are d, n, k, m and so on in
    order of appearance.
    """
    types = graph.types()
    same = UnionFind((t, d) for t, ty in enumerate(types) for d, size in enumerate(ty.dims) if not size.is_one)

    def join(a: Slot, b: Slot) -> None:
        if a in same and b in same:
            same.union(a, b)

    for t, node in enumerate(graph.nodes):
        rank = types[t].rank
        match node.op:
            case Input() | Band():
                pass
            case Reshape():
                operand = node.args[0]
                for d, source in unmoved(types[operand].dims, types[t].dims):
                    join((t, d), (operand, source))
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
    _agree(graph, types, same.find, join)
    names: dict[Slot, str] = {}
    axes: list[Axis] = []
    symbols = {s for ty in types for d in ty.dims for s in d.symbols}
    spare = (c for c in (*"dnkmhevpqrstu", *(f"a{i}" for i in range(10_000))) if c not in symbols)
    for slot in same:
        root = same.find(slot)
        if root in names:
            continue
        extent = types[slot[0]].dims[slot[1]]
        lone = extent.symbols[0] if len(extent.symbols) == 1 and str(extent) == extent.symbols[0] else None
        name = lone if lone and lone not in names.values() else next(spare)
        names[root] = name
        axes.append(Axis(name, extent))
    of = tuple(
        tuple(names[same.find((t, d))] if (t, d) in same else None for d in range(ty.rank))
        for t, ty in enumerate(types)
    )
    return AxisTable(tuple(axes), of, views_of(graph, of))


def views_of(graph: SGraph, of: tuple[AxisNames, ...]) -> dict[tuple[Op, tuple[AxisNames, ...]], AxisNames]:
    """What the views of a graph give, by what they are given, under some naming of axes."""
    return {(n.op, tuple(of[a] for a in n.args)): of[t] for t, n in enumerate(graph.nodes) if isinstance(n.op, ViewOp)}


def unmoved(before: tuple[Dim, ...], after: tuple[Dim, ...]) -> Iterator[Slot]:
    """Dims of a reshape's result, and the dims of its operand that they are, from both ends inwards."""
    old = [d for d, size in enumerate(before) if not size.is_one]
    new = [d for d, size in enumerate(after) if not size.is_one]
    while old and new and before[old[0]] == after[new[0]]:
        yield new.pop(0), old.pop(0)
    while old and new and before[old[-1]] == after[new[-1]]:
        yield new.pop(), old.pop()


def kept(before: AxisNames, after: AxisNames) -> frozenset[str]:
    """The axes that a reshape with these axes leaves as they are."""
    old, new = ([a for a in axes if a] for axes in (before, after))
    found: set[str] = set()
    while old and new and old[0] == new[0]:
        found.add(old.pop(0))
        new.pop(0)
    while old and new and old[-1] == new[-1]:
        found.add(old.pop())
        new.pop()
    return frozenset(found)


def _agree(
    graph: SGraph,
    types: tuple[TensorType, ...],
    find: Callable[[Slot], Slot],
    join: Callable[[Slot, Slot], None],
) -> None:
    """Join the axes of equal views of tensors whose axes are the same, until nothing changes."""

    def of(t: int) -> tuple[Slot | None, ...]:
        return tuple(None if size.is_one else find((t, d)) for d, size in enumerate(types[t].dims))

    changed = True
    while changed:
        changed = False
        first: dict[tuple[Op, tuple[tuple[Slot | None, ...], ...]], int] = {}
        for t, node in enumerate(graph.nodes):
            if isinstance(node.op, ViewOp):
                other = first.setdefault((node.op, tuple(of(a) for a in node.args)), t)
                if of(other) != of(t):
                    changed = True
                    for d in range(types[t].rank):
                        join((t, d), (other, d))
