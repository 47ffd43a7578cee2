"""A picture as plain data, shared by the browser, the SVG writer and the tests.

All geometry is computed in Python. There are two kinds of item. A `Shape` is an outline in a rectangle with lines
of text: a frame, a box, a chip, a block, a mark, or text alone. An `Edge` is a line, an arrow or a filled band.
Items are in drawing order, a frame before its members.

`kind` is the style of an item, a row of `colors.STYLES`. `id` is unique in its scene and the same in later scenes
of the same thing. `ref` is the id that a click selects (see `refs.py`); several items can have the same one. Texts
can come from users, so the code that draws them escapes them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Literal, TypeAlias

Anchor: TypeAlias = Literal["start", "middle", "end"]
Outline: TypeAlias = Literal[
    "rect", "pill", "diamond", "hexagon", "circle", "square", "triangle", "cross", "star", "none"
]
Role: TypeAlias = Literal["frame", "box", "chip", "block", "mark", "text", "button"]
GraphAction: TypeAlias = Literal["toggle", "enter"]
"""What a button in a picture of an sGraph does with a custom kernel."""
Curve: TypeAlias = Literal["line", "bezier"]
Point: TypeAlias = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Text:
    """One line of text. Units: px; `y` is the baseline."""

    x: float
    y: float
    text: str
    kind: str = "label"
    """Font, size and colour: a row of `colors.TEXTS`."""
    anchor: Anchor = "middle"


@dataclass(frozen=True, slots=True)
class Shape:
    """An outline in a rectangle, and its lines of text. Units: px, `x`, `y` the upper left corner."""

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
    """The id that a click selects; empty for none."""
    tip: str = ""
    """Tooltip, also for screen readers; it can have several lines."""
    parent: str = ""
    """Id of the frame around it; in the search map, of its parent node."""
    count: int = 1
    """Number of nodes or regions that it represents, if they are too small to be drawn one by one."""
    action: GraphAction | Literal[""] = ""
    """What a click does with `ref`; empty to select it."""


@dataclass(frozen=True, slots=True)
class Edge:
    """A line through `points`; a Bezier curve has 3n + 1 of them, as in the SVG command C. Units: px."""

    id: str
    kind: str
    points: tuple[Point, ...]
    curve: Curve = "line"
    arrow: bool = False
    """Whether it has an arrow head at the last point."""
    closed: bool = False
    """Whether it is a band: filled, without an outline."""
    source: str = ""
    """Id of the shape where it starts, if it connects two shapes."""
    target: str = ""
    texts: tuple[Text, ...] = ()
    ref: str = ""
    tip: str = ""


Item: TypeAlias = Shape | Edge


@dataclass(frozen=True, slots=True)
class Scene:
    """A picture. Units: px."""

    name: str
    """Kind of picture: sgraph, search, reasons, egraph, saturation, tuning."""
    title: str
    desc: str
    """What it shows, in sentences: the text alternative for screen readers."""
    width: float
    height: float
    items: tuple[Item, ...]
    omitted: str = ""
    """A sentence that counts what is merged or not drawn; the picture has it too."""

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
        """All ids that can be selected in it."""
        return frozenset(i.ref for i in self.items if i.ref)


def to_plain(scene: Scene) -> dict[str, Any]:
    """Convert the scene to JSON data; items have a `type`, and no fields with default values."""
    return {**scene_head(scene), "items": [item_to_plain(i) for i in scene.items]}


def scene_head(scene: Scene) -> dict[str, Any]:
    """The JSON data of a scene without its items."""
    return {f.name: getattr(scene, f.name) for f in fields(Scene) if f.name != "items"}


def item_to_plain(item: Item) -> dict[str, Any]:
    """The JSON data of an item."""
    return {"type": type(item).__name__.lower(), **_plain(item)}


def _plain(element: Item | Text) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, default in _fields_of(type(element)):
        value = getattr(element, name)
        if value == default:
            continue
        if name == "texts":
            out[name] = [_plain(t) for t in value]
        elif name == "points":
            out[name] = [[_round(x), _round(y)] for x, y in value]
        else:
            out[name] = _round(value) if isinstance(value, float) else value
    return out


@cache
def _fields_of(kind: type[Item] | type[Text]) -> tuple[tuple[str, object], ...]:
    """The fields of a class with their default values."""
    return tuple((f.name, f.default) for f in fields(kind))


def _round(value: float) -> float:
    """Round to hundredths of a pixel, to keep messages short."""
    return round(value, 2)
