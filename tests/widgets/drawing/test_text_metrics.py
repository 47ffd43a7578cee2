from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from prism_explore.widgets.drawing.text_metrics import columns, shorten, wrapped

LETTERS = st.text("ab c*+,é\u0301漢字Σ", max_size=60)


def columns_one_by_one(text: str) -> int:
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def shorten_letter_by_letter(text: str, letters: int) -> str:
    line = " ".join(text.split())
    if columns_one_by_one(line) <= letters:
        return line
    while columns_one_by_one(line) > letters - 1:
        line = line[:-1]
    return line.rstrip() + "…"


@given(LETTERS, st.integers(2, 40))
def test_a_text_is_shortened_as_letter_by_letter(text: str, letters: int) -> None:
    assert columns_one_by_one(text) == columns(text)
    assert shorten_letter_by_letter(text, letters) == shorten(text, letters)


@given(LETTERS, st.integers(4, 40), st.integers(1, 5))
def test_no_line_is_too_wide_and_nothing_is_lost_but_what_is_shortened(text: str, letters: int, most: int) -> None:
    lines = wrapped(text, letters, most)

    assert len(lines) <= most
    assert all(columns(line) <= letters for line in lines)
    if lines and not lines[-1].endswith("…"):
        assert "".join(text.split()) == "".join("".join(lines).split())
