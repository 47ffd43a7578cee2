"""Pass: predication of a loop whose iterations a mask hides completely.

Input: a loop nest. Output: the predicate of the iterations that have to run, as a band over block and loop variables;
None for all. Under a causal mask or a sliding window, many tiles of scores are masked completely, and their iterations
are skipped.

Method: abstract interpretation of the loop's body for an iteration in which the band is 0. A masked score is minus
infinity, its exponential 0; a maximum or a sum with it keeps its value; the factor between two equal maxima is 1.

Legal where such an iteration changes nothing that outlives it, and every row of every block keeps an entry in some
iteration. (Before its first entry, a row of an online softmax accumulates the number used as minus infinity,
and the first entry rescales that to 0. A row without an entry has no softmax and would keep an average.) Assumed:
inputs are finite, as 0 times infinity is not 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from fractions import Fraction
from math import prod
from typing import TypeAlias

from prism_explore.codegen.cpu.loop_ir import (
    ONE,
    Apply,
    Buffer,
    Constant,
    Contract,
    Expression,
    Fold,
    LoopNest,
    Map,
    Place,
    RangeTest,
    Read,
    Statement,
    places_accessed,
    places_read,
    range_tests,
)


class _Abstract(Enum):
    """An abstract value in a masked iteration. A place instead of it is the value from before the iteration."""

    ZERO = auto()
    ONE = auto()
    MASKED = auto()
    """Minus infinity, also after adding or scaling by finite values."""
    UNKNOWN = auto()


_Value: TypeAlias = _Abstract | Place


def iteration_predicate(nest: LoopNest) -> RangeTest | None:
    """The predicate of the iterations of a nest's loop that have to run; None for all."""
    bands = {w for s in nest.body if not isinstance(s, Contract) for w in range_tests(s.value)}
    if nest.loop is None or len(bands) != 1:
        return None
    (band,) = bands
    masked = [s for s in nest.body if not isinstance(s, Contract) and band in range_tests(s.value)]
    ranges = {r for s in masked for r in s.domain if r.name in band.variables}
    tile = {r.name: r.extent for r in ranges}
    if len(tile) != len(ranges) or not band.stride(nest.loop.name):
        return None
    column = next((v for v, n in tile.items() if band.stride(v) * n == band.stride(nest.loop.name)), None)
    if not _keeps_rows(nest, band, tile, column) or not _changes_nothing(nest, band):
        return None
    least = sum(min(0, band.stride(v) * (n - 1)) for v, n in tile.items())
    most = sum(max(0, band.stride(v) * (n - 1)) for v, n in tile.items())
    start = band.stride(ONE)
    return RangeTest(
        tuple((v, band.stride(v)) for v in band.variables if v not in tile),
        None if band.low is None else band.low - start - most,
        None if band.high is None else band.high - start - least,
    )


def _keeps_rows(nest: LoopNest, band: RangeTest, tile: Mapping[str, int], column: str | None) -> bool:
    """Whether every row of every block keeps an entry among the columns of all iterations."""
    assert nest.loop is not None, "only a nest with a loop skips iterations"
    unit = band.stride(column or nest.loop.name)
    along = {column} if column else set[str]()
    maxima = [s for s in nest.body if not isinstance(s, Contract) and s.accumulates and s.join == "max"]
    if abs(unit) != 1 or any(set(s.along if isinstance(s, Fold) else ()) != along for s in maxima):
        return False
    columns = nest.loop.extent * (tile[column] if column else 1)
    others = {v: n for v, n in tile.items() if v != column} | {r.name: r.extent for r in nest.grid}
    spans = [band.stride(v) * (n - 1) for v, n in others.items()]
    back = columns - 1 if unit < 0 else 0
    least, most = (band.stride(ONE) - back + sum(f(0, m) for m in spans) for f in (min, max))
    starts = band.high is None or most <= band.high
    ends = band.low is None or band.low <= least + columns - 1
    return starts and ends and (band.low is None or band.high is None or band.low <= band.high)


def _changes_nothing(nest: LoopNest, band: RangeTest) -> bool:
    """Whether an iteration in which the band is 0 changes nothing that outlives it."""
    equal = _equal_places(nest)
    state: dict[Buffer, _Abstract] = {}
    """The values of changed buffers."""
    seen: set[Buffer] = set()
    overwritten: set[Buffer] = set()
    """Buffers that an iteration overwrites completely before it reads them."""
    for s in nest.body:
        value = Apply("mul", (Read(s.left), Read(s.right))) if isinstance(s, Contract) else s.value
        target, read = s.target.buffer.root, {p.buffer.root for p in places_read(value)}
        result = _evaluate(value, band, state, equal)
        if not _keeps_target(s, result, equal, target in state):
            state[target] = _target_value(s, result) if target not in state and _writes_all(s) else _Abstract.UNKNOWN
        if target not in seen | read and not s.accumulates and _writes_all(s):
            overwritten.add(target)
        seen |= read | {target}
    outlives = {p.buffer.root for s in (*nest.once, *nest.before, *nest.after) for p in places_accessed(s)}
    return all(b.where == "scratch" and b in overwritten and b not in outlives for b in state)


def _keeps_target(s: Statement, value: _Value, equal: Mapping[Place, Place], changed: bool) -> bool:
    """Whether a statement keeps its target's value: it adds nothing, or writes the same value."""
    if s.accumulates:
        return value is (_Abstract.MASKED if not isinstance(s, Contract) and s.join == "max" else _Abstract.ZERO)
    if changed or not isinstance(s, Map) or not isinstance(value, Place):
        return False
    return _representative(value, equal) == _representative(s.target, equal)


def _target_value(s: Statement, value: _Value) -> _Abstract:
    """The value of a target that was overwritten completely."""
    if isinstance(value, Place) or s.accumulates:
        return _Abstract.UNKNOWN
    if isinstance(s, Map) or value is _Abstract.ZERO:
        return value
    return value if isinstance(s, Fold) and s.join == "max" else _Abstract.UNKNOWN


def _writes_all(s: Statement) -> bool:
    """Whether every element of the target is written."""
    ranges = (*s.batch, s.m, s.n) if isinstance(s, Contract) else s.domain
    along = s.along if isinstance(s, Fold) else ()
    return prod(r.extent for r in ranges if r.name not in along) == prod(s.target.buffer.shape)


def _equal_places(nest: LoopNest) -> dict[Place, Place]:
    """Places with equal values at the start of each iteration: equal initial values, and one is a copy of the other."""
    starts = {s.target: s.value for s in nest.before if isinstance(s, Map) and isinstance(s.value, Constant)}
    found: dict[Place, Place] = {}
    for position, s in enumerate(nest.body):
        if isinstance(s, Map) and not s.accumulates and isinstance(s.value, Read):
            later = {t.target.buffer for t in nest.body[position + 1 :]}
            start, source = starts.get(s.target), s.value.place
            if start is not None and start == starts.get(source) and not {s.target.buffer, source.buffer} & later:
                found[s.target] = source
    return found


def _representative(place: Place, equal: Mapping[Place, Place]) -> Place:
    return equal.get(place, place)


def _evaluate(
    e: Expression, band: RangeTest, state: Mapping[Buffer, _Abstract], equal: Mapping[Place, Place]
) -> _Value:
    match e:
        case Read(place):
            return state.get(place.buffer.root, place)
        case Constant(value):
            return {Fraction(0): _Abstract.ZERO, Fraction(1): _Abstract.ONE}.get(value, _Abstract.UNKNOWN)
        case RangeTest():
            return _Abstract.ZERO if e == band else _Abstract.UNKNOWN
        case Apply(fn, args):
            values = tuple(_evaluate(a, band, state, equal) for a in args)
            if fn == "sub" and all(isinstance(v, Place) for v in values):
                a, b = (_representative(v, equal) for v in values if isinstance(v, Place))
                return _Abstract.ZERO if a == b else _Abstract.UNKNOWN
            return _apply(fn, args, values)


def _apply(fn: str, args: tuple[Expression, ...], values: tuple[_Value, ...]) -> _Value:
    positive = len(args) > 1 and isinstance(args[1], Constant) and args[1].value > 0
    match fn, values:
        case "mask", (_, _Abstract.ZERO):
            return _Abstract.MASKED
        case "exp", (_Abstract.MASKED,):
            return _Abstract.ZERO
        case "exp", (_Abstract.ZERO,):
            return _Abstract.ONE
        case "mul", (_Abstract.ZERO, _) | (_, _Abstract.ZERO):
            return _Abstract.ZERO
        case "mul", (_Abstract.ONE, other) | (other, _Abstract.ONE):
            return other
        case "mul" | "div", (_Abstract.MASKED, _) if positive:
            return _Abstract.MASKED
        case "add", (_Abstract.ZERO, other) | (other, _Abstract.ZERO):
            return other
        case "add" | "sub", (_Abstract.MASKED, other) if other is not _Abstract.MASKED:
            return _Abstract.MASKED
        case _:
            return _Abstract.UNKNOWN
