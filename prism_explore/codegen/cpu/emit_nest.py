# pyright: basic
# It writes llvmlite values, which have no types.
"""Code of a loop nest: blocks over threads, statements over vectors.

Input: a `LoopNest`, the addresses of its buffers, a schedule. Output: the body of one LLVM function.

The blocks are numbered, and thread t of n runs blocks t*P/n to (t+1)*P/n. Elementwise statements and folds are
vectorized along the variable over which most operands are contiguous; products are emitted by
`matmul_microkernels.py`. The loops and the schedule decide what is fast; nothing depends on what a kernel computes.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from fractions import Fraction
from itertools import permutations, zip_longest
from math import inf, prod

from prism_explore.codegen.cpu.emit_expression import ExpressionEmitter
from prism_explore.codegen.cpu.emit_prefetch import InterleavedPrefetch, prefetch_slot
from prism_explore.codegen.cpu.llvm.builder import FunctionBuilder, Memory
from prism_explore.codegen.cpu.loop_ir import (
    Apply,
    Buffer,
    Constant,
    Contract,
    Expression,
    Fold,
    Gather,
    Join,
    LoopNest,
    Map,
    Place,
    PrefixSum,
    Range,
    RangeTest,
    Read,
    Statement,
    places_accessed,
    places_read,
    range_tests,
)
from prism_explore.codegen.cpu.matmul_microkernels import ColumnSum, MicroKernel, strip_mine
from prism_explore.codegen.cpu.matmul_tiling import DotTiling, StreamTiling, matmul_shape, merged_k_ranges
from prism_explore.codegen.cpu.passes.fuse_column_sums import FusedSum
from prism_explore.codegen.cpu.passes.prefetch import PrefetchRequest, RequestedTile, plan_prefetches
from prism_explore.codegen.cpu.schedule import Schedule, fused_sums, prefetch_streams, tiling_of
from prism_explore.ir.tensors import BYTES

FOLD_AHEAD_BYTES = 4096
"""How far ahead a fold prefetches: a page, at whose end the hardware stops. On Zen 4, 8-bit weights of 4096 x 4096 in
groups of 64 took 560 to 610 us instead of 790 to 800, with a scale per row 450 to 470 instead of 530 to 580."""
LEAST_STREAM_BYTES = 1 << 16
"""A fold prefetches operands from this size of a block on."""
UNROLL = 4
"""Vectors per iteration of an elementwise statement, and partial results of a fold."""


class NestEmitter:
    """Emits one nest."""

    def __init__(
        self,
        builder: FunctionBuilder,
        memory: Mapping[Buffer, Memory],
        schedule: Schedule,
        lines: Mapping[Statement, int] | None = None,
        workspace: Memory | None = None,
    ) -> None:
        self.workspace = workspace
        self.builder, self.memory, self.schedule = builder, memory, schedule
        self.lines = lines or {}
        """Per statement, the line of the kernel's text that debug information names."""
        self.expressions = ExpressionEmitter(builder, memory)
        self.variables = self.expressions.variables
        self.loop_variable = ""
        self.prefetch_streams = prefetch_streams(schedule)

    def emit(self, nest: LoopNest) -> None:
        """All blocks of this thread."""
        builder = self.builder
        blocks = builder.index(nest.blocks)
        first = builder.llvm.udiv(builder.llvm.mul(builder.thread, blocks), builder.threads)
        next_thread = builder.llvm.add(builder.thread, builder.index(1))
        last = builder.llvm.udiv(builder.llvm.mul(next_thread, blocks), builder.threads)
        with builder.loop(first, last) as block:
            rest = block
            for r in reversed(nest.grid):
                rest, self.variables[r.name] = builder.index_divmod(rest, r.extent)
            if nest.once:
                self._emit_once(nest, block, first)
            self._emit_section(nest.before)
            if nest.loop and nest.body:
                with builder.loop(0, nest.loop.extent) as i:
                    self._emit_iteration(nest, nest.loop.name, i)
            else:
                self._emit_section(nest.body)
            self._emit_section(nest.after)

    def _emit_once(self, nest: LoopNest, block, first) -> None:
        """What a thread does at its first block, and where its outer grid coordinates change."""
        builder = self.builder
        inner = prod(r.extent for r in nest.grid[nest.outer :])
        is_first = builder.llvm.icmp_signed("==", block, first)
        is_change = builder.llvm.icmp_signed("==", builder.index_divmod(block, inner)[1], builder.index(0))
        with builder.llvm.if_then(builder.llvm.or_(is_first, is_change)):
            self._emit_section(nest.once)

    def _emit_iteration(self, nest: LoopNest, variable: str, i) -> None:
        self.variables[variable], self.loop_variable = i, variable
        requests = plan_prefetches(nest, self.builder.cpu) if self.prefetch_streams else ()
        if nest.predicate is None:
            self._emit_section(nest.body, requests)
        else:
            index = self.expressions.band_index(nest.predicate)
            is_needed = self.builder.index_in_range(index, nest.predicate.low, nest.predicate.high)
            with self.builder.llvm.if_then(is_needed):
                self._emit_section(nest.body, requests)
        del self.variables[variable]

    def _emit_section(
        self, statements: tuple[Statement, ...], requests: tuple[tuple[PrefetchRequest, ...], ...] = ()
    ) -> None:
        fused = fused_sums(statements, self.schedule)
        done = {f.position for f in fused.values()}
        for position, (s, prefetches) in enumerate(zip_longest(statements, requests, fillvalue=())):
            if s and (line := self.lines.get(s)) is not None:
                self.builder.locate(line)
            match s:
                case Map():
                    self._emit_map(s, prefetches)
                case Fold():
                    if position not in done:
                        self._emit_fold(s)
                case PrefixSum():
                    self._emit_prefix_sum(s)
                case Gather():
                    self._emit_gather(s)
                case Contract():
                    self._emit_product(s, prefetches, fused.get(position))

    # ------------------------------------------------------------ elementwise and folds
    def _emit_map(self, s: Map, requests: tuple[PrefetchRequest, ...] = ()) -> None:
        builder = self.builder
        prefetch = self._interleaved(requests)
        target, memory = s.target, self.memory[s.target.buffer]
        ranges = merge_ranges(s.domain, (*places_accessed(s), *range_tests(s.value)))
        along = vector_range(ranges, places_accessed(s), (), builder.lanes)
        name = along.name if along else None
        vectors = -(-along.extent // builder.lanes) if along else 1
        with ExitStack() as stack:
            done, count = self._enter_loops(stack, [r for r in ranges if r != along])
            computed: dict = {}
            self.expressions.hoist_scalars(s.value, frozenset((name,) if name else ()), computed)
            if name:
                self.expressions.hoist_tables(s.value, name, computed)
            # `with_bf16_operands` makes such tiles, which only products of pairs read.
            is_operand = (target.buffer.where, target.buffer.dtype) == ("scratch", "bf16")
            store = builder.store_bf16_operand if is_operand else builder.store

            def strip(at, lanes: int, unrolled: int) -> None:
                for u in range(unrolled):
                    here = builder.index_sum(at, u * lanes) if name else at
                    vectors_done = builder.index_product(done, vectors)
                    slot = builder.index_sum(vectors_done, builder.index_divmod(here, builder.lanes)[0])
                    prefetch(slot, count * vectors)
                    place = self.expressions.offset(target, {name: here} if name else None)
                    stride = target.stride(name) if name else 1
                    value = builder.splat(self.expressions.value(s.value, name, here, lanes, computed), lanes)
                    if s.accumulates:
                        value = self._combine(s.join, value, builder.load(memory, place, lanes, stride))
                    store(value, memory, place, stride)

            if along:
                strip_mine(builder, along.extent, UNROLL, strip)
            else:
                strip(0, 0, 1)
        self.expressions.leave_loops(ranges)

    def _emit_fold(self, s: Fold) -> None:
        ranges = merge_ranges(s.domain, (*places_accessed(s), *range_tests(s.value)))
        along = vector_range(ranges, places_accessed(s), s.along, self.builder.lanes)
        assert along is not None, "a fold runs over something"
        kept = [r for r in ranges if r.name not in s.along and r != along]
        folded = [r for r in ranges if r.name in s.along and r != along]
        with ExitStack() as stack:
            for r in kept:
                self.variables[r.name] = stack.enter_context(self.builder.loop(0, r.extent))
            if along.name in s.along:
                self._fold_across_lanes(s, along, folded)
            else:
                self._fold_per_lane(s, along, folded)
        self.expressions.leave_loops(ranges)

    def _fold_across_lanes(self, s: Fold, along: Range, folded: list[Range]) -> None:
        """Fold along the vector: several vectors of partial results, reduced across lanes at the end."""
        builder = self.builder
        unrolled = min(UNROLL, max(1, along.extent // builder.lanes))
        tail = along.extent % builder.lanes
        start, streams = self._neutral(s.join), streams_of(s, along)
        totals = []
        if along.extent >= builder.lanes:
            totals = [builder.variable(builder.constant(start, builder.lanes)) for _ in range(unrolled)]
        tail_total = builder.variable(builder.constant(start, tail)) if tail else None
        with ExitStack() as stack:
            for r in folded:
                self.variables[r.name] = stack.enter_context(builder.loop(0, r.extent))
            tables: dict = {}
            self.expressions.hoist_tables(s.value, along.name, tables)

            def strip(at, lanes: int, count: int) -> None:
                for place in streams:
                    self._prefetch_ahead(place, along, at, lanes * count)
                for u in range(count):
                    variable = totals[u] if lanes == builder.lanes else tail_total
                    self._fold_into(s, variable, along, builder.index_sum(at, u * lanes), lanes, tables)

            strip_mine(builder, along.extent, unrolled, strip)
        values = [builder.get(t) for t in totals]
        while len(values) > 1:
            pairs = zip(values[::2], values[1::2], strict=False)
            values = [self._combine(s.join, a, b) for a, b in pairs] + values[len(values) // 2 * 2 :]
        reduce_lanes = builder.reduce_sum if s.join == "sum" else builder.reduce_max
        scalars = [reduce_lanes(v) for v in (*values, *([builder.get(tail_total)] if tail_total is not None else []))]
        total = scalars[0] if len(scalars) == 1 else self._combine(s.join, scalars[0], scalars[1])
        self._store_fold(s, self.expressions.offset(s.target), total, 0, 1)

    def _prefetch_ahead(self, place: Place, along: Range, at, elements: int) -> None:
        """Prefetch what is read `FOLD_AHEAD_BYTES` later in memory, for so many elements from `at` on.

        Less than a line is left to the hardware: each line would be requested several times. An exception are rows of
        half a line, such as groups of 64 weights of 4 bits: on Zen 4, 4096 x 4096 of them took 503 us instead of 548 in
        float32, and 528 instead of 535 in bfloat16.
        """
        memory, line = self.memory[place.buffer], self.builder.line_elements(self.memory[place.buffer])
        ahead = FOLD_AHEAD_BYTES // BYTES[place.buffer.dtype]
        first = self.expressions.offset(place, {along.name: at})
        least = line if along.extent >= line else line // 2
        for start in range(0, elements - least + 1, line):
            self.builder.prefetch(memory, self.builder.index_sum(first, start + ahead), 2)

    def _fold_per_lane(self, s: Fold, along: Range, folded: list[Range]) -> None:
        """Fold into a vector: each lane is a result of its own."""
        builder, tables = self.builder, dict[Expression, object]()
        self.expressions.hoist_fields(s.value, along.name, tables)

        def strip(at, lanes: int, count: int) -> None:
            totals = [builder.variable(builder.constant(self._neutral(s.join), lanes)) for _ in range(count)]
            with ExitStack() as stack:
                for r in folded:
                    self.variables[r.name] = stack.enter_context(builder.loop(0, r.extent))
                for u, variable in enumerate(totals):
                    self._fold_into(s, variable, along, builder.index_sum(at, u * lanes), lanes, tables)
            self.expressions.leave_loops(folded)
            for u, variable in enumerate(totals):
                place = self.expressions.offset(s.target, {along.name: builder.index_sum(at, u * lanes)})
                self._store_fold(s, place, builder.get(variable), lanes, s.target.stride(along.name))

        strip_mine(builder, along.extent, UNROLL, strip)

    def _fold_into(self, s: Fold, variable, along: Range, at, lanes: int, computed: Mapping) -> None:
        """Add a vector to a total; a product is added without being rounded."""
        builder, total = self.builder, self.builder.get(variable)

        def value(e: Expression):
            return builder.splat(self.expressions.value(e, along.name, at, lanes, computed), lanes)

        for term in products_of_sum(s.value) if s.join == "sum" else (s.value,):
            match term:
                case Apply("mul", (x, y)) if s.join == "sum":
                    total = builder.fma(value(x), value(y), total)
                case Apply("square", (x,)) if s.join == "sum":
                    factor = value(x)
                    total = builder.fma(factor, factor, total)
                case _:
                    total = self._combine(s.join, total, value(term))
        builder.set(variable, total)

    def _store_fold(self, s: Fold, place, total, lanes: int, stride: int) -> None:
        memory = self.memory[s.target.buffer]
        if s.accumulates:
            total = self._combine(s.join, total, self.builder.load(memory, place, lanes, stride))
        self.builder.store(total, memory, place, stride)

    def _emit_gather(self, s: Gather) -> None:
        """A copy per position, along all dims that the positions do not depend on."""
        outer = [r for r in s.domain if r.name in s.positions.variables]
        with ExitStack() as stack:
            for r in outer:
                self.variables[r.name] = stack.enter_context(self.builder.loop(0, r.extent))
            memory = self.memory[s.positions.buffer]
            self.variables[s.variable] = self.builder.load_integer(memory, self.expressions.offset(s.positions))
            self._emit_map(Map(tuple(r for r in s.domain if r not in outer), s.target, s.value))
            del self.variables[s.variable]
        self.expressions.leave_loops(outer)

    def _emit_prefix_sum(self, s: PrefixSum) -> None:
        places = places_accessed(s)
        axis = next(r for r in s.domain if r.name == s.along)
        ranges = merge_ranges(tuple(r for r in s.domain if r != axis), (*places, *range_tests(s.value)))
        along = vector_range([axis, *ranges], places, (), self.builder.lanes)
        with ExitStack() as stack:
            for r in ranges:
                if r != along:
                    self.variables[r.name] = stack.enter_context(self.builder.loop(0, r.extent))
            if along is None or along == axis:
                self._prefix_across_lanes(s, axis)
            else:
                self._prefix_per_lane(s, axis, along)
        self.expressions.leave_loops((axis, *ranges))

    def _prefix_per_lane(self, s: PrefixSum, axis: Range, along: Range) -> None:
        """Prefix sums one after another along the axis; each lane has its own."""
        builder = self.builder

        def strip(at, lanes: int, count: int) -> None:
            totals = [builder.variable(builder.constant(0.0, lanes)) for _ in range(count)]
            with builder.loop(0, axis.extent) as i:
                self.variables[axis.name] = self._from_end(axis.extent, i, 1) if s.reverse else i
                for u, variable in enumerate(totals):
                    here = builder.index_sum(at, u * lanes)
                    value = builder.splat(self.expressions.value(s.value, along.name, here, lanes, {}), lanes)
                    builder.set(variable, builder.add(builder.get(variable), value))
                    self._store_prefix(s, builder.get(variable), along.name, here)

        strip_mine(builder, along.extent, UNROLL, strip)

    def _prefix_across_lanes(self, s: PrefixSum, axis: Range) -> None:
        """Prefix sums within each vector along the axis, plus the sum of all vectors before it."""
        builder, width = self.builder, self.builder.lanes
        total = builder.variable(builder.constant(0.0, 0))
        tail = axis.extent % width

        def step(at, lanes: int) -> None:
            value = builder.splat(self.expressions.value(s.value, axis.name, at, lanes, {}), lanes)
            sums, before = builder.prefix_sums(value, s.reverse), builder.get(total)
            builder.set(total, builder.add(before, builder.lane(sums, 0 if s.reverse else lanes - 1)))
            self._store_prefix(s, builder.add(sums, builder.splat(before, lanes)), axis.name, at)

        if tail and s.reverse:
            step(axis.extent - tail, tail)
        if axis.extent >= width:
            with builder.loop(0, axis.extent - tail, width) as i:
                step(self._from_end(axis.extent - tail, i, width) if s.reverse else i, width)
        if tail and not s.reverse:
            step(axis.extent - tail, tail)

    def _from_end(self, extent: int, i, width: int):
        """Where the part of `width` elements begins that is as far from the end as `i` is from the start."""
        return self.builder.llvm.sub(self.builder.index(extent - width), i)

    def _store_prefix(self, s: PrefixSum, value, name: str, at) -> None:
        place = self.expressions.offset(s.target, {name: at})
        self.builder.store(value, self.memory[s.target.buffer], place, s.target.stride(name))

    def _combine(self, join: Join, a, b):
        return self.builder.add(a, b) if join == "sum" else self.builder.maximum(a, b)

    @staticmethod
    def _neutral(join: Join) -> float:
        return 0.0 if join == "sum" else -inf

    def _enter_loops(self, stack: ExitStack, ranges: list[Range]):
        """Loops over ranges: the number of iterations done, and how many there are."""
        builder, done, count = self.builder, 0, 1
        for r in ranges:
            self.variables[r.name] = stack.enter_context(builder.loop(0, r.extent))
            done = builder.index_sum(builder.index_product(done, r.extent), self.variables[r.name])
            count *= r.extent
        return done, count

    # ------------------------------------------------------------ products
    def _emit_product(
        self, c: Contract, requests: tuple[PrefetchRequest, ...] = (), fused: FusedSum | None = None
    ) -> None:
        builder = self.builder
        prefetch = self._interleaved(requests)
        shape, tiling = matmul_shape(c), tiling_of(c, self.schedule)
        outer_k = merged_k_ranges(c)[:-1]
        k_block = tiling.k_block if isinstance(tiling, DotTiling) else 0
        accumulates = c.accumulates
        if not accumulates and (outer_k or k_block or isinstance(tiling, StreamTiling)):
            domain = tuple(r for r in (*c.batch, c.m, c.n) if r.extent > 1)
            self._emit_map(Map(domain, c.target, Constant(Fraction(0))))
            accumulates = True
        loops = [*c.batch, *(Range(name, extent) for name, extent in outer_k)]
        with ExitStack() as stack:
            for r in loops:
                self.variables[r.name] = stack.enter_context(builder.loop(0, r.extent))
            target, left, right = (
                builder.advance(self.memory[p.buffer], self.expressions.offset(p)) for p in (c.target, c.left, c.right)
            )
            done, count = 0, 1
            for r in loops:
                done = builder.index_sum(builder.index_product(done, r.extent), self.variables[r.name])
                count *= r.extent
            if k_block:
                blocks = shape.k // k_block
                block = stack.enter_context(builder.loop(0, blocks))
                left = builder.advance(left, builder.index_product(block, k_block * shape.left_k))
                right = builder.advance(right, builder.index_product(block, k_block * shape.right_k))
                shape = replace(shape, k=k_block)
                done, count = builder.index_sum(builder.index_product(done, blocks), block), count * blocks

            def interleaved(slot, slots: int) -> None:
                prefetch(builder.index_sum(builder.index_product(done, slots), slot), slots * count)

            column_sum = None if fused is None else self._column_sum(fused.fold, c)
            MicroKernel(
                builder, shape, tiling, target, left, right, accumulates, interleaved, column_sum, self.workspace
            ).emit()
        self.expressions.leave_loops(loops)

    def _column_sum(self, s: Fold, c: Contract) -> ColumnSum:
        """A sum for a product to compute too; the batch's variables are in scope."""

        def value(x):
            return self.expressions.value(s.value, None, None, self.builder.lanes, {Read(c.right): x})

        def store(n, sums) -> None:
            place = self.expressions.offset(s.target, {c.n.name: n})
            self._store_fold(s, place, sums, sums.type.count, s.target.stride(c.n.name))

        return ColumnSum(value, store)

    # ------------------------------------------------------------ prefetch
    def _interleaved(self, requests: tuple[PrefetchRequest, ...]) -> InterleavedPrefetch:
        """Emits the share of all requests that falls to a slot."""
        starts = [self._tile_start(request.tile) for request in requests]
        cache_level = dict(self.schedule)["level"] if requests else 0

        def prefetch(slot, slots: int) -> None:
            for request, start in zip(requests, starts, strict=True):
                prefetch_slot(self.builder, start, request, self.prefetch_streams, cache_level, slot, slots)

        return prefetch

    def _tile_start(self, tile: RequestedTile) -> Memory:
        """Where a tile of this iteration or a later one begins."""
        iteration = self.builder.index_sum(self.variables[self.loop_variable], tile.iterations_later)
        steps = {r.name: 0 for r in tile.ranges} | {self.loop_variable: iteration}
        return self.builder.advance(self.memory[tile.place.buffer], self.expressions.offset(tile.place, steps))


def streams_of(s: Fold, along: Range) -> tuple[Place, ...]:
    """Large operands of which a fold reads each element once, in vectors."""
    names, count = {r.name for r in s.domain}, prod(r.extent for r in s.domain)
    return tuple(
        p
        for p in dict.fromkeys(places_read(s.value))
        if p.buffer.where == "input"
        and p.stride(along.name) == 1
        and names <= {*p.variables}
        and count * BYTES[p.buffer.dtype] >= LEAST_STREAM_BYTES
    )


def products_of_sum(value: Expression) -> tuple[Expression, ...]:
    """The terms of a sum of products; a value that is none is its only term."""
    match value:
        case Apply("add", (a, b)):
            terms = (*products_of_sum(a), *products_of_sum(b))
            return terms if all(isinstance(t, Apply) and t.fn == "mul" for t in terms) else (value,)
        case _:
            return (value,)


def merge_ranges(domain: tuple[Range, ...], operands: tuple[Place | RangeTest, ...]) -> list[Range]:
    """The domain with ranges merged over which all operands are contiguous, so that vectors are long.

    A folded range is never merged with one that is kept: the target distinguishes them.
    """
    ranges = list(domain)
    while True:
        pairs = permutations(ranges, 2)
        contiguous = (
            (o, i) for o, i in pairs if all(p.stride(o.name) == p.stride(i.name) * i.extent for p in operands)
        )
        outer, inner = next(contiguous, (None, None))
        if outer is None or inner is None:
            return ranges
        ranges[ranges.index(inner)] = Range(inner.name, outer.extent * inner.extent)
        ranges.remove(outer)


def vector_range(ranges: list[Range], operands: tuple[Place, ...], folded: tuple[str, ...], lanes: int) -> Range | None:
    """The range to vectorize: the one with the least cost per element, the innermost of equals."""

    def cost(r: Range) -> float:
        width = min(lanes, r.extent)
        is_vector = (p.stride(r.name) in (0, 1) or p.is_byte_of_words(r.name) for p in operands)
        accesses = sum(1 if is_one else width for is_one in is_vector)
        across_lanes = 10 / prod(s.extent for s in ranges if s.name in folded) if r.name in folded else 0
        return accesses / width + across_lanes

    return min(reversed(ranges), key=cost, default=None)
