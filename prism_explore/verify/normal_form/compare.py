"""Comparison of forms that contain maxima: rule M6.

A maximum is at least each of its entries. To prove low <= high, move subtracted terms to the other side, cancel common
terms, and replace maxima on the greater side by one of their entries, until the lesser side has only masks (which are
at most 0) and the greater side only terms that are not negative.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from prism_explore.verify.normal_form.bound_names import OpenOperand
from prism_explore.verify.normal_form.forms import Max, NormalForm, Number, Term
from prism_explore.verify.normal_form.index import Digit, Index, Moved, Radix, Var, extent, radix
from prism_explore.verify.normal_form.ring import Ring
from prism_explore.verify.normal_form.sums import indices_of_form

_Side: TypeAlias = "dict[str, tuple[Term, Number]]"
"""Terms with positive coefficients, by their keys."""
_MOST_REPLACED = 3
"""How many maxima may be replaced by entries, one after the other."""


def without_lesser(ring: Ring, operands: list[OpenOperand]) -> list[OpenOperand]:
    """Operands of a maximum without those that never exceed another one (rule M6)."""
    kept = list(operands)
    for p in operands:
        others = [q for q in kept if q is not p]
        if len(others) < len(kept) and any(_covers(ring, q, p) for q in others):
            kept = others
    return kept


def never_greater(ring: Ring, low: NormalForm, high: NormalForm) -> bool:
    """Whether low <= high is proved for all positions."""
    return (_has_maximum(low) or _has_maximum(high)) and _ordered(ring, *_sides(low, high), _MOST_REPLACED)


def _covers(ring: Ring, greater: OpenOperand, lesser: OpenOperand) -> bool:
    """Whether one operand of a maximum is never less than another."""
    bound, high = greater
    _, low = lesser
    if not bound and not _has_maximum(low) and not _has_maximum(high):
        return False
    left, right = _sides(low, high)
    if not bound:
        return _ordered(ring, left, right, _MOST_REPLACED)
    return any(
        _ordered(ring, *_sides(low, ring.substitute(high, by)), _MOST_REPLACED - 1)
        for by in instances(high, low, frozenset(v.name for v in bound))
    )


def _has_maximum(n: NormalForm) -> bool:
    return any(_maximum(t) is not None for t, _ in n.terms)


def _maximum(t: Term) -> Max | None:
    """The maximum that a term consists of; None for any other term."""
    if len(t.factors) != 1 or t.bound:
        return None
    ((a, e),) = t.factors
    return a if isinstance(a, Max) and e == 1 else None


def _sides(low: NormalForm, high: NormalForm) -> tuple[_Side, _Side]:
    """Both sides of low <= high without subtractions."""
    left, right = dict[str, tuple[Term, Number]](), dict[str, tuple[Term, Number]]()
    for side, other, n in ((left, right, low), (right, left, high)):
        for t, c in n.terms:
            _put(side if c > 0 else other, t, abs(c))
    return left, right


def _put(side: _Side, t: Term, c: Number) -> None:
    known = side.get(t.key)
    side[t.key] = (t, c + known[1] if known and not t.masked else c)


def _cancelled(left: _Side, right: _Side) -> tuple[_Side, _Side]:
    a, b = dict(left), dict(right)
    for key in left.keys() & right.keys():
        (t, c), (_, d) = a.pop(key), b.pop(key)
        if c > d:
            a[key] = t, c - d
        elif d > c:
            b[key] = t, d - c
    return a, b


def _ordered(ring: Ring, left: _Side, right: _Side, replacements: int) -> bool:
    """Whether the sum of the left side is at most that of the right."""
    left, right = _cancelled(left, right)
    ring.spend(1 + len(left) + len(right))
    if all(t.masked for t, _ in left.values()) and all(t.sign and not t.masked for t, _ in right.values()):
        return True
    if not replacements:
        return False
    for key, (t, c) in right.items():
        atom = _maximum(t)
        if atom is None:
            continue
        rest = {k: p for k, p in right.items() if k != key}
        target = NormalForm(tuple(left[k] for k in sorted(left)))
        for bound, inner in map(ring.open_operand, atom.operands):
            for by in instances(inner, target, frozenset(v.name for v in bound)):
                entry = ring.scale(ring.substitute(inner, by), c)
                more, less = dict(rest), dict(left)
                for u, d in entry.terms:
                    _put(more if d > 0 else less, u, abs(d))
                if _ordered(ring, less, more, replacements - 1):
                    return True
    return False


# ---------------------------------------------------------------- entries
def instances(entry: NormalForm, at: NormalForm, bound: frozenset[str]) -> Iterator[dict[str, Index]]:
    """Values of bound indices at which an entry of a maximum may have a term of another form, by their indices."""
    if not bound & entry.free:
        yield {}
        return
    seen = set[str]()
    for x, _ in entry.terms:
        for y, _ in at.terms:
            by: dict[str, Index] = {}
            mine, theirs = (list(indices_of_form(NormalForm(((t, 1),)))) for t in (x, y))
            if len(mine) != len(theirs) or not all(fits(i, j, bound, by) for i, j in zip(mine, theirs, strict=True)):
                continue
            text = ";".join(f"{v}>{by[v].key}" for v in sorted(by))
            if bound & entry.free <= by.keys() and text not in seen:
                seen.add(text)
                yield by


def fits(i: Index, j: Index, bound: frozenset[str], by: dict[str, Index]) -> bool:
    """Whether an index equals another one for some values of the bound ones; these are added to `by`."""
    match i, j:
        case Var(name, size), _ if name in bound:
            return size == extent(j) and by.setdefault(name, j) == j
        case Radix(parts), Radix(others):
            return _digits_fit(parts, others, bound, by)
        case Digit(p, _, _, _), Digit(q, _, _, _):
            return fits(p, q, bound, by)
        case Moved(p, _, _), Moved(q, _, _):
            return fits(p, q, bound, by)
        case _:
            return i == j


def _digits_fit(mine: Sequence[Index], theirs: Sequence[Index], bound: frozenset[str], by: dict[str, Index]) -> bool:
    """As `fits` for numbers in mixed radix; several digits of the other one may be the value of one bound index."""
    left = list(reversed(theirs))
    for p in mine:
        here = [left.pop()] if left else []
        while here and isinstance(p, Var) and p.name in bound and left and extent(radix(here)) != p.extent:
            here.append(left.pop())
        if not here or not fits(p, radix(here), bound, by):
            return False
    return not left
