"""Lookups of inputs as inputs of their own: what holds of any tensor in their place holds of them.

A certificate states expressions whose indices are arithmetic. A lookup's positions are data, so a certificate is about
graphs in which each lookup of an input by an input is a further input. Both sides give equal lookups equal names.

Input: a graph. Output: a graph with the same positions. A lookup that occurs twice, or of a computed table, stays.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from prism_explore.ir.graph import SGraph, fresh_name
from prism_explore.ir.ops import Input, Lookup, Node


def lookups_as_inputs(graph: SGraph) -> SGraph:
    """The graph with each lookup of an input as an input."""
    if not graph.index_limits:
        return graph
    types, nodes = graph.types(), list(graph.nodes)
    taken, count = {i.name for i in graph.inputs}, Counter(graph.nodes)
    for position, node in enumerate(graph.nodes):
        sources = [graph.nodes[a].op for a in node.args]
        names = [op.name for op in sources if isinstance(op, Input)]
        if isinstance(node.op, Lookup) and len(names) == 2 and count[node] == 1:
            shared = f"_{node.op.batch}" if node.op.batch else ""
            name = fresh_name(f"{names[0]}_at_{names[1]}_{node.op.dim}{shared}", taken)
            nodes[position] = Node(Input(name, types[position]))
    return replace(graph, nodes=tuple(nodes))
