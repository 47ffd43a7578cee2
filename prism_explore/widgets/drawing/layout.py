"""Layered layout of nested frames by Graphviz: boxes in layers from top to bottom, connected by curved edges.

Input: a `Diagram` of boxes with sizes, frames around them, and edges. Output: a `Placed` with a rectangle per
box and frame and a Bezier curve per edge. The pygraphviz wheel carries Graphviz as a library; no `dot` program
is started. Graphviz sees sizes and generated names only, never a text of the user. The same diagram gives the
same layout every time.

A frame can have boxes *on its lower border*: they share the lowest layer in the frame, and the border runs
through their middles. The accumulators of a loop are drawn this way.

Source: Gansner, Koutsofios, North, Vo, "A technique for drawing directed graphs", 1993 (`dot`).
"""

# pyright: basic
# pygraphviz ships no types.

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from types import MappingProxyType
from typing import Any

from prism_explore.errors import PrismError
from prism_explore.support.caches import memoize
from prism_explore.widgets.scene import Point

MARGIN_PX = 14.0
"""Distance between a frame and its members."""
COLUMN_GAP_PX = 22.0
LAYER_GAP_PX = 30.0
GUIDES = (0, 1, 8, 32, 64)
"""Numbers of invisible edges per box of a sequence, tried in turn: more of them keep its order more strictly."""


@dataclass(frozen=True, slots=True)
class Rect:
    """A rectangle. Units: px, `x`, `y` the upper left corner."""

    x: float
    y: float
    w: float
    h: float

    @property
    def right(self) -> float:
        """The x of its right side."""
        return self.x + self.w

    @property
    def bottom(self) -> float:
        """The y of its lower side."""
        return self.y + self.h


@dataclass(frozen=True, slots=True)
class Box:
    """A box to place. Units: px."""

    id: str
    w: float
    h: float


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame around boxes and further frames, with room for a title of the given size."""

    id: str
    members: tuple[Box | Frame, ...]
    title_w: float = 0.0
    title_h: float = 0.0
    on_border: tuple[str, ...] = ()
    """Ids of the members that stand on the lower border."""
    rows: tuple[tuple[str, ...], ...] = ()
    """Groups of member ids; each group stands side by side in one layer."""


@dataclass(frozen=True, slots=True)
class Diagram:
    """The input of the layout: members, and edges as pairs of box ids, from upper to lower box."""

    members: tuple[Box | Frame, ...]
    edges: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, ...], ...] = ()
    """As in `Frame`."""
    sequences: tuple[tuple[str, ...], ...] = ()
    """Groups of box ids, in any frames; each group has this order from left to right, if Graphviz finds such a layout.

    Graphviz ignores a fixed order across frames, so this is done by edges that would otherwise cross.
    """


@dataclass(frozen=True, slots=True)
class Placed:
    """The result of the layout. Units: px."""

    rects: Mapping[str, Rect]
    """Per box and frame id."""
    routes: tuple[tuple[Point, ...], ...]
    """Per edge, the points of a Bezier curve from the border of the source to the border of the target."""
    width: float
    height: float


class GraphvizUnavailable(PrismError):
    """Graphviz cannot be loaded; the message tells how to install it."""


def walk(members: Iterable[Box | Frame]) -> Iterable[Box | Frame]:
    """Yield every box and frame, a frame before its members."""
    for member in members:
        yield member
        if isinstance(member, Frame):
            yield from walk(member.members)


_GRAPHVIZ_LOCK = threading.Lock()
"""Graphviz has global state and is not thread-safe."""


def place(diagram: Diagram) -> Placed:
    """Compute the layout of a diagram.

    Raises:
        GraphvizUnavailable: pygraphviz, or the Graphviz library in its wheel, cannot be loaded.
    """
    names = {member.id: f"v{number}" for number, member in enumerate(walk(diagram.members))}
    placed = _best(_named(diagram, names))
    rects = {member: placed.rects[name] for member, name in names.items()}
    return Placed(MappingProxyType(rects), placed.routes, placed.width, placed.height)


def _named(diagram: Diagram, names: Mapping[str, str]) -> Diagram:
    """The diagram with other ids, so that those of two candidates that differ in their ids only are equal."""

    def groups(rows: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
        return tuple(tuple(names[box] for box in row) for row in rows)

    def members(own: tuple[Box | Frame, ...]) -> tuple[Box | Frame, ...]:
        return tuple(
            replace(m, id=names[m.id])
            if isinstance(m, Box)
            else replace(
                m, id=names[m.id], members=members(m.members), rows=groups(m.rows),
                on_border=tuple(names[box] for box in m.on_border),
            )
            for m in own
        )  # fmt: skip

    edges = tuple((names[source], names[target]) for source, target in diagram.edges)
    return Diagram(members(diagram.members), edges, groups(diagram.rows), groups(diagram.sequences))


@memoize(256)
def _best(diagram: Diagram) -> Placed:
    """The layout with the fewest guides that keeps the order of the sequences, else the one that keeps most of it."""
    fewest, best = -1, None
    for guides in GUIDES if diagram.sequences else (0,):
        placed = _place(diagram, guides)
        swapped = sum(_swapped(sequence, placed) for sequence in diagram.sequences)
        if best is None or swapped < fewest:
            fewest, best = swapped, placed
        if not swapped:
            break
    assert best is not None
    return best


def _swapped(sequence: tuple[str, ...], placed: Placed) -> int:
    """The number of pairs in a sequence whose left box is right of the other."""
    return sum(placed.rects[left].x > placed.rects[right].x for left, right in combinations(sequence, 2))


def _place(diagram: Diagram, guides: int) -> Placed:
    """A layout with so many invisible edges per box of a sequence."""
    pygraphviz = load_graphviz()
    with _GRAPHVIZ_LOCK:
        graph = pygraphviz.AGraph(directed=True, strict=False)
        graph.graph_attr.update(
            rankdir="TB", newrank="true", nodesep=f"{COLUMN_GAP_PX / 72}", ranksep=f"{LAYER_GAP_PX / 72}"
        )
        graph.node_attr.update(shape="box", fixedsize="true", label="")
        graph.edge_attr.update(arrowhead="none")
        clusters = dict(_declare(graph, diagram.members))
        for number, row in enumerate(diagram.rows):
            graph.add_subgraph(row, name=f"row{number}", rank="same")
        for number, (source, target) in enumerate(diagram.edges):
            graph.add_edge(source, target, key=f"e{number}")
        for number, sequence in enumerate(diagram.sequences if guides else ()):
            _guide(graph, f"g{number}", sequence, guides)
        for source, target in _ordering_edges(diagram):
            graph.add_edge(source, target, key=f"r{source}-{target}", style="invis")
        graph.layout(prog="dot")
        return _read(diagram, graph, clusters)


def _guide(graph, prefix: str, boxes: tuple[str, ...], edges: int) -> None:
    """Put an invisible node above each box, in a fixed order, and connect both by a number of invisible edges."""
    tops = [f"{prefix}_{box}" for box in boxes]
    for top, box in zip(tops, boxes, strict=True):
        graph.add_node(top, width="0.01", height="0.01", style="invis")
        for n in range(edges):
            graph.add_edge(top, box, key=f"{top}{n}", style="invis", weight=0 if n else 1)
    graph.add_subgraph(tops, name=prefix, rank="same")
    for left, right in pairwise(tops):
        graph.add_edge(left, right, key=f"{left}-{right}", style="invis")


def load_graphviz():
    """The module `pygraphviz`, which is imported here.

    Raises:
        GraphvizUnavailable: it, or the Graphviz library in its wheel, cannot be loaded.
    """
    try:
        import pygraphviz
    except ImportError as error:
        raise GraphvizUnavailable(
            f"The graph cannot be drawn: pygraphviz could not be loaded ({error}). "
            "Install it with `pip install pygraphviz`; its wheel carries Graphviz."
        ) from error
    return pygraphviz


def _declare(graph, members: tuple[Box | Frame, ...]) -> Iterator[tuple[str, Any]]:
    """Add boxes as nodes and frames as clusters; yield the id and the cluster of each frame."""
    for member in members:
        if isinstance(member, Box):
            graph.add_node(member.id, width=f"{member.w / 72}", height=f"{member.h / 72}")
            continue
        title = (
            f'<<TABLE FIXEDSIZE="TRUE" WIDTH="{member.title_w:.0f}" HEIGHT="{member.title_h:.0f}" BORDER="0">'
            "<TR><TD></TD></TR></TABLE>>"
        )
        cluster = graph.add_subgraph(
            name=f"cluster_{member.id}", margin=f"{MARGIN_PX}", label=title if member.title_h else ""
        )
        yield member.id, cluster
        yield from _declare(cluster, member.members)
        for number, row in enumerate((*member.rows, member.on_border)):
            if row:
                cluster.add_subgraph(row, name=f"row{number}_{member.id}", rank="same")


def _ordering_edges(diagram: Diagram) -> list[tuple[str, str]]:
    """Invisible edges that keep the other boxes of a frame above the boxes on its border."""
    pairs: list[tuple[str, str]] = []
    sources = {s for s, _ in diagram.edges}
    for frame in walk(diagram.members):
        if isinstance(frame, Frame) and frame.on_border:
            for member in walk(frame.members):
                if isinstance(member, Box) and member.id not in frame.on_border and member.id not in sources:
                    pairs.append((member.id, frame.on_border[0]))
    return pairs


def _read(diagram: Diagram, graph, clusters: Mapping[str, Any]) -> Placed:
    """Read the positions that Graphviz computed."""
    box = _numbers(graph.graph_attr["bb"])
    height = box[3]
    rects: dict[str, Rect] = {}
    for member in walk(diagram.members):
        if isinstance(member, Box):
            x, y = _numbers(graph.get_node(member.id).attr["pos"])
            rects[member.id] = Rect(x - member.w / 2, height - y - member.h / 2, member.w, member.h)
    for member in walk(diagram.members):
        if isinstance(member, Frame):
            x0, y0, x1, y1 = _numbers(clusters[member.id].graph_attr["bb"])
            rects[member.id] = Rect(x0, height - y1, x1 - x0, y1 - y0)
    routes: list[tuple[Point, ...]] = []
    for number, (source, target) in enumerate(diagram.edges):
        text = graph.get_edge(source, target, key=f"e{number}").attr["pos"]
        points = [_numbers(p) for p in text.split()]
        routes.append(tuple((x, height - y) for x, y in points))
    return _finish(diagram, rects, routes)


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(float(n) for n in text.replace("\\\n", "").split(","))


def _finish(diagram: Diagram, rects: dict[str, Rect], routes: list[tuple[Point, ...]]) -> Placed:
    """Move the lower borders to the middles of the boxes on them, and the whole layout to the origin."""
    for frame in walk(diagram.members):
        if isinstance(frame, Frame) and frame.on_border:
            border = rects[frame.on_border[0]]
            full = rects[frame.id]
            rects[frame.id] = Rect(full.x, full.y, full.w, border.y + border.h / 2 - full.y)
    xs = [r.x for r in rects.values()] + [x for route in routes for x, _ in route]
    ys = [r.y for r in rects.values()] + [y for route in routes for _, y in route]
    left, top = min(xs, default=0.0), min(ys, default=0.0)
    right = max([r.right for r in rects.values()] + xs, default=0.0)
    bottom = max([r.bottom for r in rects.values()] + ys, default=0.0)
    moved = {k: Rect(r.x - left, r.y - top, r.w, r.h) for k, r in rects.items()}
    curves = tuple(tuple((x - left, y - top) for x, y in route) for route in routes)
    return Placed(MappingProxyType(moved), curves, right - left, bottom - top)
