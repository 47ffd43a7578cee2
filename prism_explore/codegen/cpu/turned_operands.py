# pyright: basic
# It writes llvmlite values, which have no types.
"""What the micro-kernels of a transpose share: `left` with k outermost, passes over its rows, sums that are turned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from prism_explore.codegen.cpu.emit_prefetch import PanelPrefetch
from prism_explore.codegen.cpu.llvm.builder import FunctionBuilder, Memory
from prism_explore.codegen.cpu.matmul_tiling import MatmulShape


def pack_by_k(
    builder: FunctionBuilder, shape: MatmulShape, left: Memory, packed: Memory, width: int, lanes: int
) -> None:
    """Copy `left`, whose rows are contiguous along k, so that for each k its `m` rows are adjacent.

    Args:
        builder: of the function.
        shape: extents, and the distance of the rows.
        left: where the operand begins.
        packed: float32 memory of `k` x `width` elements.
        width: rows, padded with zeros to a multiple of `lanes`.
        lanes: rows per vector, a power of two.
    """

    def group(first: Any, rows: int) -> None:
        zero = builder.constant(0.0, lanes)
        whole = shape.k // lanes * lanes
        row_starts = [builder.index_product(builder.index_sum(first, r), shape.left_m) for r in range(rows)]
        if whole:
            with builder.loop(0, whole, lanes) as k:
                found = [builder.load(left, builder.index_sum(start, k), lanes) for start in row_starts]
                for j, column in enumerate(builder.transpose([*found, *[zero] * (lanes - rows)])):
                    row = builder.index_product(builder.index_sum(k, j), width)
                    builder.store(column, packed, builder.index_sum(row, first))
        if whole < shape.k:
            with builder.loop(whole, shape.k) as k:
                row = builder.index_sum(builder.index_product(k, width), first)
                builder.store(zero, packed, row)
                for r, start in enumerate(row_starts):
                    builder.store(builder.load(left, builder.index_sum(start, k), 0), packed, builder.index_sum(row, r))

    full = shape.m // lanes * lanes
    if full:
        with builder.loop(0, full, lanes) as first:
            group(first, lanes)
    if full < shape.m:
        group(full, shape.m - full)


@dataclass(frozen=True, slots=True)
class RowPasses:
    """The passes of one panel of columns of `right` over the rows of `left`, a block of rows each."""

    builder: FunctionBuilder
    shape: MatmulShape
    right: Memory
    panel: Any
    """The number of the panel."""
    panels: int
    columns: int
    """Of the panel."""
    next_column: Any
    """The first column of the next panel, which is prefetched."""
    height: int
    """Rows of a block; the last one may have fewer."""
    depth: int
    """Elements of k per step."""
    cache_level: int
    """0 for no prefetch of the next panel."""
    line_step: int = 1

    def emit(
        self, prefetch: Callable[[Any, int], None], block: Callable[[Any, int, Callable[[Any], None]], None]
    ) -> None:
        """Emit the passes.

        Args:
            prefetch: requests other statements' tiles, as in `emit_prefetch`.
            block: emits the sums of a block, from its first row, its number of rows, and what to call at a step of k.
        """
        builder, height = self.builder, self.height
        full = self.shape.m // height
        if full:
            with builder.loop(0, full) as this_pass:
                block(builder.index_product(this_pass, height), height, self._requests(this_pass, prefetch))
        if self.shape.m % height:
            block(full * height, self.shape.m % height, self._requests(full, prefetch))

    def _requests(self, this_pass: Any, prefetch: Callable[[Any, int], None]) -> Callable[[Any], None]:
        builder, shape = self.builder, self.shape
        passes, steps = -(-shape.m // self.height), -(-shape.k // self.depth)
        next_panel = PanelPrefetch(
            builder, shape, self.right, self.cache_level, self.next_column, self.columns, this_pass, passes,
            self.line_step,
        )  # fmt: skip
        done = builder.index_sum(builder.index_product(self.panel, passes), this_pass)

        def request(k: Any) -> None:
            step = builder.index_sum(builder.index_product(done, steps), builder.index_divmod(k, self.depth)[0])
            prefetch(step, self.panels * passes * steps)
            next_panel.emit(k, 0)

        return request


def store_turned(
    builder: FunctionBuilder,
    shape: MatmulShape,
    target: Memory,
    columns: list,
    place: tuple[Any, Any],
    rows: int,
    accumulates: bool,
    known: int = 0,
) -> None:
    """Store sums that have a vector per column, or add them to the target.

    Args:
        builder: of the function.
        shape: the distance of the target's rows.
        target: where the target begins.
        columns: at most as many as a vector has lanes; the lanes are rows.
        place: the first row and the first column.
        rows: how many rows to store.
        accumulates: whether to add.
        known: leave out so many columns.
    """
    lanes = columns[0].type.count
    padding = [builder.constant(0.0, lanes)] * (lanes - len(columns))
    kept = list(range(known, len(columns)))
    for r, sums in enumerate(builder.transpose([*columns, *padding])[:rows]):
        value = builder.select_lanes(sums, kept)
        row = builder.index_product(builder.index_sum(place[0], r), shape.target_m)
        at = builder.index_sum(row, place[1], known)
        if accumulates:
            value = builder.add(value, builder.load(target, at, len(kept)))
        builder.store(value, target, at)
