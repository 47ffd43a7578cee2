"""The search as an icicle: the root on top, below each node what grew from it, as wide as it was work.

Work is counted in ends: regions that were cut, and nodes from which nothing grew. What was cut under one
node for one reason is one patterned block with the reason's letter; the pattern says how sound the cut
was. A node without anything below it, in a search that goes on, is drawn hollow. Families stand in a
strip of their own below the map, each under its node, because one family in ten thousand ends would be
too narrow to see.

Blocks narrower than two pixels are drawn together where they have two pixels between them, else left
out; either way the sentence under the picture counts them. No width is ever changed to please the eye.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from prism_explore.events.kinds import (
    Event,
    ExplorationFinished,
    FamilyCompleted,
    NodeExpanded,
    RegionPruned,
    Soundness,
)
from prism_explore.events.ledger import Cut, FamilyRow, Ledger, ledger
from prism_explore.widgets.drawing.text_metrics import shorten, width_px
from prism_explore.widgets.scene import Edge, Item, Outline, Scene, Shape, Text

ROW_PX = 24.0
LEAST_PX = 2.0
LETTER_PX = 13.0
"""Regions at least this wide are drawn one by one; narrower ones share a block per reason."""
MARK_PX = 15.0
MOST_MARK_ROWS = 4
NARROW_PX = 560.0
"""In narrower pictures a bar leaves its rule and soundness to its tip; the pattern says the latter too."""

LETTERS: dict[str, str] = {
    "expr.unreachable": "E",
    "dup.canonical": "D",
    "shape.mismatch": "S",
    "map.constraint": "P",
    "mem.smem": "M",
    "mem.regs": "R",
    "par.limits": "L",
    "dominated.by": "B",
    "verify.unknown": "?",
    "verify.refuted": "✕",
    "tune.illegal": "I",
    "tune.slower": "T",
    "budget.": "$",
    "user.reject": "U",
}
"""Plain letters only: clocks and hands are missing from many fonts."""
PATTERNED: dict[Soundness, str] = {
    "sound": "pruned-sound",
    "heuristic": "pruned-heuristic",
    "budget": "pruned-budget",
    "user": "pruned-user",
}
OUTLINES: dict[str, Outline] = {
    "proved": "diamond",
    "unknown": "hexagon",
    "refuted": "square",
    "family": "circle",
    "pruned-user": "triangle",
    "pruned-sound": "triangle",
}


LEGEND: tuple[tuple[str, Outline, str], ...] = (
    ("frontier", "rect", "open"),
    ("pruned-sound", "rect", "cut, loses nothing"),
    ("pruned-heuristic", "rect", "cut by a rule of thumb"),
    ("pruned-budget", "rect", "cut by budget"),
    ("pruned-user", "rect", "rejected by you"),
    ("aggregate", "rect", "several nodes"),
    ("family", "circle", "family"),
    ("proved", "diamond", "proved"),
    ("unknown", "hexagon", "unknown"),
    ("refuted", "square", "refuted"),
    ("badge-accepted", "circle", "accepted by you"),
    ("badge-best", "star", "best"),
)


def letter_of(code: str, soundness: Soundness) -> str:
    """The letter that stands for a reason; heuristic ones have an h behind it."""
    known = LETTERS.get(code) or next((v for k, v in LETTERS.items() if k.split(".")[0] == code.split(".")[0]), "")
    return (known or code[:1].upper() or "?") + ("h" if soundness == "heuristic" else "")


# ---------------------------------------------------------------- the fold
@dataclass(slots=True)
class Branch:
    """A node of the search tree."""

    id: str
    parent: str
    operator: str
    expression: str
    level: str
    children: list[str] = field(default_factory=list[str])
    cuts: list[RegionPruned] = field(default_factory=list[RegionPruned])
    families: list[str] = field(default_factory=list[str])


class SearchTree:
    """The tree of a search, built fact by fact."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.nodes: dict[str, Branch] = {}
        self.roots: list[str] = []
        self.regions = 0
        self.finished = False
        for event in events:
            self.add(event)

    def add(self, event: Event) -> None:
        """Take one fact; facts that are not about the tree are passed over."""
        match event:
            case NodeExpanded():
                branch = Branch(event.node, event.parent, event.operator, event.expression, event.level)
                self.nodes[event.node] = branch
                if above := self.nodes.get(event.parent):
                    above.children.append(event.node)
                else:
                    self.roots.append(event.node)
            case RegionPruned():
                self._at(event.parent).cuts.append(event)
                self.regions += 1
            case FamilyCompleted():
                self._at(event.node).families.append(event.family)
            case ExplorationFinished():
                self.finished = True
            case _:
                pass

    def _at(self, node: str) -> Branch:
        """The node, or one made up for a fact that names a node nobody expanded, such as an unnamed root."""
        if node not in self.nodes:
            self.nodes[node] = Branch(node, "", "", "", "kernel")
            self.roots.append(node)
        return self.nodes[node]

    def work(self) -> Mapping[str, int]:
        """Per node, the ends below it; at least one."""
        total: dict[str, int] = {}
        for node in reversed(self.nodes.values()):
            below = sum(total.get(c, 1) for c in node.children)
            total[node.id] = max(1, below + len(node.cuts))
        return total

    def path(self, node: str) -> tuple[str, ...]:
        """The nodes from the root to this one."""
        found: list[str] = []
        while node in self.nodes and node not in found:
            found.append(node)
            node = self.nodes[node].parent
        return tuple(reversed(found))


# ---------------------------------------------------------------- the picture
def search_scene(
    events: Iterable[Event] | SearchTree,
    book: Ledger | None = None,
    width: float = 960.0,
    root: str = "",
    levels: int = 40,
) -> Scene:
    """The icicle, with the strip of families below it.

    Args:
        events: the facts, or the tree that they built.
        book: what they add up to, where that is known already; needed with a tree.
        width: of the picture. Units: px.
        root: a node to make as wide as the picture; its ancestors stay above it.
        levels: rows at most.
    """
    if isinstance(events, SearchTree):
        tree, book = events, book or Ledger()
    else:
        facts = tuple(events)
        tree, book = SearchTree(facts), book or ledger(facts)
    icicle = _Icicle(tree, book, width, levels)
    icicle.draw(root if root in tree.nodes else "")
    return icicle.scene()


class _Icicle:
    """Collects blocks row by row."""

    def __init__(self, tree: SearchTree, book: Ledger, width: float, levels: int) -> None:
        self.tree, self.book, self.width, self.levels = tree, book, width, levels
        self.work = tree.work()
        self.leaders: list[Item] = []
        """Lines from nodes to their families; behind everything, so that no text is crossed."""
        self.items: list[Item] = []
        self.depth = 0
        self.together = 0
        """Ends that share a block with others of another node, or are not drawn."""
        self.total = 0
        self.anchors: dict[str, tuple[float, float]] = {}
        """Per family, the middle of its node's lower side."""
        self.choices = book.steering.choices

    def draw(self, root: str) -> None:
        """Draw the subtree at `root` (all, when empty) below its ancestors."""
        path = self.tree.path(root) if root else ()
        for depth, ancestor in enumerate(path[:-1]):
            self._node(self.tree.nodes[ancestor], 0.0, self.width, depth)
        tops = [root] if root else self.tree.roots
        self.total = sum(self.work[t] for t in tops)
        self._row(tops, [], 0.0, self.width, len(path[:-1]))

    def _row(self, nodes: list[str], cuts: list[RegionPruned], x: float, w: float, depth: int) -> None:
        """One node's children and cuts, side by side in [x, x + w)."""
        ends = sum(self.work[n] for n in nodes) + len(cuts)
        if not ends:
            return
        if depth >= self.levels:
            self.together += ends
            return
        self.depth = max(self.depth, depth + 1)
        per_end = w / ends
        small: list[str] = []
        for name in nodes:
            wide = self.work[name] * per_end
            if wide < LEAST_PX:
                small.append(name)
                continue
            node = self.tree.nodes[name]
            self._node(node, x, wide, depth)
            self._row(node.children, node.cuts, x, wide, depth + 1)
            x += wide
        narrow: list[RegionPruned] = []
        for group in self._groups(cuts, per_end):
            if len(group) * per_end < LEAST_PX:
                narrow += group
                continue
            self._cut(group, x, len(group) * per_end, depth)
            x += len(group) * per_end
        left_over = 0
        for soundness in PATTERNED:
            alike = [c for c in narrow if c.reason.soundness == soundness]
            if len(alike) * per_end < LEAST_PX:
                left_over += len(alike)
                continue
            self._cut(alike, x, len(alike) * per_end, depth)
            x += len(alike) * per_end
        if small or left_over:
            self._small(small, left_over, x, per_end, depth)

    def _groups(self, cuts: list[RegionPruned], per_end: float) -> list[list[RegionPruned]]:
        if per_end >= LETTER_PX:
            return [[c] for c in cuts]
        groups: dict[tuple[str, str], list[RegionPruned]] = {}
        for c in cuts:
            groups.setdefault((c.reason.code, c.reason.soundness), []).append(c)
        return sorted(groups.values(), key=lambda g: (-len(g), g[0].reason.code))

    def _node(self, node: Branch, x: float, w: float, depth: int) -> None:
        below = len(node.children) + len(node.cuts) + len(node.families)
        kind = "expanded" if below or self.tree.finished else "frontier"
        if self.choices.get(node.id) == "rejected":
            kind = "pruned-user"
        name = node.operator or "start"
        texts = _fitting((f"{node.id}  {name}", name, name.split("(")[0], node.id), x, w, depth)
        ends = self.work[node.id]
        tip = "\n".join(
            s
            for s in (
                f"{node.id}: {name}, {node.level} level",
                node.expression and f"computes {node.expression}",
                f"{ends:,} {'end' if ends == 1 else 'ends'} below, {len(node.cuts):,} cut here",
                "nothing grew from it yet" if kind == "frontier" else "",
                " ".join(node.families) and f"complete: {', '.join(node.families)}",
            )
            if s
        )
        y = depth * ROW_PX
        self.items.append(
            Shape(node.id, "block", kind, x, y, w, ROW_PX, "rect", texts, node.id, tip, node.parent, ends)
        )
        for family in node.families:
            self.anchors[family] = (x + w / 2, (depth + 1) * ROW_PX)

    def _small(self, names: list[str], cuts: int, x: float, per_end: float, depth: int) -> None:
        """What is too narrow alone, as one block, or as none where even together it is too narrow."""
        ends = sum(self.work[n] for n in names) + cuts
        wide = ends * per_end
        self.together += ends
        for name in names:
            for family in self._families_below(name):
                self.anchors[family] = (x + wide / 2, (depth + 1) * ROW_PX)
        if wide < LEAST_PX or not names:
            return
        above = self.tree.nodes[names[0]].parent
        tip = (
            f"{len(names):,} nodes with {ends:,} ends below them, each narrower than {LEAST_PX:g} px: "
            f"from {names[0]} to {names[-1]}\nzoom into {above or 'the root'} to see them"
        )
        texts = _fitting((f"{len(names):,} nodes", f"{len(names):,}"), x, wide, depth)
        ident = f"{names[0]}+"
        self.items.append(
            Shape(ident, "block", "aggregate", x, depth * ROW_PX, wide, ROW_PX, "rect", texts, above, tip, "", ends)
        )

    def _families_below(self, name: str) -> list[str]:
        found: list[str] = []
        waiting = [name]
        while waiting:
            node = self.tree.nodes[waiting.pop()]
            found += node.families
            waiting += node.children
        return found

    def _cut(self, group: list[RegionPruned], x: float, w: float, depth: int) -> None:
        """Regions cut under one node, equally soundly; for one reason, or for several where it is narrow."""
        first = group[0]
        soundness = first.reason.soundness
        counts = Counter(c.reason.code for c in group)
        letters = "".join(letter_of(code, soundness) for code, _ in counts.most_common())
        codes = first.reason.code if len(counts) == 1 else f"{len(counts)} reasons"
        many = f" ×{len(group):,}" if len(group) > 1 else ""
        texts = _fitting((f"{letters}  {codes}{many}", f"{letters}{many}", letters), x, w, depth, "letter")
        stood = sum(c.stood_for for c in group)
        who = first.region + (f" and {len(group) - 1:,} more under {first.parent}" if len(group) > 1 else "")
        why = "\n".join(f"{n:,} × {code} [{soundness}]" for code, n in counts.most_common())
        tip = (
            f"{who}: {first.operator}\n{first.reason.sentence}\n{why}\n"
            f"stood for {stood:,.0f} {'program' if stood == 1 else 'programs'} ({first.counted})"
        )
        y, kind = depth * ROW_PX, PATTERNED[soundness]
        n, ref = len(group), first.region
        self.items.append(Shape(ref, "block", kind, x, y, w, ROW_PX, "rect", texts, ref, tip, first.parent, n))

    # ------------------------------------------------------------ families
    def _strip(self, top: float) -> float:
        """Families under their nodes; gives the height that they take."""
        rows = [r for r in self.book.families if r.family in self.anchors]
        if not rows:
            return 0.0
        cell = max(MARK_PX, *(width_px(r.family, "small") for r in rows)) + 6
        per_row = max(1, int(self.width // cell))
        rows.sort(key=lambda r: (not r.is_best, r.status != "proved", r.status == "refuted"))
        shown = rows[: per_row * MOST_MARK_ROWS]
        shown.sort(key=lambda r: (self.anchors[r.family][0], r.node, r.family))
        count = -(-len(shown) // per_row)
        for line in range(count):
            part = shown[line::count]
            y = top + 22 + line * (MARK_PX + 26)
            for row, x in zip(part, _spread([self.anchors[r.family][0] for r in part], cell, self.width), strict=True):
                self._mark(row, x, y)
        height = 22 + count * (MARK_PX + 26)
        if len(shown) < len(rows):
            left_out = Text(
                0, top + height + 12, f"{len(rows) - len(shown):,} more families are not shown", "muted", "start"
            )
            self.items.append(Shape("families+", "text", "plain", 0, top + height, self.width, 16, "none", (left_out,)))
            height += 18
        return height

    def _mark(self, row: FamilyRow, x: float, y: float) -> None:
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
        word = {"open": "no verdict yet", "impossible": "no maps satisfy the constraints"}.get(row.status, row.status)
        tip = (
            f"{row.family}: {word}"
            + (", the best so far" if row.is_best else "")
            + (f", {row.choice} by you" if row.choice else "")
        )
        texts = (Text(x, y + MARK_PX / 2 + 4, "?", "letter"),) if kind == "unknown" else ()
        name = (Text(x, y + MARK_PX + 14, row.family, "small"),)
        self.items.append(
            Shape(f"{row.family}#name", "text", "plain", left, y + MARK_PX, MARK_PX, 18, "none", name, row.family)
        )
        self.items.append(
            Shape(row.family, "mark", kind, left, y, MARK_PX, MARK_PX, OUTLINES[kind], texts, row.family, tip)
        )
        if kind == "refuted":
            self._badge(row.family, "cross", "cross", left + 3, y + 3, MARK_PX - 6, "")
        if row.is_best:
            self._badge(row.family, "best", "star", left + 7, y - 10, 15, "the best so far")

    def _badge(self, family: str, word: str, outline: Outline, x: float, y: float, size: float, tip: str) -> None:
        shape = Shape(f"{family}#{word}", "mark", f"badge-{word}", x, y, size, size, outline, ref=family, tip=tip)
        self.items.append(shape)

    def _legend(self, top: float) -> float:
        """The words for the marks and patterns that occur; gives the height they take."""
        kinds = dict.fromkeys(i.kind for i in self.items if isinstance(i, Shape))
        x, y = 0.0, top + 4
        for kind, outline, word in LEGEND:
            if kind not in kinds:
                continue
            if x + 24 + width_px(word, "small") > self.width:
                x, y = 0.0, y + 20
            says = (Text(x + 22, y + 13, word, "small", "start"),)
            self.items.append(Shape(f"legend#{kind}", "text", kind, x + 2, y + 2, 14, 13, outline))
            self.items.append(Shape(f"legend#{kind}-word", "text", "plain", x, y, 24, 18, "none", says))
            x += 22 + width_px(word, "small") + 14
        return y + 22 - top if x else 0.0

    def scene(self) -> Scene:
        """Everything drawn so far, and what was left out."""
        bottom = max(self.depth, 1) * ROW_PX
        if not self.tree.nodes:
            nothing = Text(self.width / 2, ROW_PX * 0.7, "nothing has been searched yet", "muted")
            self.items.append(Shape("nothing", "text", "plain", 0, 0, self.width, ROW_PX, "none", (nothing,)))
        bottom += self._strip(bottom)
        bottom += self._legend(bottom)
        omitted = ""
        if self.together:
            omitted = (
                f"{self.together:,} of {self.total:,} ends are too narrow to be drawn one by one: "
                "they share a block or are left out."
            )
            says = Text(0, bottom + 14, omitted, "muted", "start")
            self.items.append(Shape("omitted", "text", "plain", 0, bottom, self.width, 20, "none", (says,)))
            bottom += 20
        n = self.book.funnel
        desc = (
            f"{n.expanded:,} nodes expanded, {n.pruned:,} regions cut, {n.families:,} families: "
            f"{n.proved:,} candidates proved, {n.unknown:,} unknown, {n.refuted:,} refuted. {omitted}"
        ).strip()
        return Scene("search", "search map", desc, self.width, bottom + 4, (*self.leaders, *self.items), omitted)


def mark_kind(row: FamilyRow) -> str:
    """The style of a family's mark: what you decided first, then what was shown."""
    if row.choice == "rejected":
        return "pruned-user"
    if row.status == "impossible":
        return "pruned-sound"
    return "family" if row.status == "open" else row.status


def _fitting(options: Iterable[str], x: float, w: float, depth: int, kind: str = "mono") -> tuple[Text, ...]:
    """The longest of these texts that the block holds."""
    for text in options:
        if text and width_px(text, kind) + 6 <= w:
            return (Text(x + w / 2, (depth + 0.68) * ROW_PX, text, kind),)
    return ()


def _spread(wanted: list[float], cell: float, width: float) -> list[float]:
    """Places at least `cell` apart, near those wanted (ascending), within the width."""
    places: list[float] = []
    for x in wanted:
        places.append(max(x, places[-1] + cell if places else cell / 2))
    limit = width - cell / 2
    for i in range(len(places) - 1, -1, -1):
        places[i] = min(places[i], limit)
        limit = places[i] - cell
    return places


# ---------------------------------------------------------------- by reason
def reasons_scene(events: Iterable[Event] | Ledger, width: float = 960.0) -> Scene:
    """How many regions and maps each reason cut, as bars with the patterns of the map."""
    book = events if isinstance(events, Ledger) else ledger(events)
    total = sum(c.count for c in book.cuts)
    items: list[Item] = []
    narrow = width < NARROW_PX
    texts = [(_reason_label(c, narrow), _reason_value(c, total, narrow)) for c in book.cuts]
    left = max((width_px(a, "mono") for a, _ in texts), default=0.0) + 34
    right = max((width_px(b, "small") for _, b in texts), default=0.0) + 10
    most = max((c.count for c in book.cuts), default=1)
    for number, (cut, (label, value)) in enumerate(zip(book.cuts, texts, strict=True)):
        y = number * ROW_PX
        w = max(LEAST_PX, (width - left - right) * cut.count / most)
        ident = f"{cut.code}/{cut.rule}/{cut.soundness}/{cut.what}"
        line = (
            Text(12, y + 17, letter_of(cut.code, cut.soundness), "letter"),
            Text(26, y + 17, label, "mono", "start"),
            Text(left + w + 8, y + 17, value, "small", "start"),
        )
        tip = (
            f"{cut.rule} [{cut.soundness}]: {cut.sentence}\n"
            f"{cut.count:,} {cut.things}, for example "
            f"{cut.example}; stood for {cut.stood_for:,.0f} programs"
        )
        items.append(Shape(f"{ident}#says", "text", "plain", 0, y, width, ROW_PX, "none", line, cut.example, tip))
        items.append(
            Shape(
                ident,
                "block",
                PATTERNED[cut.soundness],
                left,
                y + 3,
                w,
                ROW_PX - 6,
                ref=cut.example,
                tip=tip,
                count=cut.count,
            )
        )
    if not items:
        nothing = (Text(width / 2, 17, "nothing has been cut yet", "muted"),)
        items.append(Shape("nothing", "text", "plain", 0, 0, width, ROW_PX, "none", nothing))
    desc = "; ".join(f"{c.code} by {c.rule} [{c.soundness}]: {c.count:,} {c.things}" for c in book.cuts) or "no cuts"
    return Scene("reasons", "cuts by reason", desc, width, max(1, len(book.cuts)) * ROW_PX, tuple(items))


def _reason_value(cut: Cut, total: int, narrow: bool) -> str:
    return f"{cut.count:,} · {_percent(cut.count / total)}{'' if narrow else f' · {cut.soundness}'}"


def _reason_label(cut: Cut, narrow: bool) -> str:
    rule = "" if narrow or cut.rule == cut.code else f" · {shorten(cut.rule, 20)}"
    return f"{shorten(cut.code, 24)}{rule}{'' if cut.what == 'region' else f' ({cut.things})'}"


def _percent(share: float) -> str:
    return "<1%" if share < 0.005 else f"{share:.0%}"
