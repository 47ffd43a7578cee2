"""Derivations: why two expressions are equal, axiom by axiom, without a search.

Both sides are brought into one shape. A product of sums is not multiplied out over its axes but kept, and what
does not depend on an axis leaves its sum, so every sum is as small as it can be; products and polynomials are
in order; axes are renamed by how deeply their sums are nested. Whatever is done to a term is noted as a step, an
instance of one axiom. That both sides end as one term proves nothing by itself: the steps do, for whoever
follows them. egglog does, from the axioms alone, and so does `checker`, by other means.

Nothing is shared with `algebra`, which decides; where the two see a form differently, no derivation is found
and the search of `saturate` is tried instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from hashlib import md5
from itertools import groupby, permutations, product
from math import factorial, prod

from prism_explore.verify.closure import follow
from prism_explore.verify.ledger import RENAME, Derivation, Id, Ledger, Step
from prism_explore.verify.polynomials import ONE, Poly, Polynomials, TooMany
from prism_explore.verify.products import Monomial, Power
from prism_explore.verify.statement import Axis, Statement

ORDERS = 720
"""Orders of axes that look alike; beyond them they stay as they are."""
ROUNDS = 4
"""How often denominators are cleared."""


def derive(statement: Statement) -> Derivation | None:
    """Steps from the left side to the right, none of which can be left out; None where none were found.

    Functions are left as names first, then spelled out; then denominators are cleared.
    """
    for spelled in (False, True):
        deriver = Deriver(statement.axes, spelled=spelled)
        left, right = deriver.of(statement.left), deriver.of(statement.right)
        try:
            met = deriver.normal(left) == deriver.normal(right) or deriver.cleared(left, right)
        except (TooMany, ValueError, RecursionError):
            met = False
        if met:
            return needed(deriver, left, right)
    return None


def needed(ledger: Ledger, left: Id, right: Id) -> Derivation | None:
    """The part of a ledger that leads from one side to the other, with as few axioms as will do."""
    steps = follow(ledger.nodes, [Step(axiom, a, b) for (a, b), axiom in ledger.steps.items()], left, right)
    if steps is None:
        return None
    for axiom in dict.fromkeys(s.axiom for s in steps):
        steps = follow(ledger.nodes, [s for s in steps if s.axiom != axiom], left, right) or steps
    return ledger.extract(left, right, steps)


class Deriver(Polynomials):
    """Terms and their polynomials, functions and sums included."""

    def __init__(self, axes: Iterable[Axis], *, spelled: bool = False) -> None:
        """`spelled`: silu and sigmoid are replaced by their definitions."""
        super().__init__(axes)
        self.spelled = spelled
        self._canonical: dict[tuple[int, int, str], str] = {}
        self._taken = 0
        self._shapes: dict[tuple[Id, tuple[tuple[str, str], ...]], str] = {}

    # ------------------------------------------------------------ every operator
    def normal(self, e: Id) -> Poly:
        """The polynomial that a term is."""
        if e not in self._read:
            self._read[e] = self._normal(e)
        return self._read[e]

    def _normal(self, e: Id) -> Poly:
        node = self.nodes[e]
        match node.op:
            case "at" | "size":
                return self.single(e)
            case "num":
                return self.constant(Fraction(node.label))
            case "add":
                return self.add(*map(self.normal, node.inside))
            case "mul":
                return self.multiply(*map(self.normal, node.inside))
            case "inv":
                return self.inverted(self.normal(node.inside[0]))
            case "sqrt":
                return self.root(self.normal(node.inside[0]))
            case "exp":
                return self._exp(self.normal(node.inside[0]))
            case "call":
                return self._call(node.label, self.normal(node.inside[0]))
            case "sum":
                return self._sum(node.label, self.normal(node.inside[0]))
            case op:
                raise AssertionError(f"no term has the operator {op}")

    def _exp(self, p: Poly) -> Poly:
        if not p:
            self.say("exp of zero", self.make("exp", self.zero), self.one)
            return self.constant(ONE)
        factors: list[Power] = [(self.make("exp", self.tree(m)), c) for m, c in p]
        so_far: Monomial = (factors[0],)
        for n, factor in enumerate(factors[1:], start=1):
            a, b = self.spell(p[:n]), self.term(*p[n])
            apart = self.mul(self.make("exp", a), self.make("exp", b))
            self.say("exp of a sum", self.make("exp", self._plus(a, b)), apart)
            so_far = self.inserted(so_far, factor)
        return self.settled(so_far)

    def _call(self, fn: str, p: Poly) -> Poly:
        a = self.spell(p)
        this = self.make("call", a, label=fn)
        if self.spelled and fn == "silu":
            by = self.mul(a, self.make("call", a, label="sigmoid"))
            self.say("silu", this, by)
            return self.normal(by)
        if self.spelled and fn == "sigmoid":
            opposite = self.make("exp", self.mul(self.number(-ONE), a))
            by = self.make("inv", self._plus(self.one, opposite))
            self.say("sigmoid", this, by)
            return self.normal(by)
        if fn == "relu":
            return self._relu(p, this)
        return self.single(this)

    def _relu(self, p: Poly, this: Id) -> Poly:
        a = self.spell(p)
        if self.nonnegative(a):
            self.say("relu of a nonnegative", this, a)
            return p
        common, rest = self._content(p, roots=True) if len(p) > 1 else self._outside(p)
        if common is None:
            return self.single(this)
        c, inner = self.spell((common,)), self.spell(rest)
        by = self.mul(c, self.make("call", inner, label="relu"))
        self.say("relu of a multiple", self.make("call", self.mul(c, inner), label="relu"), by)
        return self.multiply((common,), self.single(self.make("call", inner, label="relu")))

    def _outside(self, p: Poly) -> tuple[tuple[Monomial, Fraction] | None, Poly]:
        """The number and the factors of one term that are not below 0; and the rest."""
        ((m, c),) = p
        out = tuple(f for f in m if self.nonnegative(self.power(*f)))
        inside = tuple(f for f in m if f not in out)
        if abs(c) == 1 and not out:
            return None, p
        common, rest = (out, abs(c)), ((inside, ONE if c > 0 else -ONE),)
        assert self.multiply((common,), rest) == p, "factors taken apart make the product"
        return common, rest

    # ------------------------------------------------------------ sums
    def _sum(self, axis: str, p: Poly) -> Poly:
        if not p:
            zero = self.make("sum", self.zero, label=axis)
            n = self.size(self.extents[axis])
            self.say("sum of a constant", zero, self.mul(n, self.zero))
            self.swap(n, self.zero)
            self.say("zero", self.mul(self.zero, n), self.zero)
            return ()
        if len(p) > 1:
            a, b = self.spell(p[:-1]), self.term(*p[-1])
            parts = self._plus(*(self.make("sum", x, label=axis) for x in (a, b)))
            self.say("sum of a sum", self.make("sum", self._plus(a, b), label=axis), parts)
            return self.add(self._sum(axis, p[:-1]), self._sum(axis, (p[-1],)))
        ((m, c),) = p
        if c != 1 and m:
            self._pull(axis, self.number(c), self.tree(m))
            return self.multiply(self.constant(c), self._sum(axis, ((m, ONE),)))
        mine = self.coordinates(axis)
        free = tuple(f for f in m if mine.isdisjoint(self.met(f[0])))
        if len(free) == len(m):
            n = self.size(self.extents[axis])
            e = self.spell(p)
            self.say("sum of a constant", self.make("sum", e, label=axis), self.mul(n, e))
            return self.multiply(self.normal(n), p)
        if free:
            inside = tuple(f for f in m if f not in free)
            assert self.times(free, inside) == m, "factors taken apart make the product"
            self._pull(axis, self.tree(free), self.tree(inside))
            return self.multiply(((free, ONE),), self._sum(axis, ((inside, ONE),)))
        return self._component(axis, m)

    def _pull(self, axis: str, a: Id, b: Id) -> None:
        whole = self.make("sum", self.mul(a, b), label=axis)
        self.say("sum of a multiple", whole, self.mul(a, self.make("sum", b, label=axis)))

    def _component(self, axis: str, m: Monomial) -> Poly:
        """A sum of factors that all depend on its axis; sums among them are opened."""
        binders, body = [axis], m
        while True:
            found = next(
                (f for f in body if self.nodes[f[0]].op == "sum" and f[1] >= 1 and f[1].denominator == 1), None
            )
            if found is None:
                break
            base, exponent = found
            rest = tuple(f for f in body if f is not found)
            if exponent > 1:
                rest = self.inserted(rest, (base, exponent - 1))
            assert self.inserted(rest, (base, ONE)) == body, "a factor taken out and put back"
            names, inner = self._opened(base)
            tree = self.tree(rest)
            if not rest:
                self.say("one", self.mul(self.one, base), base)
            taken = self.met(tree).union(*(self.coordinates(b) for b in binders))
            opened, inner = self._apart(names, inner, taken)
            if opened is None:
                break
            if rest:
                self._pull_in(tree, opened, inner)
            binders += opened
            multiplied = self.multiply(((rest, ONE),), self.normal(inner))
            if len(multiplied) != 1 or multiplied[0][1] != 1:
                total = multiplied
                for name in reversed(binders):
                    total = self._sum(name, total)
                return total
            ((body, _),) = multiplied
        return self._named(binders, body)

    def _opened(self, e: Id) -> tuple[list[str], Id]:
        """The axes of nested sums, and what they sum."""
        names: list[str] = []
        while self.nodes[e].op == "sum":
            names.append(self.nodes[e].label)
            (e,) = self.nodes[e].inside
        return names, e

    def _nest(self, names: Sequence[str], body: Id) -> Id:
        for name in reversed(names):
            body = self.make("sum", body, label=name)
        return body

    def _pull_in(self, a: Id, names: Sequence[str], body: Id) -> None:
        """`a Σ_j Σ_k b = Σ_j Σ_k a b`."""
        for n, name in enumerate(names):
            self._pull(name, a, self._nest(names[n + 1 :], body))

    def _apart(self, names: Sequence[str], body: Id, taken: frozenset[str]) -> tuple[list[str] | None, Id]:
        """Nested sums whose axes are not among those taken, renamed where need be."""
        out = list(names)
        for n, name in enumerate(names):
            if self.coordinates(name).isdisjoint(taken):
                continue
            new = self._spare(name)
            renamed = self._renamed(out[n + 1 :], name, new, body)
            if renamed is None:
                return None, body
            body, out[n] = renamed, new
        return out, body

    def _renamed(self, within: Sequence[str], old: str, new: str, body: Id) -> Id | None:
        """`Σ_old Σ_within body` under another name; gives the new body."""
        inner = self._nest(within, body)
        other = self.replaced(inner, old, new)
        if other is None or not self.coordinates(new).isdisjoint(self.met(inner)):
            return None
        self.say(RENAME, self.make("sum", inner, label=old), self.make("sum", other, label=new))
        return self._opened_to(other, len(within))

    def _opened_to(self, e: Id, depth: int) -> Id:
        for _ in range(depth):
            (e,) = self.nodes[e].inside
        return e

    def _spare(self, like: str) -> str:
        """A name that is used nowhere."""
        self._taken += 1
        name = f"t{self._taken}"
        self.declare(Axis(name, self.extents[like]))
        return name

    # ------------------------------------------------------------ names of axes
    def _named(self, binders: list[str], body: Monomial) -> Poly:
        """Nested sums over one product: pairs of digits joined, axes ordered and renamed."""
        tree = self.tree(body)
        binders = self._joined_digits(binders, tree)
        order = self._order(binders, tree)
        self._arranged(binders, order, tree)
        height = 1 + self.height(tree)
        wanted = [self._name(height, n, b) for n, b in enumerate(order)]
        if wanted != order and all(self._can_rename(b, tree) for b in order):
            step = order
            if set(wanted) & set(order):
                step, tree = self._all_renamed(order, [self._spare(b) for b in order], tree)
            order, tree = self._all_renamed(step, wanted, tree)
            total = self.normal(tree)
            if len(total) != 1 or total[0][1] != 1:
                raise TooMany
            tree = self.spell(total)
        return self.single(self._nest(order, tree))

    def _all_renamed(self, old: list[str], new: list[str], body: Id) -> tuple[list[str], Id]:
        out = list(old)
        for n, (a, b) in enumerate(zip(old, new, strict=True)):
            renamed = self._renamed(out[n + 1 :], a, b, body)
            if renamed is None:
                raise TooMany
            body, out[n] = renamed, b
        return out, body

    def _can_rename(self, axis: str, tree: Id) -> bool:
        mine = self.coordinates(axis)
        return all(
            w == axis or mine.isdisjoint(self.coordinates(w)) for e in self.elements(tree) for w in self.words(e)
        )

    def _name(self, height: int, n: int, axis: str) -> str:
        """What the nth axis of a sum so high is called: as the first one that was met, if that name is free."""
        key = (height, n, str(self.extents[axis]))
        if key not in self._canonical:
            if axis in self._canonical.values():
                axis = self._spare(axis)
            self._canonical[key] = axis
        return self._canonical[key]

    def _joined_digits(self, binders: list[str], tree: Id) -> list[str]:
        """`Σ_outer Σ_inner = Σ_pair` where nothing depends on one digit alone."""
        binders = list(binders)
        while True:
            for pair, (outer, inner) in self.digits.items():
                if outer in binders and inner in binders and self._only_together(pair, tree):
                    others = [b for b in binders if b not in (outer, inner)]
                    self._arranged(binders, [*others, outer, inner], tree)
                    both = self._nest([outer, inner], tree)
                    self.say("sum by digits", both, self.make("sum", tree, label=pair))
                    binders = [*others, pair]
                    break
            else:
                return binders

    def _only_together(self, pair: str, tree: Id) -> bool:
        mine = self.coordinates(pair)
        for e in self.elements(tree):
            for w in self.words(e):
                there = self.coordinates(w)
                if not mine.isdisjoint(there) and not mine <= there:
                    return False
        return True

    def _arranged(self, have: Sequence[str], want: Sequence[str], body: Id) -> None:
        """Nested sums in another order, by swapping neighbours."""
        have = list(have)
        for n, name in enumerate(want):
            at = have.index(name)
            while at > n:
                have[at - 1], have[at] = have[at], have[at - 1]
                inner = self._nest(have[at + 1 :], body)
                first, second = have[at], have[at - 1]
                self.say(
                    "sums swap",
                    self.make("sum", self.make("sum", inner, label=second), label=first),
                    self.make("sum", self.make("sum", inner, label=first), label=second),
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
        if node.op == "at":
            return self.coloured(e, colours)
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
        text = f"{node.op} {node.label} {' '.join(inside)}"
        return md5(text.encode(), usedforsecurity=False).hexdigest()

    # ------------------------------------------------------------ common denominators
    def cleared(self, left: Id, right: Id) -> bool:
        """Whether both sides are equal when positive denominators are cleared; notes why if so."""
        a, b = self.normal(left), self.normal(right)
        if a == b:
            return True
        denominators: list[tuple[Id, Poly]] = []
        for _ in range(ROUNDS):
            found = next(
                (
                    (base, -Fraction(e))
                    for m, _ in (*a, *b)
                    for base, e in m
                    if e < 0 and self.nodes[base].op in ("add", "sum") and self.positive(base)
                ),
                None,
            )
            if found is None:
                return False
            base, e = found
            by: Poly = ((((base, Fraction(-(-e // 1))),), ONE),)
            denominators.append((self.spell(a), by))
            new = self.multiply(a, by), self.multiply(b, by)
            self._divide_again(a, by)
            self._divide_again(b, by)
            a, b = new
            if a == b:
                return True
        return False

    def _divide_again(self, p: Poly, by: Poly) -> None:
        """`p = (p d) d^-1` for a positive d."""
        a, d = self.spell(p), self.spell(by)
        inverse = self.make("inv", d)
        self.say("cancel", self.mul(d, inverse), self.one)
        self.regroup(a, d, inverse)
        self.drop_one(a)
