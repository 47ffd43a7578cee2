"""The e-class panel: the e-classes of a candidate, the e-graph of a lemma, or a path between two terms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from prism_explore.events.format import verdict_text
from prism_explore.events.kinds import CertificateReplayed, VerdictReached
from prism_explore.ir.graph import SGraph
from prism_explore.ir.ops import Custom, Input, Store
from prism_explore.verify.certificate.readable import Rewrite, rewrites
from prism_explore.verify.egraph.frames import Growth
from prism_explore.widgets.formulas.mathml import to_mathml
from prism_explore.widgets.panels.context import Context, graph_of
from prism_explore.widgets.panels.proof import classes_of, growth_of, tensor_labels
from prism_explore.widgets.panels.sections import (
    Cell,
    Choice,
    Column,
    EClasses,
    FrameSlider,
    PathStep,
    Row,
    Table,
    TermPath,
)
from prism_explore.widgets.refs import (
    GOAL,
    FrameRef,
    eclass_ref,
    frame_ref,
    is_of_program,
    member_ref,
    program_tensor,
    short_name,
    tensor_name,
    tensor_ref,
)
from prism_explore.widgets.views.egraph_frames import frame_scene
from prism_explore.widgets.views.egraph_view import MAX_NODES, MODES

_MODES = tuple(Choice(name, label, tip) for name, (label, tip) in MODES.items())
MAX_PATH_STEPS = 400

_LEMMA_COLUMNS = (
    Column("tensor", "tensor", mono=True),
    Column("operation", "operation", mono=True),
    Column("value", "equals", mono=True),
    Column("axioms", "by axioms", wide=True),
    Column("replayed", "egglog"),
)


def eclasses_panel(context: Context) -> EClasses:
    """The section of the panel, in the mode that the view and the selection ask for."""
    candidate, width = context.candidate, float(context.view.dock_px)
    lemmas = _lemma_table(context)
    if missing := context.missing_text:
        return EClasses(context.subject, f"{missing}, so there are no e-classes.", None, lemmas)
    found = classes_of(candidate, context)
    frame = frame_ref(context.view.selection)
    own_frame = frame if frame is not None and frame.candidate == candidate else None
    growth = growth_of(own_frame, context) if own_frame is not None else None
    modes = _MODES if context.view.interactive else ()
    panel = EClasses(candidate, "", None, lemmas, modes, "classes", _first_frame(context))
    if context.view.egraph.path and found is not None:
        return _path_panel(panel, found[0], context)
    if own_frame is not None and growth is not None:
        return _frame_panel(panel, own_frame, growth, context)
    if found is None:
        text = f"{context.subject_text}: {candidate} has no verdict yet, so there are no e-classes."
        return replace(panel, caption=text, modes=())
    verdict, disagreement = found
    count = len(verdict.classes)
    classes = "1 class" if count == 1 else f"{count} classes"
    caption = f"{context.subject_text}: {classes}, {verdict_text(verdict)}"
    caption += f"; {disagreement}" if disagreement else ""
    if not count:
        return replace(panel, caption=caption)
    labels = tensor_labels(context.search.program, graph_of(candidate, context.events))
    return replace(panel, caption=caption, scene=context.memo.classes_scene(verdict, width, tuple(labels.items())))


def _lemma_table(context: Context) -> Table:
    candidate = context.candidate
    certificate = context.events.certificates.get(candidate)
    rows: list[Row] = []
    for tensor, operation, value, axioms, replayed, note in certificate.lemmas if certificate else ():
        state = Cell("replayed", kind="proved") if replayed else Cell(f"not replayed: {note}", kind="unknown")
        name = Cell(short_name(tensor), tip=tensor)
        cells = (name, operation, Cell(value, math=to_mathml(value)), ", ".join(axioms) or "definition", state)
        rows.append(Row(member_ref(candidate, tensor), cells))
    return Table(_LEMMA_COLUMNS, tuple(rows), "" if rows else f"No lemmas: {_why_uncertified(context)}.")


def _why_uncertified(context: Context) -> str:
    candidate = context.candidate
    verdict = context.events.verdicts.get(candidate)
    if verdict is None:
        return context.missing_text or f"{candidate} has no verdict yet"
    if verdict.verdict != "proved":
        return f"{candidate} is {verdict.verdict}, and only a proof has lemmas"
    return f"{candidate} is proved, and its proof was not replayed in egglog; the command Certify does that"


# ---------------------------------------------------------------- the e-graph
def _first_frame(context: Context) -> str:
    """The frame that the mode of the e-graph begins with: that of the selected tensor, else of the program's result.

    The goal, that the results are equal, has one frame only if the proof is by normal form: both sides are one term.
    """
    tensor = tensor_ref(context.view.selection)
    result = context.search.program.graph
    computed = not isinstance(result.nodes[result.output].op, Input)
    name = program_tensor(result.output) if computed else GOAL
    if tensor is not None and tensor.owner == context.candidate:
        name = tensor.name
    return FrameRef(context.candidate, name, 0).id_of(0)


def _lemmas(candidate: str, context: Context) -> tuple[Choice, ...]:
    """The lemmas whose e-graph can be shown, by their first frame."""
    graph = graph_of(candidate, context.events)
    if graph is None or not context.view.interactive:
        return ()
    labels = tensor_labels(context.search.program, graph)
    found = context.memo.equalities(context.search.program, graph)
    return tuple(
        Choice(
            FrameRef(candidate, tensor, 0).id_of(0),
            f"{tensor}: equal results"
            if tensor.startswith(GOAL)
            else f"{short_name(tensor)} = {labels.get(tensor, '')}",
        )
        for tensor in found.tensors
    )


def _frame_panel(panel: EClasses, frame: FrameRef, growth: Growth, context: Context) -> EClasses:
    """One frame of the e-graph of a lemma."""
    view, program = context.view.egraph, context.search.program
    inputs = {
        node.op.name: member_ref(frame.candidate, program_tensor(n))
        for n, node in enumerate(program.graph.nodes)
        if isinstance(node.op, Input)
    }
    graph, width = graph_of(frame.candidate, context.events), float(context.view.dock_px)
    assert graph is not None, "the e-graph is that of a lemma of this graph"
    places = context.memo.frame_places(program, graph, frame.tensor, width, view.nodes, frame.eclass)
    scene = frame_scene(frame, growth, width, view, inputs, places)
    last = max(0, len(growth.frames) - 1)
    number = min(frame.number, last)
    slider = FrameSlider(f"{frame.candidate}/{frame.tensor}@", f".{frame.eclass}" if frame.eclass else "", number, last)
    has_more = bool(scene.omitted) and view.nodes < MAX_NODES and context.view.interactive
    more = f"draw up to {2 * view.nodes:,} e-nodes" if has_more else ""
    rules = _rules(growth, number) if context.view.interactive else ()
    rule = view.rule if any(r.name == view.rule for r in rules) else ""
    shown = replace(panel, caption=scene.title, scene=scene, mode="egraph", slider=slider)
    return replace(shown, statements=_lemmas(frame.candidate, context), rules=rules, rule=rule, more=more)


def _rules(growth: Growth, number: int) -> tuple[Choice, ...]:
    """The axioms that changed the e-graph up to a frame, with their matches and merges."""
    matches: Counter[str] = Counter()
    merges: Counter[str] = Counter()
    added: Counter[str] = Counter()
    for frame in growth.frames[1 : number + 1]:
        matches[frame.axiom] += frame.matches
        merges[frame.axiom] += len(frame.merged)
        added[frame.axiom] += len(frame.added_nodes)
    return tuple(
        Choice(
            axiom,
            f"{axiom} · {count:,}",
            f"{axiom}: {count:,} matches, {merges[axiom]:,} merges, {added[axiom]:,} new nodes up to this frame. "
            "Click to mark the nodes of the classes that it changed.",
        )
        for axiom, count in matches.most_common()
    )


# ---------------------------------------------------------------- the path
def _path_panel(panel: EClasses, verdict: VerdictReached, context: Context) -> EClasses:
    """The steps from one tensor of a class to another one."""
    program, graph = context.search.program, graph_of(context.candidate, context.events)
    panel = replace(panel, mode="path")
    members = _members(verdict, context, graph)
    if graph is None or len(members) < 2:
        note = f"{context.candidate} has no class with two tensors, so there is no path."
        return replace(panel, caption=context.subject_text, path=TermPath("", "", (), (), 0, note))
    view = context.view.egraph
    start = view.start if view.start in members else members[0]
    end = view.end if view.end in members and view.end != start else next(m for m in reversed(members) if m != start)
    labels = tensor_labels(program, graph)
    tensors = tuple(Choice(m, f"{short_name(m)} = {labels.get(m, '')}".removesuffix(" = ")) for m in members)
    certificate = context.events.certificates.get(context.candidate)
    halves = [_half(m, certificate, context, graph) for m in (start, end)]
    steps = _path_steps((start, end), halves, context.candidate)
    step = min(view.step, max(0, len(steps) - 1))
    caption = f"{context.subject_text}: from {short_name(start)} to {short_name(end)}, {len(steps) - 1} steps"
    path = TermPath(start, end, tensors, steps, step, _support(certificate, halves))
    return replace(panel, caption=caption, path=path)


def _members(verdict: VerdictReached, context: Context, graph: SGraph | None) -> tuple[str, ...]:
    """The tensors of the selected class; else those of the class of the results; else of a class with two."""
    eclass = eclass_ref(context.view.selection)
    chosen = [c for c in verdict.classes if eclass is not None and c[0] == eclass.name]
    result = program_tensor(context.search.program.graph.output)
    of_result = [c for c in verdict.classes if result in c[2]]
    several = [c for c in verdict.classes if len(c[2]) > 1]
    own = tensor_name(graph.output) if graph is not None else ""
    for _, _, members in (*chosen, *of_result, *several):
        if len(members) > 1:
            first = [m for m in members if is_of_program(m)]
            rest = [m for m in members if not is_of_program(m)]
            rest.sort(key=lambda m: m == own)
            return (*first, *rest)
    return ()


@dataclass(frozen=True, slots=True)
class _Half:
    """One half of a path: the terms of the lemma of a tensor, from its definition to its value."""

    tensor: str
    """The tensor; of a custom kernel without a lemma of its own, the block tensor that it stores."""
    terms: tuple[Rewrite, ...]


def _half(tensor: str, certificate: CertificateReplayed | None, context: Context, graph: SGraph) -> _Half:
    """The terms of a tensor's lemma, or of the block tensor that a kernel stores if its own lemma has no steps."""
    own = _lemma_terms(tensor, certificate, context, graph)
    stored = _stored(tensor, graph)
    if len(own) > 1 or not stored:
        return _Half(tensor, own)
    inside = _lemma_terms(stored, certificate, context, graph)
    return _Half(stored, inside) if inside else _Half(tensor, own)


def _stored(tensor: str, graph: SGraph) -> str:
    """The block tensor that a custom kernel or a store writes; empty for another tensor."""
    ref = tensor_ref(f"f0/{tensor}")
    if ref is None or ref.is_of_program or ref.position >= len(graph.nodes):
        return ""
    op = graph.nodes[ref.position].op
    if not isinstance(op, Custom):
        return ""
    store = op.block.stores[0] if ref.block_position is None else ref.block_position
    node = op.block.nodes[store]
    return tensor_name(ref.position, node.args[0]) if isinstance(node.op, Store) else ""


def _lemma_terms(
    tensor: str, certificate: CertificateReplayed | None, context: Context, graph: SGraph
) -> tuple[Rewrite, ...]:
    """The terms of a lemma: from the certificate, else derived now; empty for an input or a store."""
    if certificate is not None:
        for lemma, statement in zip(certificate.lemmas, certificate.statements, strict=False):
            if lemma[0] == tensor:
                return rewrites(statement)
    return context.memo.rewrites(context.search.program, graph, tensor)


def _path_steps(ends: tuple[str, str], halves: Sequence[_Half], candidate: str) -> tuple[PathStep, ...]:
    """From the definition of the first tensor to its value, and from there back to the definition of the second."""
    first, second = halves
    start, end = (_named(tensor, half) for tensor, half in zip(ends, halves, strict=True))
    refs = [member_ref(candidate, half.tensor) for half in halves]
    steps: list[PathStep] = []
    for n, r in enumerate(first.terms[:MAX_PATH_STEPS]):
        why = _by(r.axioms) if n else f"{start}: its operator, applied to the values of its operands"
        steps.append(PathStep(refs[0], r.before, r.changed, r.after, r.previous[1], why))
    if second.terms:
        value = second.terms[-1].text
        same = f"the value of {end}"
        if steps and first.terms[-1].text == value:
            steps[-1] = replace(steps[-1], why=f"{steps[-1].why}: {same}")
        else:
            names = ", the same with other names of axes or in the coordinates of a block" if steps else ""
            steps.append(PathStep(refs[1], value, "", "", "", same + names))
    back = second.terms[1:][:MAX_PATH_STEPS]
    for r in reversed(back):
        before, changed, after = r.previous
        steps.append(PathStep(refs[1], before, changed, after, r.changed, f"{_by(r.axioms)}, backwards"))
    if back:
        text = f"{steps[-1].why}: {end}, its operator applied to the values of its operands"
        steps[-1] = replace(steps[-1], why=text)
    return tuple(steps)


def _named(tensor: str, half: _Half) -> str:
    """The name of an end of the path, with the block tensor that stands for it."""
    own = short_name(tensor)
    return own if half.tensor == tensor else f"{own}, which stores {short_name(half.tensor)}"


def _by(axioms: Sequence[str]) -> str:
    return f"by {', '.join(axioms)}" if axioms else "by definition"


def _support(certificate: CertificateReplayed | None, halves: Sequence[_Half]) -> str:
    """What supports the steps, and which tensors have none."""
    without = [short_name(half.tensor) for half in halves if not half.terms]
    missing = f" {' and '.join(without)}: an input or a copy of the value, or no derivation." if without else ""
    replayed = {lemma[0] for lemma in certificate.lemmas if lemma[4]} if certificate is not None else set[str]()
    if replayed and all(half.tensor in replayed for half in halves if half.terms):
        return f"egglog replayed these steps from the axioms.{missing}"
    return f"Steps of a derivation that no egglog run has replayed yet; Certify does that.{missing}"
