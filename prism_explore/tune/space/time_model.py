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
from prism_explore.ir.ops import Custom
from prism_explore.pipeline.stages import Candidate
from prism_explore.targets import Target
from prism_explore.tune.space.parameters import Sizes

CACHE_OVER_DRAM = 4.0
"""Bandwidth of the last-level cache in multiples of the memory bandwidth; typical of server CPUs and GPUs."""

ROW_BYTES = 256
"""Length of a contiguous run that is read at half the bandwidth. Measured on a Zen 4 virtual machine: runs of 64 floats
of a weight took 2.0 times as long as full rows, runs of 512 floats 1.1 times."""

STEP_S = {"cpu": 2e-8, "gpu": 3e-7}
"""Overhead of one operator of one block besides its arithmetic: loop control, latency."""

PREFETCH_SHARE = 1 / 4
"""Share of a core's private cache that a tile may use which is prefetched while another product is computed."""

_where: Callable[[Any, Any, Any], Any] = np.where

Figures: TypeAlias = "np.ndarray[Any, np.dtype[np.float64]]"
"""One value per choice of sizes."""

Columns: TypeAlias = Mapping[str, Any]
"""Values of symbols: one each, or one per choice of sizes."""

Evaluator: TypeAlias = Callable[[Columns], Any]
"""Evaluates a size; for columns of values it returns a column."""


@dataclass(frozen=True, slots=True)
class Modelled:
    """Estimates for one choice of sizes."""

    time_s: float
    dram_bytes: float


@dataclass(frozen=True, slots=True)
class _LoadModel:
    """Bytes of one operand: of the tensor, read by all blocks, of a contiguous run, of a block's tile."""

    whole: Evaluator
    total: Evaluator
    row: Evaluator
    tile: Evaluator
    turn: Turn


@dataclass(frozen=True, slots=True)
class _KernelModel:
    flops: Evaluator
    loads: tuple[_LoadModel, ...]
    store_bytes: Evaluator
    accumulator_bytes: Evaluator
    blocks: Evaluator | None
    """None for a library call, which uses all cores."""
    iterations: Evaluator
    steps: Evaluator
    peak_flops_per_s: float


class Model:
    """The estimated time of one candidate as a function of its sizes; see `model_of`."""

    def __init__(self, kernels: tuple[_KernelModel, ...], target: Target) -> None:
        self._kernels = kernels
        self._target = target

    def at(self, sizes: Mapping[str, int]) -> Modelled:
        """The estimates for one choice of sizes."""
        (time_s,), (dram_bytes,) = self.of([tuple(sizes.items())])
        return Modelled(float(time_s), float(dram_bytes))

    def of(self, choices: Sequence[Sizes]) -> tuple[Figures, Figures]:
        """Seconds and memory bytes for many choices of sizes; all have the same symbols in the same order."""
        table = np.array([[number for _, number in sizes] for sizes in choices], float)
        sizes = {symbol: table[:, place] for place, (symbol, _) in enumerate(choices[0] if choices else ())}
        target = self._target
        time_s: Any = np.zeros(len(choices))
        dram: Any = np.zeros(len(choices))
        for kernel in self._kernels:
            blocks = kernel.blocks(sizes) if kernel.blocks is not None else target.cores
            idle: Any = np.ceil(blocks / target.cores) * target.cores / blocks
            here_dram = here_cache = slowed = alone = 0.0
            loops = kernel.iterations(sizes) > 1
            for load in kernel.loads:
                whole, total = load.whole(sizes), load.total(sizes)
                from_dram = _where(whole <= target.last_cache_bytes, _where(whole < total, whole, total), total)
                here_dram = here_dram + from_dram
                here_cache = here_cache + (total - from_dram)
                in_time = from_dram * (1 + ROW_BYTES / load.row(sizes))
                overlaps = self._overlaps(load, loops, sizes)
                slowed = slowed + _where(overlaps, in_time, 0.0)
                alone = alone + _where(overlaps, 0.0, in_time)
            stored = kernel.store_bytes(sizes)
            sums = kernel.accumulator_bytes(sizes)
            spilled = 2 * sums * kernel.iterations(sizes) * blocks
            here_cache = here_cache + _where(sums > target.caches_bytes[0] / 2, spilled, 0.0)
            compute_s = kernel.flops(sizes) / kernel.peak_flops_per_s
            memory_s = (slowed + stored + here_cache / CACHE_OVER_DRAM) / target.dram_bytes_per_s
            step_s = kernel.steps(sizes) * STEP_S[target.kind] / target.cores
            # The Euclidean norm: arithmetic and memory traffic overlap, but not perfectly.
            busy_s = np.sqrt(compute_s * compute_s + memory_s * memory_s) + alone / target.dram_bytes_per_s
            time_s = time_s + (target.launch_s + idle * (busy_s + step_s))
            dram = dram + (here_dram + stored)
        return time_s, dram

    def _overlaps(self, load: _LoadModel, loops: Figures | bool, sizes: Columns) -> Figures | bool:
        """Whether reading an operand overlaps with arithmetic.

        Products that depend on each other run one after another. On a CPU the next one's tile can be prefetched
        (`codegen.cpu.passes.prefetch`) from one iteration to the next if it fits into the core's private cache. On a
        GPU other warps run meanwhile.
        """
        if self._target.kind == "gpu" or load.turn == "alone":
            return True
        own_bytes = self._target.caches_bytes[min(1, len(self._target.caches_bytes) - 1)]
        return np.logical_and(loops, load.tile(sizes) <= PREFETCH_SHARE * own_bytes) if load.turn == "loop" else False


def model_of(candidate: Candidate, shapes: Mapping[str, int], target: Target) -> Model:
    """The model of a candidate at given shapes, compiled once so that thousands of sizes are evaluated quickly.

    Raises:
        ShapeError: a data symbol has no value in `shapes`.
    """
    types = candidate.sgraph.types()
    chosen = dict.fromkeys(candidate.sgraph.parameters, 1)

    def compiled(size: Dim) -> Evaluator:
        size.rational({**chosen, **shapes})  # raises if a symbol has no value
        return evaluator(size.substitute(shapes))

    kernels: list[_KernelModel] = []
    for work in work_of(candidate.sgraph):
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
                compiled(work.blocks) if isinstance(candidate.sgraph.nodes[work.position].op, Custom) else None,
                compiled(work.iterations),
                compiled(work.steps),
                target.peak(types[work.position].dtype),
            )
        )
    return Model(tuple(kernels), target)


def rank_correlation(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Spearman's rank correlation; None for fewer than two pairs, or if all values on one side are equal."""
    if len(a) < 2 or len(set(a)) < 2 or len(set(b)) < 2:
        return None
    return correlation(_ranks(a), _ranks(b))


def _ranks(values: Sequence[float]) -> list[float]:
    order = sorted(values)
    return [(bisect_left(order, v) + bisect_right(order, v)) / 2 for v in values]


def evaluator(size: Dim) -> Evaluator:
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

    def value(sizes: Columns) -> Any:
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
