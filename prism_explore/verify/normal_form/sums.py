"""Sums over indices: what is joined, what is split, and what belongs together.

Rules S3 and S4 each replace bound indices by others that correspond to them one to one, so they hold
for every summand; here is when they are worth applying, and on what.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias, assert_never

from prism_explore.ir.dims import ONE, Dim
from prism_explore.support.union_find import UnionFind
from prism_explore.verify.normal_form import index
from prism_explore.verify.normal_form.forms import (
    Atom,
    Bottom,
    Exp,
    Factor,
    Group,
    InBand,
    Interval,
    Max,
    NormalForm,
    Opaque,
    Prime,
    Read,
    Running,
    Size,
    Term,
)
from prism_explore.verify.normal_form.index import (
    Digit,
    Index,
    Moved,
    Radix,
    Var,
    Zero,
    digit,
    divides,
    quotient,
    radix,
)


def components(bound: Sequence[Var], factors: Sequence[Factor]) -> list[tuple[tuple[Var, ...], tuple[Factor, ...]]]:
    """Factors in groups that share bound indices; those without any are one group, with none bound."""
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
    """Every index in an atom, nested ones too; a band's that are variables only if asked for `bare` ones."""
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
        case Max(pieces):
            for p in pieces:
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
    """Rule S3 for the first two indices a, b that occur in `places` only as neighbours in a number."""
    extents = {v.name: v.extent for v in bound}
    after: dict[str, set[str | None]] = {}
    before: dict[str, set[str | None]] = {}

    for i in places:
        if not i.free.isdisjoint(extents):
            _neighbours(i, extents, after, before)
    for a, followers in after.items():
        if len(followers) != 1:
            continue
        (b,) = followers
        if b is None or b == a or before[b] != {a}:
            continue
        whole = extents[a] * extents[b]
        k = Var("k", whole)
        return {a: digit(k, ONE, extents[a], extents[b]), b: digit(k, extents[a], extents[b], ONE)}, {"k": whole}
    return None


def _neighbours(
    i: Index, extents: Mapping[str, Dim], after: dict[str, set[str | None]], before: dict[str, set[str | None]]
) -> None:
    """What stands behind and before each of these variables in a number, None where no other of them does."""
    match i:
        case Var(name, _):
            if name in extents:
                after.setdefault(name, set()).add(None)
                before.setdefault(name, set()).add(None)
        case Radix(parts):
            names = [p.name if isinstance(p, Var) and p.name in extents else None for p in parts]
            for n, p in enumerate(parts):
                if isinstance(p, Digit | Moved):
                    _neighbours(p, extents, after, before)
                elif (name := names[n]) is not None:
                    after.setdefault(name, set()).add(names[n + 1] if n + 1 < len(names) else None)
                    before.setdefault(name, set()).add(names[n - 1] if n else None)
        case Digit(base, _, _, _) | Moved(base, _, _):
            _neighbours(base, extents, after, before)
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
            _digits(i, digits)
    for name, found in digits.items():
        if name not in extents:
            continue
        borders = {str(d): d for cut in found.values() for d in (cut.before, cut.before * cut.size)}
        inner = [d for d in borders.values() if d not in (ONE, extents[name])]
        inner.sort(key=lambda d: (-sum(divides(d, other) for other in inner), str(d)))
        chain = (ONE, *inner, extents[name])
        # The last part is the weight of an existing digit, so it is an integer wherever that digit is.
        if not all(divides(x, y) for x, y in pairwise(chain[:-1])):
            continue
        parts = [quotient(y, x) for x, y in pairwise(chain)]
        if None in parts:
            continue
        sizes = {f"k{n}": size for n, size in enumerate(parts) if size is not None}
        return {name: radix([index.var(k, size) for k, size in sizes.items()])}, sizes
    return None


def _digits(i: Index, found: dict[str, dict[str, Digit]]) -> None:
    """Per variable, its digits in an index, by their keys."""
    match i:
        case Radix(parts):
            for p in parts:
                _digits(p, found)
        case Digit(Var(name, _), _, _, _):
            found.setdefault(name, {})[i.key] = i
        case Digit(base, _, _, _) | Moved(base, _, _):
            _digits(base, found)
        case Zero() | Var():
            pass
        case _:
            assert_never(i)


def place_of(v: Var, places: Iterable[Index]) -> tuple[Dim, Dim] | None:
    """Where the piece lies over which v runs, and in a dim of which size; None where v is also read as it is."""
    found: set[tuple[Dim, Dim]] = set()

    if not all(_is_moved(i, v.name, found) for i in places if v.name in i.free) or len(found) != 1:
        return None
    return found.pop()


def _is_moved(i: Index, name: str, found: set[tuple[Dim, Dim]]) -> bool:
    """Whether a variable is nowhere in an index as it is; where it is moved to is added to what was found."""
    match i:
        case Moved(Var(other, _), by, size) if other == name:
            found.add((by, size))
            return True
        case Var(other, _):
            return other != name
        case Radix(parts):
            return all(_is_moved(p, name, found) for p in parts)
        case Digit(base, _, _, _) | Moved(base, _, _):
            return _is_moved(base, name, found)
        case Zero():
            return True
        case _:
            assert_never(i)
