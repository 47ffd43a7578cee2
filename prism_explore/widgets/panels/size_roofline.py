"""The roofline plot of the Sizes panel: the measured trials of a graph, on axes for all positions of the sliders."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite

from prism_explore.events.ledger import Trial
from prism_explore.ir.dims import Dim
from prism_explore.ir.graph import SGraph
from prism_explore.targets import Target
from prism_explore.tune.space.closed_forms import Forms, Recorded, evaluate
from prism_explore.tune.space.figures import Costs
from prism_explore.widgets.drawing.charts import BOTTOM_PX, LEFT_PX, TOP_PX
from prism_explore.widgets.panels.sections import RooflinePlot, Slider
from prism_explore.widgets.panels.size_forms import SizeForms
from prism_explore.widgets.views.roofline import RooflinePoint, roofline_chart, roofs_of
from prism_explore.widgets.views.tuning import parameters_text

PLOT_PX = (420.0, 250.0)
MAX_TRAIL = 200
"""Largest number of measured trials in the plot: the fastest ones."""


def roofline_plot(
    size_forms: Callable[[SGraph, str, tuple[Dim, ...], Target | None], SizeForms],
    graph: SGraph,
    subject: str,
    further: tuple[Dim, ...],
    machine: Target,
    numbers: tuple[tuple[str, int], ...],
    sliders: tuple[Slider, ...],
    trials: tuple[Trial, ...],
) -> RooflinePlot | None:
    """Draw the plot; None where the model has no finite figures.

    Args:
        size_forms: computes the closed forms of the graph.
        graph: of the subject.
        subject: id of the family or candidate.
        further: conditions that the search stored for it.
        machine: its roofs are drawn.
        numbers: values of all symbols.
        sliders: of the panel.
        trials: the measured trials of the subject.
    """
    static = size_forms(graph, subject, further, machine)
    forms, costs, chosen = static.forms, static.costs, dict(numbers)
    if costs is None:
        return None
    roofs = roofs_of(machine, graph.output_type.dtype)
    fastest = sorted(trials, key=lambda t: t.time_s or 0.0)[:MAX_TRAIL]
    trail = [p for t in fastest if (p := _trial_point(t, chosen, forms, costs)) is not None]
    ends = [chosen, *({**chosen, s.symbol: v} for s in sliders for v in {s.values[0], s.values[-1]})]
    reach = [p for sizes in ends if (p := _point("", sizes, None, forms, costs)) is not None]
    if not reach:
        return None
    chart = roofline_chart(roofs, trail, *PLOT_PX, "measured" if trail else "modelled", reach)
    scene = chart.scene("roofline", "roofline", f"{len(trail)} measured trials of {subject}; one modelled point.")
    return RooflinePlot(
        scene,
        costs.memory_bytes.index,
        costs.flops.index,
        None if costs.time_s is None else costs.time_s.index,
        (LEFT_PX, TOP_PX, chart.width - chart.right, chart.height - BOTTOM_PX),
        (chart.x_low, chart.x_high),
        (chart.y_low, chart.y_high),
        roofs.flops_per_s,
        roofs.bytes_per_s,
    )


def _trial_point(trial: Trial, chosen: Mapping[str, int], forms: Forms, costs: Costs[Recorded]) -> RooflinePoint | None:
    tip = f"{trial.trial}: {parameters_text(trial.parameters)}"
    return _point(trial.trial, {**chosen, **dict(trial.parameters)}, trial.time_s, forms, costs, tip)


def _point(
    ident: str,
    sizes: Mapping[str, int],
    time_s: float | None,
    forms: Forms,
    costs: Costs[Recorded],
    tip: str = "",
) -> RooflinePoint | None:
    """A point at measured time, or at the modelled one; None where the model has no finite figures."""
    try:
        values = evaluate(forms.rows, sizes)
    except (KeyError, ZeroDivisionError, OverflowError):
        return None
    moved, flops = values[costs.memory_bytes.index], values[costs.flops.index]
    seconds = time_s if time_s is not None else values[costs.time_s.index] if costs.time_s is not None else None
    if not (moved > 0 and flops > 0 and isfinite(moved) and isfinite(flops)):
        return None
    return RooflinePoint(ident, flops / moved, flops / seconds if seconds else None, ident, "", tip)
