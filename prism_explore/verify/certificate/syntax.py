"""Notations of terms: s-expressions for certificates, and the syntax of egglog.

A notation renders one operator with its rendered arguments, so trees (expressions) and shared terms (derivations) use
the same notations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeAlias

from prism_explore.verify.axioms import number
from prism_explore.verify.certificate.expressions import Expr, children, operator_and_label

Notation: TypeAlias = Callable[[str, str, Sequence[str]], str]
"""Renders an operator with its label and its rendered arguments."""


def render(e: Expr, notation: Notation) -> str:
    """An expression in a notation."""
    return notation(*operator_and_label(e), [render(x, notation) for x in children(e)])


def certificate_notation(op: str, label: str, inside: Sequence[str]) -> str:
    """The notation of certificates: an s-expression of operator, label and arguments."""
    return f"({' '.join(word for word in (op, label, *inside) if word)})"


def egglog_notation(op: str, label: str, inside: Sequence[str]) -> str:
    """The notation of egglog; the indices of an element are one string, as is the index of a running maximum."""
    if op == "num":
        value = Fraction(label)
        return f"(Num {number(value.numerator, value.denominator)})"
    words = label.split(" ", 1) if op == "upto" else [label] if label else []
    quoted = (f'"{without_quotes(word)}"' for word in words)
    return f"({' '.join([op.capitalize(), *quoted, *inside])})"


def without_quotes(word: str) -> str:
    """A label with its double quotes replaced by single ones, for a string of egglog."""
    return word.replace('"', "'")
