"""Stores of further results: a kernel that computes one result of a program stores others that it computes on the way.

A residual sum and its normalized value, or a product and its row maximum, need one kernel with two stores. The graphs
are guesses: which tensor of the block is which result is decided by the prover.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product

from prism_explore.ir.graph import SGraph, block_types
from prism_explore.ir.ops import BlockGraph, Custom, Load, Node, Result, Store

MOST_CHOICES = 64
"""The most choices of stored tensors that are tried per kernel graph."""


def store_further_results(graph: SGraph, program: SGraph) -> Iterator[SGraph]:
    """The kernel graphs that also store tensors with the dims of the program's further results.

    Args:
        graph: computes the first result, with one custom kernel whose maps are open.
        program: with all results; where it has one, the graph itself is returned.
    """
    if not program.further:
        yield graph
        return
    if len(graph.customs) != 1:
        return
    ((position, block),) = graph.customs
    types = graph.types()
    tiles = block_types(block, tuple(types[a] for a in graph.nodes[position].args))
    inside = [n for n, node in enumerate(block.nodes) if not isinstance(node.op, Load | Store)]
    same = ([n for n in inside if tiles[n].dims == t.dims] for t in program.output_types[1:])
    for chosen in islice(product(*same), MOST_CHOICES):
        if len(set(chosen)) == len(chosen):
            yield _with_stores(graph, position, block, chosen)


def _with_stores(graph: SGraph, position: int, block: BlockGraph, chosen: tuple[int, ...]) -> SGraph:
    """The graph whose kernel also stores the chosen tensors of its block; they are its further results."""
    stores = (Node(Store(), (n,)) for n in chosen)
    kernel = Node(Custom(BlockGraph(block.grid, block.loop, (*block.nodes, *stores))), graph.nodes[position].args)
    nodes = (*graph.nodes[:position], kernel, *graph.nodes[position + 1 :])
    results = tuple(Node(Result(n), (position,)) for n in range(1, len(chosen) + 1))
    return SGraph((*nodes, *results), graph.output, tuple(range(len(nodes), len(nodes) + len(results))))
