"""Checks that hold for every scene, and the search map of a list of events."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

from prism_explore.events.kinds import Event
from prism_explore.events.ledger import ledger
from prism_explore.widgets.drawing.colors import STYLES, TEXTS
from prism_explore.widgets.drawing.layout import Rect
from prism_explore.widgets.drawing.text_metrics import width_px
from prism_explore.widgets.scene import Scene, Shape
from prism_explore.widgets.views.search_map import search_scene
from prism_explore.widgets.views.search_tree import SearchTree


def rect(shape: Shape) -> Rect:
    return Rect(shape.x, shape.y, shape.w, shape.h)


def contains(outer: Rect, inner: Rect, slack: float = 0.01) -> bool:
    """Whether the inner rectangle lies inside the outer one."""
    return (
        outer.x <= inner.x + slack
        and outer.y <= inner.y + slack
        and outer.right >= inner.right - slack
        and outer.bottom >= inner.bottom - slack
    )


def overlap(a: Rect, b: Rect, slack: float = 0.01) -> bool:
    """Whether two rectangles overlap."""
    return a.x < b.right - slack and b.x < a.right - slack and a.y < b.bottom - slack and b.y < a.bottom - slack


def search_map(events: Iterable[Event], width: float = 960.0, root: str = "") -> Scene:
    """The search map after these events."""
    history = tuple(events)
    return search_scene(SearchTree(history), ledger(history), width, root)


def check(scene: Scene) -> None:
    """Unique ids, known kinds, everything inside the picture and inside its parent."""
    ids = [i.id for i in scene.items]
    assert len(ids) == len(set(ids)), [i for i in ids if ids.count(i) > 1][:4]
    assert {i.kind for i in scene.items} <= set(STYLES)
    assert {t.kind for i in scene.items for t in i.texts} <= set(TEXTS)
    page = Rect(0, 0, scene.width, scene.height)
    shapes = {s.id: s for s in scene.shapes}
    for shape in scene.shapes:
        assert contains(page, rect(shape), 1.0), shape
        if shape.parent in shapes and shape.role != "block":
            assert contains(rect(shapes[shape.parent]), rect(shape), 0.5), (shape.id, shape.parent)
    for edge in scene.edges:
        assert len(edge.points) > 1
        assert edge.curve == "line" or len(edge.points) % 3 == 1


def check_nothing_overlaps(scene: Scene) -> None:
    """Boxes and frames with the same parent do not overlap, except the boxes on the border of a frame."""
    solid = [s for s in scene.shapes if s.role in ("box", "frame")]
    for a, b in combinations(solid, 2):
        if a.parent != b.parent or not overlap(rect(a), rect(b), 0.5):
            continue
        frame, box = (a, b) if a.role == "frame" else (b, a)
        middle = box.y + box.h / 2
        on_border = frame.role == "frame" and box.kind == "accum" and abs(middle - frame.y - frame.h) < 0.5
        assert on_border, (a.id, b.id)


def check_texts_fit(scene: Scene) -> None:
    """By the estimate of widths, every line of a box or chip fits into it."""
    for shape in scene.shapes:
        if shape.role not in ("box", "chip"):
            continue
        for text in shape.texts:
            w = width_px(text.text, text.kind)
            left = {"start": text.x, "middle": text.x - w / 2, "end": text.x - w}[text.anchor]
            assert shape.x - 0.5 <= left, (shape.id, text)
            assert left + w <= shape.x + shape.w + 0.5, (shape.id, text)
