"""Functions of forms: the exponential and the named functions (rules E1, B1, F1 to F9, G1)."""

from __future__ import annotations

from fractions import Fraction

from prism_explore.ir.elementwise import UNARY, ElementwiseFunction
from prism_explore.ir.formulas import evaluate, formula, without_quotients
from prism_explore.verify.normal_form import order
from prism_explore.verify.normal_form.bound_names import NoNormalForm
from prism_explore.verify.normal_form.compare import is_never_greater
from prism_explore.verify.normal_form.forms import (
    NF_ONE,
    NF_ZERO,
    UNIT,
    Atom,
    Bottom,
    Exp,
    Factor,
    Group,
    InBand,
    Interval,
    Max,
    NormalForm,
    Number,
    Opaque,
    Prime,
    Read,
    Size,
    Term,
    number,
    single,
)
from prism_explore.verify.normal_form.order import by_steps
from prism_explore.verify.normal_form.powers import by_cases, content, divide_out, factorise, has_negative_lead
from prism_explore.verify.normal_form.ring import Ring
from prism_explore.verify.normal_form.sums import components

_HALF = Fraction(1, 2)
DEFINED_FUNCTIONS = frozenset(row.name for row in UNARY.values() if row.is_symbol and row.definition)
"""Functions that `Algebra(expand_definitions=True)` replaces by definitions; it also replaces max(a, b)."""


def exp(ring: Ring, n: NormalForm) -> NormalForm:
    """The exponential function (rules E1, E2, F5, B1)."""
    if n.guarded:
        split = by_cases(ring, n, ring.exp)
        if split is not None:
            return split
    if ring.by_order:
        split = by_steps(ring, n, ring.exp)
        if split is not None:
            return split
    result, factors = NF_ONE, list[Factor]()
    for t, c in n.terms:
        base = _base_of_logarithm(t) if ring.by_order else None
        if base is not None:
            result = ring.mul(result, ring.power(base, c))
        elif not t.masked:
            factors.append((Exp(t), c))
    result = ring.mul(result, ring.term((), factors, 1))
    if n.masked:
        for t, _ in n.terms:
            for a, _ in t.factors:
                if isinstance(a, Bottom):
                    result = ring.mul(result, a.keep)
    return result


def _base_of_logarithm(t: Term) -> NormalForm | None:
    """u, if a term is log(u) of a value that is provably positive (rule G1)."""
    match t.factors:
        case ((Opaque("log", (u,)), 1),) if u.sign == 2 and not t.bound:
            return u
        case _:
            return None


def apply(ring: Ring, function: str, n: NormalForm) -> NormalForm:
    """A function by its name in `ir.elementwise.UNARY`, where it is no power (rules F1 to F7, O1 to O6, G1).

    Raises:
        NoNormalForm: n may be minus infinity.
    """
    if n.masked:
        if function == "relu":
            return ring.maximum([((), n), ((), NF_ZERO)])
        raise NoNormalForm(f"{function} of a masked value (minus infinity)")
    if n.guarded:
        split = by_cases(ring, n, lambda piece: ring.apply(function, piece))
        if split is not None:
            return split
    if ring.by_order:
        if function == "is_nan" and _is_number(n):
            return NF_ZERO
        expanded = by_steps(ring, n, lambda piece: ring.apply(function, piece)) or _by_order(ring, function, n)
        if expanded is not None:
            return expanded
    if ring.expand_definitions:
        expanded = _expand_definition(ring, function, n)
        if expanded is not None:
            return expanded
    if function == "relu":
        return _relu(ring, n)
    if function == "abs" and (n.sign or is_never_greater(ring, NF_ZERO, n)):
        return n
    if function == "abs" and is_never_greater(ring, n, NF_ZERO):
        return ring.scale(n, -1)
    row = UNARY[function]
    if not n.terms and row.parity and row.zero_at_zero:
        return NF_ZERO
    if row.parity and n.terms and has_negative_lead(n.terms):
        return ring.scale(ring.apply(function, ring.scale(n, -1)), -1 if row.parity == "odd" else 1)
    if function == "abs":
        outside, inner = _pull_out_factors(ring, n)
        return ring.mul(outside, _absolute(ring, inner))
    return single(Opaque(function, (n,)))


def _is_number(n: NormalForm) -> bool:
    """Whether a form has a value for all real inputs without a convention for what is undefined (rule F8)."""

    def is_defined(a: Atom, e: Number) -> bool:
        match a:
            case Read():
                return isinstance(e, int) and e > 0
            case Exp(term):
                return _is_number(NormalForm(((term, 1),)))
            case Size() | Prime() | InBand() | Interval():
                return True
            case _:
                return False

    return all(is_defined(a, e) for t, _ in n.terms for a, e in t.factors)


def _expand_definition(ring: Ring, function: str, n: NormalForm) -> NormalForm | None:
    """Rule F1; None where a function has no definition, or its definition uses the order (rule F7)."""
    row = UNARY[function]
    return by_definition(ring, row, n) if row.definition and function not in ("relu", "abs") else None


def _by_order(ring: Ring, function: str, n: NormalForm) -> NormalForm | None:
    """A function by the laws of order, logarithms and angles (rules O1, O2, G1, F9); None for any other function."""
    match function:
        case "relu":
            return order.relu(ring, n)
        case "abs":
            return order.absolute(ring, n)
        case order.POSITIVE:
            return order.positive(ring, n)
        case order.IS_ZERO:
            return order.is_zero(ring, n)
        case "log":
            return logarithm(ring, n)
        case "sin" | "cos":
            return _of_angle(ring, function, n)
        case _:
            return None


MOST_ANGLES = 6
"""Angles in a sum whose sine is spelled out; the number of terms may double with each."""


def _of_angle(ring: Ring, function: str, n: NormalForm) -> NormalForm | None:
    """The sine or cosine of a sum of angles and of a multiple of an angle (rule F9); None of one angle."""
    angles: list[tuple[NormalForm, int]] = []
    for t, c in n.terms:
        sign = -1 if c < 0 else 1
        multiple = 1 if t == UNIT else abs(c.numerator)
        angles += [(NormalForm(((t, number(abs(Fraction(c)) / multiple)),)), sign)] * min(multiple, MOST_ANGLES + 1)
    if len(angles) == 1 or len(angles) > MOST_ANGLES:
        return None
    cos, sin = NF_ONE, NF_ZERO
    for angle, sign in angles:
        c, s = single(Opaque("cos", (angle,))), ring.scale(single(Opaque("sin", (angle,))), sign)
        cos, sin = ring.sub(ring.mul(cos, c), ring.mul(sin, s)), ring.add(ring.mul(sin, c), ring.mul(cos, s))
    return cos if function == "cos" else sin


def logarithm(ring: Ring, n: NormalForm) -> NormalForm:
    """The logarithm: of a product of positive values, the sum of their logarithms (rule G1)."""
    if n.sign != 2:
        return single(Opaque("log", (n,)))
    g, common = content(n.terms, roots=True)
    rest = divide_out(ring, n, g, common)
    parts = list(common)
    if len(rest.terms) == 1:
        ((t, c),) = rest.terms
        g *= c
        for bound, factors in components(*ring.open_term(t)):
            parts += [(Group(NormalForm(((ring.close(bound, factors), 1),))), 1)] if bound else factors
    else:
        parts.append((Group(rest), 1))
    for value, e in ((Fraction(g).numerator, 1), (Fraction(g).denominator, -1)):
        parts += [(Prime(p), k * e) for p, k in factorise(value)]
    total = NF_ZERO
    for a, e in parts:
        match a:
            case Exp(t):
                one = NormalForm(((t, 1),))
            case Group(inner):
                one = single(Opaque("log", (inner,)))
            case _:
                one = single(Opaque("log", (ring.constant(a.value) if isinstance(a, Prime) else single(a),)))
        total = ring.add(total, ring.scale(one, e))
    return total


def by_definition(ring: Ring, row: ElementwiseFunction, n: NormalForm) -> NormalForm:
    """The form of a row's definition."""

    def operation(fn: str, args: tuple[NormalForm, ...]) -> NormalForm:
        match fn, args:
            case "add", (a, b):
                return ring.add(a, b)
            case "mul", (a, b):
                return ring.mul(a, b)
            case "inv", (a,):
                return ring.power(a, -1)
            case "sqrt", (a,):
                return ring.power(a, _HALF)
            case "exp", (a,):
                return ring.exp(a)
            case "max", _:
                return ring.maximum([((), a) for a in args])
            case _, (a,):
                return ring.apply(fn, a)
            case _:
                raise AssertionError(f"no definition may use {fn}")

    body = without_quotients(formula(row.definition))
    return evaluate(body, {"x": n}, lambda value: ring.scale(NF_ONE, value), operation)


def _relu(ring: Ring, n: NormalForm) -> NormalForm:
    if n.sign or is_never_greater(ring, NF_ZERO, n):
        return n
    if any(isinstance(a, Max) for t, _ in n.terms for a, _ in t.factors) and len(n.terms) == 1:
        ((t, c),) = n.terms
        if c == 1 and len(t.factors) == 1 and t.factors[0][1] == 1 and not t.bound:
            return ring.maximum([((), n), ((), NF_ZERO)])
    outside, inner = _pull_out_factors(ring, n)
    relu = max_by_definition(ring, inner, NF_ZERO) if ring.expand_definitions else single(Opaque("relu", (inner,)))
    return ring.mul(outside, relu)


def _pull_out_factors(ring: Ring, n: NormalForm) -> tuple[NormalForm, NormalForm]:
    """The number and the nonnegative factors that can be pulled out of relu and abs, and the rest (rule F2)."""
    if len(n.terms) == 1:
        ((t, c),) = n.terms
        names = {v.name for v in t.bound}
        outside = tuple((a, e) for a, e in t.factors if a.sign and a.free.isdisjoint(names))
        g = abs(c)
    else:
        g, outside = content(n.terms, roots=True)
    return ring.term((), outside, g), divide_out(ring, n, g, outside)


def _absolute(ring: Ring, n: NormalForm) -> NormalForm:
    """The absolute value, as a root where functions are replaced by definitions (rule F1)."""
    return ring.power(ring.power(n, 2), _HALF) if ring.expand_definitions else single(Opaque("abs", (n,)))


def max_by_definition(ring: Ring, a: NormalForm, b: NormalForm) -> NormalForm:
    """The greater of two values by its definition (rule F7)."""
    distance = ring.apply("abs", ring.sub(a, b))
    return ring.scale(ring.add(ring.add(a, b), distance), _HALF)
