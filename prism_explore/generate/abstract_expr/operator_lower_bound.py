"""An admissible lower bound on the number of operators that a partial graph still needs.

Input: the result's polynomial and the polynomials of the tensors so far. Method: some parts of a polynomial are made
by certain operators only, and no part ever cancels. So each part of the result that no tensor has costs an operator:

    Σd⟨x w⟩   A matrix product or a sum. If a polynomial has a single monomial, all its factors had a single monomial
              too. So one operator made each such sum, and sums that bind different inputs are different operators.
    μd⟨x²⟩    A mean, by the same argument.
    √p, exp(p), 1/p   Each is a product of values that single operators made (√p*√q = √(p*q) and so on). The parts of
              the result are visited in increasing size. A part needs an operator of its own if it has an input that
              no part before it has, nor such a part of any tensor.
    f(p)      Functions never merge: one operator for each set of inputs that a function is applied to.
    c         A constant.
    p + q     The result's own monomials. If they contain no product of two sums of terms, each was added once. So if
              the best tensor has k of n monomials, ceil(n / k) - 1 additions are needed. Otherwise at least one is
              needed, unless a tensor has two monomials. Monomials with a constant do not count, because `x + c`
              makes them.
    p * q     The inputs in one of these monomials were combined by products, because under the same condition no
              square combined them. If c tensors are needed to cover these inputs, c - 1 products are needed.

`rms` makes a root and a mean at once. Operators with two operands make sums and quotients, and operators with one
operand make the other parts. So if j operators with two operands are needed to use all tensors, at least

    max(j, max(sums, products) + quotients + additions) + max(roots, means) + exponentials + functions + constants

operators are needed. If the space has `recip`, `rsqrt` or negative powers, quotients are not counted. Along an axis
where a mean is a sum times a constant, neither sums nor that constant are counted, because one operator makes both.
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
    """The parts of a polynomial, at any depth, each of which costs an operator."""

    sums: frozenset[Sum] = frozenset()
    """Sums and means."""
    lone: frozenset[Sum] = frozenset()
    """Those in polynomials of a single monomial."""
    calls: frozenset[tuple[str, Inputs]] = frozenset()
    """Opaque functions, with the inputs of their arguments."""
    constants: frozenset[str] = frozenset()
    roots: frozenset[Inputs] = frozenset()
    """The inputs under each root."""
    powers: frozenset[Inputs] = frozenset()
    """The inputs in each exponent."""
    quotients: frozenset[Inputs] = frozenset()
    """The inputs in each denominator."""
    terms: int = 0
    """The most monomials of the result's own polynomial that one tensor has."""
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
    """The lower bound for one result; values are cached."""

    def __init__(
        self,
        goal: Goal,
        *,
        rms: bool,
        quotients: bool,
        reciprocals: Iterable[tuple[str, str]] = (),
    ) -> None:
        """Find the parts of the result.

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
        counted = [(m, n) for m, n in goal.result if not _has_constant(m)]
        self._terms = sum(n for _, n in counted)
        self._added_once = all(n == 1 for _, n in counted) and not _may_factor([m for m, _ in counted])
        self._factors = max((len(_names(m)) for m, _ in counted), default=0) if self._added_once else 0
        self._parts_of: dict[Poly, Parts] = {}
        self._missing_of: dict[Parts, tuple[int, int, int]] = {}

    def parts_of(self, p: Poly) -> Parts:
        """The parts of a tensor's polynomial, with its terms and factors."""
        found = self._parts_of.get(p)
        if found is None:
            terms = (
                sum(n for m, n in p if not _has_constant(m))
                if self._terms > 1 and self._goal.is_top_level_part(p)
                else 0
            )
            factors = max((len(_names(m)) for m, _ in p), default=0)
            found = self._parts_of[p] = replace(parts(p), terms=terms, factors=factors)
        return found

    def needed(self, joins: int, made: Parts) -> int:
        """The lower bound without additions and products of the result's own monomials.

        Args:
            joins: operators with two operands that are needed to use all tensors.
            made: the parts that some tensor has.
        """
        sums, quotients, others = self._missing(made)
        return max(joins, sums + quotients) + others

    def needed_with_terms(self, joins: int, made: Parts) -> int:
        """The lower bound, additions and products of the result's own monomials included."""
        sums, quotients, others = self._missing(made)
        products = -(-self._factors // max(made.factors, 1)) - 1
        return max(joins, max(sums, products) + quotients + self._additions(made.terms)) + others

    def _missing(self, made: Parts) -> tuple[int, int, int]:
        """Lower bounds on the sums, the quotients, and the operators with one operand that are missing."""
        found = self._missing_of.get(made)
        if found is None:
            found = self._missing_of[made] = self._count_missing(made)
        return found

    def _count_missing(self, made: Parts) -> tuple[int, int, int]:
        missing = self._lone - made.sums
        sums = sum(s.label[0] == "Σ" for s in missing)
        lone_means = [s.label for s in missing if s.label[0] == "μ"]
        means = len(lone_means) + len(self._means - {s.label for s in made.sums} - set(lone_means))
        roots = _count_with_new_input(self._roots, made.roots)
        others = (
            (max(roots, means) if self._rms else roots + means)
            + _count_with_new_input(self._powers, made.powers)
            + len(self._calls - made.calls)
            + len(self._constants - made.constants)
        )
        return sums, _count_with_new_input(self._dens, made.quotients) if self._quotients else 0, others

    def _additions(self, terms: int) -> int:
        if self._added_once:
            return max(-(-self._terms // max(terms, 1)) - 1, 0)
        return int(self._terms > 1 >= terms)


def _has_constant(m: Mono) -> bool:
    """Whether a monomial has a constant factor."""
    return any(isinstance(a, Leaf) and a.kind == 2 for a, _ in m.atoms)


def _names(m: Mono) -> frozenset[str]:
    return frozenset(a.name for a, _ in m.atoms if isinstance(a, Leaf) and a.kind == 0)


def _may_factor(monomials: list[Mono]) -> bool:
    """Whether these monomials may contain a product of two sums: four of the form r*u, s*v, r*v and s*u.

    Only names of factors are compared. False is certain, True is not.
    """
    names = [Counter(dict(outline(m).names)) for m in monomials]
    pairs = [(i, j, names[i] + names[j]) for i, j in combinations(range(len(names)), 2)]
    return any(p[2] == q[2] and not {p[0], p[1]} & {q[0], q[1]} for p, q in combinations(pairs, 2))


def _by_size(sets: frozenset[Inputs]) -> tuple[Inputs, ...]:
    return tuple(sorted(sets, key=lambda s: (len(s), sorted(s))))


def _count_with_new_input(wanted: tuple[Inputs, ...], made: frozenset[Inputs]) -> int:
    """How many of the wanted sets, in order, have an input that is in no set before them and in no set made."""
    seen = frozenset[str]().union(*made)
    count = 0
    for s in wanted:
        if not s <= seen:
            count += 1
            seen |= s
    return count
