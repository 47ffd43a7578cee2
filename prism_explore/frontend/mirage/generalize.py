"""Generalize a graph with constant sizes to a family.

A saved graph has constants for grid sizes and loop ranges. Each becomes a symbol, and so do the dims of the inputs if
requested. Then the graph is typed again. Where two sizes must be equal and are not, the equation between them is
solved: a symbol becomes another symbol (the splits of the second kernel are those of the first), or a constant. Sizes
that cannot be solved stay constants, and a note says so. The original graph is the member of the family at
`General.sizes`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import prod

from prism_explore.errors import ShapeError
from prism_explore.ir.dims import ONE, ZERO, Dim, dim
from prism_explore.ir.graph import SGraph, block_types, tile_dims
from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    Band,
    Binary,
    BlockGraph,
    ComputeOp,
    Concat,
    Custom,
    Expand,
    Input,
    Load,
    Lookup,
    MatMul,
    Node,
    ParallelDim,
    Reshape,
    Result,
    RunningMax,
    Slice,
    Store,
    compute_dims,
    lookup_dims,
    without_dim,
)
from prism_explore.ir.tensors import TensorType

Dims = tuple[Dim, ...]
_MOST_EQUATIONS = 200


@dataclass(frozen=True, slots=True)
class GeneralizedGraph:
    """A family, and the member that it was generalized from."""

    sgraph: SGraph
    sizes: tuple[tuple[str, int], ...]
    """Per symbol, its size in the original graph."""
    notes: tuple[str, ...] = ()
    """Which symbols were replaced, which sizes stay constants, and the reasons."""


class _SizeMismatch(Exception):
    """Two sizes must be equal and are not."""

    def __init__(self, left: Dim, right: Dim) -> None:
        super().__init__(f"{left} is not {right}")
        self.left, self.right = left, right


@dataclass(slots=True)
class _Symbols:
    """The symbols, their original sizes, and the solutions found so far."""

    values: dict[str, int] = field(default_factory=dict[str, int])
    """Per symbol, its original size, in order of appearance."""
    solved: dict[str, Dim] = field(default_factory=dict[str, Dim])
    views: dict[str, None] = field(default_factory=dict[str, None])
    """Symbols for sizes in a reshape: they follow from other sizes, or stay constants."""
    data: frozenset[str] = frozenset()
    """Symbols in the dims of the inputs."""

    def symbol_for(self, name: str, value: int, view: bool = False) -> Dim:
        """The symbol, or its solution."""
        if name not in self.values:
            self.values[name] = value
            if view:
                self.views[name] = None
        return self.solved.get(name, dim(name))

    def original(self, size: Dim) -> Fraction:
        """The original value of a size."""
        return size.rational(self.values)

    def solve(self, name: str, size: Dim) -> None:
        """Replace symbol `name` by `size` from now on."""
        self.solved = {s: d.substitute({name: size}) for s, d in self.solved.items()} | {name: size}


def generalize(graph: SGraph, data: Mapping[str, Dims] | None = None, wanted: Dims | None = None) -> GeneralizedGraph:
    r"""Replace grid sizes and loop ranges by symbols, as far as the graph type-checks with them.

    The symbols are gx, gy, gz and f, followed by the number of the kernel if there are several. A graph that has
    symbols already is returned unchanged.

    Args:
        graph: a graph without open maps.
        data: per input name its symbolic dims, to generalize over these too.
        wanted: the dims that the result must have with these inputs.

    Returns:
        The family, the sizes at which it is the original graph, and notes.

    Raises:
        ShapeError: the graph is ill-formed, or it is a member of no family over `data`.

    Example:
        >>> from prism_explore.ir.text import parse
        >>> inside = ["%0 = load(0, imap=[0])", "%1 = exp(%0)", "%2 = store(%1, omap=[0])"]
        >>> kernel = "\n    ".join(["%1 = custom(x) grid[x=4]", *inside])
        >>> graph = parse(f"sgraph\n  x = input f32[8, 16]\n  {kernel}\n  return %1")
        >>> generalize(graph).sizes
        (('gx', 4),)
    """
    graph.types()
    if graph.parameters or graph.data_symbols:
        return GeneralizedGraph(graph, (), ("it has symbols already",))
    try:
        return _family(graph, data, wanted)
    except ShapeError as error:
        if data is not None:
            raise
        return GeneralizedGraph(graph, (), (f"all sizes stay constants: {error}",))


def _family(graph: SGraph, data: Mapping[str, Dims] | None, wanted: Dims | None) -> GeneralizedGraph:
    symbols = _Symbols()
    for source in graph.inputs:
        for symbolic, size in zip((data or {}).get(source.name, ()), source.type.dims, strict=False):
            if len(symbolic.symbols) == 1 and size.constant is not None:
                symbols.values[symbolic.symbols[0]] = size.constant
    symbols.data = frozenset(symbols.values)
    notes: list[str] = []
    for _ in range(_MOST_EQUATIONS):
        try:
            general, result = _Retyper(graph, data or {}, symbols).retype()
            if wanted is not None:
                _equal_all(result, wanted, symbols)
        except _SizeMismatch as mismatch:
            notes.append(_solve(mismatch, symbols))
            continue
        unsolved = [s for s in symbols.views if s not in symbols.solved]
        if not unsolved:
            general.types()
            free = [s for s in general.parameters + general.data_symbols if s in symbols.values]
            found = GeneralizedGraph(general, tuple((s, symbols.values[s]) for s in free), tuple(n for n in notes if n))
            return _without_divisors(found)
        for name in unsolved:
            symbols.solve(name, dim(symbols.values[name]))
    raise ShapeError("too many sizes depend on one another")


def _without_divisors(general: GeneralizedGraph) -> GeneralizedGraph:
    """Replace a grid size or loop range that another one must divide by a product.

    If the second kernel loops over the parts of the first, f2 must divide gy1: gy1 becomes f2 times a new gy1. No
    member is lost, and then all sizes are allowed.
    """
    for _ in range(len(general.sizes)):
        sizes = dict(general.sizes)
        own = set(general.sgraph.parameters)
        for condition in general.sgraph.conditions():
            ((powers, coefficient),) = condition.terms if condition.is_monomial else (((), Fraction(0)),)
            above, below = [s for s, e in powers if e == 1], [s for s, e in powers if e == -1]
            if coefficient == 1 and len(above) == len(below) == 1 and len(powers) == 2 and own >= {*above, *below}:
                multiple, part = above[0], below[0]
                times = Fraction(sizes[multiple], sizes[part])
                if times.denominator == 1:
                    sgraph = general.sgraph.substitute({multiple: dim(multiple) * part})
                    now = f"{multiple} is now a multiple of {part}, {times} instead of {sizes[multiple]}"
                    note = f"{now}: {condition} must be an integer"
                    changed = sizes | {multiple: int(times)}
                    general = GeneralizedGraph(sgraph, tuple(changed.items()), (*general.notes, note))
                    break
        else:
            return general
    return general


def _solve(mismatch: _SizeMismatch, symbols: _Symbols) -> str:
    """Solve one equation; return a note for the user, or an empty text.

    Raises:
        ShapeError: the equation contains only sizes of the inputs.
    """
    left, right = mismatch.left, mismatch.right
    why = f"{left} must be {right}"
    if not (left.is_monomial and right.is_monomial):
        raise ShapeError(f"{why}, which are not products")
    ratio = left / right
    ((powers, _),) = ratio.terms
    order = list(symbols.values)
    free = sorted(
        (s for s, _ in powers if s not in symbols.data),
        key=lambda s: (s not in symbols.views, -order.index(s)),
    )
    for name in free:
        size = _solution(ratio, name)
        if size is None:
            continue
        if name in symbols.views:
            symbols.solve(name, size)
            return ""
        if size.constant is not None or str(size) in size.symbols:
            symbols.solve(name, size)
            return f"{name} is {size}: {why}"
    if not free:
        raise ShapeError(f"{why}; they are equal only at the sizes of this file")
    symbols.solve(free[0], dim(symbols.values[free[0]]))
    return f"{free[0]} stays {symbols.values[free[0]]}: {why}"


def _solution(ratio: Dim, name: str) -> Dim | None:
    """The value of `name` at which the product `ratio` is 1, if that is a product too; sizes are positive."""
    ((powers, coefficient),) = ratio.terms
    exponent = dict(powers)[name]
    degree = abs(exponent)
    rest = [(s, e) for s, e in powers if s != name]
    above, below = round(coefficient.numerator ** (1 / degree)), round(coefficient.denominator ** (1 / degree))
    if any(e % degree for _, e in rest) or Fraction(above, below) ** degree != coefficient:
        return None
    root = dim(above) / below
    for s, e in rest:
        for _ in range(abs(e) // degree):
            root = root * s if e > 0 else root / s
    return ONE / root if exponent > 0 else root


def _equal(a: Dim, b: Dim, symbols: _Symbols, broadcasts: bool = False) -> Dim:
    """The common size of two dims; a constant 1 can broadcast."""
    if a == b or (broadcasts and b.is_one):
        return a
    if broadcasts and a.is_one:
        return b
    here, there = symbols.original(a), symbols.original(b)
    if broadcasts and here != there:
        raise _SizeMismatch(a, ONE) if here == 1 else _SizeMismatch(b, ONE)
    raise _SizeMismatch(a, b)


def _equal_all(a: Dims, b: Dims, symbols: _Symbols, broadcasts: bool = False) -> Dims:
    rank = max(len(a), len(b))
    if len(a) != len(b) and not broadcasts:
        raise ShapeError(f"{len(a)} dims where {len(b)} are expected")
    left, right = (ONE,) * (rank - len(a)) + a, (ONE,) * (rank - len(b)) + b
    return tuple(_equal(x, y, symbols, broadcasts) for x, y in zip(left, right, strict=True))


class _Retyper:
    """Types the graph again with symbols; raises `_SizeMismatch` at the first two sizes that should be equal."""

    def __init__(self, graph: SGraph, data: Mapping[str, Dims], symbols: _Symbols) -> None:
        self._graph = graph
        self._data = data
        self._symbols = symbols
        self._taken = {s for dims in data.values() for d in dims for s in d.symbols}
        self._several = len(graph.customs) > 1

    def retype(self) -> tuple[SGraph, Dims]:
        """The retyped graph and the dims of its result."""
        types = self._graph.types()
        nodes: list[Node] = []
        dims: list[Dims] = []
        results: dict[int, tuple[Dims, ...]] = {}
        customs = 0
        for position, node in enumerate(self._graph.nodes):
            args = tuple(dims[a] for a in node.args)
            match node.op:
                case Input(name, t):
                    input_dims = self._data.get(name, t.dims)
                    nodes.append(Node(Input(name, replace(t, dims=input_dims))))
                    dims.append(input_dims)
                case Band() as band:
                    rows = self._view_size(band.rows, f"{position}_rows")
                    columns = self._view_size(band.columns, f"{position}_columns")
                    nodes.append(Node(replace(band, rows=rows, columns=columns)))
                    dims.append((rows, columns))
                case Custom(block):
                    customs += 1
                    old = tuple(types[a] for a in node.args)
                    new_block, results[position] = self._block(block, old, args, customs, str(position))
                    nodes.append(Node(Custom(new_block), node.args))
                    dims.append(results[position][0])
                case Result(index):
                    nodes.append(node)
                    dims.append(results[node.args[0]][index])
                case Load() | Store() | Accumulate() | AccumulateRescaled() | RunningMax():
                    raise AssertionError("SGraph refuses block-level operators")
                case Lookup() as lookup:
                    nodes.append(node)
                    table, integers = args
                    dims.append(lookup_dims(lookup, table, integers))
                case op:
                    old_args = tuple(types[a].dims for a in node.args)
                    new_op, new_dims = self._compute(op, old_args, types[position].dims, args, str(position))
                    nodes.append(Node(new_op, node.args))
                    dims.append(new_dims)
        return replace(self._graph, nodes=tuple(nodes)), dims[self._graph.output]

    def _size(self, p: ParallelDim, loop: bool, number: int) -> ParallelDim:
        value = p.size.constant
        assert value is not None, "only graphs without symbols are generalized"
        name = ("f" if loop else f"g{p.name}") + (str(number) if self._several else "")
        while name in self._taken:
            name += "_"
        return replace(p, size=self._symbols.symbol_for(name, value))

    def _block(
        self, block: BlockGraph, old: tuple[TensorType, ...], operands: tuple[Dims, ...], number: int, key: str
    ) -> tuple[BlockGraph, tuple[Dims, ...]]:
        grid = tuple(self._size(p, False, number) for p in block.grid)
        loop = self._size(block.loop, True, number) if block.loop else None
        frame = replace(block, grid=grid, loop=loop)
        types = block_types(block, old)
        nodes: list[Node] = []
        dims: list[Dims] = []
        for position, node in enumerate(block.nodes):
            args = tuple(dims[a] for a in node.args)
            match node.op:
                case Load() as load:
                    full = TensorType(operands[load.operand], old[load.operand].dtype)
                    dims.append(tile_dims(frame, load, full))
                    nodes.append(node)
                case Accumulate(_, along) | RunningMax(along):
                    dims.append(without_dim(args[0], along, "accumulator"))
                    nodes.append(node)
                case AccumulateRescaled(along):
                    dims.append(without_dim(args[0], along, "accumulator"))
                    _equal_all(dims[-1], args[1], self._symbols, broadcasts=True)
                    nodes.append(node)
                case Store(omap):
                    out = list(args[0])
                    for p, along in zip(grid, omap or (), strict=True):
                        if along is not None:
                            out[along] = out[along] * p.size
                    dims.append(tuple(out))
                    nodes.append(node)
                case Input() | Band() | Lookup() | Custom() | Result():
                    raise AssertionError("BlockGraph refuses kernel-level operators")
                case op:
                    old_args = tuple(types[a].dims for a in node.args)
                    new_op, new_dims = self._compute(op, old_args, types[position].dims, args, f"{key}_{position}")
                    nodes.append(Node(new_op, node.args))
                    dims.append(new_dims)
        return replace(frame, nodes=tuple(nodes)), tuple(dims[s] for s in block.stores)

    def _compute(
        self, op: ComputeOp, old_args: tuple[Dims, ...], old: Dims, args: tuple[Dims, ...], key: str
    ) -> tuple[ComputeOp, Dims]:
        symbols = self._symbols
        match op:
            case Binary():
                return op, _equal_all(args[0], args[1], symbols, broadcasts=True)
            case MatMul():
                a, b = args
                _equal(a[-1], b[-2], symbols)
                return op, (*_equal_all(a[:-2], b[:-2], symbols, broadcasts=True), a[-2], b[-1])
            case Concat(along):
                for d, (x, y) in enumerate(zip(args[0], args[1], strict=True)):
                    if d != along:
                        _equal(x, y, symbols)
            case Expand(along, size):
                op = Expand(along, self._view_size(size, f"{key}_size"))
            case Slice(along, start, stop):
                new, old_size = args[0][along], old_args[0][along]
                op = Slice(along, new * start / old_size if start != ZERO else start, new * stop / old_size)
            case Reshape():
                op = Reshape(self._reshaped_dims(old_args[0], old, args[0], key))
            case _:
                pass
        return op, compute_dims(op, args)

    def _view_size(self, size: Dim, key: str) -> Dim:
        """A size in a view: a symbol until it follows from other sizes."""
        value = size.constant
        return size if value is None or value <= 1 else self._symbols.symbol_for(f"view_{key}", value, view=True)

    def _reshaped_dims(self, old: Dims, out: Dims, new: Dims, key: str) -> Dims:
        """The dims of a reshape: unchanged, products of merged dims, or parts of split dims (the first is the rest)."""
        dims: list[Dim] = []
        for n, (old_group, new_group) in enumerate(_groups(old, out)):
            product = prod((new[d] for d in old_group), start=ONE)
            inner = [self._view_size(out[d], f"{key}_{n}_{m}") for m, d in enumerate(new_group[1:])]
            if new_group:
                dims.extend((product / prod(inner, start=ONE), *inner))
        return tuple(dims)


def _groups(old: Dims, out: Dims) -> list[tuple[list[int], list[int]]]:
    """Group the dims before and after a reshape into the smallest groups of equal product."""
    sizes, wanted = [d.constant or 0 for d in old], [d.constant or 0 for d in out]
    groups: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(old) and j < len(out):
        old_group, new_group, a, b = [i], [j], sizes[i], wanted[j]
        i, j = i + 1, j + 1
        while a != b:
            if a < b:
                a *= sizes[i]
                old_group.append(i)
                i += 1
            else:
                b *= wanted[j]
                new_group.append(j)
                j += 1
        groups.append((old_group, new_group))
    if i < len(old):
        groups[-1][0].extend(range(i, len(old))) if groups else groups.append((list(range(len(old))), []))
    if j < len(out):
        groups[-1][1].extend(range(j, len(out))) if groups else groups.append(([], list(range(len(out)))))
    return groups
