"""Normal form of maxima, one axiom at a time.

A maximum is a chain of *pieces*, each the maximum of a polynomial over some axes. Nested maxima become one chain,
summands and factors that all pieces share are pulled out, and pieces are in order without duplicates.
"""

from __future__ import annotations

from collections.abc import Sequence

from prism_explore.verify.certificate.derivation.bound_axes import BoundAxes
from prism_explore.verify.certificate.derivation.choices import Choices
from prism_explore.verify.certificate.derivation.functions import Functions
from prism_explore.verify.certificate.derivation.intervals import Intervals
from prism_explore.verify.certificate.derivation.max_bounds import MaxBounds, Piece
from prism_explore.verify.certificate.derivation.monomials import Monomials
from prism_explore.verify.certificate.derivation.polynomials import ONE, DerivationFailed, Poly, Polynomials
from prism_explore.verify.certificate.derivation.signs import Signs
from prism_explore.verify.certificate.derivation.term_graph import (
    AS_LOW,
    MOST_IN_PIECES,
    MOST_OVER_DIGITS,
    Id,
    TermGraph,
)


class MaxForms:
    """Normal forms of maxima."""

    def __init__(
        self,
        graph: TermGraph,
        signs: Signs,
        monomials: Monomials,
        polynomials: Polynomials,
        axes: BoundAxes,
        intervals: Intervals,
        bounds: MaxBounds,
        functions: Functions,
        choices: Choices,
    ) -> None:
        self._graph = graph
        self._signs = signs
        self._monomials = monomials
        self._polynomials = polynomials
        self._axes = axes
        self._intervals = intervals
        self._bounds = bounds
        self._functions = functions
        self._choices = choices

    def _piece_term(self, piece: Piece) -> Id:
        return self._axes.nest("most", piece[0], self._polynomials.to_term(piece[1]))

    def _chain(self, items: Sequence[Id]) -> Id:
        full = items[0]
        for x in items[1:]:
            full = self._graph.greater(full, x)
        return full

    def _concatenate(self, a: Sequence[Id], b: Sequence[Id]) -> None:
        """The greater of two chains as one chain."""
        if len(b) > 1:
            self._concatenate(a, b[:-1])
            self._regroup_greater(self._chain(a), self._chain(b[:-1]), b[-1])

    def _regroup_greater(self, a: Id, b: Id, c: Id) -> None:
        left = self._graph.greater(a, self._graph.greater(b, c))
        self._graph.record_step("greater associates", left, self._graph.greater(self._graph.greater(a, b), c))

    def _swap_greater(self, a: Id, b: Id) -> None:
        self._graph.record_step("greater commutes", self._graph.greater(a, b), self._graph.greater(b, a))

    def maximum(self, pieces: Sequence[Piece]) -> Poly:
        """The maximum of these pieces, as a polynomial."""
        pieces = list(pieces)
        if not all(self._graph.is_inhabited(name) for names, _ in pieces for name in names):
            raise DerivationFailed
        at = 0
        while at < len(pieces):
            new = self._flatten(pieces[at])
            if new is None:
                at += 1
                continue
            before = [self._piece_term(p) for p in pieces[:at]]
            if before:
                self._concatenate(before, [self._piece_term(p) for p in new])
            pieces[at : at + 1] = new
            if len(pieces) > 64:
                raise DerivationFailed
        return self._pull_out_summands(pieces) or self._pull_out_factors(pieces) or self._order_chain(pieces)

    def _flatten(self, piece: Piece) -> list[Piece] | None:
        """One step of flattening: the pieces that replace this one; None where there is none."""
        names, p = piece
        body = self._polynomials.to_term(p)
        dependencies = self._graph.dependencies(body)
        for name in names:
            if self._graph.coordinates(name).isdisjoint(dependencies):
                others = tuple(n for n in names if n != name)
                self._axes.reorder("most", names, [*others, name], body)
                self._graph.record_step("maximum of a constant", self._graph.make("most", body, label=name), body)
                return [(others, p)]
            parts = self._axes.split_digits("most", name, body)
            if len(parts) > 1:
                at = names.index(name)
                self._axes.nest("most", names, body)
                return [((*names[:at], *parts, *names[at + 1 :]), p)]
        merged = tuple(self._axes.merge_digits("most", list(names), body))
        if merged != names:
            return [(merged, p)]
        if len(p) == 1 and p[0][1] == 1 and len(p[0][0]) == 1 and p[0][0][0][1] == 1:
            inside = self._flatten_nested(names, p[0][0][0][0])
            if inside is not None:
                return inside
        for name in names:
            digits = self._intervals.split_into_digits(name, body)
            if digits is not None:
                others = tuple(n for n in names if n != name)
                self._axes.reorder("most", names, [*others, name], body)
                self._graph.record_step(
                    MOST_OVER_DIGITS, self._graph.make("most", body, label=name), self._axes.nest("most", *digits)
                )
                return [((*others, *digits[0]), self._polynomials.normal(digits[1]))]
        for name in names:
            cut = self._intervals.split_axis(name, body)
            if cut is not None:
                others = tuple(n for n in names if n != name)
                self._axes.reorder("most", names, [*others, name], body)
                (j, a), (k, b) = cut
                inner = [self._graph.make("most", a, label=j), self._graph.make("most", b, label=k)]
                self._graph.record_step(MOST_IN_PIECES, self._graph.make("most", body, label=name), self._chain(inner))
                self._distribute_maximum(others, *inner)
                return [((*others, j), self._polynomials.normal(a)), ((*others, k), self._polynomials.normal(b))]
        return None

    def _flatten_nested(self, names: tuple[str, ...], base: Id) -> list[Piece] | None:
        """The pieces of a base that is itself a maximum."""
        node = self._graph.nodes[base]
        match node.op:
            case "most":
                inner, body = self._axes.open("most", base)
                taken = frozenset[str]().union(*(self._graph.coordinates(n) for n in names))
                renamed = self._axes.rename_apart("most", inner, body, taken)
                return None if renamed is None else [((*names, *renamed[0]), self._polynomials.normal(renamed[1]))]
            case "greater":
                a, b = node.arguments
                self._distribute_maximum(names, a, b)
                return [(names, self._polynomials.normal(a)), (names, self._polynomials.normal(b))]
            case "call" if node.label == "relu":
                (a,) = node.arguments
                self._graph.record_step("relu", base, self._graph.greater(a, self._graph.zero))
                self._distribute_maximum(names, a, self._graph.zero)
                return [(names, self._polynomials.normal(a)), (names, ())]
            case "upto":
                axis, at = self._graph.bound_axis(base), self._graph.nodes[base].label.split(" ", 1)[1]
                (body,) = node.arguments
                if at not in names or not self._graph.coordinates(at).isdisjoint(self._graph.dependencies(body)):
                    return None
                others = tuple(n for n in names if n != at)
                self._axes.reorder("most", names, [*others, at], base)
                full = self._graph.make("most", body, label=axis)
                self._graph.record_step("maximum of running maxima", self._graph.make("most", base, label=at), full)
                return [(others, self._polynomials.normal(full))]
            case _:
                return None

    def _distribute_maximum(self, names: Sequence[str], a: Id, b: Id) -> None:
        """`max_names max(a, b) = max(max_names a, max_names b)`."""
        for n in reversed(range(len(names))):
            x, y = (self._axes.nest("most", names[n + 1 :], e) for e in (a, b))
            self._graph.record_step(
                "maximum of the greater",
                self._graph.make("most", self._graph.greater(x, y), label=names[n]),
                self._graph.greater(*(self._graph.make("most", e, label=names[n]) for e in (x, y))),
            )

    def _pull_out_summands(self, pieces: list[Piece]) -> Poly | None:
        names, first = pieces[0]
        common = tuple(
            (m, c) for m, c in first if all((m, c) in p and self._axes.is_free_of(m, own) for own, p in pieces)
        )
        if not common or (len(pieces) == 1 and not names):
            return None
        rest = [(own, tuple(t for t in p if t not in common)) for own, p in pieces]
        shared = self._polynomials.to_term(common)
        for (own, p), (_, left) in zip(pieces, rest, strict=True):
            if self._polynomials.add(common, left) != p:
                return None
            self._pull_out(own, "maximum of a sum", "add", shared, self._polynomials.to_term(left))
        self._pull_out_of_chain("greater of sums", "add", shared, [self._piece_term(p) for p in rest])
        return self._polynomials.add(common, self.maximum(rest))

    def _pull_out(self, names: Sequence[str], axiom: str, op: str, a: Id, b: Id) -> None:
        """`max_names (a + b) = a + max_names b`, or of products."""
        for n in reversed(range(len(names))):
            x = self._axes.nest("most", names[n + 1 :], b)
            full = self._graph.make("most", self._graph.make(op, a, x), label=names[n])
            self._graph.record_step(axiom, full, self._graph.make(op, a, self._graph.make("most", x, label=names[n])))

    def _pull_out_of_chain(self, axiom: str, op: str, a: Id, items: list[Id]) -> None:
        so_far = items[0]
        for x in items[1:]:
            both = self._graph.greater(so_far, x)
            self._graph.record_step(
                axiom,
                self._graph.greater(self._graph.make(op, a, so_far), self._graph.make(op, a, x)),
                self._graph.make(op, a, both),
            )
            so_far = both

    def _pull_out_factors(self, pieces: list[Piece]) -> Poly | None:
        """Pull a positive number and nonnegative factors out of a maximum."""
        if len(pieces) == 1 and not pieces[0][0]:
            return None
        terms = tuple(t for _, p in pieces for t in p if not self._bounds.is_bottom(t[0]))
        low = any(self._bounds.is_bottom(m) for _, p in pieces for m, _ in p)
        if not terms:
            return None
        g, powers = self._polynomials.common_powers(terms, roots=True)
        g = abs(g)
        dependencies = {n for own, _ in pieces for n in own}
        powers = [
            f
            for f in powers
            if self._axes.is_free_of((f,), tuple(dependencies))
            and self._signs.is_nonnegative(self._monomials.power(*f))
        ]
        if low:
            powers = [f for f in powers if self._graph.nodes[f[0]].op == "size"]
        factor = tuple(sorted(powers))
        if g == 1 and not factor:
            return None
        by, outside = ((factor, g),), self._polynomials.to_term(((factor, g),))
        rest: list[Piece] = []
        for own, p in pieces:
            finite = tuple(t for t in p if not self._bounds.is_bottom(t[0]))
            bottoms = tuple(t for t in p if self._bounds.is_bottom(t[0]))
            left = self._polynomials.divide(finite, factor, g)
            if left is None or self._polynomials.multiply(by, left) != finite:
                return None
            if bottoms:
                if not own or self._polynomials.add(finite, bottoms) != p:
                    return None
                low_one, inner = self._polynomials.to_term(bottoms), self._polynomials.to_term(left)
                self._graph.record_step(
                    AS_LOW,
                    self._graph.make("most", self._graph.add(self._graph.mul(outside, inner), low_one), label=own[-1]),
                    self._graph.mul(outside, self._graph.make("most", self._graph.add(inner, low_one), label=own[-1])),
                )
                full = self._polynomials.add(left, bottoms)
                self._pull_out(
                    own[:-1],
                    "maximum of a multiple",
                    "mul",
                    outside,
                    self._axes.nest("most", own[-1:], self._polynomials.to_term(full)),
                )
                rest.append((own, full))
            else:
                self._pull_out(own, "maximum of a multiple", "mul", outside, self._polynomials.to_term(left))
                rest.append((own, left))
        self._pull_out_of_chain("greater of multiples", "mul", outside, [self._piece_term(p) for p in rest])
        return self._polynomials.multiply(by, self.maximum(rest))

    def _order_chain(self, pieces: list[Piece]) -> Poly:
        items: list[tuple[Id, Poly | None]] = []
        for own, p in pieces:
            order, body = (
                self._axes.canonicalize("most", own, self._polynomials.to_term(p))
                if own
                else ([], self._polynomials.to_term(p))
            )
            items.append((self._axes.nest("most", order, body), None if own else p))
        plain = dict(items)
        order = [e for e, _ in items]
        done: list[Id] = []
        for e in order:
            done = self._insert(done, e)
        polys = [self._item_polynomial(e, plain.get(e)) for e in done]
        if len(done) == 1:
            return polys[0]
        masked = any(self._bounds.is_bottom(m) for p in polys for m, _ in p)
        if len(done) == 2 and (
            all(plain.get(e) is not None for e in done) or (not masked and self._choices.is_any("root"))
        ):
            a, b = polys
            if not a or not b:
                x = self._polynomials.to_term(a or b)
                if not a:
                    self._swap_greater(self._graph.zero, x)
                self._graph.record_step(
                    "relu", self._graph.make("call", x, label="relu"), self._graph.greater(x, self._graph.zero)
                )
                return self._functions.relu(a or b)
            if self._polynomials.multiply(self._polynomials.constant(-ONE), a) == b:
                x = self._polynomials.to_term(a)
                opposite = self._graph.greater(x, self._graph.mul(self._graph.number(-ONE), x))
                self._graph.record_step("abs", self._graph.make("call", x, label="abs"), opposite)
                return self._functions.apply("abs", a)
            if self._choices.expands():
                return self._by_relu(a, b)
        return self._polynomials.atom(self._chain(done))

    def _item_polynomial(self, e: Id, p: Poly | None) -> Poly:
        if p is not None:
            return p
        return self._polynomials.normal(e) if self._graph.nodes[e].op == "num" else self._polynomials.atom(e)

    def _by_relu(self, a: Poly, b: Poly) -> Poly:
        """`max(a, b) = b + relu(a - b)`."""
        difference = self._polynomials.add(a, self._polynomials.multiply(self._polynomials.constant(-ONE), b))
        if self._polynomials.add(b, difference) != a or self._polynomials.add(b, ()) != b:
            raise DerivationFailed
        x, y = self._polynomials.to_term(b), self._polynomials.to_term(difference)
        rest = self._graph.greater(y, self._graph.zero)
        both = self._graph.greater(self._graph.add(x, y), self._graph.add(x, self._graph.zero))
        self._graph.record_step("greater of sums", both, self._graph.add(x, rest))
        self._graph.record_step("relu", self._graph.make("call", y, label="relu"), rest)
        return self._polynomials.add(b, self._functions.relu(difference))

    def _insert(self, chain: list[Id], new: Id) -> list[Id]:
        """A chain with a new item at its position, or without it where another item is at least as large."""
        if not chain:
            return [new]
        last, rest = chain[-1], chain[:-1]
        kept = self._larger_of(last, new)
        if kept is not None:
            if rest:
                self._regroup_greater(self._chain(rest), last, new)
            return [*rest, kept] if kept == last else self._insert(rest, kept)
        if last < new and not any(self._larger_of(x, new) for x in rest):
            return [*chain, new]
        self._swap_greater(last, new)
        if rest:
            self._regroup_greater(self._chain(rest), last, new)
            self._regroup_greater(self._chain(rest), new, last)
            before = self._insert(rest, new)
            return [*before, last] if not before or before[-1] < last else self._insert(before, last)
        return [new, last] if new < last else [last, new]

    def _larger_of(self, a: Id, b: Id) -> Id | None:
        """The one of two terms that is provably at least the other; None where neither is known to be."""
        both = self._graph.greater(a, b)
        if a == b:
            self._graph.record_step("greater of equals", both, a)
            return a
        x, y = self._graph.value(a), self._graph.value(b)
        if x is not None and y is not None:
            found = a if x >= y else b
            if found == b:
                self._swap_greater(a, b)
            self._graph.record_step("greater number", self._graph.greater(found, a if found == b else b), found)
            return found
        if (x is not None and x <= 0 and self._signs.is_nonnegative(b)) or (
            y is not None and y <= 0 and self._signs.is_nonnegative(a)
        ):
            found, other = (b, a) if x is not None else (a, b)
            if found == b:
                self._swap_greater(a, b)
            self._graph.record_step("greater than what is not positive", self._graph.greater(found, other), found)
            return found
        if self._bounds.is_at_least(a, b):
            return a
        if self._bounds.is_at_least(b, a):
            self._swap_greater(a, b)
            return b
        return None
