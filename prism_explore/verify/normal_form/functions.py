"""Functions of forms: the exponential and the named functions (rules E1, B1, F1 to F7)."""

from __future__ import annotations

from fractions import Fraction

from prism_explore.ir.elementwise import UNARY, ElementwiseFunction
from prism_explore.ir.formulas import evaluate, formula, without_quotients
from prism_explore.verify.normal_form.bound_names import NoNormalForm
from prism_explore.verify.normal_form.compare import never_greater
from prism_explore.verify.normal_form.forms import NF_ONE, NF_ZERO, Bottom, Exp, Max, NormalForm, Opaque, single
from prism_explore.verify.normal_form.powers import by_cases, content, leads_negative, without
from prism_explore.verify.normal_form.ring import Ring

_HALF = Fraction(1, 2)
DEFINED = frozenset(row.name for row in UNARY.values() if row.is_symbol and row.definition)
"""Functions that `Algebra(spell_out=True)` replaces by definitions, as it does the greater of two values."""


def exp(ring: Ring, n: NormalForm) -> NormalForm:
    """The exponential function (rules E1, E2, F5, B1)."""
    if n.guarded:
        by_case = by_cases(ring, n, ring.exp)
        if by_case is not None:
            return by_case
    result = ring.term((), [(Exp(t), c) for t, c in n.terms if not t.masked], 1)
    if n.masked:
        for t, _ in n.terms:
            for a, _ in t.factors:
                if isinstance(a, Bottom):
                    result = ring.mul(result, a.keep)
    return result


def apply(ring: Ring, function: str, n: NormalForm) -> NormalForm:
    """A function by its name in `ir.elementwise.UNARY`, where it is no power (rules F1 to F7).

    Raises:
        NoNormalForm: of what may be minus infinity.
    """
    if n.masked:
        if function == "relu":
            return ring.maximum([((), n), ((), NF_ZERO)])
        raise NoNormalForm(f"{function} of a masked value (minus infinity)")
    if n.guarded:
        by_case = by_cases(ring, n, lambda piece: ring.apply(function, piece))
        if by_case is not None:
            return by_case
    if ring.spell_out:
        spelled = _spelled(ring, function, n)
        if spelled is not None:
            return spelled
    if function == "relu":
        return _relu(ring, n)
    if function == "abs" and (n.sign or never_greater(ring, NF_ZERO, n)):
        return n
    if function == "abs" and never_greater(ring, n, NF_ZERO):
        return ring.scale(n, -1)
    row = UNARY[function]
    if not n.terms and row.parity and row.zero_at_zero:
        return NF_ZERO
    if row.parity and n.terms and leads_negative(n.terms):
        return ring.scale(ring.apply(function, ring.scale(n, -1)), -1 if row.parity == "odd" else 1)
    if function == "abs":
        outside, inner = _homogeneous(ring, n)
        return ring.mul(outside, _absolute(ring, inner))
    return single(Opaque(function, (n,)))


def _spelled(ring: Ring, function: str, n: NormalForm) -> NormalForm | None:
    """Rule F1; None where a function has no definition, or one by the order (rule F7)."""
    row = UNARY[function]
    return by_definition(ring, row, n) if row.definition and function not in ("relu", "abs") else None


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
    if n.sign or never_greater(ring, NF_ZERO, n):
        return n
    if any(isinstance(a, Max) for t, _ in n.terms for a, _ in t.factors) and len(n.terms) == 1:
        ((t, c),) = n.terms
        if c == 1 and len(t.factors) == 1 and t.factors[0][1] == 1 and not t.bound:
            return ring.maximum([((), n), ((), NF_ZERO)])
    outside, inner = _homogeneous(ring, n)
    this = greater(ring, inner, NF_ZERO) if ring.spell_out else single(Opaque("relu", (inner,)))
    return ring.mul(outside, this)


def _homogeneous(ring: Ring, n: NormalForm) -> tuple[NormalForm, NormalForm]:
    """A number and nonnegative factors, which leave relu and abs, and the rest (rule F2)."""
    if len(n.terms) == 1:
        ((t, c),) = n.terms
        names = {v.name for v in t.bound}
        outside = tuple((a, e) for a, e in t.factors if a.sign and a.free.isdisjoint(names))
        g = abs(c)
    else:
        g, outside = content(n.terms, roots=True)
    return ring.term((), outside, g), without(ring, n, g, outside)


def _absolute(ring: Ring, n: NormalForm) -> NormalForm:
    """The absolute value, as a root where functions are replaced by definitions (rule F1)."""
    return ring.power(ring.power(n, 2), _HALF) if ring.spell_out else single(Opaque("abs", (n,)))


def greater(ring: Ring, a: NormalForm, b: NormalForm) -> NormalForm:
    """The greater of two values by its definition (rule F7)."""
    distance = ring.apply("abs", ring.sub(a, b))
    return ring.scale(ring.add(ring.add(a, b), distance), _HALF)
