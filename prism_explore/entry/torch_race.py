# pyright: basic
# Most values are objects of torch, which pyright types only in part.
"""The final race of whole code: with kernels, beside torch eager and the default compiler.

All ways run in the same rounds, in shuffled order, on the same tensors; for a graph those of the call at which torch
compiles. What a graph writes in place is restored between calls, outside of the measured time.

A graph has tens of parallel loops, and each ends when its last thread does. Where other processes take cores, a call
takes 10 times as long, and all ways about the same. So rounds in which threads waited for a core do not count, a
disturbed race goes on for longer, and what it decides is not kept for later builds.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

from prism_explore.entry.torch_errors import Errors, errors_of
from prism_explore.entry.torch_nodes import has_side_effect
from prism_explore.entry.torch_report import WholeRace
from prism_explore.events.fastest import COMPILED, EAGER
from prism_explore.targets import ceilings
from prism_explore.targets.cpus import cores
from prism_explore.tune.runner.timing import least_disturbed, quantile, ratios

KERNELS = "kernels"
"""The way in which kernels run where they are, and torch elsewhere."""
KERNELS_AND_COMPILED = "kernels and torch.compile"

ROUNDS, MOST_ROUNDS = 25, 100
"""Most rounds of the race, and of a disturbed one."""
LEAST_ROUNDS = 7
SECONDS, MOST_SECONDS = 2.0, 8.0
"""A race, and a disturbed one, ends after this time, if it has the least number of rounds."""
DISTURBED_SHARE = 0.1
"""A round is disturbed if threads waited for a core for more than this share of its time."""


def race_whole(
    module: Any,
    examples: Sequence[Any],
    ways: Mapping[str, Callable[..., Any]],
    clock: Callable[[], float] = time.perf_counter,
    seed: int = 0,
) -> WholeRace:
    """Time all ways to run a graph, and choose: torch's fastest, unless another is faster by more than the noise.

    A way with kernels that is much less exact than torch eager does not take part (`entry/torch_errors.py`).

    Args:
        module: torch's graph, as a module.
        examples: tensors and numbers of a call.
        ways: functions by name, `torch eager` and possibly `torch.compile` among them.
        clock: seconds.
        seed: of the order.
    """
    arguments = _Restored(module.graph, examples).fresh
    errors = Errors() if _why_not(arguments()) else errors_of(module, arguments, ways)
    refused = {name: why for name in ways if (why := errors.why_refused(name))}
    found = race(arguments, {name: run for name, run in ways.items() if name not in refused}, clock, seed)
    return replace(found, errors=errors.of, note="; ".join(filter(None, (found.note, *refused.values(), errors.note))))


def race(
    arguments: Callable[[], Sequence[Any]],
    ways: Mapping[str, Callable[..., Any]],
    clock: Callable[[], float] = time.perf_counter,
    seed: int = 0,
    core_wait_s: Callable[[], float] = ceilings.core_wait_s,
) -> WholeRace:
    """Time all ways to compute the same, and choose as `choose` does; a way that fails is left out and named.

    Without data on the CPU there is no race, and the last way is chosen.

    Args:
        arguments: called before each call of a way, outside of the measured time.
        ways: functions by name, `torch eager` and possibly `torch.compile` among them.
        clock: seconds.
        seed: of the order.
        core_wait_s: seconds that threads of this process have waited for a core so far.
    """
    names = list(ways)
    if why := _why_not(arguments()):
        return WholeRace(names[-1], {}, why)
    rng = random.Random(seed)
    failed: dict[str, str] = {}
    for name in names:
        try:
            for _ in range(2):
                ways[name](*arguments())
        except Exception as failure:
            failed[name] = f"{name} failed: {str(failure).splitlines()[0] if str(failure) else type(failure).__name__}"
    running = [n for n in names if n not in failed]
    times: dict[str, list[float]] = {n: [] for n in running}
    waits: list[float] = []
    begin = clock()
    for done in range(MOST_ROUNDS):
        most, seconds = (MOST_ROUNDS, MOST_SECONDS) if _is_disturbed(waits) else (ROUNDS, SECONDS)
        if done >= most or (done >= LEAST_ROUNDS and clock() - begin > seconds):
            break
        rng.shuffle(running)
        waited = spent = 0.0
        for name in running:
            given = arguments()
            waited_before, start = core_wait_s(), clock()
            ways[name](*given)
            times[name].append(clock() - start)
            waited, spent = waited + core_wait_s() - waited_before, spent + times[name][-1]
        waits.append(waited / spent / cores() if spent else 0.0)
    counted, is_disturbed = _counted(waits), _is_disturbed(waits)
    notes = (*failed.values(), "other processes took cores from it: it is not kept" if is_disturbed else "")
    counted_times = {n: [times[n][i] for i in counted] for n in names if n in times}
    return replace(choose(counted_times, "; ".join(filter(None, notes))), is_disturbed=is_disturbed)


def _counted(waits: Sequence[float]) -> list[int]:
    """The rounds that count: the undisturbed ones if there are enough, else the least disturbed."""
    return least_disturbed(waits, LEAST_ROUNDS, DISTURBED_SHARE)


def _is_disturbed(waits: Sequence[float]) -> bool:
    return any(waits[i] > DISTURBED_SHARE for i in _counted(waits))


def choose(times: Mapping[str, Sequence[float]], note: str = "") -> WholeRace:
    """The fastest of torch's ways, unless another one is faster in three quarters of the rounds or more.

    Args:
        times: seconds per round, by way.
        note: what else to say.
    """
    medians = {name: median(t) for name, t in times.items()}
    torch_ways = [n for n in medians if n in (EAGER, COMPILED)]
    others = [n for n in medians if n not in torch_ways]
    if not medians:
        return WholeRace(EAGER, {}, note)
    best_torch = min(torch_ways, key=lambda n: medians[n], default=EAGER)
    best = min(others, key=lambda n: medians[n], default=None)
    if best is None or best_torch not in times:
        return WholeRace(best or best_torch, medians, note)
    rounds = min(len(times[best]), len(times[best_torch]))  # fewer of a way that was left out
    shares = ratios(times[best][:rounds], times[best_torch][:rounds])
    wins = quantile(shares, 0.75) < 1.0
    said = f"{best} is {1 / median(shares):.2f}x as fast as {best_torch} ({len(shares)} rounds)"
    said = said if wins else f"{said}, which is not faster by more than the noise"
    return WholeRace(best if wins else best_torch, medians, "; ".join(filter(None, (said, note))))


class _Restored:
    """The tensors of a call, restored before each call if the graph writes in place."""

    def __init__(self, graph: Any, examples: Sequence[Any]) -> None:
        import torch

        writes = any(has_side_effect(n) for n in graph.nodes)
        self._given = tuple(examples)
        self._own = tuple(
            x.clone() if writes and isinstance(x, torch.Tensor) and not isinstance(x, torch.nn.Parameter) else x
            for x in examples
        )

    def fresh(self) -> tuple[Any, ...]:
        """The tensors with the values of the first call."""
        for own, given in zip(self._own, self._given, strict=True):
            if own is not given:
                own.copy_(given)
        return self._own


def _why_not(examples: Sequence[Any]) -> str:
    import torch
    from torch._subclasses.fake_tensor import FakeTensor

    if any(isinstance(x, FakeTensor) for x in examples):
        return "there was no race, because torch passed no data"
    if any(isinstance(x, torch.Tensor) and x.device.type != "cpu" for x in examples):
        return "there was no race, because the tensors are not on the CPU"
    return ""
