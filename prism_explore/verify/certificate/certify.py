"""Certificates: one lemma for every tensor, and a last one that the two results are equal.

Input is a verified candidate; output is the same with lemmas. The lemma of a tensor states that its operator, applied
to the normal forms of its operands, gives the normal form of its result; egglog derives it from the axioms alone. Loads
and stores only re-index, so their two sides are the same text. The lemmas lead from the inputs to both results, and
`checker` verifies all of them by other means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from prism_explore.events.journal import Journal
from prism_explore.events.kinds import CertificateReplayed
from prism_explore.ir import ops
from prism_explore.ir.dims import Dim
from prism_explore.ir.graph import SGraph, block_types
from prism_explore.ir.ops import BlockGraph
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.tensors import TensorType
from prism_explore.ir.text import show_node
from prism_explore.pipeline.stages import Lemma, Verified
from prism_explore.verify import axioms
from prism_explore.verify.certificate.definitions import (
    of_accumulate,
    of_accumulate_rescaled,
    of_band,
    of_load,
    of_operator,
    of_running_max,
    of_store,
)
from prism_explore.verify.certificate.derivation.derive import derive
from prism_explore.verify.certificate.expressions import Expr, Fresh, of_normal_form
from prism_explore.verify.certificate.lemma import TOO_DEEP, CannotState, Statement, spell, state
from prism_explore.verify.certificate.readable import chain
from prism_explore.verify.certificate.saturation import iteration_events, problem, replay
from prism_explore.verify.checker.check import check
from prism_explore.verify.egraph.client import EgglogClient, Problem, shared_client
from prism_explore.verify.egraph.limits import Limits, NotStated, Proved, Saturation, explain
from prism_explore.verify.normal_form.algebra import Algebra, NoNormalForm
from prism_explore.verify.normal_form.cut_points import meet
from prism_explore.verify.normal_form.forms import NormalForm, Read, show
from prism_explore.verify.normal_form.index import position, var
from prism_explore.verify.normal_form.lower_graph import Lowered, lower, lower_tensor
from prism_explore.verify.shapes.concretize import ones_of

NOT_FEWEST = "fewer axioms may do: it is too long for each of them to be tried to be left out"
"""The note of the longest lemmas, whose set of axioms is not known to be minimal."""
LEMMA_LIMITS = Limits(iterations=10)
"""The default limits of a lemma; most take three iterations and a hundred e-nodes."""


@dataclass(frozen=True, slots=True)
class Obligation:
    """What a lemma must prove for a tensor: the operator's definition equals the normal form."""

    tensor: str
    operation: str
    value: str
    statement: Statement | None
    trouble: str = ""
    """The reason if it could not be stated."""
    named: str = ""
    """The name by which later lemmas refer to the right side, if it has one."""


def certify(verified: Verified, journal: Journal, limits: Limits = LEMMA_LIMITS) -> Verified:
    """The same verdict with a lemma for every tensor of program and candidate.

    A lemma that was not replayed, or that the checker refuses, has a note; the verdict rests on the normal form and
    stays. Parameters that the candidate's conditions restrict to 1 are replaced by 1. Appends an event for each
    iteration of egglog and one for the certificate.

    Args:
        verified: a proved candidate.
        journal: for the events.
        limits: of each lemma.
    """
    candidate = verified.candidate
    program, sgraph = candidate.family.program, candidate.sgraph
    sgraph = sgraph.substitute(ones) if (ones := ones_of(sgraph)) else sgraph
    with shared_client(limits.memory_bytes) as client:
        client.start()
        lemmas: list[Lemma] = []
        known: dict[str, tuple[Lemma, Saturation]] = {}
        for obligation in obligations(program, sgraph):
            lemma, run = _prove_obligation(obligation, client, limits, known)
            lemmas.append(lemma)
            note = iteration_events(journal, f"{candidate.id} {obligation.tensor}")
            for step in run.steps:
                note(step)

        def replay_again(facts: str, left: str, right: str) -> str:
            run = client.replay(Problem(facts, left, right), limits)
            return "" if run.equal else explain(run.stop)

        report = check(program, sgraph, tuple(lemmas), replay_again)
    complaints: dict[str, str] = {}
    for tensor, complaint in report.complaints:
        complaints.setdefault(tensor, complaint)
    lemmas = [
        replace(x, replayed=False, note=f"the checker objects: {complaints[x.tensor]}")
        if x.replayed and x.tensor in complaints
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


def _prove_obligation(
    obligation: Obligation, client: EgglogClient, limits: Limits, known: dict[str, tuple[Lemma, Saturation]]
) -> tuple[Lemma, Saturation]:
    """The lemma, and egglog's run: a replay of the derivation where there is one, else a search."""
    blank = Lemma(obligation.tensor, obligation.operation, obligation.value, (), False, obligation.trouble)
    if obligation.statement is None:
        return blank, Saturation(NotStated(obligation.trouble))
    text = obligation.statement.text
    if text not in known:
        trivial = replace(blank, replayed=True, statement=text), Saturation(Proved())
        known[text] = trivial if obligation.statement.trivial else _proved(obligation.statement, blank, client, limits)
    lemma, run = known[text]
    named = f"{lemma.statement[:-1]}\n  (named {obligation.named}))" if obligation.named else lemma.statement
    about = replace(lemma, tensor=obligation.tensor, operation=obligation.operation, value=obligation.value)
    return replace(about, statement=named), run


def _proved(statement: Statement, blank: Lemma, client: EgglogClient, limits: Limits) -> tuple[Lemma, Saturation]:
    found = derive(statement)
    if found is not None:
        run = client.prove(replay(found), limits, found.axioms, joining=True)
        text, axioms, note = found.text, found.axioms, "" if found.minimal else NOT_FEWEST
    else:
        run = client.minimize(problem(statement), limits)
        text, axioms, note = statement.text, run.axioms, ""
    if not run.equal:
        return replace(blank, note=f"egglog: {explain(run.stop)}", statement=text), run
    return replace(blank, axioms=axioms, replayed=True, note=note, statement=text), run


# ---------------------------------------------------------------- obligations
def obligations(program: TensorProgram, candidate: SGraph) -> Iterator[Obligation]:
    """What must be proved: one obligation for every tensor of both graphs except inputs, and one for the two results.

    Tensors are called program.%5, k3 (kernel level) and k3.b7 (inside the custom kernel k3).

    Raises:
        NoNormalForm: a graph has no normal form.
    """
    wanted, found = _forms(program.graph, candidate)
    known = (*candidate.conditions(), *program.graph.conditions())
    algebra = Algebra(integers=known)
    yield from _of_graph(program.graph, wanted, "program.%", algebra)
    yield from _of_graph(candidate, found, "k", algebra)
    fresh = Fresh(algebra.integers)
    left, right = found.values[candidate.output], wanted.values[program.graph.output]
    results = f"k{candidate.output} = program.%{program.graph.output}"
    sides = of_normal_form(left, fresh), of_normal_form(right, fresh)
    yield _stated("goal", results, right, lambda: sides, known)


def _forms(program: SGraph, candidate: SGraph) -> tuple[Lowered, Lowered]:
    """The normal forms of both graphs, without names of cut points where they are not too long."""
    algebra = Algebra()
    try:
        wanted = lower(program, algebra)
        algebra.restart()
        found = lower(candidate, algebra)
    except NoNormalForm:
        met = meet(program, candidate, algebra.budget)
        if met is None:
            raise
        return met
    if wanted.values[program.output] == found.values[candidate.output]:
        return wanted, found
    return meet(program, candidate, algebra.budget, cut=False) or (wanted, found)


def _stated(
    tensor: str,
    operation: str,
    form: NormalForm,
    sides: Callable[[], tuple[Expr, Expr]],
    integers: tuple[Dim, ...],
    named: NormalForm | None = None,
) -> Obligation:
    called = "" if named is None else spell(of_normal_form(named, Fresh()))
    try:
        return Obligation(tensor, operation, show(form), state(*sides(), integers), named=called)
    except (CannotState, ValueError) as error:
        return Obligation(tensor, operation, show(form), None, f"not stated: {error}")
    except RecursionError:
        return Obligation(tensor, operation, show(form), None, f"not stated: {TOO_DEEP}")


def _of_graph(graph: SGraph, lowered: Lowered, prefix: str, algebra: Algebra) -> Iterator[Obligation]:
    types = graph.types()
    called = {n: node.op.name for n, node in enumerate(graph.nodes) if isinstance(node.op, ops.Input)}
    for n, node in enumerate(graph.nodes):
        values = tuple(lowered.values[a] for a in node.args)
        form = lowered.values[n]
        named = form if _is_name(form, types[n].dims) and not isinstance(node.op, ops.Input) else None
        match node.op:
            case ops.Input():
                continue
            case ops.Custom(block):
                operands = tuple(types[a] for a in node.args)
                yield from _of_block(block, lowered.blocks[n], values, operands, f"{prefix}{n}", named, algebra)
                continue
            case ops.Band() as band:
                sides = _spelled(form, lambda fresh, op=band: of_band(op), algebra)
            case ops.Result(which):
                custom = graph.nodes[node.args[0]].op
                assert isinstance(custom, ops.Custom), "SGraph checks what a result belongs to"
                stored = lowered.blocks[node.args[0]][custom.block.stores[which]]
                form = stored if named is not None else form
                sides = _spelled(form, lambda fresh, of=stored: of_normal_form(of, fresh), algebra)
            case ops.Load() | ops.Store() | ops.Accumulate() | ops.AccumulateRescaled() | ops.RunningMax():
                raise AssertionError("SGraph refuses block-level operators")
            case op:
                shapes = tuple(types[a].dims for a in node.args)
                if named is not None:
                    algebra.restart()
                    form = lower_tensor(op, values, shapes, algebra)
                sides = _sides(op, values, shapes, types[n].rank, form, algebra)
        yield _stated(f"{prefix}{n}", show_node(node, called), form, sides, algebra.integers, named)


def _of_block(
    block: BlockGraph,
    forms: tuple[NormalForm, ...],
    values: tuple[NormalForm, ...],
    operands: tuple[TensorType, ...],
    kernel: str,
    named: NormalForm | None,
    algebra: Algebra,
) -> Iterator[Obligation]:
    types = block_types(block, operands)
    for n, node in enumerate(block.nodes):
        op, form = node.op, forms[n]
        args = values if isinstance(op, ops.Load) else tuple(forms[a] for a in node.args)
        shapes = tuple(types[a].dims for a in node.args)
        tensor = kernel if n == block.stores[0] else f"{kernel}.b{n}"
        sides = _block_sides(block, op, args, shapes, types[n].dims, form, algebra)
        called = named if tensor == kernel else None
        yield _stated(tensor, show_node(node), form, sides, algebra.integers, called)


def _block_sides(
    block: BlockGraph,
    op: ops.Op,
    args: tuple[NormalForm, ...],
    shapes: tuple[tuple[Dim, ...], ...],
    shape: tuple[Dim, ...],
    form: NormalForm,
    algebra: Algebra,
) -> Callable[[], tuple[Expr, Expr]]:
    loop = block.loop.size if block.loop else None

    def left(fresh: Fresh) -> Expr:
        given = [of_normal_form(a, fresh) for a in args]
        match op:
            case ops.Load(operand, _, _):
                return of_load(block, op, given[operand], shape, fresh.integers)
            case ops.Store():
                return of_store(block, op, given[0], shapes[0], fresh.integers)
            case ops.Accumulate():
                return of_accumulate(op, given[0], shapes[0], loop, fresh)
            case ops.RunningMax():
                return of_running_max(op, given[0], shapes[0], loop, fresh)
            case ops.AccumulateRescaled():
                return of_accumulate_rescaled(op, given[0], given[1], shapes[0], loop, fresh)
            case ops.Input() | ops.Band() | ops.Custom() | ops.Result():
                raise AssertionError("BlockGraph refuses kernel-level operators")
            case _:
                return of_operator(op, tuple(given), shapes, len(shape), fresh)

    return _spelled(form, left, algebra)


def _is_name(form: NormalForm, dims: tuple[Dim, ...]) -> bool:
    """Whether a form is the name of a tensor at which both graphs were cut."""
    if len(form.terms) != 1 or form.terms[0][1] != 1 or len(form.terms[0][0].factors) != 1:
        return False
    a, e = form.terms[0][0].factors[0]
    here = tuple(var(position(d), size) for d, size in enumerate(dims))
    return isinstance(a, Read) and a.tensor.startswith("%") and e == 1 and a.indices == here


def _spelled(form: NormalForm, left: Callable[[Fresh], Expr], algebra: Algebra) -> Callable[[], tuple[Expr, Expr]]:
    def sides() -> tuple[Expr, Expr]:
        fresh = Fresh(algebra.integers)
        return left(fresh), of_normal_form(form, fresh)

    return sides


def _sides(
    op: ops.ComputeOp,
    args: tuple[NormalForm, ...],
    shapes: tuple[tuple[Dim, ...], ...],
    rank: int,
    form: NormalForm,
    algebra: Algebra,
) -> Callable[[], tuple[Expr, Expr]]:
    def left(fresh: Fresh) -> Expr:
        return of_operator(op, tuple(of_normal_form(a, fresh) for a in args), shapes, rank, fresh)

    return _spelled(form, left, algebra)


# ---------------------------------------------------------------- text
def derivation(verified: Verified) -> str:
    """The certificate as text: the value of every tensor and its derivation.

    Call `certify` first; without lemmas the text states that there are none.
    """
    proof, candidate = verified.proof, verified.candidate
    lines = [f"{candidate.id} equals {candidate.family.program.name}", f"  {proof.claim}", ""]
    if not proof.lemmas:
        return "\n".join([*lines, "There is no certificate yet; certify makes one."])
    headings = {"program": "The program, tensor by tensor", "k": "The candidate, tensor by tensor"}
    for heading, lemmas in (
        (headings["program"], [x for x in proof.lemmas if x.tensor.startswith("program.")]),
        (headings["k"], [x for x in proof.lemmas if x.tensor.startswith("k")]),
    ):
        lines.append(heading)
        for x in lemmas:
            lines += [f"  {x.tensor.removeprefix('program.')} = {x.operation}", f"    = {x.value}"]
            lines += _chained(x)
        lines.append("")
    lines.append("So both results are the same")
    lines += [line for x in proof.lemmas if x.tensor == "goal" for line in (f"  {x.operation}", *_chained(x))]
    used = {name for x in proof.lemmas for name in x.axioms}
    lines += ["", "Axioms used"]
    width = max((len(name) for name in used), default=0)
    lines += [f"  {a.name:{width}}  {a.says}  ({a.source})" for a in axioms.AXIOMS if a.name in used]
    missing = [x.tensor for x in proof.lemmas if not x.replayed]
    total = len(proof.lemmas)
    lines += ["", f"{total - len(missing)} of {total} lemmas replayed in egglog from these axioms and checked again"]
    if longest := [x.tensor for x in proof.lemmas if x.replayed and x.note]:
        lines.append(f"by an axiom more than it takes, perhaps: {', '.join(longest)}")
    if missing:
        lines.append(f"not replayed: {', '.join(missing)}; there the proof rests on the normal form alone")
    return "\n".join(lines)


def _chained(x: Lemma) -> list[str]:
    """A lemma's chain of equations, from the operator's definition to its value; one line if it is short."""
    found = chain(x.statement) if x.replayed and len(x.axioms) > 1 else ()
    if len(found) < 3:
        return [f"    {_why(x)}"]
    lines = [f"      {found[0].expression}"]
    for line in found[1:]:
        lines += [f"    = {line.expression}", f"        by {', '.join(line.axioms)}"]
    return [*lines, f"    ({x.note})"] if x.note else lines


def _why(x: Lemma) -> str:
    if not x.replayed:
        return f"not replayed: {x.note}"
    if x.axioms:
        return f"by {', '.join(x.axioms)}" + (f" ({x.note})" if x.note else "")
    if x.operation.startswith(("load(", "store(")):
        return "by definition: the same elements, at other indices"
    return "by definition" if x.tensor != "goal" else "they are one expression"
