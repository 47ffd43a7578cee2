"""Maxima and running maxima, brought into one shape axiom by axiom.

A maximum is a chain of *pieces*, each the greatest value of a polynomial for all values of some axes. Maxima of
maxima become one chain, what all pieces share leaves it, and pieces are in order, none twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from prism_explore.verify.certificate.derivation.max_bounds import Entries
from prism_explore.verify.certificate.derivation.monomials import Monomial
from prism_explore.verify.certificate.derivation.polynomials import ONE, Poly, TooMany
from prism_explore.verify.certificate.derivation.term_graph import (
    AS_LOW,
    LAST_RUNNING,
    MOST_IN_PIECES,
    MOST_OVER_DIGITS,
    RENAME,
    Id,
)
from prism_explore.verify.certificate.expressions import Expr, Upto
from prism_explore.verify.normal_form.index import Zero, moved

Piece: TypeAlias = tuple[tuple[str, ...], Poly]
"""Axes and what is taken at all their values."""


class Extremes(Entries):
    """Chains of pieces."""

    spelled: str
    """Which functions are replaced by others, where two sides may spell them differently; empty for none."""

    def cut_by(self, axis: str, body: Id) -> list[tuple[str, Id]] | None:
        """Where a body's intervals cut an axis: the new axes and bodies; see `derive`."""
        raise NotImplementedError

    def cut_digits(self, axis: str, body: Id) -> tuple[list[str], Id] | None:
        """A body that reads digits of an axis, over axes of their own; see `derive`."""
        raise NotImplementedError

    def relu(self, p: Poly) -> Poly:
        """`max(p, 0)` by its name; see `derive`."""
        raise NotImplementedError

    def call(self, fn: str, p: Poly) -> Poly:
        """A function by its name; see `derive`."""
        raise NotImplementedError

    # ------------------------------------------------------------ chains
    def _of(self, piece: Piece) -> Id:
        return self.nest("most", piece[0], self.spell(piece[1]))

    def _chained(self, items: Sequence[Id]) -> Id:
        whole = items[0]
        for x in items[1:]:
            whole = self.make("greater", whole, x)
        return whole

    def _linked(self, a: Sequence[Id], b: Sequence[Id]) -> None:
        """The greater of two chains is one chain."""
        if len(b) > 1:
            self._linked(a, b[:-1])
            self._regroup_greater(self._chained(a), self._chained(b[:-1]), b[-1])

    def _regroup_greater(self, a: Id, b: Id, c: Id) -> None:
        left = self.make("greater", a, self.make("greater", b, c))
        self.say("greater associates", left, self.make("greater", self.make("greater", a, b), c))

    def _swap_greater(self, a: Id, b: Id) -> None:
        self.say("greater commutes", self.make("greater", a, b), self.make("greater", b, a))

    def greatest(self, pieces: Sequence[Piece]) -> Poly:
        """The chain of these pieces, as a polynomial."""
        pieces = list(pieces)
        if not all(self.inhabited(name) for names, _ in pieces for name in names):
            raise TooMany
        at = 0
        while at < len(pieces):
            new = self._flatter(pieces[at])
            if new is None:
                at += 1
                continue
            before = [self._of(p) for p in pieces[:at]]
            if before:
                self._linked(before, [self._of(p) for p in new])
            pieces[at : at + 1] = new
            if len(pieces) > 64:
                raise TooMany
        return self._shared(pieces) or self._factored(pieces) or self._closed(pieces)

    def _flatter(self, piece: Piece) -> list[Piece] | None:
        """One step of M1: the pieces that this one is, or None where it stays."""
        names, p = piece
        body = self.spell(p)
        met = self.met(body)
        for name in names:
            if self.coordinates(name).isdisjoint(met):
                others = tuple(n for n in names if n != name)
                self.arranged("most", names, [*others, name], body)
                self.say("maximum of a constant", self.make("most", body, label=name), body)
                return [(others, p)]
            parts = self.divided("most", name, body)
            if len(parts) > 1:
                at = names.index(name)
                self.nest("most", names, body)
                return [((*names[:at], *parts, *names[at + 1 :]), p)]
        joined = tuple(self.joined_digits("most", list(names), body))
        if joined != names:
            return [(joined, p)]
        if len(p) == 1 and p[0][1] == 1 and len(p[0][0]) == 1 and p[0][0][0][1] == 1:
            inside = self._nested(names, p[0][0][0][0])
            if inside is not None:
                return inside
        for name in names:
            digits = self.cut_digits(name, body)
            if digits is not None:
                others = tuple(n for n in names if n != name)
                self.arranged("most", names, [*others, name], body)
                self.say(MOST_OVER_DIGITS, self.make("most", body, label=name), self.nest("most", *digits))
                return [((*others, *digits[0]), self.normal(digits[1]))]
        for name in names:
            cut = self.cut_by(name, body)
            if cut is not None:
                others = tuple(n for n in names if n != name)
                self.arranged("most", names, [*others, name], body)
                (j, a), (k, b) = cut
                inner = [self.make("most", a, label=j), self.make("most", b, label=k)]
                self.say(MOST_IN_PIECES, self.make("most", body, label=name), self._chained(inner))
                self._through(others, *inner)
                return [((*others, j), self.normal(a)), ((*others, k), self.normal(b))]
        return None

    def _nested(self, names: tuple[str, ...], base: Id) -> list[Piece] | None:
        """The pieces of what is itself a maximum."""
        node = self.nodes[base]
        match node.op:
            case "most":
                inner, body = self.opened("most", base)
                taken = frozenset[str]().union(*(self.coordinates(n) for n in names))
                apart = self.apart("most", inner, body, taken)
                return None if apart is None else [((*names, *apart[0]), self.normal(apart[1]))]
            case "greater":
                a, b = node.inside
                self._through(names, a, b)
                return [(names, self.normal(a)), (names, self.normal(b))]
            case "call" if node.label == "relu":
                (a,) = node.inside
                self.say("relu", base, self.make("greater", a, self.zero))
                self._through(names, a, self.zero)
                return [(names, self.normal(a)), (names, ())]
            case "upto":
                axis, at = self.bound(base), self.nodes[base].label.split(" ", 1)[1]
                (body,) = node.inside
                if at not in names or not self.coordinates(at).isdisjoint(self.met(body)):
                    return None
                others = tuple(n for n in names if n != at)
                self.arranged("most", names, [*others, at], base)
                whole = self.make("most", body, label=axis)
                self.say("maximum of running maxima", self.make("most", base, label=at), whole)
                return [(others, self.normal(whole))]
            case _:
                return None

    def _through(self, names: Sequence[str], a: Id, b: Id) -> None:
        """`max_names max(a, b) = max(max_names a, max_names b)`."""
        for n in reversed(range(len(names))):
            x, y = (self.nest("most", names[n + 1 :], e) for e in (a, b))
            self.say(
                "maximum of the greater",
                self.make("most", self.make("greater", x, y), label=names[n]),
                self.make("greater", *(self.make("most", e, label=names[n]) for e in (x, y))),
            )

    # ------------------------------------------------------------ what all pieces share
    def _shared(self, pieces: list[Piece]) -> Poly | None:
        names, first = pieces[0]
        common = tuple((m, c) for m, c in first if all((m, c) in p and self._is_free(m, own) for own, p in pieces))
        if not common or (len(pieces) == 1 and not names):
            return None
        rest = [(own, tuple(t for t in p if t not in common)) for own, p in pieces]
        shared = self.spell(common)
        for (own, p), (_, left) in zip(pieces, rest, strict=True):
            if self.add(common, left) != p:
                return None
            self._out(own, "maximum of a sum", "add", shared, self.spell(left))
        self._out_of_chain("greater of sums", "add", shared, [self._of(p) for p in rest])
        return self.add(common, self.greatest(rest))

    def _is_free(self, m: Monomial, names: Sequence[str]) -> bool:
        met = self.met(self.tree(m))
        return all(self.coordinates(n).isdisjoint(met) for n in names)

    def _out(self, names: Sequence[str], axiom: str, op: str, a: Id, b: Id) -> None:
        """`max_names (a + b) = a + max_names b`, or of products."""
        for n in reversed(range(len(names))):
            x = self.nest("most", names[n + 1 :], b)
            whole = self.make("most", self.make(op, a, x), label=names[n])
            self.say(axiom, whole, self.make(op, a, self.make("most", x, label=names[n])))

    def _out_of_chain(self, axiom: str, op: str, a: Id, items: list[Id]) -> None:
        so_far = items[0]
        for x in items[1:]:
            both = self.make("greater", so_far, x)
            self.say(axiom, self.make("greater", self.make(op, a, so_far), self.make(op, a, x)), self.make(op, a, both))
            so_far = both

    def _factored(self, pieces: list[Piece]) -> Poly | None:
        """A number and factors that are not negative leave a maximum (M3)."""
        if len(pieces) == 1 and not pieces[0][0]:
            return None
        terms = tuple(t for _, p in pieces for t in p if not self.is_bottom(t[0]))
        low = any(self.is_bottom(m) for _, p in pieces for m, _ in p)
        if not terms:
            return None
        g, powers = self.common(terms, roots=True)
        g = abs(g)
        met = {n for own, _ in pieces for n in own}
        powers = [f for f in powers if self._is_free((f,), tuple(met)) and self.nonnegative(self.power(*f))]
        if low:
            powers = [f for f in powers if self.nodes[f[0]].op == "size"]
        factor = tuple(sorted(powers))
        if g == 1 and not factor:
            return None
        by, outside = ((factor, g),), self.spell(((factor, g),))
        rest: list[Piece] = []
        for own, p in pieces:
            finite = tuple(t for t in p if not self.is_bottom(t[0]))
            bottoms = tuple(t for t in p if self.is_bottom(t[0]))
            left = self.without(finite, factor, g)
            if left is None or self.multiply(by, left) != finite:
                return None
            if bottoms:
                if not own or self.add(finite, bottoms) != p:
                    return None
                low_one, inner = self.spell(bottoms), self.spell(left)
                self.say(
                    AS_LOW,
                    self.make("most", self._plus(self.mul(outside, inner), low_one), label=own[-1]),
                    self.mul(outside, self.make("most", self._plus(inner, low_one), label=own[-1])),
                )
                whole = self.add(left, bottoms)
                self._out(
                    own[:-1], "maximum of a multiple", "mul", outside, self.nest("most", own[-1:], self.spell(whole))
                )
                rest.append((own, whole))
            else:
                self._out(own, "maximum of a multiple", "mul", outside, self.spell(left))
                rest.append((own, left))
        self._out_of_chain("greater of multiples", "mul", outside, [self._of(p) for p in rest])
        return self.multiply(by, self.greatest(rest))

    # ------------------------------------------------------------ one chain in order
    def _closed(self, pieces: list[Piece]) -> Poly:
        items: list[tuple[Id, Poly | None]] = []
        for own, p in pieces:
            order, body = self.named("most", own, self.spell(p)) if own else ([], self.spell(p))
            items.append((self.nest("most", order, body), None if own else p))
        plain = dict(items)
        order = [e for e, _ in items]
        done: list[Id] = []
        for e in order:
            done = self._into(done, e)
        polys = [self._item(e, plain.get(e)) for e in done]
        if len(done) == 1:
            return polys[0]
        masked = any(self.is_bottom(m) for p in polys for m, _ in p)
        if len(done) == 2 and (all(plain.get(e) is not None for e in done) or (self.spelled == "root" and not masked)):
            a, b = polys
            if not a or not b:
                x = self.spell(a or b)
                if not a:
                    self._swap_greater(self.zero, x)
                self.say("relu", self.make("call", x, label="relu"), self.make("greater", x, self.zero))
                return self.relu(a or b)
            if self.multiply(self.constant(-ONE), a) == b:
                x = self.spell(a)
                opposite = self.make("greater", x, self.mul(self.number(-ONE), x))
                self.say("abs", self.make("call", x, label="abs"), opposite)
                return self.call("abs", a)
            if self.spelled:
                return self._by_relu(a, b)
        return self.single(self._chained(done))

    def _item(self, e: Id, p: Poly | None) -> Poly:
        if p is not None:
            return p
        return self.normal(e) if self.nodes[e].op == "num" else self.single(e)

    def _by_relu(self, a: Poly, b: Poly) -> Poly:
        """`max(a, b) = b + relu(a - b)`."""
        apart = self.add(a, self.multiply(self.constant(-ONE), b))
        if self.add(b, apart) != a or self.add(b, ()) != b:
            raise TooMany
        x, y = self.spell(b), self.spell(apart)
        rest = self.make("greater", y, self.zero)
        both = self.make("greater", self._plus(x, y), self._plus(x, self.zero))
        self.say("greater of sums", both, self._plus(x, rest))
        self.say("relu", self.make("call", y, label="relu"), rest)
        return self.add(b, self.relu(apart))

    def _into(self, chain: list[Id], new: Id) -> list[Id]:
        """A chain with one more item in its place, or without it where another is never less."""
        if not chain:
            return [new]
        last, rest = chain[-1], chain[:-1]
        kept = self._larger(last, new)
        if kept is not None:
            if rest:
                self._regroup_greater(self._chained(rest), last, new)
            return [*rest, kept] if kept == last else self._into(rest, kept)
        if last < new and not any(self._larger(x, new) for x in rest):
            return [*chain, new]
        self._swap_greater(last, new)
        if rest:
            self._regroup_greater(self._chained(rest), last, new)
            self._regroup_greater(self._chained(rest), new, last)
            before = self._into(rest, new)
            return [*before, last] if not before or before[-1] < last else self._into(before, last)
        return [new, last] if new < last else [last, new]

    def _larger(self, a: Id, b: Id) -> Id | None:
        """Which of two is never less than the other, where the spelling tells."""
        both = self.make("greater", a, b)
        if a == b:
            self.say("greater of equals", both, a)
            return a
        x, y = self.value(a), self.value(b)
        if x is not None and y is not None:
            found = a if x >= y else b
            if found == b:
                self._swap_greater(a, b)
            self.say("greater number", self.make("greater", found, a if found == b else b), found)
            return found
        if (x is not None and x <= 0 and self.nonnegative(b)) or (y is not None and y <= 0 and self.nonnegative(a)):
            found, other = (b, a) if x is not None else (a, b)
            if found == b:
                self._swap_greater(a, b)
            self.say("greater than what is not positive", self.make("greater", found, other), found)
            return found
        if self.covers(a, b):
            return a
        if self.covers(b, a):
            self._swap_greater(a, b)
            return b
        return None

    # ------------------------------------------------------------ running maxima
    def running(self, shell: Expr, p: Poly) -> Poly:
        """The greatest value so far; behind the last iteration, the greatest."""
        assert isinstance(shell, Upto), "a running maximum"
        axis, at = shell.axis.name, shell.at
        body = self.spell(p)
        whole = self.upto(shell, body)
        mine = self.coordinates(axis)
        if mine.isdisjoint(self.met(body)):
            self.say("running maximum of a constant", whole, body)
            return p
        extent = self.extents[axis]
        if at == moved(Zero(), extent - 1, extent):
            last = self.make("most", body, label=axis)
            self.say(LAST_RUNNING, whole, last)
            return self.greatest([((axis,), p)])
        common = tuple((m, c) for m, c in p if self._is_free(m, (axis,)))
        if common:
            rest = tuple(t for t in p if t not in common)
            if self.add(common, rest) == p:
                a, b = self.spell(common), self.spell(rest)
                self.say(
                    "running maximum of a sum", self.upto(shell, self._plus(a, b)), self._plus(a, self.upto(shell, b))
                )
                return self.add(common, self.running(shell, rest))
        g, powers = self.common(p, roots=True)
        factor = tuple(sorted(f for f in powers if self._is_free((f,), (axis,)) and self.nonnegative(self.power(*f))))
        g = abs(g)
        if (g != 1 or factor) and not any(self.is_bottom(m) for m, _ in p):
            left, by = self.without(p, factor, g), ((factor, g),)
            if left is not None and self.multiply(by, left) == p:
                a, b = self.spell(by), self.spell(left)
                inside = self.upto(shell, self.mul(a, b))
                self.say("running maximum of a multiple", inside, self.mul(a, self.upto(shell, b)))
                return self.multiply(by, self.running(shell, left))
        return self._named_running(shell, p)

    def upto(self, shell: Upto, body: Id) -> Id:
        """The running maximum of another body."""
        return self.shelled(shell, [body])

    def _named_running(self, shell: Upto, p: Poly) -> Poly:
        axis, body = shell.axis.name, self.spell(p)
        name = self.name(1 + self.height(body), 0, axis)
        free = self.met(self.upto(shell, body))
        if name == axis or not self.can_rename(axis, body) or not self.coordinates(name).isdisjoint(free):
            return self.single(self.upto(shell, body))
        other = self.replaced(body, axis, name)
        if other is None or not self.coordinates(name).isdisjoint(self.met(body)):
            raise TooMany
        renamed = Upto(self.axis(name), shell.at, shell.a)
        self.say(RENAME, self.upto(shell, body), self.upto(renamed, other))
        return self.single(self.upto(renamed, self.spell(self.normal(other))))
