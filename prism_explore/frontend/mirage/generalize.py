"""From one choice of numbers to the family it belongs to.

A saved graph has numbers for grid sizes and loop ranges. Here each becomes a symbol, and so do, where
asked, the dims of the inputs. Then the graph is typed again; where two sizes must agree and do not, the
equation between them says what to do: a symbol is another symbol (the second kernel's splits are the
first kernel's), or a symbol is a number. What cannot be solved so stays as it was in the file, and that
is noted. The family has the graph that it came from as its member at `General.numbers`.
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
    MatMul,
    Node,
    ParallelDim,
    Reshape,
    Result,
    RunningMax,
    Slice,
    Store,
    compute_dims,
    without_dim,
)
from prism_explore.ir.tensors import TensorType

Dims = tuple[Dim, ...]
_MOST_EQUATIONS = 200


@dataclass(frozen=True, slots=True)
class General:
    """A family and the member that it was made from."""

    sgraph: SGraph
    numbers: tuple[tuple[str, int], ...]
    """What each symbol was."""
    notes: tuple[str, ...] = ()
    """Which symbols are tied, which sizes had to stay numbers, and why."""


class _Differ(Exception):
    """Two sizes that must be equal and are not yet."""

    def __init__(self, left: Dim, right: Dim) -> None:
        super().__init__(f"{left} against {right}")
        self.left, self.right = left, right


@dataclass(slots=True)
class _Symbols:
    """What was made a symbol, what it was, and what has been found out about it."""

    values: dict[str, int] = field(default_factory=dict[str, int])
    """Of every symbol, in order of appearance."""
    solved: dict[str, Dim] = field(default_factory=dict[str, Dim])
    views: dict[str, None] = field(default_factory=dict[str, None])
    """Sizes that a reshape names: they follow from their neighbours, or stay numbers."""
    data: frozenset[str] = frozenset()

    def of(self, name: str, value: int, view: bool = False) -> Dim:
        """A symbol, or what it was found to be."""
        if name not in self.values:
            self.values[name] = value
            if view:
                self.views[name] = None
        return self.solved.get(name, dim(name))

    def number(self, size: Dim) -> Fraction:
        """What a size was in the file."""
        return size.rational(self.values)

    def solve(self, name: str, size: Dim) -> None:
        """From here on `name` is `size`."""
        self.solved = {s: d.substitute({name: size}) for s, d in self.solved.items()} | {name: size}


def generalise(graph: SGraph, data: Mapping[str, Dims] | None = None, wanted: Dims | None = None) -> General:
    """Grid sizes and loop ranges as symbols, as far as the graph type-checks with them.

    The symbols are gx, gy, gz and f, with the kernel's number behind them where there are several. A graph
    that has symbols already is left as it is.

    Args:
        graph: a graph whose maps are closed.
        data: symbolic dims for the inputs, by name, to generalise over these too.
        wanted: the dims that the result must have then.

    Raises:
        ShapeError: the graph itself is ill-formed, or no family over `data` has it as a member.
    """
    graph.types()
    if graph.parameters or graph.data_symbols:
        return General(graph, (), ("it has symbols already",))
    try:
        return _family(graph, data, wanted)
    except ShapeError as error:
        if data is not None:
            raise
        return General(graph, (), (f"all sizes stay numbers: {error}",))


def _family(graph: SGraph, data: Mapping[str, Dims] | None, wanted: Dims | None) -> General:
    symbols = _Symbols()
    for given in graph.inputs:
        for symbolic, size in zip((data or {}).get(given.name, ()), given.type.dims, strict=False):
            if len(symbolic.symbols) == 1 and size.constant is not None:
                symbols.values[symbolic.symbols[0]] = size.constant
    symbols.data = frozenset(symbols.values)
    notes: list[str] = []
    for _ in range(_MOST_EQUATIONS):
        try:
            general, result = _Again(graph, data or {}, symbols).kernel()
            if wanted is not None:
                _equal_all(result, wanted, symbols)
        except _Differ as differ:
            notes.append(_settle(differ, symbols))
            continue
        loose = [s for s in symbols.views if s not in symbols.solved]
        if not loose:
            general.types()
            free = [s for s in general.parameters + general.data_symbols if s in symbols.values]
            found = General(general, tuple((s, symbols.values[s]) for s in free), tuple(n for n in notes if n))
            return _without_divisors(found)
        for name in loose:
            symbols.solve(name, dim(symbols.values[name]))
    raise ShapeError("too many sizes depend on one another")


def _without_divisors(general: General) -> General:
    """Where one grid size or loop range must divide another, the other is written as a product.

    The second kernel's loop over the parts that the first one made has f2 divide gy1: gy1 becomes f2 times a new
    gy1. No member is lost, and any numbers are legal then.
    """
    for _ in range(len(general.numbers)):
        numbers = dict(general.numbers)
        mine = set(general.sgraph.parameters)
        for condition in general.sgraph.conditions():
            ((powers, coefficient),) = condition.terms if condition.is_monomial else (((), Fraction(0)),)
            above, below = [s for s, e in powers if e == 1], [s for s, e in powers if e == -1]
            if coefficient == 1 and len(above) == len(below) == 1 and len(powers) == 2 and mine >= {*above, *below}:
                whole, part = above[0], below[0]
                times = Fraction(numbers[whole], numbers[part])
                if times.denominator == 1:
                    sgraph = general.sgraph.substitute({whole: dim(whole) * part})
                    now = f"{whole} counts parts of {part}, {times} instead of {numbers[whole]}"
                    note = f"{now}: {condition} must be whole"
                    changed = numbers | {whole: int(times)}
                    general = General(sgraph, tuple(changed.items()), (*general.notes, note))
                    break
        else:
            return general
    return general


def _settle(differ: _Differ, symbols: _Symbols) -> str:
    """Solve one equation, and say what was done.

    Raises:
        ShapeError: only the data's own sizes are left in it.
    """
    left, right = differ.left, differ.right
    why = f"{left} must be {right}"
    if not (left.is_monomial and right.is_monomial):
        raise ShapeError(f"{why}, which are no products")
    ratio = left / right
    ((powers, _),) = ratio.terms
    order = list(symbols.values)
    mine = sorted(
        (s for s, _ in powers if s not in symbols.data),
        key=lambda s: (s not in symbols.views, -order.index(s)),
    )
    for name in mine:
        size = _solution(ratio, name)
        if size is None:
            continue
        if name in symbols.views:
            symbols.solve(name, size)
            return ""
        if size.constant is not None or str(size) in size.symbols:
            symbols.solve(name, size)
            return f"{name} is {size}: {why}"
    if not mine:
        raise ShapeError(f"{why}; they were equal only by the sizes of this file")
    symbols.solve(mine[0], dim(symbols.values[mine[0]]))
    return f"{mine[0]} stays {symbols.values[mine[0]]}: {why}"


def _solution(ratio: Dim, name: str) -> Dim | None:
    """What `name` must be for a product to be 1, if that is a product again; sizes are positive."""
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
    """The common size of two dims; a literal 1 may broadcast."""
    if a == b or (broadcasts and b.is_one):
        return a
    if broadcasts and a.is_one:
        return b
    here, there = symbols.number(a), symbols.number(b)
    if broadcasts and here != there:
        raise _Differ(a, ONE) if here == 1 else _Differ(b, ONE)
    raise _Differ(a, b)


def _equal_all(a: Dims, b: Dims, symbols: _Symbols, broadcasts: bool = False) -> Dims:
    rank = max(len(a), len(b))
    if len(a) != len(b) and not broadcasts:
        raise ShapeError(f"{len(a)} dims where {len(b)} are wanted")
    left, right = (ONE,) * (rank - len(a)) + a, (ONE,) * (rank - len(b)) + b
    return tuple(_equal(x, y, symbols, broadcasts) for x, y in zip(left, right, strict=True))


class _Again:
    """The graph once more, with symbols for sizes; raises `_Differ` at the first two sizes that disagree."""

    def __init__(self, graph: SGraph, data: Mapping[str, Dims], symbols: _Symbols) -> None:
        self._graph = graph
        self._data = data
        self._symbols = symbols
        self._taken = {s for dims in data.values() for d in dims for s in d.symbols}
        self._several = len(graph.customs) > 1

    def kernel(self) -> tuple[SGraph, Dims]:
        """The kernel graph and its result's dims."""
        types = self._graph.types()
        nodes: list[Node] = []
        dims: list[Dims] = []
        results: dict[int, tuple[Dims, ...]] = {}
        customs = 0
        for position, node in enumerate(self._graph.nodes):
            args = tuple(dims[a] for a in node.args)
            match node.op:
                case Input(name, t):
                    given = self._data.get(name, t.dims)
                    nodes.append(Node(Input(name, replace(t, dims=given))))
                    dims.append(given)
                case Band() as band:
                    rows = self._view(band.rows, f"{position}_rows")
                    columns = self._view(band.columns, f"{position}_columns")
                    nodes.append(Node(replace(band, rows=rows, columns=columns)))
                    dims.append((rows, columns))
                case Custom(block):
                    customs += 1
                    old = tuple(types[a] for a in node.args)
                    made, results[position] = self._block(block, old, args, customs, str(position))
                    nodes.append(Node(Custom(made), node.args))
                    dims.append(results[position][0])
                case Result(index):
                    nodes.append(node)
                    dims.append(results[node.args[0]][index])
                case Load() | Store() | Accumulate() | AccumulateRescaled() | RunningMax():
                    raise AssertionError("SGraph refuses block-level operators")
                case op:
                    old_args = tuple(types[a].dims for a in node.args)
                    made_op, found = self._compute(op, old_args, types[position].dims, args, str(position))
                    nodes.append(Node(made_op, node.args))
                    dims.append(found)
        return SGraph(tuple(nodes), self._graph.output), dims[self._graph.output]

    def _size(self, p: ParallelDim, loop: bool, number: int) -> ParallelDim:
        value = p.size.constant
        assert value is not None, "only graphs without symbols are generalised"
        name = ("f" if loop else f"g{p.name}") + (str(number) if self._several else "")
        while name in self._taken:
            name += "_"
        return replace(p, size=self._symbols.of(name, value))

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
                    whole = TensorType(operands[load.operand], old[load.operand].dtype)
                    dims.append(tile_dims(frame, load, whole))
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
                case Input() | Band() | Custom() | Result():
                    raise AssertionError("BlockGraph refuses kernel-level operators")
                case op:
                    old_args = tuple(types[a].dims for a in node.args)
                    made, found = self._compute(op, old_args, types[position].dims, args, f"{key}_{position}")
                    nodes.append(Node(made, node.args))
                    dims.append(found)
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
                op = Expand(along, self._view(size, f"{key}_size"))
            case Slice(along, start, stop):
                whole, was = args[0][along], old_args[0][along]
                op = Slice(along, whole * start / was if start != ZERO else start, whole * stop / was)
            case Reshape():
                op = Reshape(self._regrouped(old_args[0], old, args[0], key))
            case _:
                pass
        return op, compute_dims(op, args)

    def _view(self, size: Dim, key: str) -> Dim:
        """A size that a view names: a symbol until its neighbours say what it is."""
        value = size.constant
        return size if value is None or value <= 1 else self._symbols.of(f"view_{key}", value, view=True)

    def _regrouped(self, old: Dims, out: Dims, new: Dims, key: str) -> Dims:
        """The reshape's dims: those that pass stay, merged ones multiply, of split ones the first follows."""
        made: list[Dim] = []
        for n, (taken, given) in enumerate(_groups(old, out)):
            whole = prod((new[d] for d in taken), start=ONE)
            inner = [self._view(out[d], f"{key}_{n}_{m}") for m, d in enumerate(given[1:])]
            if given:
                made.extend((whole / prod(inner, start=ONE), *inner))
        return tuple(made)


def _groups(old: Dims, out: Dims) -> list[tuple[list[int], list[int]]]:
    """Dims before and after a reshape, in the smallest groups of equal product."""
    sizes, wanted = [d.constant or 0 for d in old], [d.constant or 0 for d in out]
    groups: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(old) and j < len(out):
        taken, given, a, b = [i], [j], sizes[i], wanted[j]
        i, j = i + 1, j + 1
        while a != b:
            if a < b:
                a *= sizes[i]
                taken.append(i)
                i += 1
            else:
                b *= wanted[j]
                given.append(j)
                j += 1
        groups.append((taken, given))
    if i < len(old):
        groups[-1][0].extend(range(i, len(old))) if groups else groups.append((list(range(len(old))), []))
    if j < len(out):
        groups[-1][1].extend(range(j, len(out))) if groups else groups.append(([], list(range(len(out)))))
    return groups
