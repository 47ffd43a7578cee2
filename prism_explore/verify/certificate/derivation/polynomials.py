"""Sums of monomials, multiplied out and collected one axiom at a time.

A *polynomial* is a sum of monomials with rational numbers in front, ordered, nested to the left. `Polynomials`
adds, multiplies, inverts and takes roots of them; like everything in a ledger, each function notes why the
term it was asked about equals the one it returns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import reduce
from itertools import combinations
from math import floor, gcd, lcm
from typing import TypeAlias

from prism_explore.ir.dims import Dim
from prism_explore.verify.certificate.derivation.monomials import NONE, ONE, Monomial, Power, Products
from prism_explore.verify.certificate.derivation.term_graph import APART, MEET, Id
from prism_explore.verify.certificate.expressions import Near, Within
from prism_explore.verify.certificate.lemma import Axis
from prism_explore.verify.normal_form.forms import InBand
from prism_explore.verify.normal_form.index import at_most
from prism_explore.verify.normal_form.indicators import common_bands

Poly: TypeAlias = tuple[tuple[Monomial, Fraction], ...]
"""Monomials and their coefficients, none of which is 0."""

UNIT: Monomial = ()
HALF = Fraction(1, 2)
MANY = 400
"""Terms beyond which multiplying out is given up."""
_LARGEST_TRIAL_DIVISOR = 10_000


class TooMany(Exception):
    """Multiplied out, there would be more terms than anybody wants."""


class Polynomials(Products):
    """Polynomials, their sums, products, inverses and roots."""

    def __init__(self, axes: Iterable[Axis], integers: Sequence[Dim] = ()) -> None:
        super().__init__(axes, integers)
        self._spelled: dict[Poly, Id] = {}
        self._read: dict[Id, Poly] = {}
        self._sums: dict[tuple[Poly, Poly], Poly] = {}
        self._multiplied: dict[tuple[Poly, Poly], Poly] = {}

    # ------------------------------------------------------------ spelling
    def term(self, monomial: Monomial, coefficient: Fraction) -> Id:
        """The term that spells a monomial with its number."""
        return self.scaled(self.tree(monomial), coefficient)

    def spell(self, p: Poly) -> Id:
        """The term that spells a polynomial."""
        if p not in self._spelled:
            terms = [self.term(m, c) for m, c in p]
            found = reduce(lambda a, b: self.make("add", a, b), terms) if terms else self.zero
            self._spelled[p] = found
            if not any(self._unsettled(f) for m, _ in p for f in m):
                self._read.setdefault(found, p)
        return self._spelled[p]

    def single(self, base: Id) -> Poly:
        """A term that nothing more is known of."""
        return ((((base, ONE),), ONE),)

    def constant(self, c: Fraction) -> Poly:
        """A rational number."""
        return ((UNIT, c),) if c else ()

    # ------------------------------------------------------------ sums
    def add(self, p: Poly, q: Poly) -> Poly:
        """`p + q`."""
        if not q:
            self.say("add commutes", self._plus(self.spell(p), self.zero), self._plus(self.zero, self.spell(p)))
            self.say("add zero", self._plus(self.zero, self.spell(p)), self.spell(p))
            return p
        if (p, q) not in self._sums:
            if len(p) + len(q) > MANY:
                raise TooMany
            total = p
            if len(q) > 1:
                self._regroup_sum(self.spell(p), self.spell(q[:-1]), self.term(*q[-1]))
                total = self.add(p, q[:-1])
            for last in q[-1:]:
                total = self._put(total, last)
            self._sums[p, q] = total
        return self._sums[p, q]

    def _plus(self, a: Id, b: Id) -> Id:
        return self.make("add", a, b)

    def _regroup_sum(self, a: Id, b: Id, c: Id) -> None:
        self.say("add associates", self._plus(a, self._plus(b, c)), self._plus(self._plus(a, b), c))

    def _put(self, p: Poly, new: tuple[Monomial, Fraction]) -> Poly:
        """`(.. a) + b` with b in its place."""
        b = self.term(*new)
        if not p:
            self.say("add zero", self._plus(self.zero, b), b)
            return (new,)
        last = p[-1]
        if last[0] < new[0]:
            return (*p, new)
        a, rest = self.term(*last), self.spell(p[:-1])
        if last[0] == new[0]:
            total = last[1] + new[1]
            self.collected(self.tree(last[0]), last[1], new[1])
            if len(p) > 1:
                self._regroup_sum(rest, a, b)
                if not total:
                    self.add(p[:-1], ())
            return (*p[:-1], (last[0], total)) if total else p[:-1]
        self.say("add commutes", self._plus(a, b), self._plus(b, a))
        if len(p) == 1:
            return (new, last)
        self._regroup_sum(rest, a, b)
        self._regroup_sum(rest, b, a)
        inner = self._put(p[:-1], new)
        if not inner:
            self.say("add zero", self._plus(self.zero, a), a)
        return (*inner, last)

    # ------------------------------------------------------------ products
    def multiply(self, p: Poly, q: Poly) -> Poly:
        """`p q`, multiplied out."""
        if (p, q) not in self._multiplied:
            if len(p) * len(q) > MANY:
                raise TooMany
            self._multiplied[p, q] = self._multiply(p, q)
        return self._multiplied[p, q]

    def _multiply(self, p: Poly, q: Poly) -> Poly:
        a, b = self.spell(p), self.spell(q)
        if not p:
            self.say("zero", self.mul(self.zero, b), self.zero)
            return ()
        if not q:
            self.swap(a, self.zero)
            return self.multiply(q, p)
        if len(q) > 1:
            first, last = self.spell(q[:-1]), self.term(*q[-1])
            parts = self._plus(self.mul(a, first), self.mul(a, last))
            self.say("distribute", self.mul(a, b), parts)
            return self.add(self.multiply(p, q[:-1]), self.multiply(p, (q[-1],)))
        if len(p) > 1:
            self.swap(a, b)
            return self.multiply(q, p)
        return self._multiply_terms(p, q)

    def _multiply_terms(self, p: Poly, q: Poly) -> Poly:
        """`p q` where both are one term."""
        b = self.spell(q)
        (m, c), (n, d) = (t[0] for t in (p, q))
        if m == UNIT:
            self.times_number(c, self.tree(n), d)
            worked_out = self.settled(n)
            if c * d == 1:
                return worked_out
            return ((n, c * d),) if worked_out == ((n, ONE),) else self.multiply(self.constant(c * d), worked_out)
        if n == UNIT:
            self.swap(self.spell(p), b)
            return self.multiply(q, p)
        if c != 1:
            self.regroup(self.number(c), self.tree(m), b)
            return self.multiply(self.constant(c), self.multiply(((m, ONE),), q))
        if d != 1:
            x, y, z = self.tree(m), self.number(d), self.tree(n)
            self.regroup(x, y, z)
            self.swap(x, y)
            self.regroup(y, x, z)
            return self.multiply(self.constant(d), self.multiply(p, ((n, ONE),)))
        return self.settled(self.times(m, n))

    def settled(self, m: Monomial) -> Poly:
        """A monomial whose numbers and whose whole powers of sums are worked out."""
        found = next((f for f in m if self._unsettled(f)), None)
        if found is None:
            return self._without_overlap(m)
        rest = tuple(f for f in m if f is not found)
        if not rest:
            return self._worked_out(*found)
        back = self.inserted(rest, found)
        assert back == m, "taking a factor out and putting it back changes nothing"
        return self.multiply(self.settled(rest), self._worked_out(*found))

    def _without_overlap(self, m: Monomial) -> Poly:
        """A monomial, or 0 where two of its intervals lie apart."""
        bits = [f for f in m if self.nodes[f[0]].op == "within"]
        for a, b in combinations(bits, 2):
            if self.lie_apart(a[0], b[0]):
                rest = tuple(f for f in m if f not in (a, b))
                pair = self.mul(a[0], b[0])
                if self.times(rest, (a, b)) != m:
                    raise AssertionError("factors taken out and put back")
                self.say(APART, pair, self.zero)
                if rest:
                    self.say("zero", self.swap(self.tree(rest), self.zero), self.zero)
                return ()
        for a, b in combinations([f for f in m if self.nodes[f[0]].op == "near"], 2):
            met = self._met_bands(a[0], b[0])
            if met is not None:
                rest = tuple(f for f in m if f not in (a, b))
                if self.times(rest, (a, b)) != m:
                    raise AssertionError("factors taken out and put back")
                self.say(MEET, self.mul(a[0], b[0]), met)
                return self.multiply(self.settled(rest), self.normal(met))
        return ((m, ONE),)

    def _met_bands(self, a: Id, b: Id) -> Id | None:
        """The band that two bands of the same indices have in common, or 0 or 1; None where it is not seen."""
        one, other = self.shell(a), self.shell(b)
        if not isinstance(one, Near) or not isinstance(other, Near):
            return None
        found = common_bands([InBand(e.low, e.high, e.row, e.column) for e in (one, other)])
        if found is None:
            return self.zero
        return self.of(Near(found[0].row, found[0].column, found[0].low, found[0].high)) if len(found) == 1 else None

    def lie_apart(self, a: Id, b: Id) -> bool:
        """Whether two intervals are of one index and provably never 1 together."""
        one, other = self.shell(a), self.shell(b)
        if not isinstance(one, Within) or not isinstance(other, Within) or one.index != other.index:
            return False
        return at_most(one.high, other.low) or at_most(other.high, one.low)

    def _unsettled(self, factor: Power) -> bool:
        base, exponent = factor
        match self.nodes[base].op:
            case "num":
                return not 0 < exponent < 1
            case "add" | "mul":
                return exponent >= 1
            case _:
                return False

    def _worked_out(self, base: Id, exponent: Fraction) -> Poly:
        whole = Fraction(floor(exponent))
        part = exponent - whole
        if part and whole:
            self.merge(base, whole, part)
        result = self.whole_power(self.normal(base), base, int(whole)) if whole else self.constant(ONE)
        if not part:
            return result
        rest: Poly = ((((base, part),), ONE),)
        return self.multiply(result, rest) if whole else rest

    def whole_power(self, p: Poly, base: Id, n: int) -> Poly:
        """A power of a term that is known to be this polynomial."""
        if n < 0:
            return self.inverted(self.whole_power(p, base, -n))
        result = p
        for _ in range(n - 1):
            result = self.multiply(result, p)
        return result

    def normal(self, e: Id) -> Poly:
        """The polynomial that a term is; `derive` knows of which terms."""
        raise NotImplementedError

    # ------------------------------------------------------------ inverses and roots
    def inverted(self, p: Poly) -> Poly:
        """`1 / p`."""
        if not p:
            return self.single(self.make("inv", self.zero))
        if len(p) == 1:
            ((m, c),) = p
            inverse = self.make("inv", self.number(c))
            self.say("number inverse", inverse, self.number(1 / c))
            if m == UNIT:
                return self.constant(1 / c)
            if c != 1:
                apart = self.mul(inverse, self.make("inv", self.tree(m)))
                self.say("inverse of a product", self.make("inv", self.spell(p)), apart)
            result = self.settled(self.inverse(m))
            return self.multiply(self.constant(1 / c), result) if c != 1 else result
        common, rest = self._content(p, roots=False)
        if common is None:
            return ((((self.spell(p), -ONE),), ONE),)
        a, b = self.spell((common,)), self.spell(rest)
        self.say(
            "inverse of a product",
            self.make("inv", self.mul(a, b)),
            self.mul(self.make("inv", a), self.make("inv", b)),
        )
        return self.multiply(self.inverted((common,)), self.inverted(rest))

    def root(self, p: Poly) -> Poly:
        """`√p`; only where p is provably not negative is anything done."""
        if not p:
            self.say("number root", self.make("sqrt", self.zero), self.zero)
            return ()
        whole = self.spell(p)
        if not self.nonnegative(whole):
            return self.single(self.make("sqrt", whole))
        if len(p) == 1:
            ((m, c),) = p
            if m == UNIT:
                return self._root_of_number(c)
            if c == 1:
                return self._root_of_monomial(m)
            if c < 0:
                return self.single(self.make("sqrt", whole))
            self._root_apart(self.number(c), self.tree(m))
            return self.multiply(self._root_of_number(c), self._root_of_monomial(m))
        common, rest = self._content(p, roots=True)
        if common is None or not self.nonnegative(self.spell(rest)):
            return ((((whole, HALF),), ONE),)
        self._root_apart(self.spell((common,)), self.spell(rest))
        return self.multiply(self.root((common,)), self.root(rest))

    def _root_apart(self, a: Id, b: Id) -> None:
        apart = self.mul(self.make("sqrt", a), self.make("sqrt", b))
        self.say("root of a product", self.make("sqrt", self.mul(a, b)), apart)

    def _root_of_monomial(self, m: Monomial) -> Poly:
        if not all(self.nonnegative(self.power(b, e)) for b, e in m):
            return self.single(self.make("sqrt", self.tree(m)))
        *rest, (base, exponent) = m
        if self.is_bit(base):
            self.say("root of a bit", self.make("sqrt", base), base)
            if not rest:
                return ((m, ONE),)
            self._root_apart(self.tree(tuple(rest)), base)
            return self.multiply(self._root_of_monomial(tuple(rest)), self.single(base))
        squared, half = (base, exponent), exponent / 2
        if self.nodes[base].op != "exp" and not self.nonnegative(base) and exponent:
            squared, half = (self.mul(base, base), exponent / 2), exponent / 4
            if abs(exponent) != 2:
                self._spread_squares(base, squared[0], exponent / 2)
        root = self.power(squared[0], half)
        self.merge(squared[0], half, half)
        self.say("root of a square", self.make("sqrt", self.mul(root, root)), root)
        last = self.settled(((squared[0], half),))
        if not rest:
            return last
        self._root_apart(self.tree(tuple(rest)), self.power(base, exponent))
        return self.multiply(self._root_of_monomial(tuple(rest)), last)

    def _spread_squares(self, base: Id, square: Id, n: Fraction) -> None:
        """`(b b)^n = b^(2 n)` for whole n."""
        for k in range(2, abs(int(n)) + 1):
            self.joined([base] * (2 * k - 2), [base] * 2)
        self.power(square, n)

    def _root_of_number(self, c: Fraction) -> Poly:
        if c < 0:
            return self.single(self.make("sqrt", self.number(c)))
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
            self.say("number product", self.mul(self.number(product), self.number(prime)), self.number(product * prime))
            self._root_apart(self.number(product), self.number(prime))
            product *= prime
        o = self.number(outside)
        self.say("number product", self.mul(o, o), self.number(outside * outside))
        self.say("root of a square", self.make("sqrt", self.mul(o, o)), o)
        result = self.constant(outside)
        for prime in odd:
            result = self.multiply(result, ((((self.number(prime), HALF),), ONE),))
        return result

    # ------------------------------------------------------------ common factors
    def _content(self, p: Poly, *, roots: bool) -> tuple[tuple[Monomial, Fraction] | None, Poly]:
        """A common factor of all terms, and what remains; the two multiply to p again."""
        g, common = self.common(p, roots=roots)
        if g == 1 and not common:
            return None, p
        inner = self.without(p, common, g)
        if inner is None or self.multiply(((common, g),), inner) != p:
            return (None, p) if g == 1 else self._number_only(p, g)
        return (common, g), inner

    def without(self, p: Poly, common: Monomial, g: Fraction) -> Poly | None:
        """`p / (g * common)`, by taking exponents apart; None where that would have to be worked out."""
        rest: dict[Monomial, Fraction] = {}
        for m, c in p:
            powers = dict(m)
            for base, e in common:
                had = powers.get(base, NONE)
                powers[base] = had - e
                if powers[base] == 0 and (self._vanishes(base) or had == e):
                    del powers[base]
            rest[tuple(sorted(powers.items()))] = c / g
        if len(rest) != len(p) or any(self._unsettled(f) for m in rest for f in m):
            return None
        return tuple(sorted(rest.items()))

    def _number_only(self, p: Poly, g: Fraction) -> tuple[tuple[Monomial, Fraction] | None, Poly]:
        inner = tuple((m, c / g) for m, c in p)
        return ((UNIT, g), inner) if self.multiply(self.constant(g), inner) == p else (None, p)

    def common(self, p: Poly, *, roots: bool) -> tuple[Fraction, Monomial]:
        """The number and the powers that all terms have in common; with `roots`, what is not negative."""
        coefficients = [c for _, c in p]
        g = Fraction(gcd(*(c.numerator for c in coefficients)), lcm(*(c.denominator for c in coefficients)))
        if not roots and coefficients[0] < 0:
            g = -g
        met: dict[Id, list[Fraction]] = {}
        for m, _ in p:
            for base, e in m:
                met.setdefault(base, []).append(e)
        found: list[Power] = []
        for base, exponents in met.items():
            everywhere = len(exponents) == len(p)
            if self.nodes[base].op == "num" and not everywhere:
                continue
            if self.positive(base):
                least = min(exponents) if everywhere else min(*exponents, NONE)
            elif everywhere and (min(exponents) > 0 or max(exponents) < 0) and (self.nonnegative(base) or not roots):
                least = min(exponents)
            else:
                continue
            if least:
                found.append((base, least))
        return g, tuple(sorted(found))


def factorise(value: int) -> list[tuple[int, int]]:
    """Primes and their exponents; what is left beyond the largest trial divisor counts as one."""
    found: list[tuple[int, int]] = []
    p = 2
    while p * p <= value and p <= _LARGEST_TRIAL_DIVISOR:
        k = 0
        while value % p == 0:
            value, k = value // p, k + 1
        if k:
            found.append((p, k))
        p += 1
    return [*found, (value, 1)] if value > 1 else found
