"""A picture as plain data: what the browser, the SVG file and the tests share.

Geometry is computed once, in Python; whoever draws adds nothing but ink. Two kinds of item are
enough. A `Shape` is an outline in a rectangle with lines of text (a frame, a box, a chip, a mark, or
bare text); an `Edge` is a line, an arrow or a filled band. Items come in drawing order, frames before
what they hold.

`kind` is a style token, a row of `colors.STYLES`; how a token looks in light and dark is said there
and nowhere else. `id` is unique in its scene and stable from one scene to the next; `ref` is what a
click on the item selects (n12, p3, f1, f1.c2/k3.b7, c4, u9), and several items may share one.
Texts come from users and are data: a drawer escapes them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias

Anchor: TypeAlias = Literal["start", "middle", "end"]
Outline: TypeAlias = Literal[
    "rect", "pill", "diamond", "hexagon", "circle", "square", "triangle", "cross", "star", "none"
]
Role: TypeAlias = Literal["frame", "box", "chip", "block", "mark", "text"]
Curve: TypeAlias = Literal["line", "bezier"]
Point: TypeAlias = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Text:
    """One line of text. Units: px; `y` is the baseline."""

    x: float
    y: float
    text: str
    kind: str = "label"
    """A row of `colors.TEXTS`: which font, how large, which ink."""
    anchor: Anchor = "middle"


@dataclass(frozen=True, slots=True)
class Shape:
    """An outline within a rectangle, and its lines of text. Units: px, `x`, `y` the upper left corner."""

    id: str
    role: Role
    kind: str
    x: float
    y: float
    w: float
    h: float
    outline: Outline = "rect"
    texts: tuple[Text, ...] = ()
    ref: str = ""
    """What a click selects; empty where nothing is."""
    tip: str = ""
    """What hovering, or a screen reader, says; may have several lines."""
    parent: str = ""
    """The id of the frame that holds it; in the search map, of the node that it grew from."""
    count: int = 1
    """How many things it stands for, where they were too small to draw one by one."""


@dataclass(frozen=True, slots=True)
class Edge:
    """A line through `points`; a bezier has 3n + 1 of them, as in SVG's C. Units: px."""

    id: str
    kind: str
    points: tuple[Point, ...]
    curve: Curve = "line"
    arrow: bool = False
    """Whether a head stands at the last point."""
    closed: bool = False
    """Whether it is a band: filled, and its outline not drawn."""
    source: str = ""
    """The id of the shape it leaves, where it joins two."""
    target: str = ""
    texts: tuple[Text, ...] = ()
    ref: str = ""
    tip: str = ""


Item: TypeAlias = Shape | Edge


@dataclass(frozen=True, slots=True)
class Scene:
    """A whole picture. Units: px."""

    name: str
    """Which picture: sgraph, search, reasons, egraph, saturation, tuning."""
    title: str
    desc: str
    """What it shows, in sentences, for those who do not see it."""
    width: float
    height: float
    items: tuple[Item, ...]
    omitted: str = ""
    """What was left out or drawn together, as a sentence; it also stands in the picture."""

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The shapes in drawing order."""
        return tuple(i for i in self.items if isinstance(i, Shape))

    @property
    def edges(self) -> tuple[Edge, ...]:
        """The edges in drawing order."""
        return tuple(i for i in self.items if isinstance(i, Edge))

    @property
    def refs(self) -> frozenset[str]:
        """Everything in it that can be selected."""
        return frozenset(i.ref for i in self.items if i.ref)


def to_plain(scene: Scene) -> dict[str, Any]:
    """The scene as JSON-ready data; an item says its `type` and leaves out what has its default."""
    head = {f.name: getattr(scene, f.name) for f in fields(Scene) if f.name != "items"}
    return {**head, "items": [{"type": type(i).__name__.lower(), **_plain(i)} for i in scene.items]}


def _plain(thing: Item | Text) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for f in fields(thing):
        value = getattr(thing, f.name)
        if value == f.default:
            continue
        if f.name == "texts":
            out[f.name] = [_plain(t) for t in value]
        elif f.name == "points":
            out[f.name] = [[_round(x), _round(y)] for x, y in value]
        else:
            out[f.name] = _round(value) if isinstance(value, float) else value
    return out


def _round(value: float) -> float:
    """Hundredths of a pixel: more is never seen, and the wire is narrow."""
    return round(value, 2)
