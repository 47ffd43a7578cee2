"""A graph as equations between the variables of its dims."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod

from prism_explore.ir.axis_typing import result_axes
from prism_explore.ir.dims import ONE, ZERO, Dim
from prism_explore.ir.graph import SGraph, block_types
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
    MatMul,
    Op,
    Reduce,
    Reshape,
    Result,
    RunningMax,
    Scalar,
    Slice,
    Store,
    Unary,
)
from prism_explore.verify.shapes.constraints import BEGIN, Path, Slots, Variables


@dataclass(frozen=True, slots=True)
class View:
    """An operator that names sizes, and their variables."""

    path: Path
    op: Op
    slots: Slots


class Reader:
    """Adds a graph's dims and equations."""

    def __init__(self, variables: Variables) -> None:
        self.variables = variables
        self.views: list[View] = []
        self.work: list[tuple[Op, Slots]] = []
        """The compute operators, and the dims over which each iterates, with the grid dims and the loop along which its
        operands differ."""

    def graph(self, graph: SGraph, inputs: Mapping[str, Slots]) -> list[Slots]:
        """The variables of every kernel-level tensor."""
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
                    results[n] = self._block(block, args, [t.dims for t in given], n)
                    values.append(results[n][0])
                case Result(index):
                    values.append(results[node.args[0]][index])
                case op:
                    values.append(self._apply(op, args, types[n].dims, (n,)))
                    self._count(op, args, values[-1], ())
        return values

    def _block(self, block: BlockGraph, operands: list[Slots], given: list[tuple[Dim, ...]], n: int) -> list[Slots]:
        grid = [self.variables.size(p.size) for p in block.grid]
        loop = self.variables.size(block.loop.size) if block.loop else 0
        lanes = (*grid, loop)
        values: list[Slots] = []
        differs: list[frozenset[int]] = []
        """Per value, the grid dims and the loop, by position, along which it differs."""
        for m, node in enumerate(block.nodes):
            args = [values[a] for a in node.args]
            along_lanes = frozenset[int]().union(*(differs[a] for a in node.args))
            match node.op:
                case Load(operand, imap, fmap):
                    tiles = list(operands[operand])
                    for d in {*(imap or ()), fmap}:
                        if d is not None:
                            parts = [g for g, along in zip(grid, imap or (), strict=True) if along == d]
                            tiles[d] = self.variables.cut(tiles[d], parts + [loop] * (fmap == d), given[m][d])
                    values.append(tuple(tiles))
                    cuts = (*(imap or ()), fmap)
                    along_lanes = frozenset(n for n, along in enumerate(cuts) if along is not None)
                case Store(omap):
                    whole: list[int] = []
                    for d, tile in enumerate(args[0]):
                        parts = [g for g, along in zip(grid, omap or (), strict=True) if along == d]
                        whole.append(self.variables.laid(tile, parts, given[m][d]) if parts else tile)
                    values.append(tuple(whole))
                case op:
                    values.append(self._apply(op, args, given[m], (n, m)))
                    self._count(op, args, values[-1], tuple(lanes[k] for k in along_lanes))
                    if isinstance(op, Accumulate | AccumulateRescaled):
                        along_lanes -= {len(grid)}
            differs.append(along_lanes)
        return [values[s] for s in block.stores]

    def _apply(self, op: Op, args: list[Slots], given: tuple[Dim, ...], path: Path) -> Slots:
        """The variables of a result; `views` gets each operator that names sizes itself, with their variables."""

        def fresh(along: int) -> int:
            match op:
                case Expand(_, size):
                    return self.variables.size(size) if size.symbols else self.variables.mark("expand", 0, size)
                case Slice(_, start, stop):
                    places, length = self._sliced(args[0][along], start, stop)
                    self.views.append(View(path, op, places))
                    return length
                case _:
                    return self._concatenated(args[0][along], args[1][along], given[along])

        match op:
            case Input() | Custom() | Result() | Load() | Store():
                raise AssertionError("these are read where they stand")
            case Band():
                slots = tuple(self.variables.new(d) for d in given)
            case Reshape():
                slots = self._reshaped(args[0], given)
            case op:
                slots = result_axes(
                    op, tuple(args), absent=0, fresh=fresh, align=self._aligned, contract=self.variables.join
                )
        if isinstance(op, Band | Reshape | Expand):
            self.views.append(View(path, op, slots))
        return slots

    def _count(self, op: Op, args: list[Slots], result: Slots, lanes: Slots) -> None:
        match op:
            case MatMul():
                self.work.append((op, (*result, args[0][-1], *lanes)))
            case Reduce() | Accumulate() | AccumulateRescaled() | RunningMax():
                self.work.append((op, (*args[0], *lanes)))
            case Unary() | Scalar() | Binary():
                self.work.append((op, (*result, *lanes)))
            case _:
                pass  # views compute nothing

    def _aligned(self, a: int, b: int) -> int:
        if a and b and a != b:
            self.variables.join(a, b)
        return a or b

    def _concatenated(self, first: int, second: int, given: Dim) -> int:
        """The variable of a concatenation's dim, which is the sum of its parts."""
        whole = self.variables.new(given)
        self.variables.sum((whole,), (first, second))
        self.variables.concat_operands[whole] = (first, second)
        return whole

    def _sliced(self, whole: int, start: Dim, stop: Dim) -> tuple[Slots, int]:
        """The variables of the ends of a slice (`BEGIN` for position 0), and its length."""
        variables = self.variables
        all_of_it = variables.given[whole]
        begin, end = self._place(whole, start), self._place(whole, stop)
        length = variables.new(stop - start)
        variables.sum((end,), (length,) if begin == BEGIN else (begin, length))
        if end != whole:
            rest = variables.new(all_of_it - stop)
            variables.free.add(rest)
            variables.sum((whole,), (end, rest))
        return (begin, end), length

    def _place(self, whole: int, at: Dim) -> int:
        """The variable for a position of a dim; in a concatenation, a position of one of the operands."""
        variables = self.variables
        if at == ZERO:
            return BEGIN
        if at == variables.given[whole]:
            return whole
        if whole not in variables.concat_operands:
            return variables.size(at) if _is_fraction(at) else variables.mark("place", whole, at)
        first, second = variables.concat_operands[whole]
        before = variables.given[first]
        if at == before:
            return first
        if _is_positive(before - at):
            return self._place(first, at)
        if not _is_positive(at - before):
            return variables.mark("place", whole, at)
        within = self._place(second, at - before)
        place = variables.mark("place", whole, at)
        variables.sum((place,), (first, within))
        return place

    def _reshaped(self, slots: Slots, wanted: tuple[Dim, ...]) -> Slots:
        """The dims of a reshape: groups with equal products, each merged, split, or both."""
        left = [s for s in slots if s]
        right = [n for n, d in enumerate(wanted) if not d.is_one]
        out = [0] * len(wanted)
        while left or right:
            ours, theirs = self._group(left, right, wanted)
            left, right = left[len(ours) :], right[len(theirs) :]
            if len(ours) == len(theirs) == 1:
                out[theirs[0]] = ours[0]
            elif theirs:
                self._split(self._merged(ours), theirs, wanted, out)
        return tuple(out)

    def _group(self, left: list[int], right: list[int], wanted: tuple[Dim, ...]) -> tuple[list[int], list[int]]:
        """The fewest leading dims of both sides with equal products."""
        ours: dict[Dim, int] = {}
        for n, above in enumerate(_products([self.variables.given[s] for s in left]), 1):
            ours.setdefault(above, n)
        for n, below in enumerate(_products([wanted[m] for m in right]), 1):
            if below in ours:
                return left[: ours[below]], right[:n]
        return left, right

    def _merged(self, parts: list[int]) -> int:
        """One dim from several, with borders between them."""
        given, below = self.variables.given, parts[-1]
        for n in range(len(parts) - 2, -1, -1):
            whole = self.variables.new(given[parts[n]] * given[below])
            self.variables.product((whole,), (parts[n], below))
            self.variables.border(whole, below)
            below = whole
        return below

    def _split(self, whole: int, theirs: list[int], wanted: tuple[Dim, ...], out: list[int]) -> None:
        above = whole
        for k, n in enumerate(theirs[:-1]):
            below = self.variables.mark("border", whole, prod((wanted[m] for m in theirs[k + 1 :]), start=ONE))
            out[n] = self.variables.new(wanted[n])
            self.variables.product((above,), (out[n], below))
            above = below
        out[theirs[-1]] = above
        self.variables.free.discard(above)
        if above != whole:
            self.variables.part_of[above] = whole


def _products(dims: Sequence[Dim]) -> Iterable[Dim]:
    """The products of the first, the first two, ..."""
    return accumulate(dims, lambda a, b: a * b)


def _is_fraction(d: Dim) -> bool:
    """Whether a size is a fraction of a symbol, such as n/2, which is no extent of an axis."""
    return len(d.terms) == 1 and d.terms[0][1].denominator > 1 and all(e > 0 for _, e in d.terms[0][0])


def _is_positive(d: Dim) -> bool:
    return bool(d.terms) and all(c > 0 for _, c in d.terms)
