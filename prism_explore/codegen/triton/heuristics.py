"""Sizes and schedules for a GPU kernel by the time model, without measurement.

The sizes that are best on a CPU (a few wide blocks, tiles of thousands of elements) rarely fit a GPU. All choices are
evaluated where they are few; otherwise a random sample is, and its best members are improved by coordinate descent.
A size counts with its best schedule.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import gcd, inf, prod

from prism_explore.codegen.triton.plan import SCHEDULE, BlockPlan, Obstacle, plan_kernels, why_no_tma
from prism_explore.codegen.triton.time_model import BlockWork, modelled_s, works_of
from prism_explore.ir.dims import Dim
from prism_explore.ir.graph import SGraph, block_types
from prism_explore.ir.ops import MatMul
from prism_explore.pipeline.stages import Parameters
from prism_explore.targets import Target
from prism_explore.targets.gpus import SM_80, architecture_of

MAX_VALUES = 12
"""Values evaluated per symbol."""

MAX_CHOICES = 400
"""Up to this number of choices, all are evaluated; of more choices, this number is sampled."""

DESCENTS = 3
"""How many samples are improved by coordinate descent."""

FIRST_SAMPLES, MOST_SAMPLES, MOST_GRAPHS = 8, 40, 16
"""Choices that are sampled of each of many graphs, and then of the most promising ones; how many those are."""

LESS = 0.75
"""Of what was estimated for a kernel that exceeds the GPU's registers or shared memory, the most that is tried next."""

NO_LEGAL_SIZES = Obstacle("tune.illegal", "no numbers make every tile whole")
NO_ROOM = Obstacle("tune.illegal", "the tiles of a block exceed the shared memory with every schedule")

MOST_WARPS = Parameters((), (("num_warps", 8),))
"""With these a plan's tiles may be largest."""

CHOICES: Mapping[str, tuple[int, ...]] = {
    "num_warps": (4, 8, 2, 1),
    "num_stages": (3, 2, 4, 1),
    "tf32_products": (3, 0),
    "tma": (0, 1),
}
"""Per schedule choice its values, the best guess first."""


def schedule_choices(graph: SGraph, target: Target, plans: Sequence[BlockPlan] = ()) -> dict[str, tuple[int, ...]]:
    """What may be chosen for an sGraph: stages if it has a loop, the precision of float32 products if it has some.

    Args:
        graph: with closed maps.
        target: a GPU.
        plans: of its kernels; without them, TMA is not offered, as it depends on sizes and the model has no gain by it.
    """
    found = dict(CHOICES)
    if not any(block.loop is not None for _, block in graph.customs):
        del found["num_stages"]
    architecture = architecture_of(target.name)
    if not _multiplies_float32(graph) or (architecture is not None and architecture.triton[0] != "cuda"):
        del found["tf32_products"]  # Triton splits float32 products for NVIDIA's GPUs alone
    if why_no_tma(plans, target):
        del found["tma"]
    return found


def ordered_choices(graph: SGraph, sizes: Mapping[str, int], target: Target) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """The schedule choices at these sizes, the values of each by modelled time with the best of the others.

    Args:
        graph: with closed maps.
        sizes: for every symbol of the graph.
        target: a GPU.
    """
    plans = plan_kernels(graph, sizes, MOST_WARPS)
    if isinstance(plans, Obstacle):
        return tuple(schedule_choices(graph, target).items())
    offered = schedule_choices(graph, target, plans)
    works = works_of(graph, plans, sizes)
    _, best = _best_schedule(works, offered, target)
    return tuple(
        (name, tuple(sorted(values, key=lambda v: modelled_s(works, {**best, name: v}, target))))
        for name, values in offered.items()
    )


def choose_sizes(graph: SGraph, shapes: Mapping[str, int], target: Target) -> Parameters | Obstacle:
    """The legal sizes with the least modelled time, the first among equals.

    Args:
        graph: with closed maps.
        shapes: sizes for the data symbols.
        target: a GPU.

    Returns:
        The sizes with a schedule, or an `Obstacle` where no sizes are legal.

    Raises:
        ShapeError: the maps are open, or a data symbol has no size.
    """
    best, predicted = _evaluate(graph, shapes, target, {}, MAX_CHOICES, DESCENTS)
    found = predicted[best]
    if not isinstance(found, Obstacle):
        return Parameters(tuple(zip(graph.parameters, best, strict=True)), tuple(found.schedule.items()))
    return next((found for found in predicted.values() if isinstance(found, Obstacle)), NO_LEGAL_SIZES)


def rank_sizes(
    graph: SGraph,
    shapes: Mapping[str, int],
    target: Target,
    fixed: Mapping[str, int],
    most: int = MAX_CHOICES,
    descents: int = DESCENTS,
) -> list[tuple[float, Parameters]]:
    """The legal sizes that were evaluated, by modelled time in seconds, the least first.

    Args:
        graph: with closed maps.
        shapes: sizes for the data symbols.
        target: a GPU.
        fixed: the only value of some of the graph's parameters.
        most: choices that are evaluated before the descent.
        descents: see `DESCENTS`.

    Raises:
        ShapeError: the maps are open, or a data symbol has no size.
    """
    _, predicted = _evaluate(graph, shapes, target, fixed, most, descents)
    legal = [(p.time_s, values, p.schedule) for values, p in predicted.items() if not isinstance(p, Obstacle)]
    return [
        (time_s, Parameters(tuple(zip(graph.parameters, values, strict=True)), tuple(schedule.items())))
        for time_s, values, schedule in sorted(legal, key=lambda row: row[:2])
    ]


def rank_sizes_of_all(
    graphs: Sequence[SGraph],
    shapes: Mapping[str, int],
    target: Target,
    samples: int = FIRST_SAMPLES,
    most_graphs: int = MOST_GRAPHS,
) -> list[list[tuple[float, Parameters]]]:
    """As `rank_sizes`, for many graphs of which only the most promising ones are examined closely.

    Args:
        graphs: with closed maps.
        shapes: sizes for the data symbols.
        target: a GPU.
        samples: choices of each graph that are evaluated first.
        most_graphs: how many of them are examined closely.

    Raises:
        ShapeError: the maps of a graph are open, or a data symbol has no size.
    """
    first = [rank_sizes(g, shapes, target, {}, samples, 0) for g in graphs]
    order = sorted(range(len(graphs)), key=lambda n: first[n][0][0] if first[n] else inf)
    close = {n: rank_sizes(graphs[n], shapes, target, {}, MOST_SAMPLES, 1) for n in order[:most_graphs]}
    return [close.get(n, found) for n, found in enumerate(first)]


@dataclass(frozen=True, slots=True)
class Resources:
    """What the time model estimates that the kernel with most of each needs."""

    registers: float
    """Per thread."""
    shared_bytes: float
    """Shared memory of a block."""

    def fit_in(self, most: Resources) -> bool:
        """Whether neither exceeds `most`."""
        return self.registers <= most.registers and self.shared_bytes <= most.shared_bytes

    def with_less_registers(self, exceeding: Resources) -> Resources:
        """These limits for what is tried after a kernel that was estimated so and spills."""
        return replace(self, registers=LESS * exceeding.registers)

    def with_less_shared(self, exceeding: Resources) -> Resources:
        """These limits for what is tried after a kernel that was estimated so and needs too much shared memory."""
        return replace(self, shared_bytes=LESS * exceeding.shared_bytes)


def estimated_resources(
    graph: SGraph, parameters: Parameters, shapes: Mapping[str, int], target: Target
) -> Resources | Obstacle:
    """The resources of an sGraph's kernels at these sizes and with this schedule.

    Raises:
        ShapeError: the maps are open, or a symbol has no size.
    """
    works = _planned_works(graph, {**shapes, **parameters.numbers}, parameters, target)
    if isinstance(works, Obstacle):
        return works
    lanes = (architecture_of(target.name) or SM_80).triton[2]
    schedule = {**SCHEDULE, **dict(parameters.schedule)}
    return Resources(
        max((work.registers(schedule, lanes) for work in works), default=0.0),
        max((work.shared_bytes(schedule) for work in works), default=0),
    )


def modelled_kernel_s(
    graph: SGraph, parameters: Parameters, shapes: Mapping[str, int], target: Target
) -> float | Obstacle:
    """The modelled seconds of an sGraph's kernels at these sizes and with this schedule, or why there are none.

    Raises:
        ShapeError: the maps are open, or a symbol has no size.
    """
    works = _planned_works(graph, {**shapes, **parameters.numbers}, parameters, target)
    return works if isinstance(works, Obstacle) else modelled_s(works, dict(parameters.schedule), target)


def _planned_works(
    graph: SGraph, sizes: Mapping[str, int], parameters: Parameters, target: Target
) -> tuple[BlockWork, ...] | Obstacle:
    """The work of each kernel at these sizes, or why there is no plan."""
    plans = plan_kernels(graph, sizes, parameters, target)
    return plans if isinstance(plans, Obstacle) else works_of(graph, plans, sizes)


def _evaluate(
    graph: SGraph, shapes: Mapping[str, int], target: Target, fixed: Mapping[str, int], most: int, descents: int
) -> tuple[tuple[int, ...], dict[tuple[int, ...], _Predicted | Obstacle]]:
    """The best values of the graph's parameters, and what was found for all that were evaluated."""
    symbols, offered = graph.parameters, schedule_choices(graph, target)
    divided = {s: tuple(_divided_by(graph, s)) for s in symbols}

    def domain(symbol: str, others: Mapping[str, int]) -> tuple[int, ...]:
        return (fixed[symbol],) if symbol in fixed else _candidate_sizes(divided[symbol], {**ones, **others})

    ones = {**dict.fromkeys(symbols, 1), **shapes}
    domains = [domain(s, {}) for s in symbols]
    predicted: dict[tuple[int, ...], _Predicted | Obstacle] = {}

    def time_s(values: tuple[int, ...]) -> float:
        if values not in predicted:
            predicted[values] = _predict(graph, {**shapes, **dict(zip(symbols, values, strict=True))}, offered, target)
        found = predicted[values]
        return inf if isinstance(found, Obstacle) else found.time_s

    if prod(map(len, domains)) <= most:
        choices = list(product(*domains))
    else:
        rng = random.Random(0)
        choices = [_sample(symbols, domain, rng) for _ in range(most)]
        choices = [_coordinate_descent(start, domains, time_s) for start in sorted(choices, key=time_s)[:descents]]
    for values in choices:
        time_s(values)
    return min(predicted, key=time_s), predicted


@dataclass(frozen=True, slots=True)
class _Predicted:
    """The modelled seconds at some sizes, and the schedule that they are modelled with."""

    time_s: float
    schedule: Mapping[str, int]


def _predict(
    graph: SGraph, sizes: Mapping[str, int], offered: Mapping[str, tuple[int, ...]], target: Target
) -> _Predicted | Obstacle:
    works = _planned_works(graph, sizes, MOST_WARPS, target)
    if isinstance(works, Obstacle):
        return works
    time_s, schedule = _best_schedule(works, offered, target)
    return NO_ROOM if time_s == inf else _Predicted(time_s, schedule)


def _best_schedule(
    works: Sequence[BlockWork], offered: Mapping[str, tuple[int, ...]], target: Target
) -> tuple[float, dict[str, int]]:
    """The least modelled seconds, and the first schedule that has them."""
    schedules = [dict(zip(offered, values, strict=True)) for values in product(*offered.values())]
    times = [modelled_s(works, schedule, target) for schedule in schedules]
    least = min(times)
    return least, schedules[times.index(least)]


def _multiplies_float32(graph: SGraph) -> bool:
    types = graph.types()
    return any(
        isinstance(node.op, MatMul) and t.dtype == "f32"
        for position, block in graph.customs
        for node, t in zip(
            block.nodes, block_types(block, tuple(types[a] for a in graph.nodes[position].args)), strict=True
        )
    )


def _coordinate_descent(
    start: tuple[int, ...], domains: Sequence[tuple[int, ...]], time_s: Callable[[tuple[int, ...]], float]
) -> tuple[int, ...]:
    """Coordinate descent from `start`: minimize over one symbol after another until nothing changes."""
    best = start
    while True:
        before = best
        for place, domain in enumerate(domains):
            best = min((best, *((*best[:place], n, *best[place + 1 :]) for n in domain)), key=time_s)
        if best == before:
            return best


def _sample(
    symbols: Sequence[str], domain: Callable[[str, Mapping[str, int]], Sequence[int]], rng: random.Random
) -> tuple[int, ...]:
    """Random values, drawn in random order, each from those that are whole with the values before it."""
    drawn: dict[str, int] = {}
    for symbol in rng.sample(symbols, len(symbols)):
        drawn[symbol] = rng.choice(domain(symbol, drawn))
    return tuple(drawn[symbol] for symbol in symbols)


def _divided_by(graph: SGraph, symbol: str) -> Iterator[Dim]:
    """The sizes that the symbol divides."""
    for d in graph.conditions():
        if symbol in d.symbols and d.is_monomial and dict(d.terms[0][0]).get(symbol, 0) < 0:
            yield d


def _candidate_sizes(divided: Sequence[Dim], others: Mapping[str, int]) -> tuple[int, ...]:
    """Common divisors of what a symbol divides, at most `MAX_VALUES`: powers of two before others; in their order.

    Args:
        divided: the sizes.
        others: values of all symbols, 1 for this one.
    """
    sizes = [d.rational(others) for d in divided]
    common = gcd(*map(int, sizes)) if sizes and all(n.denominator == 1 for n in sizes) else 1
    divisors = [n for n in range(1, min(common, 4096) + 1) if common % n == 0]
    preferred = sorted(divisors, key=lambda n: (n & (n - 1) != 0, n))
    return tuple(sorted(preferred[:MAX_VALUES]))
