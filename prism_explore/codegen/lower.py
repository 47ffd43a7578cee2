"""From an sGraph with numbers in it to loops: which tiles get memory, what is fused, what is done once.

Every kernel-level operator becomes one nest; a predefined one is first written as a block graph of
its own (`as_block`), so there is one path. Inside a block

* a load is a view of its operand, never a copy, unless a product needs another layout or `pack` asks;
* elementwise chains are written into their consumer; a tile gets memory when a product reads it, when
  it is read twice, when a consumer would repeat it along a dim, or when it outlives its section;
* a product that is only accumulated adds straight into the accumulator;
* what depends on few grid dims only is done once per thread for all points of the others (`hoist`).

A grid dim that the store does not name would write the same tile again and again; a proved sGraph
writes the same values there, so only its first point is run.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import prod
from typing import Literal

from prism_explore.codegen.loops import (
    Affine,
    Apply,
    Buffer,
    Constant,
    Contract,
    Expression,
    Fold,
    LoopProgram,
    Map,
    Nest,
    Place,
    Range,
    Read,
    Statement,
    reads,
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
    op_name,
)
from prism_explore.ir.sgraph import BlockGraph, ParallelDim, Phase, SGraph, block_types, consumers, phases
from prism_explore.ir.tensors import TensorType

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
    types = graph.types()
    if isinstance(graph.nodes[graph.output].op, Input):
        raise ShapeError("the result is an input as it stands; there is nothing to compile")
    needed = _needed(graph.nodes, graph.output)
    taken = {i.name for i in graph.inputs}
    buffers: dict[int, Buffer] = {}
    nests: list[Nest] = []
    for position, node in enumerate(graph.nodes):
        shape = _numbers(types[position], f"kernel node %{position}")
        if isinstance(node.op, Input):
            buffers[position] = _laid_out(node.op.name, shape, types[position].storage_order, "input")
            continue
        if position not in needed:
            continue
        is_output = position == graph.output
        name = _unused("out" if is_output else f"k{position}", taken)
        buffers[position] = _laid_out(name, shape, tuple(range(len(shape))), "output" if is_output else "temporary")
        operand_types = tuple(types[a] for a in node.args)
        match node.op:
            case Band() | Result() | Permute() | Reshape() | Expand() | Slice() | Concat():
                raise ShapeError(f"the CPU backend has no {op_name(node.op)} (%{position})")
            case Load() | Store() | Accumulate() | AccumulateRescaled() | RunningMax():
                raise AssertionError("SGraph refuses block-level operators")
            case _:
                pass
        block = node.op.block if isinstance(node.op, Custom) else as_block(node.op, operand_types)
        operands = tuple(buffers[a] for a in node.args)
        title = f"{name}: {op_name(node.op)}"
        nests.append(_nest(title, block, operands, operand_types, buffers[position], choices))
    return LoopProgram(
        inputs=tuple(b for b in buffers.values() if b.where == "input"),
        temporaries=tuple(b for b in buffers.values() if b.where == "temporary"),
        output=buffers[graph.output],
        nests=tuple(nests),
    )


def as_block(op: ComputeOp, operands: tuple[TensorType, ...], blocks: int = 64) -> BlockGraph:
    """A predefined kernel-level operator as a block graph of about `blocks` blocks, without a loop."""
    loads = len(operands)
    shapes = tuple(_numbers(t, "operand") for t in operands)
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
    name: str, shape: tuple[int, ...], order: tuple[int, ...], where: Literal["input", "output", "temporary"]
) -> Buffer:
    strides = [0] * len(shape)
    step = 1
    for d in reversed(order):
        strides[d] = step
        step *= shape[d]
    return Buffer(name, shape, tuple(strides), where)


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
    operands: tuple[Buffer, ...],
    types: tuple[TensorType, ...],
    out: Buffer,
    choices: Lowering,
) -> Nest:
    writer = _Writer(title, block, operands, types, out, choices)
    nest = writer.write()
    kept = sum(b.elements * 4 for b in nest.scratch if b in writer.kept)
    if kept > KEEP_BYTES:
        return _Writer(title, block, operands, types, out, replace(choices, hoist=False)).write()
    return nest


class _Writer:
    """Writes the nest of one block graph, node by node."""

    def __init__(
        self,
        title: str,
        block: BlockGraph,
        operands: tuple[Buffer, ...],
        types: tuple[TensorType, ...],
        out: Buffer,
        choices: Lowering,
    ) -> None:
        self.title, self.block, self.operands, self.out, self.choices = title, block, operands, out, choices
        self.dims = tuple(_numbers(t, f"block node %{i}") for i, t in enumerate(block_types(block, types)))
        self.when = phases(block)
        self.readers = consumers(block.nodes)
        self.needed = _needed(block.nodes, len(block.nodes) - 1)
        self.iterations = self._size(block.loop) if block.loop else 1
        store = block.nodes[-1].op
        assert isinstance(store, Store), "BlockGraph ends with its store"
        self.omap = store.omap or ()
        self.live = tuple(
            p for p, (g, along) in enumerate(zip(block.grid, self.omap, strict=True))
            if along is not None and self._size(g) > 1
        )  # fmt: skip
        self.block_names = {p: f"b{block.grid[p].name}" for p in self.live}
        taken = {*self.block_names.values(), *(b.name for b in (*operands, out))}
        taken |= {block.loop.name} if block.loop else set()
        self.loop = Range(block.loop.name, self.iterations) if block.loop and self.iterations > 1 else None
        rank = max(map(len, self.dims))
        spare = ["c", "r", "q", "p", *(f"d{j}" for j in range(rank))]
        self.tile_names = [_unused(name, taken) for name in spare[: max(rank, 2)]]
        self.m, self.n, self.k = (_unused(name, taken) for name in "mnk")
        self.depends = self._dependences()
        self.outer = self._outer()
        self.tiles: dict[int, _Tile] = {}
        self.sections = _Sections()
        self.scratch: list[Buffer] = []
        self.kept: set[Buffer] = set()
        self.packed: dict[int, Place] = {}
        self.names = {b.name for b in (*operands, out)}

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

    def _outer(self) -> frozenset[int] | None:
        """The grid dims on which the work to be done once depends; None where nothing is."""
        if not self.choices.hoist:
            return None
        worth = [
            self.depends[position]
            for position, node in enumerate(self.block.nodes)
            if position in self.needed
            and (not isinstance(node.op, Load | Store) or self._is_packable_left(position))
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
        return self.outer is not None and self.depends[position] <= self.outer

    # ------------------------------------------------------------ places and domains
    def _name(self, rank: int, d: int) -> str:
        return self.tile_names[rank - 1 - d]

    def _domain(self, dims: tuple[int, ...]) -> tuple[Range, ...]:
        return tuple(Range(self._name(len(dims), d), n) for d, n in enumerate(dims) if n > 1)

    def _index(self, dims: tuple[int, ...]) -> tuple[Affine, ...]:
        return tuple(((self._name(len(dims), d), 1),) if n > 1 else () for d, n in enumerate(dims))

    def _load_place(self, load: Load, dims: tuple[int, ...]) -> Place:
        index = [list(a) for a in self._index(dims)]
        if self.loop and load.fmap is not None:
            index[load.fmap].insert(0, (self.loop.name, dims[load.fmap]))
        for p in reversed(self.live):
            along = (load.imap or ())[p]
            if along is not None:
                length = dims[along] * (self.iterations if along == load.fmap else 1)
                index[along].insert(0, (self.block_names[p], length))
        return Place(self.operands[load.operand], tuple(tuple(a) for a in index))

    def _store_place(self, dims: tuple[int, ...]) -> Place:
        index = [list(a) for a in self._index(dims)]
        for p in reversed(self.live):
            along = self.omap[p]
            if along is not None:
                index[along].insert(0, (self.block_names[p], dims[along]))
        return Place(self.out, tuple(tuple(a) for a in index))

    def _allocate(self, name: str, dims: tuple[int, ...], once: bool, per_iteration: bool) -> Place:
        """A tile of scratch; one per iteration where it is made once but differs from one to the next.

        Rows that are a multiple of 512 bytes apart meet in few cache sets, hence the padding.
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
        index = self._index(dims)
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
                self.tiles[position] = _Tile(Read(self._load_place(load, dims)), phase, False)
            case Store():
                dims = self.dims[node.args[0]]
                self._emit(Map(self._domain(dims), self._store_place(dims), args[0].value), phase, False)
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
            case Permute() | Reshape() | Expand() | Slice() | Concat() | RunningMax() | AccumulateRescaled():
                raise ShapeError(f"the CPU backend has no {op_name(node.op)} (%{position} of a block)")
            case Input() | Band() | Custom() | Result():
                raise AssertionError("BlockGraph refuses kernel-level operators")

    def _define(self, position: int, value: Expression) -> None:
        """Name an expression; give it memory only where it would be computed too often or too late."""
        phase, once = self.when[position], self._is_once(position)
        tile = _Tile(value, phase, once)
        if not isinstance(value, Read) and self._wants_memory(position, value):
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
            if isinstance(node.op, Binary) and prod(self.dims[c]) > prod(self.dims[position]):
                return True
            if self.when[position] == "invariant" and self.when[c] == "loop" and self.loop:
                return True
        uses = sum(self.block.nodes[c].args.count(position) for c in readers)
        return uses > 1 and not cheap

    # ------------------------------------------------------------ sums
    def _sum(self, name: str, fn: ReduceFn, arg: int, along: int, phase: Phase, once: bool) -> Expression:
        dims = self.dims[arg]
        value = self.tiles[arg].value
        summand = Apply("square", (value,)) if fn == "rms" else value
        target = self._allocate(name, (*dims[:along], 1, *dims[along + 1 :]), once, phase == "loop")
        names = (self._name(len(dims), along),) if dims[along] > 1 else ()
        self._emit(_fold(self._domain(dims), names, target, summand), phase, once)
        return Read(target)

    def _adds_into_accumulator(self, position: int) -> bool:
        readers = self.readers[position]
        return (
            len(readers) == 1
            and self.block.nodes[readers[0]].op == Accumulate("sum")
            and (self.when[position] == "loop" or not self.loop)
        )

    def _accumulate(self, position: int, node: Node, fn: ReduceFn, along: int | None) -> None:
        dims, once = self.dims[position], self._is_once(position)
        (arg,) = node.args
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
                whole = _fold((self.loop, *domain), (self.loop.name, *names), target, summand)
                (self.sections.once if once else self.sections.before).append(whole)
            else:
                self._zero(target, dims)
                adding = replace(_fold(domain, names, target, summand), adds=self.loop is not None)
                self._emit(adding, "loop", once)
        self._define(position, _finished(fn, Read(target), count))

    def _can_run_ahead(self, domain: tuple[Range, ...], value: Expression) -> bool:
        made = {s.target.buffer for s in self.sections.body}
        size = self.iterations * prod(r.extent for r in domain)
        return size <= AHEAD_ELEMENTS and not any(p.buffer in made for p in reads(value))

    def _zero(self, target: Place, dims: tuple[int, ...]) -> None:
        if self.loop:
            self.sections.before.append(Map(self._domain(dims), target, Constant(Fraction(0))))

    # ------------------------------------------------------------ products
    def _contract(self, node: Node, target: Place, phase: Phase, once: bool, accumulates: bool = False) -> None:
        """`target = left @ right`; where it accumulates, over all iterations as well."""
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
            self._zero(target, (*batch_dims[:-2], left_dims[-2], right_dims[-1]))
            self._emit(replace(statement, adds=True), phase, once)

    def _operand(self, position: int) -> Place:
        place = self.tiles[position].place
        assert place is not None, "an operand of a product has memory"
        return place

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


def _fold(domain: tuple[Range, ...], along: tuple[str, ...], target: Place, value: Expression) -> Fold | Map:
    return Fold(domain, along, target, value) if along else Map(domain, target, value)


def _finished(fn: ReduceFn, total: Expression, count: int) -> Expression:
    mean = Apply("mul", (total, Constant(Fraction(1, count)))) if fn != "sum" else total
    return Apply("sqrt", (mean,)) if fn == "rms" else mean
