"""The e-graph of one lemma, frame by frame: its classes after each application of an axiom.

Input: the growth of the e-graph, a list of frames. Output: a `Scene` of one frame. `egraph_layout` places the classes,
and `egraph_drawing` draws them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from prism_explore.verify.egraph.frames import Frame, Growth, Merge
from prism_explore.verify.egraph.limits import explain
from prism_explore.verify.normal_form.equalities import Equalities
from prism_explore.widgets.drawing.charts import empty_scene
from prism_explore.widgets.drawing.text_metrics import width_px, wrap_text
from prism_explore.widgets.refs import FrameRef
from prism_explore.widgets.scene import Item, Scene, Shape, Text
from prism_explore.widgets.views.egraph_drawing import draw_frame, marked_nodes
from prism_explore.widgets.views.egraph_layout import EGraphLayout, choose_classes, place_classes
from prism_explore.widgets.views.egraph_view import EGraphView

MAX_LINES = 6
"""Lines of text for which every frame keeps room."""
ROW_PX = 22.0
LETTER_PX = width_px("n", "small")


def lemma_growth(found: Equalities, tensor: str) -> Growth | None:
    """The e-graph of the lemma of a tensor, from the first frame to the last; None if there is no such tensor."""
    try:
        return found.lemma(tensor)
    except KeyError:
        return None


@dataclass(frozen=True, slots=True)
class FramePlaces:
    """The places that all frames of an e-graph share, so that nothing moves from one to the next."""

    layout: EGraphLayout
    top: float
    """y of the first class, below the most lines of any frame. Units: px."""


def frame_places(growth: Growth, width: float, nodes: int, focus: str = "") -> FramePlaces:
    """Choose and place the classes of an e-graph.

    Args:
        growth: the e-graph of the lemma, from the first frame to the last.
        width: width of the picture. Units: px.
        nodes: largest number of nodes that are drawn.
        focus: the class near which they are; empty for those below both sides.
    """
    layout = place_classes(growth, choose_classes(growth, nodes, focus), width)
    most = max((len(_lines(frame, growth, width)) for frame in growth.frames), default=0)
    return FramePlaces(layout, ROW_PX + 18 * min(MAX_LINES, most) + 8)


def frame_scene(
    ref: FrameRef,
    growth: Growth,
    width: float = 560.0,
    view: EGraphView | None = None,
    inputs: Mapping[str, str] | None = None,
    places: FramePlaces | None = None,
) -> Scene:
    """Draw one frame: classes with their nodes, and edges from the nodes to the classes of their arguments.

    Args:
        ref: the frame, and the class in focus; a number past the end means the last frame.
        growth: the e-graph of the lemma, from the first frame to the last.
        width: width of the picture. Units: px.
        view: the axiom whose nodes are marked, and the number of nodes that are drawn.
        inputs: per input of the program, the id of its tensor.
        places: those of `frame_places` for this width, view and focus; computed without them.
    """
    if not growth.frames:
        return empty_scene("egraph", f"no e-graph of {ref.tensor}: {explain(growth.stop)}", width)
    view = view or EGraphView()
    frame = growth.frames[min(ref.number, len(growth.frames) - 1)]
    head = (Text(0, 15, f"{ref.tensor}, {frame_number_text(frame, growth)}", "heading", "start"),)
    items: list[Item] = [Shape("head", "text", "plain", 0, 0, width, ROW_PX, "none", head)]
    sentences, lines = _sentences(frame, growth), _lines(frame, growth, width)
    shown = lines if len(lines) <= MAX_LINES else [*lines[: MAX_LINES - 1], f"… and {len(lines) - MAX_LINES + 1} more"]
    for n, line in enumerate(shown):
        text = (Text(0, ROW_PX + 18 * n + 14, line, "small", "start"),)
        tip = "\n".join(sentences)
        items.append(Shape(f"line{n}", "text", "plain", 0, ROW_PX + 18 * n, width, 18, "none", text, tip=tip))
    places = places or frame_places(growth, width, view.nodes, ref.eclass)
    layout, top = places.layout, places.top
    items += draw_frame(ref, frame, layout, marked_nodes(growth, frame.number, view.rule), inputs or {}, top)
    y = top + layout.height + 6
    drawn = sum(len(c.nodes) for c in frame.classes if c.id in layout.slots)
    omitted = ""
    if drawn < frame.nodes:
        near = f"those near {ref.eclass}" if ref.eclass else "first those below both sides"
        omitted = f"{drawn:,} of {frame.nodes:,} e-nodes are drawn: {near}."
        text = (Text(0, y + 14, omitted, "muted", "start"),)
        items.append(Shape("omitted", "text", "plain", 0, y, width, 20, "none", text))
        y += 22
    title = f"e-graph of {ref.candidate}/{ref.tensor}, {frame_number_text(frame, growth)}"
    desc = f"{title}: {' '.join(sentences)}. {omitted}".strip()
    return Scene("egraph", title, desc, layout.width, y, tuple(items), omitted)


def _sentences(frame: Frame, growth: Growth) -> tuple[str, ...]:
    return (only_frame_text(growth) or frame_text(frame, growth), *merge_texts(frame))


def _lines(frame: Frame, growth: Growth, width: float) -> list[str]:
    """The sentences of a frame, broken into lines."""
    room = int(width // LETTER_PX)
    return [line for text in _sentences(frame, growth) for line in wrap_text(text, room, 3)]


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


def frame_text(frame: Frame, growth: Growth) -> str:
    """What happened in a frame of an e-graph, in a sentence."""
    size = f"{frame.nodes:,} nodes in {len(frame.classes):,} classes"
    if not frame.axiom:
        sides = "the definition of the operator on the left, its normal form on the right"
        return f"start: {'the two sides of the equation' if growth.subject == 'goal' else sides}; {size}"
    times = "once" if frame.matches == 1 else f"{frame.matches:,} times"
    met = "; both sides are in one class" if frame.is_proved else ""
    return f"round {frame.iteration}: “{frame.axiom}” matched {times}; {size}{met}"


def merge_texts(frame: Frame) -> list[str]:
    """The merges of a frame, a sentence each."""
    return [f"{m.survivor} merges with {', '.join(m.absorbed)} {merge_reason(m)}" for m in frame.merged]


def merge_reason(merge: Merge) -> str:
    """By what classes were merged."""
    return "by congruence" if merge.is_congruence else f"by “{merge.axiom}”"
