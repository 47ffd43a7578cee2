# pyright: basic
# It writes llvmlite values, which have no types.
"""The micro-kernel of AMX tiles: a product of bfloat16 pairs with float32 sums, 16 x 16 of them per instruction.

Input: a product whose operands are contiguous along k, and workspace of the thread. Output: LLVM code for
`target (+)= left @ right`. An instruction multiplies a tile of 16 rows x 32 elements with one of 16 pairs x 16 columns.
The columns of `right`, a weight as an nn.Linear stores it, are the rows of the first tile as they are in memory.
For the second tile `left`, which is small, is copied so that the pairs of its rows are adjacent for each k. So the sums
are those of the transpose, and are turned when they are stored.

All tiles are full: rows of `left` are padded with zeros, and the last tile of columns begins 16 columns before the end.
Its first columns are computed twice and stored once. The products of pairs are added in float32, in the order of k;
subnormal operands count as zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from prism_explore.codegen.cpu.emit_prefetch import PanelPrefetch
from prism_explore.codegen.cpu.llvm.builder import FunctionBuilder, Memory
from prism_explore.codegen.cpu.matmul_tiling import TILE_DEPTH, TILE_ROWS, MatmulShape, TileTiling


class _ColumnTile(NamedTuple):
    """Sixteen columns of `right`, from `start` on; the first `known` ones are stored by another tile."""

    start: Any
    known: int = 0


@dataclass(frozen=True, slots=True)
class TileProduct:
    """One product to emit in tiles."""

    builder: FunctionBuilder
    shape: MatmulShape
    tiling: TileTiling
    target: Memory
    left: Memory
    right: Memory
    accumulates: bool
    workspace: Memory
    """Of `tiling.workspace_floats` elements."""

    def emit(self, prefetch: Callable[[Any, int], None]) -> None:
        """Emit the product; `prefetch` requests other statements' tiles, as in `emit_prefetch`."""
        builder, columns = self.builder, self.shape.n
        self._pack()
        panel = TILE_ROWS * self.tiling.column_tiles
        steps = self.shape.k // TILE_DEPTH
        panels = -(-columns // panel)
        whole = columns // panel * panel
        if whole:
            with builder.loop(0, whole, panel) as n:
                tiles = [_ColumnTile(builder.index_sum(n, at)) for at in range(0, panel, TILE_ROWS)]
                done = builder.index_product(builder.index_divmod(n, panel)[0], steps)
                self._emit_panel(tiles, lambda step: prefetch(builder.index_sum(done, step), panels * steps))
        if whole < columns:
            starts = range(whole, columns, TILE_ROWS)
            tiles = [_ColumnTile(min(n, columns - TILE_ROWS), max(0, n - columns + TILE_ROWS)) for n in starts]
            done = (panels - 1) * steps
            self._emit_panel(tiles, lambda step: prefetch(builder.index_sum(done, step), panels * steps))

    @property
    def _width(self) -> int:
        """Rows of `left`, padded to tiles."""
        return -(-self.shape.m // TILE_ROWS) * TILE_ROWS

    @property
    def _pairs(self) -> Memory:
        """`left` as pairs, k before m; a pair is moved as one float32, without arithmetic."""
        return Memory(self.workspace.pointer)

    def _pack(self) -> None:
        """Copy `left` to `_pairs`."""
        builder, shape, lanes = self.builder, self.shape, self.builder.lanes
        left = Memory(self.left.pointer)
        for first in range(0, self._width, lanes):
            rows = range(first, min(first + lanes, shape.m))
            with builder.loop(0, shape.k // 2, lanes) as k:
                found = [builder.load(left, builder.index_sum(r * (shape.left_m // 2), k), lanes) for r in rows]
                padding = [builder.constant(0.0, lanes)] * (lanes - len(found))
                for j, column in enumerate(builder.transpose([*found, *padding])):
                    row = builder.index_product(builder.index_sum(k, j), self._width)
                    builder.store(column, self._pairs, builder.index_sum(row, first))

    def _emit_panel(self, columns: list[_ColumnTile], prefetch: Callable[[Any], None]) -> None:
        """The sums of some tiles of columns with all rows."""
        step = TILE_ROWS * self.tiling.row_tiles
        for m in range(0, self._width, step):
            rows = list(range(m, min(m + step, self._width), TILE_ROWS))
            self._emit_block(rows, columns, prefetch if m == 0 else lambda _: None)

    def _emit_block(self, rows: list[int], columns: list[_ColumnTile], prefetch: Callable[[Any], None]) -> None:
        """The sums of tiles of rows and of columns, which fit into registers."""
        builder, shape = self.builder, self.shape
        width = TILE_ROWS * len(columns)
        next_panel = builder.index_sum(columns[0].start, width)
        panel = PanelPrefetch(builder, shape, self.right, self.tiling.cache_level, next_panel, width, 0, 1)
        blocks = [(r, c) for r in rows for c in columns]
        sums = [builder.tile_zero() for _ in blocks]

        def row_tile(m: int, k):
            row = builder.index_product(builder.index_divmod(k, 2)[0], self._width)
            return builder.tile_load(self._pairs, builder.index_sum(row, m), 4 * self._width)

        def column_tile(c: _ColumnTile, k):
            place = builder.index_sum(builder.index_product(c.start, shape.right_n), k)
            return builder.tile_load(self.right, place, 2 * shape.right_n)

        with builder.loop(0, shape.k, TILE_DEPTH, sums) as k:
            prefetch(builder.index_divmod(k, TILE_DEPTH)[0])
            if rows[0] == 0:
                panel.emit(k, 0)
            # The operand of which a block has fewer tiles stays in registers while the other one passes.
            if len(columns) < len(rows):
                kept = [column_tile(c, k) for c in columns]
                for i, m in enumerate(rows):
                    tile = row_tile(m, k)
                    for j, other in enumerate(kept):
                        at = i * len(columns) + j
                        sums[at] = builder.tile_bf16_dot(sums[at], other, tile)
            else:
                kept = [row_tile(m, k) for m in rows]
                for j, c in enumerate(columns):
                    tile = column_tile(c, k)
                    for i, other in enumerate(kept):
                        at = i * len(columns) + j
                        sums[at] = builder.tile_bf16_dot(sums[at], tile, other)
        for (m, c), tile in zip(blocks, sums, strict=True):
            self._store_turned(m, c, tile)

    def _store_turned(self, m: int, c: _ColumnTile, tile) -> None:
        """Store the transpose of a tile of sums, or add it to the target."""
        builder, lanes = self.builder, self.builder.lanes
        memory = builder.advance(self._pairs, self.shape.k // 2 * self._width)
        builder.tile_store(memory, 4 * TILE_ROWS, tile)
        for column in range(0, TILE_ROWS, lanes):
            skipped = min(lanes, max(0, c.known - column))
            if skipped == lanes:
                continue
            for row in range(0, min(TILE_ROWS, self.shape.m - m), lanes):
                found = [builder.load(memory, (column + j) * TILE_ROWS + row, lanes) for j in range(lanes)]
                for r, sums in enumerate(builder.transpose(found)[: self.shape.m - m - row]):
                    value = builder.select_lanes(sums, list(range(skipped, lanes)))
                    place = builder.index_sum((m + row + r) * self.shape.target_m, c.start, column + skipped)
                    if self.accumulates:
                        value = builder.add(value, builder.load(self.target, place, lanes - skipped))
                    builder.store(value, self.target, place)
