from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from prism_explore.widgets.drawing.text_metrics import columns, shorten, wrap_text

TEXTS = st.text("ab c*+,é\u0301漢字Σ", max_size=60)


def columns_one_by_one(text: str) -> int:
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def shorten_one_by_one(text: str, characters: int) -> str:
    line = " ".join(text.split())
    if columns_one_by_one(line) <= characters:
        return line
    while columns_one_by_one(line) > characters - 1:
        line = line[:-1]
    return line.rstrip() + "…"


@given(TEXTS, st.integers(2, 40))
def test_a_text_is_shortened_like_character_by_character(text: str, characters: int) -> None:
    assert columns_one_by_one(text) == columns(text)
    assert shorten_one_by_one(text, characters) == shorten(text, characters)


@given(TEXTS, st.integers(4, 40), st.integers(1, 5))
def test_lines_fit_and_have_all_characters_unless_shortened(text: str, characters: int, max_lines: int) -> None:
    lines = wrap_text(text, characters, max_lines)

    assert len(lines) <= max_lines
    assert all(columns(line) <= characters for line in lines)
    if lines and not lines[-1].endswith("…"):
        assert "".join(text.split()) == "".join("".join(lines).split())
