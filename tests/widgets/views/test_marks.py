from __future__ import annotations

from typing import get_args

import pytest

from prism_explore.events.kinds import Soundness
from prism_explore.widgets.drawing.colors import STYLES
from prism_explore.widgets.views.marks import FAMILY_OUTLINES, LEGEND, PRUNED_KINDS, letter_of


@pytest.mark.parametrize(
    ("letter", "code"),
    [
        ("E", "expr.unreachable"),
        ("D", "dup.canonical"),
        ("M", "mem.smem"),
        ("M", "mem.other"),
        ("$", "budget.nodes"),
        ("Z", "zeal"),
    ],
)
def test_a_reason_has_a_letter(letter: str, code: str) -> None:
    assert letter == letter_of(code, "sound")
    assert letter + "h" == letter_of(code, "heuristic")


def test_every_mark_has_a_style_and_every_soundness_a_mark() -> None:
    assert set(get_args(Soundness)) == set(PRUNED_KINDS)
    assert {*PRUNED_KINDS.values(), *FAMILY_OUTLINES, *(kind for kind, _, _ in LEGEND)} <= set(STYLES)
