"""Print the classes of `panels/sections.py` as TypeScript interfaces: `widgets/src/sections.ts`.

A test compares the committed file with the output. To refresh the file:

    python -m prism_explore.widgets.typescript.section_types > widgets/src/sections.ts
"""

from __future__ import annotations

import sys

from prism_explore.widgets.panels.sections import SPARSE, Sections
from prism_explore.widgets.scene import Scene
from prism_explore.widgets.typescript.printer import interface, nested_dataclasses


def sections_ts() -> str:
    """Return the text of sections.ts."""
    kinds = (
        *(k for k in nested_dataclasses((Sections,)) if k not in nested_dataclasses((Scene,)) and k is not Scene),
        Sections,
    )
    parts = [
        "// The data of the explorer's panels. Texts are ready to be shown.\n"
        "// Printed by prism_explore/widgets/typescript/section_types.py from panels/sections.py; do not edit.\n"
        "// A field with a question mark is absent when it is empty, false, left or null.",
        'import type { Scene } from "./scene.ts";',
        *(interface(k, sparse=k in SPARSE) for k in kinds),
    ]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    sys.stdout.write(sections_ts())
