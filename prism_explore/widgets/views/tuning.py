"""Tuning: every trial, the best so far, and how far from the machine's limit.

Time runs upwards on a logarithmic axis. A point is a measured trial with its spread from the 20th to
the 80th percentile; a cross on the x axis is a trial that gave no timed kernel. Rivals are whole lines;
what was only modelled, such as the roofline bound, is dashed and says so.
"""

from __future__ import annotations

from collections.abc import Iterable

from prism_explore.events.fastest import Outrun
from prism_explore.events.format import seconds_text
from prism_explore.events.kinds import BaselineMeasured, Event
from prism_explore.events.ledger import Ledger, Trial, ledger
from prism_explore.widgets.drawing.charts import Chart, Series, empty, log_steps
from prism_explore.widgets.drawing.text_metrics import shorten, width_px
from prism_explore.widgets.panels.facts import numbers_text
from prism_explore.widgets.scene import Point, Scene


def tuning_scene(
    events: Iterable[Event] | Ledger, width: float = 960.0, height: float = 340.0, family: str = ""
) -> Scene:
    """Trials in the order in which they ended.

    Args:
        events: the facts, or what they add up to.
        width: of the picture. Units: px.
        height: likewise.
        family: draw the trials of this family or candidate only; all of them when empty.
    """
    book = events if isinstance(events, Ledger) else ledger(events)
    trials = [t for t in book.trials if not family or family in (t.family, t.candidate)]
    ended = [t for t in trials if t.time_s is not None or t.failure is not None]
    if not ended:
        return empty("tuning", "no trial has ended yet", width)
    rivals = [(_rival(b), b.time_s) for b in book.baselines if b.time_s > 0]
    floor = min((t.floor_s for t in trials if t.floor_s), default=None)
    labels = [text for text, _ in rivals] + ([f"modelled floor {seconds_text(floor)}"] if floor else [])
    right = max((width_px(shorten(s, 48), "small") for s in labels), default=10.0) + 12
    chart = Chart(width, height, "trial", "time", right, log_y=True)
    times = [t.time_s for t in ended if t.time_s is not None and t.time_s > 0]
    spreads = [s for t in ended if t.time_s for s in (t.p20_s, t.p80_s) if s is not None and s > 0]
    levels = [*times, *spreads, *(s for _, s in rivals), *([floor] if floor else [])]
    chart.x_range(0.5, len(ended) + 0.5)
    low, high = min(levels, default=1e-6), max(levels, default=1e-3)
    chart.y_range(low / 1.15, high * 1.15)
    chart.axes({v: seconds_text(v) for v in log_steps(chart.y_low, chart.y_high, chart.most_steps)})
    _curve(chart, ended)
    for number, (text, seconds) in enumerate(rivals):
        chart.level(f"rival{number}", "baseline", seconds, shorten(text, 48), f"{text}, measured side by side")
    if floor:
        text = f"modelled floor {seconds_text(floor)}"
        chart.level("floor", "modelled", floor, text, f"{text}: the roofline bound, not a measurement")
    best = book.best
    for number, trial in enumerate(ended, 1):
        _point(chart, number, trial, best is not None and trial.trial == best.trial)
    return chart.scene("tuning", f"tuning {family}".strip(), describe(ended, best, floor, rivals, book.outrun))


def _rival(baseline: BaselineMeasured) -> str:
    ratio = f", {baseline.ratio:.2f} × the best" if baseline.ratio > 0 else ""
    return f"{shorten(baseline.name, 20)} {seconds_text(baseline.time_s)}{ratio}"


def _curve(chart: Chart, ended: list[Trial]) -> None:
    """The best so far as steps, in the band of its spread."""
    line: list[Point] = []
    low: list[Point] = []
    high: list[Point] = []
    best: Trial | None = None
    for number, trial in enumerate(ended, 1):
        if best is not None and best.time_s:
            _extend(line, low, high, best, number)
        if trial.time_s and (best is None or best.time_s is None or trial.time_s < best.time_s):
            best = trial
        if best is not None and best.time_s:
            _extend(line, low, high, best, number)
    if len(line) > 1:
        chart.band("spread", tuple(low), tuple(high), "p20 to p80 of the best so far")
    chart.line(Series("best so far, p20 to p80", "curve", tuple(line)))


def _extend(line: list[Point], low: list[Point], high: list[Point], best: Trial, number: int) -> None:
    t = best.time_s or 0.0
    line.append((number, t))
    low.append((number, best.p20_s or t))
    high.append((number, best.p80_s or t))


def _point(chart: Chart, number: int, trial: Trial, is_best: bool) -> None:
    head = f"{trial.trial} of {trial.candidate}: {numbers_text(trial.parameters)}"
    if trial.modelled_s is not None:
        head += f"\nlikely {seconds_text(trial.modelled_s)}, modelled"
    if trial.time_s is None or trial.time_s <= 0:
        why = f"{trial.failure.code}: {trial.failure.sentence}" if trial.failure else "no time"
        chart.mark(trial.trial, "trial-failed", "cross", number, None, trial.trial, f"{head}\n{why}")
        return
    p20, p80 = trial.p20_s or trial.time_s, trial.p80_s or trial.time_s
    if p80 > p20 > 0:
        chart.whisker(f"{trial.trial}#spread", number, p20, p80)
    error = f", relative error {trial.error:.1e}" if trial.error is not None else ""
    waited = f"\nwaited for a core for {trial.waited:.0%} of the time" if trial.waited >= 0.05 else ""
    tip = (
        f"{head}\nmeasured {seconds_text(trial.time_s)} ({seconds_text(p20)} to {seconds_text(p80)}, "
        f"{trial.samples} samples){error}{waited}"
    )
    if is_best:
        chart.mark(trial.trial, "trial-best", "star", number, trial.time_s, trial.trial, f"{tip}\nthe best so far", 18)
    else:
        chart.mark(trial.trial, "trial", "circle", number, trial.time_s, trial.trial, tip)


def describe(
    ended: list[Trial],
    best: Trial | None,
    floor: float | None,
    rivals: list[tuple[str, float]],
    outrun: Outrun | None,
) -> str:
    """The picture in sentences."""
    failed = sum(t.failure is not None for t in ended)
    says = [f"{len(ended)} trials ended, {failed} without a timed kernel."]
    if best is not None and best.time_s:
        says.append(f"Best: {best.trial} of {best.candidate} at {seconds_text(best.time_s)}.")
        if floor:
            says.append(f"The lowest modelled bound is {seconds_text(floor)}, {floor / best.time_s:.0%} of that.")
    says += [f"Rival: {text}." for text, _ in rivals]
    says += [f"Torch was faster: {outrun}; best runs it."] if outrun is not None else []
    return " ".join(says)
