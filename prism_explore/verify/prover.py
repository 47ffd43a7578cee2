"""The prover: decides whether a candidate equals its program.

Input: a program and a candidate graph. Output: a verdict, which is proved for all sizes, refuted with a
counterexample, or unknown with the limit that was hit. Method, in this order: the refuter on floats; equal normal
forms; then the slower proof methods (cleared denominators, definitions of functions, equality saturation). A proved
candidate must also survive trials in exact arithmetic, where these are possible. If prover and refuter disagree, the
verdict is unknown, and the case is stored as a text that `replay.replay_counterexample` runs again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import assert_never

from prism_explore.errors import ShapeError
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import VerdictReached
from prism_explore.ir.dims import Dim
from prism_explore.ir.graph import SGraph
from prism_explore.ir.program import TensorProgram
from prism_explore.pipeline.stages import (
    Candidate,
    Counterexample,
    EClass,
    Refuted,
    Shared,
    Trial,
    Unknown,
    Verdict,
    Verified,
)
from prism_explore.support.gc_pause import gc_paused
from prism_explore.verify.certificate.saturation import LIMITS, prove_equal
from prism_explore.verify.counterexample.case import Case, Method
from prism_explore.verify.counterexample.refuter import Attempt, Refuter, Survived, UncertainDifference, Untried
from prism_explore.verify.egraph.limits import Limits, explain
from prism_explore.verify.normal_form.algebra import Algebra
from prism_explore.verify.normal_form.bound_names import DEEP, Budget, NoNormalForm
from prism_explore.verify.normal_form.cut_points import meet
from prism_explore.verify.normal_form.equalities import compare_lowered
from prism_explore.verify.normal_form.forms import NormalForm, show
from prism_explore.verify.normal_form.functions import DEFINED
from prism_explore.verify.normal_form.lower_graph import Lowered, lower
from prism_explore.verify.normal_form.masking import check as check_masks
from prism_explore.verify.proof import ClassNames, prove
from prism_explore.verify.shapes.concretize import ones_of
from prism_explore.verify.verdict_events import verdict_event

STEPS_TO_EXPLAIN = 500
"""Part of the budget for finding shared tiles where there is no proof."""
AUDIT_EVERY = 16
"""The prover also runs on one of so many refuted candidates, to detect disagreement."""
MANY_KERNELS = 4
"""Full forms of graphs with so many kernels are long, so the results of the kernels are compared first."""
DISAGREE = "prover and refuter disagree"
DIFFERS_AT_OTHER_SIZES = "at other extents than the given ones it differs"
DIFFER = "the normal forms differ"


@dataclass(frozen=True, slots=True)
class _NoForm:
    """A graph without a normal form, and the limit that was hit."""

    limit: str


@dataclass(frozen=True, slots=True)
class _Equal:
    """The two results are equal, and how that was shown."""

    goal: Lowered
    found: Lowered
    method: Method


@dataclass(frozen=True, slots=True)
class _NotProved:
    """No proof: the forms, where there are any, and the limit that was hit."""

    goal: Lowered | _NoForm
    found: Lowered | _NoForm
    limit: str


class Prover:
    """Decides candidates of one program; forms are cached from one candidate to the next."""

    def __init__(
        self,
        program: TensorProgram,
        budget: Budget | None = None,
        saturation: Limits | None = LIMITS,
        audits: bool = True,
    ) -> None:
        """Lower the program.

        Args:
            program: what candidates must equal.
            budget: of normal forms.
            saturation: limits of equality saturation, the last method; None leaves it out.
            audits: whether the prover also runs on some refuted candidates.
        """
        self._audits = audits
        self.program = program
        self._inputs = program.inputs
        self.refuter = Refuter(program)
        self._plain = Algebra(budget)
        self._spelled = Algebra(budget, spell_out=True)
        self._goal = _lowered(program.graph, self._plain)
        self._goal_masks_checked = False
        """Whether the masking analysis accepted the program."""
        self._spelled_goal: Lowered | _NoForm | None = None
        self._limits = saturation
        self._names = ClassNames()
        self._refuted = 0

    def verify(self, candidate: Candidate, journal: Journal, seed: int = 0) -> Verdict:
        """Decide a candidate and append the verdict to the journal.

        Args:
            candidate: a candidate of this program whose maps are closed.
            journal: receives `VerdictReached`, after the events of equality saturation if that ran.
            seed: of the refuter's inputs.

        Returns:
            `Verified`, `Refuted` or `Unknown`.

        Raises:
            ShapeError: the candidate's maps are open, it is ill-formed, or it has other inputs.
        """
        graph = candidate.sgraph
        if graph.is_open:
            raise ShapeError(f"{candidate.id}: maps are still open; verify what `instantiate` yields")
        if graph.inputs != self._inputs and set(graph.inputs) != set(self._inputs):
            given = ", ".join(f"{i.name} {i.type}" for i in graph.inputs)
            wanted = ", ".join(f"{i.name} {i.type}" for i in self.program.inputs)
            raise ShapeError(f"{candidate.id} has inputs {given}; {self.program.name} has {wanted}")
        with gc_paused():
            verdict = self._decide(candidate, seed, journal)
            journal.append(verdict_event(verdict))
        return verdict

    def adopt(self, candidate: Candidate, verdict: Verdict) -> Verdict | None:
        """The verdict of another prover of this program, with this one's names of classes.

        None where this prover must audit a refuted candidate, which the other one did not.
        """
        match verdict:
            case Verified(_, proof):
                classes = tuple(EClass(self._names.id_of(c.term), c.term, c.members) for c in proof.classes)
                return replace(verdict, candidate=candidate, proof=replace(proof, classes=classes))
            case Refuted():
                if (self._refuted + 1) % AUDIT_EVERY == 0:
                    return None
                self._refuted += 1
                return replace(verdict, candidate=candidate)
            case Unknown():
                self._refuted += bool(verdict.case)
                return replace(verdict, candidate=candidate)
            case _:
                assert_never(verdict)

    def prove(self, candidate: Candidate, journal: Journal) -> Method | str:
        """The method by which the prover, without the refuter, proves a candidate, or the limit that it hits."""
        compared = self._compare_forms(candidate.sgraph)
        if isinstance(compared, _NotProved):
            compared = self._compare_with_definitions(candidate.sgraph, compared)
        if isinstance(compared, _NotProved):
            compared = self._try_slower_methods(candidate, compared, journal)
        return compared.limit if isinstance(compared, _NotProved) else compared.method

    # ------------------------------------------------------------ deciding
    def _decide(self, candidate: Candidate, seed: int, journal: Journal) -> Verdict:
        graph = candidate.sgraph
        dims, wanted = graph.output_type.dims, self.program.graph.output_type.dims
        if dims != wanted:
            return Unknown(candidate, f"the result has dims {_show_dims(dims)}, the program's has {_show_dims(wanted)}")
        compared: _Equal | _NotProved | None = None
        given: Attempt | None = None
        if self.refuter.constant_may_explain_difference(graph, seed):
            compared = self._compare_forms(graph)
            given = self.refuter.attempt_at_given_sizes(graph, seed) if isinstance(compared, _Equal) else None
        tied = isinstance(given, Survived)
        attempt = given if isinstance(given, Survived) else self.refuter.attempt(graph, seed)
        if isinstance(attempt, Counterexample) and not self._is_audit_turn():
            return Refuted(candidate, attempt)
        compared = compared or self._compare_forms(graph)
        if isinstance(attempt, Counterexample | UncertainDifference):
            as_given = self._decide_at_given_sizes(candidate, attempt, compared, seed)
            if not isinstance(as_given, Survived):
                return as_given
            attempt, tied = as_given, True
        if isinstance(attempt, Untried):
            return self._unknown(candidate, f"the refuter could not run: {attempt.reason}", compared.found)
        if attempt.coinciding:
            limit = f"it type-checks only because axes {' and '.join(attempt.coinciding)} are equally long"
            return self._unknown(candidate, limit, compared.found)
        if isinstance(compared, _NotProved):
            compared = self._compare_with_definitions(graph, compared)
        if isinstance(compared, _NotProved) and not tied and self.refuter.is_doubtful(graph):
            as_given = self.refuter.attempt_at_given_sizes(
                graph, seed
            )  # at small sizes the two may differ only because these differ
            if isinstance(as_given, Counterexample):
                self._refuted += 1
                return Refuted(candidate, as_given)
        if isinstance(compared, _NotProved):
            compared = self._try_slower_methods(candidate, compared, journal)
        if isinstance(compared, _NotProved):
            return self._unknown(candidate, compared.limit, compared.found)
        if limit := self._masking_limit(graph, compared):
            return self._unknown(candidate, limit, compared.found)
        return self._confirm_exactly(candidate, compared, attempt.trials, seed, tied)

    def _decide_at_given_sizes(
        self,
        candidate: Candidate,
        attempt: Counterexample | UncertainDifference,
        compared: _Equal | _NotProved,
        seed: int,
    ) -> Verdict | Survived:
        """Decide a candidate that differs at other sizes than the given ones by a trial at these."""
        if isinstance(attempt, Counterexample) and isinstance(compared, _NotProved):
            return Refuted(candidate, attempt)
        again = self.refuter.attempt_at_given_sizes(candidate.sgraph, seed)
        if isinstance(attempt, UncertainDifference):  # counted as refuted where it is as good as a counterexample
            self._refuted += isinstance(again, Counterexample) or (
                isinstance(again, Untried) and isinstance(compared, _Equal)
            )
        match again:
            case Survived():
                return again
            case Counterexample():
                return (
                    Refuted(candidate, again)
                    if isinstance(compared, _NotProved)
                    else self._disagreement(candidate, compared, again)
                )
            case Untried(reason):
                limit = f"{DIFFERS_AT_OTHER_SIZES}, and those were not tried: {reason}"
                counterexample = attempt.counterexample if isinstance(attempt, UncertainDifference) else attempt
                case = self._case(candidate, compared, counterexample) if isinstance(compared, _Equal) else None
                return self._unknown(candidate, limit, compared.found, case)
            case _:
                assert_never(again)

    def _compare_forms(self, graph: SGraph) -> _Equal | _NotProved:
        """Compare the normal forms (Q1); of graphs with many kernels first part by part, cut at shared tensors."""
        if (
            _has_many_kernels(graph)
            and (met := self._compare_with_conditions(graph, whole=False, cut=True)) is not None
        ):
            return met
        compared = self._by_normal_form(graph, self._found(graph))
        if isinstance(compared, _NotProved) and (ones := ones_of(graph)):
            narrower = self._by_normal_form(graph, self._found(graph.substitute(ones)))
            return narrower if isinstance(narrower, _Equal) else compared
        return compared

    def _compare_with_definitions(self, graph: SGraph, compared: _NotProved) -> _Equal | _NotProved:
        """Compare forms with functions replaced by definitions (F1, F7), then under the candidate's conditions."""
        match compared:
            case _NotProved(Lowered() as goal, Lowered() as found):
                if self._by_definitions(graph, goal, found):
                    return _Equal(goal, found, "normal form")
                whole = True
            case _:
                whole = False
        return self._compare_with_conditions(graph, whole, not _has_many_kernels(graph)) or compared

    def _compare_with_conditions(self, graph: SGraph, whole: bool, cut: bool) -> _Equal | None:
        """Compare both graphs under the candidate's conditions on sizes: in full, or cut at shared tensors, or both."""
        try:
            met = meet(self.program.graph, graph, self._plain.budget, whole=whole, cut=cut)
        except RecursionError:
            return None
        return None if met is None else _Equal(*met, "normal form")

    def _masking_limit(self, graph: SGraph, equal: _Equal) -> str:
        """Why equal forms are no proof for graphs with masks; empty where they are one (`masking`)."""
        goal, found = equal.goal, equal.found
        if not goal.assumptions and not found.assumptions:
            return ""
        program = self.program.graph
        conditions = (*graph.conditions(), *program.conditions())
        self._plain.restart()
        limit = ""
        # What holds without the conditions holds with them; without them, all candidates share the algebra's cache.
        for algebra in (self._plain, Algebra(self._plain.budget, integers=conditions)):
            try:
                if goal is not self._goal or not self._goal_masks_checked:
                    check_masks(program, goal, algebra)
                    self._goal_masks_checked |= goal is self._goal and algebra is self._plain
                check_masks(graph, found, algebra)
            except NoNormalForm as stuck:
                limit = stuck.limit
            else:
                return ""
        return limit

    def _is_audit_turn(self) -> bool:
        """Count a refuted candidate; whether the prover must run on it, too."""
        self._refuted += 1
        return self._audits and self._refuted % AUDIT_EVERY == 0

    def _confirm_exactly(
        self, candidate: Candidate, equal: _Equal, trials: tuple[Trial, ...], seed: int, tied: bool
    ) -> Verdict:
        """Trials in exact arithmetic for a candidate that is proved and survived on floats, where they are possible."""
        exact: Attempt = Untried("a constant is tied to the given extents")
        if not tied:
            exact = self.refuter.attempt_exact(candidate.sgraph, seed)
        proof = prove(self.program, candidate.sgraph, equal.goal, equal.found, equal.method, self._names)
        match exact:
            case Counterexample():
                return self._disagreement(candidate, equal, exact)
            case Untried(reason):
                return Verified(candidate, proof, trials, reason)
            case Survived(more):
                return Verified(candidate, proof, (*trials, *more))

    def _found(self, graph: SGraph) -> Lowered | _NoForm:
        """The candidate's forms; not computed where the program has none."""
        return self._goal if isinstance(self._goal, _NoForm) else _lowered(graph, self._plain)

    def _by_normal_form(self, graph: SGraph, found: Lowered | _NoForm) -> _Equal | _NotProved:
        """Q1: the two forms are equal."""
        goal = self._goal
        match goal, found:
            case _NoForm(limit), _:
                return _NotProved(goal, found, f"the program itself: {limit}")
            case _, _NoForm(limit):
                return _NotProved(goal, found, limit)
            case _:
                same = goal.values[self.program.graph.output] == found.values[graph.output]
                return _Equal(goal, found, "normal form") if same else _NotProved(goal, found, DIFFER)

    def _try_slower_methods(self, candidate: Candidate, unproved: _NotProved, journal: Journal) -> _Equal | _NotProved:
        """Q2 (clear denominators), the same with functions replaced by definitions, then equality saturation."""
        aim, found = unproved.goal, unproved.found
        if isinstance(aim, _NoForm) or isinstance(found, _NoForm):
            return unproved
        goal, result = aim.values[self.program.graph.output], found.values[candidate.sgraph.output]
        cleared = _Equal(aim, found, "cleared denominators")
        try:
            if self._plain.equal_when_cleared(goal, result):
                return cleared
            spelled = self._forms_by_definitions(candidate.sgraph, goal, result)
            if spelled is not None and self._spelled.equal_when_cleared(*spelled):
                return cleared
        except NoNormalForm as stuck:
            return _NotProved(aim, found, stuck.limit)
        except RecursionError:
            return _NotProved(aim, found, DEEP)
        if self._limits is None:
            return _NotProved(aim, found, DIFFER)
        known = (*candidate.sgraph.conditions(), *self.program.graph.conditions())
        run = prove_equal(
            goal, result, self._limits, journal, candidate.id, integers=known
        )  # replaces functions where needed
        if run.equal:
            return _Equal(aim, found, "e-graph")
        return _NotProved(aim, found, f"{DIFFER}, and the e-graph: {explain(run.stop)}")

    def _by_definitions(self, graph: SGraph, goal: Lowered, found: Lowered) -> bool:
        """Whether the two forms are equal with functions replaced by definitions."""
        try:
            spelled = self._forms_by_definitions(
                graph, goal.values[self.program.graph.output], found.values[graph.output]
            )
        except (NoNormalForm, RecursionError):
            return False
        return spelled is not None and spelled[0] == spelled[1]

    def _forms_by_definitions(
        self, graph: SGraph, goal: NormalForm, found: NormalForm
    ) -> tuple[NormalForm, NormalForm] | None:
        """Both results with functions replaced by definitions; None where there are none.

        Raises:
            NoNormalForm: the budget ended.
        """
        if not _HAS_DEFINITION.search(goal.key) and not _HAS_DEFINITION.search(found.key):
            return None
        if self._spelled_goal is None:
            self._spelled_goal = _lowered(self.program.graph, self._spelled)
        if isinstance(self._spelled_goal, _NoForm):
            raise NoNormalForm(f"the program with functions spelled out: {self._spelled_goal.limit}")
        self._spelled.restart()
        result = lower(graph, self._spelled).values[graph.output]
        return self._spelled_goal.values[self.program.graph.output], result

    def restore(self, event: VerdictReached) -> None:
        """Take over what a saved verdict changed in the prover that reached it: names of classes, count of audits."""
        self._names.restore(event.classes)
        self._refuted += event.verdict == "refuted" or bool(event.case)

    # ------------------------------------------------------------ no proof
    def _unknown(self, candidate: Candidate, limit: str, found: Lowered | _NoForm, case: Case | None = None) -> Unknown:
        """The verdict `Unknown`, with the last shared values and the first ones that differ."""
        graph, goal = candidate.sgraph, self._goal
        wanted = "" if isinstance(goal, _NoForm) else show(goal.values[self.program.graph.output])
        had = "" if isinstance(found, _NoForm) else show(found.values[graph.output])
        shared: tuple[Shared, ...] = ()
        apart: tuple[tuple[str, str], ...] = ()
        if isinstance(goal, Lowered) and isinstance(found, Lowered):
            self._plain.restart()
            self._plain.steps = max(0, self._plain.budget.steps - STEPS_TO_EXPLAIN)
            common = compare_lowered(self.program, graph, goal, found, self._plain)
            shared = tuple(
                Shared(
                    c.term,
                    tuple(m for m in c.members if m.startswith("program.")),
                    tuple(m for m in c.members if not m.startswith("program.")),
                )
                for c in common.frontier
            )
            if (parting := common.disagreement) is not None:
                sides = (
                    (parting.program, parting.program_operation),
                    (parting.candidate, parting.candidate_operation),
                )
                apart = tuple(side for side in sides if side[0])
        return Unknown(candidate, limit, (wanted, had), shared, apart, str(case) if case else "")

    def _disagreement(self, candidate: Candidate, equal: _Equal, counterexample: Counterexample) -> Unknown:
        return self._unknown(candidate, DISAGREE, equal.found, self._case(candidate, equal, counterexample))

    def _case(self, candidate: Candidate, equal: _Equal, counterexample: Counterexample) -> Case:
        return Case(candidate.id, equal.method, self.program, candidate.sgraph, counterexample)


def verify(program: TensorProgram, candidate: Candidate, journal: Journal, seed: int = 0) -> Verdict:
    """Decide one candidate; a `Prover` decides many faster.

    Raises:
        ShapeError: the candidate's maps are open, it is ill-formed, or it has other inputs.
    """
    return Prover(program).verify(candidate, journal, seed)


def _lowered(graph: SGraph, algebra: Algebra) -> Lowered | _NoForm:
    algebra.restart()
    try:
        return lower(graph, algebra)
    except NoNormalForm as stuck:
        return _NoForm(stuck.limit)
    except RecursionError:
        return _NoForm(DEEP)


def _has_many_kernels(graph: SGraph) -> bool:
    return len(graph.customs) >= MANY_KERNELS


def _show_dims(dims: tuple[Dim, ...]) -> str:
    return f"({', '.join(map(str, dims))})"


_HAS_DEFINITION = re.compile(rf"@(?:{'|'.join(sorted(DEFINED))})\{{|max\{{\[\]")
"""Matches in a form's key a function with a definition, or a maximum with an operand without a bound index."""
