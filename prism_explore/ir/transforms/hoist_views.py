"""View hoisting: move views to a program's inputs, past operators that do not depend on the order of dims.

A model may normalize keys in the layout of its cache and transpose them for attention, or split heads after
elementwise work. Such a view stands between operators. There a kernel has to compute it, no axis that it regroups can
be partitioned, and no algebraic law applies across it. Elementwise operators and reductions compute the same on the
other side of the view, where it is a view of an input and costs nothing (`ir.transforms.boundary_views`):

    transpose(k / rms(k, dim=1))  =  transpose(k) / rms(transpose(k), dim=0)

Output: a program with the same result. The transform is not trusted: the caller proves that both programs are equal.
"""

from __future__ import annotations

from dataclasses import dataclass

from prism_explore.ir.axes import unchanged_dims
from prism_explore.ir.dims import ONE, Dim
from prism_explore.ir.graph import SGraph, replace_node
from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    Band,
    Binary,
    Concat,
    Custom,
    Expand,
    Input,
    Load,
    MatMul,
    Node,
    Permute,
    Reduce,
    Reshape,
    Result,
    RunningMax,
    Scalar,
    Slice,
    Store,
    Unary,
    ViewOp,
)
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.transforms.boundary_views import split_boundary_views
from prism_explore.support.caches import memoize


@memoize(256)
def hoist_views(program: TensorProgram) -> TensorProgram:
    """Hoist views to the inputs as long as that leaves fewer views between operators."""
    while (changed := _hoist_one(program)) is not None:
        program = changed
    return program


def _hoist_one(program: TensorProgram) -> TensorProgram | None:
    """The program with the first view hoisted that can be."""
    operators, views = _count_core(program.graph)
    for position in split_boundary_views(program.graph).core:
        op = program.graph.nodes[position].op
        if isinstance(op, Permute | Reshape):
            found = _Hoist(program, position, op).program()
            if found is not None:
                now = _count_core(found.graph)
                if now[0] <= operators and now[1] < views:
                    return found
    return None


def _count_core(graph: SGraph) -> tuple[int, int]:
    """The operators of the core: those that are no views, and the views."""
    core = [graph.nodes[p].op for p in split_boundary_views(graph).core]
    views = sum(isinstance(op, ViewOp) for op in core)
    return len(core) - views, views


@dataclass(frozen=True, slots=True)
class _View:
    """A view of operands that an operator broadcasts to some dims."""

    op: Permute | Reshape
    dims: tuple[Dim, ...]

    def views_of_operand(self, own: tuple[Dim, ...]) -> tuple[Permute | Reshape, ...] | None:
        """The views of a tensor that give what this view gives of the broadcast tensor; None if there are none.

        >>> _View(Permute((1, 0)), (dim(8), dim(4))).of((dim(4),))
        (Reshape(dims=(Dim(4), Dim(1))),)
        """
        missing = len(self.dims) - len(own)
        full = (*(ONE for _ in range(missing)), *own)
        match self.op:
            case Permute(order):
                new = tuple(full[d] for d in order)
                longer = [d for d in order if not full[d].is_one]
                if longer != sorted(longer):
                    return (Reshape(full), self.op) if missing else (self.op,)
            case Reshape(dims):
                same = dict(unchanged_dims(self.dims, dims))
                moved = [d for d in range(len(full)) if d not in same.values()]
                regrouped = all(full[d] == self.dims[d] for d in moved)
                if not regrouped and not all(full[d].is_one for d in moved):
                    return None
                new = tuple(full[same[d]] if d in same else n if regrouped else ONE for d, n in enumerate(dims))
        while missing and len(new) > len(own) and new[0].is_one:
            new = new[1:]
        return () if new == own else (Reshape(new),)

    def along(self, d: int) -> int | None:
        """The position of a dim after the view; None if the view regroups it."""
        match self.op:
            case Permute(order):
                return order.index(d)
            case Reshape(dims):
                return {old: new for new, old in unchanged_dims(self.dims, dims)}.get(d)


class _Hoist:
    """One view of a program, and the operators before it, rebuilt on views of the inputs."""

    def __init__(self, program: TensorProgram, position: int, op: Permute | Reshape) -> None:
        self._old, self._position, self._op = program, position, op
        self._types = program.graph.types()
        self._nodes = list(program.graph.nodes)
        self._lines = list(program.lines)
        self._at = {node: n for n, node in reversed([*enumerate(self._nodes)])}

    def program(self) -> TensorProgram | None:
        """The program with the view hoisted; None if it is at the inputs already, or an operator prevents it."""
        graph = self._old.graph
        (below,) = graph.nodes[self._position].args
        made = None if self._is_given(below) else self._hoist(below, _View(self._op, self._types[below].dims))
        if made is None:
            return None
        lifted_graph, kept = replace_node(graph, self._nodes[len(graph.nodes) :], self._position, made)
        lines = tuple(self._lines[p] for p in kept) if self._lines else ()
        return TensorProgram(self._old.name, lifted_graph, lines)

    def _hoist(self, position: int, view: _View) -> int | None:
        """A tensor of the program under a view, as an operator on hoisted views; None if that is impossible."""
        node, own = self._nodes[position], self._types[position].dims
        views = view.views_of_operand(own)
        if not views:
            return None if views is None else position
        if self._is_given(position):
            for op in views:
                position = self._append(Node(op, (position,)), position)
            return position
        match node.op:
            case Unary() | Scalar() | Binary():
                op = node.op
            case Reduce(fn, along) if len(own) == len(view.dims):
                (below,) = node.args
                extent = self._types[below].dims[along]
                if view.dims[along] != extent:
                    if not isinstance(view.op, Permute):
                        return None
                    view = _View(view.op, (*view.dims[:along], extent, *view.dims[along + 1 :]))
                place = view.along(along)
                if place is None:
                    return None
                op = Reduce(fn, place)
            case Reduce() | MatMul() | Permute() | Reshape() | Expand() | Slice() | Concat() | Band():
                return None
            case Load() | Accumulate() | AccumulateRescaled() | RunningMax() | Store() | Custom() | Result() | Input():
                raise AssertionError("a program has no kernels, and an input is given")
        args: list[int] = []
        for a in node.args:
            arg = self._hoist(a, view)
            if arg is None:
                return None
            args.append(arg)
        return self._append(Node(op, tuple(args)), position)

    def _is_given(self, position: int) -> bool:
        """Whether a tensor is an input under views only."""
        node = self._nodes[position]
        if isinstance(node.op, Permute | Reshape | Slice):
            return self._is_given(node.args[0])
        return isinstance(node.op, Input)

    def _append(self, node: Node, origin: int) -> int:
        """Add an operator unless the same one is there."""
        if node not in self._at:
            self._at[node] = len(self._nodes)
            self._nodes.append(node)
            if self._lines:
                self._lines.append(self._lines[origin])
        return self._at[node]
