"""Text metrics: estimate the width of a text without a browser, shorten it, and break it into lines.

Fonts differ between machines. The estimates are those of the widest common font, so a text that fits its box by
estimate fits it on every machine.
"""

from __future__ import annotations

import unicodedata
from itertools import accumulate

from prism_explore.support.caches import memoize
from prism_explore.widgets.drawing.colors import TEXTS

MONO_EM = 0.602
"""Width of a character of DejaVu Sans Mono and Menlo; Consolas and Courier are narrower."""
SANS_EM = 0.60
BOLD_EM = 0.67


def width_px(text: str, kind: str) -> float:
    """An upper estimate of the width of a line."""
    style = TEXTS[kind]
    em = MONO_EM if style.mono else BOLD_EM if style.weight >= 600 else SANS_EM
    return style.size * em * columns(text)


def columns(text: str) -> int:
    """Width in characters: wide characters count as two, combining marks as none."""
    return len(text) if text.isascii() else sum(map(_character_width, text))


@memoize(4096)
def _character_width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _longest_prefix(text: str, characters: int) -> str:
    """The longest prefix that is at most `characters` wide."""
    if text.isascii():
        return text[:characters]
    widths = accumulate(map(_character_width, text))
    return text[: next((end for end, width in enumerate(widths) if width > characters), len(text))]


def line_px(kind: str) -> float:
    """The height of a line."""
    return TEXTS[kind].size + 4


def shorten(text: str, characters: int) -> str:
    """The text on one line; a longer text ends in an ellipsis."""
    line = " ".join(text.split())
    if columns(line) <= characters:
        return line
    return _longest_prefix(line, characters - 1).rstrip() + "…"


def wrap_text(text: str, characters: int, max_lines: int) -> list[str]:
    """Break a text into lines, after spaces or operators; the last line is shortened if needed."""
    lines: list[str] = []
    rest = " ".join(text.split())
    while rest and len(lines) < max_lines:
        if columns(rest) <= characters:
            return [*lines, rest]
        if len(lines) == max_lines - 1:
            return [*lines, shorten(rest, characters)]
        end = max(1, min(characters, len(_longest_prefix(rest, characters))))
        split = max((rest.rfind(c, characters // 2, end) for c in " *+/,)"), default=-1) + 1 or end
        lines.append(rest[:split].rstrip())
        rest = rest[split:].lstrip()
    return lines
