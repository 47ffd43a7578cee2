"""Cards of reasons: a formula, what its symbols mean, and other values."""

from __future__ import annotations

from prism_explore.events.kinds import Reason
from prism_explore.widgets.panels.cards import reason_card
from prism_explore.widgets.panels.sections import Card


def card_of(formula: str, **substitution: str) -> Card:
    return reason_card(Reason("a.rule", "generate", "sound", "rule", "A sentence.", formula, substitution))


def test_numbers_are_substituted_and_listed() -> None:
    card = card_of("2*bm > smem", bm="64 B", smem="100 B")

    assert (card.substituted, card.where) == ("2*64 B > 100 B", ())
    assert (("bm", "64 B"), ("smem", "100 B")) == card.details[1:]


def test_formulas_are_definitions_and_are_not_substituted() -> None:
    e, result = "e = g/√(1/1000 + μd x²), e' = x/√(1/1000 + μd x²)", "Σd g·w·x/√(μd x² + 1/1000)"
    card = card_of("result = C[e, e'] for some C", e=e, result=result)

    assert card.substituted == ""
    assert ["e", "e'", "result"] == [d.symbol for d in card.where]
    assert all(d.math.startswith("<math") for d in card.where)
    assert card.details[1:] == ()


def test_other_values_stay_text() -> None:
    card = card_of("axes match", matmul="f32(b, d) against f32(d)", cut="none")

    assert card.where == ()
    assert (("matmul", "f32(b, d) against f32(d)"), ("cut", "none")) == card.details[1:]
