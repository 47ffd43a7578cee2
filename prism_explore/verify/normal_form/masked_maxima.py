"""Maxima that may be minus infinity at some positions, and indicators that are 0 or 1 where these are."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, product

from prism_explore.ir.dims import ZERO
from prism_explore.verify.normal_form.algebra import Algebra
from prism_explore.verify.normal_form.compare import match_index
from prism_explore.verify.normal_form.forms import (
    Atom,
    Bottom,
    Factor,
    Group,
    InBand,
    Max,
    NormalForm,
    Running,
    Term,
    single,
)
from prism_explore.verify.normal_form.index import Digit, Index, Radix, Var, extent
from prism_explore.verify.normal_form.size_facts import at_most
from prism_explore.verify.normal_form.sums import indices, indices_of_form

_NONE: frozenset[str] = frozenset()


def low_maxima(n: NormalForm, sign: int = 1) -> list[Max | Running]:
    """Maxima among the terms of a form that may be low: those that are added, or with sign -1 those subtracted."""
    return [
        a
        for t, c in n.terms
        if c * sign > 0
        for a, _ in t.factors
        if isinstance(a, Max | Running) and _may_be_low(a, _NONE)
    ]


def may_be_minus_infinity(n: NormalForm) -> bool:
    """Whether a form is masked or adds a maximum that may be low."""
    return n.masked or bool(low_maxima(n))


def _may_be_low(a: Max | Running, bound: frozenset[str]) -> bool:
    match a:
        case Max(operands):
            return all(_may_fall(p.inner, bound.union(v.name for v in p.bound)) for p in operands)
        case Running(_, inner, _):
            return _may_fall(inner, bound)


def _may_fall(n: NormalForm, bound: frozenset[str]) -> bool:
    """Whether a form may be minus infinity at all values of the bound indices."""
    for t, _ in n.terms:
        for a, _ in t.factors:
            if isinstance(a, Bottom) and not _runs_over_full_dim(a.keep, bound):
                return True
            if isinstance(a, Max | Running) and _may_be_low(a, bound):
                return True
    return False


def _runs_over_full_dim(keep: NormalForm, bound: frozenset[str]) -> bool:
    """Whether the bound indices run over a full dim of a mask; then the claim's condition keeps some entry.

    For a band this is checked, because a slice of a band is also a band.
    """
    for t, _ in keep.terms:
        for a, _ in t.factors:
            if isinstance(a, InBand) and not _has_entry(a, bound):
                return False
    over_bound = [i for i in indices_of_form(keep) if not i.free.isdisjoint(bound)]
    own = bound.union(*(i.free for i in indices_of_form(keep))) - (keep.free - bound)
    return bool(over_bound) and all(_covers_dim(i, own) for i in over_bound)


def _has_entry(a: InBand, bound: frozenset[str]) -> bool:
    """Whether, at all sizes, every row of a band has an entry, or every column."""
    low, high, row, column = a.low, a.high, extent(a.row), extent(a.column)
    if not _covers_dim(a.column, bound):
        low, high = (None if d is None else ZERO - d for d in (a.high, a.low))
        row, column = column, row
    ordered = low is None or high is None or at_most(low, high)
    return ordered and (high is None or at_most(ZERO, high)) and (low is None or at_most(row + low, column))


def _covers_dim(i: Index, bound: frozenset[str]) -> bool:
    match i:
        case Radix(parts):
            return all(_covers_dim(p, bound) for p in parts)
        case Var(name, _) | Digit(Var(name, _), _, _, _):
            return name in bound
        case _:
            return False


def is_low_wherever(a: NormalForm, m: Max | Running, algebra: Algebra) -> bool:
    """Whether a is low wherever a maximum is low: a is one of its entries, or a maximum of some of them."""
    if any(x == m for x in low_maxima(a)):
        return True
    match m:
        case Running(v, inner, at):
            return _is_low_with(a, algebra.substitute(inner, {v.name: at}), algebra)
        case Max(operands):
            opened = [algebra.open_operand(p) for p in operands]
            return any(
                _is_low_with(a, algebra.substitute(inner, by), algebra)
                for bound, inner in opened
                for by in _instances(inner, a, frozenset(v.name for v in bound))
            )


def _is_low_with(a: NormalForm, entry: NormalForm, algebra: Algebra) -> bool:
    """Whether a is low wherever an entry is low."""
    own = {t.key for t, _ in a.terms if t.masked}
    return all(
        t.key in own if t.masked else all(is_low_wherever(a, x, algebra) for x in low_maxima(NormalForm(((t, 1),))))
        for t, _ in entry.terms
    )


def _instances(entry: NormalForm, a: NormalForm, bound: frozenset[str]) -> Iterator[dict[str, Index]]:
    """Values of bound indices at which a masked part of an entry may equal one of a."""
    if not bound:
        yield {}
    for x in _masked_terms(entry):
        for y in _masked_terms(a):
            by: dict[str, Index] = {}
            pairs = list(zip(_places(x), _places(y), strict=False))
            if len(pairs) == len(_places(x)) and all(match_index(i, j, bound, by) for i, j in pairs):
                yield by


def _masked_terms(n: NormalForm) -> list[Term]:
    return [t for t, _ in n.terms if t.masked or low_maxima(NormalForm(((t, 1),)))]


def _places(t: Term) -> list[Index]:
    return list(indices_of_form(NormalForm(((t, 1),))))


def _entries(m: NormalForm, algebra: Algebra) -> list[tuple[NormalForm, frozenset[str]]]:
    """The indicators that keep the entries of a maximum, with its bound indices; empty where there are none."""
    found: list[tuple[NormalForm, frozenset[str]]] = []
    for a in low_maxima(m):
        if not isinstance(a, Max):
            return []
        for bound, inner in map(algebra.open_operand, a.operands):
            keeps = [b.keep for t, _ in inner.terms for b, _ in t.factors if isinstance(b, Bottom)]
            if not keeps or any(low_maxima(NormalForm((p,))) for p in inner.terms):
                return []
            kept = keeps[0]
            for keep in keeps[1:]:
                kept = algebra.mul(kept, keep)
            found.append((kept, frozenset(v.name for v in bound)))
    return found


def _can_equal(pattern: NormalForm, bound: frozenset[str], wanted: NormalForm, algebra: Algebra) -> bool:
    """Whether a product of indicators is equal to another one for some values of its bound indices."""
    own = list(indices_of_form(pattern))
    atoms = [a for t, _ in wanted.terms for a, _ in t.factors]
    for other in product(*map(_index_orders, atoms)):
        by: dict[str, Index] = {}
        pairs = list(zip(own, chain(*other), strict=False))
        if len(pairs) < len(own) or not all(match_index(i, j, bound, by) for i, j in pairs):
            continue
        if algebra.substitute(pattern, by) == wanted:
            return True
    return False


def _index_orders(a: Atom) -> list[list[Index]]:
    """An atom's indices; those of a band also with row and column exchanged, because their order depends on names."""
    found = list(indices(a))
    return [found, found[::-1]] if isinstance(a, InBand) else [found]


def _indicators(t: Term) -> tuple[NormalForm, tuple[Factor, ...]]:
    """The product of a term's factors that are 0 or 1, and the others."""
    indicators = tuple((a, e) for a, e in t.factors if isinstance(a, InBand) or e == 0)
    return NormalForm(((Term((), indicators), 1),)), tuple(f for f in t.factors if f not in indicators)


def keeps_an_entry(n: NormalForm) -> bool:
    """Whether the claim's condition implies that some summand of a form is not masked."""
    for t, _ in n.terms:
        bound = frozenset(v.name for v in t.bound)
        indicators = [a for a, e in t.factors if isinstance(a, InBand) or e == 0]
        groups = [a.inner for a, _ in t.factors if isinstance(a, Group)]
        if all(_runs_over_full_dim(single(a), bound) for a in indicators) and all(map(keeps_an_entry, groups)):
            return True
    return False


def is_positive_where_kept(n: NormalForm, m: NormalForm, algebra: Algebra) -> bool:
    """Whether a form is greater than 0 wherever one of a maximum's entries is kept."""
    if n.sign == 2:
        return True
    if len(n.terms) != 1 or not n.sign:
        return False
    ((t, _),) = n.terms
    indicators, others = _indicators(t)
    bound = frozenset(v.name for v in t.bound)
    if not all(a.sign == 2 for a, _ in others):
        return False
    entries = [keep for keep, _ in _entries(m, algebra)]
    return bool(entries) and all(_can_equal(indicators, bound, keep, algebra) for keep in entries)


def vanishes_where_masked(n: NormalForm, m: NormalForm, algebra: Algebra) -> bool:
    """Whether a form is 0 wherever none of a maximum's entries is kept."""
    entries = _entries(m, algebra)
    return bool(entries) and all(
        any(
            _can_equal(keep, bound, _indicators(Term((), algebra.open_term(t)[1]))[0], algebra)
            for keep, bound in entries
        )
        for t, _ in n.terms
    )
