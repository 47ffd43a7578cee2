"""Lemmas as the prover and the checker read them: two expressions over named axes, as text.

An expression denotes a function of *coordinates*, one per axis that is not cut into digits. Summing
over an axis sums over its coordinates. Two axes may bear one name wherever neither is free in the
other's sum, and should where it makes equal sums the same expression: that is what `state` decides, from
which dims of which inputs an axis runs over. An axis that one side runs over block by block and the
other at once is a pair of digits; such a pair is one axis to the reader of an element.

`state` checks its own choice: wherever a sum binds an axis, no other axis that is free in its body may
share a coordinate with it. Without that, a name would capture what it does not mean.

The text is a certificate's: `checker` reads it with its own parser.

    (lemma
      (axis p0 "b") (axis k1 "4096" k1.hi k1.lo) (axis k1.hi "f") (axis k1.lo "4096/f")
      (left (sum k1.hi (sum k1.lo (at x p0 k1))))
      (right (sum k1 (at x p0 k1))))
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal, TypeAlias, assert_never

from prism_explore.ir.dims import ONE, Dim
from prism_explore.support.union_find import UnionFind
from prism_explore.verify.certificate.expressions import (
    At,
    Binder,
    Expr,
    Sum,
    bound,
    children,
    over,
    places,
    walk,
    with_children,
    with_places,
)
from prism_explore.verify.certificate.hints import hints
from prism_explore.verify.certificate.syntax import lisp, render
from prism_explore.verify.normal_form.index import Digit, Index, Moved, Radix, Var, Zero, radix, substitute
from prism_explore.verify.normal_form.size_facts import divides

Joining: TypeAlias = Literal["outer first", "inner first", "none"]
_THEN: dict[Joining, Joining] = {"outer first": "inner first", "inner first": "none"}
TOO_DEEP = "an expression nests too deep"
VARIANTS = 6
"""How many axes of one class may be at work in one place."""


class CannotState(Exception):
    """No choice of names was found under which the text means what the expressions mean."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A name, how many values it takes, and its outer and inner digit if it is a pair."""

    name: str
    extent: Dim
    digits: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """`left = right`, with what is needed to read it."""

    axes: tuple[Axis, ...]
    left: Expr
    right: Expr
    renamed: tuple[tuple[Expr, Expr], ...] = ()
    """Pairs that differ in the name of a bound axis only."""
    hints: tuple[Expr, ...] = ()
    """Expressions that the search should have at hand; stating one claims nothing."""
    integers: tuple[Dim, ...] = ()
    """Sizes that are positive integers, as the conditions of the proof say."""
    apart: Callable[[], Statement] | None = field(default=None, compare=False, repr=False)
    """The same with digits joined in another order, then left apart; raises `CannotState`. None where none were."""

    @property
    def trivial(self) -> bool:
        """Whether both sides are one expression: nothing was computed, elements were re-indexed."""
        return self.left == self.right

    def coordinates(self, name: str) -> frozenset[str]:
        """The axes without digits that an axis consists of."""
        return coordinates_of(name, {a.name: a.digits for a in self.axes if a.digits})

    @property
    def text(self) -> str:
        """The certificate's text."""
        lines = ["(lemma"]
        for a in self.axes:
            cut = f" {a.digits[0]} {a.digits[1]}" if a.digits else ""
            lines.append(f'  (axis {a.name} "{a.extent}"{cut})')
        lines += [f"  (renamed {spell(a)} {spell(b)})" for a, b in self.renamed]
        lines += [f"  (hint {spell(e)})" for e in self.hints]
        lines += [f"  (left {spell(self.left)})", f"  (right {spell(self.right)}))"]
        return "\n".join(lines)


def spell(e: Expr) -> str:
    """An expression as text."""
    return render(e, lisp)


def state(left: Expr, right: Expr, integers: Sequence[Dim] = (), joining: Joining = "outer first") -> Statement:
    """`left = right` over named axes.

    Args:
        left: one side.
        right: the other.
        integers: sizes that are positive integers.
        joining: how digits that always go together on both sides become one axis: a number of three digits is its first
            two and one more, or its first and two more; or whether they do not.

    Raises:
        CannotState: no choice of names was found that keeps the meaning, or an expression is too deep to be read.
    """
    try:
        namer = _Namer((left, right), joining)
        named = tuple(namer.rename(e) for e in namer.sides)
        renamed = tuple(namer.renamings(named))
        known = tuple(integers)
        then = _THEN.get(joining) if namer.pairs else None
        apart = None if then is None else lambda: state(left, right, known, then)
        return Statement(namer.axes(), named[0], named[1], renamed, tuple(hints(*named)), known, apart)
    except RecursionError:
        raise CannotState(TOO_DEEP) from None


# ---------------------------------------------------------------- names
_Pair: TypeAlias = tuple[str, str]


@dataclass
class _Namer:
    """Joins digits that always go together, sorts axes into classes, and names them."""

    sides: tuple[Expr, ...]
    joining: Joining
    bound: dict[str, Var] = field(default_factory=dict[str, Var])
    pairs: dict[str, _Pair] = field(default_factory=dict[str, _Pair])
    parents: dict[str, str] = field(default_factory=dict[str, str])
    names: dict[str, str] = field(default_factory=dict[str, str])
    extents: dict[str, Dim] = field(default_factory=dict[str, Dim])
    digits: dict[str, _Pair] = field(default_factory=dict[str, _Pair])
    variants: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def __post_init__(self) -> None:
        for side in self.sides:
            for e in walk(side):
                axis = bound(e)
                if axis is not None:
                    self.bound.setdefault(axis.name, axis)
        cuts: dict[str, dict[str, Digit]] = {}
        for i in self._indices():
            digits_in(i, cuts)
        for name in tuple(self.bound):
            if name in cuts:
                self._cut(name, cuts[name].values())
        while self.joining != "none" and self._join_digits():
            pass
        self.free = {v.name: v for e in self._leaves() for i in places(e) for v in _variables(i)}
        self.free = {n: v for n, v in self.free.items() if n not in self.bound}
        for name, v in sorted(self.free.items()):
            self.names[name] = name
            self.extents[name] = v.extent
        classes = self._classes()
        for side in self.sides:
            self._name_sums(side, classes)
        for side in self.sides:
            self._check(side)

    def _leaves(self) -> Iterator[Expr]:
        for side in self.sides:
            for e in walk(side):
                if places(e):
                    yield e

    def _indices(self) -> Iterator[Index]:
        for e in self._leaves():
            yield from places(e)

    def _cut(self, name: str, cuts: Iterable[Digit]) -> None:
        """A bound axis that occurs as digits with borders in a chain becomes as many axes."""
        sizes = chain_of(cuts, self.bound[name].extent)
        if sizes is None:
            return
        parts = [Var(f"{name}.{n}", size) for n, size in enumerate(sizes)]
        by: dict[str, Index] = {name: radix(parts)}
        self.sides = tuple(_map_indices(side, lambda i: substitute(i, by)) for side in self.sides)
        outer = parts[0]
        self.bound[outer.name] = outer
        for n, part in enumerate(parts[1:], start=1):
            above = name if n == len(parts) - 1 else f"{name}.:{n}"
            self.bound[part.name] = part
            self.bound[above] = Var(above, outer.extent * part.extent)
            self.pairs[above] = (outer.name, part.name)
            self.parents[outer.name] = self.parents[part.name] = above
            outer = self.bound[above]

    def _join_digits(self) -> bool:
        """One pair of bound axes, of which the inner only ever follows the outer, becomes one axis."""
        before: dict[str, set[str]] = {}
        for i in self._indices():
            for first, second in _neighbours(i):
                if second in self.bound:
                    before.setdefault(second, set()).add(first)
        pairs = [(next(iter(outers)), inner) for inner, outers in before.items() if len(outers) == 1]
        pairs = [p for p in pairs if p[0] in self.bound and p not in self.pairs.values()]
        if self.joining == "inner first":
            pairs = [p for p in pairs if p[1] not in {outer for outer, _ in pairs}]
        for outer, inner in pairs:
            name = f"{outer}&{inner}"
            joined = Var(name, self.bound[outer].extent * self.bound[inner].extent)
            self.bound[name] = joined
            self.pairs[name] = (outer, inner)
            self.parents.setdefault(outer, name)
            self.parents.setdefault(inner, name)

            def fuse(i: Index, pair: _Pair = (outer, inner), joined: Var = joined) -> Index:
                return _fuse(i, pair, joined)

            self.sides = tuple(_map_indices(side, fuse) for side in self.sides)
            return True
        return False

    def _classes(self) -> dict[str, str]:
        """Axes that run over one dim of one input, whole, or over dims linked by another such axis."""
        linked = UnionFind[Hashable]()
        order: dict[str, None] = {}
        for leaf in self._leaves():
            what = leaf.tensor if isinstance(leaf, At) else type(leaf).__name__
            for d, i in enumerate(places(leaf)):
                parts = i.parts if isinstance(i, Radix) else (i,)
                for slot, part in enumerate(reversed(parts)):
                    if isinstance(part, Var) and part.name in self.bound:
                        order.setdefault(part.name)
                        linked.union(part.name, (what, d, slot, part.extent))
        for name, v in self.bound.items():
            if name not in order and name not in self.parents:
                order.setdefault(name)
                linked.union(name, ("nowhere", v.extent))
        numbers: dict[Hashable, str] = {}
        return {name: numbers.setdefault(linked.find(name), f"k{len(numbers) + 1}") for name in order}

    def _name_sums(self, e: Expr, classes: Mapping[str, str]) -> None:
        axis = bound(e)
        if axis is not None and axis.name not in self.names:
            top = axis.name
            while top in self.parents:
                top = self.parents[top]
            others = self._inside(e) - self._sources(top)
            taken = [self.names[n] for n in others if n in self.names]
            family = classes.get(top, "k0")
            for variant in range(VARIANTS):
                base = family if not variant else f"{family}~{variant}"
                if self._try(top, base, taken):
                    known = self.variants.setdefault(family, [])
                    if base not in known:
                        known.append(base)
                    break
            else:
                raise CannotState(f"more than {VARIANTS} axes run over one dim at once in {spell(e)}")
        for child in children(e):
            self._name_sums(child, classes)

    def _try(self, top: str, base: str, taken: Sequence[str]) -> bool:
        names, digits = dict(self.names), dict(self.digits)
        extents = dict(self.extents)

        def give(v: str, name: str) -> bool:
            name = names.setdefault(v, name)
            if extents.setdefault(name, self.bound[v].extent) != self.bound[v].extent:
                return False
            if v not in self.pairs:
                return True
            outer, inner = self.pairs[v]
            if not give(outer, f"{name}.hi") or not give(inner, f"{name}.lo"):
                return False
            cut = (names[outer], names[inner])
            return digits.setdefault(name, cut) == cut

        if not give(top, base):
            return False
        if any(coordinates_of(names[top], digits) & coordinates_of(other, digits) for other in taken):
            return False
        self.names, self.digits, self.extents = names, digits, extents
        return True

    def _sources(self, v: str) -> frozenset[str]:
        """The axes of the expressions, as given, that an axis consists of."""
        return coordinates_of(v, self.pairs)

    def _inside(self, e: Expr) -> frozenset[str]:
        """The axes that are free in what a node is over."""
        return frozenset[str]().union(*(self._free(c) for c in children(e)))

    def _free(self, e: Expr) -> frozenset[str]:
        axis = bound(e)
        inside = self._inside(e)
        if axis is not None:
            inside -= {axis.name}
        return inside.union(*(self._sources(n) for i in places(e) for n in i.free))

    def _coordinates(self, name: str) -> frozenset[str]:
        return coordinates_of(name, self.digits)

    def _check(self, e: Expr) -> None:
        axis = bound(e)
        if axis is not None:
            mine = self._coordinates(self.names[axis.name])
            for other in self._inside(e) - self._sources(axis.name):
                if mine & self._coordinates(self.names[other]):
                    raise CannotState(f"axis {self.names[other]} would be captured in {spell(e)}")
        for child in children(e):
            self._check(child)

    def rename(self, e: Expr) -> Expr:
        """The expression with its axes' final names."""
        by: dict[str, Index] = {n: Var(m, self.extents[m]) for n, m in self.names.items()}
        return _renamed(e, by)

    def axes(self) -> tuple[Axis, ...]:
        """Every named axis, free ones first."""
        free = [Axis(n, self.extents[n]) for n in sorted(self.free)]
        bound = [Axis(n, x, self.digits.get(n)) for n, x in self.extents.items() if n not in self.free]
        return (*free, *bound)

    def renamings(self, sides: Sequence[Expr]) -> Iterator[tuple[Expr, Expr]]:
        """For sums whose class has several names, the same sum under each other name."""
        several = [names for names in self.variants.values() if len(names) > 1]
        sums = {spell(e): e for side in sides for e in walk(side) if isinstance(e, Sum)}
        for e in sums.values():
            old = e.axis.name
            for new in (n for names in several if old in names for n in names if n != old):
                if {old, new} & set(self.digits) or new in self._met(e.a) or self.extents[old] != self.extents[new]:
                    continue
                axis = Var(new, e.axis.extent)
                body = self._instead(e.a, old, axis)
                if body is not None:
                    yield e, Sum(axis, body)

    def _met(self, e: Expr) -> frozenset[str]:
        """The coordinates on which a named expression depends."""
        axis = bound(e)
        inside = frozenset[str]().union(*(self._met(c) for c in children(e)))
        if axis is not None:
            inside -= self._coordinates(axis.name)
        return inside.union(*(self._coordinates(n) for i in places(e) for n in i.free))

    def _instead(self, e: Expr, old: str, new: Var) -> Expr | None:
        """A named expression over another axis; None where that cannot be had by changing names."""
        if old not in self._met(e):
            return e
        if any(n != old and old in self._coordinates(n) for i in places(e) for n in i.free):
            return None
        axis = bound(e)
        if axis is not None and new.name in self._coordinates(axis.name):
            return None
        moved_in = with_places(e, lambda i: substitute(i, {old: new}))
        parts = {c: self._instead(c, old, new) for c in children(e)}
        if None in parts.values():
            return None
        return with_children(moved_in, lambda child: parts[child] or child)


def coordinates_of(name: str, pairs: Mapping[str, _Pair]) -> frozenset[str]:
    """The axes without digits that an axis consists of."""
    if name not in pairs:
        return frozenset((name,))
    outer, inner = pairs[name]
    return coordinates_of(outer, pairs) | coordinates_of(inner, pairs)


def _renamed(e: Expr, by: Mapping[str, Index]) -> Expr:
    out = with_places(e, lambda i: substitute(i, by))
    if isinstance(out, Binder):
        new = by.get(out.axis.name, out.axis)
        assert isinstance(new, Var), "an axis is renamed to an axis"
        out = over(out, new)
    return with_children(out, lambda child: _renamed(child, by))


def _map_indices(e: Expr, f: Callable[[Index], Index]) -> Expr:
    return with_children(with_places(e, f), lambda child: _map_indices(child, f))


def chain_of(cuts: Iterable[Digit], whole: Dim) -> list[Dim] | None:
    """The sizes of the parts into which some digits of a number cut it; None where their borders form no chain."""
    borders = {str(d): d for cut in cuts for d in (cut.before, cut.before * cut.size)}
    inner = [d for d in borders.values() if d not in (ONE, whole)]
    inner.sort(key=lambda d: (-sum(divides(d, other) for other in inner), str(d)))
    chain = (ONE, *inner, whole)
    if not inner or not all(divides(x, y) for x, y in pairwise(chain[:-1])):
        return None
    return [y / x for x, y in pairwise(chain)]


def digits_in(i: Index, found: dict[str, dict[str, Digit]]) -> None:
    """Collect the digits of axes that occur in an index, by axis."""
    match i:
        case Zero() | Var():
            pass
        case Radix(parts):
            for p in parts:
                digits_in(p, found)
        case Digit(Var(name, _), _, _, _):
            found.setdefault(name, {})[i.key] = i
        case Digit(base, _, _, _) | Moved(base, _, _):
            digits_in(base, found)
        case _:
            assert_never(i)


def _variables(i: Index) -> Iterator[Var]:
    match i:
        case Zero():
            return
        case Var():
            yield i
        case Radix(parts):
            for p in parts:
                yield from _variables(p)
        case Digit(base, _, _, _) | Moved(base, _, _):
            yield from _variables(base)
        case _:
            assert_never(i)


def _neighbours(i: Index) -> Iterator[tuple[str, str]]:
    """Each variable with the variable directly before it in a number, or with an empty name."""
    match i:
        case Zero():
            return
        case Var(name, _):
            yield "", name
        case Radix(parts):
            last = ""
            for p in parts:
                if isinstance(p, Var):
                    yield last, p.name
                    last = p.name
                else:
                    yield from _neighbours(p)
                    last = ""
        case Digit(base, _, _, _) | Moved(base, _, _):
            yield from _neighbours(base)
        case _:
            assert_never(i)


def _fuse(i: Index, pair: _Pair, joined: Var) -> Index:
    match i:
        case Zero() | Var():
            return i
        case Radix(parts):
            out: list[Index] = []
            for p in parts:
                if out and isinstance(p, Var) and isinstance(out[-1], Var) and (out[-1].name, p.name) == pair:
                    out[-1] = joined
                else:
                    out.append(_fuse(p, pair, joined))
            return radix(out)
        case Digit(base, before, size, after):
            return Digit(_fuse(base, pair, joined), before, size, after)
        case Moved(base, by, size):
            return Moved(_fuse(base, pair, joined), by, size)
        case _:
            assert_never(i)
