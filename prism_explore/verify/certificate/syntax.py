"""Notations for terms: `lisp` for certificates and `egglog` for egglog.

A notation renders one operator around its rendered arguments, so trees (expressions) and shared terms (derivations) use
the same one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeAlias

from prism_explore.verify.axioms import number
from prism_explore.verify.certificate.expressions import Expr, children, head

Notation: TypeAlias = Callable[[str, str, Sequence[str]], str]
"""Renders an operator with its label and its rendered arguments."""


def render(e: Expr, notation: Notation) -> str:
    """An expression in a notation."""
    return notation(*head(e), [render(x, notation) for x in children(e)])


def lisp(op: str, label: str, inside: Sequence[str]) -> str:
    """The notation of certificates."""
    return f"({' '.join(word for word in (op, label, *inside) if word)})"


def egglog(op: str, label: str, inside: Sequence[str]) -> str:
    """The notation of egglog; an element is one opaque word, and so is the index up to which a running maximum goes."""
    if op == "num":
        value = Fraction(label)
        return f"(Num {number(value.numerator, value.denominator)})"
    words = label.split(" ", 1) if op == "upto" else [label] if label else []
    quoted = (f'"{quote(word)}"' for word in words)
    return f"({' '.join([op.capitalize(), *quoted, *inside])})"


def quote(word: str) -> str:
    """A word without double quotes."""
    return word.replace('"', "'")
