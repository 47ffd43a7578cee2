"""The places of e-classes, the same in every frame of the growth of an e-graph.

Input: the growth, and the classes to place. Output: a slot per class, also for classes that are merged later. A class
is below the classes that use it: its layer follows from the arguments of its first node, which existed before it. A
slot is as large as its class ever becomes, so nothing moves when others appear or merge. Layers wrap at the width of
the picture.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from prism_explore.verify.egraph.frames import ClassFrame, ENode, Growth
from prism_explore.widgets.drawing.layout import Rect
from prism_explore.widgets.drawing.text_metrics import shorten, width_px

NODE_PX, TITLE_PX, PAD_PX, GAP_PX = 24.0, 22.0, 8.0, 6.0
MIN_PX = 132.0
"""Smallest width of a class, so that its title fits."""
INNER_PX = 210.0
"""Width after which the nodes of a class continue in the next row."""
COLUMN_PX, LAYER_PX = 16.0, 34.0
NEW = " new"

SYMBOLS: Mapping[str, str] = {
    "Mul": "×",
    "Add": "+",
    "Inv": "1/",
    "Sqrt": "√",
    "Sum": "Σ",
    "Greater": "max",
    "Most": "max",
    "Exp": "exp",
}
LEAVES = ("Num", "Size")


def node_label(node: ENode) -> str:
    """A node as it is shown: x[p0,k1], 1/2, ×, Σ k1."""
    op, *words = node.label.split(" ")
    if op in LEAVES and words:
        return " ".join(words)
    if op == "At" and words:
        name, indices = words[0], " ".join(words[1:])
        return shorten(f"{name}[{indices}]" if indices else name, 26)
    return shorten(" ".join((SYMBOLS.get(op, op.lower()), *words)), 26)


def node_width(node: ENode) -> float:
    """The width of a node, with room for the mark of a new one."""
    return width_px(node_label(node) + NEW, "mono") + 14


def flow(nodes: Iterable[ENode]) -> tuple[list[Rect], float, float]:
    """The places of the nodes within their class, and its size."""
    places: list[Rect] = []
    x, y, right = PAD_PX, TITLE_PX, 0.0
    for node in nodes:
        wide = node_width(node)
        if x > PAD_PX and x + wide > INNER_PX:
            x, y = PAD_PX, y + NODE_PX + GAP_PX
        places.append(Rect(x, y, wide, NODE_PX))
        right = max(right, x + wide)
        x += wide + GAP_PX
    return places, max(right + PAD_PX, MIN_PX), y + NODE_PX + PAD_PX


@dataclass(frozen=True, slots=True)
class EGraphLayout:
    """A slot per class. Units: px."""

    slots: Mapping[str, Rect]
    width: float
    height: float
    nodes: int
    """Number of nodes that all classes have in the last frame; more than are placed if there are too many."""


def arguments(growth: Growth) -> dict[str, set[str]]:
    """Per class, the classes that are arguments of its nodes in any frame."""
    below: dict[str, set[str]] = {}
    for frame in growth.frames:
        for c in frame.classes:
            below.setdefault(c.id, set()).update(child for node in c.nodes for child in node.children)
    return below


def choose_classes(growth: Growth, most_nodes: int, focus: str = "") -> tuple[str, ...]:
    """The classes near the focus, or below the two sides without one, up to a number of nodes.

    They depend on the growth and not on a frame, so that a class that is drawn is drawn in all frames.
    """
    below = arguments(growth)
    size: dict[str, int] = {}
    for frame in growth.frames:
        for c in frame.classes:
            size[c.id] = max(size.get(c.id, 0), len(c.nodes))
    if sum(size.values()) <= most_nodes:
        return tuple(size)
    near = {c: set(children) for c, children in below.items()}
    if focus in below:
        for c, children in below.items():
            for child in children:
                near.setdefault(child, set()).add(c)
    starts = [focus] if focus in below else [r for f in growth.frames for r in f.roots]
    queue, seen = deque(dict.fromkeys(starts)), set(starts)
    chosen: list[str] = []
    count = 0
    while queue:
        name = queue.popleft()
        count += size.get(name, 0)
        if count > most_nodes and chosen:
            break
        chosen.append(name)
        for other in sorted(near.get(name, ()), key=_number):
            if other not in seen:
                seen.add(other)
                queue.append(other)
    for name in sorted(size.keys() - seen, key=_number) if focus not in below else ():
        count += size[name]
        if count > most_nodes:
            break
        chosen.append(name)
    return tuple(chosen)


def place_classes(growth: Growth, chosen: Iterable[str], width: float) -> EGraphLayout:
    """The slots of the chosen classes."""
    kept = frozenset(chosen)
    sizes: dict[str, tuple[float, float]] = {}
    first: dict[str, ClassFrame] = {}
    for frame in growth.frames:
        for c in frame.classes:
            if c.id in kept:
                first.setdefault(c.id, c)
                _, w, h = flow(c.nodes)
                old = sizes.get(c.id, (0.0, 0.0))
                sizes[c.id] = max(w, old[0]), max(h, old[1])
    layers = _layers(first)
    users: dict[str, list[str]] = {}
    for c, children in arguments(growth).items():
        for child in children:
            users.setdefault(child, []).append(c)
    roots = {r for f in growth.frames for r in f.roots}
    slots: dict[str, Rect] = {}
    y = right = 0.0
    for layer in sorted(set(layers.values()), reverse=True):
        names = [c for c, own in layers.items() if own == layer]
        names.sort(key=lambda c: (c not in roots, _centre(users.get(c, ()), slots), _number(c)))
        x, high = 0.0, 0.0
        for c in names:
            w, h = sizes[c]
            if x and x + w > width:
                x, y, high = 0.0, y + high + COLUMN_PX, 0.0
            slots[c] = Rect(x, y, w, h)
            right = max(right, x + w)
            x, high = x + w + COLUMN_PX, max(high, h)
        y += high + LAYER_PX
    total = growth.frames[-1].nodes if growth.frames else 0
    return EGraphLayout(slots, max(width, right), max(0.0, y - LAYER_PX), total)


def _layers(first: Mapping[str, ClassFrame]) -> dict[str, int]:
    """Per class, the length of the longest chain of arguments below its first node."""
    layers: dict[str, int] = {}
    for name in sorted(first, key=_number):
        children = first[name].nodes[0].children if first[name].nodes else ()
        layers[name] = 1 + max((layers.get(c, -1) for c in children if _number(c) < _number(name)), default=-1)
    return layers


def _centre(names: Iterable[str], slots: Mapping[str, Rect]) -> float:
    middles = [slots[n].x + slots[n].w / 2 for n in names if n in slots]
    return sum(middles) / len(middles) if middles else 0.0


def _number(name: str) -> int:
    return int(name[1:]) if name[1:].isdigit() else 0
