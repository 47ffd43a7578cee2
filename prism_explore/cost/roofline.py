"""Roofline: a lower bound on the time of a graph on a machine, complete or partial.

A kernel takes at least the time of its arithmetic at peak rate, and at least the time of its compulsory traffic at
peak bandwidth. All kernels together take at least the time of all arithmetic:

    time_s  = max(sum over kernels of max(flops / peak_flops_per_s, dram_bytes / dram_bytes_per_s),
                  flops of all kernels / peak_flops_per_s)

Why it is a bound. Kernels run one after another, so their times add up. Within one, arithmetic and traffic may
overlap fully, so the larger counts. Arithmetic is the least of `cost.work`. Of the traffic only cold misses count: an
input is not in any cache before the first kernel that reads it. What a kernel wrote or read before may still be in
the last cache when it is read again, but no more of it than fits, so only the rest counts; likewise the result may
still be in the cache, unwritten, when the clock stops. A view is what it views, but no larger than itself; of several
views of one tensor the largest counts. Symbols that a tuner will choose stand for whatever makes each term least. Of
all arithmetic the least is taken behind the sum: what one kernel sums in parts another one has to add, so parts that
are free in either alone are not in both.

Why it also bounds every graph that extends a partial graph (`TimeToBeat`). Operators are only added, and a graph is
complete only when everything in it is used. So the work in it is work of every graph that extends it, and each input
that it does not read yet is still to be read.

With masks that is not so: any operator may come to lie before or behind one, and what is hidden need not be done. So
no arithmetic counts in a partial graph of such a program. Traffic does, if each mask is a band with the diagonal of a
square: then every row and every column is let through somewhere, and what lies along one of them at most is read in
all its elements (as in `cost.work`, and on the same terms: no view may move elements between rows and columns). What
lies along both does not count, but for results, which are written in full. Of other masks nothing is known.

Assumptions: times are taken with a cold cache (see `tune.measure`), since from a warm one a kernel can outrun memory;
and that the machine's rates are ceilings. A datasheet's peaks are. Measured ones are the best that was seen, which a
shared machine may exceed later: a cut by them is marked *heuristic*, and where a kernel is faster than its bound, the
tuner uses no bound any more.

Source: Williams, Waterman and Patterson, "Roofline", CACM 52(4), 2009. Cold misses as a lower bound: Hong and Kung,
"I/O complexity: the red-blue pebble game", STOC 1981.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from prism_explore.cost.work import finish_flops, flops_of, holds_diagonal, may_be_hidden, product, work_of
from prism_explore.ir.dims import ZERO, Dim
from prism_explore.ir.graph import SGraph
from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    Band,
    Binary,
    ComputeOp,
    Concat,
    Expand,
    Input,
    LoopOp,
    MatMul,
    Permute,
    Reduce,
    Reshape,
    RunningMax,
    Slice,
)
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.tensors import DType, TensorType
from prism_explore.pipeline.stages import Candidate
from prism_explore.targets import Target


def rates_of(target: Target) -> str:
    """The rates that a cut by time assumes, as a sentence."""
    rates = f"{target.dram_bytes_per_s / 1e9:.4g} GB/s and {target.peak_flops_per_s / 1e9:.4g} Gflop/s"
    if target.measured:
        return f"It takes {rates} for limits, which are the best that was measured here and may be passed."
    return f"Limits are {rates}, as the figures of {target.name} say."


@dataclass(frozen=True, slots=True)
class TimeBound:
    """A lower bound on a graph's time for every choice of sizes, and the resource that sets it."""

    time_s: float
    bound_by: Literal["compute", "memory"]
    bytes: float
    """Compulsory traffic to and from memory."""
    flops: float
    """Least arithmetic."""


def time_bound_of(candidate: Candidate, shapes: Mapping[str, int], target: Target) -> TimeBound:
    """A lower bound on the time of a candidate at these shapes, for every choice of sizes.

    Units: bytes / (bytes/s) = s, flops / (flops/s) = s

    Raises:
        ShapeError: a data symbol has no size in `shapes`.
    """
    return time_bound_of_graph(candidate.sgraph, shapes, target)


def time_bound_of_graph(graph: SGraph, shapes: Mapping[str, int], target: Target) -> TimeBound:
    """The bound of an sGraph whose maps are chosen, or of a program with one kernel per operator."""
    types = graph.types()
    inputs = {i for i, n in enumerate(graph.nodes) if isinstance(n.op, Input)}
    extents = [lower_bound(d.substitute(shapes), {}) for t in types for d in t.dims]
    most = {symbol: max(extents, default=1.0) for symbol in graph.parameters}
    kept = float(target.last_cache_bytes)

    def size(d: Dim) -> float:
        return max(0.0, lower_bound(d.substitute(shapes), most))

    def viewed(tensor: int, shown: float) -> tuple[int, float]:
        """The tensor that a view shows, and how many bytes of it at most."""
        node = graph.nodes[tensor]
        if isinstance(node.op, Band):
            return tensor, 0.0
        shown = min(shown, size(types[tensor].bytes))
        if isinstance(node.op, Permute | Reshape | Expand | Slice):
            return viewed(node.args[0], shown)
        return tensor, shown

    arithmetic: dict[DType, Dim] = {}
    read: set[int] = set()
    time_s = memory_s = total_bytes = 0.0
    for work in work_of(graph):
        traffic = max(0.0, size(work.written_bytes) - kept)
        shown: dict[int, float] = {}
        for load in work.loads:
            root, bytes_ = viewed(load.tensor, size(load.least_bytes))
            shown[root] = max(shown.get(root, 0.0), bytes_)
        for tensor, bytes_ in shown.items():
            cold = tensor in inputs and tensor not in read
            traffic += bytes_ if cold else max(0.0, bytes_ - kept)
            read.add(tensor)
        dtype = types[work.position].dtype
        arithmetic[dtype] = arithmetic.get(dtype, ZERO) + work.least_flops
        here_s = traffic / target.dram_bytes_per_s
        time_s += max(here_s, size(work.least_flops) / target.peak(dtype))
        memory_s += here_s
        total_bytes += traffic
    flops = {dtype: size(total) for dtype, total in arithmetic.items()}
    compute_s = sum(count / target.peak(dtype) for dtype, count in flops.items())
    bound_by: Literal["compute", "memory"] = "memory" if memory_s >= compute_s else "compute"
    return TimeBound(max(time_s, compute_s), bound_by, total_bytes, sum(flops.values()))


def lower_bound(size: Dim, most: Mapping[str, float]) -> float:
    """A lower bound on `size` where every symbol lies between 1 and its `most`."""
    total = 0.0
    for monomial, coefficient in size.terms:
        term = float(coefficient)
        for symbol, exponent in monomial:
            if (coefficient > 0) != (exponent > 0):
                term *= most[symbol] ** exponent
        total += term
    return total


# ---------------------------------------------------------------- growing graphs
@dataclass(frozen=True, slots=True)
class PartialTimeBound:
    """A lower bound on the time of a partial graph, and so of every graph that extends it."""

    closed_s: float = 0.0
    """Of the closed kernels."""
    memory_s: float = 0.0
    """Of the open kernel: its loads."""
    compute_s: float = 0.0
    """Of the open kernel: its arithmetic so far."""
    unread_s: float = 0.0
    """Of the inputs that no kernel reads yet; a later one must."""

    @property
    def time_s(self) -> float:
        """The bound in seconds."""
        return self.closed_s + max(self.memory_s, self.compute_s) + self.unread_s


EMPTY = PartialTimeBound()


@dataclass(frozen=True, slots=True)
class TimeToBeat:
    """A time that a kernel has to stay below, at some shapes, on a machine; graphs that cannot are cut."""

    best_s: float
    shapes: tuple[tuple[str, int], ...]
    target: Target
    masks: frozenset[Dim] = frozenset()
    """Rows, and columns, of the masks: elements that a mask may hide need not be read."""
    warm: frozenset[int] = frozenset()
    """Inputs, by number, that earlier kernels of a sequence have written or read."""
    other_kernels_s: float = 0.0
    """A lower bound on the time of the other kernels of the sequence."""

    def without_operators(self, inputs: Iterable[TensorType]) -> PartialTimeBound:
        """The bound of the graph without operators, which must read these inputs."""
        return PartialTimeBound(self.other_kernels_s, unread_s=sum(map(self.read_s, inputs)))

    def read_s(self, tensor: TensorType) -> float:
        """Seconds to read an input from memory once; 0 where a mask may hide it."""
        return self._first_read_bytes(tensor) / self.target.dram_bytes_per_s

    def open_kernel(
        self, before: PartialTimeBound, cold: Iterable[TensorType], warm: Iterable[TensorType]
    ) -> PartialTimeBound:
        """The bound with one more open kernel, the first to read the `cold` inputs; it also reads the `warm` ones."""
        first_s = sum(map(self.read_s, cold))
        again_s = sum(map(self._later_read_bytes, warm)) / self.target.dram_bytes_per_s
        return PartialTimeBound(before.closed_s, first_s + again_s, 0.0, max(0.0, before.unread_s - first_s))

    def add_arithmetic(self, before: PartialTimeBound, flops: Dim, dtype: DType) -> PartialTimeBound:
        """The bound with more arithmetic in the open kernel; none where there are masks."""
        if self.masks:
            return before
        more_s = float(flops.rational(dict(self.shapes))) / self.target.peak(dtype)
        return replace(before, compute_s=before.compute_s + more_s)

    def close_kernel(self, before: PartialTimeBound, result: TensorType) -> PartialTimeBound:
        """The bound with the open kernel closed and its result written."""
        memory_s = before.memory_s + self._uncached_bytes(result) / self.target.dram_bytes_per_s
        return PartialTimeBound(before.closed_s + max(memory_s, before.compute_s), unread_s=before.unread_s)

    def _all_bytes(self, tensor: TensorType) -> float:
        return float(tensor.bytes.rational(dict(self.shapes)))

    def _first_read_bytes(self, tensor: TensorType) -> float:
        return 0.0 if may_be_hidden(tensor.dims, self.masks) else self._all_bytes(tensor)

    def _later_read_bytes(self, tensor: TensorType) -> float:
        return 0.0 if may_be_hidden(tensor.dims, self.masks) else self._uncached_bytes(tensor)

    def _uncached_bytes(self, tensor: TensorType) -> float:
        """The bytes that the last cache cannot hold."""
        return max(0.0, self._all_bytes(tensor) - self.target.last_cache_bytes)


def time_to_beat_of(
    program: TensorProgram, best_s: float | None, shapes: Mapping[str, int], target: Target
) -> TimeToBeat | None:
    """The time to beat for a search of a program; None where there is none, or no bound on partial graphs."""
    if best_s is None:
        return None
    nodes = program.graph.nodes
    bands = [nodes[n.args[1]].op for n in nodes if n.op == Binary("mask")]
    squares = frozenset(b.rows for b in bands if isinstance(b, Band) and holds_diagonal(b))
    moved = any(isinstance(n.op, Reshape | Slice | Concat) for n in nodes)
    if bands and (moved or not all(isinstance(b, Band) and holds_diagonal(b) for b in bands)):
        return None
    return TimeToBeat(best_s, tuple(sorted(shapes.items())), target, squares)


def least_flops(op: ComputeOp | LoopOp, operands: Sequence[tuple[Dim, ...]], result: tuple[Dim, ...]) -> Dim:
    """A lower bound on the arithmetic of one operator over all blocks and iterations, for any maps; dims are extents.

    Where the loop cuts what is summed, additions become an accumulator's, and so do those behind further linear
    operators, where there may be fewer: of a sum only what is done to its terms counts.
    """
    match op:
        case MatMul():
            return product(result) * operands[0][-1]
        case Reduce(fn) | Accumulate(fn):
            terms = product(operands[0]) if fn == "rms" else ZERO
            return terms + product(result) * finish_flops(fn)
        case RunningMax() | AccumulateRescaled():
            return ZERO
        case _:
            return flops_of(op, tuple(operands), result)
