# pyright: basic
# It writes llvmlite values, which have no types.
"""Reading memory while something else is computed.

A loop's body that holds several products, such as attention's, reads one tile for the first product and another for
the second. Rows that are asked for shortly before they are used come too late: memory idles while sums are
finished, maxima taken and exponentials made. So while one product runs, the tile that is read behind it is asked for,
and while the last one runs, the first tile of the next iteration. The requests are spread evenly over the product,
and may go round several parts of the tile at once: memory serves several rows of its own side by side faster
than one after another. Nothing of it changes what is computed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from prism_explore.codegen.loops import Contract, Map, Nest, Place, Range, Statement, reads
from prism_explore.codegen.simd import Function, Memory
from prism_explore.ir.tensors import BYTES

LINE_BYTES = 64
"""Of a cache line."""
MOST_BYTES = 1 << 18
"""Of a tile that is asked for ahead: it has to stay in L2 until it is used, beside what is used now."""


@dataclass(frozen=True, slots=True)
class Tile:
    """A tile of memory that an iteration reads."""

    place: Place
    ranges: tuple[Range, ...]
    """The variables that run over it."""
    later: int
    """How many iterations from now."""

    @property
    def shape(self) -> tuple[tuple[tuple[int, int], ...], int]:
        """Extents and strides of its rows, outermost first, and how many elements of a row lie side by side."""
        dims = sorted((self.place.stride(r.name), r.extent) for r in self.ranges)
        run, rows = 1, list[tuple[int, int]]()
        for stride, extent in dims:
            if not rows and stride == run:
                run *= extent
            elif rows and stride == rows[0][1] * rows[0][0]:
                rows[0] = (rows[0][0] * extent, rows[0][1])
            elif stride:
                rows.insert(0, (extent, stride))
        return tuple(rows), run

    def __str__(self) -> str:
        return f"{self.place}{' of the next iteration' if self.later else ''}"

    @property
    def row_lines(self) -> int:
        """How many cache lines a row spans."""
        return -(-self.shape[1] * BYTES[self.place.buffer.dtype] // LINE_BYTES)

    @property
    def lines(self) -> int:
        """How many cache lines it spans."""
        return prod(extent for extent, _ in self.shape[0]) * self.row_lines


def tiles_ahead(nest: Nest) -> tuple[tuple[Tile, ...], ...]:
    """For each statement of the body, what is asked for while it runs; nothing where there is one product only."""
    carriers = [p for p, s in enumerate(nest.body) if isinstance(s, Contract)]
    found: list[list[Tile]] = [[] for _ in nest.body]
    if nest.loop is None or len(carriers) < 2:
        return tuple(map(tuple, found))
    seen: set[str] = set()
    for position, statement in enumerate(nest.body):
        for place, ranges in _read(statement):
            buffer = place.buffer
            if buffer.root.where == "scratch" or buffer.name in seen or not place.stride(nest.loop.name):
                continue
            seen.add(buffer.name)
            before = [c for c in carriers if c < position]
            own = tuple(r for r in ranges if place.stride(r.name))
            tile = Tile(place, own, 0 if before else 1)
            if tile.lines * LINE_BYTES <= MOST_BYTES:
                found[before[-1] if before else carriers[-1]].append(tile)
    return tuple(map(tuple, found))


def chained(nest: Nest) -> bool:
    """Whether a product of the body reads what the body makes: then memory would idle between its products."""
    made = {s.target.buffer for s in nest.body}
    return any(isinstance(s, Contract) and {s.left.buffer, s.right.buffer} & made for s in nest.body)


def _read(s: Statement) -> Iterator[tuple[Place, tuple[Range, ...]]]:
    if isinstance(s, Contract):
        ranges = (*s.batch, s.m, s.n, *s.k)
        yield s.left, ranges
        yield s.right, ranges
    else:
        for place in reads(s.value):
            yield place, s.domain
        if isinstance(s, Map) and s.adds:
            yield s.target, s.domain


def ask(f: Function, memory: Memory, tile: Tile, parts: int, level: int, slot, slots: int) -> None:
    """Prefetch the share of a tile that falls to `slot` of so many; `memory` is where the tile begins."""
    rows, _ = tile.shape
    line = LINE_BYTES // BYTES[tile.place.buffer.dtype]
    number, row_lines, total = prod(extent for extent, _ in rows), tile.row_lines, tile.lines
    parts = parts if number % parts == 0 else 1
    share = -(-total // slots)
    for j in range(share):
        at = f.sum(f.times(slot, share), j)
        if share * slots > total:
            at = f.least(at, total - 1)
        within, part = f.divided(at, parts)
        row, column = f.divided(within, row_lines)
        row = f.sum(row, f.times(part, number // parts))
        offset = f.times(column, line)
        for extent, stride in reversed(rows):
            row, index = f.divided(row, extent)
            offset = f.sum(offset, f.times(index, stride))
        f.prefetch(memory, offset, level)
