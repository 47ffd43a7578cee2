"""Index axes: the dims of all tensors of a program, unified and named.

Two dims are one axis if an elementwise operator aligns them, or if a matrix product contracts them. A map then says
for each *axis* whether it is whole, partitioned by a grid dim, partitioned by the loop, or both; imap, omap and fmap
are views of that choice (`ir.axis_maps`). Two axes of equal extent stay two axes.

A dim that a view leaves unchanged keeps its axis. For a reshape these are the dims before and after the regrouped
dims, dims of size 1 left out. Equal views of tensors with the same axes give the same axes. What a view gives is
read from the program (`AxisTable.views`), because the axes of a part of a dim depend on how the program uses it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from typing import TypeAlias

from prism_explore.errors import ShapeError
from prism_explore.ir.axis_typing import result_axes
from prism_explore.ir.dims import Dim
from prism_explore.ir.graph import SGraph
from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    Band,
    ComputeOp,
    Concat,
    Custom,
    Expand,
    Input,
    Load,
    LoopOp,
    MatMul,
    Op,
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
from prism_explore.support.caches import memoize
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


@memoize(4096)
def compute_axes(op: ComputeOp | LoopOp, operands: tuple[AxisNames, ...]) -> AxisNames | None:
    """Axes of a result; None where operands disagree about an axis, or the result would have a new one."""
    if isinstance(op, Reshape | Expand | Slice | Concat) or not _has_inner_dims(op, operands):
        return None
    agrees = True

    def align(a: str | None, b: str | None) -> str | None:
        nonlocal agrees
        agrees = agrees and (a is None or b is None or a == b)
        return a or b

    def contract(a: str | None, b: str | None) -> None:
        nonlocal agrees
        agrees = agrees and a == b

    result = result_axes(op, operands, absent=None, fresh=_no_axis, align=align, contract=contract)
    if isinstance(op, AccumulateRescaled):  # the scale adds no axis to the sum
        summed = compute_axes(Accumulate("sum", op.dim), operands[:1])
        agrees = agrees and result == summed and len(operands[0]) == len(operands[1])
    return result if agrees else None


def matched_axes(op: ComputeOp | LoopOp, operands: tuple[AxisNames, ...]) -> Iterator[tuple[str, str]]:
    """The pairs of axes that an operator requires to be one: of the dims it aligns, and of those it contracts."""
    if isinstance(op, Unary | Scalar | Reduce | ViewOp) or not _has_inner_dims(op, operands):
        return
    pairs: list[tuple[str | None, str | None]] = []

    def align(a: str | None, b: str | None) -> str | None:
        pairs.append((a, b))
        return a or b

    result_axes(op, operands, absent=None, fresh=_no_axis, align=align, contract=align)
    for a, b in pairs:
        if a and b:
            yield a, b


def _has_inner_dims(op: ComputeOp | LoopOp, operands: tuple[AxisNames, ...]) -> bool:
    return not isinstance(op, MatMul) or all(len(axes) > 1 for axes in operands)


def _no_axis(position: int) -> None:
    """A new dim of a result has no axis yet."""


def axes_of(graph: SGraph) -> AxisTable:
    """Name the axes of a flat kernel graph.

    A dim whose extent is a lone symbol gives this name to its axis. The others are d, n, k, m and so on in order of
    appearance.
    """
    types = graph.types()
    same = UnionFind[Slot]()
    labels: list[tuple[Slot | None, ...]] = []

    def unify(a: Slot | None, b: Slot | None) -> Slot | None:
        if a is None or b is None:
            return a or b
        same.union(a, b)
        return same.find(a)

    for t, node in enumerate(graph.nodes):
        dims = types[t].dims
        own = tuple(None if size.is_one else (t, d) for d, size in enumerate(dims))
        for slot in filter(None, own):
            same.add(slot)
        operands = tuple(labels[a] for a in node.args)
        match node.op:
            case Input() | Band():
                labels.append(own)
            case Reshape():
                unmoved = dict(unchanged_dims(types[node.args[0]].dims, dims))
                labels.append(tuple(operands[0][unmoved[d]] if d in unmoved else own[d] for d in range(len(dims))))
            case Custom() | Result() | Load() | Store() | Accumulate() | AccumulateRescaled() | RunningMax():
                raise ShapeError("axes are named on a flat program; a custom kernel has its own")
            case op:
                labels.append(
                    result_axes(op, operands, absent=None, fresh=own.__getitem__, align=unify, contract=unify)
                )
    _unify_equal_views(graph, labels, same)
    names: dict[Slot, str] = {}
    axes: list[Axis] = []
    symbols = {s for ty in types for d in ty.dims for s in d.symbols}
    spare = (c for c in chain("dnkmhevpqrstu", (f"a{i}" for i in count())) if c not in symbols)
    for t, of_tensor in enumerate(labels):
        for label, extent in zip(of_tensor, types[t].dims, strict=True):
            if label is None or (root := same.find(label)) in names:
                continue
            lone = extent.symbols[0] if len(extent.symbols) == 1 and str(extent) == extent.symbols[0] else None
            names[root] = lone if lone and lone not in names.values() else next(spare)
            axes.append(Axis(names[root], extent))
    of = tuple(tuple(names[same.find(label)] if label else None for label in of_tensor) for of_tensor in labels)
    return AxisTable(tuple(axes), of, views_of(graph, of))


def views_of(graph: SGraph, of: tuple[AxisNames, ...]) -> dict[tuple[Op, tuple[AxisNames, ...]], AxisNames]:
    """What the views of a graph give, by what they are given, under some naming of axes."""
    return {(n.op, tuple(of[a] for a in n.args)): of[t] for t, n in enumerate(graph.nodes) if isinstance(n.op, ViewOp)}


def unchanged_dims(before: tuple[Dim, ...], after: tuple[Dim, ...]) -> Iterator[Slot]:
    """Dims of a reshape's result, and the dims of its operand that they are, from both ends inwards."""
    old = [d for d, size in enumerate(before) if not size.is_one]
    new = [d for d, size in enumerate(after) if not size.is_one]
    while old and new and before[old[0]] == after[new[0]]:
        yield new.pop(0), old.pop(0)
    while old and new and before[old[-1]] == after[new[-1]]:
        yield new.pop(), old.pop()


def unchanged_axes(before: AxisNames, after: AxisNames) -> frozenset[str]:
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


def _unify_equal_views(graph: SGraph, labels: Sequence[tuple[Slot | None, ...]], same: UnionFind[Slot]) -> None:
    """Give equal views of tensors with the same axes the same axes, until nothing changes."""

    def roots(t: int) -> tuple[Slot | None, ...]:
        return tuple(label and same.find(label) for label in labels[t])

    changed = True
    while changed:
        changed = False
        first: dict[tuple[Op, tuple[tuple[Slot | None, ...], ...]], int] = {}
        for t, node in enumerate(graph.nodes):
            if isinstance(node.op, ViewOp):
                other = first.setdefault((node.op, tuple(roots(a) for a in node.args)), t)
                if roots(other) != roots(t):
                    changed = True
                    for a, b in zip(labels[other], labels[t], strict=True):
                        if a and b:
                            same.union(a, b)
