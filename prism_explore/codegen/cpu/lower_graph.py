"""From an sGraph with numbers in it to loops: one nest for every kernel-level operator.

    lower.py         kernel by kernel: which buffers there are, which results are views of others
    predefined.py    a predefined operator as a block graph of its own, so that there is one path
    block_nest.py    a block graph, node by node
    block_sums.py    its sums, running maxima and products
    block_frame.py   its tiles: indices, memory, sections
    block_facts.py   what in it depends on what, and what may be done once
    layout.py        strides and views

Between kernels, a view is a buffer that lies in another, with strides of its own; it is copied only where no
strides do, or where it is the result. A result that is a view of what a kernel makes is made where it lies.
"""

from __future__ import annotations

from dataclasses import replace

from prism_explore.codegen.cpu.block_facts import Lowering, needed_by
from prism_explore.codegen.cpu.block_scope import Source
from prism_explore.codegen.cpu.layout import laid_out, numbers, unused, view_of
from prism_explore.codegen.cpu.loop_ir import Buffer, LoopProgram, Nest
from prism_explore.codegen.cpu.lower_block import nest
from prism_explore.codegen.cpu.predefined import as_block
from prism_explore.errors import ShapeError
from prism_explore.ir.graph import SGraph, consumers
from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    Band,
    ComputeOp,
    Concat,
    Custom,
    Expand,
    Input,
    Load,
    Node,
    Permute,
    Reshape,
    Result,
    RunningMax,
    Slice,
    Store,
    op_name,
)
from prism_explore.ir.tensors import TensorType

USUAL = Lowering()


def lower(graph: SGraph, choices: Lowering = USUAL) -> LoopProgram:
    """The loops of an sGraph whose maps are closed and whose sizes are numbers.

    Raises:
        ShapeError: a map is open, a symbol has no number, or a tile is not whole.
    """
    if graph.is_open:
        raise ShapeError("this sGraph's maps are still open; lower one of its candidates")
    if isinstance(graph.nodes[graph.output].op, Input | Band):
        raise ShapeError("the result is an input or a band as it stands; there is nothing to compile")
    return _Program(graph, choices).write()


class _Program:
    """Writes the nests of a kernel graph, node by node."""

    def __init__(self, graph: SGraph, choices: Lowering) -> None:
        self.graph, self.choices = graph, choices
        self.types = graph.types()
        self.shapes = tuple(numbers(t, f"kernel node %{i}") for i, t in enumerate(self.types))
        self.needed = needed_by(graph.nodes, graph.output)
        self.taken = {i.name for i in graph.inputs}
        self.sources: dict[int, Source] = {}
        self.nests: list[Nest] = []
        self.written_as: dict[int, Buffer] = {}
        """What is written where the result lies, which is only another view of it."""

    def write(self) -> LoopProgram:
        """The program."""
        self._result_in_place()
        for position, node in enumerate(self.graph.nodes):
            if isinstance(node.op, Input):
                order = self.types[position].storage_order
                dtype = self.types[position].dtype
                self.sources[position] = laid_out(node.op.name, self.shapes[position], order, "input", dtype)
            elif position in self.needed and position not in self.sources:
                self._write_node(position, node)
        output = self.sources[self.graph.output]
        assert isinstance(output, Buffer), "a band that is the result was written out"
        memory = [b for b in self.sources.values() if isinstance(b, Buffer)]
        return LoopProgram(
            inputs=tuple(b for b in memory if b.where == "input" and b.of is None),
            temporaries=tuple(b for b in memory if b.where == "temporary" and b.of is None),
            output=output,
            nests=tuple(self.nests),
            views=tuple(b for b in memory if b.of is not None),
        )

    def _result_in_place(self) -> None:
        """A result that is a view of what a kernel makes is made where it lies: that kernel writes through the view."""
        nodes, readers, last = self.graph.nodes, consumers(self.graph.nodes), self.graph.output
        result = laid_out(
            "out", self.shapes[last], tuple(range(len(self.shapes[last]))), "output", self.types[last].dtype
        )
        position, seen = last, result
        between: set[int] = set()
        while isinstance(op := nodes[position].op, Reshape | Permute):
            between.add(position)
            (position,) = nodes[position].args
            dims = self.types[position].dims
            back = Permute(tuple(map(op.order.index, range(len(dims))))) if isinstance(op, Permute) else Reshape(dims)
            found = view_of("", back, seen, self.shapes[position])
            if found is None or len(readers[position]) > 1:
                return
            seen = found
        if not between or isinstance(nodes[position].op, Input | Band | Result):
            return
        named = replace(result, name=unused("out", self.taken))
        self.sources[last] = named
        self.written_as[position] = replace(seen, name=unused(f"k{position}", self.taken), of=named)
        self.needed -= between

    def _write_node(self, position: int, node: Node) -> None:
        types = tuple(self.types[a] for a in node.args)
        sources = tuple(self.sources[a] for a in node.args if a in self.sources)
        match node.op:
            case Input():
                raise AssertionError("inputs have their buffers")
            case Load() | Store() | Accumulate() | AccumulateRescaled() | RunningMax():
                raise AssertionError("SGraph refuses block-level operators")
            case Band() as band:
                self.sources[position] = band
            case Permute() | Reshape() | Expand() | Slice():
                view = None
                if position != self.graph.output and isinstance(sources[0], Buffer):
                    view = view_of(unused(f"k{position}", self.taken), node.op, sources[0], self.shapes[position])
                if view is not None:
                    self.sources[position] = view
                else:
                    self._by_block(position, node.op, types, sources)
            case Concat():
                self._by_block(position, node.op, types, sources)
            case Custom(block):
                outs = tuple(self._result(p) for p in self._results(position))
                title = f"{next(b.name for b in outs if b)}: custom"
                self.nests.append(nest(title, block, sources, types, outs, self.choices))
            case Result():
                twin = next(p for p, n in enumerate(self.graph.nodes) if n == node and p in self.sources)
                self.sources[position] = self.sources[twin]
            case op:
                self._by_block(position, op, types, sources)

    def _by_block(
        self, position: int, op: ComputeOp, types: tuple[TensorType, ...], sources: tuple[Source, ...]
    ) -> None:
        out = self._result(position)
        assert out is not None, "what is written is needed"
        title, block = f"{out.name}: {op_name(op)}", as_block(op, types)
        self.nests.append(nest(title, block, sources, types, (out,), self.choices))

    def _results(self, position: int) -> tuple[int | None, ...]:
        """Where each store of a custom kernel shows in the graph; None where nothing reads it."""
        nodes = self.graph.nodes
        block = dict(self.graph.customs)[position]
        found: list[int | None] = [None] * len(block.stores)
        read = {a for p in self.needed if not isinstance(nodes[p].op, Result) for a in nodes[p].args}
        if position in read or position == self.graph.output or position in self.written_as:
            found[0] = position
        for p in sorted(self.needed):
            op = nodes[p].op
            if isinstance(op, Result) and nodes[p].args[0] == position and found[op.index] is None:
                found[op.index] = p
        return tuple(found)

    def _result(self, position: int | None) -> Buffer | None:
        if position is None:
            return None
        if position in self.written_as:
            self.sources[position] = self.written_as[position]
            return self.written_as[position]
        is_output = position == self.graph.output
        name = unused("out" if is_output else f"k{position}", self.taken)
        shape = self.shapes[position]
        # What passes between kernels is no result: it keeps the precision that it was computed in.
        where, dtype = ("output", self.types[position].dtype) if is_output else ("temporary", "f32")
        made = laid_out(name, shape, tuple(range(len(shape))), where, dtype)
        self.sources[position] = made
        return made
