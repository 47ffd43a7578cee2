"""The proof of a candidate: the e-classes panel, and the inspectors of tensors, e-classes and e-graph frames."""

from __future__ import annotations

from dataclasses import replace

from prism_explore.diagnose.evidence import steps_of
from prism_explore.events.format import verdict_text
from prism_explore.events.kinds import CertificateReplayed
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
    FrameRef,
    TensorRef,
    frame_ref,
    member_ref,
    program_tensor,
    tensor_name,
    tensor_ref,
)
from prism_explore.widgets.views.egraph import egraph_scene
from prism_explore.widgets.views.egraph_frames import frame_scene, frame_text, merge_texts

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
    candidate, events, program = context.candidate, context.events, context.search.program
    width = float(context.view.dock_px)
    lemmas = _lemma_table(candidate, events.certificates.get(candidate))
    frame = frame_ref(context.view.selection)
    if frame is not None and frame.candidate == candidate and (growth := _growth(frame, context)) is not None:
        scene = frame_scene(frame, growth, width)
        return EClasses(candidate, scene.title, scene, lemmas)
    verdict = events.verdicts.get(candidate)
    if verdict is None:
        return EClasses(candidate, "", None, lemmas)
    graph = graph_of(candidate, events)
    disagreement = ""
    if not verdict.classes and graph is not None:
        # A verdict other than "proved" has no classes in the journal.
        found = context.memo.equalities(program, graph)
        verdict = replace(verdict, classes=tuple((c.id, c.term, c.members) for c in found.classes))
        disagreement = f"; {found.disagreement}" if found.disagreement is not None else ""
    count = len(verdict.classes)
    caption = f"{candidate}: {count} {'class' if count == 1 else 'classes'}, {verdict_text(verdict)}{disagreement}"
    scene = egraph_scene(verdict, width, tensor_labels(program, graph)) if count else None
    return EClasses(candidate, caption, scene, lemmas)


def _lemma_table(candidate: str, certificate: CertificateReplayed | None) -> Table:
    rows: list[Row] = []
    for tensor, operation, value, axioms, replayed, note in certificate.lemmas if certificate else ():
        state = Cell("replayed", kind="proved") if replayed else Cell(f"not replayed: {note}", kind="unknown")
        cells = (tensor, operation, Cell(value, math=to_mathml(value)), ", ".join(axioms) or "definition", state)
        rows.append(Row(f"{candidate}/{tensor}", cells))
    empty = "No lemmas yet: the best candidate is certified at the end of the search."
    return Table(_LEMMA_COLUMNS, tuple(rows), empty)


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
    if frame is None or (growth := _growth(frame, context)) is None:
        return None
    if not growth.frames:
        return Inspector(ref, f"{frame.tensor}: no e-graph", description=(explain(growth.stop),))
    last = len(growth.frames) - 1
    shown = growth.frames[min(frame.number, last)]
    number = shown.number
    targets = {number - 1: "previous frame", number + 1: "next frame", 0: "first frame", last: "last frame"}
    return Inspector(
        frame.id_of(frame.number),
        f"{frame.tensor} = {growth.operation}",
        "proved" if shown.is_proved else "frontier",
        f"frame {number} of {last}",
        (frame_text(shown), "The axioms are applied one at a time, so that the axiom of each merge is known."),
        (
            ("e-nodes", f"{shown.nodes:,}, {len(shown.added_nodes)} of them new"),
            ("e-classes", f"{len(shown.classes):,}, {len(shown.added)} of them new"),
            ("sides", f"both in {shown.roots[0]}" if shown.is_proved else f"{shown.roots[0]} and {shown.roots[1]}"),
        ),
        "\n".join((f"= {growth.value}", *merge_texts(shown))),
        links=tuple(Link(frame.id_of(n), label) for n, label in targets.items() if 0 <= n <= last and n != number),
    )


def tensor_inspector(ref: str, context: Context) -> Inspector | None:
    """A tensor of the program, of a family or of a candidate: its type, its e-class, its lemma."""
    tensor = tensor_ref(ref)
    if tensor is None:
        return None
    graph = graph_of(tensor.owner, context.events) if tensor.owner else context.search.program.graph
    described = _describe(tensor, graph) if graph is not None else None
    if described is None:
        return None
    title, kind, description, details = described
    events, owner = context.events, tensor.owner
    verdict = events.verdicts.get(owner)
    classes = [c for c in (verdict.classes if verdict else ()) if tensor.name in c[2]]
    certificate = events.certificates.get(owner) if owner else next(reversed(events.certificates.values()), None)
    steps = (step_row(step, owner) for step in steps_of(certificate)) if certificate else ()
    links = [Link(c, f"e-class {c}") for c, _, _ in classes]
    links += [Link(f"{ref}@0", "its e-graph, frame by frame")] if owner in events.candidates else []
    links += [Link(owner, owner)] if owner else []
    return Inspector(
        ref,
        title,
        kind,
        "",
        (description,),
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
        links=tuple(links),
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
    """An e-class of the candidate that was verified last and has one of this name."""
    for candidate, verdict in reversed(context.events.verdicts.items()):
        for name, term, members in verdict.classes:
            if name == ref:
                return Inspector(
                    ref,
                    f"{ref}: an e-class",
                    "expanded",
                    f"{len(members)} members",
                    ("Tensors that the prover found equal for all sizes.",),
                    code=term,
                    code_math=to_mathml(term),
                    links=tuple(Link(member_ref(candidate, m), m) for m in members),
                )
    return None
