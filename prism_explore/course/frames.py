"""A scene of the explorer for every position of some sliders, as one piece of HTML.

All scenes are computed once, in Python, and stored in the HTML as data. The script beside them shows one at a time in
the stage of the explorer: it can be dragged, zoomed, selected in, and read as a table. So the picture needs no kernel,
no server and no widget manager, and it is the same in a live notebook, in a saved page and on a site. Where scripts do
not run, the first scene is shown as SVG.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from prism_explore import widgets
from prism_explore.errors import PrismError
from prism_explore.widgets.drawing.svg import to_svg
from prism_explore.widgets.scene import Scene, item_to_plain, scene_head

MOST_FRAMES = 400
"""Scenes of one picture at most: each is a few kilobytes of the page."""
_STYLE = "figure.prism-frames{padding:4px}figure.prism-frames>svg{overflow:visible}"
"""Room for outlines at the edge of the first scene."""


@dataclass(frozen=True, slots=True)
class Slider:
    """A name, and what is written at each position."""

    name: str
    texts: tuple[str, ...]
    start: int = 0
    """The position at first."""


@dataclass(frozen=True, slots=True)
class Frames:
    """Scenes, and the sliders that choose one."""

    sliders: tuple[Slider, ...]
    scenes: tuple[Scene, ...]
    """One per combination of values; the last slider changes fastest."""

    def __repr__(self) -> str:
        names = (f"{s.name}: {s.texts[0]} to {s.texts[-1]}" for s in self.sliders)
        return f"<{'; '.join((self.scenes[self.start].title, *names))}>"

    @property
    def start(self) -> int:
        """The number of the first scene that is shown."""
        at = 0
        for slider in self.sliders:
            at = at * len(slider.texts) + slider.start
        return at

    @property
    def data(self) -> dict[str, Any]:
        """What the script reads, as JSON data. Scenes have many items in common, so each item is stored once."""
        numbers: dict[str, int] = {}
        items: list[dict[str, Any]] = []
        scenes: list[dict[str, Any]] = []
        for scene in self.scenes:
            shown: list[int] = []
            for item in map(item_to_plain, scene.items):
                number = numbers.setdefault(json.dumps(item), len(items))
                if number == len(items):
                    items.append(item)
                shown.append(number)
            scenes.append({**scene_head(scene), "items": shown})
        return {"sliders": [asdict(slider) for slider in self.sliders], "items": items, "scenes": scenes}

    def _repr_html_(self) -> str:
        packed = b64encode(zlib.compress(json.dumps(self.data).encode(), 9)).decode()
        stored = f'<script type="text/plain">{packed}</script>'
        still = f"<style>{_STYLE}</style>{to_svg(self.scenes[self.start])}"
        return f'<figure class="prism-frames" style="margin:0">{still}{stored}</figure><script>{_script()}</script>'


@cache
def _script() -> str:
    return (Path(widgets.__file__).parent / "static" / "frames.js").read_text("utf-8")


def frames(
    draw: Callable[..., Scene],
    sliders: Mapping[str, Sequence[int | str]],
    start: Mapping[str, int | str] | None = None,
) -> Frames:
    """Draw a scene for every position of some sliders.

    Args:
        draw: called with one value per slider, by name.
        sliders: the values of each slider.
        start: the value at first, by name; else the first one.

    Raises:
        PrismError: a slider has no value, or there are more than `MOST_FRAMES` positions.
    """
    count = prod(map(len, sliders.values()))
    if not 1 <= count <= MOST_FRAMES:
        raise PrismError(f"sliders have 1 to {MOST_FRAMES} positions together, found {count}: give fewer values")
    scenes = tuple(draw(**dict(zip(sliders, values, strict=True))) for values in product(*sliders.values()))
    first = {name: values.index((start or {}).get(name, values[0])) for name, values in sliders.items()}
    made = (Slider(name, tuple(map(_text, values)), first[name]) for name, values in sliders.items())
    return Frames(tuple(made), scenes)


def picture(scene: Scene) -> Frames:
    """Show one scene, without sliders.

    Args:
        scene: of any view.
    """
    return Frames((), (scene,))


def _text(value: int | str) -> str:
    return value if isinstance(value, str) else f"{value:,}"
