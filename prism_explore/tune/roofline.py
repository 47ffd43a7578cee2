"""Roofline: the least time any kernel could take on a target, and a model of the likely time.

A kernel can finish no sooner than its arithmetic at peak rate, nor sooner than its compulsory traffic
at peak bandwidth. The larger of the two is a floor that needs no compiler and no run, so the tuner asks
for it first: a candidate whose floor is not below the incumbent's measured time is dropped unbuilt.

    floor_s = sum over kernels of max(flops / peak_flops_per_s, dram_bytes / dram_bytes_per_s)

The floor is optimistic by design and may keep a poor candidate. It never drops a good one as long as
times are taken with a cold cache (see measure.py) and the target's rates are true ceilings: from a warm
cache a kernel can outrun memory, and this bound would lie.

The *model* is another thing. It adds what is likely but not compulsory: tiles read again by other
blocks, blocks that do not fill the cores, short rows, the cost of an iteration. It only says what to try
first. Nothing is ever dropped because of it.

Source: Williams, Waterman and Patterson, "Roofline", CACM 52(4), 2009. Cold misses as a lower bound:
Hong and Kung, "I/O complexity: the red-blue pebble game", STOC 1981.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Literal, TypeAlias

from prism_explore.ir.dims import ONE, ZERO, Dim, dim
from prism_explore.ir.ops import (
    BINARY,
    UNARY,
    Accumulate,
    AccumulateRescaled,
    Band,
    Binary,
    ComputeOp,
    Concat,
    Custom,
    Expand,
    Input,
    Load,
    MatMul,
    Node,
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
from prism_explore.ir.sgraph import BlockGraph, SGraph, block_types, phases
from prism_explore.ir.stages import Candidate
from prism_explore.ir.tensors import BYTES, TensorType
from prism_explore.targets import Target

CACHE_OVER_DRAM = 4.0
"""How much faster the last cache is than memory, in the model; about right for server CPUs and GPUs."""

ROW_BYTES = 256
"""Length of a contiguous piece that is read at half the bandwidth, in the model. Measured on a Zen 4
virtual machine: 64-float pieces of a weight took 2.0 times as long as whole rows, 512-float ones 1.1 times."""

STEP_S = {"cpu": 2e-8, "gpu": 3e-7}
"""What one operator of one block costs beyond its arithmetic, in the model: loop control, latency."""


# ---------------------------------------------------------------- counting
@dataclass(frozen=True, slots=True)
class LoadWork:
    """What all blocks together read of one operand."""

    tensor: int
    """Kernel-level position."""
    bytes: Dim
    """Over all blocks and iterations, repetitions counted."""
    row_bytes: Dim
    """Of one contiguous piece."""


@dataclass(frozen=True, slots=True)
class KernelWork:
    """One kernel of a graph, counted symbolically."""

    position: int
    reads: tuple[int, ...]
    """Kernel-level tensors, each once."""
    flops: Dim
    """The least: work that several blocks or iterations repeat is counted once."""
    executed: Dim
    """As the block graph is written: by every block, in every iteration."""
    loads: tuple[LoadWork, ...]
    written: Dim
    """Bytes of its results, each once."""
    store_bytes: Dim
    accumulator_bytes: Dim
    """Of one block."""
    blocks: Dim
    iterations: Dim
    steps: Dim
    """Operators run, over all blocks and iterations."""


def work_of(graph: SGraph) -> tuple[KernelWork, ...]:
    """Every kernel of a graph whose result is used, in order.

    A band is computed where it is read, a further result is written by its kernel, and a view costs no
    arithmetic; what it moves counts in the kernels that read it. Only a concatenation is a kernel of its own.
    """
    types = graph.types()
    needed = _needed(graph.nodes, graph.output)
    found: list[KernelWork] = []
    for position, node in enumerate(graph.nodes):
        if position not in needed or isinstance(node.op, Input | Band | Result | Permute | Reshape | Expand | Slice):
            continue
        operands = tuple(types[a] for a in node.args)
        match node.op:
            case Custom(block):
                computed = frozenset(a for a in node.args if isinstance(graph.nodes[a].op, Band))
                found.append(_custom_work(position, node, block, operands, computed))
            case Load() | Store() | Accumulate() | AccumulateRescaled() | RunningMax():
                raise AssertionError("SGraph refuses block-level operators")
            case op:
                flops = flops_of(op, tuple(t.dims for t in operands), types[position].dims)
                reads = tuple(a for a in dict.fromkeys(node.args) if not isinstance(graph.nodes[a].op, Band))
                loads = tuple(LoadWork(a, types[a].bytes, types[a].bytes) for a in node.args if a in reads)
                size = types[position].bytes
                found.append(KernelWork(position, reads, flops, flops, loads, size, size, ZERO, ONE, ONE, ONE))
    return tuple(found)


def flops_of(op: ComputeOp, operands: tuple[tuple[Dim, ...], ...], result: tuple[Dim, ...]) -> Dim:
    """Arithmetic of one operator, the first term of a sum not counted as an addition; comparisons count.

    Shapes: `* m k, * k n -> * m n` costs m n (2k - 1)
    """
    elements = _product(result)
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
            return elements * (_reduce_flops(fn, operands[0][along]) + _finish_flops(fn))
        case Permute() | Reshape() | Expand() | Slice() | Concat():
            return ZERO


def _reduce_flops(fn: ReduceFn, count: Dim) -> Dim:
    return count * 2 - 1 if fn == "rms" else count - 1


def _finish_flops(fn: ReduceFn) -> int:
    return {"sum": 0, "max": 0, "mean": 1, "rms": 2}[fn]


def _custom_work(
    position: int, node: Node, block: BlockGraph, operands: tuple[TensorType, ...], computed: frozenset[int]
) -> KernelWork:
    """One custom kernel; what it loads of `computed` tensors is computed in place."""
    types = block_types(block, operands)
    when = phases(block)
    needed = set[int]().union(*(_needed(block.nodes, store) for store in block.stores))
    depends = _dependence(block)
    blocks = _product(p.size for p in block.grid)
    iterations = block.loop.size if block.loop else ONE
    size = {p.name: p.size for p in block.parallel}
    looped = block.loop.name if block.loop else ""
    flops = executed = steps = accumulators = ZERO
    loads: list[LoadWork] = []
    for at, inner in enumerate(block.nodes):
        if at not in needed:
            continue
        repeats = iterations if when[at] == "loop" else ONE
        distinct = _product(size[name] for name in depends[at])
        match inner.op:
            case Load(operand):
                tile, whole = types[at], operands[operand]
                total = tile.bytes * blocks * repeats
                if node.args[operand] not in computed:
                    loads.append(LoadWork(node.args[operand], total, _row_bytes(tile, whole)))
                steps = steps + blocks * repeats
            case Accumulate(fn, along):
                argument = types[inner.args[0]].dims
                elements = _product(types[at].dims)
                partial = _reduce_flops(fn, argument[along]) if along is not None else ZERO
                together = iterations * partial + (iterations - 1) + _finish_flops(fn)
                moving = when[inner.args[0]] == "loop"
                grid = _product(size[name] for name in depends[at] if name != looped)
                least = together if moving else partial + _finish_flops(fn)
                flops = flops + elements * grid * least
                executed = executed + elements * blocks * together
                steps = steps + blocks * iterations
                accumulators = accumulators + types[at].bytes
            case AccumulateRescaled(along):
                # Per iteration and result: a product with the factor, a sum; and an exponent per scale.
                v, scale = (types[a].dims for a in inner.args)
                partial = _reduce_flops("sum", v[along]) if along is not None else ZERO
                together = _product(types[at].dims) * (partial + 2) + _product(scale) * 2
                least = _product(size[name] for name in depends[inner.args[0]])
                flops = flops + _product(types[at].dims) * partial * least
                executed = executed + together * blocks * iterations
                steps = steps + blocks * iterations
                accumulators = accumulators + types[at].bytes
            case RunningMax(along):
                count = types[inner.args[0]].dims[along] if along is not None else ONE
                comparisons = _product(types[at].dims) * count
                flops = flops + (comparisons - _product(types[at].dims)) * distinct
                executed = executed + comparisons * blocks * iterations
                steps = steps + blocks * iterations
                accumulators = accumulators + types[at].bytes
            case Input() | Band() | Custom() | Result() | Store():
                pass
            case op:
                once = flops_of(op, tuple(types[a].dims for a in inner.args), types[at].dims)
                flops = flops + once * distinct
                executed = executed + once * blocks * repeats
                steps = steps + blocks * repeats
    return KernelWork(
        position,
        tuple(dict.fromkeys(load.tensor for load in loads)),
        flops,
        executed,
        tuple(loads),
        _total(types[store].bytes for store in block.stores),
        _total(types[block.nodes[store].args[0]].bytes for store in block.stores) * blocks,
        accumulators,
        blocks,
        iterations,
        steps,
    )


def _dependence(block: BlockGraph) -> list[tuple[str, ...]]:
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


def _total(sizes: Iterable[Dim]) -> Dim:
    total = ZERO
    for size in sizes:
        total = total + size
    return total


def _needed(nodes: tuple[Node, ...], output: int) -> set[int]:
    needed = {output}
    for position in range(output, -1, -1):
        if position in needed:
            needed.update(nodes[position].args)
    return needed


def _row_bytes(tile: TensorType, whole: TensorType) -> Dim:
    """Contiguous bytes of a tile: its fastest dims, up to and with the first one that is cut."""
    total = dim(BYTES[tile.dtype])
    for d in reversed(whole.storage_order):
        total = total * tile.dims[d]
        if tile.dims[d] != whole.dims[d]:
            break
    return total


def _product(sizes: Iterable[Dim]) -> Dim:
    total = ONE
    for size in sizes:
        total = total * size
    return total


# ---------------------------------------------------------------- the floor
@dataclass(frozen=True, slots=True)
class Floor:
    """A lower bound on a candidate's time for every choice of numbers, and the ceiling that sets it."""

    time_s: float
    bound_by: Literal["compute", "memory"]
    bytes: float
    """Compulsory traffic to and from memory."""
    flops: float
    """Least arithmetic."""


def floor_of(candidate: Candidate, shapes: Mapping[str, int], target: Target) -> Floor:
    """The least time this candidate could take at these shapes.

    Why it is a bound. Kernels run one after another, so their times add up. Within one, arithmetic and
    traffic may overlap fully, so the larger counts. Arithmetic is the candidate's own with all
    repetition between blocks and iterations taken out. Of the traffic only cold misses count: an input
    is not in any cache before the first kernel that reads it. What a kernel wrote or read before may
    still be in the last cache when it is read again, but no more of it than fits, so only the rest
    counts; likewise the result may still be in the cache, unwritten, when the clock stops. A view is what it
    views, but no larger than itself; of several views of one tensor the largest counts. Symbols that a
    tuner will choose stand for whatever makes each term least.

    Units: bytes / (bytes/s) = s, flops / (flops/s) = s

    Raises:
        ShapeError: a data symbol has no number in `shapes`.
    """
    graph = candidate.sgraph
    types = graph.types()
    inputs = {i for i, n in enumerate(graph.nodes) if isinstance(n.op, Input)}
    extents = [_least(d.substitute(shapes), {}) for t in types for d in t.dims]
    most = {symbol: max(extents, default=1.0) for symbol in graph.parameters}
    kept = float(target.last_cache_bytes)

    def size(tensor: int) -> float:
        return _least(types[tensor].bytes.substitute(shapes), most)

    def viewed(tensor: int) -> tuple[int, float]:
        """What a tensor shows, and how much of it."""
        node = graph.nodes[tensor]
        if isinstance(node.op, Band):
            return tensor, 0.0
        if isinstance(node.op, Permute | Reshape | Expand | Slice):
            root, shown = viewed(node.args[0])
            return root, min(shown, size(tensor))
        return tensor, size(tensor)

    read: set[int] = set()
    time_s = memory_s = compute_s = total_bytes = total_flops = 0.0
    for work in work_of(graph):
        traffic = max(0.0, _least(work.written.substitute(shapes), most) - kept)
        shown: dict[int, float] = {}
        for tensor in work.reads:
            root, bytes_ = viewed(tensor)
            shown[root] = max(shown.get(root, 0.0), bytes_)
        for tensor, bytes_ in shown.items():
            cold = tensor in inputs and tensor not in read
            traffic += bytes_ if cold else max(0.0, bytes_ - kept)
            read.add(tensor)
        flops = max(0.0, _least(work.flops.substitute(shapes), most))
        here_memory_s = traffic / target.dram_bytes_per_s
        here_compute_s = flops / target.peak(types[work.position].dtype)
        time_s += max(here_memory_s, here_compute_s)
        memory_s += here_memory_s
        compute_s += here_compute_s
        total_bytes += traffic
        total_flops += flops
    return Floor(time_s, "memory" if memory_s >= compute_s else "compute", total_bytes, total_flops)


def _least(size: Dim, most: Mapping[str, float]) -> float:
    """A number that `size` is never below when every symbol lies between 1 and its `most`."""
    total = 0.0
    for monomial, coefficient in size.terms:
        term = float(coefficient)
        for symbol, exponent in monomial:
            if (coefficient > 0) != (exponent > 0):
                term *= most[symbol] ** exponent
        total += term
    return total


# ---------------------------------------------------------------- the model
Evaluator: TypeAlias = Callable[[Mapping[str, int]], float]


@dataclass(frozen=True, slots=True)
class Modelled:
    """What the model says about one choice of numbers; every figure here is modelled."""

    time_s: float
    dram_bytes: float


@dataclass(frozen=True, slots=True)
class _KernelModel:
    flops: Evaluator
    loads: tuple[tuple[float, Evaluator, Evaluator], ...]
    """Bytes of the whole operand, bytes read by all blocks, bytes of a contiguous piece."""
    store_bytes: Evaluator
    accumulator_bytes: Evaluator
    blocks: Evaluator
    iterations: Evaluator
    steps: Evaluator
    peak_flops_per_s: float


class Model:
    """The likely time of one candidate as a function of its sizes; see `model_of`."""

    def __init__(self, kernels: tuple[_KernelModel, ...], target: Target) -> None:
        self._kernels = kernels
        self._target = target

    def at(self, sizes: Mapping[str, int]) -> Modelled:
        """The model's figures for one choice of sizes."""
        target = self._target
        time_s = dram = 0.0
        for kernel in self._kernels:
            blocks = kernel.blocks(sizes)
            idle = ceil(blocks / target.cores) * target.cores / blocks
            here_dram = here_cache = slowed = 0.0
            for whole, total_of, row_of in kernel.loads:
                total, row = total_of(sizes), row_of(sizes)
                from_dram = min(whole, total) if whole <= target.last_cache_bytes else total
                here_dram += from_dram
                here_cache += total - from_dram
                slowed += from_dram * (1 + ROW_BYTES / row)
            stored = kernel.store_bytes(sizes)
            sums = kernel.accumulator_bytes(sizes)
            if sums > target.caches_bytes[0] / 2:
                here_cache += 2 * sums * kernel.iterations(sizes) * blocks
            compute_s = kernel.flops(sizes) / kernel.peak_flops_per_s
            memory_s = (slowed + stored + here_cache / CACHE_OVER_DRAM) / target.dram_bytes_per_s
            step_s = kernel.steps(sizes) * STEP_S[target.kind] / target.cores
            # A root of squares: arithmetic and traffic overlap, but never quite.
            time_s += target.launch_s + idle * ((compute_s**2 + memory_s**2) ** 0.5 + step_s)
            dram += here_dram + stored
        return Modelled(time_s, dram)


def model_of(candidate: Candidate, shapes: Mapping[str, int], target: Target) -> Model:
    """The model of a candidate, with the shapes put in once so that thousands of sizes are quick.

    Raises:
        ShapeError: a data symbol has no number in `shapes`.
    """
    types = candidate.sgraph.types()

    def compiled(size: Dim) -> Evaluator:
        return evaluator(size.substitute(shapes))

    kernels: list[_KernelModel] = []
    for work in work_of(candidate.sgraph):
        loads = tuple(
            (
                float(types[load.tensor].bytes.rational(shapes)),
                compiled(load.bytes),
                compiled(load.row_bytes),
            )
            for load in work.loads
        )
        kernels.append(
            _KernelModel(
                compiled(work.executed),
                loads,
                compiled(work.store_bytes),
                compiled(work.accumulator_bytes),
                compiled(work.blocks),
                compiled(work.iterations),
                compiled(work.steps),
                target.peak(types[work.position].dtype),
            )
        )
    return Model(tuple(kernels), target)


def evaluator(size: Dim) -> Evaluator:
    """A size as a fast function of numbers, in floats; `Dim.rational` is the exact truth."""
    terms = tuple((float(Fraction(c)), m) for m, c in size.terms)

    def value(sizes: Mapping[str, int]) -> float:
        total = 0.0
        for coefficient, monomial in terms:
            for symbol, exponent in monomial:
                coefficient *= float(sizes[symbol]) ** exponent
            total += coefficient
        return total

    return value
