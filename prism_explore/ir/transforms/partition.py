"""Partition of a program that is too large for one search into parts, and assembly of the parts' kernel graphs.

A part is a run of consecutive operators of which the rest reads one result, so a kernel can replace it. Dynamic
programming over the cut points chooses parts so that as many operators as possible lie in parts worth a search, in as
few parts as possible. Every operator is in exactly one part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from prism_explore.errors import ShapeError
from prism_explore.ir.dims import DimLike
from prism_explore.ir.graph import SGraph
from prism_explore.ir.ops import Band, Input, Node
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.tensors import TensorType
from prism_explore.ir.text import show

LONGEST = 48
"""Operators that one part may have at most, views included."""


@dataclass(frozen=True, slots=True)
class Part:
    """Consecutive operators of a program, as a program of its own."""

    program: TensorProgram
    """Its inputs are inputs of the whole by their names, and results of other parts as t and their position."""
    positions: tuple[int, ...]
    """Its operators in the whole; the last of them that is used outside is its result."""
    result: int
    """Position in the whole."""
    operands: tuple[int, ...]
    """Positions in the whole of its inputs, in the order in which they are used first."""
    searched: bool
    """Whether it is worth a search; otherwise it is a predefined operator."""


def partition(program: TensorProgram, fits: Callable[[TensorProgram], bool]) -> tuple[Part, ...]:
    """The parts of a program in order, for the first partition; see `partitions`."""
    return partitions(program, fits, 1)[0]


def partitions(
    program: TensorProgram, fits: Callable[[TensorProgram], bool], most: int
) -> tuple[tuple[Part, ...], ...]:
    """The best partitions of a program: most operators in searched parts, then fewest parts, then fewest bytes.

    Args:
        program: the full program.
        fits: whether a part is small enough for one search; called for parts with two operators or more.
        most: how many partitions to look for; those whose parts pass the fewest bytes (symbols set to 1) come first.
    """
    nodes = program.graph.nodes
    types = program.graph.types()
    todo = [n for n, node in enumerate(nodes) if not isinstance(node.op, Input | Band)]
    users: list[set[int]] = [set() for _ in nodes]
    for n, node in enumerate(nodes):
        for a in node.args:
            users[a].add(n)
    taken = _names(program)
    ones = dict.fromkeys(program.graph.data_symbols, 1)
    # best[j]: the cheapest ways to cut the first j operators, each the last part and which way comes before it.
    best: list[list[_Prefix]] = [[_Prefix((0, 0, 0), None, 0)]]
    for end in range(1, len(todo) + 1):
        ways: list[_Prefix] = []
        for start in range(max(0, end - LONGEST), end):
            run = todo[start:end]
            inside = set(run)
            seen = [n for n in run if n == program.graph.output or users[n] - inside]
            if len(seen) != 1:
                continue
            made = _part(program, types, run, seen[0], taken, searched=len(run) > 1)
            if len(run) > 1 and not fits(made.program):
                continue
            alone, passed = len(run) == 1, ceil(types[seen[0]].bytes.rational(ones))
            for rank, way in enumerate(best[start]):
                outside, parts, total = way.cost
                ways.append(_Prefix((outside + alone, parts + 1, total + passed), made, rank))
        best.append(sorted(ways, key=lambda way: way.cost)[:most])
    (least, count, _) = best[-1][0].cost
    return tuple(_parts_of_best(best, rank) for rank, way in enumerate(best[-1]) if way.cost[:2] == (least, count))


@dataclass(frozen=True, slots=True)
class _Prefix:
    """A partition of the first operators of a program."""

    cost: tuple[int, int, int]
    """Operators outside searched parts, parts, and bytes that they write."""
    last: Part | None
    before: int
    """The index of the partition of the operators before the last part."""


def _parts_of_best(best: Sequence[Sequence[_Prefix]], rank: int) -> tuple[Part, ...]:
    found: list[Part] = []
    left = len(best) - 1
    while (way := best[left][rank]).last is not None:
        found.append(way.last)
        left, rank = left - len(way.last.positions), way.before
    return tuple(reversed(found))


def assemble(program: TensorProgram, parts: Sequence[Part], graphs: Mapping[int, SGraph]) -> SGraph:
    """The kernel graph of a program, with a graph in place of each of some parts.

    The other parts stay predefined operators. The result equals the program if each graph equals its part. The names of
    grid sizes and loop ranges get the number of their part as a suffix.

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
        own: dict[str, DimLike] = {s: f"{s}_{number + 1}" for s in graph.parameters}
        names = {op.name: given for op, given in zip(part.program.inputs, part.operands, strict=True)}
        inner: dict[int, int] = {}
        for n, node in enumerate(graph.substitute(own).nodes):
            if isinstance(node.op, Input):
                if node.op.name not in names:
                    raise ShapeError(f"part {number + 1} of {program.name} has no input {node.op.name!r}")
                inner[n] = at[names[node.op.name]]
            else:
                inner[n] = len(nodes)
                nodes.append(Node(node.op, tuple(inner[a] for a in node.args)))
        at[part.result] = inner[graph.output]
    return _without_unused_bands(SGraph(tuple(nodes), at[program.graph.output]))


def _without_unused_bands(graph: SGraph) -> SGraph:
    """The graph without bands that no node reads: kernels bring their own."""
    read = {graph.output, *(a for n in graph.nodes for a in n.args)}
    kept = [p for p, n in enumerate(graph.nodes) if p in read or not isinstance(n.op, Band)]
    at = {p: k for k, p in enumerate(kept)}
    nodes = tuple(Node(graph.nodes[p].op, tuple(at[a] for a in graph.nodes[p].args)) for p in kept)
    return SGraph(nodes, at[graph.output])


def canonical_text(part: TensorProgram) -> str:
    """The text of a part with its inputs renamed in order: parts with the same text are searched once."""
    numbered = iter(range(len(part.graph.nodes)))
    nodes = tuple(
        Node(Input(f"i{next(numbered)}", n.op.type)) if isinstance(n.op, Input) else n for n in part.graph.nodes
    )
    return show(SGraph(nodes, part.graph.output))


def rename_inputs(graph: SGraph, part: TensorProgram) -> SGraph:
    """A graph of an equal part, with the input names of this part."""
    if len(graph.inputs) != len(part.inputs):
        raise ShapeError(f"a kernel for {part.name} reads {len(graph.inputs)} of its {len(part.inputs)} inputs")
    order = {op: n for n, op in enumerate(graph.inputs)}
    nodes = tuple(Node(part.inputs[order[n.op]], n.args) if isinstance(n.op, Input) else n for n in graph.nodes)
    return SGraph(nodes, graph.output)


def _names(program: TensorProgram) -> dict[int, str]:
    """A name for every tensor, in case it becomes the input of a part."""
    given = {op.name for op in program.inputs}
    names: dict[int, str] = {}
    for n, node in enumerate(program.graph.nodes):
        name = node.op.name if isinstance(node.op, Input) else f"t{n}"
        while not isinstance(node.op, Input) and name in given:
            name += "_"
        names[n] = name
    return names


def _part(
    program: TensorProgram,
    types: Sequence[TensorType],
    run: Sequence[int],
    result: int,
    names: Mapping[int, str],
    *,
    searched: bool,
) -> Part:
    nodes = program.graph.nodes
    inside = set(run)
    used = dict.fromkeys(a for n in run for a in nodes[n].args if a not in inside)
    given = tuple(a for a in used if not isinstance(nodes[a].op, Band))
    bands = tuple(a for a in used if isinstance(nodes[a].op, Band))
    made: list[Node] = []
    at: dict[int, int] = {}
    for a in given:
        at[a] = len(made)
        source = nodes[a].op
        made.append(Node(source if isinstance(source, Input) else Input(names[a], types[a])))
    for n in (*bands, *run):
        at[n] = len(made)
        made.append(Node(nodes[n].op, tuple(at[a] for a in nodes[n].args)))
    name = f"{program.name}_{run[0]}_{run[-1]}"
    lines = tuple(program.lines[n] for n in (*given, *bands, *run)) if program.lines else ()
    part = TensorProgram(name, SGraph(tuple(made), at[result]), lines)
    return Part(part, tuple(run), result, given, searched)
