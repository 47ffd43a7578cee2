"""One frame of an e-graph as shapes: a frame per class, a pill per node, an edge per argument."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from prism_explore.verify.egraph.frames import ClassFrame, ENode, Frame, Growth
from prism_explore.widgets.drawing.layout import Rect
from prism_explore.widgets.drawing.text_metrics import shorten, width_px
from prism_explore.widgets.refs import FrameRef
from prism_explore.widgets.scene import Edge, Item, Point, Shape, Text
from prism_explore.widgets.views.egraph_layout import NEW, TITLE_PX, EGraphLayout, flow, node_label

PORT_PX = 10.0
"""Distance between the arguments of one node."""


def marked_nodes(growth: Growth, number: int, axiom: str) -> frozenset[str]:
    """The nodes that an axiom added up to a frame, and the nodes of the classes that it merged."""
    if not axiom:
        return frozenset()
    found: set[str] = set()
    for before, frame in zip(growth.frames, growth.frames[1 : number + 1], strict=False):
        if frame.axiom != axiom:
            continue
        found.update(frame.added_nodes)
        merged = {name for m in frame.merged for name in (m.survivor, *m.absorbed)}
        found.update(node.id for c in before.classes if c.id in merged for node in c.nodes)
    return frozenset(found)


def draw_frame(
    ref: FrameRef,
    frame: Frame,
    layout: EGraphLayout,
    marked: Collection[str],
    inputs: Mapping[str, str],
    top: float,
) -> list[Item]:
    """Draw the classes that have a slot, with their nodes, and the edges between them.

    Args:
        ref: the frame, and the class in focus.
        frame: its content.
        layout: the slots.
        marked: ids of nodes to mark, because of a rule.
        inputs: per input of the program, the id of its tensor.
        top: y of the first slot. Units: px.
    """
    frames: dict[str, Rect] = {}
    boxes: dict[str, Rect] = {}
    drawn = [c for c in frame.classes if c.id in layout.slots]
    for c in drawn:
        slot = layout.slots[c.id]
        places, w, h = flow(c.nodes)
        frames[c.id] = Rect(slot.x, top + slot.y, w, h)
        for node, place in zip(c.nodes, places, strict=True):
            boxes[node.id] = Rect(slot.x + place.x, top + slot.y + place.y, place.w, place.h)
    items: list[Item] = [_class(c, ref, frame, frames[c.id]) for c in drawn]
    items += [e for c in drawn for node in c.nodes for e in _edges(node, boxes[node.id], frames)]
    new = frozenset(frame.added_nodes) if frame.axiom else frozenset[str]()
    items += [
        _node(node, c.id, boxes[node.id], node.id in new, node.id in marked, inputs) for c in drawn for node in c.nodes
    ]
    return items


def _class(c: ClassFrame, ref: FrameRef, frame: Frame, box: Rect) -> Shape:
    sides = [side for side, root in zip(("left", "right"), frame.roots, strict=True) if root == c.id]
    absorbed = [a for m in frame.merged if m.survivor == c.id for a in m.absorbed]
    words = [c.id, *([" = ".join(sides)] if sides else ())]
    words += [f"+ {', '.join(absorbed)}"] if absorbed else []
    words += ["new"] if c.id in frame.added and frame.axiom else []
    kind = "eclass-merged" if absorbed else "eclass-shared" if sides else "eclass"
    kind = "eclass-focus" if c.id == ref.eclass else kind
    title = shorten(" ".join(words), max(4, int((box.w - 12) // width_px("n", "letter"))))
    texts = (Text(box.x + 8, box.y + TITLE_PX - 7, title, "letter", "start"),)
    nodes = "\n".join(f"{n.id}: {node_text(n)}" for n in c.nodes)
    tip = f"class {' '.join(words)}" + (f", merged in this frame with {', '.join(absorbed)}" if absorbed else "")
    return Shape(c.id, "frame", kind, box.x, box.y, box.w, box.h, "rect", texts, ref.class_id(c.id), f"{tip}\n{nodes}")


def node_text(node: ENode) -> str:
    """A node with the classes of its arguments, such as × (e3, e4)."""
    return f"{node_label(node)} ({', '.join(node.children)})" if node.children else node_label(node)


def _node(node: ENode, parent: str, box: Rect, new: bool, marked: bool, inputs: Mapping[str, str]) -> Shape:
    kind = "enode-marked" if marked else "enode-new" if new else "op"
    text = (Text(box.x + box.w / 2, box.y + 16, node_label(node) + (NEW if new else ""), "mono"),)
    words = node.label.split(" ")
    ref = inputs.get(words[1], "") if words[0] == "At" and len(words) > 1 else ""
    tip = f"{node.id}: {node_text(node)}" + (", new in this frame" if new else "")
    tip += ", changed by the chosen axiom" if marked else ""
    return Shape(node.id, "box", kind, box.x, box.y, box.w, box.h, "pill", text, ref, tip, parent)


def _edges(node: ENode, box: Rect, frames: Mapping[str, Rect]) -> list[Edge]:
    """A curve from each argument of a node to the frame of the argument's class."""
    out: list[Edge] = []
    middle = (len(node.children) - 1) / 2
    for n, child in enumerate(node.children):
        if child not in frames:
            continue
        target = frames[child]
        x, y = box.x + box.w / 2 + (n - middle) * PORT_PX, box.bottom
        if target.y > y:
            end: Point = (min(max(x, target.x + 12), target.right - 12), target.y)
            bend = (end[1] - y) / 2
            points: tuple[Point, ...] = ((x, y), (x, y + bend), (end[0], end[1] - bend), end)
        else:  # the class is above or beside: the curve leaves downwards and enters from the nearer side
            side, out_px = (target.x, -30.0) if target.x > box.x else (target.right, 30.0)
            end = (side, target.y + target.h / 2)
            points = ((x, y), (x, y + 30), (side + out_px, end[1]), end)
        tip = f"argument {n + 1} of {node.id} is a term of {child}"
        out.append(Edge(f"{node.id}>{n}", "edge-member", points, "bezier", True, source=node.id, target=child, tip=tip))
    return out
