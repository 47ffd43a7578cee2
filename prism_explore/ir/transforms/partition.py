"""Partition of a program that is too large for one search into parts, and assembly of the parts' kernel graphs.

A part is a sequence of consecutive operators with a single result that other operators read, so a kernel can replace
it. Results of the program that are computed on the way are further results of the part. Dynamic programming over the
boundaries chooses the partition with the most operators in searched parts and, among these, the fewest parts. Every
operator is in exactly one part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from math import ceil

from prism_explore.errors import ShapeError
from prism_explore.ir.dims import Dim, DimLike, dim
from prism_explore.ir.graph import SGraph, needed_by
from prism_explore.ir.ops import Band, Input, Node, Op, Slice
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.tensors import TensorType
from prism_explore.ir.text import show

LONGEST = 48
"""The most operators of a part, views included."""


@dataclass(frozen=True, slots=True)
class Part:
    """Consecutive operators of a program, as a program of its own."""

    program: TensorProgram
    """Its inputs have the names of the program's inputs; results of other parts are named t and their position."""
    positions: tuple[int, ...]
    """Positions of its operators in the program."""
    result: int
    """Position of its result in the program."""
    operands: tuple[int, ...]
    """Positions of its inputs in the program, in order of their first use."""
    searched: bool
    """Whether the part is searched; otherwise it is a predefined operator."""
    further: tuple[int, ...] = ()
    """Positions of its other results, which are results of the program and intermediate values of the part."""


def partition(program: TensorProgram, fits: Callable[[TensorProgram], bool]) -> tuple[Part, ...]:
    """The parts of a program in order, for the best partition; see `Partitioner`."""
    return Partitioner(program, fits).best(1)[0]


class Partitioner:
    """Finds the best partitions of a program: most operators in searched parts, then fewest parts, then fewest bytes.

    Each result of the program is the result of a part. Equal runs of operators, such as those of the steps of a loop,
    are asked about once.

    Args:
        program: the full program.
        fits: whether a part is small enough for one search; of a single operator, only where it is one of several
            results. Equal parts, names aside, have equal answers.
    """

    def __init__(self, program: TensorProgram, fits: Callable[[TensorProgram], bool]) -> None:
        self._program, self._fits = program, fits
        self._nodes = program.graph.nodes
        self._types = program.graph.types()
        self._outputs = set(program.graph.outputs)
        self._names = _names(program)
        self._operators = [n for n, node in enumerate(self._nodes) if not isinstance(node.op, Input | Band)]
        self._index = {n: k for k, n in enumerate(self._operators)}
        ones = dict.fromkeys(program.graph.data_symbols, 1)
        self._bytes = [ceil(t.bytes.rational(ones)) for t in self._types]
        self._last_reader = [-1] * len(self._nodes)
        """Per node the number of the last operator that reads it; behind all operators for a result of the program."""
        for k, n in enumerate(self._operators):
            for source in self._nodes[n].args:
                self._last_reader[source] = k
        for n in self._outputs:
            self._last_reader[n] = len(self._operators)
        self._runs = self._numbered_runs()
        self._answers: dict[tuple[int, tuple[int, ...]], bool] = {}
        """Per run and the places of its results, whether it is a part that is searched."""
        self._excluded: set[tuple[int, int]] = set()

    def best(self, most: int) -> tuple[tuple[Part, ...], ...]:
        """The best partitions.

        Args:
            most: how many to look for; those whose parts pass the fewest bytes (symbols set to 1) come first.
        """
        # best[j]: the best partitions of the first j operators.
        best: list[list[_Prefix]] = [[_Prefix((0, 0, 0), 0, False, 0)]]
        for end in range(1, len(self._operators) + 1):
            prefixes: list[_Prefix] = []
            for start in range(max(0, end - LONGEST), end):
                results = self._results(start, end)
                if not _is_one_part(results, self._nodes, self._outputs):
                    continue
                searched = self._is_searched(start, end, results)
                if not searched and end - start > 1:
                    continue
                result_bytes = sum(self._bytes[n] for n in results)
                for rank, prefix in enumerate(best[start]):
                    outside, parts, total = prefix.cost
                    cost = outside + (not searched), parts + 1, total + result_bytes
                    prefixes.append(_Prefix(cost, start, searched, rank))
            best.append(sorted(prefixes, key=lambda prefix: prefix.cost)[:most])
        optimum = best[-1][0].cost[:2]
        return tuple(self._parts(best, rank) for rank, prefix in enumerate(best[-1]) if prefix.cost[:2] == optimum)

    def exclude(self, part: Part, *, here_only: bool = False) -> None:
        """Search no part that is equal to this one, names aside.

        Args:
            part: a part of a partition that was found.
            here_only: exclude this part, and no equal ones elsewhere in the program.
        """
        start = self._index[part.positions[0]]
        end = start + len(part.positions)
        if here_only:
            self._excluded.add((start, end))
        else:
            self._answers[self._key(start, end, self._results(start, end))] = False

    def _results(self, start: int, end: int) -> list[int]:
        """The positions of a run's operators that operators behind it or callers of the program read."""
        return [n for n in self._operators[start:end] if self._last_reader[n] >= end]

    def _is_searched(self, start: int, end: int, results: Sequence[int]) -> bool:
        # One operator is a kernel of its own where it is one of several results: nothing else may be searched.
        alone = end - start == 1 and not (len(self._outputs) > 1 and results[0] in self._outputs)
        if alone or (start, end) in self._excluded:
            return False
        key = self._key(start, end, results)
        if key not in self._answers:
            self._answers[key] = self._fits(self._part(start, end, results, searched=True).program)
        return self._answers[key]

    def _key(self, start: int, end: int, results: Sequence[int]) -> tuple[int, tuple[int, ...]]:
        return self._runs[start][end - start - 1], tuple(self._index[n] - start for n in results)

    def _numbered_runs(self) -> list[list[int]]:
        """Per first operator, a number for each length of a run; equal runs have equal numbers.

        Names do not count, nor which positions a slice of what the run reads has, as each step of a loop has others.
        """
        numbers: dict[object, int] = {}
        """By the number of the run without its last operator, and that operator."""
        outer: dict[object, int] = {}
        """Numbers of what a run may read: types, and bands."""
        ops: dict[Op, int] = {}
        op_of = [ops.setdefault(node.op, len(ops)) for node in self._nodes]
        given = [
            outer.setdefault((node.op if isinstance(node.op, Band) else None, t), len(outer))
            for node, t in zip(self._nodes, self._types, strict=True)
        ]
        found: list[list[int]] = []
        for start in range(len(self._operators)):
            run, lengths = -1, list[int]()
            outside: dict[int, int] = {}
            starts: dict[object, int] = {}
            for n in self._operators[start : start + LONGEST]:
                match self._nodes[n]:
                    case Node(Slice() as view, (source,)) if self._index.get(source, -1) < start and _is_fixed(view):
                        place = source, view.dim, view.stop - view.start, view.start
                        op: object = (*place[1:3], starts.setdefault(place, len(starts)))
                    case _:
                        op = op_of[n]
                args = tuple(
                    inner - start
                    if (inner := self._index.get(a, -1)) >= start
                    else (outside.setdefault(a, len(outside)), given[a])
                    for a in self._nodes[n].args
                )
                run = numbers.setdefault((run, op, args), len(numbers))
                lengths.append(run)
            found.append(lengths)
        return found

    def _parts(self, best: Sequence[Sequence[_Prefix]], rank: int) -> tuple[Part, ...]:
        found: list[Part] = []
        end = len(best) - 1
        while end:
            last = best[end][rank]
            results = self._results(last.start, end)
            found.append(self._part(last.start, end, results, searched=last.searched))
            end, rank = last.start, last.before
        return tuple(reversed(found))

    def _part(self, start: int, end: int, results: Sequence[int], *, searched: bool) -> Part:
        positions = self._operators[start:end]
        return _part(self._program, self._types, positions, results, self._names, searched=searched)


def _is_one_part(results: Sequence[int], nodes: Sequence[Node], outputs: AbstractSet[int]) -> bool:
    """Whether one kernel may compute operators that others read at these places.

    That is one place, and results of the program that are computed on the way to it.
    """
    if len(results) < 2:
        return len(results) == 1
    *further, last = results
    return set(further) <= outputs and set(further) <= needed_by(nodes, (last,))


@dataclass(frozen=True, slots=True)
class _Prefix:
    """A partition of the first operators of a program."""

    cost: tuple[int, int, int]
    """The operators outside of searched parts, the parts, and the bytes that these write."""
    start: int
    """The number of the first operator of its last part."""
    searched: bool
    """Whether the last part is searched."""
    before: int
    """The index of the partition of the operators before the last part."""


def assemble(program: TensorProgram, parts: Sequence[Part], graphs: Mapping[int, SGraph]) -> SGraph:
    """The kernel graph of a program, with a graph in place of each of some parts.

    The other parts stay predefined operators. The result is equal to the program if each graph is equal to its part.
    The names of grid sizes and loop ranges get the number of their part as a suffix.

    Args:
        program: the full program.
        parts: of the program, from `partition`.
        graphs: by the number of the part, from 0.

    Raises:
        ShapeError: a graph has other inputs than its part.
    """
    nodes: list[Node] = []
    at: dict[int, int] = {}
    for n, node in enumerate(program.graph.nodes):
        if isinstance(node.op, Input | Band):
            at[n] = len(nodes)
            nodes.append(node)
    for number, part in enumerate(parts):
        graph = graphs.get(number)
        if graph is None:
            for n in part.positions:
                node = program.graph.nodes[n]
                at[n] = len(nodes)
                nodes.append(Node(node.op, tuple(at[a] for a in node.args)))
            continue
        renamed: dict[str, DimLike] = {s: f"{s}_{number + 1}" for s in graph.parameters}
        names = {op.name: operand for op, operand in zip(part.program.inputs, part.operands, strict=True)}
        inner: dict[int, int] = {}
        for n, node in enumerate(graph.substitute(renamed).nodes):
            if isinstance(node.op, Input):
                if node.op.name not in names:
                    raise ShapeError(f"part {number + 1} of {program.name} has no input {node.op.name!r}")
                inner[n] = at[names[node.op.name]]
            else:
                inner[n] = len(nodes)
                nodes.append(Node(node.op, tuple(inner[a] for a in node.args)))
        for result, found in zip((part.result, *part.further), graph.outputs, strict=True):
            at[result] = inner[found]
    return _without_unused_bands(program.graph.moved(tuple(nodes), at))


def _without_unused_bands(graph: SGraph) -> SGraph:
    """The graph without bands that no node reads, because kernels of parts have their own."""
    read = {*graph.outputs, *(a for n in graph.nodes for a in n.args)}
    kept = [p for p, n in enumerate(graph.nodes) if p in read or not isinstance(n.op, Band)]
    at = {p: k for k, p in enumerate(kept)}
    nodes = tuple(Node(graph.nodes[p].op, tuple(at[a] for a in graph.nodes[p].args)) for p in kept)
    return graph.moved(nodes, at)


def canonical_text(part: TensorProgram) -> str:
    """The text of a part with its inputs renamed in order; parts with the same text are searched once."""
    numbered = iter(range(len(part.graph.nodes)))
    nodes = tuple(
        Node(Input(f"i{next(numbered)}", n.op.type)) if isinstance(n.op, Input) else n for n in part.graph.nodes
    )
    return show(replace(part.graph, nodes=nodes))


def _is_fixed(view: Slice) -> bool:
    return view.start.constant is not None and view.stop.constant is not None


@dataclass(frozen=True, slots=True)
class Form:
    """A part without the names of its inputs and the positions of their slices: steps of a loop have equal ones."""

    text: str
    slices: tuple[tuple[int, Slice], ...]
    """The different slices of inputs in order, each with the number of its input."""


def form_of(part: TensorProgram) -> Form:
    """The form of a part; slices of an input along a dim and of a length are numbered."""
    number = {p: k for k, p in enumerate(p for p, n in enumerate(part.graph.nodes) if isinstance(n.op, Input))}
    starts: dict[object, dict[Dim, int]] = {}
    slices: dict[tuple[int, Slice], None] = {}
    nodes: list[Node] = []
    for node in part.graph.nodes:
        match node:
            case Node(Slice(along, start, stop) as view, (source,)) if source in number and _is_fixed(view):
                known = starts.setdefault((source, along, stop - start), {})
                first = known.setdefault(start, len(known))
                slices[number[source], view] = None
                nodes.append(Node(Slice(along, dim(first), first + stop - start), node.args))
            case _:
                nodes.append(node)
    return Form(canonical_text(replace(part, graph=replace(part.graph, nodes=tuple(nodes)))), tuple(slices))


def move_slices(graph: SGraph, form: Form, other: Form) -> SGraph | None:
    """A kernel graph of a part, for a part of equal text; None where a kernel takes slices inside.

    Args:
        graph: of the part.
        form: of that part.
        other: of the part that it is for.
    """
    if any(isinstance(n.op, Slice) for _, block in graph.customs for n in block.nodes):
        return None
    moved = {own: view for own, (_, view) in zip(form.slices, other.slices, strict=True)}
    number = {p: k for k, p in enumerate(p for p, n in enumerate(graph.nodes) if isinstance(n.op, Input))}
    nodes = tuple(
        Node(moved[number[n.args[0]], n.op], n.args)
        if isinstance(n.op, Slice) and _is_fixed(n.op) and n.args[0] in number
        else n
        for n in graph.nodes
    )
    return replace(graph, nodes=nodes)


def rename_inputs(graph: SGraph, part: TensorProgram) -> SGraph:
    """A graph of an equal part, with the input names of this part."""
    if len(graph.inputs) != len(part.inputs):
        raise ShapeError(f"a kernel for {part.name} reads {len(graph.inputs)} of its {len(part.inputs)} inputs")
    order = {op: n for n, op in enumerate(graph.inputs)}
    nodes = tuple(Node(part.inputs[order[n.op]], n.args) if isinstance(n.op, Input) else n for n in graph.nodes)
    return replace(graph, nodes=nodes)


def _names(program: TensorProgram) -> dict[int, str]:
    """A name for every tensor, in case it becomes the input of a part."""
    input_names = {op.name for op in program.inputs}
    names: dict[int, str] = {}
    for n, node in enumerate(program.graph.nodes):
        name = node.op.name if isinstance(node.op, Input) else f"t{n}"
        while not isinstance(node.op, Input) and name in input_names:
            name += "_"
        names[n] = name
    return names


def _part(
    program: TensorProgram,
    types: Sequence[TensorType],
    positions: Sequence[int],
    results: Sequence[int],
    names: Mapping[int, str],
    *,
    searched: bool,
) -> Part:
    nodes = program.graph.nodes
    members = set(positions)
    used = dict.fromkeys(a for n in positions for a in nodes[n].args if a not in members)
    operands = tuple(a for a in used if not isinstance(nodes[a].op, Band))
    bands = tuple(a for a in used if isinstance(nodes[a].op, Band))
    part_nodes: list[Node] = []
    at: dict[int, int] = {}
    for a in operands:
        at[a] = len(part_nodes)
        source = nodes[a].op
        part_nodes.append(Node(source if isinstance(source, Input) else Input(names[a], types[a])))
    for n in (*bands, *positions):
        at[n] = len(part_nodes)
        part_nodes.append(Node(nodes[n].op, tuple(at[a] for a in nodes[n].args)))
    name = f"{program.name}_{positions[0]}_{positions[-1]}"
    lines = tuple(program.lines[n] for n in (*operands, *bands, *positions)) if program.lines else ()
    *further, result = results
    graph = SGraph(tuple(part_nodes), at[result], tuple(at[n] for n in further))
    return Part(TensorProgram(name, graph, lines), tuple(positions), result, operands, searched, tuple(further))
