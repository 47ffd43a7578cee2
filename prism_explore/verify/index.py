"""Index terms: where in a tensor an element is read, in mixed radix.

A tile's element `p` of block `x` in iteration `i` is element `(x, i, p)` of the whole dim: a number
written in mixed radix, most significant digit first. Cutting a dim is writing its index as such a
number, joining blocks is taking its digits; so partition and combination become arithmetic on
indices, and vanish.

    Radix(i1, .., in)      ((i1 * |i2| + i2) * |i3| + i3) ..
    Digit(i; P, Q, R)      (i div R) mod Q, where P * Q * R is exactly the extent of i

Terms are values without any cache: equal terms have equal `key`, and all comparisons go through it.
Every extent is a positive integer wherever the programs have a meaning, and the rules rely on that.

Source: mixed-radix positional notation; the rules are I1 to I7 of `RULES`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias, assert_never

from prism_explore.ir.dims import ONE, Dim

LOOP = "l"
"""The name of the for-loop's index."""


def position(d: int) -> str:
    """The name of a tensor's own index along dim `d`."""
    return f"p{d}"


def grid_index(n: int) -> str:
    """The name of a block's coordinate along grid dim `n`."""
    return f"g{n}"


class Keyed:
    """A term that is compared, hashed and ordered by its `key`, a text that spells it completely."""

    __slots__ = ("free", "height", "key")
    key: str
    free: frozenset[str]
    """Names of its free index variables."""
    height: int
    """How deeply sums are nested in it."""

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Keyed) and self.key == other.key)

    def __hash__(self) -> int:
        return hash(self.key)

    def __lt__(self, other: Keyed) -> bool:
        return self.key < other.key

    def _know(self, key: str, free: frozenset[str], height: int = 0) -> None:
        object.__setattr__(self, "key", key)
        object.__setattr__(self, "free", free)
        object.__setattr__(self, "height", height)


_CLOSED: frozenset[str] = frozenset()


@lru_cache(65536)
def _text(d: Dim) -> str:
    return str(d)


@dataclass(frozen=True, slots=True, eq=False)
class Zero(Keyed):
    """The only index of a dim of size 1."""

    def __post_init__(self) -> None:
        self._know("0", _CLOSED)


@dataclass(frozen=True, slots=True, eq=False)
class Var(Keyed):
    """An index variable that runs over `0 .. extent - 1`.

    Names are made here, never taken from a user: p0 a tensor's position, g0 a grid coordinate, l the
    loop, b1.0 a canonical bound index (height, number), ~7 a fresh one that no finished term contains.
    """

    name: str
    extent: Dim

    def __post_init__(self) -> None:
        self._know(f"{self.name}:{_text(self.extent)}", frozenset((self.name,)))


@dataclass(frozen=True, slots=True, eq=False)
class Radix(Keyed):
    """A number in mixed radix, most significant part first; at least two parts, none of them a Radix."""

    parts: tuple[Index, ...]

    def __post_init__(self) -> None:
        free = _CLOSED.union(*(p.free for p in self.parts))
        self._know(f"({','.join(p.key for p in self.parts)})", free)


@dataclass(frozen=True, slots=True, eq=False)
class Digit(Keyed):
    """`(base div after) mod size`; `before * size * after` is the extent of `base`."""

    base: Index
    before: Dim
    size: Dim
    after: Dim

    def __post_init__(self) -> None:
        cut = "|".join((_text(self.before), _text(self.size), _text(self.after)))
        self._know(f"{self.base.key}<{cut}>", self.base.free)


Index: TypeAlias = Zero | Var | Radix | Digit

ZERO = Zero()


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of a table of rules."""

    name: str
    rule: str
    """before = after."""
    sentence: str
    condition: str
    """When it holds; a dash where always."""
    source: str


_POSITIONAL = "positional notation"

RULES: tuple[Rule, ...] = (
    Rule("I1", "Radix(a, Radix(b, c)) = Radix(a, b, c)", "Digits of a digit line up.", "-", _POSITIONAL),
    Rule(
        "I2",
        "Radix(.., Digit(i;P,Q,S*R), Digit(i;P*Q,S,R), ..) = Radix(.., Digit(i;P,Q*S,R), ..)",
        "Adjacent digits of one number are one larger digit of it.",
        "both are digits of the same i",
        _POSITIONAL,
    ),
    Rule(
        "I3",
        "Digit(i;1,|i|,1) = i and Digit(i;P,1,R) = 0",
        "A number is its own only digit.",
        "-",
        "definition",
    ),
    Rule(
        "I4",
        "Digit(Digit(i;P,Q,R);p,q,r) = Digit(i;P*p,q,r*R)",
        "A digit of a digit is a digit.",
        "p*q*r = Q",
        _POSITIONAL,
    ),
    Rule(
        "I5",
        "Digit(Radix(..);P,Q,R) = Radix(the parts between P and P*Q)",
        "The digits of a number written in mixed radix can be read off.",
        "P and P*Q are products of leading parts",
        _POSITIONAL,
    ),
    Rule(
        "I6",
        "a part of extent u*v = Radix(Digit(.;1,u,v), Digit(.;u,v,1))",
        "A part is cut where a border falls inside it.",
        "u and v are products of symbols and a whole number, so they are integers",
        _POSITIONAL,
    ),
    Rule(
        "I7",
        "Digit(Radix(a, b, c);P,Q,R) = Digit(b;P/|a|,Q,R/|c|)",
        "Digits outside the window do not matter.",
        "|a| divides P and |c| divides R, as in I6",
        "(b div R) mod Q depends on those digits only",
    ),
)


def var(name: str, extent: Dim) -> Index:
    """An index variable, or 0 where its dim has size 1."""
    return ZERO if extent == ONE else Var(name, extent)


def extent(i: Index) -> Dim:
    """How many values an index takes."""
    match i:
        case Zero():
            return ONE
        case Var(_, size) | Digit(_, _, size, _):
            return size
        case Radix(parts):
            total = ONE
            for p in parts:
                total = total * extent(p)
            return total
        case _:
            assert_never(i)


def radix(parts: Sequence[Index]) -> Index:
    """The number with these digits, most significant first (rules I1, I2)."""
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
                    pending.append(digit(base, last.before, last.size * size, after))
                    continue
            case _:
                pass
        out.append(part)
    if len(out) < 2:
        return out[0] if out else ZERO
    return Radix(tuple(out))


def digit(base: Index, before: Dim, size: Dim, after: Dim) -> Index:
    """`(base div after) mod size` (rules I3 to I7).

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
            return digit(inner, p * before, size, after * r)
        case Radix(parts):
            window = _window(parts, before, size)
            if window is not None:
                return radix(window)
            return _narrow(parts, before, size, after)
        case _:
            return Digit(base, before, size, after)


def _window(parts: tuple[Index, ...], before: Dim, size: Dim) -> Sequence[Index] | None:
    """The digits between two borders, or None where a border cannot be placed (I5, I6)."""
    cut = _cut(parts, before)
    cut = None if cut is None else _cut(cut, before * size)
    if cut is None:
        return None
    start, prefix = 0, ONE
    while prefix != before:
        prefix = prefix * extent(cut[start])
        start += 1
    end = start
    while prefix != before * size:
        prefix = prefix * extent(cut[end])
        end += 1
    return cut[start:end]


def _cut(parts: tuple[Index, ...], border: Dim) -> tuple[Index, ...] | None:
    """The same number with a border where the product of the leading parts is `border` (I6)."""
    prefix = ONE
    for n, part in enumerate(parts):
        if prefix == border:
            return parts
        reach = prefix * extent(part)
        if reach != border and divides(prefix, border) and divides(border, reach):
            u, v = border / prefix, reach / border
            return (*parts[:n], digit(part, ONE, u, v), digit(part, u, v, ONE), *parts[n + 1 :])
        prefix = reach
    return parts if prefix == border else None


def _narrow(parts: tuple[Index, ...], before: Dim, size: Dim, after: Dim) -> Index:
    """Leading and trailing digits outside the window dropped (I7)."""
    start, prefix = 0, ONE
    while start < len(parts) and divides(prefix * extent(parts[start]), before):
        prefix = prefix * extent(parts[start])
        start += 1
    end, suffix = len(parts), ONE
    while end > start and divides(suffix * extent(parts[end - 1]), after):
        suffix = suffix * extent(parts[end - 1])
        end -= 1
    kept = radix(parts[start:end])
    if start == 0 and end == len(parts):
        return Digit(kept, before, size, after)
    return digit(kept, before / prefix, size, after / suffix)


def divides(a: Dim, b: Dim) -> bool:
    """Whether `b / a` is an integer for all positive integers: a whole number times symbols.

    Says no where it does not know.
    """
    if a == b:
        return True
    if not a.is_monomial or not b.is_monomial:
        return False
    ((powers, coefficient),) = (b / a).terms
    return coefficient.denominator == 1 and all(e > 0 for _, e in powers)


def substitute(i: Index, by: Mapping[str, Index]) -> Index:
    """Variables replaced by index terms of the same extents."""
    match i:
        case Zero():
            return i
        case Var(name, _):
            return by.get(name, i)
        case Radix(parts):
            return radix([substitute(p, by) for p in parts]) if not i.free.isdisjoint(by) else i
        case Digit(base, before, size, after):
            return digit(substitute(base, by), before, size, after) if not i.free.isdisjoint(by) else i
        case _:
            assert_never(i)


def evaluate_index(i: Index, at: Mapping[str, int], sizes: Mapping[str, int]) -> int:
    """The number it is, for numbers of its variables and of the symbols."""
    match i:
        case Zero():
            return 0
        case Var(name, _):
            return at[name]
        case Radix(parts):
            total = 0
            for p in parts:
                total = total * extent(p).value(sizes) + evaluate_index(p, at, sizes)
            return total
        case Digit(base, _, size, after):
            return evaluate_index(base, at, sizes) // after.value(sizes) % size.value(sizes)
        case _:
            assert_never(i)


def show_name(name: str) -> str:
    """A variable for people: p0 a position, x, y, z a block's coordinate, i the loop, k1 a bound index."""
    if name == LOOP:
        return "i"
    if name.startswith("g") and int(name[1:]) < 3:
        return "xyz"[int(name[1:])]
    if name.startswith("b"):
        height, number = name[1:].split(".")
        return f"k{height}" if number == "0" else f"k{height}_{number}"
    return name


def show_index(i: Index) -> str:
    """For people: `(x,i,p0)` is a number in mixed radix, `p0<P|Q|R>` one of its digits."""
    match i:
        case Zero():
            return "0"
        case Var(name, _):
            return show_name(name)
        case Radix(parts):
            return f"({','.join(show_index(p) for p in parts)})"
        case Digit(base, before, size, after):
            return f"{show_index(base)}<{before}|{size}|{after}>"
        case _:
            assert_never(i)
