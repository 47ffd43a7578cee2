"""Simplify a normal form for reading: means, roots of means, and no constants like 1/8000 5^1/2.

Normal forms have exact rational coefficients and products of prime powers, since the prover compares them term by term.
Here √(10⁻⁶ + mean x²) is written as one root again::

    1/8000 5^1/2 (128 + 3125 Σ_{k1:4096} x[p0,k1]^2)^1/2    is    √(1/1000000 + mean_k1 x[p0,k1]^2)

Every rule keeps the value (`tree.evaluate`), which a test checks for random formulas.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from fractions import Fraction
from typing import assert_never

from prism_explore.widgets.formulas.parse import product
from prism_explore.widgets.formulas.tree import (
    Add,
    Call,
    Condition,
    Element,
    Formula,
    Number,
    Power,
    Product,
    Reduction,
    Relation,
    Row,
    Symbol,
    Words,
    extent_of,
)

_HALF = Fraction(1, 2)
_INDEX = re.compile(r"[A-Za-z]\w*")
_MAX_EXACT = 10**12
"""Constants with more digits are not moved into roots."""
_MAX_SQUARE = 10**8
"""Squares are looked for only in smaller numbers."""


def simplify(formula: Formula) -> Formula:
    """The same value in a form that is easier to read."""
    match formula:
        case Number() | Symbol() | Element() | Condition() | Words():
            return formula
        case Reduction():
            return _reduction(replace(formula, body=simplify(formula.body)))
        case Call():
            arguments = tuple(simplify(a) for a in formula.arguments)
            if formula.function == "bottom":  # 0 where the condition holds, else minus infinity.
                return Call("log", arguments)
            return replace(formula, arguments=arguments)
        case Power(Call("exp", (argument,)), exponent):
            return Call("exp", (simplify(_scaled(argument, exponent)),))
        case Power():
            return _product((replace(formula, base=simplify(formula.base)),))
        case Product():
            return _product(tuple(simplify(f) for f in formula.factors))
        case Add():
            return replace(formula, terms=tuple(simplify(t) for t in formula.terms))
        case Relation():
            return replace(formula, left=simplify(formula.left), right=simplify(formula.right))
        case Row():
            return replace(formula, parts=tuple(simplify(p) for p in formula.parts))
        case _:
            assert_never(formula)


def _scaled(formula: Formula, factor: Fraction) -> Formula:
    """A formula times a constant; in a sum, every term."""
    if isinstance(formula, Add):
        return Add(tuple(_scaled(t, factor) for t in formula.terms))
    if isinstance(formula, Product) and isinstance(formula.factors[0], Number):
        return product((Number(formula.factors[0].value * factor), *formula.factors[1:]))
    if isinstance(formula, Number):
        return Number(formula.value * factor)
    return product((Number(factor), formula))


def _reduction(formula: Reduction) -> Formula:
    """A reduction; factors without its indices are moved out of it."""
    if formula.kind == "max" or not isinstance(formula.body, Product):
        return formula
    indices = {index for index, _ in formula.bounds}
    constant = tuple(f for f in formula.body.factors if not _varies(f, indices))
    rest = tuple(f for f in formula.body.factors if _varies(f, indices))
    if not constant or not rest:
        return formula
    return _product((*constant, replace(formula, body=product(rest))))


def _varies(formula: Formula, indices: set[str]) -> bool:
    """Whether a formula has one of these indices, or an abstract tensor, whose indices are not written."""
    match formula:
        case Number():
            return False
        case Symbol() | Words():
            return True
        case Element(_, text) | Condition(text):
            return not indices.isdisjoint(_INDEX.findall(text))
        case Reduction() | Power():
            return _varies(formula.body if isinstance(formula, Reduction) else formula.base, indices)
        case Call() | Product() | Add() | Relation() | Row():
            return any(_varies(f, indices) for f in _parts(formula))
        case _:
            assert_never(formula)


def _parts(formula: Call | Product | Add | Relation | Row) -> tuple[Formula, ...]:
    match formula:
        case Call():
            return formula.arguments
        case Product():
            return formula.factors
        case Add():
            return formula.terms
        case Relation():
            return (formula.left, formula.right)
        case Row():
            return formula.parts
        case _:
            assert_never(formula)


def _product(factors: tuple[Formula, ...]) -> Formula:
    """A product: constants collected, moved into a root where that makes a mean."""
    flat = product(factors)
    parts = list(flat.factors) if isinstance(flat, Product) else [flat]
    coefficient, radicand, rest = Fraction(1), Fraction(1), list[Formula]()
    for part in parts:
        match part:
            case Number(value):
                coefficient *= value
            case Power(Number(value), exponent) if value > 0 and (2 * exponent).denominator == 1:
                # value^(n/2) = value^(n // 2) times, for an odd n, its root.
                twice = int(2 * exponent)
                coefficient *= value ** (twice // 2)
                radicand *= value if twice % 2 else 1
            case _:
                rest.append(part)
    square = coefficient**2 * radicand
    for n, part in enumerate(rest):
        if isinstance(part, Power) and abs(part.exponent) == _HALF and (folded := _fold(part, square)) is not None:
            rest[n] = folded
            return product((Number(Fraction(-1 if coefficient < 0 else 1)), *rest))
    mean = _mean(coefficient, rest) if radicand == 1 else None
    if mean is not None:
        return mean
    coefficient, radicand = _square_free(coefficient, radicand)
    root = (Power(Number(radicand), _HALF),) if radicand != 1 else ()
    return product((Number(coefficient), *root, *rest))


def _square_free(coefficient: Fraction, radicand: Fraction) -> tuple[Fraction, Fraction]:
    """Move the squares of a radicand into the coefficient; a root of a fraction becomes one of an integer."""
    inside = radicand.numerator * radicand.denominator
    coefficient /= radicand.denominator
    if inside < _MAX_SQUARE:
        for d in range(math.isqrt(inside), 1, -1):
            if inside % (d * d) == 0:
                return coefficient * d, Fraction(inside // (d * d))
    return coefficient, Fraction(inside)


def _mean(coefficient: Fraction, rest: list[Formula]) -> Formula | None:
    """1/n times a sum over n values is a mean."""
    for n, part in enumerate(rest):
        extent = extent_of(part.bounds) if isinstance(part, Reduction) and part.kind == "sum" else None
        if extent is not None and abs(coefficient) * extent == 1:
            sign = Number(Fraction(-1 if coefficient < 0 else 1))
            return product((sign, *rest[:n], replace(part, kind="mean"), *rest[n + 1 :]))
    return None


def _fold(root: Power, square: Fraction) -> Power | None:
    """√square times a root as one root, if a sum in it becomes a mean; else None."""
    scale = square if root.exponent > 0 else 1 / square
    if max(scale.numerator, scale.denominator) > _MAX_EXACT:
        return None
    base = simplify(_scaled(root.base, scale))
    terms = base.terms if isinstance(base, Add) else (base,)
    return Power(base, root.exponent) if any(_has_mean(t) for t in terms) else None


def _has_mean(term: Formula) -> bool:
    factors = term.factors if isinstance(term, Product) else (term,)
    return any(isinstance(f, Reduction) and f.kind == "mean" for f in factors)
