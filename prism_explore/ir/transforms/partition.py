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
from prism_explore.ir.dims import DimLike
from prism_explore.ir.graph import SGraph, needed_by
from prism_explore.ir.ops import Band, Input, Node
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
    """The parts of a program in order, for the first partition; see `partitions`."""
    return partitions(program, fits, 1)[0]


def partitions(
    program: TensorProgram, fits: Callable[[TensorProgram], bool], most: int
) -> tuple[tuple[Part, ...], ...]:
    """The best partitions of a program: most operators in searched parts, then fewest parts, then fewest bytes.

    Each result of the program is the result of a part.

    Args:
        program: the full program.
        fits: whether a part is small enough for one search; called for parts with two operators or more.
        most: how many partitions to look for; those whose parts pass the fewest bytes (symbols set to 1) come first.
    """
    nodes = program.graph.nodes
    types = program.graph.types()
    outputs = set(program.graph.outputs)
    operators = [n for n, node in enumerate(nodes) if not isinstance(node.op, Input | Band)]
    readers: list[set[int]] = [set() for _ in nodes]
    for n, node in enumerate(nodes):
        for a in node.args:
            readers[a].add(n)
    names = _names(program)
    ones = dict.fromkeys(program.graph.data_symbols, 1)
    # best[j]: the best partitions of the first j operators.
    best: list[list[_Prefix]] = [[_Prefix((0, 0, 0), None, 0)]]
    for end in range(1, len(operators) + 1):
        prefixes: list[_Prefix] = []
        for start in range(max(0, end - LONGEST), end):
            positions = operators[start:end]
            members = set(positions)
            results = [n for n in positions if n in outputs or readers[n] - members]
            if not _is_one_part(results, nodes, outputs):
                continue
            part = _part(program, types, positions, results, names, searched=True)
            if len(positions) == 1:
                # One operator is a kernel of its own where it is one of several results: nothing else may be searched.
                is_result = len(outputs) > 1 and results[0] in outputs
                part = replace(part, searched=is_result and fits(part.program))
            elif not fits(part.program):
                continue
            result_bytes = sum(ceil(types[n].bytes.rational(ones)) for n in results)
            for rank, prefix in enumerate(best[start]):
                outside, parts, total = prefix.cost
                prefixes.append(_Prefix((outside + (not part.searched), parts + 1, total + result_bytes), part, rank))
        best.append(sorted(prefixes, key=lambda prefix: prefix.cost)[:most])
    optimum = best[-1][0].cost[:2]
    return tuple(_parts_of_best(best, rank) for rank, prefix in enumerate(best[-1]) if prefix.cost[:2] == optimum)


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
    last: Part | None
    before: int
    """The index of the partition of the operators before the last part."""


def _parts_of_best(best: Sequence[Sequence[_Prefix]], rank: int) -> tuple[Part, ...]:
    found: list[Part] = []
    left = len(best) - 1
    while (prefix := best[left][rank]).last is not None:
        found.append(prefix.last)
        left, rank = left - len(prefix.last.positions), prefix.before
    return tuple(reversed(found))


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
