"""The picture of the sGraph."""

from __future__ import annotations

from prism_explore.widgets.panels.context import Context, graph_of
from prism_explore.widgets.panels.sections import GraphSection, Link


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
    alternatives = (Link(family, f"{family}, unbound maps"), *(Link(c, c) for c in events.candidates_of(family)))
    if subject in events.families:
        caption = f"{subject}: maps are unbound"
    else:
        verdict = events.verdicts.get(subject)
        caption = f"{context.subject_text}: {verdict.verdict if verdict else 'no verdict yet'}"
    if ledger.best is not None and ledger.best.candidate == subject and not context.followed:
        caption += ", the best so far"
    scene = context.memo.graph_scene(graph, subject, collapsed)
    return GraphSection(subject, caption, alternatives, (not collapsed) if graph.customs else None, scene)
