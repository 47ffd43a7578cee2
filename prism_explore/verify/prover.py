"""The prover: decides whether a candidate equals its program.

Input: a program and a candidate graph. Output: a verdict, which is verified for all sizes, refuted with a
counterexample, or unknown with the limit that was hit. Method, in this order: the refuter in float64; equal normal
forms; then the slower proof methods (cleared denominators, definitions of functions, equality saturation). A proved
candidate must also survive trials in exact arithmetic, where these are possible. If prover and refuter disagree, the
verdict is unknown and contains a text that `replay.replay_counterexample` runs again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import assert_never, get_args

from prism_explore.errors import ShapeError
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import VerdictReached
from prism_explore.ir.dims import Dim
from prism_explore.ir.graph import SGraph
from prism_explore.ir.program import TensorProgram
from prism_explore.pipeline.stages import (
    Candidate,
    Cause,
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
from prism_explore.verify.normal_form.bound_names import DEEP, Budget, NoNormalForm, OverBudget
from prism_explore.verify.normal_form.cut_points import find_equal_forms
from prism_explore.verify.normal_form.equalities import compare_lowered
from prism_explore.verify.normal_form.forms import NormalForm, show
from prism_explore.verify.normal_form.functions import DEFINED_FUNCTIONS
from prism_explore.verify.normal_form.index import MOVED
from prism_explore.verify.normal_form.index import ZERO as INDEX_ZERO
from prism_explore.verify.normal_form.lower_graph import KEEPS_AN_ENTRY, Lowered, lower
from prism_explore.verify.normal_form.masking import check as check_masks
from prism_explore.verify.proof import ClassNames, join_proofs, make_proof
from prism_explore.verify.shapes.concretize import forced_ones
from prism_explore.verify.verdict_events import verdict_event

STEPS_TO_EXPLAIN = 500
"""Steps of the budget that are reserved to find shared tiles where there is no proof."""
AUDIT_INTERVAL = 16
"""The prover also runs on every n-th refuted candidate of a search, to detect disagreement."""
MANY_KERNELS = 4
"""From so many kernels on, forms are first compared with cut points, because full forms are long."""
DISAGREE = "prover and refuter disagree"
DIFFERS_AT_OTHER_SIZES = "at other extents than the given ones it differs"
DIFFER = "the normal forms differ"


@dataclass(frozen=True, slots=True)
class _NoForm:
    """A graph without a normal form, and the limit that was hit."""

    limit: str
    cause: Cause


@dataclass(frozen=True, slots=True)
class _Equal:
    """The two results are proved equal: the forms, and the method of proof."""

    goal: Lowered
    found: Lowered
    method: Method


@dataclass(frozen=True, slots=True)
class _NotProved:
    """There is no proof: the forms, where they exist, and the limit that was hit."""

    goal: Lowered | _NoForm
    found: Lowered | _NoForm
    limit: str = DIFFER
    cause: Cause = Cause.FORMS_DIFFER


class Prover:
    """Decides candidates of one program; normal forms are cached across candidates."""

    def __init__(
        self,
        program: TensorProgram,
        budget: Budget | None = None,
        saturation: Limits | None = LIMITS,
        audit_interval: int | None = AUDIT_INTERVAL,
        at_own_sizes: bool = False,
    ) -> None:
        """Lower the program.

        Args:
            program: the program that candidates must equal.
            budget: the limits of normal forms.
            saturation: the limits of equality saturation, the last method; None disables it.
            audit_interval: the prover also runs on every so many-th refuted candidate; None for on none of them.
            at_own_sizes: whether a difference at other extents than the given ones refutes only where no way of
                comparing the forms finds them equal; else it does where the normal forms differ.
        """
        self._at_own_sizes = at_own_sizes
        self._audit_interval = audit_interval
        self.program = program
        self._inputs = program.inputs
        self.refuter = Refuter(program)
        self._plain = Algebra(budget)
        self._spelling = {
            Algebra(budget, expand_definitions=True): _HAS_DEFINITION,
            Algebra(budget, by_order=True): _BY_ORDER,
            Algebra(budget, unrolled=True): _HAS_CONSTANT_INDEX,
        }
        """The algebras that spell functions, orders and sums out, each with what it looks for in a form's key."""
        self._goal = _lowered(program.graph, self._plain)
        self._goal_masks_checked = False
        """Whether the masking analysis accepted the program."""
        self._spelled_goals: dict[Algebra, Lowered | _NoForm] = {}
        """The program's forms by each algebra that spells functions out."""
        self._limits = saturation
        self._class_names = ClassNames()
        self._refuted = 0
        self._of_results: tuple[Prover, ...] = ()
        """Of a program with several results, a prover for each of them."""
        if program.graph.further:
            each = (replace(program, graph=program.graph.for_result(n)) for n in range(len(program.graph.outputs)))
            self._of_results = tuple(Prover(one, budget, saturation, audit_interval, at_own_sizes) for one in each)
            for prover in self._of_results:
                prover._class_names = self._class_names

    def verify(self, candidate: Candidate, journal: Journal, seed: int = 0) -> Verdict:
        """Decide a candidate and append the verdict to the journal.

        Args:
            candidate: a candidate of this program whose maps are closed.
            journal: receives the events of equality saturation, if that runs, and then `VerdictReached`.
            seed: the seed of the refuter's inputs.

        Returns:
            `Verified`, `Refuted` or `Unknown`.

        Raises:
            ShapeError: the candidate's maps are open, it is ill-formed, or it has other inputs.
        """
        graph = candidate.sgraph
        if graph.is_open:
            raise ShapeError(f"{candidate.id}: maps are still open; verify what `instantiate` yields")
        if len(graph.outputs) != len(self.program.graph.outputs):
            raise ShapeError(
                f"{candidate.id} has {len(graph.outputs)} results; {self.program.name} has "
                f"{len(self.program.graph.outputs)}"
            )
        if graph.inputs != self._inputs and set(graph.inputs) != set(self._inputs):
            given = ", ".join(f"{i.name} {i.type}" for i in graph.inputs)
            wanted = ", ".join(f"{i.name} {i.type}" for i in self.program.inputs)
            raise ShapeError(f"{candidate.id} has inputs {given}; {self.program.name} has {wanted}")
        with gc_paused():
            verdict = self._decide(candidate, seed, journal)
            journal.append(verdict_event(verdict))
        return verdict

    def adopt(self, candidate: Candidate, verdict: Verdict) -> Verdict | None:
        """The verdict of another prover of this program, with the class names of this one.

        None where this prover must audit a refuted candidate, which the other one did not audit.
        """
        match verdict:
            case Verified(_, proof):
                classes = tuple(EClass(self._class_names.id_of(c.term), c.term, c.members) for c in proof.classes)
                return replace(verdict, candidate=candidate, proof=replace(proof, classes=classes))
            case Refuted():
                if self._is_audit_turn():
                    self._refuted -= 1
                    return None
                return replace(verdict, candidate=candidate)
            case Unknown():
                self._refuted += bool(verdict.case)
                return replace(verdict, candidate=candidate)
            case _:
                assert_never(verdict)

    def prove(self, candidate: Candidate, journal: Journal) -> Method | str:
        """Prove a candidate without the refuter; returns the method of proof, or the limit that was hit."""
        if self._of_results:
            one_by_one = [
                prover.prove(replace(candidate, sgraph=candidate.sgraph.for_result(number)), journal)
                for number, prover in enumerate(self._of_results)
            ]
            return next((found for found in one_by_one if found not in get_args(Method)), one_by_one[0])
        compared = self._compare_forms(candidate.sgraph)
        if isinstance(compared, _NotProved):
            compared = self._compare_with_definitions(candidate.sgraph, compared)
        if isinstance(compared, _NotProved):
            compared = self._try_slower_methods(candidate, compared, journal)
        return compared.limit if isinstance(compared, _NotProved) else compared.method

    # ------------------------------------------------------------ deciding
    def _decide(self, candidate: Candidate, seed: int, journal: Journal) -> Verdict:
        graph = candidate.sgraph
        if self._of_results:
            return self._decide_each(candidate, seed, journal)
        dims, wanted = graph.output_type.dims, self.program.graph.output_type.dims
        if dims != wanted:
            limit = f"the result has dims {_show_dims(dims)}, the program's has {_show_dims(wanted)}"
            return Unknown(candidate, limit, Cause.OTHER_DIMS)
        compared: _Equal | _NotProved | None = None
        at_given_sizes: Attempt | None = None
        if self.refuter.constant_may_explain_difference(graph, seed):
            compared = self._compare_forms(graph)
            if isinstance(compared, _Equal):
                at_given_sizes = self.refuter.attempt_at_given_sizes(graph, seed)
        tied = isinstance(at_given_sizes, Survived)
        attempt = at_given_sizes if isinstance(at_given_sizes, Survived) else self.refuter.attempt(graph, seed)
        if isinstance(attempt, Counterexample) and not self._is_audit_turn():
            return Refuted(candidate, attempt)
        compared = compared or self._compare_forms(graph)
        if self._at_own_sizes and isinstance(attempt, Counterexample) and isinstance(compared, _NotProved):
            compared = self._compare_with_definitions(graph, compared)
        if isinstance(attempt, Counterexample | UncertainDifference):
            decided = self._decide_at_given_sizes(candidate, attempt, compared, seed)
            if not isinstance(decided, Survived):
                return decided
            attempt, tied = decided, True
        if isinstance(attempt, Untried):
            limit = f"the refuter could not run: {attempt.reason}"
            return self._unknown(candidate, limit, Cause.NOT_RUN, compared.found)
        if attempt.coinciding:
            limit = f"it type-checks only because axes {' and '.join(attempt.coinciding)} are equally long"
            return self._unknown(candidate, limit, Cause.EQUAL_AXES, compared.found)
        if isinstance(compared, _NotProved):
            compared = self._compare_with_definitions(graph, compared)
        if isinstance(compared, _NotProved) and not tied and self.refuter.is_doubtful(graph):
            # A candidate that survives at small sizes may be wrong at the given ones.
            again = self.refuter.attempt_at_given_sizes(graph, seed)
            if isinstance(again, Counterexample):
                self._refuted += 1
                return Refuted(candidate, again)
        if isinstance(compared, _NotProved):
            compared = self._try_slower_methods(candidate, compared, journal)
        if isinstance(compared, _NotProved):
            return self._unknown(candidate, compared.limit, compared.cause, compared.found)
        if stuck := self._masking_limit(graph, compared):
            return self._unknown(candidate, stuck.limit, stuck.cause, compared.found)
        return self._confirm_exactly(candidate, compared, attempt.trials, seed, tied)

    def _decide_each(self, candidate: Candidate, seed: int, journal: Journal) -> Verdict:
        """Decide a candidate with several results, one by one; the first that is not proved decides."""
        found: list[Verified] = []
        for number, prover in enumerate(self._of_results):
            one = replace(candidate, sgraph=candidate.sgraph.for_result(number))
            verdict = prover._decide(one, seed, journal)
            match verdict:
                case Verified():
                    found.append(verdict)
                case Refuted(_, counterexample):
                    return Refuted(candidate, replace(counterexample, result=number))
                case Unknown():
                    return replace(verdict, candidate=candidate, limit=f"result {number}: {verdict.limit}")
                case _:
                    assert_never(verdict)
        proof = join_proofs(self.program, [v.proof for v in found])
        trials = tuple(dict.fromkeys(t for v in found for t in v.trials))
        return Verified(candidate, proof, trials, next(filter(None, (v.why_no_exact_trial for v in found)), ""))

    def _decide_at_given_sizes(
        self,
        candidate: Candidate,
        attempt: Counterexample | UncertainDifference,
        compared: _Equal | _NotProved,
        seed: int,
    ) -> Verdict | Survived:
        """Decide a candidate that differs at other sizes than the given ones, by a trial at the given ones."""
        if isinstance(attempt, Counterexample) and isinstance(compared, _NotProved):
            return Refuted(candidate, attempt)
        again = self.refuter.attempt_at_given_sizes(candidate.sgraph, seed)
        if isinstance(attempt, UncertainDifference):  # counts as refuted where it is a counterexample
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
                case = self._make_case(candidate, compared, counterexample) if isinstance(compared, _Equal) else None
                return self._unknown(candidate, limit, Cause.OTHER_SIZES, compared.found, case)
            case _:
                assert_never(again)

    def _compare_forms(self, graph: SGraph) -> _Equal | _NotProved:
        """Compare the normal forms (Q1); those of graphs with many kernels first with cut points."""
        if (
            _has_many_kernels(graph)
            and (equal := self._compare_with_conditions(graph, with_cuts=True, without_cuts=False)) is not None
        ):
            return equal
        compared = self._compare_normal_forms(graph, self._lower_candidate(graph))
        if isinstance(compared, _NotProved) and (ones := forced_ones(graph)):
            narrower = self._compare_normal_forms(graph, self._lower_candidate(graph.substitute(ones)))
            return narrower if isinstance(narrower, _Equal) else compared
        return compared

    def _compare_with_definitions(self, graph: SGraph, compared: _NotProved) -> _Equal | _NotProved:
        """Compare forms with functions spelled out (F1, F7; O1 to O6, G1), then under the candidate's conditions."""
        match compared:
            case _NotProved(Lowered() as goal, Lowered() as found):
                if self._are_equal_by_definitions(graph, goal, found):
                    return _Equal(goal, found, "normal form")
                without_cuts = True
            case _:
                without_cuts = False
        with_cuts = not _has_many_kernels(graph)
        return self._compare_with_conditions(graph, with_cuts=with_cuts, without_cuts=without_cuts) or compared

    def _compare_with_conditions(self, graph: SGraph, *, with_cuts: bool, without_cuts: bool) -> _Equal | None:
        """Compare the normal forms of both graphs under the candidate's conditions on sizes; see `find_equal_forms`."""
        try:
            forms = find_equal_forms(
                self.program.graph, graph, self._plain.budget, with_cuts=with_cuts, without_cuts=without_cuts
            )
        except RecursionError:
            return None
        return None if forms is None else _Equal(*forms, "normal form")

    def _masking_limit(self, graph: SGraph, equal: _Equal) -> _NoForm | None:
        """Why equal forms of graphs with masks are no proof; None where they are a proof (see `masking`)."""
        goal, found = equal.goal, equal.found
        if KEEPS_AN_ENTRY not in (*goal.assumptions, *found.assumptions):
            return None
        program = self.program.graph
        conditions = (*graph.conditions(), *program.conditions())
        self._plain.restart()
        limit: _NoForm | None = None
        # Try without the conditions first, because all candidates share the cache of that algebra.
        for algebra in (self._plain, Algebra(self._plain.budget, integers=conditions)):
            try:
                if goal is not self._goal or not self._goal_masks_checked:
                    check_masks(program, goal, algebra)
                    self._goal_masks_checked |= goal is self._goal and algebra is self._plain
                check_masks(graph, found, algebra)
            except OverBudget as stuck:
                limit = _NoForm(stuck.limit, Cause.BUDGET)
            except NoNormalForm as stuck:
                limit = _NoForm(stuck.limit, Cause.MASKED)
            else:
                return None
        return limit

    def _is_audit_turn(self) -> bool:
        """Count a refuted candidate; returns whether the prover must run on it, too."""
        self._refuted += 1
        return self._audit_interval is not None and self._refuted % self._audit_interval == 0

    def _confirm_exactly(
        self, candidate: Candidate, equal: _Equal, trials: tuple[Trial, ...], seed: int, tied: bool
    ) -> Verdict:
        """Run trials in exact arithmetic, where they are possible, for a proved candidate that survived in float64."""
        exact: Attempt = Untried("a constant is tied to the given extents")
        if not tied:
            exact = self.refuter.attempt_exact(candidate.sgraph, seed)
        proof = make_proof(self.program, candidate.sgraph, equal.goal, equal.found, equal.method, self._class_names)
        match exact:
            case Counterexample():
                return self._disagreement(candidate, equal, exact)
            case Untried(reason):
                return Verified(candidate, proof, trials, reason)
            case Survived(more):
                return Verified(candidate, proof, (*trials, *more))

    def _lower_candidate(self, graph: SGraph) -> Lowered | _NoForm:
        """The forms of the candidate; not computed where the program has no forms."""
        return self._goal if isinstance(self._goal, _NoForm) else _lowered(graph, self._plain)

    def _compare_normal_forms(self, graph: SGraph, found: Lowered | _NoForm) -> _Equal | _NotProved:
        """Q1: compare the two forms."""
        goal = self._goal
        match goal, found:
            case _NoForm(limit, cause), _:
                return _NotProved(goal, found, f"the program itself: {limit}", cause)
            case _, _NoForm(limit, cause):
                return _NotProved(goal, found, limit, cause)
            case _:
                same = goal.values[self.program.graph.output] == found.values[graph.output]
                return _Equal(goal, found, "normal form") if same else _NotProved(goal, found)

    def _try_slower_methods(self, candidate: Candidate, unproved: _NotProved, journal: Journal) -> _Equal | _NotProved:
        """Try Q2 (cleared denominators), the same with functions replaced by definitions, then equality saturation."""
        lowered_goal, found = unproved.goal, unproved.found
        if isinstance(lowered_goal, _NoForm) or isinstance(found, _NoForm):
            return unproved
        goal, result = lowered_goal.values[self.program.graph.output], found.values[candidate.sgraph.output]
        cleared = _Equal(lowered_goal, found, "cleared denominators")
        try:
            if self._plain.equal_when_cleared(goal, result):
                return cleared
            for algebra in self._spelling:
                spelled = self._spelled_forms(candidate.sgraph, goal, result, algebra)
                if spelled is not None and algebra.equal_when_cleared(*spelled):
                    return cleared
        except NoNormalForm as stuck:
            return _NotProved(lowered_goal, found, stuck.limit, _cause(stuck))
        except RecursionError:
            return _NotProved(lowered_goal, found, DEEP, Cause.BUDGET)
        if self._limits is None:
            return _NotProved(lowered_goal, found)
        known = (*candidate.sgraph.conditions(), *self.program.graph.conditions())
        run = prove_equal(goal, result, self._limits, journal, candidate.id, integers=known)
        if run.equal:
            return _Equal(lowered_goal, found, "e-graph")
        return _NotProved(lowered_goal, found, f"{DIFFER}, and the e-graph: {explain(run.stop)}")

    def _are_equal_by_definitions(self, graph: SGraph, goal: Lowered, found: Lowered) -> bool:
        """Whether the two forms are equal with functions spelled out."""
        forms = goal.values[self.program.graph.output], found.values[graph.output]
        for algebra in self._spelling:
            try:
                spelled = self._spelled_forms(graph, *forms, algebra)
            except (NoNormalForm, RecursionError):
                continue
            if spelled is not None and (
                spelled[0] == spelled[1] or (algebra.by_order and _are_equal_by_cases(algebra, *spelled))
            ):
                return True
        return False

    def _spelled_forms(
        self, graph: SGraph, goal: NormalForm, found: NormalForm, algebra: Algebra
    ) -> tuple[NormalForm, NormalForm] | None:
        """Both results with functions spelled out; None where there are none.

        Raises:
            NoNormalForm: the budget ended.
        """
        spelled_out = self._spelling[algebra]
        if not spelled_out.search(goal.key) and not spelled_out.search(found.key):
            return None
        if algebra not in self._spelled_goals:
            self._spelled_goals[algebra] = _lowered(self.program.graph, algebra)
        own = self._spelled_goals[algebra]
        if isinstance(own, _NoForm):
            raised = OverBudget if own.cause is Cause.BUDGET else NoNormalForm
            raise raised(f"the program with functions spelled out: {own.limit}")
        algebra.restart()
        return own.values[self.program.graph.output], lower(graph, algebra).values[graph.output]

    def restore(self, event: VerdictReached) -> None:
        """Restore the state after a saved verdict: class names and the count of refuted candidates."""
        self._class_names.restore(event.classes)
        self._refuted += event.verdict == "refuted" or bool(event.case)

    # ------------------------------------------------------------ no proof
    def _unknown(
        self, candidate: Candidate, limit: str, cause: Cause, found: Lowered | _NoForm, case: Case | None = None
    ) -> Unknown:
        """The verdict `Unknown`, with the last shared values and the first ones that differ."""
        graph, goal = candidate.sgraph, self._goal
        wanted = "" if isinstance(goal, _NoForm) else show(goal.values[self.program.graph.output])
        own = "" if isinstance(found, _NoForm) else show(found.values[graph.output])
        shared: tuple[Shared, ...] = ()
        unmatched: tuple[tuple[str, str], ...] = ()
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
            if (difference := common.disagreement) is not None:
                sides = (
                    (difference.program, difference.program_operation),
                    (difference.candidate, difference.candidate_operation),
                )
                unmatched = tuple(side for side in sides if side[0])
        return Unknown(candidate, limit, cause, (wanted, own), shared, unmatched, str(case) if case else "")

    def _disagreement(self, candidate: Candidate, equal: _Equal, counterexample: Counterexample) -> Unknown:
        return self._unknown(
            candidate, DISAGREE, Cause.DISAGREEMENT, equal.found, self._make_case(candidate, equal, counterexample)
        )

    def _make_case(self, candidate: Candidate, equal: _Equal, counterexample: Counterexample) -> Case:
        return Case(candidate.id, equal.method, self.program, candidate.sgraph, counterexample)


def verify(program: TensorProgram, candidate: Candidate, journal: Journal, seed: int = 0) -> Verdict:
    """Decide one candidate; a `Prover` decides many faster.

    Raises:
        ShapeError: the candidate's maps are open, it is ill-formed, or it has other inputs.
    """
    return Prover(program).verify(candidate, journal, seed)


def _are_equal_by_cases(algebra: Algebra, a: NormalForm, b: NormalForm) -> bool:
    try:
        return algebra.equal_by_cases(a, b)
    except NoNormalForm:
        return False


def _lowered(graph: SGraph, algebra: Algebra) -> Lowered | _NoForm:
    algebra.restart()
    try:
        return lower(graph, algebra)
    except NoNormalForm as stuck:
        return _NoForm(stuck.limit, _cause(stuck))
    except RecursionError:
        return _NoForm(DEEP, Cause.BUDGET)


def _cause(stuck: NoNormalForm) -> Cause:
    return Cause.BUDGET if isinstance(stuck, OverBudget) else Cause.NO_FORM


def _has_many_kernels(graph: SGraph) -> bool:
    return len(graph.customs) >= MANY_KERNELS


def _show_dims(dims: tuple[Dim, ...]) -> str:
    return f"({', '.join(map(str, dims))})"


_HAS_DEFINITION = re.compile(rf"@(?:{'|'.join(sorted(DEFINED_FUNCTIONS))})\{{|max\{{\[\]")
"""Matches in the key of a form: a function with a definition, or a maximum with an operand without bound indices."""
_BY_ORDER = re.compile(rf"{_HAS_DEFINITION.pattern}|@(?:log|sin|cos|sqrt|root\d+)\{{|\^0|<=")
"""Matches these, a logarithm, sine, cosine or root, a power 0, such as that of a comparison, an interval and a band."""
_HAS_CONSTANT_INDEX = re.compile(rf"{re.escape(INDEX_ZERO.key + MOVED)}")
"""Matches a constant index."""
