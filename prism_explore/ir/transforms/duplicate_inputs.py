"""Duplicate an input that the program reads along two axes, so that each copy has one axis per dim.

The cosines of a rotary embedding belong to the rows of the queries and to those of the keys. As one tensor they make
both rows the same axis, and no kernel could partition the product of all rows with all rows, because an axis that
occurs in two dims of one tensor cannot be partitioned. As two inputs, each along its own axis, every partition is
possible. The product of a matrix with its own transpose is another case.

Input: a program. Output: the program with duplicated inputs, if fewer axes then occur in two dims of a tensor. Method:
from the result backwards, each dim of each operator gets the dim of the result that it becomes, or none if it is
reduced. An input that is needed with two assignments becomes two inputs, and operators on it are duplicated, too.

    scores = rotate(q, cos) @ rotate(k, cos).T       cos[s, d]    q, k [s, d]   scores [s, s]
           = rotate(q, cos) @ rotate(k, cos_2).T     cos[s, d], cos_2[t, d]     scores [s, t]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from prism_explore.ir.axes import AxisNames, axes_of, repeated_axes, unchanged_dims
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
from prism_explore.ir.transforms.hoist_lookups import hoist_lookups
from prism_explore.ir.transforms.hoist_views import hoist_views
from prism_explore.support.caches import memoize

ResultDims: TypeAlias = tuple[int | None, ...]
"""Per dim of a tensor, the dim of the result that it becomes; None if there is none, or it is irrelevant."""


@dataclass(frozen=True, slots=True)
class DuplicatedInputs:
    """A program with duplicated inputs, and the conversion of its kernel graphs from and to those of the original."""

    program: TensorProgram
    """With hoisted views and more inputs. If all copies are the same tensor, it computes the same as the original."""
    copies: Mapping[str, str] = field(default_factory=dict[str, str])
    """Per new input, the original input that it copies."""

    def merge_copies(self, graph: SGraph) -> SGraph:
        """The kernel graph of the original program; a copy becomes one more load of the same tensor."""
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
        """The inverse of `merge_copies`.

        An input under a chain of views is the copy that kernels read under this chain. If there are several such
        copies, the second load of a kernel reads the second copy.
        """
        if not self.copies:
            return graph
        nodes: list[Node] = list(self.program.graph.nodes[: len(self.program.inputs)])
        copies_of: dict[_ViewedName, list[int]] = {}
        for n, viewed in enumerate(split_boundary_views(self.program.graph).viewed_inputs):
            name = self.program.inputs[n].name
            views = tuple(view for view, _ in viewed.views)
            copies_of.setdefault((self.copies.get(name, name), views), []).append(n)
        viewed_names: dict[int, _ViewedName] = {}
        at: dict[int, int] = {}
        for position, node in enumerate(graph.nodes):
            match node.op:
                case Input(name, _):
                    viewed_names[position] = name, ()
                case view if isinstance(view, ViewOp) and len(node.args) == 1 and node.args[0] in viewed_names:
                    name, views = viewed_names[node.args[0]]
                    viewed_names[position] = name, (*views, view)
                case Band():
                    at[position] = len(nodes)
                    nodes.append(node)
                case _:
                    pass
        copy_positions: dict[_ViewedName, list[int]] = {}
        for n, key in sorted((n, key) for key, group in copies_of.items() for n in group):
            end = n
            for view in key[1]:
                nodes.append(Node(view, (end,)))
                end = len(nodes) - 1
            copy_positions.setdefault(key, []).append(end)

        def copies(position: int) -> list[int]:
            """The positions of a tensor, one per copy."""
            if position in at:
                return [at[position]]
            if viewed_names[position] in copy_positions:
                return copy_positions[viewed_names[position]]
            args = tuple(copies(a)[0] for a in graph.nodes[position].args)
            nodes.append(Node(graph.nodes[position].op, args))
            at[position] = len(nodes) - 1
            return [at[position]]

        for position, node in enumerate(graph.nodes):
            if position in at or position in viewed_names:
                continue
            args = [copies(a) for a in node.args]
            if isinstance(node.op, Custom):
                kernel = _with_operand_per_load(node.op.block, args)
            else:
                kernel = Node(node.op, tuple(a[0] for a in args))
            at[position] = len(nodes)
            nodes.append(kernel)
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
    """Hoist a program's lookups and views, and duplicate inputs where that leaves an axis in fewer dims of a tensor."""
    program = hoist_views(program)
    if program.graph.index_limits:
        program = hoist_views(hoist_lookups(program))
    named = axes_of(program.graph).of
    repeated = repeated_axes(named)
    # Copies are told apart by the dims of the one result, and by chains of views, which lookups are not.
    if not repeated or program.graph.further or program.graph.index_limits:
        return DuplicatedInputs(program)
    duplicated = _duplicate(program, named, repeated)
    if len(duplicated.copies) and len(repeated_axes(axes_of(duplicated.program.graph).of)) < len(repeated):
        return duplicated
    return DuplicatedInputs(program)


def _duplicate(program: TensorProgram, named: tuple[AxisNames, ...], double: frozenset[str]) -> DuplicatedInputs:
    """The program with one copy of each operator per assignment of its dims to those of the result."""
    graph = program.graph
    types = graph.types()

    def repeated_dims(position: int, dims: ResultDims) -> ResultDims:
        return tuple(e if a in double else None for e, a in zip(dims, named[position], strict=True))

    needed: dict[tuple[int, ResultDims], None] = {}
    operands: dict[tuple[int, ResultDims], tuple[tuple[int, ResultDims], ...]] = {}

    stack = [(graph.output, repeated_dims(graph.output, tuple(range(types[graph.output].rank))))]
    while stack:
        key = stack.pop()
        if key in needed:
            continue
        needed[key] = None
        position, dims = key
        node = graph.nodes[position]
        operand_dims = _operand_result_dims(
            node.op, dims, tuple(types[a].dims for a in node.args), types[position].dims
        )
        operands[key] = tuple((a, repeated_dims(a, e)) for a, e in zip(node.args, operand_dims, strict=True))
        stack += operands[key]

    order = sorted(needed, key=lambda key: (key[0], [(e is not None, e or 0) for e in key[1]]))
    names = {op.name for op in program.inputs}
    copies: dict[str, str] = {}
    nodes: list[Node] = []
    at: dict[tuple[int, ResultDims], int] = {}
    used = {position for position, _ in order}
    unused_inputs = [(p, ()) for p, n in enumerate(graph.nodes) if isinstance(n.op, Input) and p not in used]
    lines: list[int] = []
    emitted: set[int] = set()
    inputs = [key for key in (*unused_inputs, *order) if isinstance(graph.nodes[key[0]].op, Input)]
    for key in (*sorted(inputs, key=lambda key: key[0]), *(k for k in order if k not in set(inputs))):
        position, op = key[0], graph.nodes[key[0]].op
        if isinstance(op, Input) and position in emitted:
            name = next(n for k in range(2, 99) if (n := f"{op.name}_{k}") not in names)
            names.add(name)
            copies[name] = op.name
            op = Input(name, op.type)
        emitted.add(position)
        at[key] = len(nodes)
        lines.append(position)
        nodes.append(Node(op, tuple(at[operand] for operand in operands.get(key, ()))))
    source = tuple(program.lines[p] for p in lines) if program.lines else ()
    output = next(at[key] for key in order if key[0] == graph.output)
    return DuplicatedInputs(TensorProgram(program.name, SGraph(tuple(nodes), output), source), copies)


def _operand_result_dims(
    op: Op, ends: ResultDims, operands: tuple[tuple[Dim, ...], ...], result: tuple[Dim, ...]
) -> tuple[ResultDims, ...]:
    """The dims of the program's result that the dims of operands become, given those of the operator's result."""
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
            unchanged = {before: after for after, before in unchanged_dims(operands[0], result)}
            return (tuple(ends[unchanged[d]] if d in unchanged else None for d in range(len(operands[0]))),)
        case _:
            return tuple(ends[len(ends) - len(dims) :] for dims in operands)
