"""Texts of the many nodes and regions of a search, as the explorer writes them, with placeholders for what differs.

A search has up to a million pruned regions and few reasons. The panels are asked once per reason and shape of text, about
a made-up node or region whose ids, operators and counts are placeholders. The browser replaces them, so it has no
wording of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from prism_explore.events.kinds import NodeExpanded, RegionPruned
from prism_explore.widgets.panels.context import Context
from prism_explore.widgets.panels.event_index import EventIndex
from prism_explore.widgets.panels.event_text import log_line
from prism_explore.widgets.panels.pruned import node_inspector, region_inspector

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


@dataclass(frozen=True, slots=True)
class RegionTexts:
    """How a region is written in the inspector and in the log."""

    inspector: Any
    log: tuple[str, str, str]


def node_templates(context: Context) -> dict[str, Any]:
    """The inspectors of nodes, by what a node has: p a parent, f a family, e an expression; and a line of the log."""
    out: dict[str, Any] = {}
    for key in ("", "p", "f", "e", "pf", "pe", "fe", "pfe"):
        parent, expression = PARENT if "p" in key else "", EXPRESSION if "e" in key else ""
        node: Any = NodeExpanded(REF, parent, OPERATOR, "kernel", expression)
        nodes = {REF: replace(node, level=LEVEL), PARENT: _history_node()}
        events = EventIndex(
            nodes=nodes,
            child_count={REF: CHILDREN},
            pruned_count={REF: PRUNED},
            family_at={REF: FAMILY} if "f" in key else {},
        )
        out[key] = node_inspector(REF, replace(context, events=events))
    return {"inspectors": out, "log": tuple(log_line(NodeExpanded(REF, PARENT, OPERATOR, "kernel", "")))}


def region_template(region: RegionPruned, context: Context) -> RegionTexts:
    """The texts of all regions with this reason, count of graphs being one or not, and parent being there or not."""
    made_up: Any = replace(
        region,
        region=REF,
        parent=PARENT if region.parent else "",
        operator=OPERATOR,
        stood_for=1.0 if region.stood_for == 1 else float(STOOD_FOR),
    )
    shown = replace(made_up, level=LEVEL)
    events = EventIndex(nodes={PARENT: _history_node()}, regions={REF: shown})
    return RegionTexts(region_inspector(REF, replace(context, events=events)), tuple(log_line(shown)))


def _history_node() -> NodeExpanded:
    """A node whose history is one line with a placeholder."""
    return NodeExpanded(PARENT, "", HISTORY, "kernel")
