"""Duplicate an input that the program reads along two axes, so that each copy has one axis per dim.

The cosines of a rotary embedding belong to the rows of the queries and to those of the keys. Read as one tensor, they
make both one axis, and no kernel could partition the products of all rows with all rows: an axis that fills two dims
of one tensor must stay whole. Read as two inputs, each along its own axis, every partition is possible. The product
of a matrix with its own transpose is another case.

Input: a program. Output: the program with duplicated inputs, where this leaves an axis in fewer than two dims of some
tensor. Method: from the result down, each dim of each operator gets the dim of the result that it ends up in, or none
if it is reduced. An input that is needed in two ways becomes two inputs, and what is computed from it is computed
twice.

    scores = rotate(q, cos) @ rotate(k, cos).T       cos[s, d]    q, k [s, d]   scores [s, s]
           = rotate(q, cos) @ rotate(k, cos_2).T     cos[s, d], cos_2[t, d]     scores [s, t]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from prism_explore.ir.axes import AxisNames, axes_of, unchanged_dims
from prism_explore.ir.dims import Dim
from prism_explore.ir.graph import SGraph
from prism_explore.ir.ops import (
    Band,
    BlockGraph,
    Custom,
    Input,
    Load,
    MatMul,
    Node,
    Op,
    Permute,
    Reduce,
    Reshape,
    ViewOp,
)
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.transforms.boundary_views import split_boundary_views
from prism_explore.ir.transforms.hoist_views import hoist_views
from prism_explore.support.caches import memoize

ResultDims: TypeAlias = tuple[int | None, ...]
"""Per dim of a tensor, the dim of the result that it ends up in; None: in none, or it is irrelevant."""


@dataclass(frozen=True, slots=True)
class DuplicatedInputs:
    """A program whose inputs have one axis per dim, and how its graphs correspond to those of the original."""

    program: TensorProgram
    """With hoisted views and more inputs. If all copies are the same tensor, it computes what the original does."""
    copies: Mapping[str, str] = field(default_factory=dict[str, str])
    """Per new input, the original input that it copies."""

    def merge_copies(self, graph: SGraph) -> SGraph:
        """The kernel graph of the original for one of the program: a copy becomes one more load of the same tensor."""
        if not self.copies:
            return graph
        place: dict[str, int] = {}
        at: list[int] = []
        nodes: list[Node] = []
        for node in graph.nodes:
            args = tuple(at[a] for a in node.args)
            match node.op:
                case Input(name, _) if name in self.copies:
                    at.append(place[self.copies[name]])
                    continue
                case Input(name, _):
                    place[name] = len(nodes)
                case Custom(block):
                    distinct = tuple(dict.fromkeys(args))
                    node = Node(Custom(_with_operands(block, [distinct.index(a) for a in args])), distinct)
                    args = distinct
                case _:
                    pass
            same = Node(node.op, args)
            seen = (n for n, had in enumerate(nodes) if had == same)
            known = next(seen, None) if isinstance(node.op, ViewOp) else None
            at.append(len(nodes) if known is None else known)
            if known is None:
                nodes.append(same)
        return SGraph(tuple(nodes), at[graph.output])

    def restore_copies(self, graph: SGraph) -> SGraph:
        """The inverse of `rejoined`.

        An input under a chain of views is the copy that kernels get under this chain. If there are several such
        copies, the second load of a kernel reads the second copy.
        """
        if not self.copies:
            return graph
        nodes: list[Node] = list(self.program.graph.nodes[: len(self.program.inputs)])
        given: dict[_ViewedName, list[int]] = {}
        for n, lead in enumerate(split_boundary_views(self.program.graph).viewed_inputs):
            name = self.program.inputs[n].name
            given.setdefault((self.copies.get(name, name), lead.views), []).append(n)
        seen: dict[int, _ViewedName] = {}
        at: dict[int, int] = {}
        for position, node in enumerate(graph.nodes):
            match node.op:
                case Input(name, _):
                    seen[position] = name, ()
                case view if isinstance(view, ViewOp) and len(node.args) == 1 and node.args[0] in seen:
                    name, views = seen[node.args[0]]
                    seen[position] = name, (*views, view)
                case Band():
                    at[position] = len(nodes)
                    nodes.append(node)
                case _:
                    pass
        ends: dict[_ViewedName, list[int]] = {}
        for n, key in sorted((n, key) for key, group in given.items() for n in group):
            end = n
            for view in key[1]:
                nodes.append(Node(view, (end,)))
                end = len(nodes) - 1
            ends.setdefault(key, []).append(end)

        def copies(position: int) -> list[int]:
            """The positions of a tensor, one per copy."""
            if position in at:
                return [at[position]]
            if seen[position] in ends:
                return ends[seen[position]]
            args = tuple(copies(a)[0] for a in graph.nodes[position].args)
            nodes.append(Node(graph.nodes[position].op, args))
            at[position] = len(nodes) - 1
            return [at[position]]

        for position, node in enumerate(graph.nodes):
            if position in at or position in seen:
                continue
            args = [copies(a) for a in node.args]
            if isinstance(node.op, Custom):
                made = _with_operand_per_load(node.op.block, args)
            else:
                made = Node(node.op, tuple(a[0] for a in args))
            at[position] = len(nodes)
            nodes.append(made)
        return SGraph(tuple(nodes), copies(graph.output)[0])


_ViewedName: TypeAlias = tuple[str, tuple[Op, ...]]
"""An input of the original, and a chain of views of it."""


def _with_operand_per_load(block: BlockGraph, operands: list[list[int]]) -> Node:
    """A custom kernel with one operand per load: the next copy of the tensor that it read."""
    reads: list[int] = []
    nodes: list[Node] = []
    for node in block.nodes:
        if isinstance(node.op, Load):
            same = operands[node.op.operand]
            nodes.append(Node(Load(len(reads), node.op.imap, node.op.fmap), ()))
            reads.append(same[min(sum(r in same for r in reads), len(same) - 1)])
        else:
            nodes.append(node)
    return Node(Custom(BlockGraph(block.grid, block.loop, tuple(nodes))), tuple(reads))


def _with_operands(block: BlockGraph, operands: list[int]) -> BlockGraph:
    """The block graph with other operand numbers in its loads."""
    nodes = (
        Node(Load(operands[n.op.operand], n.op.imap, n.op.fmap), ()) if isinstance(n.op, Load) else n
        for n in block.nodes
    )
    return BlockGraph(block.grid, block.loop, tuple(nodes))


@memoize(256)
def duplicate_inputs(program: TensorProgram) -> DuplicatedInputs:
    """Hoist the views of a program, and duplicate inputs where that leaves an axis in fewer dims of some tensor."""
    program = hoist_views(program)
    named = axes_of(program.graph).of
    double = _repeated_axes(named)
    if not double:
        return DuplicatedInputs(program)
    made = _duplicate(program, named, double)
    if len(made.copies) and len(_repeated_axes(axes_of(made.program.graph).of)) < len(double):
        return made
    return DuplicatedInputs(program)


def _repeated_axes(named: tuple[AxisNames, ...]) -> frozenset[str]:
    """The axes that occur in two dims of some tensor."""
    return frozenset(a for axes in named for a in axes if a and axes.count(a) > 1)


def _duplicate(program: TensorProgram, named: tuple[AxisNames, ...], double: frozenset[str]) -> DuplicatedInputs:
    """The program with one copy of each operator per way in which its dims end up in the result."""
    graph = program.graph
    types = graph.types()

    def kept(position: int, ends: ResultDims) -> ResultDims:
        return tuple(e if a in double else None for e, a in zip(ends, named[position], strict=True))

    asked: dict[tuple[int, ResultDims], None] = {}
    operands: dict[tuple[int, ResultDims], tuple[tuple[int, ResultDims], ...]] = {}

    stack = [(graph.output, kept(graph.output, tuple(range(types[graph.output].rank))))]
    while stack:
        key = stack.pop()
        if key in asked:
            continue
        asked[key] = None
        position, ends = key
        node = graph.nodes[position]
        below = _operand_result_dims(node.op, ends, tuple(types[a].dims for a in node.args), types[position].dims)
        operands[key] = tuple((a, kept(a, e)) for a, e in zip(node.args, below, strict=True))
        stack += operands[key]

    order = sorted(asked, key=lambda key: (key[0], [(e is not None, e or 0) for e in key[1]]))
    names = {op.name for op in program.inputs}
    copies: dict[str, str] = {}
    nodes: list[Node] = []
    at: dict[tuple[int, ResultDims], int] = {}
    used = {position for position, _ in order}
    given = [(p, ()) for p, n in enumerate(graph.nodes) if isinstance(n.op, Input) and p not in used]
    lines: list[int] = []
    seen: set[int] = set()
    inputs = [key for key in (*given, *order) if isinstance(graph.nodes[key[0]].op, Input)]
    for key in (*sorted(inputs, key=lambda key: key[0]), *(k for k in order if k not in set(inputs))):
        position, op = key[0], graph.nodes[key[0]].op
        if isinstance(op, Input) and position in seen:
            name = next(n for k in range(2, 99) if (n := f"{op.name}_{k}") not in names)
            names.add(name)
            copies[name] = op.name
            op = Input(name, op.type)
        seen.add(position)
        at[key] = len(nodes)
        lines.append(position)
        nodes.append(Node(op, tuple(at[below] for below in operands.get(key, ()))))
    source = tuple(program.lines[p] for p in lines) if program.lines else ()
    output = next(at[key] for key in order if key[0] == graph.output)
    return DuplicatedInputs(TensorProgram(program.name, SGraph(tuple(nodes), output), source), copies)


def _operand_result_dims(
    op: Op, ends: ResultDims, operands: tuple[tuple[Dim, ...], ...], result: tuple[Dim, ...]
) -> tuple[ResultDims, ...]:
    """Where the dims of an operator's operands end up, given where those of its result do."""
    match op:
        case Input() | Band():
            return ()
        case MatMul():
            batch = ends[:-2]
            left, right = (batch[len(batch) - (len(dims) - 2) :] for dims in operands)
            return (*left, ends[-2], None), (*right, None, ends[-1])
        case Reduce(_, along):
            return ((*ends[:along], None, *ends[along + 1 :]),)
        case Permute(order):
            return (tuple(ends[order.index(d)] for d in range(len(order))),)
        case Reshape():
            same = {before: after for after, before in unchanged_dims(operands[0], result)}
            return (tuple(ends[same[d]] if d in same else None for d in range(len(operands[0]))),)
        case _:
            return tuple(ends[len(ends) - len(dims) :] for dims in operands)
