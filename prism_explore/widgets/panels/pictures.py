"""The two large pictures: the search map with the pruning reasons, and the sGraph."""

from __future__ import annotations

from prism_explore.widgets.panels.context import Context, graph_of
from prism_explore.widgets.panels.sections import GraphSection, Link, MapSection
from prism_explore.widgets.views.pruning_reasons import reasons_scene
from prism_explore.widgets.views.search_map import search_scene


def map_panel(context: Context) -> MapSection:
    """The section of the search map."""
    ledger, view = context.ledger, context.view
    n = ledger.funnel
    zoom = f", zoomed into {view.root}" if view.root in context.tree.nodes else ""
    summary = f"{n.expanded:,} expanded, {n.pruned:,} {'region' if n.pruned == 1 else 'regions'} pruned{zoom}"
    scene = search_scene(context.tree, ledger, float(view.map_px), view.root)
    return MapSection(summary, scene, reasons_scene(ledger, float(view.map_px)))


def graph_panel(context: Context) -> GraphSection:
    """The section of the sGraph: a family, a candidate, or the program while there is neither."""
    subject, events, ledger = context.subject, context.events, context.ledger
    if not subject:
        scene = context.memo.program_scene(context.search.program)
        return GraphSection("program", "the program; no family is complete yet", (), None, scene)
    graph = graph_of(subject, events)
    if graph is None:
        return GraphSection(subject, f"{context.missing_text or f'{subject} has no readable graph'}.", (), None, None)
    collapsed = context.view.collapsed
    candidate = events.candidates.get(subject)
    family = candidate.family if candidate is not None else subject
    alternatives = (Link(family, f"{family}, open maps"), *(Link(c, c) for c in events.candidates_of(family)))
    if subject in events.families:
        caption = f"{subject}: maps are open"
    else:
        verdict = events.verdicts.get(subject)
        caption = f"{context.subject_text}: {verdict.verdict if verdict else 'no verdict yet'}"
    if ledger.best is not None and ledger.best.candidate == subject and not context.followed:
        caption += ", the best so far"
    scene = context.memo.graph_scene(graph, subject, collapsed)
    return GraphSection(subject, caption, alternatives, (not collapsed) if graph.customs else None, scene)
