"""Whether two terms are an instance of an axiom whose conditions lie in indices and extents.

egglog sees an index as a word, so it has to be told where these axioms apply; here it is made sure, for all
sizes, from the indices and extents themselves. Part of `kernel`, and like it independent of the prover.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING

from prism_explore.ir.dims import ONE, ZERO, Dim
from prism_explore.verify.checker.parser import (
    Complaint,
    Reading,
    Term,
    Tree,
    index_words,
    replaced_index,
    show,
    size_of,
)

if TYPE_CHECKING:
    from prism_explore.verify.checker.replay import Kernel

LARGEST_DEGREE = 12
"""Products of more symbols are not compared."""


def holds(k: Kernel, name: str, a: int, b: int) -> bool:
    """Whether a = b is an instance of the axiom of that name.

    Raises:
        Complaint: there is no such axiom here.
    """
    match name:
        case "interval cut":
            return _is_cut(k, a, b)
        case "intervals apart":
            return _are_apart(k, a, b)
        case "interval of everything":
            return _is_everything(k, a, b)
        case "bands meet":
            return _do_meet(k, a, b)
        case "sum in pieces":
            return _is_in_pieces(k, a, b, "sum", "add")
        case "maximum in pieces":
            return _is_in_pieces(k, a, b, "most", "greater")
        case "sum over digits":
            return _is_over_digits(k, a, b, "sum")
        case "maximum over digits":
            return _is_over_digits(k, a, b, "most")
        case "last running maximum":
            return _is_last(k, a, b)
        case "rescaled sum":
            return _is_rescaled(k, a, b)
        case "as low":
            return _is_as_low(k, a, b)
        case "maximum and an entry":
            return _is_entry(k, a, b)
        case _:
            raise Complaint(f"no axiom is stated as {name}")


# ---------------------------------------------------------------- intervals
def _interval(k: Kernel, e: int) -> tuple[Tree, Dim, Dim] | None:
    """An interval's index and borders."""
    term = k.shells[e]
    if term.op != "within":
        return None
    low, high = (size_of(x) for x in term.label.split("|"))
    return term.indices[0], low, high


def _inside(k: Kernel, e: int, op: str) -> tuple[int, ...]:
    """What is inside of a term with that operator."""
    return k.terms[e][2] if k.terms[e][0] == op else ()


def _is_cut(k: Kernel, a: int, b: int) -> bool:
    whole = _interval(k, a)
    parts = [_interval(k, x) for x in _inside(k, b, "add")]
    match whole, parts:
        case (i, low, high), [(j, start, cut), (m, again, end)]:
            return (
                show(i) == show(j) == show(m)
                and (low, cut, high) == (start, again, end)
                and _is_part(k, low, cut)
                and _is_part(k, cut, high)
            )
        case _:
            return False


def _is_part(k: Kernel, low: Dim, high: Dim) -> bool:
    """Whether low <= high wherever the conditions of the claim are met."""
    return at_most(low, high) or is_count(high - low, k.reading.known)


def _are_apart(k: Kernel, a: int, b: int) -> bool:
    match [_interval(k, x) for x in _inside(k, a, "mul")]:
        case [(i, low, high), (j, start, end)]:
            return k.number(b) == 0 and show(i) == show(j) and (at_most(high, start) or at_most(end, low))
        case _:
            return False


def _do_meet(k: Kernel, a: int, b: int) -> bool:
    """Whether b is 1 exactly where both bands of a are."""
    parts = _inside(k, a, "mul")
    if len(parts) != 2 or any(k.shells[x].op != "near" for x in parts):
        return False
    first, *others = [_bounds(k, x) for x in (*parts, b) if k.shells[x].op == "near"]
    turned = [x if x.places == first.places else x.turned() for x in others]
    if any(x.places != first.places for x in turned):
        return False
    lows = [x.low for x in (first, turned[0]) if x.low is not None]
    highs = [x.high for x in (first, turned[0]) if x.high is not None]
    if k.number(b) == 0:
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


def _bounds(k: Kernel, e: int) -> _Bounds:
    """What a band is."""
    term = k.shells[e]
    low, high = (None if x == '"-"' else size_of(x) for x in term.label.split("|"))
    row, column = [show(simplified(i, k.reading)) for i in term.indices]
    return _Bounds(low, high, (row, column))


def _is_bound(found: Dim | None, given: list[Dim], tighter: Callable[[Dim, Dim], bool]) -> bool:
    """Whether a bound is one of those given, and the tightest."""
    if found is None:
        return not given
    return found in given and all(tighter(found, x) for x in given)


def _is_everything(k: Kernel, a: int, b: int) -> bool:
    match _interval(k, a):
        case (i, low, high):
            return k.number(b) == 1 and low == ZERO and high == k.reading.extent_of(i)
        case _:
            return False


# ---------------------------------------------------------------- axes
def _is_in_pieces(k: Kernel, a: int, b: int, over: str, joined: str) -> bool:
    axis, parts = k.shells[a].axis, _inside(k, b, joined)
    if k.shells[a].op != over or len(parts) != 2:
        return False
    size, start = k.reading.extents[axis], ZERO
    for part in parts:
        new = k.shells[part].axis
        place: Tree
        if k.shells[part].op == over:
            if set(k.reading.coordinates(new)) & (k.met(a) | set(k.reading.coordinates(axis))):
                return False
            length, (body,) = k.reading.extents[new], k.terms[part][2]
            if not is_count(length, k.reading.known):
                return False
            here = new if length != ONE else "0"
            place = ("moved", here, f'"{start}"', f'"{size}"')
        else:
            return False
        if not is_placed(k, k.terms[a][2][0], body, axis, place):
            return False
        start = start + length
    return start == size


def _is_over_digits(k: Kernel, a: int, b: int, over: str) -> bool:
    axis, names = k.shells[a].axis, list[str]()
    if k.shells[a].op != over:
        return False
    (inside,) = k.terms[a][2]
    size = ONE
    while size != k.reading.extents[axis]:
        term = k.shells[b]
        if term.op != over or term.axis in names or term.axis in k.reading.digits:
            return False
        names.append(term.axis)
        size = size * k.reading.extents[term.axis]
        (b,) = k.terms[b][2]
    return k.met(inside).isdisjoint(names) and is_placed(k, inside, b, axis, ("radix", *names))


def _is_last(k: Kernel, a: int, b: int) -> bool:
    first, second = k.shells[a], k.shells[b]
    if (first.op, second.op) != ("upto", "most") or first.axis != second.axis or k.terms[a][2] != k.terms[b][2]:
        return False
    size = k.reading.extents[first.axis]
    return simplified(first.indices[0], k.reading) == simplified(_last(size), k.reading)


def _last(size: Dim) -> Tree:
    return ("moved", "0", f'"{size - ONE}"', f'"{size}"')


def _is_rescaled(k: Kernel, a: int, b: int) -> bool:
    axis = k.shells[a].axis
    if k.terms[a][0] != "rescaled":
        return False
    value, scale = k.terms[a][2]
    match _inside(k, b, "mul"):
        case (before, total):
            pass
        case _:
            return False
    if k.shells[total].op != "sum" or k.shells[total].axis != axis:
        return False
    weighed = _inside(k, k.terms[total][2][0], "mul")
    exponent = _inside(k, before, "exp")
    if len(weighed) != 2 or weighed[0] != value or _inside(k, weighed[1], "exp") != (scale,) or not exponent:
        return False
    opposite = _inside(k, exponent[0], "mul")
    if len(opposite) != 2 or k.number(opposite[0]) != -1:
        return False
    return is_placed(k, scale, opposite[1], axis, _last(k.reading.extents[axis]))


def _is_as_low(k: Kernel, a: int, b: int) -> bool:
    axis = k.shells[a].axis
    match _inside(k, b, "mul"):
        case (factor, other):
            pass
        case _:
            return False
    if not k.shells[a].op == k.shells[other].op == "most" or k.shells[other].axis != axis:
        return False
    scaled, plain = (_inside(k, k.terms[x][2][0], "add") for x in (a, other))
    if len(scaled) != 2 or len(plain) != 2 or scaled[1] != plain[1]:
        return False
    if _inside(k, scaled[0], "mul") != (factor, plain[0]):
        return False
    mine = set(k.reading.coordinates(axis))
    lows = _bottoms(k, plain[1])
    return (
        k.sign(factor) == "> 0" and mine.isdisjoint(k.met(factor)) and bool(lows) and all(mine & k.met(x) for x in lows)
    )


def _is_entry(k: Kernel, a: int, b: int) -> bool:
    """Whether a is the greater of a maximum, which is b, and what it is taken of at some place."""
    match _inside(k, a, "greater"):
        case (whole, entry) if whole == b and k.shells[b].op == "most":
            axis, (body,) = k.shells[b].axis, k.terms[b][2]
            return any(
                k.reading.extent_of(place) == k.reading.extents[axis] and is_placed(k, body, entry, axis, place)
                for place in _places(k, body, entry, axis)
            )
        case _:
            return False


def _places(k: Kernel, a: int, b: int, axis: str) -> Iterator[Tree]:
    """Indices that stand in one term where an axis stands in another."""
    first, second = k.shells[a], k.shells[b]
    yield from _parts(first.indices, second.indices, axis)
    for x, y in zip(k.terms[a][2], k.terms[b][2], strict=False):
        yield from _places(k, x, y, axis)


def _parts(mine: Sequence[Tree], theirs: Sequence[Tree], axis: str) -> Iterator[Tree]:
    for i, j in zip(mine, theirs, strict=False):
        if i == axis:
            yield j
        elif isinstance(i, tuple) and isinstance(j, tuple):
            yield from _parts(i, j, axis)


def _bottoms(k: Kernel, e: int) -> tuple[int, ...]:
    """The terms of a sum of nothing but bottoms; empty where something else is among them."""
    op, _, inside = k.terms[e]
    if op == "bottom":
        return (e,)
    parts = [_bottoms(k, x) for x in inside] if op == "add" else []
    return tuple(x for p in parts for x in p) if parts and all(parts) else ()


# ---------------------------------------------------------------- a term at another place
def is_placed(k: Kernel, a: int, b: int, axis: str, place: Tree) -> bool:
    """Whether b is a with an axis replaced by an index, and nothing captured."""
    mine = frozenset(k.reading.coordinates(axis))
    if mine.isdisjoint(k.met(a)):
        return a == b
    first, second = k.shells[a], k.shells[b]
    words = {w for i in first.indices for w in index_words(i)}
    if any(w != axis and not mine.isdisjoint(k.reading.coordinates(w)) for w in words):
        return False
    put: Callable[[Tree], Tree] = lambda i: simplified(replaced_index(i, axis, place), k.reading)  # noqa: E731
    if first.op in ("within", "near"):
        return _known(first, tuple(map(put, first.indices)), k.reading) == _known_term(k, b)
    taken = frozenset(c for w in index_words(place) for c in k.reading.coordinates(w))
    if first.axis and not taken.isdisjoint(k.reading.coordinates(first.axis)):
        return False
    (_, _, inside), (_, _, there) = k.terms[a], k.terms[b]
    if (first.op, first.label, first.axis, len(inside)) != (second.op, second.label, second.axis, len(there)):
        return False
    shadowed = first.axis and not mine.isdisjoint(k.reading.coordinates(first.axis))
    if tuple(map(put, first.indices)) != tuple(simplified(i, k.reading) for i in second.indices):
        return False
    if shadowed:
        return inside == there
    return all(is_placed(k, x, y, axis, place) for x, y in zip(inside, there, strict=True))


def _known_term(k: Kernel, e: int) -> object:
    """A 0/1 value in the form that `_known` gives."""
    term = k.shells[e]
    if term.op in ("within", "near"):
        return _known(term, tuple(simplified(i, k.reading) for i in term.indices), k.reading)
    return k.number(e)


def _known(term: Term, indices: tuple[Tree, ...], reading: Reading) -> object:
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
        low, high, size = low - offsets[0], high - offsets[0], reading.extent_of(bare[0])
        if at_most(high, ZERO) or at_most(size, low):
            return Fraction(0)
        if at_most(low, ZERO) and at_most(size, high):
            return Fraction(1)
        return show(bare[0]), str(ZERO if at_most(low, ZERO) else low), str(size if at_most(size, high) else high)
    shift = offsets[0] - offsets[1]
    low, high = (None if d is None else d + shift for d in (low, high))
    least, most = ONE - reading.extent_of(bare[0]), reading.extent_of(bare[1]) - ONE
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


def simplified(i: Tree, reading: Reading) -> Tree:
    """An index where what was moved twice is moved once, and numbers in numbers are one number."""
    match i:
        case ("moved", base, str(by), str(size)):
            inner, already = _still(simplified(base, reading))
            total = already + size_of(by)
            if total == ZERO and reading.extent_of(inner) == size_of(size):
                return inner
            return ("moved", inner, f'"{total}"', f'"{size_of(size)}"')
        case ("radix", *parts):
            flat: list[Tree] = []
            for p in parts:
                p = simplified(p, reading)
                flat += p[1:] if isinstance(p, tuple) and p[0] == "radix" else [p] if p != "0" else []
            return ("radix", *flat) if len(flat) > 1 else flat[0] if flat else "0"
        case ("digit", base, str(before), str(size), str(after)):
            return _digit(simplified(base, reading), before, size, after, reading)
        case _:
            return i


def _digit(base: Tree, before: str, size: str, after: str, reading: Reading) -> Tree:
    """A digit of a number in mixed radix, where it is some of the number's parts."""
    match base:
        case ("radix", *parts):
            start, end = size_of(before), size_of(before) * size_of(size)
            reach, found = ONE, list[Tree]()
            for p in parts:
                after_p = reach * reading.extent_of(p)
                if reach == start or found:
                    found.append(p)
                if found and after_p == end:
                    return simplified(("radix", *found), reading)
                reach = after_p
        case _:
            pass
    return ("digit", base, before, size, after)


# ---------------------------------------------------------------- sizes
def is_count(d: Dim, known: Sequence[Dim] = ()) -> bool:
    """Whether a size is a positive integer wherever the known ones are; no where that is not seen.

    It is where it is a sum of products of symbols and natural numbers, such a sum times a known size, or a product of
    two known sizes; or where each of its terms is whole by itself or as a multiple of a known size, and it is at
    least 1.
    """
    quotients = (_quotient(d, by) for by in (ONE, *known))
    if any(_is_natural(q) or q in known for q in quotients if q is not None):
        return True
    for powers, c in d.terms:
        term = Dim(((powers, abs(c)),))
        if not any(_is_natural(q) for q in (_quotient(term, by) for by in (ONE, *known)) if q is not None):
            return False
    return at_most(ONE, d)


def _is_natural(d: Dim) -> bool:
    return bool(d.terms) and all(c > 0 and c.denominator == 1 and min((1, *dict(p).values())) > 0 for p, c in d.terms)


def _quotient(a: Dim, b: Dim) -> Dim | None:
    """a / b, where that is a product or b divides a evenly as it stands."""
    if b.is_monomial:
        return a / b
    if not a.terms:
        return None
    first = Dim(a.terms[:1])
    return next((q for t in b.terms if (q := first / Dim((t,))) * b == a), None)


def at_most(a: Dim, b: Dim) -> bool:
    """Whether a <= b for all positive integers; no where that is not seen.

    With every symbol written as 1 + t, and denominators cleared, no coefficient of b - a may be below 0.
    """
    difference = b - a
    lowest: dict[str, int] = {}
    for powers, _ in difference.terms:
        for s, e in powers:
            lowest[s] = min(e, lowest.get(s, 0))
    total: dict[tuple[tuple[str, int], ...], Fraction] = {}
    for powers, c in difference.terms:
        exponents = {s: dict(powers).get(s, 0) - low for s, low in lowest.items()}
        if sum(exponents.values()) > LARGEST_DEGREE:
            return all(x > 0 for _, x in difference.terms)
        grown: list[tuple[tuple[tuple[str, int], ...], Fraction]] = [((), c)]
        for s, e in sorted(exponents.items()):
            grown = [((*p, (s, n)), x * comb(e, n)) for p, x in grown for n in range(e + 1)]
        for p, x in grown:
            total[p] = total.get(p, Fraction(0)) + x
    return all(x >= 0 for x in total.values())
