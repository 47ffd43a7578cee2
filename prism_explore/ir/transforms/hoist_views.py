"""View hoisting: move views to a program's inputs, past operators that do not depend on the order of dims.

A model may normalize keys in the layout of its cache and transpose them for attention, or split heads after
elementwise operators. A kernel has to compute such a view between operators, no axis that it regroups can be
partitioned, and no algebraic law applies across it. Elementwise operators and reductions can be computed after the
view instead, which is then a view of an input and costs nothing (`ir.transforms.boundary_views`):

    transpose(k / rms(k, dim=1))  =  transpose(k) / rms(transpose(k), dim=0)

Output: a program with the same result. The transform is not trusted: the caller proves that both programs are equal.
"""

from __future__ import annotations

from dataclasses import dataclass

from prism_explore.ir.axes import unchanged_dims
from prism_explore.ir.dims import ONE, Dim
from prism_explore.ir.graph import SGraph
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
    Lookup,
    MatMul,
    Node,
    Permute,
    Reduce,
    Reshape,
    Result,
    RunningMax,
    Scalar,
    Scan,
    Slice,
    Store,
    Unary,
    ViewOp,
)
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.transforms.added_nodes import AddedNodes
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
            hoisted = _Hoist(program, position, op).program()
            if hoisted is not None:
                counts = _count_core(hoisted.graph)
                if counts[0] <= operators and counts[1] < views:
                    return hoisted
    return None


def _count_core(graph: SGraph) -> tuple[int, int]:
    """The number of operators of the core that are no views, and the number of views."""
    core = [graph.nodes[p].op for p in split_boundary_views(graph).core]
    views = sum(isinstance(op, ViewOp) for op in core)
    return len(core) - views, views


@dataclass(frozen=True, slots=True)
class _View:
    """A view of operands that an operator broadcasts to some dims."""

    op: Permute | Reshape
    dims: tuple[Dim, ...]

    def views_of_operand(self, operand: tuple[Dim, ...]) -> tuple[Permute | Reshape, ...] | None:
        """The views of an operand with these dims that correspond to the view of the broadcast operand.

        None if there are none.

        >>> _View(Permute((1, 0)), (dim(8), dim(4))).views_of_operand((dim(4),))
        (Reshape(dims=(dim('4'), dim('1'))),)
        """
        missing = len(self.dims) - len(operand)
        padded = (*(ONE for _ in range(missing)), *operand)
        match self.op:
            case Permute(order):
                new = tuple(padded[d] for d in order)
                longer = [d for d in order if not padded[d].is_one]
                if longer != sorted(longer):
                    return (Reshape(padded), self.op) if missing else (self.op,)
            case Reshape(dims):
                unchanged = dict(unchanged_dims(self.dims, dims))
                regrouped_dims = [d for d in range(len(padded)) if d not in unchanged.values()]
                is_full = all(padded[d] == self.dims[d] for d in regrouped_dims)
                if not is_full and not all(padded[d].is_one for d in regrouped_dims):
                    return None
                new = tuple(
                    padded[unchanged[d]] if d in unchanged else n if is_full else ONE for d, n in enumerate(dims)
                )
        while missing and len(new) > len(operand) and new[0].is_one:
            new = new[1:]
        return () if new == operand else (Reshape(new),)

    def along(self, d: int) -> int | None:
        """The position of a dim after the view; None if the view regroups it."""
        match self.op:
            case Permute(order):
                return order.index(d)
            case Reshape(dims):
                return {old: new for new, old in unchanged_dims(self.dims, dims)}.get(d)


class _Hoist:
    """Rebuilds the operators before one view of a program on views of the inputs."""

    def __init__(self, program: TensorProgram, position: int, op: Permute | Reshape) -> None:
        self._position, self._op = position, op
        self._types = program.graph.types()
        self._added = AddedNodes(program, position)

    def program(self) -> TensorProgram | None:
        """The program with the view hoisted; None if it is at the inputs already, or an operator prevents it."""
        (below,) = self._added.nodes[self._position].args
        result = None if self._is_given(below) else self._hoist(below, _View(self._op, self._types[below].dims))
        return None if result is None else self._added.program(result)

    def _hoist(self, position: int, view: _View) -> int | None:
        """The position of a tensor under a view, computed from hoisted views; None if that is impossible."""
        node, own = self._added.nodes[position], self._types[position].dims
        views = view.views_of_operand(own)
        if not views:
            return None if views is None else position
        if self._is_given(position):
            for op in views:
                position = self._added.append(Node(op, (position,)), position)
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
                dim = view.along(along)
                if dim is None:
                    return None
                op = Reduce(fn, dim)
            case Scan(fn, along) if (dim := view.along(along)) is not None and len(own) == len(view.dims):
                op = Scan(fn, dim)
            case (
                Reduce() | Scan() | MatMul() | Lookup() | Permute() | Reshape() | Expand() | Slice() | Concat() | Band()
            ):
                return None
            case Load() | Accumulate() | AccumulateRescaled() | RunningMax() | Store() | Custom() | Result() | Input():
                raise AssertionError("a program has no kernels, and an input is given")
        args: list[int] = []
        for a in node.args:
            arg = self._hoist(a, view)
            if arg is None:
                return None
            args.append(arg)
        return self._added.append(Node(op, tuple(args)), position)

    def _is_given(self, position: int) -> bool:
        """Whether a tensor is an input under views only."""
        node = self._added.nodes[position]
        if isinstance(node.op, Permute | Reshape | Slice):
            return self._is_given(node.args[0])
        return isinstance(node.op, Input)
