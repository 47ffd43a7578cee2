"""Symbolic sizes: integers, symbols, products, sums, exact quotients.

A size is a Laurent polynomial in positive integer symbols with rational coefficients. It is kept in a canonical form,
so equality is `==`. Tile sizes such as `4096/(gx*f)` are monomials with negative exponents. That they are integers is
a *condition* of a candidate, and never assumed here.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from prism_explore.errors import ParseError, ShapeError
from prism_explore.ir.to_sympy import to_latex, to_sympy
from prism_explore.support.caches import memoize

if TYPE_CHECKING:
    from sympy import Expr

Monomial: TypeAlias = tuple[tuple[str, int], ...]
"""Symbols with non-zero integer exponents, sorted by name."""

DimLike: TypeAlias = "Dim | int | str"


@dataclass(frozen=True, slots=True, eq=False)
class Dim:
    """A symbolic size in canonical form; build it with `dim`, not with the constructor."""

    terms: tuple[tuple[Monomial, Fraction], ...]
    _key: tuple[tuple[Monomial, int, int], ...] = field(init=False, repr=False)
    """The terms with integers instead of fractions: sizes are keys of every cache, and hashing fractions is slow."""
    _hash: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        key = tuple([(m, c.numerator, c.denominator) for m, c in self.terms])
        object.__setattr__(self, "_key", key)
        object.__setattr__(self, "_hash", hash(key))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Dim) and self._hash == other._hash and self._key == other._key

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type[Dim], tuple[object, ...]]:
        return Dim, (self.terms,)

    def __mul__(self, other: DimLike) -> Dim:
        return _product(self, other if isinstance(other, Dim) else dim(other))

    __rmul__ = __mul__

    def __add__(self, other: DimLike) -> Dim:
        return _sum(self, other if isinstance(other, Dim) else dim(other))

    __radd__ = __add__

    def __sub__(self, other: DimLike) -> Dim:
        return _difference(self, other if isinstance(other, Dim) else dim(other))

    def __truediv__(self, other: DimLike) -> Dim:
        """Exact quotient by a monomial.

        Raises:
            ShapeError: the divisor is zero or a sum.
        """
        divisor = other if isinstance(other, Dim) else dim(other)
        if len(divisor.terms) != 1:
            raise ShapeError(f"cannot divide {self} by {divisor}: only a product of sizes can divide")
        return _product(self, _inverse(divisor))

    def to_sympy(self) -> Expr:
        """This size as a sympy expression whose symbols are positive integers."""
        return to_sympy(self.terms)

    def _repr_latex_(self) -> str:
        return to_latex(to_sympy(self.terms))

    @property
    def is_one(self) -> bool:
        """Whether this is the literal size 1, which broadcasts."""
        return self == ONE

    @property
    def is_monomial(self) -> bool:
        """Whether this is one product of symbols and a number."""
        return len(self.terms) == 1

    @property
    def constant(self) -> int | None:
        """The value if it is an integer; None if it has a symbol or is a fraction."""
        if not self.terms:
            return 0
        if len(self.terms) == 1 and not self.terms[0][0] and self.terms[0][1].denominator == 1:
            return int(self.terms[0][1])
        return None

    @property
    def symbol(self) -> str | None:
        """The name if this is one symbol; None otherwise."""
        return self.symbols[0] if self.symbols and (str(self),) == self.symbols else None

    @property
    def symbols(self) -> tuple[str, ...]:
        """Every symbol that occurs, sorted."""
        if len(self.terms) == 1:
            return tuple([s for s, _ in self.terms[0][0]])
        return tuple(sorted({s for m, _ in self.terms for s, _ in m}))

    def substitute(self, sizes: Mapping[str, DimLike]) -> Dim:
        """Replace symbols by sizes; symbols not in `sizes` stay."""
        total = ZERO
        for monomial, coefficient in self.terms:
            piece = Dim((((), coefficient),))
            for symbol, exponent in monomial:
                factor = dim(sizes[symbol]) if symbol in sizes else dim(symbol)
                for _ in range(abs(exponent)):
                    piece = piece * factor if exponent > 0 else piece / factor
            total = total + piece
        return total

    def rational(self, sizes: Mapping[str, int]) -> Fraction:
        """The value at `sizes`, an integer or a fraction.

        Raises:
            ShapeError: a symbol has no value.
        """
        total = Fraction(0)
        for monomial, coefficient in self.terms:
            above, below = coefficient.numerator, coefficient.denominator
            for symbol, exponent in monomial:
                if symbol not in sizes:
                    raise ShapeError(f"size {self} needs a number for {symbol!r}; given are {sorted(sizes)}")
                if exponent > 0:
                    above *= sizes[symbol] ** exponent
                else:
                    below *= sizes[symbol] ** -exponent
            total = Fraction(above, below) if len(self.terms) == 1 else total + Fraction(above, below)
        return total

    def value(self, sizes: Mapping[str, int]) -> int:
        """The value at `sizes`, a positive integer.

        Raises:
            ShapeError: the value is not a positive integer, or a symbol has no value.
        """
        if len(self.terms) == 1 and (integer := _positive_integer(self.terms[0], sizes)):
            return integer
        number = self.rational(sizes)
        if number.denominator != 1 or number < 1:
            where = ", ".join(f"{s}={sizes[s]}" for s in self.symbols)
            raise ShapeError(f"size {self} is {number} at {where}; it must be a positive integer")
        return int(number)

    def __str__(self) -> str:
        return _text(self)

    def __repr__(self) -> str:
        return f"dim({str(self)!r})"

    def __lt__(self, other: Dim) -> bool:
        return self.terms < other.terms


def _positive_integer(term: tuple[Monomial, Fraction], sizes: Mapping[str, int]) -> int:
    """The value of one term if it is a positive integer, otherwise 0; computed without fractions."""
    monomial, coefficient = term
    above, below = coefficient.numerator, coefficient.denominator
    for symbol, exponent in monomial:
        number = sizes.get(symbol, 0)
        if exponent > 0:
            above *= number**exponent
        else:
            below *= number**-exponent
    return above // below if above > 0 and below > 0 and above % below == 0 else 0


def _canonical(terms: Iterable[tuple[Monomial, Fraction]]) -> Dim:
    total: dict[Monomial, Fraction] = {}
    for monomial, coefficient in terms:
        total[monomial] = total.get(monomial, Fraction(0)) + coefficient
    return Dim(tuple(sorted((m, c) for m, c in total.items() if c)))


@memoize(65536)
def _sum(a: Dim, b: Dim) -> Dim:
    return _canonical((*a.terms, *b.terms))


@memoize(65536)
def _difference(a: Dim, b: Dim) -> Dim:
    return _canonical((*a.terms, *((m, -c) for m, c in b.terms)))


@memoize(65536)
def _product(a: Dim, b: Dim) -> Dim:
    terms: list[tuple[Monomial, Fraction]] = []
    for ma, ca in a.terms:
        for mb, cb in b.terms:
            powers = dict(ma)
            for symbol, exponent in mb:
                powers[symbol] = powers.get(symbol, 0) + exponent
            terms.append((tuple(sorted((s, e) for s, e in powers.items() if e)), ca * cb))
    return _canonical(terms)


@memoize(65536)
def _inverse(monomial: Dim) -> Dim:
    ((powers, coefficient),) = monomial.terms
    return Dim(((tuple((s, -e) for s, e in powers), 1 / coefficient),))


@memoize(65536)
def _text(d: Dim) -> str:
    return " + ".join([_term_text(m, c) for m, c in d.terms]).replace("+ -", "- ") or "0"


def _term_text(monomial: Monomial, coefficient: Fraction) -> str:
    above = [f"{s}^{e}" if e > 1 else s for s, e in monomial if e > 0]
    below = [f"{s}^{-e}" if e < -1 else s for s, e in monomial if e < 0]
    if abs(coefficient.numerator) != 1 or not above:
        above.insert(0, str(abs(coefficient.numerator)))
    if coefficient.denominator != 1:
        below.insert(0, str(coefficient.denominator))
    text = "*".join(above)
    if below:
        text += "/" + (below[0] if len(below) == 1 else f"({'*'.join(below)})")
    return f"-{text}" if coefficient < 0 else text


_SYMBOL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_TOKEN = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*|[0-9]{1,40}|[-+*/^()])")
MOST_EXPONENT = 64
"""Of a symbol in the text of a size."""
MOST_SHOWN = 200
"""Characters of a text in the message that it is not a size."""


@memoize(4096)
def dim(x: DimLike) -> Dim:
    """A size from an integer, a symbol or the text of a size.

    >>> dim(4096) / (dim("gx") * dim("f"))
    dim('4096/(f*gx)')
    >>> dim("4096/(f*gx)") * "gx"
    dim('4096/f')

    Raises:
        ShapeError: a number below zero.
        ParseError: a text that is not a size.
    """
    if isinstance(x, Dim):
        return x
    if isinstance(x, int):
        if x < 0:
            raise ShapeError(f"a size cannot be negative, found {x}")
        return Dim(((((), Fraction(x)),)) if x else ())
    if _SYMBOL.match(x):
        return Dim(((((x, 1),), Fraction(1)),))
    return _parse(x)


ZERO = Dim(())
ONE = Dim((((), Fraction(1)),))


def _parse(text: str) -> Dim:
    tokens: deque[str] = deque()
    position, end = 0, len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None:
            raise ParseError(f"not a size: {shortened(text)} (stuck at column {position + 1})")
        tokens.append(match.group(1))
        position = match.end()
    tokens.append("")

    def fail() -> ParseError:
        return ParseError(f"not a size: {shortened(text)}; expected something like 4096/(gx*f)")

    def atom() -> Dim:
        token = tokens.popleft()
        if token == "(":
            inside = total()
            if tokens.popleft() != ")":
                raise fail()
            return inside
        if not token or not (token.isdigit() or _SYMBOL.match(token)):
            raise fail()
        base = dim(int(token)) if token.isdigit() else dim(token)
        if tokens[0] == "^":
            tokens.popleft()
            exponent = tokens.popleft()
            if not exponent.isdecimal() or int(exponent) > MOST_EXPONENT:
                raise fail()
            result = ONE
            for _ in range(int(exponent)):
                result = result * base
            return result
        return base

    def product() -> Dim:
        result = atom()
        while tokens[0] in ("*", "/"):
            result = result * atom() if tokens.popleft() == "*" else result / atom()
        return result

    def total() -> Dim:
        negative = tokens[0] == "-"
        if negative:
            tokens.popleft()
        result = ZERO - product() if negative else product()
        while tokens[0] in ("+", "-"):
            result = result + product() if tokens.popleft() == "+" else result - product()
        return result

    try:
        result = total()
    except RecursionError:
        raise fail() from None
    if list(tokens) != [""]:
        raise fail()
    return result


def shortened(text: str) -> str:
    """A text in quotes, as far as it fits into a message."""
    return repr(text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}...")


def is_natural(d: Dim) -> bool:
    """Whether a size is evidently a natural number for all values of its symbols; a False is not certain."""
    return all(c.denominator == 1 and c > 0 and all(e > 0 for _, e in m) for m, c in d.terms)


def is_negative(d: Dim) -> bool:
    """Whether a size is evidently negative for all values of its symbols; a False is not certain."""
    return bool(d.terms) and all(c < 0 for _, c in d.terms)


def is_only_symbols(d: Dim) -> bool:
    """Whether a size has symbols, no number but 1 and -1, and is evidently an integer, or is one quotient of symbols.

    Such an expression has the same meaning at all extents. That it is a positive integer remains a condition of the
    graph, as for `n - m` and `n/g`.
    """
    if not d.symbols or is_negative(d) or any(abs(c) != 1 for _, c in d.terms):
        return False
    return len(d.terms) == 1 or all(e > 0 for powers, _ in d.terms for _, e in powers)
