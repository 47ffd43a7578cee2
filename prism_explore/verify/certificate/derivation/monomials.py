"""Normal form of products: powers of different bases in order, one axiom at a time.

A *monomial* is a product of powers of different bases, ordered by the numbers of the bases and nested to the left; a
power has the form that `expressions.power` gives it. Every method records the steps from the term that it is given to
the one that it returns.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm
from typing import TypeAlias

from prism_explore.verify.certificate.derivation.signs import Signs
from prism_explore.verify.certificate.derivation.term_graph import Id, TermGraph

Power: TypeAlias = tuple[Id, Fraction]
"""A base and its exponent."""
Monomial: TypeAlias = tuple[Power, ...]
"""Powers of different bases, in order."""

NONE, ONE = Fraction(0), Fraction(1)


class Monomials:
    """Monomials, their powers and products."""

    def __init__(self, graph: TermGraph, signs: Signs) -> None:
        self._graph = graph
        self._signs = signs
        self._terms: dict[Monomial, Id] = {}
        self._inserts: dict[tuple[Monomial, Power], Monomial] = {}
        self._merged: set[tuple[Id, Fraction, Fraction]] = set()
        self._inverted: set[Monomial] = set()

    def power(self, base: Id, exponent: Fraction) -> Id:
        """The term of a power; exp(t)^c is exp(c t)."""
        node = self._graph.nodes[base]
        if node.op == "exp":
            return self._graph.make("exp", self.scale(node.arguments[0], exponent))
        if exponent < 0:
            return self._graph.make("inv", self.power(base, -exponent))
        if exponent == 0:
            return self._graph.make("mul", base, self._graph.make("inv", base))
        whole, part = divmod(exponent, 1)
        if part.denominator & (part.denominator - 1):
            raise ValueError(f"exponent {exponent} is not made of square roots")
        items = [base] * int(whole)
        while part:
            base = self._graph.make("sqrt", base)
            whole, part = divmod(part * 2, 1)
            items += [base] * int(whole)
        return self.chain(items)

    def scale(self, monomial: Id, coefficient: Fraction) -> Id:
        """The term `coefficient * monomial`."""
        if monomial == self._graph.one:
            return self._graph.number(coefficient)
        return monomial if coefficient == 1 else self._graph.make("mul", self._graph.number(coefficient), monomial)

    def chain(self, items: Sequence[Id]) -> Id:
        """A product, nested to the left."""
        if not items:
            return self._graph.one
        product = items[0]
        for x in items[1:]:
            product = self._graph.make("mul", product, x)
        return product

    def swap(self, a: Id, b: Id) -> Id:
        """`a b = b a`; gives the latter."""
        found = self._graph.mul(b, a)
        self._graph.record_step("mul commutes", self._graph.mul(a, b), found)
        return found

    def regroup(self, a: Id, b: Id, c: Id) -> Id:
        """`a (b c) = (a b) c`; gives the latter."""
        found = self._graph.mul(self._graph.mul(a, b), c)
        self._graph.record_step("mul associates", self._graph.mul(a, self._graph.mul(b, c)), found)
        return found

    def drop_one(self, a: Id) -> Id:
        """`a 1 = a`."""
        self._graph.record_step("one", self.swap(a, self._graph.one), a)
        return a

    def concatenate(self, a: Sequence[Id], b: Sequence[Id]) -> Id:
        """The product of two chains as one chain."""
        if not b:
            return self.drop_one(self.chain(a))
        if not a:
            self._graph.record_step("one", self._graph.mul(self._graph.one, self.chain(b)), self.chain(b))
            return self.chain(b)
        if len(b) == 1:
            return self.chain([*a, *b])
        self.concatenate(a, b[:-1])
        self.regroup(self.chain(a), self.chain(b[:-1]), b[-1])
        return self.chain([*a, *b])

    def merge(self, base: Id, m: Fraction, n: Fraction) -> Id:
        """`b^m b^n = b^(m+n)`, and 1 where the exponents cancel and b is not 0."""
        total = m + n
        result = self._graph.one if total == 0 and self.zeroth_power_is_one(base) else self.power(base, total)
        if (base, m, n) in self._merged:
            return result
        self._merged.add((base, m, n))
        if self._graph.nodes[base].op == "exp":
            self._merge_exponentials(base, m, n)
            return result
        unit, depth = base, lcm(m.denominator, n.denominator)
        while depth > 1:
            root = self._graph.make("sqrt", unit)
            self._graph.record_step("square of a root", self._graph.mul(root, root), unit)
            unit, depth = root, depth // 2
        scale = lcm(m.denominator, n.denominator)
        for exponent in (m, n, total):
            self._in_roots(base, exponent, unit, scale)
        self._merge_root_powers(unit, int(m * scale), int(n * scale))
        return result

    def zeroth_power_is_one(self, base: Id) -> bool:
        """Whether `base^0` is 1: the base is not 0."""
        return self._graph.nodes[base].op == "exp" or self._signs.is_nonzero(base)

    def _merge_exponentials(self, base: Id, m: Fraction, n: Fraction) -> None:
        (t,) = self._graph.nodes[base].arguments
        a, b = self.scale(t, m), self.scale(t, n)
        self._graph.record_step(
            "exp of a sum",
            self._graph.make("exp", self._graph.make("add", a, b)),
            self._graph.mul(*(self._graph.make("exp", x) for x in (a, b))),
        )
        self.collect(t, m, n)
        if m + n == 0:
            self._graph.record_step("exp of zero", self._graph.make("exp", self._graph.zero), self._graph.one)

    def collect(self, monomial: Id, c: Fraction, d: Fraction) -> Id:
        """`c m + d m = (c + d) m`."""
        both = self._graph.make("add", self._graph.number(c), self._graph.number(d))
        sum_of = self._graph.number(c + d)
        self._graph.record_step("number sum", both, sum_of)
        if monomial == self._graph.one:
            return sum_of
        for x in (c, d, c + d):
            if x == 1:
                self._graph.record_step("one", self._graph.mul(self._graph.one, monomial), monomial)
            self.swap(self._graph.number(x), monomial)
        split = self._graph.make(
            "add", self._graph.mul(monomial, self._graph.number(c)), self._graph.mul(monomial, self._graph.number(d))
        )
        self._graph.record_step("distribute", self._graph.mul(monomial, both), split)
        if c + d == 0:
            self._graph.record_step("zero", self._graph.mul(self._graph.zero, monomial), self._graph.zero)
            return self._graph.zero
        return self.scale(monomial, c + d)

    def _in_roots(self, base: Id, exponent: Fraction, unit: Id, scale: int) -> None:
        """A power of the base as a power of its smallest root."""
        if unit == base or (exponent == 0 and self.zeroth_power_is_one(base)):
            return
        if exponent < 0:
            self._in_roots(base, -exponent, unit, scale)  # congruence gives the inverses
            self._root_power(unit, int(exponent * scale))
            return
        if exponent == 0:
            #  b b^-1 = (r r) (r r)^-1 = r r^-1 for each root r of b
            root = unit
            chain = [root]
            while root != base:
                (root,) = self._graph.nodes[root].arguments
                chain.append(root)
            for r in chain[:-1]:
                self._merge_root_powers(r, 2, -2)
            return
        items: list[Id] = []
        part, root = exponent, base
        while True:
            whole, part = divmod(part, 1)
            items += [root] * int(whole)
            if not part:
                break
            part, root = part * 2, self._graph.make("sqrt", root)
        total: list[Id] = []
        for item in items:
            many = self._count_roots(item, unit)
            self._split_into_roots(item, unit)
            self.concatenate(total, [unit] * many) if total else None
            total += [unit] * many

    def _count_roots(self, item: Id, unit: Id) -> int:
        many = 1
        while unit != item:
            (unit,) = self._graph.nodes[unit].arguments
            many *= 2
        return many

    def _split_into_roots(self, item: Id, unit: Id) -> None:
        """`b = r r .. r` for a root r of b."""
        if item == unit:
            return
        root = self._graph.make("sqrt", item)
        self._graph.record_step("square of a root", self._graph.mul(root, root), item)
        self._split_into_roots(root, unit)
        half = [unit] * self._count_roots(root, unit)
        self.concatenate(half, half)

    def _root_power(self, unit: Id, n: int) -> Id:
        """The chain of n units; its inverse for negative n; u u^-1 for 0."""
        return self.power(unit, Fraction(n))

    def _merge_root_powers(self, u: Id, m: int, n: int) -> None:
        """`u^m u^n = u^(m+n)` for integers m and n."""
        a, b = self._root_power(u, m), self._root_power(u, n)
        inverse = self._graph.make("inv", u)
        zeroth_power = self._graph.mul(u, inverse)
        if self._signs.is_nonzero(u):
            self._graph.record_step("cancel", zeroth_power, self._graph.one)
        if m > 0 and n > 0:
            self.concatenate([u] * m, [u] * n)
        elif m < 0 and n < 0:
            self.concatenate([u] * -m, [u] * -n)
            inside = self._graph.mul(self._root_power(u, -m), self._root_power(u, -n))
            self._graph.record_step("inverse of a product", self._graph.make("inv", inside), self._graph.mul(a, b))
        elif m <= 0 < n:
            self._merge_root_powers(u, n, m)
            self.swap(a, b)
        elif n == 0 and m > 0:
            #  (p u) (u u^-1) = p (u (u u^-1)) = p u
            self._graph.record_step("absorb", self._graph.mul(u, zeroth_power), u)
            if m > 1:
                self.regroup(self._root_power(u, m - 1), u, zeroth_power)
        elif n == 0 and m == 0:
            self._merge_root_powers(u, 0, -1)
            self.regroup(u, inverse, zeroth_power)
            self.swap(inverse, zeroth_power)
        elif m == 0:
            #  (u u^-1) u^-1 = u^-1 as u^-1 (u^-1 (u^-1)^-1) = u^-1
            again = self._graph.make("inv", inverse)
            self._graph.record_step("inverse twice", again, u)
            self._graph.record_step("absorb", self._graph.mul(inverse, self._graph.mul(inverse, again)), inverse)
            self.swap(inverse, again)
            self.swap(inverse, zeroth_power)
            if n < -1:
                rest = self._split_inverse(u, -n)
                self.swap(zeroth_power, self._graph.mul(rest, inverse))
                self.regroup(rest, inverse, zeroth_power)
        elif n == 0:
            self._merge_root_powers(u, 0, m)
            self.swap(a, b)
        elif n == -1:
            #  (p u) u^-1 = p (u u^-1), and p ends with a u that absorbs it
            if m > 1:
                self.regroup(self._root_power(u, m - 1), u, inverse)
                if self._signs.is_nonzero(u):
                    self.drop_one(self._root_power(u, m - 1))
                else:
                    self._merge_root_powers(u, m - 1, 0)
        else:
            #  u^m (u^-(n-1) u^-1) = (u^m u^-(n-1)) u^-1
            rest = self._split_inverse(u, -n)
            self.regroup(a, rest, inverse)
            self._merge_root_powers(u, m, n + 1)
            left = m + n + 1
            if left == 0 and self._signs.is_nonzero(u):
                self._graph.record_step("one", self._graph.mul(self._graph.one, inverse), inverse)
            else:
                self._merge_root_powers(u, left, -1)

    def _split_inverse(self, u: Id, n: int) -> Id:
        """`(q u)^-1 = q^-1 u^-1` for a chain of n > 1; gives q^-1."""
        q = self._root_power(u, n - 1)
        rest, inverse = self._graph.make("inv", q), self._graph.make("inv", u)
        self._graph.record_step(
            "inverse of a product", self._graph.make("inv", self._root_power(u, n)), self._graph.mul(rest, inverse)
        )
        return rest

    def to_term(self, monomial: Monomial) -> Id:
        """The term of a monomial."""
        if monomial not in self._terms:
            self._terms[monomial] = self.chain([self.power(b, e) for b, e in monomial])
        return self._terms[monomial]

    def insert(self, monomial: Monomial, factor: Power) -> Monomial:
        """`(.. a) b` with b at its position; equal bases merge."""
        if (monomial, factor) not in self._inserts:
            self._inserts[monomial, factor] = self._insert(monomial, factor)
        return self._inserts[monomial, factor]

    def _insert(self, have: Monomial, factor: Power) -> Monomial:
        base, exponent = factor
        b = self.power(base, exponent)
        if not have:
            self._graph.record_step("one", self._graph.mul(self._graph.one, b), b)
            return (factor,)
        last, its = have[-1]
        if last < base:
            return (*have, factor)
        rest, a = self.to_term(have[:-1]), self.power(last, its)
        if last == base and self._signs.is_bit(base):
            self._graph.record_step("a bit twice", self._graph.mul(b, b), b)
            if len(have) > 1:
                self.regroup(rest, a, b)
            return have
        if last == base:
            merged = self.merge(base, its, exponent)
            if len(have) > 1:
                self.regroup(rest, a, b)
            if merged == self._graph.one:
                if len(have) > 1:
                    self.drop_one(rest)
                return have[:-1]
            return (*have[:-1], (base, its + exponent))
        self.swap(a, b)
        if len(have) == 1:
            return (factor, have[-1])
        self.regroup(rest, a, b)
        self.regroup(rest, b, a)
        inner = self.insert(have[:-1], factor)
        if not inner:
            self._graph.record_step("one", self._graph.mul(self._graph.one, a), a)
        return (*inner, have[-1])

    def multiply(self, a: Monomial, b: Monomial) -> Monomial:
        """The product of two monomials."""
        if not b:
            self.drop_one(self.to_term(a))
            return a
        if len(b) > 1:
            self.regroup(self.to_term(a), self.to_term(b[:-1]), self.power(*b[-1]))
            a = self.multiply(a, b[:-1])
        for last in b[-1:]:
            a = self.insert(a, last)
        return a

    def invert(self, monomial: Monomial) -> Monomial:
        """The inverse of a monomial, which is a monomial."""
        if monomial not in self._inverted:
            self._inverted.add(monomial)
            if not monomial:
                self._graph.record_step("number inverse", self._graph.make("inv", self._graph.one), self._graph.one)
            else:
                self._invert_power(*monomial[-1])
            if len(monomial) > 1:
                rest, last = self.to_term(monomial[:-1]), self.power(*monomial[-1])
                product_of_inverses = self._graph.mul(self._graph.make("inv", rest), self._graph.make("inv", last))
                self._graph.record_step(
                    "inverse of a product", self._graph.make("inv", self.to_term(monomial)), product_of_inverses
                )
                self.invert(monomial[:-1])
        return tuple((b, e if self._signs.is_bit(b) else -e) for b, e in monomial)

    def _invert_power(self, base: Id, exponent: Fraction) -> None:
        p = self.power(base, exponent)
        inverse = self._graph.make("inv", p)
        if self._graph.nodes[base].op == "exp":
            (t,) = self._graph.nodes[base].arguments
            opposite = self._graph.mul(self._graph.number(-ONE), self.scale(t, exponent))
            self._graph.record_step("exp of a negative", self._graph.make("exp", opposite), inverse)
            self.multiply_number(-ONE, t, exponent)
        elif self._signs.is_bit(base):
            self._graph.record_step("inverse of a bit", inverse, base)
        elif exponent < 0:
            self._graph.record_step("inverse twice", inverse, self.power(base, -exponent))
        elif exponent == 0:
            once = self._graph.make("inv", base)
            self._graph.record_step(
                "inverse of a product", inverse, self._graph.mul(once, self._graph.make("inv", once))
            )
            self._graph.record_step("inverse twice", self._graph.make("inv", once), base)
            self.swap(once, base)

    def multiply_number(self, d: Fraction, monomial: Id, c: Fraction) -> Id:
        """`d (c m) = (d c) m` for numbers that are not 0."""
        number, whole = self._graph.number(d), self.scale(monomial, c)
        if d == 1:
            self._graph.record_step("one", self._graph.mul(number, whole), whole)
        elif monomial == self._graph.one or c != 1:
            both = self._graph.mul(number, self._graph.number(c))
            self._graph.record_step("number product", both, self._graph.number(d * c))
            if monomial != self._graph.one:
                self.regroup(number, self._graph.number(c), monomial)
                if d * c == 1:
                    self._graph.record_step("one", self._graph.mul(self._graph.one, monomial), monomial)
        return self.scale(monomial, d * c)
