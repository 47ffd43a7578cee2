"""Export of a graph to a `networkx.MultiDiGraph`, for the algorithms and exporters of networkx.

Input: a kernel graph. Output: one node per tensor, at kernel level and inside custom kernels, and one edge per use.
All attributes are strings or integers, so that every exporter of networkx accepts them.

    node     "x" or "%3" at kernel level; "%3.%1" inside the custom kernel %3
      operator   the operator's name, such as "matmul"
      level      "kernel" or "block"
      kernel     the custom kernel that the tensor is in; "" at kernel level
      shape      symbolic sizes, such as "b, 64"; at block level those of the tile
      dtype      such as "f32"
      is_output  1 for the graph's result
    edge     from a tensor to the operator that reads it; the key is the operand's position
      tensor     the tensor's name
      shape      its sizes
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prism_explore.ir.graph import SGraph, block_types
from prism_explore.ir.ops import Custom, Input, Load, Node, Op, Store, op_name
from prism_explore.ir.tensors import TensorType

if TYPE_CHECKING:
    from networkx import MultiDiGraph


def to_networkx(graph: SGraph) -> MultiDiGraph[str]:
    r"""The graph with the attributes that the module's docstring lists.

    Args:
        graph: a graph with open or chosen maps; open maps partition nothing.

    Returns:
        A new graph, which the caller may change.


    Example:
        >>> from prism_explore.ir.text import parse
        >>> found = to_networkx(parse("sgraph\n  x = input f32[b, 8]\n  %1 = exp(x)\n  return %1"))
        >>> list(found.nodes(data="operator")), list(found.edges(data="tensor"))
        ([('x', 'input'), ('%1', 'exp')], [('x', '%1', 'x')])
    """
    import networkx as nx

    out: MultiDiGraph[str] = nx.MultiDiGraph()
    types = graph.types()
    names = [_name(node.op, position) for position, node in enumerate(graph.nodes)]
    for position, node in enumerate(graph.nodes):
        _add(out, names[position], node, types[position], "kernel", "", int(position in graph.outputs))
        _connect(out, names, node, names[position])
        if isinstance(node.op, Custom):
            _add_block(out, node, names[position], [names[a] for a in node.args], tuple(types[a] for a in node.args))
    return out


def _add_block(
    out: MultiDiGraph[str], kernel: Node, name: str, operands: list[str], operand_types: tuple[TensorType, ...]
) -> None:
    assert isinstance(kernel.op, Custom), "only custom kernels have a block graph"
    block = kernel.op.block
    types = block_types(block, operand_types)
    names = [f"{name}.%{position}" for position in range(len(block.nodes))]
    stores = 0
    for position, node in enumerate(block.nodes):
        _add(out, names[position], node, types[position], "block", name, 0)
        _connect(out, names, node, names[position])
        match node.op:
            case Load():
                source = operands[node.op.operand]
                out.add_edge(source, names[position], key=0, tensor=source, shape=out.nodes[source]["shape"])
            case Store():
                key = len(operands) + stores
                out.add_edge(names[position], name, key=key, tensor=names[position], shape=_shape(types[position]))
                stores += 1
            case _:
                pass


def _add(
    out: MultiDiGraph[str], name: str, node: Node, tensor: TensorType, level: str, kernel: str, is_output: int
) -> None:
    out.add_node(
        name,
        operator=op_name(node.op),
        level=level,
        kernel=kernel,
        shape=_shape(tensor),
        dtype=tensor.dtype,
        is_output=is_output,
    )


def _connect(out: MultiDiGraph[str], names: list[str], node: Node, target: str) -> None:
    for operand, source in enumerate(node.args):
        tensor = names[source]
        out.add_edge(tensor, target, key=operand, tensor=tensor, shape=out.nodes[tensor]["shape"])


def _name(op: Op, position: int) -> str:
    return op.name if isinstance(op, Input) else f"%{position}"


def _shape(tensor: TensorType) -> str:
    return ", ".join(map(str, tensor.dims))
