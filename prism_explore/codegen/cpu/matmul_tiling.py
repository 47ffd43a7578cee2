"""Register blocking of a tile product: its extents and strides, and the parameters of the micro-kernels.

stream   rows of `right` are contiguous along n. `k_unroll` of them, `n_vectors` wide, stay in registers while every
row of the target is updated: one load and one store of the target per `k_unroll` products. Suits wide n
and few k, as memory is read in long runs.
dot      columns of `right` are contiguous along k, as an nn.Linear stores its weight. `rows` x `columns` vectors
of partial sums stay in registers and are summed across lanes at the end.
outer    the same operands: rows of the target are in the lanes, and each element of `right` is read for all of them.
tile     the same operands in bfloat16, on a CPU with AMX: tiles of 16 x 16 sums stay in tile registers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from prism_explore.codegen.cpu.loop_ir import Contract

SUM_BLOCK = 128
"""Most terms that a micro-kernel with a sum per lane adds one after another in float32.

The rounding errors of n terms that are added in blocks of b have a variance proportional to n b / 2 + n² / (2 b), and
to n² / 2 in one chain (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., 4.2): for a k of 1024 a chain
errs 2.8 times as much.
"""


@dataclass(frozen=True, slots=True)
class StreamTiling:
    """How a product over rows along n is blocked."""

    k_unroll: int
    """Rows of `right` in registers."""
    n_vectors: int
    """Vectors along n in registers."""
    prefetch_rows: int
    """Prefetch distance in rows of `right`; 0 for no prefetch."""
    cache_level: int
    """The cache that is prefetched into."""

    def __str__(self) -> str:
        width = "1 vector" if self.n_vectors == 1 else f"{self.n_vectors} vectors"
        prefetch = f"; prefetch {self.prefetch_rows} rows ahead into L{self.cache_level}" if self.prefetch_rows else ""
        return f"stream: {self.k_unroll} rows of the right operand, {width} wide, in registers{prefetch}"


@dataclass(frozen=True, slots=True)
class DotTiling:
    """How a product over columns along k is blocked."""

    rows: int
    """Rows of the target per register block."""
    columns: int
    """Columns of `right` per register block."""
    k_vectors: int
    """Vectors along k per step."""
    cache_level: int
    """The cache that the next panel of columns is prefetched into; 0 for no prefetch."""
    is_bf16: bool = False
    """Both operands are bfloat16 and are multiplied in pairs."""
    line_step: int = 1
    """1 to prefetch every line of the panel, 2 every second one."""
    k_block: int = 0
    """Elements along k that all columns are multiplied with before the next; 0 for all of k."""

    def __str__(self) -> str:
        pairs = ", bfloat16 in pairs" if self.is_bf16 else ""
        pairs += f", k in blocks of {self.k_block}" if self.k_block else ""
        lines = "every second line of " if self.line_step == 2 else ""
        panel = f"; prefetch {lines}the next {self.columns} columns into L{self.cache_level}"
        prefetch = panel if self.cache_level else ""
        return f"dot: {self.rows} rows x {self.columns} columns of partial sums in registers{pairs}{prefetch}"


@dataclass(frozen=True, slots=True)
class OuterTiling:
    """How a product over columns along k is blocked with rows of the target in the lanes."""

    vectors: int
    """Vectors of rows per register block."""
    columns: int
    """Columns of `right` per register block."""
    cache_level: int
    """The cache that the next panel of columns is prefetched into; 0 for no prefetch."""
    line_step: int = 1
    """1 to prefetch every line of the panel, 2 every second one."""

    def __str__(self) -> str:
        lines = "every second line of " if self.line_step == 2 else ""
        prefetch = f"; prefetch {lines}the next {self.columns} columns into L{self.cache_level}"
        block = f"outer: {self.vectors} vectors of rows x {self.columns} columns of sums in registers"
        return f"{block}{prefetch if self.cache_level else ''}"

    def workspace_floats(self, shape: MatmulShape) -> int:
        """Workspace of a product in float32 elements: the left operand with its rows padded to vectors of any width."""
        return shape.k * -(-shape.m // 16) * 16


TILE_ROWS, TILE_DEPTH = 16, 32
"""Rows of a tile register, and the bfloat16 elements of a row."""


@dataclass(frozen=True, slots=True)
class TileTiling:
    """How a bfloat16 product over columns along k is blocked in tile registers."""

    row_tiles: int
    """Tiles of rows of the target per block."""
    column_tiles: int
    """Tiles of columns of `right` per block."""
    cache_level: int
    """The cache that the next panel of columns is prefetched into; 0 for no prefetch."""

    def __str__(self) -> str:
        prefetch = f"; prefetch the next panel into L{self.cache_level}" if self.cache_level else ""
        return f"tile: {self.row_tiles} x {self.column_tiles} tiles of sums, bfloat16 in pairs{prefetch}"

    def workspace_floats(self, shape: MatmulShape) -> int:
        """Workspace of a product in float32 elements: the left operand as pairs, and one tile of sums."""
        return shape.k // 2 * -(-shape.m // TILE_ROWS) * TILE_ROWS + TILE_ROWS * TILE_ROWS


Tiling: TypeAlias = DotTiling | StreamTiling | OuterTiling | TileTiling


@dataclass(frozen=True, slots=True)
class MatmulShape:
    """Extents of one tile product, and strides of its operands in elements."""

    m: int
    n: int
    k: int
    target_m: int
    left_m: int
    left_k: int
    right_k: int
    right_n: int

    @property
    def is_dot(self) -> bool:
        """Whether both operands are contiguous along k, and `right` is not along n."""
        along_k = (self.right_k == 1 and self.left_k == 1) or self.k == 1
        return along_k and self.right_n != 1


def merged_k_ranges(c: Contract) -> tuple[tuple[str, int], ...]:
    """The k ranges, adjacent ones merged where both operands are contiguous over them; the last is the inner one."""
    ranges = [(r.name, r.extent) for r in c.k if r.extent > 1] or [(c.k[-1].name, 1)]
    while len(ranges) > 1:
        (outer, count), (inner, extent) = ranges[-2:]
        if any(p.stride(outer) != p.stride(inner) * extent for p in (c.left, c.right)):
            break
        ranges[-2:] = [(inner, count * extent)]
    return tuple(ranges)


def matmul_shape(c: Contract) -> MatmulShape:
    """Extents and strides of a tile product, over its innermost k range."""
    inner, depth = merged_k_ranges(c)[-1]
    return MatmulShape(
        m=c.m.extent,
        n=c.n.extent,
        k=depth,
        target_m=c.target.stride(c.m.name),
        left_m=c.left.stride(c.m.name),
        left_k=c.left.stride(inner),
        right_k=c.right.stride(inner),
        right_n=c.right.stride(c.n.name) if c.n.extent > 1 else 0,
    )


def is_bf16_product(c: Contract) -> bool:
    """Whether both operands are bfloat16 and contiguous along k."""
    shape = matmul_shape(c)
    along_k = shape.left_k == 1 and shape.right_k == 1 and shape.k > 1
    return along_k and c.left.buffer.dtype == "bf16" and c.right.buffer.dtype == "bf16"


def is_outer_product(c: Contract) -> bool:
    """Whether rows of the target can be in the lanes: both operands are float32 and contiguous along k."""
    shape = matmul_shape(c)
    along_k = shape.is_dot and shape.left_k == 1 and shape.right_k == 1
    return along_k and c.left.buffer.dtype == "f32" and c.right.buffer.dtype == "f32"


def is_tile_product(c: Contract) -> bool:
    """Whether tile registers can multiply the operands: bfloat16, whole tiles along k, pairs in order, 16 columns."""
    shape = matmul_shape(c)
    has_tiles = shape.k % TILE_DEPTH == 0 and shape.n >= TILE_ROWS
    return is_bf16_product(c) and shape.is_dot and has_tiles and shape.left_m % 2 == 0


def balanced_blocks(extent: int, limit: int) -> Iterator[tuple[int, int, int]]:
    """Blocks of at most `limit` that differ by at most one (16 by 6: 6 + 5 + 5): runs of (start, size, count)."""
    blocks = -(-extent // limit)
    size, larger = divmod(extent, blocks)
    if larger:
        yield 0, size + 1, larger
    yield larger * (size + 1), size, blocks - larger
