"""Traffic, arithmetic, memory and launches of every kernel of a graph, as symbolic counts.

Each count is a `Dim` in the program's symbols, the grid sizes and the loop ranges. There are two kinds.

*As written* is exactly what the block interpreter does: every block loads its tiles in every iteration.
*Least* is a lower bound for all code of the same graph:

* a value that several blocks, iterations or operators compute is computed once;
* an operand is read once; if only slices read it, the first slice counts;
* masked elements are not computed, and with the exception in `_masked_positions` not read;
* operators that no result depends on do not count;
* of a block's memory, only what it must hold at one time counts (see `least_scratch`).

So least is never above as written, at any legal sizes. A code generator may hoist, share, skip and reuse, and still
cannot go below, unless it changes the algebra of the graph (which is then another family). Each kernel is counted
alone: it writes its results in full, and nothing is assumed about the values that it reads.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from math import prod
from typing import Literal, TypeAlias

from prism_explore.ir.dims import ONE, ZERO, Dim, dim
from prism_explore.ir.elementwise import BINARY, COMMUTATIVE, UNARY
from prism_explore.ir.graph import SGraph, block_types, consumers, needed_by, phases
from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    Band,
    Binary,
    BlockGraph,
    ComputeOp,
    Concat,
    Custom,
    Expand,
    Input,
    Load,
    Lookup,
    LoopOp,
    MatMul,
    Node,
    Op,
    Permute,
    Reduce,
    ReduceFn,
    Reshape,
    Result,
    RunningMax,
    Scalar,
    Scan,
    Slice,
    Store,
    Unary,
)
from prism_explore.ir.tensors import BYTES, TensorType
from prism_explore.support.caches import memoize

Turn: TypeAlias = Literal["alone", "loop", "once"]
"""Whether a load feeds a matrix product that is chained with another of its block, one reading the result of the other:
`loop` in the loop, `once` outside of it; `alone` if it feeds no such product."""


@dataclass(frozen=True, slots=True)
class LoadWork:
    """The bytes of one operand that all blocks together read."""

    tensor: int
    """Kernel-level position."""
    bytes: Dim
    """As written: over all blocks and iterations, repetitions counted."""
    least_bytes: Dim
    """The least: each element once."""
    row_bytes: Dim
    """Contiguous bytes of a tile."""
    tile_bytes: Dim
    """One block's tile in one iteration."""
    turn: Turn = "alone"


@dataclass(frozen=True, slots=True)
class KernelWork:
    """One kernel of a graph, counted symbolically."""

    position: int
    reads: tuple[int, ...]
    """Positions of the kernel-level tensors, each once."""
    least_flops: Dim
    """The least."""
    executed_flops: Dim
    """As written: by every block, in every iteration."""
    loads: tuple[LoadWork, ...]
    written_bytes: Dim
    """Bytes of its results, each once: the least."""
    store_bytes: Dim
    """As written: where several blocks store the same, each counts."""
    accumulator_bytes: Dim
    """The accumulators of one block."""
    blocks: Dim
    iterations: Dim
    steps: Dim
    """The operators executed, over all blocks and iterations."""


@memoize(4096)
def work_of(graph: SGraph) -> tuple[KernelWork, ...]:
    """The work of every kernel whose result is used, in order.

    A band is computed where it is read, also through views. A further result is written by its kernel. A view has no
    arithmetic, and its traffic counts in the kernels that read it; but a concatenation is a kernel of its own.
    """
    types = graph.types()
    needed = needed_by(graph.nodes, graph.outputs)
    computed = _positions_of_bands(graph)
    found: list[KernelWork] = []
    for position, node in enumerate(graph.nodes):
        if position not in needed or isinstance(node.op, Input | Band | Result | Permute | Reshape | Expand | Slice):
            continue
        operands = tuple(types[a] for a in node.args)
        match node.op:
            case Custom(block):
                bands = {n: op for n, a in enumerate(node.args) if isinstance(op := graph.nodes[a].op, Band)}
                free = {n for n, a in enumerate(node.args) if a in computed}
                found.append(_custom_work(position, node, block, operands, bands, free))
            case Lookup(along):
                table, integers = operands
                size = types[position].bytes
                row = table.bytes / table.dims[along]  # the least: all positions may be the same
                loads = (
                    LoadWork(node.args[0], size, row, size, size),
                    LoadWork(node.args[1], integers.bytes, integers.bytes, integers.bytes, integers.bytes),
                )
                found.append(KernelWork(position, node.args, ZERO, ZERO, loads, size, size, ZERO, ONE, ONE, ONE))
            case Load() | Store() | Accumulate() | AccumulateRescaled() | RunningMax():
                raise AssertionError("SGraph refuses block-level operators")
            case op:
                flops = flops_of(op, tuple(t.dims for t in operands), types[position].dims)
                reads = tuple(a for a in dict.fromkeys(node.args) if a not in computed)
                sizes = {a: types[a].bytes for a in reads}
                masked = node.args[:1] if op == Binary("mask") else ()
                least = {a: ZERO if a in masked else sizes[a] for a in reads}
                loads = tuple(LoadWork(a, sizes[a], least[a], sizes[a], sizes[a]) for a in node.args if a in sizes)
                size, least_flops = types[position].bytes, ZERO if masked else flops
                found.append(KernelWork(position, reads, least_flops, flops, loads, size, size, ZERO, ONE, ONE, ONE))
    return tuple(found)


def flops_of(op: ComputeOp, operands: tuple[tuple[Dim, ...], ...], result: tuple[Dim, ...]) -> Dim:
    """Arithmetic of one operator, the first term of a sum not counted as an addition; comparisons count.

    Shapes: `* m k, * k n -> * m n` costs m n (2k - 1)
    """
    elements = prod(result, start=ONE)
    match op:
        case Unary(fn):
            return elements * UNARY[fn].flops
        case Scalar():
            return elements
        case Binary(fn):
            return elements * BINARY[fn].flops
        case MatMul():
            return elements * (operands[0][-1] * 2 - 1)
        case Reduce(fn, along):
            return elements * (_reduce_flops(fn, operands[0][along]) + finish_flops(fn))
        case Scan(_, along):
            return elements / result[along] * (result[along] - 1)
        case Permute() | Reshape() | Expand() | Slice() | Concat():
            return ZERO


def _reduce_flops(fn: ReduceFn, count: Dim) -> Dim:
    return count * 2 - 1 if fn == "rms" else count - 1


def finish_flops(fn: ReduceFn) -> int:
    """The operations on each sum at the end of a reduction."""
    return {"sum": 0, "max": 0, "mean": 1, "rms": 2}[fn]


def _positions_of_bands(graph: SGraph) -> set[int]:
    """Positions of bands and of views of nothing but bands."""
    found: set[int] = set()
    for position, node in enumerate(graph.nodes):
        match node.op:
            case Band():
                found.add(position)
            case Permute() | Reshape() | Expand() | Slice() if found.issuperset(node.args):
                found.add(position)
            case _:
                pass
    return found


def _custom_work(
    position: int,
    node: Node,
    block: BlockGraph,
    operands: tuple[TensorType, ...],
    bands: dict[int, Band],
    free: Collection[int],
) -> KernelWork:
    """The work of one custom kernel.

    Args:
        position: of the kernel.
        node: the kernel.
        block: its block graph.
        operands: types of its operands.
        bands: the operands that are bands, by number.
        free: the numbers of operands that are computed in place and not loaded.
    """
    counts = _BlockCounts(block, block_types(block, operands))
    types, blocks, iterations = counts.types, counts.blocks, counts.iterations
    needed = needed_by(block.nodes, block.stores)
    repeated = _repeated_positions(block)
    hidden, unread = _masked_positions(block, operands, bands)
    chained = _feeding_chained_products(block)
    least_flops = executed_flops = steps = accumulator_bytes = ZERO
    loads: list[LoadWork] = []
    for at, inner in enumerate(block.nodes):
        if at not in needed:
            continue
        in_loop = counts.phases[at] == "loop"
        repeats = iterations if in_loop else ONE
        match inner.op:
            case Load(operand):
                steps = steps + blocks * repeats
                if operand not in free:
                    tile = types[at]
                    least_bytes = ZERO if at in unread else _read_bytes(block, types, at) * counts.distinct(at)
                    turn: Turn = "alone" if at not in chained else "loop" if in_loop else "once"
                    row_bytes = _row_bytes(tile, operands[operand])
                    total = tile.bytes * blocks * repeats
                    loads.append(LoadWork(node.args[operand], total, least_bytes, row_bytes, tile.bytes, turn))
                continue
            case Accumulate() | AccumulateRescaled() | RunningMax() as op:
                steps = steps + blocks * iterations
                accumulator_bytes = accumulator_bytes + types[at].bytes
                least, as_written = counts.loop_flops(at, op)
            case Input() | Band() | Lookup() | Custom() | Result() | Store():
                continue
            case op:
                steps = steps + blocks * repeats
                tile_flops = flops_of(op, tuple(types[a].dims for a in inner.args), types[at].dims)
                least, as_written = tile_flops * counts.distinct(at), tile_flops * blocks * repeats
        executed_flops = executed_flops + as_written
        if at not in hidden and at not in repeated:
            least_flops = least_flops + least
    return KernelWork(
        position,
        tuple(dict.fromkeys(load.tensor for load in loads)),
        least_flops,
        executed_flops,
        tuple(loads),
        sum((types[store].bytes for store in block.stores), ZERO),
        sum((types[block.nodes[store].args[0]].bytes for store in block.stores), ZERO) * blocks,
        accumulator_bytes,
        blocks,
        iterations,
        steps,
    )


class _BlockCounts:
    """The number of blocks and iterations of a block graph, and how often each of its values is computed."""

    def __init__(self, block: BlockGraph, types: tuple[TensorType, ...]) -> None:
        self.types, self.phases = types, phases(block)
        self.blocks = prod((p.size for p in block.grid), start=ONE)
        self.iterations = block.loop.size if block.loop else ONE
        self._nodes, self._varying = block.nodes, _varying_dims(block)
        self._size = {p.name: p.size for p in block.parallel}
        self._loop = block.loop.name if block.loop else ""

    def distinct(self, at: int) -> Dim:
        """The number of different tiles that a tensor has in all blocks and iterations."""
        return prod((self._size[name] for name in self._varying[at]), start=ONE)

    def loop_flops(self, at: int, op: LoopOp) -> tuple[Dim, Dim]:
        """The arithmetic of an accumulator or a running maximum: the least, and as written."""
        (source, *_), iterations, elements = self._nodes[at].args, self.iterations, self.types[at].elements
        tile = self.types[source].dims
        match op:
            case Accumulate(fn, along):
                in_tile = _reduce_flops(fn, tile[along]) if along is not None else ZERO
                total = iterations * in_tile + (iterations - 1) + finish_flops(fn)
                once = in_tile + finish_flops(fn)
                blocks = prod((self._size[name] for name in self._varying[at] if name != self._loop), start=ONE)
                least = elements * blocks * (total if self.phases[source] == "loop" else once)
                return least, elements * self.blocks * total
            case AccumulateRescaled(along):
                # Per iteration but the first: a product and a sum per result, a difference and an exp per scale.
                in_tile = _reduce_flops("sum", tile[along]) if along is not None else ZERO
                scale = self.types[self._nodes[at].args[1]]
                rescaling = elements * 2 + scale.elements * 2
                as_written = elements * in_tile * iterations + rescaling * (iterations - 1)
                return elements * in_tile * self.distinct(source), as_written * self.blocks
            case RunningMax(along):
                count = tile[along] if along is not None else ONE
                as_written = elements * (count * iterations - 1) * self.blocks
                return elements * (count - 1) * self.distinct(at), as_written


def least_scratch(block: BlockGraph, operands: tuple[TensorType, ...], staged: bool) -> Dim:
    """Bytes of scratch that no code for this block can do without.

    On a CPU these are the accumulators, because tiles are read in place. On a GPU (`staged`) accumulators are in
    registers, and the tiles of a matmul's operands are in shared memory.

    Units: elements * bytes / element = bytes
    """
    types = block_types(block, operands)
    fed = {a for n in block.nodes if isinstance(n.op, MatMul) for a in n.args}
    total = ZERO
    for position, node in enumerate(block.nodes):
        match node.op:
            case Accumulate() | AccumulateRescaled() | RunningMax() if not staged:
                total = total + types[position].bytes
            case Load() if staged and position in fed:
                total = total + types[position].bytes
            case _:
                pass
    return total


# ---------------------------------------------------------------- reductions of the least work
def _varying_dims(block: BlockGraph) -> list[tuple[str, ...]]:
    """For each block tensor, the grid dims and the loop that its value depends on."""
    looped = block.loop.name if block.loop else ""
    found: list[tuple[str, ...]] = []
    for node in block.nodes:
        names = dict.fromkeys(name for a in node.args for name in found[a])
        match node.op:
            case Load(_, imap, fmap):
                for p, along in zip(block.grid, imap or (), strict=False):
                    if along is not None:
                        names[p.name] = None
                if fmap is not None:
                    names[looped] = None
            case Accumulate() | AccumulateRescaled():
                names.pop(looped, None)
            case _:
                pass
        found.append(tuple(names))
    return found


def _repeated_positions(block: BlockGraph) -> set[int]:
    """Positions whose value an earlier position has, by the same operator on the same values.

    A running maximum and an accumulated one count as the same value, because the last running maximum is the other.
    """
    first: dict[tuple[Op, tuple[int, ...]], int] = {}
    values: list[int] = []
    for position, node in enumerate(block.nodes):
        args = tuple(values[a] for a in node.args)
        if isinstance(node.op, Binary) and node.op.fn in COMMUTATIVE:
            args = tuple(sorted(args))
        op = Accumulate("max", node.op.dim) if isinstance(node.op, RunningMax) else node.op
        values.append(first.setdefault((op, args), position))
    return {position for position, value in enumerate(values) if value != position}


def _feeding_chained_products(block: BlockGraph) -> set[int]:
    """Positions that feed a matrix product that another product of the block depends on, or that depends on another."""
    products = {at for at, n in enumerate(block.nodes) if isinstance(n.op, MatMul)}
    chained: set[int] = set()
    for at in products:
        if before := products & needed_by(block.nodes, block.nodes[at].args):
            chained |= {at, *before}
    feeds = set(chained)
    for at in range(len(block.nodes) - 1, -1, -1):
        if at in feeds:
            feeds.update(a for a in block.nodes[at].args if a not in products)
    return feeds


def _masked_positions(
    block: BlockGraph, operands: tuple[TensorType, ...], bands: dict[int, Band]
) -> tuple[set[int], set[int]]:
    """Positions whose work a kernel may skip at masked elements, and the loads among them that it may skip.

    A kernel may skip the values that a masked value depends on, the values that depend on it, and their other operands,
    such as a factor of 0. The exception: if each band contains the diagonal of a square, no row and no column is masked
    completely. Then an operand that has at most one of these dims is read completely. An operand that has both, such
    as scores or a bias, may be skipped; so may any operand if a view may move elements between rows and columns.
    """
    masks = [at for at, n in enumerate(block.nodes) if n.op == Binary("mask")]
    if not masks:
        return set(), set()
    affected = set(masks)
    for at, inner in enumerate(block.nodes):
        if affected & set(inner.args):
            affected.add(at)
    hidden = needed_by(block.nodes, affected)
    mask_operands = [block.nodes[block.nodes[at].args[1]].op for at in masks]
    mask_bands = [bands.get(op.operand) if isinstance(op, Load) else None for op in mask_operands]
    squares = {band.rows for band in mask_bands if band is not None and holds_diagonal(band)}
    moved = any(isinstance(block.nodes[at].op, Reshape | Slice | Concat) for at in hidden)
    known = not moved and all(band is not None and holds_diagonal(band) for band in mask_bands)
    unread: set[int] = set()
    for at in hidden:
        inner = block.nodes[at].op
        if isinstance(inner, Load) and (not known or may_be_hidden(operands[inner.operand].dims, squares)):
            unread.add(at)
    return hidden, unread


def holds_diagonal(band: Band) -> bool:
    """Whether a band is square and has its diagonal: low <= 0 <= high, whatever the symbols."""
    low, high = (band.low or ZERO), (band.high or ZERO)
    inside = all(c < 0 for _, c in low.terms) and all(c > 0 for _, c in high.terms)
    return band.rows == band.columns and inside


def may_be_hidden(dims: Iterable[Dim], squares: Collection[Dim]) -> bool:
    """Whether a tensor may have both the rows and the columns of a square mask of one of these sizes.

    That is the case if two of its dims may be multiples of the size; a dim with shares of partial sums is a multiple.
    """
    of = tuple(dims)
    return any(sum(_may_be_multiple(d, size) for d in of) > 1 for size in squares)


def _may_be_multiple(d: Dim, size: Dim) -> bool:
    if not size.is_monomial:
        return True
    return all(c.denominator == 1 and all(e > 0 for _, e in powers) for powers, c in (d / size).terms)


def _read_bytes(block: BlockGraph, types: tuple[TensorType, ...], load: int) -> Dim:
    """The bytes of a loaded tile that are read; if only slices read it, those of the first slice."""
    readers = consumers(block.nodes)[load]
    slices = [types[r].bytes for r in readers if isinstance(block.nodes[r].op, Slice)]
    return slices[0] if len(slices) == len(readers) and slices else types[load].bytes


def _row_bytes(tile: TensorType, full: TensorType) -> Dim:
    """Contiguous bytes of a tile: its fastest dims, up to and including the first one that is partitioned."""
    total = dim(BYTES[tile.dtype])
    dense = ONE
    for d in reversed(full.storage_order):
        if full.strides and full.strides[d] != dense:
            break
        total, dense = total * tile.dims[d], dense * full.dims[d]
        if tile.dims[d] != full.dims[d]:
            break
    return total
