"""Software prefetch planning: which tile each statement of a loop's body requests for a later statement.

Input: a loop nest. Output: per statement of its body, the lines of tiles to prefetch while it runs; `emit_prefetch.py`
emits them. The nest itself is unchanged. Always legal: a prefetch changes no result.

A body with several products, such as attention's, reads one tile for the first product and another for the second. A
prefetch shortly before the use is late, and memory idles during reductions, maxima and exponentials. So each product
requests the tile that is read after it, and the last product the first tile of the next iteration. A slow elementwise
statement between two products, such as a division or an exponential, requests the first lines of what the second
product would request. Requests are spread evenly over a statement, and may alternate between several parts of a tile:
DRAM serves several of its rows in parallel faster than one after another.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, prod

from prism_explore.codegen.cpu.loop_ir import (
    Apply,
    Contract,
    Expression,
    LoopNest,
    Map,
    Place,
    Range,
    Statement,
    places_read,
)
from prism_explore.ir.tensors import BYTES
from prism_explore.targets.cpus import CpuModel

MAX_TILE_BYTES = 1 << 18
"""Larger tiles are not prefetched: a tile has to stay in L2 until it is used, together with the data in use."""
LINES_PER_VECTOR = 3
"""Lines requested per vector of a slow statement. A vector takes about as long as one line; the rest of the time is
that of the fast statements around it, which request nothing."""
SLOW_FUNCTIONS = frozenset(("div", "exp", "sqrt"))
"""Functions that take about as long as memory takes for a line."""


@dataclass(frozen=True, slots=True)
class RequestedTile:
    """A tile of memory that an iteration reads."""

    place: Place
    ranges: tuple[Range, ...]
    """The variables that run over it."""
    iterations_later: int
    """How many iterations from now it is read."""
    line_bytes: int
    """A cache line."""

    @property
    def shape(self) -> tuple[tuple[tuple[int, int], ...], int]:
        """Extents and strides of its rows, outermost first, and the number of contiguous elements of a row."""
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
        return f"{self.place}{' of the next iteration' if self.iterations_later else ''}"

    @property
    def line_elements(self) -> int:
        """How many elements a cache line holds."""
        return self.line_bytes // BYTES[self.place.buffer.dtype]

    @property
    def row_lines(self) -> int:
        """How many cache lines a row spans."""
        return -(-self.shape[1] // self.line_elements)

    @property
    def lines(self) -> int:
        """How many cache lines it spans."""
        return prod(extent for extent, _ in self.shape[0]) * self.row_lines


@dataclass(frozen=True, slots=True)
class PrefetchRequest:
    """Some lines of a tile, to prefetch while a statement runs."""

    tile: RequestedTile
    first: int
    count: int

    def __str__(self) -> str:
        return f"{self.tile}{f', {self.count} of {self.tile.lines} lines' if self.count < self.tile.lines else ''}"


def plan_prefetches(nest: LoopNest, cpu: CpuModel) -> tuple[tuple[PrefetchRequest, ...], ...]:
    """Per statement of the body, what to prefetch while it runs. Each line of a tile is requested once."""
    found: list[tuple[PrefetchRequest, ...]] = [() for _ in nest.body]
    for position, tiles in enumerate(tiles_to_prefetch(nest, cpu.line_bytes)):
        done = [0] * len(tiles)
        for before, domain in _slow_statements_before(nest, position):
            vectors = ceil(prod(r.extent for r in domain) / cpu.lanes)
            counts = [min(LINES_PER_VECTOR * vectors, tile.lines // 2 - n) for tile, n in zip(tiles, done, strict=True)]
            found[before] += tuple(r for r in map(PrefetchRequest, tiles, done, counts) if r.count)
            done = [n + count for n, count in zip(done, counts, strict=True)]
        found[position] += tuple(PrefetchRequest(t, n, t.lines - n) for t, n in zip(tiles, done, strict=True))
    return tuple(found)


def tiles_to_prefetch(nest: LoopNest, line_bytes: int) -> tuple[tuple[RequestedTile, ...], ...]:
    """Per product of the body, the tiles to prefetch while it runs; none where there is one product only."""
    products = [p for p, s in enumerate(nest.body) if isinstance(s, Contract)]
    found: list[list[RequestedTile]] = [[] for _ in nest.body]
    if nest.loop is None or len(products) < 2:
        return tuple(map(tuple, found))
    seen: set[str] = set()
    for position, statement in enumerate(nest.body):
        for place, ranges in _tile_reads(statement):
            buffer = place.buffer
            if buffer.root.where == "scratch" or buffer.name in seen or not place.stride(nest.loop.name):
                continue
            seen.add(buffer.name)
            before = [c for c in products if c < position]
            own = tuple(r for r in ranges if place.stride(r.name))
            tile = RequestedTile(place, own, 0 if before else 1, line_bytes)
            if tile.lines * line_bytes <= MAX_TILE_BYTES:
                found[before[-1] if before else products[-1]].append(tile)
    return tuple(map(tuple, found))


def has_dependent_products(nest: LoopNest) -> bool:
    """Whether a product of the body reads what the body computes: then memory would idle between its products."""
    computed = {s.target.buffer for s in nest.body}
    return any(isinstance(s, Contract) and {s.left.buffer, s.right.buffer} & computed for s in nest.body)


def _slow_statements_before(nest: LoopNest, position: int) -> Iterator[tuple[int, tuple[Range, ...]]]:
    """The slow statements between a product and the one before it, with their domains, but for one element per row."""
    start = max((p for p in range(position) if isinstance(nest.body[p], Contract)), default=0)
    for p, s in enumerate(nest.body[start:position], start):
        if isinstance(s, Map) and _is_slow(s.value) and s.target.buffer.shape[-1] > 1:
            yield p, s.domain


def _is_slow(e: Expression) -> bool:
    return isinstance(e, Apply) and (e.fn in SLOW_FUNCTIONS or any(map(_is_slow, e.args)))


def _tile_reads(s: Statement) -> Iterator[tuple[Place, tuple[Range, ...]]]:
    if isinstance(s, Contract):
        ranges = (*s.batch, s.m, s.n, *s.k)
        yield s.left, ranges
        yield s.right, ranges
    else:
        for place in places_read(s.value):
            yield place, s.domain
        if isinstance(s, Map) and s.accumulates:
            yield s.target, s.domain
