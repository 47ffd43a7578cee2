"""Which nodes of a block graph are drawn inside the loop frame.

Input: a block graph, whose maps may be open. Output: node positions. While the maps are open the phases of the
nodes are unknown; then all nodes that an accumulator depends on are drawn inside the loop. One pass over the
topological order finds them, so no graph library is used.
"""

from __future__ import annotations

from prism_explore.ir.graph import phases
from prism_explore.ir.ops import Accumulate, AccumulateRescaled, BlockGraph, Node


def is_accumulator(node: Node) -> bool:
    """Whether the node's result is available after the for-loop."""
    return isinstance(node.op, Accumulate | AccumulateRescaled)


def has_loop(block: BlockGraph) -> bool:
    """Whether the block has a for-loop, or can get one: its maps are open and it accumulates."""
    return block.loop is not None or (block.is_open and any(is_accumulator(n) for n in block.nodes))


def loop_region(block: BlockGraph) -> frozenset[int]:
    """Positions of the nodes that are drawn inside the loop frame."""
    if not has_loop(block):
        return frozenset()
    if not block.is_open:
        return frozenset(j for j, p in enumerate(phases(block)) if p == "loop")
    needed: set[int] = set()
    for j in range(len(block.nodes) - 1, -1, -1):
        if is_accumulator(block.nodes[j]) or j in needed:
            needed.update(block.nodes[j].args)
    return frozenset(needed)
