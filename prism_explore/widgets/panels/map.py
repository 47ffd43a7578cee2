"""The search map in the mode that the user has chosen, and the bar chart of pruning reasons."""

from __future__ import annotations

from collections.abc import Collection

from prism_explore.widgets.panels.context import Context
from prism_explore.widgets.panels.sections import Choice, MapSection, TimeBrush
from prism_explore.widgets.scene import Scene
from prism_explore.widgets.views.map_view import MODES
from prism_explore.widgets.views.pruning_reasons import reasons_scene
from prism_explore.widgets.views.reasons_map import nodes_below, pruned_below, reasons_map_scene
from prism_explore.widgets.views.search_map import search_scene
from prism_explore.widgets.views.search_tree import SearchTree
from prism_explore.widgets.views.search_tree_map import tree_scene
from prism_explore.widgets.views.similar import Patterns, mark_occurrences, similar_scene
from prism_explore.widgets.views.time_map import time_axis, time_scene

_MODES = tuple(Choice(name, label, tip) for name, (label, tip) in MODES.items())


def map_panel(context: Context) -> MapSection:
    """The section of the search map."""
    ledger, view, chosen = context.ledger, context.view, context.view.map
    n = ledger.funnel
    root = view.root if view.root in context.tree.nodes else ""
    zoom = f", zoomed into {root}" if root else ""
    summary = f"{n.expanded:,} expanded, {n.pruned:,} {'subtree' if n.pruned == 1 else 'subtrees'} pruned{zoom}"
    patterns = None
    if chosen.mode == "similar" or (chosen.similar and view.selection):
        patterns = context.memo.patterns(context.tree, root)
    scene, brush = _scene(context, root, patterns)
    if patterns is not None and chosen.similar and (same := patterns.similar_to(view.selection)):
        scene, shown = mark_occurrences(scene, same) if chosen.mode != "similar" else (scene, len(same))
        summary += f"; {len(same):,} with the shape of {view.selection}"
        summary += "" if chosen.mode == "similar" else f", {shown:,} of them in view"
    reasons = reasons_scene(ledger, float(view.map_px))
    return MapSection(summary, _MODES, chosen.mode, chosen.similar, brush, scene, reasons)


def _scene(context: Context, root: str, patterns: Patterns | None) -> tuple[Scene, TimeBrush | None]:
    """The picture of the chosen mode, and the x axis of the mode over time."""
    ledger, view, tree = context.ledger, context.view, context.tree
    width = float(view.map_px)
    match view.map.mode:
        case "icicle":
            return search_scene(tree, ledger, width, root, view.map), None
        case "tree":
            return tree_scene(tree, ledger, view.map, width, root), None
        case "reasons":
            return reasons_map_scene(tree, view.map, width, root), None
        case "similar":
            assert patterns is not None
            return similar_scene(patterns, view.selection, width), None
        case "time":
            axis = time_axis(max(context.search.count, context.lanes.count), view.map.interval, width)
            within = _ids_below(tree, root) if root else None
            text = f"events {axis.first:,} … {axis.end - 1:,}" if view.map.interval else ""
            brush = TimeBrush(axis.left, axis.right, axis.first, axis.end, text)
            return time_scene(context.lanes, axis, width, within), brush


def _ids_below(tree: SearchTree, root: str) -> Collection[str]:
    """Ids of the nodes, regions and families at a node and below it."""
    below = tuple(nodes_below(tree, root))
    families = (f for name in below for f in tree.nodes[name].families)
    return {*below, *(r.region for r in pruned_below(tree, root)), *families}
