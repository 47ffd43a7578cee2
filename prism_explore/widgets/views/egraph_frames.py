"""An e-graph step by step: what a lemma's e-graph looked like behind each axiom, one frame at a time.

A frame is selected like everything else, by an id: `f1.c1/k2.b5@3` is frame 3 of the lemma of tensor k2.b5 of
candidate f1.c1, and `f1.c1/goal@0` what is put in for the two results. The frames of a lemma are computed when
one of them is first asked for, and remembered.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from prism_explore.ir.graph import SGraph
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.text import parse
from prism_explore.support.caches import memoize
from prism_explore.verify.egraph.frames import ClassFrame, Frame, Growth
from prism_explore.verify.egraph.limits import explain
from prism_explore.verify.normal_form.equalities import equalities
from prism_explore.widgets.drawing.charts import empty
from prism_explore.widgets.drawing.text_metrics import shorten, width_px, wrapped
from prism_explore.widgets.panels.facts import Facts
from prism_explore.widgets.panels.sections import Inspector, Link
from prism_explore.widgets.scene import Item, Scene, Shape, Text

MOST_CLASSES = 60
"""Rows drawn at most: the two sides first, then what is new or merged, then by name."""
ROW_PX = 26.0
BUTTON_PX = 96.0
LETTER_PX = width_px("n", "small")
_REF = re.compile(r"(?P<candidate>f\d+\.c\d+)/(?P<tensor>[\w.%]+)@(?P<number>\d+)\Z")


@dataclass(frozen=True, slots=True)
class FrameRef:
    """Which frame of which lemma."""

    candidate: str
    tensor: str
    number: int

    def at(self, number: int) -> str:
        """The id of another frame of the same lemma."""
        return f"{self.candidate}/{self.tensor}@{number}"


def frame_ref(ref: str) -> FrameRef | None:
    """What an id of a frame names; None where it is another kind of id."""
    found = _REF.match(ref)
    return FrameRef(found["candidate"], found["tensor"], int(found["number"])) if found else None


def growth_of(ref: FrameRef, program: TensorProgram, facts: Facts) -> Growth | None:
    """The lemma's e-graph from start to end; None where there is no such candidate or tensor."""
    if ref.candidate not in facts.candidates:
        return None
    return _growth(program, parse(facts.candidates[ref.candidate].sgraph), ref.tensor)


@memoize(32)
def _growth(program: TensorProgram, sgraph: SGraph, tensor: str) -> Growth | None:
    try:
        return equalities(program, sgraph).lemma(tensor)
    except KeyError:
        return None


def frame_scene(ref: FrameRef, growth: Growth, width: float = 560.0) -> Scene:
    """One frame: a row per class with its nodes, and the ways to the frames before and behind it.

    Args:
        ref: which frame; one that is not there counts as the last.
        growth: the lemma's e-graph.
        width: of the picture. Units: px.
    """
    if not growth.frames:
        return empty("egraph", f"there is no e-graph of {ref.tensor}: {explain(growth.stop)}", width)
    frame = growth.frames[min(ref.number, len(growth.frames) - 1)]
    items: list[Item] = [*_buttons(ref, frame, len(growth.frames), width)]
    y = ROW_PX + 8
    said = (line for says in (_what(frame), *_merges(frame)) for line in wrapped(says, int(width // LETTER_PX), 3))
    for line in said:
        text = (Text(0, y + 14, line, "small", "start"),)
        items.append(Shape(f"says{len(items)}", "text", "plain", 0, y, width, 18, "none", text, tip=line))
        y += 18
    y += 6
    rows = _chosen(frame)
    for c in rows:
        items.append(_row(c, frame, y, width))
        y += ROW_PX + 4
    omitted = f"{len(rows)} of {len(frame.classes)} classes are drawn." if len(rows) < len(frame.classes) else ""
    if omitted:
        text = (Text(0, y + 14, omitted, "muted", "start"),)
        items.append(Shape("omitted", "text", "plain", 0, y, width, 20, "none", text))
        y += 22
    title = f"e-graph of {ref.candidate}/{ref.tensor}, frame {frame.number} of {len(growth.frames) - 1}"
    return Scene("egraph", title, f"{title}: {_what(frame)}. {omitted}".strip(), width, y, tuple(items), omitted)


def frame_inspector(ref: FrameRef, growth: Growth) -> Inspector:
    """What happened in a frame, in words, with the way to the others."""
    here = ref.at(ref.number)
    if not growth.frames:
        return Inspector(here, f"{ref.tensor}: no e-graph", what=(explain(growth.stop),))
    last = len(growth.frames) - 1
    frame = growth.frames[min(ref.number, last)]
    near = (
        (frame.number - 1, "the frame before"),
        (frame.number + 1, "the frame behind"),
        (0, "first"),
        (last, "last"),
    )
    said = {ref.at(n): words for n, words in reversed(near) if 0 <= n <= last and n != frame.number}
    return Inspector(
        here,
        f"{ref.tensor} = {growth.operation}",
        "proved" if frame.has_met else "frontier",
        f"frame {frame.number} of {last}",
        (_what(frame), "Axioms are applied one at a time, so that each merge has a name."),
        (
            ("e-nodes", f"{frame.nodes:,}, {len(frame.added_nodes)} of them new"),
            ("e-classes", f"{len(frame.classes):,}, {len(frame.added)} of them new"),
            ("sides", f"both in {frame.roots[0]}" if frame.has_met else f"{frame.roots[0]} and {frame.roots[1]}"),
        ),
        "\n".join((f"= {growth.value}", *_merges(frame))),
        links=tuple(Link(to, words) for to, words in reversed(said.items())),
    )


def _what(frame: Frame) -> str:
    size = f"{frame.nodes:,} nodes in {len(frame.classes):,} classes"
    if not frame.axiom:
        return f"what is put in: the operator's definition on the left, the normal form on the right; {size}"
    times = "once" if frame.matches == 1 else f"{frame.matches:,} times"
    met = "; both sides have met" if frame.has_met else ""
    return f"round {frame.iteration}: “{frame.axiom}” matched {times}; {size}{met}"


def _merges(frame: Frame) -> list[str]:
    return [
        f"{m.survivor} absorbs {', '.join(m.absorbed)} {'by congruence' if m.is_congruence else f'by “{m.axiom}”'}"
        for m in frame.merged
    ]


def _buttons(ref: FrameRef, frame: Frame, frames: int, width: float) -> list[Shape]:
    ways = ((0.0, frame.number - 1, "‹ back"), (width - BUTTON_PX, frame.number + 1, "forward ›"))
    out = [
        Shape(f"to{n}", "box", "op", x, 0, BUTTON_PX, ROW_PX, "pill", (Text(x + BUTTON_PX / 2, 17, says),), ref.at(n))
        for x, n, says in ways
        if 0 <= n < frames
    ]
    says = (Text(width / 2, 17, f"{ref.tensor}, frame {frame.number} of {frames - 1}", "heading"),)
    return [*out, Shape("head", "text", "plain", BUTTON_PX, 0, width - 2 * BUTTON_PX, ROW_PX, "none", says)]


def _chosen(frame: Frame) -> tuple[ClassFrame, ...]:
    changed = {*frame.added, *(m.survivor for m in frame.merged)}
    first = sorted(frame.classes, key=lambda c: (c.id not in frame.roots, c.id not in changed))
    kept = {c.id for c in first[:MOST_CLASSES]}
    return tuple(c for c in frame.classes if c.id in kept)


def _row(c: ClassFrame, frame: Frame, y: float, width: float) -> Shape:
    sides = [side for side, root in zip(("left", "right"), frame.roots, strict=True) if root == c.id]
    merged = any(m.survivor == c.id for m in frame.merged)
    kind = "eclass-joined" if sides else "accum" if merged else "family" if c.id in frame.added else "eclass"
    nodes = [" ".join((n.label, *((f"({', '.join(n.children)})",) if n.children else ()))) for n in c.nodes]
    new = set(frame.added_nodes)
    marks = ("*" if n.id in new and frame.axiom else "" for n in c.nodes)
    shown = " = ".join(f"{said}{mark}" for said, mark in zip(nodes, marks, strict=True))
    name = f"{c.id} {' and '.join(sides)}".strip()
    room = int((width - 24 - 130) // width_px("x", "mono"))
    texts = (
        Text(10, y + 17, name, "mono-muted", "start"),
        Text(130, y + 17, shorten(shown, room), "mono", "start"),
    )
    tip = "\n".join((name, *(f"{n.id}: {said}" for n, said in zip(c.nodes, nodes, strict=True))))
    return Shape(c.id, "box", kind, 0, y, width, ROW_PX, "rect", texts, tip=tip)
