"""Certificates: one lemma for every tensor, and a last one per result that both sides are equal.

Input is a verified candidate; output is the same candidate with lemmas. The lemma of a tensor states that its operator,
applied to the normal forms of its operands, gives the normal form of its result; egglog derives it from the axioms
alone. Loads and stores only re-index, so both sides of their lemmas are the same text. `checker` verifies all lemmas
independently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

from prism_explore.events.journal import Journal
from prism_explore.events.kinds import CertificateReplayed
from prism_explore.ir import ops
from prism_explore.ir.dims import Dim
from prism_explore.ir.graph import SGraph, block_types
from prism_explore.ir.ops import BlockGraph
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.tensors import TensorType
from prism_explore.ir.text import show_node
from prism_explore.ir.transforms.lookups_as_inputs import lookups_as_inputs
from prism_explore.pipeline.stages import Lemma, Verified
from prism_explore.support.caches import memoize
from prism_explore.verify import axioms
from prism_explore.verify.certificate.definitions import (
    define_accumulate,
    define_accumulate_rescaled,
    define_load,
    define_operator,
    define_running_max,
    define_store,
)
from prism_explore.verify.certificate.derivation.derive import derive
from prism_explore.verify.certificate.expressions import Expr, FreshAxes, from_normal_form
from prism_explore.verify.certificate.lemma import TOO_DEEP, CannotState, Statement, expression_text, make_statement
from prism_explore.verify.certificate.readable import equation_chain
from prism_explore.verify.certificate.saturation import iteration_events, replay_problem, search_problem
from prism_explore.verify.checker.check import check, goal_name, is_goal
from prism_explore.verify.egraph.client import Problem, shared_client
from prism_explore.verify.egraph.limits import Limits, NotStated, Proved, Saturation, explain
from prism_explore.verify.normal_form.algebra import Algebra, NoNormalForm
from prism_explore.verify.normal_form.cut_points import find_equal_forms, results_equal
from prism_explore.verify.normal_form.forms import NormalForm, Read, show
from prism_explore.verify.normal_form.index import position, var
from prism_explore.verify.normal_form.lower_graph import Lowered, lower, lower_tensor
from prism_explore.verify.shapes.concretize import forced_ones

NOT_MINIMAL = "fewer axioms may do: it is too long for each of them to be tried to be left out"
"""The note of a lemma whose set of axioms is not known to be minimal; part of the file format."""
LEMMA_LIMITS = Limits(iterations=10)
"""The default limits of a lemma; most take three iterations and a hundred e-nodes."""
NO_LEMMAS: Mapping[str, Lemma] = MappingProxyType({})
"""Those of an earlier certificate, where there is none."""


@dataclass(frozen=True, slots=True)
class Obligation:
    """The statement to prove for a tensor: its operator's definition equals its normal form."""

    tensor: str
    operation: str
    value: str
    statement: Statement | None
    failure: str = ""
    """Why there is no statement; empty where there is one."""
    name_text: str = ""
    """The name that later lemmas use for the right side, at a cut point; empty elsewhere."""


def certify(
    verified: Verified,
    journal: Journal,
    limits: Limits = LEMMA_LIMITS,
    known: Mapping[str, Lemma] = NO_LEMMAS,
) -> Verified:
    """The same verdict with a lemma for every tensor of program and candidate.

    A lemma that egglog does not replay, or that the checker rejects, has a note; the verdict does not change, because
    it rests on the normal form. Parameters that the candidate's conditions force to be 1 are replaced by 1. Appends an
    event for each iteration of egglog and one for the certificate.

    Args:
        verified: a proved candidate.
        journal: receives the events.
        limits: the limits of each lemma.
        known: lemmas of an earlier certificate, by tensor. Their derivations are not searched again; the checker
            verifies each step. If it objects to one, all are searched.
    """
    candidate = verified.candidate
    program, sgraph = _sides(verified)
    if not known:
        with shared_client(limits.memory_bytes) as client:
            client.start()
    lemmas: list[Lemma] = []
    for obligation in obligations(program, sgraph):
        earlier = known.get(obligation.tensor)
        if earlier is not None and _proves(earlier, obligation):
            lemmas.append(earlier)
            continue
        lemma, run = _prove_obligation(obligation, limits)
        lemmas.append(lemma)
        note = iteration_events(journal, f"{candidate.id} {obligation.tensor}")
        for step in run.steps:
            note(step)

    errors = _objections(program, sgraph, lemmas, limits)
    if known and errors:
        return certify(verified, journal, limits)
    lemmas = [
        replace(x, replayed=False, note=f"the checker objects: {errors[x.tensor]}")
        if x.replayed and x.tensor in errors
        else x
        for x in lemmas
    ]
    journal.append(
        CertificateReplayed(
            candidate.id,
            tuple((x.tensor, x.operation, x.value, x.axioms, x.replayed, x.note) for x in lemmas),
            tuple(x.statement for x in lemmas),
        )
    )
    return replace(verified, proof=replace(verified.proof, lemmas=tuple(lemmas)))


def _sides(verified: Verified) -> tuple[TensorProgram, SGraph]:
    """The program and the graph, lookups as inputs; parameters that the conditions force to be 1 are 1."""
    program, sgraph = verified.candidate.family.program, verified.candidate.sgraph
    sgraph = sgraph.substitute(ones) if (ones := forced_ones(sgraph)) else sgraph
    return replace(program, graph=lookups_as_inputs(program.graph)), lookups_as_inputs(sgraph)


def _objections(program: TensorProgram, sgraph: SGraph, lemmas: Sequence[Lemma], limits: Limits) -> dict[str, str]:
    """The checker's first objection to each lemma, by tensor."""

    def replay_again(facts: str, left: str, right: str) -> str:
        with shared_client(limits.memory_bytes) as client:
            run = client.replay(Problem(facts, left, right), limits)
        return "" if run.equal else explain(run.stop)

    errors: dict[str, str] = {}
    for tensor, error in check(program, sgraph, tuple(lemmas), replay_again).errors:
        errors.setdefault(tensor, error)
    return errors


def _proves(lemma: Lemma, obligation: Obligation) -> bool:
    """Whether an earlier lemma is about the same, as its author says; the checker decides."""
    same = (lemma.operation, lemma.value) == (obligation.operation, obligation.value)
    return same and lemma.replayed and obligation.statement is not None


def _prove_obligation(obligation: Obligation, limits: Limits) -> tuple[Lemma, Saturation]:
    """The lemma and the run of egglog."""
    blank = Lemma(obligation.tensor, obligation.operation, obligation.value, (), False, obligation.failure)
    if obligation.statement is None:
        return blank, Saturation(NotStated(obligation.failure))
    if obligation.statement.is_trivial:
        answer = _Answer(obligation.statement.text, Saturation(Proved()))
    else:
        try:
            answer = _proof(obligation.statement, limits, axioms.AXIOMS)
        except _NotProvedError as found:
            answer = found.answer
            note = f"egglog: {explain(answer.run.stop)}"
            return replace(blank, note=note, statement=_named(answer.text, obligation)), answer.run
    lemma = replace(
        blank, axioms=answer.axioms, replayed=True, note=answer.note, statement=_named(answer.text, obligation)
    )
    return lemma, answer.run


def _named(text: str, obligation: Obligation) -> str:
    """The text of a lemma, with the name that later lemmas use for its right side."""
    return f"{text[:-1]}\n  (named {obligation.name_text}))" if obligation.name_text else text


@dataclass(frozen=True, slots=True)
class _Answer:
    """What proves a statement: the text with the steps, the run, the axioms, and what to note."""

    text: str
    run: Saturation
    axioms: tuple[str, ...] = ()
    note: str = ""


class _NotProvedError(Exception):
    """A run that proves nothing. It is not kept, because a limit of time or memory may not stop the next one."""

    def __init__(self, answer: _Answer) -> None:
        self.answer = answer


@memoize(4_096)
def _proof(statement: Statement, limits: Limits, _axioms: tuple[axioms.Axiom, ...]) -> _Answer:
    """A replay of the derivation where there is one, else a search.

    The families of one program share the lemmas of its tensors, and most of their own.

    Raises:
        _NotProvedError: egglog does not prove it.
    """
    found = derive(statement)
    with shared_client(limits.memory_bytes) as client:
        if found is not None:
            run = client.prove(replay_problem(found), limits, found.axioms, unite_only=True)
            answer = _Answer(found.text, run, found.axioms, "" if found.minimal else NOT_MINIMAL)
        else:
            run = client.minimize(search_problem(statement), limits)
            answer = _Answer(statement.text, run, run.axioms)
    if not run.equal:
        raise _NotProvedError(answer)
    return answer


# ---------------------------------------------------------------- obligations
def obligations(program: TensorProgram, candidate: SGraph) -> Iterator[Obligation]:
    """The obligation of every tensor of `tensors_to_prove`, in its order.

    Raises:
        NoNormalForm: a graph has no normal form.
    """
    return (state() for state in tensors_to_prove(program, candidate).values())


def tensors_to_prove(program: TensorProgram, candidate: SGraph) -> dict[str, Callable[[], Obligation]]:
    """Per tensor of both graphs except inputs, and at last per pair of results, a function that states its obligation.

    A statement takes much longer than its name, and a reader of one lemma needs only one. Tensors are named program.%5,
    k3 (kernel level) and k3.b7 (inside the custom kernel k3).

    Raises:
        NoNormalForm: a graph has no normal form.
    """
    wanted, found = _lower_both(program.graph, candidate)
    algebra = Algebra(integers=(*candidate.conditions(), *program.graph.conditions()))
    equations = [
        *_graph_equations(program.graph, wanted, "program.%", algebra),
        *_graph_equations(candidate, found, "k", algebra),
    ]
    for number, (a, b) in enumerate(zip(candidate.outputs, program.graph.outputs, strict=True)):
        goal, left = partial(from_normal_form, found.values[a]), wanted.values[b]
        equations.append(_Equation(goal_name(number), f"k{a} = program.%{b}", left, goal, algebra.integers))
    return {e.tensor: e.state for e in equations}


def _lower_both(program: SGraph, candidate: SGraph) -> tuple[Lowered, Lowered]:
    """The normal forms of both graphs; without cut points, where forms are short enough."""
    algebra = Algebra()
    try:
        wanted = lower(program, algebra)
        algebra.restart()
        found = lower(candidate, algebra)
    except NoNormalForm:
        equal_forms = find_equal_forms(program, candidate, algebra.budget)
        if equal_forms is None:
            raise
        return equal_forms
    if results_equal(program, wanted, candidate, found):
        return wanted, found
    return find_equal_forms(program, candidate, algebra.budget, with_cuts=False) or (wanted, found)


@dataclass(frozen=True, slots=True)
class _Equation:
    """That an expression equals a normal form; to state it takes much longer than to make it."""

    tensor: str
    operation: str
    form: NormalForm
    """The right side."""
    left: Callable[[FreshAxes], Expr]
    """Makes the left side."""
    integers: tuple[Dim, ...]
    """Sizes that are positive integers by the conditions of the proof."""
    name: NormalForm | None = None
    """The form that later lemmas use instead of `form`, at a cut point."""

    def state(self) -> Obligation:
        """The obligation."""
        name_text = "" if self.name is None else expression_text(from_normal_form(self.name, FreshAxes()))
        fresh = FreshAxes(self.integers)
        try:
            statement = make_statement(self.left(fresh), from_normal_form(self.form, fresh), self.integers)
        except (CannotState, ValueError) as error:
            return self._not_stated(str(error))
        except RecursionError:
            return self._not_stated(TOO_DEEP)
        return Obligation(self.tensor, self.operation, show(self.form), statement, name_text=name_text)

    def _not_stated(self, why: str) -> Obligation:
        return Obligation(self.tensor, self.operation, show(self.form), None, f"not stated: {why}")


def _graph_equations(graph: SGraph, lowered: Lowered, prefix: str, algebra: Algebra) -> Iterator[_Equation]:
    types = graph.types()
    input_names = {n: node.op.name for n, node in enumerate(graph.nodes) if isinstance(node.op, ops.Input)}
    for n, node in enumerate(graph.nodes):
        values = tuple(lowered.values[a] for a in node.args)
        form = lowered.values[n]
        name = form if _is_name(form, types[n].dims) and not isinstance(node.op, ops.Input) else None
        match node.op:
            case ops.Input():
                continue
            case ops.Custom(block):
                operands = tuple(types[a] for a in node.args)
                yield from _block_equations(
                    block, lowered.blocks[n], values, operands, f"{prefix}{n}", name, algebra.integers
                )
                continue
            case ops.Band() as op:
                left = partial(_define_over_forms, op, (), (), types[n].rank)
            case ops.Result(which):
                custom = graph.nodes[node.args[0]].op
                assert isinstance(custom, ops.Custom), "SGraph checks what a result belongs to"
                stored = lowered.blocks[node.args[0]][custom.block.stores[which]]
                form = stored if name is not None else form
                left = partial(from_normal_form, stored)
            case ops.Load() | ops.Store() | ops.Accumulate() | ops.AccumulateRescaled() | ops.RunningMax():
                raise AssertionError("SGraph refuses block-level operators")
            case op:
                shapes = tuple(types[a].dims for a in node.args)
                if name is not None:
                    algebra.restart()
                    form = lower_tensor(op, values, shapes, algebra)
                left = partial(_define_over_forms, op, values, shapes, types[n].rank)
        yield _Equation(f"{prefix}{n}", show_node(node, input_names), form, left, algebra.integers, name)


def _block_equations(
    block: BlockGraph,
    forms: tuple[NormalForm, ...],
    values: tuple[NormalForm, ...],
    operands: tuple[TensorType, ...],
    kernel: str,
    name: NormalForm | None,
    integers: tuple[Dim, ...],
) -> Iterator[_Equation]:
    types = block_types(block, operands)
    for n, node in enumerate(block.nodes):
        args = values if isinstance(node.op, ops.Load) else tuple(forms[a] for a in node.args)
        shapes = tuple(types[a].dims for a in node.args)
        tensor = kernel if n == block.stores[0] else f"{kernel}.b{n}"
        left = partial(_define_in_block, block, node.op, args, shapes, types[n].dims)
        yield _Equation(tensor, show_node(node), forms[n], left, integers, name if tensor == kernel else None)


def _define_over_forms(
    op: ops.Band | ops.Lookup | ops.ComputeOp,
    forms: tuple[NormalForm, ...],
    shapes: tuple[tuple[Dim, ...], ...],
    rank: int,
    fresh: FreshAxes,
) -> Expr:
    """An operator's definition, applied to the normal forms of its operands."""
    return define_operator(op, tuple(from_normal_form(a, fresh) for a in forms), shapes, rank, fresh)


def _define_in_block(
    block: BlockGraph,
    op: ops.Op,
    forms: tuple[NormalForm, ...],
    shapes: tuple[tuple[Dim, ...], ...],
    dims: tuple[Dim, ...],
    fresh: FreshAxes,
) -> Expr:
    """The same for an operator of a block graph; `dims` are those of its result."""
    operands = tuple(from_normal_form(a, fresh) for a in forms)
    loop = block.loop.size if block.loop else None
    match op:
        case ops.Load(operand, _, _):
            return define_load(block, op, operands[operand], dims, fresh.integers)
        case ops.Store():
            return define_store(block, op, operands[0], shapes[0], dims, fresh.integers)
        case ops.Accumulate():
            return define_accumulate(op, operands[0], shapes[0], loop, fresh)
        case ops.RunningMax():
            return define_running_max(op, operands[0], shapes[0], loop, fresh)
        case ops.AccumulateRescaled():
            return define_accumulate_rescaled(op, operands[0], operands[1], shapes[0], loop, fresh)
        case ops.Input() | ops.Band() | ops.Lookup() | ops.Custom() | ops.Result():
            raise AssertionError("BlockGraph refuses kernel-level operators")
        case _:
            return define_operator(op, operands, shapes, len(dims), fresh)


def _is_name(form: NormalForm, dims: tuple[Dim, ...]) -> bool:
    """Whether a form is the name of a tensor at a cut point."""
    if len(form.terms) != 1 or form.terms[0][1] != 1 or len(form.terms[0][0].factors) != 1:
        return False
    a, e = form.terms[0][0].factors[0]
    own_position = tuple(var(position(d), size) for d, size in enumerate(dims))
    return isinstance(a, Read) and a.tensor.startswith("%") and e == 1 and a.indices == own_position


# ---------------------------------------------------------------- text
def derivation(verified: Verified) -> str:
    """The certificate as text: the value of every tensor and its derivation.

    Call `certify` first; without lemmas the text states that there is no certificate.
    """
    proof, candidate = verified.proof, verified.candidate
    lines = [f"{candidate.id} equals {candidate.family.program.name}", f"  {proof.claim}", ""]
    if not proof.lemmas:
        return "\n".join([*lines, "There is no certificate yet; `certify` makes one."])
    for heading, prefix in (
        ("The program, tensor by tensor", "program."),
        ("The candidate, tensor by tensor", "k"),
    ):
        lines.append(heading)
        for x in (x for x in proof.lemmas if x.tensor.startswith(prefix)):
            lines += [f"  {x.tensor.removeprefix('program.')} = {x.operation}", f"    = {x.value}"]
            lines += _derivation_lines(x)
        lines.append("")
    lines.append("Both results are equal" if not candidate.sgraph.further else "The results are equal, one by one")
    lines += [line for x in proof.lemmas if is_goal(x.tensor) for line in (f"  {x.operation}", *_derivation_lines(x))]
    used = {name for x in proof.lemmas for name in x.axioms}
    lines += ["", "Axioms used"]
    width = max((len(name) for name in used), default=0)
    lines += [f"  {a.name:{width}}  {a.equation}  ({a.source})" for a in axioms.AXIOMS if a.name in used]
    missing = [x.tensor for x in proof.lemmas if not x.replayed]
    total = len(proof.lemmas)
    lines += ["", f"{total - len(missing)} of {total} lemmas replayed in egglog from these axioms and checked again"]
    if not_minimal := [x.tensor for x in proof.lemmas if x.replayed and x.note]:
        lines.append(f"perhaps with more axioms than needed: {', '.join(not_minimal)}")
    if missing:
        lines.append(f"not replayed: {', '.join(missing)}; for these the proof rests on the normal form alone")
    return "\n".join(lines)


def _derivation_lines(x: Lemma) -> list[str]:
    """A lemma's chain of equations, from the operator's definition to its value; one line where it is short."""
    chain = equation_chain(x.statement) if x.replayed and len(x.axioms) > 1 else ()
    if len(chain) < 3:
        return [f"    {_justification(x)}"]
    lines = [f"      {chain[0].expression}"]
    for line in chain[1:]:
        lines += [f"    = {line.expression}", f"        by {', '.join(line.axioms)}"]
    return [*lines, f"    ({x.note})"] if x.note else lines


def _justification(x: Lemma) -> str:
    if not x.replayed:
        return f"not replayed: {x.note}"
    if x.axioms:
        return f"by {', '.join(x.axioms)}" + (f" ({x.note})" if x.note else "")
    if x.operation.startswith(("load(", "store(")):
        return "by definition: the same elements, at other indices"
    return "by definition" if not is_goal(x.tensor) else "both are the same expression"
