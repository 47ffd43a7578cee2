"""Order: comparisons, maxima of two values and absolute values as steps (rules O1 to O6), by `Algebra(by_order=True)`.

A *step* is the atom [n > 0] or [n = 0], a function of n with the name `positive` or `is_zero`. Its argument is a
*direction*, a sum without a constant, minus a number, the *border*. Directions have no common factor, so a direction
and its border are the same in equal comparisons. Steps of one direction in a product become one step (O3), a step
[n = 0] solves n for one of its atoms (O4), and functions of a value by cases are taken case by case (O5). Forms of
relu, abs, min, max, clamp and `where` of a comparison are therefore polynomials in steps, and equal ones meet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from prism_explore.verify.normal_form.bound_names import without_names
from prism_explore.verify.normal_form.compare import is_never_greater
from prism_explore.verify.normal_form.forms import (
    NF_ONE,
    NF_ZERO,
    UNIT,
    Atom,
    Exp,
    Factor,
    Group,
    InBand,
    Interval,
    NormalForm,
    Number,
    Opaque,
    Read,
    Term,
    number,
    single,
)
from prism_explore.verify.normal_form.powers import content, divide_out, root_degree
from prism_explore.verify.normal_form.ring import Ring
from prism_explore.verify.normal_form.sums import components

POSITIVE, IS_ZERO = "positive", "is_zero"
_Map: TypeAlias = Callable[[NormalForm], NormalForm]
_Pieces: TypeAlias = list[tuple[NormalForm, NormalForm]]


@dataclass(frozen=True, slots=True)
class _Step:
    """[direction > border] or [direction = border]."""

    kind: Literal["positive", "is_zero"]
    direction: NormalForm
    border: Number


def _step(a: Atom) -> _Step | None:
    match a:
        case Opaque("positive" | "is_zero" as kind, (n,)):
            terms = tuple(p for p in n.terms if p[0] != UNIT)
            return _Step(kind, NormalForm(terms), -sum(c for t, c in n.terms if t == UNIT))
        case _:
            return None


def is_step(a: Atom) -> bool:
    """Whether an atom is [n > 0] or [n = 0]."""
    return isinstance(a, Opaque) and a.function in (POSITIVE, IS_ZERO)


# ---------------------------------------------------------------- comparisons with 0
def positive(ring: Ring, n: NormalForm) -> NormalForm:
    """[n > 0] (rule O2)."""
    negated = ring.scale(n, -1)
    if n.sign == 2:
        return NF_ONE
    if negated.sign or is_never_greater(ring, n, NF_ZERO):
        return NF_ZERO
    if n.sign or is_never_greater(ring, NF_ZERO, n):
        return ring.sub(NF_ONE, is_zero(ring, n))
    simpler = _of_simpler(ring, n, positive)
    if simpler is not None:
        return simpler
    sign, parts = _parts(ring, n)
    if len(parts) == 1 and parts[0] == n:
        return single(Opaque(POSITIVE, (n,)))
    somewhere, product = NF_ONE, ring.constant(sign)
    for part in parts:
        here = nonzero(ring, part)
        somewhere = ring.mul(somewhere, here)
        product = ring.mul(product, ring.sub(ring.scale(positive(ring, part), 2), here))
    return ring.scale(ring.add(somewhere, product), Fraction(1, 2))


def is_zero(ring: Ring, n: NormalForm) -> NormalForm:
    """[n = 0] (rule O2)."""
    if not n.terms:
        return NF_ONE
    if n.sign == 2 or ring.scale(n, -1).sign == 2:
        return NF_ZERO
    simpler = _of_simpler(ring, n, is_zero)
    if simpler is not None:
        return simpler
    _, parts = _parts(ring, n)
    if len(parts) == 1 and parts[0] == n:
        if is_plain_sum(n):
            return ring.sub(NF_ONE, ring.term((), ((Group(n), 0),), 1))
        if len(n.terms) == 1 and isinstance(n.terms[0][0].factors[0][0], InBand | Interval):
            return ring.sub(NF_ONE, n)
        return single(Opaque(IS_ZERO, (n,)))
    result = NF_ONE
    for part in parts:
        result = ring.mul(result, nonzero(ring, part))
    return ring.sub(NF_ONE, result)


def is_plain_sum(n: NormalForm) -> bool:
    """Whether a form is one sum over indices; rules S7 and S8 need its power 0, so no step takes the place of that."""
    return len(n.terms) == 1 and bool(n.terms[0][0].bound)


def nonzero(ring: Ring, n: NormalForm) -> NormalForm:
    """n^0, which is 1 where n is not 0 (rule O2)."""
    return ring.sub(NF_ONE, is_zero(ring, n))


def _of_simpler(ring: Ring, n: NormalForm, compare: Callable[[Ring, NormalForm], NormalForm]) -> NormalForm | None:
    """A comparison of n case by case (rule O5), or of its exponents (rule O6); None where neither applies."""
    found = by_steps(ring, n, lambda piece: compare(ring, piece))
    if found is not None:
        return found
    exponents = _compared_exponents(ring, n)
    return None if exponents is None else compare(ring, exponents)


def _compared_exponents(ring: Ring, n: NormalForm) -> NormalForm | None:
    """a - b, if n is c exp(a) - c exp(b), which has the same sign (rule O6); None for any other form."""
    if len(n.terms) != 2 or n.terms[0][1] != -n.terms[1][1]:
        return None
    total = NF_ZERO
    for t, c in n.terms:
        for a, e in t.factors:
            if not isinstance(a, Exp) or t.bound:
                return None
            total = ring.add(total, NormalForm(((a.term, number(e if c > 0 else -e)),)))
    return total


def _parts(ring: Ring, n: NormalForm) -> tuple[int, list[NormalForm]]:
    """A sign and values of any signs whose product has the sign of n, which is no number; positive ones left out."""
    constant = next((c for t, c in n.terms if t == UNIT), 0)
    if constant:  # a common factor of the other terms is none of the constant
        direction = NormalForm(tuple(p for p in n.terms if p[0] != UNIT))
        g, _ = content(direction.terms, roots=False)
        return (1 if g > 0 else -1), [ring.scale(n, number(1 / Fraction(g)))]
    g, common = content(n.terms, roots=False)
    rest = divide_out(ring, n, g, common)
    parts: list[NormalForm] = []
    for a, e in common:
        _add_part(parts, a, e)
    if len(rest.terms) == 1:
        ((t, c),) = rest.terms
        g *= c
        for bound, factors in components(*ring.open_term(t)):
            if bound:
                parts.append(NormalForm(((ring.close(bound, factors), 1),)))
                continue
            for a, e in factors:
                _add_part(parts, a, e)
    else:
        parts.append(rest)
    return (1 if g > 0 else -1), parts


def _add_part(parts: list[NormalForm], a: Atom, e: Number) -> None:
    """The part of a product that a factor is; a square twice, so that its sign cancels."""
    if a.sign == 2:
        return
    value = a.inner if isinstance(a, Group) else single(a)
    parts += [value] if a.sign or not isinstance(e, int) or e % 2 else [value, value]


# ---------------------------------------------------------------- functions by the order
def relu(ring: Ring, n: NormalForm) -> NormalForm:
    """max(n, 0) = n [n > 0] (rule O1)."""
    return ring.mul(n, positive(ring, n))


def absolute(ring: Ring, n: NormalForm) -> NormalForm:
    """|n| = 2 n [n > 0] - n (rule O1)."""
    return ring.sub(ring.scale(relu(ring, n), 2), n)


def greatest(ring: Ring, values: Sequence[NormalForm]) -> NormalForm:
    """max(a, b) = b + (a - b) [a - b > 0], of several values one after the other (rule O1)."""
    result, *others = values
    for n in others:
        result = ring.add(n, relu(ring, ring.sub(result, n)))
    return result


# ---------------------------------------------------------------- by cases
def by_steps(ring: Ring, n: NormalForm, f: _Map) -> NormalForm | None:
    """Rule O5: f of a form that has steps, case by case; None where it has none outside of its sums."""
    direction = next((s.direction for _, s in _free_steps(n)), None)
    if direction is None:
        return None
    own = {a.key: s for a, s in _free_steps(n) if s.direction == direction}
    total = NF_ZERO
    for where, holds in _regions(ring, direction, own.values()):
        kept: list[tuple[Term, Number]] = []
        for t, c in n.terms:
            if not any(a.key in own for a, _ in t.factors):
                kept.append((t, c))
            elif all(holds(own[a.key]) for a, _ in t.factors if a.key in own):
                bound, factors = ring.open_term(t)
                kept += ring.term(bound, [f for f in factors if f[0].key not in own], c).terms
        total = ring.add(total, ring.mul(where, f(ring.collect(kept))))
    return total


def _free_steps(n: NormalForm) -> list[tuple[Atom, _Step]]:
    found: list[tuple[Atom, _Step]] = []
    for t, _ in n.terms:
        names = {v.name for v in t.bound}
        found += [(a, s) for a, _ in t.factors if a.free.isdisjoint(names) and (s := _step(a)) is not None]
    return found


def _regions(
    ring: Ring, direction: NormalForm, steps: Iterable[_Step]
) -> list[tuple[NormalForm, Callable[[_Step], bool]]]:
    """Indicators of ranges of the direction that cover the line, and which steps are 1 there."""
    steps = tuple(steps)
    points = {s.border for s in steps if s.kind == IS_ZERO}
    out: list[tuple[NormalForm, Callable[[_Step], bool]]] = []
    above, low = NF_ONE, None

    def shifted(border: Number) -> NormalForm:
        return ring.sub(direction, ring.constant(border))

    for border in sorted({s.border for s in steps}):
        beyond = positive(ring, shifted(border))
        below = ring.sub(above, beyond)
        if border in points:
            here = is_zero(ring, shifted(border))
            below = ring.sub(below, here)
            out.append((here, lambda s, at=border: s.border == at if s.kind == IS_ZERO else s.border < at))
        out.append((below, lambda s, at=low: s.kind == POSITIVE and at is not None and s.border <= at))
        above, low = beyond, border
    out.append((above, lambda s: s.kind == POSITIVE))
    return out


# ---------------------------------------------------------------- products
def multiply_steps(factors: Sequence[Factor]) -> list[Factor] | None:
    """Rule O3: factors with at most one step for each direction; None where their product is 0.

    Args:
        factors: of one term; the exponents of steps do not matter, because a step is 0 or 1.
    """
    others: list[Factor] = []
    found: dict[str, _Step] = {}
    atoms: dict[str, Atom] = {}
    for a, e in factors:
        new = _step(a)
        if new is None:
            others.append((a, e))
            continue
        key = new.direction.key
        old = found.get(key)
        keeps_old = False
        if old is not None:
            match old.kind, new.kind:
                case "positive", "positive":
                    keeps_old = old.border >= new.border
                case "is_zero", "is_zero":
                    if old.border != new.border:
                        return None
                case "is_zero", _:
                    if old.border <= new.border:
                        return None
                    keeps_old = True
                case _:
                    if new.border <= old.border:
                        return None
        if not keeps_old:
            found[key], atoms[key] = new, a
    directions = {s.direction.key for s in found.values() if s.kind == POSITIVE and s.border >= 0}
    kept = [(a, e) for a, e in others if not (e == 0 and isinstance(a, Group) and a.inner.key in directions)]
    return [*kept, *((a, 1) for a in atoms.values())]


def solve_steps(ring: Ring, factors: Sequence[Factor]) -> NormalForm | None:
    """Rule O4: a product with [n = 0] in which an atom of n is replaced by what it then is; None where none can be."""
    for at, (a, _) in enumerate(factors):
        step = _step(a)
        if step is None or step.kind != IS_ZERO:
            continue
        others = [f for n, f in enumerate(factors) if n != at]
        for pivot, c in _pivots(step.direction):
            if not any(pivot.key in b.key for b, _ in others):
                continue
            rest = NormalForm(tuple(p for p in step.direction.terms if p[0].factors != ((pivot, 1),)))
            value = ring.scale(ring.sub(ring.constant(step.border), rest), number(1 / Fraction(c)))
            result, changed = NF_ONE, False
            for f in others:
                replaced = _replace_in_factor(ring, f, pivot, value)
                changed = changed or replaced is not None
                result = ring.mul(result, replaced if replaced is not None else ring.term((), (f,), 1))
            if changed:
                return ring.mul(result, single(a))
    return None


def _pivots(direction: NormalForm) -> list[tuple[Atom, Number]]:
    """The atom for which a direction is solved: a summand of its own that occurs in no other one."""
    found: list[tuple[Atom, Number]] = []
    for t, c in direction.terms:
        if len(t.factors) != 1 or t.bound or t.factors[0][1] != 1 or not isinstance(t.factors[0][0], Read | Opaque):
            continue
        (a, _), *_ = t.factors
        if not any(a.key in u.key for u, _ in direction.terms if u is not t):
            found.append((a, c))
    return sorted(found, key=lambda p: (without_names(p[0].key), p[0].key))[-1:]


def _replace(ring: Ring, n: NormalForm, pivot: Atom, value: NormalForm) -> NormalForm:
    """A form with an atom replaced by a value that it equals."""
    if pivot.key not in n.key:
        return n
    total = NF_ZERO
    for t, c in n.terms:
        bound, factors = ring.open_term(t)
        result, plain = NF_ONE, list[Factor]()
        for f in factors:
            replaced = _replace_in_factor(ring, f, pivot, value)
            if replaced is None:
                plain.append(f)
            else:
                result = ring.mul(result, replaced)
        result = ring.mul(result, ring.term((), plain, 1))
        for v in bound:
            result = ring.sum(result, v)
        total = ring.add(total, ring.scale(result, c))
    return total


def _replace_in_factor(ring: Ring, f: Factor, pivot: Atom, value: NormalForm) -> NormalForm | None:
    """A factor with an atom replaced; None where that changes nothing, as inside of a maximum."""
    a, e = f
    if a == pivot:
        return _power(ring, value, e)
    if pivot.key not in a.key:
        return None
    match a:
        case Exp(term):
            new = ring.exp(_replace(ring, NormalForm(((term, 1),)), pivot, value))
        case Group(inner):
            new = _replace(ring, inner, pivot, value)
        case Opaque(function, (arg,)):
            inside = _replace(ring, arg, pivot, value)
            degree = root_degree(function)
            new = ring.apply(function, inside) if degree is None else _power(ring, inside, Fraction(1, degree))
        case _:
            return None
    replaced = _power(ring, new, e)
    return None if replaced == NormalForm(((Term((), (f,)), 1),)) else replaced


def _power(ring: Ring, n: NormalForm, e: Number) -> NormalForm:
    """n^e under x/0 = 0, also where n is 0 everywhere."""
    return ring.power(n, e) if n.terms else NF_ZERO
