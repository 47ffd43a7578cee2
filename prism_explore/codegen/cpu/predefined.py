"""A predefined kernel-level operator as a block graph, so that all kernels are lowered in one way."""

from __future__ import annotations

from prism_explore.codegen.cpu.layout import concrete_dims, matching_groups
from prism_explore.ir.dims import dim
from prism_explore.ir.ops import (
    BlockGraph,
    ComputeOp,
    Concat,
    Expand,
    Load,
    MatMul,
    Node,
    ParallelDim,
    Permute,
    Reduce,
    Reshape,
    Scan,
    Slice,
    Store,
    compute_dims,
)
from prism_explore.ir.tensors import TensorType


def as_block(op: ComputeOp, operands: tuple[TensorType, ...], blocks: int = 64) -> BlockGraph:
    """A predefined kernel-level operator as a block graph of about `blocks` blocks, without a loop."""
    loads = len(operands)
    shapes = tuple(concrete_dims(t, "operand") for t in operands)
    if isinstance(op, Permute | Reshape | Expand | Slice | Concat):
        return _view_block(op, shapes, blocks)
    rank = max(map(len, shapes))
    result = [max(s[d - rank + len(s)] if d >= rank - len(s) else 1 for s in shapes) for d in range(rank)]
    unsplit: set[int] = set()
    smallest = [1] * rank
    if isinstance(op, MatMul):
        result[-2:] = [shapes[0][-2], shapes[1][-1]]
        smallest[-2:] = [32, 256]
    elif isinstance(op, Reduce | Scan):
        unsplit.add(op.dim)
        smallest[-1] = 64
    elif rank:
        smallest[-1] = 512
    partitions: list[tuple[int, int]] = []
    for d, extent in enumerate(result):
        parts = 1 if d in unsplit else _divisor(extent, min(blocks, max(1, extent // smallest[d])))
        if parts > 1:
            partitions.append((d, parts))
            blocks = max(1, blocks // parts)
    grid = tuple(ParallelDim(f"g{d}", dim(parts)) for d, parts in partitions)

    def partitioned_dim(operand: int, d: int) -> int | None:
        shape = shapes[operand]
        own = d - rank + len(shape)
        contracted = isinstance(op, MatMul) and d == (rank - 1 if operand == 0 else rank - 2)
        return None if own < 0 or shape[own] == 1 or contracted else own

    nodes = [Node(Load(o, tuple(partitioned_dim(o, d) for d, _ in partitions))) for o in range(loads)]
    nodes.append(Node(op, tuple(range(loads))))
    nodes.append(Node(Store(tuple(d for d, _ in partitions)), (loads,)))
    return BlockGraph(grid, None, tuple(nodes))


def _view_block(
    op: Permute | Reshape | Expand | Slice | Concat, shapes: tuple[tuple[int, ...], ...], blocks: int
) -> BlockGraph:
    """A view that is copied: partitioned along the first dim that it does not change, if there is one."""
    result = tuple(d.constant or 1 for d in compute_dims(op, tuple(tuple(map(dim, s)) for s in shapes)))
    nodes = tuple(Node(Load(o), ()) for o in range(len(shapes)))
    pairs: list[tuple[int, int]] = []
    match op:
        case Permute(order):
            pairs = [(source, d) for d, source in enumerate(order)]
        case Expand(along, _) | Slice(along, _, _) | Concat(along):
            pairs = [(d, d) for d in range(len(result)) if d != along]
        case Reshape():
            pairs = [(a[0], b[0]) for a, b in matching_groups(shapes[0], result) if len(a) == len(b) == 1]
    source, d = next(((s, d) for s, d in pairs if result[d] > 1), (None, None))
    parts = _divisor(result[d], blocks) if d is not None else 1
    if isinstance(op, Reshape) and d is not None:
        dims = list(op.dims)
        dims[d] = dims[d] / parts
        op = Reshape(tuple(dims))
    grid = (ParallelDim("g0", dim(parts)),)
    loads = tuple(Node(Load(o, (source,))) for o in range(len(nodes)))
    return BlockGraph(grid, None, (*loads, Node(op, tuple(range(len(loads)))), Node(Store((d,)), (len(loads),))))


def _divisor(extent: int, limit: int) -> int:
    return next(d for d in range(min(extent, limit), 0, -1) if extent % d == 0)
