"""The refuter: program and candidate are run on random numbers at small sizes.

It shares nothing with the prover. Both graphs go through the block-by-block interpreter in float64,
at two assignments of sizes: every axis of the program gets its own small extent, every grid size and
loop range is at least 2, and no two numbers are the same, so that a map to the wrong dim of equal
extent, a factor that is 1 by accident, or a forgotten block shows (`extents` finds such numbers).

The program's numbers are extents of axes: 4096 in a shape becomes another extent, the same wherever
that axis occurs, while constants in formulas stay. A candidate that type-checks only because two axes
happen to be equally long is not a member of the family of shapes; it is run with those axes equal,
and that is reported.

What survives may be tried once more in exact arithmetic (`fields`), with a bound on how often that errs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, isfinite, prod
from typing import TypeAlias

import numpy as np

from prism_explore.errors import ShapeError
from prism_explore.ir.evaluate import Array, run
from prism_explore.ir.ops import Binary, Custom, Expand, Input, Node, Permute, Reshape, Scalar, Slice, Unary
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.sgraph import SGraph
from prism_explore.ir.stages import Trial, Witness
from prism_explore.ir.together import run_together
from prism_explore.verify import fields
from prism_explore.verify.extents import TINY, Extents, Instance, Pair
from prism_explore.verify.fields import Inconclusive

TOLERANCE = 1e-9
"""Relative: equal programs differ by about 1e-15 in float64, wrong ones by far more."""
TINY_DIVISOR = Fraction(1, 10**300)
ROUNDING = 1e-13
"""By how much a few hundred operations on float64 may be off, relative to the largest number on the way."""
SMALLEST_SCALE = 1e-4
"""Results below this count as this when an error is made relative."""
UNBOUNDED = 1e100
"""Results beyond this stand for infinity, as a masked one does; both sides must have them, with one sign."""
LARGEST_AS_GIVEN = 1 << 20
"""Elements of the inputs of a trial at the program's own extents: about 50 ms."""
BETWEEN = (-0.65, 0.75)
BETWEEN_POSITIVE = (0.05, 0.75)
"""Used where the program has no finite value on inputs of both signs, as under a root."""
USEFUL = 0.5
"""An exact trial that errs more often than this is not worth its time."""
SURE = 1e-3
EXACT_TRIALS = 3
"""So many at most, until together they err less often than `SURE`."""
KEPT = 512
"""Results of the program that are remembered."""


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
class _Side:
    """What the program gives at one instance, which all candidates are compared with."""

    inputs: Mapping[str, Array]
    expected: Array
    finite: Array
    scale: float
    """The largest of its bounded results."""
    largest: float
    """The largest magnitude that it computes on the way."""


class Refuter:
    """Looks for numbers on which candidates of one program are wrong."""

    def __init__(self, program: TensorProgram) -> None:
        self.program = program
        self._extents = Extents(program)
        self._masks = _masks(program.graph)
        self._obstacle = fields.obstacle(program.graph)
        self._sides: dict[tuple[object, ...], _Side] = {}
        self._draws: dict[tuple[object, ...], fields.Draw | str] = {}
        self._last: tuple[SGraph, Pair | str] | None = None

    def attempt(self, candidate: SGraph, seed: int, instances: int = 2) -> Attempt:
        """Run both sides at `instances` assignments of sizes; the first difference ends it."""
        pair = self._pair(candidate)
        if isinstance(pair, str):
            return Untried(pair)
        trials: list[Trial] = []
        for n in range(instances):
            instance = self._extents.instance(pair, n)
            if isinstance(instance, str):
                return self._as_given(pair, seed) if not trials else Untried(instance)
            outcome = self._trial(instance, seed + n)
            if not isinstance(outcome, Trial):
                return outcome
            trials.append(outcome)
        return Survived(tuple(trials), pair.coinciding)

    def may_be_tied(self, candidate: SGraph) -> bool:
        """Whether a constant in either graph may speak of given extents, so that other extents prove nothing.

        A mean's 1/4096 does, or 1/8 for a root of 64: numbers without a prime factor that no extent has.
        """
        return self._extents.may_be_tied(candidate)

    def attempt_as_given(self, candidate: SGraph, seed: int) -> Attempt:
        """One trial at the program's own extents, for constants that are tied to them.

        A factor 1/4096 is a mean over 4096 elements and over no other number; at other extents the two
        differ, which refutes nothing that was claimed. Axes of which no constant speaks may be small even so; only
        where that does not help are all extents as given.
        """
        pair = self._pair(candidate)
        if isinstance(pair, str):
            return Untried(pair)
        tied = self._extents.tied(pair)
        alone = [{name: extent} for name, extent in tied.items()]
        for fixed in (*alone, tied) if len(alone) > 1 else alone:
            instance = self._extents.instance(pair, 0, fixed)
            if isinstance(instance, Instance) and _elements(instance) <= LARGEST_AS_GIVEN:
                outcome = self._trial(instance, seed)
                if isinstance(outcome, Trial):
                    return Survived((outcome,), pair.coinciding)
        return self._as_given(pair, seed)

    def attempt_exact(self, candidate: SGraph, seed: int) -> Attempt:
        """Trials in prime fields, at the smallest sizes there are; see `fields`.

        A difference is a witness only where fields know all that is true of the functions at hand.
        """
        named = self._obstacle or fields.obstacle(candidate)
        if named:
            return Untried(f"prime fields have no {named}")
        pair = self._pair(candidate)
        instance = pair if isinstance(pair, str) else self._extents.instance(pair, TINY)
        if isinstance(instance, str):
            return Untried(instance)
        trials: list[Trial] = []
        for n in range(EXACT_TRIALS):
            outcome = self._exact(instance, seed + n)
            if not isinstance(outcome, Trial):
                return outcome
            trials.append(outcome)
            if prod(t.error_bound or 0.0 for t in trials) <= SURE:
                break
        return Survived(tuple(trials))

    def replay(self, witness: Witness, candidate: SGraph) -> Attempt:
        """Run a witness again."""
        pair = self._pair(candidate)
        if isinstance(pair, str):
            return Untried(pair)
        if {name for name, _ in pair.names} != {name for name, _ in witness.sizes}:
            return Untried("the witness names other symbols than this candidate")
        instance = self._extents.instance(pair, 0, dict(witness.sizes))
        if isinstance(instance, str):
            return Untried(instance)
        if witness.arithmetic == "prime fields":
            outcome = self._exact(instance, witness.seed)
        else:
            outcome = self._compare(instance, witness.seed, witness.between)
        return Survived((outcome,)) if isinstance(outcome, Trial) else outcome

    def _pair(self, candidate: SGraph) -> Pair | str:
        """The system of a candidate; it is asked for several times in a row."""
        if self._last is None or self._last[0] is not candidate:
            self._last = candidate, self._extents.pair(candidate)
        return self._last[1]

    # ------------------------------------------------------------ floats
    def _as_given(self, pair: Pair, seed: int) -> Attempt:
        instance = self._extents.instance(pair, 0, self._extents.as_given(pair))
        if isinstance(instance, str):
            return Untried(f"at the given extents {instance}")
        if _elements(instance) > LARGEST_AS_GIVEN:
            return Untried(f"the inputs have more than {LARGEST_AS_GIVEN} elements at the given extents")
        outcome = self._trial(instance, seed)
        return Survived((outcome,), pair.coinciding) if isinstance(outcome, Trial) else outcome

    def _trial(self, instance: Instance, seed: int) -> Trial | Witness | Untried:
        outcome = self._compare(instance, seed, BETWEEN)
        if isinstance(outcome, Untried):
            outcome = self._compare(instance, seed, BETWEEN_POSITIVE)
        return outcome

    def _compare(self, instance: Instance, seed: int, between: tuple[float, float]) -> Trial | Witness | Untried:
        key = (*instance.key, seed, between)
        side = self._sides.get(key)
        if side is None:
            if len(self._sides) >= KEPT:
                self._sides.clear()
            side = self._sides[key] = self._side(instance, seed, between)
        if not side.finite.any():
            return Untried("the program has no finite value on random inputs")
        passed: list[Array] = []
        with np.errstate(all="ignore"):
            try:
                found = _run(instance.candidate, side.inputs, instance.symbols, passed)[instance.candidate.output]
            except (ShapeError, ValueError, OverflowError) as error:
                return Untried(f"it does not run at {_text(instance.sizes)}: {error}")
            error = _errors(side, found)
        largest = float(error.max())
        if largest <= TOLERANCE:
            return Trial(instance.sizes, seed, largest, between)
        if not isfinite(largest) and not _races(instance, side):
            with np.errstate(all="ignore"):
                total = _total(instance.candidate)
                passed = []
                found = _run(total, side.inputs, instance.symbols, passed)[total.output]
                error = np.where(np.isfinite(found), _errors(side, found), 0.0)
            largest = float(error.max())
            if largest <= TOLERANCE:
                where = "floats divide by 0 or overflow on the way, where real numbers with x/0 = 0 may not"
                return Untried(f"at {_text(instance.sizes)} {where}")
        on_the_way = max(side.largest, _largest(passed, _has_masks(instance.candidate)))
        if isfinite(largest) and on_the_way * ROUNDING > largest * side.scale:
            return Untried(f"at {_text(instance.sizes)} rounding on the way may be all of the difference")
        worst = tuple(int(i) for i in np.unravel_index(int(np.argmax(error)), error.shape))
        expected = float(side.expected[worst])
        return Witness(instance.sizes, seed, worst, expected, float(found[worst]), largest, between)

    def _side(self, instance: Instance, seed: int, between: tuple[float, float]) -> _Side:
        inputs = draw_inputs(instance.shapes, seed, between, self._masks)
        passed: list[Array] = []
        with np.errstate(all="ignore"):
            try:
                expected = _run(instance.program, inputs, instance.symbols, passed)[instance.program.output]
            except OverflowError:  # a constant that no float can be
                expected = np.full((1,), np.nan)
            finite = np.isfinite(expected)
            bounded = np.abs(expected[finite & (np.abs(expected) < UNBOUNDED)])
            largest = _largest(passed, _has_masks(instance.program))
        return _Side(inputs, expected, finite, max(float(bounded.max(initial=0.0)), SMALLEST_SCALE), largest)

    # ------------------------------------------------------------ fields
    def _exact(self, instance: Instance, seed: int) -> Trial | Witness | Untried:
        key = (*instance.key, seed)
        if key not in self._draws:
            if len(self._draws) >= KEPT:
                self._draws.clear()
            try:
                self._draws[key] = fields.draw(instance.program, instance.shapes, instance.symbols, seed)
            except Inconclusive as stuck:
                self._draws[key] = stuck.reason
        drawn = self._draws[key]
        if isinstance(drawn, str):
            return Untried(f"{drawn} in the program")
        try:
            bound = fields.compare(drawn, instance.candidate, instance.symbols)
        except Inconclusive as stuck:
            return Untried(f"{stuck.reason} in the candidate")
        except (ShapeError, ValueError) as error:
            return Untried(f"it does not run at {_text(instance.sizes)}: {error}")
        if isinstance(bound, fields.Differs):
            if fields.guesses(instance.program) or fields.guesses(instance.candidate):
                return Untried("prime fields know too little of a function that occurs")
            return Witness(
                instance.sizes, seed, bound.place, bound.expected, bound.found, inf, (0.0, 0.0), "prime fields"
            )
        if bound > USEFUL:
            return Untried(f"an exact trial at {_text(instance.sizes)} errs with probability up to {bound:.1g}")
        return Trial(instance.sizes, seed, 0.0, (0.0, 0.0), "prime fields", bound)


def _run(
    graph: SGraph, inputs: Mapping[str, Array], symbols: Mapping[str, int], passed: list[Array]
) -> tuple[Array, ...]:
    """Every kernel-level tensor; what the operators give on the way is added to the list."""

    def seen(value: Array) -> Array:
        passed.append(value)
        return value

    return run(graph, inputs, symbols, seen, run_together)


def _races(instance: Instance, side: _Side) -> bool:
    """Whether the first result of a kernel that is no number is made of numbers, as only a race does."""
    graph = instance.candidate
    with np.errstate(all="ignore"):
        values = _run(graph, side.inputs, instance.symbols, [])
        first = next((n for n, value in enumerate(values) if not np.isfinite(value).all()), None)
        if first is None:
            return False
        passed: list[Array] = []
        _run(SGraph(graph.nodes[: first + 1], first), side.inputs, instance.symbols, passed)
        return all(np.isfinite(value).all() for value in passed)


def _total(graph: SGraph) -> SGraph:
    """The same graph with a/b as a b / max(b^2, tiny), which is 0 where b is 0, as the claim has it."""

    def spelled(nodes: tuple[Node, ...]) -> tuple[tuple[Node, ...], list[int]]:
        out: list[Node] = []
        place: list[int] = []
        for node in nodes:
            args = tuple(place[a] for a in node.args)
            match node.op:
                case Binary("div") | Unary("recip"):
                    below = args[-1]
                    above = below
                    if len(args) > 1:
                        out.append(Node(Binary("mul"), args))
                        above = len(out) - 1
                    out.append(Node(Unary("square"), (below,)))
                    out.append(Node(Scalar("max", TINY_DIVISOR), (len(out) - 1,)))
                    out.append(Node(Binary("div"), (above, len(out) - 1)))
                case Custom(block):
                    out.append(Node(Custom(replace(block, nodes=spelled(block.nodes)[0])), args))
                case op:
                    out.append(Node(op, args))
            place.append(len(out) - 1)
        return tuple(out), place

    nodes, place = spelled(graph.nodes)
    return SGraph(nodes, place[graph.output])


def _largest(passed: list[Array], masks: bool) -> float:
    """The largest magnitude among these numbers; beside masks, none that stands for infinity."""
    sizes = np.abs(np.concatenate([value.ravel() for value in passed])) if passed else np.zeros(0)
    return float(np.max(sizes, initial=0.0, where=sizes < (UNBOUNDED if masks else inf)))


def _has_masks(graph: SGraph) -> bool:
    levels = (graph.nodes, *(block.nodes for _, block in graph.customs))
    return any(node.op == Binary("mask") for nodes in levels for node in nodes)


def _errors(side: _Side, found: Array) -> Array:
    """By how much each element is wrong, relative to the largest; NaN and a missing infinity are wrong by infinity."""
    difference = np.abs(side.expected - found) / side.scale
    beyond = np.abs(side.expected) >= UNBOUNDED
    if beyond.any():
        alike = (np.abs(found) >= UNBOUNDED) & (np.sign(found) == np.sign(side.expected))
        difference = np.where(beyond, np.where(alike, 0.0, inf), difference)
    error = np.where(side.finite, difference, 0.0)
    return np.where(np.isnan(error), inf, error)


def draw_inputs(
    shapes: tuple[tuple[str, tuple[int, ...]], ...],
    seed: int,
    between: tuple[float, float] = BETWEEN,
    masks: frozenset[str] = frozenset(),
) -> dict[str, Array]:
    """Random float64 inputs, the same for the same seed.

    Of a tensor that says what a mask keeps, about half is 0, but never a whole row.
    """
    rng = np.random.default_rng(seed)
    inputs = {name: rng.uniform(*between, shape) for name, shape in shapes}
    for name in sorted(masks):
        keep = inputs[name]
        kept = rng.random(keep.shape) < 0.5
        if keep.ndim:
            rows = kept.reshape(-1, keep.shape[-1])
            rows[np.arange(len(rows)), np.arange(len(rows)) % keep.shape[-1]] = True
        inputs[name] = np.where(kept, keep, 0.0)
    return inputs


def _masks(graph: SGraph) -> frozenset[str]:
    """Inputs that come to a mask as what it keeps, as they are or through views."""
    found: set[str] = set()
    for node in graph.nodes:
        if node.op != Binary("mask"):
            continue
        source = graph.nodes[node.args[1]]
        while isinstance(source.op, Permute | Reshape | Expand | Slice):
            source = graph.nodes[source.args[0]]
        if isinstance(source.op, Input):
            found.add(source.op.name)
    return frozenset(found)


def _elements(instance: Instance) -> int:
    return sum(prod(shape) for _, shape in instance.shapes)


def _text(sizes: tuple[tuple[str, int], ...]) -> str:
    return ", ".join(f"{s}={n}" for s, n in sizes)


def replay(witness: Witness, program: TensorProgram, candidate: SGraph) -> Attempt:
    """Run a witness again: a `Witness` with the same numbers where it still holds."""
    return Refuter(program).replay(witness, candidate)
