"""Similar subtrees: the shapes that occur several times in the search tree, by number and size.

Input: a `SearchTree`. Two subtrees have the same shape if their operators, the operators and reasons of what was pruned
below them, and the number of their families are the same; operands, names and order do not count. A pruned region has a
shape too: its operator and its reason. A shape that occurs only inside one larger shape is left out, because that one
shows it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from prism_explore.support.gc_pause import gc_paused
from prism_explore.widgets.drawing.charts import empty_scene
from prism_explore.widgets.drawing.text_metrics import shorten, width_px
from prism_explore.widgets.scene import Item, Scene, Shape, Text
from prism_explore.widgets.views.marks import PRUNED_KINDS, letter_of
from prism_explore.widgets.views.search_tree import Integers, SearchTree

MAX_PATTERNS = 80
MAX_PARTS = 4
MAX_EXAMPLES = 12
"""Ids in a tooltip."""
ROW_PX = 26.0

Key: TypeAlias = tuple[str, bytes, tuple[int, ...], int]
"""Operator, the kinds of the regions below, the shapes of the nodes below, number of families."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A shape of subtrees or regions that occurs several times."""

    operator: str
    """The operator; for a region also its reason."""
    size: int
    """Number of nodes and regions of one occurrence."""
    kind: str
    """Style of its mark."""
    number: int
    """Of the shape of a subtree; for a kind of region, `-1 - kind`."""
    count: int
    """Number of occurrences."""
    examples: tuple[str, ...]
    """Ids of the first occurrences: the topmost node, or the region."""
    first: int = -1
    """The place of the first node."""
    families: int = 0


class Patterns:
    """All shapes of a tree, or of a node and those below it."""

    def __init__(self, tree: SearchTree, root: str = "") -> None:
        self._tree = tree
        with gc_paused():
            self._nodes, self._parents = tree.node_columns()
            self._regions, self._below, self._kinds, self._kind_names = tree.region_columns()
            self._first = tree.place(root)
            self._shapes, self._sizes = self._read()
            self._counts = Counter(self._shapes)
            self._shape_of_region = np.array(self._shapes, np.int64)[self._below]
            """Per region, the shape of its node."""
            found = sorted((*self._repeated_regions(), *self._repeated_nodes()), key=_by_extent)
        self.repeated: tuple[Pattern, ...] = tuple(found)
        """The shapes that occur several times, those with the most nodes and regions in all first."""

    def _read(self) -> tuple[list[int], list[int]]:
        """Per node, the number of its shape, or -1 if it is left out, and its size."""
        nodes, parents = self._nodes, self._parents
        by_node = np.lexsort((self._kinds, self._below))
        ends = np.cumsum(np.bincount(self._below, minlength=len(nodes))).tolist()
        kinds = self._kinds[by_node].tobytes()
        width = self._kinds.itemsize
        included = self._included()
        shapes, sizes = [-1] * len(nodes), [1] * len(nodes)
        parts: list[list[int]] = [[] for _ in nodes]
        numbers: dict[Key, int] = {}
        # The last node first, so that children come before their parents.
        for i in range(len(nodes) - 1, -1, -1):
            if not included[i]:
                continue
            start, end = ends[i - 1] if i else 0, ends[i]
            below = parts[i]
            below.sort()
            key = (nodes[i].function, kinds[start * width : end * width], tuple(below), len(nodes[i].families))
            shapes[i] = numbers.setdefault(key, len(numbers))
            sizes[i] += end - start
            if (parent := parents[i]) >= 0:
                parts[parent].append(shapes[i])
                sizes[parent] += sizes[i]
        return shapes, sizes

    def _included(self) -> list[bool]:
        """Per node, whether its subtree counts."""
        if self._first is None:
            return [True] * len(self._nodes)
        included = [False] * len(self._nodes)
        included[self._first] = True
        for i in range(self._first + 1, len(included)):
            included[i] = self._parents[i] >= 0 and included[self._parents[i]]
        return included

    def text(self, pattern: Pattern) -> str:
        """The operators and reasons of a shape, the largest parts first, shortened."""
        rows = [(*self._part(part), n) for part, n in Counter(self._directly_below(pattern)).items()]
        rows.sort(key=lambda row: (-row[1] * row[2], row[0]))
        parts = [f"{n} × {_short(name, size)}" if n > 1 else _short(name, size) for name, size, n in rows[:MAX_PARTS]]
        more = f", {len(rows) - MAX_PARTS} more" if len(rows) > MAX_PARTS else ""
        inside = f" [{', '.join(parts)}{more}]" if parts else ""
        n = pattern.families
        return f"{pattern.operator}{inside}{f', {n} families' if n > 1 else ', a family' if n else ''}"

    def _part(self, part: int) -> tuple[str, int]:
        """Name and size of what is below: a shape of nodes, or a kind of region."""
        if part < 0:
            return self._region_name(-1 - part), 1
        i = self._shapes.index(part)
        return self._nodes[i].function or "start", self._sizes[i]

    def _region_name(self, kind: int) -> str:
        function, code, soundness = self._kind_names[kind]
        return f"{function}, pruned: {letter_of(code, soundness)} {code}"

    def _repeated_nodes(self) -> Iterator[Pattern]:
        places: dict[int, list[int]] = {}
        for i, shape in enumerate(self._shapes):
            if shape >= 0 and self._counts[shape] > 1:
                places.setdefault(shape, []).append(i)
        for shape, at in places.items():
            if self._shown_by_larger({self._shape_above(i) for i in at}):
                continue
            node = self._nodes[at[0]]
            kind = "family" if node.families else "expanded"
            examples = tuple(self._nodes[i].id for i in at[:MAX_EXAMPLES])
            size, families = self._sizes[at[0]], len(node.families)
            yield Pattern(node.function or "start", size, kind, shape, len(at), examples, at[0], families)

    def _repeated_regions(self) -> Iterator[Pattern]:
        by_kind = np.argsort(self._kinds, kind="stable")
        by_kind = by_kind[self._shape_of_region[by_kind] >= 0]
        counts = np.bincount(self._kinds[by_kind], minlength=len(self._kind_names))
        ends: list[int] = np.cumsum(counts).tolist()
        for kind, (start, end) in enumerate(pairwise((0, *ends))):
            at: Integers = by_kind[start:end]
            above = self._shape_of_region[at]
            if len(at) < 2 or (bool((above == above[0]).all()) and self._shown_by_larger({int(above[0])})):
                continue
            first: list[int] = at[:MAX_EXAMPLES].tolist()
            examples = tuple(self._regions[i].region for i in first)
            style = PRUNED_KINDS[self._kind_names[kind][2]]
            yield Pattern(self._region_name(kind), 1, style, -1 - kind, len(at), examples)

    def _shown_by_larger(self, above: set[int]) -> bool:
        """Whether all occurrences are in one larger shape, given the shapes above, that occurs several times too."""
        (only, *others) = above
        return not others and only >= 0 and self._counts[only] > 1

    def _shape_above(self, i: int) -> int:
        parent = self._parents[i]
        return self._shapes[parent] if parent >= 0 else -1

    def _directly_below(self, pattern: Pattern) -> list[int]:
        """The shape of each node directly below, and the kind of each region as `-1 - kind`."""
        if pattern.first < 0:
            return []
        places = (self._tree.place(child) for child in self._nodes[pattern.first].children)
        regions = (-1 - self._kinds[self._below == pattern.first]).tolist()
        return [*(self._shapes[place] for place in places if place is not None), *regions]

    def number_of(self, ref: str) -> int | None:
        """The number of the shape of a node or region; None for another id."""
        place = self._tree.place(ref)
        if place is not None:
            return self._shapes[place] if self._shapes[place] >= 0 else None
        at = next((i for i, region in enumerate(self._regions) if region.region == ref), None)
        return None if at is None or self._shape_of_region[at] < 0 else -1 - int(self._kinds[at])

    def similar_to(self, ref: str) -> Sequence[str]:
        """The ids with the shape of this one; empty if there is only one."""
        number = self.number_of(ref)
        if number is None:
            return ()
        if number >= 0:
            same = [node.id for node, shape in zip(self._nodes, self._shapes, strict=True) if shape == number]
        else:
            at = np.flatnonzero((self._kinds == -1 - number) & (self._shape_of_region >= 0))
            same = [self._regions[i].region for i in at.tolist()]
        return same if len(same) > 1 else ()


def _by_extent(pattern: Pattern) -> tuple[int, str]:
    return -pattern.count * pattern.size, pattern.examples[0]


def _short(name: str, size: int) -> str:
    """A part of a larger shape in a few words."""
    return name if size == 1 else f"{name} […] of {size:,}"


def similar_scene(patterns: Patterns, selection: str, width: float = 960.0) -> Scene:
    """Draw a row per shape: a bar as long as its number of nodes and regions in all.

    Args:
        patterns: the shapes.
        selection: the selected id; the row of its shape is marked.
        width: width of the picture. Units: px.
    """
    found, marked = patterns.repeated, patterns.number_of(selection)
    if not found:
        return empty_scene("search", "no subtree occurs twice", width)
    shown = found[:MAX_PATTERNS]
    most = shown[0].count * shown[0].size
    items: list[Item] = []
    left = max(width_px(_count_text(p), "small") for p in shown) + 14
    for number, pattern in enumerate(shown):
        items += _row(pattern, patterns.text(pattern), number, left, most, pattern.number == marked, width)
    bottom = len(shown) * ROW_PX
    omitted = f"{len(shown):,} of {len(found):,} shapes are listed." if len(shown) < len(found) else ""
    if omitted:
        text = (Text(0, bottom + 14, omitted, "muted", "start"),)
        items.append(Shape("omitted", "text", "plain", 0, bottom, width, 20, "none", text))
        bottom += 20
    desc = f"{len(found):,} shapes of subtrees, kept and pruned, occur several times. {omitted}".strip()
    return Scene("search", "similar subtrees", desc, width, bottom + 4, tuple(items), omitted)


def _count_text(pattern: Pattern) -> str:
    return f"{pattern.count:,} × {pattern.size:,}"


def _row(pattern: Pattern, what: str, number: int, left: float, most: int, marked: bool, width: float) -> list[Item]:
    y, first = number * ROW_PX, pattern.examples[0]
    w = max(2.0, (width - left) * pattern.count * pattern.size / most)
    room = int((width - left - 12) // width_px("n", "mono"))
    texts = (
        Text(left - 8, y + 17, _count_text(pattern), "small", "end"),
        Text(left + 6, y + 17, shorten(what, room), "mono", "start"),
    )
    refs = ", ".join(pattern.examples) + (" …" if pattern.count > len(pattern.examples) else "")
    parts = "node or pruned subtree" if pattern.size == 1 else "nodes and pruned subtrees"
    tip = f"{pattern.count:,} occurrences of {pattern.size:,} {parts}: {what}\n{refs}"
    kind = "pattern-marked" if marked else "tree-row"
    return [
        Shape(f"{first}#bar", "block", "bar", left, y + 4, w, ROW_PX - 8),
        Shape(first, "block", kind, 0, y, width, ROW_PX, "rect", texts, first, tip, count=pattern.count),
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
