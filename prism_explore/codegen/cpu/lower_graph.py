"""Lowering of an sGraph at given sizes to the loop IR: one loop nest per kernel-level operator.

    lower_graph.py      kernel by kernel: buffers, and results that are views of others
    predefined.py       a predefined operator as a block graph, so that there is one path
    lower_block.py      a block graph, node by node
    reductions.py       its sums, running maxima and products
    block_scope.py      its tiles: indices, memory, sections
    block_analysis.py   its dependences, and what can be hoisted
    layout.py           strides and views

Between kernels, a view is a part of another buffer with strides of its own. It is copied only where it cannot be
expressed by strides, or where it is the result. A result that is a view of a kernel's result is computed in place.
"""

from __future__ import annotations

from dataclasses import replace

from prism_explore.codegen.cpu.block_analysis import LoweringOptions
from prism_explore.codegen.cpu.block_scope import Source
from prism_explore.codegen.cpu.layout import concrete_dims, dense_buffer, view_buffer
from prism_explore.codegen.cpu.loop_ir import Affine, Buffer, Gather, LoopNest, LoopProgram, Place, Range, Read
from prism_explore.codegen.cpu.lower_block import lower_block
from prism_explore.codegen.cpu.predefined import as_block
from prism_explore.errors import ShapeError
from prism_explore.ir.graph import SGraph, consumers, fresh_name, needed_by
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
    Lookup,
    Node,
    Permute,
    Reshape,
    Result,
    RunningMax,
    Slice,
    Store,
    op_label,
)
from prism_explore.ir.tensors import TensorType

DEFAULT_OPTIONS = LoweringOptions()


def lower_graph(graph: SGraph, options: LoweringOptions = DEFAULT_OPTIONS) -> LoopProgram:
    """The loop program of an sGraph with closed maps and constant sizes.

    Raises:
        ShapeError: a map is open, a symbol has no value, or a dim is not a multiple of the number of its tiles.
    """
    if graph.is_open:
        raise ShapeError("this sGraph's maps are still open; lower one of its candidates")
    if any(isinstance(graph.nodes[n].op, Input | Band) for n in graph.outputs):
        raise ShapeError("a result is an input or a band as it stands; there is nothing to compile")
    return _Program(graph, options).lower()


class _Program:
    """Lowers a kernel graph, node by node."""

    def __init__(self, graph: SGraph, options: LoweringOptions) -> None:
        self.graph, self.options = graph, options
        self.types = graph.types()
        self.shapes = tuple(concrete_dims(t, f"kernel node %{i}") for i, t in enumerate(self.types))
        self.needed = needed_by(graph.nodes, graph.outputs)
        self.outputs = frozenset(graph.outputs)
        self.taken = {i.name for i in graph.inputs}
        self.sources: dict[int, Source] = {}
        self.nests: list[LoopNest] = []
        self.written_as: dict[int, Buffer] = {}
        """Nodes that are computed in the memory of a result, which is a view of them."""

    def lower(self) -> LoopProgram:
        """The program."""
        for result in self.graph.outputs:
            self._result_in_place(result)
        for position, node in enumerate(self.graph.nodes):
            if isinstance(node.op, Input):
                strides, dtype = node.op.type.strides_at({}), node.op.type.dtype
                self.sources[position] = Buffer(node.op.name, self.shapes[position], strides, "input", dtype=dtype)
            elif position in self.needed and position not in self.sources:
                self._lower_node(position, node)
        outputs = [self.sources[n] for n in self.graph.outputs]
        memory = [b for b in self.sources.values() if isinstance(b, Buffer)]
        return LoopProgram(
            inputs=tuple(b for b in memory if b.where == "input" and b.parent is None),
            temporaries=tuple(b for b in memory if b.where == "temporary" and b.parent is None),
            outputs=tuple(b for b in outputs if isinstance(b, Buffer)),
            nests=tuple(self.nests),
            views=tuple(b for b in memory if b.parent is not None),
        )

    def _result_in_place(self, last: int) -> None:
        """Where a result is a view of a kernel's result, let that kernel write to the result's memory."""
        nodes, readers = self.graph.nodes, consumers(self.graph.nodes)
        result = dense_buffer(
            "out", self.shapes[last], tuple(range(len(self.shapes[last]))), "output", self.types[last].dtype
        )
        position, seen = last, result
        between: set[int] = set()
        while isinstance(op := nodes[position].op, Reshape | Permute):
            between.add(position)
            (position,) = nodes[position].args
            dims = self.types[position].dims
            back = Permute(tuple(map(op.order.index, range(len(dims))))) if isinstance(op, Permute) else Reshape(dims)
            found = view_buffer("", back, seen, self.shapes[position])
            if found is None or len(readers[position]) > 1 or position in self.outputs or position in self.written_as:
                return
            seen = found
        if not between or isinstance(nodes[position].op, Input | Band | Result):
            return
        named = replace(result, name=fresh_name("out", self.taken))
        self.sources[last] = named
        self.written_as[position] = replace(seen, name=fresh_name(f"k{position}", self.taken), parent=named)
        self.needed -= between

    def _lower_node(self, position: int, node: Node) -> None:
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
                is_written = position in self.outputs or position in self.written_as
                if not is_written and isinstance(sources[0], Buffer):
                    view = view_buffer(
                        fresh_name(f"k{position}", self.taken), node.op, sources[0], self.shapes[position]
                    )
                if view is not None:
                    self.sources[position] = view
                else:
                    self._lower_as_block(position, node.op, types, sources)
            case Lookup() as lookup:
                self._lower_lookup(position, lookup, sources)
            case Concat():
                self._lower_as_block(position, node.op, types, sources)
            case Custom(block):
                outs = tuple(self._result_buffer(p) for p in self._result_nodes(position))
                title = f"{next(b.name for b in outs if b)}: custom"
                nest = lower_block(title, block, sources, types, outs, self.options)
                self.nests.append(replace(nest, kernel=position))
            case Result():
                same = next(p for p, n in enumerate(self.graph.nodes) if n == node and p in self.sources)
                self.sources[position] = self.sources[same]
            case op:
                self._lower_as_block(position, op, types, sources)

    def _lower_as_block(
        self, position: int, op: ComputeOp, types: tuple[TensorType, ...], sources: tuple[Source, ...]
    ) -> None:
        out = self._result_buffer(position)
        assert out is not None, "what is written is needed"
        title, block = f"{out.name}: {op_label(op)}", as_block(op, types)
        nest = lower_block(title, block, sources, types, (out,), self.options)
        self.nests.append(replace(nest, kernel=position))

    def _lower_lookup(self, position: int, lookup: Lookup, sources: tuple[Source, ...]) -> None:
        """A copy of the rows at the positions; blocks run along the first dim of the positions or before it."""
        table, integers = sources
        out = self._result_buffer(position)
        if not isinstance(table, Buffer):
            raise ShapeError("a lookup in a band is not compiled; write the band as an input")
        assert isinstance(integers, Buffer) and out is not None, (
            "SGraph requires an input, and what is written is needed"
        )
        taken = {b.name for b in (table, integers, out)}
        names = [fresh_name(f"d{d}", taken) for d in range(len(out.shape))]
        at: list[Affine] = [((name, 1),) if n > 1 else () for name, n in zip(names, out.shape, strict=True)]
        along, batch = lookup.dim, lookup.batch
        variable, end = fresh_name("row", taken), along + len(integers.shape) - batch
        ranges = [Range(name, n) for name, n in zip(names, out.shape, strict=True) if n > 1]
        grid = [r for r in ranges if r.name in names[:end]][:1]
        read = Read(Place(table, (*at[:along], ((variable, 1),), *at[end:])))
        domain = tuple(r for r in ranges if r not in grid)
        copy = Gather(domain, Place(integers, (*at[:batch], *at[along:end])), variable, Place(out, tuple(at)), read)
        title = f"{out.name}: lookup"
        self.nests.append(LoopNest(title, tuple(grid), 0, None, (), (), (), (), (copy,), kernel=position))

    def _result_nodes(self, position: int) -> tuple[int | None, ...]:
        """The graph node of each store of a custom kernel; None where nothing reads it."""
        nodes = self.graph.nodes
        block = dict(self.graph.customs)[position]
        found: list[int | None] = [None] * len(block.stores)
        read = {a for p in self.needed if not isinstance(nodes[p].op, Result) for a in nodes[p].args}
        if position in read or position in self.outputs or position in self.written_as:
            found[0] = position
        for p in sorted(self.needed):
            op = nodes[p].op
            if isinstance(op, Result) and nodes[p].args[0] == position and found[op.index] is None:
                found[op.index] = p
        return tuple(found)

    def _result_buffer(self, position: int | None) -> Buffer | None:
        if position is None:
            return None
        if position in self.written_as:
            self.sources[position] = self.written_as[position]
            return self.written_as[position]
        is_output = position in self.outputs
        name = fresh_name("out" if is_output else f"k{position}", self.taken)
        shape = self.shapes[position]
        # A tensor between kernels keeps the precision that it was computed in.
        where, dtype = ("output", self.types[position].dtype) if is_output else ("temporary", "f32")
        buffer = dense_buffer(name, shape, tuple(range(len(shape))), where, dtype)
        self.sources[position] = buffer
        return buffer
