"""The proof of a candidate: the e-classes panel, and the inspectors of tensors, e-classes and e-graph frames."""

from __future__ import annotations

from dataclasses import replace

from prism_explore.diagnose.evidence import steps_of
from prism_explore.events.kinds import VerdictReached
from prism_explore.ir.graph import SGraph, block_types
from prism_explore.ir.ops import Custom, Input, Load, Node, Store, op_label
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.text import show_node
from prism_explore.verify.egraph.frames import Frame, Growth
from prism_explore.verify.egraph.limits import explain
from prism_explore.widgets.formulas.mathml import to_mathml
from prism_explore.widgets.panels.answers import EVIDENCE, step_row
from prism_explore.widgets.panels.cards import MAX_LINKS
from prism_explore.widgets.panels.context import Context, graph_of
from prism_explore.widgets.panels.sections import Card, Inspector, Link, Pair
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
from prism_explore.widgets.views.egraph_drawing import node_text
from prism_explore.widgets.views.egraph_frames import (
    frame_number_text,
    frame_text,
    merge_reason,
    merge_texts,
    only_frame_text,
)


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


def tensor_labels(program: TensorProgram, graph: SGraph | None) -> dict[str, str]:
    """Per tensor name of an e-class, the operator that computes the tensor."""
    labels = {program_tensor(i): _operator(node) for i, node in enumerate(program.graph.nodes)}
    for i, node in enumerate(graph.nodes if graph else ()):
        labels[tensor_name(i)] = _operator(node)
        if isinstance(node.op, Custom):
            labels |= {tensor_name(i, j): _operator(inner) for j, inner in enumerate(node.op.block.nodes)}
    return labels


def _operator(node: Node) -> str:
    return node.op.name if isinstance(node.op, Input) else op_label(node.op)


def growth_of(frame: FrameRef, context: Context) -> Growth | None:
    """The e-graph of the lemma of a frame; None if there is no such lemma."""
    graph = graph_of(frame.candidate, context.events)
    return None if graph is None else context.memo.growth(context.search.program, graph, frame.tensor)


# ---------------------------------------------------------------- inspectors
def frame_inspector(ref: str, context: Context) -> Inspector | None:
    """One frame of the e-graph of a lemma: its merges, and links to other frames."""
    frame = frame_ref(ref)
    if frame is None or frame.candidate not in context.events.candidates:
        return None
    growth, own = growth_of(frame, context), frame.id_of(frame.number)
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
    if frame.eclass:
        return _class_inspector(frame, growth, shown)
    targets = {number - 1: "previous frame", number + 1: "next frame", 0: "first frame", last: "last frame"}
    only = only_frame_text(growth)
    how = "The axioms are applied one at a time, so that the axiom of each merge is known."
    return Inspector(
        own,
        f"{frame.tensor} = {growth.operation}",
        "proved" if shown.is_proved else "frontier",
        frame_number_text(shown, growth),
        (f"A lemma of {frame.candidate}. {only or frame_text(shown, growth)}", *(() if only else (how,))),
        (
            ("e-nodes", f"{shown.nodes:,}, {len(shown.added_nodes)} of them new"),
            ("e-classes", f"{len(shown.classes):,}, {len(shown.added)} of them new"),
            ("sides", f"both in {shown.roots[0]}" if shown.is_proved else f"{shown.roots[0]} and {shown.roots[1]}"),
            *(("merge", text) for text in merge_texts(shown)),
        ),
        growth.value,
        to_mathml(growth.value),
        links=(
            *(Link(frame.id_of(n), label) for n, label in targets.items() if 0 <= n <= last and n != number),
            *back,
        ),
    )


def _class_inspector(ref: FrameRef, growth: Growth, frame: Frame) -> Inspector | None:
    """A class of the e-graph in one frame: its nodes, what merged it, and links to the classes next to it."""
    own = next((c for c in frame.classes if c.id == ref.eclass), None)
    later = [(f, m) for f in growth.frames for m in f.merged if ref.eclass in m.absorbed]
    if own is None:
        if not later:
            return None
        at, merge = later[0]
        text = f"{ref.eclass} was merged into {merge.survivor} in frame {at.number}, {merge_reason(merge)}."
        link = Link(replace(ref, number=at.number).class_id(merge.survivor), f"{merge.survivor} in frame {at.number}")
        return Inspector(ref.id_of(ref.number), f"{ref.eclass}: merged", description=(text,), links=(link,))
    merges = [(f, m) for f in growth.frames[: frame.number + 1] for m in f.merged if m.survivor == own.id]
    below = dict.fromkeys(child for node in own.nodes for child in node.children)
    above = [c.id for c in frame.classes if any(own.id in node.children for node in c.nodes)]
    sides = [side for side, root in zip(("left", "right"), frame.roots, strict=True) if root == own.id]
    is_new = own.id in frame.added and bool(frame.axiom)
    return Inspector(
        ref.id_of(ref.number),
        f"{own.id}: a class of the e-graph",
        "proved" if len(sides) == 2 else "expanded",
        " and ".join((*sides, *(("new",) if is_new else ()))) or "class",
        (f"Terms that are equal by the axioms applied up to {frame_number_text(frame, growth)}.",),
        (
            *((f"merged in frame {f.number}", f"{', '.join(m.absorbed)}, {merge_reason(m)}") for f, m in merges),
            ("nodes", f"{len(own.nodes):,}"),
        ),
        "\n".join(f"{node.id}: {node_text(node)}" for node in own.nodes),
        links=(
            *(Link(ref.class_id(c), f"argument {c}") for c in below),
            *(Link(ref.class_id(c), f"used by {c}") for c in above[:MAX_LINKS]),
            *_tensor_links(ref),
            Link(ref.class_id(""), "the frame as a whole"),
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
        details,
        cards=(
            *(
                Card(c, "expanded", "", "Equal to", formula=term, formula_math=to_mathml(term))
                for c, term, _ in classes
            ),
            *(
                Card(
                    "lemma",
                    step.kind,
                    "",
                    EVIDENCE,
                    formula=step.equation,
                    formula_math=step.equation_math,
                    details=(("why", step.justification),),
                    steps=(step,) if step.lines else (),
                )
                for step in steps
                if step.ref == ref
            ),
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
