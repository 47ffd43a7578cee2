"""Normal form of bound axes: nested sums and maxima with axes in a canonical order under canonical names.

Equal sums must be one term. So axes are named by the nesting depth of their binders, and several axes of one body are
ordered by their occurrences; neither depends on the names in the input.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import md5
from itertools import groupby, permutations, product
from math import factorial, prod
from typing import Literal, TypeAlias

from prism_explore.ir.dims import Dim
from prism_explore.verify.certificate.derivation.monomials import Monomial, Monomials
from prism_explore.verify.certificate.derivation.polynomials import DerivationFailed, Polynomials
from prism_explore.verify.certificate.derivation.term_graph import RENAME, Id, TermGraph
from prism_explore.verify.certificate.lemma import Axis

Over: TypeAlias = Literal["sum", "most"]
"""The operator that binds an axis."""

ORDERS = 720
"""The largest number of orders of indistinguishable axes that are compared; with more, the order does not change."""
_SWAP = {"sum": "sums swap", "most": "maxima swap"}
_DIGITS = {"sum": "sum by digits", "most": "maximum by digits"}


class BoundAxes:
    """Nested sums, or nested maxima, over one body."""

    def __init__(self, graph: TermGraph, monomials: Monomials, polynomials: Polynomials) -> None:
        self._graph = graph
        self._monomials = monomials
        self._polynomials = polynomials
        self._canonical: dict[tuple[int, int, str], str] = {}
        self._fresh_names = 0
        self._fingerprints: dict[tuple[Id, tuple[tuple[str, str], ...]], str] = {}

    def nest(self, over: Over, names: Sequence[str], body: Id) -> Id:
        """`Σ_names body`, the first name outermost."""
        for name in reversed(names):
            body = self._graph.make(over, body, label=name)
        return body

    def open(self, over: Over, e: Id) -> tuple[list[str], Id]:
        """The axes of nested sums, and their body."""
        names: list[str] = []
        while self._graph.nodes[e].op == over:
            names.append(self._graph.nodes[e].label)
            (e,) = self._graph.nodes[e].arguments
        return names, e

    def rename_apart(
        self, over: Over, names: Sequence[str], body: Id, taken: frozenset[str]
    ) -> tuple[list[str], Id] | None:
        """Nested sums renamed apart from the axes in `taken`; None where renaming is not possible."""
        out = list(names)
        for n, name in enumerate(names):
            if self._graph.coordinates(name).isdisjoint(taken):
                continue
            new = self.fresh_axis(self._graph.extents[name])
            renamed = self._rename(over, out[n + 1 :], name, new, body)
            if renamed is None:
                return None
            body, out[n] = renamed, new
        return out, body

    def _rename(self, over: Over, within: Sequence[str], old: str, new: str, body: Id) -> Id | None:
        """Rename the outer axis of `Σ_old Σ_within body`; returns the new body."""
        inner = self.nest(over, within, body)
        other = self._graph.rename_axis(inner, old, new)
        if other is None or not self._graph.coordinates(new).isdisjoint(self._graph.dependencies(inner)):
            return None
        self._graph.record_step(
            RENAME, self._graph.make(over, inner, label=old), self._graph.make(over, other, label=new)
        )
        for _ in within:
            (other,) = self._graph.nodes[other].arguments
        return other

    def fresh_axis(self, extent: Dim) -> str:
        """A new axis with an unused name."""
        self._fresh_names += 1
        name = f"t{self._fresh_names}"
        self._graph.declare_axis(Axis(name, extent))
        return name

    def canonicalize(self, over: Over, names: Sequence[str], body: Id) -> tuple[list[str], Id]:
        """Nested sums with pairs of digits merged, and axes in canonical order under canonical names.

        Raises:
            DerivationFailed: a name cannot be used.
        """
        binders = self.merge_digits(over, list(names), body)
        order = self._canonical_order(binders, body)
        self.reorder(over, binders, order, body)
        height = 1 + self._graph.binder_depth(body)
        wanted = [self.canonical_name(height, n, b) for n, b in enumerate(order)]
        free = self._graph.dependencies(self.nest(over, order, body))
        if any(not self._graph.coordinates(w).isdisjoint(free) for w in wanted):
            return order, body  # an outer sum has this name; that sum is renamed later, and then this one
        if wanted != order and all(self.can_rename(b, body) for b in order):
            step = order
            if set(wanted) & set(order):
                step, body = self.rename_all(
                    over, order, [self.fresh_axis(self._graph.extents[b]) for b in order], body
                )
            order, body = self.rename_all(over, step, wanted, body)
            body = self._polynomials.to_term(self._polynomials.normal(body))
        return order, body

    def rename_all(self, over: Over, old: list[str], new: list[str], body: Id) -> tuple[list[str], Id]:
        """Nested sums over axes with other names.

        Raises:
            DerivationFailed: a name cannot be used.
        """
        out = list(old)
        for n, (a, b) in enumerate(zip(old, new, strict=True)):
            renamed = self._rename(over, out[n + 1 :], a, b, body)
            if renamed is None:
                raise DerivationFailed
            body, out[n] = renamed, b
        return out, body

    def can_rename(self, axis: str, tree: Id) -> bool:
        """Whether a term depends on an axis only through the axis itself, not through its digits or its pair."""
        own = self._graph.coordinates(axis)
        return all(
            w == axis or own.isdisjoint(self._graph.coordinates(w))
            for e in self._graph.indexed_terms(tree)
            for w in self._graph.index_axes(e)
        )

    def canonical_name(self, height: int, n: int, axis: str) -> str:
        """The name of the n-th axis of a sum of this depth: that of the first such axis, if it is unused."""
        key = (height, n, str(self._graph.extents[axis]))
        if key not in self._canonical:
            if axis in self._canonical.values():
                axis = self.fresh_axis(self._graph.extents[axis])
            self._canonical[key] = axis
        return self._canonical[key]

    def merge_digits(self, over: Over, binders: list[str], tree: Id) -> list[str]:
        """`Σ_outer Σ_inner = Σ_pair` where the body depends on neither digit alone."""
        while True:
            for pair, (outer, inner) in self._graph.digits.items():
                if outer in binders and inner in binders and self._uses_pair_only(pair, tree):
                    others = [b for b in binders if b not in (outer, inner)]
                    self.reorder(over, binders, [*others, outer, inner], tree)
                    both = self.nest(over, [outer, inner], tree)
                    self._graph.record_step(_DIGITS[over], both, self._graph.make(over, tree, label=pair))
                    binders = [*others, pair]
                    break
            else:
                return binders

    def split_digits(self, over: Over, axis: str, body: Id) -> list[str]:
        """`Σ_pair = Σ_outer Σ_inner`, down to the digits on which the body depends separately."""
        if axis not in self._graph.digits or self._uses_pair_only(axis, body):
            return [axis]
        outer, inner = self._graph.digits[axis]
        self._graph.record_step(
            _DIGITS[over], self.nest(over, [outer, inner], body), self._graph.make(over, body, label=axis)
        )
        below = self.split_digits(over, inner, body)
        return [*self.split_digits(over, outer, self.nest(over, below, body)), *below]

    def _uses_pair_only(self, pair: str, tree: Id) -> bool:
        own = self._graph.coordinates(pair)
        for e in self._graph.indexed_terms(tree):
            for w in self._graph.index_axes(e):
                there = self._graph.coordinates(w)
                if not own.isdisjoint(there) and not own <= there:
                    return False
        return True

    def reorder(self, over: Over, current: Sequence[str], wanted: Sequence[str], body: Id) -> None:
        """Nested sums in another order, by swapping adjacent ones."""
        current = list(current)
        for n, name in enumerate(wanted):
            at = current.index(name)
            while at > n:
                current[at - 1], current[at] = current[at], current[at - 1]
                inner = self.nest(over, current[at + 1 :], body)
                first, second = current[at], current[at - 1]
                self._graph.record_step(
                    _SWAP[over],
                    self._graph.make(over, self._graph.make(over, inner, label=second), label=first),
                    self._graph.make(over, self._graph.make(over, inner, label=first), label=second),
                )
                at -= 1

    def _canonical_order(self, binders: list[str], tree: Id) -> list[str]:
        """The axes in an order that does not depend on their names."""
        if len(binders) == 1:
            return binders
        colours = {b: f"?{self._graph.extents[b]}" for b in binders}
        for _ in binders:
            shapes = {b: self._fingerprint(tree, {**colours, b: f"!{colours[b]}"}) for b in binders}
            ranks = {text: f"?{n}" for n, text in enumerate(sorted(set(shapes.values())))}
            if len(ranks) == len(set(colours.values())):
                break
            colours = {b: ranks[shapes[b]] for b in binders}
        alike = [list(g) for _, g in groupby(sorted(binders, key=lambda b: colours[b]), key=lambda b: colours[b])]
        if prod(factorial(len(g)) for g in alike) > ORDERS:
            return [b for g in alike for b in g]
        orders = ([b for g in choice for b in g] for choice in product(*(permutations(g) for g in alike)))
        return list(min(orders, key=lambda o: self._fingerprint(tree, {b: f"?{n}" for n, b in enumerate(o)})))

    def _fingerprint(self, e: Id, colours: dict[str, str]) -> str:
        """A hash of a term up to the order of sums and products, with some axes replaced by colours."""
        own = {
            b: c for b, c in colours.items() if not self._graph.coordinates(b).isdisjoint(self._graph.dependencies(e))
        }
        key = (e, tuple(sorted(own.items())))
        if key not in self._fingerprints:
            self._fingerprints[key] = self._compute_fingerprint(e, own)
        return self._fingerprints[key]

    def _compute_fingerprint(self, e: Id, colours: dict[str, str]) -> str:
        node = self._graph.nodes[e]
        if not colours:
            return f"#{e}"
        if node.op in ("add", "mul"):
            items: list[Id] = []
            pending = [e]
            while pending:
                at = pending.pop()
                if self._graph.nodes[at].op == node.op:
                    pending += self._graph.nodes[at].arguments
                else:
                    items.append(at)
            inside = sorted(self._fingerprint(x, colours) for x in items)
        else:
            inside = [self._fingerprint(x, colours) for x in node.arguments]
        text = f"{node.op} {self._graph.label_with(e, colours)} {' '.join(inside)}"
        return md5(text.encode(), usedforsecurity=False).hexdigest()

    def is_free_of(self, m: Monomial, names: Sequence[str]) -> bool:
        """Whether a monomial depends on none of these axes."""
        dependencies = self._graph.dependencies(self._monomials.to_term(m))
        return all(self._graph.coordinates(n).isdisjoint(dependencies) for n in names)
