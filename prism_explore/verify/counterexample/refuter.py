"""The refuter: program and candidate are run on random numbers at small sizes.

It shares nothing with the prover. Both graphs go through the interpreter in float64,
at two assignments of sizes: every axis of the program gets its own small extent, every grid size and
loop range is at least 2, and no two numbers are the same, so that a map to the wrong dim of equal
extent, a factor that is 1 by accident, or a forgotten block shows. These numbers are first such that all
candidates share them (`common`); what does not agree there is tried at numbers of its own (`extents`).

The program's numbers are extents of axes: 4096 in a shape becomes another extent, the same wherever
that axis occurs, while constants in formulas stay. A candidate that type-checks only because two axes
happen to be equally long is not a member of the family of shapes; it is run with those axes equal,
and that is reported.

What survives may be tried once more in exact arithmetic (`fields`), with a bound on how often that errs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import inf, isfinite, isnan, prod
from typing import TypeAlias, TypeVar

import numpy as np

from prism_explore.errors import ShapeError
from prism_explore.ir.graph import SGraph
from prism_explore.ir.interpreter.reference import Array, run
from prism_explore.ir.interpreter.vectorized import run_together
from prism_explore.ir.ops import (
    AccumulateRescaled,
    Binary,
    Custom,
    Expand,
    Input,
    Node,
    Op,
    Permute,
    Reshape,
    Scalar,
    Slice,
    Unary,
)
from prism_explore.ir.program import TensorProgram
from prism_explore.pipeline.stages import Trial, Witness
from prism_explore.verify.counterexample import high_precision, prime_fields
from prism_explore.verify.counterexample.high_precision import NoDecimal
from prism_explore.verify.counterexample.prime_fields import Inconclusive
from prism_explore.verify.counterexample.shared_trials import FLOATS, ROUNDING, Common
from prism_explore.verify.shapes.concretize import TINY, Extents, Fixed, Instance
from prism_explore.verify.shapes.pair import Pair

TOLERANCE = 1e-9
"""Relative: equal programs differ by about 1e-15 in float64, wrong ones by far more."""
TINY_DIVISOR = Fraction(1, 10**300)
CALM = (1e-7, 1e7)
"""Floats are trusted where all numbers on the way have such magnitudes or are 0: no divisor makes much of rounding."""
LARGEST_EXPONENT = 600.0
"""The upper bound where there are exponentials: those of what is further from 0 overflow or vanish."""
CLEAR = 1e-6
"""A relative difference of more is not what rounding makes of such numbers."""
FEW_ADDITIONS = 2_000
"""In decimals, of a trial that is run again in these: a few milliseconds. Beyond, the smallest sizes are taken."""
MOST_ADDITIONS = 110_000
"""The same where sizes are to be as given, about 0.2 s; beyond, it is not run again."""
SMALLEST_SCALE = 1e-4
"""Results below this count as this when an error is made relative."""
UNBOUNDED = 1e100
"""Results beyond this stand for infinity, as a masked one does; both sides must have them, with one sign."""
BETWEEN = (-0.65, 0.75)
BETWEEN_POSITIVE = (0.05, 0.75)
"""Used where the program has no finite value on inputs of both signs, as under a root."""
USEFUL = 0.5
"""An exact trial that errs more often than this is not worth its time."""
SURE = 1e-3
EXACT_TRIALS = 3
"""So many at most, until together they err less often than `SURE`."""
EXPONENTIAL = frozenset({"exp", "silu", "sigmoid", "tanh", "erf", "gelu", "gelu_tanh"})
SMALL, KEPT, KEPT_LARGE = 1 << 13, 512, 4
"""So many results of the program are remembered where its inputs have no more elements than this, 64 KiB; else few."""
MOST_COMMON = 12
"""Choices of sizes and seeds at which candidates share what they compute."""
MOST_SHARED = 1 << 21
"""Elements that are kept for it at one choice of sizes, 16 MiB."""
MOST_SHARED_EXACT = 1 << 14
"""The same of residues, about half as much."""


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


@dataclass(frozen=True, slots=True)
class Apart:
    """They differ, but at sizes where a number that either graph names may not mean what it does as given."""

    witness: Witness


_Judged: TypeAlias = tuple[tuple[tuple[str, int], ...], float, tuple[float, float]]
"""Of a run at shared extents: the sizes, by how much the results differ, and where inputs lie."""
Attempt: TypeAlias = Witness | Survived | Untried
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class _Side:
    """What the program gives at one instance, which all candidates are compared with."""

    inputs: Mapping[str, Array]
    expected: Array
    finite: Array
    scale: float
    """The largest of its bounded results."""
    calm: bool
    """Whether the numbers on its way are."""
    plain: bool
    """Whether all its results are bounded."""


@dataclass(frozen=True, slots=True)
class _Doubt:
    """The two sides differ as floats do of themselves, for all that is seen of it."""


class Refuter:
    """Looks for numbers on which candidates of one program are wrong."""

    def __init__(self, program: TensorProgram) -> None:
        self.program = program
        self._extents = Extents(program)
        self._masks = _masks(program.graph)
        self._obstacle = prime_fields.obstacle(program.graph)
        self._sides: dict[tuple[object, ...], _Side] = {}
        self._large_sides: dict[tuple[object, ...], _Side] = {}
        self._draws: dict[tuple[object, ...], prime_fields.Draw | str] = {}
        self._commons: dict[tuple[int, int], tuple[Common, _Side, tuple[float, float]] | None] = {}
        self._exact_commons: dict[tuple[object, ...], tuple[Common, prime_fields.Draw] | None] = {}
        self._last: tuple[SGraph, Pair | str] | None = None
        self._last_judged: tuple[SGraph, tuple[int, int], _Judged | None] | None = None

    def attempt(self, candidate: SGraph, seed: int, instances: int = 2) -> Attempt | Apart:
        """Run both sides at `instances` assignments of sizes; the first difference ends it."""
        if common := _all(self._common_trial(candidate, seed + n, n) for n in range(instances)):
            return Survived(common)
        pair = self._pair(candidate)
        if isinstance(pair, str):
            return Untried(pair)
        trials: list[Trial] = []
        for n in range(instances):
            instance = self._extents.instance(pair, n)
            if isinstance(instance, str):
                return self._as_given(replace(pair, literal=True), seed) if not trials else Untried(instance)
            outcome = self._trial(pair, instance, seed + n)
            if isinstance(outcome, Witness):
                return outcome if instance.faithful and not self._extents.tied(pair) else Apart(outcome)
            if isinstance(outcome, Untried):
                return outcome
            trials.append(outcome)
        return Survived(tuple(trials), pair.coinciding)

    def is_doubtful(self, candidate: SGraph) -> bool:
        """Whether what is seen at extents that are not the given ones may be so at these alone."""
        pair = self._pair(candidate)
        return not isinstance(pair, str) and self._extents.is_doubtful(pair)

    def may_be_tied(self, candidate: SGraph) -> bool:
        """Whether a constant in either graph may speak of given extents, so that other extents prove nothing.

        A mean's 1/4096 does, or 1/8 for a root of 64: numbers without a prime factor that no extent has.
        """
        return self._extents.may_be_tied(candidate)

    def seems_tied(self, candidate: SGraph, seed: int) -> bool:
        """Whether such a constant may be why the two clearly differ at the extents that candidates share."""
        judged = self._judged(candidate, seed, 0) if self.may_be_tied(candidate) else None
        return judged is not None and judged[1] > CLEAR

    def attempt_as_given(self, candidate: SGraph, seed: int) -> Attempt:
        """One trial with all numbers as given that a constant or a view may speak of.

        A factor 1/4096 is a mean over 4096 elements and over no other number; at other extents the two
        differ, which refutes nothing that was claimed. Axes that nothing speaks of are small even so. Where a
        constant may speak of several, each is tried; all extents are as given only where that does not decide it.
        """
        pair = self._pair(candidate)
        if isinstance(pair, str):
            return Untried(pair)
        pair = replace(pair, literal=True)
        outcomes: list[Witness | Untried] = []
        for fixed in self._extents.spoken_of(pair):
            outcome = self._with(pair, fixed, seed)
            if isinstance(outcome, Survived):
                return outcome
            outcomes.append(outcome)
        *alone, together = outcomes or [Untried("nothing is spoken of")]
        if isinstance(together, Witness):
            return together
        witnesses = [o for o in alone if isinstance(o, Witness)]
        if witnesses and len(witnesses) == len(alone) and self._extents.speaks_once(pair):
            return witnesses[0]
        return self._as_given(pair, seed)

    def attempt_exact(self, candidate: SGraph, seed: int) -> Attempt:
        """Trials in prime fields, at the smallest sizes there are; see `fields`.

        A difference is a witness only where fields know all that is true of the functions at hand.
        """
        named = self._obstacle or prime_fields.obstacle(candidate)
        if named:
            return Untried(f"prime fields have no {named}")
        trials: list[Trial] = []
        for n in range(EXACT_TRIALS):
            if (trial := self._common_exact(candidate, seed + n)) is None:
                break
            trials.append(trial)
            if _sure(trials):
                return Survived(tuple(trials))
        else:
            return Survived(tuple(trials))
        pair = self._pair(candidate)
        instance = pair if isinstance(pair, str) else self._extents.instance(pair, TINY)
        if isinstance(instance, str):
            return Untried(instance)
        trials = []
        for n in range(EXACT_TRIALS):
            outcome = self._exact(instance, seed + n)
            if not isinstance(outcome, Trial):
                return outcome
            trials.append(outcome)
            if _sure(trials):
                break
        return Survived(tuple(trials))

    def replay(self, witness: Witness, candidate: SGraph) -> Attempt:
        """Run a witness again."""
        pair = self._pair(candidate)
        if isinstance(pair, str):
            return Untried(pair)
        if {*(name for name, _ in pair.names), *pair.ones} != {name for name, _ in witness.sizes}:
            return Untried("the witness names other symbols than this candidate")
        instance = self._extents.instance(pair, 0, dict(witness.sizes))
        if isinstance(instance, str):
            return Untried(instance)
        match witness.arithmetic:
            case "prime fields":
                outcome = self._exact(instance, witness.seed)
            case "decimals":
                outcome = self._in_decimals(instance, witness.seed, witness.between)
            case "float64":
                outcome = self._between(pair, instance, witness.seed, witness.between)
        return Survived((outcome,)) if isinstance(outcome, Trial) else outcome

    def _pair(self, candidate: SGraph) -> Pair | str:
        """The system of a candidate; it is asked for several times in a row."""
        if self._last is None or self._last[0] is not candidate:
            self._last = candidate, self._extents.pair(candidate)
        return self._last[1]

    # ------------------------------------------------------------ what candidates share
    def _common_trial(self, candidate: SGraph, seed: int, turn: int) -> Trial | None:
        """A trial at the sizes that candidates share; None where it shows no agreement, for whatever reason.

        Its error is a bound: values that differ by rounding are one there.
        """
        judged = self._judged(candidate, seed, turn)
        if judged is None or judged[1] > TOLERANCE:
            return None
        return Trial(judged[0], seed, max(judged[1], ROUNDING), judged[2])

    def _judged(self, candidate: SGraph, seed: int, turn: int) -> _Judged | None:
        """What a run there shows; it may be asked for twice."""
        last, at = self._last_judged, (seed, turn)
        if last is not None and last[0] is candidate and last[1] == at:
            return last[2]
        found = _remembered(self._commons, MOST_COMMON, at, lambda: self._common(seed, turn))
        judged = None if found is None else found[0].judged(candidate, partial(_largest_error, found[1]))
        result = None if judged is None or found is None else (*judged, found[2])
        self._last_judged = candidate, at, result
        return result

    def _common(self, seed: int, turn: int) -> tuple[Common, _Side, tuple[float, float]] | None:
        instance = self._extents.common(turn)
        if isinstance(instance, str):
            return None
        for between in (BETWEEN, BETWEEN_POSITIVE):
            side = self._side(instance, seed, between)
            if side.finite.any():
                with np.errstate(all="ignore"):
                    values = _run(instance.program, side.inputs, instance.symbols, [])
                return Common(self.program.graph, instance, values, MOST_SHARED, turn, FLOATS), side, between
        return None

    def _common_exact(self, candidate: SGraph, seed: int) -> Trial | None:
        """The same in prime prime_fields."""
        cut_twice = self._extents.common_tiny(candidate)
        key = seed, *sorted(cut_twice.items())
        found = _remembered(self._exact_commons, MOST_COMMON, key, lambda: self._exact_common(seed, cut_twice))
        if found is None:
            return None
        common, drawn = found
        try:
            judged = common.judged(candidate, lambda value: _bound(prime_fields.compared(drawn.expected, value)))
        except Inconclusive:
            return None
        if judged is None or judged[1] > USEFUL:
            return None
        return Trial(judged[0], seed, 0.0, (0.0, 0.0), "prime fields", judged[1])

    def _exact_common(self, seed: int, fixed: Mapping[str, int]) -> tuple[Common, prime_fields.Draw] | None:
        pair = self._extents.pair(self.program.graph)
        instance = pair if isinstance(pair, str) else self._extents.instance(pair, TINY, fixed)
        if isinstance(instance, str):
            return None
        drawn = self._drawn(instance, seed)
        if isinstance(drawn, str):
            return None
        return Common(
            self.program.graph, instance, drawn.values, MOST_SHARED_EXACT, 0, prime_fields.ALIKE, tiny=True
        ), drawn

    # ------------------------------------------------------------ floats
    def _as_given(self, pair: Pair, seed: int) -> Attempt:
        outcome = self._with(pair, self._extents.as_given(pair), seed)
        return Untried(f"at the given extents {outcome.reason}") if isinstance(outcome, Untried) else outcome

    def _with(self, pair: Pair, fixed: Fixed, seed: int) -> Attempt:
        """A trial with some numbers given."""
        instance = self._extents.instance(pair, 0, fixed)
        if isinstance(instance, str):
            return Untried(instance)
        outcome = self._trial(pair, instance, seed)
        return Survived((outcome,), pair.coinciding) if isinstance(outcome, Trial) else outcome

    def _trial(self, pair: Pair, instance: Instance, seed: int) -> Trial | Witness | Untried:
        outcome = self._between(pair, instance, seed, BETWEEN)
        if isinstance(outcome, Untried):
            outcome = self._between(pair, instance, seed, BETWEEN_POSITIVE)
        return outcome

    def _between(
        self, pair: Pair, instance: Instance, seed: int, between: tuple[float, float]
    ) -> Trial | Witness | Untried:
        """A trial on floats; in decimals where these are in doubt, of the smallest sizes if it is long and may be."""
        outcome = self._compare(instance, seed, between)
        if not isinstance(outcome, _Doubt):
            return outcome
        additions = sum(high_precision.additions(op) * numbers for op, numbers in instance.work)
        if pair.literal and additions > MOST_ADDITIONS:
            return Untried(f"at {_text(instance.sizes)} it may be that of floats, and decimals take too long")
        if pair.literal or additions <= FEW_ADDITIONS:
            return self._in_decimals(instance, seed, between)
        smaller = self._extents.instance(pair, TINY)
        if isinstance(smaller, str):
            return Untried(f"at {_text(instance.sizes)} the difference may be that of floats")
        return self._in_decimals(smaller, seed, between)

    def _compare(
        self, instance: Instance, seed: int, between: tuple[float, float]
    ) -> Trial | Witness | Untried | _Doubt:
        key = (*instance.key, seed, between)
        large = instance.elements > SMALL
        sides, most = (self._large_sides, KEPT_LARGE) if large else (self._sides, KEPT)
        side = _remembered(sides, most, key, lambda: self._side(instance, seed, between))
        if not side.finite.any():
            return Untried("the program has no finite value on random inputs")
        passed: list[Array] = []
        with np.errstate(all="ignore"):
            try:
                found = _run(instance.candidate, side.inputs, instance.symbols, passed)[instance.candidate.output]
            except (ShapeError, ValueError, OverflowError) as error:
                return Untried(f"it does not run at {_text(instance.sizes)}: {error}")
            error = _errors(side.expected, found, np.abs(side.expected - found), side.scale)
        largest = float(error.max())
        if largest <= TOLERANCE:
            return Trial(instance.sizes, seed, largest, between)
        races = not isfinite(largest) and _races(instance, side)
        if not isfinite(largest) and not races:
            total, passed = _total(instance.candidate), []
            with np.errstate(all="ignore"):
                found = _run(total, side.inputs, instance.symbols, passed)[total.output]
                error = _errors(side.expected, found, np.abs(side.expected - found), side.scale)
            largest = float(error.max())
        calm = isfinite(largest) and side.calm and _calm(passed, instance.candidate)
        if not races and (largest < CLEAR or not calm):
            return _Doubt()
        worst = _worst(error)
        expected = float(side.expected[worst])
        return Witness(instance.sizes, seed, worst, expected, float(found[worst]), largest, between)

    def _in_decimals(self, instance: Instance, seed: int, between: tuple[float, float]) -> Trial | Witness | Untried:
        """A trial where floats are not at fault, and x/0 is 0."""
        inputs = draw_inputs(instance.shapes, seed, between, self._masks)
        graphs = instance.program, instance.candidate
        limit = UNBOUNDED if any(_has(graph, _masks_out) for graph in graphs) else inf
        try:
            with np.errstate(all="ignore"):
                both = high_precision.run_both(*graphs, inputs, instance.symbols, limit)
        except NoDecimal as stuck:
            return Untried(f"at {_text(instance.sizes)} floats are in doubt, and {stuck}")
        except (ShapeError, ValueError) as error:
            return Untried(f"it does not run at {_text(instance.sizes)}: {error}")
        scale, known = _scale(both.expected), ~np.isnan(both.found)
        with np.errstate(all="ignore"):
            error = np.where(known, _errors(both.expected, both.found, both.apart, scale), 0.0)
        largest = float(error.max())
        if largest <= TOLERANCE and not known[np.isfinite(both.expected)].all():
            return Untried(f"at {_text(instance.sizes)} the candidate has values that are no real numbers")
        if largest <= TOLERANCE:
            return Trial(instance.sizes, seed, largest, between, "decimals")
        if both.largest * high_precision.ROUNDING > largest * scale:
            return Untried(f"at {_text(instance.sizes)} rounding on the way may be all of the difference")
        worst = _worst(error)
        expected, found = float(both.expected[worst]), float(both.found[worst])
        return Witness(instance.sizes, seed, worst, expected, found, largest, between, "decimals")

    def _side(self, instance: Instance, seed: int, between: tuple[float, float]) -> _Side:
        inputs = draw_inputs(instance.shapes, seed, between, self._masks)
        passed: list[Array] = []
        with np.errstate(all="ignore"):
            try:
                expected = _run(instance.program, inputs, instance.symbols, passed)[instance.program.output]
            except OverflowError:  # a constant that no float can be
                expected = np.full((1,), np.nan)
            calm = _calm(passed, instance.program)
            plain = bool((np.abs(expected) < UNBOUNDED).all())
            return _Side(inputs, expected, np.isfinite(expected), _scale(expected), calm, plain)

    # ------------------------------------------------------------ fields
    def _drawn(self, instance: Instance, seed: int) -> prime_fields.Draw | str:
        def draw() -> prime_fields.Draw | str:
            try:
                return prime_fields.draw(instance.program, instance.shapes, instance.symbols, seed)
            except Inconclusive as stuck:
                return stuck.reason

        return _remembered(self._draws, KEPT, (*instance.key, seed), draw)

    def _exact(self, instance: Instance, seed: int) -> Trial | Witness | Untried:
        drawn = self._drawn(instance, seed)
        if isinstance(drawn, str):
            return Untried(f"{drawn} in the program")
        try:
            bound = prime_fields.compare(drawn, instance.candidate, instance.symbols)
        except Inconclusive as stuck:
            return Untried(f"{stuck.reason} in the candidate")
        except (ShapeError, ValueError) as error:
            return Untried(f"it does not run at {_text(instance.sizes)}: {error}")
        if isinstance(bound, prime_fields.Differs):
            if prime_fields.guesses(instance.program) or prime_fields.guesses(instance.candidate):
                return Untried("prime fields know too little of a function that occurs")
            return Witness(
                instance.sizes, seed, bound.place, bound.expected, bound.found, inf, (0.0, 0.0), "prime fields"
            )
        if bound > USEFUL:
            return Untried(f"an exact trial at {_text(instance.sizes)} errs with probability up to {bound:.1g}")
        return Trial(instance.sizes, seed, 0.0, (0.0, 0.0), "prime fields", bound)


def _all(trials: Iterable[Trial | None]) -> tuple[Trial, ...]:
    """All of them, or none from the first on that is missing."""
    found: list[Trial] = []
    for trial in trials:
        if trial is None:
            return ()
        found.append(trial)
    return tuple(found)


def _sure(trials: list[Trial]) -> bool:
    return prod(t.error_bound or 0.0 for t in trials) <= SURE


def _bound(found: float | prime_fields.Differs) -> float:
    return inf if isinstance(found, prime_fields.Differs) else found


def _remembered(memory: dict[_Key, _Value], most: int, key: _Key, make: Callable[[], _Value]) -> _Value:
    """What a memory has for a key, made now if it has none; a full one is emptied first."""
    if key not in memory:
        if len(memory) >= most:
            memory.clear()
        memory[key] = make()
    return memory[key]


def _largest_error(side: _Side, found: Array) -> float:
    if found.shape != side.expected.shape:
        return inf
    if side.plain:
        largest = float(np.abs(side.expected - found).max()) / side.scale
        return inf if isnan(largest) else largest
    return float(_errors(side.expected, found, np.abs(side.expected - found), side.scale).max())


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


def _calm(passed: list[Array], graph: SGraph) -> bool:
    """Whether floats are to be trusted with what this graph computed; beside masks, some stand for minus infinity."""
    sizes = np.abs(np.concatenate([value.ravel() for value in passed])) if passed else np.zeros(0)
    low, high = CALM
    fine = (sizes == 0) | ((sizes >= low) & (sizes <= (LARGEST_EXPONENT if _has(graph, _exponentiates) else high)))
    return bool((fine | (sizes >= UNBOUNDED) if _has(graph, _masks_out) else fine).all())


def _total(graph: SGraph) -> SGraph:
    """The same graph with a/b as a b / max(b^2, tiny), which is 0 where b is 0, as the claim has it."""
    nodes, place = _spelled(graph.nodes)
    return SGraph(nodes, place[graph.output])


def _spelled(nodes: tuple[Node, ...]) -> tuple[tuple[Node, ...], list[int]]:
    """The nodes with such quotients, and where each of the old ones went."""
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
                out.append(Node(Custom(replace(block, nodes=_spelled(block.nodes)[0])), args))
            case op:
                out.append(Node(op, args))
        place.append(len(out) - 1)
    return tuple(out), place


def _has(graph: SGraph, which: Callable[[Op], bool]) -> bool:
    return any(which(n.op) for nodes in (graph.nodes, *(b.nodes for _, b in graph.customs)) for n in nodes)


def _masks_out(op: Op) -> bool:
    return op == Binary("mask")


def _exponentiates(op: Op) -> bool:
    return isinstance(op, AccumulateRescaled) or (isinstance(op, Unary) and op.fn in EXPONENTIAL)


def _scale(expected: Array) -> float:
    """The largest of the bounded results."""
    size = np.abs(expected)
    return max(float(np.max(size, initial=0.0, where=size < UNBOUNDED)), SMALLEST_SCALE)


def _errors(expected: Array, found: Array, apart: Array, scale: float) -> Array:
    """By how much each element is wrong, relative to the largest; NaN and a missing infinity are wrong by infinity."""
    difference = apart / scale
    beyond = np.abs(expected) >= UNBOUNDED
    if beyond.any():
        alike = (np.abs(found) >= UNBOUNDED) & (np.sign(found) == np.sign(expected))
        difference = np.where(beyond, np.where(alike, 0.0, inf), difference)
    error = np.where(np.isfinite(expected), difference, 0.0)
    return np.where(np.isnan(error), inf, error)


def _worst(error: Array) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(error)), error.shape))


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


def _text(sizes: tuple[tuple[str, int], ...]) -> str:
    return ", ".join(f"{s}={n}" for s, n in sizes)


def replay(witness: Witness, program: TensorProgram, candidate: SGraph) -> Attempt:
    """Run a witness again: a `Witness` with the same numbers where it still holds."""
    return Refuter(program).replay(witness, candidate)
