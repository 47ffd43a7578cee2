"""A maximum is no less than its entries: what follows from that for the greater of two terms, axiom by axiom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from prism_explore.verify.certificate.derivation.bound_axes import Binders
from prism_explore.verify.certificate.derivation.monomials import Monomial
from prism_explore.verify.certificate.derivation.polynomials import ONE, Poly
from prism_explore.verify.certificate.derivation.term_graph import ENTRY, Id
from prism_explore.verify.certificate.expressions import places
from prism_explore.verify.normal_form.index import Digit, Index, Moved, Radix, Var, extent

DEEP = 4
"""How many maxima, sums and entries inside of each other are looked through."""


class Entries(Binders):
    """Terms of which one is never less than the other."""

    def is_bottom(self, m: Monomial) -> bool:
        """Whether a term is what a mask adds."""
        return len(m) == 1 and self.nodes[m[0][0]].op == "bottom"

    def covers(self, a: Id, b: Id, deep: int = DEEP) -> bool:
        """Whether `max(a, b) = a`, as far as maxima and masks tell; then it has been said."""
        if a == b:
            self.say("greater of equals", self.make("greater", a, a), a)
            return True
        if not deep:
            return False
        if self.nodes[b].op == "most":
            return self._covers_all(a, b, deep)
        if self.nodes[b].op == "greater":
            return self._covers_both(a, b, deep)
        if self.nodes[a].op == "most":
            return self._has_entry(a, b, deep)
        if self.nodes[a].op == "greater":
            return self._has_one(a, b, deep)
        return self._covers_sum(a, b, deep)

    def _covers_all(self, a: Id, b: Id, deep: int) -> bool:
        """`max(a, max_k b) = max_k max(a, b) = max_k a = a`, where a is no less than any entry."""
        names, body = self.opened("most", b)
        met = self.met(a)
        if not all(self.inhabited(n) and self.coordinates(n).isdisjoint(met) for n in names):
            return self.nodes[a].op == "most" and self._has_entry(a, b, deep)
        if not self.covers(a, body, deep - 1):
            return False
        for name in reversed(names):
            self.say("maximum of a constant", self.make("most", a, label=name), a)
            whole = self.make("most", body, label=name)
            self.say(
                "maximum of the greater",
                self.make("most", self.make("greater", a, body), label=name),
                self.make("greater", self.make("most", a, label=name), whole),
            )
            body = whole
        return True

    def _has_entry(self, a: Id, b: Id, deep: int) -> bool:
        """`max(max_k a, b) = max_k a`, where one of the entries is no less than b."""
        axis, (body,) = self.nodes[a].label, self.nodes[a].inside
        for place in self._places(body, axis, b):
            entry = self.placed(body, axis, place) if extent(place) == self.extents[axis] else None
            if entry is None:
                continue
            plain = self.spell(self.normal(entry))
            if not self.covers(plain, b, deep - 1):
                continue
            self.say(ENTRY, self.make("greater", a, entry), a)
            left = self.make("greater", a, self.make("greater", plain, b))
            self.say("greater associates", left, self.make("greater", self.make("greater", a, plain), b))
            return True
        return False

    def _covers_both(self, a: Id, b: Id, deep: int) -> bool:
        """`max(a, max(x, y)) = max(max(a, x), y) = max(a, y) = a`."""
        x, y = self.nodes[b].inside
        if not (self.covers(a, x, deep - 1) and self.covers(a, y, deep - 1)):
            return False
        first = self.make("greater", self.make("greater", a, x), y)
        self.say("greater associates", self.make("greater", a, b), first)
        return True

    def _has_one(self, a: Id, b: Id, deep: int) -> bool:
        """`max(max(x, y), b) = max(x, max(y, b)) = max(x, y)`, and the same with x."""
        x, y = self.nodes[a].inside
        for other, one in ((x, y), (y, x)):
            if not self.covers(one, b, deep - 1):
                continue
            turned = self.make("greater", other, one)
            self.say("greater commutes", a, turned)
            right = self.make("greater", other, self.make("greater", one, b))
            self.say("greater associates", right, self.make("greater", turned, b))
            return True
        return False

    def _covers_sum(self, a: Id, b: Id, deep: int) -> bool:
        """`max(c + d m, c + d e) = c + d max(m, e)`, and `max(c, c + bottom) = c + max(0, bottom)`."""
        p, q = self.normal(a), self.normal(b)
        if self.spell(p) != a or self.spell(q) != b:
            return False
        for m in self._maxima((*p, *q)):
            c = dict(p).get(((m, ONE),), Fraction(0)) - dict(q).get(((m, ONE),), Fraction(0))
            if c > 0 and self._covers_shared(p, q, m, c, deep):
                return True
        if self._covers_less(p, q):
            return True
        low = tuple(t for t in q if self.is_bottom(t[0]) and t not in p)
        if len(low) != 1 or low[0][1] <= 0 or self.add(p, low) != q or self.add(p, ()) != p:
            return False
        self._note_shared(self.spell(p), self.zero, self.spell(low))
        self.say("bottom is low", self.make("greater", self.zero, self.spell(low)), self.zero)
        return True

    def _covers_less(self, p: Poly, q: Poly) -> bool:
        """`max(q + d, q) = q + max(d, 0) = q + d`, where d is not below 0."""
        d = self.add(p, self.multiply(self.constant(-ONE), q))
        apart = self.spell(d)
        if not self.nonnegative(apart) or self.add(q, d) != p or self.add(q, ()) != q:
            return False
        self._note_shared(self.spell(q), apart, self.zero)
        self.say("greater than what is not positive", self.make("greater", apart, self.zero), apart)
        return True

    def _covers_shared(self, p: Poly, q: Poly, m: Id, c: Fraction, deep: int) -> bool:
        """Whether p is `rest + c m` and q `rest + c e`, with e no greater than the maximum m."""
        by, largest = self.constant(c), self.single(m)
        first = self.multiply(by, largest)
        rest = self.add(p, self.multiply(self.constant(-ONE), first))
        entry = self.multiply(self.constant(1 / c), self.add(q, self.multiply(self.constant(-ONE), rest)))
        second = self.multiply(by, entry)
        if self.add(rest, first) != p or self.add(rest, second) != q:
            return False
        e = self.spell(entry)
        if not self.covers(m, e, deep - 1):
            return False
        self._note_shared(self.spell(rest), self.spell(first), self.spell(second))
        factor = self.spell(by)
        multiples = self.make("greater", self.mul(factor, m), self.mul(factor, e))
        self.say("greater of multiples", multiples, self.mul(factor, self.make("greater", m, e)))
        return True

    def _note_shared(self, rest: Id, first: Id, second: Id) -> None:
        both = self.make("greater", self.make("add", rest, first), self.make("add", rest, second))
        self.say("greater of sums", both, self.make("add", rest, self.make("greater", first, second)))

    def _maxima(self, terms: Poly) -> list[Id]:
        """The maxima that are terms of a sum, times numbers."""
        found = [m[0][0] for m, _ in terms if len(m) == 1 and m[0][1] == ONE]
        return [e for e in dict.fromkeys(found) if self.nodes[e].op in ("most", "greater")]

    def _places(self, body: Id, axis: str, b: Id) -> Iterator[Index]:
        """Where an axis may be when a maximum's body is a term, or a part of it."""
        seen = set[str]()
        for e in sorted(self.indexed(body)):
            if axis not in self.words(e):
                continue
            mine = places(self.shell(e))
            for x in sorted(self.indexed(b)):
                if self.nodes[x].op != self.nodes[e].op:
                    continue
                for found in _parts(mine, places(self.shell(x)), axis):
                    if found.key not in seen:
                        seen.add(found.key)
                        yield found


def _parts(mine: Sequence[Index], theirs: Sequence[Index], axis: str) -> Iterator[Index]:
    """What stands in some indices where an axis does in others."""
    if len(mine) != len(theirs):
        return
    for i, j in zip(mine, theirs, strict=True):
        match i, j:
            case Var(name, _), _ if name == axis:
                yield j
            case Radix(parts), Radix(others):
                yield from _parts(parts, others, axis)
            case (Digit(p, _, _, _), Digit(q, _, _, _)) | (Moved(p, _, _), Moved(q, _, _)):
                yield from _parts((p,), (q,), axis)
            case _:
                pass
