"""Pass: inlining of tiles that only put values in another order: a reshape that merges dims, and a concat.

Input: a loop nest. Output: a loop nest without such tiles. A tile is inlined where maps write it, one statement of the
same section reads each of its elements once, and nothing in between changes what the maps read. The loops of both are
split until their indices of the tile are the same:

    t[r, 64*g + c] = s[r, g] * q[r, g, c]  for g<32, c<64
    out[r, 0] = sum over k<2048 of x[0, k] * t[r, k]
        becomes
    out[r, 0] = sum over k_<32, k<64 of x[0, 64*k_ + k] * s[r, k_] * q[r, k_, k]

Where several maps write equal parts of a tile, as for a concat, there is one reader per part, or one sum over the terms
of all parts. So two numbers that are unpacked from a byte are multiplied where they are unpacked.

A fold may then read an operand with steps of several elements along its vectors. Where the same elements are read
again, as for each row of a weight, the operand is first copied into the order of the fold.

A product of one row is a fold where maps write its right operand: each element of it is read once. Other products read
it from memory. They sum in any order, so where maps write every second column, both operands are in the order of the
maps instead.

Source: `compute_inline` of TVM (Chen et al., OSDI 2018).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise, product
from math import prod
from typing import Literal, TypeAlias, get_args

from prism_explore.codegen.cpu.layout import padded_strides
from prism_explore.codegen.cpu.loop_ir import (
    ONE,
    Affine,
    Apply,
    Buffer,
    Constant,
    Contract,
    Expression,
    Fold,
    LoopNest,
    Map,
    Place,
    Range,
    RangeTest,
    Read,
    Statement,
    places_accessed,
    places_read,
    substitute,
)
from prism_explore.ir.graph import fresh_name

Section: TypeAlias = Literal["once", "before", "body", "after"]

MOST_PARTS = 8
"""The most parts of a tile that are inlined."""
MOST_COPIED = 1 << 18
"""The most elements of an operand that is copied into the order of a fold."""
LEAST_READS = 4
"""How often each element of a copy is read at least."""
MOST_REPEATED = 3
"""What is read several times is computed each time if it takes at most so many operations of `CHEAP`."""
CHEAP = frozenset({"add", "sub", "mul", "neg", "floor", "max", "min", "positive", "nonnegative", "keep", "drop"})
"""Functions of one or two instructions."""


def inline_tiles(nest: LoopNest, *, hoist: bool = True) -> LoopNest:
    """The nest without tiles that only put values in another order.

    Args:
        nest: a nest.
        hoist: whether copies of operands that are the same for all blocks are made once per thread, not once per block.
    """
    names = _names(nest)
    for section in get_args(Section):
        for statement in getattr(nest, section):
            if isinstance(statement, Contract) and _may_be_fold(statement, nest):
                found = _inline_all(_with_fold(nest, section, statement), section, names, hoist=hoist)
                nest = nest if statement.right.buffer in found.scratch else found
        nest = _inline_all(nest, section, names, hoist=hoist)
        for statement in getattr(nest, section):
            if isinstance(statement, Contract):
                nest = _in_order_of_maps(nest, section, statement, names, hoist=hoist)
    while (found := _inline_one(nest, "once", names)) is not None:
        nest, _ = found
    return nest


def _may_be_fold(c: Contract, nest: LoopNest) -> bool:
    return c.m.extent == 1 and c.right.buffer in nest.scratch and any(r.extent > 1 for r in c.k)


def _with_fold(nest: LoopNest, section: Section, c: Contract) -> LoopNest:
    """The nest with a fold in place of a product."""
    fold = Fold(
        tuple(r for r in (*c.batch, c.m, c.n, *c.k) if r.extent > 1),
        tuple(r.name for r in c.k if r.extent > 1),
        c.target,
        Apply("mul", (Read(c.left), Read(c.right))),
        c.accumulates,
    )
    return replace(nest, **{section: tuple(fold if s is c else s for s in getattr(nest, section))})


def _inline_all(nest: LoopNest, section: Section, names: set[str], *, hoist: bool) -> LoopNest:
    """The nest without tiles of a section that can be inlined, and with copies of what folds then read."""
    folds: list[Fold] = []
    while (found := _inline_one(nest, section, names)) is not None:
        nest, readers = found
        folds = [s for s in (*folds, *readers) if isinstance(s, Fold) and s in getattr(nest, section)]
    for fold in folds:
        nest = _with_copies(nest, section, fold, names, hoist=hoist)
    return nest


def _names(nest: LoopNest) -> set[str]:
    """Those of all variables and buffers."""
    found = {r.name for r in (*nest.grid, *((nest.loop,) if nest.loop else ()))}
    for s in nest.statements:
        found |= {name for p in places_accessed(s) for name in (p.buffer.name, *p.variables)}
        found |= {r.name for r in ((*s.batch, s.m, s.n, *s.k) if isinstance(s, Contract) else s.domain)}
    return found


# ---------------------------------------------------------------- which tiles
def _inline_one(nest: LoopNest, section: Section, names: set[str]) -> tuple[LoopNest, list[Map | Fold]] | None:
    """The nest with one tile less, and the statements in place of its readers; None if there is no tile to inline."""
    statements: tuple[Statement, ...] = getattr(nest, section)
    for tile in nest.scratch:
        readers = _readers(nest, tile)
        maps = [s for s in statements if isinstance(s, Map) and s.target.buffer == tile and not s.accumulates]
        writers = sum(s.target.buffer == tile for s in nest.statements)
        if not readers or not maps or len(maps) != writers or any(r not in statements for r in readers):
            continue
        if any(_is_changed(statements, maps, r) for r in readers):
            continue
        reads = sum(p.buffer == tile for r in readers for p in places_read(r.value))
        if reads > 1 and not all(_is_cheap(m.value, MOST_REPEATED) for m in maps):
            continue
        found = {r: _inlined(r, tile, maps, names) for r in readers}
        if None in found.values():
            continue
        changed = chain.from_iterable(
            (found.get(s) or [s]) if isinstance(s, Map | Fold) else [s] for s in statements if s not in maps
        )
        scratch = tuple(b for b in nest.scratch if b != tile)
        nodes = tuple((name, node) for name, node in nest.nodes if name != tile.name)
        new = [s for some in found.values() for s in some or ()]
        return replace(nest, scratch=scratch, nodes=nodes, **{section: tuple(changed)}), new
    return None


def _readers(nest: LoopNest, tile: Buffer) -> list[Map | Fold]:
    """The fold or the maps that read a tile, each at one index; none where anything else reads it.

    Several maps are those of the parts of one tile.
    """
    reads = dict.fromkeys((s, p) for s in nest.statements for p in places_accessed(s)[1:] if p.buffer == tile)
    found = [s for s, _ in reads if isinstance(s, Map | Fold) and s.target.buffer != tile]
    is_one = len(found) == 1 or (len({s.target.buffer for s in found}) == 1 and all(isinstance(s, Map) for s in found))
    return found if is_one and len(set(found)) == len(reads) else []


def _is_cheap(value: Expression, most: int) -> bool:
    """Whether a value takes at most so many operations, all of them cheap."""
    applied = list(_applied(value))
    return len(applied) <= most and set(applied) <= CHEAP


def _applied(value: Expression) -> Iterator[str]:
    if isinstance(value, Apply):
        yield value.fn
        for a in value.args:
            yield from _applied(a)


def _is_changed(statements: Sequence[Statement], maps: Sequence[Map], reader: Statement) -> bool:
    """Whether the maps are not all before the reader, or a statement from the first on changes what they read."""
    first, at = min(statements.index(m) for m in maps), statements.index(reader)
    read = {p.buffer.root for m in maps for p in places_read(m.value)}
    return any(m in statements[at:] for m in maps) or any(
        s.target.buffer.root in read for s in statements[first : at + 1]
    )


# ---------------------------------------------------------------- equal indices
@dataclass(frozen=True, slots=True)
class _Digit:
    """A variable of an index, as a digit of a number: the index is the sum of steps times values."""

    variable: str
    step: int
    extent: int

    def affine(self, names: Mapping[int, str]) -> Affine:
        """The variable as a sum of the variables of finer digits, by their steps."""
        return tuple((names[s], s // self.step) for s in self.steps(names))

    def steps(self, names: Mapping[int, str]) -> list[int]:
        """The steps of the finer digits, largest first."""
        return [s for s in sorted(names, reverse=True) if self.step <= s < self.step * self.extent]


def _digits(index: Affine, domain: Sequence[Range], size: int, part: range) -> tuple[_Digit, ...] | None:
    """The variables of an index, and its constant as a digit without a variable where it is one of several.

    None unless it takes each value from 0 to `size` - 1 once, for all constants of `part`.
    """
    extents = {r.name: r.extent for r in domain}
    found = [_Digit(name, step, extents.get(name, 0)) for name, step in index if name != ONE]
    if len(part) > 1:
        found.append(_Digit(ONE, part.step, len(part)))
    found.sort(key=lambda x: x.step)
    ends = [1, *(x.step * x.extent for x in found)]
    return tuple(found) if ends[-1] == size and ends[:-1] == [x.step for x in found] else None


def _constants(maps: Sequence[Map]) -> tuple[list[tuple[int, ...]], list[range]]:
    """The constants in the index of each map's target, and those of each dim."""
    found = [tuple(sum(f for v, f in index if v == ONE) for index in m.target.index) for m in maps]
    parts: list[range] = []
    for of_dim in zip(*found, strict=True):
        first, *others = sorted({*of_dim})
        parts.append(range(first, max(of_dim) + 1, others[0] - first if others else 1))
    return found, parts


def _inlined(reader: Map | Fold, tile: Buffer, maps: Sequence[Map], names: set[str]) -> list[Map | Fold] | None:
    """The reader with what the maps compute in place of a tile; None where the indices have no common digits."""
    place = next(p for p in places_read(reader.value) if p.buffer == tile)
    constants, parts = _constants(maps)
    if sorted(constants) != sorted(product(*parts)) or len(maps) > MOST_PARTS:
        return None
    dims = list(enumerate(tile.shape))
    read = [_digits(place.index[d], reader.domain, size, range(1)) for d, size in dims]
    written = [[_digits(m.target.index[d], m.domain, size, parts[d]) for d, size in dims] for m in maps]
    if not _has_all(read, reader.domain) or not all(_has_all(w, m.domain) for w, m in zip(written, maps, strict=True)):
        return None
    by_reader: dict[str, Affine] = {}
    by_map: list[dict[str, Affine]] = [{} for _ in maps]
    ranges: dict[str, tuple[Range, ...]] = {}
    unrolled: list[tuple[Range, int, int]] = []
    for d, size in dims:
        own, others = read[d] or (), [w[d] or () for w in written]
        steps = sorted({1, size, *(x.step for x in chain(own, *others))})
        if any(above % step for step, above in pairwise(steps)):
            return None
        digits: dict[int, str] = {}
        for step in steps[:-1]:
            x = next(x for x in own if x.step <= step < x.step * x.extent)
            digits[step] = x.variable if step == x.step else fresh_name(f"{x.variable}_", names)
        extents = {step: above // step for step, above in pairwise(steps)}
        for x in own:
            by_reader[x.variable] = x.affine(digits)
            ranges[x.variable] = tuple(Range(digits[s], extents[s]) for s in x.steps(digits))
        for by, w in zip(by_map, others, strict=True):
            by.update({x.variable: x.affine(digits) for x in w if x.variable != ONE})
        part = next((x for x in others[0] if x.variable == ONE), None)
        unrolled += [(Range(digits[s], extents[s]), d, s) for s in (part.steps(digits) if part else ())]
    split = _split(reader, by_reader, ranges)
    at = next(p for p in places_read(split.value) if p.buffer == tile)
    found: list[Map | Fold] = []
    for values in product(*(range(r.extent) for r, _, _ in unrolled)):
        start = [0] * len(dims)
        for (_, d, step), value in zip(unrolled, values, strict=True):
            start[d] += step * value
        number = constants.index(tuple(start))
        fixed: dict[str, Affine] = {r.name: ((ONE, n),) for (r, _, _), n in zip(unrolled, values, strict=True)}
        value = _with(split.value, at, substitute(maps[number].value, by_map[number]))
        found.append(_fixed(replace(split, value=value), fixed))
    return _joined(found, split, {r.name for r, _, _ in unrolled})


def _has_all(digits: Sequence[tuple[_Digit, ...] | None], domain: Sequence[Range]) -> bool:
    """Whether all indices have digits, which are all variables of a domain, each once."""
    found = [x.variable for d in digits for x in d or () if x.variable != ONE]
    return None not in digits and sorted(found) == sorted(r.name for r in domain)


def _split(s: Map | Fold, by: Mapping[str, Affine], ranges: Mapping[str, tuple[Range, ...]]) -> Map | Fold:
    """A statement whose variables are sums of others."""
    domain = tuple(r for old in s.domain for r in ranges[old.name])
    found = replace(s, domain=domain, target=_at(s.target, by), value=substitute(s.value, by))
    if isinstance(found, Fold):
        found = replace(found, along=tuple(r.name for v in found.along for r in ranges[v]))
    return found


def _at(place: Place, by: Mapping[str, Affine]) -> Place:
    found = substitute(Read(place), by)
    assert isinstance(found, Read)
    return found.place


def _fixed(s: Map | Fold, values: Mapping[str, Affine]) -> Map | Fold:
    """A statement at these values of some of its variables."""
    domain = tuple(r for r in s.domain if r.name not in values)
    found = replace(s, domain=domain, target=_at(s.target, values), value=substitute(s.value, values))
    if not isinstance(found, Fold):
        return found
    along = tuple(v for v in found.along if v not in values)
    return (
        replace(found, along=along) if along else Map(domain, found.target, found.value, found.accumulates, found.join)
    )


def _joined(found: list[Map | Fold], split: Map | Fold, parts: set[str]) -> list[Map | Fold]:
    """One statement per part; for a fold over all parts a single one, over the terms of each."""
    if len(found) == 1 or not isinstance(split, Fold) or not parts <= set(split.along):
        return found
    value = found[0].value
    for other in found[1:]:
        value = Apply("add" if split.join == "sum" else "max", (value, other.value))
    return [replace(found[0], value=value)]


def _with(value: Expression, place: Place, by: Expression) -> Expression:
    """A value with an expression instead of what it reads at a place."""
    match value:
        case Read(at):
            return by if at == place else value
        case Constant() | RangeTest():
            return value
        case Apply(fn, args):
            return Apply(fn, tuple(_with(a, place, by) for a in args))


# ---------------------------------------------------------------- copies of operands
def _with_copies(nest: LoopNest, section: Section, fold: Fold, names: set[str], *, hoist: bool) -> LoopNest:
    """The nest with copies of what a fold reads with steps of several elements along its vectors, and reads again."""
    places = tuple(dict.fromkeys(places_read(fold.value)))
    along = min(fold.along, key=lambda v: (sum(p.stride(v) not in (0, 1) for p in places), -fold.along.index(v)))
    points, value = prod(r.extent for r in fold.domain), fold.value
    copies: list[Map] = []
    for place in places:
        own = tuple(r for r in fold.domain if r.name in place.variables)
        elements = prod(r.extent for r in own)
        if place.stride(along) in (0, 1) or elements > MOST_COPIED or points < LEAST_READS * elements:
            continue
        shape = tuple(r.extent for r in own)
        name = fresh_name(f"p_{place.buffer.name}", names)
        target = Place(Buffer(name, shape, padded_strides(shape), "scratch"), tuple(((r.name, 1),) for r in own))
        copies.append(Map(own, target, Read(place)))
        value = _with(value, place, Read(target))
    return _with_statements(nest, section, copies, {fold: replace(fold, value=value)}, hoist=hoist)


def _in_order_of_maps(nest: LoopNest, section: Section, c: Contract, names: set[str], *, hoist: bool) -> LoopNest:
    """The nest with the columns that each map writes next to each other in the right operand of a product.

    So a map writes whole vectors. The left operand is copied into the same order of k.
    """
    statements: tuple[Statement, ...] = getattr(nest, section)
    tile, k = c.right.buffer, c.k[-1]
    maps = [s for s in statements if isinstance(s, Map) and s.target.buffer == tile and not s.accumulates]
    accesses = sum(p.buffer == tile for s in nest.statements for p in places_accessed(s))
    at = next((d for d, index in enumerate(c.right.index) if index == ((k.name, 1),)), None)
    if at is None or len(c.k) > 1 or not maps or len(maps) + 1 != accesses or c.n.extent < LEAST_READS:
        return nest
    _, parts = _constants(maps)
    count, size = len(parts[at]), tile.shape[at]
    digits = [_digits(m.target.index[at], m.domain, size, parts[at]) for m in maps]
    if count == 1 or parts[at].step != 1 or k.extent != size or c.left.buffer == tile or None in digits:
        return nest
    changed: dict[Statement, Statement] = {}
    for m in maps:
        part = sum(f for v, f in m.target.index[at] if v == ONE)
        own = tuple((v, f // count) for v, f in m.target.index[at] if v != ONE)
        index = (*own, *(((ONE, part * (size // count)),) if part else ()))
        target = Place(tile, tuple(index if d == at else a for d, a in enumerate(m.target.index)))
        changed[m] = replace(m, target=target)
    outer, inner = Range(fresh_name(f"{k.name}_", names), count), Range(k.name, size // count)
    rows = tuple(r for r in (*c.batch, c.m) if r.name in c.left.variables)
    shape = (*(r.extent for r in rows), size)
    copied = Buffer(fresh_name(f"p_{c.left.buffer.name}", names), shape, padded_strides(shape), "scratch")
    index = tuple(((r.name, 1),) for r in rows)
    source = _at(c.left, {k.name: ((inner.name, count), (outer.name, 1))})
    written = Place(copied, (*index, ((outer.name, size // count), (inner.name, 1))))
    changed[c] = replace(c, left=Place(copied, (*index, ((k.name, 1),))))
    return _with_statements(nest, section, [Map((*rows, outer, inner), written, Read(source))], changed, hoist=hoist)


def _with_statements(
    nest: LoopNest, section: Section, copies: Sequence[Map], changed: Mapping[Statement, Statement], *, hoist: bool
) -> LoopNest:
    """The nest with other statements in a section, and with copies before their reader, which is the last of them.

    Args:
        nest: the nest.
        section: with the statements.
        copies: maps of one place each, to scratch.
        changed: by the statement that was there before.
        hoist: whether copies of what is the same for all blocks are made once per thread.
    """
    statements: tuple[Statement, ...] = getattr(nest, section)
    computed = {s.target.buffer for s in (*nest.before, *nest.body, *nest.after)}
    is_once = {
        m: hoist
        and section != "once"
        and all(
            p.buffer not in computed and set(p.variables) <= {r.name for r in m.domain} for p in places_read(m.value)
        )
        for m in copies
    }
    at = max(statements.index(s) for s in changed)
    here = [m for m in copies if not is_once[m]]
    new = [changed.get(s, s) for s in statements]
    nest = replace(
        nest,
        scratch=(*nest.scratch, *(m.target.buffer for m in copies)),
        **{section: (*new[:at], *here, *new[at:])},
    )
    return replace(nest, once=(*nest.once, *(m for m in copies if is_once[m])))
