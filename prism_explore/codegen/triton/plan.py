"""The plan of a Triton kernel: tile extents and padding, loop-invariant code motion, products on `tl.dot`, limits.

Input: an sGraph and a size for each symbol. Output: a `BlockPlan` per custom kernel, or an `Obstacle` with the reason
where Triton cannot express it or it exceeds a limit of the GPU. Triton's tiles are in registers and have power-of-two
extents. The plan gives every tile axis its padded extent, every block tensor its shape in tile axes, every node
its section (before, in or after the loop), and every matrix product its implementation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Literal, TypeAlias

from prism_explore.codegen.accumulation import is_only_summed
from prism_explore.codegen.triton.axes import partitions, tile_axes
from prism_explore.errors import ShapeError
from prism_explore.ir.axes import AxisNames
from prism_explore.ir.graph import SGraph, block_types, consumers, op_sizes, phases, walk
from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    Band,
    BlockGraph,
    Concat,
    Custom,
    Expand,
    Input,
    Load,
    MatMul,
    Permute,
    Reshape,
    Result,
    RunningMax,
    Scalar,
    Slice,
    Store,
    Unary,
    op_name,
)
from prism_explore.ir.tensors import BYTES, TensorType
from prism_explore.pipeline.stages import Parameters
from prism_explore.targets import Target
from prism_explore.targets.gpus import architecture_of

Section: TypeAlias = Literal["before", "loop", "after"]

DOT_EXTENT = 16
"""The smallest extent of each side of a `tl.dot`. Source: the tensor cores' instruction shapes."""

DOT_PADDING = 8
"""A product is padded up to `DOT_EXTENT` where that multiplies its work by no more than this.

Tensor cores do at least eight times the arithmetic of the plain units, so up to there padding wins.
"""

MAX_TILE = 1 << 20
"""Elements of one tile. Source: TRITON_MAX_TENSOR_NUMEL in triton/language/core.py."""

MAX_PER_THREAD = 1024
"""Elements of one tile per thread. A thread has 255 registers; a tile far beyond them spills and takes minutes to
compile. This limit is chosen, not a limit of the machine."""

MAX_GRID = (2**31 - 1, 65535, 65535)
"""Blocks along x, y and z. Source: CUDA C++ Programming Guide, table of technical specifications."""

SCHEDULE = {"num_warps": 4, "num_stages": 2, "tf32_products": 0, "tma": 0}
"""Schedule choices and their defaults; other keys of a schedule belong to other backends."""

PRECISIONS = {0: "ieee", 3: "tf32x3"}
"""Per number of TF32 products that make a product of float32 operands: `input_precision` of `tl.dot`. One such product
has 10 bits of each operand, three of them nearly all; none means arithmetic in float32, which no tensor core has."""


TMA_BYTES, TMA_DIMS = 16, 5
"""Of TMA: what addresses, distances between rows and the rows of a tile are multiples of; the most dims of a tensor.

Source: CUDA Driver API, cuTensorMapEncodeTiled. Triton cuts tiles of more than 256 elements along a dim.
"""


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why there is no kernel for these sizes."""

    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class TileAxis:
    """An axis inside a block: its extent, and the power of two that it is padded to."""

    name: str
    extent: int
    padded: int

    @property
    def is_padded(self) -> bool:
        """Whether some lanes hold no data."""
        return self.padded != self.extent


@dataclass(frozen=True)
class BlockPlan:
    """One custom kernel at given sizes."""

    position: int
    sizes: Mapping[str, int]
    """Of every symbol."""
    block: BlockGraph
    numeric_block: BlockGraph
    """The same, with the sizes in its operators as numbers."""
    operands: tuple[TensorType, ...]
    """As they are stored; see `stored_types`."""
    results: tuple[TensorType, ...]
    """Per store, as it is stored."""
    bands: Mapping[int, Band]
    """Operands that are computed in place, with numbers for all symbols, by position."""
    grid: tuple[int, ...]
    iterations: int
    types: tuple[TensorType, ...]
    """Per block tensor, symbolic; a store has the type of the kernel's result."""
    dims: tuple[tuple[int, ...], ...]
    """Per block tensor, as numbers."""
    axes: Mapping[str, TileAxis]
    axis_names: tuple[AxisNames, ...]
    """Per block tensor but the stores, the tile axis of each dim."""
    shapes: tuple[AxisNames, ...]
    """Per block tensor, the dims of its tile in registers: leading dims of extent 1 are dropped down to rank 2, except
    those of views."""
    sections: tuple[Section, ...]
    dots: frozenset[int]
    """Matrix products on `tl.dot`; the others are a broadcast multiplication and a sum."""
    accumulated_products: frozenset[int]
    """Products that add to their accumulator directly."""
    precision: str
    """`input_precision` of products of float32 operands; see `PRECISIONS`."""
    described: frozenset[int] = frozenset()
    """Loaded tiles that are read by TMA, through tensor descriptors."""
    has_tma_constant: bool = False
    """Whether these are read through pointers where the kernel's constant `TMA` is 0, so that it can be tuned."""

    def is_reloaded(self, j: int) -> bool:
        """Whether %j is a view of a loaded tile that is loaded by itself: a slice, or a reshape that padding breaks."""
        node = self.block.nodes[j]
        source = self.block.nodes[node.args[0]].op if node.args else None
        if not isinstance(source, Load) or source.operand in self.bands:
            return False
        return isinstance(node.op, Slice) or (isinstance(node.op, Reshape) and not self.is_plain_reshape(j))

    def lane_source(self, j: int, along: int) -> tuple[int, int] | None:
        """For %j, one side of a concat: the load that it is computed from lane by lane, and where in it %j begins.

        None if %j is not a chain of unary functions of a loaded tile or of a slice of one.
        """
        node = self.block.nodes[j]
        match node.op:
            case Unary():
                return self.lane_source(node.args[0], along)
            case Load(operand) if operand not in self.bands:
                return j, 0
            case Slice(dim) if dim == along and self.is_reloaded(j):
                numeric = self.numeric_block.nodes[j].op
                assert isinstance(numeric, Slice), "sizes change no operator"
                return node.args[0], numeric.start.constant or 0
            case _:
                return None

    @cached_property
    def readers(self) -> tuple[tuple[int, ...], ...]:
        """For each block tensor, the positions of the nodes that read it."""
        return consumers(self.block.nodes)

    @cached_property
    def unemitted(self) -> frozenset[int]:
        """Block tensors that need no code: all their readers load from memory themselves."""
        nodes, readers = self.block.nodes, self.readers
        found: set[int] = set()

        def loads_itself(r: int, j: int) -> bool:
            op = nodes[r].op
            return (
                r in found
                or self.is_reloaded(r)
                or (isinstance(op, Concat) and self.lane_source(j, op.dim) is not None)
            )

        for j in range(len(nodes) - 1, -1, -1):
            is_read = not all(loads_itself(r, j) for r in readers[j])
            if readers[j] and isinstance(nodes[j].op, Load | Slice | Reshape | Unary) and not is_read:
                found.add(j)
        return frozenset(found)

    def changed_dims(self, j: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The dims that the reshape %j splits or merges: those of its operand, and those of %j."""
        (arg,) = self.block.nodes[j].args
        old, new = self.axis_names[arg], self.axis_names[j]
        changed = {*old} ^ {*new}
        kept = [[a for a in axes if a and a not in changed] for axes in (old, new)]
        if kept[0] != kept[1] or len({*kept[0]}) < len(kept[0]):
            changed = {*old} | {*new}
        changed.discard(None)
        left, right = (tuple(d for d, a in enumerate(axes) if a in changed) for axes in (old, new))
        return left, right

    def is_plain_reshape(self, j: int) -> bool:
        """Whether `tl.reshape` is right for %j: no dim that it splits or merges is padded."""
        (arg,) = self.block.nodes[j].args
        return not any(
            a and self.axes[a].is_padded
            for t, dims in zip((arg, j), self.changed_dims(j), strict=True)
            for a in (self.axis_names[t][d] for d in dims)
        )

    def padded(self, shape: AxisNames) -> tuple[int, ...]:
        """Extents in registers."""
        return tuple(self.axes[a].padded if a else 1 for a in shape)

    def largest_tile(self, j: int) -> tuple[int, ...]:
        """Extents of the largest tile that %j needs; a product that is not on `tl.dot` has one dim more."""
        if not isinstance(self.block.nodes[j].op, MatMul) or j in self.dots:
            return self.padded(self.shapes[j])
        a, b = (self.padded(self.shapes[x]) for x in self.block.nodes[j].args)
        batch = [max(p, q) for p, q in zip(_pad_rank(a, len(b))[:-2], _pad_rank(b, len(a))[:-2], strict=True)]
        return (*batch, a[-2], a[-1], b[-1])

    def is_staged(self, j: int) -> bool:
        """Whether only `tl.dot` reads the loaded tile %j, so that it goes through shared memory, not registers."""
        readers = self.readers[j]
        return isinstance(self.block.nodes[j].op, Load) and bool(readers) and set(readers) <= self.dots

    @cached_property
    def describable(self) -> frozenset[int]:
        """Loaded tiles that TMA can read; see `why_not_described`."""
        return frozenset(j for j in range(len(self.block.nodes)) if not self.why_not_described(j))

    def why_not_described(self, j: int) -> str:
        """Why %j is not read by TMA; empty if it can be.

        What TMA reads goes to shared memory, so only operands of products are read by it, and only in a loop, where a
        descriptor is used often. Outside the tensor it reads zeros. Inside, the padding would hold the next tile.
        """
        load = self.block.nodes[j].op
        if not isinstance(load, Load) or load.operand in self.bands or not self.is_staged(j):
            return "no tile that only products read"
        if self.sections[j] != "loop":
            return "not loaded in a loop"
        operand = self.operands[load.operand]
        size, order = BYTES[operand.dtype], operand.storage_order
        shape, strides = operand.shape_at(self.sizes), operand.strides_at(self.sizes)
        if operand.dtype == "bool" or len(order) > TMA_DIMS:
            return f"a tensor of {len(order)} dims of {operand.dtype}"
        if strides[order[-1]] != 1:
            return f"elements of a row are {strides[order[-1]]} apart"
        if wrong := [s * size for s in (strides[d] for d in order[:-1]) if s <= 0 or s * size % TMA_BYTES]:
            return f"rows are {wrong[0]} bytes apart, no multiple of {TMA_BYTES}"
        axes = [self.axes[axis] if axis else None for axis in self.axis_names[j]]
        row = axes[order[-1]]
        row_bytes = size * (row.padded if row else 1)
        if row_bytes < TMA_BYTES:
            return f"rows of {row_bytes} bytes, the least are {TMA_BYTES}"
        for axis, extent in zip(axes, shape, strict=True):
            if axis and axis.is_padded and axis.extent != extent:
                return f"{axis.extent} of {extent} {axis.name} are padded to {axis.padded}"
        return ""

    @property
    def cuts(self) -> Iterator[tuple[str, int | None, bool]]:
        """Per dim of each loaded tile with an axis: the axis, the grid dim that cuts it, and whether the loop does."""
        for j, node in enumerate(self.block.nodes):
            if isinstance(node.op, Load):
                names = self.axis_names[j]
                for axis, (grid, looped) in zip(names, partitions(node.op, len(names)), strict=True):
                    if axis is not None:
                        yield axis, grid, looped

    @property
    def staged_bytes(self) -> int:
        """Shared memory for the tiles of one iteration; pipelining holds several iterations of them."""
        staged = (j for j in range(len(self.block.nodes)) if self.is_staged(j))
        return sum(prod(self.largest_tile(j)) * BYTES[self.types[j].dtype] for j in staged)


def plan_kernels(
    graph: SGraph,
    sizes: Mapping[str, int],
    parameters: Parameters,
    target: Target | None = None,
    dots: Mapping[int, frozenset[int]] | None = None,
) -> tuple[BlockPlan, ...] | Obstacle:
    """A plan per custom kernel, or why there is none.

    Args:
        graph: with closed maps.
        sizes: for every symbol of the graph.
        parameters: for its schedule; see `SCHEDULE`.
        target: the GPU whose limits apply; without one, only Triton's own limits are checked.
        dots: per custom kernel, the products on `tl.dot`, where it can express them; chosen by extents if omitted.

    Raises:
        ShapeError: the maps are open, or a symbol has no size.
    """
    if graph.is_open:
        raise ShapeError("this sGraph's maps are still open; write the kernel of one of its candidates")
    missing = sorted({*graph.parameters, *graph.data_symbols} - set(sizes))
    if missing:
        raise ShapeError(f"no number for {', '.join(missing)}; given are {', '.join(sorted(sizes)) or 'none'}")
    schedule = schedule_of(parameters)
    precision = PRECISIONS.get(schedule["tf32_products"])
    if precision is None:
        known = " or ".join(map(str, PRECISIONS))
        return Obstacle("tune.illegal", f"tf32_products={schedule['tf32_products']}; it must be {known}")
    if schedule["tma"] not in (0, 1):
        return Obstacle("tune.illegal", f"tma={schedule['tma']}; it must be 0 or 1")
    try:
        for t in graph.types():
            for d in t.dims:
                d.value(sizes)
        stored = stored_types(graph)
        plans = tuple(
            _plan(graph, position, stored, sizes, precision, None if dots is None else dots[position])
            for position, _ in graph.customs
        )
    except ShapeError as failure:
        return Obstacle("tune.illegal", str(failure))
    if schedule["tma"]:
        if reason := why_no_tma(plans, target):
            return Obstacle("tune.illegal", f"tma=1: {reason}")
        plans = tuple(replace(plan, described=plan.describable) for plan in plans)
    return _unsupported(plans) or _constant_obstacle(graph) or _first_obstacle(plans, schedule, target) or plans


def why_no_tma(plans: Sequence[BlockPlan], target: Target | None) -> str:
    """Why no tile of these kernels can be read by TMA on the GPU; empty if one can."""
    architecture = architecture_of(target.name) if target else None
    if architecture is not None and not architecture.has_tma:
        return f"{architecture.name} has no TMA"
    if any(plan.describable for plan in plans):
        return ""
    staged = [(plan, j) for plan in plans for j in range(len(plan.block.nodes)) if plan.is_staged(j)]
    reasons = [f"%{j} of kernel %{plan.position}: {plan.why_not_described(j)}" for plan, j in staged]
    return "; ".join(reasons) or "no tile that only products read"


def with_tma_constant(plans: Iterable[BlockPlan], described: Mapping[int, frozenset[int]]) -> tuple[BlockPlan, ...]:
    """The plans with these tiles, by kernel, read by TMA or through pointers, as the kernel's constant `TMA` has it."""
    return tuple(replace(p, described=described.get(p.position, frozenset()), has_tma_constant=True) for p in plans)


def schedule_of(parameters: Parameters) -> dict[str, int]:
    """The values of `SCHEDULE`'s choices; the default of one that the schedule lacks."""
    chosen = dict(parameters.schedule)
    return {name: chosen.get(name, default) for name, default in SCHEDULE.items()}


def _plan(
    graph: SGraph,
    position: int,
    stored: tuple[TensorType, ...],
    sizes: Mapping[str, int],
    precision: str,
    wanted: frozenset[int] | None,
) -> BlockPlan:
    node = graph.nodes[position]
    kernel_types = graph.types()
    block = dict(graph.customs)[position]
    has_symbolic_ops = any(op_sizes(n.op) for _, n in walk(graph) if not isinstance(n.op, Input))
    numeric = graph.substitute(sizes) if has_symbolic_ops else graph
    numeric_block = dict(numeric.customs)[position]
    bands = {o: op for o, a in enumerate(node.args) if isinstance(op := numeric.nodes[a].op, Band)}
    types = block_types(block, tuple(kernel_types[a] for a in node.args))
    dims = tuple(tuple(d.value(sizes) for d in t.dims) for t in types)
    axis_names = tile_axes(graph, position)
    extents = {
        a: n for names, tile in zip(axis_names, dims, strict=False) for a, n in zip(names, tile, strict=True) if a
    }
    padded = {a: 1 << (n - 1).bit_length() for a, n in extents.items()}
    _pad_products(block, axis_names, types, padded, wanted)
    axes = {a: TileAxis(a, n, padded[a]) for a, n in extents.items()}
    shapes = _shapes(block, axis_names, axes)
    iterations = block.loop.size.value(sizes) if block.loop else 1
    dots = frozenset(
        j
        for j, n in enumerate(block.nodes)
        if isinstance(n.op, MatMul)
        and (wanted is None or j in wanted)
        and _is_dot([shapes[a] for a in n.args], types[j], padded)
    )
    readers = consumers(block.nodes)
    accumulated = frozenset(
        j for j, n in enumerate(block.nodes) if isinstance(n.op, MatMul) and is_only_summed(block.nodes, readers[j], j)
    )
    return BlockPlan(
        position=position,
        sizes=sizes,
        block=block,
        numeric_block=numeric_block,
        operands=tuple(stored[a] for a in node.args),
        results=tuple(
            types[store] if n is None else stored[n]
            for store, n in zip(block.stores, result_positions(graph, position), strict=True)
        ),
        bands=bands,
        grid=tuple(p.size.value(sizes) for p in block.grid),
        iterations=iterations,
        types=types,
        dims=dims,
        axes=axes,
        axis_names=axis_names,
        shapes=shapes,
        sections=_sections(block, iterations),
        dots=dots,
        accumulated_products=accumulated if iterations > 1 else frozenset(),
        precision=precision,
    )


def stored_types(graph: SGraph) -> tuple[TensorType, ...]:
    """The type of each tensor of a kernel graph in memory, by position.

    A result that only other custom kernels read, and there no product, is stored in float32: it may be a partial sum,
    which 16 bits would round once more. Operands of products are 16-bit numbers on tensor cores anyway.
    """
    types, readers = list(graph.types()), consumers(graph.nodes)
    for n, node in enumerate(graph.nodes):
        is_temporary = isinstance(node.op, Custom | Result) and n not in graph.outputs
        if is_temporary and types[n].dtype in ("bf16", "f16") and all(_keeps_f32(graph, n, r) for r in readers[n]):
            types[n] = replace(types[n], dtype="f32")
    return tuple(types)


def _keeps_f32(graph: SGraph, tensor: int, reader: int) -> bool:
    """Whether a node reads a tensor as numbers, not as the operand of a product; a `Result` reads another tensor."""
    node = graph.nodes[reader]
    match node.op:
        case Result():
            return True
        case Custom(block):
            inner = consumers(block.nodes)
            return not any(
                isinstance(block.nodes[r].op, MatMul)
                for j, loaded in enumerate(block.nodes)
                if isinstance(loaded.op, Load) and node.args[loaded.op.operand] == tensor
                for r in inner[j]
            )
        case _:
            return False


def result_positions(graph: SGraph, position: int) -> tuple[int | None, ...]:
    """Per store of a custom kernel, the position of its result in the kernel graph; None where no node reads it."""
    block = dict(graph.customs)[position]
    shown = {0: position}
    for n, node in enumerate(graph.nodes):
        if isinstance(node.op, Result) and node.args[0] == position:
            shown.setdefault(node.op.index, n)
    return tuple(shown.get(k) for k in range(len(block.stores)))


def _pad_products(
    block: BlockGraph,
    axis_names: tuple[AxisNames, ...],
    types: tuple[TensorType, ...],
    padded: dict[str, int],
    wanted: frozenset[int] | None,
) -> None:
    """Pad small extents to `DOT_EXTENT` for the `wanted` products, else where the additional work is affordable."""
    for j, node in enumerate(block.nodes):
        if not isinstance(node.op, MatMul) or types[j].dtype == "f64":
            continue
        a, b = (axis_names[x] for x in node.args)
        sides = dict.fromkeys((a[-2], a[-1], b[-1]))
        if None in sides:
            continue
        raised = {s: max(DOT_EXTENT, padded[s]) for s in sides if s}
        is_affordable = prod(raised.values()) <= DOT_PADDING * prod(padded[s] for s in raised)
        if is_affordable if wanted is None else j in wanted:
            padded.update(raised)


def _is_dot(operands: list[AxisNames], result: TensorType, padded: Mapping[str, int]) -> bool:
    a, b = operands
    sides = (a[-2], a[-1], b[-1])
    return (
        result.dtype != "f64"
        and max(len(a), len(b)) <= 3
        and all(s is not None and padded[s] >= DOT_EXTENT for s in sides)
    )


def _shapes(
    block: BlockGraph, axis_names: tuple[AxisNames, ...], axes: Mapping[str, TileAxis]
) -> tuple[AxisNames, ...]:
    shapes: list[AxisNames] = []
    for j, node in enumerate(block.nodes):
        if isinstance(node.op, Store):
            shapes.append(shapes[node.args[0]])
        elif isinstance(node.op, Permute | Reshape | Expand):
            shapes.append(axis_names[j])
        elif isinstance(node.op, Load) or (
            isinstance(node.op, Slice) and isinstance(block.nodes[node.args[0]].op, Load)
        ):
            shape = axis_names[j]
            while len(shape) > 2 and (shape[0] is None or axes[shape[0]].padded == 1):
                shape = shape[1:]
            shapes.append(shape)
        else:
            rank = max(len(shapes[a]) for a in node.args)
            if isinstance(node.op, Concat):
                rank = max(rank, len(axis_names[j]) - node.op.dim)
            shapes.append(axis_names[j][len(axis_names[j]) - rank :])
    return tuple(shapes)


def _sections(block: BlockGraph, iterations: int) -> tuple[Section, ...]:
    """Code motion: a loop-invariant node moves before the loop, or after it if only nodes after the loop read it."""
    if iterations == 1:
        return ("before",) * len(block.nodes)
    when = phases(block)
    readers = consumers(block.nodes)
    sections: dict[int, Section] = {}
    for j in range(len(block.nodes) - 1, -1, -1):
        accumulated = any(isinstance(block.nodes[c].op, Accumulate | AccumulateRescaled) for c in readers[j])
        in_loop = accumulated or any(sections[c] in ("loop", "before") for c in readers[j])
        match when[j]:
            case "loop":
                sections[j] = "loop"
            case "invariant" if in_loop:
                sections[j] = "before"
            case _:
                sections[j] = "after"
    return tuple(sections[j] for j in range(len(block.nodes)))


def _unsupported(plans: tuple[BlockPlan, ...]) -> Obstacle | None:
    """The first operator of a custom kernel that Triton cannot express: a band without two dims."""
    for plan in plans:
        for j, node in enumerate(plan.block.nodes):
            if isinstance(node.op, Load) and node.op.operand in plan.bands and len(plan.shapes[j]) < 2:
                where = f"kernel %{plan.position}: the Triton backend has no {op_name(node.op)} (%{j}) here"
                return Obstacle("tune.unsupported", f"{where}: a band has two dims")
    return None


def _constant_obstacle(graph: SGraph) -> Obstacle | None:
    for _, node in walk(graph):
        if isinstance(node.op, Scalar):
            try:
                float(node.op.value)
            except OverflowError:
                return Obstacle("tune.illegal", "a constant of the program is beyond float64")
    return None


def _first_obstacle(
    plans: tuple[BlockPlan, ...], schedule: Mapping[str, int], target: Target | None
) -> Obstacle | None:
    warps, stages = schedule["num_warps"], schedule["num_stages"]
    most = (target.max_threads if target else 1024) // 32
    if warps < 1 or warps & (warps - 1) or warps > most:
        return Obstacle("tune.illegal", f"num_warps={warps}; it must be a power of two, at most {most}")
    if stages < 1:
        return Obstacle("tune.illegal", f"num_stages={stages}; it must be at least 1")
    for plan in plans:
        reason = _grid_reason(plan, target) or _tile_reason(plan, warps, target)
        if reason:
            return Obstacle("tune.illegal", f"kernel %{plan.position}: {reason}")
    return None


def _grid_reason(plan: BlockPlan, target: Target | None) -> str | None:
    if len(plan.grid) > len(MAX_GRID):
        return f"{len(plan.grid)} grid dims; a GPU has {len(MAX_GRID)}"
    for p, n, most in zip(plan.block.grid, plan.grid, MAX_GRID, strict=False):
        if n > most:
            return f"{n} blocks along {p.name}; at most {most}"
    if target and prod(plan.grid) > target.max_blocks:
        return f"{prod(plan.grid)} blocks; {target.name} takes {target.max_blocks}"
    return None


def _tile_reason(plan: BlockPlan, warps: int, target: Target | None) -> str | None:
    """A tile that exceeds Triton's limit, the threads' registers or the shared memory."""
    for j, node in enumerate(plan.block.nodes):
        if isinstance(node.op, Accumulate | AccumulateRescaled | RunningMax | Store) and not plan.shapes[j]:
            return f"%{j} is a tensor without dims; give it a dim of size 1"
        shape = plan.largest_tile(j)
        elements = prod(shape)
        stored = elements * BYTES[plan.types[j].dtype]
        if elements > MAX_TILE:
            return f"tile %{j} of {_extents_text(shape)} has {elements} elements, Triton takes {MAX_TILE}"
        if plan.is_staged(j):
            if target and stored > target.shared_memory_bytes:
                return (
                    f"tile %{j} of {_extents_text(shape)} takes {stored} bytes of shared memory, "
                    f"{target.name} has {target.shared_memory_bytes} per block"
                )
        elif elements > MAX_PER_THREAD * 32 * warps:
            return (
                f"tile %{j} of {_extents_text(shape)} is {elements // (32 * warps)} numbers per thread "
                f"at num_warps={warps}, the limit is {MAX_PER_THREAD}"
            )
    return None


def _pad_rank(shape: tuple[int, ...], rank: int) -> tuple[int, ...]:
    return (1,) * (rank - len(shape)) + shape


def _extents_text(extents: tuple[int, ...]) -> str:
    return " x ".join(map(str, extents))
