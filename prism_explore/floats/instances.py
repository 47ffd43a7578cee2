"""At which sizes a candidate is run: small ones, and once more with one long reduction.

The program's numbers are extents of axes, as for the refuter: each axis gets an extent of its own, so that
nothing has to be run at its published size. Where that cannot be, because a view or a constant is tied to
the numbers as they stand, the axes keep their extents if they are small enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import lcm, prod

from prism_explore.errors import ShapeError
from prism_explore.ir.axes import AxisTable, axes_of
from prism_explore.ir.dims import ONE, Dim, dim
from prism_explore.ir.ops import Input, MatMul, Node, Reduce
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.sgraph import SGraph

LONG = 1024
"""Elements of the long reduction."""
LONGEST = 8192
"""Elements of an axis that a constant is tied to, at most."""
MOST_ELEMENTS = 1 << 18
"""Elements of all inputs together, at most."""


@dataclass(frozen=True, slots=True)
class Instance:
    """Both graphs, and a number for every symbol in them."""

    program: SGraph
    candidate: SGraph
    sizes: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Plan:
    """The choices of sizes for one candidate."""

    small: tuple[Instance, ...]
    """The first at which the two are equal serves for all cases."""
    long: Instance | None
    """With one long reduction, for the cases in which rounding adds up."""

    @property
    def all(self) -> tuple[Instance, ...]:
        """Every instance."""
        return (*self.small, self.long) if self.long else self.small


def plan(program: TensorProgram, candidate: SGraph) -> Plan | str:
    """Sizes at which both graphs can be run, or why there are none."""
    table = axes_of(program.graph)
    given = _general(program, candidate, table)
    if isinstance(given, str):
        as_it_stands = _sized(program.graph, candidate, {}, {})
        if as_it_stands is None:
            return f"it cannot be run at other sizes ({given}), and as it stands its inputs are too large"
        return Plan((as_it_stands,), None)
    flat, general, symbols = given
    extents = {symbols[a.name]: a.extent for a in table.axes}
    reduced = [symbols[name] for name in _reduced(program.graph, table)]
    longest = max(reduced, key=lambda s: extents[s].constant or LONG, default=None)
    small = _sized(flat, general, extents, {})
    tied = {s: int(c) for s in reduced if (c := extents[s].constant) is not None and c <= LONGEST}
    wide = _sized(flat, general, extents, tied)
    if wide is not None and any(wide.sizes[s] != n for s, n in tied.items()):
        wide = None
    long = _sized(flat, general, extents, {longest: LONG}) if longest else None
    found = tuple(i for i in (small, wide) if i is not None)
    return Plan(found, long) if found else "no small sizes meet its conditions"


def _reduced(graph: SGraph, table: AxisTable) -> Iterator[str]:
    """Axes that the program sums, averages or contracts, or takes a maximum over."""
    seen: dict[str, None] = {}
    for node in graph.nodes:
        match node.op:
            case Reduce(_, along):
                axis = table.of[node.args[0]][along]
            case MatMul():
                axis = table.of[node.args[0]][-1]
            case _:
                continue
        if axis is not None:
            seen.setdefault(axis)
    yield from seen


def _general(
    program: TensorProgram, candidate: SGraph, table: AxisTable
) -> tuple[SGraph, SGraph, Mapping[str, str]] | str:
    """Both graphs over a symbol per axis, or why they do not type-check there."""
    taken = set(candidate.parameters)
    symbols: dict[str, str] = {}
    for axis in table.axes:
        symbols[axis.name] = axis.name if axis.name not in taken else f"{axis.name}_axis"
    dims = {
        node.op.name: tuple(ONE if a is None else dim(symbols[a]) for a in table.of[n])
        for n, node in enumerate(program.graph.nodes)
        if isinstance(node.op, Input)
    }
    try:
        flat, general = _with_dims(program.graph, dims), _with_dims(candidate, dims)
        wanted, found = flat.output_type.dims, general.output_type.dims
        general.conditions()
    except ShapeError as error:
        return str(error)
    if wanted != found:
        return "the results' dims differ at other extents"
    return flat, general, symbols


def _with_dims(graph: SGraph, dims: Mapping[str, tuple[Dim, ...]]) -> SGraph:
    nodes = tuple(
        Node(Input(n.op.name, replace(n.op.type, dims=dims[n.op.name]))) if isinstance(n.op, Input) else n
        for n in graph.nodes
    )
    return SGraph(nodes, graph.output)


def _sized(
    program: SGraph, candidate: SGraph, extents: Mapping[str, Dim], wanted: Mapping[str, int]
) -> Instance | None:
    """Numbers for all symbols: grid sizes and loop ranges of 2 or 3, every tile whole, axes short.

    `wanted` names axes that should be that long, or a little less where a tile would not be whole.
    """
    conditions = candidate.conditions()
    for other in (3, 2):
        numbers = {s: other if k % 2 and extents and not wanted else 2 for k, s in enumerate(candidate.parameters)}
        for axis in extents or dict.fromkeys(program.data_symbols):
            step = 1
            for d in conditions:
                for powers, coefficient in d.terms:
                    if dict(powers).get(axis, 0) > 0:
                        below = prod(numbers[s] ** -e for s, e in powers if e < 0 and s in numbers)
                        step = lcm(step, below * coefficient.denominator)
            numbers[axis] = step * max(wanted.get(axis, 0) // step, 2)
        try:
            for d in conditions:
                d.value(numbers)
        except ShapeError:
            continue
        if sum(i.type.elements.value(numbers) for i in candidate.inputs) > MOST_ELEMENTS:
            return None
        return Instance(program, candidate, numbers)
    return None
