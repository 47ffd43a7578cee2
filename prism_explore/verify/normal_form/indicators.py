"""Indicators (0/1 values): intervals of an index, bands of two indices, and their rules C1 to C4, D1 to D6, F5 and S11.

A comparison of sizes is used only where it holds for all positive integers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cmp_to_key
from itertools import pairwise
from math import prod
from typing import Literal, TypeAlias

from prism_explore.ir.dims import ONE, ZERO, Dim, dim
from prism_explore.verify.normal_form.forms import UNIT, Bottom, Factor, InBand, Interval, NormalForm, Number, Term
from prism_explore.verify.normal_form.index import ZERO as INDEX_ZERO
from prism_explore.verify.normal_form.index import (
    Digit,
    Index,
    Moved,
    Radix,
    Var,
    Zero,
    digit,
    extent,
    line,
    moved,
    radix,
)
from prism_explore.verify.normal_form.size_facts import at_most, is_whole, quotient

Constant: TypeAlias = Literal[0, 1]


def interval(i: Index, low: Dim, high: Dim) -> Interval | Constant:
    """Whether `low <= i < high` (rule C3), where the bounds may lie outside i's dim."""
    match i:
        case Moved(base, by, _):
            return interval(base, low - by, high - by)
        case Radix(parts):
            rest = _extent_product(parts[1:])
            first, end = quotient(low, rest), quotient(high, rest)
            if first is not None and end is not None and is_whole(first) and is_whole(end):
                return interval(parts[0], first, end)
        case _:
            pass
    size = end = extent(i)
    if (of := line(i)) is not None:
        v, factor, constant = of
        end = (v.extent - ONE) * factor + constant + ONE
    if at_most(high, ZERO) or at_most(end, low):
        return 0
    if at_most(low, ZERO):
        if at_most(end, high):
            return 1
        low = ZERO
    return Interval(i, low, size if at_most(size, high) else high)


def is_part(low: Dim, high: Dim, size: Dim, known: Sequence[Dim]) -> bool:
    """Whether `low <= i < high` is a nonempty part of the dim, for all sizes at which its length is an integer.

    Args:
        low: the first index of the interval.
        high: the index after its last one.
        size: the size of the dim.
        known: sizes that are positive integers by the conditions of a proof.
    """
    length = high - low
    some = at_most(ONE, length) or length in known or all(c > 0 for _, c in length.terms)
    return some and _are_ordered((ZERO, low), known) and _are_ordered((high, size), known)


def intersection(found: Sequence[Interval]) -> list[Interval] | None:
    """The intersection of intervals of one index where their bounds are ordered (rule C1); None where it is empty."""
    out: dict[str, list[Interval]] = {}
    for new in found:
        here = out.setdefault(new.index.key, [])
        for n, old in enumerate(here):
            low, high = _greater(old.low, new.low), _smaller(old.high, new.high)
            if at_most(old.high, new.low) or at_most(new.high, old.low):
                return None
            if low is not None and high is not None:
                here[n] = Interval(new.index, low, high)
                break
        else:
            here.append(new)
    return [i for here in out.values() for i in here]


def _are_ordered(places: Sequence[Dim], known: Sequence[Dim] = ()) -> bool:
    return all(at_most(a, b) or b - a in known or b - a + ONE in known for a, b in pairwise(places))


def _greater(a: Dim, b: Dim) -> Dim | None:
    return b if at_most(a, b) else a if at_most(b, a) else None


def _smaller(a: Dim, b: Dim) -> Dim | None:
    return a if at_most(a, b) else b if at_most(b, a) else None


def band(low: Dim | None, high: Dim | None, row: Index, column: Index) -> InBand | Constant:
    """Whether `low <= column - row <= high` (rules D2, D3)."""
    match row, column:
        case Moved(base, by, _), _:
            return band(_plus(low, by), _plus(high, by), base, column)
        case _, Moved(base, by, _):
            return band(_plus(low, ZERO - by), _plus(high, ZERO - by), row, base)
        case Radix((a, *rest)), Radix((b, *others)) if a == b and _extent_product(rest) == _extent_product(others):
            return band(low, high, radix(rest), radix(others))
        case _:
            pass
    if row == column:
        least = most = ZERO
    else:
        least, most = ONE - extent(row), extent(column) - ONE
    if low is not None and at_most(low, least):
        low = None
    if high is not None and at_most(most, high):
        high = None
    if low is None and high is None:
        return 1
    if (low is not None and at_most(most + ONE, low)) or (high is not None and at_most(high + ONE, least)):
        return 0
    if low is not None and high is not None and at_most(high + ONE, low):
        return 0
    return canonical_band(low, high, row, column)


def pin_bands(factors: Sequence[Factor]) -> list[Factor] | None:
    """A product where a band of which one index is a constant is an interval (rule D6); None where it is 0."""
    out: list[Factor] = []
    for f in factors:
        pinned = _pinned_band(f[0]) if isinstance(f[0], InBand) else f[0]
        if pinned == 0:
            return None
        if pinned != 1:
            out.append(f if pinned is f[0] or isinstance(pinned, int) else (pinned, 1))
    return out


def _pinned_band(b: InBand) -> InBand | Interval | Constant:
    match b.row, b.column:
        case _, Zero():
            low, high, i = _negated(b.high), _negated(b.low), b.row
        case Zero(), _:
            low, high, i = b.low, b.high, b.column
        case _:
            return b
    return interval(i, ZERO if low is None else low, extent(i) if high is None else high + ONE)


def common_bands(found: Sequence[InBand]) -> list[InBand] | None:
    """The intersection of bands of equal indices where their bounds are ordered (rule D1); None where it is empty."""
    out: list[InBand] = []
    for new in found:
        for n, old in enumerate(out):
            met = _common_band(old, new)
            if met == 0:
                return None
            if isinstance(met, InBand):
                out[n] = met
                break
        else:
            out.append(new)
    return out


def merge_adjacent_bands(terms: Sequence[tuple[Term, Number]]) -> list[tuple[Term, Number]] | None:
    """Merge two terms that differ only by adjacent bands (rule D4); None where there are none."""
    seen: dict[tuple[str, Number], list[tuple[int, InBand]]] = {}
    for n, (t, c) in enumerate(terms):
        for b in (a for a, _ in t.factors if isinstance(a, InBand)):
            rest = Term(t.bound, tuple(f for f in t.factors if f[0] != b))
            others = seen.setdefault((rest.key, c), [])
            for m, other in others:
                whole = _union(b, other)
                if whole is None:
                    continue
                factors = (*rest.factors, (whole, 1)) if isinstance(whole, InBand) else rest.factors
                left = [p for k, p in enumerate(terms) if k not in (n, m)]
                return [*left, (Term(t.bound, tuple(sorted(factors, key=lambda f: f[0].key))), c)]
            others.append((n, b))
    return None


def _union(a: InBand, b: InBand) -> InBand | Constant | None:
    """The union of two bands of which one begins where the other one ends; None for any other two."""
    if (a.row, a.column) != (b.row, b.column):
        if (a.row, a.column) != (b.column, b.row):
            return None
        low, high = map(_negated, (b.high, b.low))
        b = InBand(low, high, a.row, a.column)
    for first, second in ((a, b), (b, a)):
        border = second.low
        if first.high is None or border is None or border != first.high + ONE:
            continue
        # A band whose bounds are the wrong way round is 0, and does not end where the other one begins.
        if (first.low is None or at_most(first.low, border)) and (
            second.high is None or at_most(first.high, second.high)
        ):
            return band(first.low, second.high, a.row, a.column) or None
    return None


def fixed_by(i: Interval) -> dict[str, Index] | None:
    """The value of an index variable, or of one digit of it, that an interval leaves (rule C4); None for others."""
    if i.high - i.low != ONE:
        return None
    match i.index:
        case Var(name, size):
            return {name: moved(INDEX_ZERO, i.low, size)}
        case Digit(Var(name, _) as v, before, size, after):
            above, below = digit(v, ONE, before, size * after), digit(v, before * size, after, ONE)
            return {name: radix((above, moved(INDEX_ZERO, i.low, size), below))}
        case _:
            return None


def digits_fixed_by(i: Index, low: Dim, high: Dim) -> list[tuple[Index, Dim, Dim]]:
    """One value of a number in mixed radix, as an interval of one value of each digit (rule S11).

    Empty for other intervals, and where the value or an extent is no number.
    """
    found: list[tuple[Index, Dim, Dim]] = []
    if not isinstance(i, Radix) or high - low != ONE:
        return found
    value = low.constant
    for part in reversed(i.parts):
        size = extent(part).constant
        if size is None or value is None:
            return []
        found.insert(0, (part, dim(value % size), dim(value % size + 1)))
        value //= size
    return found if value == 0 else []


def _common_band(old: InBand, new: InBand) -> InBand | Constant | None:
    """The intersection of two bands; None where it is not known to be a band."""
    if (new.row, new.column) == (old.row, old.column):
        low, high = new.low, new.high
    elif (new.column, new.row) == (old.row, old.column):
        low, high = map(_negated, (new.high, new.low))
    else:
        return None
    if low is not None and old.low is not None:
        low = _greater(low, old.low)
        if low is None:
            return None
    if high is not None and old.high is not None:
        high = _smaller(high, old.high)
        if high is None:
            return None
    low = old.low if low is None else low
    high = old.high if high is None else high
    if low is not None and high is not None and at_most(high + ONE, low):
        return 0
    return band(low, high, old.row, old.column)


def _negated(d: Dim | None) -> Dim | None:
    return None if d is None else ZERO - d


def _plus(d: Dim | None, by: Dim) -> Dim | None:
    return None if d is None else d + by


def _extent_product(parts: Sequence[Index]) -> Dim:
    return prod((extent(p) for p in parts), start=ONE)


def canonical_band(low: Dim | None, high: Dim | None, row: Index, column: Index) -> InBand:
    """A band, by the smaller one of its two equivalent formulas (rule D2)."""
    below, above = map(_negated, (high, low))
    here, there = _texts(low, high), _texts(below, above)
    if there < here or (there == here and column.key < row.key):
        return InBand(below, above, column, row)
    return InBand(low, high, row, column)


def _texts(low: Dim | None, high: Dim | None) -> tuple[str, str]:
    return "" if low is None else str(low), "" if high is None else str(high)


Case: TypeAlias = tuple[Interval, tuple[tuple[tuple[Term, Number], ...], ...]]
"""An interval, and of each form the terms that apply there, without the interval's factor."""


def split_cases(forms: Sequence[NormalForm], names: frozenset[str], only: Index | None = None) -> list[Case] | None:
    """Forms by cases of one index: intervals that partition its dim, and the terms of each form there (rule F5).

    Args:
        forms: some of them guarded.
        names: indices that must not occur in the intervals.
        only: the index that is split, if it is given.

    Returns:
        None where there is no such index, or where the borders of its intervals are not provably ordered.
    """
    found: dict[str, list[Interval]] = {}
    for n in forms:
        for t, _ in n.terms:
            for i in _guarding_intervals(t):
                if i.free.isdisjoint(names) and (only is None or i.index == only):
                    found.setdefault(i.index.key, []).append(i)
    for key in sorted(found):
        cut = _split_by_index(forms, found[key])
        if cut is not None:
            return cut
    return None


def _intervals_of(t: Term) -> list[Interval]:
    if not t.guarded:
        return []
    bound = {v.name for v in t.bound}
    return [a for a, _ in t.factors if isinstance(a, Interval) and a.free.isdisjoint(bound)]


def _guarding_intervals(t: Term) -> list[Interval]:
    """The intervals of a term, or of the `keep` of a masked term."""
    keep = _mask_of(t)
    return _intervals_of(t) if keep is None else [i for inner, _ in keep.terms for i in _intervals_of(inner)]


def _mask_of(t: Term) -> NormalForm | None:
    """The `keep` of a masked term that is by cases; None for any other term."""
    if not (t.masked and t.guarded):
        return None
    return next(a.keep for a, _ in t.factors if isinstance(a, Bottom))


def _split_by_index(forms: Sequence[NormalForm], found: Sequence[Interval]) -> list[Case] | None:
    i = found[0].index
    borders = {str(d): d for d in (ZERO, extent(i), *(d for f in found for d in (f.low, f.high)))}
    chain = sorted(borders.values(), key=cmp_to_key(lambda a, b: -1 if at_most(a, b) else 1))
    if not _are_ordered(chain) or (chain[0], chain[-1]) != (ZERO, extent(i)):
        return None
    place = {str(d): n for n, d in enumerate(chain)}
    out: list[Case] = []
    for n, (low, high) in enumerate(pairwise(chain)):
        here: list[tuple[tuple[Term, Number], ...]] = []
        for form in forms:
            kept: list[tuple[Term, Number]] = []
            for t, c in form.terms:
                keep = _mask_of(t)
                inside = _term_in_case((t, c), i, place, n) if keep is None else _mask_in_case(keep, i, place, n)
                if inside is None:
                    return None
                kept += inside
            here.append(tuple(kept))
        out.append((Interval(i, low, high), tuple(here)))
    return out


def _term_in_case(
    of: tuple[Term, Number], i: Index, place: Mapping[str, int], n: int
) -> list[tuple[Term, Number]] | None:
    """A term in the n-th case, without its interval; None where it has two."""
    t, c = of
    own = [g for g in _intervals_of(t) if g.index == i]
    if len(own) > 1:
        return None
    if not own:
        return [of]
    if not place[str(own[0].low)] <= n < place[str(own[0].high)]:
        return []
    return [(Term(t.bound, tuple(f for f in t.factors if f[0] != own[0])), c)]


def _mask_in_case(keep: NormalForm, i: Index, place: Mapping[str, int], n: int) -> list[tuple[Term, Number]] | None:
    """The mask in the n-th case; None where that is no single term."""
    found: list[tuple[Term, Number]] = []
    for p in keep.terms:
        inside = _term_in_case(p, i, place, n)
        if inside is None:
            return None
        found += inside
    if len(found) > 1 and len(found) != len(keep.terms):
        return None
    if [t for t, _ in found] == [UNIT]:
        return []
    return [(Term((), ((Bottom(NormalForm(tuple(found))), 1),)), 1)]


def merge_adjacent(terms: Sequence[tuple[Term, Number]], known: Sequence[Dim]) -> list[tuple[Term, Number]] | None:
    """Merge two terms that differ only by adjacent intervals (rule C2); None where there are none.

    Args:
        terms: the terms of a sum.
        known: sizes that are positive integers by the conditions of a proof.
    """
    seen: dict[tuple[str, str, Number], list[tuple[int, Interval, Term]]] = {}
    for n, (t, c) in enumerate(terms):
        for g in _intervals_of(t) if not t.masked else ():
            rest = Term(t.bound, tuple(f for f in t.factors if f[0] != g))
            others = seen.setdefault((rest.key, g.index.key, c), [])
            for m, other, _ in others:
                first, second = (g, other) if g.high == other.low else (other, g)
                if first.high != second.low or not _are_ordered((first.low, first.high, second.high), known):
                    continue
                whole = interval(g.index, first.low, second.high)
                left = [p for k, p in enumerate(terms) if k not in (n, m)]
                if whole == 0:
                    return left
                factors = rest.factors if whole == 1 else (*rest.factors, (whole, 1))
                return [*left, (Term(t.bound, tuple(sorted(factors, key=lambda f: f[0].key))), c)]
            others.append((n, g, rest))
    return None
