# pyright: basic
# It writes llvmlite values, which have no types.
"""Loops to machine code: every nest becomes one function that a team of threads runs.

The blocks of a nest are numbered, and thread t of n runs blocks t*P/n to (t+1)*P/n. Elementwise statements and
sums choose the variable along which most operands are contiguous and run along it in full vectors; products
go to `contract.py`. Nothing here looks at what a kernel computes: what is fast is said by the loops
and by the schedule.

Schedule choices are data (`schedule_space`): name, values with the best guess first, one sentence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations, zip_longest
from math import inf, prod
from typing import TypeAlias

from prism_explore.codegen.cpu.llvm.builder import FunctionBuilder, Memory, module_text, new_module
from prism_explore.codegen.cpu.llvm.jit import CpuModel, JitModule, compile_to_assembly
from prism_explore.codegen.cpu.llvm.vector_math import apply, power
from prism_explore.codegen.cpu.loop_ir import (
    ONE,
    Apply,
    Buffer,
    Constant,
    Contract,
    Expression,
    Fold,
    Join,
    LoopProgram,
    Map,
    Nest,
    Place,
    Range,
    Read,
    Statement,
    Within,
    places,
    reads,
    show_loops,
    withins,
)
from prism_explore.codegen.cpu.matmul_microkernels import (
    Dot,
    Meanwhile,
    Rider,
    Stream,
    emit_product,
    extents,
    joined,
    strips,
)
from prism_explore.codegen.cpu.passes.bf16_operands import are_pairs, shortened
from prism_explore.codegen.cpu.passes.fuse_column_sums import Ride, may_ride, rides
from prism_explore.codegen.cpu.passes.prefetch import LINE_BYTES, Request, Tile, ask, chained, requests, tiles_ahead
from prism_explore.support.caches import memoize

Schedule: TypeAlias = tuple[tuple[str, int], ...]

MAX_THREADS = 256
"""More than the cores is allowed, and slow; this bounds the scratch."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One number that a tuner may choose."""

    name: str
    values: tuple[int, ...]
    """The best guess first."""
    says: str


def schedule_space(program: LoopProgram, host: CpuModel) -> tuple[Choice, ...]:
    """What can be chosen for a program, beside its sizes; products of one style share their choices."""
    products = sorted(products_of(program), key=_work, reverse=True)
    dot = next((extents(c) for c in products if extents(c).is_dot), None)
    streams = any(not extents(c).is_dot for c in products)
    cores = tuple(dict.fromkeys((host.threads, max(1, host.threads // 2), 1)))
    space = [
        Choice("threads", cores, f"how many threads share the blocks, 1 to {MAX_THREADS}"),
        Choice("hoist", (1, 0), "do once per thread what does not depend on the inner grid dims"),
    ]
    if products:
        says = "copy the left operand of a product into tile order, once per thread"
        space.append(Choice("pack", (1, 0), says))
        space.append(Choice("level", (2, 1), "the cache that is prefetched into"))
    if dot:
        mr, nr = _dot_blocks(dot.m, host.lanes)
        space += (
            Choice("mr", _first(mr, (1, 2, 4, 6, 8)), "dot: rows of the target per register block"),
            Choice("nr", _first(nr, (2, 4, 8)), "dot: columns of the right operand per register block"),
            Choice("kv", (1, 2), "dot: vectors along k per step"),
            Choice("panel", (1, 0), "dot: prefetch the next panel of columns"),
        )
    if host.has_bf16_dot and any(map(are_pairs, products_of(shortened(program)))):
        says = "dot: a left operand of a bfloat16 product is rounded to bfloat16, and multiplied in pairs"
        space.append(Choice("short", (1, 0), says))
    if any(rides(n.body) for n in program.nests):
        says = "dot: a sum over the right operand is made by the product that reads it, where all rows are one block"
        space.append(Choice("ride", (1, 0), says))
    if streams:
        space += (
            Choice("ku", (8, 4, 16), "stream: rows of the right operand in registers"),
            Choice("nv", (1, 2), "stream: vectors along n in registers"),
            Choice("ahead", (8, 16, 0, 32), "stream: prefetch so many rows of the right operand ahead"),
        )
    if any(chained(n) and any(tiles_ahead(n)) for n in program.nests):
        says = "while a product runs, prefetch what the next one reads: so many parts of it at a time, 0 for not at all"
        space.append(Choice("meanwhile", (4, 8, 2, 1, 0), says))
    return tuple(space)


def products_of(program: LoopProgram) -> list[Contract]:
    """All products of tiles."""
    return [s for n in program.nests for s in n.statements if isinstance(s, Contract)]


def _first(best: int, others: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(dict.fromkeys((best, *others)))


def _work(c: Contract) -> int:
    return prod(r.extent for r in (*c.batch, c.m, c.n, *c.k))


def _dot_blocks(m: int, lanes: int) -> tuple[int, int]:
    """As many sums as registers hold: 32 registers with 16 lanes, taken to be 16 with fewer."""
    if m <= 2:
        return m, 8
    if lanes < 16:
        return min(m, 4), 2
    return (m, 4) if m <= 8 else (6, 4)


def complete(program: LoopProgram, host: CpuModel, given: Mapping[str, int]) -> Schedule:
    """A value for every choice: what is given, else the best guess.

    Raises:
        ValueError: a name that is no choice here, or a value that is none of its values.
    """
    space = {c.name: c for c in schedule_space(program, host)}
    for name, value in given.items():
        if name not in space:
            raise ValueError(f"schedule {name}={value}: this kernel's choices are {', '.join(space)}")
        if name == "threads" and 1 <= value <= MAX_THREADS:
            continue
        if value not in space[name].values:
            offered = ", ".join(map(str, space[name].values))
            raise ValueError(f"schedule {name}={value}: {space[name].says}; the values are {offered}")
    return tuple((c.name, given.get(c.name, c.values[0])) for c in space.values())


def tiling(c: Contract, schedule: Schedule) -> Dot | Stream:
    """How one product is blocked under a schedule; numbers are cut to the extents that there are."""
    number = dict(schedule)
    e = extents(c)
    if e.is_dot:
        level = number["level"] * number["panel"]
        return Dot(
            min(number["mr"], e.m),
            min(number["nr"], e.n),
            number["kv"],
            level,
            bool(number.get("short")) and are_pairs(c),
        )
    return Stream(min(number["ku"], e.k), number["nv"], number["ahead"], number["level"])


def _riding(section: tuple[Statement, ...], schedule: Schedule) -> dict[int, Ride]:
    """The sums that products of a section take along under a schedule, by the product's position."""
    found = rides(section) if dict(schedule).get("ride") else {}
    products = ((at, c, ride) for at, ride in found.items() if isinstance(c := section[at], Contract))
    return {at: ride for at, c, ride in products if may_ride(c, tiling(c, schedule))}


def show_kernel(program: LoopProgram, schedule: Schedule, lanes: int) -> str:
    """The loops with what the schedule makes of them."""
    parts = dict(schedule).get("meanwhile", 0)
    nests = program.nests if parts else ()
    asked = {s: rs for n in nests for s, rs in zip(n.body, requests(n, lanes), strict=True) if rs}
    riding = {n.body[at]: ride for n in program.nests for at, ride in _riding(n.body, schedule).items()}

    def remark(s: Statement) -> str:
        says = [str(tiling(s, schedule))] if isinstance(s, Contract) else []
        says += [f"beside it {riding[s].fold.target}"] if s in riding else []
        return "; ".join((*says, *(f"meanwhile prefetch {request}" for request in asked.get(s, ()))))

    chosen = ", ".join(f"{k}={v}" for k, v in schedule)
    return f"# float32 in {lanes} lanes; {chosen}\n{show_loops(program, remark)}"


# ---------------------------------------------------------------- compiled
@dataclass(frozen=True, slots=True)
class Compiled:
    """Machine code of a program: one function per nest, and the scratch that each thread needs."""

    machine: JitModule
    entries: tuple[int, ...]
    """Addresses, in order."""
    scratch_bytes: int
    """Per thread."""


@memoize(256)
def compile_program(program: LoopProgram, schedule: Schedule, host: CpuModel) -> Compiled:
    """Machine code of a program under a complete schedule. The same question is compiled once."""
    text, scratch = _written(program, schedule, host)
    machine = JitModule(text, host)
    entries = tuple(machine.address(f"nest{n}") for n in range(len(program.nests)))
    return Compiled(machine, entries, 4 * scratch)


def cross_compiled(program: LoopProgram, schedule: Schedule, there: CpuModel, triple: str) -> str:
    """The assembly of a program for a machine that need not be here, such as `aarch64-unknown-linux-gnu`."""
    return compile_to_assembly(_written(program, schedule, there, triple)[0], there, triple)


def _written(program: LoopProgram, schedule: Schedule, host: CpuModel, triple: str = "") -> tuple[str, int]:
    """LLVM text with one function per nest, and how many elements of scratch a thread needs."""
    module = new_module(triple)
    offsets = {nest.name: _scratch_layout(nest.scratch) for nest in program.nests}
    largest = max(size for _, size in offsets.values())
    shared = (*program.inputs, *program.temporaries, program.output)
    for number, nest in enumerate(program.nests):
        builder = FunctionBuilder(module, f"nest{number}", len(shared) + 1, host.lanes)
        pointers = {b: Memory(a, b.dtype) for b, a in zip(shared, builder.arguments, strict=False)}
        mine = builder.advance(Memory(builder.arguments[-1]), builder.index_product(builder.thread, largest))
        starts, _ = offsets[nest.name]
        pointers |= {b: Memory(builder.advance(mine, starts[b]).pointer, b.dtype) for b in nest.scratch}
        pointers |= {b: builder.advance(pointers[b.root], b.start) for b in program.views}
        _Emitter(builder, pointers, schedule).nest(nest)
        builder.finish()
    return module_text(module, host.lanes), largest


def _scratch_layout(buffers: Iterable[Buffer]) -> tuple[dict[Buffer, int], int]:
    """Where each tile starts in a thread's scratch, and how much there is; in float32, by cache lines."""
    starts: dict[Buffer, int] = {}
    total = 0
    for b in buffers:
        starts[b] = total
        total += -(-b.bytes // LINE_BYTES) * LINE_BYTES // 4
    return starts, max(16, total)


class _Emitter:
    """Writes one nest."""

    def __init__(self, builder: FunctionBuilder, pointers: Mapping[Buffer, Memory], schedule: Schedule) -> None:
        self.builder, self.pointers, self.schedule = builder, pointers, schedule
        self.at: dict[str, object] = {}
        """The loop variables in scope."""
        self.loop = ""
        self.parts = dict(schedule).get("meanwhile", 0)

    def nest(self, nest: Nest) -> None:
        """All blocks of this thread."""
        builder = self.builder
        blocks = nest.blocks
        first = builder.llvm.udiv(builder.llvm.mul(builder.thread, builder.index(blocks)), builder.threads)
        last = builder.llvm.udiv(
            builder.llvm.mul(builder.llvm.add(builder.thread, builder.index(1)), builder.index(blocks)), builder.threads
        )
        with builder.loop(first, last) as block:
            rest = block
            for r in reversed(nest.grid):
                rest, self.at[r.name] = builder.index_divmod(rest, r.extent)
            if nest.once:
                inner = prod(r.extent for r in nest.grid[nest.outer :])
                starts = builder.llvm.icmp_signed("==", block, first)
                turns = builder.llvm.icmp_signed("==", builder.index_divmod(block, inner)[1], builder.index(0))
                with builder.llvm.if_then(builder.llvm.or_(starts, turns)):
                    self._all(nest.once)
            self._all(nest.before)
            if nest.loop and nest.body:
                with builder.loop(0, nest.loop.extent) as i:
                    self.at[nest.loop.name], self.loop = i, nest.loop.name
                    ahead = requests(nest, builder.lanes) if self.parts else ()
                    if nest.needed is None:
                        self._all(nest.body, ahead)
                    else:
                        with builder.llvm.if_then(
                            builder.index_in_range(self._moved(nest.needed), nest.needed.low, nest.needed.high)
                        ):
                            self._all(nest.body, ahead)
                    del self.at[nest.loop.name]
            else:
                self._all(nest.body)
            self._all(nest.after)

    def _all(self, statements: tuple[Statement, ...], ahead: tuple[tuple[Request, ...], ...] = ()) -> None:
        riding = _riding(statements, self.schedule)
        carried = {ride.position for ride in riding.values()}
        for position, (s, asked) in enumerate(zip_longest(statements, ahead, fillvalue=())):
            match s:
                case Map():
                    self._map(s, asked)
                case Fold():
                    if position not in carried:
                        self._fold(s)
                case Contract():
                    self._contract(s, asked, riding.get(position))

    # ------------------------------------------------------------ places and expressions
    def _offset(self, place: Place, steps: Mapping[str, object] | None = None):
        where = {**self.at, **(steps or {})}
        moved = (self.builder.index_product(where[v], place.stride(v)) for v in place.variables if v in where)
        return self.builder.index_sum(place.offset, *moved)

    def _moved(self, band: Within, steps: Mapping[str, object] | None = None):
        """What a band compares with its bounds."""
        where = {**self.at, **(steps or {})}
        return self.builder.index_sum(
            band.stride(ONE),
            *(self.builder.index_product(where[v], band.stride(v)) for v in band.variables if v in where),
        )

    def _value(self, e: Expression, along: str | None, at, lanes: int, known: dict[Expression, object]):
        """An expression for `lanes` values of the variable `along` from `at` on."""
        builder = self.builder
        if e in known:
            return builder.splat(known[e], lanes)
        match e:
            case Read(place):
                steps = {along: at} if along else {}
                stride = place.stride(along) if along else 1
                return builder.load(self.pointers[place.buffer], self._offset(place, steps), lanes, stride)
            case Constant(value):
                return builder.constant(float(value), lanes)
            case Within(_, low, high):
                first = self._moved(e, {along: at} if along else {})
                return builder.in_range(first, e.stride(along) if along else 0, low, high, lanes)
            case Apply("pow", (x, Constant(exponent))):
                return power(builder, self._value(x, along, at, lanes, known), exponent)
            case Apply(fn, args):
                return apply(builder, fn, [self._value(a, along, at, lanes, known) for a in args])

    def _fixed(self, e: Expression, variables: frozenset[str], known: dict[Expression, object]) -> None:
        """Compute, once and as scalars, the parts of an expression that none of `variables` moves."""
        if isinstance(e, Constant) or e in known:
            return
        if not any(v in variables for p in (*reads(e), *withins(e)) for v in p.variables):
            known[e] = self._value(e, None, None, 0, known)
        elif isinstance(e, Apply):
            for a in e.args:
                self._fixed(a, variables, known)

    # ------------------------------------------------------------ elementwise and sums
    def _map(self, s: Map, asked: tuple[Request, ...] = ()) -> None:
        builder = self.builder
        meanwhile = self._asking(asked)
        target, pointer = s.target, self.pointers[s.target.buffer]
        ranges = _merged(s.domain, (*places(s), *withins(s.value)))
        along = _vector_variable(ranges, places(s), (), builder.lanes)
        vectors = -(-along.extent // builder.lanes) if along else 1
        turn, turns = 0, 1
        with ExitStack() as stack:
            for r in ranges:
                if r != along:
                    self.at[r.name] = stack.enter_context(builder.loop(0, r.extent))
                    turn, turns = (
                        builder.index_sum(builder.index_product(turn, r.extent), self.at[r.name]),
                        turns * r.extent,
                    )
            known: dict[Expression, object] = {}
            name = along.name if along else None
            self._fixed(s.value, frozenset((name,) if name else ()), known)

            def body(at, lanes: int, count: int) -> None:
                for u in range(count):
                    here = builder.index_sum(at, u * lanes) if name else at
                    meanwhile(
                        builder.index_sum(
                            builder.index_product(turn, vectors), builder.index_divmod(here, builder.lanes)[0]
                        ),
                        turns * vectors,
                    )
                    place = self._offset(target, {name: here} if name else None)
                    stride = target.stride(name) if name else 1
                    value = self._value(s.value, name, here, lanes, known)
                    if s.adds:
                        value = self._joined(
                            s.join, builder.splat(value, lanes), builder.load(pointer, place, lanes, stride)
                        )
                    builder.store(builder.splat(value, lanes), pointer, place, stride)

            if along:
                strips(builder, along.extent, 4, body)
            else:
                body(0, 0, 1)
        self._forget(ranges)

    def _fold(self, s: Fold) -> None:
        builder = self.builder
        sides = places(s)
        ranges = _merged(s.domain, (*sides, *withins(s.value)))
        along = _vector_variable(ranges, sides, s.along, builder.lanes)
        assert along is not None, "a sum runs over something"
        kept = [r for r in ranges if r.name not in s.along and r != along]
        summed = [r for r in ranges if r.name in s.along and r != along]
        with ExitStack() as stack:
            for r in kept:
                self.at[r.name] = stack.enter_context(builder.loop(0, r.extent))
            if along.name in s.along:
                self._fold_across(s, along, summed)
            else:
                self._fold_beside(s, along, summed)
        self._forget(ranges)

    def _fold_across(self, s: Fold, along: Range, summed: list[Range]) -> None:
        """Fold along the vector: four vectors of partial results, joined across lanes at the end."""
        builder = self.builder
        count = min(4, max(1, along.extent // builder.lanes))
        tail = along.extent % builder.lanes
        start = self._start(s.join)
        totals = (
            [builder.variable(builder.constant(start, builder.lanes)) for _ in range(count)]
            if along.extent >= builder.lanes
            else []
        )
        rest = builder.variable(builder.constant(start, tail)) if tail else None
        with ExitStack() as stack:
            for r in summed:
                self.at[r.name] = stack.enter_context(builder.loop(0, r.extent))

            def body(at, lanes: int, vectors: int) -> None:
                for u in range(vectors):
                    slot = totals[u] if lanes == builder.lanes else rest
                    value = self._value(s.value, along.name, builder.index_sum(at, u * lanes), lanes, {})
                    builder.set(slot, self._joined(s.join, builder.get(slot), builder.splat(value, lanes)))

            strips(builder, along.extent, count, body)
        values = [builder.get(t) for t in totals]
        while len(values) > 1:
            pairs = zip(values[::2], values[1::2], strict=False)
            values = [self._joined(s.join, a, b) for a, b in pairs] + values[len(values) // 2 * 2 :]
        across = builder.reduce_sum if s.join == "sum" else builder.reduce_max
        sums = [across(v) for v in (*values, *([builder.get(rest)] if rest is not None else []))]
        total = sums[0] if len(sums) == 1 else self._joined(s.join, sums[0], sums[1])
        self._put(s, self._offset(s.target), total, 0, 1)

    def _fold_beside(self, s: Fold, along: Range, summed: list[Range]) -> None:
        """Fold into a vector: each lane is a result of its own."""
        builder = self.builder

        def body(at, lanes: int, count: int) -> None:
            totals = [builder.variable(builder.constant(self._start(s.join), lanes)) for _ in range(count)]
            with ExitStack() as stack:
                for r in summed:
                    self.at[r.name] = stack.enter_context(builder.loop(0, r.extent))
                for u, slot in enumerate(totals):
                    value = self._value(s.value, along.name, builder.index_sum(at, u * lanes), lanes, {})
                    builder.set(slot, self._joined(s.join, builder.get(slot), builder.splat(value, lanes)))
            self._forget(summed)
            for u, slot in enumerate(totals):
                place = self._offset(s.target, {along.name: builder.index_sum(at, u * lanes)})
                self._put(s, place, builder.get(slot), lanes, s.target.stride(along.name))

        strips(builder, along.extent, 4, body)

    def _put(self, s: Fold, place, total, lanes: int, stride: int) -> None:
        pointer = self.pointers[s.target.buffer]
        if s.adds:
            total = self._joined(s.join, total, self.builder.load(pointer, place, lanes, stride))
        self.builder.store(total, pointer, place, stride)

    def _joined(self, join: Join, a, b):
        return self.builder.add(a, b) if join == "sum" else self.builder.maximum(a, b)

    @staticmethod
    def _start(join: Join) -> float:
        return 0.0 if join == "sum" else -inf

    def _forget(self, ranges: Iterable[Range]) -> None:
        for r in ranges:
            self.at.pop(r.name, None)

    # ------------------------------------------------------------ products
    def _contract(self, c: Contract, asked: tuple[Request, ...] = (), ride: Ride | None = None) -> None:
        builder = self.builder
        asking = self._asking(asked)
        e, how = extents(c), tiling(c, self.schedule)
        sums = joined(c)[:-1]
        adds = c.adds
        if not adds and (sums or isinstance(how, Stream)):
            zero = Constant(Fraction(0))
            self._map(Map(tuple(r for r in (*c.batch, c.m, c.n) if r.extent > 1), c.target, zero))
            adds = True
        loops = (*((r.name, r.extent) for r in c.batch), *sums)
        with ExitStack() as stack:
            for name, extent in loops:
                self.at[name] = stack.enter_context(builder.loop(0, extent))
            target, left, right = (
                builder.advance(self.pointers[p.buffer], self._offset(p)) for p in (c.target, c.left, c.right)
            )
            turn, turns = 0, 1
            for name, extent in loops:
                turn, turns = builder.index_sum(builder.index_product(turn, extent), self.at[name]), turns * extent

            def meanwhile(slot, slots: int) -> None:
                asking(builder.index_sum(builder.index_product(turn, slots), slot), slots * turns)

            rider = None if ride is None else self._rider(ride.fold, c)
            emit_product(builder, e, how, target, left, right, adds, meanwhile, rider)
        for name, _ in loops:
            self.at.pop(name, None)

    def _rider(self, s: Fold, c: Contract) -> Rider:
        """A sum for a product to take along; the batch's variables are in scope."""

        def value(x):
            return self._value(s.value, None, None, self.builder.lanes, {Read(c.right): x})

        def put(n, sums) -> None:
            self._put(s, self._offset(s.target, {c.n.name: n}), sums, sums.type.count, s.target.stride(c.n.name))

        return Rider(value, put)

    def _asking(self, asked: tuple[Request, ...]) -> Meanwhile:
        """Asks for the share of all requests that falls to a slot."""
        starts = [self._begins(request.tile) for request in asked]
        level = dict(self.schedule)["level"] if asked else 0

        def meanwhile(slot, slots: int) -> None:
            for request, start in zip(asked, starts, strict=True):
                ask(self.builder, start, request, self.parts, level, slot, slots)

        return meanwhile

    def _begins(self, tile: Tile) -> Memory:
        """Where a tile of this iteration or a later one begins."""
        steps = {r.name: 0 for r in tile.ranges} | {self.loop: self.builder.index_sum(self.at[self.loop], tile.later)}
        return self.builder.advance(self.pointers[tile.place.buffer], self._offset(tile.place, steps))


def _merged(domain: tuple[Range, ...], sides: tuple[Place | Within, ...]) -> list[Range]:
    """The domain with neighbours joined that run on in memory at every place, so that vectors are long.

    Never one that is summed with one that stays: the target tells them apart.
    """
    ranges = list(domain)
    while True:
        pairs = permutations(ranges, 2)
        run_on = ((o, i) for o, i in pairs if all(p.stride(o.name) == p.stride(i.name) * i.extent for p in sides))
        outer, inner = next(run_on, (None, None))
        if outer is None or inner is None:
            return ranges
        ranges[ranges.index(inner)] = Range(inner.name, outer.extent * inner.extent)
        ranges.remove(outer)


def _vector_variable(ranges: list[Range], sides: tuple[Place, ...], along: tuple[str, ...], lanes: int) -> Range | None:
    """The variable to run vectors along: the cheapest per element, the innermost of equals."""

    def cost(r: Range) -> float:
        width = min(lanes, r.extent)
        accesses = sum(1 if p.stride(r.name) in (0, 1) else width for p in sides)
        across = 10 / prod(s.extent for s in ranges if s.name in along) if r.name in along else 0
        return accesses / width + across

    return min(reversed(ranges), key=cost, default=None)
