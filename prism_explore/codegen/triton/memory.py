"""Global memory of a Triton kernel: addresses, loads and stores of tiles.

Input: the plan and the maps of a load or store. Output: `tl.load` and `tl.store` with one term per dim of the tensor:
(tile number * extent + lane) * stride. 16-bit tensors are converted to float32 when loaded, unless only `tl.dot`
reads them, and rounded when stored. Tiles of products may be read by TMA instead, through tensor descriptors that each
block makes from the same pointers and strides.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil, floor, prod
from typing import NamedTuple

from prism_explore.codegen.triton.axes import partitions
from prism_explore.codegen.triton.function_table import TRITON_DTYPE
from prism_explore.codegen.triton.plan import BlockPlan, Section
from prism_explore.codegen.triton.python_text import call_text, indented
from prism_explore.codegen.triton.tile_values import TileValue, TileValues, broadcast_index
from prism_explore.ir.axes import AxisNames
from prism_explore.ir.ops import Binary, Load, Store

LOAD_COLUMNS, STORE_COLUMNS = 88, 92
"""Longer loads and stores are written with one argument per line."""


class SliceOf(NamedTuple):
    """A slice of a loaded tile, which is loaded by itself."""

    dim: int
    start: int
    """Where it begins in the tile."""
    extent: int
    """Of the tile along `dim`."""


@dataclass(slots=True)
class GlobalMemory:
    """The tensors that a kernel reads and writes: one pointer per operand, then one per result."""

    tiles: TileValues
    pointers: tuple[str, ...]
    wide_index: bool
    """Whether offsets are 64-bit."""
    program_ids: dict[int, str] = field(default_factory=dict[int, str])
    """Variables by grid dim."""
    strides: dict[tuple[int, int], str] = field(default_factory=dict[tuple[int, int], str])
    """Parameters by tensor and dim."""
    _offsets: dict[tuple[str | None, int | None, bool, int, int], str] = field(
        default_factory=dict[tuple[str | None, int | None, bool, int, int], str]
    )

    @property
    def plan(self) -> BlockPlan:
        """The kernel's plan."""
        return self.tiles.plan

    # ------------------------------------------------------------ addresses
    def program_id(self, grid: int) -> str:
        """The variable that holds the block's number along a grid dim."""
        if grid not in self.program_ids:
            self.program_ids[grid] = self.tiles.names.fresh(f"pid_{self.plan.block.grid[grid].name}")
        return self.program_ids[grid]

    def stride(self, tensor: int, d: int) -> str:
        """The parameter that holds a tensor's stride."""
        if (tensor, d) not in self.strides:
            base = self.pointers[tensor].removesuffix("_ptr")
            self.strides[tensor, d] = self.tiles.names.fresh(f"{base}_stride_{d}")
        return self.strides[tensor, d]

    def tile_number(self, grid: int | None, looped: bool) -> str:
        """The number of the tile along one dim, from the block and the iteration; empty for the first tile."""
        looped = looped and self.plan.iterations > 1
        pid = self.program_id(grid) if grid is not None else ""
        if not looped:
            return pid
        return f"({pid} * {self.tiles.iterations} + {self.tiles.counter})" if pid else self.tiles.counter

    def offset(self, axis: str | None, grid: int | None, looped: bool, shift: int = 0, extent: int = 0) -> str:
        """The variable that holds a tile's indices along one dim of a tensor.

        Args:
            axis: of the tile.
            grid: the grid dim that partitions the tensor's dim.
            looped: whether the loop partitions it.
            shift: where a slice begins in its tile.
            extent: of the tile that a slice is of; the axis' own if 0.
        """
        looped = looped and self.plan.iterations > 1
        key = (axis, grid, looped, shift, extent)
        if key not in self._offsets:
            tile = self.tile_number(grid, looped)
            lanes = self.tiles.lanes(axis) + (f" {'+' if shift > 0 else '-'} {abs(shift)}" if shift else "")
            step = str(extent) if extent else self.tiles.extent(axis)
            first = "" if not tile else f"{tile} + " if step == "1" else f"{tile} * {step} + "
            name = self.tiles.names.fresh(f"offs_{axis or 'one'}")
            text = f"({first}{lanes}).to(tl.int64)" if self.wide_index else f"{first}{lanes}"
            self.tiles.lines["loop" if looped else "before"].append(f"{name} = {text}")
            self._offsets[key] = name
        return self._offsets[key]

    def address(
        self, tensor: int, shape: AxisNames, places: list[tuple[int | None, bool]], part: SliceOf | None = None
    ) -> str:
        """The addresses of a tile: one term per dim of the tensor.

        Args:
            tensor: its pointer's position.
            shape: of the tile, which may lack leading dims of the tensor.
            places: per dim of the tensor, the grid dim that partitions it and whether the loop does.
            part: a slice of the tile to address instead.
        """
        terms = [self.pointers[tensor]]
        lacking = len(places) - len(shape)
        for d, (grid, looped) in enumerate(places):
            shift, extent = (part.start, part.extent) if part is not None and part.dim == d else (0, 0)
            if d < lacking:
                start = self.tile_number(grid, looped)
                if extent:
                    start = f"({start} * {extent} + {shift})" if start else str(shift)
                if start:
                    start = f"tl.cast({start}, tl.int64)" if self.wide_index else start
                    terms.append(f"{start} * {self.stride(tensor, d)}")
            elif not self._is_zero_offset(shape, d - lacking, grid, looped, shift):
                offset = self.offset(shape[d - lacking], grid, looped, shift, extent)
                terms.append(f"{offset}{broadcast_index(d - lacking, len(shape))} * {self.stride(tensor, d)}")
        return " + ".join(terms)

    def _is_zero_offset(self, shape: AxisNames, d: int, grid: int | None, looped: bool, shift: int) -> bool:
        """Whether a dim of one element adds nothing to an address, and other dims give the tile its shape."""
        start = self.tile_number(grid, looped)
        return shape[d] is None and not start and not shift and any(shape)

    # ------------------------------------------------------------ loads and stores
    def load(self, j: int, load: Load, section: Section, part: SliceOf | None = None) -> TileValue:
        """The tile of a load, or a part of it, as the value of %j."""
        plan, operand, places = self.plan, load.operand, partitions(load, len(self.plan.dims[j]))
        if j not in plan.described:
            return self.load_address(j, operand, self.address(operand, plan.shapes[j], places, part), section)
        text = self._described_tile(j, operand, places)
        if plan.has_tma_constant:
            pointed = self._pointed_tile(j, self.address(operand, plan.shapes[j], places))
            text = "\n".join(["(", *indented([text, f"if {self._tma}", f"else {pointed}"]), ")"])
        return self._loaded(j, operand, text, section)

    def load_address(self, j: int, operand: int, address: str, section: Section) -> TileValue:
        """%j loaded from these addresses."""
        return self._loaded(j, operand, self._pointed_tile(j, address), section)

    def _pointed_tile(self, j: int, address: str) -> str:
        """The text of a load from these addresses."""
        mask = self.tiles.tile_mask(self.plan.shapes[j])
        return call_text("tl.load", [address, *([f"mask={mask}", "other=0.0"] if mask else [])], LOAD_COLUMNS)

    def _described_tile(self, j: int, operand: int, places: list[tuple[int | None, bool]]) -> str:
        """The text of a load through a tensor descriptor, which is made before the loop.

        The descriptor has the tensor's dims in the order in which they are stored.
        """
        plan, tensor = self.plan, self.plan.operands[operand]
        order, lacking = tensor.storage_order, len(places) - len(plan.shapes[j])
        axes = (*(None,) * lacking, *plan.shapes[j])
        shape = tensor.shape_at(plan.sizes)
        lists = (
            [str(shape[d]) for d in order],
            [*(self.stride(operand, d) for d in order[:-1]), "1"],
            [self.tiles.padded(axes[d]) for d in order],
        )
        base = self.pointers[operand]
        descriptor = self.tiles.names.fresh(f"{base.removesuffix('_ptr')}_desc")
        arguments = [base, *(f"[{', '.join(numbers)}]" for numbers in lists)]
        made = call_text("tl.make_tensor_descriptor", arguments, LOAD_COLUMNS)
        made = f"{made} if {self._tma} else None" if plan.has_tma_constant else made
        self.tiles.lines["before"].append(f"{descriptor} = {made}")
        text = f"{descriptor}.load([{', '.join(self._first_index(axes[d], *places[d]) for d in order)}])"
        kept = [d - lacking for d in order if d >= lacking]
        if lacking:
            text = f"tl.reshape({text}, {self.tiles.shape(tuple(plan.shapes[j][d] for d in kept))})"
        is_transposed = kept != sorted(kept)
        return f"tl.permute({text}, {tuple(map(kept.index, range(len(kept))))})" if is_transposed else text

    def _first_index(self, axis: str | None, grid: int | None, looped: bool) -> str:
        """Where a tile begins along one dim of its tensor."""
        tile = self.tile_number(grid, looped)
        if not tile:
            return "0"
        return tile if axis is None else f"{tile} * {self.tiles.extent(axis)}"

    @property
    def _tma(self) -> str:
        """The constant that chooses between descriptors and pointers, by name."""
        return self.tiles.constant("TMA", "", 0)

    def _loaded(self, j: int, operand: int, text: str, section: Section) -> TileValue:
        """%j from the text of its load; as they are, 16-bit elements are only read by products in their dtype."""
        plan, shape = self.plan, self.plan.shapes[j]
        wanted = self.pointers[operand].removesuffix("_ptr")
        zero = (True,) * len(shape)
        dtype = plan.operands[operand].dtype
        if dtype in ("f32", "f64"):
            return TileValue(self.tiles.assign(section, wanted, text), shape, zero)
        read_by_dot = [r in plan.dots and plan.types[r].dtype == dtype for r in plan.readers[j]]
        if not any(read_by_dot):
            return TileValue(self.tiles.assign(section, wanted, f"{text}.to(tl.float32)"), shape, zero)
        loaded = self.tiles.assign(section, wanted, text)
        if all(read_by_dot):
            return TileValue(loaded, shape, zero, loaded)
        converted = self.tiles.assign(section, f"{wanted}_wide", f"{loaded}.to(tl.float32)")
        return TileValue(converted, shape, zero, loaded)

    def store(self, j: int, value: TileValue, omap: tuple[int | None, ...], section: Section) -> None:
        """Write a tile of a result, rounded to its dtype."""
        result = self.plan.block.stores.index(j)
        tensor = len(self.plan.operands) + result
        places = partitions(Load(0, omap), len(self.plan.dims[j]))
        address = self.address(tensor, value.shape, places)
        mask = self.tiles.tile_mask(value.shape)
        dtype = self.plan.results[result].dtype
        rounded = f"{value.name}.to({TRITON_DTYPE[dtype]})" if dtype in ("bf16", "f16") else value.name
        arguments = [address, value.unconverted or rounded, *([f"mask={mask}"] if mask else [])]
        self.tiles.lines[section].append(call_text("tl.store", arguments, STORE_COLUMNS))

    # ------------------------------------------------------------ bands
    def band(self, j: int, load: Load) -> TileValue:
        """A tile of a band, computed from its indices instead of loaded."""
        plan, shape = self.plan, self.plan.shapes[j]
        band = plan.bands[load.operand]
        (rows, columns) = (self.offset(a, *place) for a, place in zip(shape, partitions(load, 2), strict=True))
        distance = f"{columns}[None, :] - {rows}[:, None]"
        tests = [f"({distance} >= {ceil(d.rational({}))})" for d in (band.low,) if d is not None]
        tests += [f"({distance} <= {floor(d.rational({}))})" for d in (band.high,) if d is not None]
        text = " & ".join(tests) or f"{distance} == {distance}"
        if not is_boolean_band(plan, j):
            text = f"({text}).to({self.tiles.dtype(j)})"
        section: Section = "loop" if load.fmap is not None and plan.iterations > 1 else plan.sections[j]
        return TileValue(self.tiles.assign(section, f"band_{j}", text), shape, self.tiles.no_padding(shape))


def is_boolean_band(plan: BlockPlan, j: int) -> bool:
    """Whether %j is a band that only masks read, so that it stays a boolean tile."""
    nodes, readers = plan.block.nodes, plan.readers[j]
    load = nodes[j].op
    return (
        isinstance(load, Load)
        and load.operand in plan.bands
        and all(nodes[r].op == Binary("mask") and nodes[r].args[0] != j for r in readers)
    )


def needs_wide_index(plan: BlockPlan) -> bool:
    """Whether an offset into some tensor may reach 2**31."""
    sizes: list[int] = [1]
    for j, node in enumerate(plan.block.nodes):
        if isinstance(node.op, Load | Store):
            elements = prod(plan.dims[j])
            if isinstance(node.op, Load):
                pairs = zip(plan.grid, node.op.imap or (), strict=False)
                elements *= prod(blocks for blocks, along in pairs if along is not None)
                elements *= plan.iterations if node.op.fmap is not None else 1
            sizes.append(elements)
    return max(sizes) >= 1 << 31
