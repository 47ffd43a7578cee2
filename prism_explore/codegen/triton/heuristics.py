"""Sizes for a GPU kernel by a time model, without measurement.

The sizes that are best on a CPU (a few wide blocks, tiles of thousands of elements) rarely fit a GPU. These sizes show
the GPU kernel of a proved candidate where there is no GPU to tune on.

    time = waves * iterations * max(latency, bytes per iteration / a block's share of the bandwidth)

A block's share is the memory bandwidth divided by the number of concurrent blocks, and at most `MAX_BLOCK_SHARE` of it.
A kernel whose tiles crowd registers or shared memory is chosen only where every kernel does. All choices are evaluated
where they are few; otherwise a random sample is, and its best members are improved by coordinate descent.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from math import ceil, gcd, inf, prod

from prism_explore.codegen.triton.plan import BlockPlan, Obstacle, plan_kernels
from prism_explore.ir.graph import SGraph
from prism_explore.ir.ops import Load
from prism_explore.ir.tensors import BYTES
from prism_explore.pipeline.stages import Parameters
from prism_explore.targets import Target

LATENCY_S = 7e-7
"""DRAM latency of a tile, in seconds: the least time of an iteration (assumed)."""

MAX_BLOCK_SHARE = 1 / 40
"""The share of the memory bandwidth that one multiprocessor can use (assumed)."""

MAX_VALUES = 12
"""Values evaluated per symbol."""

MAX_CHOICES = 400
"""Up to this number of choices, all are evaluated; of more choices, this number is sampled."""

DESCENTS = 3
"""How many samples are improved by coordinate descent."""

NO_LEGAL_SIZES = Obstacle("tune.illegal", "no numbers make every tile whole")

SCHEDULE = (("num_warps", 4), ("num_stages", 3))

MAX_ELEMENTS_PER_THREAD = 64
"""Elements of one tile in a thread's registers; a thread has 255 registers in all."""


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
    best, predicted = _evaluate(graph, shapes, target, {})
    if not isinstance(predicted[best], Obstacle):
        return Parameters(tuple(zip(graph.parameters, best, strict=True)), SCHEDULE)
    return next((found for found in predicted.values() if isinstance(found, Obstacle)), NO_LEGAL_SIZES)


def rank_sizes(
    graph: SGraph, shapes: Mapping[str, int], target: Target, fixed: Mapping[str, int]
) -> list[tuple[float, Parameters]]:
    """The legal sizes that were evaluated, by modelled time in seconds, the least first.

    Args:
        graph: with closed maps.
        shapes: sizes for the data symbols.
        target: a GPU.
        fixed: the only value of some of the graph's parameters.

    Raises:
        ShapeError: the maps are open, or a data symbol has no size.
    """
    _, predicted = _evaluate(graph, shapes, target, fixed)
    legal = [(time_s, values) for values, time_s in predicted.items() if not isinstance(time_s, Obstacle)]
    return [
        (time_s, Parameters(tuple(zip(graph.parameters, values, strict=True)), SCHEDULE))
        for time_s, values in sorted(legal)
    ]


def _evaluate(
    graph: SGraph, shapes: Mapping[str, int], target: Target, fixed: Mapping[str, int]
) -> tuple[tuple[int, ...], dict[tuple[int, ...], float | Obstacle]]:
    """The best values of the graph's parameters, and the modelled time of all that were evaluated."""
    symbols = graph.parameters
    domains = [(fixed[s],) if s in fixed else tuple(_candidate_sizes(graph, s, shapes)) for s in symbols]
    predicted: dict[tuple[int, ...], float | Obstacle] = {}

    def time_s(values: tuple[int, ...]) -> float:
        if values not in predicted:
            predicted[values] = _predict(graph, {**shapes, **dict(zip(symbols, values, strict=True))}, target)
        found = predicted[values]
        return inf if isinstance(found, Obstacle) else found

    if prod(map(len, domains)) <= MAX_CHOICES:
        choices = list(product(*domains))
    else:
        rng = random.Random(0)
        choices = [tuple(map(rng.choice, domains)) for _ in range(MAX_CHOICES)]
        choices = [_coordinate_descent(start, domains, time_s) for start in sorted(choices, key=time_s)[:DESCENTS]]
    return min(choices, key=time_s), predicted


def _predict(graph: SGraph, sizes: Mapping[str, int], target: Target) -> float | Obstacle:
    """The modelled time, plus one second where a tile is crowded; or why there is no kernel."""
    plans = plan_kernels(graph, sizes, Parameters((), SCHEDULE), target)
    if isinstance(plans, Obstacle):
        return plans
    crowded = any(_is_crowded(plan, target) for plan in plans)
    return sum(_modelled_s(plan, target) for plan in plans) + (1.0 if crowded else 0.0)


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


def _candidate_sizes(graph: SGraph, symbol: str, shapes: Mapping[str, int]) -> Iterator[int]:
    """Common divisors of the sizes that the symbol divides, powers of two first, at most `MAX_VALUES`."""
    ones = {**dict.fromkeys(graph.parameters, 1), **shapes}
    divided = [
        int(d.rational(ones))
        for d in graph.conditions()
        if symbol in d.symbols and d.is_monomial and dict(d.terms[0][0]).get(symbol, 0) < 0
    ]
    common = gcd(*divided) if divided else 1
    divisors = [n for n in range(1, min(common, 4096) + 1) if common % n == 0]
    preferred = sorted(divisors, key=lambda n: (n & (n - 1) != 0, n))
    yield from sorted(preferred[:MAX_VALUES])


def _is_crowded(plan: BlockPlan, target: Target) -> bool:
    """Whether tiles take more registers or shared memory than leaves room for the rest."""
    threads = 32 * dict(SCHEDULE)["num_warps"]
    stages = dict(SCHEDULE)["num_stages"]
    places = range(len(plan.block.nodes))
    register_elements = [prod(plan.largest_tile(j)) for j in places if not plan.is_staged(j)]
    spills = max(register_elements) > MAX_ELEMENTS_PER_THREAD * threads
    return spills or plan.staged_bytes * stages > target.shared_memory_bytes


def _modelled_s(plan: BlockPlan, target: Target) -> float:
    """The module's formula for one kernel.

    Units: bytes / (bytes/s) = s
    """
    blocks = prod(plan.grid)
    concurrent = min(blocks, target.cores)
    loaded = 0
    for j, node in enumerate(plan.block.nodes):
        if isinstance(node.op, Load) and plan.sections[j] != "after":
            loaded += prod(plan.dims[j]) * BYTES[plan.types[j].dtype]
    share = target.dram_bytes_per_s * min(MAX_BLOCK_SHARE, 1 / concurrent)
    return ceil(blocks / target.cores) * plan.iterations * max(LATENCY_S, loaded / share)
