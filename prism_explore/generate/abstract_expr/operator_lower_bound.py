"""How many operators must still come, at least: an admissible bound, read off the result's expression.

The result's polynomial has parts that only certain operators make, and nothing cancels, so a part that no
tensor has yet costs an operator:

    Σd⟨x w⟩   A product of matrices or a sum. Where a polynomial has one monomial only, whatever ended up
              there had one monomial too; so an operator made one such sum, and two that bind different
              inputs are two operators.
    μd⟨x²⟩    A mean, by the same argument.
    √p, exp(p), 1/p   Each of these is a product of what single operators made (√p*√q = √(p*q) and so on).
              Go through those of the result, small ones first: one with an input that none before it has, nor
              any in a tensor, needs an operator of its own.
    f(p)      Functions never merge: one operator for each set of inputs below one.
    c         A constant.
    p + q     The result's own monomials. Where no product of two sums of terms can be among them, each of them
              came into the sum once: so if a tensor that is there has at most k of n, ceil(n / k) - 1 additions come.
              Else one comes at least, unless a tensor has two. Monomials with a constant are left out, because
              `x + c` makes them.
    p * q     The inputs in one of these monomials met in products, of matrices or not, since by the same condition
              no square mixed them. If c tensors that are there are needed to have them all, c - 1 products come.

`rms` makes a root and a mean at once. Sums and quotients may be made by operators that join two tensors, the
rest are made by operators with one operand. So if j loose ends are left to be joined, there come at least

    max(j, max(sums, products) + quotients + additions) + max(roots, means) + exponentials + functions + constants

operators. Where the space has `recip`, `rsqrt` or negative powers, quotients are not counted; nor are sums
along an axis where a mean is a sum times a constant, since one operator makes both, nor those constants.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TypeAlias

from prism_explore.generate.abstract_expr.polynomial import Call, Leaf, Mono, Poly, Sum, is_joint, nested
from prism_explore.generate.abstract_expr.subexpression import Goal, outline
from prism_explore.support.caches import memoize

Inputs: TypeAlias = frozenset[str]


@dataclass(frozen=True, slots=True)
class Parts:
    """What a polynomial has, at any depth, that cost an operator each."""

    sums: frozenset[Sum] = frozenset()
    """Sums and means."""
    lone: frozenset[Sum] = frozenset()
    """Those among them that stand in polynomials of one monomial."""
    calls: frozenset[tuple[str, Inputs]] = frozenset()
    constants: frozenset[str] = frozenset()
    roots: frozenset[Inputs] = frozenset()
    """The inputs below each root."""
    powers: frozenset[Inputs] = frozenset()
    quotients: frozenset[Inputs] = frozenset()
    terms: int = 0
    """The most monomials that one tensor has of the result's own; see `Needs.had`."""
    factors: int = 0
    """The most inputs in one monomial."""

    def __or__(self, other: Parts) -> Parts:
        return Parts(
            self.sums | other.sums,
            self.lone | other.lone,
            self.calls | other.calls,
            self.constants | other.constants,
            self.roots | other.roots,
            self.powers | other.powers,
            self.quotients | other.quotients,
            max(self.terms, other.terms),
            max(self.factors, other.factors),
        )


NO_PARTS = Parts()


@memoize(65536)
def parts(p: Poly) -> Parts:
    """The parts of a polynomial."""
    found = NO_PARTS
    for m, _ in p:
        sums = frozenset(s for s, _ in m.sums if s.label[0] in "Σμ")
        calls = (a for a, _ in m.atoms if isinstance(a, Call) and not is_joint(a.fn))
        root, power, den = (frozenset({inputs(q)} if q else ()) for q in (m.root, m.power, m.den))
        found |= Parts(
            sums,
            sums if len(p) == 1 else frozenset(),
            frozenset((a.fn, inputs(a.argument)) for a in calls),
            frozenset(a.name for a, _ in m.atoms if isinstance(a, Leaf) and a.kind == 2),
            roots=root,
            powers=power,
            quotients=den,
        )
        for inner in nested(m):
            found |= parts(inner)
    return found


@memoize(65536)
def inputs(p: Poly) -> Inputs:
    """The names of the inputs in a polynomial, at any depth."""
    return frozenset(name for m, _ in p for name in _inputs(m))


def _inputs(m: Mono) -> Iterable[str]:
    for atom, _ in m.atoms:
        if isinstance(atom, Leaf) and atom.kind == 0:
            yield atom.name
    for inner in nested(m):
        yield from inputs(inner)


class OperatorLowerBound:
    """The result's parts, asked again and again which of them are still to be made."""

    def __init__(
        self,
        goal: Goal,
        *,
        rms: bool,
        quotients: bool,
        reciprocals: Iterable[tuple[str, str]] = (),
    ) -> None:
        """What the result has.

        Args:
            goal: the result.
            rms: whether the space has an operator that makes a root and a mean.
            quotients: whether only divisions make quotients.
            reciprocals: axes along which a mean is a sum times a constant, and that constant.
        """
        self._goal = goal
        wanted = parts(goal.result)
        self._rms, self._quotients = rms, quotients
        self._mean_is_sum = {axis for axis, _ in reciprocals}
        self._lone = frozenset(s for s in wanted.lone if s.axis not in self._mean_is_sum)
        self._means = frozenset(s.label for s in wanted.sums if s.label[0] == "μ")
        self._calls = wanted.calls
        self._constants = wanted.constants - {value for _, value in reciprocals}
        self._roots, self._powers, self._dens = map(_by_size, (wanted.roots, wanted.powers, wanted.quotients))
        counted = [(m, n) for m, n in goal.result if not _constants(m)]
        self._terms = sum(n for _, n in counted)
        self._added_once = all(n == 1 for _, n in counted) and not _may_factor([m for m, _ in counted])
        self._factors = max((len(_names(m)) for m, _ in counted), default=0) if self._added_once else 0
        self._parts_of: dict[Poly, Parts] = {}
        self._missing_of: dict[Parts, tuple[int, int, int]] = {}

    def parts_of(self, p: Poly) -> Parts:
        """The parts of a tensor's polynomial, and what it has of the result's sums and products."""
        found = self._parts_of.get(p)
        if found is None:
            terms = (
                sum(n for m, n in p if not _constants(m)) if self._terms > 1 and self._goal.is_top_level_part(p) else 0
            )
            factors = max((len(_names(m)) for m, _ in p), default=0)
            found = self._parts_of[p] = replace(parts(p), terms=terms, factors=factors)
        return found

    def needed(self, joins: int, made: Parts) -> int:
        """Operators that must still come, given what the tensors have and how many of them are to be joined."""
        sums, quotients, others = self._missing(made)
        return max(joins, sums + quotients) + others

    def needed_with_terms(self, joins: int, made: Parts) -> int:
        """The same, where additions and products of the result's own monomials count as well."""
        sums, quotients, others = self._missing(made)
        products = -(-self._factors // max(made.factors, 1)) - 1
        return max(joins, max(sums, products) + quotients + self._additions(made.terms)) + others

    def _missing(self, made: Parts) -> tuple[int, int, int]:
        """Sums, quotients, and what operators with one operand make, at least."""
        found = self._missing_of.get(made)
        if found is None:
            found = self._missing_of[made] = self._count_missing(made)
        return found

    def _count_missing(self, made: Parts) -> tuple[int, int, int]:
        lacking = self._lone - made.sums
        sums = sum(s.label[0] == "Σ" for s in lacking)
        means = {s.label for s in made.sums}
        lone_means = [s.label for s in lacking if s.label[0] == "μ"]
        averaged = len(lone_means) + len(self._means - means - set(lone_means))
        rooted = _count_with_new_input(self._roots, made.roots)
        others = (
            (max(rooted, averaged) if self._rms else rooted + averaged)
            + _count_with_new_input(self._powers, made.powers)
            + len(self._calls - made.calls)
            + len(self._constants - made.constants)
        )
        return sums, _count_with_new_input(self._dens, made.quotients) if self._quotients else 0, others

    def _additions(self, terms: int) -> int:
        if self._added_once:
            return max(-(-self._terms // max(terms, 1)) - 1, 0)
        return int(self._terms > 1 >= terms)


def _constants(m: Mono) -> bool:
    """Whether a constant is among the factors of a monomial."""
    return any(isinstance(a, Leaf) and a.kind == 2 for a, _ in m.atoms)


def _names(m: Mono) -> frozenset[str]:
    return frozenset(a.name for a, _ in m.atoms if isinstance(a, Leaf) and a.kind == 0)


def _may_factor(monomials: list[Mono]) -> bool:
    """Whether a product of two sums may lie among these: four of them, r*u and s*v, r*v and s*u.

    Only the names of what is multiplied are compared, so a no is certain.
    """
    names = [Counter(dict(outline(m).names)) for m in monomials]
    pairs = [(i, j, names[i] + names[j]) for i, j in combinations(range(len(names)), 2)]
    return any(p[2] == q[2] and not {p[0], p[1]} & {q[0], q[1]} for p, q in combinations(pairs, 2))


def _by_size(sets: frozenset[Inputs]) -> tuple[Inputs, ...]:
    return tuple(sorted(sets, key=lambda s: (len(s), sorted(s))))


def _count_with_new_input(wanted: tuple[Inputs, ...], made: frozenset[Inputs]) -> int:
    """How many of the wanted sets, in order, have a member that is in no set before them and in none made."""
    seen = frozenset[str]().union(*made)
    count = 0
    for s in wanted:
        if not s <= seen:
            count += 1
            seen |= s
    return count
