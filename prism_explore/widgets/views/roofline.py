"""Roofline plot: arithmetic intensity on the x axis, performance on the y axis, both logarithmic.

Input: the roofs of a machine, and points with ids. Output: a `Scene`. A point is below the roofs unless its traffic or
its arithmetic is modelled wrongly, or the machine exceeds its figures. A point without a measured time is a cross on
the x axis. The intensity is always modelled; the axis says so. Whether the rates of the roofs are measured or from a
datasheet is in their labels.

Source: Williams, Waterman and Patterson, "Roofline", CACM 52(4), 2009.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from prism_explore.targets import Target
from prism_explore.widgets.drawing.charts import LEFT_PX, Chart, empty_scene, log_steps
from prism_explore.widgets.drawing.layout import Rect
from prism_explore.widgets.drawing.text_metrics import width_px
from prism_explore.widgets.scene import Outline, Scene, Shape, Text

X_NAME = "arithmetic intensity, flop/byte (modelled)"
MARK_PX = 10.0
MAX_LABELS = 12
"""Largest number of points whose labels are drawn; the tooltips have all."""


@dataclass(frozen=True, slots=True)
class Roofs:
    """The rates that bound every kernel of a machine."""

    machine: str
    bytes_per_s: float
    flops_per_s: float
    measured: bool
    """Whether the rates were measured on the machine, not quoted from a datasheet."""

    @property
    def ridge(self) -> float:
        """The intensity from which on arithmetic is the limit. Units: flop/byte."""
        return self.flops_per_s / self.bytes_per_s

    def limit(self, intensity: float) -> float:
        """The largest performance at an intensity. Units: flop/s."""
        return min(self.flops_per_s, intensity * self.bytes_per_s)


@dataclass(frozen=True, slots=True)
class RooflinePoint:
    """A kernel in the plot."""

    id: str
    intensity: float
    """Units: flop/byte, modelled."""
    flops_per_s: float | None
    """The performance; None without a time."""
    ref: str = ""
    """The id that a click selects."""
    label: str = ""
    """Text next to the point; empty for none."""
    tip: str = ""
    kind: str = "trial"
    """Its style, a row of `colors.STYLES`."""
    outline: Outline = "circle"


def roofs_of(target: Target, dtype: str) -> Roofs:
    """The roofs of a machine for operands of a dtype, such as f32."""
    return Roofs(target.name, target.dram_bytes_per_s, target.peak(dtype), target.measured)


def roofline_scene(
    roofs: Roofs | None,
    points: Sequence[RooflinePoint],
    width: float = 640.0,
    height: float = 320.0,
    performance: str = "measured",
) -> Scene:
    """Draw the roofs and the points.

    Args:
        roofs: the rates of the machine; None if they are not known, as in a saved search of another CPU.
        points: the kernels, in drawing order.
        width: width of the picture. Units: px.
        height: height of the picture. Units: px.
        performance: how the performance of the points was obtained: measured or modelled.
    """
    drawn = [p for p in points if p.intensity > 0 and math.isfinite(p.intensity)]
    if not drawn:
        return empty_scene("roofline", "no kernel with a modelled intensity yet", width)
    chart = roofline_chart(roofs, drawn, width, height, performance)
    missing = len(points) - len(drawn)
    omitted = f"{missing:,} of {len(points):,} points have no modelled intensity." if missing else ""
    return chart.scene("roofline", "roofline", _describe(roofs, drawn, performance, omitted), omitted)


def roofline_chart(
    roofs: Roofs | None,
    drawn: Sequence[RooflinePoint],
    width: float,
    height: float,
    performance: str,
    reach: Sequence[RooflinePoint] = (),
) -> Chart:
    """The roofs and the points; the axes also reach the points of `reach`, which are not drawn."""
    chart = Chart(width, height, X_NAME, "", log_x=True, log_y=True)
    _set_ranges(chart, roofs, (*drawn, *reach))
    factor, unit = _unit(chart.y_high)
    chart.y_name = f"{unit} ({performance})"
    chart.axes(
        {v: f"{v / factor:,g}" for v in log_steps(chart.y_low, chart.y_high, chart.max_steps)},
        {v: f"{v:g}" for v in log_steps(chart.x_low, chart.x_high, max(2, int(width // 80)))},
    )
    if roofs is not None:
        _draw_roofs(chart, roofs)
    for p in drawn:
        tip = f"{p.tip or p.id}\n{point_text(p, roofs, performance)}"
        chart.mark(p.id, p.kind, p.outline, p.intensity, p.flops_per_s or None, p.ref, tip, MARK_PX)
    _label_points(chart, drawn)
    return chart


def point_text(point: RooflinePoint, roofs: Roofs | None, performance: str) -> str:
    """Intensity, performance and the share of the roof, in one sentence."""
    text = f"{point.intensity:.3g} flop/byte modelled"
    if not point.flops_per_s:
        return f"{text}; no time"
    text += f", {rate_text(point.flops_per_s)} {performance}"
    if roofs is None:
        return text
    share = point.flops_per_s / roofs.limit(point.intensity)
    limit = "memory" if point.intensity < roofs.ridge else "compute"
    return f"{text}: {share:.0%} of the {limit} roof"


def rate_text(flops_per_s: float) -> str:
    """A rate with its unit.

    >>> rate_text(2.5e11)
    '250 Gflop/s'
    """
    factor, unit = _unit(flops_per_s)
    return f"{flops_per_s / factor:.3g} {unit}"


def _unit(flops_per_s: float) -> tuple[float, str]:
    """The largest unit that is not above a rate, and its name."""
    return next(((f, u) for f, u in _UNITS if flops_per_s >= 0.9995 * f), (1.0, "flop/s"))


_UNITS = ((1e15, "Pflop/s"), (1e12, "Tflop/s"), (1e9, "Gflop/s"), (1e6, "Mflop/s"), (1e3, "kflop/s"))


def _set_ranges(chart: Chart, roofs: Roofs | None, points: Iterable[RooflinePoint]) -> None:
    """Show all points, the ridge, and a part of both roofs."""
    xs = [p.intensity for p in points]
    ys = [p.flops_per_s for p in points if p.flops_per_s]
    if roofs is not None:
        xs.append(roofs.ridge)
        ys += [roofs.flops_per_s, roofs.limit(min(xs) / 2)]
    ys = ys or [1e9]
    chart.x_range(min(xs) / 2, max(xs) * 4)
    chart.y_range(min(ys) / 1.5, max(ys) * 1.8)


def _draw_roofs(chart: Chart, roofs: Roofs) -> None:
    origin = f"measured on {roofs.machine}" if roofs.measured else f"datasheet of {roofs.machine}"
    low = max(chart.x_low, chart.y_low / roofs.bytes_per_s)
    memory = ((low, roofs.limit(low)), (roofs.ridge, roofs.flops_per_s))
    compute = ((roofs.ridge, roofs.flops_per_s), (chart.x_high, roofs.flops_per_s))
    rates = (
        ("memory", memory, f"memory {roofs.bytes_per_s / 1e9:.4g} GB/s"),
        ("compute", compute, f"compute {rate_text(roofs.flops_per_s)}"),
    )
    for name, line, text in rates:
        chart.route(f"roof-{name}", "roof", line, f"{text}, {origin}")
    right = chart.width - 8
    texts = (
        Text(right, 12, f"{rates[0][2]}, {rates[1][2]}", "small", "end"),
        Text(right, 26, origin, "muted", "end"),
    )
    chart.items.append(Shape("roofs#label", "text", "plain", LEFT_PX, 0, right - LEFT_PX, 28, "none", texts))


def _label_points(chart: Chart, points: Sequence[RooflinePoint]) -> None:
    """Write labels beside their points, where they cover neither another label nor a mark."""
    marks = {s.id: s for s in chart.items if isinstance(s, Shape) and s.role == "mark"}
    taken = [Rect(s.x, s.y, s.w, s.h) for s in marks.values()]
    labelled = [p for p in points if p.label][:MAX_LABELS]
    for p in labelled:
        mark, wide = marks[p.id], width_px(p.label, "small")
        y = mark.y + mark.h / 2 + 4
        for x, at in ((mark.x + mark.w + 4, y), (mark.x - 4 - wide, y), (mark.x + mark.w + 4, y - 14)):
            box = Rect(x, at - 11, wide, 14)
            inside = x >= LEFT_PX and x + wide <= chart.width - 2
            if inside and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                text = (Text(x, at, p.label, "small", "start"),)
                chart.items.append(Shape(f"{p.id}#label", "text", "plain", x, at - 11, wide, 14, "none", text, p.ref))
                break


def _overlap(a: Rect, b: Rect) -> bool:
    return a.x < b.right and b.x < a.right and a.y < b.bottom and b.y < a.bottom


def _describe(roofs: Roofs | None, points: Sequence[RooflinePoint], performance: str, omitted: str) -> str:
    timed = [p for p in points if p.flops_per_s]
    sentences = [f"{len(points)} kernels, {len(points) - len(timed)} of them without a time."]
    if timed:
        best = max(timed, key=lambda p: p.flops_per_s or 0.0)
        sentences.append(f"Fastest: {best.label or best.id}, {point_text(best, roofs, performance)}.")
    if roofs is None:
        sentences.append("The rates of the machine are not known, so no roofs are drawn.")
    else:
        origin = "measured" if roofs.measured else "from a datasheet"
        sentences.append(
            f"Roofs of {roofs.machine}, {origin}: {roofs.bytes_per_s / 1e9:.4g} GB/s, {rate_text(roofs.flops_per_s)}."
        )
    return " ".join([*sentences, omitted]).strip()
