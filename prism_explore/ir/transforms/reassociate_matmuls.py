"""Reassociation of matrix products: (a b) c and a (b c) are equal, and may cost very different work.

Keys that are computed from a low-rank cache are not needed if there are few queries:

    q (c u)ᵀ = (q uᵀ) cᵀ        p (c v) = (p c) v

Scales move likewise. A scale that is constant along the contracted axis can be applied after the product; one that is
constant along all other axes can be applied to the other matrix. With normalized keys, few queries then meet the
weights, and the scores meet the norms, of which there are fewer than elements of the keys:

    q (diag(n)⁻¹ k diag(g))ᵀ = ((q diag(g)) kᵀ) diag(n)⁻¹

Output: a program with the same result over the reals. The transform is not trusted: the caller proves that both
programs are equal.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from prism_explore.ir.dims import ONE, ZERO, Dim
from prism_explore.ir.graph import SGraph, consumers, replace_node
from prism_explore.ir.ops import Binary, MatMul, Node, Permute, Reshape, compute_dims
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.tensors import TensorType

Below = Callable[[Dim, Dim], bool]
"""Whether the first size is at most the second for all values of symbols; False if that was not shown."""


def reassociate_matmuls(program: TensorProgram, below: Below) -> TensorProgram:
    """Reassociate products as long as that reduces the work."""
    while (graph := _reassociate_one(program.graph, below)) is not None:
        program = TensorProgram(program.name, graph)
    return program


def _reassociate_one(graph: SGraph, below: Below) -> SGraph | None:
    """The graph with the first pair of products reassociated that costs less in the other order."""
    types = graph.types()
    readers = [(*r, *([len(graph.nodes)] if n in graph.outputs else [])) for n, r in enumerate(consumers(graph.nodes))]
    for outer, node in enumerate(graph.nodes):
        if not isinstance(node.op, MatMul):
            continue
        left, right = node.args
        inner, is_transposed = _strip_transposition(graph, right)
        if isinstance(graph.nodes[inner].op, MatMul) and all(len(readers[p]) == 1 for p in {inner, right}):
            b, c = graph.nodes[inner].args
            rewrite = _Rewrite(graph, types, outer)
            first, second = (rewrite.transpose(c), rewrite.transpose(b)) if is_transposed else (b, c)
            result = rewrite.matmul(rewrite.matmul(left, first), second)
            if rewrite.is_less(_work(types, (inner, outer), graph), below):
                return rewrite.graph(result)
        if isinstance(graph.nodes[left].op, MatMul) and len(readers[left]) == 1:
            a, b = graph.nodes[left].args
            rewrite = _Rewrite(graph, types, outer)
            result = rewrite.matmul(a, rewrite.matmul(b, right))
            if rewrite.is_less(_work(types, (left, outer), graph), below):
                return rewrite.graph(result)
        for side in (1, 0):
            if (
                len(readers[node.args[side]]) == 1
                and (scaled := _move_scale(graph, types, outer, side, below)) is not None
            ):
                return scaled
    return None


def _move_scale(graph: SGraph, types: tuple[TensorType, ...], outer: int, side: int, below: Below) -> SGraph | None:
    """The graph with a scale of an operand of a product moved to where it is applied to fewer elements."""
    matrices = list(graph.nodes[outer].args)
    matrix, other = matrices[side], matrices[1 - side]
    node, dims = graph.nodes[matrix], types[matrix].dims
    if not isinstance(node.op, Binary) or node.op.fn not in ("mul", "div"):
        return None
    for inner, scale in (node.args, node.args[::-1]) if node.op.fn == "mul" else (node.args,):
        if types[inner].dims != dims:
            continue
        *batch, rows, columns = (*(ONE for _ in range(len(dims) - types[scale].rank)), *types[scale].dims)
        summed, kept = (columns, rows) if side == 0 else (rows, columns)
        rewrite = _Rewrite(graph, types, outer)
        matrices[side] = inner
        if summed.is_one:
            result = rewrite.matmul(*matrices)
            if rewrite.is_less_to_scale(result, matrix, below):
                return rewrite.graph(rewrite.scale(node.op, result, scale))
        elif kept.is_one and all(d.is_one for d in batch):
            vector = (summed,) if side == 1 else (summed, ONE)
            if rewrite.is_less_to_scale(other, matrix, below):
                matrices[1 - side] = rewrite.scale(node.op, other, rewrite.reshape(scale, vector))
                return rewrite.graph(rewrite.matmul(*matrices))
    return None


def _strip_transposition(graph: SGraph, position: int) -> tuple[int, bool]:
    """The matrix under a transposition, and whether there is a transposition."""
    node = graph.nodes[position]
    return (node.args[0], True) if isinstance(node.op, Permute) and _is_transposition(node.op) else (position, False)


def _is_transposition(op: Permute) -> bool:
    rank = len(op.order)
    return op.order == (*range(rank - 2), rank - 1, rank - 2)


def _work(types: tuple[TensorType, ...], products: tuple[int, ...], graph: SGraph) -> Dim:
    """The number of multiplications in some products."""
    return sum((types[p].elements * types[graph.nodes[p].args[0]].dims[-1] for p in products), ZERO)


class _Rewrite:
    """Builds new operators in place of one operator of a graph."""

    def __init__(self, graph: SGraph, types: tuple[TensorType, ...], place: int) -> None:
        self._graph, self._place = graph, place
        self._new: list[Node] = []
        self._dims = {p: t.dims for p, t in enumerate(types)}
        self._work = ZERO

    def _append(self, node: Node, dims: tuple[Dim, ...]) -> int:
        at = len(self._graph.nodes) + len(self._new)
        self._new.append(node)
        self._dims[at] = dims
        return at

    def transpose(self, position: int) -> int:
        """The transpose of a matrix; of a transposed matrix, the original."""
        if position < len(self._graph.nodes) and _strip_transposition(self._graph, position)[1]:
            return self._graph.nodes[position].args[0]
        *batch, rows, columns = self._dims[position]
        rank = len(batch) + 2
        order = (*range(rank - 2), rank - 1, rank - 2)
        return self._append(Node(Permute(order), (position,)), (*batch, columns, rows))

    def matmul(self, left: int, right: int) -> int:
        """A product of matrices, batch dims broadcast."""
        operands = self._dims[left], self._dims[right]
        dims = compute_dims(MatMul(), operands)
        self._work = self._work + prod(dims, start=ONE) * operands[0][-1]
        return self._append(Node(MatMul(), (left, right)), dims)

    def reshape(self, position: int, dims: tuple[Dim, ...]) -> int:
        """A tensor under a reshape; the original if it is the reshape of one with these dims."""
        node = self._graph.nodes[position]
        if self._dims[position] == dims:
            return position
        if isinstance(node.op, Reshape) and self._dims[node.args[0]] == dims:
            return node.args[0]
        return self._append(Node(Reshape(dims), (position,)), dims)

    def scale(self, op: Binary, position: int, scale: int) -> int:
        """A tensor multiplied or divided by another one, which is broadcast."""
        return self._append(Node(op, (position, scale)), self._dims[position])

    def is_less_to_scale(self, position: int, than: int, below: Below) -> bool:
        """Whether a tensor has fewer elements than another one."""
        elements, others = (prod(self._dims[p], start=ONE) for p in (position, than))
        return below(elements, others) and not below(others, elements)

    def is_less(self, before: Dim, below: Below) -> bool:
        """Whether the new products need fewer multiplications than the old ones."""
        return self._work != before and below(self._work, before) and not below(before, self._work)

    def graph(self, result: int) -> SGraph:
        """The graph with the new operators and without unused ones."""
        return replace_node(self._graph, self._new, self._place, result)[0]
