"""Sums over a product's right operand, made while the product reads it.

A body may read a tile twice: once for a product, and once to sum something of its columns along k, such as the squares
of keys that are normalised. The product has every vector of the tile in a register anyway, so such a sum rides along:
one more row of partial sums, and no second way through the tile. It is the same sum, of the same terms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from prism_explore.codegen.cpu.loop_ir import (
    Apply,
    Constant,
    Contract,
    Expression,
    Fold,
    Place,
    Range,
    Read,
    Statement,
    Within,
)
from prism_explore.codegen.cpu.matmul_microkernels import Dot, extents, joined
from prism_explore.codegen.cpu.passes.bf16_operands import are_pairs


@dataclass(frozen=True, slots=True)
class Ride:
    """A sum that a product may take along."""

    position: int
    """Where it stands in its section: right before the product or right behind it."""
    fold: Fold
    """The sum in the product's variables."""


def rides(section: tuple[Statement, ...]) -> Mapping[int, Ride]:
    """For the products of a section, by position, the sum beside each that may ride along."""
    found: dict[int, Ride] = {}
    for position, c in enumerate(section):
        for at in (position - 1, position + 1):
            s = section[at] if isinstance(c, Contract) and 0 <= at < len(section) else None
            if isinstance(s, Fold) and isinstance(c, Contract) and at not in {ride.position for ride in found.values()}:
                moved = _along_with(s, c)
                if moved is not None:
                    found.setdefault(position, Ride(at, moved))
    return found


def may_ride(c: Contract, how: object) -> bool:
    """Whether a product that is blocked like this meets every vector of its right operand once."""
    return isinstance(how, Dot) and not how.pairs and how.mr >= c.m.extent


def _along_with(s: Fold, c: Contract) -> Fold | None:
    """The sum in the product's variables, if it is one over the product's right operand."""
    e = extents(c)
    if s.join != "sum" or not e.is_dot or are_pairs(c) or len(joined(c)) > 1 or e.k % 16:
        return None
    places = set(_places(s.value) or ())
    if len(places) != 1 or s.target.buffer.root in {p.buffer.root for p in (c.left, c.right, c.target)}:
        return None
    (place,) = places
    names = _renaming(s, place, c)
    if names is None or not _same(place.renamed(names), c.right):
        return None
    domain = tuple(Range(names.get(r.name, r.name), r.extent) for r in s.domain)
    along = tuple(names[name] for name in s.along if name in names)
    return replace(s, domain=domain, along=along, target=s.target.renamed(names), value=_of(c.right, s.value))


def _places(value: Expression) -> tuple[Place, ...] | None:
    """What is read; None where a value depends on more than what it reads."""
    match value:
        case Read(place):
            return (place,)
        case Constant():
            return ()
        case Within():
            return None
        case Apply(_, args):
            parts = [_places(a) for a in args]
            return None if None in parts else tuple(p for part in parts for p in part or ())


def _renaming(s: Fold, place: Place, c: Contract) -> dict[str, str] | None:
    """Which variable of the product each of the sum's is; None where they do not run over the same."""
    wide = [r for r in s.domain if r.extent > 1]
    mine = {r.name: r for r in (*c.batch, c.n, *c.k) if r.extent > 1}
    ks = {r.name for r in c.k}
    names: dict[str, str] = {}
    for r in wide:
        like = (
            name
            for name, other in mine.items()
            if name not in names.values()
            and other.extent == r.extent
            and c.right.stride(name) == place.stride(r.name) != 0
            and (name in ks) == (r.name in s.along)
        )
        if (name := next(like, None)) is None:
            return None
        names[r.name] = name
    return names if len(names) == len(mine) else None


def _same(a: Place, b: Place) -> bool:
    """Whether two places are the same for all values of their variables."""
    variables = {*a.variables, *b.variables}
    return a.buffer == b.buffer and a.offset == b.offset and all(a.stride(v) == b.stride(v) for v in variables)


def _of(place: Place, value: Expression) -> Expression:
    """The value with this place for the only one that it reads."""
    match value:
        case Read():
            return Read(place)
        case Apply(fn, args):
            return Apply(fn, tuple(_of(place, a) for a in args))
        case Constant() | Within():
            return value
