"""A block's tiles while its loops are written: indices, memory, and the sections that statements go to.

* A load is a view of its operand, never a copy, unless a product needs another layout or `pack` asks.
* Elementwise chains are written into their consumer; a tile gets memory when a product reads it, when
  it is read twice, when a consumer would repeat it along a dim, or when it outlives its section.
* A root by which a larger tile is divided, and nothing else is done with it, is kept as one over it.
* A band is computed where it is read, from the indices.
* What depends on few grid dims only is done once per thread for all points of the others (`hoist`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil, floor, prod
from typing import TypeAlias

from prism_explore.codegen.cpu.block_facts import Facts
from prism_explore.codegen.cpu.layout import unused
from prism_explore.codegen.cpu.loop_ir import (
    Affine,
    Apply,
    Buffer,
    Constant,
    Contract,
    Expression,
    Fold,
    Map,
    Place,
    Range,
    Read,
    Statement,
    Within,
)
from prism_explore.ir.graph import Phase
from prism_explore.ir.ops import Band, Binary, Expand, Load, MatMul

Source: TypeAlias = Buffer | Band
"""What a kernel reads: memory, or a formula."""


@dataclass(frozen=True, slots=True)
class Tile:
    """What a block tensor is: an expression over the variables of its dims."""

    value: Expression
    phase: Phase
    once: bool

    @property
    def place(self) -> Place | None:
        """Where it lies, if it has memory."""
        return self.value.place if isinstance(self.value, Read) else None


@dataclass(slots=True)
class Sections:
    """The statements of a nest, by when they run."""

    once: list[Statement] = field(default_factory=list[Statement])
    before: list[Statement] = field(default_factory=list[Statement])
    body: list[Statement] = field(default_factory=list[Statement])
    after: list[Statement] = field(default_factory=list[Statement])


class Frame:
    """What is known of the nest of one block graph while it is written."""

    def __init__(self, facts: Facts, operands: tuple[Source, ...], outs: Mapping[int, Buffer]) -> None:
        self.facts, self.operands, self.outs = facts, operands, outs
        block = facts.block
        self.block_names = {p: f"b{block.grid[p].name}" for p in facts.live}
        memory = [b for b in (*operands, *outs.values()) if isinstance(b, Buffer)]
        taken = {*self.block_names.values(), *(b.name for b in memory)}
        taken |= {block.loop.name} if block.loop else set()
        self.loop = Range(block.loop.name, facts.iterations) if block.loop and facts.iterations > 1 else None
        rank = max(map(len, facts.dims))
        spare = ["c", "r", "q", "p", *(f"d{j}" for j in range(rank))]
        self.tile_names = [unused(name, taken) for name in spare[: max(rank, 2)]]
        self.m, self.n, self.k = (unused(name, taken) for name in "mnk")
        self.tiles: dict[int, Tile] = {}
        self.sections = Sections()
        self.scratch: list[Buffer] = []
        self.kept: set[Buffer] = set()
        """Of the scratch, what is kept between blocks."""
        self.packed: dict[int, Place] = {}
        self.scales: dict[int, Place] = {}
        """Per scale of rescaled sums: the factor of this iteration."""
        self.inverses: set[int] = set()
        """Roots that are kept as one over them; see `quotient`."""
        self.names = {b.name for b in memory}

    def name(self, rank: int, d: int) -> str:
        """The variable of dim `d` of a tile of this rank; variables are named from the last dim on."""
        return self.tile_names[rank - 1 - d]

    def domain(self, dims: tuple[int, ...]) -> tuple[Range, ...]:
        """The variables that run over a tile of these dims."""
        return tuple(Range(self.name(len(dims), d), n) for d, n in enumerate(dims) if n > 1)

    def index(self, dims: tuple[int, ...]) -> tuple[Affine, ...]:
        """The place of each dim of a tile: its own variable."""
        return tuple(((self.name(len(dims), d), 1),) if n > 1 else () for d, n in enumerate(dims))

    def loaded(self, load: Load, dims: tuple[int, ...]) -> Expression:
        """What a load reads, as a view of its operand; of a band, its formula."""
        index = [list(a) for a in self.index(dims)]
        if self.loop and load.fmap is not None:
            index[load.fmap].insert(0, (self.loop.name, dims[load.fmap]))
        for p in reversed(self.facts.live):
            along = (load.imap or ())[p]
            if along is not None:
                length = dims[along] * (self.facts.iterations if along == load.fmap else 1)
                index[along].insert(0, (self.block_names[p], length))
        source = self.operands[load.operand]
        if isinstance(source, Buffer):
            return Read(Place(source, tuple(tuple(a) for a in index)))
        rows, columns = index
        ahead = (*columns, *((name, -factor) for name, factor in rows))
        low, high = (None if d is None else d.rational({}) for d in (source.low, source.high))
        return Within(ahead, None if low is None else ceil(low), None if high is None else floor(high))

    def store_place(self, store: int, dims: tuple[int, ...]) -> Place:
        """Where a store writes."""
        index = [list(a) for a in self.index(dims)]
        for p in reversed(self.facts.live):
            along = self.facts.omap(store)[p]
            if along is not None:
                index[along].insert(0, (self.block_names[p], dims[along]))
        return Place(self.outs[store], tuple(tuple(a) for a in index))

    def allocate(
        self, name: str, dims: tuple[int, ...], once: bool, per_iteration: bool, index: tuple[Affine, ...] | None = None
    ) -> Place:
        """A tile of scratch, at its own indices if no others are given.

        There is one per iteration where it is made once but differs from one to the next.
        """
        looped = self.loop if once and per_iteration else None
        shape = (looped.extent, *dims) if looped else dims
        strides = [1] * len(shape)
        for d in range(len(shape) - 2, -1, -1):
            below = shape[d + 1] * strides[d + 1]
            strides[d] = below + (_padding(below) if d == len(shape) - 2 and shape[d] > 1 else 0)
        buffer = Buffer(unused(name, self.names), shape, tuple(strides), "scratch")
        self.scratch.append(buffer)
        if once:
            self.kept.add(buffer)
        index = self.index(dims) if index is None else index
        return Place(buffer, ((((looped.name, 1),), *index) if looped else index))

    def emit(self, statement: Statement, phase: Phase, once: bool) -> None:
        """Put a statement into its section; what is done once is done for all iterations at once."""
        if once:
            if phase == "loop" and self.loop:
                match statement:
                    case Map(domain):
                        statement = replace(statement, domain=(self.loop, *domain))
                    case Fold(domain):
                        statement = replace(statement, domain=(self.loop, *domain))
                    case Contract(batch):
                        statement = replace(statement, batch=(self.loop, *batch))
            self.sections.once.append(statement)
        elif phase == "invariant":
            self.sections.before.append(statement)
        elif phase == "loop":
            self.sections.body.append(statement)
        else:
            self.sections.after.append(statement)

    def define(self, position: int, value: Expression) -> None:
        """Name an expression; give it memory only where it would be computed too often or too late."""
        phase, once = self.facts.when[position], self.facts.is_once(position)
        tile = Tile(value, phase, once)
        if not isinstance(value, Read | Within) and self._wants_memory(position, value):
            if self._only_divides(position) and isinstance(value, Apply) and value.fn == "sqrt":
                tile = replace(tile, value=Apply("div", (Constant(Fraction(1)), value)))
                self.inverses.add(position)
            tile = self.with_memory(tile, f"t{position}", self.facts.dims[position])
        self.tiles[position] = tile

    def quotient(self, over: int, under: int) -> Expression:
        """One tile divided by another.

        By a root that is kept for many, it is a product with one over the root: one rounding more, and the same
        infinities, for no root is so small that one over it is infinite, but that of 0.
        """
        fn = "mul" if under in self.inverses else "div"
        return Apply(fn, (self.tiles[over].value, self.tiles[under].value))

    def with_memory(self, tile: Tile, name: str, dims: tuple[int, ...]) -> Tile:
        """The tile, written into memory of its own."""
        target = self.allocate(name, dims, tile.once, tile.phase == "loop")
        self.emit(Map(self.domain(dims), target, tile.value), tile.phase, tile.once)
        return replace(tile, value=Read(target))

    def _wants_memory(self, position: int, value: Expression) -> bool:
        readers = self.facts.readers[position]
        for c in readers:
            node = self.facts.block.nodes[c]
            if isinstance(node.op, MatMul) or (self.facts.is_once(position) and not self.facts.is_once(c)):
                return True
            if isinstance(node.op, Binary | Expand) and prod(self.facts.dims[c]) > prod(self.facts.dims[position]):
                return True
            if self.facts.when[position] == "invariant" and self.facts.when[c] == "loop" and self.loop:
                return True
        uses = sum(self.facts.block.nodes[c].args.count(position) for c in readers)
        return uses > 1 and not _is_cheap(value)

    def _only_divides(self, position: int) -> bool:
        """Whether nothing is done with a tile but to divide others by it."""
        readers = [self.facts.block.nodes[c] for c in self.facts.readers[position]]
        return all(node.op == Binary("div") and node.args[0] != position for node in readers)

    def operand(self, position: int) -> Place:
        """Where an operand of a product lies; a band gets memory here."""
        tile = self.tiles[position]
        if tile.place is None:
            self.tiles[position] = tile = self.with_memory(tile, f"t{position}", self.facts.dims[position])
        assert tile.place is not None, "it has memory now"
        return tile.place

    def copy(self, position: int, place: Place) -> Place:
        """A copy in tile order of what lies at a place."""
        tile = Tile(Read(place), self.facts.when[position], self.facts.is_once(position))
        copied = self.with_memory(tile, f"p{position}", self.facts.dims[position]).place
        assert copied is not None
        return copied

    def zero(self, target: Place, dims: tuple[int, ...]) -> None:
        """Begin a sum, where there is a loop to sum over."""
        self.start(target, dims, Fraction(0))

    def start(self, target: Place, dims: tuple[int, ...], value: Fraction) -> None:
        """Begin a running value, where there is a loop."""
        if self.loop:
            self.sections.before.append(Map(self.domain(dims), target, Constant(value)))


def _is_cheap(value: Expression) -> bool:
    """Whether computing it again costs no more than writing it down: constants on a number in memory."""
    match value:
        case Read():
            return True
        case Apply("mul" | "add", (inner, Constant())):
            return _is_cheap(inner)
        case _:
            return False


def _padding(row: int) -> int:
    """How many elements to put behind a row, so that rows read side by side are not all in the same few cache sets.

    Sets repeat every 4 KiB, and so do the rows of most weights, which are read beside it. A line for each row is too
    little: the rows' lines are then in neighbouring sets, and the weight's go through all of them. A multiple of
    two lines, for the tile may be kept in bfloat16.
    """
    return 160 if row % 512 == 0 else 32 if row % 128 == 0 else 0
