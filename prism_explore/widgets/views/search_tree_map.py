"""The search map as a tree: a row per node, indented below its parent, with links.

Input: a `SearchTree` and the ledger of the same events. Output: a `Scene`. A collapsed subtree is a triangle with its
number of leaves. By default, what leads to a family is expanded, the best one first, and a subtree without families is
collapsed if it has more than `SMALL_LEAVES` leaves. Rows are limited: further subtrees stay collapsed, and of many
children of one node some share a row. Regions that were pruned below one node for one reason share a row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heappop, heappush

from prism_explore.events.format import count_text
from prism_explore.events.kinds import RegionPruned
from prism_explore.events.ledger import FamilyRow, Ledger
from prism_explore.widgets.drawing.charts import empty_scene
from prism_explore.widgets.scene import Scene, Shape, Text
from prism_explore.widgets.views.map_view import MapView
from prism_explore.widgets.views.marks import FAMILY_OUTLINES, PRUNED_KINDS, letter_of, mark_kind
from prism_explore.widgets.views.outline_rows import ROW_PX, OutlineDrawing, OutlineRow
from prism_explore.widgets.views.search_tree import SearchTree, TreeNode, family_counts

SMALL_LEAVES = 8
MAX_ROWS = 300
"""Rows that are expanded by default; what the user expands can add `MAX_MORE_ROWS`."""
MAX_MORE_ROWS = 500
MAX_CHILDREN = 40
"""Children of one node that have a row of their own; those that lead to families come first."""
MIN_STEP_PX, MAX_STEP_PX = 10.0, 22.0
TEXT_PX = 190.0
"""Room that the indentation leaves for texts."""


def tree_scene(tree: SearchTree, book: Ledger, view: MapView, width: float = 960.0, root: str = "") -> Scene:
    """Draw the tree.

    Args:
        tree: the search tree.
        book: the ledger of the same events.
        view: what the user has expanded and collapsed.
        width: width of the picture. Units: px.
        root: the node to zoom into; its ancestors are above it.
    """
    if not tree.nodes:
        return empty_scene("search", "nothing has been searched yet", width)
    return _TreeMap(tree, book, view, width).scene(root if root in tree.nodes else "")


class _TreeMap:
    def __init__(self, tree: SearchTree, book: Ledger, view: MapView, width: float) -> None:
        self.tree, self.book, self.view, self.width = tree, book, view, width
        self.nodes = tree.nodes
        self.leaves: Mapping[str, int] = tree.leaf_counts()
        self.families: dict[str, FamilyRow] = {row.family: row for row in book.families}
        self.family_counts = family_counts(tree, book.families)
        self.rank = self._ranks()
        self.open: set[str] = set()
        self.kept_closed = 0
        """Number of subtrees that are collapsed because of the limit of rows."""

    def _ranks(self) -> dict[str, int]:
        """Per node that leads to families, the rank of the best of them: 3 for the best kernel, 2 for proved."""
        rank: dict[str, int] = {}
        for row in self.book.families:
            own = 3 if row.is_best else 2 if row.status == "proved" else 1
            for node in self.tree.path(row.node):
                rank[node] = max(own, rank.get(node, 0))
        return rank

    def _choose_open(self, tops: Sequence[str]) -> None:
        """Expand nodes, the most interesting first, until the rows are used up."""
        rows = len(tops)
        heap: list[tuple[int, int, int, str]] = []

        def push(name: str, depth: int) -> None:
            asked = name in self.view.opened
            is_small = self.leaves[name] <= SMALL_LEAVES
            if self.view.is_open(name, self.rank.get(name, 0) > 0 or is_small or depth == 0):
                heappush(heap, (-4 if asked else -self.rank.get(name, 0), depth, len(heap), name))

        for name in tops:
            push(name, 0)
        while heap:
            priority, depth, _, name = heappop(heap)
            node = self.nodes[name]
            children = self._own_rows(node)
            more = len(children) + (len(children) < len(node.children)) + len(_groups(node.pruned)) + len(node.families)
            if rows + more > (MAX_ROWS + MAX_MORE_ROWS if priority == -4 else MAX_ROWS) and rows > len(tops):
                self.kept_closed += 1
                continue
            rows += more
            self.open.add(name)
            for child in children:
                push(child, depth + 1)

    def _own_rows(self, node: TreeNode) -> list[str]:
        """The children that have rows of their own, in their order."""
        if len(node.children) <= MAX_CHILDREN:
            return node.children
        first = sorted(node.children, key=lambda c: (c not in self.view.opened, -self.rank.get(c, 0), -self.leaves[c]))
        kept = set(first[: MAX_CHILDREN - 1])
        return [c for c in node.children if c in kept]

    def scene(self, root: str) -> Scene:
        path = self.tree.path(root) if root else ()
        tops = [root] if root else self.tree.roots
        self._choose_open(tops)
        depth = self._depth(tops, len(path[:-1]))
        step = min(MAX_STEP_PX, max(MIN_STEP_PX, (self.width - TEXT_PX) / max(1, depth)))
        drawing = OutlineDrawing(self.width, step)
        for n, name in enumerate(path[:-1]):
            drawing.add(self._node_row(self.nodes[name], n, None))
        for name in tops:
            self._subtree(drawing, name, len(path[:-1]))
        bottom = drawing.rows * ROW_PX
        omitted = ""
        if self.kept_closed:
            subtrees = "subtree is" if self.kept_closed == 1 else "subtrees are"
            omitted = f"{self.kept_closed:,} more {subtrees} collapsed because of the number of rows; + expands them."
            text = (Text(0, bottom + 14, omitted, "muted", "start"),)
            drawing.items.append(Shape("omitted", "text", "plain", 0, bottom, self.width, 20, "none", text))
            bottom += 20
        total = sum(self.leaves[t] for t in tops)
        desc = f"{drawing.rows:,} rows of the search tree with {total:,} leaves. {omitted}".strip()
        return Scene("search", "search tree", desc, self.width, bottom + 4, drawing.drawn, omitted)

    def _depth(self, tops: Sequence[str], depth: int) -> int:
        """The largest depth of a row."""
        deepest = depth
        stack = [(name, depth) for name in tops]
        while stack:
            name, at = stack.pop()
            deepest = max(deepest, at + (name in self.open))
            if name in self.open:
                stack += [(c, at + 1) for c in self._own_rows(self.nodes[name])]
        return deepest

    def _subtree(self, drawing: OutlineDrawing, name: str, depth: int) -> None:
        node = self.nodes[name]
        has_content = bool(node.children or node.pruned or node.families)
        is_open = name in self.open
        drawing.add(self._node_row(node, depth, is_open if has_content else None))
        if not is_open:
            return
        for family in node.families:
            drawing.add(self._family_row(family, depth + 1))
        own = self._own_rows(node)
        for child in own:
            self._subtree(drawing, child, depth + 1)
        if len(own) < len(node.children):
            kept = set(own)
            rest = [c for c in node.children if c not in kept]
            drawing.add(self._rest_row(name, rest, depth + 1))
        for group in _groups(node.pruned):
            drawing.add(_pruned_row(group, depth + 1))

    def _node_row(self, node: TreeNode, depth: int, is_open: bool | None) -> OutlineRow:
        leaves = self.leaves[node.id]
        size = count_text(leaves, "leaf", "leaves")
        children = count_text(len(node.children), "child", "children")
        families = self._families_text([node.id])
        is_frontier = is_open is None and not self.tree.finished and not (node.children or node.families)
        kind = "frontier" if is_frontier else "expanded"
        if self.book.steering.choices.get(node.id) == "rejected":
            kind = "pruned-user"
        tip = "\n".join(
            s
            for s in (
                f"{node.id}: {node.operator or 'start'}, {node.level} level",
                node.expression and f"computes {node.expression}",
                f"{size} below, {len(node.pruned):,} pruned here, {children}",
                families and f"leads to {families}",
                "collapsed; + expands it" if is_open is False else "not expanded yet" if is_frontier else "",
            )
            if s
        )
        closed = is_open is False
        best = " ★" if closed and self.rank.get(node.id) == 3 else ""
        note = ", ".join(filter(None, (size, families))) + best if closed else ""
        outline = "triangle" if closed else "circle"
        text = f"{node.id} {node.operator or 'start'}"
        return OutlineRow(node.id, node.id, depth, kind, outline, text, note, tip, "", is_open, count=leaves)

    def _family_row(self, family: str, depth: int) -> OutlineRow:
        row = self.families.get(family)
        if row is None:
            return OutlineRow(family, family, depth, "family", "circle", family)
        kind = mark_kind(row)
        note = ", ".join(s for s in (row.status, row.choice and f"{row.choice} by you", "best ★" * row.is_best) if s)
        letter = "?" if kind == "unknown" else ""
        return OutlineRow(family, family, depth, kind, FAMILY_OUTLINES[kind], family, note, f"{family}: {note}", letter)

    def _rest_row(self, parent: str, names: Sequence[str], depth: int) -> OutlineRow:
        leaves = sum(self.leaves[n] for n in names)
        text, tip = (
            f"{len(names):,} more nodes",
            f"{names[0]} to {names[-1]}: zoom into {parent}, or select one by its id",
        )
        note = ", ".join(filter(None, (f"{leaves:,} leaves", self._families_text(names))))
        return OutlineRow(f"{names[0]}+", parent, depth, "aggregate", "square", text, note, tip, count=leaves)

    def _families_text(self, names: Sequence[str]) -> str:
        """The number of families that nodes and those below them complete; empty for none."""
        count = sum(self.family_counts[name] for name in names)
        return count_text(count, "family", "families") if count else ""


def _groups(pruned: Sequence[RegionPruned]) -> list[list[RegionPruned]]:
    """Regions by reason and soundness, the largest group first."""
    groups: dict[tuple[str, str], list[RegionPruned]] = {}
    for region in pruned:
        groups.setdefault((region.reason.code, region.reason.soundness), []).append(region)
    return sorted(groups.values(), key=lambda g: (-len(g), g[0].reason.code))


def _pruned_row(group: Sequence[RegionPruned], depth: int) -> OutlineRow:
    first = group[0]
    reason = first.reason
    many = f" ×{len(group):,}" if len(group) > 1 else f" {first.operator}"
    more = f" and {len(group) - 1:,} more" if len(group) > 1 else ""
    tip = f"{first.region}{more}: {first.operator}\n{reason.sentence}"
    letter = letter_of(reason.code, reason.soundness)
    kind, ref = PRUNED_KINDS[reason.soundness], first.region
    return OutlineRow(
        ref, ref, depth, kind, "square", f"{letter} {reason.code}{many}", reason.soundness, tip, count=len(group)
    )
