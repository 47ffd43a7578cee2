"""The tuning chart: measured trials, the best time so far, the baselines, and the roofline bound.

Time runs upwards on a logarithmic axis. A point is a measured trial, with a line from its 20th to its 80th
percentile. A cross on the x axis is a trial without a timed kernel. Solid lines are times of the final race: those of
the baselines, and that of the best kernel, which can differ from its time in tuning. Modelled times, such as the
roofline bound, are dashed and labelled as modelled.
"""

from __future__ import annotations

from prism_explore.events.fastest import OURS, FasterBaseline
from prism_explore.events.format import seconds_text
from prism_explore.events.kinds import BaselineMeasured
from prism_explore.events.ledger import Ledger, Trial
from prism_explore.widgets.drawing.charts import Chart, Series, empty_scene, log_steps
from prism_explore.widgets.drawing.text_metrics import shorten, width_px
from prism_explore.widgets.scene import Point, Scene

MAX_LABELS_SHARE = 0.4
"""Largest share of the width for labels with ratios, so that the points keep some room."""


def tuning_scene(book: Ledger, width: float = 960.0, height: float = 340.0) -> Scene:
    """Draw the trials in the order in which they ended.

    Args:
        book: the ledger of the search.
        width: width of the picture. Units: px.
        height: height of the picture. Units: px.
    """
    ended = [t for t in book.trials if t.time_s is not None or t.failure is not None]
    if not ended:
        return empty_scene("tuning", "no trial has ended yet", width)
    baselines = [(_baseline_text(b), b.time_s) for b in book.final_race if b.time_s > 0]
    bound = min((t.floor_s for t in book.trials if t.floor_s), default=None)
    labels = [text for text, _ in baselines] + ([f"roofline {seconds_text(bound)} (modelled)"] if bound else [])
    right = _labels_px(labels)
    if narrow := right > MAX_LABELS_SHARE * width:
        right = _labels_px([_without_ratio(s) for s in labels])
    chart = Chart(width, height, "trial", "time", right, log_y=True)
    shown = [t.trial_time for t in ended if t.trial_time is not None and t.trial_time.time_s > 0]
    times = [t.time_s for t in shown]
    spreads = [s for t in shown for s in (t.p20_s, t.p80_s) if s > 0]
    levels = [*times, *spreads, *(s for _, s in baselines), *([bound] if bound else [])]
    chart.x_range(0.5, len(ended) + 0.5)
    low, high = min(levels, default=1e-6), max(levels, default=1e-3)
    chart.y_range(low / 1.15, high * 1.15)
    chart.axes({v: seconds_text(v) for v in log_steps(chart.y_low, chart.y_high, chart.max_steps)})
    _curve(chart, ended)
    for number, (text, seconds) in enumerate(baselines):
        chart.level(
            f"baseline{number}",
            "baseline",
            seconds,
            shorten(_without_ratio(text) if narrow else text, 48),
            f"{text}, measured in the final race, alternately with the best kernel",
        )
    if bound:
        text = f"roofline {seconds_text(bound)} (modelled)"
        chart.level("bound", "modelled", bound, text, f"{text}: a lower bound from the cost model, not a measurement")
    best = book.best
    for number, trial in enumerate(ended, 1):
        _point(chart, number, trial, best is not None and trial.trial == best.trial)
    return chart.scene("tuning", "tuning", describe(ended, best, bound, baselines, book.faster_baseline))


def _labels_px(labels: list[str]) -> float:
    """Width of the labels of the levels, with a margin."""
    return max((width_px(shorten(s, 48), "small") for s in labels), default=10.0) + 12


def _without_ratio(label: str) -> str:
    """A label of a level without its ratio, which the tooltip has."""
    return label.partition(", ")[0]


def _baseline_text(baseline: BaselineMeasured) -> str:
    if baseline.name == OURS:
        return f"race: best kernel {seconds_text(baseline.time_s)}"
    ratio = f", {baseline.ratio:.2f} × the best" if baseline.ratio > 0 else ""
    return f"race: {shorten(baseline.name, 20)} {seconds_text(baseline.time_s)}{ratio}"


def _curve(chart: Chart, ended: list[Trial]) -> None:
    """Draw the best time so far as a step line, and its spread as a band."""
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
    head = f"{trial.trial} of {trial.candidate}: {parameters_text(trial.parameters)}"
    if trial.modelled_s is not None:
        head += f"\nestimate {seconds_text(trial.modelled_s)}, modelled"
    time, raced = trial.trial_time, trial.kernel_time
    if time is None or raced is None or time.time_s <= 0:
        why = f"{trial.failure.code}: {trial.failure.sentence}" if trial.failure else "not timed"
        chart.mark(trial.trial, "trial-failed", "cross", number, None, trial.trial, f"{head}\n{why}")
        return
    if time.p80_s > time.p20_s > 0:
        chart.whisker(f"{trial.trial}#spread", number, time.p20_s, time.p80_s)
    error = f", relative error {trial.error:.1e}" if trial.error is not None else ""
    tip = f"{head}\n{time}, measured, {time.samples} samples{error}"
    tip += f"\n{raced}, measured" if raced.source == "race" else ""
    tip += f"\n{raced.warning}" if raced.warning else ""
    if is_best:
        chart.mark(trial.trial, "trial-best", "star", number, time.time_s, trial.trial, f"{tip}\nthe best", 18)
    else:
        chart.mark(trial.trial, "trial", "circle", number, time.time_s, trial.trial, tip)


def describe(
    ended: list[Trial],
    best: Trial | None,
    bound: float | None,
    baselines: list[tuple[str, float]],
    outrun: FasterBaseline | None,
) -> str:
    """The chart in sentences, as the text alternative of the picture."""
    failed = sum(t.failure is not None for t in ended)
    sentences = [f"{len(ended)} trials ended, {failed} without a timed kernel."]
    if best is not None and (time := best.kernel_time) is not None and time.time_s > 0:
        sentences.append(f"Best: {best.trial} of {best.candidate}, {time}.")
        if bound:
            sentences.append(f"The lowest modelled bound is {seconds_text(bound)}, {bound / time.time_s:.0%} of that.")
    sentences += [f"Baseline: {text}." for text, _ in baselines]
    sentences += [f"Torch was faster: {outrun}; best() runs it."] if outrun is not None else []
    return " ".join(sentences)


def parameters_text(parameters: tuple[tuple[str, int], ...]) -> str:
    """The parameter values of a trial, such as `gx=64, f=8`."""
    return ", ".join(f"{k}={v}" for k, v in parameters) or "no parameters"
