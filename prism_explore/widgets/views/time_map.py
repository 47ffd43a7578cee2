"""The search map over time: one lane per kind of event, the number of the event on the x axis.

Input: `EventLanes`. Output: a `Scene`, and the x axis for the brush in the browser. A lane with few events has a mark
for each; a lane with many has a bar per bin of equal width, whose height is the number of events on a logarithmic
scale. A look back shows an empty part on the right, so that positions stay.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from prism_explore.widgets.drawing.text_metrics import width_px
from prism_explore.widgets.scene import Anchor, Edge, Item, Outline, Scene, Shape, Text
from prism_explore.widgets.views.event_lanes import LANES, EventLanes, LaneName
from prism_explore.widgets.views.marks import PRUNED_KINDS

LEFT_PX, RIGHT_PX, TOP_PX = 92.0, 10.0, 22.0
LANE_PX = 46.0
BIN_PX = 6.0
MARK_PX = 11.0
MAX_MARKS = 120
"""Largest number of marks of one lane; with more events in view it has bars."""
OUTLINES: dict[str, Outline] = {
    "proved": "diamond",
    "unknown": "hexagon",
    "refuted": "square",
    "trial-failed": "cross",
    "trial": "circle",
    "family": "circle",
    "expanded": "circle",
}

_PRUNED: Mapping[str, str] = {str(soundness): kind for soundness, kind in PRUNED_KINDS.items()}
Ids: TypeAlias = Collection[str] | None


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """The x axis. Units: px in the scene."""

    left: float
    right: float
    first: int
    """The number of the first event."""
    end: int
    """The number after the last event."""


def time_axis(count: int, interval: tuple[int, int] | None, width: float) -> TimeAxis:
    """The axis for all events or an interval of them."""
    first, end = (0, max(1, count)) if interval is None else (min(interval[0], count), min(interval[1] + 1, count))
    return TimeAxis(LEFT_PX, width - RIGHT_PX, first, max(end, first + 1))


def time_scene(lanes: EventLanes, axis: TimeAxis, width: float = 960.0, within: Ids = None) -> Scene:
    """Draw the lanes.

    Args:
        lanes: the events.
        axis: from `time_axis`.
        width: width of the picture. Units: px.
        within: ids of the nodes that expansions, prunings and families are limited to; None for all.
    """
    items: list[Item] = []
    parts: list[str] = []
    for number, name in enumerate(LANES):
        top = TOP_PX + number * LANE_PX
        total = _draw_lane(items, lanes, name, axis, top, within)
        parts.append(f"{total:,} {name}")
        base = top + LANE_PX - 6
        items.append(Edge(f"lane-{name}", "axis", ((axis.left, base), (axis.right, base))))
        texts = (
            Text(axis.left - 8, top + 20, name, "small", "end"),
            Text(axis.left - 8, top + 35, f"{total:,}", "muted", "end"),
        )
        items.append(Shape(f"lane-{name}#name", "text", "plain", 0, top, axis.left, LANE_PX, "none", texts))
    height = TOP_PX + len(LANES) * LANE_PX
    items += _ticks(axis, height)
    if lanes.count < axis.end:
        x = _x(axis, max(lanes.count, axis.first))
        items.insert(
            0,
            Shape("later", "block", "frontier", x, TOP_PX, axis.right - x, height - TOP_PX, "rect", tip="later events"),
        )
    desc = f"Events {axis.first:,} to {min(axis.end, lanes.count):,}: {', '.join(parts)}."
    return Scene("search", "search over time", desc, width, height + 20, tuple(items))


def _x(axis: TimeAxis, number: float) -> float:
    return axis.left + (axis.right - axis.left) * (number - axis.first) / (axis.end - axis.first)


def _draw_lane(items: list[Item], lanes: EventLanes, name: LaneName, axis: TimeAxis, top: float, within: Ids) -> int:
    """Draw one lane; return the number of its events in view."""
    lane = lanes.lane(name)
    start, end = lane.span(axis.first, min(axis.end, lanes.count))
    places = range(start, end)
    if within is not None and name in ("expansions", "prunings", "families"):
        places = [i for i in places if lane.refs[i] in within]
    if len(places) <= MAX_MARKS:
        for i in places:
            items.append(_mark(axis, name, lane.numbers[i], lane.refs[i], lane.kinds[i], top))
        return len(places)
    bins: dict[int, list[int]] = {}
    scale = (axis.right - axis.left) / BIN_PX / (axis.end - axis.first)
    numbers = lane.numbers
    for i in places:
        bins.setdefault(int((numbers[i] - axis.first) * scale), []).append(i)
    most = math.log1p(max(map(len, bins.values())))
    for number, inside in bins.items():
        first, last = inside[0], inside[-1]
        high = (LANE_PX - 14) * math.log1p(len(inside)) / most
        counts = dict.fromkeys(dict.fromkeys(lane.kinds[i] for i in inside), 0)
        for i in inside:
            counts[lane.kinds[i]] += 1
        kind = max(counts, key=lambda k: counts[k])
        tip = (
            f"events {numbers[first]:,} to {numbers[last]:,}: {len(inside):,} {name}"
            + (f" ({', '.join(f'{n:,} {k}' for k, n in counts.items())})" if len(counts) > 1 else "")
            + f", from {lane.refs[first]} to {lane.refs[last]}"
        )
        x = axis.left + number * BIN_PX
        style = _PRUNED.get(kind, "bar") if name == "prunings" else "bar"
        y = top + LANE_PX - 6 - high
        ident = f"{name}#{number}"
        items.append(
            Shape(ident, "block", style, x, y, BIN_PX - 1, high, ref=lane.refs[first], tip=tip, count=len(inside))
        )
    return len(places)


def _mark(axis: TimeAxis, name: LaneName, number: int, ref: str, kind: str, top: float) -> Shape:
    x, y = _x(axis, number + 0.5), top + LANE_PX - 6 - MARK_PX - 4
    style = _PRUNED[kind] if name == "prunings" else kind
    outline = OUTLINES.get(kind, "square")
    tip = f"event {number:,}: {ref}, {kind}"
    left = min(max(x - MARK_PX / 2, axis.left), axis.right - MARK_PX)
    return Shape(f"{name}#{number}", "mark", style, left, y, MARK_PX, MARK_PX, outline, ref=ref, tip=tip)


def _ticks(axis: TimeAxis, height: float) -> list[Item]:
    items: list[Item] = []
    room = axis.right - axis.left
    anchors: tuple[tuple[float, Anchor], ...] = ((0.0, "start"), (0.5, "middle"), (1.0, "end"))
    for share, anchor in anchors:
        number = round(axis.first + share * (axis.end - axis.first))
        x = axis.left + share * room
        text = (Text(x, height + 14, f"{number:,}", "muted", anchor),)
        items.append(Edge(f"tick{share:g}", "axis", ((x, height - 4), (x, height)), texts=text))
    if room > width_px("number of the event", "muted") + 10:
        head = (Text(axis.left, 14, "number of the event →", "muted", "start"),)
        items.append(Shape("axis-name", "text", "plain", axis.left, 0, room, TOP_PX, "none", head))
    return items
