"""Print the classes and style tables of scenes as TypeScript: `widgets/src/scene.ts`.

Types, style sheet, patterns and outlines are printed, so the browser draws what `drawing/svg.py` draws. A test
compares the committed file with the output. To refresh the file:

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
    """Return the text of scene.ts: types, style sheet, patterns, outlines."""
    patterned = {s.kind: s.pattern for s in STYLES.values() if s.pattern}
    parts = [
        "// Pictures as data: items in drawing order, and the style of each kind of item.\n"
        "// Printed by prism_explore/widgets/typescript/scene_types.py from scene.py, drawing/colors.py and "
        "drawing/svg.py; do not edit.\n"
        "// Defaults of absent fields: empty, false, 1, curve line, outline rect, anchor middle, kind label.",
        interface(Text, sparse=True),
        interface(Shape, first=('readonly type: "shape";',), sparse=True),
        interface(Edge, first=('readonly type: "edge";',), sparse=True),
        "/** An item of a scene. */\n" + union("Item", ("Shape", "Edge")),
        interface(Scene).replace("readonly (Shape | Edge)[]", "readonly Item[]"),
        "/** Per kind of shape, the pattern drawn over it. */\n" + _record("PATTERN_OF", "string", patterned),
        "/** Per pattern, the side of its square, its path, the CSS class of its lines. */\n"
        + _record(
            "PATTERNS",
            "readonly [number, string, string]",
            {name: [*PATTERNS[name], ink_of(name)] for name in PATTERNS},
        ),
        "/** Corners of the polygon outlines, in units of the rectangle of the shape. */\n"
        + _record("CORNERS", "readonly (readonly [number, number])[]", CORNERS),
        "/** The style sheet for elements inside one of class prism-scene. */\n"
        f"export const SCENE_CSS = `\n{css()}\n`;",
    ]
    return "\n\n".join(parts) + "\n"


def _record(name: str, value: str, rows: object) -> str:
    body = json.dumps(rows)
    assert "'" not in body and "\\" not in body, "the record is printed between single quotes"
    return f"export const {name}: Readonly<Record<string, {value}>> = JSON.parse(\n  '{body}',\n);"


if __name__ == "__main__":
    sys.stdout.write(scene_ts())
