"""Instances of axioms whose conditions are about indices and extents, verified for all sizes.

Indices are strings without structure for egglog, so egglog gets these instances as facts. Here they are verified from
the indices and extents. Independent of the prover.
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
            return _is_interval_split(table, a, b)
        case "intervals apart":
            return _are_disjoint(table, a, b)
        case "interval of everything":
            return _covers_dim(table, a, b)
        case "one value by digits":
            return _has_digits_of_value(table, a, b)
        case "bands meet":
            return _is_band_intersection(table, a, b)
        case "band cut":
            return _is_band_cut(table, a, b)
        case "band of a constant":
            return _is_band_of_constant(table, a, b)
        case "index of one value":
            return _has_index_of_one_value(table, a, b)
        case "sum over a diagonal":
            return _is_diagonal_sum(table, a, b)
        case "sum in pieces":
            return _is_split_range(table, a, b, "sum", "add")
        case "maximum in pieces":
            return _is_split_range(table, a, b, "most", "greater")
        case "sum over digits":
            return _is_range_over_digits(table, a, b, "sum")
        case "maximum over digits":
            return _is_range_over_digits(table, a, b, "most")
        case "last running maximum":
            return _is_last_running_maximum(table, a, b)
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
    """The index and bounds of an interval; None for any other term."""
    term = table.operators[e]
    if term.op != "within":
        return None
    low, high = (size_of(x) for x in term.label.split("|"))
    return term.indices[0], low, high


def _arguments(table: TermTable, e: int, op: str) -> tuple[int, ...]:
    """The arguments of a term with that operator; empty for any other term."""
    return table.terms[e][2] if table.terms[e][0] == op else ()


def _is_interval_split(table: TermTable, a: int, b: int) -> bool:
    full = _interval(table, a)
    parts = [_interval(table, x) for x in _arguments(table, b, "add")]
    match full, parts:
        case (i, low, high), [(j, start, border), (m, second_start, end)]:
            return (
                show(i) == show(j) == show(m)
                and (low, border, high) == (start, second_start, end)
                and _is_ordered(table, low, border)
                and _is_ordered(table, border, high)
            )
        case _:
            return False


def _is_ordered(table: TermTable, low: Dim, high: Dim) -> bool:
    """Whether low <= high wherever the conditions of the claim are met."""
    return at_most(low, high) or is_count(high - low, table.lemma.integers)


def _are_disjoint(table: TermTable, a: int, b: int) -> bool:
    match [_interval(table, x) for x in _arguments(table, a, "mul")]:
        case [(i, low, high), (j, start, end)]:
            return table.number(b) == 0 and show(i) == show(j) and (at_most(high, start) or at_most(end, low))
        case _:
            return False


def _has_digits_of_value(table: TermTable, a: int, b: int) -> bool:
    """Whether a says that a number has one value, and b that each of its digits has the digit of that value."""
    whole, parts = _interval(table, a), [_interval(table, x) for x in _factors(table, b)]
    match whole:
        case (("radix", *digits), low, high) if high - low == ONE and len(digits) == len(parts):
            value = 0
            for i, part in zip(digits, parts, strict=True):
                size = table.lemma.extent_of(i).constant
                digit = None if part is None else part[1].constant
                if part is None or size is None or digit is None or not 0 <= digit < size:
                    return False
                if show(part[0]) != show(i) or part[2] - part[1] != ONE:
                    return False
                value = value * size + digit
            return low.constant == value
        case _:
            return False


def _factors(table: TermTable, e: int) -> tuple[int, ...]:
    """The factors of a product, in order."""
    parts = _arguments(table, e, "mul")
    return tuple(f for x in parts for f in _factors(table, x)) if parts else (e,)


def _is_band_intersection(table: TermTable, a: int, b: int) -> bool:
    """Whether b is the intersection of the two bands of a."""
    parts = _arguments(table, a, "mul")
    if len(parts) != 2 or any(table.operators[x].op != "near" for x in parts):
        return False
    first, *others = [_band_bounds(table, x) for x in (*parts, b) if table.operators[x].op == "near"]
    others = [x if x.indices == first.indices else x.transposed() for x in others]
    if any(x.indices != first.indices for x in others):
        return False
    lows = [x.low for x in (first, others[0]) if x.low is not None]
    highs = [x.high for x in (first, others[0]) if x.high is not None]
    if table.number(b) == 0:
        return any(at_most(high + ONE, low) for low in lows for high in highs)
    if len(others) != 2:
        return False
    return _is_bound(others[1].low, lows, lambda x, y: at_most(y, x)) and _is_bound(others[1].high, highs, at_most)


def _bands(table: TermTable, e: int) -> Iterator[tuple[Dim | None, Dim | None, Tree, Tree]]:
    """The bounds, row and column of a band, and of the same band with row and column exchanged; none for others."""
    term = table.operators[e]
    if term.op == "near":
        low, high = (None if x == '"-"' else size_of(x) for x in term.label.split("|"))
        row, column = term.indices
        yield low, high, row, column
        yield None if high is None else ZERO - high, None if low is None else ZERO - low, column, row


def _is_band_cut(table: TermTable, a: int, b: int) -> bool:
    """Whether b is a band up to l - 1 and one from l to h, and a the band up to h."""
    parts = _arguments(table, b, "add")
    if len(parts) != 2:
        return False
    for low, high, row, column in _bands(table, parts[1]):
        if low is None or not (high is None or at_most(low, high + ONE)):
            continue
        whole, before = (_band_form((row, column), None, d, table.lemma) for d in (high, low - ONE))
        if (whole, before) == (_indicator_form_of(table, a), _indicator_form_of(table, parts[0])):
            return True
    return False


def _is_band_of_constant(table: TermTable, a: int, b: int) -> bool:
    """Whether a is a band of which an index is a constant, and b the interval of the other index."""
    for low, high, row, column in _bands(table, a):
        constant, at = _unshifted(simplified(row, table.lemma))
        if constant == "0":
            first = ZERO if low is None else at + low
            end = table.lemma.extent_of(column) if high is None else at + high + ONE
            return _interval_form(simplified(column, table.lemma), first, end, table.lemma) == _indicator_form_of(
                table, b
            )
    return False


def _has_index_of_one_value(table: TermTable, a: int, b: int) -> bool:
    """Whether a and b are products with an interval of one value, and b has this value in place of the index."""
    left, right = _arguments(table, a, "mul"), _arguments(table, b, "mul")
    if len(left) != 2 or len(right) != 2 or left[1] != right[1]:
        return False
    match _interval(table, left[1]):
        case (str(axis), low, high) if axis != "0" and high - low == ONE:
            place = ("moved", "0", f'"{low}"', f'"{table.lemma.extents[axis]}"')
            return is_substituted(table, left[0], right[0], axis, place)
        case _:
            return False


def _is_diagonal_sum(table: TermTable, a: int, b: int) -> bool:
    """Whether a is a sum of a product with a diagonal, and b an interval times the summand at the diagonal."""
    axis, right = table.operators[a].axis, _arguments(table, b, "mul")
    left = _arguments(table, table.terms[a][2][0], "mul") if table.operators[a].op == "sum" else ()
    if len(left) != 2 or len(right) != 2:
        return False
    own = frozenset(table.lemma.coordinates(axis))
    for low, high, row, column in _bands(table, left[1]):
        if column != axis or low is None or low != high:
            continue
        if any(not own.isdisjoint(table.lemma.coordinates(w)) for w in index_axes(row)):
            continue
        size = table.lemma.extents[axis]
        inside = _interval_form(simplified(row, table.lemma), ZERO - low, size - low, table.lemma)
        place = ("moved", row, f'"{low}"', f'"{size}"')
        return inside == _indicator_form_of(table, right[0]) and is_substituted(table, left[0], right[1], axis, place)
    return False


@dataclass(frozen=True, slots=True)
class _Bounds:
    """A band's bounds, and its row and column."""

    low: Dim | None
    high: Dim | None
    indices: tuple[str, str]

    def transposed(self) -> _Bounds:
        """The same band with row and column exchanged."""
        low = None if self.high is None else ZERO - self.high
        row, column = self.indices
        return _Bounds(low, None if self.low is None else ZERO - self.low, (column, row))


def _band_bounds(table: TermTable, e: int) -> _Bounds:
    """The bounds, row and column of a band."""
    term = table.operators[e]
    low, high = (None if x == '"-"' else size_of(x) for x in term.label.split("|"))
    row, column = [show(simplified(i, table.lemma)) for i in term.indices]
    return _Bounds(low, high, (row, column))


def _is_bound(found: Dim | None, bounds: list[Dim], tighter: Callable[[Dim, Dim], bool]) -> bool:
    """Whether a bound is the tightest of some bounds; None where there are none."""
    if found is None:
        return not bounds
    return found in bounds and all(tighter(found, x) for x in bounds)


def _covers_dim(table: TermTable, a: int, b: int) -> bool:
    match _interval(table, a):
        case (i, low, high):
            return table.number(b) == 1 and low == ZERO and high == table.lemma.extent_of(i)
        case _:
            return False


# ---------------------------------------------------------------- axes
def _is_split_range(table: TermTable, a: int, b: int, over: str, combine: str) -> bool:
    axis, parts = table.operators[a].axis, _arguments(table, b, combine)
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
        if not is_substituted(table, table.terms[a][2][0], body, axis, place):
            return False
        start = start + length
    return start == size


def _is_range_over_digits(table: TermTable, a: int, b: int, over: str) -> bool:
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
    return table.dependencies(inside).isdisjoint(names) and is_substituted(table, inside, b, axis, ("radix", *names))


def _is_last_running_maximum(table: TermTable, a: int, b: int) -> bool:
    first, second = table.operators[a], table.operators[b]
    if (first.op, second.op) != ("upto", "most") or first.axis != second.axis or table.terms[a][2] != table.terms[b][2]:
        return False
    size = table.lemma.extents[first.axis]
    return simplified(first.indices[0], table.lemma) == simplified(_last_index(size), table.lemma)


def _last_index(size: Dim) -> Tree:
    return ("moved", "0", f'"{size - ONE}"', f'"{size}"')


def _is_rescaled(table: TermTable, a: int, b: int) -> bool:
    axis = table.operators[a].axis
    if table.terms[a][0] != "rescaled":
        return False
    value, scale = table.terms[a][2]
    match _arguments(table, b, "mul"):
        case (before, total):
            pass
        case _:
            return False
    if table.operators[total].op != "sum" or table.operators[total].axis != axis:
        return False
    weighed = _arguments(table, table.terms[total][2][0], "mul")
    exponent = _arguments(table, before, "exp")
    if len(weighed) != 2 or weighed[0] != value or _arguments(table, weighed[1], "exp") != (scale,) or not exponent:
        return False
    opposite = _arguments(table, exponent[0], "mul")
    if len(opposite) != 2 or table.number(opposite[0]) != -1:
        return False
    return is_substituted(table, scale, opposite[1], axis, _last_index(table.lemma.extents[axis]))


def _is_as_low(table: TermTable, a: int, b: int) -> bool:
    axis = table.operators[a].axis
    match _arguments(table, b, "mul"):
        case (factor, other):
            pass
        case _:
            return False
    if not table.operators[a].op == table.operators[other].op == "most" or table.operators[other].axis != axis:
        return False
    scaled, plain = (_arguments(table, table.terms[x][2][0], "add") for x in (a, other))
    if len(scaled) != 2 or len(plain) != 2 or scaled[1] != plain[1]:
        return False
    if _arguments(table, scaled[0], "mul") != (factor, plain[0]):
        return False
    coordinates = set(table.lemma.coordinates(axis))
    lows = _bottoms(table, plain[1])
    return (
        table.sign(factor) == "> 0"
        and coordinates.isdisjoint(table.dependencies(factor))
        and bool(lows)
        and all(coordinates & table.dependencies(x) for x in lows)
    )


def _is_entry(table: TermTable, a: int, b: int) -> bool:
    """Whether a is max(b, entry), where b is a maximum and the entry is its body at some index."""
    match _arguments(table, a, "greater"):
        case (maximum, entry) if maximum == b and table.operators[b].op == "most":
            axis, (body,) = table.operators[b].axis, table.terms[b][2]
            return any(
                table.lemma.extent_of(place) == table.lemma.extents[axis]
                and is_substituted(table, body, entry, axis, place)
                for place in _candidate_indices(table, body, entry, axis)
            )
        case _:
            return False


def _candidate_indices(table: TermTable, a: int, b: int, axis: str) -> Iterator[Tree]:
    """The indices of one term at the positions at which an axis occurs in another term."""
    first, second = table.operators[a], table.operators[b]
    yield from _matching_parts(first.indices, second.indices, axis)
    for x, y in zip(table.terms[a][2], table.terms[b][2], strict=False):
        yield from _candidate_indices(table, x, y, axis)


def _matching_parts(coordinates: Sequence[Tree], theirs: Sequence[Tree], axis: str) -> Iterator[Tree]:
    for i, j in zip(coordinates, theirs, strict=False):
        if i == axis:
            yield j
        elif isinstance(i, tuple) and isinstance(j, tuple):
            yield from _matching_parts(i, j, axis)


def _bottoms(table: TermTable, e: int) -> tuple[int, ...]:
    """The summands, if all of them are `bottom` terms; else empty."""
    op, _, inside = table.terms[e]
    if op == "bottom":
        return (e,)
    parts = [_bottoms(table, x) for x in inside] if op == "add" else []
    return tuple(x for p in parts for x in p) if parts and all(parts) else ()


# ---------------------------------------------------------------- substitution of an axis
def is_substituted(table: TermTable, a: int, b: int, axis: str, place: Tree) -> bool:
    """Whether b is a with an axis replaced by an index, without capture."""
    coordinates = frozenset(table.lemma.coordinates(axis))
    if coordinates.isdisjoint(table.dependencies(a)):
        return a == b
    first, second = table.operators[a], table.operators[b]
    words = {w for i in first.indices for w in index_axes(i)}
    if any(w != axis and not coordinates.isdisjoint(table.lemma.coordinates(w)) for w in words):
        return False
    replace: Callable[[Tree], Tree] = lambda i: simplified(replaced_index(i, axis, place), table.lemma)  # noqa: E731
    if first.op in ("within", "near"):
        return _indicator_form(first, tuple(map(replace, first.indices)), table.lemma) == _indicator_form_of(table, b)
    taken = frozenset(c for w in index_axes(place) for c in table.lemma.coordinates(w))
    if first.axis and not taken.isdisjoint(table.lemma.coordinates(first.axis)):
        return False
    (_, _, inside), (_, _, there) = table.terms[a], table.terms[b]
    if (first.op, first.label, first.axis, len(inside)) != (second.op, second.label, second.axis, len(there)):
        return False
    shadowed = first.axis and not coordinates.isdisjoint(table.lemma.coordinates(first.axis))
    if tuple(map(replace, first.indices)) != tuple(simplified(i, table.lemma) for i in second.indices):
        return False
    if shadowed:
        return inside == there
    return all(is_substituted(table, x, y, axis, place) for x, y in zip(inside, there, strict=True))


def _indicator_form_of(table: TermTable, e: int) -> object:
    """An indicator term in the form that `_indicator_form` gives."""
    term = table.operators[e]
    if term.op in ("within", "near"):
        return _indicator_form(term, tuple(simplified(i, table.lemma) for i in term.indices), table.lemma)
    return table.number(e)


def _indicator_form(term: Term, indices: tuple[Tree, ...], lemma: ParsedLemma) -> object:
    """A canonical form of an interval or a band, without offsets; 0 or 1 where it is constant."""
    low, high = (None if x == '"-"' else size_of(x) for x in term.label.split("|"))
    match indices:
        case (i,):
            assert low is not None and high is not None, "an interval has two borders"
            return _interval_form(i, low, high, lemma)
        case (row, column):
            return _band_form((row, column), low, high, lemma)
        case _:
            raise AssertionError("an indicator has one index or two")


def _interval_form(i: Tree, low: Dim, high: Dim, lemma: ParsedLemma) -> object:
    bare, by = _unshifted(i)
    low, high, size = low - by, high - by, lemma.extent_of(bare)
    if at_most(high, ZERO) or at_most(size, low):
        return Fraction(0)
    if at_most(low, ZERO) and at_most(size, high):
        return Fraction(1)
    return show(bare), str(ZERO if at_most(low, ZERO) else low), str(size if at_most(size, high) else high)


def _band_form(indices: tuple[Tree, Tree], low: Dim | None, high: Dim | None, lemma: ParsedLemma) -> object:
    (row, before), (column, after) = (_unshifted(i) for i in indices)
    low, high = (None if d is None else d + before - after for d in (low, high))
    least, most = ONE - lemma.extent_of(row), lemma.extent_of(column) - ONE
    if (low is not None and at_most(most + ONE, low)) or (high is not None and at_most(high + ONE, least)):
        return Fraction(0)
    low = None if low is None or at_most(low, least) else low
    high = None if high is None or at_most(most, high) else high
    if low is None and high is None:
        return Fraction(1)
    one = (str(low), str(high), show(row), show(column))
    other = (*("None" if d is None else str(ZERO - d) for d in (high, low)), show(column), show(row))
    return min(one, other)


def _unshifted(i: Tree) -> tuple[Tree, Dim]:
    """An index without its offset, and the offset."""
    match i:
        case ("moved", base, str(by), str()):
            return base, size_of(by)
        case _:
            return i, ZERO


def simplified(i: Tree, lemma: ParsedLemma) -> Tree:
    """An index with nested offsets added, nested numbers flattened, and digits of numbers simplified."""
    match i:
        case ("moved", base, str(by), str(size)):
            inner, already = _unshifted(simplified(base, lemma))
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
    """A digit of a number in mixed radix: the parts between its borders, where these are borders of parts."""
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
    """Whether b is a with its bound axis renamed."""
    first, second = table.operators[a], table.operators[b]
    old, new = first.axis, second.axis
    (_, _, inside), (_, _, there) = table.terms[a], table.terms[b]
    if first.op != second.op or not old or first.indices != second.indices or len(inside) != 1:
        return False
    if table.lemma.extents[old] != table.lemma.extents[new]:
        return False
    return table.dependencies(inside[0]).isdisjoint(table.lemma.coordinates(new)) and is_substituted(
        table, inside[0], there[0], old, new
    )
