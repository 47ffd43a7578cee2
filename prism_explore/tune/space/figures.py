"""Figures of an sGraph at given sizes: traffic, arithmetic, memory, grid, time, all modelled.

They are those of `cost.work`, of the limits that the tuner keeps (`space.parameters`) and of the model that orders its
proposals (`space.time_model`); nothing is computed here. `evaluate_costs` works with numbers and with recorded values
(`space.closed_forms`), so that the explorer's sliders show the same figures as `FamilyHandle.figures`.

While the maps of a graph are open, its blocks and their time are unknown. Then the figures count each element once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from prism_explore.cost.work import least_scratch, work_of
from prism_explore.errors import ShapeError
from prism_explore.ir.dims import Dim
from prism_explore.ir.graph import SGraph, block_types
from prism_explore.ir.program import TensorProgram
from prism_explore.pipeline.stages import Candidate, Family, Parameters
from prism_explore.targets import Target
from prism_explore.tune.space.parameters import symbolic_limits
from prism_explore.tune.space.ranked_sizes import ranked_sizes
from prism_explore.tune.space.time_model import model_of_graph, symbolic_model_of

V = TypeVar("V")

MAX_GUESSED_SIZES = 2_048
"""Choices of sizes among which the model picks one."""


@dataclass(frozen=True, slots=True)
class KernelCosts(Generic[V]):
    """One custom kernel."""

    position: int
    blocks: V
    iterations: V
    scratch_bytes: V
    """The least scratch memory of one block: shared memory on a GPU, accumulators on a CPU."""


@dataclass(frozen=True, slots=True)
class Costs(Generic[V]):
    """All kernels of a graph."""

    memory_bytes: V
    """From and to main memory."""
    written_bytes: V
    """As written: what all blocks together load and store."""
    flops: V
    """As written."""
    time_s: V | None
    """None while maps are open."""
    kernels: tuple[KernelCosts[V], ...]


@dataclass(frozen=True, slots=True)
class Condition:
    """What legal sizes satisfy: a size is a positive whole number, or at most a limit."""

    size: Dim
    most: int | None
    """None where it must be a positive whole number."""
    what: str
    """What has this size."""

    def broken_by(self, sizes: Mapping[str, int]) -> str:
        """The sentence that says how sizes break it; empty where they do not."""
        number = self.size.rational(sizes)
        if self.most is None:
            if number.denominator == 1 and number >= 1:
                return ""
            return f"{self.size} = {float(number):.4g} is not a positive whole number: {self.what}"
        return f"{self.size} = {float(number):,.0f} exceeds {self.most:,}: {self.what}" if number > self.most else ""


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of a graph at one choice of sizes; all modelled.

    Units: bytes, operations, seconds.
    """

    sizes: Mapping[str, int]
    costs: Costs[float]
    broken: tuple[str, ...]
    """The conditions that these sizes break, as sentences."""

    @property
    def is_legal(self) -> bool:
        """Whether the sizes meet every condition."""
        return not self.broken

    def __str__(self) -> str:
        costs = self.costs
        time = "unknown while maps are unbound" if costs.time_s is None else f"{costs.time_s:.4g} s"
        lines = [
            f"sizes {', '.join(f'{s}={n}' for s, n in self.sizes.items())}",
            f"time {time}, memory traffic {costs.memory_bytes:.4g} B, {costs.flops:.4g} flops (modelled)",
        ]
        lines += [
            f"kernel %{k.position}: {k.blocks:g} blocks, {k.iterations:g} iterations, {k.scratch_bytes:g} B of scratch"
            for k in costs.kernels
        ]
        return "\n".join([*lines, *self.broken])


def evaluate_costs(graph: SGraph, target: Target, size: Callable[[Dim], V], symbols: Mapping[str, V]) -> Costs[V]:
    """The costs of a graph.

    Args:
        graph: its maps may be open.
        target: the machine.
        size: the value of a size.
        symbols: the value of every symbol.
    """
    types, works = graph.types(), work_of(graph)

    def total(sizes: Sequence[Dim]) -> V:
        return size(sum(sizes, Dim(())))

    written = total([b for w in works for b in (w.store_bytes, *(load.bytes for load in w.loads))])
    flops = total([w.least_flops if graph.is_open else w.executed_flops for w in works])
    kernels: list[KernelCosts[V]] = []
    at = {w.position: w for w in works}
    for position, block in graph.customs:
        if position in at:
            operands = tuple(types[a] for a in graph.nodes[position].args)
            scratch = least_scratch(block, operands, target.kind == "gpu")
            kernels.append(
                KernelCosts(position, size(at[position].blocks), size(at[position].iterations), size(scratch))
            )
    if graph.is_open:
        least = total([b for w in works for b in (w.written_bytes, *(load.least_bytes for load in w.loads))])
        return Costs(least, written, flops, None, tuple(kernels))
    time_s, memory_bytes = symbolic_model_of(graph, target).evaluate(symbols)
    return Costs(memory_bytes, written, flops, time_s, tuple(kernels))


def conditions_of(graph: SGraph, further: Sequence[Dim], target: Target) -> tuple[Condition, ...]:
    """What legal sizes satisfy on a machine, as the tuner checks it."""
    limits = symbolic_limits(graph, further, target)
    found = [Condition(d, None, where_of(d, graph)) for d in limits.integers]
    found += [Condition(d, target.max_blocks, "the number of blocks of a kernel") for d in limits.blocks]
    memory = "shared memory" if target.kind == "gpu" else "scratch memory"
    found += [Condition(d, target.shared_memory_bytes, f"{memory} of a block, in bytes") for d in limits.scratch]
    return tuple(found)


def where_of(size: Dim, graph: SGraph) -> str:
    """The first tensor that has a size: `dim 1 of %2 in kernel %3`."""
    types = graph.types()
    for position, block in graph.customs:
        for j, t in enumerate(block_types(block, tuple(types[a] for a in graph.nodes[position].args))):
            if size in t.dims:
                return f"dim {t.dims.index(size)} of %{j} in kernel %{position}"
    for i, t in enumerate(types):
        if size in t.dims:
            return f"dim {t.dims.index(size)} of %{i}"
    return "a size of the graph"


def figures_of(graph: SGraph, sizes: Mapping[str, int], target: Target, further: Sequence[Dim] = ()) -> Figures:
    """The figures of a graph at one choice of sizes.

    Args:
        graph: the graph of a family or candidate.
        sizes: a positive number for each of its symbols and for those of its inputs.
        target: the machine.
        further: sizes that must be positive whole numbers, in addition to those of the graph.

    Raises:
        ShapeError: a symbol has no value, or one that is not positive.
    """
    symbols = (*graph.parameters, *graph.data_symbols)
    for symbol in symbols:
        if sizes.get(symbol, 0) < 1:
            found = sizes.get(symbol, "none")
            raise ShapeError(f"{symbol} needs a positive value, found {found}; the symbols are {', '.join(symbols)}")
    numbers = {s: float(sizes[s]) for s in symbols}
    costs = evaluate_costs(graph, target, lambda d: float(d.rational(sizes)), numbers)
    broken = tuple(text for c in conditions_of(graph, further, target) if (text := c.broken_by(sizes)))
    return Figures({s: sizes[s] for s in symbols}, costs, broken)


def guess_sizes(
    program: TensorProgram, graph: SGraph, further: tuple[Dim, ...], shapes: tuple[tuple[str, int], ...], target: Target
) -> Parameters | None:
    """The legal sizes with the least modelled time, as the tuner would try them first; None without legal sizes."""
    candidate = Candidate("", Family("", program, graph), graph, (), further)
    model = model_of_graph(graph, dict(shapes), target)
    ranked, _ = ranked_sizes(candidate, dict(shapes), target, model, MAX_GUESSED_SIZES)
    return Parameters(ranked[0][1]) if ranked else None
