# pyright: basic
# It writes llvmlite values, which have no types.
"""The micro-kernel with rows of the target in the lanes of a vector: a sum of outer products.

Input: a product whose operands are contiguous along k, and workspace of the thread. Output: LLVM code for
`target (+)= left @ right`. `left`, which is small, is copied so that its rows are adjacent for each k. An element of
`right`, a weight as an nn.Linear stores it, is read in place and multiplied with all rows. So no sum is taken across
lanes, and fewer bytes come from the second cache: a dot of 6 x 4 sums reads all of `left` for four columns, and each
column once per six rows; this one reads all of `left` for up to eight columns, and each column once per 64 rows. The
sums are those of the transpose, and are turned when they are stored. Terms are added in the order of k, in blocks of
`SUM_BLOCK` whose sums are added to each other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from prism_explore.codegen.cpu.emit_prefetch import request_period
from prism_explore.codegen.cpu.llvm.builder import FunctionBuilder, Memory
from prism_explore.codegen.cpu.matmul_tiling import SUM_BLOCK, MatmulShape, OuterTiling
from prism_explore.codegen.cpu.turned_operands import RowPasses, pack_by_k, store_turned

UNROLLED_PRODUCTS = 64
"""The most vector products of an iteration of the inner loop: with more, LLVM moves loads up until registers spill."""


def elements_per_iteration(vectors: int, columns: int) -> int:
    """Elements of k per iteration of the inner loop for a block of sums: 4, 2 or 1."""
    return next((n for n in (4, 2) if n * vectors * columns <= UNROLLED_PRODUCTS), 1)


@dataclass(frozen=True, slots=True)
class OuterProduct:
    """One product to emit with rows in the lanes."""

    builder: FunctionBuilder
    shape: MatmulShape
    tiling: OuterTiling
    target: Memory
    left: Memory
    right: Memory
    accumulates: bool
    workspace: Memory
    """Of `tiling.workspace_floats` elements."""

    def emit(self, prefetch: Callable[[Any, int], None]) -> None:
        """Emit the product; `prefetch` requests other statements' tiles, as in `emit_prefetch`."""
        builder, shape = self.builder, self.shape
        pack_by_k(builder, shape, self.left, self._packed, self._width, builder.lanes)
        columns = min(self.tiling.columns, shape.n)
        whole = shape.n // columns * columns
        with builder.loop(0, whole, columns) as n:
            self._emit_panel(n, columns, builder.index_divmod(n, columns)[0], prefetch)
        if whole < shape.n:
            self._emit_panel(whole, shape.n - whole, whole // columns, prefetch)

    @property
    def _width(self) -> int:
        """Rows of `left`, padded to vectors."""
        return -(-self.shape.m // self.builder.lanes) * self.builder.lanes

    @property
    def _packed(self) -> Memory:
        return Memory(self.workspace.pointer)

    def _emit_panel(self, n: Any, columns: int, number: Any, prefetch: Callable[[Any, int], None]) -> None:
        """The sums of some columns with all rows; it is panel `number`."""
        builder, shape, tiling = self.builder, self.shape, self.tiling
        panels = -(-shape.n // tiling.columns)
        height, next_column = builder.lanes * tiling.vectors, builder.index_sum(n, columns)
        line, passes = builder.line_elements(self.right), -(-shape.m // height)
        depth = request_period(line, columns, passes, tiling.line_step)
        RowPasses(
            builder, shape, self.right, number, panels, columns, next_column, height, depth, tiling.cache_level,
            tiling.line_step,
        ).emit(prefetch, lambda m, rows, request: self._emit_block((m, n), rows, columns, depth, request))  # fmt: skip

    def _emit_block(
        self, place: tuple[Any, Any], rows: int, columns: int, depth: int, prefetch: Callable[[Any], None]
    ) -> None:
        """The sums of some rows and columns, whose first ones are `place`; prefetches are issued every `depth` of k."""
        builder, shape, lanes = self.builder, self.shape, self.builder.lanes
        m, n = place
        vectors = -(-rows // lanes)
        zero = builder.constant(0.0, lanes)
        totals = [[builder.variable(zero) for _ in range(vectors)] for _ in range(columns)]
        sums = [[builder.variable(zero) for _ in range(vectors)] for _ in range(columns)]

        def step(k: Any) -> None:
            row = builder.index_sum(builder.index_product(k, self._width), m)
            xs = [builder.load(self._packed, builder.index_sum(row, v * lanes), lanes) for v in range(vectors)]
            for j in range(columns):
                column = builder.index_product(builder.index_sum(n, j), shape.right_n)
                y = builder.splat(builder.load(self.right, builder.index_sum(column, k), 0), lanes)
                for part, x in zip(sums[j], xs, strict=True):
                    builder.set(part, builder.fma(x, y, builder.get(part)))

        def add_terms(first: Any, count: int) -> None:
            """Add the sums of `count` terms from `first` on to the totals."""
            pairs = [pair for both in zip(totals, sums, strict=True) for pair in zip(*both, strict=True)]
            for _, part in pairs:
                builder.set(part, zero)
            whole = count // depth * depth
            if whole:
                unrolled = elements_per_iteration(vectors, columns)
                with builder.loop(0, whole, depth) as at:
                    k = builder.index_sum(first, at)
                    prefetch(k)
                    with builder.loop(0, depth, unrolled) as within:
                        for u in range(unrolled):
                            step(builder.index_sum(k, within, u))
            if whole < count:
                with builder.loop(whole, count) as at:
                    step(builder.index_sum(first, at))
            for total, part in pairs:
                builder.set(total, builder.add(builder.get(total), builder.get(part)))

        whole = shape.k // SUM_BLOCK * SUM_BLOCK
        if whole:
            with builder.loop(0, whole, SUM_BLOCK) as first:
                add_terms(first, SUM_BLOCK)
        if whole < shape.k:
            add_terms(whole, shape.k - whole)
        for v in range(vectors):
            found = [builder.get(total[v]) for total in totals]
            for start in range(0, columns, lanes):
                at = builder.index_sum(m, v * lanes), builder.index_sum(n, start)
                part = found[start : start + lanes]
                store_turned(builder, shape, self.target, part, at, rows - v * lanes, self.accumulates)
