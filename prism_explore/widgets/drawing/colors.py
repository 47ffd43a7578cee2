"""Colours and styles: how each kind of shape, edge and text looks, for light and dark pages.

The browser and the SVG writer read the same tables. The hues are those of Okabe and Ito. No meaning depends on
hue alone: a status also has a shape, a pattern, and a word or letter, and every mark has an outline. The tints
of the kernel, block and loop frames repeat the levels in the frame titles. Status fills carry black text with a
contrast of at least 5.4 : 1; other text has at least 4.5 : 1 on its background (a test computes both).

Source: Okabe and Ito, "Color universal design", 2008.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

LIGHT: dict[str, str] = {
    "page": "#ffffff",
    "ink": "#18202b",
    "muted": "#4d5866",
    "line": "#5a6675",
    "faint": "#dde2e8",
    "surface": "#ffffff",
    "tensor": "#eef1f5",
    "kernel": "#f1f6ec",
    "kernel-line": "#5c8a38",
    "block": "#e9f0fa",
    "block-line": "#3f6ea6",
    "loop": "#d5e3f5",
    "loop-line": "#2f5d94",
    "accum": "#ffe2a0",
    "chip": "#ffffff",
    "grey": "#e3e7ec",
    "pruned": "#ddd7e8",
    "hatch": "#8d80a5",
    "family": "#ffffff",
    "select": "#0072b2",
    "band": "#cfe0f3",
    "curve": "#1f4e86",
}
DARK: dict[str, str] = {
    "page": "#14181d",
    "ink": "#eef2f6",
    "muted": "#b3bdc8",
    "line": "#8894a3",
    "faint": "#303842",
    "surface": "#222a33",
    "tensor": "#2c3641",
    "kernel": "#1a231a",
    "kernel-line": "#86b862",
    "block": "#182636",
    "block-line": "#7ba8dd",
    "loop": "#20364f",
    "loop-line": "#8fb8ea",
    "accum": "#5c4713",
    "chip": "#14181d",
    "grey": "#3a444f",
    "pruned": "#463f55",
    "hatch": "#7b7091",
    "family": "#222a33",
    "select": "#6cc0f5",
    "band": "#24405f",
    "curve": "#9cc6f5",
}
STATUS: dict[str, str] = {
    "proved": "#009e73",
    "unknown": "#e69f00",
    "refuted": "#d55e00",
    "budget": "#f0e442",
    "user": "#cc79a7",
    "on-status": "#000000",
}
"""The same colours on light and dark pages."""

_DRAWN = frozenset({"ink", "muted", "line", "kernel-line", "block-line", "loop-line", "hatch", "curve"})
FORCED: dict[str, str] = {
    name: "Highlight" if name == "select" else "CanvasText" if name in _DRAWN else "Canvas" for name in LIGHT
} | {"band": "GrayText", "faint": "GrayText"}
"""The colours where the system forces its own: fills are its page, lines and texts its text; outlines, patterns and
letters still tell the statuses apart, and status fills stay."""


@dataclass(frozen=True, slots=True)
class Style:
    """How shapes or edges of one kind are drawn; colours are names in the tables above."""

    kind: str
    fill: str = "none"
    stroke: str = "line"
    width: float = 1.5
    dash: str = ""
    pattern: str = ""
    ink: str = "ink"
    """Colour of the texts on it."""


STYLES: dict[str, Style] = {
    s.kind: s
    for s in (
        # sGraph
        Style("frame-kernel", "kernel", "kernel-line"),
        Style("frame-block", "block", "block-line"),
        Style("frame-loop", "loop", "loop-line", 2.0),
        Style("plate-kernel", "kernel", "none", 0.0),
        Style("plate-block", "block", "none", 0.0),
        Style("plate-loop", "loop", "none", 0.0),
        Style("tensor", "tensor"),
        Style("result", "tensor", "ink", 2.0),
        Style("op", "surface"),
        Style("load", "surface", "block-line"),
        Style("store", "surface", "block-line"),
        Style("accum", "accum", "ink", 2.0),
        Style("custom", "block", "block-line", 2.0),
        Style("chip-partitioned", "chip", "line", 1.0),
        Style("chip-full", "none", "line", 1.0, "2 2", ink="muted"),
        Style("chip-open", "unknown", "ink", 1.0, ink="on-status"),
        Style("button", "surface", "line", 1.0),
        Style("edge", stroke="line"),
        Style("edge-loop", stroke="loop-line"),
        # search map
        Style("expanded", "grey", "line", 0.8),
        Style("frontier", "none", "line", 1.5),
        Style("family", "family", "ink", 1.5),
        Style("proved", "proved", "ink", 1.5, ink="on-status"),
        Style("unknown", "unknown", "ink", 1.5, pattern="dots", ink="on-status"),
        Style("refuted", "refuted", "ink", 1.5, ink="on-status"),
        Style("pruned-sound", "pruned", "line", 0.8, pattern="hatch"),
        Style("pruned-heuristic", "pruned", "ink", 1.5, "4 2", "sparse"),
        Style("pruned-budget", "budget", "ink", 1.0, pattern="dashes", ink="on-status"),
        Style("pruned-user", "user", "ink", 1.5, pattern="cross", ink="on-status"),
        Style("leader", stroke="line", width=1.0, dash="2 2"),
        Style("aggregate", "grey", "line", 0.8, pattern="weave"),
        # comparison of two searches
        Style("only-a", "loop", "ink", 1.2, pattern="hatch"),
        Style("only-b", "accum", "ink", 1.2, "5 2", pattern="weave"),
        Style("other-fate", "unknown", "ink", 2.0, ink="on-status"),
        Style("other-reason", "pruned", "ink", 1.5, "2 2"),
        Style("same", "surface", "line", 0.8),
        # e-graph
        Style("eclass", "surface", "line"),
        Style("eclass-shared", "surface", "ink", 2.5),
        Style("eclass-merged", "surface", "ink", 3.0, "8 2"),
        Style("eclass-focus", "surface", "select", 3.0),
        Style("enode-new", "surface", "ink", 2.0, "4 2"),
        Style("enode-marked", "band", "ink", 2.5),
        Style("of-program", "tensor", "kernel-line"),
        Style("of-candidate", "block", "block-line"),
        Style("edge-member", stroke="line", width=1.2),
        # charts
        Style("axis", stroke="line", width=1.0),
        Style("grid", stroke="faint", width=1.0),
        Style("curve", stroke="curve", width=2.5),
        Style("curve-2", stroke="ink", width=2.0, dash="6 3"),
        Style("curve-3", stroke="muted", width=2.0, dash="2 3"),
        Style("band", "band", "none", 0.0),
        Style("spread", stroke="line", width=1.2),
        Style("trial", "surface", "ink", 1.2),
        Style("trial-best", "proved", "ink", 1.5, ink="on-status"),
        Style("trial-failed", stroke="ink", width=2.0),
        Style("baseline", stroke="ink", width=1.5),
        Style("modelled", stroke="ink", width=1.5, dash="7 4"),
        Style("roof", stroke="ink", width=2.0),
        Style("trial-line", stroke="line", width=1.2),
        Style("trial-outside", stroke="faint", width=1.0, dash="2 3"),
        Style("plate", "page", "none", 0.0),
        Style("tree-link", stroke="line", width=1.0),
        Style("tree-row", stroke="none", width=0.0),
        Style("collapsed-row", stroke="none", width=0.0),
        Style("collapsed", "surface", "line", 1.5, "4 2", "weave"),
        Style("toggle", "page", "none", 0.0),
        Style("pattern-marked", stroke="select", width=2.0, dash="6 2"),
        Style("occurrence", stroke="select", width=2.5, dash="5 2"),
        Style("bar-uncertain", "band", "line", 1.0, "3 3"),
        Style("bar", "band", "line", 1.0),
        # everywhere
        Style("plain", stroke="none", width=0.0),
        Style("badge-accepted", stroke="select", width=3.0),
        Style("badge-best", "ink", "page", 1.0, ink="page"),
        Style("badge-cross", stroke="on-status", width=2.0),
        Style("warning", "budget", "ink", 1.5, ink="on-status"),
    )
}

_SANS = 'ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'
_MONO = 'ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", "DejaVu Sans Mono", monospace'


@dataclass(frozen=True, slots=True)
class TextStyle:
    """Font of one kind of text. Units: px, at least 12."""

    kind: str
    size: float
    weight: int = 400
    mono: bool = False
    ink: str = ""
    """Colour of the text; empty for the ink of its item."""


TEXTS: dict[str, TextStyle] = {
    t.kind: t
    for t in (
        TextStyle("title", 15, 600),
        TextStyle("heading", 13, 600),
        TextStyle("label", 13, 600),
        TextStyle("body", 13),
        TextStyle("mono", 12, mono=True),
        TextStyle("mono-muted", 12, mono=True, ink="muted"),
        TextStyle("sizes", 12, 600, mono=True, ink="curve"),
        TextStyle("small", 12),
        TextStyle("muted", 12, ink="muted"),
        TextStyle("letter", 12, 700),
    )
}

PATTERNS: dict[str, tuple[int, str]] = {
    "hatch": (6, "M-1,1 L1,-1 M0,6 L6,0 M5,7 L7,5"),
    "sparse": (12, "M-1,1 L1,-1 M0,12 L12,0 M11,13 L13,11"),
    "dots": (8, "M2,1.2 a.9,.9 0 1 0 .01,0 M6,5.2 a.9,.9 0 1 0 .01,0"),
    "dashes": (8, "M0,2 H5 M4,6 H8 M0,6 H1"),
    "cross": (8, "M-1,1 L1,-1 M0,8 L8,0 M7,9 L9,7 M-1,7 L1,9 M0,0 L8,8 M7,-1 L9,1"),
    "weave": (6, "M0,1.5 H3 M3,4.5 H6"),
}
"""Per pattern, the side of its square in px and the path drawn in it."""


def ink_of(pattern: str) -> str:
    """CSS class of the lines of a pattern: black on status fills, which are the same on light and dark pages."""
    on_status = any(s.fill in STATUS for s in STYLES.values() if s.pattern == pattern)
    return "ink-status" if on_status else "ink-hatch"


def css(scope: str = ".prism-scene", kinds: Collection[str] = frozenset(STYLES)) -> str:
    """The style sheet of scenes: variables for light and dark, then one rule per kind.

    The theme of the notebook selects light or dark; without one, the setting of the system does. The attribute
    `data-theme` of the scope, or of one around it, which the explorer sets from the page around it, overrides both.

    Args:
        scope: selector of the element around a scene.
        kinds: the kinds of items that it is for.
    """
    status = "".join(f"--pe-{k}:{v};" for k, v in STATUS.items())
    light = "".join(f"--pe-{k}:{v};" for k, v in LIGHT.items())
    dark = "".join(f"--pe-{k}:{v};" for k, v in DARK.items())
    forced = "".join(f"--pe-{k}:{v}!important;" for k, v in FORCED.items())
    lines = [
        f"{scope}{{{status}font-family:{_SANS};}}",
        f"{scope},{_in_theme(scope, 'true', 'light')}{{{light}}}",
        f"@media (prefers-color-scheme:dark){{{scope}{{{dark}}}}}",
        f"{_in_theme(scope, 'false', 'dark')}{{{dark}}}",
        f"@media (forced-colors:active){{{scope}{{{forced}}}{scope} svg,svg{scope}{{forced-color-adjust:none;}}}}",
        f"{scope} text{{fill:var(--pe-ink);stroke:none;pointer-events:none;white-space:pre;}}",
        f"{scope} .page{{fill:var(--pe-page);}}",
        f"{scope} .pattern{{pointer-events:none;stroke:none;}}",
        f"{scope} .ink-hatch{{stroke:var(--pe-hatch);fill:none;stroke-width:1.2;}}",
        f"{scope} .ink-status{{stroke:#000;fill:none;stroke-opacity:.45;stroke-width:1.1;}}",
        f"{scope} .head{{fill:var(--pe-line);stroke:none;}}",
        f"{scope} .item.selected>.body{{stroke:var(--pe-select);stroke-width:3px;}}",
        f"{scope} .item:focus-visible{{outline:2px solid var(--pe-select);outline-offset:2px;}}",
        f"{scope} .item.band>.body{{stroke:none;}}",
    ]
    lines += [_text_rule(scope, t) for t in TEXTS.values()]
    lines += [rule for s in STYLES.values() if s.kind in kinds for rule in _rules(scope, s)]
    return "\n".join(lines)


def _in_theme(scope: str, is_light: str, theme: str) -> str:
    """The selectors of scenes on a page with a theme; the attribute `data-theme` is more specific than the page."""
    page = f"[data-jp-theme-light='{is_light}'] {scope},.vscode-{theme} {scope}"
    return f"{page},{scope}{scope}[data-theme='{theme}'],{scope}[data-theme='{theme}'] {scope}"


def _text_rule(scope: str, style: TextStyle) -> str:
    family = f"font-family:{_MONO};" if style.mono else ""
    ink = f"fill:var(--pe-{style.ink});" if style.ink else ""
    return f"{scope} .t-{style.kind}{{font-size:{style.size:g}px;font-weight:{style.weight};{family}{ink}}}"


def _rules(scope: str, style: Style) -> list[str]:
    fill = "none" if style.fill == "none" else f"var(--pe-{style.fill})"
    stroke = "none" if style.stroke == "none" else f"var(--pe-{style.stroke})"
    dash = f"stroke-dasharray:{style.dash};" if style.dash else ""
    body = f"fill:{fill};stroke:{stroke};stroke-width:{style.width:g}px;{dash}"
    rules = [f"{scope} .k-{style.kind}>.body{{{body}}}"]
    if style.ink != "ink":
        rules.append(f"{scope} .k-{style.kind}>text{{fill:var(--pe-{style.ink});}}")
    if style.pattern:
        halo = f"paint-order:stroke;stroke:{fill};stroke-width:4px;stroke-linejoin:round;"
        rules.append(f"{scope} .k-{style.kind}>text{{{halo}}}")
    return rules
