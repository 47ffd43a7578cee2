"""Typeset formulas as MathML, which every current browser draws without a library.

Output: the text of a `math` element. All names are escaped text, and there are no attributes with text of users.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import assert_never
from xml.etree.ElementTree import Element as Tag
from xml.etree.ElementTree import tostring

from prism_explore.support.caches import memoize
from prism_explore.widgets.formulas.parse import parse_formula, product
from prism_explore.widgets.formulas.simplify import simplify
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
)

MAX_DIGITS = 6
"""A fraction with more digits in its denominator is shown as a decimal with an ellipsis."""
_NAME = re.compile(r"(?P<letters>[^\d'_]+)(?P<subscript>[\d_]+)(?P<primes>'*)")
_INDEX_TOKEN = re.compile(r"<=|>=|[<>(),+*/|-]|\d+|[^\W\d]\w*'*")
_SIGNS = {"<=": "≤", ">=": "≥", "*": "·", "-": "−"}
_SUBSCRIPTS = str.maketrans("0123456789_", "₀₁₂₃₄₅₆₇₈₉,")
_REDUCTIONS = {"sum": "∑", "mean": "mean", "max": "max"}
_ARGUMENT, _SUMMAND, _FACTOR = 0, 1, 2
"""How tightly a formula binds: in parentheses or alone, between plus signs, between factors."""


@memoize(4096)
def to_mathml(text: str) -> str:
    """The MathML of the text of a formula, simplified for reading; empty if the text is not a formula."""
    formula = parse_formula(text)
    if formula is None:
        return ""
    math = Tag("math", {"displaystyle": "true"})
    math.append(_typeset(simplify(formula), _ARGUMENT))
    return tostring(math, encoding="unicode")


# ---------------------------------------------------------------- elements
def _tag(name: str, *children: Tag | str) -> Tag:
    tag = Tag(name)
    for child in children:
        if isinstance(child, str):
            tag.text = child
        else:
            tag.append(child)
    return tag


def _row(*children: Tag) -> Tag:
    return children[0] if len(children) == 1 else _tag("mrow", *children)


def _sign(text: str) -> Tag:
    return _tag("mo", text)


def _parenthesized(*inside: Tag) -> Tag:
    return _tag("mrow", _sign("("), *inside, _sign(")"))


def _name(text: str) -> Tag:
    """A name; digits at its end become subscripts, as characters, because nested subscripts are too small to read."""
    found = _NAME.fullmatch(text)
    if found is None or text.startswith("%"):
        return _tag("mi", text)
    return _tag("mi", found["letters"] + found["subscript"].strip("_").translate(_SUBSCRIPTS) + found["primes"])


def _indices(text: str) -> list[Tag]:
    """Indices of a tensor, or a condition on them: `(x,p0),k1`, `p1-p0<=0`."""
    tokens = _INDEX_TOKEN.findall(text)
    if "".join(tokens) != text.replace(" ", ""):
        return [_tag("mtext", text)]
    return [_index_token(t) for t in tokens]


def _index_token(text: str) -> Tag:
    if text.isdecimal():
        return _tag("mn", text)
    return _name(text) if text[0].isalpha() or text[0] == "_" else _small_sign(_SIGNS.get(text, text))


def _small_sign(text: str) -> Tag:
    """A sign, or a bracket that does not grow with its content."""
    sign = _sign(text)
    sign.set("stretchy", "false")
    return sign


def _bracketed(text: str) -> list[Tag]:
    return [_small_sign("["), *_indices(text), _small_sign("]")]


def _number(value: Fraction) -> Tag:
    if value < 0:
        return _tag("mrow", _sign("−"), _number(-value))
    if value.denominator == 1:
        return _tag("mn", f"{value.numerator}")
    digits = str(value.denominator)
    if value.numerator == 1 and len(digits) > 3 and digits.strip("0") == "1":
        return _tag("msup", _tag("mn", "10"), _tag("mrow", _sign("−"), _tag("mn", str(len(digits) - 1))))
    if len(digits) > MAX_DIGITS:
        return _tag("mn", f"{float(value):.5g}…")
    return _tag("mfrac", _tag("mn", str(value.numerator)), _tag("mn", digits))


# ---------------------------------------------------------------- formulas
def _typeset(formula: Formula, binding: int) -> Tag:
    """A formula, in parentheses if it binds less tightly than its surroundings."""
    match formula:
        case Number(value):
            tag = _number(value)
            return _parenthesized(tag) if value < 0 and binding == _FACTOR else tag
        case Symbol(name):
            return _name(name)
        case Words(text):
            return _tag("mtext", text)
        case Element(tensor, indices):
            return _tag("mrow", _name(tensor), *_bracketed(indices))
        case Condition(text):
            return _tag("mrow", *_bracketed(text))
        case Reduction():
            tag = _reduction(formula)
            return _parenthesized(tag) if binding == _FACTOR else tag
        case Call("exp", (argument,)):
            return _row(_tag("mi", "exp"), _parenthesized(_typeset(argument, _ARGUMENT)))
        case Call(function, arguments):
            inside: list[Tag] = []
            for n, argument in enumerate(arguments):
                inside += ([_sign(",")] if n else []) + [_typeset(argument, _ARGUMENT)]
            return _row(_name(function), _parenthesized(*inside))
        case Power(base, exponent):
            return _power(base, exponent)
        case Product():
            tag = _product(formula)
            return _parenthesized(tag) if binding == _FACTOR else tag
        case Add(terms):
            tag = _tag("mrow", *_terms(terms))
            return _parenthesized(tag) if binding > _ARGUMENT else tag
        case Relation(sign, left, right):
            return _row(_typeset(left, _ARGUMENT), _sign(_SIGNS.get(sign, sign)), _typeset(right, _ARGUMENT))
        case Row(parts):
            return _tag("mrow", *(_typeset(p, _ARGUMENT) for p in parts))
        case _:
            assert_never(formula)


def _terms(terms: tuple[Formula, ...]) -> list[Tag]:
    tags: list[Tag] = []
    for n, term in enumerate(terms):
        positive = _without_sign(term)
        if positive is not None:
            tags += [_sign("−"), _typeset(positive, _SUMMAND)]
        else:
            tags += ([_sign("+")] if n else []) + [_typeset(term, _SUMMAND)]
    return tags


def _without_sign(term: Formula) -> Formula | None:
    """Minus a term, if that has no minus sign; else None."""
    match term:
        case Number(value) if value < 0:
            return Number(-value)
        case Product((Number(value), *rest)) if value < 0:
            return product((Number(-value), *rest))
        case _:
            return None


def _reduction(formula: Reduction) -> Tag:
    bounds: list[Tag] = []
    for n, (index, extent) in enumerate(formula.bounds):
        bounds += [_sign(",")] if n else []
        bounds += _indices(index)
        bounds += [_sign("<"), *_indices(extent)] if extent else []
    under = _tag("munder", _sign(_REDUCTIONS[formula.kind]), _tag("mrow", *bounds))
    return _tag("mrow", under, _typeset(formula.body, _SUMMAND))


def _power(base: Formula, exponent: Fraction) -> Tag:
    if exponent < 0:
        return _tag("mfrac", _tag("mn", "1"), _power(base, -exponent))
    if exponent == 1:
        return _typeset(base, _ARGUMENT)
    if exponent == Fraction(1, 2):
        return _tag("msqrt", _typeset(base, _ARGUMENT))
    return _tag("msup", _typeset(base, _FACTOR), _number(exponent))


def _product(formula: Product) -> Tag:
    """A product; factors with a negative exponent are below a fraction bar."""
    negative = _without_sign(formula)
    if negative is not None:
        return _tag("mrow", _sign("−"), _typeset(negative, _SUMMAND))
    above: list[Formula] = []
    below: list[Formula] = []
    for factor in formula.factors:
        match factor:
            case Power(base, exponent) if exponent < 0:
                below.append(Power(base, -exponent))
            case Number(value) if value.denominator != 1 and len(str(value.denominator)) <= 3:
                above += [Number(Fraction(value.numerator))] if value.numerator != 1 else []
                below.insert(0, Number(Fraction(value.denominator)))
            case _:
                above.append(factor)
    if not below:
        return _tag("mrow", *_factors(above))
    return _tag("mfrac", _row(*(_factors(above) or [_tag("mn", "1")])), _row(*_factors(below)))


def _factors(factors: list[Formula]) -> list[Tag]:
    """Factors side by side; a reduction needs no parentheses at the end."""
    tags: list[Tag] = []
    for n, factor in enumerate(factors):
        loose = isinstance(factor, Reduction) and n == len(factors) - 1
        binding = _ARGUMENT if len(factors) == 1 else _SUMMAND if loose else _FACTOR
        if n:
            tags += [_sign("·")] if isinstance(factor, Number) else [Tag("mspace", {"width": "0.17em"})]
        tags.append(_typeset(factor, binding))
    return tags
