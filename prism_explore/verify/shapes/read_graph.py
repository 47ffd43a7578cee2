"""Reader of graphs: adds the dims of a graph as variables, and the equations between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod

from prism_explore.ir.axis_typing import result_axes
from prism_explore.ir.dims import ONE, ZERO, Dim
from prism_explore.ir.graph import SGraph, block_types, integer_input
from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    Band,
    Binary,
    BlockGraph,
    Custom,
    Expand,
    Input,
    Load,
    Lookup,
    MatMul,
    Op,
    Reduce,
    Reshape,
    Result,
    RunningMax,
    Scalar,
    Scan,
    Slice,
    Store,
    Unary,
)
from prism_explore.verify.shapes.constraints import BEGIN, Path, Slots, Variables


@dataclass(frozen=True, slots=True)
class View:
    """An operator that contains sizes, and the variables of these."""

    path: Path
    op: Op
    slots: Slots


class Reader:
    """Adds the dims of graphs to `Variables`, with the equations between them."""

    def __init__(self, variables: Variables) -> None:
        self.variables = variables
        self.views: list[View] = []
        self.work: list[tuple[Op, Slots]] = []
        """The compute operators, and the dims over which each iterates: also the grid dims and the loop along which its
        operands differ."""
        self.limits: list[tuple[str, int]] = []
        """Per lookup, the integer input and the dim in which it has positions."""

    def read(self, graph: SGraph, inputs: Mapping[str, Slots]) -> list[Slots]:
        """Add a graph; returns the variables of every kernel-level tensor."""
        types = graph.types()
        values: list[Slots] = []
        results: dict[int, list[Slots]] = {}
        for n, node in enumerate(graph.nodes):
            args = [values[a] for a in node.args]
            match node.op:
                case Input(name, _):
                    values.append(inputs[name])
                case Custom(block):
                    given = block_types(block, tuple(types[a] for a in node.args))
                    results[n] = self._read_block(block, args, [t.dims for t in given], n)
                    values.append(results[n][0])
                case Result(index):
                    values.append(results[node.args[0]][index])
                case op:
                    if isinstance(op, Lookup):
                        integers = integer_input(graph.nodes, node.args[1])
                        assert integers is not None, "SGraph requires it"
                        self.limits.append((integers.name, args[0][op.dim]))
                    values.append(self._apply(op, args, types[n].dims, (n,)))
                    self._count(op, args, values[-1], ())
        return values

    def _read_block(
        self, block: BlockGraph, operands: list[Slots], given: list[tuple[Dim, ...]], n: int
    ) -> list[Slots]:
        grid = [self.variables.size(p.size) for p in block.grid]
        loop = self.variables.size(block.loop.size) if block.loop else 0
        lanes = (*grid, loop)
        values: list[Slots] = []
        differs: list[frozenset[int]] = []
        """The grid dims and the loop, by position, along which each value differs."""
        for m, node in enumerate(block.nodes):
            args = [values[a] for a in node.args]
            along_lanes = frozenset[int]().union(*(differs[a] for a in node.args))
            match node.op:
                case Load(operand, imap, fmap):
                    tiles = list(operands[operand])
                    for d in {*(imap or ()), fmap}:
                        if d is not None:
                            parts = [g for g, along in zip(grid, imap or (), strict=True) if along == d]
                            tiles[d] = self.variables.tile(tiles[d], parts + [loop] * (fmap == d), given[m][d])
                    values.append(tuple(tiles))
                    cuts = (*(imap or ()), fmap)
                    along_lanes = frozenset(n for n, along in enumerate(cuts) if along is not None)
                case Store(omap):
                    whole: list[int] = []
                    for d, tile in enumerate(args[0]):
                        parts = [g for g, along in zip(grid, omap or (), strict=True) if along == d]
                        whole.append(self.variables.full_dim(tile, parts, given[m][d]) if parts else tile)
                    values.append(tuple(whole))
                case op:
                    values.append(self._apply(op, args, given[m], (n, m)))
                    self._count(op, args, values[-1], tuple(lanes[k] for k in along_lanes))
                    if isinstance(op, Accumulate | AccumulateRescaled):
                        along_lanes -= {len(grid)}
            differs.append(along_lanes)
        return [values[s] for s in block.stores]

    def _apply(self, op: Op, args: list[Slots], given: tuple[Dim, ...], path: Path) -> Slots:
        """The variables of a result; an operator that contains sizes is added to `views`."""

        def fresh(along: int) -> int:
            match op:
                case Expand(_, size):
                    return self.variables.size(size) if size.symbols else self.variables.position("expand", 0, size)
                case Slice(_, start, stop):
                    places, length = self._slice_dim(args[0][along], start, stop)
                    self.views.append(View(path, op, places))
                    return length
                case _:
                    return self._concat_dim(args[0][along], args[1][along], given[along])

        match op:
            case Input() | Custom() | Result() | Load() | Store():
                raise AssertionError("the callers handle these")
            case Band():
                slots = tuple(self.variables.new(d) for d in given)
            case Reshape():
                slots = self._reshape(args[0], given)
            case op:
                slots = result_axes(
                    op, tuple(args), absent=0, fresh=fresh, align=self._align, contract=self.variables.merge
                )
        if isinstance(op, Scan) and slots[op.dim]:
            self.variables.scanned.add(slots[op.dim])
        if isinstance(op, Band | Reshape | Expand):
            self.views.append(View(path, op, slots))
        return slots

    def _count(self, op: Op, args: list[Slots], result: Slots, lanes: Slots) -> None:
        match op:
            case MatMul():
                self.work.append((op, (*result, args[0][-1], *lanes)))
            case Reduce() | Scan() | Accumulate() | AccumulateRescaled() | RunningMax():
                self.work.append((op, (*args[0], *lanes)))
            case Unary() | Scalar() | Binary():
                self.work.append((op, (*result, *lanes)))
            case _:
                pass  # views compute nothing

    def _align(self, a: int, b: int) -> int:
        if a and b and a != b:
            self.variables.merge(a, b)
        return a or b

    def _concat_dim(self, first: int, second: int, given: Dim) -> int:
        """The variable of the concatenated dim, which is the sum of both parts."""
        whole = self.variables.new(given)
        self.variables.sum((whole,), (first, second))
        self.variables.concat_operands[whole] = (first, second)
        return whole

    def _slice_dim(self, whole: int, start: Dim, stop: Dim) -> tuple[Slots, int]:
        """The variables of the ends of a slice (`BEGIN` for position 0) and of its length."""
        variables = self.variables
        all_of_it = variables.given_extents[whole]
        begin, end = self._position_in(whole, start), self._position_in(whole, stop)
        length = variables.new(stop - start)
        variables.sum((end,), (length,) if begin == BEGIN else (begin, length))
        if end != whole:
            rest = variables.new(all_of_it - stop)
            variables.may_be_one.add(rest)
            variables.sum((whole,), (end, rest))
        return (begin, end), length

    def _position_in(self, whole: int, at: Dim) -> int:
        """The variable of a position in a dim; in a concatenation, that of a position in an operand, if possible."""
        variables = self.variables
        if at == ZERO:
            return BEGIN
        if at == variables.given_extents[whole]:
            return whole
        if whole not in variables.concat_operands:
            return variables.size(at) if _is_fraction(at) else variables.position("place", whole, at)
        first, second = variables.concat_operands[whole]
        before = variables.given_extents[first]
        if at == before:
            return first
        if _is_positive(before - at):
            return self._position_in(first, at)
        if not _is_positive(at - before):
            return variables.position("place", whole, at)
        within = self._position_in(second, at - before)
        place = variables.position("place", whole, at)
        variables.sum((place,), (first, within))
        return place

    def _reshape(self, slots: Slots, wanted: tuple[Dim, ...]) -> Slots:
        """The dims of a reshape: groups with equal products, which are merged, split, or both."""
        left = [s for s in slots if s]
        right = [n for n, d in enumerate(wanted) if not d.is_one]
        out = [0] * len(wanted)
        while left or right:
            own, wanted_dims = self._group(left, right, wanted)
            left, right = left[len(own) :], right[len(wanted_dims) :]
            if len(own) == len(wanted_dims) == 1:
                out[wanted_dims[0]] = own[0]
            elif wanted_dims:
                self._split_dim(self._merge_dims(own), wanted_dims, wanted, out)
        return tuple(out)

    def _group(self, left: list[int], right: list[int], wanted: tuple[Dim, ...]) -> tuple[list[int], list[int]]:
        """The fewest leading dims of both sides with equal products."""
        own: dict[Dim, int] = {}
        for n, above in enumerate(_products([self.variables.given_extents[s] for s in left]), 1):
            own.setdefault(above, n)
        for n, below in enumerate(_products([wanted[m] for m in right]), 1):
            if below in own:
                return left[: own[below]], right[:n]
        return left, right

    def _merge_dims(self, parts: list[int]) -> int:
        """One dim from several, with borders between them."""
        given, below = self.variables.given_extents, parts[-1]
        for n in range(len(parts) - 2, -1, -1):
            whole = self.variables.new(given[parts[n]] * given[below])
            self.variables.product((whole,), (parts[n], below))
            self.variables.border(whole, below)
            below = whole
        return below

    def _split_dim(self, whole: int, wanted_dims: list[int], wanted: tuple[Dim, ...], out: list[int]) -> None:
        above = whole
        for k, n in enumerate(wanted_dims[:-1]):
            below = self.variables.position("border", whole, prod((wanted[m] for m in wanted_dims[k + 1 :]), start=ONE))
            out[n] = self.variables.new(wanted[n])
            self.variables.product((above,), (out[n], below))
            above = below
        out[wanted_dims[-1]] = above
        self.variables.may_be_one.discard(above)
        if above != whole:
            self.variables.part_of[above] = whole


def _products(dims: Sequence[Dim]) -> Iterable[Dim]:
    """The products of the first, the first two, ..."""
    return accumulate(dims, lambda a, b: a * b)


def _is_fraction(d: Dim) -> bool:
    """Whether a size is a fraction of a symbol, such as n/2; it is no extent of an axis."""
    return len(d.terms) == 1 and d.terms[0][1].denominator > 1 and all(e > 0 for _, e in d.terms[0][0])


def _is_positive(d: Dim) -> bool:
    return bool(d.terms) and all(c > 0 for _, c in d.terms)
