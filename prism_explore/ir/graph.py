"""sGraphs: kernel graphs whose custom kernels contain block graphs.

One node type serves both levels. A kernel graph is a tuple of nodes over tensors in device memory. The block graph of
a custom kernel is a tuple of nodes over a block's tiles. It runs for every point of the grid and, up to the
accumulators, for every iteration of the for-loop. Grid and loop sizes are symbols, so one sGraph stands for a family
of programs.

A tensor program is an sGraph without custom kernels; see `program.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, cast

from prism_explore.errors import ShapeError
from prism_explore.ir.dims import Dim, DimLike, is_natural
from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    Band,
    BlockGraph,
    Custom,
    Expand,
    Input,
    Load,
    Lookup,
    Node,
    Op,
    ParallelDim,
    Permute,
    Reshape,
    Result,
    RunningMax,
    Slice,
    Store,
    check_args,
    check_extents,
    compute_dims,
    lookup_dims,
    op_name,
    result_dtype,
    without_dim,
)
from prism_explore.ir.tensors import INTEGERS, WHOLE_NUMBERS, DType, TensorType
from prism_explore.support.caches import memoize

Phase: TypeAlias = Literal["invariant", "loop", "after"]
"""When a block's tensor is computed: once before the loop, in every iteration, or once after the loop."""


@dataclass(frozen=True, slots=True)
class SGraph:
    """A kernel graph and which of its tensors are its results."""

    nodes: tuple[Node, ...]
    output: int
    """The position of the first result."""
    further: tuple[int, ...] = ()
    """The positions of the other results, in order."""
    _hash: int | None = field(default=None, init=False, compare=False, repr=False)
    """Cached, because graphs are keys of caches and have many nodes."""

    def __hash__(self) -> int:
        if self._hash is None:
            object.__setattr__(self, "_hash", hash((self.nodes, self.output, self.further)))
        return cast(int, self._hash)

    def __reduce__(self) -> tuple[type[SGraph], tuple[object, ...]]:
        return SGraph, (self.nodes, self.output, self.further)

    def __post_init__(self) -> None:
        for position, node in enumerate(self.nodes):
            _check_node(self.nodes, node, position)
        check_input_names([i.name for i in self.inputs])
        for output in self.outputs:
            if not 0 <= output < len(self.nodes):
                raise ShapeError(f"output %{output} is no node of this graph")
        if len(set(self.outputs)) != len(self.outputs):
            raise ShapeError(f"a result is named twice: {', '.join(f'%{n}' for n in self.outputs)}; name each once")

    @property
    def outputs(self) -> tuple[int, ...]:
        """The positions of all results, in order."""
        return (self.output, *self.further)

    def for_result(self, number: int) -> SGraph:
        """The same nodes with one result; the other results are computed, and not returned.

        Args:
            number: of the result, from 0.

        Returns:
            A graph with the same positions.
        """
        return SGraph(self.nodes, self.outputs[number]) if self.further else self

    def moved(self, nodes: tuple[Node, ...], at: Mapping[int, int] | Sequence[int]) -> SGraph:
        """A graph of other nodes, with this graph's results at new positions.

        Args:
            nodes: of the new graph.
            at: the new position of each result, by its position here.

        Returns:
            A new graph.
        """
        return SGraph(nodes, at[self.output], tuple(at[n] for n in self.further))

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The input operators in order."""
        return tuple(n.op for n in self.nodes if isinstance(n.op, Input))

    @property
    def whole_inputs(self) -> Mapping[str, DType]:
        """The dtypes of the inputs whose elements are whole numbers that are read as numbers, by their names."""
        return {i.name: i.type.dtype for i in self.inputs if i.type.dtype in WHOLE_NUMBERS}

    @property
    def index_limits(self) -> Mapping[str, tuple[Dim, ...]]:
        """Per integer input, the sizes of the dims in which its elements are positions."""
        types, found = self.types(), dict[str, dict[Dim, None]]()
        for node in self.nodes:
            if isinstance(node.op, Lookup):
                integers = integer_input(self.nodes, node.args[1])
                assert integers is not None, "`_check_node` requires it"
                found.setdefault(integers.name, {})[types[node.args[0]].dims[node.op.dim]] = None
        return {name: tuple(sizes) for name, sizes in found.items()}

    @property
    def customs(self) -> tuple[tuple[int, BlockGraph], ...]:
        """Position and block graph of each custom kernel, in order."""
        return tuple((i, n.op.block) for i, n in enumerate(self.nodes) if isinstance(n.op, Custom))

    @property
    def is_open(self) -> bool:
        """Whether some block graph's maps are still to be chosen."""
        return any(block.is_open for _, block in self.customs)

    @property
    def parameters(self) -> tuple[str, ...]:
        """Symbols of grid sizes and loop ranges, in order of appearance; a tuner chooses their values."""
        return _parameters(self)

    @property
    def data_symbols(self) -> tuple[str, ...]:
        """Symbols of input dims; the caller's shapes determine their values."""
        return _data_symbols(self.inputs)

    def types(self) -> tuple[TensorType, ...]:
        """The type of every kernel-level tensor.

        Returns:
            The types by position.

        Raises:
            ShapeError: operands do not fit, or a block graph is ill-formed.
        """
        return _types(self)

    @property
    def output_type(self) -> TensorType:
        """The first result's type."""
        return self.types()[self.output]

    @property
    def output_types(self) -> tuple[TensorType, ...]:
        """The types of all results, in order."""
        types = self.types()
        return tuple(types[n] for n in self.outputs)

    def conditions(self) -> tuple[Dim, ...]:
        """Sizes that must be positive integers for the graph to be legal.

        These are the extents of every block tensor; extents of kernel-level tensors, grid sizes and loop ranges that
        might not be integers; and the number of elements that a slice leaves on each side, plus 1 because it may be 0.
        Constants are left out, because `types` checks them.

        Returns:
            The sizes, each once.
        """
        return _conditions(self)

    def substitute(self, sizes: Mapping[str, DimLike]) -> SGraph:
        """The same graph with values for some symbols.

        Args:
            sizes: the value of each symbol: an integer, the name of a symbol, or a `Dim`.

        Returns:
            A new graph.
        """
        return self.with_sizes(lambda d: d.substitute(sizes))

    def with_sizes(self, put: Callable[[Dim], Dim]) -> SGraph:
        """The same graph with other sizes of its inputs, operators, grids and loops.

        Args:
            put: the new size for each.

        Returns:
            A new graph.
        """

        def put_parallel(p: ParallelDim) -> ParallelDim:
            return replace(p, size=put(p.size))

        nodes: list[Node] = []
        for node in self.nodes:
            match node.op:
                case Custom(block):
                    inside = BlockGraph(
                        tuple(put_parallel(p) for p in block.grid),
                        put_parallel(block.loop) if block.loop else None,
                        tuple(Node(_with_sizes(inner.op, put), inner.args) for inner in block.nodes),
                    )
                    nodes.append(Node(Custom(inside), node.args))
                case op:
                    nodes.append(Node(_with_sizes(op, put), node.args))
        return SGraph(tuple(nodes), self.output, self.further)


def _slice_margins(nodes: tuple[Node, ...], types: tuple[TensorType, ...]) -> Iterator[Dim]:
    """The number of elements before and after each slice, plus 1, unless it is evidently a natural number."""
    for node in nodes:
        if isinstance(node.op, Slice):
            after = types[node.args[0]].dims[node.op.dim] - node.op.stop
            yield from (d + 1 for d in (node.op.start, after) if not is_natural(d))


def op_sizes(op: Op) -> tuple[Dim, ...]:
    """The sizes that an operator contains, such as those of an input's type."""
    match op:
        case Input(_, t):
            return t.dims
        case Band(rows, columns, low, high, _):
            return (rows, columns, *(d for d in (low, high) if d is not None))
        case Reshape(dims):
            return dims
        case Expand(_, size):
            return (size,)
        case Slice(_, start, stop):
            return (start, stop)
        case _:
            return ()


def _with_sizes(op: Op, put: Callable[[Dim], Dim]) -> Op:
    match op:
        case Input(name, t):
            return Input(name, t.with_sizes(put))
        case Band(rows, columns, low, high, dtype):
            return Band(put(rows), put(columns), low and put(low), high and put(high), dtype)
        case Reshape(dims):
            return Reshape(tuple(map(put, dims)))
        case Expand(along, size):
            return Expand(along, put(size))
        case Slice(along, start, stop):
            return Slice(along, put(start), put(stop))
        case _:
            return op


def tile_dims(block: BlockGraph, load: Load, operand: TensorType) -> tuple[Dim, ...]:
    """Extents of a loaded tile: each dim divided by the sizes that partition it.

    Raises:
        ShapeError: a map names a dim that the tensor lacks, or two grid dims partition one dim.
    """
    dims = list(operand.dims)
    partitioned: set[int] = set()
    for p, along in zip(block.grid, load.imap or (), strict=False):
        if along is None:
            continue
        if not 0 <= along < len(dims):
            raise ShapeError(f"imap {p.name} <-> dim {along} of a tensor with {len(dims)} dims")
        if along in partitioned:
            raise ShapeError(f"two grid dims partition dim {along} of one tensor")
        partitioned.add(along)
        dims[along] = dims[along] / p.size
    if load.fmap is not None and block.loop is not None:
        if not 0 <= load.fmap < len(dims):
            raise ShapeError(f"fmap names dim {load.fmap} of a tensor with {len(dims)} dims")
        dims[load.fmap] = dims[load.fmap] / block.loop.size
    for d in dims:
        if not d.symbols and d.constant is None:
            raise ShapeError(f"a tile extent is {d}, not an integer")
    return tuple(dims)


@memoize(4096)
def block_types(block: BlockGraph, operands: tuple[TensorType, ...]) -> tuple[TensorType, ...]:
    """The type of every block tensor; a store's is that of the kernel-level result.

    Open maps partition nothing, so an open graph is typed at full extents.

    Raises:
        ShapeError: tiles do not fit, or a value is used in the wrong phase of the loop.
    """
    phases(block)
    types: list[TensorType] = []
    for position, node in enumerate(block.nodes):
        where = f"block node %{position}"
        args = tuple(types[a] for a in node.args)
        match node.op:
            case Load() as load:
                source = operands[load.operand]
                types.append(TensorType(tile_dims(block, load, source), source.dtype))
            case Accumulate(_, along) | RunningMax(along):
                dims = without_dim(args[0].dims, along, f"{where}: {op_name(node.op)}")
                types.append(TensorType(dims, _dtype(node.op, args, where)))
            case AccumulateRescaled(along):
                dims = without_dim(args[0].dims, along, f"{where}: accum_rescaled")
                scale = args[1].dims
                if len(scale) != len(dims) or any(s != d and not s.is_one for s, d in zip(scale, dims, strict=True)):
                    shown = f"({', '.join(map(str, scale))}) and ({', '.join(map(str, dims))})"
                    raise ShapeError(f"{where}: the scale's dims do not broadcast to the sum's, {shown}")
                types.append(TensorType(dims, _dtype(node.op, args, where)))
            case Store(omap):
                dims_out = list(args[0].dims)
                for p, along in zip(block.grid, omap or (), strict=False):
                    if along is None:
                        continue
                    if not 0 <= along < len(dims_out):
                        raise ShapeError(f"{where}: omap {p.name} <-> dim {along} of {len(dims_out)}")
                    dims_out[along] = dims_out[along] * p.size
                types.append(TensorType(tuple(dims_out), _dtype(node.op, args, where)))
            case Input() | Band() | Lookup() | Custom() | Result():
                raise AssertionError("BlockGraph refuses kernel-level operators")
            case op:
                types.append(TensorType(compute_dims(op, tuple(t.dims for t in args), where), _dtype(op, args, where)))
    return tuple(types)


@memoize(4096)
def phases(block: BlockGraph) -> tuple[Phase, ...]:
    """The phase of each block tensor.

    Raises:
        ShapeError: an operator reads a value of the loop and one after the loop, or a value of the loop is stored.
    """
    out: list[Phase] = []
    for position, node in enumerate(block.nodes):
        of_operands = {out[a] for a in node.args}
        match node.op:
            case Load(_, _, fmap):
                out.append("invariant" if fmap is None else "loop")
            case Accumulate() | AccumulateRescaled():
                if "after" in of_operands:
                    raise ShapeError(f"block node %{position}: an accumulator takes a value from inside the loop")
                out.append("after")
            case RunningMax():
                if "after" in of_operands:
                    raise ShapeError(f"block node %{position}: a running maximum takes a value from inside the loop")
                out.append("loop" if "loop" in of_operands else "invariant")
            case Store():
                if "loop" in of_operands:
                    raise ShapeError("a per-iteration value is stored; an accumulator is missing")
                out.append("after")
            case _:
                if {"loop", "after"} <= of_operands:
                    raise ShapeError(f"block node %{position}: one operand is in the loop, the other after it")
                out.append("loop" if "loop" in of_operands else "after" if "after" in of_operands else "invariant")
    return tuple(out)


def _dtype(op: Op, args: tuple[TensorType, ...], where: str) -> DType:
    kinds: list[DType] = [t.dtype for t in args]
    dtype = result_dtype(op, kinds)
    if dtype is None:
        raise ShapeError(f"{where}: operands of dtypes {', '.join(sorted(set(kinds)))}; give all inputs one dtype")
    return dtype


@memoize(4096)
def _types(graph: SGraph) -> tuple[TensorType, ...]:
    types: list[TensorType] = []
    for node in graph.nodes:
        types.append(_type_of(graph.nodes, types, node))
    return tuple(types)


def next_type(nodes: Sequence[Node], types: Sequence[TensorType], node: Node) -> TensorType:
    """The type of a node that is appended to a kernel graph.

    Args:
        nodes: the nodes of the graph.
        types: their types.
        node: the new node; its position is `len(nodes)`.

    Raises:
        ShapeError: the node cannot stand there, or its operands do not fit.
    """
    _check_node(nodes, node, len(nodes))
    return _type_of(nodes, types, node)


def _check_node(nodes: Sequence[Node], node: Node, position: int) -> None:
    """A node of a kernel graph by itself and by the nodes before it."""
    where = f"kernel node %{position}"
    match node.op:
        case Load() | Store() | Accumulate() | AccumulateRescaled() | RunningMax():
            raise ShapeError(f"{where}: {op_name(node.op)} belongs inside a block graph")
        case Result(index):
            source = nodes[node.args[0]].op if node.args[0] < position else None
            if not isinstance(source, Custom) or not 0 < index < len(source.block.stores):
                raise ShapeError(f"{where}: result {index} of %{node.args[0]}, which has no such further result")
        case Custom(block):
            for inner in block.nodes:
                if isinstance(inner.op, Load) and not 0 <= inner.op.operand < len(node.args):
                    raise ShapeError(f"{where}: load of operand {inner.op.operand}, it has {len(node.args)}")
        case _:
            pass
    check_args(node, position, where)
    for n, a in enumerate(node.args):
        integers = integer_input(nodes, a)
        is_place = isinstance(node.op, Lookup) and n == 1
        if integers is not None and not is_place and not isinstance(node.op, Permute):
            raise ShapeError(
                f"{where}: {op_name(node.op)} reads {integers.name!r}, of dtype {integers.type.dtype}; only lookups "
                "read integers, as positions in another tensor"
            )
        if is_place and integers is None:
            raise ShapeError(f"{where}: a lookup's positions are an input of dtype i64 or i32; %{a} is none")


def integer_input(nodes: Sequence[Node], position: int) -> Input | None:
    """The integer input that a node is, or permutes; None for all else."""
    while isinstance(nodes[position].op, Permute):
        (position,) = nodes[position].args
    op = nodes[position].op
    return op if isinstance(op, Input) and op.type.dtype in INTEGERS else None


def fresh_name(name: str, taken: set[str]) -> str:
    """The name, with underscores appended until it is not taken; it is added to `taken`."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def check_input_names(names: Sequence[str]) -> None:
    """Check that inputs can be told from one another and from positions.

    Raises:
        ShapeError: a name is empty, begins with %, or occurs twice.
    """
    for name in names:
        if not name or name.startswith("%"):
            raise ShapeError(f"an input has a name of its own, not that of a position; found {name!r}")
    if len(set(names)) != len(names):
        raise ShapeError(f"inputs must have different names, found {', '.join(names)}")


def _type_of(nodes: Sequence[Node], before: Sequence[TensorType], node: Node) -> TensorType:
    """The type of the node that follows those of `before`."""
    where = f"kernel node %{len(before)}"
    args = tuple(before[a] for a in node.args)
    match node.op:
        case Input(name, t):
            check_extents(t.dims, f"input {name!r}")
            return t
        case Band(rows, columns, _, _, dtype):
            check_extents((rows, columns), f"{where}: band")
            return TensorType((rows, columns), dtype)
        case Custom(block):
            return block_types(block, args)[block.stores[0]]
        case Result(index):
            block, operands = _custom(nodes, node.args[0])
            return block_types(block, tuple(before[a] for a in operands))[block.stores[index]]
        case Lookup() as op:
            return TensorType(lookup_dims(op, args[0].dims, args[1].dims, where), args[0].dtype)
        case Load() | Store() | Accumulate() | AccumulateRescaled() | RunningMax():
            raise AssertionError("SGraph refuses block-level operators")
        case op:
            return TensorType(compute_dims(op, tuple(t.dims for t in args), where), _dtype(op, args, where))


@memoize(512)
def _data_symbols(inputs: tuple[Input, ...]) -> tuple[str, ...]:
    return tuple(sorted({s for i in inputs for d in i.type.dims for s in d.symbols}))


@memoize(4096)
def _parameters(graph: SGraph) -> tuple[str, ...]:
    seen: dict[str, None] = {}
    for _, node in walk(graph):
        sizes = [p.size for p in node.op.block.parallel] if isinstance(node.op, Custom) else op_sizes(node.op)
        for size in sizes:
            for symbol in size.symbols:
                seen.setdefault(symbol)
    given = graph.data_symbols
    return tuple(s for s in seen if s not in given)


@memoize(4096)
def _conditions(graph: SGraph) -> tuple[Dim, ...]:
    types = graph.types()
    found: dict[Dim, None] = {}
    for position, node in enumerate(graph.nodes):
        if isinstance(node.op, Custom):
            operands = tuple(types[a] for a in node.args)
            inside = block_types(node.op.block, operands)
            found.update((d, None) for t in inside for d in t.dims if d.constant is None)
            found.update((d, None) for d in _slice_margins(node.op.block.nodes, inside))
            found.update((p.size, None) for p in node.op.block.parallel if not is_natural(p.size))
        elif not isinstance(node.op, Input):
            found.update((d, None) for d in types[position].dims if not is_natural(d))
    found.update((d, None) for d in _slice_margins(graph.nodes, types))
    return tuple(found)


def _custom(nodes: Sequence[Node], position: int) -> tuple[BlockGraph, tuple[int, ...]]:
    node = nodes[position]
    assert isinstance(node.op, Custom), "SGraph checks what a result belongs to"
    return node.op.block, node.args


def consumers(nodes: tuple[Node, ...]) -> tuple[tuple[int, ...], ...]:
    """For each tensor, the positions of the nodes that read it."""
    out: list[list[int]] = [[] for _ in nodes]
    for position, node in enumerate(nodes):
        for a in dict.fromkeys(node.args):
            out[a].append(position)
    return tuple(tuple(c) for c in out)


def needed_by(nodes: Sequence[Node], outputs: Iterable[int]) -> set[int]:
    """The positions of the nodes that some outputs depend on, the outputs included."""
    needed = set(outputs)
    for position in range(max(needed, default=-1), -1, -1):
        if position in needed:
            needed.update(nodes[position].args)
    return needed


def replace_node(graph: SGraph, new: Sequence[Node], place: int, by: int) -> tuple[SGraph, tuple[int, ...]]:
    """Replace a tensor of a kernel graph by another, and remove nodes that the result does not depend on.

    Args:
        graph: the graph.
        new: nodes to insert in place of the replaced one; their positions follow those of the graph.
        place: position of the tensor to replace.
        by: position of the tensor to read instead, old or new.

    Returns:
        The graph, and per node its position among the old and the new nodes.
    """
    count = len(graph.nodes)
    nodes = (*graph.nodes, *new)
    order = [*range(place), *range(count, len(nodes)), *range(place + 1, count)]
    read = {place: by}
    results = {n: read.get(n, n) for n in graph.outputs}
    live = set(results.values())
    for p in reversed(order):
        if p in live:
            live.update(read.get(a, a) for a in nodes[p].args)
    kept = tuple(p for p in order if p in live or isinstance(nodes[p].op, Input))
    at = {p: n for n, p in enumerate(kept)}
    replaced = tuple(Node(nodes[p].op, tuple(at[read.get(a, a)] for a in nodes[p].args)) for p in kept)
    return graph.moved(replaced, {n: at[r] for n, r in results.items()}), kept


def walk(graph: SGraph) -> Iterator[tuple[tuple[int, ...], Node]]:
    """Every node with its path: (kernel position,) or (kernel position, block position)."""
    for i, node in enumerate(graph.nodes):
        yield (i,), node
        if isinstance(node.op, Custom):
            for j, inner in enumerate(node.op.block.nodes):
                yield (i, j), inner
