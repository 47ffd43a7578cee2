"""The e-graph of one lemma, frame by frame: its classes after each application of an axiom.

Input: the growth of the e-graph, a list of frames. Output: a `Scene` of one frame, with buttons that select the
frame before and the frame after.
"""

from __future__ import annotations

from prism_explore.verify.egraph.frames import ClassFrame, Frame, Growth
from prism_explore.verify.egraph.limits import explain
from prism_explore.verify.normal_form.equalities import Equalities
from prism_explore.widgets.drawing.charts import empty_scene
from prism_explore.widgets.drawing.text_metrics import shorten, width_px, wrap_text
from prism_explore.widgets.refs import FrameRef
from prism_explore.widgets.scene import Item, Scene, Shape, Text

MAX_CLASSES = 60
"""Largest number of rows: first the two sides, then new and merged classes, then by name."""
ROW_PX = 26.0
BUTTON_PX = 96.0
LETTER_PX = width_px("n", "small")


def lemma_growth(found: Equalities, tensor: str) -> Growth | None:
    """The e-graph of the lemma of a tensor, from the first frame to the last; None if there is no such tensor."""
    try:
        return found.lemma(tensor)
    except KeyError:
        return None


def frame_scene(ref: FrameRef, growth: Growth, width: float = 560.0) -> Scene:
    """Draw one frame: a row per class with its nodes.

    Args:
        ref: the frame; a number past the end means the last frame.
        growth: the e-graph of the lemma, from the first frame to the last.
        width: width of the picture. Units: px.
    """
    if not growth.frames:
        return empty_scene("egraph", f"no e-graph of {ref.tensor}: {explain(growth.stop)}", width)
    frame = growth.frames[min(ref.number, len(growth.frames) - 1)]
    items: list[Item] = [*_buttons(ref, frame, growth, width)]
    y = ROW_PX + 8
    sentences = (only_frame_text(growth) or frame_text(frame), *merge_texts(frame))
    for line in (line for text in sentences for line in wrap_text(text, int(width // LETTER_PX), 3)):
        text = (Text(0, y + 14, line, "small", "start"),)
        items.append(Shape(f"line{len(items)}", "text", "plain", 0, y, width, 18, "none", text, tip=line))
        y += 18
    y += 6
    rows = _rows(frame)
    for c in rows:
        items.append(_row(c, frame, y, width))
        y += ROW_PX + 4
    omitted = f"{len(rows)} of {len(frame.classes)} classes are drawn." if len(rows) < len(frame.classes) else ""
    if omitted:
        text = (Text(0, y + 14, omitted, "muted", "start"),)
        items.append(Shape("omitted", "text", "plain", 0, y, width, 20, "none", text))
        y += 22
    title = f"e-graph of {ref.candidate}/{ref.tensor}, {frame_number_text(frame, growth)}"
    desc = f"{title}: {' '.join(sentences)}. {omitted}".strip()
    return Scene("egraph", title, desc, width, y, tuple(items), omitted)


def frame_number_text(frame: Frame, growth: Growth) -> str:
    """The position of a frame, such as `frame 2 of 5`."""
    return f"frame {frame.number} of {len(growth.frames) - 1}" if len(growth.frames) > 1 else "the only frame"


def only_frame_text(growth: Growth) -> str:
    """Why an e-graph has one frame only; empty if it has more."""
    if len(growth.frames) != 1:
        return ""
    if growth.frames[0].is_proved:
        return (
            "Both sides have the same normal form, so they are one term and in one class from the start. No axiom is "
            "needed, and there is no other frame."
        )
    return f"There is no other frame, because no axiom changed the e-graph: {explain(growth.stop)}."


def frame_text(frame: Frame) -> str:
    """What happened in a frame, in a sentence."""
    size = f"{frame.nodes:,} nodes in {len(frame.classes):,} classes"
    if not frame.axiom:
        return f"start: the definition of the operator on the left, its normal form on the right; {size}"
    times = "once" if frame.matches == 1 else f"{frame.matches:,} times"
    met = "; both sides are in one class" if frame.is_proved else ""
    return f"round {frame.iteration}: “{frame.axiom}” matched {times}; {size}{met}"


def merge_texts(frame: Frame) -> list[str]:
    """The merges of a frame, a sentence each."""
    return [
        f"{m.survivor} merges with {', '.join(m.absorbed)} {'by congruence' if m.is_congruence else f'by “{m.axiom}”'}"
        for m in frame.merged
    ]


def _buttons(ref: FrameRef, frame: Frame, growth: Growth, width: float) -> list[Shape]:
    buttons = ((0.0, frame.number - 1, "‹ previous"), (width - BUTTON_PX, frame.number + 1, "next ›"))
    out = [
        Shape(
            f"to{n}", "box", "op", x, 0, BUTTON_PX, ROW_PX, "pill", (Text(x + BUTTON_PX / 2, 17, label),), ref.id_of(n)
        )
        for x, n, label in buttons
        if 0 <= n < len(growth.frames)
    ]
    title = (Text(width / 2, 17, f"{ref.tensor}, {frame_number_text(frame, growth)}", "heading"),)
    return [*out, Shape("head", "text", "plain", BUTTON_PX, 0, width - 2 * BUTTON_PX, ROW_PX, "none", title)]


def _rows(frame: Frame) -> tuple[ClassFrame, ...]:
    """The classes to draw."""
    changed = {*frame.added, *(m.survivor for m in frame.merged)}
    first = sorted(frame.classes, key=lambda c: (c.id not in frame.roots, c.id not in changed))
    kept = {c.id for c in first[:MAX_CLASSES]}
    return tuple(c for c in frame.classes if c.id in kept)


def _row(c: ClassFrame, frame: Frame, y: float, width: float) -> Shape:
    sides = [side for side, root in zip(("left", "right"), frame.roots, strict=True) if root == c.id]
    merged = any(m.survivor == c.id for m in frame.merged)
    kind = "eclass-shared" if sides else "accum" if merged else "family" if c.id in frame.added else "eclass"
    nodes = [" ".join((n.label, *((f"({', '.join(n.children)})",) if n.children else ()))) for n in c.nodes]
    new = set(frame.added_nodes)
    marks = ("*" if n.id in new and frame.axiom else "" for n in c.nodes)
    shown = " = ".join(f"{node}{mark}" for node, mark in zip(nodes, marks, strict=True))
    name = f"{c.id} {' and '.join(sides)}".strip()
    room = int((width - 24 - 130) // width_px("x", "mono"))
    texts = (
        Text(10, y + 17, name, "mono-muted", "start"),
        Text(130, y + 17, shorten(shown, room), "mono", "start"),
    )
    tip = "\n".join((name, *(f"{n.id}: {text}" for n, text in zip(c.nodes, nodes, strict=True))))
    return Shape(c.id, "box", kind, 0, y, width, ROW_PX, "rect", texts, tip=tip)
