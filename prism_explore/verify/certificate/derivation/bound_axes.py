"""Axes that sums and maxima run over: opened, renamed, ordered, joined and compared, one axiom at a time.

Equal sums should be one term, so their axes are named by how deeply binders are nested below, and several
axes of one body are ordered by how they are used; neither depends on the names they came with.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import md5
from itertools import groupby, permutations, product
from math import factorial, prod
from typing import Literal, TypeAlias

from prism_explore.ir.dims import Dim
from prism_explore.verify.certificate.derivation.monomials import ONE, Monomial
from prism_explore.verify.certificate.derivation.polynomials import Poly, Polynomials, TooMany
from prism_explore.verify.certificate.derivation.term_graph import RENAME, Id
from prism_explore.verify.certificate.lemma import Axis

Over: TypeAlias = Literal["sum", "most"]
"""What binds an axis here."""

ORDERS = 720
"""Orders of axes that look alike; beyond them they stay as they are."""
_SWAP = {"sum": "sums swap", "most": "maxima swap"}
_DIGITS = {"sum": "sum by digits", "most": "maximum by digits"}


class Binders(Polynomials):
    """Nested sums, or nested maxima, over one body."""

    def __init__(self, axes: Iterable[Axis], integers: Sequence[Dim] = ()) -> None:
        super().__init__(axes, integers)
        self._canonical: dict[tuple[int, int, str], str] = {}
        self._taken = 0
        self._shapes: dict[tuple[Id, tuple[tuple[str, str], ...]], str] = {}
        self._weighed: dict[tuple[Id, Id], bool] = {}

    def nest(self, over: Over, names: Sequence[str], body: Id) -> Id:
        """`Σ_names body`, the first name outermost."""
        for name in reversed(names):
            body = self.make(over, body, label=name)
        return body

    def opened(self, over: Over, e: Id) -> tuple[list[str], Id]:
        """The axes of nested sums, and what they sum."""
        names: list[str] = []
        while self.nodes[e].op == over:
            names.append(self.nodes[e].label)
            (e,) = self.nodes[e].inside
        return names, e

    def apart(self, over: Over, names: Sequence[str], body: Id, taken: frozenset[str]) -> tuple[list[str], Id] | None:
        """Nested sums whose axes are not among those taken, renamed where need be; None where that cannot be."""
        out = list(names)
        for n, name in enumerate(names):
            if self.coordinates(name).isdisjoint(taken):
                continue
            new = self.spare(self.extents[name])
            renamed = self._renamed(over, out[n + 1 :], name, new, body)
            if renamed is None:
                return None
            body, out[n] = renamed, new
        return out, body

    def _renamed(self, over: Over, within: Sequence[str], old: str, new: str, body: Id) -> Id | None:
        """`Σ_old Σ_within body` under another name; gives the new body."""
        inner = self.nest(over, within, body)
        other = self.replaced(inner, old, new)
        if other is None or not self.coordinates(new).isdisjoint(self.met(inner)):
            return None
        self.say(RENAME, self.make(over, inner, label=old), self.make(over, other, label=new))
        for _ in within:
            (other,) = self.nodes[other].inside
        return other

    def spare(self, extent: Dim) -> str:
        """A name that is used nowhere."""
        self._taken += 1
        name = f"t{self._taken}"
        self.declare(Axis(name, extent))
        return name

    # ------------------------------------------------------------ canonical names
    def named(self, over: Over, names: Sequence[str], body: Id) -> tuple[list[str], Id]:
        """Nested sums with pairs of digits joined, and axes ordered and renamed.

        Raises:
            TooMany: a name cannot be had.
        """
        binders = self.joined_digits(over, list(names), body)
        order = self._order(binders, body)
        self.arranged(over, binders, order, body)
        height = 1 + self.height(body)
        wanted = [self.name(height, n, b) for n, b in enumerate(order)]
        free = self.met(self.nest(over, order, body))
        if any(not self.coordinates(w).isdisjoint(free) for w in wanted):
            return order, body  # it belongs to an outer sum, which gets its own name in its turn, and this one then
        if wanted != order and all(self.can_rename(b, body) for b in order):
            step = order
            if set(wanted) & set(order):
                step, body = self._all_renamed(over, order, [self.spare(self.extents[b]) for b in order], body)
            order, body = self._all_renamed(over, step, wanted, body)
            body = self.spell(self.normal(body))
        return order, body

    def _all_renamed(self, over: Over, old: list[str], new: list[str], body: Id) -> tuple[list[str], Id]:
        out = list(old)
        for n, (a, b) in enumerate(zip(old, new, strict=True)):
            renamed = self._renamed(over, out[n + 1 :], a, b, body)
            if renamed is None:
                raise TooMany
            body, out[n] = renamed, b
        return out, body

    def can_rename(self, axis: str, tree: Id) -> bool:
        """Whether a term names an axis itself wherever it depends on it."""
        mine = self.coordinates(axis)
        return all(w == axis or mine.isdisjoint(self.coordinates(w)) for e in self.indexed(tree) for w in self.words(e))

    def name(self, height: int, n: int, axis: str) -> str:
        """What the nth axis of a sum so high is called: as the first one that was met, if that name is free."""
        key = (height, n, str(self.extents[axis]))
        if key not in self._canonical:
            if axis in self._canonical.values():
                axis = self.spare(self.extents[axis])
            self._canonical[key] = axis
        return self._canonical[key]

    def joined_digits(self, over: Over, binders: list[str], tree: Id) -> list[str]:
        """`Σ_outer Σ_inner = Σ_pair` where nothing depends on one digit alone."""
        while True:
            for pair, (outer, inner) in self.digits.items():
                if outer in binders and inner in binders and self._only_together(pair, tree):
                    others = [b for b in binders if b not in (outer, inner)]
                    self.arranged(over, binders, [*others, outer, inner], tree)
                    both = self.nest(over, [outer, inner], tree)
                    self.say(_DIGITS[over], both, self.make(over, tree, label=pair))
                    binders = [*others, pair]
                    break
            else:
                return binders

    def divided(self, over: Over, axis: str, body: Id) -> list[str]:
        """`Σ_pair = Σ_outer Σ_inner`, down to digits that the body depends on one by one."""
        if axis not in self.digits or self._only_together(axis, body):
            return [axis]
        outer, inner = self.digits[axis]
        self.say(_DIGITS[over], self.nest(over, [outer, inner], body), self.make(over, body, label=axis))
        below = self.divided(over, inner, body)
        return [*self.divided(over, outer, self.nest(over, below, body)), *below]

    def _only_together(self, pair: str, tree: Id) -> bool:
        mine = self.coordinates(pair)
        for e in self.indexed(tree):
            for w in self.words(e):
                there = self.coordinates(w)
                if not mine.isdisjoint(there) and not mine <= there:
                    return False
        return True

    def arranged(self, over: Over, have: Sequence[str], want: Sequence[str], body: Id) -> None:
        """Nested sums in another order, by swapping neighbours."""
        have = list(have)
        for n, name in enumerate(want):
            at = have.index(name)
            while at > n:
                have[at - 1], have[at] = have[at], have[at - 1]
                inner = self.nest(over, have[at + 1 :], body)
                first, second = have[at], have[at - 1]
                self.say(
                    _SWAP[over],
                    self.make(over, self.make(over, inner, label=second), label=first),
                    self.make(over, self.make(over, inner, label=first), label=second),
                )
                at -= 1

    def _order(self, binders: list[str], tree: Id) -> list[str]:
        """The axes in an order that their names do not sway."""
        if len(binders) == 1:
            return binders
        colours = {b: f"?{self.extents[b]}" for b in binders}
        for _ in binders:
            shapes = {b: self._shape(tree, {**colours, b: f"!{colours[b]}"}) for b in binders}
            ranks = {text: f"?{n}" for n, text in enumerate(sorted(set(shapes.values())))}
            if len(ranks) == len(set(colours.values())):
                break
            colours = {b: ranks[shapes[b]] for b in binders}
        alike = [list(g) for _, g in groupby(sorted(binders, key=lambda b: colours[b]), key=lambda b: colours[b])]
        if prod(factorial(len(g)) for g in alike) > ORDERS:
            return [b for g in alike for b in g]
        orders = ([b for g in choice for b in g] for choice in product(*(permutations(g) for g in alike)))
        return list(min(orders, key=lambda o: self._shape(tree, {b: f"?{n}" for n, b in enumerate(o)})))

    def _shape(self, e: Id, colours: dict[str, str]) -> str:
        """What a term looks like when some axes bear colours and order does not matter."""
        mine = {b: c for b, c in colours.items() if not self.coordinates(b).isdisjoint(self.met(e))}
        key = (e, tuple(sorted(mine.items())))
        if key not in self._shapes:
            self._shapes[key] = self._shaped(e, mine)
        return self._shapes[key]

    def _shaped(self, e: Id, colours: dict[str, str]) -> str:
        node = self.nodes[e]
        if not colours:
            return f"#{e}"
        if node.op in ("add", "mul"):
            items: list[Id] = []
            pending = [e]
            while pending:
                at = pending.pop()
                if self.nodes[at].op == node.op:
                    pending += self.nodes[at].inside
                else:
                    items.append(at)
            inside = sorted(self._shape(x, colours) for x in items)
        else:
            inside = [self._shape(x, colours) for x in node.inside]
        text = f"{node.op} {self.coloured(e, colours)} {' '.join(inside)}"
        return md5(text.encode(), usedforsecurity=False).hexdigest()

    # ------------------------------------------------------------ sums of weights
    def settled(self, m: Monomial) -> Poly:
        """As for polynomials; besides, `(Σ a b) (Σ a)^0 = Σ a b` for weights a that are not below 0."""
        found = super().settled(m)
        if found != ((m, ONE),):
            return found
        weights = [f for f in m if self.nodes[f[0]].op == "sum" and f[1] == 0]
        totals = [f for f in m if self.nodes[f[0]].op == "sum" and f[1] >= 1 and f[1].denominator == 1]
        for (whole, e), weight in product(totals, weights):
            if self._weighs(whole, weight[0]):
                rest = tuple(f for f in m if f != weight and f[0] != whole)
                rest = self.inserted(rest, (whole, e - 1)) if e > 1 else rest
                pair = tuple(sorted(((whole, ONE), weight)))
                assert self.times(rest, pair) == m, "factors taken out and put back"
                self.swap(self.power(*weight), whole)
                return self.multiply(((rest, ONE),), self.single(whole))
        return found

    def _weighs(self, whole: Id, weight: Id) -> bool:
        """Whether the one sum is the other with its summands, none below 0, multiplied by something."""
        if (whole, weight) not in self._weighed:
            self._weighed[whole, weight] = self._is_weighed(whole, weight)
        return self._weighed[whole, weight]

    def _is_weighed(self, whole: Id, weight: Id) -> bool:
        (names, body), (others, part) = self.opened("sum", whole), self.opened("sum", weight)
        if len(names) != len(others) or factorial(len(names)) > ORDERS:
            return False
        if not all(self.can_rename(n, e) for order, e in ((names, body), (others, part)) for n in order):
            return False
        for order in map(list, permutations(others)):
            if [self.extents[n] for n in order] != [self.extents[n] for n in names]:
                continue
            axes, inside, a = names, body, part
            if order != names:
                axes = [self.spare(self.extents[n]) for n in names]
                self.arranged("sum", others, order, part)
                _, inside = self._all_renamed("sum", names, axes, body)
                _, a = self._all_renamed("sum", order, axes, part)
            match self.normal(inside), self.normal(a):
                case ((factors, c),), ((mine, d),) if c == d == 1 and set(mine) <= set(factors):
                    if self.nonnegative(self.tree(mine)):
                        self._note_weights(axes, mine, tuple(f for f in factors if f not in mine))
                        return True
                case _:
                    pass
        return False

    def _note_weights(self, axes: Sequence[str], a: Monomial, b: Monomial) -> None:
        """`(Σ a b) (Σ a)^0 = Σ a b`, from the innermost axis out: each sum is its weights' times a quotient."""
        self.times(a, b)
        inner, part = self.mul(self.tree(a), self.tree(b)), self.tree(a)
        for axis in reversed(axes):
            whole, part = self.make("sum", inner, label=axis), self.make("sum", part, label=axis)
            inverse = self.make("inv", part)
            self.say("weights", self.mul(whole, self.mul(part, inverse)), whole)
            #  S = S (A A^-1) = (S A) A^-1 = (A S) A^-1 = A (S A^-1)
            self.regroup(whole, part, inverse)
            self.swap(whole, part)
            self.regroup(part, whole, inverse)
            inner = self.mul(part, self.mul(whole, inverse))
