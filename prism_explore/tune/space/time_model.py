"""The time model: an estimate of a candidate's time at given sizes.

Unlike the lower bound (`cost.roofline`), it includes cost that is likely but not compulsory: tiles that several blocks
read, blocks that do not fill all cores, short rows, the overhead of an iteration. It only orders the proposals. No
point is dropped because of it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import correlation
from typing import Any, TypeAlias

import numpy as np

from prism_explore.cost.work import Turn, work_of
from prism_explore.ir.dims import Dim
from prism_explore.ir.graph import SGraph
from prism_explore.ir.ops import Custom
from prism_explore.pipeline.stages import Candidate
from prism_explore.targets import Target
from prism_explore.tune.space.size_table import SizeTable

CACHE_OVER_DRAM = 4.0
"""Bandwidth of the last-level cache in multiples of the memory bandwidth; typical of server CPUs and GPUs."""

ROW_BYTES = 256
"""Length of a contiguous run that is read at half the bandwidth. Measured on a Zen 4 virtual machine: runs of 64 floats
of a weight took 2.0 times as long as full rows, runs of 512 floats 1.1 times."""

STEP_S = {"cpu": 2e-8, "gpu": 3e-7}
"""Overhead of one operator of one block, in addition to its arithmetic: loop control, latency."""

PREFETCH_SHARE = 1 / 4
"""Share of a core's private cache that a tile may use which is prefetched while another product is computed."""

_where: Callable[[Any, Any, Any], Any] = np.where

Column: TypeAlias = "np.ndarray[Any, np.dtype[np.float64]]"
"""One value per choice of sizes."""

SymbolValues: TypeAlias = Mapping[str, Any]
"""Values of symbols: one each, or one per choice of sizes."""

SizeFunction: TypeAlias = Callable[[SymbolValues], Any]
"""Evaluates a size; for columns of values it returns a column."""


@dataclass(frozen=True, slots=True)
class TimeEstimate:
    """Estimates for one choice of sizes."""

    time_s: float
    dram_bytes: float


@dataclass(frozen=True, slots=True)
class _LoadModel:
    """Bytes of one operand: of the tensor, read by all blocks together, of a contiguous run, of a block's tile."""

    tensor_bytes: SizeFunction
    read_bytes: SizeFunction
    run_bytes: SizeFunction
    tile_bytes: SizeFunction
    turn: Turn


@dataclass(frozen=True, slots=True)
class _KernelModel:
    flops: SizeFunction
    loads: tuple[_LoadModel, ...]
    store_bytes: SizeFunction
    accumulator_bytes: SizeFunction
    blocks: SizeFunction | None
    """None for a library call, which uses all cores."""
    iterations: SizeFunction
    steps: SizeFunction
    flops_per_s: float


class TimeModel:
    """The estimated time of one candidate as a function of its sizes; see `model_of`."""

    def __init__(self, kernels: tuple[_KernelModel, ...], target: Target) -> None:
        self._kernels = kernels
        self._target = target

    def estimate(self, sizes: Mapping[str, int]) -> TimeEstimate:
        """The estimates for one choice of sizes."""
        column = np.array([[value] for value in sizes.values()], np.int64).reshape(len(sizes), 1)
        (time_s,), (dram_bytes,) = self.estimate_all(SizeTable(tuple(sizes), column))
        return TimeEstimate(float(time_s), float(dram_bytes))

    def estimate_all(self, choices: SizeTable) -> tuple[Column, Column]:
        """Seconds and memory bytes for many choices of sizes."""
        time_s, dram_bytes = self.evaluate(choices.columns)
        return time_s + np.zeros(len(choices)), dram_bytes + np.zeros(len(choices))

    def evaluate(self, sizes: SymbolValues) -> tuple[Any, Any]:
        """Seconds and memory bytes; values of symbols can be numbers, columns, or what `closed_forms` records."""
        time_s = dram_bytes = 0.0
        for kernel in self._kernels:
            kernel_s, kernel_dram_bytes = self._estimate_kernel(kernel, sizes)
            time_s, dram_bytes = time_s + kernel_s, dram_bytes + kernel_dram_bytes
        return time_s, dram_bytes

    def _estimate_kernel(self, kernel: _KernelModel, sizes: SymbolValues) -> tuple[Any, Any]:
        """Seconds and memory bytes of one kernel."""
        target = self._target
        blocks = kernel.blocks(sizes) if kernel.blocks is not None else target.cores
        idle_factor: Any = np.ceil(blocks / target.cores) * target.cores / blocks
        iterations = kernel.iterations(sizes)
        dram_bytes = cache_bytes = overlapped_bytes = exposed_bytes = 0.0
        for load in kernel.loads:
            tensor_bytes, read_bytes = load.tensor_bytes(sizes), load.read_bytes(sizes)
            least_bytes = _where(tensor_bytes < read_bytes, tensor_bytes, read_bytes)
            load_bytes = _where(tensor_bytes <= target.last_cache_bytes, least_bytes, read_bytes)
            dram_bytes = dram_bytes + load_bytes
            cache_bytes = cache_bytes + (read_bytes - load_bytes)
            effective_bytes = load_bytes * (1 + ROW_BYTES / load.run_bytes(sizes))
            overlaps = self._overlaps(load, iterations > 1, sizes)
            overlapped_bytes = overlapped_bytes + _where(overlaps, effective_bytes, 0.0)
            exposed_bytes = exposed_bytes + _where(overlaps, 0.0, effective_bytes)
        store_bytes = kernel.store_bytes(sizes)
        accumulator_bytes = kernel.accumulator_bytes(sizes)
        spilled_bytes = 2 * accumulator_bytes * iterations * blocks
        cache_bytes = cache_bytes + _where(accumulator_bytes > target.caches_bytes[0] / 2, spilled_bytes, 0.0)
        compute_s = kernel.flops(sizes) / kernel.flops_per_s
        memory_s = (overlapped_bytes + store_bytes + cache_bytes / CACHE_OVER_DRAM) / target.dram_bytes_per_s
        step_s = kernel.steps(sizes) * STEP_S[target.kind] / target.cores
        # The Euclidean norm: arithmetic and memory traffic overlap, but not perfectly.
        busy_s = np.sqrt(compute_s * compute_s + memory_s * memory_s) + exposed_bytes / target.dram_bytes_per_s
        return target.launch_s + idle_factor * (busy_s + step_s), dram_bytes + store_bytes

    def _overlaps(self, load: _LoadModel, loops: Column | bool, sizes: SymbolValues) -> Column | bool:
        """Whether reading an operand overlaps with arithmetic.

        Products that depend on each other run one after another. On a CPU the next one's tile can be prefetched
        (`codegen.cpu.passes.prefetch`) from one iteration to the next if it fits into the core's private cache. On a
        GPU other warps run meanwhile.
        """
        if self._target.kind == "gpu" or load.turn == "alone":
            return True
        if load.turn != "loop":
            return False
        private_cache_bytes = self._target.caches_bytes[min(1, len(self._target.caches_bytes) - 1)]
        return np.logical_and(loops, load.tile_bytes(sizes) <= PREFETCH_SHARE * private_cache_bytes)


def model_of(candidate: Candidate, shapes: Mapping[str, int], target: Target) -> TimeModel:
    """The model of a candidate at given shapes, compiled once so that thousands of sizes are evaluated quickly.

    Raises:
        ShapeError: a data symbol has no value in `shapes`.
    """
    return model_of_graph(candidate.sgraph, shapes, target)


def model_of_graph(graph: SGraph, shapes: Mapping[str, int], target: Target) -> TimeModel:
    """The model of an sGraph whose maps are chosen, as `model_of`.

    Raises:
        ShapeError: a data symbol has no value in `shapes`.
    """
    chosen = dict.fromkeys(graph.parameters, 1)

    def compiled(size: Dim) -> SizeFunction:
        size.rational({**chosen, **shapes})  # raises if a symbol has no value
        return compile_size(size.substitute(shapes))

    return _model(graph, target, compiled)


def symbolic_model_of(graph: SGraph, target: Target) -> TimeModel:
    """As `model_of_graph`, but the symbols of the inputs also take their values when the model is evaluated."""
    return _model(graph, target, compile_size)


def _model(graph: SGraph, target: Target, compiled: Callable[[Dim], SizeFunction]) -> TimeModel:
    types = graph.types()
    kernels: list[_KernelModel] = []
    for work in work_of(graph):
        loads = tuple(
            _LoadModel(
                compiled(types[a.tensor].bytes),
                compiled(a.bytes),
                compiled(a.row_bytes),
                compiled(a.tile_bytes),
                a.turn,
            )
            for a in work.loads
        )
        kernels.append(
            _KernelModel(
                compiled(work.executed_flops),
                loads,
                compiled(work.store_bytes),
                compiled(work.accumulator_bytes),
                compiled(work.blocks) if isinstance(graph.nodes[work.position].op, Custom) else None,
                compiled(work.iterations),
                compiled(work.steps),
                target.usual_rate(types[work.position].dtype),
            )
        )
    return TimeModel(tuple(kernels), target)


def rank_correlation(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Spearman's rank correlation; None for fewer than two pairs, or if all values on one side are equal."""
    if len(a) < 2 or len(set(a)) < 2 or len(set(b)) < 2:
        return None
    return correlation(_ranks(a), _ranks(b))


def _ranks(values: Sequence[float]) -> list[float]:
    order = sorted(values)
    return [(bisect_left(order, v) + bisect_right(order, v)) / 2 for v in values]


def compile_size(size: Dim) -> SizeFunction:
    """A size compiled to a fast float function of values or columns; `Dim.rational` is the exact reference.

    Powers are computed as products, so that results are bit-identical on every machine.
    """
    terms = tuple(
        (
            float(Fraction(c)),
            tuple(s for s, e in monomial for _ in range(e)),
            tuple(s for s, e in monomial for _ in range(-e)),
        )
        for monomial, c in size.terms
    )

    def value(sizes: SymbolValues) -> Any:
        total: Any = 0.0
        for coefficient, above, below in terms:
            term: Any = coefficient
            for symbol in above:
                term = term * sizes[symbol]
            for symbol in below:
                term = term / sizes[symbol]
            total = total + term
        return total

    return value
