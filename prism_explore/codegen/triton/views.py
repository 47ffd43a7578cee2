"""Views of tiles in registers: slice, concat, reshape.

A view of a loaded tile is loaded by itself. A view of any other tile is a `tl.reshape` where no padded dim changes,
else a `tl.gather`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from prism_explore.codegen.triton.axes import partitions
from prism_explore.codegen.triton.memory import GlobalMemory, SliceOf
from prism_explore.codegen.triton.plan import BlockPlan, Section
from prism_explore.codegen.triton.tile_values import TileValue, TileValues, broadcast_index, with_leading_dims
from prism_explore.ir.elementwise import UNARY
from prism_explore.ir.ops import Load, Slice, Unary


@dataclass(frozen=True, slots=True)
class Views:
    """Writes the views of a kernel; each method gives the value of the block node %j."""

    tiles: TileValues
    memory: GlobalMemory

    @property
    def plan(self) -> BlockPlan:
        """The kernel's plan."""
        return self.tiles.plan

    def slice(self, j: int, along: int, section: Section) -> TileValue:
        """A part of a tile along a dim."""
        (arg,) = self.plan.block.nodes[j].args
        if self.plan.is_reloaded(j):
            part = SliceOf(along, self._slice_start(j), self.plan.dims[arg][along])
            return self.memory.load(j, self._load_of(j), section, part)
        shape = self.plan.shapes[j]
        d = along - len(self.plan.dims[j]) + len(shape)
        # A dim that the tile lacks has one element.
        text = self._gathered(j, arg, d, self._slice_start(j)) if d >= 0 else self.tiles.values[arg].name
        return self.tiles.define(j, text, self.tiles.no_padding(shape))

    def concat(self, j: int, along: int, section: Section) -> TileValue:
        """Two tiles along a dim: each lane is selected from one of them."""
        plan, shape = self.plan, self.plan.shapes[j]
        left, right = plan.block.nodes[j].args
        d = along - len(plan.dims[j]) + len(shape)
        border = plan.dims[left][along]
        is_left = f"({self.tiles.lanes(shape[d])} < {border}){broadcast_index(d, len(shape))}"
        first = self.tiles.assign(section, f"first_{j}", is_left)
        parts: list[str] = []
        for arg, start, mask in ((left, 0, first), (right, border, f"~{first}")):
            source = plan.lane_source(arg, along)
            if source is None:
                text = self._gathered(j, arg, d, -start)
            else:
                text = self._loaded_side(j, arg, along, source, start, mask, section)
            parts.append(self.tiles.assign(section, f"part_{j}", text))
        return self.tiles.define(j, f"tl.where({first}, {', '.join(parts)})", self.tiles.no_padding(shape))

    def reshape(self, j: int, section: Section) -> TileValue:
        """The same elements with other dims."""
        plan, shape = self.plan, self.plan.shapes[j]
        (arg,) = plan.block.nodes[j].args
        if plan.is_plain_reshape(j):
            text = f"tl.reshape({self.tiles.full_rank(arg)}, {self.tiles.shape(shape)})"
            return self.tiles.define(j, text, self.tiles.no_padding(shape))
        if plan.is_reloaded(j):
            return self._loaded_reshape(j, arg, section)
        old = plan.padded(plan.axis_names[arg])
        steps = [prod(old[d + 1 :]) for d in range(len(old))]
        terms = zip(self._source_coordinates(j), steps, strict=True)
        at = " + ".join(f"{c} * {step}" if step > 1 else c for c, step in terms)
        at = f"tl.minimum(tl.broadcast_to({at}, {self.tiles.shape(shape)}), {prod(old) - 1})"
        place = self.tiles.assign(section, f"place_{j}", at)
        flat = f"tl.reshape({self.tiles.full_rank(arg)}, ({prod(old)},))"
        text = f"tl.gather({flat}, tl.reshape({place}, ({prod(plan.padded(shape))},)), axis=0)"
        return self.tiles.define(j, f"tl.reshape({text}, {self.tiles.shape(shape)})", self.tiles.no_padding(shape))

    # ------------------------------------------------------------ in registers
    def _gathered(self, j: int, arg: int, d: int, shift: int) -> str:
        """The lanes of %arg for dim `d` of %j, `shift` further on, clamped to those that exist."""
        shape, source = self.plan.shapes[j], self.tiles.values[arg]
        missing = len(shape) - len(source.shape)
        last = self.plan.padded((*(None,) * missing, *source.shape))[d] - 1
        lanes = self.tiles.lanes(shape[d])
        if shift:
            lanes = f"{lanes} {'+' if shift > 0 else '-'} {abs(shift)}"
        if shift < 0:
            lanes = f"tl.maximum({lanes}, 0)"
        if self.plan.padded(shape)[d] - 1 + shift > last:
            lanes = f"tl.minimum({lanes}, {last})"
        place = f"tl.broadcast_to(({lanes}){broadcast_index(d, len(shape))}, {self.tiles.shape(shape)})"
        name = self.tiles.assign(self.plan.sections[j], f"place_{j}", place)
        return f"tl.gather({with_leading_dims(source, missing)}, {name}, axis={d})"

    # ------------------------------------------------------------ from memory
    def _loaded_side(
        self, j: int, arg: int, along: int, source: tuple[int, int], start: int, mask: str, section: Section
    ) -> str:
        """One side of a concat, loaded into its lanes, with the functions that are applied to it."""
        plan, (loaded, slice_start), shape = self.plan, source, self.plan.shapes[j]
        load = plan.block.nodes[loaded].op
        assert isinstance(load, Load), "what is shifted was loaded"
        part = SliceOf(along, slice_start - start, plan.dims[loaded][along])
        address = self.memory.address(load.operand, shape, partitions(load, len(plan.dims[loaded])), part)
        mask = " & ".join(filter(None, (mask, self.tiles.tile_mask(shape))))
        text = f"tl.load(\n    {address},\n    mask={mask},\n    other=0.0,\n)"
        text = text if plan.types[loaded].dtype in ("f32", "f64") else f"{text}.to(tl.float32)"
        functions: list[Unary] = []
        while isinstance(op := plan.block.nodes[arg].op, Unary):
            functions.append(op)
            (arg,) = plan.block.nodes[arg].args
        for op in reversed(functions):
            text = UNARY[op.fn].triton.format(self.tiles.assign(section, f"part_{j}", text))
        return text

    def _loaded_reshape(self, j: int, arg: int, section: Section) -> TileValue:
        """A reshape of a loaded tile, loaded element by element."""
        load = self._load_of(j)
        terms = [self.memory.pointers[load.operand]]
        places = partitions(load, len(self.plan.dims[arg]))
        for d, (at, place) in enumerate(zip(self._source_coordinates(j), places, strict=True)):
            tile = self.memory.tile_number(*place)
            at = f"{tile} * {self.plan.dims[arg][d]} + {at}" if tile else at
            at = f"({at}).to(tl.int64)" if self.memory.wide_index else f"({at})"
            terms.append(f"{at} * {self.memory.stride(load.operand, d)}")
        return self.memory.load_address(j, load.operand, " + ".join(terms), section)

    def _load_of(self, j: int) -> Load:
        """The load that %j is a view of."""
        load = self.plan.block.nodes[self.plan.block.nodes[j].args[0]].op
        assert isinstance(load, Load), "only views of loads are loaded by themselves"
        return load

    def _slice_start(self, j: int) -> int:
        """Where a slice begins, as a number."""
        op = self.plan.numeric_block.nodes[j].op
        assert isinstance(op, Slice), "both graphs have the same operators"
        return op.start.constant or 0

    def _source_coordinates(self, j: int) -> list[str]:
        """For each element of a reshape, the index per dim of the operand's tile."""
        plan = self.plan
        (arg,) = plan.block.nodes[j].args
        old, new = plan.changed_dims(j)
        rank = len(plan.axis_names[j])
        lanes = [f"{self.tiles.lanes(a)}{broadcast_index(d, rank)}" for d, a in enumerate(plan.axis_names[j])]
        counts = [prod(plan.dims[j][e] for e in new if e > d) for d in new]
        flat = " + ".join(f"{lanes[d]} * {n}" if n > 1 else lanes[d] for d, n in zip(new, counts, strict=True))
        found: list[str] = []
        for d, axis in enumerate(plan.axis_names[arg]):
            if d not in old:
                found.append(lanes[plan.axis_names[j].index(axis)] if axis else "0")
                continue
            inner = prod(plan.dims[arg][e] for e in old if e > d)
            place = f"({flat})" if len(new) > 1 else flat
            place = f"{place} // {inner}" if inner > 1 else place
            found.append(f"({place}) % {plan.dims[arg][d]}" if d != old[0] else f"({place})")
        return found
