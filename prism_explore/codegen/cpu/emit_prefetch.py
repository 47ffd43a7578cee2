# pyright: basic
# It writes llvmlite values, which have no types.
"""Software prefetch instructions, spread evenly over the code that they run alongside.

Input: which lines (`passes/prefetch.py`, or the next panel of a dot), and at which point of the computation the
code is. Output: `llvm.prefetch` for the lines of that point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

from prism_explore.codegen.cpu.llvm.builder import FunctionBuilder, Memory
from prism_explore.codegen.cpu.matmul_tiling import MatmulShape
from prism_explore.codegen.cpu.passes.prefetch import PrefetchRequest

RUN_LINES = 64
"""Columns of at least this number of cache lines are prefetched one after another, shorter ones in parallel: in a run
of short columns the last one would be requested only when it is read. Keys of 128 elements took 3 % longer."""

Index: TypeAlias = Any
"""An int, or an i64 value of the function that is emitted."""

InterleavedPrefetch: TypeAlias = Callable[[Index, int], None]
"""Emits the prefetches of one slot; takes the slot's number and the number of slots. Called once per slot."""


def no_prefetch(slot: Index, slots: int) -> None:
    """An `InterleavedPrefetch` that emits nothing."""


def prefetch_slot(
    builder: FunctionBuilder,
    memory: Memory,
    request: PrefetchRequest,
    streams: int,
    cache_level: int,
    slot: Index,
    slots: int,
) -> None:
    """Emit the share of a request that falls to one slot.

    Args:
        builder: of the function.
        memory: where the request's tile begins.
        request: the lines of the tile.
        streams: parts of the tile that are requested in turn, where they divide its rows.
        cache_level: 1 or 2.
        slot: the number of this slot.
        slots: how many there are.
    """
    tile = request.tile
    rows, _ = tile.shape
    line = tile.line_elements
    row_count = prod(extent for extent, _ in rows)
    streams = streams if row_count % streams == 0 else 1
    share = -(-request.count // slots)
    for j in range(share):
        at = builder.index_sum(builder.index_product(slot, share), j)
        if share * slots > request.count:
            at = builder.index_min(at, request.count - 1)
        within, stream = builder.index_divmod(builder.index_sum(at, request.first), streams)
        row, column = builder.index_divmod(within, tile.row_lines)
        row = builder.index_sum(row, builder.index_product(stream, row_count // streams))
        offset = builder.index_product(column, line)
        for extent, stride in reversed(rows):
            row, index = builder.index_divmod(row, extent)
            offset = builder.index_sum(offset, builder.index_product(index, stride))
        builder.prefetch(memory, offset, cache_level)


def request_period(line: int, columns: int, passes: int, line_step: int) -> int:
    """Elements along k after which a pass requests lines of the next panel again.

    Args:
        line: elements of a cache line.
        columns: of the panel.
        passes: over the rows of the target, which share the requests.
        line_step: 1 for every line, 2 for every second one.

    Returns:
        A line; where a pass requests one column at most, the distance of two requests.
    """
    return line if columns > passes else line * line_step


@dataclass(frozen=True, slots=True)
class PanelPrefetch:
    """Prefetch of the next panel of columns of a dot, spread evenly over its passes over the rows.

    Long columns that are adjacent in memory are requested as one run, although they are read in parallel. Both made 8
    and 16 rows 4 to 7 % faster, and one row no faster.
    """

    builder: FunctionBuilder
    shape: MatmulShape
    right: Memory
    cache_level: int
    """0 for no prefetch."""
    first_column: Index
    columns: int
    this_pass: Index
    passes: int
    line_step: int = 1
    """1 to request every line, 2 every second one of those that a step requests."""

    @property
    def period(self) -> int:
        """Elements along k that a request is for: an iteration of the kernel is as long, or a multiple of it."""
        if not self.cache_level:
            return 1
        return request_period(self._line, self.columns, self.passes, self.line_step)

    def emit(self, k: Index, offset: int) -> None:
        """Emit the prefetches of the step at `k`, which is `offset` elements after the start of an iteration."""
        if self.cache_level and offset % self.period == 0:
            is_run = self.shape.right_n == self.shape.k and self.shape.k >= RUN_LINES * self._line
            for place in self._in_one_run(k) if is_run else self._in_parallel(k):
                self.builder.prefetch(self.right, place, self.cache_level)

    @property
    def _line(self) -> int:
        """Elements of a cache line."""
        return self.builder.line_elements(self.right)

    @property
    def _share(self) -> int:
        """Columns per pass."""
        return -(-self.columns // self.passes)

    def _in_one_run(self, k: Index) -> Iterator[Index]:
        builder = self.builder
        at = builder.index_sum(builder.index_product(self.this_pass, self.shape.k), k)
        if self.columns % self.passes:
            requested = builder.index_divmod(builder.index_product(at, self.columns), self.passes)[0]
            at = builder.index_product(builder.index_divmod(requested, self._line)[0], self._line)
        else:
            at = builder.index_product(at, self._share)
        for j in range(0, self._share, self.line_step):
            start = builder.index_product(self.first_column, self.shape.right_n)
            yield builder.index_sum(start, at, j * self._line)

    def _in_parallel(self, k: Index) -> Iterator[Index]:
        builder = self.builder
        for j in range(0, self._share, self.line_step):
            first = builder.index_divmod(builder.index_product(self.this_pass, self.columns), self.passes)[0]
            column = builder.index_sum(self.first_column, first, j)
            yield builder.index_sum(builder.index_product(column, self.shape.right_n), k)
