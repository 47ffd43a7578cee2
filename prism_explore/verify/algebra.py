"""The rules at work: sums, products, powers and substitutions that stay in normal form.

An `Algebra` builds forms bottom-up; every operation takes forms in normal form and returns one. It
keeps what it computed, keyed by the forms' texts alone: nothing is assumed about a symbol but that
it is a positive integer, so what one candidate left behind is as true for the next. A sum is never
opened under its bound name; it is given fresh names first, and canonical ones when it is closed.

The work is counted. Where the budget ends, `Stuck` says which limit was hit; it is caught inside
this package and becomes an `Unknown`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations, product
from math import factorial, floor, gcd, lcm, prod
from typing import assert_never

from prism_explore.ir.dims import ONE, Dim
from prism_explore.verify import index
from prism_explore.verify.index import Index, Var
from prism_explore.verify.normal_form import (
    NF_ONE,
    NF_ZERO,
    UNIT,
    Atom,
    Exp,
    Factor,
    Group,
    NormalForm,
    Number,
    Opaque,
    Prime,
    Read,
    Size,
    Term,
    number,
)
from prism_explore.verify.sums import components, fuse, split

_HALF = Fraction(1, 2)
_LARGEST_TRIAL_DIVISOR = 10_000


class Stuck(Exception):
    """The normal form cannot be had; `limit` says why. Never leaves this package."""

    def __init__(self, limit: str) -> None:
        super().__init__(limit)
        self.limit = limit


@dataclass(frozen=True, slots=True)
class Budget:
    """How much work one candidate may cost."""

    steps: int = 5_000
    """Factors handled while building terms."""
    terms: int = 256
    """Terms in one normal form."""
    orders: int = 720
    """Orders tried for bound indices that look alike."""
    kept: int = 20_000
    """Results remembered before all are dropped."""


class Algebra:
    """Operations on normal forms, with a memory and a budget."""

    def __init__(self, budget: Budget | None = None, *, spell_out: bool = False) -> None:
        """`spell_out`: silu and sigmoid by their definitions (rule F1) instead of by name."""
        self.budget = budget or Budget()
        self.spell_out = spell_out
        self.steps = 0
        self._fresh = 0
        self._products: dict[tuple[str, str], NormalForm] = {}
        self._sums: dict[tuple[str, str], NormalForm] = {}
        self._powers: dict[tuple[str, Number], NormalForm] = {}
        self._replaced: dict[tuple[str, tuple[tuple[str, str], ...]], NormalForm] = {}
        self._renamed: dict[tuple[str, tuple[tuple[str, str], ...]], Atom] = {}
        self._sizes: dict[Dim, NormalForm] = {}

    def restart(self) -> None:
        """A new candidate: the full budget again, and no more memories than allowed."""
        self.steps = 0
        self._fresh = 0
        memories = (self._products, self._sums, self._powers, self._replaced, self._renamed)
        if sum(map(len, memories)) > self.budget.kept:
            for memory in memories:
                memory.clear()

    # ------------------------------------------------------------ ring
    def constant(self, value: Number) -> NormalForm:
        """A rational number."""
        return NormalForm(((UNIT, number(value)),)) if value else NF_ZERO

    def size(self, d: Dim) -> NormalForm:
        """A size as a number."""
        if d not in self._sizes:
            total = NF_ZERO
            for powers, coefficient in d.terms:
                total = self.add(total, self._term((), [(Size(s), e) for s, e in powers], coefficient))
            self._sizes[d] = total
        return self._sizes[d]

    def read(self, tensor: str, dims: Sequence[Dim]) -> NormalForm:
        """An input tensor at its own position."""
        here = tuple(index.var(index.position(d), size) for d, size in enumerate(dims))
        return _single(Read(tensor, here))

    def add(self, a: NormalForm, b: NormalForm) -> NormalForm:
        """a + b (rule R1)."""
        if not a.terms:
            return b
        if not b.terms:
            return a
        total = {t.key: (t, c) for t, c in a.terms}
        for t, c in b.terms:
            known = total.get(t.key)
            total[t.key] = (t, number(c + known[1]) if known else c)
        return self._ordered(total.values())

    def _ordered(self, terms: Iterable[tuple[Term, Number]]) -> NormalForm:
        kept = tuple(sorted(((t, c) for t, c in terms if c), key=_by_key))
        if len(kept) > self.budget.terms:
            raise Stuck(f"a normal form of more than {self.budget.terms} terms")
        return NormalForm(kept)

    def scale(self, a: NormalForm, by: Number) -> NormalForm:
        """A rational number times a."""
        if by == 1:
            return a
        return NormalForm(tuple((t, number(c * by)) for t, c in a.terms)) if by else NF_ZERO

    def sub(self, a: NormalForm, b: NormalForm) -> NormalForm:
        """a - b."""
        return self.add(a, self.scale(b, -1))

    def mul(self, a: NormalForm, b: NormalForm) -> NormalForm:
        """a * b (rules R1, S2)."""
        if b.key < a.key:
            a, b = b, a
        if a.key == NF_ONE.key:
            return b
        if b.key == NF_ONE.key:
            return a
        memo = (a.key, b.key)
        if memo not in self._products:
            if len(a.terms) * len(b.terms) > self.budget.terms:
                raise Stuck(f"a normal form of more than {self.budget.terms} terms")
            total = NF_ZERO
            for s, c in a.terms:
                bound, factors = self._open(s)
                for t, d in b.terms:
                    more, others = self._open(t)
                    total = self.add(total, self._term((*bound, *more), (*factors, *others), number(c * d)))
            self._products[memo] = total
        return self._products[memo]

    def sum(self, a: NormalForm, over: Index) -> NormalForm:
        """Σ of a over an index variable (rules S1 to S7); over 0, which stands for a dim of size 1, just a."""
        if not isinstance(over, Var):
            return a
        memo = (a.key, over.key)
        if memo not in self._sums:
            total = NF_ZERO
            for t, c in a.terms:
                bound, factors = self._open(t)
                total = self.add(total, self._term((*bound, over), factors, c))
            self._sums[memo] = total
        return self._sums[memo]

    # ------------------------------------------------------------ powers and functions
    def power(self, n: NormalForm, q: Number) -> NormalForm:
        """n to a rational power (rules P1 to P5); to the power 0 it is 1 where n is not 0.

        Raises:
            Stuck: 0 to a negative power.
        """
        q = number(q)
        if q == 1:
            return n
        if not n.terms:
            if q < 0:
                raise Stuck("a division by a value that is always 0")
            return NF_ZERO
        memo = (n.key, q)
        if memo not in self._powers:
            self._powers[memo] = self._power(n, q)
        return self._powers[memo]

    def _power(self, n: NormalForm, q: Number) -> NormalForm:
        if q == 0 and n.sign == 2:
            return NF_ONE
        if isinstance(q, int) and q > 0:
            result = n
            for _ in range(q - 1):
                result = self.mul(result, n)
            return result
        if not isinstance(q, int) and not n.sign:
            if q.denominator != 2:
                raise Stuck("a root of a value that may be negative")
            return self.power(_single(Opaque("sqrt", (n,))), q.numerator)
        if len(n.terms) == 1:
            return self._power_of_product(*n.terms[0], q)
        g, common = self._content(n, roots=not isinstance(q, int))
        if g == 1 and not common:
            return self._term((), ((Group(n), q),), 1)
        outside = self._term((), [(a, e * q) for a, e in common], 1)
        return self.mul(self.mul(self._number_power(g, q), outside), self.power(self._without(n, g, common), q))

    def _power_of_product(self, t: Term, c: Number, q: Number) -> NormalForm:
        result = self._number_power(c, q)
        for bound, factors in components(*self._open(t)):
            if bound:
                inner = NormalForm(((self._close(bound, factors), 1),))
                result = self.mul(result, self._term((), ((Group(inner), q),), 1))
                continue
            powers: list[Factor] = []
            for a, e in factors:
                if isinstance(q, int) or a.sign or e == 0:
                    powers.append((a, e * q))
                else:
                    powers.append((Group(NormalForm(((Term((), ((a, 2),)), 1),))), e * q / 2))
            result = self.mul(result, self._term((), powers, 1))
        return result

    def _content(self, n: NormalForm, *, roots: bool) -> tuple[Number, tuple[Factor, ...]]:
        """What may leave a power of a sum of several terms (side conditions of rule P5)."""
        coefficients = [Fraction(c) for _, c in n.terms]
        g = Fraction(gcd(*(c.numerator for c in coefficients)), lcm(*(c.denominator for c in coefficients)))
        if not roots and n.terms[0][1] < 0:
            g = -g
        atoms: dict[str, Atom] = {}
        met: dict[str, list[Number]] = {}
        for t, _ in n.terms:
            names = {v.name for v in t.bound}
            for a, e in t.factors:
                if a.free.isdisjoint(names):
                    atoms[a.key] = a
                    met.setdefault(a.key, []).append(e)
        common: list[Factor] = []
        for key, exponents in met.items():
            a, everywhere = atoms[key], len(exponents) == len(n.terms)
            if a.sign == 2:
                least = min(exponents) if everywhere else min(*exponents, 0)
            elif everywhere and (min(exponents) > 0 or max(exponents) < 0) and (a.sign or not roots):
                least = min(exponents)
            else:
                continue
            if least:
                common.append((a, least))
        return number(g), tuple(common)

    def _without(self, n: NormalForm, g: Number, common: tuple[Factor, ...]) -> NormalForm:
        """n / (g * common), where each common atom's exponent is lowered."""
        total = NF_ZERO
        for t, c in n.terms:
            bound, factors = self._open(t)
            exponents = {a.key: (a, e) for a, e in factors}
            for a, e in common:
                left = number(exponents[a.key][1] - e if a.key in exponents else -e)
                exponents[a.key] = (a, left)
                if left == 0:
                    del exponents[a.key]
            total = self.add(total, self._term(bound, tuple(exponents.values()), number(Fraction(c) / g)))
        return total

    def _number_power(self, c: Number, q: Number) -> NormalForm:
        if isinstance(q, int):
            return self.constant(number(Fraction(c) ** q))
        factors: list[Factor] = []
        for value, sign in ((Fraction(c).numerator, 1), (Fraction(c).denominator, -1)):
            factors += [(Prime(p), k * q * sign) for p, k in _factorise(value)]
        return self._term((), factors, 1)

    def exp(self, n: NormalForm) -> NormalForm:
        """The exponential function (rules E1, E2)."""
        return self._term((), [(Exp(t), c) for t, c in n.terms], 1)

    def apply(self, function: str, n: NormalForm) -> NormalForm:
        """A named function: silu, sigmoid, relu or tanh (rules F1 to F4)."""
        if self.spell_out and function in ("silu", "sigmoid"):
            sigmoid = self.power(self.add(NF_ONE, self.exp(self.scale(n, -1))), -1)
            return self.mul(n, sigmoid) if function == "silu" else sigmoid
        if function == "relu":
            return self._relu(n)
        return _single(Opaque(function, (n,)))

    def _relu(self, n: NormalForm) -> NormalForm:
        if n.sign:
            return n
        if len(n.terms) == 1:
            ((t, c),) = n.terms
            names = {v.name for v in t.bound}
            outside = tuple((a, e) for a, e in t.factors if a.sign and a.free.isdisjoint(names))
            g = abs(c)
        else:
            g, outside = self._content(n, roots=True)
        inner = self._without(n, g, outside)
        return self.mul(self._term((), outside, g), _single(Opaque("relu", (inner,))))

    # ------------------------------------------------------------ substitution and renaming
    def substitute(self, n: NormalForm, by: Mapping[str, Index]) -> NormalForm:
        """Free index variables replaced by index terms of the same extents."""
        used = {v: i for v, i in by.items() if v in n.free and not (isinstance(i, Var) and i.name == v)}
        if not used:
            return n
        memo = (n.key, tuple(sorted((v, i.key) for v, i in used.items())))
        if memo not in self._replaced:
            total = NF_ZERO
            for t, c in n.terms:
                if t.free.isdisjoint(used):
                    total = self.add(total, NormalForm(((t, c),)))
                    continue
                bound, factors = self._open(t)
                inner = self._substitute_factors(factors, used)
                for v in bound:
                    inner = self.sum(inner, v)
                total = self.add(total, self.scale(inner, c))
            self._replaced[memo] = total
        return self._replaced[memo]

    def _substitute_factors(self, factors: Iterable[Factor], by: Mapping[str, Index]) -> NormalForm:
        plain: list[Factor] = []
        rest: list[NormalForm] = []
        for a, e in factors:
            if a.free.isdisjoint(by):
                plain.append((a, e))
                continue
            match a:
                case Read(tensor, indices):
                    plain.append((Read(tensor, tuple(index.substitute(i, by) for i in indices)), e))
                case Exp(term):
                    exponent = self.substitute(NormalForm(((term, 1),)), by)
                    rest.append(self.power(self.exp(exponent), e))
                case Group(inner):
                    rest.append(self.power(self.substitute(inner, by), e))
                case Opaque("sqrt", (arg,)):
                    rest.append(self.power(self.power(self.substitute(arg, by), _HALF), e))
                case Opaque(function, args):
                    rest.append(self.power(self.apply(function, self.substitute(args[0], by)), e))
                case Size() | Prime():
                    raise AssertionError("sizes and primes have no index")
                case _:
                    assert_never(a)
        result = self._term((), plain, 1)
        for n in rest:
            result = self.mul(result, n)
        return result

    def _open(self, t: Term) -> tuple[tuple[Var, ...], tuple[Factor, ...]]:
        """A term's bound indices and factors under fresh names."""
        if not t.bound:
            return (), t.factors
        by: dict[str, Index] = {}
        bound: list[Var] = []
        for v in t.bound:
            self._fresh += 1
            fresh = Var(f"~{self._fresh}", v.extent)
            bound.append(fresh)
            by[v.name] = fresh
        return tuple(bound), tuple((self._rename(a, by), e) for a, e in t.factors)

    def _rename(self, a: Atom, by: Mapping[str, Index]) -> Atom:
        """Variables renamed, one to one; the shape stays and only the order is made anew."""
        if a.free.isdisjoint(by):
            return a
        memo = (a.key, tuple(sorted((v, i.key) for v, i in by.items() if v in a.free)))
        known = self._renamed.get(memo)
        if known is not None:
            return known
        match a:
            case Read(tensor, indices):
                result: Atom = Read(tensor, tuple(index.substitute(i, by) for i in indices))
            case Exp(term):
                result = Exp(self._rename_term(term, by))
            case Group(inner):
                result = Group(self._rename_form(inner, by))
            case Opaque(function, args):
                result = Opaque(function, tuple(self._rename_form(n, by) for n in args))
            case Size() | Prime():
                raise AssertionError("sizes and primes have no index")
            case _:
                assert_never(a)
        self._renamed[memo] = result
        return result

    def _rename_term(self, t: Term, by: Mapping[str, Index]) -> Term:
        return self._close(t.bound, tuple((self._rename(a, by), e) for a, e in t.factors))

    def _rename_form(self, n: NormalForm, by: Mapping[str, Index]) -> NormalForm:
        return self._ordered((self._rename_term(t, by), c) for t, c in n.terms)

    # ------------------------------------------------------------ one term
    def _spend(self, steps: int) -> None:
        self.steps += steps
        if self.steps > self.budget.steps:
            raise Stuck(f"the normal form took more than {self.budget.steps} steps")

    def _term(self, bound: Sequence[Var], factors: Sequence[Factor], coefficient: Number) -> NormalForm:
        """coefficient * Σ_bound Π factors in normal form; the bound names must not be canonical ones."""
        if not coefficient:
            return NF_ZERO
        self._spend(1 + len(factors))
        merged: dict[str, Factor] = {}
        for a, e in factors:
            merged[a.key] = (a, merged[a.key][1] + e if a.key in merged else e)
        kept: list[Factor] = []
        expand: list[tuple[NormalForm, int]] = []
        for a, exact in merged.values():
            e = number(exact)
            if e == 0:
                if a.sign != 2:
                    kept.append((a, 0))
                continue
            if isinstance(a, Prime):
                coefficient = number(coefficient * Fraction(a.value) ** floor(e))
                e = number(e - floor(e))
            elif isinstance(a, Group) and e >= 1:
                expand.append((a.inner, floor(e)))
                e = number(e - floor(e))
            if e:
                kept.append((a, e))
        if expand:
            result = self._term((), kept, coefficient)
            for n, k in expand:
                result = self.mul(result, self.power(n, k))
            for v in bound:
                result = self.sum(result, v)
            return result
        if bound:
            return self._summed(bound, kept, coefficient)
        return NormalForm(((Term((), tuple(sorted(kept, key=_by_key))), number(coefficient)),))

    def _summed(self, bound: Sequence[Var], factors: list[Factor], coefficient: Number) -> NormalForm:
        """Rules S3, S4, S5 and S7, each applied where it can be, then canonical names."""
        free: set[str] = set()
        for a, _ in factors:
            free |= a.free
        vain = [v.extent for v in bound if v.name not in free]
        if vain:
            rest = self._term([v for v in bound if v.name in free], factors, coefficient)
            return self.mul(rest, self.size(prod(vain, start=ONE)))
        step = fuse(bound, factors) or split(bound, factors)
        if step is not None:
            by, sizes = step
            self._fresh += 1
            names = {old: f"~{self._fresh}.{old}" for old in sizes}
            put = {v: index.substitute(i, {o: index.var(names[o], sizes[o]) for o in sizes}) for v, i in by.items()}
            inner = self._substitute_factors(factors, put)
            for v in bound:
                if v.name not in by:
                    inner = self.sum(inner, v)
            for old, size in sizes.items():
                inner = self.sum(inner, index.var(names[old], size))
            return self.scale(inner, coefficient)
        joined = self._join_power(bound, factors)
        if joined is not None:
            return self._term(*joined, coefficient)
        return NormalForm(((self._close(bound, factors), number(coefficient)),))

    def _join_power(self, bound: Sequence[Var], factors: list[Factor]) -> tuple[list[Var], list[Factor]] | None:
        """Rule S7: a sum times a negative power of itself."""
        groups = {a.inner.key: (a, e) for a, e in factors if isinstance(a, Group) and e < 0}
        if not groups:
            return None
        for over, inside in components(bound, factors):
            if not over:
                continue
            found = groups.get(NormalForm(((self._close(over, inside), 1),)).key)
            if found is None or any(a is found[0] for a, _ in inside):
                continue
            group, e = found
            rest = [f for f in factors if f not in inside and f[0] is not group]
            return [v for v in bound if v not in over], [*rest, (group, number(e + 1))]
        return None

    def _close(self, bound: Sequence[Var], factors: Sequence[Factor]) -> Term:
        """The term with canonical bound names: the least text over all orders that the shape leaves open."""
        if not bound:
            return Term((), tuple(sorted(factors, key=_by_key)))
        height = 1 + max(a.height for a, _ in factors)
        groups = [[bound[0]]] if len(bound) == 1 else self._alike(bound, factors)
        orders = prod(factorial(len(g)) for g in groups)
        if orders > self.budget.orders:
            raise Stuck("too many bound indices that look alike")
        best: Term | None = None
        for choice in product(*(permutations(g) for g in groups)):
            order = [v for g in choice for v in g]
            new = tuple(Var(f"b{height}.{n}", v.extent) for n, v in enumerate(order))
            by: dict[str, Index] = {v.name: w for v, w in zip(order, new, strict=True)}
            renamed = sorted(((self._rename(a, by), e) for a, e in factors), key=_by_key)
            if orders > 1:
                self._spend(len(renamed))
            term = Term(new, tuple(renamed))
            if best is None or term.key < best.key:
                best = term
        assert best is not None, "there is always one order"
        return best

    def _alike(self, bound: Sequence[Var], factors: Sequence[Factor]) -> list[list[Var]]:
        """Bound indices in groups that their surroundings tell apart, in an order that names do not sway."""
        colour = {v.name: f"?{v.extent}" for v in bound}
        for _ in range(3):
            seen: dict[str, str] = {}
            for v in bound:
                by: dict[str, Index] = {w.name: Var(f"?{colour[w.name]}", w.extent) for w in bound if w != v}
                by[v.name] = Var("?", v.extent)
                near = [f"{self._shape(a, by)}^{e}" for a, e in factors if v.name in a.free]
                seen[v.name] = "*".join(sorted(near))
            ranks = {text: f"{n:03}" for n, text in enumerate(sorted(set(seen.values())))}
            settled = len(ranks) in (len(bound), len(set(colour.values())))
            colour = {name: ranks[text] for name, text in seen.items()}
            if settled:
                break
        groups: dict[str, list[Var]] = {}
        for v in bound:
            groups.setdefault(colour[v.name], []).append(v)
        return [groups[c] for c in sorted(groups)]

    def _shape(self, a: Atom, by: Mapping[str, Index]) -> str:
        return self._rename(a, by).key

    # ------------------------------------------------------------ equality
    def cleared(self, a: NormalForm, b: NormalForm, rounds: int = 4) -> bool:
        """Whether a - b becomes 0 when provably positive denominators are cleared.

        Multiplying by a positive number changes no zero, so yes is a proof; no says nothing.
        """
        difference = self.sub(a, b)
        for _ in range(rounds):
            if not difference.terms:
                return True
            found = next(
                (
                    (at, e)
                    for t, _ in difference.terms
                    for at, e in t.factors
                    if isinstance(at, Group)
                    and e < 0
                    and at.sign == 2
                    and at.free.isdisjoint({v.name for v in t.bound})
                ),
                None,
            )
            if found is None:
                return False
            group, e = found
            by = ((group, -floor(e)),)
            total = NF_ZERO
            for t, c in difference.terms:
                bound, factors = self._open(t)
                total = self.add(total, self._term(bound, (*factors, *by), c))
            difference = total
        return not difference.terms


# ---------------------------------------------------------------- helpers without state
def _by_key(pair: tuple[Atom, Number] | tuple[Term, Number]) -> str:
    return pair[0].key


def _single(a: Atom) -> NormalForm:
    return NormalForm(((Term((), ((a, 1),)), 1),))


def _factorise(value: int) -> Iterator[tuple[int, int]]:
    """Primes and their exponents; what is left beyond the largest trial divisor counts as one."""
    p = 2
    while p * p <= value and p <= _LARGEST_TRIAL_DIVISOR:
        k = 0
        while value % p == 0:
            value //= p
            k += 1
        if k:
            yield p, k
        p += 1
    if value > 1:
        yield value, 1
