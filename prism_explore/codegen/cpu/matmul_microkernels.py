# pyright: basic
# It writes llvmlite values, which have no types.
"""Products of tiles: two register-blocked micro-kernels and when each is right.

    stream   rows of `right` lie along n. `ku` of them, `nv` vectors wide, sit in registers while every
             row of the target passes by: one load and one store of the target per `ku` products. Wide n
             and few k read memory in long runs.
    dot      columns of `right` lie along k, as an nn.Linear stores its weight. `mr` x `nr` vectors of
             partial sums sit in registers, and are summed across lanes at the end.

Both take any extents: blocks of rows are balanced (16 rows by 6 are 6 + 5 + 5), ragged vectors are loads
and stores of exactly the lanes that are left. `ahead` prefetches what is read next: `ahead` rows of `right`
further down for stream, the next panel of `nr` columns for dot, evenly over the passes of the rows. Long columns
that lie one behind the other are asked for as one run, though they are read side by side. Both together took 4 to 7 %
off 8 and 16 rows, and nothing off one.

A third, with a block of the target in registers while k runs over rows along n, was measured and lost to
stream everywhere (one row: 2394 against 1190 us; 16 rows: 3931 against 2859): rows of a wide matrix lie
pages apart, and a narrow tile reads little of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

from llvmlite import ir

from prism_explore.codegen.cpu.llvm.builder import I32, FunctionBuilder, Memory, vector_type
from prism_explore.codegen.cpu.loop_ir import Contract
from prism_explore.codegen.cpu.passes.prefetch import LINE_BYTES
from prism_explore.ir.tensors import BYTES

STREAM_ROWS = 16
"""Up to this many rows of the target are written out in one pass."""
RUN_LINES = 64
"""Columns of so many cache lines are prefetched as one run. Of shorter ones the last would be asked for when it is
read: keys of 128 numbers took 3 % longer."""
KEPT_FACTORS = 16
"""Up to this many numbers of `left` are kept in registers over a pass."""


@dataclass(frozen=True, slots=True)
class Stream:
    """How a product over rows along n is blocked."""

    ku: int
    """Rows of `right` in registers."""
    nv: int
    """Vectors along n in registers."""
    ahead: int
    """Rows of `right` that prefetching is ahead; 0 for none."""
    level: int
    """The cache that is prefetched into."""

    def __str__(self) -> str:
        width = "1 vector" if self.nv == 1 else f"{self.nv} vectors"
        text = f"stream: {self.ku} rows of the right operand, {width} wide, in registers"
        return text + (f"; prefetch {self.ahead} rows ahead into L{self.level}" if self.ahead else "")


@dataclass(frozen=True, slots=True)
class Dot:
    """How a product over columns along k is blocked."""

    mr: int
    """Rows of the target."""
    nr: int
    """Columns of `right`."""
    kv: int
    """Vectors along k per step."""
    level: int
    """The cache that the next panel is prefetched into; 0 for none."""
    pairs: bool = False
    """Both operands are bfloat16, and are multiplied in pairs."""

    def __str__(self) -> str:
        text = f"dot: {self.mr} rows x {self.nr} columns of partial sums in registers"
        text += ", bfloat16 in pairs" if self.pairs else ""
        return text + (f"; prefetch the next {self.nr} columns into L{self.level}" if self.level else "")


@dataclass(frozen=True, slots=True)
class Extents:
    """Extents and strides (in elements) of one product."""

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
        """Whether both operands lie along k, and n does not."""
        along_k = (self.right_k == 1 and self.left_k == 1) or self.k == 1
        return along_k and self.right_n != 1


def joined(c: Contract) -> tuple[tuple[str, int], ...]:
    """The k ranges, with neighbours that run on in memory joined into one; the last is the inner one."""
    ranges = [(r.name, r.extent) for r in c.k if r.extent > 1] or [(c.k[-1].name, 1)]
    while len(ranges) > 1:
        (outer, times), (inner, extent) = ranges[-2:]
        if any(p.stride(outer) != p.stride(inner) * extent for p in (c.left, c.right)):
            break
        ranges[-2:] = [(inner, times * extent)]
    return tuple(ranges)


def extents(c: Contract) -> Extents:
    """Extents and strides of a product of tiles."""
    inner, depth = joined(c)[-1]
    return Extents(
        m=c.m.extent,
        n=c.n.extent,
        k=depth,
        target_m=c.target.stride(c.m.name),
        left_m=c.left.stride(c.m.name),
        left_k=c.left.stride(inner),
        right_k=c.right.stride(inner),
        right_n=c.right.stride(c.n.name) if c.n.extent > 1 else 0,
    )


def balanced(extent: int, limit: int) -> Iterator[tuple[int, int, int]]:
    """Blocks of at most `limit`, as even as can be: runs of (start, size, count)."""
    pieces = -(-extent // limit)
    size, larger = divmod(extent, pieces)
    if larger:
        yield 0, size + 1, larger
    yield larger * (size + 1), size, pieces - larger


def strips(
    builder: FunctionBuilder,
    extent: int,
    vectors: int,
    body: Callable[[ir.Value, int, int], None],
    width: int | None = None,
) -> None:
    """Run `body(start, lanes, count)` over an extent: `count` vectors at a time, then one, then the tail.

    `width` is how many elements a vector has where that is not the number of lanes.
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


Meanwhile: TypeAlias = Callable[[object, int], None]
"""What is done beside the arithmetic, in slot s of n: called once for each of them, as the product runs."""


Index: TypeAlias = Any
"""An element's place: a number or a value of the function that is written."""

Ask: TypeAlias = Callable[[Index, int], None]
"""Asks for what is read next, at a k that lies so many elements behind where an iteration began."""


def nothing(slot, slots: int) -> None:
    """Nothing beside the arithmetic."""


@dataclass(frozen=True, slots=True)
class Rider:
    """A sum over k of something of `right` alone, for every n, that a `Dot` of one block of rows takes along."""

    value: Callable[[Any], Any]
    """Of a vector of `right`."""
    put: Callable[[Any, Any], None]
    """Takes the first n and the sums from there on."""


def emit_product(
    builder: FunctionBuilder,
    e: Extents,
    tiling: Dot | Stream,
    target,
    left,
    right,
    adds: bool,
    meanwhile: Meanwhile = nothing,
    rider: Rider | None = None,
) -> None:
    """`target (+)= left @ right`, from pointers to the first element of each.

    A stream always adds; the caller has set the target to zero.
    """
    if isinstance(tiling, Dot):
        _dot(builder, e, tiling, target, left, right, adds, meanwhile, rider)
    else:
        assert adds, "a stream adds into its target"
        assert rider is None, "a stream takes no sum along"
        _stream(builder, e, tiling, target, left, right, meanwhile)


# ---------------------------------------------------------------- stream
def _stream(builder: FunctionBuilder, e: Extents, tiling: Stream, target, left, right, meanwhile: Meanwhile) -> None:
    depth = min(tiling.ku, e.k)
    for start, stop, step in ((0, e.k - e.k % depth, depth), (e.k - e.k % depth, e.k, e.k % depth)):
        if start < stop:
            with builder.loop(start, stop, step) as k:
                _sweep(builder, e, tiling, step, k, target, left, right, nothing if start else meanwhile)


def _sweep(
    builder: FunctionBuilder, e: Extents, tiling: Stream, depth: int, k, target, left, right, meanwhile: Meanwhile
) -> None:
    """All of the target, `depth` rows of `right`."""
    slots = -(-e.k // depth), -(-e.n // builder.lanes)
    at_row = builder.index_product(builder.index_divmod(k, depth)[0], slots[1])

    def factor(m, j: int):
        return builder.load(
            left,
            builder.index_sum(
                builder.index_product(m, e.left_m), builder.index_product(builder.index_sum(k, j), e.left_k)
            ),
            0,
        )

    keeps = e.m * depth <= KEPT_FACTORS
    kept = [[builder.splat(factor(m, j), builder.lanes) for j in range(depth)] for m in range(e.m)] if keeps else []

    def row(m, at, lanes: int, count: int, rows: list) -> None:
        place = builder.index_sum(builder.index_product(m, e.target_m), at)
        totals = [builder.load(target, builder.index_sum(place, v * lanes), lanes) for v in range(count)]
        # With few rows to fill the pipelines, two chains of additions hide the latency of one.
        second: list = [None] * count
        for j in range(depth):
            if kept and isinstance(m, int):
                x = kept[m][j] if lanes == builder.lanes else builder.splat(factor(m, j), lanes)
            else:
                x = builder.splat(factor(m, j), lanes)
            for v in range(count):
                if j % 2 and e.m <= 2:
                    second[v] = builder.fma(x, rows[j][v], second[v]) if second[v] else builder.mul(x, rows[j][v])
                else:
                    totals[v] = builder.fma(x, rows[j][v], totals[v])
        for v in range(count):
            total = builder.add(totals[v], second[v]) if second[v] is not None else totals[v]
            builder.store(total, target, builder.index_sum(place, v * lanes))

    def body(at, lanes: int, count: int) -> None:
        def line(j: int, v: int):
            return builder.index_sum(builder.index_product(builder.index_sum(k, j), e.right_k), at, v * lanes)

        for v in range(count):
            meanwhile(builder.index_sum(at_row, builder.index_divmod(at, builder.lanes)[0], v), prod(slots))
        rows = [[builder.load(right, line(j, v), lanes) for v in range(count)] for j in range(depth)]
        if tiling.ahead:
            for j in range(depth):
                for v in range(count):
                    if v * lanes % 16 == 0:
                        builder.prefetch(right, line(j + tiling.ahead, v), tiling.level)
        if e.m <= STREAM_ROWS:
            for m in range(e.m):
                row(m, at, lanes, count, rows)
            return
        for start, size, times in balanced(e.m, STREAM_ROWS // 2):
            with builder.loop(0, times) as block:
                for m in range(size):
                    row(builder.index_sum(builder.index_product(block, size), start + m), at, lanes, count, rows)

    strips(builder, e.n, tiling.nv, body)


# ---------------------------------------------------------------- dot
def _dot(
    builder: FunctionBuilder,
    e: Extents,
    tiling: Dot,
    target,
    left,
    right,
    adds: bool,
    meanwhile: Meanwhile,
    rider: Rider | None,
) -> None:
    columns = min(tiling.nr, e.n)
    rest = e.n % columns
    for start, stop, width in ((0, e.n - rest, columns), (e.n - rest, e.n, rest)):
        if start >= stop:
            continue
        with builder.loop(start, stop, width) as n:
            blocks = list(balanced(e.m, tiling.mr))
            pieces = sum(times for _, _, times in blocks)
            step = 2 * builder.lanes if tiling.pairs else builder.lanes
            slots = -(-e.n // width) * pieces * -(-e.k // step)
            done = 0
            for first, size, times in blocks:
                with builder.loop(0, times) as block:
                    m = builder.index_sum(builder.index_product(block, size), first)
                    turn = builder.index_sum(block, done)
                    ask = asking(builder, e, tiling, right, builder.index_sum(n, width), width, turn, pieces)
                    turns = builder.index_sum(builder.index_product(builder.index_divmod(n, width)[0], pieces), turn)

                    def beside(k, turns=turns, slots=slots, step=step, then=nothing if start else meanwhile):
                        then(
                            builder.index_sum(
                                builder.index_product(turns, -(-e.k // step)), builder.index_divmod(k, step)[0]
                            ),
                            slots,
                        )

                    _dots(builder, e, tiling, target, left, right, adds, m, size, n, width, ask, beside, rider)
                done += times


def asking(
    builder: FunctionBuilder, e: Extents, tiling: Dot, right: Memory, start, width: int, turn, pieces: int
) -> Ask:
    """How `width` columns from `start` on are prefetched, evenly over all passes of the rows; `turn` is the pass."""
    line = LINE_BYTES // BYTES[right.dtype]
    share = -(-width // pieces)

    def run(k) -> Iterator[Index]:
        at = builder.index_sum(builder.index_product(turn, e.k), k)
        if width % pieces:
            so_far = builder.index_divmod(builder.index_product(at, width), pieces)[0]
            at = builder.index_product(builder.index_divmod(so_far, line)[0], line)
        else:
            at = builder.index_product(at, share)
        for j in range(share):
            yield builder.index_sum(builder.index_product(start, e.right_n), at, j * line)

    def side_by_side(k) -> Iterator[Index]:
        for j in range(share):
            column = builder.index_sum(start, builder.index_divmod(builder.index_product(turn, width), pieces)[0], j)
            yield builder.index_sum(builder.index_product(column, e.right_n), k)

    places = run if e.right_n == e.k and e.k >= RUN_LINES * line else side_by_side

    def ask(k, past: int) -> None:
        if tiling.level and past % line == 0:
            for place in places(k):
                builder.prefetch(right, place, tiling.level)

    return ask


def _dots(builder, e, tiling, target, left, right, adds, m, size, n, width, ask: Ask, beside, rider) -> None:
    """`size` x `width` sums over all of k; what is read next is asked for meanwhile."""
    totals = [[builder.variable(builder.constant(0.0, builder.lanes)) for _ in range(width)] for _ in range(size)]
    riding = [builder.variable(builder.constant(0.0, builder.lanes)) for _ in range(width if rider else 0)]

    def operand(memory: Memory, at, lanes: int):
        return (
            builder.load_bf16_pairs(memory, at, lanes)
            if tiling.pairs
            else _widened(builder, builder.load(memory, at, lanes))
        )

    def step(k, lanes: int, count: int) -> None:
        for u in range(count):
            at = builder.index_sum(k, u * lanes)
            beside(at)
            ask(at, u * lanes)
            column = [
                operand(right, builder.index_sum(builder.index_product(builder.index_sum(n, j), e.right_n), at), lanes)
                for j in range(width)
            ]
            for total, x in zip(riding, column, strict=False):
                builder.set(total, builder.add(builder.get(total), rider.value(x)))
            for i in range(size):
                x = operand(
                    left, builder.index_sum(builder.index_product(builder.index_sum(m, i), e.left_m), at), lanes
                )
                for j in range(width):
                    total = builder.get(totals[i][j])
                    added = (
                        builder.add_bf16_dot(total, x, column[j]) if tiling.pairs else builder.fma(x, column[j], total)
                    )
                    builder.set(totals[i][j], added)

    strips(builder, e.k, tiling.kv, step, 2 * builder.lanes if tiling.pairs else None)
    for start in range(0, len(riding), builder.lanes):
        rider.put(
            builder.index_sum(n, start),
            builder.reduce_sums([builder.get(total) for total in riding[start : start + builder.lanes]]),
        )
    flat = [(i, j) for i in range(size) for j in range(width)]
    for start in range(0, len(flat), builder.lanes):
        chunk = flat[start : start + builder.lanes]
        sums = builder.reduce_sums([builder.get(totals[i][j]) for i, j in chunk])
        for i in dict.fromkeys(i for i, _ in chunk):
            lanes = [lane for lane, (row, _) in enumerate(chunk) if row == i]
            place = builder.index_sum(builder.index_product(builder.index_sum(m, i), e.target_m), n, chunk[lanes[0]][1])
            part = builder.select_lanes(sums, lanes)
            if adds:
                part = builder.add(part, builder.load(target, place, len(lanes)))
            builder.store(part, target, place)


def _widened(builder: FunctionBuilder, x):
    """A shorter vector with zeros behind it."""
    if x.type.count == builder.lanes:
        return x
    zero = ir.Constant(vector_type(x.type.count), [0.0] * x.type.count)
    lanes = [min(lane, x.type.count) for lane in range(builder.lanes)]
    return builder.llvm.shuffle_vector(x, zero, ir.Constant(ir.VectorType(I32, builder.lanes), lanes))
