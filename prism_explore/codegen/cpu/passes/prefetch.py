# pyright: basic
# It writes llvmlite values, which have no types.
"""Reading memory while something else is computed.

A loop's body that holds several products, such as attention's, reads one tile for the first product and another for
the second. Rows that are asked for shortly before they are used come too late: memory idles while sums are
finished, maxima taken and exponentials made. So while one product runs, the tile that is read behind it is asked for,
and while the last one runs, the first tile of the next iteration. What is slow between two products, such as a
division or an exponential per number, asks for the first lines of what the second of them would ask for. The requests
are spread evenly over a statement, and may go round several parts of the tile at once: memory serves several rows of
its own side by side faster than one after another. Nothing of it changes what is computed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, prod

from prism_explore.codegen.cpu.llvm.builder import FunctionBuilder, Memory
from prism_explore.codegen.cpu.loop_ir import Apply, Contract, Expression, Map, Nest, Place, Range, Statement, reads
from prism_explore.ir.tensors import BYTES

LINE_BYTES = 64
"""Of a cache line."""
MOST_BYTES = 1 << 18
"""Of a tile that is asked for ahead: it has to stay in L2 until it is used, beside what is used now."""
LINES_BESIDE = 3
"""So many lines are asked for beside one vector of a slow statement, which takes about as long as one line takes to
come; the rest of the time is that of the quick statements around it, which ask for nothing."""
SLOW = frozenset(("div", "exp", "sqrt"))
"""Functions that keep the processor busy for as long as memory needs for a line."""


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


@dataclass(frozen=True, slots=True)
class Request:
    """Some lines of a tile, to be asked for beside a statement."""

    tile: Tile
    first: int
    count: int

    def __str__(self) -> str:
        return f"{self.tile}{f', {self.count} of {self.tile.lines} lines' if self.count < self.tile.lines else ''}"


def requests(nest: Nest, lanes: int) -> tuple[tuple[Request, ...], ...]:
    """For each statement of the body, what is asked for while it runs: each line of a tile beside one statement."""
    found: list[tuple[Request, ...]] = [() for _ in nest.body]
    for position, tiles in enumerate(tiles_ahead(nest)):
        done = [0] * len(tiles)
        for before, domain in _slow_before(nest, position):
            vectors = ceil(prod(r.extent for r in domain) / lanes)
            counts = [min(LINES_BESIDE * vectors, tile.lines // 2 - n) for tile, n in zip(tiles, done, strict=True)]
            found[before] += tuple(r for r in map(Request, tiles, done, counts) if r.count)
            done = [n + count for n, count in zip(done, counts, strict=True)]
        found[position] += tuple(Request(t, n, t.lines - n) for t, n in zip(tiles, done, strict=True))
    return tuple(found)


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


def _slow_before(nest: Nest, position: int) -> Iterator[tuple[int, tuple[Range, ...]]]:
    """The slow statements between a product and the one before it, and their domains; none of a number per row."""
    start = max((p for p in range(position) if isinstance(nest.body[p], Contract)), default=0)
    for p, s in enumerate(nest.body[start:position], start):
        if isinstance(s, Map) and _is_slow(s.value) and s.target.buffer.shape[-1] > 1:
            yield p, s.domain


def _is_slow(e: Expression) -> bool:
    return isinstance(e, Apply) and (e.fn in SLOW or any(map(_is_slow, e.args)))


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


def ask(builder: FunctionBuilder, memory: Memory, request: Request, parts: int, level: int, slot, slots: int) -> None:
    """Prefetch the share of a request that falls to `slot` of so many; `memory` is where its tile begins."""
    tile = request.tile
    rows, _ = tile.shape
    line = LINE_BYTES // BYTES[tile.place.buffer.dtype]
    number, row_lines = prod(extent for extent, _ in rows), tile.row_lines
    parts = parts if number % parts == 0 else 1
    share = -(-request.count // slots)
    for j in range(share):
        at = builder.index_sum(builder.index_product(slot, share), j)
        if share * slots > request.count:
            at = builder.index_min(at, request.count - 1)
        within, part = builder.index_divmod(builder.index_sum(at, request.first), parts)
        row, column = builder.index_divmod(within, row_lines)
        row = builder.index_sum(row, builder.index_product(part, number // parts))
        offset = builder.index_product(column, line)
        for extent, stride in reversed(rows):
            row, index = builder.index_divmod(row, extent)
            offset = builder.index_sum(offset, builder.index_product(index, stride))
        builder.prefetch(memory, offset, level)
