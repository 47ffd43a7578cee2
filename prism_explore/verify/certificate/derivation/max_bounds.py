"""Order of terms: proves that a term is at least another, by maxima, their entries, and masks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TypeAlias

from prism_explore.verify.certificate.derivation.bound_axes import BoundAxes
from prism_explore.verify.certificate.derivation.monomials import Monomial
from prism_explore.verify.certificate.derivation.polynomials import ONE, Poly, Polynomials
from prism_explore.verify.certificate.derivation.signs import Signs
from prism_explore.verify.certificate.derivation.term_graph import MAXIMUM_AND_ENTRY, Id, TermGraph
from prism_explore.verify.normal_form.index import Digit, Index, Moved, Radix, Var, extent

Piece: TypeAlias = tuple[tuple[str, ...], Poly]
"""Part of a maximum: axes, and the polynomial whose maximum over these axes is taken."""
MAX_DEPTH = 4
"""The largest nesting of maxima, sums and entries that is examined."""


class MaxBounds:
    """Decides, and records the steps, that one term is at least another."""

    def __init__(self, graph: TermGraph, signs: Signs, polynomials: Polynomials, axes: BoundAxes) -> None:
        self._graph = graph
        self._signs = signs
        self._polynomials = polynomials
        self._axes = axes

    def is_bottom(self, m: Monomial) -> bool:
        """Whether a monomial is minus infinity of a mask."""
        return len(m) == 1 and self._graph.nodes[m[0][0]].op == "bottom"

    def is_at_least(self, a: Id, b: Id, depth: int = MAX_DEPTH) -> bool:
        """Whether `max(a, b) = a` follows from maxima and masks; if so, its steps are recorded."""
        if a == b:
            self._graph.record_step("greater of equals", self._graph.greater(a, a), a)
            return True
        if not depth:
            return False
        if self._graph.nodes[b].op == "most":
            return self._is_at_least_maximum(a, b, depth)
        if self._graph.nodes[b].op == "greater":
            return self._is_at_least_both(a, b, depth)
        if self._graph.nodes[a].op == "most":
            return self._has_larger_entry(a, b, depth)
        if self._graph.nodes[a].op == "greater":
            return self._one_is_at_least(a, b, depth)
        return self._is_at_least_sum(a, b, depth)

    def _is_at_least_maximum(self, a: Id, b: Id, depth: int) -> bool:
        """`max(a, max_k b) = max_k max(a, b) = max_k a = a`, where a is at least every entry."""
        names, body = self._axes.open("most", b)
        dependencies = self._graph.dependencies(a)
        if not all(self._graph.is_inhabited(n) and self._graph.coordinates(n).isdisjoint(dependencies) for n in names):
            return self._graph.nodes[a].op == "most" and self._has_larger_entry(a, b, depth)
        if not self.is_at_least(a, body, depth - 1):
            return False
        for name in reversed(names):
            self._graph.record_step("maximum of a constant", self._graph.make("most", a, label=name), a)
            whole = self._graph.make("most", body, label=name)
            self._graph.record_step(
                "maximum of the greater",
                self._graph.make("most", self._graph.greater(a, body), label=name),
                self._graph.greater(self._graph.make("most", a, label=name), whole),
            )
            body = whole
        return True

    def _has_larger_entry(self, a: Id, b: Id, depth: int) -> bool:
        """`max(max_k a, b) = max_k a`, where an entry is at least b."""
        axis, (body,) = self._graph.nodes[a].label, self._graph.nodes[a].arguments
        for place in self._candidate_indices(body, axis, b):
            entry = self._graph.substitute(body, axis, place) if extent(place) == self._graph.extents[axis] else None
            if entry is None:
                continue
            plain = self._polynomials.to_term(self._polynomials.normal(entry))
            if not self.is_at_least(plain, b, depth - 1):
                continue
            self._graph.record_step(MAXIMUM_AND_ENTRY, self._graph.greater(a, entry), a)
            left = self._graph.greater(a, self._graph.greater(plain, b))
            self._graph.record_step("greater associates", left, self._graph.greater(self._graph.greater(a, plain), b))
            return True
        return False

    def _is_at_least_both(self, a: Id, b: Id, depth: int) -> bool:
        """`max(a, max(x, y)) = max(max(a, x), y) = max(a, y) = a`."""
        x, y = self._graph.nodes[b].arguments
        if not (self.is_at_least(a, x, depth - 1) and self.is_at_least(a, y, depth - 1)):
            return False
        first = self._graph.greater(self._graph.greater(a, x), y)
        self._graph.record_step("greater associates", self._graph.greater(a, b), first)
        return True

    def _one_is_at_least(self, a: Id, b: Id, depth: int) -> bool:
        """`max(max(x, y), b) = max(x, max(y, b)) = max(x, y)`, and the same with x."""
        x, y = self._graph.nodes[a].arguments
        for other, one in ((x, y), (y, x)):
            if not self.is_at_least(one, b, depth - 1):
                continue
            turned = self._graph.greater(other, one)
            self._graph.record_step("greater commutes", a, turned)
            right = self._graph.greater(other, self._graph.greater(one, b))
            self._graph.record_step("greater associates", right, self._graph.greater(turned, b))
            return True
        return False

    def _is_at_least_sum(self, a: Id, b: Id, depth: int) -> bool:
        """`max(c + d m, c + d e) = c + d max(m, e)`, and `max(c, c + bottom) = c + max(0, bottom)`."""
        p, q = self._polynomials.normal(a), self._polynomials.normal(b)
        if self._polynomials.to_term(p) != a or self._polynomials.to_term(q) != b:
            return False
        for m in self._maxima_among((*p, *q)):
            c = dict(p).get(((m, ONE),), Fraction(0)) - dict(q).get(((m, ONE),), Fraction(0))
            if c > 0 and self._is_at_least_after_shared(p, q, m, c, depth):
                return True
        if self._differs_by_nonnegative(p, q):
            return True
        low = tuple(t for t in q if self.is_bottom(t[0]) and t not in p)
        if len(low) != 1 or low[0][1] <= 0 or self._polynomials.add(p, low) != q or self._polynomials.add(p, ()) != p:
            return False
        self._record_shared(self._polynomials.to_term(p), self._graph.zero, self._polynomials.to_term(low))
        self._graph.record_step(
            "bottom is low", self._graph.greater(self._graph.zero, self._polynomials.to_term(low)), self._graph.zero
        )
        return True

    def _differs_by_nonnegative(self, p: Poly, q: Poly) -> bool:
        """`max(q + d, q) = q + max(d, 0) = q + d`, where d is nonnegative."""
        d = self._polynomials.add(p, self._polynomials.multiply(self._polynomials.constant(-ONE), q))
        difference = self._polynomials.to_term(d)
        if (
            not self._signs.is_nonnegative(difference)
            or self._polynomials.add(q, d) != p
            or self._polynomials.add(q, ()) != q
        ):
            return False
        self._record_shared(self._polynomials.to_term(q), difference, self._graph.zero)
        self._graph.record_step(
            "greater than what is not positive", self._graph.greater(difference, self._graph.zero), difference
        )
        return True

    def _is_at_least_after_shared(self, p: Poly, q: Poly, m: Id, c: Fraction, depth: int) -> bool:
        """Whether p is `rest + c m` and q is `rest + c e`, with the maximum m at least e."""
        by, largest = self._polynomials.constant(c), self._polynomials.atom(m)
        first = self._polynomials.multiply(by, largest)
        rest = self._polynomials.add(p, self._polynomials.multiply(self._polynomials.constant(-ONE), first))
        entry = self._polynomials.multiply(
            self._polynomials.constant(1 / c),
            self._polynomials.add(q, self._polynomials.multiply(self._polynomials.constant(-ONE), rest)),
        )
        second = self._polynomials.multiply(by, entry)
        if self._polynomials.add(rest, first) != p or self._polynomials.add(rest, second) != q:
            return False
        e = self._polynomials.to_term(entry)
        if not self.is_at_least(m, e, depth - 1):
            return False
        self._record_shared(
            self._polynomials.to_term(rest), self._polynomials.to_term(first), self._polynomials.to_term(second)
        )
        factor = self._polynomials.to_term(by)
        multiples = self._graph.greater(self._graph.mul(factor, m), self._graph.mul(factor, e))
        self._graph.record_step("greater of multiples", multiples, self._graph.mul(factor, self._graph.greater(m, e)))
        return True

    def _record_shared(self, rest: Id, first: Id, second: Id) -> None:
        both = self._graph.greater(self._graph.make("add", rest, first), self._graph.make("add", rest, second))
        self._graph.record_step(
            "greater of sums", both, self._graph.make("add", rest, self._graph.greater(first, second))
        )

    def _maxima_among(self, terms: Poly) -> list[Id]:
        """The maxima among the summands, up to their coefficients."""
        found = [m[0][0] for m, _ in terms if len(m) == 1 and m[0][1] == ONE]
        return [e for e in dict.fromkeys(found) if self._graph.nodes[e].op in ("most", "greater")]

    def _candidate_indices(self, body: Id, axis: str, b: Id) -> Iterator[Index]:
        """Indices for an axis at which a maximum's body may be equal to a term or a part of it."""
        seen = set[str]()
        for e in sorted(self._graph.indexed_terms(body)):
            if axis not in self._graph.index_axes(e):
                continue
            own = self._graph.indices(e)
            for x in sorted(self._graph.indexed_terms(b)):
                if self._graph.nodes[x].op != self._graph.nodes[e].op:
                    continue
                for found in _parts(own, self._graph.indices(x), axis):
                    if found.key not in seen:
                        seen.add(found.key)
                        yield found


def _parts(own: Sequence[Index], other: Sequence[Index], axis: str) -> Iterator[Index]:
    """The parts of some indices at the positions at which an axis stands in others."""
    if len(own) != len(other):
        return
    for i, j in zip(own, other, strict=True):
        match i, j:
            case Var(name, _), _ if name == axis:
                yield j
            case Radix(parts), Radix(others):
                yield from _parts(parts, others, axis)
            case (Digit(p, _, _, _), Digit(q, _, _, _)) | (Moved(p, _, _), Moved(q, _, _)):
                yield from _parts((p,), (q,), axis)
            case _:
                pass
