"""Numbers with which a GPU kernel is sensible, by a model; nothing is measured.

What is best on a CPU (a few wide blocks, tiles of thousands) rarely fits a GPU at all. A reader who
wants to see the GPU kernel of a proved candidate, without a GPU to tune on, gets numbers from here.

    time = waves * iterations * max(latency, bytes per iteration / a block's share of the bandwidth)

A block's share is the memory bandwidth over the blocks that run together; one multiprocessor alone
cannot draw more than `ONE_BLOCK` of it. Tiles that ask much of registers or shared memory are left out
before the model is asked.
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
"""From asking DRAM for a tile to having it, about; what a short iteration costs (assumed)."""

ONE_BLOCK = 1 / 40
"""The share of the memory bandwidth that one multiprocessor can draw (assumed)."""

MOST_VALUES = 12
"""Values tried per symbol."""

MOST_PLANS = 400
"""Choices that are all looked at; of more, so many are drawn and the best of them improved number by number."""

DESCENTS = 3
"""How many of them."""

NOTHING_WHOLE = Obstacle("tune.illegal", "no numbers make every tile whole")

SCHEDULE = (("num_warps", 4), ("num_stages", 3))

PER_THREAD = 64
"""Numbers of one tile in a thread's registers; the thread has 255 of them for everything."""


def fit_triton(graph: SGraph, shapes: Mapping[str, int], target: Target) -> Parameters | Obstacle:
    """The legal numbers that the model likes best, the first among equals.

    Args:
        graph: with closed maps.
        shapes: numbers for the data symbols.
        target: a GPU.

    Returns:
        The numbers with a schedule, or an `Obstacle` where no numbers are legal.

    Raises:
        ShapeError: the maps are open, or a data symbol has no number.
    """
    symbols = graph.parameters
    domains = [tuple(_values(graph, s, shapes)) for s in symbols]
    known: dict[tuple[int, ...], float | Obstacle] = {}

    def time_s(values: tuple[int, ...]) -> float:
        if values not in known:
            known[values] = _judged(graph, {**shapes, **dict(zip(symbols, values, strict=True))}, target)
        found = known[values]
        return inf if isinstance(found, Obstacle) else found

    if prod(map(len, domains)) <= MOST_PLANS:
        tried = list(product(*domains))
    else:
        rng = random.Random(0)
        tried = [tuple(map(rng.choice, domains)) for _ in range(MOST_PLANS)]
        tried = [_descended(start, domains, time_s) for start in sorted(tried, key=time_s)[:DESCENTS]]
    best = min(tried, key=time_s)
    if time_s(best) < inf:
        return Parameters(tuple(zip(symbols, best, strict=True)), SCHEDULE)
    return next((found for found in known.values() if isinstance(found, Obstacle)), NOTHING_WHOLE)


def _judged(graph: SGraph, numbers: Mapping[str, int], target: Target) -> float | Obstacle:
    """The modelled time, a second more where a tile is crowded; or why there is no kernel."""
    plans = plan_kernels(graph, numbers, Parameters((), SCHEDULE), target)
    if isinstance(plans, Obstacle):
        return plans
    crowded = any(_is_crowded(plan, target) for plan in plans)
    return sum(_modelled_s(plan, target) for plan in plans) + (1.0 if crowded else 0.0)


def _descended(
    start: tuple[int, ...], domains: Sequence[tuple[int, ...]], time_s: Callable[[tuple[int, ...]], float]
) -> tuple[int, ...]:
    """The best that is reached from a start by changing one number after another."""
    best = start
    while True:
        before = best
        for place, domain in enumerate(domains):
            best = min((best, *((*best[:place], n, *best[place + 1 :]) for n in domain)), key=time_s)
        if best == before:
            return best


def _values(graph: SGraph, symbol: str, shapes: Mapping[str, int]) -> Iterator[int]:
    """Divisors of all that the symbol divides: powers of two before others, at most `MOST_VALUES`."""
    ones = {**dict.fromkeys(graph.parameters, 1), **shapes}
    whole = [
        int(d.rational(ones))
        for d in graph.conditions()
        if symbol in d.symbols and d.is_monomial and dict(d.terms[0][0]).get(symbol, 0) < 0
    ]
    common = gcd(*whole) if whole else 1
    divisors = [n for n in range(1, min(common, 4096) + 1) if common % n == 0]
    preferred = sorted(divisors, key=lambda n: (n & (n - 1) != 0, n))
    yield from sorted(preferred[:MOST_VALUES])


def _is_crowded(plan: BlockPlan, target: Target) -> bool:
    """Whether tiles ask more of registers or shared memory than leaves room for the rest."""
    threads = 32 * dict(SCHEDULE)["num_warps"]
    stages = dict(SCHEDULE)["num_stages"]
    places = range(len(plan.block.nodes))
    held = [prod(plan.work(j)) for j in places if not plan.is_staged(j)]
    return max(held) > PER_THREAD * threads or plan.staged_bytes * stages > target.shared_memory_bytes


def _modelled_s(plan: BlockPlan, target: Target) -> float:
    """The module's formula for one kernel.

    Units: bytes / (bytes/s) = s
    """
    blocks = prod(plan.grid)
    together = min(blocks, target.cores)
    loaded = 0
    for j, node in enumerate(plan.block.nodes):
        if isinstance(node.op, Load) and plan.sections[j] != "after":
            loaded += prod(plan.dims[j]) * BYTES[plan.types[j].dtype]
    share = target.dram_bytes_per_s * min(ONE_BLOCK, 1 / together)
    return ceil(blocks / target.cores) * plan.iterations * max(LATENCY_S, loaded / share)
