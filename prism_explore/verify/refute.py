"""The refuter: program and candidate are run on random numbers at small sizes.

It shares nothing with the prover. Both graphs go through the block-by-block interpreter in float64,
at two assignments of sizes: every axis of the program gets its own small extent, every grid size and
loop range is at least 2, and no two numbers are the same, so that a map to the wrong dim of equal
extent, a factor that is 1 by accident, or a forgotten block shows.

The program's numbers are extents of axes: 4096 in a shape becomes another extent, the same wherever
that axis occurs, while constants in formulas stay. A candidate that type-checks only because two axes
happen to be equally long is not a member of the family of shapes; it is run with those axes equal,
and that is reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count, islice, product
from math import inf, lcm, prod
from typing import TypeAlias

import numpy as np

from prism_explore.errors import ShapeError
from prism_explore.ir.axes import axes_of
from prism_explore.ir.dims import ONE, Dim, dim
from prism_explore.ir.evaluate import Array, evaluate
from prism_explore.ir.ops import Input, Node
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.sgraph import SGraph
from prism_explore.ir.stages import Trial, Witness

TOLERANCE = 1e-9
"""Relative: equal programs differ by about 1e-15 in float64, wrong ones by far more."""
SMALLEST_SCALE = 1e-4
"""Results below this count as this when an error is made relative."""
LARGEST_AS_GIVEN = 1 << 25
BETWEEN = (-0.65, 0.75)
BETWEEN_POSITIVE = (0.05, 0.75)
"""Used where the program has no finite value on inputs of both signs, as under a root."""


@dataclass(frozen=True, slots=True)
class Survived:
    """The two sides agreed in every trial; that is no proof."""

    trials: tuple[Trial, ...]
    coinciding: tuple[str, ...] = ()
    """Axes that had to be equally long for the candidate to type-check."""


@dataclass(frozen=True, slots=True)
class Untried:
    """No trial could be made, and why."""

    reason: str


Attempt: TypeAlias = Witness | Survived | Untried


@dataclass(frozen=True, slots=True)
class _Pair:
    """Program and candidate over symbols for axes."""

    program: SGraph
    candidate: SGraph
    axes: tuple[str, ...]
    parameters: tuple[str, ...]


class Refuter:
    """Looks for numbers on which candidates of one program are wrong."""

    def __init__(self, program: TensorProgram) -> None:
        self.program = program
        table = axes_of(program.graph)
        self._axes: dict[str, tuple[str | None, ...]] = {
            node.op.name: table.of[n] for n, node in enumerate(program.graph.nodes) if isinstance(node.op, Input)
        }
        self._extents = {a.name: a.extent for a in table.axes}

    def attempt(self, candidate: SGraph, seed: int, instances: int = 2) -> Attempt:
        """Run both sides at `instances` assignments of sizes; the first difference ends it."""
        coinciding: tuple[str, ...] = ()
        pair = self._apart(candidate)
        if isinstance(pair, str):
            apart, pair = pair, self._together(candidate)
            if isinstance(pair, str):
                return Untried(f"it does not type-check at other extents ({apart}; {pair})")
            coinciding = self._shared
        trials: list[Trial] = []
        for n in range(instances):
            sizes = _sizes(pair, n)
            if sizes is None:
                return Untried("no small sizes meet its conditions")
            outcome = _trial(pair, sizes, seed + n)
            match outcome:
                case Trial():
                    trials.append(outcome)
                case _:
                    return outcome
        return Survived(tuple(trials), coinciding)

    def attempt_as_given(self, candidate: SGraph, seed: int) -> Attempt:
        """One trial at the very extents of the program, for constants that are tied to them.

        A factor 1/4096 is a mean over 4096 elements and over no other number; at other extents the two
        differ, which refutes nothing that was claimed. Dear, so asked for only after a proof.
        """
        pair = _Pair(self.program.graph, candidate, self.program.graph.data_symbols, candidate.parameters)
        sizes = _sizes_as_given(pair)
        if sizes is None:
            return Untried("no numbers for its symbols meet its conditions at the given extents")
        if sum(i.type.elements.value(sizes) for i in candidate.inputs) > LARGEST_AS_GIVEN:
            return Untried(f"the given extents have more than {LARGEST_AS_GIVEN} elements")
        outcome = _trial(pair, sizes, seed)
        return Survived((outcome,)) if isinstance(outcome, Trial) else outcome

    def replay(self, witness: Witness, candidate: SGraph) -> Attempt:
        """Run a witness again."""
        sizes = dict(witness.sizes)
        for pair in (self._apart(candidate), self._together(candidate)):
            if not isinstance(pair, str) and {*pair.axes, *pair.parameters} == set(sizes):
                outcome = _compare(pair, sizes, witness.seed, witness.between)
                return Survived((outcome,)) if isinstance(outcome, Trial) else outcome
        return Untried("the witness names other symbols than this candidate")

    @property
    def _shared(self) -> tuple[str, ...]:
        lengths = list(self._extents.values())
        return tuple(name for name, extent in self._extents.items() if lengths.count(extent) > 1)

    def _apart(self, candidate: SGraph) -> _Pair | str:
        return self._pair(candidate, {name: name for name in self._extents})

    def _together(self, candidate: SGraph) -> _Pair | str:
        first: dict[Dim, str] = {}
        for name, extent in self._extents.items():
            first.setdefault(extent, name)
        return self._pair(candidate, {name: first[extent] for name, extent in self._extents.items()})

    def _pair(self, candidate: SGraph, names: Mapping[str, str]) -> _Pair | str:
        """Both graphs over axis symbols, or why they do not type-check there."""
        taken = set(candidate.parameters)
        symbols = {name: next(s for s in _spellings(name) if s not in taken) for name in set(names.values())}
        dims = {
            given: tuple(ONE if a is None else dim(symbols[names[a]]) for a in axes)
            for given, axes in self._axes.items()
        }
        try:
            program, general = _with_dims(self.program.graph, dims), _with_dims(candidate, dims)
            wanted, found = program.output_type.dims, general.output_type.dims
        except ShapeError as error:
            return str(error)
        if wanted != found:
            return f"the result has dims {_list(found)}, not {_list(wanted)}"
        axes = tuple(dict.fromkeys(symbols[names[a]] for a in self._extents))
        return _Pair(program, general, axes, general.parameters)


def _spellings(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}_{n}" for n in count(1))


def _list(dims: tuple[Dim, ...]) -> str:
    return f"({', '.join(map(str, dims))})"


def _with_dims(graph: SGraph, dims: Mapping[str, tuple[Dim, ...]]) -> SGraph:
    nodes = tuple(
        Node(Input(n.op.name, replace(n.op.type, dims=dims[n.op.name]))) if isinstance(n.op, Input) else n
        for n in graph.nodes
    )
    return SGraph(nodes, graph.output)


def _sizes(pair: _Pair, n: int) -> dict[str, int] | None:
    """The n-th choice of numbers: small, at least 2, pairwise different, every tile whole."""
    many = max(len(pair.parameters), 2)
    numbers = {s: 2 + (k + n) % many for k, s in enumerate(pair.parameters)}
    conditions = pair.candidate.conditions()
    used = set(numbers.values())
    for axis in pair.axes:
        step = 1
        for d in conditions:
            for powers, coefficient in d.terms:
                if dict(powers).get(axis, 0) > 0:
                    below = prod(numbers[s] ** -e for s, e in powers if e < 0 and s in numbers)
                    step = lcm(step, below * coefficient.denominator)
        multiple = 2 + n
        while step * multiple in used:
            multiple += 1
        numbers[axis] = step * multiple
        used.add(numbers[axis])
    try:
        for d in conditions:
            d.value(numbers)
    except ShapeError:
        return None
    return numbers


def _sizes_as_given(pair: _Pair) -> dict[str, int] | None:
    """Small numbers for the symbols that remain, pairwise different where that can be."""
    symbols = (*pair.parameters, *pair.axes)
    conditions = pair.candidate.conditions()
    choices = list(islice(product(range(2, 10), repeat=len(symbols)), 10_000))
    for numbers in sorted(choices, key=lambda c: len(c) - len(set(c))):
        sizes = dict(zip(symbols, numbers, strict=True))
        if all(d.rational(sizes).denominator == 1 for d in conditions):
            return sizes
    return None


def _trial(pair: _Pair, sizes: Mapping[str, int], seed: int) -> Trial | Witness | Untried:
    outcome = _compare(pair, sizes, seed, BETWEEN)
    if isinstance(outcome, Untried):
        outcome = _compare(pair, sizes, seed, BETWEEN_POSITIVE)
    return outcome


def draw_inputs(
    graph: SGraph, sizes: Mapping[str, int], seed: int, between: tuple[float, float] = BETWEEN
) -> dict[str, Array]:
    """Random float64 inputs, the same for the same seed."""
    rng = np.random.default_rng(seed)
    return {i.name: rng.uniform(*between, [d.value(sizes) for d in i.type.dims]) for i in graph.inputs}


def _compare(
    pair: _Pair, sizes: Mapping[str, int], seed: int, between: tuple[float, float]
) -> Trial | Witness | Untried:
    inputs = draw_inputs(pair.program, sizes, seed, between)
    with np.errstate(all="ignore"):
        expected = evaluate(pair.program, inputs, sizes)
        found = evaluate(pair.candidate, inputs, sizes)
        finite = np.isfinite(expected)
        if not finite.any():
            return Untried("the program has no finite value on random inputs")
        scale = max(float(np.max(np.abs(expected[finite]))), SMALLEST_SCALE)
        error = np.where(finite, np.abs(expected - found) / scale, 0.0)
    error = np.where(np.isnan(error), inf, error)
    worst = tuple(int(i) for i in np.unravel_index(int(np.argmax(error)), error.shape))
    largest = float(error[worst])
    numbers = tuple((s, sizes[s]) for s in (*pair.axes, *pair.parameters))
    if largest <= TOLERANCE:
        return Trial(numbers, seed, largest, between)
    return Witness(numbers, seed, worst, float(expected[worst]), float(found[worst]), largest, between)


def replay(witness: Witness, program: TensorProgram, candidate: SGraph) -> Attempt:
    """Run a witness again: a `Witness` with the same numbers where it still holds."""
    return Refuter(program).replay(witness, candidate)
