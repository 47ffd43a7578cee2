"""Instances of axioms whose conditions lie in indices and extents, verified for all sizes.

Indices are opaque words for egglog, so it gets these instances as facts; here they are verified from the indices and
extents themselves. Independent of the prover.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from prism_explore.ir.dims import ONE, ZERO, Dim
from prism_explore.verify.checker.parser import (
    CertificateError,
    ParsedLemma,
    Term,
    Tree,
    index_axes,
    replaced_index,
    show,
    size_of,
)
from prism_explore.verify.checker.sizes import at_most, is_count
from prism_explore.verify.checker.terms import TermTable


def holds_by_indices(table: TermTable, name: str, a: int, b: int) -> bool:
    """Whether a = b is an instance of the axiom of that name.

    Raises:
        CertificateError: there is no such axiom here.
    """
    match name:
        case "interval cut":
            return _is_cut(table, a, b)
        case "intervals apart":
            return _are_apart(table, a, b)
        case "interval of everything":
            return _is_everything(table, a, b)
        case "bands meet":
            return _do_meet(table, a, b)
        case "sum in pieces":
            return _is_in_pieces(table, a, b, "sum", "add")
        case "maximum in pieces":
            return _is_in_pieces(table, a, b, "most", "greater")
        case "sum over digits":
            return _is_over_digits(table, a, b, "sum")
        case "maximum over digits":
            return _is_over_digits(table, a, b, "most")
        case "last running maximum":
            return _is_last(table, a, b)
        case "rescaled sum":
            return _is_rescaled(table, a, b)
        case "as low":
            return _is_as_low(table, a, b)
        case "maximum and an entry":
            return _is_entry(table, a, b)
        case _:
            raise CertificateError(f"no axiom is stated as {name}")


# ---------------------------------------------------------------- intervals
def _interval(table: TermTable, e: int) -> tuple[Tree, Dim, Dim] | None:
    """An interval's index and borders."""
    term = table.operators[e]
    if term.op != "within":
        return None
    low, high = (size_of(x) for x in term.label.split("|"))
    return term.indices[0], low, high


def _inside(table: TermTable, e: int, op: str) -> tuple[int, ...]:
    """What is inside of a term with that operator."""
    return table.terms[e][2] if table.terms[e][0] == op else ()


def _is_cut(table: TermTable, a: int, b: int) -> bool:
    whole = _interval(table, a)
    parts = [_interval(table, x) for x in _inside(table, b, "add")]
    match whole, parts:
        case (i, low, high), [(j, start, cut), (m, again, end)]:
            return (
                show(i) == show(j) == show(m)
                and (low, cut, high) == (start, again, end)
                and _is_part(table, low, cut)
                and _is_part(table, cut, high)
            )
        case _:
            return False


def _is_part(table: TermTable, low: Dim, high: Dim) -> bool:
    """Whether low <= high wherever the conditions of the claim are met."""
    return at_most(low, high) or is_count(high - low, table.lemma.integers)


def _are_apart(table: TermTable, a: int, b: int) -> bool:
    match [_interval(table, x) for x in _inside(table, a, "mul")]:
        case [(i, low, high), (j, start, end)]:
            return table.number(b) == 0 and show(i) == show(j) and (at_most(high, start) or at_most(end, low))
        case _:
            return False


def _do_meet(table: TermTable, a: int, b: int) -> bool:
    """Whether b is 1 exactly where both bands of a are."""
    parts = _inside(table, a, "mul")
    if len(parts) != 2 or any(table.operators[x].op != "near" for x in parts):
        return False
    first, *others = [_bounds(table, x) for x in (*parts, b) if table.operators[x].op == "near"]
    turned = [x if x.places == first.places else x.turned() for x in others]
    if any(x.places != first.places for x in turned):
        return False
    lows = [x.low for x in (first, turned[0]) if x.low is not None]
    highs = [x.high for x in (first, turned[0]) if x.high is not None]
    if table.number(b) == 0:
        return any(at_most(high + ONE, low) for low in lows for high in highs)
    if len(turned) != 2:
        return False
    return _is_bound(turned[1].low, lows, lambda x, y: at_most(y, x)) and _is_bound(turned[1].high, highs, at_most)


@dataclass(frozen=True, slots=True)
class _Bounds:
    """A band's bounds, and its row and column."""

    low: Dim | None
    high: Dim | None
    places: tuple[str, str]

    def turned(self) -> _Bounds:
        """The same band with row and column exchanged."""
        low = None if self.high is None else ZERO - self.high
        row, column = self.places
        return _Bounds(low, None if self.low is None else ZERO - self.low, (column, row))


def _bounds(table: TermTable, e: int) -> _Bounds:
    """What a band is."""
    term = table.operators[e]
    low, high = (None if x == '"-"' else size_of(x) for x in term.label.split("|"))
    row, column = [show(simplified(i, table.lemma)) for i in term.indices]
    return _Bounds(low, high, (row, column))


def _is_bound(found: Dim | None, given: list[Dim], tighter: Callable[[Dim, Dim], bool]) -> bool:
    """Whether a bound is one of those given, and the tightest."""
    if found is None:
        return not given
    return found in given and all(tighter(found, x) for x in given)


def _is_everything(table: TermTable, a: int, b: int) -> bool:
    match _interval(table, a):
        case (i, low, high):
            return table.number(b) == 1 and low == ZERO and high == table.lemma.extent_of(i)
        case _:
            return False


# ---------------------------------------------------------------- axes
def _is_in_pieces(table: TermTable, a: int, b: int, over: str, joined: str) -> bool:
    axis, parts = table.operators[a].axis, _inside(table, b, joined)
    if table.operators[a].op != over or len(parts) != 2:
        return False
    size, start = table.lemma.extents[axis], ZERO
    for part in parts:
        new = table.operators[part].axis
        place: Tree
        if table.operators[part].op == over:
            if set(table.lemma.coordinates(new)) & (table.dependencies(a) | set(table.lemma.coordinates(axis))):
                return False
            length, (body,) = table.lemma.extents[new], table.terms[part][2]
            if not is_count(length, table.lemma.integers):
                return False
            here = new if length != ONE else "0"
            place = ("moved", here, f'"{start}"', f'"{size}"')
        else:
            return False
        if not is_placed(table, table.terms[a][2][0], body, axis, place):
            return False
        start = start + length
    return start == size


def _is_over_digits(table: TermTable, a: int, b: int, over: str) -> bool:
    axis, names = table.operators[a].axis, list[str]()
    if table.operators[a].op != over:
        return False
    (inside,) = table.terms[a][2]
    size = ONE
    while size != table.lemma.extents[axis]:
        term = table.operators[b]
        if term.op != over or term.axis in names or term.axis in table.lemma.digits:
            return False
        names.append(term.axis)
        size = size * table.lemma.extents[term.axis]
        (b,) = table.terms[b][2]
    return table.dependencies(inside).isdisjoint(names) and is_placed(table, inside, b, axis, ("radix", *names))


def _is_last(table: TermTable, a: int, b: int) -> bool:
    first, second = table.operators[a], table.operators[b]
    if (first.op, second.op) != ("upto", "most") or first.axis != second.axis or table.terms[a][2] != table.terms[b][2]:
        return False
    size = table.lemma.extents[first.axis]
    return simplified(first.indices[0], table.lemma) == simplified(_last(size), table.lemma)


def _last(size: Dim) -> Tree:
    return ("moved", "0", f'"{size - ONE}"', f'"{size}"')


def _is_rescaled(table: TermTable, a: int, b: int) -> bool:
    axis = table.operators[a].axis
    if table.terms[a][0] != "rescaled":
        return False
    value, scale = table.terms[a][2]
    match _inside(table, b, "mul"):
        case (before, total):
            pass
        case _:
            return False
    if table.operators[total].op != "sum" or table.operators[total].axis != axis:
        return False
    weighed = _inside(table, table.terms[total][2][0], "mul")
    exponent = _inside(table, before, "exp")
    if len(weighed) != 2 or weighed[0] != value or _inside(table, weighed[1], "exp") != (scale,) or not exponent:
        return False
    opposite = _inside(table, exponent[0], "mul")
    if len(opposite) != 2 or table.number(opposite[0]) != -1:
        return False
    return is_placed(table, scale, opposite[1], axis, _last(table.lemma.extents[axis]))


def _is_as_low(table: TermTable, a: int, b: int) -> bool:
    axis = table.operators[a].axis
    match _inside(table, b, "mul"):
        case (factor, other):
            pass
        case _:
            return False
    if not table.operators[a].op == table.operators[other].op == "most" or table.operators[other].axis != axis:
        return False
    scaled, plain = (_inside(table, table.terms[x][2][0], "add") for x in (a, other))
    if len(scaled) != 2 or len(plain) != 2 or scaled[1] != plain[1]:
        return False
    if _inside(table, scaled[0], "mul") != (factor, plain[0]):
        return False
    mine = set(table.lemma.coordinates(axis))
    lows = _bottoms(table, plain[1])
    return (
        table.sign(factor) == "> 0"
        and mine.isdisjoint(table.dependencies(factor))
        and bool(lows)
        and all(mine & table.dependencies(x) for x in lows)
    )


def _is_entry(table: TermTable, a: int, b: int) -> bool:
    """Whether a is the greater of a maximum, which is b, and what it is taken of at some place."""
    match _inside(table, a, "greater"):
        case (whole, entry) if whole == b and table.operators[b].op == "most":
            axis, (body,) = table.operators[b].axis, table.terms[b][2]
            return any(
                table.lemma.extent_of(place) == table.lemma.extents[axis] and is_placed(table, body, entry, axis, place)
                for place in _places(table, body, entry, axis)
            )
        case _:
            return False


def _places(table: TermTable, a: int, b: int, axis: str) -> Iterator[Tree]:
    """Indices that stand in one term where an axis stands in another."""
    first, second = table.operators[a], table.operators[b]
    yield from _parts(first.indices, second.indices, axis)
    for x, y in zip(table.terms[a][2], table.terms[b][2], strict=False):
        yield from _places(table, x, y, axis)


def _parts(mine: Sequence[Tree], theirs: Sequence[Tree], axis: str) -> Iterator[Tree]:
    for i, j in zip(mine, theirs, strict=False):
        if i == axis:
            yield j
        elif isinstance(i, tuple) and isinstance(j, tuple):
            yield from _parts(i, j, axis)


def _bottoms(table: TermTable, e: int) -> tuple[int, ...]:
    """The terms of a sum of nothing but bottoms; empty where something else is among them."""
    op, _, inside = table.terms[e]
    if op == "bottom":
        return (e,)
    parts = [_bottoms(table, x) for x in inside] if op == "add" else []
    return tuple(x for p in parts for x in p) if parts and all(parts) else ()


# ---------------------------------------------------------------- a term at another place
def is_placed(table: TermTable, a: int, b: int, axis: str, place: Tree) -> bool:
    """Whether b is a with an axis replaced by an index, and nothing captured."""
    mine = frozenset(table.lemma.coordinates(axis))
    if mine.isdisjoint(table.dependencies(a)):
        return a == b
    first, second = table.operators[a], table.operators[b]
    words = {w for i in first.indices for w in index_axes(i)}
    if any(w != axis and not mine.isdisjoint(table.lemma.coordinates(w)) for w in words):
        return False
    put: Callable[[Tree], Tree] = lambda i: simplified(replaced_index(i, axis, place), table.lemma)  # noqa: E731
    if first.op in ("within", "near"):
        return _known(first, tuple(map(put, first.indices)), table.lemma) == _known_term(table, b)
    taken = frozenset(c for w in index_axes(place) for c in table.lemma.coordinates(w))
    if first.axis and not taken.isdisjoint(table.lemma.coordinates(first.axis)):
        return False
    (_, _, inside), (_, _, there) = table.terms[a], table.terms[b]
    if (first.op, first.label, first.axis, len(inside)) != (second.op, second.label, second.axis, len(there)):
        return False
    shadowed = first.axis and not mine.isdisjoint(table.lemma.coordinates(first.axis))
    if tuple(map(put, first.indices)) != tuple(simplified(i, table.lemma) for i in second.indices):
        return False
    if shadowed:
        return inside == there
    return all(is_placed(table, x, y, axis, place) for x, y in zip(inside, there, strict=True))


def _known_term(table: TermTable, e: int) -> object:
    """A 0/1 value in the form that `_known` gives."""
    term = table.operators[e]
    if term.op in ("within", "near"):
        return _known(term, tuple(simplified(i, table.lemma) for i in term.indices), table.lemma)
    return table.number(e)


def _known(term: Term, indices: tuple[Tree, ...], lemma: ParsedLemma) -> object:
    """An interval or a band without moved indices, or the number 0 or 1 where it is one everywhere."""
    low, high = (None if x == '"-"' else size_of(x) for x in term.label.split("|"))
    bare: list[Tree] = []
    offsets: list[Dim] = []
    for i in indices:
        i, by = _still(i)
        bare.append(i)
        offsets.append(by)
    if term.op == "within":
        assert low is not None and high is not None, "an interval has two borders"
        low, high, size = low - offsets[0], high - offsets[0], lemma.extent_of(bare[0])
        if at_most(high, ZERO) or at_most(size, low):
            return Fraction(0)
        if at_most(low, ZERO) and at_most(size, high):
            return Fraction(1)
        return show(bare[0]), str(ZERO if at_most(low, ZERO) else low), str(size if at_most(size, high) else high)
    shift = offsets[0] - offsets[1]
    low, high = (None if d is None else d + shift for d in (low, high))
    least, most = ONE - lemma.extent_of(bare[0]), lemma.extent_of(bare[1]) - ONE
    if (low is not None and at_most(most + ONE, low)) or (high is not None and at_most(high + ONE, least)):
        return Fraction(0)
    low = None if low is None or at_most(low, least) else low
    high = None if high is None or at_most(most, high) else high
    if low is None and high is None:
        return Fraction(1)
    one = (str(low), str(high), show(bare[0]), show(bare[1]))
    other = (*("None" if d is None else str(ZERO - d) for d in (high, low)), show(bare[1]), show(bare[0]))
    return min(one, other)


def _still(i: Tree) -> tuple[Tree, Dim]:
    """An index without being moved, and by how much it was."""
    match i:
        case ("moved", base, str(by), str()):
            return base, size_of(by)
        case _:
            return i, ZERO


def simplified(i: Tree, lemma: ParsedLemma) -> Tree:
    """An index where what was moved twice is moved once, and numbers in numbers are one number."""
    match i:
        case ("moved", base, str(by), str(size)):
            inner, already = _still(simplified(base, lemma))
            total = already + size_of(by)
            if total == ZERO and lemma.extent_of(inner) == size_of(size):
                return inner
            return ("moved", inner, f'"{total}"', f'"{size_of(size)}"')
        case ("radix", *parts):
            flat: list[Tree] = []
            for p in parts:
                p = simplified(p, lemma)
                flat += p[1:] if isinstance(p, tuple) and p[0] == "radix" else [p] if p != "0" else []
            return ("radix", *flat) if len(flat) > 1 else flat[0] if flat else "0"
        case ("digit", base, str(before), str(size), str(after)):
            return _digit(simplified(base, lemma), before, size, after, lemma)
        case _:
            return i


def _digit(base: Tree, before: str, size: str, after: str, lemma: ParsedLemma) -> Tree:
    """A digit of a number in mixed radix, where it is some of the number's parts."""
    match base:
        case ("radix", *parts):
            start, end = size_of(before), size_of(before) * size_of(size)
            reach, found = ONE, list[Tree]()
            for p in parts:
                after_p = reach * lemma.extent_of(p)
                if reach == start or found:
                    found.append(p)
                if found and after_p == end:
                    return simplified(("radix", *found), lemma)
                reach = after_p
        case _:
            pass
    return ("digit", base, before, size, after)


def check_renamings(lemma: ParsedLemma) -> None:
    """Check that each pair of the lemma's renamings differs in the name of a bound axis only.

    Raises:
        CertificateError: one does not.
    """
    table = TermTable(lemma)
    for a, b in lemma.renamed:
        if not is_renamed(table, table.intern(a, {}), table.intern(b, {})):
            raise CertificateError(f"{show(b)} is not {show(a)} with its bound axis renamed")


def is_renamed(table: TermTable, a: int, b: int) -> bool:
    """Whether b is a under another name of its bound axis."""
    first, second = table.operators[a], table.operators[b]
    old, new = first.axis, second.axis
    (_, _, inside), (_, _, there) = table.terms[a], table.terms[b]
    if first.op != second.op or not old or first.indices != second.indices or len(inside) != 1:
        return False
    if table.lemma.extents[old] != table.lemma.extents[new]:
        return False
    return table.dependencies(inside[0]).isdisjoint(table.lemma.coordinates(new)) and is_placed(
        table, inside[0], there[0], old, new
    )
