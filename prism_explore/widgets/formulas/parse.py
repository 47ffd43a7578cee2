"""Parse formulas from the text in which the journal stores them.

Two languages, read by one grammar::

    normal forms           1/8000 5^1/2 (128 + 3125 Σ_{k1:4096} x[p0,k1]^2)^1/2
    abstract expressions   Σd g·w·x/√(μd x² + 1/1000000)

and the relations of pruning reasons, such as `least sum ≤ shared memory` or `result = C[e, e'] for some C`.
A text that is none of these has no formula, and is shown as it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from prism_explore.support.caches import memoize
from prism_explore.widgets.formulas.tree import (
    Add,
    Bound,
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

MAX_CHARACTERS = 4_000
"""Longest text that is parsed; a longer formula is not readable either."""
_MAX_DEPTH = 60
_ENDS = (")", ",", "+", "-", "−", "/")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_LETTER = r"(?:(?![⁰¹²³⁴⁵⁶⁷⁸⁹])\w)"
"""A character of a name: for `re`, a superscript is one too."""
_RELATION = re.compile(r" (≤|≥|<|>|=|<=|>=) ")
_PHRASE = re.compile(r"[A-Za-z][\w'-]*( [A-Za-z][\w'-]*)*")
_TOKEN = re.compile(
    r"(?P<space>\s+)|(?P<bounds>(?:Σ|max)_\{[^{}]*\})"
    rf"|(?P<label>[Σμ∨](?:{_LETTER}|')*)|(?P<number>\d+(?:\.\d+)?(?:/\d+)?(?!{_LETTER}|%))"
    rf"|(?P<name>[%A-Za-z_]{_LETTER}*(?:\.{_LETTER}+)*'*)"
    r"|(?P<index>\[[^][]*\])|(?P<super>[⁰¹²³⁴⁵⁶⁷⁸⁹]+)|(?P<sign>[()+·*/^√,−-])"
)


class _NoFormula(Exception):
    """The text is not a formula."""


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    after_space: bool


@memoize(4096)
def parse_formula(text: str) -> Formula | None:
    """The formula of a text; None if it has none.

    >>> parse_formula("2*bm > smem").sign
    '>'
    """
    if not text.strip() or len(text) > MAX_CHARACTERS:
        return None
    found = _RELATION.search(text)
    try:
        if found is None:
            return Words(text) if _PHRASE.fullmatch(text) and " " in text else _expression(text)
        left, right = _side(text[: found.start()]), _side(text[found.end() :])
        return Relation(found[1], left, right)
    except _NoFormula:
        return None


def _side(text: str) -> Formula:
    """One side of a relation: a phrase, or an expression, which can have a condition behind it."""
    expression, blank, condition = text.partition(" for ")
    if _PHRASE.fullmatch(expression) and " " in expression:
        formula: Formula = Words(expression)
    else:
        formula = _expression(expression)
    return Row((formula, Words(f"for {condition}"))) if blank else formula


def _expression(text: str) -> Formula:
    parser = _Parser(_tokens(text))
    formula = parser.sum()
    if parser.token is not None:
        raise _NoFormula(text)
    return formula


def _tokens(text: str) -> tuple[_Token, ...]:
    tokens: list[_Token] = []
    position, after_space = 0, False
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise _NoFormula(text)
        position = found.end()
        if found.lastgroup == "space":
            after_space = True
            continue
        tokens.append(_Token(found.lastgroup or "", found.group(), after_space))
        after_space = False
    return tuple(tokens)


class _Parser:
    """Recursive descent over the tokens of one expression."""

    def __init__(self, tokens: tuple[_Token, ...]) -> None:
        self.tokens = tokens
        self.position = 0
        self.depth = 0

    @property
    def token(self) -> _Token | None:
        """The next token."""
        return self.tokens[self.position] if self.position < len(self.tokens) else None

    def take(self, text: str = "", kind: str = "") -> _Token | None:
        """The next token if it has this text or kind; then it is consumed."""
        token = self.token
        if token is None or (text and token.text != text) or (kind and token.kind != kind):
            return None
        self.position += 1
        return token

    def expect(self, text: str) -> None:
        """Consume a token that must come next."""
        if self.take(text) is None:
            raise _NoFormula(text)

    def sum(self) -> Formula:
        """Terms with + and - between them."""
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise _NoFormula("nested too deeply")
        terms = [self.term()]
        while self.token is not None and self.token.text in ("+", "-", "−"):
            negative = self.token.text != "+"
            self.position += 1
            term = self.term()
            terms.append(negate(term) if negative else term)
        self.depth -= 1
        return terms[0] if len(terms) == 1 else Add(tuple(terms))

    def term(self) -> Formula:
        """Factors, and quotients of them."""
        if self.take("-") or self.take("−"):
            return negate(self.term())
        factors = self.factors()
        while self.take("/"):
            factors = [product((*factors, Power(self.factor(), Fraction(-1)))), *self.factors()]
        if not factors:
            raise _NoFormula("a term is missing")
        return product(tuple(factors))

    def factors(self, after_sign: bool = False) -> list[Formula]:
        """Factors up to a sign that ends a product; names next to one another are words, and no product.

        Args:
            after_sign: whether a sign is before them that is no `+` or `-`, so that a minus belongs to a number.
        """
        factors: list[Formula] = []
        multiplied = True
        while (token := self.token) is not None and (
            token.text not in _ENDS or (after_sign and self.has_negative_number())
        ):
            after_sign = token.text in ("*", "·") and bool(factors)
            if after_sign:
                self.position += 1
                multiplied = True
                continue
            factor = self.reduction_or_factor(token)
            if not multiplied and isinstance(factors[-1], Symbol | Call) and isinstance(factor, Symbol):
                raise _NoFormula("words")
            factors.append(factor)
            multiplied = False
        if after_sign and factors:
            raise _NoFormula("a factor is missing")
        return factors

    def has_negative_number(self) -> bool:
        """Whether the next tokens are a minus and, without a space, a number."""
        sign, *number = self.tokens[self.position : self.position + 2]
        return sign.text in ("-", "−") and any(n.kind == "number" and not n.after_space for n in number)

    def reduction_or_factor(self, token: _Token) -> Formula:
        """A reduction of the factors behind it, or one factor."""
        if token.kind == "bounds":
            self.position += 1
            return self.bounded(token.text)
        if token.kind == "label":
            self.position += 1
            return self.labelled(token.text)
        return self.factor()

    def bounded(self, text: str) -> Formula:
        """`Σ_{k1:4096}` and the factors behind it, or `max_{k1:4096}(…)`."""
        kind, _, rest = text.partition("_")
        bounds = tuple(_bound(part) for part in _split(rest[1:-1]))
        if kind == "Σ":
            return Reduction("sum", bounds, self.reduced())
        self.expect("(")
        body = self.sum()
        self.expect(")")
        return Reduction("max", bounds, body)

    def labelled(self, text: str) -> Formula:
        """`Σd`, `μd` or `∨d`, and the factors behind it up to a quotient."""
        power = self.take(kind="super")
        body = self.reduced()
        bound: tuple[Bound, ...] = ((text[1:], ""),)
        kinds = {"Σ": "sum", "μ": "mean", "∨": "max"}
        for _ in range(int(power.text.translate(_SUPERSCRIPTS)) if power else 1):
            body = Reduction(kinds[text[0]], bound, body)  # type: ignore[arg-type]
        return body

    def reduced(self) -> Formula:
        """The factors of a reduction."""
        factors = self.factors(after_sign=True)
        if not factors:
            raise _NoFormula("a reduction of nothing")
        return product(tuple(factors))

    def factor(self) -> Formula:
        """An atom with its exponent; a minus before it is that of the power."""
        if self.token is not None and self.has_negative_number():
            self.position += 1
            return negate(self.factor())
        base = self.atom()
        if power := self.take(kind="super"):
            return Power(base, Fraction(power.text.translate(_SUPERSCRIPTS)))
        if self.take("^"):
            negative = self.take("-") is not None
            exponent = self.take(kind="number")
            if exponent is None:
                raise _NoFormula("an exponent is missing")
            return Power(base, -Fraction(exponent.text) if negative else Fraction(exponent.text))
        return base

    def atom(self) -> Formula:
        """A number, a name, an element, a call, a condition, a root or a group."""
        token = self.token
        if token is None:
            raise _NoFormula("a factor is missing")
        self.position += 1
        following = self.token
        attached = following is not None and not following.after_space
        match token.kind:
            case "number":
                return Number(Fraction(token.text))
            case "index":
                return Condition(token.text[1:-1])
            case "name" if attached and following is not None and following.kind == "index":
                self.position += 1
                return Element(token.text, following.text[1:-1])
            case "name" if attached and following is not None and following.text == "(":
                return Call(token.text, self.arguments())
            case "name":
                return Symbol(token.text)
            case "sign" if token.text == "√":
                (inside,) = self.arguments() if attached else (self.atom(),)
                return Power(inside, Fraction(1, 2))
            case "sign" if token.text == "(":
                inside = self.sum()
                self.expect(")")
                return inside
            case _:
                raise _NoFormula(token.text)

    def arguments(self) -> tuple[Formula, ...]:
        """The arguments of a call, in parentheses."""
        self.expect("(")
        arguments = [self.sum()]
        while self.take(","):
            arguments.append(self.sum())
        self.expect(")")
        return tuple(arguments)


def _split(text: str) -> list[str]:
    """Split at the commas outside parentheses."""
    parts, depth = [""], 0
    for c in text:
        depth += (c == "(") - (c == ")")
        if c == "," and not depth:
            parts.append("")
        else:
            parts[-1] += c
    return parts


def _bound(text: str) -> Bound:
    """`k1:4096`, or `k1<=p0` for a running maximum."""
    index, colon, extent = text.partition(":")
    return (index, extent) if colon else (text, "")


def negate(formula: Formula) -> Formula:
    """Minus a formula."""
    match formula:
        case Number(value):
            return Number(-value)
        case Product((Number(value), *rest)):
            return product((Number(-value), *rest))
        case _:
            return product((Number(Fraction(-1)), formula))


def product(factors: tuple[Formula, ...]) -> Formula:
    """A product without nested products, and without the factor 1."""
    flat: list[Formula] = []
    for factor in factors:
        flat += factor.factors if isinstance(factor, Product) else (factor,)
    kept = [f for f in flat if f != Number(Fraction(1))]
    if not kept:
        return Number(Fraction(1))
    return kept[0] if len(kept) == 1 else Product(tuple(kept))
