"""Equality saturation: the number of nodes, classes and matches of each e-graph after each iteration."""

from __future__ import annotations

from collections.abc import Iterable

from prism_explore.events.kinds import Event, SaturationStepped
from prism_explore.widgets.drawing.charts import Chart, Series, empty_scene
from prism_explore.widgets.drawing.text_metrics import shorten, width_px
from prism_explore.widgets.scene import Item, Scene, Shape, Text

BAR_PX = 24.0
MAX_RUNS = 60


def saturation_scene(events: Iterable[Event], width: float = 640.0) -> Scene:
    """Draw the saturation runs: one row per run; a single run as a chart.

    Args:
        events: the events of a search; only its saturation steps are read.
        width: width of the picture. Units: px.
    """
    runs: dict[str, list[SaturationStepped]] = {}
    for event in events:
        if isinstance(event, SaturationStepped):
            if event.iteration <= 1:
                runs[event.subject] = []
            runs.setdefault(event.subject, []).append(event)
    match list(runs.values()):
        case []:
            return empty_scene("saturation", "no e-graph has been run yet", width)
        case [run]:
            return _run_chart(run, width)
        case several:
            return _run_rows(several, width)


def _run_chart(run: list[SaturationStepped], width: float) -> Scene:
    """Nodes, classes and matches of one run per iteration."""
    chart = Chart(width, 240.0, "iteration", "count")
    chart.x_range(run[0].iteration, run[-1].iteration)
    series = (
        Series("e-nodes", "curve", tuple((s.iteration, s.nodes) for s in run)),
        Series("e-classes", "curve-2", tuple((s.iteration, s.classes) for s in run)),
        Series("matches", "curve-3", tuple((s.iteration, _matches(s)) for s in run)),
    )
    chart.y_range(0, max(y for s in series for _, y in s.points))
    chart.axes()
    for one in series:
        chart.line(one)
    for step in run:
        chart.mark(f"step{step.iteration}", "trial", "circle", step.iteration, step.nodes, tip=_step_text(step), size=7)
    subject = run[0].subject
    return chart.scene("saturation", f"saturation of {subject}", f"{subject}: {_run_text(run)}.")


def _run_rows(runs: list[list[SaturationStepped]], width: float) -> Scene:
    """A bar per run, as long as its last e-graph has nodes, with a dot per iteration."""
    shown = runs[:MAX_RUNS]
    omitted = f"{len(shown)} of {len(runs):,} runs are drawn." if len(shown) < len(runs) else ""
    left = max(width_px(shorten(r[0].subject, 28), "mono") for r in shown) + 12
    right = max(width_px(_run_text(r), "small") for r in shown) + 16
    most = max(s.nodes for r in shown for s in r) or 1
    room = max(width - left - right, 60.0)
    items: list[Item] = []
    for number, run in enumerate(shown):
        y = number * BAR_PX
        subject = run[0].subject
        w = room * run[-1].nodes / most
        texts = (
            Text(0, y + 16, shorten(subject, 28), "mono", "start"),
            Text(left + w + 10, y + 16, _run_text(run), "small", "start"),
        )
        tip = "\n".join(_step_text(s) for s in run)
        items.append(Shape(f"{subject}#label", "text", "plain", 0, y, width, BAR_PX, "none", texts, subject, tip))
        items.append(Shape(subject, "block", "bar", left, y + 5, w, BAR_PX - 10, ref=subject, tip=tip))
        for step in run:
            x = left + room * step.nodes / most
            dot = f"{subject}#{step.iteration}"
            tip = _step_text(step)
            items.append(Shape(dot, "mark", "trial", x - 3.5, y + 8.5, 7, 7, "circle", ref=subject, tip=tip))
    height = len(shown) * BAR_PX
    if omitted:
        text = (Text(0, height + 14, omitted, "muted", "start"),)
        items.append(Shape("omitted", "text", "plain", 0, height, width, 20, "none", text))
        height += 20
    desc = "; ".join(f"{r[0].subject}: {_run_text(r)}" for r in shown)
    full_width = left + room + right
    title = "saturation, run by run"
    return Scene("saturation", title, f"{desc}. {omitted}".strip(), full_width, height, tuple(items), omitted)


def _matches(step: SaturationStepped) -> int:
    return sum(step.matches.values())


def _step_text(step: SaturationStepped) -> str:
    most_matches = sorted(step.matches.items(), key=lambda m: (-m[1], m[0]))[:6]
    rules = "".join(f"\n  {n:,} × {rule}" for rule, n in most_matches)
    return f"iteration {step.iteration}: {step.nodes:,} nodes in {step.classes:,} classes{rules}"


def _run_text(run: list[SaturationStepped]) -> str:
    n, last = len(run), run[-1]
    return (
        f"{n} {'iteration' if n == 1 else 'iterations'}, {last.nodes:,} nodes, {last.classes:,} classes, "
        f"{sum(_matches(s) for s in run):,} matches"
    )
