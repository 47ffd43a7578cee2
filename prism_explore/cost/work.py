"""Traffic, arithmetic, memory and launches of every kernel of a graph, as symbolic counts.

Each figure is a `Dim` in the program's symbols, the grid sizes and the loop ranges. There are two kinds.

*As written* is what the block interpreter does, exactly: every block loads its tiles in every iteration.
*Least* is a lower bound for all code of the same graph:

* a value that blocks or iterations repeat is computed once, and so is one that two operators compute alike;
* an operand is read once, and of one that only slices look at, the largest slice;
* what a mask may hide is neither computed nor, but for the exception in `_masked`, read;
* operators that no result needs do not count;
* of a block's memory, only what it must hold at one time (see `least_scratch`).

So least is never above as written, at any legal sizes; and a code generator may hoist, share, skip and reuse
and still not go below, as long as it does not change the algebra of the graph (which is a family of its own).
Each kernel stands for itself: it writes its results in full, and takes what it reads for any numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
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
    Slice,
    Store,
    Unary,
)
from prism_explore.ir.tensors import BYTES, TensorType
from prism_explore.support.caches import memoize

Turn: TypeAlias = Literal["alone", "loop", "once"]
"""Whether a load feeds a product that takes turns with others of its block, one reading what another one makes: in the
loop, or once per block."""


@dataclass(frozen=True, slots=True)
class LoadWork:
    """What all blocks together read of one operand."""

    tensor: int
    """Kernel-level position."""
    bytes: Dim
    """As written: over all blocks and iterations, repetitions counted."""
    least_bytes: Dim
    """What must be read at least once."""
    row_bytes: Dim
    """Of one contiguous piece."""
    tile_bytes: Dim
    """Of one block's tile in one iteration."""
    turn: Turn = "alone"


@dataclass(frozen=True, slots=True)
class KernelWork:
    """One kernel of a graph, counted symbolically."""

    position: int
    reads: tuple[int, ...]
    """Kernel-level tensors, each once."""
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
    """Of one block."""
    blocks: Dim
    iterations: Dim
    steps: Dim
    """Operators run, over all blocks and iterations."""


@memoize(4096)
def work_of(graph: SGraph) -> tuple[KernelWork, ...]:
    """Every kernel of a graph whose result is used, in order.

    A band is computed where it is read, through views too, a further result is written by its kernel, and a view costs
    no arithmetic; what it moves counts in the kernels that read it. Only a concatenation is a kernel of its own.
    """
    types = graph.types()
    needed = needed_by(graph.nodes, (graph.output,))
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
            case Load() | Store() | Accumulate() | AccumulateRescaled() | RunningMax():
                raise AssertionError("SGraph refuses block-level operators")
            case op:
                flops = flops_of(op, tuple(t.dims for t in operands), types[position].dims)
                reads = tuple(a for a in dict.fromkeys(node.args) if a not in computed)
                sizes = {a: types[a].bytes for a in reads}
                hidden = node.args[:1] if op == Binary("mask") else ()
                least = {a: ZERO if a in hidden else sizes[a] for a in reads}
                loads = tuple(LoadWork(a, sizes[a], least[a], sizes[a], sizes[a]) for a in node.args if a in sizes)
                size, once = types[position].bytes, ZERO if hidden else flops
                found.append(KernelWork(position, reads, once, flops, loads, size, size, ZERO, ONE, ONE, ONE))
    return tuple(found)


def flops_of(op: ComputeOp, operands: tuple[tuple[Dim, ...], ...], result: tuple[Dim, ...]) -> Dim:
    """Arithmetic of one operator, the first term of a sum not counted as an addition; comparisons count.

    Shapes: `* m k, * k n -> * m n` costs m n (2k - 1)
    """
    elements = product(result)
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
        case Permute() | Reshape() | Expand() | Slice() | Concat():
            return ZERO


def _reduce_flops(fn: ReduceFn, count: Dim) -> Dim:
    return count * 2 - 1 if fn == "rms" else count - 1


def finish_flops(fn: ReduceFn) -> int:
    """What a reduction does to each sum in the end."""
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
    """One custom kernel; `bands` are those among its operands, by number, and `free` is what is computed in place."""
    types = block_types(block, operands)
    when = phases(block)
    needed = needed_by(block.nodes, block.stores)
    depends = _varying_dims(block)
    again = _repeated_positions(block)
    hidden, unread = _masked_positions(block, operands, bands)
    turning = _feeding_chained_products(block)
    blocks = product(p.size for p in block.grid)
    iterations = block.loop.size if block.loop else ONE
    size = {p.name: p.size for p in block.parallel}
    looped = block.loop.name if block.loop else ""
    flops = executed = steps = accumulators = ZERO
    loads: list[LoadWork] = []
    for at, inner in enumerate(block.nodes):
        if at not in needed:
            continue
        repeats = iterations if when[at] == "loop" else ONE
        distinct = product(size[name] for name in depends[at])
        once = together = ZERO
        match inner.op:
            case Load(operand):
                tile, source = types[at], operands[operand]
                if operand not in free:
                    least = ZERO if at in unread else _read_bytes(block, types, at) * distinct
                    total = tile.bytes * blocks * repeats
                    turn: Turn = "alone" if at not in turning else "loop" if when[at] == "loop" else "once"
                    loads.append(LoadWork(node.args[operand], total, least, _row_bytes(tile, source), tile.bytes, turn))
                steps = steps + blocks * repeats
            case Accumulate(fn, along):
                argument = types[inner.args[0]].dims
                elements = product(types[at].dims)
                partial = _reduce_flops(fn, argument[along]) if along is not None else ZERO
                all_iterations = iterations * partial + (iterations - 1) + finish_flops(fn)
                moving = when[inner.args[0]] == "loop"
                grid = product(size[name] for name in depends[at] if name != looped)
                once = elements * grid * (all_iterations if moving else partial + finish_flops(fn))
                together = elements * blocks * all_iterations
                steps = steps + blocks * iterations
                accumulators = accumulators + types[at].bytes
            case AccumulateRescaled(along):
                # Per iteration but the first, and result: a product with the factor, a sum; and an exponent per scale.
                v, scale = (types[a].dims for a in inner.args)
                partial = _reduce_flops("sum", v[along]) if along is not None else ZERO
                least_values = product(size[name] for name in depends[inner.args[0]])
                once = product(types[at].dims) * partial * least_values
                rescaled = product(types[at].dims) * 2 + product(scale) * 2
                terms = product(types[at].dims) * partial * iterations
                together = (terms + rescaled * (iterations - 1)) * blocks
                steps = steps + blocks * iterations
                accumulators = accumulators + types[at].bytes
            case RunningMax(along):
                count = types[inner.args[0]].dims[along] if along is not None else ONE
                once = product(types[at].dims) * (count - 1) * distinct
                together = product(types[at].dims) * (count * iterations - 1) * blocks
                steps = steps + blocks * iterations
                accumulators = accumulators + types[at].bytes
            case Input() | Band() | Custom() | Result() | Store():
                pass
            case op:
                tile_flops = flops_of(op, tuple(types[a].dims for a in inner.args), types[at].dims)
                once = tile_flops * distinct
                together = tile_flops * blocks * repeats
                steps = steps + blocks * repeats
        executed = executed + together
        if at not in hidden and at not in again:
            flops = flops + once
    return KernelWork(
        position,
        tuple(dict.fromkeys(load.tensor for load in loads)),
        flops,
        executed,
        tuple(loads),
        total_of(types[store].bytes for store in block.stores),
        total_of(types[block.nodes[store].args[0]].bytes for store in block.stores) * blocks,
        accumulators,
        blocks,
        iterations,
        steps,
    )


def least_scratch(block: BlockGraph, operands: tuple[TensorType, ...], staged: bool) -> Dim:
    """Bytes of scratch that no code for this block can do without.

    On a CPU these are the accumulators: tiles are read where they lie. On a GPU (`staged`) they live in
    registers, while the tiles of a matmul's operands pass through shared memory.

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


# ---------------------------------------------------------------- what is not compulsory
def _varying_dims(block: BlockGraph) -> list[tuple[str, ...]]:
    """For each block tensor, the grid dims and the loop that its value varies with."""
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
    """Positions whose value an earlier position has already, by the same operator on the same values.

    A running maximum ends as the accumulated one, so who has either has both.
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
    """Positions that feed a product which reads, or is read by, another product of the block."""
    products = {at for at, n in enumerate(block.nodes) if isinstance(n.op, MatMul)}
    chain: set[int] = set()
    for at in products:
        if before := products & needed_by(block.nodes, block.nodes[at].args):
            chain |= {at, *before}
    feeds = set(chain)
    for at in range(len(block.nodes) - 1, -1, -1):
        if at in feeds:
            feeds.update(a for a in block.nodes[at].args if a not in products)
    return feeds


def _masked_positions(
    block: BlockGraph, operands: tuple[TensorType, ...], bands: dict[int, Band]
) -> tuple[set[int], set[int]]:
    """Positions whose work a kernel may skip where it is masked, and the loads among them that it may skip as well.

    What leads to a masked value may be skipped with it, what is made of it too, and what meets that, such as a
    factor of 0. The exception: with the diagonal of a square in each band, every row and every column is let through
    somewhere, so an operand that lies along one of them at most is read all the same. One that lies along both, such
    as scores or a bias, is not; nor is any where a view may move elements between rows and columns.
    """
    masks = [at for at, n in enumerate(block.nodes) if n.op == Binary("mask")]
    if not masks:
        return set(), set()
    behind = set(masks)
    for at, inner in enumerate(block.nodes):
        if behind & set(inner.args):
            behind.add(at)
    hidden = needed_by(block.nodes, behind)
    keeps = [block.nodes[block.nodes[at].args[1]].op for at in masks]
    kept = [bands.get(k.operand) if isinstance(k, Load) else None for k in keeps]
    squares = {band.rows for band in kept if band is not None and holds_diagonal(band)}
    moved = any(isinstance(block.nodes[at].op, Reshape | Slice | Concat) for at in hidden)
    known = not moved and all(band is not None and holds_diagonal(band) for band in kept)
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
    """Whether a tensor may lie along both the rows and the columns of a square mask of one of these sizes.

    Where two of its dims may be, that is: multiples of the size, as shares of partial sums lie behind one another.
    """
    of = tuple(dims)
    return any(sum(_may_be_multiple(d, size) for d in of) > 1 for size in squares)


def _may_be_multiple(d: Dim, size: Dim) -> bool:
    if not size.is_monomial:
        return True
    return all(c.denominator == 1 and all(e > 0 for _, e in powers) for powers, c in (d / size).terms)


def _read_bytes(block: BlockGraph, types: tuple[TensorType, ...], load: int) -> Dim:
    """Bytes of a loaded tile that something looks at: of one that only slices read, the first slice's."""
    readers = consumers(block.nodes)[load]
    slices = [types[r].bytes for r in readers if isinstance(block.nodes[r].op, Slice)]
    return slices[0] if len(slices) == len(readers) and slices else types[load].bytes


# ---------------------------------------------------------------- sizes
def _row_bytes(tile: TensorType, whole: TensorType) -> Dim:
    """Contiguous bytes of a tile: its fastest dims, up to and with the first one that is cut."""
    total = dim(BYTES[tile.dtype])
    for d in reversed(whole.storage_order):
        total = total * tile.dims[d]
        if tile.dims[d] != whole.dims[d]:
            break
    return total


def total_of(sizes: Iterable[Dim]) -> Dim:
    """The sum of sizes."""
    total = ZERO
    for size in sizes:
        total = total + size
    return total


def product(sizes: Iterable[Dim]) -> Dim:
    """The product of sizes."""
    total = ONE
    for size in sizes:
        total = total * size
    return total
