"""Formulas as trees, and their value for given numbers.

A sum, a mean and a maximum over an index are `Reduction`s. A quotient is a product with a power of exponent -1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias, assert_never

Bound: TypeAlias = tuple[str, str]
"""An index and its extent, both as text; the extent is empty where the text does not state it."""


@dataclass(frozen=True, slots=True)
class Number:
    """An exact rational."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class Symbol:
    """A size, a scalar, or an abstract tensor."""

    name: str


@dataclass(frozen=True, slots=True)
class Element:
    """An element of a tensor, such as `x[p0,k1]`; the indices are text."""

    tensor: str
    indices: str


@dataclass(frozen=True, slots=True)
class Condition:
    """1 where a condition on indices holds, else 0; the condition is text."""

    text: str


@dataclass(frozen=True, slots=True)
class Reduction:
    """A sum, a mean or a maximum of `body` over indices."""

    kind: Literal["sum", "mean", "max"]
    bounds: tuple[Bound, ...]
    body: Formula


@dataclass(frozen=True, slots=True)
class Call:
    """A function of its arguments."""

    function: str
    arguments: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Power:
    """A base with a constant exponent."""

    base: Formula
    exponent: Fraction


@dataclass(frozen=True, slots=True)
class Product:
    """A product of at least two factors."""

    factors: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Add:
    """A sum of at least two terms."""

    terms: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Relation:
    """Two formulas and the sign between them, such as ≤."""

    sign: str
    left: Formula
    right: Formula


@dataclass(frozen=True, slots=True)
class Words:
    """Text in a formula."""

    text: str


@dataclass(frozen=True, slots=True)
class Row:
    """Formulas and words next to one another."""

    parts: tuple[Formula, ...]


Formula: TypeAlias = (
    Number | Symbol | Element | Condition | Reduction | Call | Power | Product | Add | Relation | Words | Row
)


def extent_of(bounds: tuple[Bound, ...]) -> int | None:
    """The number of index values of a reduction; None if an extent is not a number."""
    extents = [extent for _, extent in bounds]
    return math.prod(int(e) for e in extents) if all(e.isdecimal() for e in extents) else None


def evaluate(formula: Formula, value_of: Callable[[str], float]) -> float:
    """The value of a formula whose elements do not depend on the indices of its reductions.

    The slow, plain meaning that simplified formulas are tested against.

    Args:
        formula: without relations and words.
        value_of: the value of an atom, of an extent that is not a number, and of a call, each by its text.
    """

    def value(f: Formula) -> float:
        match f:
            case Number(v):
                return float(v)
            case Symbol(name):
                return value_of(name)
            case Element(tensor, indices):
                return value_of(f"{tensor}[{indices}]")
            case Condition(text):
                return value_of(f"[{text}]")
            case Reduction(kind, bounds, body):
                extents = [float(e) if e.isdecimal() else value_of(e or i) for i, e in bounds]
                return value(body) * (math.prod(extents) if kind == "sum" else 1.0)
            case Call("exp", (argument,)):
                return math.exp(value(argument))
            case Call(function, arguments):
                return value_of(function) * (1 + sum((n + 1) * value(a) for n, a in enumerate(arguments)))
            case Power(base, exponent):
                return value(base) ** float(exponent)
            case Product(factors):
                return math.prod(value(a) for a in factors)
            case Add(terms):
                return sum(value(a) for a in terms)
            case Relation() | Words() | Row():
                raise ValueError(f"{f} has no value")
            case _:
                assert_never(f)

    return value(formula)
