"""How terms are written: one walk over a term, several hands.

`lisp` is a certificate's, `egglog` is egglog's. A hand writes one operator around what is inside, so that
expressions, which are trees, and ledgers, which share terms, are written by the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeAlias

from prism_explore.verify.axioms import number
from prism_explore.verify.certificate.expressions import Expr, children, head

Hand: TypeAlias = Callable[[str, str, Sequence[str]], str]
"""Writes an operator with its label around what is inside."""


def written(e: Expr, hand: Hand) -> str:
    """An expression in some hand."""
    return hand(*head(e), [written(x, hand) for x in children(e)])


def lisp(op: str, label: str, inside: Sequence[str]) -> str:
    """A certificate's text."""
    return f"({' '.join(word for word in (op, label, *inside) if word)})"


def egglog(op: str, label: str, inside: Sequence[str]) -> str:
    """egglog's text; an element is one opaque word, and so is the place up to which a maximum runs."""
    if op == "num":
        value = Fraction(label)
        return f"(Num {number(value.numerator, value.denominator)})"
    words = label.split(" ", 1) if op == "upto" else [label] if label else []
    quoted = (f'"{quote(word)}"' for word in words)
    return f"({' '.join([op.capitalize(), *quoted, *inside])})"


def quote(word: str) -> str:
    """A word without the signs that would end it."""
    return word.replace('"', "'")
