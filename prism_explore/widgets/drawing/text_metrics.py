"""Text metrics: estimate the width of a text without a browser, shorten it, and break it into lines.

Fonts differ between machines. The estimates are those of the widest common font, so a text that fits its box
here fits it everywhere.
"""

from __future__ import annotations

import unicodedata
from itertools import accumulate

from prism_explore.widgets.drawing.colors import TEXTS

MONO_EM = 0.602
"""Width of a letter of DejaVu Sans Mono and Menlo; Consolas and Courier are narrower."""
SANS_EM = 0.60
BOLD_EM = 0.67


def width_px(text: str, kind: str) -> float:
    """An upper estimate of the width of a line."""
    style = TEXTS[kind]
    em = MONO_EM if style.mono else BOLD_EM if style.weight >= 600 else SANS_EM
    return style.size * em * columns(text)


def columns(text: str) -> int:
    """Width in letters: wide letters count as two, combining marks as none."""
    return len(text) if text.isascii() else sum(map(_letter_width, text))


def _letter_width(letter: str) -> int:
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def _longest_prefix(text: str, letters: int) -> str:
    """The longest prefix that is at most `letters` wide."""
    if text.isascii():
        return text[:letters]
    widths = accumulate(map(_letter_width, text))
    return text[: next((end for end, width in enumerate(widths) if width > letters), len(text))]


def line_px(kind: str) -> float:
    """The height of a line."""
    return TEXTS[kind].size + 4


def shorten(text: str, letters: int) -> str:
    """The text on one line; a longer text ends in an ellipsis."""
    line = " ".join(text.split())
    if columns(line) <= letters:
        return line
    return _longest_prefix(line, letters - 1).rstrip() + "…"


def wrapped(text: str, letters: int, most: int) -> list[str]:
    """The text in at most `most` lines, broken after spaces or operators; the last line is shortened if needed."""
    lines: list[str] = []
    rest = " ".join(text.split())
    while rest and len(lines) < most:
        if columns(rest) <= letters:
            return [*lines, rest]
        if len(lines) == most - 1:
            return [*lines, shorten(rest, letters)]
        end = max(1, min(letters, len(_longest_prefix(rest, letters))))
        cut = max((rest.rfind(c, letters // 2, end) for c in " *+/,)"), default=-1) + 1 or end
        lines.append(rest[:cut].rstrip())
        rest = rest[cut:].lstrip()
    return lines
