"""The proof of a candidate: the e-classes panel, and the inspectors of tensors, e-classes and e-graph frames."""

from __future__ import annotations

from dataclasses import replace

from prism_explore.diagnose.evidence import steps_of
from prism_explore.events.format import verdict_text
from prism_explore.events.kinds import VerdictReached
from prism_explore.ir.graph import SGraph, block_types
from prism_explore.ir.ops import Custom, Input, Load, Node, Store, op_name
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.text import show_node
from prism_explore.verify.egraph.frames import Growth
from prism_explore.verify.egraph.limits import explain
from prism_explore.widgets.formulas.mathml import to_mathml
from prism_explore.widgets.panels.answers import EVIDENCE, step_row
from prism_explore.widgets.panels.context import Context, graph_of
from prism_explore.widgets.panels.sections import Card, Cell, Column, EClasses, Inspector, Link, Pair, Row, Table
from prism_explore.widgets.refs import (
    GOAL,
    FrameRef,
    TensorRef,
    eclass_id,
    eclass_ref,
    frame_ref,
    member_ref,
    program_tensor,
    tensor_name,
    tensor_ref,
)
from prism_explore.widgets.views.egraph import egraph_scene
from prism_explore.widgets.views.egraph_frames import (
    frame_number_text,
    frame_scene,
    frame_text,
    merge_texts,
    only_frame_text,
)

_LEMMA_COLUMNS = (
    Column("tensor", "tensor", mono=True),
    Column("operation", "operation", mono=True),
    Column("value", "equals", mono=True),
    Column("axioms", "by axioms"),
    Column("replayed", "egglog"),
)


# ---------------------------------------------------------------- the panel
def eclasses_panel(context: Context) -> EClasses:
    """The e-classes of the candidate, or the selected e-graph frame of one of its lemmas; and the lemmas."""
    candidate, width = context.candidate, float(context.view.dock_px)
    if missing := context.missing_text:
        return EClasses(context.subject, f"{missing}, so there are no e-classes.", None, _lemma_table(context))
    lemmas = _lemma_table(context)
    frame = frame_ref(context.view.selection)
    if frame is not None and frame.candidate == candidate and (growth := _growth(frame, context)) is not None:
        scene = frame_scene(frame, growth, width)
        return EClasses(candidate, scene.title, scene, lemmas)
    found = classes_of(candidate, context)
    if found is None:
        text = f"{context.subject_text}: {candidate} has no verdict yet, so there are no e-classes."
        return EClasses(candidate, text, None, lemmas)
    verdict, disagreement = found
    count = len(verdict.classes)
    classes = "1 class" if count == 1 else f"{count} classes"
    caption = f"{context.subject_text}: {classes}, {verdict_text(verdict)}"
    caption += f"; {disagreement}" if disagreement else ""
    labels = tensor_labels(context.search.program, graph_of(candidate, context.events))
    return EClasses(candidate, caption, egraph_scene(verdict, width, labels) if count else None, lemmas)


def classes_of(candidate: str, context: Context) -> tuple[VerdictReached, str] | None:
    """The verdict on a candidate with its e-classes, and where both sides differ; None without a verdict."""
    verdict = context.events.verdicts.get(candidate)
    graph = graph_of(candidate, context.events)
    if verdict is None or verdict.classes or graph is None:
        return None if verdict is None else (verdict, "")
    # A verdict other than "proved" has no classes in the journal.
    found = context.memo.equalities(context.search.program, graph)
    classes = tuple((c.id, c.term, c.members) for c in found.classes)
    return replace(verdict, classes=classes), "" if found.disagreement is None else str(found.disagreement)


def _lemma_table(context: Context) -> Table:
    candidate = context.candidate
    certificate = context.events.certificates.get(candidate)
    rows: list[Row] = []
    for tensor, operation, value, axioms, replayed, note in certificate.lemmas if certificate else ():
        state = Cell("replayed", kind="proved") if replayed else Cell(f"not replayed: {note}", kind="unknown")
        cells = (tensor, operation, Cell(value, math=to_mathml(value)), ", ".join(axioms) or "definition", state)
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


def tensor_labels(program: TensorProgram, graph: SGraph | None) -> dict[str, str]:
    """Per tensor name of an e-class, the operator that computes the tensor."""
    labels = {program_tensor(i): _operator(node) for i, node in enumerate(program.graph.nodes)}
    for i, node in enumerate(graph.nodes if graph else ()):
        labels[tensor_name(i)] = _operator(node)
        if isinstance(node.op, Custom):
            labels |= {tensor_name(i, j): _operator(inner) for j, inner in enumerate(node.op.block.nodes)}
    return labels


def _operator(node: Node) -> str:
    return node.op.name if isinstance(node.op, Input) else op_name(node.op)


def _growth(frame: FrameRef, context: Context) -> Growth | None:
    graph = graph_of(frame.candidate, context.events)
    return None if graph is None else context.memo.growth(context.search.program, graph, frame.tensor)


# ---------------------------------------------------------------- inspectors
def frame_inspector(ref: str, context: Context) -> Inspector | None:
    """One frame of the e-graph of a lemma: its merges, and links to other frames."""
    frame = frame_ref(ref)
    if frame is None or frame.candidate not in context.events.candidates:
        return None
    growth, own = _growth(frame, context), frame.id_of(frame.number)
    back = _tensor_links(frame)
    if growth is None:
        if tensor_inspector(member_ref(frame.candidate, frame.tensor), context) is None:
            return None
        text = f"{frame.candidate} has no lemma of {frame.tensor}: an input is the same on both sides."
        return Inspector(own, f"{frame.tensor}: no e-graph", description=(text,), links=back)
    if not growth.frames:
        return Inspector(own, f"{frame.tensor}: no e-graph", description=(explain(growth.stop),), links=back)
    last = len(growth.frames) - 1
    shown = growth.frames[min(frame.number, last)]
    number = shown.number
    targets = {number - 1: "previous frame", number + 1: "next frame", 0: "first frame", last: "last frame"}
    only = only_frame_text(growth)
    how = "The axioms are applied one at a time, so that the axiom of each merge is known."
    return Inspector(
        own,
        f"{frame.tensor} = {growth.operation}",
        "proved" if shown.is_proved else "frontier",
        frame_number_text(shown, growth),
        (f"A lemma of {frame.candidate}. {only or frame_text(shown)}", *(() if only else (how,))),
        (
            ("e-nodes", f"{shown.nodes:,}, {len(shown.added_nodes)} of them new"),
            ("e-classes", f"{len(shown.classes):,}, {len(shown.added)} of them new"),
            ("sides", f"both in {shown.roots[0]}" if shown.is_proved else f"{shown.roots[0]} and {shown.roots[1]}"),
        ),
        "\n".join((f"= {growth.value}", *merge_texts(shown))),
        links=(
            *(Link(frame.id_of(n), label) for n, label in targets.items() if 0 <= n <= last and n != number),
            *back,
        ),
    )


def _tensor_links(frame: FrameRef) -> tuple[Link, ...]:
    """The tensor of a lemma and its candidate."""
    tensor = () if frame.tensor == GOAL else (Link(member_ref(frame.candidate, frame.tensor), frame.tensor),)
    return (*tensor, Link(frame.candidate, f"candidate {frame.candidate}"))


def tensor_inspector(ref: str, context: Context) -> Inspector | None:
    """A tensor of the program, of a family or of a candidate: its type, its e-class, its lemma."""
    tensor = tensor_ref(ref)
    if tensor is None:
        return None
    events, owner = context.events, tensor.owner
    if owner and not events.has_graph(owner):
        return None
    graph = context.search.program.graph if tensor.is_of_program else graph_of(owner, events)
    described = _describe(tensor, graph) if graph is not None else None
    if described is None:
        return None
    title, kind, description, details = described
    if tensor.is_of_program:
        where = f"The program, in the proof of {owner}: " if owner else "The program: "
    else:
        where = f"{owner}: "
    found = classes_of(owner, context) if owner in events.candidates else None
    classes = [c for c in (found[0].classes if found else ()) if tensor.name in c[2]]
    certificate = events.certificates.get(owner)
    steps = (step_row(step, owner) for step in steps_of(certificate)) if certificate else ()
    return Inspector(
        ref,
        title,
        kind,
        "",
        (f"{where}{description[0].lower()}{description[1:]}",),
        (*details, *(("equal to", term) for _, term, _ in classes)),
        cards=tuple(
            Card(
                "lemma",
                step.kind,
                step.equation,
                EVIDENCE,
                details=(("by", step.justification),),
                steps=(step,) if step.lines else (),
            )
            for step in steps
            if step.ref == ref
        ),
        links=(*(Link(eclass_id(owner, c), f"e-class {c}") for c, _, _ in classes), *_places(tensor, context)),
    )


def _places(tensor: TensorRef, context: Context) -> tuple[Link, ...]:
    """Where else a tensor is shown: its e-graph, its owner, and of a tensor of the program also the other view."""
    owner, name = tensor.owner, tensor.name
    if not owner:
        seen_by = context.candidate if context.candidate in context.events.verdicts else ""
        return (Link(member_ref(seen_by, name), f"its lemma and e-class in {seen_by}"),) if seen_by else ()
    links = [Link(FrameRef(owner, name, 0).id_of(0), "its e-graph, frame by frame")]
    return (
        *(links if owner in context.events.candidates else ()),
        *((Link(name, "the tensor of the program"),) if tensor.is_of_program else ()),
        Link(owner, owner),
    )


def _describe(tensor: TensorRef, graph: SGraph) -> tuple[str, str, str, tuple[Pair, ...]] | None:
    """Title, kind, description and details of a tensor; None if the graph has no such tensor."""
    position, inner_position = tensor.position, tensor.block_position
    if position >= len(graph.nodes):
        return None
    node, types = graph.nodes[position], graph.types()
    title, kind, description = f"%{position} = {show_node(node)}", "op", "A tensor in device memory."
    shape = types[position]
    if inner_position is not None:
        if not isinstance(node.op, Custom) or inner_position >= len(node.op.block.nodes):
            return None
        inner = node.op.block.nodes[inner_position]
        shape = block_types(node.op.block, tuple(types[a] for a in node.args))[inner_position]
        title = f"%{inner_position} = {show_node(inner)}"
        kind = "load" if isinstance(inner.op, Load) else "store" if isinstance(inner.op, Store) else "op"
        description = f"A tile in each block of custom kernel %{position}."
    elif isinstance(node.op, Custom):
        kind, description = "custom", "A custom kernel: its block graph runs for every point of the grid."
    return title, kind, description, (("type", str(shape)), ("bytes", str(shape.bytes)))


def eclass_inspector(ref: str, context: Context) -> Inspector | None:
    """An e-class of a candidate; an id of the older form, without a candidate, means the one that is shown."""
    eclass = eclass_ref(ref)
    candidate = (eclass.candidate or context.candidate) if eclass is not None else ""
    found = classes_of(candidate, context)
    if eclass is None or found is None:
        return None
    for name, term, members in found[0].classes:
        if name == eclass.name:
            return Inspector(
                eclass_id(candidate, name),
                f"{name}: an e-class of {candidate}",
                "expanded",
                "1 member" if len(members) == 1 else f"{len(members)} members",
                (f"Tensors of the program and of {candidate} that the prover found equal for all sizes.",),
                code=term,
                code_math=to_mathml(term),
                links=(
                    *(Link(member_ref(candidate, m), m) for m in members),
                    Link(candidate, f"candidate {candidate}"),
                ),
            )
    return None
