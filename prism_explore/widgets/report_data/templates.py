"""Texts of the many nodes and regions of a search, as the explorer writes them, with placeholders for what differs.

A search has up to a million pruned regions and few reasons. The panels are asked once per reason and shape of text,
about a made-up node or region whose ids, operators and counts are placeholders. The browser replaces them, so it has
no wording of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from prism_explore.events.journal import Entry
from prism_explore.events.kinds import Event, FamilyCompleted, NodeExpanded, RegionPruned
from prism_explore.widgets.panels.context import Context, Folds
from prism_explore.widgets.panels.event_text import log_line
from prism_explore.widgets.panels.pruned import node_inspector, region_inspector
from prism_explore.widgets.panels.transport import past_notice
from prism_explore.widgets.report_data.columns import reason_key
from prism_explore.widgets.report_data.pool import Pool
from prism_explore.widgets.views.search_tree import TreeNode

REF, PARENT, OPERATOR, HISTORY = "\ue001", "\ue002", "\ue003", "\ue004"
EXPRESSION, FAMILY, LEVEL = "\ue005", "\ue006", "\ue007"
STOOD_FOR, CHILDREN, PRUNED = 987_654_321_098_765, 971_234_567, 983_456_789
"""Numbers that no text has by chance."""
PLACEHOLDERS: Mapping[str, str] = {
    "ref": REF,
    "parent": PARENT,
    "operator": OPERATOR,
    "history": f"  {HISTORY}",
    "expression": EXPRESSION,
    "family": FAMILY,
    "level": LEVEL,
}
NUMBERS: Mapping[str, int] = {"stood_for": STOOD_FOR, "children": CHILDREN, "pruned": PRUNED}
_NUMBER_OF_CHILDREN_AND_PRUNED: Any = (range(CHILDREN), range(PRUNED))


def node_templates(context: Context) -> dict[str, Any]:
    """The inspectors of nodes, by what a node has: p a parent, f a family, e an expression; and a line of the log."""
    out: dict[str, Any] = {}
    for key in ("", "p", "f", "e", "pf", "pe", "fe", "pfe"):
        parent, expression = PARENT if "p" in key else "", EXPRESSION if "e" in key else ""
        node: Any = NodeExpanded(REF, parent, OPERATOR, "kernel", expression)
        folds = Folds((Entry(0, 0.0, _history_node()), Entry(1, 0.0, replace(node, level=LEVEL))))
        if "f" in key:
            folds.add(Entry(2, 0.0, FamilyCompleted(FAMILY, REF, "")))
        # Only the lengths are read.
        below: Any = TreeNode(REF, parent, OPERATOR, expression, "kernel", *_NUMBER_OF_CHILDREN_AND_PRUNED)
        tree: Any = SimpleNamespace(nodes={REF: below})
        out[key] = node_inspector(REF, replace(context, events=folds.events, tree=tree))
    return {"inspectors": out, "log": list(log_line(NodeExpanded(REF, PARENT, OPERATOR, "kernel", "")))}


def past_template(total: int) -> str:
    """The sentences above the panels of an earlier state, with placeholders for its count and its last event."""
    return past_notice(CHILDREN, total, OPERATOR)


def region_templates(events: Iterable[Event], context: Context, pool: Pool) -> dict[str, Any]:
    """The inspectors and lines of the log of regions: one per group of regions that differ in ids and numbers only.

    Returns:
        Per region, in order, the number of its template; and the templates.
    """
    numbers: dict[tuple[object, ...], int] = {}
    of_region: list[int] = []
    templates: list[int] = []
    for event in events:
        if not isinstance(event, RegionPruned):
            continue
        key = (event.stood_for == 1, event.counted, bool(event.parent), *reason_key(event.reason))
        number = numbers.get(key)
        if number is None:
            number = numbers[key] = len(templates)
            templates.append(pool.add(_region_template(event, context)))
        of_region.append(number)
    return {"of": of_region, "templates": templates}


def _region_template(region: RegionPruned, context: Context) -> dict[str, Any]:
    made_up: Any = replace(
        region,
        region=REF,
        parent=PARENT if region.parent else "",
        operator=OPERATOR,
        stood_for=1.0 if region.stood_for == 1 else float(STOOD_FOR),
    )
    shown = replace(made_up, level=LEVEL)
    folds = Folds((Entry(0, 0.0, _history_node()), Entry(1, 0.0, shown)))
    return {"inspector": region_inspector(REF, replace(context, events=folds.events)), "log": list(log_line(shown))}


def _history_node() -> NodeExpanded:
    """A node whose history is one line with a placeholder."""
    return NodeExpanded(PARENT, "", HISTORY, "kernel")
