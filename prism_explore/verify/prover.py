"""The verdict: proved for all sizes, refuted with a witness, or unknown with the limit that was hit.

In order: the refuter, on floats; equal normal forms; the dearer ways to a proof. Whatever is proved must
survive in exact arithmetic too, where that is possible. Should prover and refuter ever disagree, the verdict
is unknown, the candidate is not offered, and the case is kept as a text that `replay_counterexample` runs again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import isfinite
from typing import assert_never

from prism_explore.errors import JournalVersionError, ShapeError
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import VerdictReached
from prism_explore.ir.dims import Dim
from prism_explore.ir.graph import SGraph
from prism_explore.ir.program import TensorProgram
from prism_explore.pipeline.stages import (
    Candidate,
    EClass,
    Family,
    Proof,
    Refuted,
    Shared,
    Trial,
    Unknown,
    Verdict,
    Verified,
    Witness,
)
from prism_explore.support.gc_pause import gc_paused
from prism_explore.verify.certificate.saturation import LIMITS, prove_equal
from prism_explore.verify.counterexample.case import Case, Method, read_case, show_witness
from prism_explore.verify.counterexample.refuter import Attempt, Refuter, Survived, UncertainDifference, Untried
from prism_explore.verify.egraph.limits import Limits, explain
from prism_explore.verify.normal_form.algebra import Algebra
from prism_explore.verify.normal_form.bound_names import DEEP, Budget, Stuck
from prism_explore.verify.normal_form.cut_points import meet
from prism_explore.verify.normal_form.equalities import compared
from prism_explore.verify.normal_form.forms import NormalForm, show
from prism_explore.verify.normal_form.functions import DEFINED
from prism_explore.verify.normal_form.lower_graph import Lowered, lower
from prism_explore.verify.normal_form.masking import check as check_masks
from prism_explore.verify.shapes.concretize import ones_of

MOST_NAMES = 20_000
"""Classes whose names are remembered: those of about a thousand proofs."""
STEPS_TO_EXPLAIN = 500
"""Of the budget, for finding which tiles both sides share where there is no proof."""
AUDITED = 16
"""Of so many refuted candidates the prover is asked about one; the others do not need it."""
MANY_KERNELS = 4
"""Whole forms of graphs with so many kernels are long; what each kernel gives is compared first."""
DISAGREE = "prover and refuter disagree"
APART = "at other extents than the given ones it differs"
DIFFER = "the normal forms differ"


@dataclass(frozen=True, slots=True)
class _Gap:
    """There is no form: the limit that was hit."""

    limit: str


@dataclass(frozen=True, slots=True)
class _Joined:
    """The two results are one, and how that is seen."""

    goal: Lowered
    found: Lowered
    method: Method


@dataclass(frozen=True, slots=True)
class _Parted:
    """There is no proof: the forms as far as there are any, and the limit that was hit."""

    goal: Lowered | _Gap
    found: Lowered | _Gap
    limit: str


class Prover:
    """Decides candidates of one program; what it learns about forms is kept from one to the next."""

    def __init__(
        self,
        program: TensorProgram,
        budget: Budget | None = None,
        saturation: Limits | None = LIMITS,
        audits: bool = True,
    ) -> None:
        """Begin with nothing learnt.

        Args:
            program: what candidates must equal.
            budget: of normal forms.
            saturation: how far the e-graph may go where nothing else decides; None leaves it out.
            audits: whether the prover is asked about some refuted candidates, too.
        """
        self._auditing = audits
        self.program = program
        self._inputs = program.inputs
        self.refuter = Refuter(program)
        self._plain = Algebra(budget)
        self._spelled = Algebra(budget, spell_out=True)
        self._goal = _lowered(program.graph, self._plain)
        self._goal_is_whole = False
        """Whether it was seen that no mask stands in the program's own way."""
        self._spelled_goal: Lowered | _Gap | None = None
        self._limits = saturation
        self._shown: dict[str, str] = {}
        """Per form in a proof, how it is printed."""
        self._named: dict[str, str] = {}
        """Per printed form, the id of its class."""
        self._classes_so_far = 0
        self._refuted = 0

    def verify(self, candidate: Candidate, journal: Journal, seed: int = 0) -> Verdict:
        """The verdict on a candidate, noted in the journal.

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
            verdict = self._verdict(candidate, seed, journal)
            journal.note(noted(verdict))
        return verdict

    def adopt(self, candidate: Candidate, verdict: Verdict) -> Verdict | None:
        """What another prover of this program found about a candidate, with this one's names of classes.

        None where it is this prover's turn to be asked about a refuted candidate, which the other was not.
        """
        match verdict:
            case Verified(_, proof):
                classes = tuple(EClass(self._name_of(c.term), c.term, c.members) for c in proof.classes)
                return replace(verdict, candidate=candidate, proof=replace(proof, classes=classes))
            case Refuted():
                if (self._refuted + 1) % AUDITED == 0:
                    return None
                self._refuted += 1
                return replace(verdict, candidate=candidate)
            case Unknown():
                self._refuted += bool(verdict.case)
                return replace(verdict, candidate=candidate)
            case _:
                assert_never(verdict)

    def prove(self, candidate: Candidate, journal: Journal) -> Method | str:
        """The prover alone, for a replay: how it proves a candidate, or the limit that it hits."""
        compared = self._compared(candidate.sgraph)
        if isinstance(compared, _Parted):
            compared = self._otherwise(candidate.sgraph, compared)
        if isinstance(compared, _Parted):
            compared = self._dearer(candidate, compared, journal)
        return compared.limit if isinstance(compared, _Parted) else compared.method

    # ------------------------------------------------------------ the ladder
    def _verdict(self, candidate: Candidate, seed: int, journal: Journal) -> Verdict:
        graph = candidate.sgraph
        dims, wanted = graph.output_type.dims, self.program.graph.output_type.dims
        if dims != wanted:
            return Unknown(candidate, f"the result has dims {_list(dims)}, the program's has {_list(wanted)}")
        compared: _Joined | _Parted | None = None
        given: Attempt | None = None
        if self.refuter.seems_tied(graph, seed):  # a witness of that is long to find, and refutes no proof
            compared = self._compared(graph)
            given = self.refuter.attempt_at_given_sizes(graph, seed) if isinstance(compared, _Joined) else None
        tied = isinstance(given, Survived)
        attempt = given if isinstance(given, Survived) else self.refuter.attempt(graph, seed)
        if isinstance(attempt, Witness) and not self._audits():
            return Refuted(candidate, attempt)
        compared = compared or self._compared(graph)
        if isinstance(attempt, Witness | UncertainDifference):
            as_given = self._as_given(candidate, attempt, compared, seed)
            if not isinstance(as_given, Survived):
                return as_given
            attempt, tied = as_given, True
        if isinstance(attempt, Untried):
            return self._unknown(candidate, f"the refuter could not run: {attempt.reason}", compared.found)
        if attempt.coinciding:
            limit = f"it type-checks only because axes {' and '.join(attempt.coinciding)} are equally long"
            return self._unknown(candidate, limit, compared.found)
        if isinstance(compared, _Parted):
            compared = self._otherwise(graph, compared)
        if isinstance(compared, _Parted) and not tied and self.refuter.is_doubtful(graph):
            as_given = self.refuter.attempt_at_given_sizes(graph, seed)  # what shrinks unlike may agree by that alone
            if isinstance(as_given, Witness):
                self._refuted += 1
                return Refuted(candidate, as_given)
        if isinstance(compared, _Parted):
            compared = self._dearer(candidate, compared, journal)
        if isinstance(compared, _Parted):
            return self._unknown(candidate, compared.limit, compared.found)
        if limit := self._masked_as_a_whole(graph, compared):
            return self._unknown(candidate, limit, compared.found)
        return self._confirmed(candidate, compared, attempt.trials, seed, tied)

    def _as_given(
        self, candidate: Candidate, attempt: Witness | UncertainDifference, compared: _Joined | _Parted, seed: int
    ) -> Verdict | Survived:
        """What the given extents say of a candidate that differs at others."""
        if isinstance(attempt, Witness) and isinstance(compared, _Parted):
            return Refuted(candidate, attempt)
        again = self.refuter.attempt_at_given_sizes(candidate.sgraph, seed)
        if isinstance(attempt, UncertainDifference):  # counted like a witness, where it is as good as one
            self._refuted += isinstance(again, Witness) or (
                isinstance(again, Untried) and isinstance(compared, _Joined)
            )
        match again:
            case Survived():
                return again
            case Witness():
                return (
                    Refuted(candidate, again)
                    if isinstance(compared, _Parted)
                    else self._disagreement(candidate, compared, again)
                )
            case Untried(reason):
                limit = f"{APART}, and those were not tried: {reason}"
                witness = attempt.witness if isinstance(attempt, UncertainDifference) else attempt
                case = self._case(candidate, compared, witness) if isinstance(compared, _Joined) else None
                return self._unknown(candidate, limit, compared.found, case)
            case _:
                assert_never(again)

    def _compared(self, graph: SGraph) -> _Joined | _Parted:
        """The forms of both graphs, and Q1; of graphs with many kernels cut where they meet, if that decides it."""
        if _large(graph) and (met := self._met(graph, whole=False, cut=True)) is not None:
            return met
        compared = self._by_normal_form(graph, self._found(graph))
        if isinstance(compared, _Parted) and (ones := ones_of(graph)):
            narrower = self._by_normal_form(graph, self._found(graph.substitute(ones)))
            return narrower if isinstance(narrower, _Joined) else compared
        return compared

    def _otherwise(self, graph: SGraph, compared: _Parted) -> _Joined | _Parted:
        """F1, F7; and both graphs anew, with what the candidate's conditions say of sizes."""
        match compared:
            case _Parted(Lowered() as goal, Lowered() as found):
                if self._by_definitions(graph, goal, found):
                    return _Joined(goal, found, "normal form")
                whole = True
            case _:
                whole = False
        return self._met(graph, whole, not _large(graph)) or compared

    def _met(self, graph: SGraph, whole: bool, cut: bool) -> _Joined | None:
        """Both graphs with what the candidate's conditions say of sizes: whole, or cut where they meet, as asked."""
        try:
            met = meet(self.program.graph, graph, self._plain.budget, whole=whole, cut=cut)
        except RecursionError:
            return None
        return None if met is None else _Joined(*met, "normal form")

    def _masked_as_a_whole(self, graph: SGraph, joined: _Joined) -> str:
        """Why equal forms are no proof for graphs that mask, where they are none (`masks`)."""
        goal, found = joined.goal, joined.found
        if not goal.assumptions and not found.assumptions:
            return ""
        program = self.program.graph
        facts = (*graph.conditions(), *program.conditions())
        self._plain.restart()
        limit = ""
        # What is seen without the facts holds with them; without, all candidates share what the algebra remembers.
        for algebra in (self._plain, Algebra(self._plain.budget, integers=facts)):
            try:
                if goal is not self._goal or not self._goal_is_whole:
                    check_masks(program, goal, algebra)
                    self._goal_is_whole |= goal is self._goal and algebra is self._plain
                check_masks(graph, found, algebra)
            except Stuck as stuck:
                limit = stuck.limit
            else:
                return ""
        return limit

    def _audits(self) -> bool:
        """Whether the prover is asked about this one although it is refuted: now and then, to see the two disagree."""
        self._refuted += 1
        return self._auditing and self._refuted % AUDITED == 0

    def _confirmed(
        self, candidate: Candidate, joined: _Joined, trials: tuple[Trial, ...], seed: int, tied: bool
    ) -> Verdict:
        """What is proved and survived on floats has its trials in exact arithmetic too, where there are any."""
        exact: Attempt = Untried("a constant is tied to the given extents")
        if not tied:
            exact = self.refuter.attempt_exact(candidate.sgraph, seed)
        proof = self._proof(candidate.sgraph, joined)
        match exact:
            case Witness():
                return self._disagreement(candidate, joined, exact)
            case Untried(reason):
                return Verified(candidate, proof, trials, reason)
            case Survived(more):
                return Verified(candidate, proof, (*trials, *more))

    def _found(self, graph: SGraph) -> Lowered | _Gap:
        """The candidate's forms; not where the program has none to compare them with."""
        return self._goal if isinstance(self._goal, _Gap) else _lowered(graph, self._plain)

    def _by_normal_form(self, graph: SGraph, found: Lowered | _Gap) -> _Joined | _Parted:
        """Q1: the two forms are one."""
        goal = self._goal
        match goal, found:
            case _Gap(limit), _:
                return _Parted(goal, found, f"the program itself: {limit}")
            case _, _Gap(limit):
                return _Parted(goal, found, limit)
            case _:
                same = goal.values[self.program.graph.output] == found.values[graph.output]
                return _Joined(goal, found, "normal form") if same else _Parted(goal, found, DIFFER)

    def _dearer(self, candidate: Candidate, parted: _Parted, journal: Journal) -> _Joined | _Parted:
        """Q2; the same with functions spelled out, where there are any; an e-graph."""
        aim, found = parted.goal, parted.found
        if isinstance(aim, _Gap) or isinstance(found, _Gap):
            return parted
        goal, result = aim.values[self.program.graph.output], found.values[candidate.sgraph.output]
        cleared = _Joined(aim, found, "cleared denominators")
        try:
            if self._plain.cleared(goal, result):
                return cleared
            spelled = self._spelled_out(candidate.sgraph, goal, result)
            if spelled is not None and self._spelled.cleared(*spelled):
                return cleared
        except Stuck as stuck:
            return _Parted(aim, found, stuck.limit)
        except RecursionError:
            return _Parted(aim, found, DEEP)
        if self._limits is None:
            return _Parted(aim, found, DIFFER)
        known = (*candidate.sgraph.conditions(), *self.program.graph.conditions())
        run = prove_equal(goal, result, self._limits, journal, candidate.id, integers=known)  # spells out as need be
        if run.equal:
            return _Joined(aim, found, "e-graph")
        return _Parted(aim, found, f"{DIFFER}, and the e-graph: {explain(run.stop)}")

    def _by_definitions(self, graph: SGraph, goal: Lowered, found: Lowered) -> bool:
        """Whether the two forms are one with functions spelled out."""
        try:
            spelled = self._spelled_out(graph, goal.values[self.program.graph.output], found.values[graph.output])
        except (Stuck, RecursionError):
            return False
        return spelled is not None and spelled[0] == spelled[1]

    def _spelled_out(self, graph: SGraph, goal: NormalForm, found: NormalForm) -> tuple[NormalForm, NormalForm] | None:
        """Both results with functions spelled out; None where there are none.

        Raises:
            Stuck: the budget ended.
        """
        if not _SPELLABLE.search(goal.key) and not _SPELLABLE.search(found.key):
            return None
        if self._spelled_goal is None:
            self._spelled_goal = _lowered(self.program.graph, self._spelled)
        if isinstance(self._spelled_goal, _Gap):
            raise Stuck(f"the program with functions spelled out: {self._spelled_goal.limit}")
        self._spelled.restart()
        result = lower(graph, self._spelled).values[graph.output]
        return self._spelled_goal.values[self.program.graph.output], result

    # ------------------------------------------------------------ what is said about it
    def _proof(self, graph: SGraph, joined: _Joined) -> Proof:
        goal, found = joined.goal, joined.found
        sizes = dict.fromkeys((*graph.conditions(), *self.program.graph.conditions()))
        conditions = tuple(str(d) for d in sizes if str(d) not in d.symbols)
        symbols = sorted({*graph.data_symbols, *graph.parameters})
        assumed = tuple(dict.fromkeys((*goal.assumptions, *found.assumptions)))
        which = f"for all positive integers {', '.join(symbols)}" if symbols else "for its one choice of sizes"
        if conditions:
            kind = "a positive integer" if len(conditions) == 1 else "positive integers"
            which += f" that make {' and '.join(conditions)} {kind}"
        claim = (
            f"{which}, and for all real inputs, its result equals that of {self.program.name}, "
            "in real arithmetic with x/0 = 0"
        )
        claim = "; ".join((claim, *assumed))
        return Proof(joined.method, claim, (*conditions, *assumed), self._classes(graph, goal, found))

    def _classes(self, graph: SGraph, wanted: Lowered, found: Lowered) -> tuple[EClass, ...]:
        """Tensors of program and candidate in groups of equal value; the two results are in one."""
        goal, result = wanted.values[self.program.graph.output], found.values[graph.output]
        groups: dict[str, tuple[NormalForm, list[str]]] = {}

        def put(members: Sequence[str], forms: Sequence[NormalForm]) -> None:
            for member, form in zip(members, forms, strict=True):
                if form.key == result.key:
                    form = goal
                group = groups.get(form.key)
                if group is None:
                    groups[form.key] = form, [member]
                else:
                    group[1].append(member)

        put(_members("program.%", len(wanted.values)), wanted.values)
        for n, form in enumerate(found.values):
            put((f"k{n}",), (form,))
            if n in found.blocks:
                put(_members(f"k{n}.b", len(found.blocks[n])), found.blocks[n])
        return tuple([EClass(*self._name(key, form), tuple(members)) for key, (form, members) in groups.items()])

    def _name(self, key: str, form: NormalForm) -> tuple[str, str]:
        """The id and the text of a class; no id is given twice, and the oldest names are forgotten first."""
        text = self._shown.get(key)
        if text is None:
            _forget_oldest(self._shown)
            text = self._shown[key] = show(form)
        return self._named.get(text) or self._name_of(text), text

    def _name_of(self, text: str) -> str:
        if text not in self._named:
            self._classes_so_far += 1
            self._call(text, f"c{self._classes_so_far}")
        return self._named[text]

    def _call(self, text: str, name: str) -> None:
        _forget_oldest(self._named)
        self._named[text] = name

    def learn(self, candidate: Candidate, fact: VerdictReached) -> None:
        """Take over what a saved verdict would have taught this prover: names of classes, and its count of audits."""
        for name, text, _ in fact.classes:
            if text not in self._named:
                self._classes_so_far = int(name.removeprefix("c"))
                self._call(text, name)
        self._refuted += fact.verdict == "refuted" or bool(fact.case)

    # ------------------------------------------------------------ what is said where there is no proof
    def _unknown(self, candidate: Candidate, limit: str, found: Lowered | _Gap, case: Case | None = None) -> Unknown:
        """With what both sides have in common and where they part."""
        graph, goal = candidate.sgraph, self._goal
        wanted = "" if isinstance(goal, _Gap) else show(goal.values[self.program.graph.output])
        had = "" if isinstance(found, _Gap) else show(found.values[graph.output])
        shared: tuple[Shared, ...] = ()
        apart: tuple[tuple[str, str], ...] = ()
        if isinstance(goal, Lowered) and isinstance(found, Lowered):
            self._plain.restart()
            self._plain.steps = max(0, self._plain.budget.steps - STEPS_TO_EXPLAIN)
            common = compared(self.program, graph, goal, found, self._plain)
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

    def _disagreement(self, candidate: Candidate, joined: _Joined, witness: Witness) -> Unknown:
        return self._unknown(candidate, DISAGREE, joined.found, self._case(candidate, joined, witness))

    def _case(self, candidate: Candidate, joined: _Joined, witness: Witness) -> Case:
        return Case(candidate.id, joined.method, self.program, candidate.sgraph, witness)


@dataclass(frozen=True, slots=True)
class Replay:
    """What prover and refuter say of a case now."""

    case: Case
    proved: str
    """How the prover proves the candidate; empty where it does not."""
    limit: str
    """The limit that it hit, where it does not; empty where it was not asked."""
    refuter: Attempt

    @property
    def disagree(self) -> bool:
        """Whether the two still do."""
        return bool(self.proved) and isinstance(self.refuter, Witness)

    @property
    def differs(self) -> bool:
        """Whether program and candidate still differ at the case's numbers."""
        return isinstance(self.refuter, Witness)

    def __str__(self) -> str:
        match self.refuter:
            case Witness():
                said = f"{self.case.candidate} differs from {self.case.program.name}\n{show_witness(self.refuter)}"
            case Survived():
                said = f"{self.case.candidate} agrees with {self.case.program.name} at the case's numbers now"
            case Untried(reason):
                said = f"{self.case.candidate} could not be run: {reason}"
            case _:
                assert_never(self.refuter)
        if self.case.method is None:
            return said
        return f"{said}\nthe prover: {f'proved by {self.proved}' if self.proved else self.limit}"


def replay_counterexample(text: str) -> Replay:
    """Run a saved case again: the refuter on the case's own numbers, and, where it disagreed, the prover by itself.

    Raises:
        ParseError: the text is no case.

    Example:
        >>> import prism_explore as px
        >>> px.replay_counterexample("no case")
        Traceback (most recent call last):
            ...
        prism_explore.errors.ParseError: ...
    """
    case = read_case(text)
    family = Family(case.candidate.split(".")[0], case.program, case.sgraph)
    prover = Prover(case.program)
    again = prover.refuter.replay(case.witness, case.sgraph)
    if case.method is None:
        return Replay(case, "", "", again)
    said = prover.prove(Candidate(case.candidate, family, case.sgraph, (), case.sgraph.conditions()), Journal())
    proved = said if said in ("normal form", "cleared denominators", "e-graph") else ""
    return Replay(case, proved, "" if proved else said, again)


def holds_at(verified: Verified, sizes: Mapping[str, int]) -> tuple[str, ...]:
    """Which conditions of a proof these numbers break, for a family that is used at other shapes; none if it holds.

    Args:
        verified: what was proved.
        sizes: numbers for the program's symbols, and for grid sizes and loop ranges.

    Raises:
        ShapeError: a symbol of a condition has no number.
    """
    return verified.proof.broken_at(sizes)


def verify(program: TensorProgram, candidate: Candidate, journal: Journal, seed: int = 0) -> Verdict:
    """The verdict on one candidate; a `Prover` does the same for many, faster.

    Raises:
        ShapeError: the candidate's maps are open, it is ill-formed, or it has other inputs.
    """
    return Prover(program).verify(candidate, journal, seed)


def _lowered(graph: SGraph, algebra: Algebra) -> Lowered | _Gap:
    algebra.restart()
    try:
        return lower(graph, algebra)
    except Stuck as stuck:
        return _Gap(stuck.limit)
    except RecursionError:
        return _Gap(DEEP)


def _large(graph: SGraph) -> bool:
    return len(graph.customs) >= MANY_KERNELS


def _list(dims: tuple[Dim, ...]) -> str:
    return f"({', '.join(map(str, dims))})"


_SPELLABLE = re.compile(rf"@(?:{'|'.join(sorted(DEFINED))})\{{|max\{{\[\]")
"""In a form's key, a function that has a definition, or a maximum of which one piece has no bound index."""


def noted(verdict: Verdict) -> VerdictReached:
    """The verdict as a fact."""
    match verdict:
        case Verified(candidate, proof, trials):
            return VerdictReached(
                candidate.id,
                "proved",
                proof.method,
                proof.claim,
                proof.conditions,
                proof.classes,
                tuple((_sizes_text(t.sizes), t.relative_error) for t in trials if t.error_bound is None),
                exact=tuple((_sizes_text(t.sizes), t.error_bound) for t in trials if t.error_bound is not None),
                evidence=verdict.evidence,
            )
        case Refuted(candidate, w):
            where = f"at {_sizes_text(w.sizes)}, seed {w.seed}, element [{', '.join(map(str, w.index))}]"
            by = f"off by {w.relative_error:.2g} of the largest value" if isfinite(w.relative_error) else "a race"
            detail = f"{where}: the program gives {w.expected:.6g}, the candidate {w.found:.6g} ({by})"
            return VerdictReached(candidate.id, "refuted", "counterexample", detail, witness=show_witness(w))
        case Unknown(candidate, limit, nearest, shared, apart, case):
            return VerdictReached(
                candidate.id,
                "unknown",
                "",
                limit,
                nearest=tuple(n for n in nearest if n),
                shared=tuple((c.term, (*c.program, *c.candidate)) for c in shared),
                apart=apart,
                case=case,
            )
        case _:
            assert_never(verdict)


def _sizes_text(sizes: tuple[tuple[str, int], ...]) -> str:
    return ", ".join(f"{s}={n}" for s, n in sizes)


def _sizes(text: str) -> tuple[tuple[str, int], ...]:
    pairs = (word.partition("=") for word in text.split(", ") if word)
    return tuple((symbol, int(number)) for symbol, _, number in pairs)


@lru_cache(512)
def _members(prefix: str, count: int) -> tuple[str, ...]:
    """The names of so many tensors of one graph."""
    return tuple(f"{prefix}{n}" for n in range(count))


def _forget_oldest(memory: dict[str, str]) -> None:
    if len(memory) >= MOST_NAMES:
        del memory[next(iter(memory))]


def recalled(candidate: Candidate, fact: VerdictReached, seed: int) -> Verified | None:
    """What a saved verdict says of a candidate, without its certificate; None where it was not proved.

    It is as good as the file it came from. Raises `JournalVersionError` where that says what no verdict says.
    """
    if fact.verdict != "proved":
        return None
    if fact.method not in ("normal form", "cleared denominators", "e-graph"):
        raise JournalVersionError(
            f"the saved verdict on {candidate.id} was reached by {fact.method!r}, which is no way"
        )
    try:
        floats = tuple(Trial(_sizes(at), seed + n, error) for n, (at, error) in enumerate(fact.trials))
        exact = tuple(
            Trial(_sizes(at), seed + n, 0.0, (0.0, 0.0), "prime fields", bound)
            for n, (at, bound) in enumerate(fact.exact)
        )
    except ValueError as error:
        raise JournalVersionError(f"the saved verdict on {candidate.id} names no sizes: {error}") from None
    proof = Proof(fact.method, fact.detail, fact.conditions, tuple(EClass(*c) for c in fact.classes))
    return Verified(candidate, proof, (*floats, *exact))
