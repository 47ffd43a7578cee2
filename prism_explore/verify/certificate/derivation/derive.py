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

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cmp_to_key
from itertools import pairwise
from typing import Literal, TypeAlias

from prism_explore.ir.dims import ONE as ONE_DIM
from prism_explore.ir.dims import ZERO, Dim
from prism_explore.verify.certificate.derivation.congruence import follow
from prism_explore.verify.certificate.derivation.max_forms import Extremes
from prism_explore.verify.certificate.derivation.minimize import fewest
from prism_explore.verify.certificate.derivation.monomials import Monomial, Power, Products
from prism_explore.verify.certificate.derivation.polynomials import HALF, ONE, Poly, TooMany
from prism_explore.verify.certificate.derivation.term_graph import (
    CUT,
    EVERYTHING,
    RESCALED,
    SUM_IN_PIECES,
    SUM_OVER_DIGITS,
    Derivation,
    Id,
    Step,
)
from prism_explore.verify.certificate.expressions import Within, places
from prism_explore.verify.certificate.lemma import Axis, CannotState, Statement, chain_of, digits_in
from prism_explore.verify.normal_form.index import Digit, Moved, Var, Zero, at_most, extent, is_count, moved, radix

Spelling: TypeAlias = Literal["", "functions", "order", "root"]
SPELLINGS: tuple[Spelling, ...] = ("", "functions", "order", "root")
"""Which definitions are put for functions, in the order in which it is tried."""
ROUNDS = 4
"""How often denominators are cleared."""
ODD = frozenset({"tanh", "erf"})
EVEN = frozenset({"abs"})


def derive(statement: Statement) -> Derivation | None:
    """Steps from the left side to the right, none of which can be left out; None where none were found.

    Functions are left as names first, then spelled out; sums are cut where their own intervals cut them
    first, then wherever another's do; and where two forms differ, denominators are cleared. Where all of that finds
    none, digits that were joined into one axis are left apart: copies of a sum share some of them at times.
    """
    for spelled in SPELLINGS:
        for everywhere in (False, True):
            deriver = Deriver(statement.axes, statement.integers, spelled=spelled, everywhere=everywhere)
            try:
                left, right = deriver.of(statement.left), deriver.of(statement.right)
                if not deriver.mark_borders() and everywhere:
                    continue
                if deriver.normal(left) == deriver.normal(right) or deriver.cleared(left, right):
                    return needed(deriver, left, right)
            except (TooMany, ValueError, RecursionError):
                continue
    try:
        return derive(statement.apart()) if statement.apart is not None else None
    except CannotState:
        return None


def needed(ledger: Products, left: Id, right: Id) -> Derivation | None:
    """The part of a ledger that leads from one side to the other, by axioms of which none can be left out."""
    steps = follow(ledger.nodes, [Step(axiom, a, b) for (a, b), axiom in ledger.steps.items()], left, right)
    if steps is None:
        return None
    for axiom in dict.fromkeys(s.axiom for s in steps):
        steps = follow(ledger.nodes, [s for s in steps if s.axiom != axiom], left, right) or steps
    steps, tried = fewest(ledger, left, right, steps)
    return ledger.extract(left, right, steps, tried)


class Deriver(Extremes):
    """Terms and their polynomials, functions and sums included."""

    def __init__(
        self,
        axes: Iterable[Axis],
        integers: Sequence[Dim] = (),
        *,
        spelled: Spelling = "",
        everywhere: bool = False,
    ) -> None:
        """Begin with these axes.

        Args:
            axes: those of the statement.
            integers: sizes that are positive integers, as the conditions of the proof say.
            spelled: which functions are replaced by a definition: none; those that have one; the same, but the
                absolute value by its order, not as a root; the same, but the greater of two values as a root, too.
            everywhere: whether a sum is cut where any interval of a dim as long begins or ends.
        """
        super().__init__(axes, integers)
        self.spelled = spelled
        self.everywhere = everywhere
        self._borders: dict[str, list[Dim]] = {}

    # ------------------------------------------------------------ every operator
    def normal(self, e: Id) -> Poly:
        """The polynomial that a term is."""
        if e not in self._read:
            self._read[e] = self._normal(e)
        return self._read[e]

    def _normal(self, e: Id) -> Poly:
        node = self.nodes[e]
        inside = [self.normal(x) for x in node.inside]
        match node.op:
            case "at" | "size" | "near":
                return self.single(e)
            case "within":
                return self._within(e)
            case "num":
                return self.constant(Fraction(node.label))
            case "add":
                return self.add(*inside)
            case "mul":
                return self.multiply(*inside)
            case "inv" | "sqrt":
                return self._taken_apart(node.op, node.inside[0])
            case "exp":
                return self._by_cases("exp", "", inside[0], self._exp)
            case "call":
                return self.call(node.label, inside[0])
            case "sum":
                return self._sum(node.label, inside[0])
            case "bottom":
                return self._bottom(inside[0])
            case "greater":
                return self.greatest([((), p) for p in inside])
            case "most":
                return self.greatest([((node.label,), inside[0])])
            case "upto":
                return self.running(self.shell(e), inside[0])
            case "rescaled":
                return self._rescaled(node.label, *inside)
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

    def _bottom(self, p: Poly) -> Poly:
        keep = self.make("bottom", self.spell(p))
        if p == self.constant(ONE):
            self.say("bottom of one", keep, self.zero)
            return ()
        return self.single(keep)

    def _rescaled(self, axis: str, p: Poly, scale: Poly) -> Poly:
        a, b = self.spell(p), self.spell(scale)
        size = self.extents[axis]
        final = self.placed(b, axis, moved(Zero(), size - 1, size))
        if final is None:
            raise TooMany
        before = self.make("exp", self.mul(self.number(-ONE), final))
        total = self.make("sum", self.mul(a, self.make("exp", b)), label=axis)
        by = self.mul(before, total)
        self.say(RESCALED, self.make("rescaled", a, b, label=axis), by)
        return self.normal(by)

    # ------------------------------------------------------------ functions
    def call(self, fn: str, p: Poly) -> Poly:
        """A function by its name."""
        return self._by_cases("call", fn, p, lambda q: self._call(fn, q))

    def _call(self, fn: str, p: Poly) -> Poly:
        a = self.spell(p)
        this = self.make("call", a, label=fn)
        if fn == "abs" and self.spelled == "order":
            return self._abs_by_relu(p, this)
        by = self._definition(fn, a) if self.spelled else None
        if by is not None:
            self.say("abs by a root" if fn == "abs" else fn, this, by)
            return self.normal(by)
        if fn == "relu":
            return self.relu(p)
        if fn == "abs" and self.nonnegative(a):
            self.say("abs of a nonnegative", this, a)
            return p
        if fn == "abs" and (larger := self._larger_of_opposites(p)) is not None:
            self.say("abs", this, self.make("greater", a, self.mul(self.number(-ONE), a)))
            return larger
        if fn in ODD | EVEN:
            kind = "odd" if fn in ODD else "even"
            if not p:
                self.say(f"{fn} of zero", this, self.zero)
                return ()
            if p[0][1] < 0:
                opposite = self.multiply(self.constant(-ONE), p)
                x = self.spell(opposite)
                self.multiply(self.constant(-ONE), opposite)
                positive = self.make("call", x, label=fn)
                flipped = self.mul(self.number(-ONE), positive) if kind == "odd" else positive
                self.say(f"{fn} is {kind}", self.make("call", self.mul(self.number(-ONE), x), label=fn), flipped)
                return self.normal(flipped)
        return self._homogeneous(fn, p) if fn == "abs" else self.single(this)

    def _larger_of_opposites(self, p: Poly) -> Poly | None:
        """Which of p and -p is never less than the other, if maxima tell."""
        opposite = self.multiply(self.constant(-ONE), p)
        a, b = self.spell(p), self.spell(opposite)
        if self.covers(a, b):
            return p
        if self.covers(b, a):
            self.say("greater commutes", self.make("greater", a, b), self.make("greater", b, a))
            return opposite
        return None

    def _definition(self, fn: str, a: Id) -> Id | None:
        """What a function is, where the two sides of a lemma may spell it differently."""
        match fn:
            case "silu":
                return self.mul(a, self.make("call", a, label="sigmoid"))
            case "sigmoid":
                opposite = self.make("exp", self.mul(self.number(-ONE), a))
                return self.make("inv", self._plus(self.one, opposite))
            case "tanh":
                grown = self._plus(self.one, self.make("exp", self.mul(self.number(2 * ONE), a)))
                return self._plus(self.one, self.mul(self.number(-2 * ONE), self.make("inv", grown)))
            case "gelu":
                inner = self.mul(a, self.make("inv", self.make("sqrt", self.number(2 * ONE))))
                grown = self._plus(self.one, self.make("call", inner, label="erf"))
                return self.mul(self.number(HALF), self.mul(a, grown))
            case "abs":
                return self.make("sqrt", self.mul(a, a))
            case _:
                return None

    def relu(self, p: Poly) -> Poly:
        """`max(p, 0)` by its name."""
        a = self.spell(p)
        this = self.make("call", a, label="relu")
        if self.nonnegative(a):
            self.say("relu of a nonnegative", this, a)
            return p
        if self.covers(a, self.zero):
            self.say("relu", this, self.make("greater", a, self.zero))
            return p
        if self.spelled == "root" and not any(self.is_bottom(m) for m, _ in p):
            return self._relu_by_root(p, this)
        if len(p) == 1 and p[0][1] == 1 and len(p[0][0]) == 1 and self.nodes[p[0][0][0][0]].op in ("most", "greater"):
            self.say("relu", this, self.make("greater", a, self.zero))
            return self.greatest([((), p), ((), ())])
        if self.spelled and len(p) > 1 and p[0][1] < 0:
            return self._relu_turned(p, this)
        return self._homogeneous("relu", p)

    def _homogeneous(self, fn: str, p: Poly) -> Poly:
        """What is not below 0 leaves relu and abs."""
        common, rest = self._content(p, roots=True) if len(p) > 1 else self._outside(p)
        if common is None:
            return self.single(self.make("call", self.spell(p), label=fn))
        c, inner = self.spell((common,)), self.spell(rest)
        left, product = self.make("call", inner, label=fn), self.mul(c, inner)
        if fn == "relu":
            self.say("relu of a multiple", self.make("call", product, label=fn), self.mul(c, left))
        else:
            self._abs_of_multiple((common,), rest)
        return self.multiply((common,), self.single(left))

    def _abs_of_multiple(self, common: Poly, rest: Poly) -> None:
        """`|c p| = max(c p, -c p) = c max(p, -p) = c |p|`."""
        c, inner = self.spell(common), self.spell(rest)
        opposite, minus = self.multiply(self.constant(-ONE), rest), self.number(-ONE)
        product = self.multiply(common, rest)
        if self.multiply(common, opposite) != self.multiply(self.constant(-ONE), product):
            raise TooMany
        whole, turned = self.spell(product), self.spell(opposite)
        self.say("abs", self.make("call", whole, label="abs"), self.make("greater", whole, self.mul(minus, whole)))
        self.say("abs", self.make("call", inner, label="abs"), self.make("greater", inner, self.mul(minus, inner)))
        both = self.make("greater", self.mul(c, inner), self.mul(c, turned))
        self.say("greater of multiples", both, self.mul(c, self.make("greater", inner, turned)))

    def _relu_by_root(self, p: Poly, this: Id) -> Poly:
        """`relu(p) = (p + |p|) / 2`, as `|p| = -p + relu(2 p) = -p + 2 relu(p)`; then |p| as a root."""
        a, two = self.spell(p), self.number(2 * ONE)
        absolute, positive = self.make("call", a, label="abs"), self.make("greater", a, self.zero)
        self._abs_in_order(p, absolute)
        self.say("relu", this, positive)
        both = self.make("greater", self.mul(two, a), self.mul(two, self.zero))
        self.say("greater of multiples", both, self.mul(two, positive))
        self.swap(two, self.zero)
        self.say("zero", self.mul(self.zero, two), self.zero)
        opposite = self.multiply(self.constant(-ONE), p)
        turned = self.add(opposite, self.multiply(self.constant(2 * ONE), self.single(this)))
        if self.multiply(self.constant(HALF), self.add(p, turned)) != self.single(this):
            raise TooMany
        return self.normal(self.mul(self.number(HALF), self._plus(a, absolute)))

    def _abs_by_relu(self, p: Poly, this: Id) -> Poly:
        """`|p| = max(p, -p) = -p + relu(2 p)`."""
        opposite, double = self._abs_in_order(p, this)
        y = self.spell(double)
        self.say("relu", self.make("call", y, label="relu"), self.make("greater", y, self.zero))
        return self.add(opposite, self.relu(double))

    def _abs_in_order(self, p: Poly, this: Id) -> tuple[Poly, Poly]:
        """`|p| = max(p, -p) = -p + max(2 p, 0)`; gives -p and 2 p."""
        opposite, double = (self.multiply(self.constant(c), p) for c in (-ONE, 2 * ONE))
        if self.add(opposite, double) != p or self.add(opposite, ()) != opposite:
            raise TooMany
        a, x, y = self.spell(p), self.spell(opposite), self.spell(double)
        self.say("abs", this, self.make("greater", a, self.mul(self.number(-ONE), a)))
        both = self.make("greater", self._plus(x, y), self._plus(x, self.zero))
        self.say("greater of sums", both, self._plus(x, self.make("greater", y, self.zero)))
        return opposite, double

    def _relu_turned(self, p: Poly, this: Id) -> Poly:
        """`relu(p) = p + relu(-p)`."""
        q = self.multiply(self.constant(-ONE), p)
        if self.add(p, q) or self.add(p, ()) != p:
            raise TooMany
        x, y = self.spell(p), self.spell(q)
        self.say("relu", this, self.make("greater", x, self.zero))
        both = self.make("greater", self._plus(x, self.zero), self._plus(x, y))
        rest = self.make("greater", self.zero, y)
        self.say("greater of sums", both, self._plus(x, rest))
        self.say("greater commutes", rest, self.make("greater", y, self.zero))
        self.say("relu", self.make("call", y, label="relu"), self.make("greater", y, self.zero))
        return self.add(p, self.relu(q))

    def _outside(self, p: Poly) -> tuple[tuple[Monomial, Fraction] | None, Poly]:
        """The number and the factors of one term that are not below 0; and the rest."""
        (m, c) = p[0]
        out = tuple(f for f in m if self.nonnegative(self.power(*f)))
        inside = tuple(f for f in m if f not in out)
        if abs(c) == 1 and not out:
            return None, p
        common, rest = (out, abs(c)), ((inside, ONE if c > 0 else -ONE),)
        assert self.multiply((common,), rest) == p, "factors taken apart make the product"
        return common, rest

    # ------------------------------------------------------------ intervals
    def mark_borders(self) -> bool:
        """Remember where the intervals of all terms begin and end; each is cut at all borders of its dim."""
        met: dict[str, dict[str, Dim]] = {}
        for e, node in enumerate(self.nodes):
            if node.op == "within":
                shell = self.shell(e)
                assert isinstance(shell, Within), "an interval"
                size = extent(shell.index)
                borders = met.setdefault(str(size), {str(d): d for d in (ZERO, size)})
                borders |= {str(d): d for d in (shell.low, shell.high)}
            elif self.everywhere and node.op == "at":
                for i in places(self.shell(e)):
                    if isinstance(i, Moved) and isinstance(i.base, Var):
                        ends = (i.by, i.by + i.base.extent)
                        if all(self._at_most(ZERO, end) and self._at_most(end, i.size) for end in ends):
                            borders = met.setdefault(str(i.size), {str(d): d for d in (ZERO, i.size)})
                            borders |= {str(end): end for end in ends}
        for size, borders in met.items():
            chain = sorted(borders.values(), key=cmp_to_key(lambda a, b: -1 if self._at_most(a, b) else 1))
            if all(self._at_most(a, b) for a, b in pairwise(chain)):
                self._borders[size] = chain
        return bool(self._borders)

    def _interval(self, shell: Within, low: Dim, high: Dim) -> Id:
        return self.of(Within(shell.index, low, high))

    def _at_most(self, a: Dim, b: Dim) -> bool:
        """Whether a <= b for all sizes that meet the conditions."""
        return at_most(a, b) or is_count(b - a, self.integers)

    def _within(self, e: Id) -> Poly:
        """An interval as a sum of those between neighbouring borders; the last of them is 1 minus the others."""
        shell = self.shell(e)
        assert isinstance(shell, Within), "an interval"
        chain = self._borders.get(str(extent(shell.index)), [])
        if shell.low not in chain or shell.high not in chain:
            return self.single(e)
        first, last = chain.index(shell.low), chain.index(shell.high)
        if last - first > 1:
            parts = self._plus(
                self._interval(shell, shell.low, chain[last - 1]), self._interval(shell, chain[last - 1], shell.high)
            )
            self.say(CUT, e, parts)
            return self.normal(parts)
        if last < len(chain) - 1 or first == 0:
            return self.single(e)
        before = self._interval(shell, ZERO, shell.low)
        everything = self._interval(shell, ZERO, shell.high)
        self.say(CUT, everything, self._plus(before, e))
        self.say(EVERYTHING, everything, self.one)
        opposite = self.multiply(self.constant(-ONE), self.normal(before))
        #  e = (b + e) - b
        total = self.add(self.constant(ONE), opposite)
        minus = self.mul(self.number(-ONE), before)
        self._regroup_sum(minus, before, e)
        self.say("add commutes", self._plus(minus, everything), self._plus(everything, minus))
        self._cancelled(before)
        self.say("add zero", self._plus(self.zero, e), e)
        return total

    def _cancelled(self, a: Id) -> None:
        """`-1 a + a = 0`."""
        self.collected(a, -ONE, ONE)

    def _taken_apart(self, op: Literal["inv", "sqrt"], x: Id) -> Poly:
        """A root, or an inverse: of a product of sums, that of each, before they are multiplied out."""
        node = self.nodes[x]
        if node.op == "mul" and all(self._is_factor(op, f) for f in node.inside):
            a, b = node.inside
            law = "inverse of a product" if op == "inv" else "root of a product"
            self.say(law, self.make(op, x), self.mul(self.make(op, a), self.make(op, b)))
            return self.multiply(self._taken_apart(op, a), self._taken_apart(op, b))
        return self._by_cases(op, "", self.normal(x), self.inverted if op == "inv" else self.root)

    def _is_factor(self, op: Literal["inv", "sqrt"], x: Id) -> bool:
        node = self.nodes[x]
        if node.op == "mul" and all(self._is_factor(op, f) for f in node.inside):
            return True
        p = self.normal(x)
        return len(p) > 1 and (op == "inv" or self.nonnegative(self.spell(p)))

    def _by_cases(self, op: str, label: str, p: Poly, f: Callable[[Poly], Poly]) -> Poly:
        """A function of a sum over pieces is a sum over pieces of the function."""
        bit = next((b for m, _ in p for b, _ in m if self.nodes[b].op == "within"), None)
        if bit is None or (op in ("inv", "sqrt") and len(p) == 1):
            return f(p)
        here = self.single(bit)
        there = self.add(self.constant(ONE), self.multiply(self.constant(-ONE), here))
        x = self.spell(p)
        whole = self.make(op, x, label=label)
        #  f = 1 f = f 1 = f (s + (1 - s)) = f s + f (1 - s)
        self.say("one", self.mul(self.one, whole), whole)
        self.swap(self.one, whole)
        if self.add(here, there) != self.constant(ONE):
            raise TooMany
        bits = [self.spell(t) for t in (here, there)]
        self.say("distribute", self.mul(whole, self._plus(*bits)), self._plus(*(self.mul(whole, t) for t in bits)))
        total: Poly = ()
        for value, t in ((1, here), (0, there)):
            inside = self._under(bit, p, value)
            if self.multiply(t, p) != self.multiply(t, inside):
                raise TooMany
            s, axiom = self.spell(t), f"{op} under a bit"
            self.swap(whole, s)
            for z in (x, self.spell(inside)):
                restricted = self.make(op, self.mul(s, z), label=label)
                self.say(axiom, self.mul(s, self.make(op, z, label=label)), self.mul(s, restricted))
            part = self.multiply(t, self._by_cases(op, label, inside, f))
            total = part if value else self.add(total, part)
        return total

    def _under(self, bit: Id, p: Poly, value: int) -> Poly:
        """A polynomial where one interval is known; others of its index are 0 where it is 1."""
        out: dict[Monomial, Fraction] = {}
        for m, c in p:
            mine = any(b == bit for b, _ in m)
            if mine and not value:
                continue
            if value and any(b != bit and self.lie_apart(b, bit) for b, _ in m if self.nodes[b].op == "within"):
                continue
            left = tuple(f for f in m if f[0] != bit)
            out[left] = out.get(left, Fraction(0)) + c
        return tuple(sorted((m, c) for m, c in out.items() if c))

    def cut_by(self, axis: str, body: Id) -> list[tuple[str, Id]] | None:
        """A body with intervals of an axis, at the axis's first border and behind it."""
        size = self.extents[axis]
        chain = self._borders.get(str(size), [])
        if len(chain) < 3 or not (self.everywhere or self._has_interval(axis, body)):
            return None
        out: list[tuple[str, Id]] = []
        if not all(is_count(d, self.integers) for d in (chain[1], size - chain[1])):
            return None  # one of them may be empty
        for low, high in ((ZERO, chain[1]), (chain[1], size)):
            new = self.spare(high - low)
            here = moved(Var(new, high - low) if high - low != ONE_DIM else Zero(), low, size)
            placed = self.placed(body, axis, here)
            if placed is None:
                return None
            out.append((new, placed))
        self._borders.setdefault(str(size - chain[1]), [d - chain[1] for d in chain[1:]])
        return out

    def cut_digits(self, axis: str, body: Id) -> tuple[list[str], Id] | None:
        """A body that reads digits of an axis, over axes of their own."""
        size = self.extents[axis]
        cuts: dict[str, dict[str, Digit]] = {}
        for e in self.indexed(body):
            for i in places(self.shell(e)):
                digits_in(i, cuts)
        sizes = chain_of(cuts[axis].values(), size) if axis in cuts else None
        if sizes is None:
            return None
        names = [self.spare(s) for s in sizes]
        placed = self.placed(body, axis, radix([Var(n, s) for n, s in zip(names, sizes, strict=True)]))
        return None if placed is None else (names, placed)

    def _has_interval(self, axis: str, body: Id) -> bool:
        shells = (self.shell(e) for e in self.indexed(body))
        return any(isinstance(s, Within) and isinstance(s.index, Var) and s.index.name == axis for s in shells)

    # ------------------------------------------------------------ sums
    def _sum(self, axis: str, p: Poly) -> Poly:
        if not p:
            zero = self.make("sum", self.zero, label=axis)
            n = self.size(self.extents[axis])
            self.say("sum of a constant", zero, self.mul(n, self.zero))
            self.swap(n, self.zero)
            self.say("zero", self.mul(self.zero, n), self.zero)
            return ()
        body = self.spell(p)
        cut = self.cut_by(axis, body)
        if cut is not None:
            return self._in_pieces(axis, body, cut)
        if len(p) > 1:
            a, b = self.spell(p[:-1]), self.term(*p[-1])
            parts = [self.make("sum", x, label=axis) for x in (a, b)]
            self.say("sum of a sum", self.make("sum", self._plus(a, b), label=axis), self._plus(*parts))
            return self.add(self._sum(axis, p[:-1]), self._sum(axis, (p[-1],)))
        return self._sum_of_term(axis, p)

    def _sum_of_term(self, axis: str, p: Poly) -> Poly:
        """The sum over an axis of one term."""
        body = self.spell(p)
        (m, c) = p[0]
        if c != 1 and m:
            self._pull(axis, self.number(c), self.tree(m))
            return self.multiply(self.constant(c), self._sum(axis, ((m, ONE),)))
        mine = self.coordinates(axis)
        free = tuple(f for f in m if mine.isdisjoint(self.met(f[0])))
        if len(free) == len(m):
            n = self.size(self.extents[axis])
            self.say("sum of a constant", self.make("sum", body, label=axis), self.mul(n, body))
            return self.multiply(self.normal(n), p)
        if free:
            inside = tuple(f for f in m if f not in free)
            assert self.times(free, inside) == m, "factors taken apart make the product"
            self._pull(axis, self.tree(free), self.tree(inside))
            return self.multiply(((free, ONE),), self._sum(axis, ((inside, ONE),)))
        parts = self.divided("sum", axis, body)
        if len(parts) > 1:
            total = p
            for part in reversed(parts):
                total = self._sum(part, total)
            return total
        return self._component(axis, m)

    def _in_pieces(self, axis: str, body: Id, cut: list[tuple[str, Id]]) -> Poly:
        parts = [self.make("sum", inside, label=new) for new, inside in cut]
        self.say(SUM_IN_PIECES, self.make("sum", body, label=axis), self._plus(*parts))
        return self.add(*(self.normal(x) for x in parts))

    def _pull(self, axis: str, a: Id, b: Id) -> None:
        whole = self.make("sum", self.mul(a, b), label=axis)
        self.say("sum of a multiple", whole, self.mul(a, self.make("sum", b, label=axis)))

    def _component(self, axis: str, m: Monomial) -> Poly:
        """A sum of factors that all depend on its axis; sums among them are opened."""
        binders, body = [axis], m
        while True:
            whole = (f for f in body if self.nodes[f[0]].op == "sum" and f[1] >= 1 and f[1].denominator == 1)
            found = next(whole, None)
            if found is None:
                break
            base, exponent = found
            rest = tuple(f for f in body if f is not found)
            if exponent > 1:
                rest = self.inserted(rest, (base, exponent - 1))
            assert self.inserted(rest, (base, ONE)) == body, "a factor taken out and put back"
            names, inner = self.opened("sum", base)
            tree = self.tree(rest)
            if not rest:
                self.say("one", self.mul(self.one, base), base)
            taken = self.met(tree).union(*(self.coordinates(b) for b in binders))
            apart = self.apart("sum", names, inner, taken)
            if apart is None:
                break
            opened, inner = apart
            if rest:
                for n, name in enumerate(opened):
                    self._pull(name, tree, self.nest("sum", opened[n + 1 :], inner))
            binders += opened
            multiplied = self.multiply(((rest, ONE),), self.normal(inner))
            if len(multiplied) != 1 or multiplied[0][1] != 1:
                total = multiplied
                for name in reversed(binders):
                    total = self._sum(name, total)
                return total
            ((body, _),) = multiplied
        tree = self.tree(body)
        binders = self.joined_digits("sum", binders, tree)
        for name in binders:
            cut = self.cut_by(name, tree)
            if cut is not None:
                others = [b for b in binders if b != name]
                self.arranged("sum", binders, [*others, name], tree)
                total = self._in_pieces(name, tree, cut)
                for other in reversed(others):
                    total = self._sum(other, total)
                return total
        for name in binders:
            digits = self.cut_digits(name, tree)
            if digits is not None:
                others = [b for b in binders if b != name]
                self.arranged("sum", binders, [*others, name], tree)
                by_digits = self.nest("sum", *digits)
                self.say(SUM_OVER_DIGITS, self.make("sum", tree, label=name), by_digits)
                return self.normal(self.nest("sum", others, by_digits))
        order, tree = self.named("sum", binders, tree)
        return self.single(self.nest("sum", order, tree))

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
