"""Sums, running maxima and products of a block graph as statements.

* A product that is only accumulated adds straight into the accumulator.
* A running maximum and what is rescaled by it are kept in memory and changed in every iteration.
* A reduction of loads alone runs ahead of the loop, all iterations at once, where it is small.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import prod

from prism_explore.codegen.cpu.block_scope import Frame, Tile
from prism_explore.codegen.cpu.loop_ir import (
    LOWEST,
    Apply,
    Constant,
    Contract,
    Expression,
    Fold,
    Join,
    Map,
    Place,
    Range,
    Read,
    reads,
)
from prism_explore.ir.graph import Phase
from prism_explore.ir.ops import Accumulate, AccumulateRescaled, Load, Node, ReduceFn

AHEAD_ELEMENTS = 1 << 16
"""A reduction of loads up to this size runs ahead of the loop, all iterations at once."""


def running(frame: Frame, position: int, arg: int, along: int | None) -> None:
    """One tile that grows in every iteration; without a loop, or where nothing varies, an ordinary maximum."""
    phase = frame.facts.when[position]
    value, dims = frame.tiles[arg].value, frame.facts.dims[arg]
    if not frame.loop or phase == "invariant":
        if along is None:
            frame.define(position, value)
        else:
            frame.define(
                position, summed(frame, f"s{position}", "max", arg, along, phase, frame.facts.is_once(position))
            )
        return
    target = frame.allocate(f"m{position}", frame.facts.dims[position], False, False)
    frame.start(target, frame.facts.dims[position], LOWEST)
    names = (frame.name(len(dims), along),) if along is not None and dims[along] > 1 else ()
    frame.emit(replace(_fold(frame.domain(dims), names, target, value, "max"), adds=True), "loop", False)
    frame.tiles[position] = Tile(Read(target), phase, False)


def _factor(frame: Frame, scale: int) -> Place:
    """exp(scale before - scale now), made once per iteration for all sums of one scale."""
    if scale not in frame.scales:
        dims, value = frame.facts.dims[scale], frame.tiles[scale].value
        before = frame.allocate(f"m{scale}", dims, False, False)
        factor = frame.allocate(f"e{scale}", dims, False, False)
        frame.start(before, dims, LOWEST)
        domain = frame.domain(dims)
        frame.emit(Map(domain, factor, Apply("exp", (Apply("sub", (Read(before), value)),))), "loop", False)
        frame.emit(Map(domain, before, value), "loop", False)
        frame.scales[scale] = factor
    return frame.scales[scale]


def rescaled(frame: Frame, position: int, node: Node, along: int | None) -> None:
    """A sum that grows in every iteration and is rescaled to the maximum of that iteration."""
    dims = frame.facts.dims[position]
    arg, scale = node.args
    factor = _factor(frame, scale)
    target = frame.allocate(f"s{position}", dims, False, False)
    frame.zero(target, dims)
    frame.emit(Map(frame.domain(dims), target, Apply("mul", (Read(target), Read(factor)))), "loop", False)
    if arg not in frame.tiles:
        contract(frame, frame.facts.block.nodes[arg], target, "loop", False, accumulates=True, starts=False)
    else:
        source = frame.facts.dims[arg]
        names = (frame.name(len(source), along),) if along is not None and source[along] > 1 else ()
        adding = _fold(frame.domain(source), names, target, frame.tiles[arg].value)
        frame.emit(replace(adding, adds=True), "loop", False)
    frame.define(position, Read(target))


def summed(frame: Frame, name: str, fn: ReduceFn, arg: int, along: int, phase: Phase, once: bool) -> Expression:
    """A tile of the sums, or maxima, of another along a dim."""
    dims = frame.facts.dims[arg]
    value = frame.tiles[arg].value
    summand = Apply("square", (value,)) if fn == "rms" else value
    target = frame.allocate(name, (*dims[:along], 1, *dims[along + 1 :]), once, phase == "loop")
    names = (frame.name(len(dims), along),) if dims[along] > 1 else ()
    frame.emit(_fold(frame.domain(dims), names, target, summand, _join(fn)), phase, once)
    return Read(target)


def adds_into_accumulator(frame: Frame, position: int) -> bool:
    """Whether a product is only accumulated: it then adds straight into the accumulator."""
    readers = frame.facts.readers[position]
    if len(readers) != 1 or not (frame.facts.when[position] == "loop" or not frame.loop):
        return False
    reader = frame.facts.block.nodes[readers[0]]
    if reader.op == AccumulateRescaled():
        return reader.args[1] != position
    return reader.op == Accumulate("sum")


def accumulate(frame: Frame, position: int, node: Node, fn: ReduceFn, along: int | None) -> None:
    """A sum, or a maximum, over the iterations, and along a dim of the tile where one is named."""
    dims, once = frame.facts.dims[position], frame.facts.is_once(position)
    (arg,) = node.args
    join = _join(fn)
    count = frame.facts.iterations * (frame.facts.dims[arg][along] if along is not None else 1)
    target = frame.allocate(f"s{position}", dims, once, False)
    if arg not in frame.tiles:
        contract(frame, frame.facts.block.nodes[arg], target, "loop", once, accumulates=True)
    else:
        source = frame.facts.dims[arg]
        value = frame.tiles[arg].value
        summand = Apply("square", (value,)) if fn == "rms" else value
        names = (frame.name(len(source), along),) if along is not None and source[along] > 1 else ()
        domain = frame.domain(source)
        ahead = frame.loop is not None and (once or _can_run_ahead(frame, domain, summand))
        if ahead and frame.loop:
            whole = _fold((frame.loop, *domain), (frame.loop.name, *names), target, summand, join)
            (frame.sections.once if once else frame.sections.before).append(whole)
        else:
            frame.start(target, dims, Fraction(0) if join == "sum" else LOWEST)
            adding = replace(_fold(domain, names, target, summand, join), adds=frame.loop is not None)
            frame.emit(adding, "loop", once)
    frame.define(position, finished(fn, Read(target), count))


def _can_run_ahead(frame: Frame, domain: tuple[Range, ...], value: Expression) -> bool:
    made = {s.target.buffer for s in frame.sections.body}
    size = frame.facts.iterations * prod(r.extent for r in domain)
    return size <= AHEAD_ELEMENTS and not any(p.buffer in made for p in reads(value))


def contract(
    frame: Frame,
    node: Node,
    target: Place,
    phase: Phase,
    once: bool,
    accumulates: bool = False,
    starts: bool = True,
) -> None:
    """`target = left @ right`; where it accumulates, over all iterations as well, and `starts` from zero."""
    left_at, right_at = node.args
    left_dims, right_dims = frame.facts.dims[left_at], frame.facts.dims[right_at]
    c, r = frame.tile_names[0], frame.tile_names[1]
    k = Range(frame.k, left_dims[-1])
    left, right = frame.operand(left_at), frame.operand(right_at)
    if frame.facts.is_packable_left(left_at) and isinstance(frame.facts.block.nodes[left_at].op, Load):
        left = _packed_once(frame, left_at, left)
    n = Range(frame.n, right_dims[-1])
    if right.stride(c) != 1 and n.extent > 1:
        if right.stride(r) != 1 and k.extent > 1:
            right = frame.copy(right_at, right)
        elif left.stride(c) != 1 and k.extent > 1:
            left = frame.copy(left_at, left)
    rank = max(len(left_dims), len(right_dims))
    batch_dims = [1] * rank
    for dims in (left_dims, right_dims):
        for d, extent in enumerate(dims):
            batch_dims[d + rank - len(dims)] = max(batch_dims[d + rank - len(dims)], extent)
    statement = Contract(
        batch=frame.domain((*batch_dims[:-2], 1, 1)),
        m=Range(frame.m, left_dims[-2]),
        n=n,
        k=(k,),
        target=target.renamed({r: frame.m, c: frame.n}),
        left=left.renamed({r: frame.m, c: frame.k}),
        right=right.renamed({r: frame.k, c: frame.n}),
    )
    if not accumulates or not frame.loop:
        frame.emit(statement, phase, once)
    elif once:
        frame.sections.once.append(replace(statement, k=(frame.loop, k)))
    else:
        if starts:
            frame.zero(target, (*batch_dims[:-2], left_dims[-2], right_dims[-1]))
        frame.emit(replace(statement, adds=True), phase, once)


def _packed_once(frame: Frame, position: int, place: Place) -> Place:
    if not frame.facts.is_once(position):
        return place
    if position not in frame.packed:
        frame.packed[position] = frame.copy(position, place)
    return frame.packed[position]


def _join(fn: ReduceFn) -> Join:
    return "max" if fn == "max" else "sum"


def _fold(
    domain: tuple[Range, ...], along: tuple[str, ...], target: Place, value: Expression, join: Join = "sum"
) -> Fold | Map:
    return Fold(domain, along, target, value, join=join) if along else Map(domain, target, value, join=join)


def finished(fn: ReduceFn, total: Expression, count: int) -> Expression:
    """A mean, or a root mean square, from its sum."""
    mean = total if fn in ("sum", "max") else Apply("mul", (total, Constant(Fraction(1, count))))
    return Apply("sqrt", (mean,)) if fn == "rms" else mean
