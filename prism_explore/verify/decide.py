"""The verdict: proved for all sizes, refuted with a witness, or unknown with the limit that was hit.

In order: equal normal forms; else the refuter; else, where it found nothing, the dearer ways to a
proof. Whatever is proved must survive the refuter too. Should the two ever disagree, the verdict is
unknown, the candidate is not offered, and everything needed to look into it is noted.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Literal, TypeAlias, assert_never

from prism_explore.errors import ShapeError
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import VerdictReached
from prism_explore.ir.dims import Dim
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.sgraph import SGraph
from prism_explore.ir.stages import Candidate, EClass, Proof, Refuted, Unknown, Verdict, Verified, Witness
from prism_explore.ir.text import show as show_graph
from prism_explore.verify.algebra import Algebra, Budget, Stuck
from prism_explore.verify.lowering import Lowered, lower
from prism_explore.verify.normal_form import Exp, Group, NormalForm, Opaque, Term, show
from prism_explore.verify.outcome import Limits, explain
from prism_explore.verify.refute import Refuter, Survived, Untried
from prism_explore.verify.saturate import LIMITS, prove_equal

Method: TypeAlias = Literal["normal form", "cleared denominators", "e-graph"]

DISAGREE = "prover and refuter disagree"
_SPELLED = frozenset({"exp", "silu", "sigmoid"})


@dataclass(frozen=True, slots=True)
class _Gap:
    """There is no proof: the limit that was hit."""

    limit: str


class Prover:
    """Decides candidates of one program; what it learns about forms is kept from one to the next."""

    def __init__(
        self, program: TensorProgram, budget: Budget | None = None, saturation: Limits | None = LIMITS
    ) -> None:
        """`saturation`: how far the e-graph may go where nothing else decides; None leaves it out."""
        self.program = program
        self.refuter = Refuter(program)
        self._plain = Algebra(budget)
        self._spelled = Algebra(budget, spell_out=True)
        self._goal = _lowered(program.graph, self._plain)
        self._limits = saturation
        self._class_ids: dict[str, str] = {}

    def verify(self, candidate: Candidate, journal: Journal, seed: int = 0) -> Verdict:
        """The verdict on a candidate, noted in the journal.

        Raises:
            ShapeError: the candidate's maps are open, it is ill-formed, or it has other inputs.
        """
        graph = candidate.sgraph
        if graph.is_open:
            raise ShapeError(f"{candidate.id}: maps are still open; verify what `instantiate` yields")
        if set(graph.inputs) != set(self.program.inputs):
            given = ", ".join(f"{i.name} {i.type}" for i in graph.inputs)
            wanted = ", ".join(f"{i.name} {i.type}" for i in self.program.inputs)
            raise ShapeError(f"{candidate.id} has inputs {given}; {self.program.name} has {wanted}")
        verdict, note = self._verdict(candidate, seed, journal)
        journal.note(_event(verdict, note))
        return verdict

    # ------------------------------------------------------------ the ladder
    def _verdict(self, candidate: Candidate, seed: int, journal: Journal) -> tuple[Verdict, str]:
        """The verdict, and for a disagreement what it takes to look into it."""
        graph = candidate.sgraph
        dims, wanted = graph.output_type.dims, self.program.graph.output_type.dims
        if dims != wanted:
            return Unknown(candidate, f"the result has dims {_list(dims)}, the program's has {_list(wanted)}"), ""
        found = _lowered(graph, self._plain)
        outcome = self._by_normal_form(graph, found)
        attempt = self.refuter.attempt(graph, seed)
        if isinstance(attempt, Witness):
            if isinstance(outcome, _Gap) or isinstance(found, _Gap):
                return Refuted(candidate, attempt), ""
            as_given = self.refuter.attempt_as_given(graph, seed)
            if not isinstance(as_given, Survived):
                return Unknown(candidate, DISAGREE, self._nearest(graph, found)), self._replayable(graph, attempt)
            attempt = as_given
        if isinstance(attempt, Untried):
            limit = f"the refuter could not run: {attempt.reason}"
            return Unknown(candidate, limit, self._nearest(graph, found)), ""
        if attempt.coinciding:
            limit = f"it type-checks only because axes {' and '.join(attempt.coinciding)} are equally long"
            return Unknown(candidate, limit, self._nearest(graph, found)), ""
        if isinstance(found, Lowered) and isinstance(outcome, _Gap) and isinstance(self._goal, Lowered):
            outcome = self._dearer(candidate, found, self._goal, journal)
        if isinstance(outcome, _Gap) or isinstance(found, _Gap):
            limit = next(o.limit for o in (outcome, found) if isinstance(o, _Gap))
            return Unknown(candidate, limit, self._nearest(graph, found)), ""
        return Verified(candidate, self._proof(graph, found, outcome), attempt.trials), ""

    def _by_normal_form(self, graph: SGraph, found: Lowered | _Gap) -> Method | _Gap:
        """Q1: the two forms are one."""
        if isinstance(self._goal, _Gap):
            return _Gap(f"the program itself: {self._goal.limit}")
        if isinstance(found, _Gap):
            return found
        same = self._goal.values[self.program.graph.output] == found.values[graph.output]
        return "normal form" if same else _Gap("the normal forms differ")

    def _dearer(self, candidate: Candidate, found: Lowered, aim: Lowered, journal: Journal) -> Method | _Gap:
        """Q2; both ways again with silu and sigmoid spelled out where one side spells them; an e-graph."""
        output = self.program.graph.output
        goal, result = aim.values[output], found.values[candidate.sgraph.output]
        try:
            if self._plain.cleared(goal, result):
                return "cleared denominators"
            if _words(goal) != _words(result):
                self._spelled.restart()
                goal = lower(self.program.graph, self._spelled).values[output]
                result = lower(candidate.sgraph, self._spelled).values[candidate.sgraph.output]
                if goal == result:
                    return "normal form"
                if self._spelled.cleared(goal, result):
                    return "cleared denominators"
        except Stuck as stuck:
            return _Gap(stuck.limit)
        if self._limits is None:
            return _Gap("the normal forms differ")
        run = prove_equal(goal, result, self._limits, journal, candidate.id)
        return "e-graph" if run.equal else _Gap(f"the normal forms differ, and the e-graph: {explain(run.stop)}")

    # ------------------------------------------------------------ what is said about it
    def _proof(self, graph: SGraph, found: Lowered, method: Method) -> Proof:
        conditions = tuple(str(d) for d in graph.conditions() if str(d) not in d.symbols)
        symbols = sorted({*graph.data_symbols, *graph.parameters})
        which = f"for all positive integers {', '.join(symbols)}" if symbols else "for its one choice of sizes"
        if conditions:
            which += f" that make {' and '.join(conditions)} whole"
        claim = (
            f"{which}, and for all real inputs, its result equals that of {self.program.name}, "
            "in real arithmetic with x/0 = 0"
        )
        return Proof(method, claim, conditions, self._classes(graph, found))

    def _classes(self, graph: SGraph, found: Lowered) -> tuple[EClass, ...]:
        """Tensors of program and candidate in groups of equal value; the two results are in one."""
        assert isinstance(self._goal, Lowered), "only what was lowered is proved"
        goal, result = self._goal.values[self.program.graph.output], found.values[graph.output]
        groups: dict[str, tuple[NormalForm, list[str]]] = {}

        def put(form: NormalForm, member: str) -> None:
            form = goal if form == result else form
            groups.setdefault(form.key, (form, []))[1].append(member)

        for n, form in enumerate(self._goal.values):
            put(form, f"program.%{n}")
        for n, form in enumerate(found.values):
            put(form, f"k{n}")
            for m, inner in enumerate(found.blocks.get(n, ())):
                put(inner, f"k{n}.b{m}")
        return tuple(
            EClass(self._class_ids.setdefault(key, f"c{len(self._class_ids) + 1}"), show(form), tuple(members))
            for key, (form, members) in groups.items()
        )

    def _nearest(self, graph: SGraph, found: Lowered | _Gap) -> tuple[str, str]:
        goal = self._goal
        wanted = "" if isinstance(goal, _Gap) else show(goal.values[self.program.graph.output])
        return wanted, "" if isinstance(found, _Gap) else show(found.values[graph.output])

    def _replayable(self, graph: SGraph, witness: Witness) -> str:
        sizes = ", ".join(f"{s}={n}" for s, n in witness.sizes)
        return "\n".join((show_graph(self.program), show_graph(graph), f"at {sizes} with seed {witness.seed}"))


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


def _list(dims: tuple[Dim, ...]) -> str:
    return f"({', '.join(map(str, dims))})"


def _words(n: NormalForm) -> frozenset[str]:
    """Which of exp, silu and sigmoid occur."""
    found: set[str] = set()

    def meet(t: Term) -> None:
        for a, _ in t.factors:
            match a:
                case Exp(term):
                    found.add("exp")
                    meet(term)
                case Group(inner):
                    for u, _ in inner.terms:
                        meet(u)
                case Opaque(function, args):
                    found.add(function)
                    for arg in args:
                        for u, _ in arg.terms:
                            meet(u)
                case _:
                    pass

    for t, _ in n.terms:
        meet(t)
    return frozenset(found & _SPELLED)


def _event(verdict: Verdict, note: str) -> VerdictReached:
    """The verdict as a fact."""
    match verdict:
        case Verified(candidate, proof, trials):
            return VerdictReached(
                candidate.id,
                "proved",
                proof.method,
                proof.claim,
                proof.conditions,
                tuple((c.id, c.term, c.members) for c in proof.classes),
                tuple((_sizes_text(t.sizes), t.relative_error) for t in trials),
            )
        case Refuted(candidate, w):
            where = f"at {_sizes_text(w.sizes)}, seed {w.seed}, element [{', '.join(map(str, w.index))}]"
            by = f"off by {w.relative_error:.2g} of the largest value" if isfinite(w.relative_error) else "a race"
            detail = f"{where}: the program gives {w.expected:.6g}, the candidate {w.found:.6g} ({by})"
            return VerdictReached(candidate.id, "refuted", "counterexample", detail)
        case Unknown(candidate, limit, nearest):
            detail = "\n".join(part for part in (limit, note) if part)
            return VerdictReached(candidate.id, "unknown", "", detail, nearest=tuple(n for n in nearest if n))
        case _:
            assert_never(verdict)


def _sizes_text(sizes: tuple[tuple[str, int], ...]) -> str:
    return ", ".join(f"{s}={n}" for s, n in sizes)
