"""A scene of the explorer for every position of some sliders, as one piece of HTML.

All scenes are drawn once, in Python, and the page shows one at a time. So the picture needs no kernel and no server: it
works in a notebook, in a saved page, and on a site. Where scripts do not run, one scene is shown.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import product
from math import prod

from prism_explore.errors import PrismError
from prism_explore.widgets.drawing.colors import css
from prism_explore.widgets.drawing.svg import to_svg
from prism_explore.widgets.scene import Scene

MOST_FRAMES = 400
"""Scenes of one picture at most: each is a few kilobytes of the page."""
_STYLE = "font:13px system-ui,sans-serif;display:inline-flex;gap:8px;align-items:center;margin-right:20px"
_SCRIPT = """for (const root of document.querySelectorAll('#ID:not([data-on])')) {
  root.dataset.on = '1';
  const sliders = [...root.querySelectorAll('input')], frames = [...root.querySelectorAll('[data-frame]')];
  const show = () => {
    let at = 0;
    for (const s of sliders) {
      at = at * (Number(s.max) + 1) + Number(s.value);
      const text = JSON.parse(s.dataset.texts)[Number(s.value)];
      s.nextElementSibling.textContent = text;
      s.setAttribute('aria-valuetext', text);
    }
    frames.forEach((f, i) => { f.hidden = i !== at; });
  };
  sliders.forEach((s) => s.addEventListener('input', show));
  show();
}"""


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
        names = ", ".join(f"{s.name}: {s.texts[0]} to {s.texts[-1]}" for s in self.sliders)
        return f"<{self.scenes[self.start].title}; {names}>"

    @property
    def start(self) -> int:
        """The number of the first scene that is shown."""
        at = 0
        for slider in self.sliders:
            at = at * len(slider.texts) + slider.start
        return at

    def _repr_html_(self) -> str:
        svgs = [to_svg(scene, with_style=False) for scene in self.scenes]
        style = css(kinds={item.kind for scene in self.scenes for item in scene.items})
        own = "prism-frames-" + hashlib.sha256("".join(svgs).encode()).hexdigest()[:10]
        controls = "".join(map(_control, self.sliders))
        hidden = ("" if n == self.start else " hidden" for n in range(len(svgs)))
        frames = "".join(f"<div data-frame{attribute}>{svg}</div>" for attribute, svg in zip(hidden, svgs, strict=True))
        script = f"<script>{_SCRIPT.replace('#ID', '#' + own)}</script>"
        return (
            f'<figure id="{own}" style="margin:0"><style>{style}</style><div>{controls}</div>{frames}</figure>{script}'
        )


def _control(slider: Slider) -> str:
    last, texts = len(slider.texts) - 1, escape(json.dumps(slider.texts))
    knob = f'<input type="range" min="0" max="{last}" value="{slider.start}" data-texts="{texts}">'
    shown = escape(slider.texts[slider.start])
    return f'<label style="{_STYLE}">{escape(slider.name)} {knob}<output>{shown}</output></label>'


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


def _text(value: int | str) -> str:
    return value if isinstance(value, str) else f"{value:,}"
