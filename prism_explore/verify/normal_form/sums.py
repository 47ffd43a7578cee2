"""Sums over indices: rules S3 to S8, S10, S11 and D5, and the analysis of index occurrences that says where they apply.

Rules S3 (fuse indices) and S4 (split an index) replace bound indices by others that correspond to them one to one, so
they hold for every summand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import TypeAlias, assert_never

from prism_explore.ir.dims import ONE, ZERO, Dim, dim
from prism_explore.support.union_find import UnionFind
from prism_explore.verify.normal_form import index
from prism_explore.verify.normal_form.bound_names import Collapsed
from prism_explore.verify.normal_form.forms import (
    NF_ZERO,
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
    Running,
    Size,
    Term,
    number,
)
from prism_explore.verify.normal_form.index import (
    MOVED,
    Digit,
    Index,
    Looked,
    Moved,
    Radix,
    Var,
    Zero,
    collect_digits,
    digit,
    digit_borders,
    moved,
    radix,
)
from prism_explore.verify.normal_form.indicators import band, digits_fixed_by, interval, is_part
from prism_explore.verify.normal_form.ring import Ring
from prism_explore.verify.normal_form.size_facts import quotient

MOST_DIAGONALS = 16
"""The most diagonals by which a band differs from the one that takes its place in a sum (rule D5)."""


def components(bound: Sequence[Var], factors: Sequence[Factor]) -> list[tuple[tuple[Var, ...], tuple[Factor, ...]]]:
    """Factors in groups that share bound indices; those without bound indices are one group."""
    linked = UnionFind(v.name for v in bound)
    uses = [[v.name for v in bound if v.name in a.free] for a, _ in factors]
    for used in uses:
        for name in used[1:]:
            linked.union(used[0], name)
    groups: dict[str | None, list[Factor]] = {}
    for f, used in zip(factors, uses, strict=True):
        groups.setdefault(linked.find(used[0]) if used else None, []).append(f)
    return [(tuple(v for v in bound if linked.find(v.name) == root), tuple(inside)) for root, inside in groups.items()]


def indices(a: Atom, bare: bool = True) -> Iterator[Index]:
    """Every index in an atom, nested ones too; the variables of a band only where `bare`."""
    match a:
        case Read(_, indices):
            yield from indices
        case Exp(term):
            yield from _indices_of_term(term, bare)
        case Group(inner) | Bottom(inner):
            yield from indices_of_form(inner, bare)
        case Opaque(_, args):
            for n in args:
                yield from indices_of_form(n, bare)
        case InBand(_, _, row, column):
            yield from (i for i in (row, column) if bare or not isinstance(i, Var))
        case Interval(i, _, _):
            yield i
        case Max(operands):
            for p in operands:
                yield from indices_of_form(p.inner, bare)
        case Running(_, inner, at):
            yield from indices_of_form(inner, bare)
            yield at
        case Size() | Prime():
            pass
        case _:
            assert_never(a)


def indices_of_form(n: NormalForm, bare: bool = True) -> Iterator[Index]:
    """Every index in a form; as for an atom."""
    for t, _ in n.terms:
        yield from _indices_of_term(t, bare)


def _indices_of_term(t: Term, bare: bool) -> Iterator[Index]:
    for a, _ in t.factors:
        yield from indices(a, bare)


Step: TypeAlias = tuple[dict[str, Index], dict[str, Dim]]
"""Bound indices to replace, by what, and the new indices' extents."""


def indices_of(factors: Iterable[Factor], bare: bool = True) -> Iterator[Index]:
    """Every index in a product; as for an atom."""
    for a, _ in factors:
        yield from indices(a, bare)


def fuse(bound: Sequence[Var], places: Iterable[Index]) -> Step | None:
    """Rule S3 for the first two indices a, b that occur in `places` only as adjacent parts of a number."""
    extents = {v.name: v.extent for v in bound}
    after: dict[str, set[str | None]] = {}
    before: dict[str, set[str | None]] = {}

    for i in places:
        if not i.free.isdisjoint(extents):
            _collect_neighbours(i, extents, after, before)
    for a, followers in after.items():
        if len(followers) != 1:
            continue
        (b,) = followers
        if b is None or b == a or before[b] != {a}:
            continue
        full = extents[a] * extents[b]
        k = Var("k", full)
        return {a: digit(k, ONE, extents[a], extents[b]), b: digit(k, extents[a], extents[b], ONE)}, {"k": full}
    return None


def _collect_neighbours(
    i: Index, extents: Mapping[str, Dim], after: dict[str, set[str | None]], before: dict[str, set[str | None]]
) -> None:
    """Collect the parts after and before each of these variables in a number; None for any other part."""
    match i:
        case Var(name, _):
            if name in extents:
                after.setdefault(name, set()).add(None)
                before.setdefault(name, set()).add(None)
        case Radix(parts):
            names = [p.name if isinstance(p, Var) and p.name in extents else None for p in parts]
            for n, p in enumerate(parts):
                if isinstance(p, Digit | Moved | Looked):
                    _collect_neighbours(p, extents, after, before)
                elif (name := names[n]) is not None:
                    after.setdefault(name, set()).add(names[n + 1] if n + 1 < len(names) else None)
                    before.setdefault(name, set()).add(names[n - 1] if n else None)
        case Digit(base, _, _, _) | Moved(base, _, _):
            _collect_neighbours(base, extents, after, before)
        case Looked(_, indices, _):
            for p in indices:
                _collect_neighbours(p, extents, after, before)
        case Zero():
            pass
        case _:
            assert_never(i)


def split(bound: Sequence[Var], places: Iterable[Index]) -> Step | None:
    """Rule S4 for the first index that occurs in `places` as digits, if their borders form a chain."""
    extents = {v.name: v.extent for v in bound}
    digits: dict[str, dict[str, Digit]] = {}

    for i in places:
        if not i.free.isdisjoint(extents):
            collect_digits(i, digits)
    for name, found in digits.items():
        if name not in extents:
            continue
        chain = digit_borders(found.values(), extents[name])
        parts = [quotient(y, x) for x, y in pairwise(chain)]
        if not parts or None in parts:
            continue
        sizes = {f"k{n}": size for n, size in enumerate(parts) if size is not None}
        return {name: radix([index.var(k, size) for k, size in sizes.items()])}, sizes
    return None


def offset_range(v: Var, places: Iterable[Index]) -> tuple[Dim, Dim] | None:
    """The offset of the range of v in a dim, and the size of the dim; None where v also occurs without an offset."""
    found: set[tuple[Dim, Dim]] = set()

    if not all(_is_moved(i, v.name, found) for i in places if v.name in i.free) or len(found) != 1:
        return None
    return found.pop()


def _is_moved(i: Index, name: str, found: set[tuple[Dim, Dim]]) -> bool:
    """Whether a variable occurs in an index with an offset only; offsets and dim sizes are added to `found`."""
    match i:
        case Moved(Var(other, _), by, size) if other == name:
            found.add((by, size))
            return True
        case Var(other, _):
            return other != name
        case Radix(parts) | Looked(_, parts, _):
            return all(_is_moved(p, name, found) for p in parts)
        case Digit(base, _, _, _) | Moved(base, _, _):
            return _is_moved(base, name, found)
        case Zero():
            return True
        case _:
            assert_never(i)


# ---------------------------------------------------------------- sums over adjacent parts of a dim
@dataclass(frozen=True, slots=True)
class _PartialSum:
    """A sum over an interval of a dim, with its index shifted so that it runs over the full dim."""

    term: int
    """Its position among the terms."""
    full: Var
    """The dim's index."""
    over: tuple[Var, ...]
    """All indices of the sum, the dim's among them."""
    factors: tuple[Factor, ...]
    low: Dim
    high: Dim
    """The bounds of the interval."""

    def is_adjacent_to(self, other: _PartialSum) -> bool:
        """Whether the intervals of two terms are adjacent."""
        return self.term != other.term and (self.high == other.low or other.high == self.low)


def merge_adjacent_sums(ring: Ring, terms: Sequence[tuple[Term, Number]]) -> list[tuple[Term, Number]] | None:
    """Merge two sums over adjacent intervals of a dim (rules S6, C2); None where there are none."""
    seen: dict[tuple[str, Number], list[_PartialSum]] = {}
    for n, (t, c) in enumerate(terms):
        if not t.bound or MOVED not in t.key:
            continue
        bound, factors = ring.open_term(t)
        for v in bound:
            place = offset_range(v, indices_of(factors, bare=False))
            if place is None:
                continue
            low, size = place
            full = Var(ring.fresh_index(v).name, size)
            with suppress(Collapsed):
                shifted = [(ring.rename(a, {v.name: moved(full, ZERO - low, v.extent)}), e) for a, e in factors]
                over = tuple(full if w is v else w for w in bound)
                own = _PartialSum(n, full, over, tuple(shifted), low, low + v.extent)
                without_bands = [f for f in shifted if not isinstance(f[0], InBand)]
                similar = seen.setdefault((ring.close(over, without_bands).key, c), [])
                for other in similar:
                    both = _holds_on_both(ring, own, other, terms) if own.is_adjacent_to(other) else None
                    if both is None:
                        continue
                    start, stop = (own.low, other.high) if own.high == other.low else (other.low, own.high)
                    inside = interval(both.full, start, stop)
                    more: list[Factor] = [(inside, 1)] if isinstance(inside, Interval) else []
                    left = [p for k, p in enumerate(terms) if k not in (n, other.term)]
                    return [*left, *ring.term(both.over, [*both.factors, *more], c).terms]
                similar.append(own)
    return None


def _holds_on_both(
    ring: Ring, a: _PartialSum, b: _PartialSum, terms: Sequence[tuple[Term, Number]]
) -> _PartialSum | None:
    """The one of two sums that equals each on its interval, where a band may lack a bound that the interval implies."""
    if ring.close(a.over, a.factors) == ring.close(b.over, b.factors):
        return a
    for one, other in ((a, b), (b, a)):
        here = Var(ring.fresh_index(other.full).name, other.high - other.low)
        placed = ring.substitute_factors(one.factors, {one.full.name: moved(here, other.low, one.full.extent)})
        for w in one.over:
            placed = ring.sum(placed, here if w is one.full else w)
        if placed == NormalForm(((terms[other.term][0], 1),)):
            return one
    return None


# ---------------------------------------------------------------- one sum in normal form
def canonical_sum(ring: Ring, bound: Sequence[Var], factors: list[Factor], coefficient: Number) -> NormalForm:
    """coefficient * Σ_bound Π factors: rules S3 to S8 where they apply, then canonical names."""
    free: set[str] = set()
    for a, _ in factors:
        free |= a.free
    unused = [v.extent for v in bound if v.name not in free]
    if unused:
        rest = ring.term([v for v in bound if v.name in free], factors, coefficient)
        return ring.mul(rest, ring.size(prod(unused, start=ONE)))
    names = {v.name: v for v in bound}
    for a, _ in factors:
        match a:
            case Interval(Var(name) as v, low, high) if name in names and is_part(low, high, v.extent, ring.integers):
                return _sum_over_interval(ring, bound, factors, coefficient, a, v)
            case Interval(Radix(parts) as i, low, high) if any(isinstance(p, Var) and p.name in names for p in parts):
                if digits := digits_fixed_by(i, low, high):
                    left = [f for f in factors if f[0] is not a]
                    return ring.term(bound, [*left, *((Interval(*d), 1) for d in digits)], coefficient)
            case _:
                pass
    if ring.by_order:
        spelled = spell_band(ring, bound, factors)
        if spelled is not None:
            return ring.scale(spelled, coefficient)
    step = fuse(bound, indices_of(factors)) or split(bound, indices_of(factors))
    if step is not None:
        by, sizes = step
        new = {old: ring.fresh_name() for old in sizes}
        by_new = {v: ring.substitute_index(i, {o: index.var(new[o], sizes[o]) for o in sizes}) for v, i in by.items()}
        inner = ring.substitute_factors(factors, by_new)
        for v in bound:
            if v.name not in by:
                inner = ring.sum(inner, v)
        for old, size in sizes.items():
            inner = ring.sum(inner, index.var(new[old], size))
        return ring.scale(inner, coefficient)
    merged_power = _merge_power(ring, bound, factors)
    if merged_power is not None:
        return ring.term(*merged_power, coefficient)
    return NormalForm(((ring.close(bound, factors), number(coefficient)),))


def spell_band(ring: Ring, bound: Sequence[Var], factors: Sequence[Factor]) -> NormalForm | None:
    """A sum over k with a band of k and of an index that is not summed (rules S10, D5); None where neither applies."""
    names = {v.name: v for v in bound}
    for at, (a, _) in enumerate(factors):
        if not isinstance(a, InBand):
            continue
        if (picked := _at_looked(ring, bound, factors, at, a)) is not None:
            return picked
        if not isinstance(a.row, Var) or not isinstance(a.column, Var):
            continue
        low, high, fixed, summed = a.low, a.high, a.row, a.column
        if summed.name not in names:
            low, high = (None if d is None else ZERO - d for d in (high, low))
            fixed, summed = summed, fixed
        if summed.name not in names or fixed.name in names:
            continue
        rest = [f for n, f in enumerate(factors) if n != at]
        over = [v for v in bound if v.name != summed.name]
        if low is not None and low == high:
            by = {summed.name: moved(fixed, low, summed.extent)}
            inside = ring.indicator(interval(fixed, ZERO - low, summed.extent - low))
            return _sum_all(ring, ring.mul(ring.substitute_factors(rest, by), inside), over)
        parts = _with_one_border(low, high)
        if parts is not None:
            total = NF_ZERO
            for sign, below, above in parts:
                inside = ring.mul(ring.term((), rest, 1), ring.indicator(band(below, above, fixed, summed)))
                # Each part is summed by itself, because rule D4 would merge the parts again.
                total = ring.add(total, ring.scale(_sum_all(ring, inside, bound), sign))
            return total
    return None


def _at_looked(ring: Ring, bound: Sequence[Var], factors: Sequence[Factor], at: int, a: InBand) -> NormalForm | None:
    """Rule S10 where a summed index equals a position that an integer input has in a dim of the same size."""
    for summed, place in ((a.row, a.column), (a.column, a.row)):
        if (
            isinstance(summed, Var)
            and isinstance(place, Looked)
            and a.low == a.high == ZERO
            and place.size == summed.extent
            and summed.name in {v.name for v in bound} - place.free
        ):
            rest = [f for n, f in enumerate(factors) if n != at]
            by: dict[str, Index] = {summed.name: place}
            return _sum_all(ring, ring.substitute_factors(rest, by), [v for v in bound if v.name != summed.name])
    return None


def _with_one_border(low: Dim | None, high: Dim | None) -> list[tuple[int, Dim | None, Dim | None]] | None:
    """A band that is open on one side as a sum, with signs, of the one with the border `high=0`, and of diagonals."""
    if low is not None:
        return [(1, None, None), (-1, None, low - ONE)] if high is None else None
    last = None if high is None else high.constant
    if last is None or not 0 < abs(last) <= MOST_DIAGONALS:
        return None
    if last > 0:
        return [(1, None, ZERO), *((1, d, d) for d in (dim(n) for n in range(1, int(last) + 1)))]
    return [(1, None, ZERO), *((-1, d, d) for d in (ZERO - dim(n) for n in range(int(-last))))]


def _sum_all(ring: Ring, n: NormalForm, over: Iterable[Var]) -> NormalForm:
    for v in over:
        n = ring.sum(n, v)
    return n


def _sum_over_interval(
    ring: Ring, bound: Sequence[Var], factors: list[Factor], coefficient: Number, where: Interval, v: Var
) -> NormalForm:
    """Rule S6: a sum with an interval as a factor, as a sum over the interval."""
    size = where.high - where.low
    here = index.var(ring.fresh_index(v).name, size)
    left = [f for f in factors if f[0] is not where]
    inner = ring.sum(ring.substitute_factors(left, {v.name: moved(here, where.low, v.extent)}), here)
    for w in bound:
        if w.name != v.name:
            inner = ring.sum(inner, w)
    return ring.scale(inner, coefficient)


def _merge_power(ring: Ring, bound: Sequence[Var], factors: list[Factor]) -> tuple[list[Var], list[Factor]] | None:
    """Rule S7: a sum times a negative power of itself; rule S8: times its power 0."""
    for group, e in factors:
        if not isinstance(group, Group) or e > 0 or len(group.inner.terms) != 1:
            continue
        wanted = _signature(group.inner.terms[0][0])
        others = [f for f in factors if f[0] is not group]
        for over, inside in components([v for v in bound if v.name not in group.free], others):
            if not over:
                continue
            if e < 0 and _signature_of(over, inside) == wanted and _is_sum(ring, group, over, inside):
                rest = [f for f in others if f not in inside]
                return [v for v in bound if v not in over], [*rest, (group, number(e + 1))]
            weights = tuple(f for f in inside if f[0].sign or (isinstance(f[1], int) and f[1] % 2 == 0))
            if e == 0 and group.sign and _signature_of(over, weights) == wanted and _is_sum(ring, group, over, weights):
                return list(bound), others
    return None


def _is_sum(ring: Ring, group: Group, over: Sequence[Var], factors: Sequence[Factor]) -> bool:
    if not all(any(v.name in a.free for a, _ in factors) for v in over):
        return False
    return NormalForm(((ring.close(over, factors), 1),)) == group.inner


def _signature(t: Term) -> str:
    return _signature_of(t.bound, t.factors)


def _signature_of(bound: Sequence[Var], factors: Sequence[Factor]) -> str:
    """A text that is equal for products that differ in names only."""
    kinds = sorted([f"{type(a).__name__}{len(a.free)}^{e}" for a, e in factors])
    return f"{len(bound)} {sorted([str(v.extent) for v in bound])} {kinds}"
