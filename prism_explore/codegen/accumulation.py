"""The rule of both backends for products that add to an accumulator directly, without a tile of their own."""

from __future__ import annotations

from collections.abc import Sequence

from prism_explore.ir.ops import Accumulate, AccumulateRescaled, Node


def is_only_summed(nodes: Sequence[Node], readers: Sequence[int], position: int) -> bool:
    """Whether the only reader of a node is a plain or rescaled sum of it over the iterations.

    Args:
        nodes: of a block graph.
        readers: positions of the nodes that read the node.
        position: of the node.
    """
    if len(readers) != 1:
        return False
    reader = nodes[readers[0]]
    if reader.op == AccumulateRescaled():
        return reader.args[1] != position  # the second operand is the maximum, not a summand
    return reader.op == Accumulate("sum")
