"""A picture of a few numbers of very different size: one bar each, as long as the logarithm says."""

from __future__ import annotations

import math
from collections.abc import Mapping

from prism_explore.widgets.drawing.text_metrics import width_px
from prism_explore.widgets.scene import Scene, Shape, Text

ROW_PX = 24.0
BAR_PX = 14.0
LONGEST_PX = 360.0
GAP_PX = 12.0


def bars_scene(title: str, numbers: Mapping[str, float], low: float, high: float) -> Scene:
    """Draw a bar per number.

    Args:
        title: what the numbers are.
        numbers: by their labels; what is not above `low` has no bar.
        low: where bars begin, positive.
        high: where the longest bar ends.
    """
    left = GAP_PX + max((width_px(label, "mono") for label in numbers), default=0.0)
    items = [Shape("title", "text", "plain", 0, 0, left, ROW_PX, "none", (Text(0, 16, title, "label", "start"),))]
    for n, (label, number) in enumerate(numbers.items(), 1):
        top, text = n * ROW_PX, f"{number:.3g}"
        share = math.log(number / low) / math.log(high / low) if number > low else 0.0
        length = LONGEST_PX * min(1.0, share)
        line = Text(0, top + 16, label, "mono", "start")
        items.append(
            Shape(f"label {n}", "text", "plain", 0, top, left, ROW_PX, "none", (line,), tip=f"{label}: {text}")
        )
        items.append(Shape(f"bar {n}", "mark", "bar", left, top + 5, length, BAR_PX))
        value = Text(left + length + GAP_PX / 2, top + 16, text, "muted", "start")
        items.append(Shape(f"value {n}", "text", "plain", left + length, top, 0, ROW_PX, "none", (value,)))
    desc = ", ".join(f"{label}: {number:.3g}" for label, number in numbers.items())
    return Scene("bars", title, f"{desc}.", left + LONGEST_PX + 80, (len(numbers) + 1) * ROW_PX, tuple(items))
