"""Charts as scenes: axes, lines, bands, marks, and labels that do not overlap."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from prism_explore.widgets.drawing.text_metrics import width_px
from prism_explore.widgets.scene import Edge, Item, Outline, Point, Scene, Shape, Text

LABEL_STEP_PX = 16.0
"""Smallest distance between two labels of an axis."""
LEFT_PX, RIGHT_PX, TOP_PX, BOTTOM_PX = 70.0, 20.0, 28.0, 46.0


@dataclass(frozen=True, slots=True)
class Series:
    """A line with a name."""

    name: str
    kind: str
    points: tuple[Point, ...]


class Chart:
    """Collects items in data units and converts them to pixels."""

    def __init__(
        self,
        width: float,
        height: float,
        x_name: str,
        y_name: str,
        right: float = RIGHT_PX,
        log_y: bool = False,
        log_x: bool = False,
    ) -> None:
        self.width, self.height, self.right = width, height, right
        self.x_name, self.y_name, self.log_y, self.log_x = x_name, y_name, log_y, log_x
        self.x_low, self.x_high, self.y_low, self.y_high = 0.0, 1.0, 0.0, 1.0
        self.items: list[Item] = []
        self.series: list[Series] = []
        self.labels: list[tuple[float, str, str]] = []
        """Labels on the right: y in px, text, id of the labelled line."""

    def x_range(self, low: float, high: float) -> None:
        """Set the values that the x axis shows; both positive on a logarithmic axis."""
        self.x_low, self.x_high = low, high if high > low else low + 1

    def y_range(self, low: float, high: float) -> None:
        """Set the values that the y axis shows; both positive on a logarithmic axis."""
        self.y_low, self.y_high = low, high if high > low else low * 2 or 1.0

    def x(self, value: float) -> float:
        """Position of a value. Units: px."""
        room = self.width - LEFT_PX - self.right
        return LEFT_PX + room * _share(value, self.x_low, self.x_high, self.log_x)

    def y(self, value: float) -> float:
        """Position of a value. Units: px."""
        room = self.height - TOP_PX - BOTTOM_PX
        return self.height - BOTTOM_PX - room * _share(value, self.y_low, self.y_high, self.log_y)

    @property
    def baseline_px(self) -> float:
        """The y of the x axis. Units: px."""
        return self.height - BOTTOM_PX

    @property
    def max_steps(self) -> int:
        """Number of labels that fit along the y axis."""
        return max(2, int((self.baseline_px - TOP_PX) // LABEL_STEP_PX))

    def axes(self, y_text: dict[float, str] | None = None, x_text: dict[float, str] | None = None) -> None:
        """Add grid lines with their labels, and the names of the axes.

        Args:
            y_text: the label of each value of the y axis that has one; by default round numbers.
            x_text: the same for the x axis; by default round integers.
        """
        ticks = y_text or {v: f"{v:,.0f}" for v in _round_steps(self.y_low, self.y_high, 5)}
        for value, text in ticks.items():
            y = self.y(value)
            label = (Text(LEFT_PX - 8, y + 4, text, "muted", "end"),)
            route = ((LEFT_PX, y), (self.width - self.right, y))
            self.items.append(Edge(f"grid-y{value:g}", "grid", route, texts=label))
        steps = x_text or {v: f"{v:,.0f}" for v in _round_steps(self.x_low, self.x_high, 10, integers=True)}
        for value, text in steps.items():
            label = Text(self.x(value), self.baseline_px + 18, text, "muted")
            tick = ((self.x(value), self.baseline_px), (self.x(value), self.baseline_px + 4))
            self.items.append(Edge(f"tick-x{value:g}", "axis", tick, texts=(label,)))
        base = ((LEFT_PX, self.baseline_px), (self.width - self.right, self.baseline_px))
        name = Text((LEFT_PX + self.width - self.right) / 2, self.height - 8, self.x_name, "muted")
        self.items.append(Edge("axis-x", "axis", base, texts=(name,)))
        name = Text(4, 12, self.y_name, "muted", "start")
        self.items.append(Shape("axis-y", "text", "plain", 0, 0, LEFT_PX, TOP_PX, "none", (name,)))

    def line(self, series: Series) -> None:
        """Add a line; the legend has its name."""
        self.series.append(series)
        if len(series.points) > 1:
            route = tuple((self.x(a), self.y(b)) for a, b in series.points)
            self.items.append(Edge(f"line-{series.name}", series.kind, route, tip=series.name))

    def band(self, ident: str, low: tuple[Point, ...], high: tuple[Point, ...], tip: str) -> None:
        """Add the area between two lines."""
        route = [(self.x(a), self.y(b)) for a, b in (*low, *reversed(high))]
        self.items.append(Edge(ident, "band", tuple(route), closed=True, tip=tip))

    def route(self, ident: str, kind: str, points: tuple[Point, ...], tip: str) -> None:
        """Add a line that the legend does not name."""
        self.items.append(Edge(ident, kind, tuple((self.x(a), self.y(b)) for a, b in points), tip=tip))

    def level(self, ident: str, kind: str, value: float, text: str, tip: str = "") -> None:
        """Add a horizontal line with a label on the right."""
        y = self.y(value)
        self.items.append(Edge(ident, kind, ((LEFT_PX, y), (self.width - self.right, y)), tip=tip or text))
        self.labels.append((y, text, ident))

    def whisker(self, ident: str, at: float, low: float, high: float) -> None:
        """Add a vertical line from low to high."""
        x = self.x(at)
        self.items.append(Edge(ident, "spread", ((x, self.y(low)), (x, self.y(high)))))

    def mark(
        self,
        ident: str,
        kind: str,
        outline: Outline,
        at: float,
        value: float | None,
        ref: str = "",
        tip: str = "",
        size: float = 9,
    ) -> None:
        """Add a point; a point without a value is on the x axis."""
        x, y = self.x(at), self.baseline_px if value is None else self.y(value)
        self.items.append(Shape(ident, "mark", kind, x - size / 2, y - size / 2, size, size, outline, ref=ref, tip=tip))

    def scene(self, name: str, title: str, desc: str, omitted: str = "") -> Scene:
        """Return all items with legend and labels."""
        x = LEFT_PX + 10
        for series in self.series:
            name_text = (Text(x + 28, 12, series.name, "small", "start"),)
            self.items.append(Edge(f"legend-{series.name}", series.kind, ((x, 8), (x + 22, 8)), texts=name_text))
            x += 28 + width_px(series.name, "small") + 18
        previous = -math.inf
        for y, text, ident in sorted(self.labels):
            at = max(y + 4, previous + 15)
            previous = at
            x = self.width - self.right
            label = (Text(x + 6, at, text, "small", "start"),)
            self.items.append(Shape(f"{ident}#label", "text", "plain", x, at - 12, self.right, 15, "none", label))
        return Scene(name, title, desc, self.width, self.height, tuple(self.items), omitted)


def empty_scene(name: str, sentence: str, width: float) -> Scene:
    """A scene with one sentence, used if there is nothing to draw."""
    texts = (Text(width / 2, 26, sentence, "muted"),)
    nothing = Shape("nothing", "text", "plain", 0, 0, width, 40, "none", texts)
    return Scene(name, name, sentence, width, 40, (nothing,))


def _share(value: float, low: float, high: float, log: bool) -> float:
    """Where a value lies between two others: 0 at the low one, 1 at the high one."""
    return math.log(value / low) / math.log(high / low) if log else (value - low) / (high - low)


def _round_steps(low: float, high: float, max_steps: int, integers: bool = False) -> list[float]:
    """Round numbers from low to high, at most `max_steps` + 1 of them."""
    rough = max((high - low) / max_steps, 1e-12)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * f for f in (1, 2, 5, 10) if power * f >= rough)
    if integers:
        step = max(1.0, round(step))
    first = math.ceil(low / step) * step
    return [first + step * n for n in range(int((high - first) / step + 1e-9) + 1)]


def log_steps(low: float, high: float, max_steps: int = 12) -> list[float]:
    """At most `max_steps` round numbers for a logarithmic axis: 1, 2, 5 times powers of ten, more if those are few."""
    powers = range(math.floor(math.log10(low)), math.floor(math.log10(high)) + 1)

    def steps(digits: Iterable[int], every: int = 1) -> list[float]:
        return [d * 10.0**p for p in powers if p % every == 0 for d in digits if low <= d * 10.0**p <= high]

    if len(steps((1, 2, 5))) > max_steps:
        sparse = (steps((1,), every) for every in range(1, len(powers) + 1))
        return next((found for found in sparse if len(found) <= max_steps), [low, high])
    for digits in ((1, 2, 5), (1, 2, 3, 5, 7), range(1, 10)):
        found = steps(digits)
        if len(found) >= 3:
            return found[:: math.ceil(len(found) / max_steps)]
    return found if len(found) > 1 else [low, high]
