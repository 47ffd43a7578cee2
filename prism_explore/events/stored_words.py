"""Texts of events that files hold in other words than people read.

Files had the symbol of the papers, A_eq. They keep it: a search that is resumed is compared with its file, so files of
before could not be resumed otherwise. Everything else has the present words.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

STORED: Mapping[str, str] = MappingProxyType(
    {
        "No continuation makes this value a part of the program's result, by the axioms of equality.": (
            "No continuation makes this value a part of the program's result, by A_eq."
        ),
        "Two values that are still unused cannot both be parts of the program's result, by the axioms of equality.": (
            "Two values that are still unused cannot both be parts of the program's result, by A_eq."
        ),
        "the axioms of equality proved more, or the rule expr.unreachable were switched off": (
            "A_eq knew more equalities, or the rule expr.unreachable were switched off"
        ),
        "the axioms of equality proved more, or the rule expr.apart were switched off": (
            "A_eq knew more equalities, or the rule expr.apart were switched off"
        ),
        "those that follow from the axioms of equality on named axes; no cancellation such as x*y/y = x, but of "
        "exponents that the program's own numerators and denominators share": (
            "those that follow from A_eq on named axes; no cancellation such as x*y/y = x, but of "
            "exponents that the program's own numerators and denominators share"
        ),
    }
)
"""Per text, how files have it."""

_PRESENT: Mapping[str, str] = {stored: text for text, stored in STORED.items()}


def stored_words(text: str) -> str:
    """How files have a text."""
    return STORED.get(text, text)


def present_words(text: str) -> str:
    """The inverse of `stored_words`."""
    return _PRESENT.get(text, text)
