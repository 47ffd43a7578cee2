"""Whether a candidate that equals its program over the reals may be trusted in floating point.

A proof speaks of real numbers. In a machine's arithmetic two equal formulas can behave differently: one
overflows where the other does not, one loses the digits that the other keeps. So the candidate runs in the
working precision on inputs made to break it (`hostile`), as written, accumulators and all; float64 says what
would be right; and what the *program* makes of the same inputs in the same precision, in several orders of
adding, says what may be asked. A candidate is marked unsafe where it is

    not finite, or worse than `HALF_LOST` and than `FACTOR` times the program's own error,

at elements where the program is fine. This is a test: it can show that a candidate is unsafe, and never proves
that one is safe. `audit` adds what can be seen in the graph alone.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf, sqrt
from typing import TypeAlias

import numpy as np

from prism_explore.floats.hostile_inputs import ROWS, Case, cases, draw
from prism_explore.floats.precision import ORDERS, Precision, precision, run, run_exactly
from prism_explore.floats.shapes import LONG, Planner
from prism_explore.floats.static_rules import Concern, audit, chain
from prism_explore.ir.graph import SGraph
from prism_explore.ir.interpreter.reference import Array
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.tensors import DType
from prism_explore.pipeline.stages import Verified
from prism_explore.verify.shapes.instance import Instance

FACTOR = 32.0
"""How many times the program's own worst error a candidate may make."""
FINE = 0.1
"""The program is fine at an element where its own relative error is below this, in a cautious run, too.

A result that rests on denormal numbers, or on coming just short of an overflow, is luck: the formula next to it
need not have it. See `arithmetic.run`.
"""
REMEMBERED = 256
"""Runs of the program that are kept for the next candidate."""
AGREES = 1e-6
"""Relative, in float64 on ordinary inputs: beyond this the two are not equal at these sizes."""


def half_lost(working: Precision) -> float:
    """The relative error at which half of the binary digits are gone; below it nothing is called worse."""
    return sqrt(2.0 * working.unit)


@dataclass(frozen=True, slots=True)
class Evidence:
    """One element of one run on which a candidate is unsafe; anyone can have the same numbers again."""

    case: Case
    sizes: tuple[tuple[str, int], ...]
    """Numbers for the axes and for the candidate's symbols."""
    seed: int
    index: tuple[int, ...]
    """Where in the result."""
    exact: float
    """What float64 says."""
    program: float
    """What the program gives in the working precision."""
    candidate: float = field(compare=False)
    """What the candidate gives in the working precision; NaN equals nothing, so it is not compared."""
    error: float = 0.0
    """The candidate's, relative to the largest exact value of its row; inf where it is not finite."""
    program_error: float = 0.0
    """The program's worst on this case in any order of adding, at elements where it is fine."""

    @property
    def is_finite(self) -> bool:
        """Whether the candidate gave a number at all."""
        return bool(np.isfinite(self.candidate))

    def __str__(self) -> str:
        at = ", ".join(f"{k}={v}" for k, v in self.sizes)
        where = f"[{', '.join(map(str, self.index))}]"
        return (
            f"{self.case}, {at}, seed {self.seed}: result{where} is {self.candidate:.6g}, the program gives "
            f"{self.program:.6g}, float64 {self.exact:.6g}"
        )


@dataclass(frozen=True, slots=True)
class Safe:
    """No input that was tried shows harm, and the graph gives no reason to expect any; this is no proof."""

    candidate: str
    dtype: DType
    runs: int
    """On how many inputs both were compared."""
    worst: float
    """The candidate's largest relative error where the program was fine."""
    program_worst: float
    modelled: float = 0.0
    """A bound for the relative error of the longest chain of additions, modelled: its length times the unit
    roundoff; for sums without cancellation, at the program's own extents, a symbol among them counted as 1024."""
    program_modelled: float = 0.0
    concerns: tuple[Concern, ...] = ()
    """What the audit found that alone decides nothing."""


@dataclass(frozen=True, slots=True)
class Unsafe:
    """Equal over the reals, and shown to fail in the working precision where the program does not."""

    candidate: str
    dtype: DType
    reasons: tuple[str, ...]
    """Sentences: what goes wrong, on what; then what the audit says of it."""
    evidence: tuple[Evidence, ...]
    """One per kind of input, at most, the worst first."""
    concerns: tuple[Concern, ...] = ()


@dataclass(frozen=True, slots=True)
class Unassessed:
    """Neither: no run could be made, or the graph gives reason for doubt and no input shows harm."""

    candidate: str
    dtype: DType
    reason: str
    concerns: tuple[Concern, ...] = ()


Assessment: TypeAlias = Safe | Unsafe | Unassessed


@dataclass(frozen=True, slots=True)
class _Truth:
    """A case's inputs and what the program makes of them."""

    inputs: Mapping[str, Array]
    exact: Array
    program: Array
    fine: Array
    scale: Array
    error: float


class Assessor:
    """Assesses candidates of one program; what the program gives is kept from one to the next."""

    def __init__(self, program: TensorProgram, dtype: DType | None = None, seed: int = 0) -> None:
        """`dtype`: the working precision; the program's own (its result's) where none is given."""
        self.program = program
        self.dtype: DType = dtype or program.graph.output_type.dtype
        self.seed = seed
        self._working = precision(self.dtype)
        self._planner = Planner(program)
        self._truths: OrderedDict[object, _Truth] = OrderedDict()

    def assess(self, verified: Verified) -> Assessment:
        """The assessment of a candidate that was proved."""
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
                truth = self._truth(instance, case, working)
                if not truth.fine.any():
                    continue
                runs += 1
                evidence, error = _compared(instance, case, truth, working, self.seed)
                worst, program_worst = max(worst, error), max(program_worst, truth.error)
                if evidence is not None:
                    found.append(evidence)
        concerns = audit(self.program, graph)
        if found:
            evidence = _worst_of_each(found)
            return Unsafe(name, self.dtype, (*_reasons(evidence), *_sentences(concerns)), evidence, concerns)
        if not runs:
            return Unassessed(name, self.dtype, "the program itself gives no good number on any of the inputs")
        if any(c.is_decisive for c in concerns):
            said = "; ".join(_sentences(concerns))
            return Unassessed(name, self.dtype, f"{said}; no input that was tried shows harm", concerns)
        return Safe(
            name,
            self.dtype,
            runs,
            worst,
            program_worst,
            chain(graph, small.symbols, LONG[0]) * working.unit,
            chain(self.program.graph, small.symbols, LONG[0]) * working.unit,
            concerns,
        )

    def replay(self, evidence: Evidence, candidate: SGraph) -> Evidence | None:
        """Run an evidence again: the same where it still holds, None where the candidate now passes.

        Raises:
            ValueError: the evidence names sizes at which this candidate is not run.
        """
        planned = self._planner.plan(candidate)
        among = () if isinstance(planned, str) else planned.all
        instance = next((i for i in among if i.sizes == evidence.sizes), None)
        if instance is None or self._working is None:
            raise ValueError(f"no run of this candidate has the sizes {dict(evidence.sizes)}")
        working = self._working
        truth = _truth_of(instance, evidence.case, working, evidence.seed)
        return _compared(instance, evidence.case, truth, working, evidence.seed)[0]

    def _truth(self, instance: Instance, case: Case, working: Precision) -> _Truth:
        key = (case, instance.key)
        if key in self._truths:
            self._truths.move_to_end(key)
        else:
            self._truths[key] = _truth_of(instance, case, working, self.seed)
            while len(self._truths) > REMEMBERED:
                self._truths.popitem(last=False)
        return self._truths[key]


def assess(
    verified: Verified,
    dtype: DType | None = None,
    seed: int = 0,
) -> Assessment:
    """The floating-point assessment of one proved candidate; an `Assessor` does the same for many, faster.

    Args:
        verified: what `verify` proved.
        dtype: the working precision; the program's own where none is given.
        seed: of the inputs; the same seed gives the same assessment.
    """
    return Assessor(verified.candidate.family.program, dtype, seed).assess(verified)


def _agree(instance: Instance, working: Precision, seed: int) -> bool:
    """Whether the two are equal at these sizes: a constant may be tied to the program's own."""
    case = next(cases(instance.program))
    inputs = draw(instance.shapes, case, working, seed)
    exact = run_exactly(instance.program, inputs, instance.symbols)
    found = run_exactly(instance.candidate, inputs, instance.symbols)
    here = np.isfinite(exact)
    if not here.any():
        return True
    scale = float(np.max(np.abs(exact[here]))) or 1.0
    return bool(np.all(np.abs(exact[here] - found[here]) <= AGREES * scale))


def _truth_of(instance: Instance, case: Case, working: Precision, seed: int) -> _Truth:
    inputs = draw(instance.shapes, case, working, seed)
    exact = run_exactly(instance.program, inputs, instance.symbols)
    runs = [run(instance.program, inputs, instance.symbols, working, order=order) for order in ORDERS]
    cautious = run(instance.program, inputs, instance.symbols, working, cautious=True)
    with np.errstate(all="ignore"):
        finite = np.isfinite(exact) & (np.abs(exact) <= working.largest)
        size = np.where(finite, np.abs(exact), 0.0)
        scale = np.max(size, axis=-1, keepdims=True) if size.ndim else size
        each = [np.where(finite & np.isfinite(r), _relative(r, exact, scale), inf) for r in (*runs, cautious)]
    *errors, robust = each
    error = np.maximum.reduce(errors)
    fine = (error < FINE) & (robust < FINE)
    return _Truth(inputs, exact, runs[0], fine, scale, float(np.max(error[fine], initial=0.0)))


def _relative(found: Array, exact: Array, scale: Array) -> Array:
    """Deviation over the largest exact value of the row; where that is 0, only being finite is asked."""
    return np.where(scale > 0, np.abs(found - exact) / np.where(scale > 0, scale, 1.0), 0.0)


def _compared(
    instance: Instance, case: Case, truth: _Truth, working: Precision, seed: int
) -> tuple[Evidence | None, float]:
    """What is wrong with the candidate on a case, if anything; and its largest error."""
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
    """A sentence for what is not finite, one for what is merely wrong."""
    said: list[str] = []
    broken = [e for e in evidence if not e.is_finite]
    if broken:
        said.append(f"not finite, where the program is, on {_named(broken)}")
    wrong = [e for e in evidence if e.is_finite]
    if wrong:
        e = wrong[0]
        said.append(f"relative error {e.error:.0e}, where the program's is {e.program_error:.0e}, on {_named(wrong)}")
    return tuple(said)


def _named(evidence: list[Evidence]) -> str:
    first, *others = evidence
    also = f", and {len(others)} more kinds of input" if len(others) > 1 else f" and {others[0].case}" if others else ""
    return f"{first.case} ({ROWS[first.case.hostile].sentence}){also}"


def _sentences(concerns: tuple[Concern, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(c.sentence for c in concerns))


def explain(found: Assessment) -> str:
    """The assessment as a sentence; a test is never called a proof."""
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
