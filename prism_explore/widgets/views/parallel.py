"""Parallel coordinates of the trials: one axis per parameter, then the measured time; one line per trial.

Input: the trials and the view. Output: the axes, for the brush in the browser, and a `Scene`. Values of a parameter are
ordered and equally spaced. A parameter with one value only has no axis; a sentence lists those. The time axis is
logarithmic, faster is lower. Trials without a time end at a cross above it. Trials outside the brush are faint and
dashed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from prism_explore.codegen.parameter_text import describe_parameter
from prism_explore.events.format import seconds_text
from prism_explore.events.ledger import Trial
from prism_explore.widgets.drawing.charts import empty_scene, log_steps
from prism_explore.widgets.drawing.text_metrics import shorten, width_px
from prism_explore.widgets.scene import Edge, Item, Point, Scene, Shape, Text
from prism_explore.widgets.views.tuning import parameters_text
from prism_explore.widgets.views.tuning_view import CANDIDATE, TIME, TuningView, axis_value

MAX_LINES = 300
"""Largest number of lines: the fastest trials first, then failed ones; a sentence counts the rest."""
TOP_PX, BOTTOM_PX = 44.0, 30.0
LEFT_PX, RIGHT_PX = 62.0, 30.0
VALUE_PX = 84.0
"""Room for a value beside its axis, such as 12.8 ms."""
MISSING_PX = 16.0
"""Distance below an axis of trials without a value on it."""
TICK_PX = 15.0
MARK_PX = 9.0


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis: its name, its x, and its values with their texts and heights, ascending."""

    name: str
    label: str
    x: float
    values: tuple[float, ...]
    texts: tuple[str, ...]
    ys: tuple[float, ...]
    low: int
    """Index of the least value in the brush."""
    high: int
    """Index of the largest value in the brush."""

    @property
    def is_brushed(self) -> bool:
        """Whether the brush leaves out a value."""
        return self.low > 0 or self.high < len(self.values) - 1

    def y(self, value: float) -> float:
        """The height of a value."""
        return self.ys[self.values.index(value)]


def parallel_axes(trials: Sequence[Trial], view: TuningView, width: float, height: float) -> tuple[Axis, ...]:
    """The axes of the trials: the candidate, every parameter with several values, the time."""
    candidates = candidates_of(trials)
    names = [CANDIDATE, *dict.fromkeys(name for t in trials for name, _ in t.parameters), TIME]
    columns: list[tuple[str, list[float]]] = []
    for name in names:
        found = {v for t in trials if (v := axis_value(t, name, candidates)) is not None}
        if len(found) > 1 or (name == TIME and found):
            columns.append((name, sorted(found)))
    brush = {name: (low, high) for name, low, high in view.brush}
    step = (width - LEFT_PX - RIGHT_PX) / max(1, len(columns) - 1)
    return tuple(
        _axis(name, values, candidates, LEFT_PX + step * n, height, brush.get(name))
        for n, (name, values) in enumerate(columns)
    )


def _axis(
    name: str,
    values: list[float],
    candidates: Sequence[str],
    x: float,
    height: float,
    brush: tuple[float, float] | None,
) -> Axis:
    top, bottom = TOP_PX, height - BOTTOM_PX - MISSING_PX
    if name == TIME:
        low_s, high_s = math.log(values[0]), math.log(max(values[-1], values[0] * 1.001))
        shares = [(math.log(v) - low_s) / (high_s - low_s) for v in values]
        texts = tuple(seconds_text(v) for v in values)
    else:
        shares = [n / max(1, len(values) - 1) for n in range(len(values))]
        texts = tuple(candidates[int(v)] if name == CANDIDATE else f"{v:,.0f}" for v in values)
    inside = [n for n, v in enumerate(values) if brush is None or brush[0] <= v <= brush[1]]
    low, high = (inside[0], inside[-1]) if inside else (0, len(values) - 1)
    return Axis(name, name, x, tuple(values), texts, tuple(bottom - s * (bottom - top) for s in shares), low, high)


def candidates_of(trials: Sequence[Trial]) -> tuple[str, ...]:
    """The candidates in the order of their first trials: the values of the candidate axis."""
    return tuple(dict.fromkeys(t.candidate for t in trials))


def parallel_scene(
    trials: Sequence[Trial], axes: Sequence[Axis], view: TuningView, best: str, width: float, height: float
) -> Scene:
    """Draw the axes and a line per trial.

    Args:
        trials: all trials.
        axes: from `parallel_axes`, for the same width and height.
        view: the brush.
        best: id of the best trial.
        width: width of the picture. Units: px.
        height: height of the picture. Units: px.
    """
    ended = [t for t in trials if t.time_s is not None or t.failure is not None]
    if not ended or not axes:
        return empty_scene("tuning", "no trial has ended yet", width)
    candidates = candidates_of(trials)
    ended.sort(key=lambda t: (t.time_s is None, t.time_s or 0.0))
    shown = ended[:MAX_LINES]
    omitted = f"{len(shown):,} of {len(ended):,} trials are drawn: the fastest." if len(shown) < len(ended) else ""
    inside = {t.trial for t in shown if view.holds(t, candidates)}
    items: list[Item] = [_brush(axis, axes, width) for axis in axes if axis.is_brushed]
    lines = sorted(shown, key=lambda t: (t.trial == best, t.trial in inside))
    items += [_line(t, axes, candidates, t.trial in inside, t.trial == best, height) for t in lines]
    for axis in axes:
        items += _draw_axis(axis, axes, width, height)
    items += [
        _end(t, axes[-1], t.trial in inside, t.trial == best)
        for t in reversed(lines)
        if axes[-1].name == TIME or t.failure
    ]
    constant = _constant_text(trials, axes)
    foot = " ".join(s for s in (constant, omitted) if s)
    text = (Text(4, height - 8, shorten(foot, int((width - 8) // width_px("n", "small"))), "muted", "start"),)
    items.append(Shape("foot", "text", "plain", 0, height - 22, width, 22, "none", text, tip=foot))
    desc = (
        f"{len(ended):,} trials on {len(axes)} axes: {', '.join(a.label for a in axes)}. "
        f"{len(inside):,} are inside the brush. {foot}"
    ).strip()
    return Scene("tuning", "parallel coordinates of the trials", desc, width, height, tuple(items), omitted)


def _brush(axis: Axis, axes: Sequence[Axis], width: float) -> Shape:
    wide = min(24.0, 0.8 * width / max(2, len(axes)))
    top, bottom = axis.ys[axis.high] - 7, axis.ys[axis.low] + 7
    tip = f"{axis.label} from {axis.texts[axis.low]} to {axis.texts[axis.high]}"
    return Shape(f"brush-{axis.name}", "block", "bar", axis.x - wide / 2, top, wide, bottom - top, tip=tip)


def _line(
    trial: Trial, axes: Sequence[Axis], candidates: Sequence[str], inside: bool, is_best: bool, height: float
) -> Edge:
    points: list[Point] = []
    for axis in axes:
        value = axis_value(trial, axis.name, candidates)
        if value is not None:
            points.append((axis.x, axis.y(value)))
        else:
            points.append((axis.x, TOP_PX - 12 if axis.name == TIME else height - BOTTOM_PX - 4))
    if len(points) == 1:
        points.append((points[0][0] + 1, points[0][1]))
    kind = "curve" if is_best and inside else "trial-line" if inside else "trial-outside"
    return Edge(f"{trial.trial}#line", kind, tuple(points), ref=trial.trial, tip=_trial_text(trial))


def _end(trial: Trial, axis: Axis, inside: bool, is_best: bool) -> Shape:
    """The mark of a trial on the time axis; a cross above it for a trial without a time."""
    size = MARK_PX + 5 if is_best else MARK_PX
    time_s = trial.time_s
    timed = time_s is not None
    y = axis.y(time_s) if time_s is not None and axis.name == TIME else TOP_PX - 12
    kind = "trial-best" if is_best else "trial" if timed else "trial-failed"
    outline = "star" if is_best else "circle" if timed and inside else "square" if timed else "cross"
    x = axis.x
    tip = _trial_text(trial) + ("" if inside else "\noutside the brush")
    return Shape(trial.trial, "mark", kind, x - size / 2, y - size / 2, size, size, outline, ref=trial.trial, tip=tip)


def _draw_axis(axis: Axis, axes: Sequence[Axis], width: float, height: float) -> list[Item]:
    room = width / max(2, len(axes))
    last = axis is axes[-1] and len(axes) > 1
    anchor, x = ("end", width - 2) if last else ("middle", axis.x)
    name = shorten(axis.label, max(3, int(room // width_px("n", "label"))))
    head = (Text(x, 14, name, "label", anchor),)
    route = ((axis.x, axis.ys[-1] - 6), (axis.x, axis.ys[0] + 6))
    items: list[Item] = [
        Edge(f"axis-{axis.name}", "axis", route),
        Shape(f"axis-{axis.name}#name", "text", "plain", axis.x - 10, 0, 20, 18, "none", head, tip=_axis_tip(axis)),
    ]
    left_px = LEFT_PX if axis is axes[0] else min(room, VALUE_PX)
    for number, (value, text) in enumerate(_ticks(axis)):
        y = value
        short = shorten(text, max(2, int((left_px - 12) // width_px("n", "muted"))))
        wide = width_px(short, "muted")
        at = (Text(axis.x - 8, y + 4, short, "muted", "end"),)
        left = axis.x - 10 - wide
        items.append(Shape(f"axis-{axis.name}#{number}", "text", "plate", left, y - 8, wide + 4, 15, "rect", at))
    return items


def _axis_tip(axis: Axis) -> str:
    text = describe_parameter(axis.name)
    return f"{axis.label}: {text}" if text else axis.label


def _ticks(axis: Axis) -> list[tuple[float, str]]:
    """Height and text of the labels of an axis that do not overlap."""
    if axis.name == TIME and len(axis.values) > 1:
        low, high = math.log(axis.values[0]), math.log(axis.values[-1])
        room = axis.ys[0] - axis.ys[-1]
        found = [
            (axis.ys[0] - room * (math.log(v) - low) / (high - low), seconds_text(v))
            for v in log_steps(axis.values[0], axis.values[-1], max(2, int(room // TICK_PX)))
        ]
        return [(axis.ys[0], axis.texts[0]), *(t for t in found if axis.ys[0] - t[0] > TICK_PX)]
    every = max(1, math.ceil(len(axis.ys) * TICK_PX / max(TICK_PX, axis.ys[0] - axis.ys[-1] + TICK_PX)))
    return list(zip(axis.ys, axis.texts, strict=True))[::every]


def _constant_text(trials: Sequence[Trial], axes: Sequence[Axis]) -> str:
    """The parameters that have one value only, and so no axis."""
    shown = {a.name for a in axes}
    values = {name: value for t in trials for name, value in t.parameters if name not in shown}
    return f"One value only: {', '.join(f'{k}={v:,}' for k, v in values.items())}." if values else ""


def _trial_text(trial: Trial) -> str:
    what = f"{trial.trial} of {trial.candidate}: {parameters_text(trial.parameters)}"
    if trial.trial_time is not None:
        return f"{what}\n{trial.trial_time}, measured"
    return f"{what}\n{trial.failure.code}: {trial.failure.sentence}" if trial.failure else what
