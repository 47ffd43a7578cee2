"""Weighted sums: `(Σ a b) (Σ a)^0 = Σ a b` for nonnegative weights a."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations, product
from math import factorial

from prism_explore.verify.certificate.derivation.bound_axes import ORDERS, BoundAxes
from prism_explore.verify.certificate.derivation.monomials import ONE, Monomial, Monomials
from prism_explore.verify.certificate.derivation.polynomials import Poly, Polynomials
from prism_explore.verify.certificate.derivation.signs import Signs
from prism_explore.verify.certificate.derivation.term_graph import Id, TermGraph


class WeightedSums:
    """Products of a weighted sum and the zeroth power of the sum of its weights."""

    def __init__(
        self, graph: TermGraph, signs: Signs, monomials: Monomials, polynomials: Polynomials, axes: BoundAxes
    ) -> None:
        self._graph = graph
        self._signs = signs
        self._monomials = monomials
        self._polynomials = polynomials
        self._axes = axes
        self._weighted: dict[tuple[Id, Id], bool] = {}

    def simplify(self, m: Monomial) -> Poly | None:
        """`(Σ a b) (Σ a)^0 = Σ a b` in a monomial; None where no two factors have this form."""
        weights = [f for f in m if self._graph.nodes[f[0]].op == "sum" and f[1] == 0]
        totals = [f for f in m if self._graph.nodes[f[0]].op == "sum" and f[1] >= 1 and f[1].denominator == 1]
        for (whole, e), weight in product(totals, weights):
            if self._is_weighted_by(whole, weight[0]):
                rest = tuple(f for f in m if f != weight and f[0] != whole)
                rest = self._monomials.insert(rest, (whole, e - 1)) if e > 1 else rest
                pair = tuple(sorted(((whole, ONE), weight)))
                assert self._monomials.multiply(rest, pair) == m, (
                    "removing factors and multiplying them again gives the term"
                )
                self._monomials.swap(self._monomials.power(*weight), whole)
                return self._polynomials.multiply(((rest, ONE),), self._polynomials.atom(whole))
        return None

    def _is_weighted_by(self, whole: Id, weight: Id) -> bool:
        """Whether `whole` is `Σ a b` and `weight` is `Σ a` with nonnegative a."""
        if (whole, weight) not in self._weighted:
            self._weighted[whole, weight] = self._find_weighted_by(whole, weight)
        return self._weighted[whole, weight]

    def _find_weighted_by(self, whole: Id, weight: Id) -> bool:
        (names, body), (others, part) = self._axes.open("sum", whole), self._axes.open("sum", weight)
        if len(names) != len(others) or factorial(len(names)) > ORDERS:
            return False
        if not all(self._axes.can_rename(n, e) for order, e in ((names, body), (others, part)) for n in order):
            return False
        for order in map(list, permutations(others)):
            if [self._graph.extents[n] for n in order] != [self._graph.extents[n] for n in names]:
                continue
            axes, inside, a = names, body, part
            if order != names:
                axes = [self._axes.fresh_axis(self._graph.extents[n]) for n in names]
                self._axes.reorder("sum", others, order, part)
                _, inside = self._axes.rename_all("sum", names, axes, body)
                _, a = self._axes.rename_all("sum", order, axes, part)
            match self._polynomials.normal(inside), self._polynomials.normal(a):
                case ((factors, c),), ((mine, d),) if c == d == 1 and set(mine) <= set(factors):
                    if self._signs.is_nonnegative(self._monomials.to_term(mine)):
                        self._record_weights(axes, mine, tuple(f for f in factors if f not in mine))
                        return True
                case _:
                    pass
        return False

    def _record_weights(self, axes: Sequence[str], a: Monomial, b: Monomial) -> None:
        """`(Σ a b) (Σ a)^0 = Σ a b`, from the innermost axis outwards."""
        self._monomials.multiply(a, b)
        inner, part = (
            self._graph.mul(self._monomials.to_term(a), self._monomials.to_term(b)),
            self._monomials.to_term(a),
        )
        for axis in reversed(axes):
            whole, part = self._graph.make("sum", inner, label=axis), self._graph.make("sum", part, label=axis)
            inverse = self._graph.make("inv", part)
            self._graph.record_step("weights", self._graph.mul(whole, self._graph.mul(part, inverse)), whole)
            #  S = S (A A^-1) = (S A) A^-1 = (A S) A^-1 = A (S A^-1)
            self._monomials.regroup(whole, part, inverse)
            self._monomials.swap(whole, part)
            self._monomials.regroup(part, whole, inverse)
            inner = self._graph.mul(part, self._graph.mul(whole, inverse))
