"""Index axes: the dims of all tensors of a program, unified and named.

Two dims are one axis if an elementwise operator aligns them, or if a matrix product contracts them. Each *axis* of a
kernel is partitioned by a grid dim, by the loop, by both or by none; imap, omap and fmap follow from that choice
(`ir.axis_maps`). Two axes of equal extent are different axes.

A dim that a view does not change keeps its axis. For a reshape these are the dims before and after the regrouped
dims, dims of size 1 left out. Equal views of tensors with the same axes have results with the same axes. The result
axes of a view are looked up in the program (`AxisTable.views`), because the axes of a part of a dim depend on how the
program uses it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    Scan,
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
    """The axes of a view's result, by the view and the axes of its operands."""


@memoize(4096)
def compute_axes(op: ComputeOp | LoopOp, operands: tuple[AxisNames, ...]) -> AxisNames | None:
    """Axes of a result; None if operands do not match, or the result would have a new axis."""
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
    if isinstance(op, AccumulateRescaled):  # the scale must not broadcast the sum
        summed = compute_axes(Accumulate("sum", op.dim), operands[:1])
        agrees = agrees and result == summed and len(operands[0]) == len(operands[1])
    return result if agrees else None


def matched_axes(op: ComputeOp | LoopOp, operands: tuple[AxisNames, ...]) -> Iterator[tuple[str, str]]:
    """The pairs of axes that an operator requires to be equal: of dims that it aligns or contracts."""
    if isinstance(op, Unary | Scalar | Reduce | Scan | ViewOp) or not _has_inner_dims(op, operands):
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

    If the extent of a dim is a symbol, this is the name of its axis. The other axes are named d, n, k, m and so on in
    order of appearance.
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
                same_dims = dict(unchanged_dims(types[node.args[0]].dims, dims))
                labels.append(tuple(operands[0][same_dims[d]] if d in same_dims else own[d] for d in range(len(dims))))

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
            symbol = extent.symbol
            names[root] = symbol if symbol and symbol not in names.values() else next(spare)
            axes.append(Axis(names[root], extent))
    of = tuple(tuple(names[same.find(label)] if label else None for label in of_tensor) for of_tensor in labels)
    views: dict[tuple[Op, tuple[AxisNames, ...]], AxisNames] = {
        (n.op, tuple(of[a] for a in n.args)): of[t] for t, n in enumerate(graph.nodes) if isinstance(n.op, ViewOp)
    }
    return AxisTable(tuple(axes), of, views)


def unchanged_dims(before: tuple[Dim, ...], after: tuple[Dim, ...]) -> Iterator[Slot]:
    """The dims that a reshape does not change, at both ends: their positions in the result, and in the operand."""
    old = [d for d, size in enumerate(before) if not size.is_one]
    new = [d for d, size in enumerate(after) if not size.is_one]
    for m, n in _equal_ends([before[d] for d in old], [after[d] for d in new]):
        yield new[n], old[m]


def unchanged_axes(before: AxisNames, after: AxisNames) -> frozenset[str]:
    """The axes that a reshape between tensors with these axes does not change."""
    old, new = ([a for a in axes if a] for axes in (before, after))
    return frozenset(old[m] for m, _ in _equal_ends(old, new))


def _equal_ends(first: Sequence[object], second: Sequence[object]) -> Iterator[tuple[int, int]]:
    """The positions of equal elements, from each end inwards up to the first difference."""
    start, shorter = 0, min(len(first), len(second))
    while start < shorter and first[start] == second[start]:
        yield start, start
        start += 1
    for back in range(1, shorter - start + 1):
        if first[-back] != second[-back]:
            return
        yield len(first) - back, len(second) - back


def repeated_axes(named: Iterable[AxisNames]) -> frozenset[str]:
    """The axes that occur in two dims of some tensor."""
    return frozenset(a for axes in named for a in axes if a and axes.count(a) > 1)


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
