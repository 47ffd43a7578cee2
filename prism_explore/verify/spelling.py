"""How terms are written: one walk over a term, three hands.

`lisp` is a certificate's, `egglog` is egglog's, `person` is for people. A hand writes one operator around
what is inside, so that expressions, which are trees, and ledgers, which share terms, are written by the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeAlias, assert_never

from prism_explore.verify.axioms import number
from prism_explore.verify.index import Digit, Index, Radix, Var, Zero
from prism_explore.verify.terms import At, Expr, children, head

Hand: TypeAlias = Callable[[str, str, Sequence[str]], str]
"""Writes an operator with its label around what is inside."""


def written(e: Expr, hand: Hand) -> str:
    """An expression in some hand."""
    op, label = head(e)
    if isinstance(e, At):
        label = spell_at(e)
    return hand(op, label, [written(x, hand) for x in children(e)])


def spell_at(e: At) -> str:
    """An element of an input as words: which, and where."""
    return " ".join((e.tensor, *map(spell_index, e.index)))


def spell_index(i: Index) -> str:
    """An index term as text."""
    match i:
        case Zero():
            return "0"
        case Var(name, _):
            return name
        case Radix(parts):
            return f"(radix {' '.join(map(spell_index, parts))})"
        case Digit(base, before, size, after):
            return f'(digit {spell_index(base)} "{before}" "{size}" "{after}")'
        case _:
            assert_never(i)


def lisp(op: str, label: str, inside: Sequence[str]) -> str:
    """A certificate's text."""
    return f"({' '.join(word for word in (op, label, *inside) if word)})"


def egglog(op: str, label: str, inside: Sequence[str]) -> str:
    """egglog's text; an element is one opaque word."""
    match op:
        case "num":
            value = Fraction(label)
            return f"(Num {number(value.numerator, value.denominator)})"
        case _:
            quoted = label.replace('"', "'")
            words = [f'"{quoted}"'] if label else []
            return f"({' '.join([op.capitalize(), *words, *inside])})"
