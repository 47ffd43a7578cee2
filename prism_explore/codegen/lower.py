"""From an sGraph with numbers in it to loops: which tiles get memory, what is fused, what is done once.

Every kernel-level operator becomes one nest; a predefined one is first written as a block graph of
its own (`as_block`), so there is one path. Inside a block

* a load is a view of its operand, never a copy, unless a product needs another layout or `pack` asks;
* elementwise chains are written into their consumer; a tile gets memory when a product reads it, when
  it is read twice, when a consumer would repeat it along a dim, or when it outlives its section;
* a product that is only accumulated adds straight into the accumulator;
* a view is another index of the same expression; where dims merge, or two tensors meet, it is a copy;
* a band is computed where it is read, from the indices;
* a running maximum and what is rescaled by it are kept in memory and changed in every iteration;
* what depends on few grid dims only is done once per thread for all points of the others (`hoist`).

Between kernels, a view is a buffer that lies in another, with strides of its own; it is copied only where no
strides do, or where it is the result.

A grid dim that no store names would write the same tile again and again; a proved sGraph writes the same
values there, so only its first point is run.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor, prod
from typing import Literal, TypeAlias

from prism_explore.codegen.loops import (
    LOWEST,
    ONE,
    Affine,
    Apply,
    Buffer,
    Constant,
    Contract,
    Expression,
    Fold,
    Join,
    LoopProgram,
    Map,
    Nest,
    Place,
    Range,
    Read,
    Statement,
    Within,
    reads,
    substituted,
)
from prism_explore.errors import ShapeError
from prism_explore.ir.dims import dim
from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    Band,
    Binary,
    ComputeOp,
    Concat,
    Custom,
    Expand,
    Input,
    Load,
    MatMul,
    Node,
    Permute,
    Reduce,
    ReduceFn,
    Reshape,
    Result,
    RunningMax,
    Scalar,
    Slice,
    Store,
    Unary,
    compute_dims,
    op_name,
)
from prism_explore.ir.sgraph import BlockGraph, ParallelDim, Phase, SGraph, block_types, consumers, phases
from prism_explore.ir.tensors import DType, TensorType

KEEP_BYTES = 4 << 20
"""What a thread may keep between blocks; beyond it, nothing is done once."""
AHEAD_ELEMENTS = 1 << 16
"""A reduction of loads up to this size runs ahead of the loop, all iterations at once."""
PACK_ROWS = 4
"""From this many rows on, the left tile of a product is worth a copy in the order it is read."""


@dataclass(frozen=True, slots=True)
class Lowering:
    """Choices that change the loops, not the numbers."""

    hoist: bool = True
    """Do what does not depend on the inner grid dims once per thread."""
    pack: bool = True
    """Copy the left operand of a product into tile order, where that is done once."""


def lower(graph: SGraph, choices: Lowering = Lowering()) -> LoopProgram:
    """The loops of an sGraph whose maps are closed and whose sizes are numbers.

    Raises:
        ShapeError: a map is open, a symbol has no number, or a tile is not whole.
    """
    if graph.is_open:
        raise ShapeError("this sGraph's maps are still open; lower one of its candidates")
    if isinstance(graph.nodes[graph.output].op, Input | Band):
        raise ShapeError("the result is an input or a band as it stands; there is nothing to compile")
    return _Program(graph, choices).write()


Source: TypeAlias = Buffer | Band
"""What a kernel reads: memory, or a formula."""


class _Program:
    """Writes the nests of a kernel graph, node by node."""

    def __init__(self, graph: SGraph, choices: Lowering) -> None:
        self.graph, self.choices = graph, choices
        self.types = graph.types()
        self.shapes = tuple(_numbers(t, f"kernel node %{i}") for i, t in enumerate(self.types))
        self.needed = _needed(graph.nodes, graph.output)
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
                self.sources[position] = _laid_out(node.op.name, self.shapes[position], order, "input", dtype)
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
        result = _laid_out(
            "out", self.shapes[last], tuple(range(len(self.shapes[last]))), "output", self.types[last].dtype
        )
        position, seen = last, result
        between: set[int] = set()
        while isinstance(op := nodes[position].op, Reshape | Permute):
            between.add(position)
            (position,) = nodes[position].args
            dims = self.types[position].dims
            back = Permute(tuple(map(op.order.index, range(len(dims))))) if isinstance(op, Permute) else Reshape(dims)
            found = _view("", back, seen, self.shapes[position])
            if found is None or len(readers[position]) > 1:
                return
            seen = found
        if not between or isinstance(nodes[position].op, Input | Band | Result):
            return
        named = replace(result, name=_unused("out", self.taken))
        self.sources[last] = named
        self.written_as[position] = replace(seen, name=_unused(f"k{position}", self.taken), of=named)
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
                    view = _view(_unused(f"k{position}", self.taken), node.op, sources[0], self.shapes[position])
                if view is not None:
                    self.sources[position] = view
                else:
                    self._by_block(position, node.op, types, sources)
            case Concat():
                self._by_block(position, node.op, types, sources)
            case Custom(block):
                outs = tuple(self._result(p) for p in self._results(position))
                title = f"{next(b.name for b in outs if b)}: custom"
                self.nests.append(_nest(title, block, sources, types, outs, self.choices))
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
        self.nests.append(_nest(title, block, sources, types, (out,), self.choices))

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
        name = _unused("out" if is_output else f"k{position}", self.taken)
        shape = self.shapes[position]
        # What passes between kernels is no result: it keeps the precision that it was computed in.
        where, dtype = ("output", self.types[position].dtype) if is_output else ("temporary", "f32")
        made = _laid_out(name, shape, tuple(range(len(shape))), where, dtype)
        self.sources[position] = made
        return made


def _view(name: str, op: Permute | Reshape | Expand | Slice, b: Buffer, shape: tuple[int, ...]) -> Buffer | None:
    """A buffer that lies in `b`; None where no strides say it."""
    start, strides = b.start, b.strides
    match op:
        case Permute(order):
            strides = tuple(b.strides[d] for d in order)
        case Expand(along, _):
            strides = (*b.strides[:along], 0, *b.strides[along + 1 :])
        case Slice(along, first, _):
            start += (first.constant or 0) * b.strides[along]
        case Reshape():
            found: list[int] = []
            for old, new in _groups(b.shape, shape):
                kept = [(b.shape[d], b.strides[d]) for d in old if b.shape[d] > 1]
                if any(s != t * n for (_, s), (n, t) in pairwise(kept)):
                    return None
                step = kept[-1][1] if kept else 0
                inner: list[int] = []
                for d in reversed(new):
                    inner.insert(0, step)
                    step *= shape[d]
                found += inner
            strides = tuple(found)
    return Buffer(name, shape, strides, b.where, b.root, start, b.dtype)


def _groups(old: tuple[int, ...], new: tuple[int, ...]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The dims of two shapes in runs of equal product, each as short as can be; dims of 1 go along."""
    groups: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    i = j = 0
    while i < len(old) or j < len(new):
        first, second = i, j
        left = right = 1
        while True:
            if left == right and (i > first or j > second) and left > 1:
                break
            if i == len(old) and j == len(new):
                break
            if left <= right and i < len(old):
                left, i = left * old[i], i + 1
            else:
                right, j = right * new[j], j + 1
        groups.append((tuple(range(first, i)), tuple(range(second, j))))
    return groups


def as_block(op: ComputeOp, operands: tuple[TensorType, ...], blocks: int = 64) -> BlockGraph:
    """A predefined kernel-level operator as a block graph of about `blocks` blocks, without a loop."""
    loads = len(operands)
    shapes = tuple(_numbers(t, "operand") for t in operands)
    if isinstance(op, Permute | Reshape | Expand | Slice | Concat):
        return _view_block(op, shapes, blocks)
    rank = max(map(len, shapes))
    result = [max(s[d - rank + len(s)] if d >= rank - len(s) else 1 for s in shapes) for d in range(rank)]
    whole: set[int] = set()
    smallest = [1] * rank
    if isinstance(op, MatMul):
        result[-2:] = [shapes[0][-2], shapes[1][-1]]
        smallest[-2:] = [32, 256]
    elif isinstance(op, Reduce):
        whole.add(op.dim)
        smallest[-1] = 64
    else:
        smallest[-1] = 512
    cuts: list[tuple[int, int]] = []
    for d, extent in enumerate(result):
        pieces = 1 if d in whole else _divisor(extent, min(blocks, max(1, extent // smallest[d])))
        if pieces > 1:
            cuts.append((d, pieces))
            blocks = max(1, blocks // pieces)
    grid = tuple(ParallelDim(f"g{d}", dim(pieces)) for d, pieces in cuts)

    def cut(operand: int, d: int) -> int | None:
        shape = shapes[operand]
        own = d - rank + len(shape)
        contracted = isinstance(op, MatMul) and d == (rank - 1 if operand == 0 else rank - 2)
        return None if own < 0 or shape[own] == 1 or contracted else own

    nodes = [Node(Load(o, tuple(cut(o, d) for d, _ in cuts))) for o in range(loads)]
    nodes.append(Node(op, tuple(range(loads))))
    nodes.append(Node(Store(tuple(d for d, _ in cuts)), (loads,)))
    return BlockGraph(grid, None, tuple(nodes))


def _view_block(
    op: Permute | Reshape | Expand | Slice | Concat, shapes: tuple[tuple[int, ...], ...], blocks: int
) -> BlockGraph:
    """A view that has to be copied: cut along the first dim that it leaves alone, if there is one."""
    result = tuple(d.constant or 1 for d in compute_dims(op, tuple(tuple(map(dim, s)) for s in shapes)))
    nodes = tuple(Node(Load(o), ()) for o in range(len(shapes)))
    pairs: list[tuple[int, int]] = []
    match op:
        case Permute(order):
            pairs = [(source, d) for d, source in enumerate(order)]
        case Expand(along, _) | Slice(along, _, _) | Concat(along):
            pairs = [(d, d) for d in range(len(result)) if d != along]
        case Reshape():
            pairs = [(a[0], b[0]) for a, b in _groups(shapes[0], result) if len(a) == len(b) == 1]
    source, d = next(((s, d) for s, d in pairs if result[d] > 1), (None, None))
    pieces = _divisor(result[d], blocks) if d is not None else 1
    if isinstance(op, Reshape) and d is not None:
        dims = list(op.dims)
        dims[d] = dims[d] / pieces
        op = Reshape(tuple(dims))
    grid = (ParallelDim("g0", dim(pieces)),)
    loads = tuple(Node(Load(o, (source,))) for o in range(len(nodes)))
    return BlockGraph(grid, None, (*loads, Node(op, tuple(range(len(loads)))), Node(Store((d,)), (len(loads),))))


def _divisor(extent: int, limit: int) -> int:
    return next(d for d in range(min(extent, limit), 0, -1) if extent % d == 0)


def _numbers(t: TensorType, where: str) -> tuple[int, ...]:
    numbers: list[int] = []
    for d in t.dims:
        if not d.constant:
            raise ShapeError(f"{where} is {t}: {d} is no positive integer; give every symbol a number")
        numbers.append(d.constant)
    return tuple(numbers)


def _laid_out(
    name: str,
    shape: tuple[int, ...],
    order: tuple[int, ...],
    where: Literal["input", "output", "temporary"],
    dtype: DType,
) -> Buffer:
    strides = [0] * len(shape)
    step = 1
    for d in reversed(order):
        strides[d] = step
        step *= shape[d]
    return Buffer(name, shape, tuple(strides), where, dtype=dtype)


def _unused(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _needed(nodes: tuple[Node, ...], last: int) -> set[int]:
    needed = {last}
    for position in range(last, -1, -1):
        if position in needed:
            needed.update(nodes[position].args)
    return needed


# ---------------------------------------------------------------- one block graph
@dataclass(frozen=True, slots=True)
class _Tile:
    """What a block tensor is: an expression over the variables of its dims."""

    value: Expression
    phase: Phase
    once: bool

    @property
    def place(self) -> Place | None:
        return self.value.place if isinstance(self.value, Read) else None


@dataclass(slots=True)
class _Sections:
    once: list[Statement] = field(default_factory=list[Statement])
    before: list[Statement] = field(default_factory=list[Statement])
    body: list[Statement] = field(default_factory=list[Statement])
    after: list[Statement] = field(default_factory=list[Statement])


def _nest(
    title: str,
    block: BlockGraph,
    operands: tuple[Source, ...],
    types: tuple[TensorType, ...],
    outs: tuple[Buffer | None, ...],
    choices: Lowering,
) -> Nest:
    """The nest of a block graph; a store without a buffer is left out."""
    writer = _Writer(title, block, operands, types, outs, choices)
    nest = writer.write()
    kept = sum(b.elements * 4 for b in nest.scratch if b in writer.kept)
    if kept > KEEP_BYTES:
        return _Writer(title, block, operands, types, outs, replace(choices, hoist=False)).write()
    return nest


class _Writer:
    """Writes the nest of one block graph, node by node."""

    def __init__(
        self,
        title: str,
        block: BlockGraph,
        operands: tuple[Source, ...],
        types: tuple[TensorType, ...],
        outs: tuple[Buffer | None, ...],
        choices: Lowering,
    ) -> None:
        self.title, self.block, self.operands, self.choices = title, block, operands, choices
        self.outs = {s: out for s, out in zip(block.stores, outs, strict=True) if out is not None}
        self.dims = tuple(_numbers(t, f"block node %{i}") for i, t in enumerate(block_types(block, types)))
        self.when = phases(block)
        self.readers = consumers(block.nodes)
        self.needed = set[int]().union(*(_needed(block.nodes, store) for store in self.outs))
        self.iterations = self._size(block.loop) if block.loop else 1
        self.live = tuple(
            p
            for p, g in enumerate(block.grid)
            if self._size(g) > 1 and any(self._omap(store)[p] is not None for store in self.outs)
        )
        self.block_names = {p: f"b{block.grid[p].name}" for p in self.live}
        memory = [b for b in (*operands, *self.outs.values()) if isinstance(b, Buffer)]
        taken = {*self.block_names.values(), *(b.name for b in memory)}
        taken |= {block.loop.name} if block.loop else set()
        self.loop = Range(block.loop.name, self.iterations) if block.loop and self.iterations > 1 else None
        rank = max(map(len, self.dims))
        spare = ["c", "r", "q", "p", *(f"d{j}" for j in range(rank))]
        self.tile_names = [_unused(name, taken) for name in spare[: max(rank, 2)]]
        self.m, self.n, self.k = (_unused(name, taken) for name in "mnk")
        self.depends = self._dependences()
        self.scans = self._scans()
        self.outer = self._outer()
        self.tiles: dict[int, _Tile] = {}
        self.sections = _Sections()
        self.scratch: list[Buffer] = []
        self.kept: set[Buffer] = set()
        self.packed: dict[int, Place] = {}
        self.scales: dict[int, Place] = {}
        """Per scale of rescaled sums: the factor of this iteration."""
        self.names = {b.name for b in memory}

    def _omap(self, store: int) -> tuple[int | None, ...]:
        op = self.block.nodes[store].op
        assert isinstance(op, Store), "BlockGraph ends with its stores"
        return op.omap or ()

    @staticmethod
    def _size(p: ParallelDim) -> int:
        if not p.size.constant:
            raise ShapeError(f"{p.name} has size {p.size}; give every symbol a number")
        return p.size.constant

    # ------------------------------------------------------------ what depends on what
    def _dependences(self) -> list[frozenset[int]]:
        depends: list[frozenset[int]] = []
        for node in self.block.nodes:
            if isinstance(node.op, Load):
                imap = node.op.imap or ()
                depends.append(frozenset(p for p in self.live if imap[p] is not None))
            elif isinstance(node.op, Store):
                depends.append(frozenset(self.live))
            else:
                depends.append(frozenset[int]().union(*(depends[a] for a in node.args)))
        return depends

    def _scans(self) -> frozenset[int]:
        """What holds another value in every iteration by way of the one before: it cannot be done at once."""
        found: set[int] = set()
        for position, node in enumerate(self.block.nodes):
            if isinstance(node.op, RunningMax | AccumulateRescaled) or found & set(node.args):
                found.add(position)
        return frozenset(found if self.loop else ())

    def _outer(self) -> frozenset[int] | None:
        """The grid dims on which the work to be done once depends; None where nothing is."""
        if not self.choices.hoist:
            return None
        worth = [
            self.depends[position]
            for position, node in enumerate(self.block.nodes)
            if position in self.needed
            and position not in self.scans
            and (not isinstance(node.op, Load | Store | _View) or self._is_packable_left(position))
            and self.depends[position] < frozenset(self.live)
        ]
        if not worth:
            return None
        return max(
            sorted(set(worth), key=lambda s: (len(s), sorted(s))),
            key=lambda s: sum(w <= s for w in worth),
        )

    def _is_packable_left(self, position: int) -> bool:
        return self.choices.pack and any(
            isinstance(self.block.nodes[c].op, MatMul)
            and self.block.nodes[c].args[0] == position
            and self.dims[position][-2] >= PACK_ROWS
            for c in self.readers[position]
        )

    def _is_once(self, position: int) -> bool:
        return self.outer is not None and self.depends[position] <= self.outer and position not in self.scans

    # ------------------------------------------------------------ places and domains
    def _name(self, rank: int, d: int) -> str:
        return self.tile_names[rank - 1 - d]

    def _domain(self, dims: tuple[int, ...]) -> tuple[Range, ...]:
        return tuple(Range(self._name(len(dims), d), n) for d, n in enumerate(dims) if n > 1)

    def _index(self, dims: tuple[int, ...]) -> tuple[Affine, ...]:
        return tuple(((self._name(len(dims), d), 1),) if n > 1 else () for d, n in enumerate(dims))

    def _loaded(self, load: Load, dims: tuple[int, ...]) -> Expression:
        index = [list(a) for a in self._index(dims)]
        if self.loop and load.fmap is not None:
            index[load.fmap].insert(0, (self.loop.name, dims[load.fmap]))
        for p in reversed(self.live):
            along = (load.imap or ())[p]
            if along is not None:
                length = dims[along] * (self.iterations if along == load.fmap else 1)
                index[along].insert(0, (self.block_names[p], length))
        source = self.operands[load.operand]
        if isinstance(source, Buffer):
            return Read(Place(source, tuple(tuple(a) for a in index)))
        rows, columns = index
        ahead = (*columns, *((name, -factor) for name, factor in rows))
        low, high = (None if d is None else d.rational({}) for d in (source.low, source.high))
        return Within(ahead, None if low is None else ceil(low), None if high is None else floor(high))

    def _store_place(self, store: int, dims: tuple[int, ...]) -> Place:
        index = [list(a) for a in self._index(dims)]
        for p in reversed(self.live):
            along = self._omap(store)[p]
            if along is not None:
                index[along].insert(0, (self.block_names[p], dims[along]))
        return Place(self.outs[store], tuple(tuple(a) for a in index))

    def _allocate(
        self, name: str, dims: tuple[int, ...], once: bool, per_iteration: bool, index: tuple[Affine, ...] | None = None
    ) -> Place:
        """A tile of scratch, at its own indices if no others are given.

        There is one per iteration where it is made once but differs from one to the next. Rows that are a
        multiple of 512 bytes apart meet in few cache sets, hence the padding.
        """
        looped = self.loop if once and per_iteration else None
        shape = (looped.extent, *dims) if looped else dims
        strides = [1] * len(shape)
        for d in range(len(shape) - 2, -1, -1):
            below = shape[d + 1] * strides[d + 1]
            padded = d == len(shape) - 2 and below % 128 == 0 and shape[d] > 1
            strides[d] = below + 16 if padded else below
        buffer = Buffer(_unused(name, self.names), shape, tuple(strides), "scratch")
        self.scratch.append(buffer)
        if once:
            self.kept.add(buffer)
        index = self._index(dims) if index is None else index
        return Place(buffer, ((((looped.name, 1),), *index) if looped else index))

    def _emit(self, statement: Statement, phase: Phase, once: bool) -> None:
        """Put a statement into its section; what is done once is done for all iterations at once."""
        if once:
            if phase == "loop" and self.loop:
                match statement:
                    case Map(domain):
                        statement = replace(statement, domain=(self.loop, *domain))
                    case Fold(domain):
                        statement = replace(statement, domain=(self.loop, *domain))
                    case Contract(batch):
                        statement = replace(statement, batch=(self.loop, *batch))
            self.sections.once.append(statement)
        elif phase == "invariant":
            self.sections.before.append(statement)
        elif phase == "loop":
            self.sections.body.append(statement)
        else:
            self.sections.after.append(statement)

    # ------------------------------------------------------------ nodes
    def write(self) -> Nest:
        """The nest."""
        for position, node in enumerate(self.block.nodes):
            if position in self.needed:
                self._write_node(position, node)
        outer = self.outer if self.outer is not None and self.sections.once else frozenset[int]()
        order = (*(p for p in self.live if p in outer), *(p for p in self.live if p not in outer))
        return Nest(
            name=self.title,
            grid=tuple(Range(self.block_names[p], self._size(self.block.grid[p])) for p in order),
            outer=len(outer),
            loop=self.loop,
            scratch=tuple(self.scratch),
            once=tuple(self.sections.once),
            before=tuple(self.sections.before),
            body=tuple(self.sections.body),
            after=tuple(self.sections.after),
        )

    def _write_node(self, position: int, node: Node) -> None:
        dims, phase, once = self.dims[position], self.when[position], self._is_once(position)
        args = [self.tiles[a] for a in node.args if a in self.tiles]
        match node.op:
            case Load() as load:
                self.tiles[position] = _Tile(self._loaded(load, dims), phase, False)
            case Store():
                dims = self.dims[node.args[0]]
                self._emit(Map(self._domain(dims), self._store_place(position, dims), args[0].value), phase, False)
            case Unary(fn):
                self._define(position, Apply(fn, (args[0].value,)))
            case Scalar(fn, value):
                self._define(position, Apply(fn, (args[0].value, Constant(value))))
            case Binary(fn):
                self._define(position, Apply(fn, (args[0].value, args[1].value)))
            case MatMul():
                if self._adds_into_accumulator(position):
                    return
                target = self._allocate(f"t{position}", dims, once, phase == "loop")
                self._contract(node, target, phase, once)
                self.tiles[position] = _Tile(Read(target), phase, once)
            case Reduce(fn, along):
                count = self.dims[node.args[0]][along]
                total = self._sum(f"s{position}", fn, node.args[0], along, phase, once)
                self._define(position, _finished(fn, total, count))
            case Accumulate(fn, along):
                self._accumulate(position, node, fn, along)
            case RunningMax(along):
                self._running(position, node.args[0], along)
            case AccumulateRescaled(along):
                if self.loop:
                    self._rescaled(position, node, along)
                else:
                    self._accumulate(position, Node(node.op, node.args[:1]), "sum", along)
            case Permute() | Expand() | Slice() as view:
                self._define(position, substituted(args[0].value, self._indices(view, dims)))
            case Reshape():
                self._reshaped(position, node.args[0])
            case Concat(along):
                self._concatenated(position, node, along)
            case Input() | Band() | Custom() | Result():
                raise AssertionError("BlockGraph refuses kernel-level operators")

    def _define(self, position: int, value: Expression) -> None:
        """Name an expression; give it memory only where it would be computed too often or too late."""
        phase, once = self.when[position], self._is_once(position)
        tile = _Tile(value, phase, once)
        if not isinstance(value, Read | Within) and self._wants_memory(position, value):
            tile = self._with_memory(tile, f"t{position}", self.dims[position])
        self.tiles[position] = tile

    def _with_memory(self, tile: _Tile, name: str, dims: tuple[int, ...]) -> _Tile:
        target = self._allocate(name, dims, tile.once, tile.phase == "loop")
        self._emit(Map(self._domain(dims), target, tile.value), tile.phase, tile.once)
        return replace(tile, value=Read(target))

    def _wants_memory(self, position: int, value: Expression) -> bool:
        readers = self.readers[position]
        cheap = isinstance(value, Apply) and value.fn in ("mul", "add") and isinstance(value.args[1], Constant)
        for c in readers:
            node = self.block.nodes[c]
            if isinstance(node.op, MatMul) or (self._is_once(position) and not self._is_once(c)):
                return True
            if isinstance(node.op, Binary | Expand) and prod(self.dims[c]) > prod(self.dims[position]):
                return True
            if self.when[position] == "invariant" and self.when[c] == "loop" and self.loop:
                return True
        uses = sum(self.block.nodes[c].args.count(position) for c in readers)
        return uses > 1 and not cheap

    # ------------------------------------------------------------ views
    def _indices(self, op: Permute | Expand | Slice, dims: tuple[int, ...]) -> dict[str, Affine]:
        """For each variable of the operand's dims, what it is in those of the result."""
        rank = len(dims)
        match op:
            case Permute(order):
                return {self._name(rank, source): ((self._name(rank, d), 1),) for d, source in enumerate(order)}
            case Expand(along, _):
                return {self._name(rank, along): ()}
            case Slice(along, start, _):
                name = self._name(rank, along)
                own: Affine = ((name, 1),) if dims[along] > 1 else ()
                return {name: (*own, *(((ONE, start.constant),) if start.constant else ()))}

    def _reshaped(self, position: int, arg: int) -> None:
        """Dims that split are an index of the same expression; dims that merge are written side by side."""
        old, new = self.dims[arg], self.dims[position]
        groups = _groups(old, new)
        tile = _Tile(self.tiles[arg].value, self.when[position], self._is_once(position))
        if any(sum(old[d] > 1 for d in a) > 1 and not self._alike(old, a, new, b) for a, b in groups):
            flat = tuple(prod(old[d] for d in a) for a, _ in groups)
            written = tuple(_row_major([(self._name(len(old), d), old[d]) for d in a]) for a, _ in groups)
            target = self._allocate(f"t{position}", flat, tile.once, tile.phase == "loop", written)
            self._emit(Map(self._domain(old), target, tile.value), tile.phase, tile.once)
            read = tuple(_row_major([(self._name(len(new), d), new[d]) for d in b]) for _, b in groups)
            looped = target.index[: len(target.index) - len(flat)]
            self.tiles[position] = replace(tile, value=Read(Place(target.buffer, (*looped, *read))))
            return
        by: dict[str, Affine] = {}
        for a, b in groups:
            kept = [d for d in a if old[d] > 1]
            whole = [d for d in b if new[d] > 1]
            if len(kept) == 1:
                by[self._name(len(old), kept[0])] = _row_major([(self._name(len(new), d), new[d]) for d in whole])
            else:
                for d, e in zip(kept, whole, strict=True):
                    by[self._name(len(old), d)] = ((self._name(len(new), e), 1),)
        self._define(position, substituted(tile.value, by))

    @staticmethod
    def _alike(old: tuple[int, ...], a: tuple[int, ...], new: tuple[int, ...], b: tuple[int, ...]) -> bool:
        return [old[d] for d in a if old[d] > 1] == [new[d] for d in b if new[d] > 1]

    def _concatenated(self, position: int, node: Node, along: int) -> None:
        """Two writes into one tile."""
        dims, phase, once = self.dims[position], self.when[position], self._is_once(position)
        target = self._allocate(f"t{position}", dims, once, phase == "loop")
        place = len(target.index) - len(dims) + along
        start = 0
        for arg in node.args:
            part = self.dims[arg]
            index = list(target.index)
            index[place] = (
                *(((self._name(len(dims), along), 1),) if part[along] > 1 else ()),
                *(((ONE, start),) if start else ()),
            )
            written = Place(target.buffer, tuple(index))
            self._emit(Map(self._domain(part), written, self.tiles[arg].value), phase, once)
            start += part[along]
        self.tiles[position] = _Tile(Read(target), phase, once)

    # ------------------------------------------------------------ running maxima
    def _running(self, position: int, arg: int, along: int | None) -> None:
        """One tile that grows in every iteration; without a loop, or where nothing varies, an ordinary maximum."""
        phase = self.when[position]
        value, dims = self.tiles[arg].value, self.dims[arg]
        if not self.loop or phase == "invariant":
            if along is None:
                self._define(position, value)
            else:
                self._define(position, self._sum(f"s{position}", "max", arg, along, phase, self._is_once(position)))
            return
        target = self._allocate(f"m{position}", self.dims[position], False, False)
        self._start(target, self.dims[position], LOWEST)
        names = (self._name(len(dims), along),) if along is not None and dims[along] > 1 else ()
        self._emit(replace(_fold(self._domain(dims), names, target, value, "max"), adds=True), "loop", False)
        self.tiles[position] = _Tile(Read(target), phase, False)

    def _factor(self, scale: int) -> Place:
        """exp(scale before - scale now), made once per iteration for all sums of one scale."""
        if scale not in self.scales:
            dims, value = self.dims[scale], self.tiles[scale].value
            before = self._allocate(f"m{scale}", dims, False, False)
            factor = self._allocate(f"e{scale}", dims, False, False)
            self._start(before, dims, LOWEST)
            domain = self._domain(dims)
            self._emit(Map(domain, factor, Apply("exp", (Apply("sub", (Read(before), value)),))), "loop", False)
            self._emit(Map(domain, before, value), "loop", False)
            self.scales[scale] = factor
        return self.scales[scale]

    def _rescaled(self, position: int, node: Node, along: int | None) -> None:
        dims = self.dims[position]
        arg, scale = node.args
        factor = self._factor(scale)
        target = self._allocate(f"s{position}", dims, False, False)
        self._zero(target, dims)
        self._emit(Map(self._domain(dims), target, Apply("mul", (Read(target), Read(factor)))), "loop", False)
        if arg not in self.tiles:
            self._contract(self.block.nodes[arg], target, "loop", False, accumulates=True, starts=False)
        else:
            source = self.dims[arg]
            names = (self._name(len(source), along),) if along is not None and source[along] > 1 else ()
            adding = _fold(self._domain(source), names, target, self.tiles[arg].value)
            self._emit(replace(adding, adds=True), "loop", False)
        self._define(position, Read(target))

    # ------------------------------------------------------------ sums
    def _sum(self, name: str, fn: ReduceFn, arg: int, along: int, phase: Phase, once: bool) -> Expression:
        dims = self.dims[arg]
        value = self.tiles[arg].value
        summand = Apply("square", (value,)) if fn == "rms" else value
        target = self._allocate(name, (*dims[:along], 1, *dims[along + 1 :]), once, phase == "loop")
        names = (self._name(len(dims), along),) if dims[along] > 1 else ()
        self._emit(_fold(self._domain(dims), names, target, summand, _join(fn)), phase, once)
        return Read(target)

    def _adds_into_accumulator(self, position: int) -> bool:
        readers = self.readers[position]
        if len(readers) != 1 or not (self.when[position] == "loop" or not self.loop):
            return False
        reader = self.block.nodes[readers[0]]
        if reader.op == AccumulateRescaled():
            return reader.args[1] != position
        return reader.op == Accumulate("sum")

    def _accumulate(self, position: int, node: Node, fn: ReduceFn, along: int | None) -> None:
        dims, once = self.dims[position], self._is_once(position)
        (arg,) = node.args
        join = _join(fn)
        count = self.iterations * (self.dims[arg][along] if along is not None else 1)
        target = self._allocate(f"s{position}", dims, once, False)
        if arg not in self.tiles:
            self._contract(self.block.nodes[arg], target, "loop", once, accumulates=True)
        else:
            source = self.dims[arg]
            value = self.tiles[arg].value
            summand = Apply("square", (value,)) if fn == "rms" else value
            names = (self._name(len(source), along),) if along is not None and source[along] > 1 else ()
            domain = self._domain(source)
            ahead = self.loop is not None and (once or self._can_run_ahead(domain, summand))
            if ahead and self.loop:
                whole = _fold((self.loop, *domain), (self.loop.name, *names), target, summand, join)
                (self.sections.once if once else self.sections.before).append(whole)
            else:
                self._start(target, dims, Fraction(0) if join == "sum" else LOWEST)
                adding = replace(_fold(domain, names, target, summand, join), adds=self.loop is not None)
                self._emit(adding, "loop", once)
        self._define(position, _finished(fn, Read(target), count))

    def _can_run_ahead(self, domain: tuple[Range, ...], value: Expression) -> bool:
        made = {s.target.buffer for s in self.sections.body}
        size = self.iterations * prod(r.extent for r in domain)
        return size <= AHEAD_ELEMENTS and not any(p.buffer in made for p in reads(value))

    def _zero(self, target: Place, dims: tuple[int, ...]) -> None:
        self._start(target, dims, Fraction(0))

    def _start(self, target: Place, dims: tuple[int, ...], value: Fraction) -> None:
        if self.loop:
            self.sections.before.append(Map(self._domain(dims), target, Constant(value)))

    # ------------------------------------------------------------ products
    def _contract(
        self,
        node: Node,
        target: Place,
        phase: Phase,
        once: bool,
        accumulates: bool = False,
        starts: bool = True,
    ) -> None:
        """`target = left @ right`; where it accumulates, over all iterations as well, and `starts` from zero."""
        left_at, right_at = node.args
        left_dims, right_dims = self.dims[left_at], self.dims[right_at]
        c, r = self.tile_names[0], self.tile_names[1]
        k = Range(self.k, left_dims[-1])
        left, right = self._operand(left_at), self._operand(right_at)
        if self._is_packable_left(left_at) and isinstance(self.block.nodes[left_at].op, Load):
            left = self._packed_once(left_at, left)
        n = Range(self.n, right_dims[-1])
        if right.stride(c) != 1 and n.extent > 1:
            if right.stride(r) != 1 and k.extent > 1:
                right = self._copy(right_at, right)
            elif left.stride(c) != 1 and k.extent > 1:
                left = self._copy(left_at, left)
        rank = max(len(left_dims), len(right_dims))
        batch_dims = [1] * rank
        for dims in (left_dims, right_dims):
            for d, extent in enumerate(dims):
                batch_dims[d + rank - len(dims)] = max(batch_dims[d + rank - len(dims)], extent)
        statement = Contract(
            batch=self._domain((*batch_dims[:-2], 1, 1)),
            m=Range(self.m, left_dims[-2]),
            n=n,
            k=(k,),
            target=target.renamed({r: self.m, c: self.n}),
            left=left.renamed({r: self.m, c: self.k}),
            right=right.renamed({r: self.k, c: self.n}),
        )
        if not accumulates or not self.loop:
            self._emit(statement, phase, once)
        elif once:
            self.sections.once.append(replace(statement, k=(self.loop, k)))
        else:
            if starts:
                self._zero(target, (*batch_dims[:-2], left_dims[-2], right_dims[-1]))
            self._emit(replace(statement, adds=True), phase, once)

    def _operand(self, position: int) -> Place:
        """Where an operand of a product lies; a band gets memory here."""
        tile = self.tiles[position]
        if tile.place is None:
            self.tiles[position] = tile = self._with_memory(tile, f"t{position}", self.dims[position])
        assert tile.place is not None, "it has memory now"
        return tile.place

    def _packed_once(self, position: int, place: Place) -> Place:
        if not self._is_once(position):
            return place
        if position not in self.packed:
            self.packed[position] = self._copy(position, place)
        return self.packed[position]

    def _copy(self, position: int, place: Place) -> Place:
        tile = _Tile(Read(place), self.when[position], self._is_once(position))
        copied = self._with_memory(tile, f"p{position}", self.dims[position]).place
        assert copied is not None
        return copied


_View: TypeAlias = Permute | Reshape | Expand | Slice | Concat


def _row_major(variables: list[tuple[str, int]]) -> Affine:
    """The position that indices of dims, given with their extents, have in all of them together."""
    found: list[tuple[str, int]] = []
    step = 1
    for name, extent in reversed(variables):
        if extent > 1:
            found.insert(0, (name, step))
        step *= extent
    return tuple(found)


def _join(fn: ReduceFn) -> Join:
    return "max" if fn == "max" else "sum"


def _fold(
    domain: tuple[Range, ...], along: tuple[str, ...], target: Place, value: Expression, join: Join = "sum"
) -> Fold | Map:
    return Fold(domain, along, target, value, join=join) if along else Map(domain, target, value, join=join)


def _finished(fn: ReduceFn, total: Expression, count: int) -> Expression:
    mean = total if fn in ("sum", "max") else Apply("mul", (total, Constant(Fraction(1, count))))
    return Apply("sqrt", (mean,)) if fn == "rms" else mean
