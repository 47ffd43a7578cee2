"""Maxima over bound indices, and running maxima over a loop: rules M1 to M6 and L2.

A maximum has operands; each is a form at all values of its own bound indices. Nested maxima are flattened: max(max_k a,
b) has the operands a, with the bound index k, and b.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from prism_explore.ir.dims import ONE, ZERO, Dim
from prism_explore.verify.normal_form import index
from prism_explore.verify.normal_form.bound_names import Collapsed, OpenOperand
from prism_explore.verify.normal_form.compare import drop_dominated
from prism_explore.verify.normal_form.forms import (
    NF_ZERO,
    UNIT,
    Factor,
    Max,
    MaxOperand,
    NormalForm,
    Number,
    Opaque,
    Prime,
    Running,
    Size,
    Term,
    single,
)
from prism_explore.verify.normal_form.functions import max_by_definition
from prism_explore.verify.normal_form.index import MOVED, Index, Var, Zero, moved
from prism_explore.verify.normal_form.indicators import is_part, split_cases
from prism_explore.verify.normal_form.order import greatest
from prism_explore.verify.normal_form.powers import content, divide_out
from prism_explore.verify.normal_form.ring import Ring
from prism_explore.verify.normal_form.sums import fuse, indices_of_form, offset_range, split

MOST_BY_ORDER = 3
"""The largest number of operands whose maximum is spelled out by their order."""


@dataclass(frozen=True, slots=True)
class _PartialOperand:
    """An operand over an interval of a dim, with its index shifted so that it runs over the full dim."""

    at: int
    """Its position among the operands."""
    full: Var
    """The dim's index."""
    over: tuple[Var, ...]
    """Its bound indices, the dim's among them."""
    inner: NormalForm
    low: Dim
    high: Dim
    """The bounds of the interval."""


def maximum(ring: Ring, operands: Sequence[OpenOperand]) -> NormalForm:
    """The greatest value of any operand; bound names are fresh ones."""
    flat = _flatten(ring, operands)
    if any(n.guarded for _, n in flat):
        names = frozenset(v.name for bound, _ in flat for v in bound)
        cut = split_cases([n for _, n in flat], names)
        if cut is not None:
            found: list[tuple[NormalForm, NormalForm]] = []
            for where, here in cut:
                operands_here = [(bound, ring.collect(terms)) for (bound, _), terms in zip(flat, here, strict=True)]
                found.append((ring.indicator(where), maximum(ring, operands_here)))
            return ring.piecewise(found)
    while (merged_operands := _merge_adjacent(ring, flat)) is not None:
        flat = merged_operands
    if len(flat) > 1:
        flat = drop_dominated(ring, flat)
    shared, flat = _common_summands(ring, flat)
    g, outside, flat = _common_factors(ring, flat)
    if g == 1 and not outside:
        return ring.add(shared, _close(ring, flat))
    return ring.add(shared, ring.mul(ring.term((), outside, g), maximum(ring, flat)))


def running(ring: Ring, v: Var, inner: NormalForm, at: Index) -> NormalForm:
    """The greatest value of `inner` for v up to and including `at`; v is a fresh name."""
    if v.name not in inner.free:
        return inner
    if at == last_index(v.extent):
        return maximum(ring, [((v,), inner)])
    shared, flat = _common_summands(ring, [((v,), inner)])
    g, outside, flat = _common_factors(ring, flat)
    ((_, left),) = flat
    name = Var(f"b{left.height + 1}.0", v.extent)
    atom = Running(name, ring.rename_form(left, {v.name: name}), at)
    return ring.add(shared, ring.term((), [*outside, (atom, 1)], g))


def last_index(size: index.Dim) -> Index:
    """The greatest index of a dim."""
    return moved(Zero(), size - ONE, size)


def _flatten(ring: Ring, operands: Sequence[OpenOperand]) -> list[OpenOperand]:
    """Rule M1: one level of operands, with adjacent indices fused and unused ones dropped."""
    flat: list[OpenOperand] = []
    pending = list(reversed(operands))
    while pending:
        bound, n = pending.pop()
        ring.spend(1 + len(n.terms))
        bound = tuple(v for v in bound if v.name in n.free)
        inside = _nested(ring, bound, n) or _by_intervals(ring, bound, n)
        if inside is not None:
            pending += inside
            continue
        step = (fuse(bound, indices_of_form(n)) or split(bound, indices_of_form(n))) if bound else None
        if step is not None:
            by, sizes = step
            new = {old: ring.fresh_index(Var(old, size)) for old, size in sizes.items() if size != ONE}
            by_new = {v: ring.substitute_index(i, {**new}) for v, i in by.items()}
            left = tuple(v for v in bound if v.name not in by)
            pending.append(((*left, *new.values()), ring.substitute(n, by_new)))
            continue
        flat.append((bound, n))
    return flat


def _nested(ring: Ring, bound: tuple[Var, ...], n: NormalForm) -> list[OpenOperand] | None:
    """The operands of a form that is itself a maximum."""
    if len(n.terms) != 1 or n.terms[0][1] != 1 or n.terms[0][0].bound or len(n.terms[0][0].factors) != 1:
        return None
    ((a, e),) = n.terms[0][0].factors
    if e != 1:
        return None
    match a:
        case Max(operands):
            opened = (ring.open_operand(p) for p in operands)
            return [((*bound, *more), inner) for more, inner in opened]
        case Opaque("relu", (inner,)):
            return [(bound, inner), ((), NF_ZERO)]
        case Running(v, inner, Var(name, _)) if name not in inner.free and any(w.name == name for w in bound):
            fresh = ring.fresh_index(v)
            left = tuple(w for w in bound if w.name != name)
            return [((*left, fresh), ring.rename_form(inner, {v.name: fresh}))]
        case _:
            return None


def _by_intervals(ring: Ring, bound: tuple[Var, ...], n: NormalForm) -> list[OpenOperand] | None:
    """Rule S6 for maxima: over a dim that intervals partition, one operand per interval."""
    if not n.guarded or not bound:
        return None
    for v in bound:
        names = frozenset(w.name for w in bound if w is not v)
        cut = split_cases([n], names, only=v)
        if cut is None or not all(is_part(i.low, i.high, v.extent, ring.integers) for i, _ in cut):
            continue
        out: list[OpenOperand] = []
        for where, (terms,) in cut:
            size = where.high - where.low
            fresh = ring.fresh_index(Var("k", size))
            here = moved(fresh if size != ONE else Zero(), where.low, v.extent)
            inner = ring.substitute(ring.collect(terms), {v.name: here})
            out.append(((*(w for w in bound if w is not v), *((fresh,) if size != ONE else ())), inner))
        return out
    return None


def _merge_adjacent(ring: Ring, flat: list[OpenOperand]) -> list[OpenOperand] | None:
    """Rule M5: merge two operands over adjacent intervals of a dim; None where there are none."""
    if sum(bool(bound) and MOVED in n.key for bound, n in flat) < 2:
        return None
    seen: list[_PartialOperand] = []
    for at, (bound, n) in enumerate(flat):
        for v in bound:
            place = offset_range(v, indices_of_form(n, bare=False))
            if place is None:
                continue
            low, size = place
            full = ring.fresh_index(Var(v.name, size))
            with suppress(Collapsed):
                shifted = ring.rename_form(n, {v.name: moved(full, ZERO - low, v.extent)})
                over = tuple(full if w is v else w for w in bound)
                own = _PartialOperand(at, full, over, shifted, low, low + v.extent)
                for other in seen:
                    if other.at == at or (own.low != other.high and other.low != own.high):
                        continue
                    both = _holds_on_both(ring, own, other, flat)
                    if both is not None:
                        start, stop = (other.low, own.high) if other.high == own.low else (own.low, other.high)
                        here = ring.fresh_index(Var("k", stop - start))
                        inner = ring.substitute(both.inner, {both.full.name: moved(here, start, size)})
                        merged = tuple(here if w is both.full else w for w in both.over)
                        return [(merged, inner), *(p for k, p in enumerate(flat) if k not in (at, other.at))]
                seen.append(own)
    return None


def _holds_on_both(
    ring: Ring, a: _PartialOperand, b: _PartialOperand, flat: Sequence[OpenOperand]
) -> _PartialOperand | None:
    """The one of two operands that equals each on its interval, where a band may lack a bound that it implies."""
    if ring.close_operand(a.over, a.inner) == ring.close_operand(b.over, b.inner):
        return a
    for one, other in ((a, b), (b, a)):
        here = ring.fresh_index(Var("k", other.high - other.low))
        placed = ring.substitute(one.inner, {one.full.name: moved(here, other.low, one.full.extent)})
        over = tuple(here if w is one.full else w for w in one.over)
        if ring.close_operand(over, placed) == ring.close_operand(*flat[other.at]):
            return one
    return None


def _common_summands(ring: Ring, flat: list[OpenOperand]) -> tuple[NormalForm, list[OpenOperand]]:
    """Rule M2: the common summands of all operands, and the operands without them."""
    first, *others = flat
    common: list[tuple[Term, Number]] = []
    for t, c in first[1].terms:
        if not t.free.isdisjoint(v.name for v in first[0]):
            continue
        if all(any(t == u and c == d for u, d in n.terms) for _, n in others):
            common.append((t, c))
    if not common or all(len(n.terms) == len(common) for _, n in flat):
        return (flat[0][1], [((), NF_ZERO)]) if common else (NF_ZERO, flat)
    keys = {t.key for t, _ in common}
    rest = [(bound, NormalForm(tuple(p for p in n.terms if p[0].key not in keys))) for bound, n in flat]
    return NormalForm(tuple(common)), rest


def _common_factors(ring: Ring, flat: list[OpenOperand]) -> tuple[Number, tuple[Factor, ...], list[OpenOperand]]:
    """Rule M3: a number and the common factors of all operands, and the operands without them."""
    terms = [p for _, n in flat for p in n.terms if not p[0].masked]
    if not terms:
        return 1, (), flat
    names = {v.name for bound, _ in flat for v in bound}
    g, common = content(terms, roots=True, names=names)
    g = abs(g)
    if len(terms) < sum(len(n.terms) for _, n in flat):
        common = tuple((a, e) for a, e in common if isinstance(a, Size | Prime))
    if g == 1 and not common:
        return 1, (), flat
    return g, common, [(bound, divide_out(ring, n, g, common)) for bound, n in flat]


def _close(ring: Ring, flat: list[OpenOperand]) -> NormalForm:
    """The maximum of operands without common parts (rule M4)."""
    closed = {p.key: p for p in (ring.close_operand(bound, n) for bound, n in flat)}
    numbers = [p.inner.terms[0][1] if p.inner.terms else 0 for p in closed.values() if _is_number(p.inner)]
    others = [p for p in closed.values() if not _is_number(p.inner)]
    if numbers and not (max(numbers) <= 0 and any(p.inner.sign for p in others)):
        others.append(MaxOperand((), ring.constant(max(numbers))))
    if len(others) == 1 and not others[0].bound:
        return others[0].inner
    if 2 <= len(others) <= MOST_BY_ORDER and ring.expand_definitions and not any(p.inner.masked for p in others):
        values = [single(Max((p,))) if p.bound else p.inner for p in others]
        if ring.by_order:
            return greatest(ring, sorted(values))
        if len(others) == 2:
            return max_by_definition(ring, *values)
    if len(others) == 2 and not any(p.bound or p.inner.masked for p in others):
        a, b = (p.inner for p in others)
        if not b.terms or not a.terms:
            return ring.apply("relu", a if a.terms else b)
        if a == ring.scale(b, -1):
            return ring.apply("abs", a)
    return ring.term((), [(Max(tuple(sorted(others))), 1)], 1)


def _is_number(n: NormalForm) -> bool:
    return not n.terms or (len(n.terms) == 1 and n.terms[0][0] == UNIT)
