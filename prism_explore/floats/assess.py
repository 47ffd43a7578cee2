"""Assessment of float safety: is a candidate that equals its program over the reals as accurate in floating point?

Input: a verified candidate. Output: safe, unsafe with evidence, or unassessed. Method: the candidate runs in the
working precision on hostile inputs (`hostile_inputs`), with its own accumulators. float64 gives the exact result. The
program runs on the same inputs in the same precision, in several orders of summation, for comparison. A candidate is
unsafe if it is

    not finite, or worse than `half_lost` and than `FACTOR` times the program's own error,

at an element where the program is fine. This is a test: it can show that a candidate is unsafe, but not that it is
safe. `static_rules` adds findings from the graph.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf, sqrt
from typing import TypeAlias

import numpy as np

from prism_explore.floats.hostile_inputs import ROWS, Case, cases, draw
from prism_explore.floats.precision import MORE_ORDERS, ORDERS, Order, Precision, precision, run, run_exactly
from prism_explore.floats.shapes import LONG, Planner
from prism_explore.floats.static_rules import Concern, find_concerns, longest_rounding_chain
from prism_explore.ir.analysis.table_inputs import drawn_numbers
from prism_explore.ir.graph import SGraph
from prism_explore.ir.interpreter.reference import Array
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.tensors import WHOLE_NUMBERS, DType
from prism_explore.pipeline.stages import Verified
from prism_explore.verify.shapes.instance import Instance

FACTOR = 32.0
"""The largest error of a candidate, as a multiple of the program's worst error."""
FINE = 0.1
"""The program is fine at an element where its own relative error is below this, in a cautious run, too.

Results that depend on denormal numbers or are close to overflow do not count as fine: an equal formula need not reach
them. See `precision.run`.
"""
CACHED_RUNS = 256
"""Runs of the program that are cached for other candidates."""
AGREES = 1e-6
"""Relative, in float64 on ordinary inputs: with a larger difference the two are not equal at these sizes."""


def half_lost(working: Precision) -> float:
    """The relative error at which half of the binary digits are lost; a smaller error is never unsafe."""
    return sqrt(2.0 * working.unit)


@dataclass(frozen=True, slots=True)
class Evidence:
    """One element of one run on which a candidate is unsafe, with all that is needed to run it again."""

    case: Case
    sizes: tuple[tuple[str, int], ...]
    """Sizes of the axes and of the candidate's symbols."""
    seed: int
    index: tuple[int, ...]
    """The element of the result."""
    exact: float
    """Its value in float64."""
    program: float
    """The program's value in the working precision."""
    candidate: float = field(compare=False)
    """The candidate's value in the working precision; not compared, because NaN equals nothing."""
    error: float = 0.0
    """The candidate's, relative to the largest exact value of its row; inf where it is not finite."""
    program_error: float = 0.0
    """The program's largest error on this case in any order of summation, at elements where it is fine."""
    result: int = 0
    """Which of the program's results, from 0."""

    @property
    def is_finite(self) -> bool:
        """Whether the candidate's value is finite."""
        return bool(np.isfinite(self.candidate))

    def __str__(self) -> str:
        at = ", ".join(f"{k}={v}" for k, v in self.sizes)
        where = f"[{', '.join(map(str, self.index))}]"
        result = f"result {self.result}, element {where}" if self.result else f"result{where}"
        return (
            f"{self.case}, {at}, seed {self.seed}: {result} is {self.candidate:.6g}, the program gives "
            f"{self.program:.6g}, float64 {self.exact:.6g}"
        )


@dataclass(frozen=True, slots=True)
class Safe:
    """No hostile input shows harm, and no static rule expects any; this is no proof."""

    candidate: str
    dtype: DType
    runs: int
    """The number of inputs on which both were compared."""
    worst: float
    """The candidate's largest relative error where the program was fine."""
    program_worst: float
    modelled: float = 0.0
    """A model of the relative error: the longest chain of roundings times the unit roundoff, for sums without
    cancellation, at the program's own extents, with 1024 for a symbol."""
    concerns: tuple[Concern, ...] = ()
    """Findings of the static rules that alone do not decide."""


@dataclass(frozen=True, slots=True)
class Unsafe:
    """Equal over the reals, but inaccurate in the working precision on an input where the program is accurate."""

    candidate: str
    dtype: DType
    reasons: tuple[str, ...]
    """Sentences: what fails on which inputs, then the findings of the static rules."""
    evidence: tuple[Evidence, ...]
    """At most one per kind of input, the worst first."""
    concerns: tuple[Concern, ...] = ()


@dataclass(frozen=True, slots=True)
class Unassessed:
    """Undecided: no run was possible, or a static rule expects harm that no input shows."""

    candidate: str
    dtype: DType
    reason: str
    concerns: tuple[Concern, ...] = ()


Assessment: TypeAlias = Safe | Unsafe | Unassessed


@dataclass(frozen=True, slots=True)
class _Expected:
    """A case's inputs and the program's results on them."""

    inputs: Mapping[str, Array]
    exact: Array
    program: Array
    fine: Array
    scale: Array
    error: float


class Assessor:
    """Assesses candidates of one program; the program's runs are cached."""

    def __init__(self, program: TensorProgram, dtype: DType | None = None, seed: int = 0) -> None:
        """`dtype`: the working precision; if None, that of the program's result, and float32 for whole numbers."""
        self.program = program
        stored = program.graph.output_type.dtype
        self.dtype: DType = dtype or ("f32" if stored in WHOLE_NUMBERS else stored)
        self.seed = seed
        self._working = precision(self.dtype)
        self._planner = Planner(program)
        self._cache: OrderedDict[object, _Expected] = OrderedDict()
        self._of_results: tuple[Assessor, ...] = ()
        """Of a program with several results, an assessor for each of them."""
        if program.graph.further:
            each = (replace(program, graph=program.graph.for_result(n)) for n in range(len(program.graph.outputs)))
            self._of_results = tuple(Assessor(one, dtype, seed) for one in each)

    def assess(self, verified: Verified) -> Assessment:
        """Assess a verified candidate; of several results the worst assessment counts."""
        if self._of_results:
            return self._assess_each(verified)
        name, graph = verified.candidate.id, verified.candidate.sgraph
        working = self._working
        if working is None:
            return Unassessed(name, self.dtype, "its precision is that of the reference; there is no wider one here")
        planned = self._planner.plan(graph)
        if isinstance(planned, str):
            return Unassessed(name, self.dtype, planned)
        small = next((i for i in planned.small if _agree(i, working, self.seed)), None)
        if small is None:
            return Unassessed(name, self.dtype, "it equals the program at no sizes small enough to run it at")
        long = planned.long if planned.long is not None and _agree(planned.long, working, self.seed) else None
        found: list[Evidence] = []
        runs, worst, program_worst = 0, 0.0, 0.0
        for instance in (small, long) if long is not None else (small,):
            for case in cases(instance.program, growing_only=instance is long):
                truth = self._expected(instance, case, working)
                if not truth.fine.any():
                    continue
                runs += 1
                evidence, error = _compare(instance, case, truth, working, self.seed)
                if evidence is not None:
                    truth = self._expected(instance, case, working, MORE_ORDERS)
                    evidence, error = _compare(instance, case, truth, working, self.seed)
                worst, program_worst = max(worst, error), max(program_worst, truth.error)
                if evidence is not None:
                    found.append(evidence)
        concerns = find_concerns(self.program, graph)
        if found:
            evidence = _worst_of_each(found)
            return Unsafe(name, self.dtype, (*_reasons(evidence), *_sentences(concerns)), evidence, concerns)
        if not runs:
            return Unassessed(name, self.dtype, "the program itself gives no good number on any of the inputs")
        if any(c.is_decisive for c in concerns):
            findings = "; ".join(_sentences(concerns))
            return Unassessed(name, self.dtype, f"{findings}; no input that was tried shows harm", concerns)
        return Safe(
            name,
            self.dtype,
            runs,
            worst,
            program_worst,
            longest_rounding_chain(graph, small.symbols, LONG[0]) * working.unit,
            concerns,
        )

    def _assess_each(self, verified: Verified) -> Assessment:
        """The worst of the assessments of all results: unsafe, then unassessed, then the largest error."""
        worst: Assessment | None = None
        for number, assessor in enumerate(self._of_results):
            one = replace(verified.candidate, sgraph=verified.candidate.sgraph.for_result(number))
            found = assessor.assess(replace(verified, candidate=one))
            if isinstance(found, Unsafe):
                return replace(found, evidence=tuple(replace(e, result=number) for e in found.evidence))
            if isinstance(found, Safe) and isinstance(worst, Safe):
                worst = max(found, worst, key=lambda a: a.worst)
            elif worst is None or isinstance(found, Unassessed):
                worst = found
        assert worst is not None, "a program has a result"
        return worst

    def replay(self, evidence: Evidence, candidate: SGraph) -> Evidence | None:
        """Run an evidence again: the same evidence, or None if the candidate passes.

        Raises:
            ValueError: this candidate is not run at the evidence's sizes.
        """
        if self._of_results:
            number = evidence.result
            one = replace(evidence, result=0)
            again = self._of_results[number].replay(one, candidate.for_result(number))
            return replace(again, result=number) if again is not None else None
        planned = self._planner.plan(candidate)
        among = () if isinstance(planned, str) else planned.all
        instance = next((i for i in among if i.sizes == evidence.sizes), None)
        if instance is None or self._working is None:
            raise ValueError(f"no run of this candidate has the sizes {dict(evidence.sizes)}")
        working = self._working
        truth = _expect(instance, evidence.case, working, evidence.seed, MORE_ORDERS)
        return _compare(instance, evidence.case, truth, working, evidence.seed)[0]

    def _expected(
        self, instance: Instance, case: Case, working: Precision, orders: Sequence[Order | None] = ORDERS
    ) -> _Expected:
        key = (case, instance.key, len(orders))
        if key in self._cache:
            self._cache.move_to_end(key)
        else:
            self._cache[key] = _expect(instance, case, working, self.seed, orders)
            while len(self._cache) > CACHED_RUNS:
                self._cache.popitem(last=False)
        return self._cache[key]


def assess(
    verified: Verified,
    dtype: DType | None = None,
    seed: int = 0,
) -> Assessment:
    """Assess one verified candidate; an `Assessor` assesses many faster.

    Args:
        verified: the candidate.
        dtype: the working precision; that of the program's result if None.
        seed: of the inputs; equal seeds give equal assessments.
    """
    return Assessor(verified.candidate.family.program, dtype, seed).assess(verified)


def _agree(instance: Instance, working: Precision, seed: int) -> bool:
    """Whether the two are equal at these sizes; they may not be if a constant depends on the given extents."""
    case = next(cases(instance.program))
    inputs = draw(instance.shapes, case, working, seed, drawn_numbers(instance.program), dict(instance.limits))
    exact = run_exactly(instance.program, inputs, instance.symbols)
    found = run_exactly(instance.candidate, inputs, instance.symbols)
    here = np.isfinite(exact)
    if not here.any():
        return True
    scale = float(np.max(np.abs(exact[here]))) or 1.0
    return bool(np.all(np.abs(exact[here] - found[here]) <= AGREES * scale))


def _expect(
    instance: Instance, case: Case, working: Precision, seed: int, orders: Sequence[Order | None] = ORDERS
) -> _Expected:
    inputs = draw(instance.shapes, case, working, seed, drawn_numbers(instance.program), dict(instance.limits))
    exact = run_exactly(instance.program, inputs, instance.symbols)
    runs = [run(instance.program, inputs, instance.symbols, working, order=order) for order in orders]
    cautious = run(instance.program, inputs, instance.symbols, working, cautious=True)
    with np.errstate(all="ignore"):
        finite = np.isfinite(exact) & (np.abs(exact) <= working.largest)
        size = np.where(finite, np.abs(exact), 0.0)
        scale = np.max(size, axis=-1, keepdims=True) if size.ndim else size
        each = [np.where(finite & np.isfinite(r), _relative(r, exact, scale), inf) for r in (*runs, cautious)]
    *errors, robust = each
    error = np.maximum.reduce(errors)
    fine = (error < FINE) & (robust < FINE)
    return _Expected(inputs, exact, runs[0], fine, scale, float(np.max(error[fine], initial=0.0)))


def _relative(found: Array, exact: Array, scale: Array) -> Array:
    """The error relative to the largest exact value of the row; 0 for finite values where that is 0."""
    return np.where(scale > 0, np.abs(found - exact) / np.where(scale > 0, scale, 1.0), 0.0)


def _compare(
    instance: Instance, case: Case, truth: _Expected, working: Precision, seed: int
) -> tuple[Evidence | None, float]:
    """The evidence against the candidate on a case, if any, and its largest error."""
    found = run(instance.candidate, truth.inputs, instance.symbols, working)
    with np.errstate(all="ignore"):
        error = np.where(np.isfinite(found), _relative(found, truth.exact, truth.scale), inf)
    error = np.where(truth.fine, error, 0.0)
    at = tuple(int(i) for i in np.unravel_index(int(np.argmax(error)), error.shape))
    worst = float(error[at])
    if worst <= half_lost(working) or worst <= FACTOR * truth.error:
        return None, worst
    values = (float(truth.exact[at]), float(truth.program[at]), float(found[at]))
    return Evidence(case, instance.sizes, seed, at, *values, worst, truth.error), worst


def _worst_of_each(found: list[Evidence]) -> tuple[Evidence, ...]:
    best: dict[str, Evidence] = {}
    for e in found:
        known = best.get(e.case.hostile)
        if known is None or e.error > known.error:
            best[e.case.hostile] = e
    return tuple(sorted(best.values(), key=lambda e: -e.error))


def _reasons(evidence: tuple[Evidence, ...]) -> tuple[str, ...]:
    """A sentence for results that are not finite, and one for those that are inaccurate."""
    reasons: list[str] = []
    broken = [e for e in evidence if not e.is_finite]
    if broken:
        reasons.append(f"not finite, where the program is, on {_named(broken)}")
    wrong = [e for e in evidence if e.is_finite]
    if wrong:
        e = wrong[0]
        errors = f"relative error {e.error:.0e}, where the program's is {e.program_error:.0e}"
        reasons.append(f"{errors}, on {_named(wrong)}")
    return tuple(reasons)


def _named(evidence: list[Evidence]) -> str:
    first, *others = evidence
    also = f", and {len(others)} more kinds of input" if len(others) > 1 else f" and {others[0].case}" if others else ""
    return f"{first.case} ({ROWS[first.case.hostile].sentence}){also}"


def _sentences(concerns: tuple[Concern, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(c.sentence for c in concerns))


def explain(found: Assessment) -> str:
    """The assessment as a sentence."""
    match found:
        case Safe():
            return (
                f"no harm in {found.dtype} on {found.runs} hostile inputs: error at most {found.worst:.0e}, "
                f"the program's {found.program_worst:.0e}"
            )
        case Unsafe():
            return f"unsafe in {found.dtype}: {'; '.join(found.reasons)}"
        case Unassessed():
            return f"not assessed in {found.dtype}: {found.reason}"
