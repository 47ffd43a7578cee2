"""The Sizes panel: a slider per symbolic size, and what depends on the sizes as closed forms.

Python records the cost functions once per graph (`tune.space.closed_forms`), and the browser evaluates them for any
position of the sliders, without a message. All of it is modelled, except trials in the roofline plot.
"""

from __future__ import annotations

from dataclasses import dataclass

from prism_explore.errors import PrismError
from prism_explore.ir.dims import Dim, dim
from prism_explore.targets import Target
from prism_explore.widgets.panels.context import Context, graph_of
from prism_explore.widgets.panels.sections import SizesSection


@dataclass(frozen=True, slots=True)
class SizeChoice:
    """Values of all symbols of a graph, and where they come from."""

    numbers: tuple[tuple[str, int], ...] = ()
    origin: str = ""


def size_choice(context: Context) -> SizeChoice:
    """The sizes with which the subject is shown."""
    return size_choice_of(context.subject, context)


def size_choice_of(subject: str, context: Context) -> SizeChoice:
    """The sizes of the fastest trial of a candidate, else the model's choice, else 1."""
    graph = graph_of(subject, context.events)
    if graph is None:
        return SizeChoice()
    shapes = {s: dict(context.search.shapes).get(s, 1) for s in graph.data_symbols}
    timed = [t for t in context.ledger.trials if t.candidate == subject and t.time_s is not None]
    if timed:
        best = min(timed, key=lambda t: t.time_s or 0.0)
        known = {**shapes, **dict(best.parameters)}
        if all(s in known for s in graph.parameters):
            numbers = tuple((s, known[s]) for s in (*graph.parameters, *graph.data_symbols))
            return SizeChoice(numbers, f"the sizes of {best.trial}, the fastest trial")
    numbers = {**dict.fromkeys(graph.parameters, 1), **shapes}
    machine = _machine(context)
    guess = None
    if machine is not None and graph.parameters:
        guess = context.memo.guess_sizes(
            context.search.program, graph, _further(subject, context), tuple(sorted(shapes.items())), machine
        )
    origin = "no sizes have been tuned: every block graph as one block"
    if guess is not None:
        numbers |= guess.numbers
        origin = "not tuned yet: the legal sizes with the least modelled time"
    elif not graph.parameters:
        origin = (
            "maps are open: no grid and no loop have been chosen" if graph.is_open else "it has no grid and no loop"
        )
    return SizeChoice(tuple(numbers.items()), origin)


def sizes_panel(context: Context) -> SizesSection:
    """The section of the graph that the sGraph panel shows."""
    subject = context.subject
    graph = graph_of(subject, context.events)
    if graph is None:
        empty = "no family is complete yet"
        if subject:
            empty = f"{context.missing_text or f'{subject} has no readable graph'}."
        return SizesSection("", empty, "", (), (), (), (), (), (), None, "")
    choice, machine = size_choice(context), _machine(context)
    static = context.memo.size_forms(graph, subject, _further(context.subject, context), machine)
    sliders = context.memo.size_sliders(
        context.search.program, graph, choice.numbers, _further(context.subject, context), machine, _ranges(context)
    )
    caption = f"{subject if subject in context.events.families else context.subject_text} on {context.search.target}"
    if machine is None:
        caption += ": the figures of this machine are not known here, so only shapes and regions are shown"
    elif context.search.machine is None:
        caption += ": modelled with the figures of this machine, not those of the one that searched"
    plot = None
    if machine is not None:
        timed = tuple(t for t in context.ledger.trials if t.candidate == subject and t.time_s is not None)
        plot = context.memo.roofline(
            graph, subject, _further(subject, context), machine, choice.numbers, sliders, timed
        )
    family = subject.split(".")[0]
    python = f"sess.families[{family!r}].figures({subject!r}, "
    return SizesSection(
        subject,
        caption,
        choice.origin,
        static.forms.rows,
        sliders,
        static.limits,
        static.figures,
        static.shapes,
        static.kernels,
        plot,
        python,
        context.view.sizes.values if context.view.sizes.subject in ("", subject) else (),
        context.view.sizes.requests,
    )


def _machine(context: Context) -> Target | None:
    """The machine whose figures the model uses."""
    return context.search.machine or context.search.stand_in


def _ranges(context: Context) -> tuple[tuple[str, int, int], ...]:
    """The ranges of the program's symbols."""
    started = context.ledger.started
    return started.ranges if started is not None else ()


def _further(subject: str, context: Context) -> tuple[Dim, ...]:
    """The conditions that the search stored for the candidate."""
    event = context.events.candidates.get(subject)
    try:
        return tuple(dim(c) for c in (event.conditions if event else ()))
    except PrismError:
        return ()
