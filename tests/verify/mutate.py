"""Mutants: graphs with one to three of the kinds of mutation in them, and what is true of them.

A mutant is any graph that still type-checks and has the program's inputs and result dims; most are
wrong, some are right again in another way. `judge` says which, by the interpreter alone, at the
program's own extents and at numbers of its own: nothing of the refuter is used. Where floats are at fault,
`judge_in_decimals` says it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from prism_explore.errors import ShapeError
from prism_explore.ir.dims import Dim, dim
from prism_explore.ir.graph import SGraph, block_types
from prism_explore.ir.interpreter.reference import Array, Rounding, evaluate
from prism_explore.ir.ops import BlockGraph, Custom, Input, Node
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.tensors import INTEGERS, WHOLE_NUMBERS
from prism_explore.verify.counterexample.high_precision import HighPrecisionNumber, NotReal, to_high_precision
from tests.verify.mutations import KINDS, Kind, Level
from tests.verify.pointwise import total_functions
from tests.verify.programs import sizes_of

TOLERANCE = 1e-9
SMALLEST = 1e-4
"""Results below this count as this when an error is made relative."""
JOSTLE, CLEARLY = HighPrecisionNumber(Decimal("1e-50")), 1000
"""A difference in decimals counts that is so many times what jostling each result on the way by so much makes."""
BORDERS = (-7.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 7.0)
ATTEMPTS = 12
"""Kinds that are tried before an edit is given up; most kinds find nothing to edit in most graphs."""


# ---------------------------------------------------------------- edits of a graph
def mutate(graph: SGraph, r: random.Random, kinds: Sequence[Kind] = KINDS) -> SGraph:
    """One edit of an arbitrary kind; the same graph where none was found.

    Raises:
        ShapeError: the edit made no graph.
    """
    return mutated(graph, r, kinds)[0]


def mutated(graph: SGraph, r: random.Random, kinds: Sequence[Kind] = KINDS) -> tuple[SGraph, Kind | None]:
    """One edit, and of which kind.

    Raises:
        ShapeError: the edit made no graph.
    """
    for kind in r.choices(kinds, k=ATTEMPTS):
        found = apply_kind(graph, kind, r)
        if found is not None:
            return found, kind
    return graph, None


def apply_kind(graph: SGraph, kind: Kind, r: random.Random) -> SGraph | None:
    """The graph with one edit of this kind at some level; None where there is nothing to edit.

    Raises:
        ShapeError: the edit made no graph.
    """
    levels: list[int | None] = [] if kind.where == "kernel" else [n for n, _ in graph.customs]
    if kind.where != "block":
        levels.append(None)
    r.shuffle(levels)
    types = graph.types()
    for n in levels:
        if n is None:
            t = Level(list(graph.nodes), [x.dims for x in types], output=graph.output)
            if kind.edit(t, r):
                return SGraph(tuple(t.nodes), t.output)
            continue
        op = graph.nodes[n].op
        assert isinstance(op, Custom)
        operands = tuple(types[a] for a in graph.nodes[n].args)
        inside = [x.dims for x in block_types(op.block, operands)]
        t = Level(list(op.block.nodes), inside, op.block.grid, op.block.loop, operands=operands)
        if kind.edit(t, r):
            nodes = list(graph.nodes)
            nodes[n] = replace(nodes[n], op=Custom(tidy_block(BlockGraph(t.grid, t.loop, tuple(t.nodes)))))
            return SGraph(tuple(nodes), graph.output)
    return None


def tidy_block(block: BlockGraph) -> BlockGraph:
    """Without nodes that no store needs."""
    nodes, _ = _needed(block.nodes, set(block.stores))
    return BlockGraph(block.grid, block.loop, nodes)


def tidy(graph: SGraph) -> SGraph:
    """Without nodes that the result does not need; inputs stay."""
    wanted = {graph.output, *(n for n, node in enumerate(graph.nodes) if isinstance(node.op, Input))}
    nodes, place = _needed(graph.nodes, wanted)
    return SGraph(nodes, place[graph.output])


def _needed(nodes: tuple[Node, ...], wanted: set[int]) -> tuple[tuple[Node, ...], dict[int, int]]:
    for n in range(len(nodes) - 1, -1, -1):
        if n in wanted:
            wanted.update(nodes[n].args)
    place = {n: k for k, n in enumerate(sorted(wanted))}
    return tuple(replace(nodes[n], args=tuple(place[a] for a in nodes[n].args)) for n in sorted(wanted)), place


@dataclass(frozen=True)
class Mutant:
    """A graph that type-checks, and the kinds of mutation in it."""

    graph: SGraph
    kinds: tuple[Kind, ...]

    @property
    def respelled(self) -> bool:
        """Whether it is equal by construction to what it was made from."""
        return all(k.spelling for k in self.kinds)


def mutant(base: SGraph, program: TensorProgram, r: random.Random, kinds: Sequence[Kind] = KINDS) -> Mutant | None:
    """One to three edits of a candidate; None where the result does not type-check or is the same again."""
    graph = base
    made: list[Kind] = []
    try:
        for _ in range(r.choice((1, 1, 2, 3))):
            graph, kind = mutated(graph, r, kinds)
            made += [kind] if kind else []
        graph = tidy(graph)
        if graph == base or graph.output_type.dims != program.graph.output_type.dims:
            return None
        graph.conditions()
    except ShapeError:
        return None
    return Mutant(graph, tuple(made))


def mutants(base: SGraph, program: TensorProgram, r: random.Random) -> SGraph | None:
    """Like `mutant`, the graph alone."""
    found = mutant(base, program, r)
    return found.graph if found else None


# ---------------------------------------------------------------- small extents, and the numeric truth
SMALLER: dict[int, int] = {4096: 24, 1024: 24, 512: 12, 256: 12, 64: 12, 16: 6}


def smaller(graph: SGraph) -> SGraph:
    """The same graph with small extents; equal ones stay equal."""

    def shrink(d: Dim) -> Dim:
        return dim(SMALLER.get(d.constant or 0, d.constant or 0)) if d.constant not in (None, 1) else d

    nodes = [
        Node(Input(n.op.name, replace(n.op.type, dims=tuple(map(shrink, n.op.type.dims)))))
        if isinstance(n.op, Input)
        else n
        for n in graph.nodes
    ]
    return SGraph(tuple(nodes), graph.output)


@dataclass(frozen=True)
class Agreement:
    """The largest relative difference over some instances, or why there is none."""

    worst: float
    instances: int
    shaky: bool = False
    """Whether rounding alone moves a side by more than that."""
    lost: bool = False
    """Whether the interpreter's own divisions and exponentials give the graph no number where the program has one."""
    missing: bool = False
    """Whether it has none there even where x/0 = 0."""

    @property
    def equal(self) -> bool:
        """Whether both sides were the same numbers everywhere."""
        return bool(self.instances) and self.worst < TOLERANCE and not self.missing


def judge(program: TensorProgram, graph: SGraph, instances: int = 2) -> Agreement:
    """Both sides on random inputs at several choices of numbers, where the program is finite.

    In real arithmetic with x/0 = 0, which is what the verifier speaks of.
    """
    worst, ran, shaky, lost, missing = 0.0, 0, False, False, False
    for sizes, inputs, rng in _instances(program, graph, instances):
        with np.errstate(all="ignore"):
            lost |= bool((np.isfinite(evaluate(program, inputs)) & ~np.isfinite(evaluate(graph, inputs, sizes))).any())
        with np.errstate(all="ignore"), total_functions():
            expected = evaluate(program, inputs)
            found = evaluate(graph, inputs, sizes)
            finite = np.isfinite(expected)
            if not finite.any():
                continue
            scale = max(float(np.abs(expected[finite]).max()), SMALLEST)
            error = np.abs(expected - found)[finite] / scale
            missing |= bool((~np.isfinite(found[finite])).any())
            largest = float(error[np.isfinite(found[finite])].max(initial=0.0))
            if 1e-9 < largest:
                moved = {
                    k: x if x.dtype.kind == "i" else x * (1 + 1e-12 * rng.uniform(-1, 1, x.shape))
                    for k, x in inputs.items()
                }
                again = np.abs(found - evaluate(graph, moved, sizes))[finite] / scale
                shaky |= float(np.nan_to_num(again, nan=0.0, posinf=np.inf).max()) > 1e-9
        worst = max(worst, largest)
        ran += 1
    return Agreement(worst, ran, shaky, lost, missing)


def judge_in_decimals(program: TensorProgram, graph: SGraph, instances: int = 2) -> float | None:
    """By how much both sides differ, at most and relative to the largest result, where nothing overflows.

    The judge's own inputs, block by block, in sixty digits and with exponents without bounds, x/0 being 0: a thousand
    times slower. None where they cannot tell: what is no real number is met, or rounding may be all of the difference.
    """
    worst = 0.0
    for sizes, inputs, rng in _instances(program, graph, instances):
        wide = {name: x if x.dtype.kind == "i" else to_high_precision(x) for name, x in inputs.items()}

        def jostled(value: Array, rng: np.random.Generator = rng) -> Array:
            return to_high_precision(value) * (
                to_high_precision(rng.choice((-1.0, 1.0), value.shape)) * JOSTLE + HighPrecisionNumber(Decimal(1))
            )

        def both(
            rounded: Rounding, wide: dict[str, Array] = wide, sizes: dict[str, int] = sizes
        ) -> tuple[Array, Array]:
            return evaluate(program, wide, rounded=rounded), evaluate(graph, wide, sizes, rounded)

        try:
            expected, found = both(to_high_precision)
            scale = max(HighPrecisionNumber(Decimal(SMALLEST)), _largest(expected))
            apart = _largest(expected - found)
            if apart > scale * TOLERANCE:
                sway = max(map(_largest, (a - b for a, b in zip((expected, found), both(jostled), strict=True))))
                return float(apart / scale) if apart > sway * CLEARLY else None
        except NotReal:
            return None
        worst = max(worst, float(apart / scale))
    return worst


def _largest(values: Array) -> HighPrecisionNumber:
    return max(HighPrecisionNumber(Decimal(0)), *map(abs, values.flat))


def _instances(
    program: TensorProgram, graph: SGraph, wanted: int
) -> Iterator[tuple[dict[str, int], dict[str, Array], np.random.Generator]]:
    """Choices of numbers with inputs, and what drew them."""
    for n, sizes in enumerate(sizes_of(graph, wanted)):
        rng = np.random.default_rng(n)
        data = {s: sizes[s] for s in program.graph.data_symbols}
        shapes = {i.name: [d.value(data) for d in i.type.dims] for i in program.graph.inputs}
        inputs = {name: _drawn(shape, rng, at_borders=n % 2 == 1) for name, shape in shapes.items()}
        for name, dtype in program.graph.whole_inputs.items():
            low, high = WHOLE_NUMBERS[dtype]
            inputs[name] = rng.integers(max(low, -2), min(high, 2), shapes[name], endpoint=True).astype(np.float64)
        for given in (i for i in program.graph.inputs if i.type.dtype in INTEGERS):
            limits = [d.value(sizes) for g in (program.graph, graph) for d in g.index_limits.get(given.name, ())]
            inputs[given.name] = rng.integers(0, min(limits, default=1), shapes[given.name])
        yield sizes, inputs, rng


def _drawn(shape: Sequence[int], rng: np.random.Generator, at_borders: bool) -> Array:
    """Small numbers; with half of them 0, equal, or beyond the bounds of clamps, where functions by cases differ."""
    small = rng.uniform(-1.0, 1.0, shape)
    return np.where(rng.random(shape) < 0.5, rng.choice(BORDERS, shape), small) if at_borders else small
