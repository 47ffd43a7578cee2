"""Masked maxima: a graph with one more input, a mask of the positions of a dim that its maxima read.

    program scores                      program scores
      s = input f32[m, n]                 s = input f32[m, n]
                                          keep = input bool[n]
                                          %2 = mask(s, keep)
      %1 = max(s, dim=1)                  %3 = max(%2, dim=1)
      %2 = sub(s, %1)                     %4 = sub(%2, %3)

Everything that reads what a maximum is taken of reads it masked. Where the mask keeps all, `mask(s, keep)` is `s`, so
the results are those of the graph without a mask. Where it keeps the first positions, those of a softmax are results
for a smaller size (`ir/analysis/padding.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from prism_explore.ir.dims import Dim
from prism_explore.ir.graph import SGraph, block_types, fresh_name
from prism_explore.ir.ops import Accumulate, Binary, BlockGraph, Custom, Input, Load, Node, Reduce, RunningMax
from prism_explore.ir.tensors import TensorType


def with_kept_positions(graph: SGraph, symbol: str) -> SGraph | None:
    """The graph with a mask of the positions of a size, as its last input; also in its custom kernels.

    Args:
        graph: a program or an sGraph.
        symbol: the size.

    Returns:
        A new graph; None where no maximum is taken over a last dim of this size, or a block has a part of it that no
        load of a mask has.
    """
    types, inputs = graph.types(), [n for n, node in enumerate(graph.nodes) if isinstance(node.op, Input)]
    along = next((d for t in types for d in t.dims if d.symbol == symbol), None)
    if along is None:
        return None
    mask = Input(fresh_name("keep", {i.name for i in graph.inputs}), TensorType((along,), "bool"))
    scores = _read_by_maxima(graph.nodes, types, symbol)
    nodes, at = [graph.nodes[n] for n in inputs], {n: position for position, n in enumerate(inputs)}
    keep = len(nodes)
    nodes.append(Node(mask))
    is_read = False
    for position, node in enumerate(graph.nodes):
        if not isinstance(node.op, Input):
            op, args = node.op, tuple(at[a] for a in node.args)
            if isinstance(op, Custom):
                operands = tuple(types[a] for a in node.args)
                of_block = _read_by_maxima(op.block.nodes, block_types(op.block, operands), symbol)
                if of_block:
                    block = _masked_block(op.block, operands, of_block, mask.type)
                    if block is None:
                        return None
                    op, args, is_read = Custom(block), (*args, keep), True
            at[position] = len(nodes)
            nodes.append(Node(op, args))
        if position in scores:
            nodes.append(Node(Binary("mask"), (at[position], keep)))
            at[position], is_read = len(nodes) - 1, True
    return graph.moved(tuple(nodes), at) if is_read else None


def _read_by_maxima(nodes: Sequence[Node], types: Sequence[TensorType], symbol: str) -> set[int]:
    """Positions of the tensors of which a maximum is taken over their last dim, which has the symbol."""
    found: set[int] = set()
    for node in nodes:
        match node.op:
            case Reduce("max", along) | Accumulate("max", along) | RunningMax(along) if along is not None:
                t = types[node.args[0]]
                if along == t.rank - 1 and symbol in t.dims[along].symbols:
                    found.add(node.args[0])
            case _:
                pass
    return found


def _masked_block(
    block: BlockGraph, operands: tuple[TensorType, ...], scores: Collection[int], mask: TensorType
) -> BlockGraph | None:
    """A block that masks these tensors with a further operand; None where no tile of the mask fits one of them."""
    tiles = {block_types(block, operands)[s].dims[-1] for s in scores}
    if len(tiles) > 1:
        return None
    load = _load(block, len(operands), mask.dims[0], tiles.pop())
    if load is None:
        return None
    nodes, at = [Node(load)], dict[int, int]()
    for position, node in enumerate(block.nodes):
        at[position] = len(nodes)
        nodes.append(Node(node.op, tuple(at[a] for a in node.args)))
        if position in scores:
            nodes.append(Node(Binary("mask"), (at[position], 0)))
            at[position] += 1
    return BlockGraph(block.grid, block.loop, tuple(nodes))


def _load(block: BlockGraph, operand: int, size: Dim, tile: Dim) -> Load | None:
    """How a block loads a mask of this size in tiles of that one."""
    if block.is_open:
        return Load(operand)
    imap = (None,) * len(block.grid)
    if tile == size:
        return Load(operand, imap)
    return Load(operand, imap, 0) if block.loop is not None and tile == size / block.loop.size else None
