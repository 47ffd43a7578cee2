"""Products of powers, brought into order one axiom at a time.

A *monomial* is a product of powers of different bases, ordered by the bases' numbers and nested to the
left; each power is spelled as `terms.power` spells it. What two monomials make together is a monomial again,
and every function here says, step by step, why the term it was asked about equals the one it returns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import lcm
from typing import TypeAlias

from prism_explore.ir.dims import Dim
from prism_explore.verify.certificate.derivation.term_graph import Id, Ledger
from prism_explore.verify.certificate.lemma import Axis

Power: TypeAlias = tuple[Id, Fraction]
"""A base and its exponent."""
Monomial: TypeAlias = tuple[Power, ...]
"""Powers of different bases, in order."""

NONE, ONE = Fraction(0), Fraction(1)


class Products(Ledger):
    """Monomials, their powers and products."""

    def __init__(self, axes: Iterable[Axis], integers: Sequence[Dim] = ()) -> None:
        super().__init__(axes, integers)
        self._trees: dict[Monomial, Id] = {}
        self._inserts: dict[tuple[Monomial, Power], Monomial] = {}
        self._merged: set[tuple[Id, Fraction, Fraction]] = set()
        self._positive: dict[Id, bool] = {}
        self._nonnegative: dict[Id, bool] = {}
        self._inverted: set[Monomial] = set()

    # ------------------------------------------------------------ signs
    def positive(self, e: Id) -> bool:
        """Whether the rows of `axioms.CONDITIONS` give that a term is above 0, as it is spelled."""
        if e not in self._positive:
            self._positive[e] = self._is_positive(e)
        return self._positive[e]

    def _is_positive(self, e: Id) -> bool:
        node = self.nodes[e]
        match node.op:
            case "num":
                return Fraction(node.label) > 0
            case "size" | "exp":
                return True
            case "mul":
                return all(map(self.positive, node.inside))
            case "add":
                a, b = node.inside
                return (self.positive(a) and self.nonnegative(b)) or (self.positive(b) and self.nonnegative(a))
            case "inv" | "sqrt" | "upto":
                return self.positive(node.inside[0])
            case "sum" | "most":
                return self.positive(node.inside[0]) and self.inhabited(node.label)
            case "greater":
                return any(map(self.positive, node.inside))
            case "call":
                return node.label == "sigmoid"
            case _:
                return False

    def nonnegative(self, e: Id) -> bool:
        """The same of not being below 0."""
        if e not in self._nonnegative:
            self._nonnegative[e] = self.positive(e) or self._is_nonnegative(e)
        return self._nonnegative[e]

    def _is_nonnegative(self, e: Id) -> bool:
        node = self.nodes[e]
        match node.op:
            case "num":
                return Fraction(node.label) >= 0
            case "mul":
                a, b = node.inside
                return a == b or (self.nodes[b].inside == (a,) and self.nodes[b].op == "inv") or self._both(a, b)
            case "add":
                return self._both(*node.inside)
            case "within" | "near":
                return True
            case "inv" | "sqrt" | "sum" | "upto":
                return self.nonnegative(node.inside[0])
            case "most":
                return self.nonnegative(node.inside[0]) and self.inhabited(node.label)
            case "greater":
                return any(map(self.nonnegative, node.inside))
            case "call":
                return node.label in ("relu", "abs")
            case _:
                return False

    def _both(self, a: Id, b: Id) -> bool:
        return self.nonnegative(a) and self.nonnegative(b)

    def nonzero(self, e: Id) -> bool:
        """The same of not being 0."""
        node = self.nodes[e]
        match node.op:
            case "num":
                return Fraction(node.label) != 0
            case "mul":
                return all(map(self.nonzero, node.inside))
            case "inv":
                return self.nonzero(node.inside[0])
            case _:
                return self.positive(e)

    def is_bit(self, base: Id) -> bool:
        """Whether a base is 0 or 1 everywhere; then every power of it is itself."""
        return self.nodes[base].op in ("within", "near")

    # ------------------------------------------------------------ powers
    def power(self, base: Id, exponent: Fraction) -> Id:
        """The term that spells a power; exp(t)^c is exp(c t)."""
        node = self.nodes[base]
        if node.op == "exp":
            return self.make("exp", self.scaled(node.inside[0], exponent))
        if exponent < 0:
            return self.make("inv", self.power(base, -exponent))
        if exponent == 0:
            return self.make("mul", base, self.make("inv", base))
        whole, part = divmod(exponent, 1)
        if part.denominator & (part.denominator - 1):
            raise ValueError(f"exponent {exponent} is not made of square roots")
        items = [base] * int(whole)
        while part:
            base = self.make("sqrt", base)
            whole, part = divmod(part * 2, 1)
            items += [base] * int(whole)
        return self.chain(items)

    def scaled(self, monomial: Id, coefficient: Fraction) -> Id:
        """The term `coefficient * monomial`."""
        if monomial == self.one:
            return self.number(coefficient)
        return monomial if coefficient == 1 else self.make("mul", self.number(coefficient), monomial)

    def chain(self, items: Sequence[Id]) -> Id:
        """A product, nested to the left."""
        if not items:
            return self.one
        product = items[0]
        for x in items[1:]:
            product = self.make("mul", product, x)
        return product

    # ------------------------------------------------------------ small steps
    def mul(self, a: Id, b: Id) -> Id:
        """The term `a * b`."""
        return self.make("mul", a, b)

    def swap(self, a: Id, b: Id) -> Id:
        """`a b = b a`; gives the latter."""
        found = self.mul(b, a)
        self.say("mul commutes", self.mul(a, b), found)
        return found

    def regroup(self, a: Id, b: Id, c: Id) -> Id:
        """`a (b c) = (a b) c`; gives the latter."""
        found = self.mul(self.mul(a, b), c)
        self.say("mul associates", self.mul(a, self.mul(b, c)), found)
        return found

    def drop_one(self, a: Id) -> Id:
        """`a 1 = a`."""
        self.say("one", self.swap(a, self.one), a)
        return a

    def joined(self, a: Sequence[Id], b: Sequence[Id]) -> Id:
        """The product of two chains is one chain."""
        if not b:
            return self.drop_one(self.chain(a))
        if not a:
            self.say("one", self.mul(self.one, self.chain(b)), self.chain(b))
            return self.chain(b)
        if len(b) == 1:
            return self.chain([*a, *b])
        self.joined(a, b[:-1])
        self.regroup(self.chain(a), self.chain(b[:-1]), b[-1])
        return self.chain([*a, *b])

    # ------------------------------------------------------------ merging powers of one base
    def merge(self, base: Id, m: Fraction, n: Fraction) -> Id:
        """`b^m b^n = b^(m+n)`, and 1 where the exponents cancel and b is not 0."""
        total = m + n
        result = self.one if total == 0 and self._vanishes(base) else self.power(base, total)
        if (base, m, n) in self._merged:
            return result
        self._merged.add((base, m, n))
        if self.nodes[base].op == "exp":
            self._merge_exponentials(base, m, n)
            return result
        unit, depth = base, lcm(m.denominator, n.denominator)
        while depth > 1:
            root = self.make("sqrt", unit)
            self.say("square of a root", self.mul(root, root), unit)
            unit, depth = root, depth // 2
        scale = lcm(m.denominator, n.denominator)
        for exponent in (m, n, total):
            self._in_units(base, exponent, unit, scale)
        self._units(unit, int(m * scale), int(n * scale))
        return result

    def _vanishes(self, base: Id) -> bool:
        """Whether exponent 0 leaves nothing."""
        return self.nodes[base].op == "exp" or self.nonzero(base)

    def _merge_exponentials(self, base: Id, m: Fraction, n: Fraction) -> None:
        (t,) = self.nodes[base].inside
        a, b = self.scaled(t, m), self.scaled(t, n)
        self.say(
            "exp of a sum", self.make("exp", self.make("add", a, b)), self.mul(*(self.make("exp", x) for x in (a, b)))
        )
        self.collected(t, m, n)
        if m + n == 0:
            self.say("exp of zero", self.make("exp", self.zero), self.one)

    def collected(self, monomial: Id, c: Fraction, d: Fraction) -> Id:
        """`c m + d m = (c + d) m`."""
        both = self.make("add", self.number(c), self.number(d))
        sum_of = self.number(c + d)
        self.say("number sum", both, sum_of)
        if monomial == self.one:
            return sum_of
        for x in (c, d, c + d):
            if x == 1:
                self.say("one", self.mul(self.one, monomial), monomial)
            self.swap(self.number(x), monomial)
        split = self.make("add", self.mul(monomial, self.number(c)), self.mul(monomial, self.number(d)))
        self.say("distribute", self.mul(monomial, both), split)
        if c + d == 0:
            self.say("zero", self.mul(self.zero, monomial), self.zero)
            return self.zero
        return self.scaled(monomial, c + d)

    def _in_units(self, base: Id, exponent: Fraction, unit: Id, scale: int) -> None:
        """A power of the base as a power of its finest root."""
        if unit == base or (exponent == 0 and self._vanishes(base)):
            return
        if exponent < 0:
            self._in_units(base, -exponent, unit, scale)  # under the inverse both are equals
            self._power_of(unit, int(exponent * scale))
            return
        if exponent == 0:
            #  b b^-1 = (r r) (r r)^-1 = r r^-1 for each root r of b
            root = unit
            chain = [root]
            while root != base:
                (root,) = self.nodes[root].inside
                chain.append(root)
            for r in chain[:-1]:
                self._units(r, 2, -2)
            return
        items: list[Id] = []
        part, root = exponent, base
        while True:
            whole, part = divmod(part, 1)
            items += [root] * int(whole)
            if not part:
                break
            part, root = part * 2, self.make("sqrt", root)
        total: list[Id] = []
        for item in items:
            many = self._so_many(item, unit)
            self._spread(item, unit)
            self.joined(total, [unit] * many) if total else None
            total += [unit] * many

    def _so_many(self, item: Id, unit: Id) -> int:
        many = 1
        while unit != item:
            (unit,) = self.nodes[unit].inside
            many *= 2
        return many

    def _spread(self, item: Id, unit: Id) -> None:
        """`b = r r .. r` for a root r of b."""
        if item == unit:
            return
        root = self.make("sqrt", item)
        self.say("square of a root", self.mul(root, root), item)
        self._spread(root, unit)
        half = [unit] * self._so_many(root, unit)
        self.joined(half, half)

    def _power_of(self, unit: Id, n: int) -> Id:
        """The chain of n units; its inverse for negative n; u u^-1 for 0."""
        return self.power(unit, Fraction(n))

    def _units(self, u: Id, m: int, n: int) -> None:
        """`u^m u^n = u^(m+n)` for whole exponents."""
        a, b = self._power_of(u, m), self._power_of(u, n)
        inverse = self.make("inv", u)
        nothing = self.mul(u, inverse)
        if self.nonzero(u):
            self.say("cancel", nothing, self.one)
        if m > 0 and n > 0:
            self.joined([u] * m, [u] * n)
        elif m < 0 and n < 0:
            self.joined([u] * -m, [u] * -n)
            inside = self.mul(self._power_of(u, -m), self._power_of(u, -n))
            self.say("inverse of a product", self.make("inv", inside), self.mul(a, b))
        elif m <= 0 < n:
            self._units(u, n, m)
            self.swap(a, b)
        elif n == 0 and m > 0:
            #  (p u) (u u^-1) = p (u (u u^-1)) = p u
            self.say("absorb", self.mul(u, nothing), u)
            if m > 1:
                self.regroup(self._power_of(u, m - 1), u, nothing)
        elif n == 0 and m == 0:
            self._units(u, 0, -1)
            self.regroup(u, inverse, nothing)
            self.swap(inverse, nothing)
        elif m == 0:
            #  (u u^-1) u^-1 = u^-1 as u^-1 (u^-1 (u^-1)^-1) = u^-1
            again = self.make("inv", inverse)
            self.say("inverse twice", again, u)
            self.say("absorb", self.mul(inverse, self.mul(inverse, again)), inverse)
            self.swap(inverse, again)
            self.swap(inverse, nothing)
            if n < -1:
                rest = self._inverse_apart(u, -n)
                self.swap(nothing, self.mul(rest, inverse))
                self.regroup(rest, inverse, nothing)
        elif n == 0:
            self._units(u, 0, m)
            self.swap(a, b)
        elif n == -1:
            #  (p u) u^-1 = p (u u^-1), and p ends with a u that absorbs it
            if m > 1:
                self.regroup(self._power_of(u, m - 1), u, inverse)
                if self.nonzero(u):
                    self.drop_one(self._power_of(u, m - 1))
                else:
                    self._units(u, m - 1, 0)
        else:
            #  u^m (u^-(n-1) u^-1) = (u^m u^-(n-1)) u^-1
            rest = self._inverse_apart(u, -n)
            self.regroup(a, rest, inverse)
            self._units(u, m, n + 1)
            left = m + n + 1
            if left == 0 and self.nonzero(u):
                self.say("one", self.mul(self.one, inverse), inverse)
            else:
                self._units(u, left, -1)

    def _inverse_apart(self, u: Id, n: int) -> Id:
        """`(q u)^-1 = q^-1 u^-1` for a chain of n > 1; gives q^-1."""
        q = self._power_of(u, n - 1)
        rest, inverse = self.make("inv", q), self.make("inv", u)
        self.say("inverse of a product", self.make("inv", self._power_of(u, n)), self.mul(rest, inverse))
        return rest

    # ------------------------------------------------------------ products
    def tree(self, monomial: Monomial) -> Id:
        """The term that spells a monomial."""
        if monomial not in self._trees:
            self._trees[monomial] = self.chain([self.power(b, e) for b, e in monomial])
        return self._trees[monomial]

    def inserted(self, monomial: Monomial, factor: Power) -> Monomial:
        """`(.. a) b` with b in its place; equal bases merge."""
        if (monomial, factor) not in self._inserts:
            self._inserts[monomial, factor] = self._inserted(monomial, factor)
        return self._inserts[monomial, factor]

    def _inserted(self, have: Monomial, factor: Power) -> Monomial:
        base, exponent = factor
        b = self.power(base, exponent)
        if not have:
            self.say("one", self.mul(self.one, b), b)
            return (factor,)
        last, its = have[-1]
        if last < base:
            return (*have, factor)
        rest, a = self.tree(have[:-1]), self.power(last, its)
        if last == base and self.is_bit(base):
            self.say("a bit twice", self.mul(b, b), b)
            if len(have) > 1:
                self.regroup(rest, a, b)
            return have
        if last == base:
            merged = self.merge(base, its, exponent)
            if len(have) > 1:
                self.regroup(rest, a, b)
            if merged == self.one:
                if len(have) > 1:
                    self.drop_one(rest)
                return have[:-1]
            return (*have[:-1], (base, its + exponent))
        self.swap(a, b)
        if len(have) == 1:
            return (factor, have[-1])
        self.regroup(rest, a, b)
        self.regroup(rest, b, a)
        inner = self.inserted(have[:-1], factor)
        if not inner:
            self.say("one", self.mul(self.one, a), a)
        return (*inner, have[-1])

    def times(self, a: Monomial, b: Monomial) -> Monomial:
        """The product of two monomials."""
        if not b:
            self.drop_one(self.tree(a))
            return a
        if len(b) > 1:
            self.regroup(self.tree(a), self.tree(b[:-1]), self.power(*b[-1]))
            a = self.times(a, b[:-1])
        for last in b[-1:]:
            a = self.inserted(a, last)
        return a

    def inverse(self, monomial: Monomial) -> Monomial:
        """The inverse of a monomial is one."""
        if monomial not in self._inverted:
            self._inverted.add(monomial)
            if not monomial:
                self.say("number inverse", self.make("inv", self.one), self.one)
            else:
                self._inverse_of_power(*monomial[-1])
            if len(monomial) > 1:
                rest, last = self.tree(monomial[:-1]), self.power(*monomial[-1])
                apart = self.mul(self.make("inv", rest), self.make("inv", last))
                self.say("inverse of a product", self.make("inv", self.tree(monomial)), apart)
                self.inverse(monomial[:-1])
        return tuple((b, e if self.is_bit(b) else -e) for b, e in monomial)

    def _inverse_of_power(self, base: Id, exponent: Fraction) -> None:
        p = self.power(base, exponent)
        inverse = self.make("inv", p)
        if self.nodes[base].op == "exp":
            (t,) = self.nodes[base].inside
            opposite = self.mul(self.number(-ONE), self.scaled(t, exponent))
            self.say("exp of a negative", self.make("exp", opposite), inverse)
            self.negated(t, exponent)
        elif self.is_bit(base):
            self.say("inverse of a bit", inverse, base)
        elif exponent < 0:
            self.say("inverse twice", inverse, self.power(base, -exponent))
        elif exponent == 0:
            once = self.make("inv", base)
            self.say("inverse of a product", inverse, self.mul(once, self.make("inv", once)))
            self.say("inverse twice", self.make("inv", once), base)
            self.swap(once, base)

    def negated(self, monomial: Id, c: Fraction) -> Id:
        """`-1 (c m) = (-c) m`."""
        return self.times_number(-ONE, monomial, c)

    def times_number(self, d: Fraction, monomial: Id, c: Fraction) -> Id:
        """`d (c m) = (d c) m` for numbers that are not 0."""
        number, whole = self.number(d), self.scaled(monomial, c)
        if d == 1:
            self.say("one", self.mul(number, whole), whole)
        elif monomial == self.one or c != 1:
            both = self.mul(number, self.number(c))
            self.say("number product", both, self.number(d * c))
            if monomial != self.one:
                self.regroup(number, self.number(c), monomial)
                if d * c == 1:
                    self.say("one", self.mul(self.one, monomial), monomial)
        return self.scaled(monomial, d * c)
