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
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from prism_explore.codegen.cpu.llvm.builder import FunctionBuilder, Memory
from prism_explore.codegen.cpu.matmul_tiling import TILE_DEPTH, TILE_ROWS, MatmulShape, TileTiling
from prism_explore.codegen.cpu.turned_operands import RowPasses, pack_by_k, store_turned


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
        builder, shape = self.builder, self.shape
        pairs = replace(shape, k=shape.k // 2, left_m=shape.left_m // 2)
        pack_by_k(builder, pairs, Memory(self.left.pointer), self._pairs, self._width, builder.lanes)
        width = TILE_ROWS * self.tiling.column_tiles
        whole = shape.n // width * width
        if whole:
            with builder.loop(0, whole, width) as n:
                tiles = [_ColumnTile(builder.index_sum(n, at)) for at in range(0, width, TILE_ROWS)]
                self._emit_panel(tiles, builder.index_divmod(n, width)[0], prefetch)
        if whole < shape.n:
            starts = range(whole, shape.n, TILE_ROWS)
            tiles = [_ColumnTile(min(n, shape.n - TILE_ROWS), max(0, n - shape.n + TILE_ROWS)) for n in starts]
            self._emit_panel(tiles, whole // width, prefetch)

    @property
    def _width(self) -> int:
        """Rows of `left`, padded to tiles."""
        return -(-self.shape.m // TILE_ROWS) * TILE_ROWS

    @property
    def _pairs(self) -> Memory:
        """`left` as pairs, k before m; a pair is moved as one float32, without arithmetic."""
        return Memory(self.workspace.pointer)

    def _emit_panel(self, columns: list[_ColumnTile], number: Any, prefetch: Callable[[Any, int], None]) -> None:
        """The sums of some tiles of columns with all rows; it is panel `number`."""
        builder, shape, tiling = self.builder, self.shape, self.tiling
        panels = -(-shape.n // (TILE_ROWS * tiling.column_tiles))
        height, width = TILE_ROWS * tiling.row_tiles, TILE_ROWS * len(columns)
        next_column = builder.index_sum(columns[0].start, width)
        passes = RowPasses(
            builder, shape, self.right, number, panels, width, next_column, height, TILE_DEPTH, tiling.cache_level
        )
        passes.emit(prefetch, lambda m, rows, request: self._emit_block(m, rows, columns, request))

    def _emit_block(self, m: Any, rows: int, columns: list[_ColumnTile], prefetch: Callable[[Any], None]) -> None:
        """The sums of some rows from `m` on and some tiles of columns, which fit into registers."""
        builder, shape = self.builder, self.shape
        row_tiles = range(0, rows, TILE_ROWS)
        blocks = [(r, c) for r in row_tiles for c in columns]
        sums = [builder.tile_zero() for _ in blocks]

        def row_tile(r: int, k):
            row = builder.index_product(builder.index_divmod(k, 2)[0], self._width)
            return builder.tile_load(self._pairs, builder.index_sum(row, m, r), 4 * self._width)

        def column_tile(c: _ColumnTile, k):
            place = builder.index_sum(builder.index_product(c.start, shape.right_n), k)
            return builder.tile_load(self.right, place, 2 * shape.right_n)

        with builder.loop(0, shape.k, TILE_DEPTH, sums) as k:
            prefetch(k)
            # The operand of which a block has fewer tiles stays in registers while the other one passes.
            if len(columns) < len(row_tiles):
                kept = [column_tile(c, k) for c in columns]
                for i, r in enumerate(row_tiles):
                    tile = row_tile(r, k)
                    for j, other in enumerate(kept):
                        at = i * len(columns) + j
                        sums[at] = builder.tile_bf16_dot(sums[at], other, tile)
            else:
                kept = [row_tile(r, k) for r in row_tiles]
                for j, c in enumerate(columns):
                    tile = column_tile(c, k)
                    for i, other in enumerate(kept):
                        at = i * len(columns) + j
                        sums[at] = builder.tile_bf16_dot(sums[at], tile, other)
        for (r, c), tile in zip(blocks, sums, strict=True):
            self._store(builder.index_sum(m, r), min(TILE_ROWS, rows - r), c, tile)

    def _store(self, m: Any, rows: int, c: _ColumnTile, tile) -> None:
        """Store the transpose of a tile of sums, or add it to the target."""
        builder, lanes = self.builder, self.builder.lanes
        memory = builder.advance(self._pairs, self.shape.k // 2 * self._width)
        builder.tile_store(memory, 4 * TILE_ROWS, tile)
        for column in range(c.known // lanes * lanes, TILE_ROWS, lanes):
            for row in range(0, rows, lanes):
                found = [builder.load(memory, (column + j) * TILE_ROWS + row, lanes) for j in range(lanes)]
                place = builder.index_sum(m, row), builder.index_sum(c.start, column)
                known = max(0, c.known - column)
                store_turned(builder, self.shape, self.target, found, place, rows - row, self.accumulates, known)
