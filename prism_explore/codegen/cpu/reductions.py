"""Lowering of the sums, running maxima and products of a block graph.

* A product that is only accumulated adds to the accumulator directly.
* A running maximum, and the sums that are rescaled by it, are in memory and updated in every iteration.
* A small reduction of loads alone runs before the loop, over all iterations at once.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import prod

from prism_explore.codegen.accumulation import is_only_summed
from prism_explore.codegen.cpu.block_scope import BlockScope, Tile
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
    PrefixSum,
    Range,
    Read,
    places_read,
)
from prism_explore.ir.graph import Phase
from prism_explore.ir.ops import Load, Node, ReduceFn, ScanFn

MAX_HOISTED_ELEMENTS = 1 << 16
"""A reduction of loads up to this size runs before the loop, over all iterations at once."""


def lower_running_max(scope: BlockScope, position: int, arg: int, along: int | None) -> None:
    """A maximum over the iterations so far; without a loop, or of a loop invariant, an ordinary maximum."""
    phase = scope.analysis.phases[position]
    value, dims = scope.tiles[arg].value, scope.analysis.dims[arg]
    if not scope.loop or phase == "invariant":
        if along is None:
            scope.define(position, value)
        else:
            scope.define(
                position,
                lower_reduction(scope, f"s{position}", "max", arg, along, phase, scope.analysis.is_hoisted(position)),
            )
        return
    target = scope.allocate(f"m{position}", scope.analysis.dims[position], False, False)
    scope.initialize(target, scope.analysis.dims[position], LOWEST)
    names = (scope.name(len(dims), along),) if along is not None and dims[along] > 1 else ()
    scope.emit(
        replace(_reduction_statement(scope.domain(dims), names, target, value, "max"), accumulates=True), "loop", False
    )
    scope.tiles[position] = Tile(Read(target), phase, False)


def _rescale_factor(scope: BlockScope, scale: int) -> Place:
    """exp(previous maximum - maximum), once per iteration for all sums that one maximum rescales."""
    if scale not in scope.rescale_factors:
        dims, value = scope.analysis.dims[scale], scope.tiles[scale].value
        before = scope.allocate(f"m{scale}", dims, False, False)
        factor = scope.allocate(f"e{scale}", dims, False, False)
        scope.initialize(before, dims, LOWEST)
        domain = scope.domain(dims)
        scope.emit(Map(domain, factor, Apply("exp", (Apply("sub", (Read(before), value)),))), "loop", False)
        scope.emit(Map(domain, before, value), "loop", False)
        scope.rescale_factors[scale] = factor
    return scope.rescale_factors[scale]


def lower_rescaled_sum(scope: BlockScope, position: int, node: Node, along: int | None) -> None:
    """A sum over the iterations that is rescaled to the maximum of each iteration."""
    dims = scope.analysis.dims[position]
    arg, scale = node.args
    factor = _rescale_factor(scope, scale)
    target = scope.allocate(f"s{position}", dims, False, False)
    scope.initialize_sum(target, dims)
    scope.emit(Map(scope.domain(dims), target, Apply("mul", (Read(target), Read(factor)))), "loop", False)
    if arg not in scope.tiles:
        lower_matmul(scope, scope.analysis.block.nodes[arg], target, "loop", False, accumulates=True, initializes=False)
    else:
        source = scope.analysis.dims[arg]
        names = (scope.name(len(source), along),) if along is not None and source[along] > 1 else ()
        adding = _reduction_statement(scope.domain(source), names, target, scope.tiles[arg].value)
        scope.emit(replace(adding, accumulates=True), "loop", False)
    scope.define(position, Read(target))


def lower_reduction(
    scope: BlockScope, name: str, fn: ReduceFn, arg: int, along: int, phase: Phase, hoisted: bool
) -> Expression:
    """The sums or maxima of a tile along a dim."""
    dims = scope.analysis.dims[arg]
    value = scope.tiles[arg].value
    summand = Apply("square", (value,)) if fn == "rms" else value
    target = scope.allocate(name, (*dims[:along], 1, *dims[along + 1 :]), hoisted, phase == "loop")
    names = (scope.name(len(dims), along),) if dims[along] > 1 else ()
    scope.emit(_reduction_statement(scope.domain(dims), names, target, summand, _join(fn)), phase, hoisted)
    return Read(target)


def lower_scan(scope: BlockScope, position: int, fn: ScanFn, arg: int, along: int) -> None:
    """Prefix sums of a tile along a dim, in the memory of a result where nothing else reads them."""
    analysis = scope.analysis
    dims, phase, hoisted = analysis.dims[position], analysis.phases[position], analysis.is_hoisted(position)
    value = scope.tiles[arg].value
    if dims[along] == 1:
        scope.define(position, value)
        return
    readers = [r for r in analysis.readers[position] if r in analysis.needed]
    if len(readers) == 1 and readers[0] in scope.outs and not hoisted:
        target = scope.store_place(readers[0], dims)
    else:
        target = scope.allocate(f"t{position}", dims, hoisted, phase == "loop")
    statement = PrefixSum(scope.domain(dims), scope.name(len(dims), along), target, value, fn == "reverse_cumsum")
    scope.emit(statement, phase, hoisted)
    scope.tiles[position] = Tile(Read(target), phase, hoisted)


def adds_into_accumulator(scope: BlockScope, position: int) -> bool:
    """Whether a product is only accumulated, so that it adds to the accumulator directly."""
    runs_in_loop = scope.analysis.phases[position] == "loop" or not scope.loop
    readers = scope.analysis.readers[position]
    return runs_in_loop and is_only_summed(scope.analysis.block.nodes, readers, position)


def lower_accumulation(scope: BlockScope, position: int, node: Node, fn: ReduceFn, along: int | None) -> None:
    """A sum or maximum over the iterations, and along a dim of the tile where one is named."""
    dims, hoisted = scope.analysis.dims[position], scope.analysis.is_hoisted(position)
    (arg,) = node.args
    join = _join(fn)
    count = scope.analysis.iterations * (scope.analysis.dims[arg][along] if along is not None else 1)
    target = scope.allocate(f"s{position}", dims, hoisted, False)
    if arg not in scope.tiles:
        lower_matmul(scope, scope.analysis.block.nodes[arg], target, "loop", hoisted, accumulates=True)
    else:
        source = scope.analysis.dims[arg]
        value = scope.tiles[arg].value
        summand = Apply("square", (value,)) if fn == "rms" else value
        names = (scope.name(len(source), along),) if along is not None and source[along] > 1 else ()
        domain = scope.domain(source)
        runs_before = scope.loop is not None and (hoisted or _can_run_before_loop(scope, domain, summand))
        if runs_before and scope.loop:
            fold = _reduction_statement((scope.loop, *domain), (scope.loop.name, *names), target, summand, join)
            (scope.sections.once if hoisted else scope.sections.before).append(fold)
        else:
            scope.initialize(target, dims, Fraction(0) if join == "sum" else LOWEST)
            adding = replace(
                _reduction_statement(domain, names, target, summand, join), accumulates=scope.loop is not None
            )
            scope.emit(adding, "loop", hoisted)
    scope.define(position, finish_reduction(fn, Read(target), count))


def _can_run_before_loop(scope: BlockScope, domain: tuple[Range, ...], value: Expression) -> bool:
    computed = {s.target.buffer for s in scope.sections.body}
    size = scope.analysis.iterations * prod(r.extent for r in domain)
    return size <= MAX_HOISTED_ELEMENTS and not any(p.buffer in computed for p in places_read(value))


def lower_matmul(
    scope: BlockScope,
    node: Node,
    target: Place,
    phase: Phase,
    hoisted: bool,
    accumulates: bool = False,
    initializes: bool = True,
) -> None:
    """`target = left @ right`; where it accumulates, summed over the iterations, from zero where it `initializes`."""
    left_at, right_at = node.args
    left_dims, right_dims = scope.analysis.dims[left_at], scope.analysis.dims[right_at]
    c, r = scope.tile_names[0], scope.tile_names[1]
    k = Range(scope.k, left_dims[-1])
    left, right = scope.operand(left_at), scope.operand(right_at)
    # A band has just been written in the order of its reads.
    is_view = isinstance(scope.analysis.block.nodes[left_at].op, Load) and left.buffer.where != "scratch"
    if is_view and scope.analysis.is_packable_left(left_at):
        left = _packed_once(scope, left_at, left)
    n = Range(scope.n, right_dims[-1])
    if right.stride(c) != 1 and n.extent > 1:
        if right.stride(r) != 1 and k.extent > 1:
            right = scope.copy(right_at, right)
        elif left.stride(c) != 1 and k.extent > 1:
            left = scope.copy(left_at, left)
    rank = max(len(left_dims), len(right_dims))
    batch_dims = [1] * rank
    for dims in (left_dims, right_dims):
        for d, extent in enumerate(dims):
            batch_dims[d + rank - len(dims)] = max(batch_dims[d + rank - len(dims)], extent)
    statement = Contract(
        batch=scope.domain((*batch_dims[:-2], 1, 1)),
        m=Range(scope.m, left_dims[-2]),
        n=n,
        k=(k,),
        target=target.renamed({r: scope.m, c: scope.n}),
        left=left.renamed({r: scope.m, c: scope.k}),
        right=right.renamed({r: scope.k, c: scope.n}),
    )
    if not accumulates or not scope.loop:
        scope.emit(statement, phase, hoisted)
    elif hoisted:
        scope.sections.once.append(replace(statement, k=(scope.loop, k)))
    else:
        if initializes:
            scope.initialize_sum(target, (*batch_dims[:-2], left_dims[-2], right_dims[-1]))
        scope.emit(replace(statement, accumulates=True), phase, hoisted)


def _packed_once(scope: BlockScope, position: int, place: Place) -> Place:
    if not scope.analysis.is_hoisted(position):
        return place
    if position not in scope.packed:
        scope.packed[position] = scope.copy(position, place)
    return scope.packed[position]


def _join(fn: ReduceFn) -> Join:
    return "max" if fn == "max" else "sum"


def _reduction_statement(
    domain: tuple[Range, ...], along: tuple[str, ...], target: Place, value: Expression, join: Join = "sum"
) -> Fold | Map:
    return Fold(domain, along, target, value, join=join) if along else Map(domain, target, value, join=join)


def finish_reduction(fn: ReduceFn, total: Expression, count: int) -> Expression:
    """A mean or root mean square from its sum; a sum or maximum unchanged."""
    mean = total if fn in ("sum", "max") else Apply("mul", (total, Constant(Fraction(1, count))))
    return Apply("sqrt", (mean,)) if fn == "rms" else mean
