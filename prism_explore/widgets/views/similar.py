"""Similar subtrees: the shapes that occur several times in the search tree, by number and size.

Input: a `SearchTree`. Two subtrees have the same shape if their operators, the operators and reasons of what was pruned
below them, and the number of their families are the same; operands, names and order do not count. A pruned region has a
shape too: its operator and its reason. A shape that occurs only inside one larger shape is left out, because that one
shows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from prism_explore.events.kinds import RegionPruned
from prism_explore.support.gc_pause import gc_paused
from prism_explore.widgets.drawing.charts import empty_scene
from prism_explore.widgets.drawing.text_metrics import shorten, width_px
from prism_explore.widgets.scene import Item, Scene, Shape, Text
from prism_explore.widgets.views.marks import PRUNED_KINDS, letter_of
from prism_explore.widgets.views.reasons_map import nodes_below
from prism_explore.widgets.views.search_tree import SearchTree

MAX_PATTERNS = 80
MAX_PARTS = 4
ROW_PX = 26.0

Key: TypeAlias = tuple[str, tuple[tuple[int, int], ...], int]
"""Operator, the shapes below with their numbers, number of families."""


@dataclass(slots=True)
class Pattern:
    """A shape of subtrees or regions."""

    operator: str
    """The operator; for a region also its reason."""
    size: int
    """Number of nodes and regions of one occurrence."""
    kind: str
    """Style of its mark."""
    below: Mapping[int, int] = field(default_factory=dict[int, int])
    """The shapes directly below, with their numbers."""
    families: int = 0
    roots: list[str] = field(default_factory=list[str])
    """Ids of the occurrences: the topmost node, or the region."""
    inside: set[int] = field(default_factory=set[int])
    """Shapes of the nodes directly above the occurrences; -1 for none."""


class Patterns:
    """All shapes of a tree."""

    def __init__(self, tree: SearchTree, root: str = "") -> None:
        self.all: list[Pattern] = []
        self.of: dict[str, int] = {}
        """Per node and region, the number of its shape."""
        self._numbers: dict[Key, int] = {}
        self._regions: dict[tuple[str, str, str], int] = {}
        """Per operator with operands, reason and soundness, the number of the shape."""
        with gc_paused():
            self._read(tree, root)

    def _read(self, tree: SearchTree, root: str) -> None:
        """Count the shapes of all nodes, the last first, so that children come before their parents."""
        nodes = tree.nodes
        kept = set(nodes_below(tree, root)) if root in nodes else None
        for name in reversed(list(nodes)):
            if kept is not None and name not in kept:
                continue
            node = nodes[name]
            below: dict[int, int] = {}
            for region in node.pruned:
                number = self._region(region)
                below[number] = below.get(number, 0) + 1
            for child in node.children:
                if (number := self.of.get(child)) is not None:
                    below[number] = below.get(number, 0) + 1
            key = (node.function, tuple(sorted(below.items())), len(node.families))
            number = self._shape(key, name)
            if number == len(self.all):
                size = 1 + sum(self.all[part].size * n for part, n in below.items())
                kind = "family" if node.families else "expanded"
                self.all.append(Pattern(node.function or "start", size, kind, below, len(node.families)))
            self.all[number].roots.append(name)
            for part in below:
                self.all[part].inside.add(number)
        for root in tree.roots if kept is None else ():
            if root in self.of:
                self.all[self.of[root]].inside.add(-1)

    def _region(self, region: RegionPruned) -> int:
        """Count a pruned region; return the number of its shape."""
        reason = region.reason
        spelled = (region.operator, reason.code, reason.soundness)
        number = self._regions.get(spelled)
        if number is None:
            function = region.operator.partition("(")[0]
            number = self._shape((f"{function} ✂{reason.code}/{reason.soundness}", (), 0), region.region)
            if number == len(self.all):
                text = f"{function}, pruned: {letter_of(reason.code, reason.soundness)} {reason.code}"
                self.all.append(Pattern(text, 1, PRUNED_KINDS[reason.soundness]))
            self._regions[spelled] = number
        self.of[region.region] = number
        self.all[number].roots.append(region.region)
        return number

    def _shape(self, key: Key, ref: str) -> int:
        number = self._numbers.setdefault(key, len(self.all))
        self.of[ref] = number
        return number

    def text(self, pattern: Pattern) -> str:
        """The operators and reasons of a shape, the largest parts first, shortened."""
        rows = [(self.all[part], n) for part, n in pattern.below.items()]
        rows.sort(key=lambda row: (-row[0].size * row[1], row[0].operator))
        parts = [f"{n} × {_short(part)}" if n > 1 else _short(part) for part, n in rows[:MAX_PARTS]]
        more = f", {len(rows) - MAX_PARTS} more" if len(rows) > MAX_PARTS else ""
        inside = f" [{', '.join(parts)}{more}]" if parts else ""
        n = pattern.families
        return f"{pattern.operator}{inside}{f', {n} families' if n > 1 else ', a family' if n else ''}"

    def repeated(self) -> list[Pattern]:
        """The shapes that occur several times, those with the most nodes and regions in all first."""
        found: list[Pattern] = []
        for pattern in self.all:
            if len(pattern.roots) < 2:
                continue
            if len(pattern.inside) == 1:
                (above,) = pattern.inside
                if above >= 0 and len(self.all[above].roots) > 1:
                    continue
            found.append(pattern)
        return sorted(found, key=lambda p: (-len(p.roots) * p.size, p.roots[0]))

    def similar_to(self, ref: str) -> Sequence[str]:
        """The ids with the shape of this one; empty if there is only one."""
        number = self.of.get(ref)
        roots = self.all[number].roots if number is not None else []
        return roots if len(roots) > 1 else ()


def _short(pattern: Pattern) -> str:
    """A part of a larger shape in a few words."""
    return pattern.operator if pattern.size == 1 else f"{pattern.operator} […] of {pattern.size:,}"


def similar_scene(patterns: Patterns, selection: str, width: float = 960.0) -> Scene:
    """Draw a row per shape: a bar as long as its number of nodes and regions in all.

    Args:
        patterns: the shapes.
        selection: the selected id; the row of its shape is marked.
        width: width of the picture. Units: px.
    """
    found = patterns.repeated()
    if not found:
        return empty_scene("search", "no subtree occurs twice", width)
    shown = found[:MAX_PATTERNS]
    most = len(shown[0].roots) * shown[0].size
    items: list[Item] = []
    left = max(width_px(_count_text(p), "small") for p in shown) + 14
    for number, pattern in enumerate(shown):
        items += _row(pattern, patterns.text(pattern), number, left, most, selection in pattern.roots, width)
    bottom = len(shown) * ROW_PX
    omitted = f"{len(shown):,} of {len(found):,} shapes are listed." if len(shown) < len(found) else ""
    if omitted:
        text = (Text(0, bottom + 14, omitted, "muted", "start"),)
        items.append(Shape("omitted", "text", "plain", 0, bottom, width, 20, "none", text))
        bottom += 20
    desc = f"{len(found):,} shapes of subtrees, kept and pruned, occur several times. {omitted}".strip()
    return Scene("search", "similar subtrees", desc, width, bottom + 4, tuple(items), omitted)


def _count_text(pattern: Pattern) -> str:
    return f"{len(pattern.roots):,} × {pattern.size:,}"


def _row(pattern: Pattern, what: str, number: int, left: float, most: int, marked: bool, width: float) -> list[Item]:
    y, first = number * ROW_PX, pattern.roots[0]
    w = max(2.0, (width - left) * len(pattern.roots) * pattern.size / most)
    room = int((width - left - 12) // width_px("n", "mono"))
    texts = (
        Text(left - 8, y + 17, _count_text(pattern), "small", "end"),
        Text(left + 6, y + 17, shorten(what, room), "mono", "start"),
    )
    refs = ", ".join(pattern.roots[:12]) + (" …" if len(pattern.roots) > 12 else "")
    parts = "node or pruned subtree" if pattern.size == 1 else "nodes and pruned subtrees"
    tip = f"{len(pattern.roots):,} occurrences of {pattern.size:,} {parts}: {what}\n{refs}"
    kind = "pattern-marked" if marked else "tree-row"
    count = len(pattern.roots)
    return [
        Shape(f"{first}#bar", "block", "bar", left, y + 4, w, ROW_PX - 8),
        Shape(first, "block", kind, 0, y, width, ROW_PX, "rect", texts, first, tip, count=count),
    ]


def mark_occurrences(scene: Scene, refs: Iterable[str]) -> tuple[Scene, int]:
    """Outline the shapes of these ids; return the scene and the number of ids that it shows."""
    wanted = set(refs)
    marks: list[Item] = []
    shown: set[str] = set()
    for item in scene.items:
        if isinstance(item, Shape) and item.role in ("block", "mark") and item.id in wanted:
            shown.add(item.id)
            box = (item.x + 1.5, item.y + 1.5, max(1.0, item.w - 3), max(1.0, item.h - 3))
            tip = f"{item.id}: the same shape as the selection"
            marks.append(Shape(f"{item.id}#same", "mark", "occurrence", *box, "rect", ref=item.ref, tip=tip))
    return replace(scene, items=(*scene.items, *marks)), len(shown)
