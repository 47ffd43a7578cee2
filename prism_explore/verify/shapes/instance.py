"""Program and candidate at one choice of sizes, as graphs that the interpreter runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod

from prism_explore.ir.dims import ZERO, Dim, dim
from prism_explore.ir.graph import SGraph
from prism_explore.ir.ops import Band, BlockGraph, Custom, Expand, Node, Op, Reshape, Slice
from prism_explore.ir.tensors import INTEGERS
from prism_explore.verify.shapes.constraints import BEGIN, Path
from prism_explore.verify.shapes.pair import MAX_UNCHANGED_BOUND, BoundNear, FixedBound, Pair
from prism_explore.verify.shapes.read_graph import View


@dataclass(frozen=True, slots=True)
class Instance:
    """Program and candidate with concrete sizes."""

    program: SGraph
    candidate: SGraph
    shapes: tuple[tuple[str, tuple[int, ...]], ...]
    """The shape of each input."""
    symbols: Mapping[str, int]
    """Values of the symbols in both graphs."""
    sizes: tuple[tuple[str, int], ...]
    """The program's axes, then the candidate's grid sizes and loop ranges; for display and replay."""
    coinciding: tuple[str, ...]
    """Axes of the inputs that must have equal extents for the candidate; also equal parts of one axis, where the
    program splits it."""
    work: tuple[tuple[Op, int], ...]
    """The compute operators of both graphs, and the number of elements over which each iterates."""
    faithful: bool
    """Whether the numbers in views have the same relations as the given ones: equality, sums and products. If not,
    graphs that are equal at the given sizes may differ."""
    limits: tuple[tuple[str, int], ...] = ()
    """Per integer input, the size of the smallest dim in which it has positions; 1 where nothing reads it."""

    @property
    def key(self) -> tuple[object, ...]:
        """The cache key of the program's result."""
        return self.program, self.shapes, self.limits

    @property
    def elements(self) -> int:
        """The number of elements of all inputs."""
        return sum(prod(shape) for _, shape in self.shapes)

    @property
    def steps(self) -> int:
        """Operators that the interpreter runs for the candidate."""
        total = 0
        for node in self.candidate.nodes:
            times = 1
            if isinstance(node.op, Custom):
                times = prod(
                    (p.size.value(self.symbols) for p in node.op.block.parallel), start=len(node.op.block.nodes)
                )
            total += times
        return total


def make_instance(pair: Pair, numbers: Mapping[int, int]) -> Instance:
    """Program and candidate with these values of their variables."""
    find = pair.variables.find

    def number(slot: int) -> int:
        return numbers[find(slot)]

    shapes = tuple((name, tuple(map(number, slots))) for name, slots in pair.inputs)
    symbols = {s: number(slot) for s, slot in pair.variables.symbols.items()}
    bands = _bands(pair, numbers)
    program, candidate = (
        _with_numbers(graph, {v.path: next(bands) if isinstance(v.op, Band) else _view(v, number) for v in views})
        for graph, views in zip((pair.program, pair.candidate), pair.views, strict=True)
    )
    sizes = (
        *((name, numbers[root]) for name, root in (*pair.axes, *pair.tiling_sizes)),
        *((name, 1) for name in pair.ones),
    )
    return Instance(
        program,
        candidate,
        shapes,
        symbols,
        sizes,
        pair.coinciding,
        tuple((op, prod(map(number, slots))) for op, slots in pair.work),
        _is_faithful(pair, numbers),
        tuple(
            (i.name, min((number(slot) for name, slot in pair.limits if name == i.name), default=1))
            for i in pair.program.inputs
            if i.type.dtype in INTEGERS
        ),
    )


def largest_tensor(pair: Pair, numbers: Mapping[int, int]) -> int:
    """The number of elements of the largest tensor."""
    find = pair.variables.find
    return max(prod(numbers[find(slot)] for slot in slots) for slots in pair.tensors)


def _is_faithful(pair: Pair, numbers: Mapping[int, int]) -> bool:
    """Whether the numbers in views have the same relations to connected numbers as at the given extents.

    It holds if the candidate's views contain no number that the program's views do not contain.
    """
    named = pair.named
    if not {named[root] for root in pair.chosen} & (_named_numbers(pair, 1) - _named_numbers(pair, 0)):
        return True
    own = {(named[root], numbers[root]) for root in pair.chosen}
    own |= {
        (abs(bound.given), abs(bound.at(numbers)))
        for place in pair.bands
        for bound in (place.low, place.high)
        if isinstance(bound, FixedBound | BoundNear) and abs(bound.given) > MAX_UNCHANGED_BOUND
    }
    small: dict[int, set[int]] = {1: {1}, 2: {2}}
    for extent, number in (*((extent, numbers[root]) for root, extent in named.items()), *own):
        small.setdefault(extent, set()).add(number)
    return all(
        small[a] == {x}
        and all(x + y in small.get(a + b, {x + y}) and x * y in small.get(a * b, {x * y}) for y in small[b])
        for a, x in own
        for b in small
    )


def _named_numbers(pair: Pair, which: int) -> set[int | None]:
    """The numbers in reshapes and slices of the program (0) or the candidate (1)."""
    views = (v for v in pair.views[which] if isinstance(v.op, Reshape | Slice))
    return {pair.variables.given_extents[slot].constant for v in views for slot in v.slots if slot != BEGIN}


def _view(view: View, number: Callable[[int], int]) -> Op:
    """A view with concrete sizes."""
    match view.op:
        case Reshape():
            return Reshape(tuple(dim(number(s)) for s in view.slots))
        case Expand(along, _):
            return Expand(along, dim(number(view.slots[along])))
        case Slice(along, _, _):
            begin, end = view.slots
            return Slice(along, ZERO if begin == BEGIN else dim(number(begin)), dim(number(end)))
        case op:
            raise AssertionError(f"{type(op).__name__} contains no sizes")


def excludes_something(bound: FixedBound, extent: Dim) -> bool:
    """Whether a bound may exclude an entry at the given extent."""
    return extent.constant is None or abs(bound.given) < extent.constant - 1


def _bands(pair: Pair, numbers: Mapping[int, int]) -> Iterator[Band]:
    """The bands at small extents, in order."""
    for place in pair.bands:
        low, high = (None if b is None else Dim((((), b),)) if b else ZERO for b in pair.band_bounds(place, numbers))
        rows, columns = dim(numbers[place.rows]), dim(numbers[place.columns])
        yield replace(place.band, rows=rows, columns=columns, low=low, high=high)


def every_row_has_an_entry(pair: Pair, numbers: Mapping[int, int]) -> bool:
    """Whether every row of each band has an entry, as a mask requires.

    Not checked for a band whose first or last rows have no entry at any extents.
    """
    for place in pair.bands:
        low, high = pair.band_bounds(place, numbers)
        first_is_bare = isinstance(place.high, FixedBound | BoundNear) and place.high.is_negative
        if low is not None and low > numbers[place.columns] - numbers[place.rows] and not _last_row_is_bare(place.band):
            return False
        if high is not None and high < 0 and not first_is_bare:
            return False
    return True


def _last_row_is_bare(band: Band) -> bool:
    """Whether the last row of a band has no entry at any extents."""
    room = None if band.low is None else (band.columns - band.rows - band.low).constant
    return room is not None and room < 0


def _with_numbers(graph: SGraph, ops: Mapping[Path, Op]) -> SGraph:
    """The graph with some operators replaced; inputs keep their types, which are not used."""
    if not ops:
        return graph
    nodes = list(graph.nodes)
    inside: dict[int, dict[int, Op]] = {}
    for path, op in ops.items():
        if len(path) == 1:
            nodes[path[0]] = Node(op, nodes[path[0]].args)  # pyright: ignore[reportArgumentType]
        else:
            inside.setdefault(path[0], {})[path[1]] = op
    for n, changed in inside.items():
        custom = nodes[n].op
        assert isinstance(custom, Custom), "a path of two leads into a custom kernel"
        block = custom.block
        inner = tuple(Node(changed.get(m, node.op), node.args) for m, node in enumerate(block.nodes))
        nodes[n] = Node(Custom(BlockGraph(block.grid, block.loop, inner)), nodes[n].args)
    return replace(graph, nodes=tuple(nodes))
