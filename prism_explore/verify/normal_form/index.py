"""Index terms: the position of a tensor's element along a dim, as a number in mixed radix.

Element `p` of a tile of block `x` in iteration `i` is element `(x, i, p)` of the full dim, with the most significant
digit first. Tiling a dim replaces its index by such a number, and combining tiles takes the digits of an index. So
partition and combination are arithmetic on indices, and cancel.

    Radix(i1, .., in)      ((i1 * |i2| + i2) * |i3| + i3) ..
    Digit(i; P, Q, R)      (i div R) mod Q, where P * Q * R is exactly the extent of i
    Moved(i, c, n)         i + c, a position in a dim of size n, with c > 0 for slices, c < 0 for concatenations

Terms are compared by their `key`, a string. The rules assume that every extent is a positive integer, which holds
wherever the programs have a meaning. A `Moved` index may lie outside of its dim; there a factor `Interval` is 0.

Source: mixed-radix positional notation. The rules I1 to I12 are listed in `tests/verify/normal_form/index_rules.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias, assert_never

from prism_explore.ir.dims import ONE, Dim, dim
from prism_explore.ir.dims import ZERO as NOTHING
from prism_explore.support.caches import memoize
from prism_explore.verify.normal_form.size_facts import at_most, divides, is_integer, is_whole, quotient

MOVED = "+<"
"""Occurs in a key if and only if it contains a `Moved`."""
LOOP = "l"
"""The name of the for-loop's index."""


def position(d: int) -> str:
    """The name of a tensor's own index along dim `d`."""
    return f"p{d}"


def grid_index(n: int) -> str:
    """The name of a block's coordinate along grid dim `n`."""
    return f"g{n}"


class Keyed:
    """A term that is compared, hashed and ordered by its `key`, which determines it."""

    __slots__ = ("depth", "free", "height", "key")
    key: str
    free: frozenset[str]
    """Names of its free index variables."""
    height: int
    """The nesting depth of sums in it."""
    depth: int
    """The nesting depth of functions, powers, maxima and digits in it."""

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Keyed) and self.key == other.key)

    def __hash__(self) -> int:
        return hash(self.key)

    def __lt__(self, other: Keyed) -> bool:
        return self.key < other.key

    def _set_key(self, key: str, free: frozenset[str], height: int = 0, depth: int = 0) -> None:
        _set(self, "key", key)
        _set(self, "free", free)
        _set(self, "height", height)
        _set(self, "depth", depth)


_set = object.__setattr__
"""Sets attributes of a frozen value during its construction."""
_CLOSED: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Zero(Keyed):
    """The only index of a dim of size 1."""

    def __post_init__(self) -> None:
        self._set_key("0", _CLOSED)


@dataclass(frozen=True, slots=True, eq=False)
class Var(Keyed):
    """An index variable that runs over `0 .. extent - 1`.

    Names are generated, never a user's: p0 a tensor's position, g0 a grid coordinate, l the loop, b1.0 a canonical
    bound index (height, number), ~7 a fresh one that no finished term contains.
    """

    name: str
    extent: Dim

    def __post_init__(self) -> None:
        self._set_key(f"{self.name}:{self.extent}", frozenset((self.name,)))


@dataclass(frozen=True, slots=True, eq=False)
class Radix(Keyed):
    """A number in mixed radix, most significant part first; at least two parts, none of them a Radix."""

    parts: tuple[Index, ...]

    def __post_init__(self) -> None:
        free = _CLOSED.union(*[p.free for p in self.parts])
        self._set_key(f"({','.join([p.key for p in self.parts])})", free, 0, max([p.depth for p in self.parts]))


@dataclass(frozen=True, slots=True, eq=False)
class Digit(Keyed):
    """`(base div after) mod size`; `before * size * after` is the extent of `base`."""

    base: Index
    before: Dim
    size: Dim
    after: Dim

    def __post_init__(self) -> None:
        cut = "|".join((str(self.before), str(self.size), str(self.after)))
        self._set_key(f"{self.base.key}<{cut}>", self.base.free, 0, self.base.depth + 1)


@dataclass(frozen=True, slots=True, eq=False)
class Moved(Keyed):
    """`base + by`, as a position in a dim of size `size`; `by` may be negative, and `base` is no `Moved`."""

    base: Index
    by: Dim
    size: Dim

    def __post_init__(self) -> None:
        key = f"{self.base.key}{MOVED}{self.by}|{self.size}>"
        self._set_key(key, self.base.free, 0, self.base.depth + 1)


@dataclass(frozen=True, slots=True, eq=False)
class Looked(Keyed):
    """The element of an integer input at a place, as a position in a dim of size `size`.

    Nothing else is known of it, so that what is proved holds for all values of the input that are positions.
    """

    tensor: str
    indices: tuple[Index, ...]
    size: Dim

    def __post_init__(self) -> None:
        free = _CLOSED.union(*[i.free for i in self.indices])
        key = f"{self.tensor!r}<{','.join([i.key for i in self.indices])}|{self.size}>"
        self._set_key(key, free, 0, 1 + max([i.depth for i in self.indices], default=0))


Index: TypeAlias = Zero | Var | Radix | Digit | Moved | Looked

ZERO = Zero()


@memoize(65536)
def var(name: str, extent: Dim) -> Index:
    """An index variable, or 0 where its dim has size 1."""
    return ZERO if extent == ONE else Var(name, extent)


def extent(i: Index) -> Dim:
    """The number of values of an index."""
    match i:
        case Zero():
            return ONE
        case Var(_, size) | Digit(_, _, size, _) | Moved(_, _, size) | Looked(_, _, size):
            return size
        case Radix(parts):
            total = ONE
            for p in parts:
                total = total * extent(p)
            return total
        case _:
            assert_never(i)


def radix(parts: Sequence[Index], known: Sequence[Dim] = ()) -> Index:
    """The number with these digits, most significant first (rules I1, I2, I10); `known` as for `digit`."""
    out: list[Index] = []
    pending = list(reversed(parts))
    while pending:
        part = pending.pop()
        match part:
            case Zero():
                continue
            case Radix(inner):
                pending.extend(reversed(inner))
                continue
            case Digit(base, before, size, after) if out:
                last = out[-1]
                if (
                    isinstance(last, Digit)
                    and last.base == base
                    and last.before * last.size == before
                    and last.after == size * after
                ):
                    out.pop()
                    pending.append(digit(base, last.before, last.size * size, after, known))
                    continue
            case _:
                pass
        out.append(part)
    if len(out) < 2:
        return out[0] if out else ZERO
    match out[0]:
        case Moved(Zero(), by, size):
            below = radix(out[1:], known)
            return moved(below, by * extent(below), size * extent(below))
        case _:
            return Radix(tuple(out))


def digit(base: Index, before: Dim, size: Dim, after: Dim, known: Sequence[Dim] = ()) -> Index:
    """`(base div after) mod size` (rules I3 to I7, I9 to I12).

    Args:
        base: the number.
        before: the number of values of the part before the digit.
        size: that of the digit.
        after: that of the part after it.
        known: sizes that are integers, such as tile extents in the conditions of a proof.

    Raises:
        ValueError: `before * size * after` is not the extent of `base`.
    """
    if before * size * after != extent(base):
        raise ValueError(f"{before}*{size}*{after} is not the extent of {show_index(base)}")
    if size == ONE:
        return ZERO
    if before == ONE and after == ONE:
        return base
    match base:
        case Digit(inner, p, _, r):
            return digit(inner, p * before, size, after * r, known)
        case Radix(parts):
            window = _window(parts, before, size, after, known)
            if window is not None:
                return radix(window, known)
            return _narrow(parts, before, size, after, known)
        case Moved(inner, by, _):
            found = _digit_of_slice(inner, by, before, size, after, known)
            if found is not None:
                return found
            window = _window(row, before, size, after, known) if (row := _row(base)) else None
            return Digit(base, before, size, after) if window is None else radix(window, known)
        case _:
            return Digit(base, before, size, after)


def _row(i: Moved) -> tuple[Index, ...]:
    """A slice that is one of several rows of its dim, as the row's number and what is in it; empty for others (I10)."""
    if i.base == ZERO:  # a constant is a row of itself
        return ()
    row, rows = quotient(i.by, extent(i.base)), quotient(i.size, extent(i.base))
    if row is None or rows is None or not is_whole(row) or not is_whole(rows):
        return ()
    return (moved(ZERO, row, rows), *(i.base.parts if isinstance(i.base, Radix) else (i.base,)))


def _digit_of_slice(inner: Index, by: Dim, before: Dim, size: Dim, after: Dim, known: Sequence[Dim]) -> Index | None:
    """Rules I9, I11 and I12."""
    reach = extent(inner)
    if inner == ZERO and (place := _constant_digit(by, size, after)) is not None:
        return moved(ZERO, place, size)
    if before == ONE and reach == after and (row := quotient(by, after)) is not None and is_whole(row):
        return moved(ZERO, row, size)
    if after == ONE and reach == size and divides(size, by):
        return inner
    if before != ONE and at_most(NOTHING, by) and at_most(by + reach, size * after):
        return digit(moved(inner, by, size * after), ONE, size, after, known)
    if (of := line(inner)) is not None:
        v, factor, constant = of
        return _digit_of_line(v, factor, constant + by, size, after)
    return None


def line(i: Index) -> tuple[Var, Dim, Dim] | None:
    """An index variable, a factor and a constant: the number that a variable and constant digits after it make."""
    match i:
        case Radix((Var() as v, Moved(Zero(), constant, size), *rest)) if size != ONE:
            for part in rest:
                if not isinstance(part, Moved) or part.base != ZERO:
                    return None
                constant, size = constant * part.size + part.by, size * part.size
            return v, size, constant
        case _:
            return None


def _digit_of_line(v: Var, factor: Dim, constant: Dim, size: Dim, after: Dim) -> Index | None:
    """`((v * factor + constant) div after) mod size`, where that is v or a constant, or v plus a constant (I12)."""
    for by, is_quotient in ((after, True), (size, False)):
        of_factor, of_constant = _divided(factor, by), _divided(constant, by)
        if of_factor is None or of_constant is None:
            return None
        (more, few), (above, below) = of_factor, of_constant
        if not (few in (NOTHING, ONE) and at_most(NOTHING, below)):
            return None
        if not at_most((v.extent - 1) * few + below + 1, by):
            return None
        factor, constant = (more, above) if is_quotient else (few, below)
    return moved(v if factor == ONE else ZERO, constant, size) if factor in (NOTHING, ONE) else None


def _divided(number: Dim, by: Dim) -> tuple[Dim, Dim] | None:
    """q and r with `number = q * by + r`, with r of 0 or 1, or q of 0; None where there are none for all sizes."""
    for rest in (NOTHING,) if by == ONE else (NOTHING, ONE):
        q = quotient(number - rest, by)
        if q is not None and is_whole(q):
            return q, rest
    return (NOTHING, number) if at_most(number + 1, by) else None


def _constant_digit(number: Dim, size: Dim, after: Dim) -> Dim | None:
    """A digit of a constant, where it does not depend on symbols (I11)."""
    n, wide, below = number.constant, size.constant, after.constant
    return None if n is None or wide is None or below is None else dim(n // below % wide)


def moved(i: Index, by: Dim, size: Dim) -> Index:
    """`i + by` as a position in a dim of that size (rule I8)."""
    if isinstance(i, Moved):
        return moved(i.base, i.by + by, size)
    return i if by == NOTHING and extent(i) == size else Moved(i, by, size)


def _window(
    parts: tuple[Index, ...], before: Dim, size: Dim, after: Dim, known: Sequence[Dim]
) -> Sequence[Index] | None:
    """The digits between two borders, or None where a border cannot be placed (I5, I6)."""
    known = (before, size, after, *map(extent, parts), *known)
    cut = _cut(parts, before, known)
    cut = None if cut is None else _cut(cut, before * size, known)
    if cut is None:
        return None
    start, prefix = 0, ONE
    while prefix != before:
        prefix = prefix * extent(cut[start])
        start += 1
    end = start
    while prefix != before * size:
        if end == len(cut):  # a size that is an integer for one choice of symbols only, such as 1/g
            return None
        prefix = prefix * extent(cut[end])
        end += 1
    return cut[start:end]


def _cut(parts: tuple[Index, ...], border: Dim, known: Sequence[Dim]) -> tuple[Index, ...] | None:
    """The same number with a part split at a border, the product of the leading parts (I6).

    Args:
        parts: the number.
        border: the product of the leading parts before the border.
        known: sizes that are integers wherever the number and its digits are well-defined.
    """
    prefix = ONE
    for n, part in enumerate(parts):
        if prefix == border:
            return parts
        reach = prefix * extent(part)
        u, v = quotient(border, prefix), quotient(reach, border)
        if reach != border and u and v and is_integer(u, known) and is_integer(v, known):
            return (*parts[:n], digit(part, ONE, u, v, known), digit(part, u, v, ONE, known), *parts[n + 1 :])
        prefix = reach
    return parts if prefix == border else None


def _narrow(parts: tuple[Index, ...], before: Dim, size: Dim, after: Dim, known: Sequence[Dim]) -> Index:
    """A digit of a number without the leading and trailing parts that do not affect it (I7)."""
    start, prefix = 0, ONE
    while start < len(parts) and is_integer(quotient(before, prefix * extent(parts[start])), known):
        prefix = prefix * extent(parts[start])
        start += 1
    end, suffix = len(parts), ONE
    while end > start and is_integer(quotient(after, suffix * extent(parts[end - 1])), known):
        suffix = suffix * extent(parts[end - 1])
        end -= 1
    kept, above, below = radix(parts[start:end], known), quotient(before, prefix), quotient(after, suffix)
    if (start == 0 and end == len(parts)) or above is None or below is None:
        return Digit(radix(parts, known), before, size, after)
    return digit(kept, above, size, below, known)


def substitute(i: Index, by: Mapping[str, Index], known: Sequence[Dim] = ()) -> Index:
    """Variables replaced by index terms of the same extents; `known` as for `digit`."""
    match i:
        case Zero():
            return i
        case Var(name, _):
            return by.get(name, i)
        case Radix(parts):
            return radix([substitute(p, by, known) for p in parts], known) if not i.free.isdisjoint(by) else i
        case Digit(base, before, size, after):
            if i.free.isdisjoint(by):
                return i
            return digit(substitute(base, by, known), before, size, after, known)
        case Moved(base, along, size):
            return moved(substitute(base, by, known), along, size) if not i.free.isdisjoint(by) else i
        case Looked(tensor, indices, size):
            return Looked(tensor, tuple(substitute(p, by, known) for p in indices), size)
        case _:
            assert_never(i)


def normalize_digits(i: Index, known: Sequence[Dim]) -> Index:
    """The same number, normalized with sizes that are integers; `known` as for `digit`."""
    match i:
        case Zero() | Var():
            return i
        case Radix(parts):
            return radix([normalize_digits(p, known) for p in parts], known)
        case Digit(base, before, size, after):
            return digit(normalize_digits(base, known), before, size, after, known)
        case Moved(base, by, size):
            return moved(normalize_digits(base, known), by, size)
        case Looked(tensor, indices, size):
            return Looked(tensor, tuple(normalize_digits(p, known) for p in indices), size)
        case _:
            assert_never(i)


def collect_digits(i: Index, found: dict[str, dict[str, Digit]]) -> None:
    """Add the digits of each variable in an index to `found`, by variable and key."""
    match i:
        case Zero() | Var():
            pass
        case Radix(parts):
            for p in parts:
                collect_digits(p, found)
        case Digit(Var(name, _), _, _, _):
            found.setdefault(name, {})[i.key] = i
        case Digit(base, _, _, _) | Moved(base, _, _):
            collect_digits(base, found)
        case Looked(_, indices, _):
            for p in indices:
                collect_digits(p, found)
        case _:
            assert_never(i)


def has_lookup(i: Index) -> bool:
    """Whether an index contains an element of an integer input."""
    match i:
        case Zero() | Var():
            return False
        case Radix(parts):
            return any(map(has_lookup, parts))
        case Digit(base, _, _, _) | Moved(base, _, _):
            return has_lookup(base)
        case Looked():
            return True
        case _:
            assert_never(i)


def digit_borders(digits: Iterable[Digit], extent: Dim) -> tuple[Dim, ...]:
    """The borders at which digits split a number, from 1 to its extent; empty where they form no chain of divisors.

    The last border need not be divisible: the last part is the weight of an existing digit, so it is an integer
    wherever that digit is.
    """
    borders = {str(d): d for digit in digits for d in (digit.before, digit.before * digit.size)}
    inner = [d for d in borders.values() if d not in (ONE, extent)]
    by_divisors = sorted(inner, key=lambda d: (-sum(divides(d, other) for other in inner), str(d)))
    chain = (ONE, *by_divisors, extent)
    return chain if all(divides(x, y) for x, y in pairwise(chain[:-1])) else ()


def show_name(name: str) -> str:
    """A variable as printed text: p0 a position, x, y, z a block's coordinate, i the loop, k1 a bound index."""
    if name == LOOP:
        return "i"
    if name.startswith("g") and int(name[1:]) < 3:
        return "xyz"[int(name[1:])]
    if name.startswith("b"):
        height, number = name[1:].split(".")
        return f"k{height}" if number == "0" else f"k{height}_{number}"
    return name


def show_index(i: Index) -> str:
    """An index as printed text: `(x,i,p0)` a number in mixed radix, `p0<P|Q|R>` a digit, `p0+4` moved."""
    match i:
        case Zero():
            return "0"
        case Var(name, _):
            return show_name(name)
        case Radix(parts):
            return f"({','.join(show_index(p) for p in parts)})"
        case Digit(base, before, size, after):
            return f"{show_index(base)}<{before}|{size}|{after}>"
        case Moved(Zero(), by, _):
            return str(by)
        case Moved(base, by, _):
            return f"{show_index(base)}+{by}".replace("+-", "-")
        case Looked(tensor, indices, _):
            return f"{tensor}[{','.join(map(show_index, indices))}]"
        case _:
            assert_never(i)
