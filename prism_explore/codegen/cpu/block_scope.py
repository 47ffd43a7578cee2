"""State of lowering one block graph: its tiles' indices and memory, and the sections of its nest.

Rules of fusion and memory:

* A load is a view of its operand. It is copied only where a product needs another layout, or to pack it.
* Elementwise chains are fused into their consumer. A tile gets memory where a product reads it, where it is read twice,
  where a consumer would repeat it along a dim, or where a later section reads it.
* A square root that only divides larger tiles is stored as its reciprocal.
* A band is computed from the indices where it is read.
* A node that depends on few grid dims only is hoisted: computed once per thread for all points of the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil, floor, prod
from typing import TypeAlias

from prism_explore.codegen.cpu.block_analysis import BlockAnalysis
from prism_explore.codegen.cpu.layout import padded_strides
from prism_explore.codegen.cpu.loop_ir import (
    Affine,
    Apply,
    Buffer,
    Constant,
    Contract,
    Expression,
    Fold,
    Gather,
    Map,
    Place,
    PrefixSum,
    Range,
    RangeTest,
    Read,
    Statement,
)
from prism_explore.ir.graph import Phase, fresh_name
from prism_explore.ir.ops import Band, Binary, Expand, Load, MatMul

Source: TypeAlias = Buffer | Band
"""An operand of a kernel: memory, or a band's formula."""


@dataclass(frozen=True, slots=True)
class Tile:
    """A block tensor as an expression over the variables of its dims."""

    value: Expression
    phase: Phase
    hoisted: bool

    @property
    def place(self) -> Place | None:
        """Its place, if it has memory."""
        return self.value.place if isinstance(self.value, Read) else None


@dataclass(slots=True)
class Sections:
    """The statements of a nest by section."""

    once: list[Statement] = field(default_factory=list[Statement])
    before: list[Statement] = field(default_factory=list[Statement])
    body: list[Statement] = field(default_factory=list[Statement])
    after: list[Statement] = field(default_factory=list[Statement])


class BlockScope:
    """Tiles, buffers and statements of one block graph while it is lowered."""

    def __init__(self, analysis: BlockAnalysis, operands: tuple[Source, ...], outs: Mapping[int, Buffer]) -> None:
        self.analysis, self.operands, self.outs = analysis, operands, outs
        block = analysis.block
        self.block_names = {p: f"b{block.grid[p].name}" for p in analysis.live_grid}
        memory = [b for b in (*operands, *outs.values()) if isinstance(b, Buffer)]
        taken = {*self.block_names.values(), *(b.name for b in memory)}
        taken |= {block.loop.name} if block.loop else set()
        self.loop = Range(block.loop.name, analysis.iterations) if block.loop and analysis.iterations > 1 else None
        rank = max(map(len, analysis.dims))
        spare = ["c", "r", "q", "p", *(f"d{j}" for j in range(rank))]
        self.tile_names = [fresh_name(name, taken) for name in spare[: max(rank, 2)]]
        self.m, self.n, self.k = (fresh_name(name, taken) for name in "mnk")
        self.tiles: dict[int, Tile] = {}
        self.sections = Sections()
        self.scratch: list[Buffer] = []
        self.kept_between_blocks: set[Buffer] = set()
        """Scratch buffers that are kept between blocks."""
        self.packed: dict[int, Place] = {}
        self.rescale_factors: dict[int, Place] = {}
        """Per running maximum, the factor by which its sums are rescaled in this iteration."""
        self.reciprocals: set[int] = set()
        """Square roots that are stored as reciprocals; see `quotient`."""
        self.names = {b.name for b in memory}
        self.nodes = {b.name: store for store, b in outs.items()}
        """Per buffer that is written, the position of its block node."""

    def name(self, rank: int, d: int) -> str:
        """The variable of dim `d` of a tile of this rank; variables are named from the last dim on."""
        return self.tile_names[rank - 1 - d]

    def domain(self, dims: tuple[int, ...]) -> tuple[Range, ...]:
        """The variables that run over a tile of these dims."""
        return tuple(Range(self.name(len(dims), d), n) for d, n in enumerate(dims) if n > 1)

    def index(self, dims: tuple[int, ...]) -> tuple[Affine, ...]:
        """The index of each dim of a tile: its own variable."""
        return tuple(((self.name(len(dims), d), 1),) if n > 1 else () for d, n in enumerate(dims))

    def load(self, load: Load, dims: tuple[int, ...]) -> Expression:
        """A load as a view of its operand, or as the formula of a band."""
        index = [list(a) for a in self.index(dims)]
        if self.loop and load.fmap is not None:
            index[load.fmap].insert(0, (self.loop.name, dims[load.fmap]))
        for p in reversed(self.analysis.live_grid):
            along = (load.imap or ())[p]
            if along is not None:
                length = dims[along] * (self.analysis.iterations if along == load.fmap else 1)
                index[along].insert(0, (self.block_names[p], length))
        source = self.operands[load.operand]
        if isinstance(source, Buffer):
            return Read(Place(source, tuple(tuple(a) for a in index)))
        rows, columns = index
        distance = (*columns, *((name, -factor) for name, factor in rows))
        low, high = (None if d is None else d.rational({}) for d in (source.low, source.high))
        return RangeTest(distance, None if low is None else ceil(low), None if high is None else floor(high))

    def store_place(self, store: int, dims: tuple[int, ...]) -> Place:
        """The place that a store writes."""
        index = [list(a) for a in self.index(dims)]
        for p in reversed(self.analysis.live_grid):
            along = self.analysis.omap(store)[p]
            if along is not None:
                index[along].insert(0, (self.block_names[p], dims[along]))
        return Place(self.outs[store], tuple(tuple(a) for a in index))

    def allocate(
        self,
        name: str,
        dims: tuple[int, ...],
        hoisted: bool,
        per_iteration: bool,
        index: tuple[Affine, ...] | None = None,
    ) -> Place:
        """A tile of scratch, at its own indices unless others are passed.

        A hoisted tile that differs between iterations has memory for all of them. The name is a letter and the position
        of the node whose value the tile has.
        """
        looped = self.loop if hoisted and per_iteration else None
        shape = (looped.extent, *dims) if looped else dims
        buffer = Buffer(fresh_name(name, self.names), shape, padded_strides(shape), "scratch")
        self.nodes[buffer.name] = int(name[1:])
        self.scratch.append(buffer)
        if hoisted:
            self.kept_between_blocks.add(buffer)
        index = self.index(dims) if index is None else index
        return Place(buffer, ((((looped.name, 1),), *index) if looped else index))

    def emit(self, statement: Statement, phase: Phase, hoisted: bool) -> None:
        """Append a statement to its section; a hoisted one covers all iterations."""
        if hoisted:
            if phase == "loop" and self.loop:
                match statement:
                    case Map(domain) | Fold(domain) | PrefixSum(domain) | Gather(domain):
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
        """Set the tile of a node; it gets memory only by the rules above."""
        phase, hoisted = self.analysis.phases[position], self.analysis.is_hoisted(position)
        tile = Tile(value, phase, hoisted)
        if not isinstance(value, Read | RangeTest) and self._needs_memory(position, value):
            if self._only_divides(position) and isinstance(value, Apply) and value.fn == "sqrt":
                tile = replace(tile, value=Apply("div", (Constant(Fraction(1)), value)))
                self.reciprocals.add(position)
            tile = self.store_in_scratch(tile, f"t{position}", self.analysis.dims[position])
        self.tiles[position] = tile

    def quotient(self, over: int, under: int) -> Expression:
        """One tile divided by another.

        Division by a root that is stored as a reciprocal is a multiplication: one more rounding, and the same
        infinities, because 0 is the only root whose reciprocal is infinite.
        """
        fn = "mul" if under in self.reciprocals else "div"
        return Apply(fn, (self.tiles[over].value, self.tiles[under].value))

    def store_in_scratch(self, tile: Tile, name: str, dims: tuple[int, ...]) -> Tile:
        """The tile in scratch of its own."""
        target = self.allocate(name, dims, tile.hoisted, tile.phase == "loop")
        self.emit(Map(self.domain(dims), target, tile.value), tile.phase, tile.hoisted)
        return replace(tile, value=Read(target))

    def _needs_memory(self, position: int, value: Expression) -> bool:
        readers = self.analysis.readers[position]
        for c in readers:
            node = self.analysis.block.nodes[c]
            if isinstance(node.op, MatMul) or (self.analysis.is_hoisted(position) and not self.analysis.is_hoisted(c)):
                return True
            if isinstance(node.op, Binary | Expand) and prod(self.analysis.dims[c]) > prod(
                self.analysis.dims[position]
            ):
                return True
            if self.analysis.phases[position] == "invariant" and self.analysis.phases[c] == "loop" and self.loop:
                return True
        uses = sum(self.analysis.block.nodes[c].args.count(position) for c in readers)
        return uses > 1 and not _is_cheap(value)

    def _only_divides(self, position: int) -> bool:
        """Whether a tile is only the divisor of others."""
        readers = [self.analysis.block.nodes[c] for c in self.analysis.readers[position]]
        return all(node.op == Binary("div") and node.args[0] != position for node in readers)

    def operand(self, position: int) -> Place:
        """The place of a product's operand, which gets memory here if it has none."""
        tile = self.tiles[position]
        if tile.place is None:
            tile = replace(tile, hoisted=self.analysis.is_hoisted(position))  # a load's tile is not, nor is a band's
            self.tiles[position] = tile = self.store_in_scratch(tile, f"t{position}", self.analysis.dims[position])
        assert tile.place is not None, "it has memory now"
        return tile.place

    def copy(self, position: int, place: Place) -> Place:
        """A copy of a place in tile order."""
        tile = Tile(Read(place), self.analysis.phases[position], self.analysis.is_hoisted(position))
        copied = self.store_in_scratch(tile, f"p{position}", self.analysis.dims[position]).place
        assert copied is not None
        return copied

    def initialize_sum(self, target: Place, dims: tuple[int, ...]) -> None:
        """Initialize a sum over the loop, if there is a loop."""
        self.initialize(target, dims, Fraction(0))

    def initialize(self, target: Place, dims: tuple[int, ...], value: Fraction) -> None:
        """Initialize a value that the loop updates, if there is a loop."""
        if self.loop:
            self.sections.before.append(Map(self.domain(dims), target, Constant(value)))


def _is_cheap(value: Expression) -> bool:
    """Whether recomputing costs no more than storing: an element in memory, scaled or shifted by constants."""
    match value:
        case Read():
            return True
        case Apply("mul" | "add", (inner, Constant())):
            return _is_cheap(inner)
        case _:
            return False
