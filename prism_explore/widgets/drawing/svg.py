"""SVG writer: a `Scene` as one standalone `<svg>` element.

The element needs no other file. Its style sheet has the colours for light and dark pages, the ids of its
patterns are unique so that one page can hold several pictures, and every text of a user is escaped. The
browser draws the same items by the same rules, from the tables that `typescript/scene_types.py` prints.
"""

from __future__ import annotations

import hashlib
import html
import math
import re
from collections.abc import Iterable

from prism_explore.widgets.drawing.colors import PATTERNS, STYLES, css, ink_of
from prism_explore.widgets.scene import Edge, Point, Scene, Shape, Text

HEAD_PX = 8.0
"""Length of an arrow head."""
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold."""


def to_svg(scene: Scene, selected: Iterable[str] = (), *, with_style: bool = True) -> str:
    """Return the scene as one `<svg>` element, for a file or for inline HTML.

    Args:
        scene: the picture.
        selected: refs of the items to mark as selected.
        with_style: whether the element has its style sheet; a page with several scenes can have one for all.
    """
    selected = frozenset(selected)
    prefix = "pe" + hashlib.sha256(repr(scene).encode()).hexdigest()[:8]
    used = sorted({p for s in scene.shapes if (p := STYLES[s.kind].pattern)})
    width, height = f"{scene.width:g}", f"{scene.height:g}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="prism-scene" role="img" width="{width}" '
        f'height="{height}" viewBox="0 0 {width} {height}" aria-labelledby="{prefix}-t {prefix}-d">',
        f'<title id="{prefix}-t">{escape(scene.title)}</title>',
        f'<desc id="{prefix}-d">{escape(scene.desc)}</desc>',
        f"<style>{css(kinds={i.kind for i in scene.items})}</style>" if with_style else "",
        f"<defs>{''.join(_pattern(prefix, name) for name in used)}</defs>" if used else "",
        f'<rect class="page" width="{width}" height="{height}"/>',
    ]
    for item in scene.items:
        marked = bool(item.ref) and item.ref in selected
        parts.append(_shape(item, prefix, marked) if isinstance(item, Shape) else _edge(item, marked))
    parts.append("</svg>")
    return "\n".join(p for p in parts if p) + "\n"


def escape(text: str) -> str:
    """Escape a text for an XML element or attribute; characters that XML cannot hold become U+FFFD."""
    return html.escape(_NOT_XML.sub("\ufffd", text))


def _pattern(prefix: str, name: str) -> str:
    side, path = PATTERNS[name]
    return (
        f'<pattern id="{prefix}-{name}" width="{side}" height="{side}" patternUnits="userSpaceOnUse">'
        f'<path class="{ink_of(name)}" d="{path}"/></pattern>'
    )


def _open(item: Shape | Edge, classes: str, marked: bool) -> str:
    ref = f' data-ref="{escape(item.ref)}"' if item.ref else ""
    tip = f"<title>{escape(item.tip)}</title>" if item.tip else ""
    more = " selected" if marked else ""
    if not (item.id or ref or isinstance(item, Edge)):
        return f'<g class="k-{item.kind}">{tip}'  # nothing can select it, and no rule is about its role
    return f'<g class="item {classes} k-{item.kind}{more}" data-id="{escape(item.id)}"{ref}>{tip}'


def _shape(shape: Shape, prefix: str, marked: bool) -> str:
    body = _outline(shape, 'class="body"')
    pattern = STYLES[shape.kind].pattern
    over = _outline(shape, f'class="pattern" fill="url(#{prefix}-{pattern})"') if pattern else ""
    return f"{_open(shape, f'role-{shape.role}', marked)}{body}{over}{_texts(shape.texts)}</g>"


def _outline(shape: Shape, attributes: str) -> str:
    x, y, w, h = shape.x, shape.y, shape.w, shape.h
    match shape.outline:
        case "rect" | "pill":
            r = (
                min(w, h) / 2
                if shape.outline == "pill"
                else 10
                if shape.role == "frame"
                else 2
                if shape.role == "block"
                else min(4, w / 3)
            )
            where = f'x="{_n(x)}" y="{_n(y)}" width="{_n(w)}" height="{_n(h)}"'
            return f'<rect {attributes} {where} rx="{_n(r)}"/>'
        case "circle":
            where = f'cx="{_n(x + w / 2)}" cy="{_n(y + h / 2)}" rx="{_n(w / 2)}" ry="{_n(h / 2)}"'
            return f"<ellipse {attributes} {where}/>"
        case "cross":
            path = f"M{_n(x)},{_n(y)} L{_n(x + w)},{_n(y + h)} M{_n(x + w)},{_n(y)} L{_n(x)},{_n(y + h)}"
            return f'<path {attributes} d="{path}"/>'
        case "none":
            return ""
        case outline:
            corners = " ".join(f"{_n(x + u * w)},{_n(y + v * h)}" for u, v in CORNERS[outline])
            return f'<polygon {attributes} points="{corners}"/>'


_STAR: tuple[Point, ...] = tuple(
    (
        0.5 + r * math.sin(math.pi * i / 5) / 2,
        0.5 - r * math.cos(math.pi * i / 5) / 2,
    )
    for i, r in enumerate((1.0, 0.42) * 5)
)
CORNERS: dict[str, tuple[Point, ...]] = {
    "diamond": ((0.5, 0), (1, 0.5), (0.5, 1), (0, 0.5)),
    "hexagon": ((0.25, 0), (0.75, 0), (1, 0.5), (0.75, 1), (0.25, 1), (0, 0.5)),
    "square": ((0, 0), (1, 0), (1, 1), (0, 1)),
    "triangle": ((0, 0), (1, 0), (0.5, 1)),
    "star": tuple((round(x, 3), round(y, 3)) for x, y in _STAR),
}
"""Corners of the polygon outlines, in units of the rectangle."""


def _edge(edge: Edge, marked: bool) -> str:
    points = list(edge.points)
    head = ""
    if edge.arrow and len(points) > 1:
        (x0, y0), (x1, y1) = points[-2], points[-1]
        length = math.hypot(x1 - x0, y1 - y0) or 1.0
        ux, uy = (x1 - x0) / length, (y1 - y0) / length
        bx, by = x1 - ux * HEAD_PX, y1 - uy * HEAD_PX
        points[-1] = (x1 - ux * HEAD_PX * 0.6, y1 - uy * HEAD_PX * 0.6)
        side = HEAD_PX * 0.45
        corners = ((x1, y1), (bx - uy * side, by + ux * side), (bx + uy * side, by - ux * side))
        head = f'<polygon class="head" points="{" ".join(f"{_n(x)},{_n(y)}" for x, y in corners)}"/>'
    path = f'<path class="body" d="{_path(points, edge)}"/>'
    return f"{_open(edge, 'edge band' if edge.closed else 'edge', marked)}{path}{head}{_texts(edge.texts)}</g>"


def _path(points: list[Point], edge: Edge) -> str:
    first = f"M{_n(points[0][0])},{_n(points[0][1])}"
    rest = " ".join(f"{_n(x)},{_n(y)}" for x, y in points[1:])
    return f"{first} {'C' if edge.curve == 'bezier' else 'L'}{rest}{' Z' if edge.closed else ''}"


def _texts(texts: Iterable[Text]) -> str:
    return "".join(
        f'<text class="t-{t.kind}" x="{_n(t.x)}" y="{_n(t.y)}" text-anchor="{t.anchor}">{escape(t.text)}</text>'
        for t in texts
    )


def _n(value: float) -> str:
    return f"{round(value, 2):g}" if abs(value) < 1e5 else f"{value:.1f}"
