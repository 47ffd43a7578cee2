"""The refuter: runs program and candidate on random inputs at small sizes and searches for a difference.

It shares no code with the prover except the graphs. The interpreter runs both graphs in float64 at two assignments of
sizes. Every axis of the program gets its own small extent, every grid size and loop range is at least 2, and all sizes
are different where that is cheap. So a map to a wrong dim of equal extent, a factor that is 1 by accident, or a missing
block is detected. The first sizes are shared by all candidates (`shared_trials`). A candidate that differs there or
does not run there is tried at sizes of its own (`shapes.concretize`).

The numbers in shapes are extents of axes: 4096 becomes another extent, the same wherever that axis occurs, while
constants in formulas stay. A candidate that type-checks only because two axes have equal extents is outside the family;
it is run with equal extents, and this is reported.

A candidate that survives may also be tried in exact arithmetic (`exact_trials`), with a bound on the error rate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import inf, isfinite, prod
from typing import TypeAlias, TypeVar

import numpy as np

from prism_explore.errors import ShapeError
from prism_explore.ir.analysis.table_inputs import drawn_numbers
from prism_explore.ir.graph import SGraph
from prism_explore.ir.interpreter.reference import Array
from prism_explore.ir.program import TensorProgram
from prism_explore.pipeline.stages import Counterexample, Trial
from prism_explore.verify.counterexample import exact_trials, high_precision, prime_fields
from prism_explore.verify.counterexample.float_errors import (
    UNBOUNDED,
    Expected,
    contains,
    has_race,
    is_mask,
    is_step,
    is_trustworthy,
    largest_error,
    relative_errors,
    run_recording,
    scale_of,
    with_total_division,
    worst_place,
)
from prism_explore.verify.counterexample.high_precision import NotReal
from prism_explore.verify.counterexample.inputs import compared_inputs, draw_inputs, masks_of, ranges_of
from prism_explore.verify.counterexample.prime_fields import Inconclusive
from prism_explore.verify.counterexample.shared_trials import EQUAL_FLOATS, ROUNDING, SharedTrial
from prism_explore.verify.shapes.concretize import TINY, Extents, Fixed
from prism_explore.verify.shapes.instance import Instance
from prism_explore.verify.shapes.pair import Pair

TOLERANCE = 1e-9
"""Relative: equal programs differ by about 1e-15 in float64, wrong ones by far more."""
CLEAR_DIFFERENCE = 1e-6
"""A larger relative difference is not explained by rounding."""
FEW_ADDITIONS = 2_000
"""Trials with at most so many additions are repeated in high precision at the same sizes, in a few milliseconds.

Longer ones are repeated at the smallest sizes."""
MAX_ADDITIONS = 110_000
"""The same at the given sizes, which takes about 0.2 s; a longer trial is not repeated."""
LARGEST_ERROR_RATE = 0.5
"""Exact trials with a larger error probability are not used."""
TARGET_ERROR_RATE = 1e-3
EXACT_TRIALS = 3
"""The largest number of exact trials; fewer are made where their joint error probability is small enough."""
SMALL_ELEMENTS, CACHED, CACHED_LARGE = 1 << 13, 512, 4
"""Inputs of up to `SMALL_ELEMENTS` (64 KiB) are small; so many results for small and for large inputs are cached."""
MAX_SHARED_TRIALS = 12
"""The number of cached shared trials, one per choice of sizes and seed."""
CACHE_ELEMENTS = 1 << 21
"""The number of cached elements per shared trial, 16 MiB."""
EXACT_CACHE_ELEMENTS = 1 << 14
"""The same for residues, about 8 MiB."""


@dataclass(frozen=True, slots=True)
class Survived:
    """The two sides agreed in every trial; this is no proof."""

    trials: tuple[Trial, ...]
    coinciding: tuple[str, ...] = ()
    """Axes that must have equal extents for the candidate to type-check."""


@dataclass(frozen=True, slots=True)
class Untried:
    """No trial was possible, with the reason."""

    reason: str


@dataclass(frozen=True, slots=True)
class UncertainDifference:
    """The two sides differ at sizes at which a number in a graph may not have its meaning at the given sizes."""

    counterexample: Counterexample


_SharedRun: TypeAlias = tuple[tuple[tuple[str, int], ...], float, tuple[float, float]]
"""The result of a run at shared sizes: the sizes, the relative error, and the range of the inputs."""
Attempt: TypeAlias = Counterexample | Survived | Untried
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class _Doubtful:
    """The two sides differ, perhaps only by floating-point errors."""


class Refuter:
    """Searches for inputs on which candidates of one program give a wrong result."""

    def __init__(self, program: TensorProgram) -> None:
        self.program = program
        self._extents = Extents(program)
        graph = program.graph
        self._drawn = masks_of(graph), drawn_numbers(graph), compared_inputs(graph)
        """The inputs that are masks, whole numbers, and compared with 0."""
        self._ranges = ranges_of(graph)
        """The ranges of inputs at shared sizes, in the order of trial."""
        self._unsupported = exact_trials.unsupported_operator(program.graph)
        self._expected: dict[tuple[object, ...], Expected] = {}
        self._large_expected: dict[tuple[object, ...], Expected] = {}
        self._draws: dict[tuple[object, ...], exact_trials.Draw | str] = {}
        self._shared_trials: dict[tuple[int, int], tuple[SharedTrial, Expected, tuple[float, float]] | None] = {}
        self._shared_exact_trials: dict[tuple[object, ...], tuple[SharedTrial, exact_trials.Draw] | None] = {}
        self._last: tuple[SGraph, Pair | str] | None = None
        self._last_shared_run: tuple[SGraph, tuple[int, int], _SharedRun | None] | None = None

    def attempt(self, candidate: SGraph, seed: int, instances: int = 2) -> Attempt | UncertainDifference:
        """Run both sides at `instances` assignments of sizes, until they differ."""
        # The range of shared inputs is the program's, in which steps of the candidate alone may not show.
        if ranges_of(self.program.graph, candidate) == self._ranges:
            common = _all_or_none(self._shared_trial(candidate, seed + n, n) for n in range(instances))
            if common:
                return Survived(common)
        pair = self._pair(candidate)
        if isinstance(pair, str):
            return Untried(pair)
        trials: list[Trial] = []
        for n in range(instances):
            instance = self._extents.instance(pair, n)
            if isinstance(instance, str):
                return self._at_given_sizes(replace(pair, literal=True), seed) if not trials else Untried(instance)
            outcome = self._trial(pair, instance, seed + n)
            if isinstance(outcome, Counterexample):
                return (
                    outcome
                    if instance.faithful and not self._extents.constant_extents(pair)
                    else UncertainDifference(outcome)
                )
            if isinstance(outcome, Untried):
                return outcome
            trials.append(outcome)
        return Survived(tuple(trials), pair.coinciding)

    def is_doubtful(self, candidate: SGraph) -> bool:
        """Whether a result at small extents may differ from that at the given extents."""
        pair = self._pair(candidate)
        return not isinstance(pair, str) and self._extents.is_doubtful(pair)

    def constant_may_be_extent(self, candidate: SGraph) -> bool:
        """Whether a constant in either graph may depend on given extents; then trials at other extents prove nothing.

        Examples: 1/4096 in a mean, and 1/8 for a root of 64. All their prime factors are prime factors of extents.
        """
        return self._extents.constant_may_be_extent(candidate)

    def constant_may_explain_difference(self, candidate: SGraph, seed: int) -> bool:
        """Whether such a constant may explain a clear difference at the shared sizes."""
        run = self._run_shared(candidate, seed, 0) if self.constant_may_be_extent(candidate) else None
        return run is not None and run[1] > CLEAR_DIFFERENCE

    def attempt_at_given_sizes(self, candidate: SGraph, seed: int) -> Attempt:
        """One trial with the given size for every extent that a constant or a view may depend on.

        For example, a factor 1/4096 is a mean only over 4096 elements, so a difference at another extent refutes
        nothing. The other axes stay small. Where a constant may depend on several extents, each of them is tried. All
        extents are the given ones only where these trials do not decide.
        """
        pair = self._pair(candidate)
        if isinstance(pair, str):
            return Untried(pair)
        pair = replace(pair, literal=True)
        outcomes: list[Counterexample | Untried] = []
        for fixed in self._extents.fixed_choices(pair):
            outcome = self._with_fixed_sizes(pair, fixed, seed)
            if isinstance(outcome, Survived):
                return outcome
            outcomes.append(outcome)
        if outcomes and isinstance(outcomes[-1], Counterexample):  # the last choice fixes all of these extents
            return outcomes[-1]
        single = outcomes[:-1]
        counterexamples = [o for o in single if isinstance(o, Counterexample)]
        if counterexamples and len(counterexamples) == len(single) and self._extents.has_one_constant(pair):
            return counterexamples[0]
        return self._at_given_sizes(pair, seed)

    def attempt_exact(self, candidate: SGraph, seed: int) -> Attempt:
        """Run trials in prime fields at the smallest sizes; see `prime_fields`.

        A difference is a counterexample only where all laws of the functions in the graphs hold in the fields.
        """
        named = self._unsupported or exact_trials.unsupported_operator(candidate)
        if named:
            return Untried(f"prime fields have no {named}")
        trials: list[Trial] = []
        for n in range(EXACT_TRIALS):
            if (trial := self._shared_exact_trial(candidate, seed + n)) is None:
                break
            trials.append(trial)
            if _is_certain(trials):
                return Survived(tuple(trials))
        else:
            return Survived(tuple(trials))
        pair = self._pair(candidate)
        instance = pair if isinstance(pair, str) else self._extents.instance(pair, TINY)
        if isinstance(instance, str):
            return Untried(instance)
        trials = []
        for n in range(EXACT_TRIALS):
            outcome = self._exact_trial(instance, seed + n)
            if not isinstance(outcome, Trial):
                return outcome
            trials.append(outcome)
            if _is_certain(trials):
                break
        return Survived(tuple(trials))

    def replay(self, counterexample: Counterexample, candidate: SGraph) -> Attempt:
        """Run a counterexample again."""
        if self.program.graph.further:
            number = counterexample.result
            program = replace(self.program, graph=self.program.graph.for_result(number))
            again = Refuter(program).replay(counterexample, candidate.for_result(number))
            return replace(again, result=number) if isinstance(again, Counterexample) else again
        pair = self._pair(candidate)
        if isinstance(pair, str):
            return Untried(pair)
        if {*(name for name, _ in pair.names), *pair.ones} != {name for name, _ in counterexample.sizes}:
            return Untried("the counterexample names other symbols than this candidate")
        instance = self._extents.instance(pair, 0, dict(counterexample.sizes))
        if isinstance(instance, str):
            return Untried(instance)
        match counterexample.arithmetic:
            case "prime fields":
                outcome = self._exact_trial(instance, counterexample.seed)
            case "decimals":
                outcome = self._in_high_precision(instance, counterexample.seed, counterexample.input_range)
            case "float64":
                outcome = self._float_trial(pair, instance, counterexample.seed, counterexample.input_range)
        return Survived((outcome,)) if isinstance(outcome, Trial) else outcome

    def _pair(self, candidate: SGraph) -> Pair | str:
        """The size equations of a candidate; the last result is cached."""
        if self._last is None or self._last[0] is not candidate:
            self._last = candidate, self._extents.pair(candidate)
        return self._last[1]

    # ------------------------------------------------------------ trials at shared sizes
    def _shared_trial(self, candidate: SGraph, seed: int, turn: int) -> Trial | None:
        """A trial at shared sizes; None where the two sides do not agree there.

        Its error is an upper bound, because values that differ only by rounding are shared.
        """
        run = self._run_shared(candidate, seed, turn)
        if run is None or run[1] > TOLERANCE:
            return None
        sizes, error, between = run
        return Trial(sizes, seed, max(error, ROUNDING), between)

    def _run_shared(self, candidate: SGraph, seed: int, turn: int) -> _SharedRun | None:
        """The result of a run at shared sizes; None where the candidate does not run there. The last one is cached."""
        last, at = self._last_shared_run, (seed, turn)
        if last is not None and last[0] is candidate and last[1] == at:
            return last[2]
        found = _cached(self._shared_trials, MAX_SHARED_TRIALS, at, lambda: self._make_shared_trial(seed, turn))
        compared = None if found is None else found[0].compare(candidate, partial(largest_error, found[1]))
        result = None if compared is None or found is None else (*compared, found[2])
        self._last_shared_run = candidate, at, result
        return result

    def _make_shared_trial(self, seed: int, turn: int) -> tuple[SharedTrial, Expected, tuple[float, float]] | None:
        instance = self._extents.shared_instance(turn)
        if isinstance(instance, str):
            return None
        for between in self._ranges:
            side = self._run_program(instance, seed, between)
            if side.finite.any():
                with np.errstate(all="ignore"):
                    values = run_recording(instance.program, side.inputs, instance.symbols, [])
                return (
                    SharedTrial(self.program.graph, instance, values, CACHE_ELEMENTS, turn, EQUAL_FLOATS),
                    side,
                    between,
                )
        return None

    def _shared_exact_trial(self, candidate: SGraph, seed: int) -> Trial | None:
        """A trial at shared sizes in prime fields; None where it proves nothing."""
        fixed = self._extents.tiny_fixed_sizes(candidate)
        key = seed, *sorted(fixed.items())
        found = _cached(
            self._shared_exact_trials, MAX_SHARED_TRIALS, key, lambda: self._make_shared_exact_trial(seed, fixed)
        )
        if found is None:
            return None
        trial, drawn = found
        try:
            compared = trial.compare(
                candidate, lambda value: _finite_bound(exact_trials.compare_results(drawn.expected, value))
            )
        except Inconclusive:
            return None
        if compared is None or compared[1] > LARGEST_ERROR_RATE:
            return None
        return Trial(compared[0], seed, 0.0, (0.0, 0.0), "prime fields", compared[1])

    def _make_shared_exact_trial(
        self, seed: int, fixed: Mapping[str, int]
    ) -> tuple[SharedTrial, exact_trials.Draw] | None:
        pair = self._extents.pair(self.program.graph)
        instance = pair if isinstance(pair, str) else self._extents.instance(pair, TINY, fixed)
        if isinstance(instance, str):
            return None
        drawn = self._draw_cached(instance, seed)
        if isinstance(drawn, str):
            return None
        return SharedTrial(
            self.program.graph, instance, drawn.values, EXACT_CACHE_ELEMENTS, 0, prime_fields.EQUAL_RESIDUES, tiny=True
        ), drawn

    # ------------------------------------------------------------ trials in float64 and in high precision
    def _at_given_sizes(self, pair: Pair, seed: int) -> Attempt:
        outcome = self._with_fixed_sizes(pair, self._extents.given_sizes(pair), seed)
        return Untried(f"at the given extents {outcome.reason}") if isinstance(outcome, Untried) else outcome

    def _with_fixed_sizes(self, pair: Pair, fixed: Fixed, seed: int) -> Attempt:
        """A trial with some sizes fixed."""
        instance = self._extents.instance(pair, 0, fixed)
        if isinstance(instance, str):
            return Untried(instance)
        outcome = self._trial(pair, instance, seed)
        return Survived((outcome,), pair.coinciding) if isinstance(outcome, Trial) else outcome

    def _trial(self, pair: Pair, instance: Instance, seed: int) -> Trial | Counterexample | Untried:
        first, *others = ranges_of(instance.program, instance.candidate)
        outcome = self._float_trial(pair, instance, seed, first)
        for between in others:
            if isinstance(outcome, Untried):
                outcome = self._float_trial(pair, instance, seed, between)
        return outcome

    def _float_trial(
        self, pair: Pair, instance: Instance, seed: int, between: tuple[float, float]
    ) -> Trial | Counterexample | Untried:
        """A trial in float64; where it does not decide, in high precision, at the smallest sizes if it is long."""
        outcome = self._compare(instance, seed, between)
        if not isinstance(outcome, _Doubtful):
            return outcome
        if any(contains(graph, is_step) for graph in (instance.program, instance.candidate)):
            return Untried(f"at {_sizes_text(instance.sizes)} the difference may be rounding before a step")
        additions = sum(high_precision.additions(op) * numbers for op, numbers in instance.work)
        if pair.literal and additions > MAX_ADDITIONS:
            return Untried(f"at {_sizes_text(instance.sizes)} it may be that of floats, and decimals take too long")
        if pair.literal or additions <= FEW_ADDITIONS:
            return self._in_high_precision(instance, seed, between)
        smaller = self._extents.instance(pair, TINY)
        if isinstance(smaller, str):
            return Untried(f"at {_sizes_text(instance.sizes)} the difference may be that of floats")
        return self._in_high_precision(smaller, seed, between)

    def _compare(
        self, instance: Instance, seed: int, between: tuple[float, float]
    ) -> Trial | Counterexample | Untried | _Doubtful:
        key = (*instance.key, seed, between)
        large = instance.elements > SMALL_ELEMENTS
        sides, most = (self._large_expected, CACHED_LARGE) if large else (self._expected, CACHED)
        side = _cached(sides, most, key, lambda: self._run_program(instance, seed, between))
        if not side.finite.any():
            return Untried("the program has no finite value on random inputs")
        recorded: list[Array] = []
        with np.errstate(all="ignore"):
            try:
                found = run_recording(instance.candidate, side.inputs, instance.symbols, recorded)[
                    instance.candidate.output
                ]
            except (ShapeError, ValueError, OverflowError) as error:
                return Untried(f"it does not run at {_sizes_text(instance.sizes)}: {error}")
            error = relative_errors(side.expected, found, np.abs(side.expected - found), side.scale)
        largest = float(error.max())
        if largest <= TOLERANCE:
            return Trial(instance.sizes, seed, largest, between)
        races = not isfinite(largest) and has_race(instance, side)
        if not isfinite(largest) and not races:
            total, recorded = with_total_division(instance.candidate), []
            with np.errstate(all="ignore"):
                found = run_recording(total, side.inputs, instance.symbols, recorded)[total.output]
                error = relative_errors(side.expected, found, np.abs(side.expected - found), side.scale)
            largest = float(error.max())
        trustworthy = isfinite(largest) and side.trustworthy and is_trustworthy(recorded, instance.candidate)
        if not races and (largest < CLEAR_DIFFERENCE or not trustworthy):
            return _Doubtful()
        worst = worst_place(error)
        expected = float(side.expected[worst])
        return Counterexample(instance.sizes, seed, worst, expected, float(found[worst]), largest, between)

    def _in_high_precision(
        self, instance: Instance, seed: int, between: tuple[float, float]
    ) -> Trial | Counterexample | Untried:
        """A trial in high precision, with x/0 = 0."""
        inputs = draw_inputs(instance.shapes, seed, between, *self._drawn, dict(instance.limits))
        graphs = instance.program, instance.candidate
        limit = UNBOUNDED if any(contains(graph, is_mask) for graph in graphs) else inf
        try:
            with np.errstate(all="ignore"):
                both = high_precision.run_both(*graphs, inputs, instance.symbols, limit)
        except NotReal as stuck:
            return Untried(f"at {_sizes_text(instance.sizes)} floats are in doubt, and {stuck}")
        except (ShapeError, ValueError) as error:
            return Untried(f"it does not run at {_sizes_text(instance.sizes)}: {error}")
        scale, known = scale_of(both.expected), ~np.isnan(both.found)
        with np.errstate(all="ignore"):
            error = np.where(known, relative_errors(both.expected, both.found, both.difference, scale), 0.0)
        largest = float(error.max())
        if largest <= TOLERANCE and not known[np.isfinite(both.expected)].all():
            return Untried(f"at {_sizes_text(instance.sizes)} the candidate has values that are no real numbers")
        if largest <= TOLERANCE:
            return Trial(instance.sizes, seed, largest, between, "decimals")
        if both.largest * high_precision.ROUNDING > largest * scale:
            return Untried(f"at {_sizes_text(instance.sizes)} rounding on the way may be all of the difference")
        worst = worst_place(error)
        expected, found = float(both.expected[worst]), float(both.found[worst])
        return Counterexample(instance.sizes, seed, worst, expected, found, largest, between, "decimals")

    def _run_program(self, instance: Instance, seed: int, between: tuple[float, float]) -> Expected:
        inputs = draw_inputs(instance.shapes, seed, between, *self._drawn, dict(instance.limits))
        recorded: list[Array] = []
        with np.errstate(all="ignore"):
            try:
                expected = run_recording(instance.program, inputs, instance.symbols, recorded)[instance.program.output]
            except OverflowError:  # a constant that is too large for a float
                expected = np.full((1,), np.nan)
            trustworthy = is_trustworthy(recorded, instance.program)
            bounded = bool((np.abs(expected) < UNBOUNDED).all())
            return Expected(inputs, expected, np.isfinite(expected), scale_of(expected), trustworthy, bounded)

    # ------------------------------------------------------------ trials in prime fields
    def _draw_cached(self, instance: Instance, seed: int) -> exact_trials.Draw | str:
        def draw() -> exact_trials.Draw | str:
            try:
                return exact_trials.draw(instance.program, instance.shapes, instance.symbols, seed)
            except Inconclusive as stuck:
                return stuck.reason

        return _cached(self._draws, CACHED, (*instance.key, seed), draw)

    def _exact_trial(self, instance: Instance, seed: int) -> Trial | Counterexample | Untried:
        drawn = self._draw_cached(instance, seed)
        if isinstance(drawn, str):
            return Untried(f"{drawn} in the program")
        try:
            bound = exact_trials.compare(drawn, instance.candidate, instance.symbols)
        except Inconclusive as stuck:
            return Untried(f"{stuck.reason} in the candidate")
        except (ShapeError, ValueError) as error:
            return Untried(f"it does not run at {_sizes_text(instance.sizes)}: {error}")
        if isinstance(bound, exact_trials.Differs):
            if exact_trials.is_incomplete(instance.program) or exact_trials.is_incomplete(instance.candidate):
                return Untried("prime fields know too little of a function that occurs")
            return Counterexample(
                instance.sizes, seed, bound.place, bound.expected, bound.found, inf, (0.0, 0.0), "prime fields"
            )
        if bound > LARGEST_ERROR_RATE:
            return Untried(f"an exact trial at {_sizes_text(instance.sizes)} errs with probability up to {bound:.1g}")
        return Trial(instance.sizes, seed, 0.0, (0.0, 0.0), "prime fields", bound)


def _all_or_none(trials: Iterable[Trial | None]) -> tuple[Trial, ...]:
    """All trials; none if one is missing. Trials after the first missing one are not run."""
    found: list[Trial] = []
    for trial in trials:
        if trial is None:
            return ()
        found.append(trial)
    return tuple(found)


def _is_certain(trials: list[Trial]) -> bool:
    return prod(t.error_bound or 0.0 for t in trials) <= TARGET_ERROR_RATE


def _finite_bound(found: float | exact_trials.Differs) -> float:
    return inf if isinstance(found, exact_trials.Differs) else found


def _cached(cache: dict[_Key, _Value], most: int, key: _Key, make: Callable[[], _Value]) -> _Value:
    """The cached value of a key; computed if it is missing, after a full cache was cleared."""
    if key not in cache:
        if len(cache) >= most:
            cache.clear()
        cache[key] = make()
    return cache[key]


def _sizes_text(sizes: tuple[tuple[str, int], ...]) -> str:
    return ", ".join(f"{s}={n}" for s, n in sizes)


def replay(counterexample: Counterexample, program: TensorProgram, candidate: SGraph) -> Attempt:
    """Run a counterexample again; returns an equal `Counterexample` if the two sides still differ."""
    return Refuter(program).replay(counterexample, candidate)
