"""Lookup hoisting: look up inputs in place of tensors that are computed from them.

A lookup of a computed tensor needs all of that tensor first, and no kernel computes one inside a block. Elementwise
operators, reductions, scans and products of other dims can be computed from what is looked up instead, which is then a
view of an input (`ir.transforms.boundary_views`):

    lookup(softmax(x), i)             =  softmax(lookup(x, i))               rows of x
    lookup(x - log(sum(exp(x))), i)   =  lookup(x, i) - log(sum(exp(x)))     one entry per row of x: cross entropy
    lookup(x @ w, i)                  =  sum(x * lookup(w, i))               one entry per row of a product

Output: a program with the same result. The transform is not trusted: the caller proves that both programs are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from prism_explore.ir.dims import ONE, Dim
from prism_explore.ir.ops import (
    Binary,
    Concat,
    Expand,
    Input,
    Lookup,
    MatMul,
    Node,
    Op,
    Permute,
    Reduce,
    Reshape,
    Scalar,
    Scan,
    Slice,
    Unary,
)
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.transforms.added_nodes import AddedNodes


def hoist_lookups(program: TensorProgram) -> TensorProgram:
    """Hoist lookups of computed tensors to the inputs where the operators before them allow it."""
    refused: set[Node] = set()
    while True:
        nodes = program.graph.nodes
        computed = (
            n
            for n, node in enumerate(nodes)
            if isinstance(node.op, Lookup) and not is_given(nodes, n) and node not in refused
        )
        position = next(computed, None)
        if position is None:
            return program
        hoisted = _Hoist(program, position).program()
        if hoisted is None:
            refused.add(nodes[position])
        else:
            program, refused = hoisted, set()


def is_given(nodes: Sequence[Node], position: int) -> bool:
    """Whether a tensor is an input under views and lookups only."""
    while isinstance(nodes[position].op, Permute | Reshape | Slice | Lookup):
        position = nodes[position].args[0]
    return isinstance(nodes[position].op, Input)


class _Hoist:
    """Rebuilds the operators before one lookup of a program on lookups of the inputs."""

    def __init__(self, program: TensorProgram, position: int) -> None:
        node = program.graph.nodes[position]
        assert isinstance(node.op, Lookup), "it is the position of a lookup"
        self._op, (self._table, self._integers) = node.op, node.args
        self._types = program.graph.types()
        self._places = self._types[self._integers].dims
        self._added = AddedNodes(program, position)

    def program(self) -> TensorProgram | None:
        """The program with the lookup hoisted; None if an operator prevents it."""
        along, batch = self._op.dim, self._op.batch
        found = None if self._types[self._table].dims[along].is_one else self._looked(self._table, along, batch)
        return None if found is None else self._added.program(found)

    def _looked(self, table: int, along: int, batch: int) -> int | None:
        """The position of what a lookup reads, computed from lookups of inputs; None if that is impossible.

        Of a table whose dim `along` has size 1, the result has size 1 in the new dims, too, and broadcasts to them.

        Args:
            table: the position of the table.
            along: its dim that is looked up.
            batch: the number of its leading dims that it shares with the integers.
        """
        node, dims = self._added.nodes[table], self._types[table].dims
        places = self._places[batch:]
        if dims[along].is_one:
            return self._reshaped(table, dims, (*dims[:along], *(ONE for _ in places), *dims[along + 1 :]), table)
        if is_given(self._added.nodes, table):
            fits = dims[:batch] == self._places[:batch]
            return self._added.append(Node(Lookup(along, batch), (table, self._integers)), table) if fits else None
        match node.op:
            case Unary() | Scalar():
                return self._rebuilt(node.op, table, along, batch)
            case Binary():
                if batch and any(0 < len(dims) - len(self._types[a].dims) <= along for a in node.args):
                    return None
                return self._rebuilt(node.op, table, along, batch)
            case MatMul() if not batch and len(places) == 1 and along >= len(dims) - 2:
                args = list(node.args)
                side = along - (len(dims) - 2)
                looked = self._looked(args[side], len(self._types[args[side]].dims) - 2 + side, 0)
                if looked is None:
                    return None
                args[side] = looked
                return self._added.append(Node(node.op, tuple(args)), table)
            case MatMul() if batch == along == len(dims) - 1 and not places:
                return self._element_of_product(table)
            case Reduce() | Scan() | Concat() | Slice() as op if op.dim != along and op.dim >= batch:
                return self._rebuilt(replace(op, dim=self._moved(op.dim, along, batch)), table, along, batch)
            case Expand(d, size) if d != along and d >= batch:
                return self._rebuilt(Expand(self._moved(d, along, batch), size), table, along, batch)
            case Expand(d) if d == along:
                out = self._looked(node.args[0], along, batch)
                for n, size in enumerate(places):
                    if out is not None and not size.is_one:
                        out = self._added.append(Node(Expand(along + n, size), (out,)), table)
                return out
            case Permute(order) if order[:batch] == tuple(range(batch)):
                out = self._looked(node.args[0], order[along], batch)
                if out is None:
                    return None
                block = range(order[along], order[along] + len(places))
                moved = ((*block,) if d == order[along] else (self._moved(d, order[along], batch),) for d in order)
                return self._added.append(Node(Permute(tuple(chain.from_iterable(moved))), (out,)), table)
            case Reshape():
                (below,) = node.args
                before, left = self._types[below].dims, len(dims) - along
                if before[: along + 1] == dims[: along + 1]:
                    at = along
                elif before[-left:] == dims[-left:] and not batch:
                    at = len(before) - left
                else:
                    return None
                out = self._looked(below, at, batch)
                if out is None:
                    return None
                seen = (*before[:at], *places, *before[at + 1 :])
                return self._reshaped(out, seen, (*dims[:along], *places, *dims[along + 1 :]), table)
            case _:
                return None

    def _element_of_product(self, table: int) -> int | None:
        """One element per row of a matrix product: the sum of the row times the column that is looked up."""
        left, right = self._added.nodes[table].args
        rank, own = len(self._types[table].dims), len(self._types[right].dims)
        if own not in (2, rank):
            return None
        column = self._looked(right, own - 1, own - 2)
        if column is None:
            return None
        order = (*range(own - 2), *range(own - 1, rank), own - 2)  # the summed dim last
        column = self._added.append(Node(Permute(order), (column,)), table)
        products = self._added.append(Node(Binary("mul"), (left, column)), table)
        total = self._added.append(Node(Reduce("sum", rank - 1), (products,)), table)
        return self._added.append(Node(Reshape(self._places), (total,)), table)

    def _moved(self, d: int, along: int, batch: int) -> int:
        """The position of another dim of a table after a lookup."""
        return d if d < along else d + len(self._places) - batch - 1

    def _rebuilt(self, op: Op, table: int, along: int, batch: int) -> int | None:
        """An operator of looked-up operands; an operand without the dim stays."""
        args: list[int] = []
        for a in self._added.nodes[table].args:
            missing = max(0, len(self._types[table].dims) - len(self._types[a].dims))
            looked = a if missing > along else self._looked(a, along - missing, batch)
            if looked is None:
                return None
            args.append(looked)
        return self._added.append(Node(op, tuple(args)), table)

    def _reshaped(self, x: int, before: tuple[Dim, ...], after: tuple[Dim, ...], origin: int) -> int:
        return x if before == after else self._added.append(Node(Reshape(after), (x,)), origin)
