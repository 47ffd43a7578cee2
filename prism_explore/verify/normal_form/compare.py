"""Comparison of forms that contain maxima (rule M6).

A maximum is at least each of its entries. Method, to prove low <= high: move subtracted terms to the other side, cancel
common terms, and replace maxima of the greater side by one of their entries, until the lesser side has only masks
(which are at most 0) and the greater side only nonnegative terms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from prism_explore.verify.normal_form.bound_names import OpenOperand
from prism_explore.verify.normal_form.forms import Max, NormalForm, Number, Term
from prism_explore.verify.normal_form.index import Digit, Index, Looked, Moved, Radix, Var, extent, radix
from prism_explore.verify.normal_form.ring import Ring
from prism_explore.verify.normal_form.sums import indices_of_form

_Side: TypeAlias = "dict[str, tuple[Term, Number]]"
"""Terms with positive coefficients, by their keys."""
_MAX_REPLACED = 3
"""The largest number of maxima that are replaced by entries."""


def drop_dominated(ring: Ring, operands: list[OpenOperand]) -> list[OpenOperand]:
    """Operands of a maximum without those that never exceed another operand (rule M6)."""
    kept = list(operands)
    for p in operands:
        others = [q for q in kept if q is not p]
        if len(others) < len(kept) and any(_dominates(ring, q, p) for q in others):
            kept = others
    return kept


def is_never_greater(ring: Ring, low: NormalForm, high: NormalForm) -> bool:
    """Whether low <= high is proved for all positions."""
    return (_has_maximum(low) or _has_maximum(high)) and _is_ordered(ring, *_sides(low, high), _MAX_REPLACED)


def _dominates(ring: Ring, greater: OpenOperand, lesser: OpenOperand) -> bool:
    """Whether one operand of a maximum is always at least another."""
    bound, high = greater
    _, low = lesser
    if not bound and not _has_maximum(low) and not _has_maximum(high):
        return False
    left, right = _sides(low, high)
    if not bound:
        return _is_ordered(ring, left, right, _MAX_REPLACED)
    return any(
        _is_ordered(ring, *_sides(low, ring.substitute(high, by)), _MAX_REPLACED - 1)
        for by in find_instances(high, low, frozenset(v.name for v in bound))
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
            _add_term(side if c > 0 else other, t, abs(c))
    return left, right


def _add_term(side: _Side, t: Term, c: Number) -> None:
    known = side.get(t.key)
    side[t.key] = (t, c + known[1] if known and not t.masked else c)


def _cancel_common(left: _Side, right: _Side) -> tuple[_Side, _Side]:
    a, b = dict(left), dict(right)
    for key in left.keys() & right.keys():
        (t, c), (_, d) = a.pop(key), b.pop(key)
        if c > d:
            a[key] = t, c - d
        elif d > c:
            b[key] = t, d - c
    return a, b


def _is_ordered(ring: Ring, left: _Side, right: _Side, replacements: int) -> bool:
    """Whether the sum of the left side is at most that of the right."""
    left, right = _cancel_common(left, right)
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
            for by in find_instances(inner, target, frozenset(v.name for v in bound)):
                entry = ring.scale(ring.substitute(inner, by), c)
                more, less = dict(rest), dict(left)
                for u, d in entry.terms:
                    _add_term(more if d > 0 else less, u, abs(d))
                if _is_ordered(ring, less, more, replacements - 1):
                    return True
    return False


# ---------------------------------------------------------------- entries
def find_instances(entry: NormalForm, at: NormalForm, bound: frozenset[str]) -> Iterator[dict[str, Index]]:
    """Values of bound indices at which an entry of a maximum may contain a term of another form."""
    if not bound & entry.free:
        yield {}
        return
    seen = set[str]()
    for x, _ in entry.terms:
        for y, _ in at.terms:
            by: dict[str, Index] = {}
            own, other = (list(indices_of_form(NormalForm(((t, 1),)))) for t in (x, y))
            if len(own) != len(other) or not all(match_index(i, j, bound, by) for i, j in zip(own, other, strict=True)):
                continue
            text = ";".join(f"{v}>{by[v].key}" for v in sorted(by))
            if bound & entry.free <= by.keys() and text not in seen:
                seen.add(text)
                yield by


def match_index(i: Index, j: Index, bound: frozenset[str], by: dict[str, Index]) -> bool:
    """Whether an index equals another one for some values of the bound indices, which are added to `by`."""
    match i, j:
        case Var(name, size), _ if name in bound:
            return size == extent(j) and by.setdefault(name, j) == j
        case Radix(parts), Radix(others):
            return _match_digits(parts, others, bound, by)
        case Digit(p, _, _, _), Digit(q, _, _, _):
            return match_index(p, q, bound, by)
        case Moved(p, _, _), Moved(q, _, _):
            return match_index(p, q, bound, by)
        case Looked(a, p, _), Looked(b, q, _) if a == b:
            return all(match_index(x, y, bound, by) for x, y in zip(p, q, strict=True)) and extent(i) == extent(j)
        case _:
            return i == j


def _match_digits(own: Sequence[Index], other: Sequence[Index], bound: frozenset[str], by: dict[str, Index]) -> bool:
    """The same for numbers in mixed radix; several digits of the other number may be the value of one bound index."""
    left = list(reversed(other))
    for p in own:
        here = [left.pop()] if left else []
        while here and isinstance(p, Var) and p.name in bound and left and extent(radix(here)) != p.extent:
            here.append(left.pop())
        if not here or not match_index(p, radix(here), bound, by):
            return False
    return not left
