"""The sGraph panel: the graph of a family or candidate, kernels expanded, collapsed or entered; or the program."""

from __future__ import annotations

from prism_explore.ir.graph import SGraph
from prism_explore.ir.ops import Custom
from prism_explore.widgets.panels.context import Context, graph_of
from prism_explore.widgets.panels.sections import Crumb, GraphSection, KernelChoice, Link
from prism_explore.widgets.panels.sizes import size_choice
from prism_explore.widgets.refs import member_ref, tensor_name
from prism_explore.widgets.views.graph import GraphView

MAX_EXPANDED_OPERATORS = 60
"""Kernels of a larger graph are collapsed until the user expands them."""
MAX_ALTERNATIVES = 24
"""Largest number of candidates that are listed; the table of families leads to the others."""


def graph_panel(context: Context) -> GraphSection:
    """The section of the sGraph: a family, a candidate, or the program while there is neither."""
    subject, events = context.subject, context.events
    graph = graph_of(subject, events)
    if subject and graph is None:
        missing = f"{context.missing_text or f'{subject} has no readable graph'}."
        return GraphSection(subject, missing, (), (), "", (), None)
    if graph is None or context.view.graph.program:
        trail = (Crumb(f"program {context.search.program.name}"), *((Crumb(subject, "graph"),) if graph else ()))
        scene = context.memo.program_scene(context.search.program)
        caption = "the program" if graph else "the program; no family is complete yet"
        return GraphSection("program", caption, (), (), "", trail, scene)
    kernels = _kernels(graph, context)
    entered = _entered(graph, context)
    collapsed = frozenset(k.position for k in kernels if not k.expanded)
    shown = GraphView(collapsed, entered, context.view.interactive, size_choice(context).numbers)
    scene = context.memo.graph_scene(graph, subject, shown)
    ref = "" if entered is None else member_ref(subject, tensor_name(entered))
    return GraphSection(
        subject, _caption(context), _alternatives(context), kernels, ref, _trail(context, entered), scene
    )


def _kernels(graph: SGraph, context: Context) -> tuple[KernelChoice, ...]:
    """The custom kernels, and whether each is expanded."""
    chosen = dict(context.view.graph.expanded)
    operators = len(graph.nodes) + sum(len(b.nodes) for _, b in graph.customs)
    small = operators <= MAX_EXPANDED_OPERATORS or len(graph.customs) == 1
    default = small and not context.view.graph.collapse
    refs = ((i, member_ref(context.subject, tensor_name(i)), b) for i, b in graph.customs)
    return tuple(
        KernelChoice(ref, i, f"kernel %{i}, {len(b.nodes)} operators", chosen.get(ref, default)) for i, ref, b in refs
    )


def _entered(graph: SGraph, context: Context) -> int | None:
    """Position of the kernel that is shown alone."""
    for i, node in enumerate(graph.nodes):
        if isinstance(node.op, Custom) and context.view.graph.entered == member_ref(context.subject, tensor_name(i)):
            return i
    return None


def _caption(context: Context) -> str:
    subject, events = context.subject, context.events
    if subject in events.families:
        caption = f"{subject}: maps are unbound"
    else:
        verdict = events.verdicts.get(subject)
        caption = f"{context.subject_text}: {verdict.verdict if verdict else 'no verdict yet'}"
    best = context.ledger.best
    is_best = best is not None and best.candidate == subject and not context.followed
    so_far = "" if context.ledger.finished is not None else " so far"
    return f"{caption}, the best{so_far}" if is_best else caption


def _alternatives(context: Context) -> tuple[Link, ...]:
    """The family and its candidates; of many candidates, the first ones and the subject."""
    subject, events = context.subject, context.events
    candidate = events.candidates.get(subject)
    family = candidate.family if candidate is not None else subject
    candidates = events.candidates_of(family)
    listed = dict.fromkeys((*candidates[:MAX_ALTERNATIVES], *((subject,) if subject != family else ())))
    more = len(candidates) - len(listed)
    named = (Link(family, f"{family}, unbound maps"), *(Link(c, c) for c in listed))
    return named if more <= 0 else (*named, Link(family, f"{more:,} more"))


def _trail(context: Context, entered: int | None) -> tuple[Crumb, ...]:
    """The way from the program to what is shown; all but the last can be chosen."""
    subject = context.subject
    shown = (Crumb(f"program {context.search.program.name}", "program"), Crumb(subject, "graph"))
    return shown if entered is None else (*shown, Crumb(f"kernel %{entered}"))
