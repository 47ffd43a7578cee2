"""Lemmas: equations between two expressions over named axes, and their text in a certificate.

Input: two expressions whose bound axes all have different names. Output: a `Statement`, in which bound axes have names
such that equal sums are equal expressions.

An expression is a function of *coordinates*, one per axis without digits. A sum over an axis is a sum over its
coordinates. An axis that one side sums tile by tile and the other side in one sum has two digits, the outer and the
inner axis; an element of an input is indexed by the full axis.

Method (`make_statement`): bound axes that run over the same dims of the same inputs are one class and get one name,
where neither is free in the other's sum. Afterwards the names are checked for capture: where a sum binds an axis, no
other axis that is free in its body may share a coordinate with it.

`checker` parses the text with its own parser:

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

from prism_explore.ir.dims import Dim
from prism_explore.support.union_find import UnionFind
from prism_explore.verify.certificate.expressions import (
    At,
    Binder,
    Expr,
    Sum,
    bound_axis,
    children,
    indices_of,
    walk,
    with_axis,
    with_children,
    with_indices,
)
from prism_explore.verify.certificate.hints import find_hints
from prism_explore.verify.certificate.syntax import certificate_notation, render
from prism_explore.verify.normal_form.index import (
    Digit,
    Index,
    Looked,
    Moved,
    Radix,
    Var,
    Zero,
    collect_digits,
    digit_borders,
    radix,
    substitute,
)

MergeOrder: TypeAlias = Literal["outer first", "inner first", "none"]
"""The order in which adjacent digits are merged into one axis; `none` merges no digits."""
_NEXT_ORDER: dict[MergeOrder, MergeOrder] = {"outer first": "inner first", "inner first": "none"}
TOO_DEEP = "an expression nests too deep"
MAX_NAMES = 6
"""The largest number of axes of one class that are in scope together; each gets a name of its own."""


class CannotState(Exception):
    """No names of axes were found that keep the meaning of the expressions."""


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis: its name, its number of values, and its outer and inner digit if it has digits."""

    name: str
    extent: Dim
    digits: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """The equation `left = right` over named axes."""

    axes: tuple[Axis, ...]
    left: Expr
    right: Expr
    renamed: tuple[tuple[Expr, Expr], ...] = ()
    """Pairs of expressions that differ only in the name of a bound axis."""
    hints: tuple[Expr, ...] = ()
    """Expressions that are added to the e-graph before the search; they assert nothing."""
    integers: tuple[Dim, ...] = ()
    """Sizes that are positive integers by the conditions of the proof."""
    next_variant: Callable[[], Statement] | None = field(default=None, compare=False, repr=False)
    """Makes the statement with the next merge order; may raise `CannotState`. None where no digits were merged."""

    @property
    def is_trivial(self) -> bool:
        """Whether both sides are the same expression, as for operators that only re-index elements."""
        return self.left == self.right

    def coordinates(self, name: str) -> frozenset[str]:
        """The axes without digits that an axis consists of."""
        return coordinates_of(name, {a.name: a.digits for a in self.axes if a.digits})

    @property
    def text(self) -> str:
        """The certificate's text."""
        lines = ["(lemma"]
        for a in self.axes:
            digits = f" {a.digits[0]} {a.digits[1]}" if a.digits else ""
            lines.append(f'  (axis {a.name} "{a.extent}"{digits})')
        lines += [f"  (renamed {expression_text(a)} {expression_text(b)})" for a, b in self.renamed]
        lines += [f"  (hint {expression_text(e)})" for e in self.hints]
        lines += [f"  (left {expression_text(self.left)})", f"  (right {expression_text(self.right)}))"]
        return "\n".join(lines)


def expression_text(e: Expr) -> str:
    """An expression in the notation of certificates."""
    return render(e, certificate_notation)


def make_statement(
    left: Expr, right: Expr, integers: Sequence[Dim] = (), merge_order: MergeOrder = "outer first"
) -> Statement:
    """The statement `left = right` over named axes.

    Args:
        left: the left side.
        right: the right side.
        integers: sizes that are positive integers by the conditions of the proof.
        merge_order: how adjacent digits that occur only together are merged into one axis. Of three digits a, b, c,
            `outer first` merges a and b first, `inner first` merges b and c first.

    Raises:
        CannotState: no names were found that keep the meaning, or an expression nests too deep.
    """
    try:
        namer = _Namer((left, right), merge_order)
        named = tuple(namer.rename(e) for e in namer.sides)
        renamed = tuple(namer.renamings(named))
        known = tuple(integers)
        following = _NEXT_ORDER.get(merge_order) if namer.pairs else None
        next_variant = None if following is None else lambda: make_statement(left, right, known, following)
        return Statement(namer.axes(), named[0], named[1], renamed, tuple(find_hints(*named)), known, next_variant)
    except RecursionError:
        raise CannotState(TOO_DEEP) from None


# ---------------------------------------------------------------- names
_Pair: TypeAlias = tuple[str, str]


@dataclass
class _Namer:
    """Merges adjacent digits, groups bound axes into classes, and names them."""

    sides: tuple[Expr, ...]
    merge_order: MergeOrder
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
                axis = bound_axis(e)
                if axis is not None:
                    self.bound.setdefault(axis.name, axis)
        digits: dict[str, dict[str, Digit]] = {}
        for i in self._indices():
            collect_digits(i, digits)
        for name in tuple(self.bound):
            if name in digits:
                self._split_axis(name, digits[name].values())
        while self.merge_order != "none" and self._merge_digits():
            pass
        self.free = {v.name: v for e in self._leaves() for i in indices_of(e) for v in _variables(i)}
        self.free = {n: v for n, v in self.free.items() if n not in self.bound}
        for name, v in sorted(self.free.items()):
            self.names[name] = name
            self.extents[name] = v.extent
        classes = self._classes()
        for side in self.sides:
            self._name_axes(side, classes)
        for side in self.sides:
            self._check_capture(side)

    def _leaves(self) -> Iterator[Expr]:
        for side in self.sides:
            for e in walk(side):
                if indices_of(e):
                    yield e

    def _indices(self) -> Iterator[Index]:
        for e in self._leaves():
            yield from indices_of(e)

    def _split_axis(self, name: str, digits: Iterable[Digit]) -> None:
        """Replace a bound axis by one axis per digit, where the borders of its digits form a chain."""
        sizes = digit_sizes(digits, self.bound[name].extent)
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

    def _merge_digits(self) -> bool:
        """Merge one pair of bound axes of which the inner always directly follows the outer; whether there is one."""
        before: dict[str, set[str]] = {}
        for i in self._indices():
            for first, second in _adjacent_variables(i):
                if second in self.bound:
                    before.setdefault(second, set()).add(first)
        pairs = [(next(iter(outers)), inner) for inner, outers in before.items() if len(outers) == 1]
        pairs = [p for p in pairs if p[0] in self.bound and p not in self.pairs.values()]
        if self.merge_order == "inner first":
            pairs = [p for p in pairs if p[1] not in {outer for outer, _ in pairs}]
        for outer, inner in pairs:
            name = f"{outer}&{inner}"
            merged = Var(name, self.bound[outer].extent * self.bound[inner].extent)
            self.bound[name] = merged
            self.pairs[name] = (outer, inner)
            self.parents.setdefault(outer, name)
            self.parents.setdefault(inner, name)

            def merge(i: Index, pair: _Pair = (outer, inner), merged: Var = merged) -> Index:
                return _merge_pair(i, pair, merged)

            self.sides = tuple(_map_indices(side, merge) for side in self.sides)
            return True
        return False

    def _classes(self) -> dict[str, str]:
        """The class of each axis: axes that run over the same full dim of an input, directly or through other axes."""
        linked = UnionFind[Hashable]()
        order: dict[str, None] = {}
        for leaf in self._leaves():
            source = leaf.tensor if isinstance(leaf, At) else type(leaf).__name__
            for d, i in enumerate(indices_of(leaf)):
                parts = i.parts if isinstance(i, Radix) else (i,)
                for slot, part in enumerate(reversed(parts)):
                    if isinstance(part, Var) and part.name in self.bound:
                        order.setdefault(part.name)
                        linked.union(part.name, (source, d, slot, part.extent))
        for name, v in self.bound.items():
            if name not in order and name not in self.parents:
                order.setdefault(name)
                linked.union(name, ("nowhere", v.extent))
        numbers: dict[Hashable, str] = {}
        return {name: numbers.setdefault(linked.find(name), f"k{len(numbers) + 1}") for name in order}

    def _name_axes(self, e: Expr, classes: Mapping[str, str]) -> None:
        axis = bound_axis(e)
        if axis is not None and axis.name not in self.names:
            top = axis.name
            while top in self.parents:
                top = self.parents[top]
            others = self._free_in_arguments(e) - self._source_axes(top)
            names_in_scope = [self.names[n] for n in others if n in self.names]
            class_name = classes.get(top, "k0")
            for variant in range(MAX_NAMES):
                name = class_name if not variant else f"{class_name}~{variant}"
                if self._try_name(top, name, names_in_scope):
                    variants = self.variants.setdefault(class_name, [])
                    if name not in variants:
                        variants.append(name)
                    break
            else:
                raise CannotState(f"more than {MAX_NAMES} axes run over one dim at once in {expression_text(e)}")
        for child in children(e):
            self._name_axes(child, classes)

    def _try_name(self, top: str, name: str, names_in_scope: Sequence[str]) -> bool:
        """Give an axis and its digits a name, unless that contradicts or captures another name."""
        names, digits = dict(self.names), dict(self.digits)
        extents = dict(self.extents)

        def assign(v: str, name: str) -> bool:
            name = names.setdefault(v, name)
            if extents.setdefault(name, self.bound[v].extent) != self.bound[v].extent:
                return False
            if v not in self.pairs:
                return True
            outer, inner = self.pairs[v]
            if not assign(outer, f"{name}.hi") or not assign(inner, f"{name}.lo"):
                return False
            pair = (names[outer], names[inner])
            return digits.setdefault(name, pair) == pair

        if not assign(top, name):
            return False
        if any(coordinates_of(names[top], digits) & coordinates_of(other, digits) for other in names_in_scope):
            return False
        self.names, self.digits, self.extents = names, digits, extents
        return True

    def _source_axes(self, v: str) -> frozenset[str]:
        """The axes of the input expressions that an axis consists of."""
        return coordinates_of(v, self.pairs)

    def _free_in_arguments(self, e: Expr) -> frozenset[str]:
        """The source axes that are free in the arguments of a node."""
        return frozenset[str]().union(*(self._free_axes(c) for c in children(e)))

    def _free_axes(self, e: Expr) -> frozenset[str]:
        axis = bound_axis(e)
        inside = self._free_in_arguments(e)
        if axis is not None:
            inside -= {axis.name}
        return inside.union(*(self._source_axes(n) for i in indices_of(e) for n in i.free))

    def _coordinates(self, name: str) -> frozenset[str]:
        return coordinates_of(name, self.digits)

    def _check_capture(self, e: Expr) -> None:
        axis = bound_axis(e)
        if axis is not None:
            own = self._coordinates(self.names[axis.name])
            for other in self._free_in_arguments(e) - self._source_axes(axis.name):
                if own & self._coordinates(self.names[other]):
                    raise CannotState(f"axis {self.names[other]} would be captured in {expression_text(e)}")
        for child in children(e):
            self._check_capture(child)

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
        """Each sum of a class with several names, paired with the same sum under each other name."""
        several = [names for names in self.variants.values() if len(names) > 1]
        sums = {expression_text(e): e for side in sides for e in walk(side) if isinstance(e, Sum)}
        for e in sums.values():
            old = e.axis.name
            for new in (n for names in several if old in names for n in names if n != old):
                if (
                    {old, new} & set(self.digits)
                    or new in self._dependencies(e.a)
                    or self.extents[old] != self.extents[new]
                ):
                    continue
                axis = Var(new, e.axis.extent)
                body = self._replace_axis(e.a, old, axis)
                if body is not None:
                    yield e, Sum(axis, body)

    def _dependencies(self, e: Expr) -> frozenset[str]:
        """The coordinates on which a named expression depends."""
        axis = bound_axis(e)
        inside = frozenset[str]().union(*(self._dependencies(c) for c in children(e)))
        if axis is not None:
            inside -= self._coordinates(axis.name)
        return inside.union(*(self._coordinates(n) for i in indices_of(e) for n in i.free))

    def _replace_axis(self, e: Expr, old: str, new: Var) -> Expr | None:
        """A named expression with an axis replaced; None where renaming does not give it."""
        if old not in self._dependencies(e):
            return e
        if any(n != old and old in self._coordinates(n) for i in indices_of(e) for n in i.free):
            return None
        axis = bound_axis(e)
        if axis is not None and new.name in self._coordinates(axis.name):
            return None
        replaced = with_indices(e, lambda i: substitute(i, {old: new}))
        parts = {c: self._replace_axis(c, old, new) for c in children(e)}
        if None in parts.values():
            return None
        return with_children(replaced, lambda child: parts[child] or child)


def coordinates_of(name: str, pairs: Mapping[str, _Pair]) -> frozenset[str]:
    """The axes without digits that an axis consists of."""
    if name not in pairs:
        return frozenset((name,))
    outer, inner = pairs[name]
    return coordinates_of(outer, pairs) | coordinates_of(inner, pairs)


def _renamed(e: Expr, by: Mapping[str, Index]) -> Expr:
    out = with_indices(e, lambda i: substitute(i, by))
    if isinstance(out, Binder):
        new = by.get(out.axis.name, out.axis)
        assert isinstance(new, Var), "an axis is renamed to an axis"
        out = with_axis(out, new)
    return with_children(out, lambda child: _renamed(child, by))


def _map_indices(e: Expr, f: Callable[[Index], Index]) -> Expr:
    return with_children(with_indices(e, f), lambda child: _map_indices(child, f))


def digit_sizes(digits: Iterable[Digit], extent: Dim) -> list[Dim] | None:
    """The sizes of the parts into which some digits split a number; None where their borders form no chain."""
    chain = digit_borders(digits, extent)
    return [y / x for x, y in pairwise(chain)] if len(chain) > 2 else None


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
        case Looked(_, indices, _):
            for p in indices:
                yield from _variables(p)
        case _:
            assert_never(i)


def _adjacent_variables(i: Index) -> Iterator[tuple[str, str]]:
    """Each variable of an index, preceded by the variable directly before it in a number; empty where there is none."""
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
                    yield from _adjacent_variables(p)
                    last = ""
        case Digit(base, _, _, _) | Moved(base, _, _):
            yield from _adjacent_variables(base)
        case Looked(_, indices, _):
            for p in indices:
                yield from _adjacent_variables(p)
        case _:
            assert_never(i)


def _merge_pair(i: Index, pair: _Pair, merged: Var) -> Index:
    """An index with two adjacent variables replaced by one."""
    match i:
        case Zero() | Var():
            return i
        case Radix(parts):
            out: list[Index] = []
            for p in parts:
                if out and isinstance(p, Var) and isinstance(out[-1], Var) and (out[-1].name, p.name) == pair:
                    out[-1] = merged
                else:
                    out.append(_merge_pair(p, pair, merged))
            return radix(out)
        case Digit(base, before, size, after):
            return Digit(_merge_pair(base, pair, merged), before, size, after)
        case Moved(base, by, size):
            return Moved(_merge_pair(base, pair, merged), by, size)
        case Looked(tensor, indices, size):
            return Looked(tensor, tuple(_merge_pair(p, pair, merged) for p in indices), size)
        case _:
            assert_never(i)
