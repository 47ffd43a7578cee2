"""Where boxes go: nested frames, layers from top to bottom, curved edges.

Graphviz places boxes where it is installed (the pygraphviz wheel carries it; no `dot` program is
run); a plain layered layout takes over where it is not. Both see sizes and numbers only: no text of a
user ever becomes part of a graph description. The same diagram gives the same places, every time.

A frame may have boxes *on its lower border*: they share the lowest layer inside it, and the border
runs through their middles. That is how accumulators stand at the end of a loop.
"""

# pyright: basic
# pygraphviz ships no types.

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Literal, TypeAlias

from prism_explore.support.caches import memoize
from prism_explore.widgets.scene import Point

Engine: TypeAlias = Literal["graphviz", "layered"]

MARGIN_PX = 14.0
"""Between a frame and what it holds."""
COLUMN_GAP_PX = 22.0
LAYER_GAP_PX = 30.0
LANE_PX = 10.0
"""Room that a long edge takes in the layers it passes, without Graphviz."""


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

    def around(self, other: Rect, slack: float = 0.01) -> bool:
        """Whether the other lies inside."""
        return (
            self.x <= other.x + slack
            and self.y <= other.y + slack
            and self.right >= other.right - slack
            and self.bottom >= other.bottom - slack
        )

    def meets(self, other: Rect, slack: float = 0.01) -> bool:
        """Whether the two overlap."""
        return (
            self.x < other.right - slack
            and other.x < self.right - slack
            and self.y < other.bottom - slack
            and other.y < self.bottom - slack
        )


@dataclass(frozen=True, slots=True)
class Box:
    """Something to place. Units: px."""

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
    """Direct members whose middles the lower border runs through."""
    rows: tuple[tuple[str, ...], ...] = ()
    """Groups of direct boxes that stand side by side in one layer."""


@dataclass(frozen=True, slots=True)
class Diagram:
    """What to place: frames and boxes, and the pairs of boxes that an edge joins, downwards."""

    members: tuple[Box | Frame, ...]
    edges: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Placed:
    """Where everything is. Units: px."""

    rects: Mapping[str, Rect]
    """Per box and frame id."""
    routes: tuple[tuple[Point, ...], ...]
    """Per edge, the points of a bezier from the source's border to the target's."""
    width: float
    height: float


def place(diagram: Diagram, engine: Engine | None = None) -> Placed:
    """Place a diagram; without `engine`, by Graphviz where it is installed."""
    if engine == "layered" or (engine is None and not has_graphviz()):
        return _layered(diagram)
    return _graphviz(diagram)


@lru_cache(1)
def has_graphviz() -> bool:
    """Whether Graphviz can be used here."""
    try:
        import pygraphviz  # noqa: F401  (only whether it is there)
    except ImportError:
        return False
    return True


def walk(members: Iterable[Box | Frame]) -> Iterable[Box | Frame]:
    """Every box and frame, frames before what they hold."""
    for member in members:
        yield member
        if isinstance(member, Frame):
            yield from walk(member.members)


# ---------------------------------------------------------------- Graphviz
_ONE_AT_A_TIME = threading.Lock()
"""Graphviz keeps state of its own between calls and is not made for two threads."""


@memoize(256)
def _graphviz(diagram: Diagram) -> Placed:
    import pygraphviz

    with _ONE_AT_A_TIME:
        graph = pygraphviz.AGraph(directed=True, strict=False)
        graph.graph_attr.update(
            rankdir="TB", newrank="true", nodesep=f"{COLUMN_GAP_PX / 72}", ranksep=f"{LAYER_GAP_PX / 72}"
        )
        graph.node_attr.update(shape="box", fixedsize="true", label="")
        graph.edge_attr.update(arrowhead="none")
        names = {m.id: f"v{i}" for i, m in enumerate(walk(diagram.members))}
        _declare(graph, diagram.members, names)
        for number, (source, target) in enumerate(diagram.edges):
            graph.add_edge(names[source], names[target], key=f"e{number}")
        for source, target in _downward(diagram):
            graph.add_edge(names[source], names[target], key=f"r{source}-{target}", style="invis")
        graph.layout(prog="dot")
        return _read(diagram, graph, names)


def _declare(graph, members: tuple[Box | Frame, ...], names: Mapping[str, str]) -> None:
    for member in members:
        if isinstance(member, Box):
            graph.add_node(names[member.id], width=f"{member.w / 72}", height=f"{member.h / 72}")
            continue
        title = (
            f'<<TABLE FIXEDSIZE="TRUE" WIDTH="{member.title_w:.0f}" HEIGHT="{member.title_h:.0f}" BORDER="0">'
            "<TR><TD></TD></TR></TABLE>>"
        )
        cluster = graph.add_subgraph(
            name=f"cluster_{names[member.id]}", margin=f"{MARGIN_PX}", label=title if member.title_h else ""
        )
        _declare(cluster, member.members, names)
        for number, row in enumerate((*member.rows, member.on_border)):
            if row:
                inside = [names[b] for b in row]
                cluster.add_subgraph(inside, name=f"row{number}_{names[member.id]}", rank="same")


def _downward(diagram: Diagram) -> list[tuple[str, str]]:
    """Invisible edges that keep a frame's other boxes above those on its border."""
    pairs: list[tuple[str, str]] = []
    sources = {s for s, _ in diagram.edges}
    for frame in walk(diagram.members):
        if isinstance(frame, Frame) and frame.on_border:
            for member in walk(frame.members):
                if isinstance(member, Box) and member.id not in frame.on_border and member.id not in sources:
                    pairs.append((member.id, frame.on_border[0]))
    return pairs


def _read(diagram: Diagram, graph, names: Mapping[str, str]) -> Placed:
    box = _numbers(graph.graph_attr["bb"])
    height = box[3]
    rects: dict[str, Rect] = {}
    for member in walk(diagram.members):
        if isinstance(member, Box):
            x, y = _numbers(graph.get_node(names[member.id]).attr["pos"])
            rects[member.id] = Rect(x - member.w / 2, height - y - member.h / 2, member.w, member.h)
    for member in walk(diagram.members):
        if isinstance(member, Frame):
            cluster = _subgraph(graph, f"cluster_{names[member.id]}")
            x0, y0, x1, y1 = _numbers(cluster.graph_attr["bb"])
            rects[member.id] = Rect(x0, height - y1, x1 - x0, y1 - y0)
    routes: list[tuple[Point, ...]] = []
    for number, (source, target) in enumerate(diagram.edges):
        text = graph.get_edge(names[source], names[target], key=f"e{number}").attr["pos"]
        points = [_numbers(p) for p in text.split()]
        routes.append(tuple((x, height - y) for x, y in points))
    return _finish(diagram, rects, routes)


def _subgraph(graph, name: str):
    for sub in graph.subgraphs_iter():
        if sub.name == name:
            return sub
        if (found := _subgraph(sub, name)) is not None:
            return found
    return None


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(float(n) for n in text.replace("\\\n", "").split(","))


def _finish(diagram: Diagram, rects: dict[str, Rect], routes: list[tuple[Point, ...]]) -> Placed:
    """Draw borders through what stands on them, and move everything to the origin."""
    for frame in walk(diagram.members):
        if isinstance(frame, Frame) and frame.on_border:
            border = rects[frame.on_border[0]]
            whole = rects[frame.id]
            rects[frame.id] = Rect(whole.x, whole.y, whole.w, border.y + border.h / 2 - whole.y)
    xs = [r.x for r in rects.values()] + [x for route in routes for x, _ in route]
    ys = [r.y for r in rects.values()] + [y for route in routes for _, y in route]
    left, top = min(xs, default=0.0), min(ys, default=0.0)
    right = max([r.right for r in rects.values()] + xs, default=0.0)
    bottom = max([r.bottom for r in rects.values()] + ys, default=0.0)
    moved = {k: Rect(r.x - left, r.y - top, r.w, r.h) for k, r in rects.items()}
    curves = tuple(tuple((x - left, y - top) for x, y in route) for route in routes)
    return Placed(MappingProxyType(moved), curves, right - left, bottom - top)


# ---------------------------------------------------------------- without Graphviz
Pair: TypeAlias = tuple[str, str]


@memoize(256)
def _layered(diagram: Diagram) -> Placed:
    rects: dict[str, Rect] = {}
    lanes: dict[Pair, list[Rect]] = {}
    _place_members(Frame("", diagram.members), diagram.edges, 0.0, 0.0, rects, lanes)
    routes: list[tuple[Point, ...]] = []
    for pair in diagram.edges:
        stops = [rects[pair[0]], *lanes.get(pair, ()), rects[pair[1]]]
        route: list[Point] = [(stops[0].x + stops[0].w / 2, stops[0].bottom)]
        for lane in stops[1:]:
            x0, y0 = route[-1]
            x1 = lane.x + lane.w / 2
            bend = max(10.0, (lane.y - y0) / 2)
            route += [(x0, y0 + bend), (x1, lane.y - bend), (x1, lane.y)]
            if lane is not stops[-1]:
                third = lane.h / 3
                route += [(x1, lane.y + third), (x1, lane.bottom - third), (x1, lane.bottom)]
        routes.append(tuple(route))
    return _finish(diagram, rects, routes)


def _place_members(
    frame: Frame, edges: tuple[Pair, ...], x: float, y: float, rects: dict[str, Rect], lanes: dict[Pair, list[Rect]]
) -> Rect:
    """Place a frame's members in layers from (x, y) downwards; gives the rectangle they take."""
    holder = {inner.id: m.id for m in frame.members for inner in walk((m,))}
    here = [(e, (holder[e[0]], holder[e[1]])) for e in edges if e[0] in holder and e[1] in holder]
    here = [(edge, arc) for edge, arc in here if arc[0] != arc[1]]
    layer = _layers(frame, tuple(dict.fromkeys(arc for _, arc in here)))
    sizes = {m.id: _size(m, edges) for m in frame.members}
    above: dict[str, list[str]] = {m.id: [] for m in frame.members}
    rows: dict[int, list[str]] = {}
    for m in frame.members:
        rows.setdefault(layer[m.id], []).append(m.id)
    paths: dict[Pair, list[str]] = {}
    for edge, (source, target) in here:
        last = source
        for number in range(layer[source] + 1, layer[target]):
            lane = f"{source}>{number}"
            if lane not in sizes:
                sizes[lane], above[lane] = (LANE_PX, 0.0), [last]
                rows[number].append(lane)
            paths.setdefault(edge, []).append(lane)
            last = lane
        above[target].append(last)
    centre: dict[str, float] = {}
    placed: dict[str, Rect] = {}
    top, widest = y, 0.0
    for number in sorted(rows):
        wish = {m: [centre[s] for s in above[m] if s in centre] for m in rows[number]}
        rows[number].sort(key=lambda m: sum(wish[m]) / len(wish[m]) if wish[m] else 0.0)
        height = max(sizes[m][1] for m in rows[number])
        left = x
        for m in rows[number]:
            w, h = sizes[m]
            placed[m] = Rect(left, top, w, h or height)
            centre[m] = left + w / 2
            left += w + COLUMN_GAP_PX
        widest = max(widest, left - COLUMN_GAP_PX - x)
        top += height + LAYER_GAP_PX
    for row in rows.values():
        shift = (widest - (placed[row[-1]].right - x)) / 2
        for m in row:
            r = placed[m]
            placed[m] = Rect(r.x + shift, r.y, r.w, r.h)
    for edge, path in paths.items():
        lanes.setdefault(edge, []).extend(placed[lane] for lane in path)
    for m in frame.members:
        r = rects[m.id] = placed[m.id]
        if isinstance(m, Frame):
            _place_members(m, edges, r.x + MARGIN_PX, r.y + MARGIN_PX + m.title_h, rects, lanes)
    return Rect(x, y, widest, max(top - LAYER_GAP_PX - y, 0.0))


def _size(member: Box | Frame, edges: tuple[Pair, ...]) -> tuple[float, float]:
    if isinstance(member, Box):
        return member.w, member.h
    inside = _place_members(member, edges, 0.0, 0.0, {}, {})
    return max(inside.w, member.title_w) + 2 * MARGIN_PX, inside.h + member.title_h + 2 * MARGIN_PX


def _layers(frame: Frame, arcs: tuple[Pair, ...]) -> dict[str, int]:
    """Longest path from above, rows level, border boxes lowest; an arc that closes a circle is ignored."""
    ids = [m.id for m in frame.members]
    layer = dict.fromkeys(ids, 0)
    for _ in range(2 * len(ids)):
        before = dict(layer)
        for source, target in arcs:
            if layer[source] + 1 < len(ids):
                layer[target] = max(layer[target], layer[source] + 1)
        for row in filter(None, frame.rows):
            layer |= dict.fromkeys(row, max(layer[m] for m in row))
        if layer == before:
            break
    if frame.on_border:
        lowest = max(layer[m] + (m not in frame.on_border) for m in ids)
        layer |= dict.fromkeys(frame.on_border, lowest)
    used = {number: rank for rank, number in enumerate(sorted(set(layer.values())))}
    return {m: used[number] for m, number in layer.items()}
