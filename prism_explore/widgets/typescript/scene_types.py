"""The scene contract spelled for the browser: `widgets/src/scene.ts` is what `scene_ts` prints.

Types of the wire, style sheet, patterns and outlines, so that the browser half draws what `svg.py`
draws. A test holds the committed file equal to the printer. Refresh it with

    python -m prism_explore.widgets.typescript.scene_types > widgets/src/scene.ts
"""

from __future__ import annotations

import json
import sys

from prism_explore.widgets.drawing.colors import PATTERNS, STYLES, css, ink_of
from prism_explore.widgets.drawing.svg import CORNERS
from prism_explore.widgets.scene import Edge, Scene, Shape, Text
from prism_explore.widgets.typescript.printer import interface, union


def scene_ts() -> str:
    """The whole of scene.ts: types of the wire, style sheet, patterns, outlines."""
    patterned = {s.kind: s.pattern for s in STYLES.values() if s.pattern}
    parts = [
        "// Pictures as they come over the wire: items in drawing order, and how a kind of item looks.\n"
        "// Printed by prism_explore/widgets/typescript/scene_types.py; edit scene.py, drawing/colors.py or "
        "drawing/svg.py and print again.\n"
        "// An absent field is: empty, false, 1, curve line, outline rect, anchor middle, kind label.",
        interface(Text, sparse=True),
        interface(Shape, first=('readonly type: "shape";',), sparse=True),
        interface(Edge, first=('readonly type: "edge";',), sparse=True),
        "/** What a scene is made of. */\n" + union("Item", ("Shape", "Edge")),
        interface(Scene).replace("readonly (Shape | Edge)[]", "readonly Item[]"),
        "/** The pattern laid over shapes of a kind, by `class=pattern` and a fill of its own. */\n"
        + _record("PATTERN_OF", "string", patterned),
        "/** Side of the square, path, class of its ink. */\n"
        + _record(
            "PATTERNS",
            "readonly [number, string, string]",
            {name: [*PATTERNS[name], ink_of(name)] for name in PATTERNS},
        ),
        "/** Outlines made of corners, in units of the shape's rectangle. */\n"
        + _record("CORNERS", "readonly (readonly [number, number])[]", CORNERS),
        "/** The style sheet, for everything inside an element of class prism-scene. */\n"
        f"export const SCENE_CSS = `\n{css()}\n`;",
    ]
    return "\n\n".join(parts) + "\n"


def _record(name: str, value: str, rows: object) -> str:
    body = json.dumps(rows)
    assert "'" not in body and "\\" not in body, "the record is printed between single quotes"
    return f"export const {name}: Readonly<Record<string, {value}>> = JSON.parse(\n  '{body}',\n);"


if __name__ == "__main__":
    sys.stdout.write(scene_ts())
