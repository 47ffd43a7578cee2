# pyright: basic
# It writes llvmlite values, which have no types.
"""The register-blocked micro-kernels for tile products; see `matmul_tiling.py` for when each is used.

Input: a `MicroKernel`, the operands' addresses with the tiling. Output: LLVM code for `target (+)= left @ right`.
Any extents are legal: blocks of rows are balanced, and the tail of a loop is a shorter vector, so nothing outside the
operands is accessed. Software prefetch: a stream requests the row of `right` that is `prefetch_rows` further down, a
dot the next panel of columns, evenly over the passes over the rows.

A third micro-kernel was measured and removed: a block of the target in registers while k runs over rows along n was
slower than stream everywhere (1 row: 2394 us against 1190; 16 rows: 3931 against 2859). Rows of a wide matrix are pages
apart, and a narrow tile reads little of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import Any, NamedTuple

from llvmlite import ir

from prism_explore.codegen.cpu.emit_prefetch import InterleavedPrefetch, PanelPrefetch, no_prefetch
from prism_explore.codegen.cpu.llvm.builder import I32, FunctionBuilder, Memory, vector_type
from prism_explore.codegen.cpu.matmul_tiling import (
    DotTiling,
    MatmulShape,
    OuterTiling,
    StreamTiling,
    TileTiling,
    Tiling,
    balanced_blocks,
)
from prism_explore.codegen.cpu.outer_microkernel import OuterProduct
from prism_explore.codegen.cpu.tile_microkernel import TileProduct

STREAM_ROWS = 16
"""Up to this many rows of the target are unrolled in one pass."""
KEPT_FACTORS = 16
"""Up to this many elements of `left` stay in registers over a pass."""


@dataclass(frozen=True, slots=True)
class ColumnSum:
    """A sum over k of a function of `right` alone, for every n, that a dot of a single block of rows computes too."""

    value: Callable[[Any], Any]
    """The summand, of a vector of `right`."""
    store: Callable[[Any, Any], None]
    """Stores the sums of adjacent columns; takes the first n and the vector of sums."""


@dataclass(frozen=True, slots=True)
class MicroKernel:
    """One product of tiles to emit: `target = left @ right`, or `+=` where it accumulates."""

    builder: FunctionBuilder
    shape: MatmulShape
    tiling: Tiling
    target: Memory
    left: Memory
    right: Memory
    accumulates: bool
    """A stream always does; its target was set to zero."""
    prefetch: InterleavedPrefetch = no_prefetch
    """Requests for other statements' tiles, spread over the arithmetic."""
    column_sum: ColumnSum | None = None
    workspace: Memory | None = None
    """Memory of the thread; needed where the tiling has a `workspace_floats`."""

    def emit(self) -> None:
        """Emit the code."""
        match self.tiling:
            case DotTiling():
                _emit_dot(self, self.tiling)
            case OuterTiling() | TileTiling():
                assert self.workspace is not None, "the left operand is copied"
                assert self.column_sum is None, "only a dot computes column sums"
                operands = self.target, self.left, self.right
                rest = *operands, self.accumulates, self.workspace
                match self.tiling:
                    case OuterTiling() as tiling:
                        OuterProduct(self.builder, self.shape, tiling, *rest).emit(self.prefetch)
                    case TileTiling() as tiling:
                        TileProduct(self.builder, self.shape, tiling, *rest).emit(self.prefetch)
            case StreamTiling():
                assert self.accumulates, "a stream adds to its target"
                assert self.column_sum is None, "a stream computes no column sum"
                _emit_stream(self, self.tiling)


def strip_mine(
    builder: FunctionBuilder,
    extent: int,
    vectors: int,
    body: Callable[[ir.Value, int, int], None],
    width: int | None = None,
) -> None:
    """Emit `body(start, lanes, count)` over an extent: `count` vectors at a time, then one, then the tail.

    `width` is the number of elements of a vector where it is not the number of lanes.
    """
    start, full = 0, width or builder.lanes
    for lanes, count in ((full, vectors), (full, 1), (extent % full, 1)):
        step = lanes * count
        if not step or extent - start < step:
            continue
        stop = start + (extent - start) // step * step
        with builder.loop(start, stop, step) as at:
            body(at, lanes, count)
        start = stop


# ---------------------------------------------------------------- stream
def _emit_stream(kernel: MicroKernel, tiling: StreamTiling) -> None:
    k = kernel.shape.k
    depth = min(tiling.k_unroll, k)
    tail = k % depth
    for start, stop, step in ((0, k - tail, depth), (k - tail, k, tail)):
        if start < stop:
            with kernel.builder.loop(start, stop, step) as at:
                _emit_rank_update(kernel, tiling, step, at, no_prefetch if start else kernel.prefetch)


def _emit_rank_update(kernel: MicroKernel, tiling: StreamTiling, depth: int, k, prefetch: InterleavedPrefetch) -> None:
    """Update all of the target with `depth` rows of `right`, from row `k` on."""
    builder, shape = kernel.builder, kernel.shape
    slots = -(-shape.k // depth), -(-shape.n // builder.lanes)
    first_slot = builder.index_product(builder.index_divmod(k, depth)[0], slots[1])

    def factor(m, j: int, lanes: int):
        row = builder.index_product(m, shape.left_m)
        offset = builder.index_sum(row, builder.index_product(builder.index_sum(k, j), shape.left_k))
        return builder.splat(builder.load(kernel.left, offset, 0), lanes)

    keeps_factors = shape.m * depth <= KEPT_FACTORS
    kept = [[factor(m, j, builder.lanes) for j in range(depth)] for m in range(shape.m)] if keeps_factors else []

    def update_row(m, at, lanes: int, count: int, rows: list) -> None:
        place = builder.index_sum(builder.index_product(m, shape.target_m), at)
        # The products of a step are summed before they are added to the target, which is how rounding errors stay small
        # for a large k. With few rows to fill the pipelines, two chains of additions hide the latency of one.
        chains = 2 if shape.m <= 2 else 1
        sums: list[list] = [[None] * chains for _ in range(count)]
        for j in range(depth):
            x = kept[m][j] if kept and isinstance(m, int) and lanes == builder.lanes else factor(m, j, lanes)
            for v in range(count):
                before = sums[v][j % chains]
                product = (x, rows[j][v])
                sums[v][j % chains] = builder.mul(*product) if before is None else builder.fma(*product, before)
        for v in range(count):
            at_v = builder.index_sum(place, v * lanes)
            found = [*filter(None, sums[v]), builder.load(kernel.target, at_v, lanes)]
            builder.store(reduce(builder.add, found), kernel.target, at_v)

    def strip(at, lanes: int, count: int) -> None:
        def right_at(j: int, v: int):
            return builder.index_sum(builder.index_product(builder.index_sum(k, j), shape.right_k), at, v * lanes)

        for v in range(count):
            slot = builder.index_sum(first_slot, builder.index_divmod(at, builder.lanes)[0], v)
            prefetch(slot, prod(slots))
        rows = [[builder.load(kernel.right, right_at(j, v), lanes) for v in range(count)] for j in range(depth)]
        if tiling.prefetch_rows:
            width = lanes * count
            _prefetch_rows(kernel, tiling, (k, depth), (at, width), is_tail=lanes < builder.lanes)
        if shape.m <= STREAM_ROWS:
            for m in range(shape.m):
                update_row(m, at, lanes, count, rows)
            return
        for start, size, blocks in balanced_blocks(shape.m, STREAM_ROWS // 2):
            with builder.loop(0, blocks) as block:
                for m in range(size):
                    row = builder.index_sum(builder.index_product(block, size), start + m)
                    update_row(row, at, lanes, count, rows)

    strip_mine(builder, shape.n, tiling.n_vectors, strip)


def _prefetch_rows(
    kernel: MicroKernel, tiling: StreamTiling, rows: tuple[Any, int], strip: tuple[Any, int], is_tail: bool
) -> None:
    """Request what a strip reads `prefetch_rows` further down, each line once.

    Where a line is longer than a strip, each of the strips along it requests some of the rows. Of a row's last line
    that has fewer strips, some rows are not requested.

    Args:
        kernel: the product.
        tiling: its blocking.
        rows: the first row of the strip, and their number.
        strip: its first element of a row, and their number.
        is_tail: whether the strip is shorter than a vector; it then requests all its rows.
    """
    builder, line = kernel.builder, kernel.builder.line_elements(kernel.right)
    (k, depth), (at, width) = rows, strip
    strips = 1 if is_tail else max(1, line // width)
    share = -(-depth // strips)
    first: Any = 0
    if strips > 1:
        group, within = builder.index_divmod(at, line)
        at = builder.index_product(group, line)
        first = builder.index_product(builder.index_divmod(within, width)[0], share)
    for j in range(share):
        row = builder.index_sum(first, j)
        start = builder.index_product(builder.index_sum(k, row, tiling.prefetch_rows), kernel.shape.right_k)
        with ExitStack() as stack:
            if share * strips > depth:
                is_needed = builder.index_in_range(row, None, depth - 1)
                stack.enter_context(builder.llvm.if_then(is_needed))
            for offset in range(0, width, line):
                builder.prefetch(kernel.right, builder.index_sum(start, at, offset), tiling.cache_level)


# ---------------------------------------------------------------- dot
class _RegisterBlock(NamedTuple):
    """The part of the target that is in registers: `rows` rows from `m` on, `columns` columns from `n` on."""

    m: Any
    rows: int
    n: Any
    columns: int


def _emit_dot(kernel: MicroKernel, tiling: DotTiling) -> None:
    builder, shape = kernel.builder, kernel.shape
    columns = min(tiling.columns, shape.n)
    tail = shape.n % columns
    step = 2 * builder.lanes if tiling.is_bf16 else builder.lanes
    steps = -(-shape.k // step)
    row_blocks = list(balanced_blocks(shape.m, tiling.rows))
    passes = sum(count for _, _, count in row_blocks)
    for start, stop, width in ((0, shape.n - tail, columns), (shape.n - tail, shape.n, tail)):
        if start >= stop:
            continue
        slots = -(-shape.n // width) * passes * steps
        with builder.loop(start, stop, width) as n:
            done = 0
            for first, rows, count in row_blocks:
                with builder.loop(0, count) as block:
                    m = builder.index_sum(builder.index_product(block, rows), first)
                    this_pass = builder.index_sum(block, done)
                    next_panel = builder.index_sum(n, width)
                    panel = PanelPrefetch(
                        builder, shape, kernel.right, tiling.cache_level, next_panel, width, this_pass, passes,
                        tiling.line_step,
                    )  # fmt: skip
                    panels_done = builder.index_product(builder.index_divmod(n, width)[0], passes)
                    passes_done = builder.index_sum(panels_done, this_pass)
                    interleaved = no_prefetch if start else kernel.prefetch

                    def prefetch(k, passes_done=passes_done, slots=slots, interleaved=interleaved):
                        first_slot = builder.index_product(passes_done, steps)
                        interleaved(builder.index_sum(first_slot, builder.index_divmod(k, step)[0]), slots)

                    _emit_register_block(kernel, tiling, _RegisterBlock(m, rows, n, width), panel, prefetch)
                done += count


def _emit_register_block(
    kernel: MicroKernel, tiling: DotTiling, block: _RegisterBlock, panel: PanelPrefetch, prefetch: Callable[[Any], None]
) -> None:
    """`rows` x `columns` sums over all of k; prefetches are issued in each step."""
    builder, shape, column_sum = kernel.builder, kernel.shape, kernel.column_sum
    zero = builder.constant(0.0, builder.lanes)
    totals = [[builder.variable(zero) for _ in range(block.columns)] for _ in range(block.rows)]
    column_totals = [builder.variable(zero) for _ in range(block.columns if column_sum else 0)]

    def operand(memory: Memory, at, lanes: int):
        if tiling.is_bf16:
            return builder.load_bf16_pairs(memory, at, lanes)
        return _zero_extended(builder, builder.load(memory, at, lanes))

    def left_at(i: int, at, lanes: int):
        row = builder.index_product(builder.index_sum(block.m, i), shape.left_m)
        return operand(kernel.left, builder.index_sum(row, at), lanes)

    def right_at(j: int, at, lanes: int):
        column = builder.index_product(builder.index_sum(block.n, j), shape.right_n)
        return operand(kernel.right, builder.index_sum(column, at), lanes)

    def add_product(variable, x, y) -> None:
        total = builder.get(variable)
        builder.set(variable, builder.add_bf16_dot(total, x, y) if tiling.is_bf16 else builder.fma(x, y, total))

    def add_column(j: int, y) -> None:
        if column_sum:
            total = builder.get(column_totals[j])
            builder.set(column_totals[j], builder.add(total, column_sum.value(y)))

    width = 2 * builder.lanes if tiling.is_bf16 else builder.lanes

    def step(k, lanes: int, count: int) -> None:
        if count > tiling.k_vectors:  # a line of the next panel is longer than what is unrolled
            panel.emit(k, 0)
            with builder.loop(0, count * width, tiling.k_vectors * width) as within:
                multiply(builder.index_sum(k, within), lanes, tiling.k_vectors, requests_panel=False)
        else:
            multiply(k, lanes, count, requests_panel=True)

    def multiply(k, lanes: int, count: int, requests_panel: bool) -> None:
        for u in range(count):
            at = builder.index_sum(k, u * lanes)
            prefetch(at)
            if requests_panel:
                panel.emit(at, u * lanes)
            # The operand of which a block has fewer vectors stays in registers while the other one passes.
            if block.rows < block.columns:
                rows = [left_at(i, at, lanes) for i in range(block.rows)]
                for j in range(block.columns):
                    y = right_at(j, at, lanes)
                    add_column(j, y)
                    for i, x in enumerate(rows):
                        add_product(totals[i][j], x, y)
            else:
                columns = [right_at(j, at, lanes) for j in range(block.columns)]
                for j, y in enumerate(columns):
                    add_column(j, y)
                for i in range(block.rows):
                    x = left_at(i, at, lanes)
                    for total, y in zip(totals[i], columns, strict=True):
                        add_product(total, x, y)

    strip_mine(builder, shape.k, max(tiling.k_vectors, panel.period // width), step, width)
    if column_sum:
        for start, part in _in_vectors(builder, column_totals):
            column_sum.store(builder.index_sum(block.n, start), builder.reduce_sums([builder.get(t) for t in part]))
    positions = [(i, j) for i in range(block.rows) for j in range(block.columns)]
    for _, part in _in_vectors(builder, positions):
        sums = builder.reduce_sums([builder.get(totals[i][j]) for i, j in part])
        for i in dict.fromkeys(i for i, _ in part):
            lanes = [lane for lane, (row, _) in enumerate(part) if row == i]
            row = builder.index_product(builder.index_sum(block.m, i), shape.target_m)
            place = builder.index_sum(row, block.n, part[lanes[0]][1])
            result = builder.select_lanes(sums, lanes)
            if kernel.accumulates:
                result = builder.add(result, builder.load(kernel.target, place, len(lanes)))
            builder.store(result, kernel.target, place)


def _in_vectors(builder: FunctionBuilder, items: list) -> Iterator[tuple[int, list]]:
    """Up to as many items at a time as a vector has lanes, with the position of the first."""
    for start in range(0, len(items), builder.lanes):
        yield start, items[start : start + builder.lanes]


def _zero_extended(builder: FunctionBuilder, x):
    """A shorter vector, zero-padded to full width."""
    if x.type.count == builder.lanes:
        return x
    zero = ir.Constant(vector_type(x.type.count), [0.0] * x.type.count)
    lanes = [min(lane, x.type.count) for lane in range(builder.lanes)]
    return builder.llvm.shuffle_vector(x, zero, ir.Constant(ir.VectorType(I32, builder.lanes), lanes))
