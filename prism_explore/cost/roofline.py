"""Roofline: a lower bound on the time of a graph on a machine, complete or partial.

A kernel takes at least the time of its arithmetic at peak rate, and at least the time of its compulsory traffic at
peak bandwidth. All kernels together take at least the time of all arithmetic:

    time_s  = max(sum over kernels of max(flops / peak_flops_per_s, dram_bytes / dram_bytes_per_s),
                  flops of all kernels / peak_flops_per_s)

Why it is a bound. Kernels run one after another, so their times add up. In one kernel, arithmetic and traffic may
overlap completely, so the larger counts. Arithmetic is the least arithmetic of `cost.work`. Of the traffic only cold
misses count: an input is in no cache before the first kernel that reads it. A tensor that a kernel wrote or read before
may still be in the last cache when it is read again, so only the bytes that do not fit count. The result may be in the
cache, too, not yet written to memory, when the measurement ends. A view counts as the tensor that it views, but with no
more bytes than the view; of several views of one tensor the largest counts. Each symbol that a tuner chooses has, in
each term, the value that makes the term least. The total arithmetic is minimized after adding the kernels: partial sums
that one kernel saves another has to add, so minimizing each kernel alone would give a weaker bound.

Why it also bounds every graph that extends a partial graph (`TimeToBeat`). Operators are only added, and a graph is
complete only if all of its tensors are used. So every extension does the work of the partial graph, and reads each
input that the partial graph does not read yet.

With masks this does not hold: any operator may precede or follow a mask, and masked elements need not be computed. So
no arithmetic counts in a partial graph of such a program. Traffic counts if each mask is a band that contains the
diagonal of a square: then no row and no column is masked completely, and a tensor that has at most one of these dims
is read completely (as in `cost.work`, under the same condition: no view moves elements between rows and columns). A
tensor that has both dims does not count, except results, which are written in full. Other masks give no bound.

Assumptions: times are measured with a cold cache (see `tune.runner`), because with a warm cache a kernel can exceed the
bandwidth of memory; and the machine's rates are upper limits. The peak rates of a datasheet are. Measured rates are the
best so far, which a shared machine may exceed later. So a cut by measured rates is marked *heuristic*, and if a kernel
is faster than its bound, the tuner stops using bounds.

Source: Williams, Waterman and Patterson, "Roofline", CACM 52(4), 2009. Cold misses as a lower bound: Hong and Kung,
"I/O complexity: the red-blue pebble game", STOC 1981.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Literal

from prism_explore.cost.work import finish_flops, flops_of, holds_diagonal, may_be_hidden, work_of
from prism_explore.ir.dims import ONE, ZERO, Dim
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
    Lookup,
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

LOOKED_UP_BYTES = 128
"""The most that one element which a lookup reads brings into the cache: its line, and the line beside it."""


def rates_of(target: Target) -> str:
    """A sentence with the rates that a cut by time assumes."""
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
    """The least arithmetic."""


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
        """The tensor that a view shows, and an upper bound on the bytes of it."""
        node = graph.nodes[tensor]
        if isinstance(node.op, Band):
            return tensor, 0.0
        shown = min(shown, size(types[tensor].bytes))
        if isinstance(node.op, Permute | Reshape | Expand | Slice):
            return viewed(node.args[0], shown)
        return tensor, shown

    arithmetic: dict[DType, Dim] = {}
    in_cache = dict.fromkeys(inputs, 0.0)  # the most bytes of each that kernels before have left in the last cache
    time_s = memory_s = total_bytes = 0.0
    for work in work_of(graph):
        traffic = max(0.0, size(work.written_bytes) - kept)
        shown: dict[int, float] = {}
        for load in work.loads:
            root, bytes_ = viewed(load.tensor, size(load.least_bytes))
            shown[root] = max(shown.get(root, 0.0), bytes_)
        for tensor, bytes_ in shown.items():
            traffic += max(0.0, bytes_ - min(kept, in_cache.get(tensor, kept)))
            if tensor in inputs:
                is_lookup = isinstance(graph.nodes[work.position].op, Lookup)
                in_cache[tensor] += size(types[work.position].elements) * LOOKED_UP_BYTES if is_lookup else kept
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
    """A time that a kernel must be faster than, at some shapes, on a machine; graphs that cannot be are pruned."""

    best_s: float
    shapes: tuple[tuple[str, int], ...]
    target: Target
    masks: frozenset[Dim] = frozenset()
    """The numbers of rows, which equal those of columns, of the masks. Masked elements need not be read."""
    warm: frozenset[int] = frozenset()
    """Inputs, by number, that earlier kernels of a sequence wrote or read."""
    other_kernels_s: float = 0.0
    """A lower bound on the time of the other kernels of the sequence."""

    def without_operators(self, inputs: Iterable[TensorType]) -> PartialTimeBound:
        """The bound of the graph without operators, which must read these inputs."""
        return PartialTimeBound(self.other_kernels_s, unread_s=sum(map(self.read_s, inputs)))

    def read_s(self, tensor: TensorType) -> float:
        """Seconds to read an input from memory once; 0 if a mask may hide it."""
        return self._first_read_bytes(tensor) / self.target.dram_bytes_per_s

    def open_kernel(
        self, before: PartialTimeBound, cold: Iterable[TensorType], warm: Iterable[TensorType]
    ) -> PartialTimeBound:
        """The bound with one more open kernel, the first to read the `cold` inputs; it also reads the `warm` ones."""
        first_s = sum(map(self.read_s, cold))
        again_s = sum(map(self._later_read_bytes, warm)) / self.target.dram_bytes_per_s
        return PartialTimeBound(before.closed_s, first_s + again_s, 0.0, max(0.0, before.unread_s - first_s))

    def add_arithmetic(self, before: PartialTimeBound, flops: Dim, dtype: DType) -> PartialTimeBound:
        """The bound with more arithmetic in the open kernel; unchanged if there are masks."""
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
    """The time to beat for a search of a program; None if there is none, or no bound on partial graphs."""
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

    If the loop partitions a reduced axis, an accumulator does the additions, possibly after other linear operators that
    make the tensor smaller. So the additions of a sum do not count, only the arithmetic on its terms.
    """
    match op:
        case MatMul():
            return prod(result, start=ONE) * operands[0][-1]
        case Reduce(fn) | Accumulate(fn):
            terms = prod(operands[0], start=ONE) if fn == "rms" else ZERO
            return terms + prod(result, start=ONE) * finish_flops(fn)
        case RunningMax() | AccumulateRescaled():
            return ZERO
        case _:
            return flops_of(op, tuple(operands), result)
