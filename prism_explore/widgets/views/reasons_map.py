"""The search map by reason: what was pruned, by reason, then by operator and level, then by node.

Input: a `SearchTree`. Output: a `Scene` with rows that can be collapsed. The length of a bar is the number of regions,
in proportion to the most frequent reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from prism_explore.events.kinds import RegionPruned
from prism_explore.widgets.drawing.charts import empty_scene
from prism_explore.widgets.scene import Scene
from prism_explore.widgets.views.map_view import MapView
from prism_explore.widgets.views.marks import PRUNED_KINDS, letter_of
from prism_explore.widgets.views.outline_rows import ROW_PX, OutlineDrawing, OutlineRow
from prism_explore.widgets.views.search_tree import SearchTree

MAX_OPERATORS, MAX_NODES = 40, 25
"""Rows below a reason, and below an operator; a last row counts the rest."""
MAX_OPEN_REASONS = 6
"""With more reasons, all are collapsed by default."""
STEP_PX = 18.0


def reasons_map_scene(tree: SearchTree, view: MapView, width: float = 960.0, root: str = "") -> Scene:
    """Draw the rows.

    Args:
        tree: the search tree.
        view: what the user has expanded and collapsed.
        width: width of the picture. Units: px.
        root: if it is a node, only what was pruned at or below it counts.
    """
    by_reason: dict[tuple[str, str], dict[str, list[RegionPruned]]] = {}
    for region in pruned_below(tree, root):
        reason = region.reason
        operator = f"{region.operator.partition('(')[0]} at {region.level} level"
        by_reason.setdefault((reason.code, reason.soundness), {}).setdefault(operator, []).append(region)
    if not by_reason:
        return empty_scene("search", "nothing has been pruned yet", width)
    totals = {key: sum(map(len, operators.values())) for key, operators in by_reason.items()}
    most, total = max(totals.values()), sum(totals.values())
    drawing = OutlineDrawing(width, STEP_PX)
    for key in sorted(by_reason, key=lambda k: (-totals[k], k)):
        _add_reason(drawing, by_reason[key], view, most, total, len(by_reason) <= MAX_OPEN_REASONS)
    desc = "; ".join(f"{code} [{soundness}]: {n:,} subtrees" for (code, soundness), n in totals.items())
    return Scene("search", "pruned subtrees by reason", desc, width, drawing.rows * ROW_PX + 4, drawing.drawn)


def pruned_below(tree: SearchTree, root: str = "") -> Iterator[RegionPruned]:
    """The pruned regions at a node and below it; all of them without a known node."""
    nodes = tree.nodes
    for name in nodes_below(tree, root) if root in nodes else nodes:
        yield from nodes[name].pruned


def nodes_below(tree: SearchTree, root: str) -> Iterator[str]:
    """Ids of a node and of all nodes below it."""
    nodes, stack = tree.nodes, [root]
    while stack:
        name = stack.pop()
        yield name
        stack += nodes[name].children


def _add_reason(
    drawing: OutlineDrawing,
    operators: dict[str, list[RegionPruned]],
    view: MapView,
    most: int,
    total: int,
    default: bool,
) -> None:
    """Draw a reason, and below it its operators."""
    ordered = sorted(operators.items(), key=lambda row: (-len(row[1]), row[0]))
    reason = ordered[0][1][0].reason
    ident, count = f"{reason.code}/{reason.soundness}", sum(len(r) for _, r in ordered)
    is_open = view.is_open(ident, default)
    letter, kind = letter_of(reason.code, reason.soundness), PRUNED_KINDS[reason.soundness]
    note = f"{count:,} · {count / total:.0%} · {reason.soundness}"
    tip = f"{reason.code} [{reason.soundness}]: {reason.sentence}\n{count:,} subtrees"
    text = f"{letter} {reason.code}"
    drawing.add(OutlineRow(ident, reason.code, 0, kind, "square", text, note, tip, "", is_open, count / most, count))
    if not is_open:
        return
    for operator, regions in ordered[:MAX_OPERATORS]:
        _add_operator(drawing, ident, operator, regions, view, most)
    if len(ordered) > MAX_OPERATORS:
        rest = sum(len(r) for _, r in ordered[MAX_OPERATORS:])
        text = f"{len(ordered) - MAX_OPERATORS:,} more operators"
        drawing.add(OutlineRow(f"{ident}+", "", 1, "aggregate", "square", text, f"{rest:,} subtrees", count=rest))


def _add_operator(
    drawing: OutlineDrawing, reason: str, operator: str, regions: list[RegionPruned], view: MapView, most: int
) -> None:
    """Draw an operator, and below it the nodes whose extension by it was pruned."""
    ident, first = f"{reason}/{operator}", regions[0]
    is_open = view.is_open(ident, False)
    kind = PRUNED_KINDS[first.reason.soundness]
    count = len(regions)
    tip = f"{count:,} subtrees, for example {first.region}: {first.operator}\n{first.reason.sentence}"
    note = f"{count:,}"
    drawing.add(
        OutlineRow(ident, first.region, 1, kind, "square", operator, note, tip, "", is_open, count / most, count)
    )
    if not is_open:
        return
    where = Counter(r.parent for r in regions).most_common()
    for node, number in where[:MAX_NODES]:
        text = "the start" if not node else f"under {node}"
        drawing.add(
            OutlineRow(f"{ident}/{node}", node, 2, "expanded", "circle", text, f"{number:,}", tip, count=number)
        )
    if len(where) > MAX_NODES:
        rest = sum(n for _, n in where[MAX_NODES:])
        text = f"{len(where) - MAX_NODES:,} more nodes"
        drawing.add(OutlineRow(f"{ident}+", "", 2, "aggregate", "square", text, f"{rest:,} subtrees", count=rest))
