"""The sub-expression test: the abstract expressions of operators, and whether one can be part of the result.

An abstract expression is a polynomial in the normal form of `polynomial`. Two tensors are equal by A_eq if and only if
their polynomials are equal. A_eq is the published list: + and * are associative and commutative, * and / distribute
over +, x*(y/z) = (x*y)/z, (x/y)/z = x/(y*z), sums are linear and commute, exp(x)*exp(y) = exp(x + y),
√x*√y = √(x*y). Here it also has x*recip(y) = x/y, square(x) = x*x, x - y = x + (-1)*y, rms = √(μ x*x). There is no
cancellation (x*y/y is not x) and √x*√x is not x, because with cancellation every value would be a part of every other.
Small integer powers are products. A prefix sum is linear, too, and varies along its axis. Maxima, masks and other
functions are opaque. Views are opaque, except those that do not change named axes: a permuted or repeated tensor has
the same expression, and so has a reshape that only adds or removes dims of size 1.

A value that depends on a running maximum has the expression that it has if the full maximum replaces the running one
and plain sums replace rescaled ones. `ir.analysis.running_max` shows that both graphs compute the same, and that the
rules of the loop forbid every other use of such a value. So a graph is correct if and only if the replaced graph is.
The replaced graph is in the space and has the same expressions, so pruning by them is sound for both.

Axes have names, so one published law gets its side condition: Σd(x*y) = (Σd x)*y requires that y does not vary along
d. An input stores which of its axes a sum *binds*, and how many roots, exponents, denominators or functions are
between the input and the sum, because no law moves a sum across one. So mean(x*x) and mean(x)*x differ, and so do
x/√mean(x*x) and x/√(mean(x)*x) inside a further sum.

`Goal.reaches(e)` decides whether the result is C[e] for some context C of operators, up to A_eq. That is the case if
for some monomial u the polynomial u*e is a part of some polynomial of the result, coefficient by coefficient. The test
is exact for A_eq without axes (tested against rewriting by brute force). With axes False is always correct. There is
no e-graph and there are no limits.

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
    PREFIX_SUMS,
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
    leaves_in,
    mul,
    names_in,
    negative,
    nested,
    prefix_sum,
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
    Scan,
    Slice,
    Unary,
)
from prism_explore.support.caches import memoize

LARGEST_POWER = 4
"""Integer powers up to this one are products."""


@dataclass(frozen=True, slots=True)
class ExpressionBuilder:
    """Computes the expressions of operators in one search."""

    tracked_axes: frozenset[str] = frozenset()
    """Axes whose binding is tracked; not those that occur twice in some tensor."""
    reciprocals: tuple[tuple[str, Fraction], ...] = ()
    """Axes whose mean is a sum times this number, because the program multiplies by it somewhere."""
    silu_is_product: bool = False
    """Whether silu(x) is expanded to x * sigmoid(x)."""

    def apply(
        self,
        op: ComputeOp | LoopOp,
        args: tuple[Poly, ...],
        axes: tuple[AxisNames, ...],
        result: AxisNames | None = None,
    ) -> Poly:
        """The expression of an operator's result at full extents, where an accumulator without a dim changes nothing.

        A running maximum counts as the full maximum, and a rescaled accumulator as a plain one, because the block graph
        computes the same with these; see `ir.analysis.running_max`.

        Args:
            op: the operator.
            args: the expressions of its operands.
            axes: the axes of its operands.
            result: the axes of its result; a reshape without them is opaque.
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
                    case "max" | "min" | "mask" | "keep" | "drop":
                        return joint_call(fn, a, b)
            case MatMul():
                axis = axes[0][-1]
                return self._reduced("sum", mul(args[0], args[1]), axis)
            case Reduce(fn, along):
                return self._reduced(fn, args[0], axes[0][along])
            case Scan(fn, along):
                axis = axes[0][along]
                if axis is None:
                    return args[0]
                return prefix_sum(args[0], PREFIX_SUMS[fn], axis, axis in self.tracked_axes)
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
            # ∨d is a formal sum that binds the inputs inside it, as Σd does; the call keeps it from moving out.
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
"""Axes summed in a monomial, in the monomial around it, and so on outwards."""


def bindings_within(p: Poly, part: ResultPart) -> Iterator[frozenset[Binding]]:
    """Every way to bind some free axes of p by sums at the part's levels, such that the part has the leaves of p.

    A multiple of p has the leaves of p, as deep in functions as they are in p. So other bindings give no multiple.
    """
    leaves = [(depth, leaf) for depth, leaf in leaves_in(p) if leaf.free]
    found: list[frozenset[Binding]] = [frozenset()]
    for axis in sorted(free_axes(p)):
        varying = [(depth, leaf.kind, leaf.name) for depth, leaf in leaves if axis in leaf.free]
        levels = [n for n, available in enumerate(part.levels) if axis in available]
        bindings = [(axis, n) for n in levels if all((*v, axis, v[0] + n) in part.bound for v in varying)]
        unbound = all((*v, axis) in part.free for v in varying)
        found = [*(found if unbound else ()), *(others | {b} for b in bindings for others in found)]
    return (b for b in found if all((d, _bind_leaf(leaf, d, b)) in part.leaves for d, leaf in leaves))


def _bind_leaf(leaf: Leaf, depth: int, bindings: frozenset[Binding]) -> Leaf:
    """A leaf inside `depth` functions of a polynomial that is bound."""
    new = [(axis, level + depth) for axis, level in bindings if axis in leaf.free]
    gone = {axis for axis, _ in new}
    return leaf._replace(free=tuple(a for a in leaf.free if a not in gone), bound=tuple(sorted((*leaf.bound, *new))))


def _bind_all_in_monomial(m: Mono, bindings: frozenset[Binding]) -> Mono:
    for axis, level in sorted(bindings):
        m = bind_monomial(m, axis, level)
    return m


def _bind_all(p: Poly, bindings: frozenset[Binding]) -> Poly:
    for axis, level in sorted(bindings):
        p = bind(p, axis, level)
    return p


def _multiples_in(
    e: Poly, bindings: frozenset[Binding], part: ResultPart, negatives: bool
) -> Iterator[dict[Mono, int]]:
    """Each product u * e inside a part of the result, where sums of u or outer sums bind some axes of e.

    A sum of u that binds e binds other inputs in each monomial of e. So it is removed from u, and added to each
    product with the inputs that it binds there.
    """
    available, outer = part.coefficients, part.outer
    own = sorted(axis for axis, level in bindings if level == 0)
    lead = _bind_all_in_monomial(e[0][0], bindings)
    parts: list[tuple[Mono, list[tuple[tuple[str, int], ...]], int]] = []
    for m in part.multiples(e[0][0]):
        u = quotient(m, lead)
        if u is None or not all(_can_be_built(p, negatives) for p in (u.power, u.root, u.den)):
            continue
        needed = set(bindings)
        for atom, _ in u.atoms:
            if isinstance(atom, Leaf):
                needed.update(atom.bound)
        levels = (summed_axes(u), *outer)
        if any(level >= len(levels) or axis not in levels[level] for axis, level in needed):
            continue
        parts = parts or [(_bind_all_in_monomial(k, bindings), [inputs_along(k, a) for a in own], n) for k, n in e]
        lead_varying = parts[0][1]
        binders = [
            [s for s, _ in u.sums if s.axis == a and _may_bind(s, bound)]
            for a, bound in zip(own, lead_varying, strict=True)
        ]
        for chosen in product(*binders):
            rest = quotient(u, Mono(sums=tuple((s, 1) for s in sorted(chosen)))) if chosen else u
            assert rest is not None, "the chosen sums are u's"
            image: dict[Mono, int] = {}
            for k, k_varying, n in parts:
                term = times(rest, k)
                if chosen:
                    exchanged = map(_with_bound_inputs, chosen, lead_varying, k_varying)
                    term = times(term, Mono(sums=tuple((s, 1) for s in sorted(exchanged))))
                image[term] = image.get(term, 0) + n
                if image[term] > available.get(term, 0):
                    break  # usually long before the last monomial
            else:
                yield image


class Outline(NamedTuple):
    """The properties of a monomial that binding axes does not change."""

    names: tuple[tuple[str, int], ...]
    """The names of its factors with their multiplicities."""
    power: bool
    """Whether there is an exponent."""
    root: bool
    den: bool

    def within(self, other: Outline) -> bool:
        """Whether a monomial with the other outline may be a multiple of one with this outline."""
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
    """Whether operators can make p: a sum has a term, which is no constant.

    If the space can negate only by subtraction, some monomial has no sign: inputs have none, and exponentials, roots,
    sums, products and quotients of polynomials with such a monomial have one, too.
    """
    if not p:
        return True
    if not negatives and all(any(s.label == "−" for s, _ in m.sums) for m, _ in p):
        return False
    has_terms = all(m.atoms or m.power or m.root or m.den for m, _ in p)
    return has_terms and any(m.power or m.root or m.den or any(a.kind != 2 for a, _ in m.atoms) for m, _ in p)


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


@memoize(65536)
def _outer_bindings(p: Poly) -> frozenset[Binding]:
    """The axes that sums around p bind in it, with the number of functions between p and the sum, counted from 1."""
    return frozenset(
        (axis, level - depth) for depth, leaf in leaves_in(p) for axis, level in leaf.bound if level > depth
    )


def _binding_levels(p: Poly, outer: Levels) -> Levels:
    """The levels around p with the axes that bind an input in it.

    Other axes do not matter to multiples of p. A value that is used in many places, such as that of a step of an
    iteration, has different levels in each of them, and most differ in other axes only.
    """
    bindings = _outer_bindings(p)
    count = max((level for _, level in bindings), default=0)
    levels = enumerate(outer[:count], 1)
    return tuple(frozenset(a for a in axes if (a, level) in bindings) for level, axes in levels)


class ResultPart:
    """A polynomial of the result, at some depth, with the cached answers of `Goal` about it."""

    def __init__(self, t: Poly, outer: Levels, known: dict[tuple[Poly, Levels], ResultPart]) -> None:
        """The part t inside sums over the outer levels, with all parts nested in it; `known` shares equal parts.

        The levels have the axes that bind an input in t, and no others; see `_binding_levels`.
        """
        self.coefficients = dict(t)
        self.outer = outer
        self.levels = (_all_summed_axes(t), *outer)
        self.names = names_in(t)
        self.leaves = leaves_in(t)
        self.free = {(depth, leaf.kind, leaf.name, axis) for depth, leaf in self.leaves for axis in leaf.free}
        self.bound = {(depth, leaf.kind, leaf.name, *b) for depth, leaf in self.leaves for b in leaf.bound}
        self.term_count = sum(self.coefficients.values())
        self._multiples: dict[Outline, tuple[Mono, ...]] = {}
        self.nested_twice: list[ResultPart] = []
        """The parts directly inside; a part that two different values may occupy at once is listed twice."""
        for m, n in t:
            twice = {a.argument: k for a, k in m.atoms if isinstance(a, Call)}
            for p in nested(m):
                key = p, _binding_levels(p, (summed_axes(m), *outer))
                if key not in known:
                    known[key] = ResultPart(*key, known)
                self.nested_twice += [known[key]] * min(n * twice.get(p, 1), 2)
        self.nested = tuple(dict.fromkeys(self.nested_twice))
        self.is_part: dict[Poly, bool] = {}
        self.is_top_part: dict[Poly, bool] = {}
        self.multiples_of: dict[Poly, list[dict[Mono, int]]] = {}
        self.are_parts: dict[tuple[Poly, Poly], bool] = {}

    def multiples(self, m: Mono) -> tuple[Mono, ...]:
        """The monomials that may be multiples of m inside some sums; only outlines are compared."""
        key = outline(m)
        found = self._multiples.get(key)
        if found is None:
            found = self._multiples[key] = tuple(t for t in self.coefficients if key.within(outline(t)))
        return found

    def may_contain_multiple(self, e: Poly) -> bool:
        """Whether u * e may be inside the polynomial for some u: a necessary condition."""
        return sum(n for _, n in e) <= self.term_count and all(self.multiples(m) for m, _ in e)


class Goal:
    """The abstract expression of the program's result, and the test of what is part of it."""

    def __init__(self, result: Poly, *, negatives: bool = True) -> None:
        """The goal for a result; `negatives`: whether the space can negate by other operators than subtraction."""
        self.result = result
        self._negatives = negatives
        known: dict[tuple[Poly, Levels], ResultPart] = {}
        self._tracked, self._untracked = ResultPart(result, (), known), ResultPart(untracked(result), (), known)

    def reaches(self, e: Poly) -> bool:
        """Whether the result is C[e] for some context C, up to A_eq."""
        return self._is_part(e, self._tracked)

    def is_top_level_part(self, e: Poly) -> bool:
        """Whether u * e is a part of the result's own polynomial for some monomial u.

        Then products and sums alone make the result from e.
        """
        return self._is_top_part(e, self._tracked)

    def reaches_both(self, a: Poly, b: Poly) -> bool:
        """Whether the result can be C[a, b], where the context uses both: a necessary condition.

        The inputs that sums bind are ignored. The test considers the lowest operator that depends on both: a product
        (u*a*b is a part), a sum (u*a + v*b is a part), a quotient or an exponent with one of them inside, or two
        different arguments.
        """
        first, second = sorted((untracked(a), untracked(b)))
        return self._are_parts(first, second, self._untracked)

    def _is_part(self, e: Poly, part: ResultPart) -> bool:
        found = part.is_part.get(e)
        if found is None:
            found = names_in(e) <= part.names and (self._is_top_part(e, part) or self._is_nested_part(e, part))
            part.is_part[e] = found
        return found

    def _is_top_part(self, e: Poly, part: ResultPart) -> bool:
        found = part.is_top_part.get(e)
        if found is None:
            bindings = bindings_within(e, part) if part.may_contain_multiple(e) else ()
            found = any(True for some in bindings for _ in _multiples_in(e, some, part, self._negatives))
            part.is_top_part[e] = found
        return found

    def _all_multiples(self, e: Poly, part: ResultPart) -> list[dict[Mono, int]]:
        found = part.multiples_of.get(e)
        if found is None:
            found = [i for some in bindings_within(e, part) for i in _multiples_in(e, some, part, self._negatives)]
            part.multiples_of[e] = found
        return found

    def _is_nested_part(self, e: Poly, part: ResultPart) -> bool:
        return any(self._is_part(e, inner) for inner in part.nested)

    def _are_parts(self, a: Poly, b: Poly, part: ResultPart) -> bool:
        found = part.are_parts.get((a, b))
        if found is None:
            found = part.are_parts[a, b] = self._find_both(a, b, part)
        return found

    def _find_both(self, a: Poly, b: Poly, part: ResultPart) -> bool:
        if not self._is_part(a, part) or not self._is_part(b, part):
            return False
        top_a, top_b = self._is_top_part(a, part), self._is_top_part(b, part)
        if (top_a and self._is_nested_part(b, part)) or (top_b and self._is_nested_part(a, part)):
            return True
        if top_a and top_b:
            ways_b = [*bindings_within(b, part)]
            for of_a in bindings_within(a, part):
                for of_b in ways_b:
                    both = mul(_bind_all(a, of_a), _bind_all(b, of_b))
                    if any(True for _ in _multiples_in(both, of_a | of_b, part, self._negatives)):
                        return True
            if part.term_count > 1:
                for one in self._all_multiples(a, part):
                    for other in self._all_multiples(b, part):
                        if all(part.coefficients[m] >= one.get(m, 0) + other.get(m, 0) for m in {*one, *other}):
                            return True
        for i, p in enumerate(part.nested_twice):
            if self._are_parts(a, b, p):
                return True
            for q in part.nested_twice[i + 1 :]:
                if (self._is_part(a, p) and self._is_part(b, q)) or (self._is_part(b, p) and self._is_part(a, q)):
                    return True
        return False
