"""What a partial graph computes, sizes forgotten; and whether it can still be part of the result.

An abstract expression is a polynomial in the normal form of `polynomials`. Two tensors are equal by A_eq
exactly when these forms are. A_eq is the published list: + and * associate and commute, * and /
distribute over +, x*(y/z) = (x*y)/z, (x/y)/z = x/(y*z), sums are linear and commute, exp(x)*exp(y) =
exp(x + y), √x*√y = √(x*y); and here x*recip(y) = x/y, square(x) = x*x, x - y = x + (-1)*y, rms = √(μ x*x).
There is no cancellation (x*y/y is not x) and √x*√x is not x: else everything would be part of everything.
CompleteGraph powers are products. Maxima, masks and other functions are opaque; so are views, but for those that
named axes make unnecessary: a permuted or a repeated tensor is the same expression, and so is one that a reshape
gives dims of size 1 or takes them away.

What a running maximum is part of is read as the same graph's with the whole maximum in its place, and plain sums
for rescaled ones. `ir.moving` shows that the two graphs give the same and that the loop's rules forbid every
other use of such a value; so a graph is right exactly if its twin is, and since the twin is a graph of the space
whose values have these very expressions, cutting by them loses no program whose twin A_eq knows to be right.

Axes have names, so one published law gets its side condition back: Σd(x*y) = (Σd x)*y needs a y that does
not vary along d. An input remembers which of its axes a sum has *bound*, and how many roots, exponents,
denominators or functions lie between it and that sum, since no law moves a sum across one. So mean(x*x)
and mean(x)*x differ, and so do x/√mean(x*x) and x/√(mean(x)*x) below a further sum.

`Goal.reaches(e)` decides whether the result is C[e] for some context C of operators, up to A_eq. With u
running over monomials: u*e is a part of some polynomial of the result, coefficient by coefficient. It is
exact for A_eq without axes (tested against rewriting by brute force) and never says no wrongly with them;
there is no e-graph and there are no limits.

Source: Mirage, arXiv 2405.05751, table 2, for the axioms; the normal form is this project's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import NamedTuple, TypeAlias

from prism_explore.generate.abstract_expr.polynomial import (
    ONE,
    UNTRACKED,
    Binding,
    Call,
    Leaf,
    Mono,
    Poly,
    Sum,
    add,
    bind,
    bind_monomial,
    call,
    constant,
    div,
    exp,
    formal_sum,
    free_axes,
    inputs_along,
    joint_call,
    mul,
    names_in,
    negative,
    nested,
    quotient,
    sqrt,
    summed_axes,
    times,
    untracked,
)
from prism_explore.ir.axes import AxisNames, unchanged_axes
from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    Binary,
    ComputeOp,
    Concat,
    Expand,
    LoopOp,
    MatMul,
    Permute,
    Reduce,
    Reshape,
    RunningMax,
    Scalar,
    ScalarFn,
    Slice,
    Unary,
)
from prism_explore.support.caches import memoize

LARGEST_POWER = 4
"""CompleteGraph powers up to here are multiplied out."""


@dataclass(frozen=True, slots=True)
class ExpressionBuilder:
    """How operators become expressions in one search."""

    tracked_axes: frozenset[str] = frozenset()
    """Axes whose binding is tracked; one that occurs twice in a tensor cannot be."""
    reciprocals: tuple[tuple[str, Fraction], ...] = ()
    """Axes whose mean is a sum times this number, because the program multiplies by it somewhere."""
    silu_is_product: bool = False
    """Whether silu(x) is read as x * sigmoid(x)."""

    def apply(
        self,
        op: ComputeOp | LoopOp,
        args: tuple[Poly, ...],
        axes: tuple[AxisNames, ...],
        result: AxisNames | None = None,
    ) -> Poly:
        """The expression of an operator's result, at full extents: a plain accumulator changes nothing.

        `result` are its axes; a reshape of which they are not told regroups all of them.

        A running maximum counts as the whole one, a rescaled accumulator as a plain one: see `ir.moving` for
        why the block graph gives what this says.
        """
        match op:
            case Unary(fn):
                return self._unary(fn, args[0])
            case Scalar(fn, value):
                return self._scalar(fn, value, args[0])
            case Binary(fn):
                a, b = args
                match fn:
                    case "add":
                        return add(a, b)
                    case "sub":
                        return add(a, negative(b))
                    case "mul":
                        return mul(a, b)
                    case "div":
                        return div(a, b)
                    case "max" | "min" | "mask":
                        return joint_call(fn, a, b)
            case MatMul():
                axis = axes[0][-1]
                return self._reduced("sum", mul(args[0], args[1]), axis)
            case Reduce(fn, along):
                return self._reduced(fn, args[0], axes[0][along])
            case Accumulate(fn, along):
                return args[0] if along is None else self._reduced(fn, args[0], axes[0][along])
            case RunningMax(along):
                return args[0] if along is None else self._reduced("max", args[0], axes[0][along])
            case AccumulateRescaled(along):
                return args[0] if along is None else self._reduced("sum", args[0], axes[0][along])
            case Permute() | Expand():
                return args[0]
            case Reshape() if result is not None and not {*axes[0], *result} - {None, *unchanged_axes(axes[0], result)}:
                return args[0]
            case Reshape(dims):
                return call(f"reshape[{', '.join(map(str, dims))}]", args[0])
            case Slice(along, start, stop):
                return call(f"slice[{along}, {start}:{stop}]", args[0])
            case Concat(along):
                return joint_call(f"concat[{along}]", *args)

    def sum_along(self, x: Poly, axis: str) -> Poly:
        """The sum along an axis."""
        return self._reduced("sum", x, axis)

    def _scalar(self, fn: ScalarFn, value: Fraction, x: Poly) -> Poly:
        match fn:
            case "add":
                return add(x, constant(value))
            case "mul":
                return mul(x, constant(value))
            case "pow":
                return self._power(x, value)
            case "max" | "min":
                return joint_call(fn, x, constant(value))

    def _power(self, x: Poly, value: Fraction) -> Poly:
        if value < 0:
            return div(ONE, self._power(x, -value))
        if value == Fraction(1, 2):
            return sqrt(x)
        if value.denominator == 1 and 0 < value <= LARGEST_POWER:
            return mul(x, self._power(x, value - 1)) if value > 1 else x
        return call(f"pow[{value}]", x)

    def _unary(self, fn: str, x: Poly) -> Poly:
        match fn:
            case "exp":
                return exp(x)
            case "square":
                return mul(x, x)
            case "sqrt":
                return sqrt(x)
            case "recip":
                return div(ONE, x)
            case "rsqrt":
                return div(ONE, sqrt(x))
            case "neg":
                return negative(x)
            case "silu" if self.silu_is_product:
                return mul(x, call("sigmoid", x))
            case _:
                return call(fn, x)

    def _reduced(self, fn: str, x: Poly, axis: str | None) -> Poly:
        if fn == "rms":
            return sqrt(self._reduced("mean", mul(x, x), axis))
        if axis is None:
            return x
        tracked = axis in self.tracked_axes
        if fn == "max":
            # ∨d is a formal sum that binds what lies below it, as Σd does; the call keeps it from moving out.
            return call("max", formal_sum(x, "∨", axis, tracked))
        if fn == "sum":
            return formal_sum(x, "Σ", axis, tracked)
        for name, value in self.reciprocals:
            if name == axis:
                return mul(formal_sum(x, "Σ", axis, tracked), constant(value))
        return formal_sum(x, "μ", axis, tracked)


# ---------------------------------------------------------------- parts of the result
@memoize(65536)
def _all_summed_axes(p: Poly) -> frozenset[str]:
    return frozenset(axis for m, _ in p for axis in summed_axes(m))


Levels: TypeAlias = tuple[frozenset[str], ...]
"""Axes summed in the monomial at hand, in the one around it, and so on outwards."""


@memoize(65536)
def _bindings(p: Poly, levels: Levels) -> tuple[frozenset[Binding], ...]:
    """Every way to put p below sums: over some of its axes, each at one of the levels."""
    out: list[frozenset[Binding]] = [frozenset()]
    for axis in sorted(free_axes(p)):
        ways = [(axis, level) for level, available in enumerate(levels) if axis in available]
        out += [done | {way} for way in ways for done in out]
    return tuple(out)


def _bind_all_in_monomial(m: Mono, below: frozenset[Binding]) -> Mono:
    for axis, level in sorted(below):
        m = bind_monomial(m, axis, level)
    return m


def _bind_all(p: Poly, below: frozenset[Binding]) -> Poly:
    for axis, level in sorted(below):
        p = bind(p, axis, level)
    return p


def _multiples_in(e: Poly, below: frozenset[Binding], place: ResultPart, negatives: bool) -> Iterator[dict[Mono, int]]:
    """Each u * e at a place, e standing below some sums, which are u's own or outer ones.

    A sum of u that binds e also binds the same factors of u in every monomial of e; so it is taken off u
    and put back with what it bound in each.
    """
    have, outer = place.coefficients, place.outer
    here = sorted(axis for axis, level in below if level == 0)
    lead = _bind_all_in_monomial(e[0][0], below)
    parts: list[tuple[Mono, list[tuple[tuple[str, int], ...]], int]] = []
    for m in place.multiples(e[0][0]):
        u = quotient(m, lead)
        if u is None or not all(_can_be_built(p, negatives) for p in (u.power, u.root, u.den)):
            continue
        needed = set(below)
        for atom, _ in u.atoms:
            if isinstance(atom, Leaf):
                needed.update(atom.bound)
        levels = (summed_axes(u), *outer)
        if any(axis not in levels[level] for axis, level in needed):
            continue
        parts = parts or [(_bind_all_in_monomial(k, below), [inputs_along(k, a) for a in here], n) for k, n in e]
        lead_varying = parts[0][1]
        binders = [
            [s for s, _ in u.sums if s.axis == a and _may_bind(s, bound)]
            for a, bound in zip(here, lead_varying, strict=True)
        ]
        for chosen in product(*binders):
            rest = quotient(u, Mono(sums=tuple((s, 1) for s in sorted(chosen)))) if chosen else u
            assert rest is not None, "the chosen sums are u's"
            image: dict[Mono, int] = {}
            for k, k_varying, n in parts:
                made = times(rest, k)
                if chosen:
                    exchanged = map(_with_bound_inputs, chosen, lead_varying, k_varying)
                    made = times(made, Mono(sums=tuple((s, 1) for s in sorted(exchanged))))
                image[made] = image.get(made, 0) + n
                if image[made] > have.get(made, 0):
                    break  # as a rule long before the last monomial
            else:
                yield image


class Outline(NamedTuple):
    """What binding axes leaves alone in a monomial."""

    names: tuple[tuple[str, int], ...]
    """Of its factors, each with how often it occurs."""
    power: bool
    """Whether there is an exponent."""
    root: bool
    den: bool

    def within(self, other: Outline) -> bool:
        """Whether a monomial with the other outline may be a multiple of one with this."""
        have = dict(other.names)
        return (
            all(n <= have.get(name, 0) for name, n in self.names)
            and self.power <= other.power
            and self.root <= other.root
            and self.den <= other.den
        )


@memoize(65536)
def outline(m: Mono) -> Outline:
    """The outline of a monomial."""
    names: Counter[str] = Counter()
    for a, n in m.atoms:
        names[a.name if isinstance(a, Leaf) else a.fn] += n
    return Outline(tuple(sorted(names.items())), bool(m.power), bool(m.root), bool(m.den))


@memoize(65536)
def _can_be_built(p: Poly, negatives: bool) -> bool:
    """Whether operators can make p: a sum is a sum of something, and not of constants alone.

    Where nothing is negated but what is taken off something, some monomial has no sign: the inputs have none, and
    sums, products and quotients of such polynomials, exponentials and roots have such a monomial again.
    """
    if not p:
        return True
    if not negatives and all(any(s.label == "−" for s, _ in m.sums) for m, _ in p):
        return False
    made = all(m.atoms or m.power or m.root or m.den for m, _ in p)
    return made and any(m.power or m.root or m.den or any(a.kind != 2 for a, _ in m.atoms) for m, _ in p)


def _may_bind(s: Sum, bound: tuple[tuple[str, int], ...]) -> bool:
    return s.over == UNTRACKED or all(dict(s.over).get(name, 0) >= n for name, n in bound)


def _with_bound_inputs(s: Sum, old: tuple[tuple[str, int], ...], new: tuple[tuple[str, int], ...]) -> Sum:
    if s.over == UNTRACKED or old == new:
        return s
    over = dict(s.over)
    for name, n in old:
        over[name] -= n
    for name, n in new:
        over[name] = over.get(name, 0) + n
    return Sum(s.label, tuple(sorted((name, n) for name, n in over.items() if n)))


class ResultPart:
    """A polynomial of the result, at some depth, and what was found out about what stands there."""

    def __init__(self, t: Poly, outer: Levels, known: dict[tuple[Poly, Levels], ResultPart]) -> None:
        """The place of t below some sums, and all places in it; places that are alike are one."""
        self.coefficients = dict(t)
        self.outer = outer
        self.levels = (_all_summed_axes(t), *outer)
        self.names = names_in(t)
        self.term_count = sum(self.coefficients.values())
        self._multiples: dict[Outline, tuple[Mono, ...]] = {}
        self.nested_twice: list[ResultPart] = []
        """The places right in it, those that two different values may stand at twice."""
        for m, n in t:
            twice = {a.argument: k for a, k in m.atoms if isinstance(a, Call)}
            for p in nested(m):
                key = p, (summed_axes(m), *outer)
                if key not in known:
                    known[key] = ResultPart(*key, known)
                self.nested_twice += [known[key]] * min(n * twice.get(p, 1), 2)
        self.nested = tuple(dict.fromkeys(self.nested_twice))
        self.is_part: dict[Poly, bool] = {}
        self.is_top_part: dict[Poly, bool] = {}
        self.multiples_of: dict[Poly, list[dict[Mono, int]]] = {}
        self.are_parts: dict[tuple[Poly, Poly], bool] = {}

    def multiples(self, m: Mono) -> tuple[Mono, ...]:
        """The monomials that may be multiples of one below some sums, told by names alone."""
        key = outline(m)
        found = self._multiples.get(key)
        if found is None:
            found = self._multiples[key] = tuple(t for t in self.coefficients if key.within(outline(t)))
        return found

    def may_contain_multiple(self, e: Poly) -> bool:
        """Whether u * e may be inside the polynomial: every monomial of e may have a multiple in it."""
        return sum(n for _, n in e) <= self.term_count and all(self.multiples(m) for m, _ in e)


class Goal:
    """The abstract expression of the program's result, asked again and again what it is made of."""

    def __init__(self, result: Poly, *, negatives: bool = True) -> None:
        """The result, and whether operators turn signs, beside those that take one value off another."""
        self.result = result
        self._negatives = negatives
        known: dict[tuple[Poly, Levels], ResultPart] = {}
        self._tracked, self._untracked = ResultPart(result, (), known), ResultPart(untracked(result), (), known)

    def reaches(self, e: Poly) -> bool:
        """Whether the result is C[e] for some context C, up to A_eq."""
        return self._is_part(e, self._tracked)

    def is_top_level_part(self, e: Poly) -> bool:
        """Whether u * e is a part of the result's own polynomial for some monomial u: products and sums lead there."""
        return self._is_top_part(e, self._tracked)

    def reaches_both(self, a: Poly, b: Poly) -> bool:
        """Whether the result can be C[a, b]: both used, each at least once.

        A necessary condition, on expressions whose sums forget what they bound. It looks at the lowest
        operator that has both below it: a product (u*a*b is a part), a sum (u*a + v*b is), a quotient or
        an exponent on one side, or two different arguments.
        """
        first, second = sorted((untracked(a), untracked(b)))
        return self._are_parts(first, second, self._untracked)

    def _is_part(self, e: Poly, place: ResultPart) -> bool:
        found = place.is_part.get(e)
        if found is None:
            found = names_in(e) <= place.names and (self._is_top_part(e, place) or self._is_nested_part(e, place))
            place.is_part[e] = found
        return found

    def _is_top_part(self, e: Poly, place: ResultPart) -> bool:
        found = place.is_top_part.get(e)
        if found is None:
            ways = _bindings(e, place.levels) if place.may_contain_multiple(e) else ()
            found = any(True for below in ways for _ in _multiples_in(e, below, place, self._negatives))
            place.is_top_part[e] = found
        return found

    def _all_multiples(self, e: Poly, place: ResultPart) -> list[dict[Mono, int]]:
        found = place.multiples_of.get(e)
        if found is None:
            ways = _bindings(e, place.levels)
            found = [i for below in ways for i in _multiples_in(e, below, place, self._negatives)]
            place.multiples_of[e] = found
        return found

    def _is_nested_part(self, e: Poly, place: ResultPart) -> bool:
        return any(self._is_part(e, inner) for inner in place.nested)

    def _are_parts(self, a: Poly, b: Poly, place: ResultPart) -> bool:
        found = place.are_parts.get((a, b))
        if found is None:
            found = place.are_parts[a, b] = self._find_both(a, b, place)
        return found

    def _find_both(self, a: Poly, b: Poly, place: ResultPart) -> bool:
        if not self._is_part(a, place) or not self._is_part(b, place):
            return False
        top_a, top_b = self._is_top_part(a, place), self._is_top_part(b, place)
        if (top_a and self._is_nested_part(b, place)) or (top_b and self._is_nested_part(a, place)):
            return True
        if top_a and top_b:
            for below_a in _bindings(a, place.levels):
                for below_b in _bindings(b, place.levels):
                    both = mul(_bind_all(a, below_a), _bind_all(b, below_b))
                    if any(True for _ in _multiples_in(both, below_a | below_b, place, self._negatives)):
                        return True
            if place.term_count > 1:
                for one in self._all_multiples(a, place):
                    for other in self._all_multiples(b, place):
                        if all(place.coefficients[m] >= one.get(m, 0) + other.get(m, 0) for m in {*one, *other}):
                            return True
        for i, p in enumerate(place.nested_twice):
            if self._are_parts(a, b, p):
                return True
            for q in place.nested_twice[i + 1 :]:
                if (self._is_part(a, p) and self._is_part(b, q)) or (self._is_part(b, p) and self._is_part(a, q)):
                    return True
        return False
