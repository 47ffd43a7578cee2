"""Iterations that a mask hides: those that change nothing need not run.

Under a causal mask or a sliding window, many tiles of scores are masked as a whole. What such an iteration does is
found by running the loop's body once on what is known of its values: a masked score is minus infinity, its exponential
0, a maximum or a sum that takes it in stays what it was, and a factor between two equal maxima is 1. If by that nothing
is changed that outlives the iteration, it is left out: the loop runs where its band lets something through.

Before its first entry, a row of an online softmax takes in what stands for minus infinity, and the first entry rescales
that to nothing. A row without any has no softmax; it would keep an average. So nothing is left out unless every row of
every block keeps an entry in some iteration. What is taken for granted is that numbers are finite: 0 times infinity
is no 0.
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
    Map,
    Nest,
    Place,
    Read,
    Statement,
    Within,
    places,
    reads,
    withins,
)


class _Known(Enum):
    """What is known of a value in an iteration that is masked as a whole; a place stands for what was there before."""

    ZERO = auto()
    ONE = auto()
    HIDDEN = auto()
    """Minus infinity, as far as what is added to it or scaled is finite."""
    OTHER = auto()


_Value: TypeAlias = _Known | Place


def needed_iterations(nest: Nest) -> Within | None:
    """Which iterations of a nest's loop have to run, as a band over its block and loop variables; None for all."""
    bands = {w for s in nest.body if not isinstance(s, Contract) for w in withins(s.value)}
    if nest.loop is None or len(bands) != 1:
        return None
    (band,) = bands
    masked = [s for s in nest.body if not isinstance(s, Contract) and band in withins(s.value)]
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
    return Within(
        tuple((v, band.stride(v)) for v in band.variables if v not in tile),
        None if band.low is None else band.low - start - most,
        None if band.high is None else band.high - start - least,
    )


def _keeps_rows(nest: Nest, band: Within, tile: Mapping[str, int], column: str | None) -> bool:
    """Whether all rows of all blocks keep an entry of those that the loop and the tile's columns run over."""
    assert nest.loop is not None, "a loop that is cut"
    unit = band.stride(column or nest.loop.name)
    along = {column} if column else set[str]()
    maxima = [s for s in nest.body if not isinstance(s, Contract) and s.adds and s.join == "max"]
    if abs(unit) != 1 or any(set(s.along if isinstance(s, Fold) else ()) != along for s in maxima):
        return False
    columns = nest.loop.extent * (tile[column] if column else 1)
    others = {v: n for v, n in tile.items() if v != column} | {r.name: r.extent for r in nest.grid}
    moves = [band.stride(v) * (n - 1) for v, n in others.items()]
    back = columns - 1 if unit < 0 else 0
    least, most = (band.stride(ONE) - back + sum(f(0, m) for m in moves) for f in (min, max))
    starts = band.high is None or most <= band.high
    ends = band.low is None or band.low <= least + columns - 1
    return starts and ends and (band.low is None or band.high is None or band.low <= band.high)


def _changes_nothing(nest: Nest, band: Within) -> bool:
    """Whether an iteration in which the band is 0 leaves all that outlives it as it was."""
    twins = _twins(nest)
    known: dict[Buffer, _Known] = {}
    """Of buffers that changed."""
    seen: set[Buffer] = set()
    passing: set[Buffer] = set()
    """Written as a whole before they are read: nothing of them comes from the iteration before."""
    for s in nest.body:
        value = Apply("mul", (Read(s.left), Read(s.right))) if isinstance(s, Contract) else s.value
        target, read = s.target.buffer.root, {p.buffer.root for p in reads(value)}
        found = _evaluated(value, band, known, twins)
        if not _leaves(s, found, twins, target in known):
            known[target] = _written(s, found) if target not in known and _is_whole(s) else _Known.OTHER
        if target not in seen | read and not s.adds and _is_whole(s):
            passing.add(target)
        seen |= read | {target}
    outlives = {p.buffer.root for s in (*nest.once, *nest.before, *nest.after) for p in places(s)}
    return all(b.where == "scratch" and b in passing and b not in outlives for b in known)


def _leaves(s: Statement, value: _Value, twins: Mapping[Place, Place], changed: bool) -> bool:
    """Whether a statement leaves its target as it is: it adds nothing, or writes what was there."""
    if s.adds:
        return value is (_Known.HIDDEN if not isinstance(s, Contract) and s.join == "max" else _Known.ZERO)
    if changed or not isinstance(s, Map) or not isinstance(value, Place):
        return False
    return _twin(value, twins) == _twin(s.target, twins)


def _written(s: Statement, value: _Value) -> _Known:
    """What is known of a target that was written as a whole."""
    if isinstance(value, Place) or s.adds:
        return _Known.OTHER
    if isinstance(s, Map) or value is _Known.ZERO:
        return value
    return value if isinstance(s, Fold) and s.join == "max" else _Known.OTHER


def _is_whole(s: Statement) -> bool:
    """Whether every element of the target is written."""
    ranges = (*s.batch, s.m, s.n) if isinstance(s, Contract) else s.domain
    along = s.along if isinstance(s, Fold) else ()
    return prod(r.extent for r in ranges if r.name not in along) == prod(s.target.buffer.shape)


def _twins(nest: Nest) -> dict[Place, Place]:
    """Places that hold the same when an iteration begins: both start alike, and one ends as a copy of the other."""
    starts = {s.target: s.value for s in nest.before if isinstance(s, Map) and isinstance(s.value, Constant)}
    found: dict[Place, Place] = {}
    for position, s in enumerate(nest.body):
        if isinstance(s, Map) and not s.adds and isinstance(s.value, Read):
            later = {t.target.buffer for t in nest.body[position + 1 :]}
            start, source = starts.get(s.target), s.value.place
            if start is not None and start == starts.get(source) and not {s.target.buffer, source.buffer} & later:
                found[s.target] = source
    return found


def _twin(place: Place, twins: Mapping[Place, Place]) -> Place:
    return twins.get(place, place)


def _evaluated(e: Expression, band: Within, known: Mapping[Buffer, _Known], twins: Mapping[Place, Place]) -> _Value:
    match e:
        case Read(place):
            return known.get(place.buffer.root, place)
        case Constant(value):
            return {Fraction(0): _Known.ZERO, Fraction(1): _Known.ONE}.get(value, _Known.OTHER)
        case Within():
            return _Known.ZERO if e == band else _Known.OTHER
        case Apply(fn, args):
            values = tuple(_evaluated(a, band, known, twins) for a in args)
            if fn == "sub" and all(isinstance(v, Place) for v in values):
                a, b = (_twin(v, twins) for v in values if isinstance(v, Place))
                return _Known.ZERO if a == b else _Known.OTHER
            return _applied(fn, args, values)


def _applied(fn: str, args: tuple[Expression, ...], values: tuple[_Value, ...]) -> _Value:
    positive = len(args) > 1 and isinstance(args[1], Constant) and args[1].value > 0
    match fn, values:
        case "mask", (_, _Known.ZERO):
            return _Known.HIDDEN
        case "exp", (_Known.HIDDEN,):
            return _Known.ZERO
        case "exp", (_Known.ZERO,):
            return _Known.ONE
        case "mul", (_Known.ZERO, _) | (_, _Known.ZERO):
            return _Known.ZERO
        case "mul", (_Known.ONE, other) | (other, _Known.ONE):
            return other
        case "mul" | "div", (_Known.HIDDEN, _) if positive:
            return _Known.HIDDEN
        case "add", (_Known.ZERO, other) | (other, _Known.ZERO):
            return other
        case "add" | "sub", (_Known.HIDDEN, other) if other is not _Known.HIDDEN:
            return _Known.HIDDEN
        case _:
            return _Known.OTHER
