"""The search map: an icicle plot of the search tree. The root is on top, children are below their node.

Input: a `SearchTree` and the ledger of the same events. Output: a `Scene`. The width of a node is its number of
leaves: pruned regions, and nodes without children. Regions that were pruned below one node for one reason share
a block with the letter of the reason and the pattern of its soundness. While the search runs, a node without
children is drawn hollow. Families have rows of their own below the plot, each near its node, because one family
among ten thousand leaves would be too narrow to see.

Blocks narrower than two pixels are merged into one block if that is at least two pixels wide; otherwise they are
left out. A sentence below the plot counts both. Widths are never adjusted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from prism_explore.events.format import count_text, programs_text
from prism_explore.events.kinds import RegionPruned
from prism_explore.events.ledger import FamilyRow, Ledger
from prism_explore.widgets.drawing.text_metrics import width_px
from prism_explore.widgets.scene import Edge, Item, Outline, Scene, Shape, Text
from prism_explore.widgets.views.map_view import MapView
from prism_explore.widgets.views.marks import FAMILY_OUTLINES, LEGEND, PRUNED_KINDS, letter_of, mark_kind
from prism_explore.widgets.views.search_tree import SearchTree, TreeNode, family_counts

ROW_PX = 24.0
MIN_BLOCK_PX = 2.0
LETTER_PX = 13.0
"""Regions at least this wide are drawn one by one; narrower ones share a block per reason."""
MARK_PX = 15.0
MAX_MARK_ROWS = 4
MAX_LEVELS = 40
"""Largest number of rows; deeper nodes are left out."""


def search_scene(
    tree: SearchTree, book: Ledger, width: float = 960.0, root: str = "", view: MapView | None = None
) -> Scene:
    """Draw the icicle plot and the row of families below it.

    Args:
        tree: the search tree.
        book: the ledger of the same events.
        width: width of the picture. Units: px.
        root: the node to zoom into: it becomes as wide as the picture, below its ancestors.
        view: which nodes the user has collapsed.
    """
    icicle = _Icicle(tree, book, width)
    icicle.closed = frozenset(view.closed) if view is not None else frozenset()
    icicle.draw(root if root in tree.nodes else "")
    return icicle.scene()


class _Icicle:
    """Draws the plot: collects its blocks row by row."""

    def __init__(self, tree: SearchTree, book: Ledger, width: float) -> None:
        self.tree, self.book, self.width = tree, book, width
        self.leaves = tree.leaf_counts()
        self.family_counts = family_counts(tree, book.families)
        self.leaders: list[Item] = []
        """Lines from nodes to their families, drawn first so that they cross no text."""
        self.items: list[Item] = []
        self.depth = 0
        self.merged = 0
        """Number of leaves that share a block with leaves of another node, or are not drawn."""
        self.total = 0
        self.anchors: dict[str, tuple[float, float]] = {}
        """Per family, the middle of the lower side of its node."""
        self.merged_at: dict[str, tuple[float, float]] = {}
        """Per node that shares a block or is collapsed, the middle of the lower side of the block."""
        self.closed = frozenset[str]()
        """Nodes that the user has collapsed: what is below them is not drawn."""
        self.choices = book.steering.choices

    def draw(self, root: str) -> None:
        """Draw the subtree of `root`, or the full tree if that is empty, below its ancestors."""
        path = self.tree.path(root) if root else ()
        for depth, ancestor in enumerate(path[:-1]):
            self._node(self.tree.nodes[ancestor], 0.0, self.width, depth)
        tops = [root] if root else self.tree.roots
        self.total = sum(self.leaves[t] for t in tops)
        self._row(tops, [], 0.0, self.width, len(path[:-1]))

    def _row(self, nodes: list[str], pruned: list[RegionPruned], x: float, w: float, depth: int) -> None:
        """Draw the children and the pruned regions of one node side by side in [x, x + w)."""
        leaves = sum(self.leaves[n] for n in nodes) + len(pruned)
        if not leaves:
            return
        if depth >= MAX_LEVELS:
            self.merged += leaves
            return
        self.depth = max(self.depth, depth + 1)
        per_leaf = w / leaves
        small: list[str] = []
        for name in nodes:
            wide = self.leaves[name] * per_leaf
            if wide < MIN_BLOCK_PX:
                small.append(name)
                continue
            node = self.tree.nodes[name]
            self._node(node, x, wide, depth)
            if name in self.closed:
                self.merged_at[name] = (x + wide / 2, (depth + 1) * ROW_PX)
            else:
                self._row(node.children, node.pruned, x, wide, depth + 1)
            x += wide
        narrow: list[RegionPruned] = []
        for group in self._groups(pruned, per_leaf):
            if len(group) * per_leaf < MIN_BLOCK_PX:
                narrow += group
                continue
            self._pruned_block(group, x, len(group) * per_leaf, depth)
            x += len(group) * per_leaf
        left_out = 0
        for soundness in PRUNED_KINDS:
            same = [r for r in narrow if r.reason.soundness == soundness]
            if len(same) * per_leaf < MIN_BLOCK_PX:
                left_out += len(same)
                continue
            self._pruned_block(same, x, len(same) * per_leaf, depth)
            x += len(same) * per_leaf
        if small or left_out:
            self._merged_block(small, left_out, x, per_leaf, depth)

    def _groups(self, pruned: list[RegionPruned], per_leaf: float) -> list[list[RegionPruned]]:
        """Regions that share a block: each has its own if there is room, else those with the same reason share one."""
        if per_leaf >= LETTER_PX:
            return [[r] for r in pruned]
        groups: dict[tuple[str, str], list[RegionPruned]] = {}
        for r in pruned:
            groups.setdefault((r.reason.code, r.reason.soundness), []).append(r)
        return sorted(groups.values(), key=lambda g: (-len(g), g[0].reason.code))

    def _node(self, node: TreeNode, x: float, w: float, depth: int) -> None:
        below = len(node.children) + len(node.pruned) + len(node.families)
        kind = "expanded" if below or self.tree.finished else "frontier"
        if self.choices.get(node.id) == "rejected":
            kind = "pruned-user"
        elif node.id in self.closed and below:
            kind = "collapsed"
        name = node.operator or "start"
        count = self.family_counts[node.id]
        families = count_text(count, "family", "families")
        names = (f"{node.id}  {name}", name, node.function, node.id)
        stands_for_several = count > 1 and (kind == "collapsed" or len(node.families) > 1)
        numbered = [f"{text} · {families}" for text in names if text] if stands_for_several else []
        texts = _first_that_fits((*numbered, *names), x, w, depth)
        leaves = self.leaves[node.id]
        tip = "\n".join(
            s
            for s in (
                f"{node.id}: {name}, {node.level} level",
                node.expression and f"computes {node.expression}",
                f"{count_text(leaves, 'leaf', 'leaves')} below, {len(node.pruned):,} pruned here",
                "not expanded yet" if kind == "frontier" else "",
                f"completes {', '.join(node.families)}" if node.families else "",
                f"leads to {families}" if count > len(node.families) else "",
            )
            if s
        )
        y = depth * ROW_PX
        self.items.append(
            Shape(node.id, "block", kind, x, y, w, ROW_PX, "rect", texts, node.id, tip, node.parent, leaves)
        )
        for family in node.families:
            self.anchors[family] = (x + w / 2, (depth + 1) * ROW_PX)

    def _merged_block(self, names: list[str], pruned: int, x: float, per_leaf: float, depth: int) -> None:
        """Draw nodes and regions that are too narrow alone as one block; draw nothing if that is too narrow too."""
        leaves = sum(self.leaves[n] for n in names) + pruned
        wide = leaves * per_leaf
        self.merged += leaves
        self.merged_at |= dict.fromkeys(names, (x + wide / 2, (depth + 1) * ROW_PX))
        if wide < MIN_BLOCK_PX or not names:
            return
        parent = self.tree.nodes[names[0]].parent
        count = sum(self.family_counts[n] for n in names)
        families = f", {count_text(count, 'family', 'families')}" if count else ""
        above = f"{parent} {self.tree.nodes[parent].operator or 'start'}" if parent else "the root"
        tip = (
            f"{len(names):,} nodes with {leaves:,} leaves{families} below them, each narrower than "
            f"{MIN_BLOCK_PX:g} px: from {names[0]} to {names[-1]}\nzoom into {above} to see them"
        )
        nodes = f"{len(names):,} nodes"
        texts = _first_that_fits((f"{nodes}{families}", nodes, f"{len(names):,}"), x, wide, depth)
        ident = f"{names[0]}+"
        self.items.append(
            Shape(ident, "block", "aggregate", x, depth * ROW_PX, wide, ROW_PX, "rect", texts, parent, tip, "", leaves)
        )

    def _pruned_block(self, group: list[RegionPruned], x: float, w: float, depth: int) -> None:
        """Draw regions with the same parent and soundness as one block; narrow blocks merge several reasons."""
        first = group[0]
        soundness = first.reason.soundness
        counts = Counter(r.reason.code for r in group)
        letters = "".join(letter_of(code, soundness) for code, _ in counts.most_common())
        codes = first.reason.code if len(counts) == 1 else f"{len(counts)} reasons"
        many = f" ×{len(group):,}" if len(group) > 1 else ""
        texts = _first_that_fits((f"{letters}  {codes}{many}", f"{letters}{many}", letters), x, w, depth, "letter")
        programs = sum(r.stood_for for r in group)
        regions = first.region + (f" and {len(group) - 1:,} more under {first.parent}" if len(group) > 1 else "")
        codes_text = "\n".join(f"{n:,} × {code} [{soundness}]" for code, n in counts.most_common())
        tip = (
            f"{regions}: {first.operator}\n{first.reason.sentence}\n{codes_text}\n"
            f"for {programs_text(programs)} {'program' if programs == 1 else 'programs'} ({first.counted})"
        )
        y, kind = depth * ROW_PX, PRUNED_KINDS[soundness]
        n, ref = len(group), first.region
        self.items.append(Shape(ref, "block", kind, x, y, w, ROW_PX, "rect", texts, ref, tip, first.parent, n))

    # ------------------------------------------------------------ families
    def _family_rows(self, top: float) -> float:
        """Draw the families below their nodes; return the height of the rows."""
        for row in self.book.families:
            if row.family not in self.anchors:
                above = (self.merged_at[n] for n in self.tree.ancestors(row.node) if n in self.merged_at)
                if (point := next(above, None)) is not None:
                    self.anchors[row.family] = point
        rows = [r for r in self.book.families if r.family in self.anchors]
        if not rows:
            return 0.0
        cell = max(MARK_PX, *(width_px(r.family, "small") for r in rows)) + 6
        per_row = max(1, int(self.width // cell))
        rows.sort(key=lambda r: (not r.is_best, r.status != "proved", r.status == "refuted"))
        shown = rows[: per_row * MAX_MARK_ROWS]
        shown.sort(key=lambda r: (self.anchors[r.family][0], r.node, r.family))
        count = -(-len(shown) // per_row)
        for line in range(count):
            part = shown[line::count]
            y = top + 22 + line * (MARK_PX + 26)
            for row, x in zip(part, _spread([self.anchors[r.family][0] for r in part], cell, self.width), strict=True):
                self._family(row, x, y)
        height = 22 + count * (MARK_PX + 26)
        if len(shown) < len(rows):
            left_out = Text(
                0, top + height + 12, f"{len(rows) - len(shown):,} more families are not shown", "muted", "start"
            )
            self.items.append(Shape("families+", "text", "plain", 0, top + height, self.width, 16, "none", (left_out,)))
            height += 18
        return height

    def _family(self, row: FamilyRow, x: float, y: float) -> None:
        ax, ay = self.anchors[row.family]
        bend = (y - ay) / 2
        route = ((ax, ay), (ax, ay + bend), (x, y - bend), (x, y))
        self.leaders.append(
            Edge(f"{row.family}#leader", "leader", route, "bezier", source=row.node, target=row.family, ref=row.family)
        )
        left = x - MARK_PX / 2
        if row.choice == "accepted":
            size = MARK_PX + 8
            self._badge(row.family, "accepted", "circle", left - 4, y - 4, size, "accepted by you")
        kind = mark_kind(row)
        status = {"open": "no verdict yet", "impossible": "no maps satisfy the constraints"}.get(row.status, row.status)
        tip = (
            f"{row.family}: {status}"
            + (", the best" if row.is_best else "")
            + (f", {row.choice} by you" if row.choice else "")
        )
        texts = (Text(x, y + MARK_PX / 2 + 4, "?", "letter"),) if kind == "unknown" else ()
        name = (Text(x, y + MARK_PX + 14, row.family, "small"),)
        self.items.append(
            Shape(f"{row.family}#name", "text", "plain", left, y + MARK_PX, MARK_PX, 18, "none", name, row.family)
        )
        self.items.append(
            Shape(row.family, "mark", kind, left, y, MARK_PX, MARK_PX, FAMILY_OUTLINES[kind], texts, row.family, tip)
        )
        if kind == "refuted":
            self._badge(row.family, "cross", "cross", left + 3, y + 3, MARK_PX - 6, "")
        if row.is_best:
            self._badge(row.family, "best", "star", left + 7, y - 10, 15, "the best")

    def _badge(self, family: str, badge: str, outline: Outline, x: float, y: float, size: float, tip: str) -> None:
        shape = Shape(f"{family}#{badge}", "mark", f"badge-{badge}", x, y, size, size, outline, ref=family, tip=tip)
        self.items.append(shape)

    def _legend(self, top: float) -> float:
        """Draw the legend of the marks and patterns that occur; return its height."""
        kinds = dict.fromkeys(i.kind for i in self.items if isinstance(i, Shape))
        x, y = 0.0, top + 4
        for kind, outline, label in LEGEND:
            if kind not in kinds:
                continue
            if x + 24 + width_px(label, "small") > self.width:
                x, y = 0.0, y + 20
            texts = (Text(x + 22, y + 13, label, "small", "start"),)
            self.items.append(Shape(f"legend#{kind}", "text", kind, x + 2, y + 2, 14, 13, outline))
            self.items.append(Shape(f"legend#{kind}-label", "text", "plain", x, y, 24, 18, "none", texts))
            x += 22 + width_px(label, "small") + 14
        return y + 22 - top if x else 0.0

    def scene(self) -> Scene:
        """Return all blocks, families, the legend, and a sentence on what was merged or left out."""
        bottom = max(self.depth, 1) * ROW_PX
        if not self.tree.nodes:
            nothing = Text(self.width / 2, ROW_PX * 0.7, "nothing has been searched yet", "muted")
            self.items.append(Shape("nothing", "text", "plain", 0, 0, self.width, ROW_PX, "none", (nothing,)))
        bottom += self._family_rows(bottom)
        bottom += self._legend(bottom)
        omitted = ""
        if self.merged:
            omitted = f"{self.merged:,} of {self.total:,} leaves share a block or are too narrow to be drawn."
            text = Text(0, bottom + 14, omitted, "muted", "start")
            self.items.append(Shape("omitted", "text", "plain", 0, bottom, self.width, 20, "none", (text,)))
            bottom += 20
        n = self.book.funnel
        desc = (
            f"{n.expanded:,} nodes expanded, {n.pruned:,} subtrees pruned, {n.families:,} families: "
            f"{n.proved:,} candidates proved, {n.unknown:,} unknown, {n.refuted:,} refuted. {omitted}"
        ).strip()
        return Scene("search", "search map", desc, self.width, bottom + 4, (*self.leaders, *self.items), omitted)


def _first_that_fits(options: Iterable[str], x: float, w: float, depth: int, kind: str = "mono") -> tuple[Text, ...]:
    """The first of these texts that fits into the block."""
    for text in options:
        if text and width_px(text, kind) + 6 <= w:
            return (Text(x + w / 2, (depth + 0.68) * ROW_PX, text, kind),)
    return ()


def _spread(wanted: list[float], cell: float, width: float) -> list[float]:
    """Positions within the width, with a distance of at least `cell`, near the wanted positions, which ascend."""
    places: list[float] = []
    for x in wanted:
        places.append(max(x, places[-1] + cell if places else cell / 2))
    limit = width - cell / 2
    for i in range(len(places) - 1, -1, -1):
        places[i] = min(places[i], limit)
        limit = places[i] - cell
    return places
