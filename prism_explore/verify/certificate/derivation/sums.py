"""Normal form of sums over an axis: summands and ranges are split, factors pulled out, products of sums merged."""

from __future__ import annotations

from itertools import permutations

from prism_explore.verify.certificate.derivation.bound_axes import BoundAxes
from prism_explore.verify.certificate.derivation.intervals import Intervals
from prism_explore.verify.certificate.derivation.monomials import ONE, Monomial, Monomials
from prism_explore.verify.certificate.derivation.polynomials import Poly, Polynomials
from prism_explore.verify.certificate.derivation.term_graph import SUM_IN_PIECES, SUM_OVER_DIGITS, Id, TermGraph


class Sums:
    """Normal forms of sums."""

    def __init__(
        self,
        graph: TermGraph,
        monomials: Monomials,
        polynomials: Polynomials,
        axes: BoundAxes,
        intervals: Intervals,
    ) -> None:
        self._graph = graph
        self._monomials = monomials
        self._polynomials = polynomials
        self._axes = axes
        self._intervals = intervals

    def sum(self, axis: str, p: Poly) -> Poly:
        """The sum of a polynomial over an axis."""
        if not p:
            zero = self._graph.make("sum", self._graph.zero, label=axis)
            n = self._graph.size(self._graph.extents[axis])
            self._graph.record_step("sum of a constant", zero, self._graph.mul(n, self._graph.zero))
            self._monomials.swap(n, self._graph.zero)
            self._graph.record_step("zero", self._graph.mul(self._graph.zero, n), self._graph.zero)
            return ()
        body = self._polynomials.to_term(p)
        cut = self._intervals.split_axis(axis, body)
        if cut is not None:
            return self._sum_in_pieces(axis, body, cut)
        if len(p) > 1:
            a, b = self._polynomials.to_term(p[:-1]), self._polynomials.summand(*p[-1])
            parts = [self._graph.make("sum", x, label=axis) for x in (a, b)]
            self._graph.record_step(
                "sum of a sum", self._graph.make("sum", self._graph.add(a, b), label=axis), self._graph.add(*parts)
            )
            return self._polynomials.add(self.sum(axis, p[:-1]), self.sum(axis, (p[-1],)))
        return self._sum_of_term(axis, p)

    def _sum_of_term(self, axis: str, p: Poly) -> Poly:
        """The sum of one term over an axis."""
        body = self._polynomials.to_term(p)
        (m, c) = p[0]
        if c != 1 and m:
            self._pull_out(axis, self._graph.number(c), self._monomials.to_term(m))
            return self._polynomials.multiply(self._polynomials.constant(c), self.sum(axis, ((m, ONE),)))
        coordinates = self._graph.coordinates(axis)
        free = tuple(f for f in m if coordinates.isdisjoint(self._graph.dependencies(f[0])))
        if len(free) == len(m):
            n = self._graph.size(self._graph.extents[axis])
            self._graph.record_step(
                "sum of a constant", self._graph.make("sum", body, label=axis), self._graph.mul(n, body)
            )
            return self._polynomials.multiply(self._polynomials.normal(n), p)
        if free:
            inside = tuple(f for f in m if f not in free)
            assert self._monomials.multiply(free, inside) == m, "the product of the parts is the term"
            self._pull_out(axis, self._monomials.to_term(free), self._monomials.to_term(inside))
            return self._polynomials.multiply(((free, ONE),), self.sum(axis, ((inside, ONE),)))
        parts = self._axes.split_digits("sum", axis, body)
        if len(parts) > 1:
            total = p
            for part in reversed(parts):
                total = self.sum(part, total)
            return total
        return self._sum_of_product(axis, m)

    def _sum_in_pieces(self, axis: str, body: Id, cut: list[tuple[str, Id]]) -> Poly:
        parts = [self._graph.make("sum", inside, label=new) for new, inside in cut]
        self._graph.record_step(SUM_IN_PIECES, self._graph.make("sum", body, label=axis), self._graph.add(*parts))
        return self._polynomials.add(*(self._polynomials.normal(x) for x in parts))

    def _pull_out(self, axis: str, a: Id, b: Id) -> None:
        whole = self._graph.make("sum", self._graph.mul(a, b), label=axis)
        self._graph.record_step("sum of a multiple", whole, self._graph.mul(a, self._graph.make("sum", b, label=axis)))

    def _sum_of_product(self, axis: str, m: Monomial) -> Poly:
        """The sum of a product whose factors all depend on the axis; sums among them are opened."""
        one_term = self._intervals.sum_over_diagonal(axis, m)
        if one_term is not None:
            return one_term
        binders, body = [axis], m
        while True:
            whole = (f for f in body if self._graph.nodes[f[0]].op == "sum" and f[1] >= 1 and f[1].denominator == 1)
            found = next(whole, None)
            if found is None:
                break
            base, exponent = found
            rest = tuple(f for f in body if f is not found)
            if exponent > 1:
                rest = self._monomials.insert(rest, (base, exponent - 1))
            assert self._monomials.insert(rest, (base, ONE)) == body, (
                "removing a factor and inserting it again gives the term"
            )
            names, inner = self._axes.open("sum", base)
            tree = self._monomials.to_term(rest)
            if not rest:
                self._graph.record_step("one", self._graph.mul(self._graph.one, base), base)
            taken = self._graph.dependencies(tree).union(*(self._graph.coordinates(b) for b in binders))
            renamed = self._axes.rename_apart("sum", names, inner, taken)
            if renamed is None:
                break
            opened, inner = renamed
            if rest:
                for n, name in enumerate(opened):
                    self._pull_out(name, tree, self._axes.nest("sum", opened[n + 1 :], inner))
            binders += opened
            multiplied = self._polynomials.multiply(((rest, ONE),), self._polynomials.normal(inner))
            if len(multiplied) != 1 or multiplied[0][1] != 1:
                total = multiplied
                for name in reversed(binders):
                    total = self.sum(name, total)
                return total
            ((body, _),) = multiplied
        tree = self._monomials.to_term(body)
        binders = self._axes.merge_digits("sum", binders, tree)
        for pair in permutations(binders, 2):
            joined = self._intervals.join_axes(pair, tree)
            if joined is not None:
                others = [b for b in binders if b not in pair]
                self._axes.reorder("sum", binders, [*others, *pair], tree)
                whole = self._graph.make("sum", joined[1], label=joined[0])
                self._graph.record_step(SUM_OVER_DIGITS, whole, self._axes.nest("sum", pair, tree))
                return self._polynomials.normal(self._axes.nest("sum", others, whole))
        for name in binders:
            cut = self._intervals.split_axis(name, tree)
            if cut is not None:
                others = [b for b in binders if b != name]
                self._axes.reorder("sum", binders, [*others, name], tree)
                total = self._sum_in_pieces(name, tree, cut)
                for other in reversed(others):
                    total = self.sum(other, total)
                return total
        for name in binders:
            digits = self._intervals.split_into_digits(name, tree)
            if digits is not None:
                others = [b for b in binders if b != name]
                self._axes.reorder("sum", binders, [*others, name], tree)
                by_digits = self._axes.nest("sum", *digits)
                self._graph.record_step(SUM_OVER_DIGITS, self._graph.make("sum", tree, label=name), by_digits)
                return self._polynomials.normal(self._axes.nest("sum", others, by_digits))
        order, tree = self._axes.canonicalize("sum", binders, tree)
        return self._polynomials.atom(self._axes.nest("sum", order, tree))
