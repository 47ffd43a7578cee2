"""Boundary views: separate the views of a program's inputs and of its result, which cost nothing, from its core.

If every use of an input starts with the same view of it, kernels can read that view. If the result is a regrouped or
permuted tensor, a kernel can write the tensor before that view. Neither has a cost, because a view of a contiguous
tensor changes only its description. So a program `view(core(view(inputs)))` has a kernel graph for every kernel graph
of its core, with the same views around it, and the search enumerates graphs of the core only. It leaves out graphs
that compute these views inside a kernel.

    q[b, 32, 1, 64] -> reshape -> [b, 8, 4, 64] -> attention -> [b, 8, 4, 64] -> reshape -> [b, 32, 1, 64]
                                                 `-- core --'

A lookup of an input is one of its views, though it is a copy: kernels read what was looked up. Where an input is read
in other ways, too, each lookup of it is an input of the core beside it. Integer inputs are no inputs of the core.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from prism_explore.ir.graph import SGraph, fresh_name, needed_by
from prism_explore.ir.ops import Band, Input, Lookup, Node, Permute, Reshape, Slice
from prism_explore.ir.tensors import INTEGERS, TensorType

FreeView: TypeAlias = Permute | Reshape | Slice
"""A view that describes the same memory. (Expand is one too, but kernels do not need it.)"""
InputView: TypeAlias = tuple[FreeView | Lookup, tuple[int, ...]]
"""A view of an input, and the integer inputs that it reads, by position in the program."""


@dataclass(frozen=True, slots=True)
class ViewedInput:
    """An input as kernels read it: under a chain of views."""

    input: int
    """Position of the input in the program."""
    views: tuple[InputView, ...]
    at: frozenset[int]
    """The positions of the last view in the program; the input's own position if there is no view."""
    type: TensorType


@dataclass(frozen=True, slots=True)
class BoundaryViews:
    """A program, and where its core begins and ends."""

    graph: SGraph
    viewed_inputs: tuple[ViewedInput, ...]
    """Per input that has no integers, in their order; of one that is read in several ways, each lookup is one, too."""
    result: int
    """Position of the core's result."""
    result_views: tuple[Permute | Reshape, ...]
    """The views from there to the program's result, in order."""

    @property
    def core(self) -> tuple[int, ...]:
        """Positions of the core's operators and of the bands that they use, in order."""
        of_inputs = {p for g in self.viewed_inputs for p in g.at}
        seen: set[int] = set()
        stack = [self.result]
        while stack:
            at = stack.pop()
            if at not in seen and at not in of_inputs:
                seen.add(at)
                stack.extend(self.graph.nodes[at].args)
        return tuple(sorted(seen))

    def wrap(self, graph: SGraph) -> SGraph:
        """The program's kernel graph for a kernel graph of its core, which lists inputs and bands first."""
        rest = graph.nodes[len(self.viewed_inputs) :]
        bands = next((i for i, n in enumerate(rest) if not isinstance(n.op, Band)), len(rest))
        place = self._place_of_inputs
        nodes: list[Node] = [self.graph.nodes[n] for n in place]
        positions = [place[g.input] for g in self.viewed_inputs] + list(range(len(nodes), len(nodes) + bands))
        nodes += rest[:bands]
        for i, g in enumerate(self.viewed_inputs):
            for view, integers in g.views:
                nodes.append(Node(view, (positions[i], *(place[n] for n in integers))))
                positions[i] = len(nodes) - 1
        for node in rest[bands:]:
            nodes.append(Node(node.op, tuple(positions[a] for a in node.args)))
            positions.append(len(nodes) - 1)
        at = positions[graph.output]
        for view in self.result_views:
            nodes.append(Node(view, (at,)))
            at = len(nodes) - 1
        return SGraph(tuple(nodes), at)

    def unwrap(self, graph: SGraph) -> SGraph | None:
        """The inverse of `wrap`; None for a graph that `wrap` did not return."""
        place, own = self._place_of_inputs, len(self.viewed_inputs)
        count, view_count = len(place), sum(len(g.views) for g in self.viewed_inputs)
        bands = sum(isinstance(n.op, Band) for n in graph.nodes)
        last = len(graph.nodes) - len(self.result_views)
        positions = {place[g.input]: i for i, g in enumerate(self.viewed_inputs) if not g.views}
        positions |= {count + i: own + i for i in range(bands)}
        at = count + bands
        for i, g in enumerate(self.viewed_inputs):
            if g.views:
                at += len(g.views)
                positions[at - 1] = i
        positions |= {position: position - view_count - (count - own) for position in range(at, last)}
        if last - 1 not in positions or any(a not in positions for n in graph.nodes[at:last] for a in n.args):
            return None
        inside = [Node(n.op, tuple(positions[a] for a in n.args)) for n in graph.nodes[at:last]]
        core = SGraph((*self.inputs, *graph.nodes[count : count + bands], *inside), positions[last - 1])
        return core if self.wrap(core) == graph else None

    @property
    def _place_of_inputs(self) -> dict[int, int]:
        """Per position of an input in the program, its number among the inputs."""
        inputs = (p for p, node in enumerate(self.graph.nodes) if isinstance(node.op, Input))
        return {position: number for number, position in enumerate(inputs)}

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The inputs of the core, which are the program's inputs under their views, and lookups of them."""
        found: list[Node] = []
        taken = {op.name for op in self.graph.inputs}
        seen: set[int] = set()
        for g in self.viewed_inputs:
            op = self.graph.nodes[g.input].op
            assert isinstance(op, Input), "it is the position of an input"
            name = op.name if g.input not in seen else fresh_name(f"{op.name}_at", taken)
            seen.add(g.input)
            found.append(Node(Input(name, g.type)))
        return tuple(found)


def split_boundary_views(graph: SGraph) -> BoundaryViews:
    """Separate the boundary views of a program from its core."""
    types = graph.types()
    live, outputs = needed_by(graph.nodes, graph.outputs), frozenset(graph.outputs)
    used: dict[int, list[int]] = {p: [] for p in live}
    for p in sorted(live):
        for a in graph.nodes[p].args:
            used[a].append(p)

    def reads(position: int, views: tuple[InputView, ...], at: frozenset[int]) -> Iterator[ViewedInput]:
        """The ways in which kernels read an input, from the equal tensors `at` on."""
        ways: dict[InputView | None, set[int]] = {}
        if not outputs & at:
            for u in sorted({u for p in at for u in used.get(p, [])}):
                ways.setdefault(_view(graph.nodes[u]), set()).add(u)
        moved = {v: users for v, users in ways.items() if v is not None and outputs.isdisjoint(users)}
        if len(ways) > 1:
            moved = {v: users for v, users in moved.items() if isinstance(v[0], Lookup)}
        if len(moved) < len(ways) or not ways:
            yield ViewedInput(position, views, at, types[min(at)])
        for view, users in moved.items():
            yield from reads(position, (*views, view), frozenset(users))

    viewed_inputs = [
        viewed
        for position, node in enumerate(graph.nodes)
        if isinstance(node.op, Input) and node.op.type.dtype not in INTEGERS
        for viewed in reads(position, (), frozenset({position}))
    ]
    of_inputs = {p for g in viewed_inputs for p in g.at}
    result = graph.output
    result_views: list[Permute | Reshape] = []
    while result not in of_inputs and not graph.further:  # of several results no view is moved out
        op = graph.nodes[result].op
        if not isinstance(op, Permute | Reshape) or graph.nodes[result].args[0] in of_inputs:
            break
        result_views.insert(0, op)
        result = graph.nodes[result].args[0]
    return BoundaryViews(graph, tuple(viewed_inputs), result, tuple(result_views))


def _view(reader: Node) -> InputView | None:
    """The view of its first operand that a node is; None if it is no free view and no lookup."""
    op = reader.op
    return (op, reader.args[1:]) if isinstance(op, Permute | Reshape | Slice | Lookup) else None
