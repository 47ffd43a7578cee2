"""Normal form of sums: monomials with rational coefficients, expanded and collected one axiom at a time.

A *polynomial* is a sum of monomials with rational coefficients, ordered and nested to the left. `Polynomials` adds,
multiplies and inverts them and takes roots; every method records the steps from the term that it is given to the one
that it returns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import floor, gcd, lcm
from typing import TypeAlias

from prism_explore.verify.certificate.derivation.monomials import NONE, ONE, Monomial, Monomials, Power
from prism_explore.verify.certificate.derivation.signs import Signs
from prism_explore.verify.certificate.derivation.term_graph import (
    BAND_INTERSECTION,
    DISJOINT_INTERVALS,
    DerivationFailed,
    Id,
    TermGraph,
)
from prism_explore.verify.certificate.expressions import Near, Within
from prism_explore.verify.normal_form.forms import InBand
from prism_explore.verify.normal_form.indicators import common_bands
from prism_explore.verify.normal_form.powers import factorise
from prism_explore.verify.normal_form.size_facts import at_most

Poly: TypeAlias = tuple[tuple[Monomial, Fraction], ...]
"""Monomials and their coefficients, none of which is 0."""

UNIT: Monomial = ()
HALF = Fraction(1, 2)
MAX_TERMS = 400
"""The largest number of terms of a product or a sum."""


@dataclass(frozen=True, slots=True)
class _Chain:
    """A polynomial, the terms of its summands, and those of its prefixes, as far as they were needed."""

    polynomial: Poly
    summands: list[Id]
    sums: list[Id]
    """The sum of no summand, of the first one, of the first two, and so on."""

    def sum_of(self, length: int, graph: TermGraph) -> Id:
        """The term of the first summands; each is added once, so a longer prefix costs what it has more."""
        for n in range(len(self.sums), length + 1):
            self.sums.append(graph.add(self.sums[-1], self.summands[n - 1]) if n > 1 else self.summands[0])
        return self.sums[length]

    def replaced(self, begin: int, end: int, by: Poly, terms: tuple[Id, ...]) -> _Chain:
        """The chain with the summands from `begin` to `end` replaced by others."""
        p, summands = self.polynomial, self.summands
        return _Chain((*p[:begin], *by, *p[end:]), [*summands[:begin], *terms, *summands[end:]], self.sums[: begin + 1])


class Polynomials:
    """Polynomials, their sums, products, inverses and roots."""

    def __init__(
        self,
        graph: TermGraph,
        signs: Signs,
        monomials: Monomials,
        normalize: Callable[[Id], Poly],
        simplify_product: Callable[[Monomial], Poly | None],
    ) -> None:
        """Begin with no terms.

        Args:
            graph: the terms and the log of steps.
            signs: of the terms.
            monomials: their products.
            normalize: the polynomial of a term, from those of its arguments.
            simplify_product: the polynomial of a monomial to which a rule outside of this class applies; else None.
        """
        self._graph = graph
        self._signs = signs
        self._monomials = monomials
        self._normalize = normalize
        self._simplify_product = simplify_product
        self._chains: dict[Poly, _Chain] = {}
        self._prefixes: dict[Id, tuple[_Chain, int]] = {}
        self._normal_forms: dict[Id, Poly] = {}
        self._totals: dict[tuple[Poly, Poly], Poly] = {}
        self._products: dict[tuple[Poly, Poly], Poly] = {}

    def normal(self, e: Id) -> Poly:
        """The normal form of a term."""
        if e not in self._normal_forms:
            self._normal_forms[e] = self._known_normal(e) or self._normalize(e)
        return self._normal_forms[e]

    def _known_normal(self, e: Id) -> Poly | None:
        """The polynomial of which a term was made, if it needs no expansion."""
        if e not in self._prefixes:
            return None
        chain, length = self._prefixes[e]
        p = chain.polynomial[:length]
        return None if any(self._is_reducible(f) for m, _ in p for f in m) else p

    def summand(self, monomial: Monomial, coefficient: Fraction) -> Id:
        """The term of a monomial with its coefficient."""
        return self._monomials.scale(self._monomials.to_term(monomial), coefficient)

    def to_term(self, p: Poly) -> Id:
        """The term of a polynomial."""
        return self._term_of_prefix(self._chain(p), len(p))

    def _chain(self, p: Poly) -> _Chain:
        """The terms of a polynomial's summands and of its prefixes."""
        if p not in self._chains:
            self._chains[p] = _Chain(p, [self.summand(m, c) for m, c in p], [self._graph.zero])
        return self._chains[p]

    def _term_of_prefix(self, chain: _Chain, length: int) -> Id:
        """The term of the first summands of a chain, which is also found again by `normal`."""
        found = chain.sum_of(length, self._graph)
        self._prefixes.setdefault(found, (chain, length))
        return found

    def atom(self, base: Id) -> Poly:
        """A term as a polynomial of one factor."""
        return ((((base, ONE),), ONE),)

    def constant(self, c: Fraction) -> Poly:
        """A rational number."""
        return ((UNIT, c),) if c else ()

    def add(self, p: Poly, q: Poly) -> Poly:
        """`p + q`."""
        if not q:
            self._add_zero(self.to_term(p))
            return p
        if (p, q) not in self._totals:
            if len(p) + len(q) > MAX_TERMS:
                raise DerivationFailed
            whole, parts = self.to_term(p), self._chain(q)
            for n in range(len(q) - 1, 0, -1):
                self.regroup_sum(whole, self._term_of_prefix(parts, n), parts.summands[n])
            total = self._chain(p)
            for n, (monomial, coefficient) in enumerate(q):
                total = self._insert(total, monomial, coefficient, parts.summands[n])
            self._totals[p, q] = self._chains.setdefault(total.polynomial, total).polynomial
        return self._totals[p, q]

    def regroup_sum(self, a: Id, b: Id, c: Id) -> None:
        """`a + (b + c) = (a + b) + c`."""
        self._graph.record_step(
            "add associates", self._graph.add(a, self._graph.add(b, c)), self._graph.add(self._graph.add(a, b), c)
        )

    def _insert(self, chain: _Chain, monomial: Monomial, coefficient: Fraction, b: Id) -> _Chain:
        """`(.. a) + b` with b, the term of this summand, at its position; a step for each summand that it passes."""
        graph, p = self._graph, chain.polynomial
        n = len(p)
        while n and monomial < p[n - 1][0]:
            a, rest = chain.summands[n - 1], self._term_of_prefix(chain, n - 1)
            graph.record_step("add commutes", graph.add(a, b), graph.add(b, a))
            if n > 1:
                self.regroup_sum(rest, a, b)
                self.regroup_sum(rest, b, a)
            n -= 1
        if n and p[n - 1][0] == monomial:
            return self._collect(chain, n, coefficient, b)
        if not p:
            graph.record_step("add zero", graph.add(graph.zero, b), b)
        return chain.replaced(n, n, ((monomial, coefficient),), (b,))

    def _collect(self, chain: _Chain, n: int, coefficient: Fraction, b: Id) -> _Chain:
        """`((.. a) + b) ..` where the n-th summand a and b have the same monomial."""
        graph, p = self._graph, chain.polynomial
        monomial, had = p[n - 1]
        a, rest = chain.summands[n - 1], self._term_of_prefix(chain, n - 1)
        total = had + coefficient
        self._monomials.collect(self._monomials.to_term(monomial), had, coefficient)
        if n > 1:
            self.regroup_sum(rest, a, b)
            if not total:
                self._add_zero(rest)
        if total:
            return chain.replaced(n - 1, n, ((monomial, total),), (self.summand(monomial, total),))
        if n == 1 < len(p):
            graph.record_step("add zero", graph.add(graph.zero, chain.summands[1]), chain.summands[1])
        return chain.replaced(n - 1, n, (), ())

    def _add_zero(self, a: Id) -> None:
        """`a + 0 = 0 + a = a`."""
        zero = self._graph.zero
        self._graph.record_step("add commutes", self._graph.add(a, zero), self._graph.add(zero, a))
        self._graph.record_step("add zero", self._graph.add(zero, a), a)

    def multiply(self, p: Poly, q: Poly) -> Poly:
        """`p q`, expanded."""
        if (p, q) not in self._products:
            if len(p) * len(q) > MAX_TERMS:
                raise DerivationFailed
            self._products[p, q] = self._multiply(p, q)
        return self._products[p, q]

    def _multiply(self, p: Poly, q: Poly) -> Poly:
        a, b = self.to_term(p), self.to_term(q)
        if not p:
            self._graph.record_step("zero", self._graph.mul(self._graph.zero, b), self._graph.zero)
            return ()
        if not q:
            self._monomials.swap(a, self._graph.zero)
            return self.multiply(q, p)
        if len(q) > 1:
            first, last = self.to_term(q[:-1]), self.summand(*q[-1])
            parts = self._graph.add(self._graph.mul(a, first), self._graph.mul(a, last))
            self._graph.record_step("distribute", self._graph.mul(a, b), parts)
            return self.add(self.multiply(p, q[:-1]), self.multiply(p, (q[-1],)))
        if len(p) > 1:
            self._monomials.swap(a, b)
            return self.multiply(q, p)
        return self._multiply_terms(p, q)

    def _multiply_terms(self, p: Poly, q: Poly) -> Poly:
        """`p q` where both are one term."""
        b = self.to_term(q)
        (m, c), (n, d) = (t[0] for t in (p, q))
        if m == UNIT:
            self._monomials.multiply_number(c, self._monomials.to_term(n), d)
            simplified = self.simplify(n)
            if c * d == 1:
                return simplified
            return ((n, c * d),) if simplified == ((n, ONE),) else self.multiply(self.constant(c * d), simplified)
        if n == UNIT:
            self._monomials.swap(self.to_term(p), b)
            return self.multiply(q, p)
        if c != 1:
            self._monomials.regroup(self._graph.number(c), self._monomials.to_term(m), b)
            return self.multiply(self.constant(c), self.multiply(((m, ONE),), q))
        if d != 1:
            x, y, z = self._monomials.to_term(m), self._graph.number(d), self._monomials.to_term(n)
            self._monomials.regroup(x, y, z)
            self._monomials.swap(x, y)
            self._monomials.regroup(y, x, z)
            return self.multiply(self.constant(d), self.multiply(p, ((n, ONE),)))
        return self.simplify(self._monomials.multiply(m, n))

    def simplify(self, m: Monomial) -> Poly:
        """A monomial as a polynomial: numbers and integer powers of sums are expanded, and the other rules applied."""
        found = self._expand(m)
        other = self._simplify_product(m) if found == ((m, ONE),) else None
        return found if other is None else other

    def _expand(self, m: Monomial) -> Poly:
        """A monomial with its numbers and its integer powers of sums expanded."""
        found = next((f for f in m if self._is_reducible(f)), None)
        if found is None:
            return self._multiply_indicators(m)
        rest = tuple(f for f in m if f is not found)
        if not rest:
            return self._expand_power(*found)
        back = self._monomials.insert(rest, found)
        assert back == m, "removing a factor and inserting it again gives the term"
        return self.multiply(self.simplify(rest), self._expand_power(*found))

    def _multiply_indicators(self, m: Monomial) -> Poly:
        """A monomial with its bands intersected; 0 where two of its intervals are disjoint."""
        bits = [f for f in m if self._graph.nodes[f[0]].op == "within"]
        for a, b in combinations(bits, 2):
            if self.are_disjoint(a[0], b[0]):
                rest = tuple(f for f in m if f not in (a, b))
                pair = self._graph.mul(a[0], b[0])
                if self._monomials.multiply(rest, (a, b)) != m:
                    raise AssertionError("removing factors and multiplying them again gives the term")
                self._graph.record_step(DISJOINT_INTERVALS, pair, self._graph.zero)
                if rest:
                    self._graph.record_step(
                        "zero", self._monomials.swap(self._monomials.to_term(rest), self._graph.zero), self._graph.zero
                    )
                return ()
        for a, b in combinations([f for f in m if self._graph.nodes[f[0]].op == "near"], 2):
            exponents_of = self._intersect_bands(a[0], b[0])
            if exponents_of is not None:
                rest = tuple(f for f in m if f not in (a, b))
                if self._monomials.multiply(rest, (a, b)) != m:
                    raise AssertionError("removing factors and multiplying them again gives the term")
                self._graph.record_step(BAND_INTERSECTION, self._graph.mul(a[0], b[0]), exponents_of)
                return self.multiply(self.simplify(rest), self.normal(exponents_of))
        return ((m, ONE),)

    def _intersect_bands(self, a: Id, b: Id) -> Id | None:
        """The intersection of two bands of the same indices, a band, 0 or 1; None where it is not known."""
        one, other = self._graph.shell(a), self._graph.shell(b)
        if not isinstance(one, Near) or not isinstance(other, Near):
            return None
        found = common_bands([InBand(e.low, e.high, e.row, e.column) for e in (one, other)])
        if found is None:
            return self._graph.zero
        return (
            self._graph.intern(Near(found[0].row, found[0].column, found[0].low, found[0].high))
            if len(found) == 1
            else None
        )

    def are_disjoint(self, a: Id, b: Id) -> bool:
        """Whether two intervals of one index are provably never 1 at the same place."""
        one, other = self._graph.shell(a), self._graph.shell(b)
        if not isinstance(one, Within) or not isinstance(other, Within) or one.index != other.index:
            return False
        return at_most(one.high, other.low) or at_most(other.high, one.low)

    def _is_reducible(self, factor: Power) -> bool:
        base, exponent = factor
        match self._graph.nodes[base].op:
            case "num":
                return not 0 < exponent < 1
            case "add" | "mul":
                return exponent >= 1
            case _:
                return False

    def _expand_power(self, base: Id, exponent: Fraction) -> Poly:
        whole = Fraction(floor(exponent))
        part = exponent - whole
        if part and whole:
            self._monomials.merge(base, whole, part)
        result = self.integer_power(self.normal(base), base, int(whole)) if whole else self.constant(ONE)
        if not part:
            return result
        rest: Poly = ((((base, part),), ONE),)
        return self.multiply(result, rest) if whole else rest

    def integer_power(self, p: Poly, base: Id, n: int) -> Poly:
        """An integer power of a term with this normal form."""
        if n < 0:
            return self.invert(self.integer_power(p, base, -n))
        result = p
        for _ in range(n - 1):
            result = self.multiply(result, p)
        return result

    def invert(self, p: Poly) -> Poly:
        """`1 / p`."""
        if not p:
            return self.atom(self._graph.make("inv", self._graph.zero))
        if len(p) == 1:
            ((m, c),) = p
            inverse = self._graph.make("inv", self._graph.number(c))
            self._graph.record_step("number inverse", inverse, self._graph.number(1 / c))
            if m == UNIT:
                return self.constant(1 / c)
            if c != 1:
                split = self._graph.mul(inverse, self._graph.make("inv", self._monomials.to_term(m)))
                self._graph.record_step("inverse of a product", self._graph.make("inv", self.to_term(p)), split)
            result = self.simplify(self._monomials.invert(m))
            return self.multiply(self.constant(1 / c), result) if c != 1 else result
        common, rest = self.factor_out(p, roots=False)
        if common is None:
            return ((((self.to_term(p), -ONE),), ONE),)
        a, b = self.to_term((common,)), self.to_term(rest)
        self._graph.record_step(
            "inverse of a product",
            self._graph.make("inv", self._graph.mul(a, b)),
            self._graph.mul(self._graph.make("inv", a), self._graph.make("inv", b)),
        )
        return self.multiply(self.invert((common,)), self.invert(rest))

    def root(self, p: Poly) -> Poly:
        """`√p`; simplified only where p is provably nonnegative."""
        if not p:
            self._graph.record_step("number root", self._graph.make("sqrt", self._graph.zero), self._graph.zero)
            return ()
        whole = self.to_term(p)
        if not self._signs.is_nonnegative(whole):
            return self.atom(self._graph.make("sqrt", whole))
        if len(p) == 1:
            ((m, c),) = p
            if m == UNIT:
                return self._root_of_number(c)
            if c == 1:
                return self._root_of_monomial(m)
            if c < 0:
                return self.atom(self._graph.make("sqrt", whole))
            self._split_root(self._graph.number(c), self._monomials.to_term(m))
            return self.multiply(self._root_of_number(c), self._root_of_monomial(m))
        common, rest = self.factor_out(p, roots=True)
        if common is None or not self._signs.is_nonnegative(self.to_term(rest)):
            return ((((whole, HALF),), ONE),)
        self._split_root(self.to_term((common,)), self.to_term(rest))
        return self.multiply(self.root((common,)), self.root(rest))

    def _split_root(self, a: Id, b: Id) -> None:
        split = self._graph.mul(self._graph.make("sqrt", a), self._graph.make("sqrt", b))
        self._graph.record_step("root of a product", self._graph.make("sqrt", self._graph.mul(a, b)), split)

    def _root_of_monomial(self, m: Monomial) -> Poly:
        if not all(self._signs.is_nonnegative(self._monomials.power(b, e)) for b, e in m):
            return self.atom(self._graph.make("sqrt", self._monomials.to_term(m)))
        *rest, (base, exponent) = m
        if self._signs.is_bit(base):
            self._graph.record_step("root of a bit", self._graph.make("sqrt", base), base)
            if not rest:
                return ((m, ONE),)
            self._split_root(self._monomials.to_term(tuple(rest)), base)
            return self.multiply(self._root_of_monomial(tuple(rest)), self.atom(base))
        squared, half = (base, exponent), exponent / 2
        if self._graph.nodes[base].op != "exp" and not self._signs.is_nonnegative(base) and exponent:
            squared, half = (self._graph.mul(base, base), exponent / 2), exponent / 4
            if abs(exponent) != 2:
                self._regroup_squares(base, squared[0], exponent / 2)
        root = self._monomials.power(squared[0], half)
        self._monomials.merge(squared[0], half, half)
        self._graph.record_step("root of a square", self._graph.make("sqrt", self._graph.mul(root, root)), root)
        last = self.simplify(((squared[0], half),))
        if not rest:
            return last
        self._split_root(self._monomials.to_term(tuple(rest)), self._monomials.power(base, exponent))
        return self.multiply(self._root_of_monomial(tuple(rest)), last)

    def _regroup_squares(self, base: Id, square: Id, n: Fraction) -> None:
        """`(b b)^n = b^(2 n)` for an integer n."""
        for k in range(2, abs(int(n)) + 1):
            self._monomials.concatenate([base] * (2 * k - 2), [base] * 2)
        self._monomials.power(square, n)

    def _root_of_number(self, c: Fraction) -> Poly:
        if c < 0:
            return self.atom(self._graph.make("sqrt", self._graph.number(c)))
        odd: list[Fraction] = []
        square = ONE
        for prime, times in factorise(c.numerator * c.denominator):
            square *= Fraction(prime) ** (times // 2)
            if times % 2:
                odd.append(Fraction(prime))
        outside = square / c.denominator
        pieces = [outside * outside, *odd]
        product = pieces[0]
        for prime in odd:
            self._graph.record_step(
                "number product",
                self._graph.mul(self._graph.number(product), self._graph.number(prime)),
                self._graph.number(product * prime),
            )
            self._split_root(self._graph.number(product), self._graph.number(prime))
            product *= prime
        o = self._graph.number(outside)
        self._graph.record_step("number product", self._graph.mul(o, o), self._graph.number(outside * outside))
        self._graph.record_step("root of a square", self._graph.make("sqrt", self._graph.mul(o, o)), o)
        result = self.constant(outside)
        for prime in odd:
            result = self.multiply(result, ((((self._graph.number(prime), HALF),), ONE),))
        return result

    def factor_out(self, p: Poly, *, roots: bool) -> tuple[tuple[Monomial, Fraction] | None, Poly]:
        """A common factor of all terms, and the quotient; their product is p."""
        g, common = self.common_powers(p, roots=roots)
        if g == 1 and not common:
            return None, p
        inner = self.divide(p, common, g)
        if inner is None or self.multiply(((common, g),), inner) != p:
            return (None, p) if g == 1 else self._factor_out_number(p, g)
        return (common, g), inner

    def divide(self, p: Poly, common: Monomial, g: Fraction) -> Poly | None:
        """`p / (g * common)` by subtracting exponents; None where the result would need expanding."""
        rest: dict[Monomial, Fraction] = {}
        for m, c in p:
            powers = dict(m)
            for base, e in common:
                had = powers.get(base, NONE)
                powers[base] = had - e
                if powers[base] == 0 and (self._monomials.zeroth_power_is_one(base) or had == e):
                    del powers[base]
            rest[tuple(sorted(powers.items()))] = c / g
        if len(rest) != len(p) or any(self._is_reducible(f) for m in rest for f in m):
            return None
        return tuple(sorted(rest.items()))

    def _factor_out_number(self, p: Poly, g: Fraction) -> tuple[tuple[Monomial, Fraction] | None, Poly]:
        inner = tuple((m, c / g) for m, c in p)
        return ((UNIT, g), inner) if self.multiply(self.constant(g), inner) == p else (None, p)

    def common_powers(self, p: Poly, *, roots: bool) -> tuple[Fraction, Monomial]:
        """The common number and the common powers of all terms; with `roots`, only nonnegative ones."""
        coefficients = [c for _, c in p]
        g = Fraction(gcd(*(c.numerator for c in coefficients)), lcm(*(c.denominator for c in coefficients)))
        if not roots and coefficients[0] < 0:
            g = -g
        exponents_of: dict[Id, list[Fraction]] = {}
        for m, _ in p:
            for base, e in m:
                exponents_of.setdefault(base, []).append(e)
        found: list[Power] = []
        for base, exponents in exponents_of.items():
            everywhere = len(exponents) == len(p)
            if self._graph.nodes[base].op == "num" and not everywhere:
                continue
            if self._signs.is_positive(base):
                least = min(exponents) if everywhere else min(*exponents, NONE)
            elif (
                everywhere
                and (min(exponents) > 0 or max(exponents) < 0)
                and (self._signs.is_nonnegative(base) or not roots)
            ):
                least = min(exponents)
            else:
                continue
            if least:
                found.append((base, least))
        return g, tuple(sorted(found))
