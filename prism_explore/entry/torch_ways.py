# pyright: basic
# Most values are objects of torch, which pyright types only in part.
"""A graph with symbolic sizes: which way runs it is decided again for other sizes than those of the first race.

Sizes are gathered in buckets, four per factor of two. The first call of a bucket times all ways on its tensors. Once
there have been `FREE_RACES` such races, another bucket is raced after the default compiler's code has run as long as a
race takes. Until then, and in other threads meanwhile, the default compiler's code runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from prism_explore.entry.torch_nodes import number_of, value_of
from prism_explore.entry.torch_race import race_whole
from prism_explore.entry.torch_report import WholeRace
from prism_explore.runtime.kernel_for_sizes import bucket_size
from prism_explore.support.earned_work import EarnedWork, Waiting

MOST_BUCKETS = 64
"""Buckets whose race is remembered."""
FREE_RACES = 12
RACE_S = 0.5
"""A race ends after this time if it has the least number of rounds."""
FIRST_RACE_S = 1.0
"""What a race is assumed to take before there was one."""


class WaysBySizes:
    """The ways to run a graph, as a function of its arguments."""

    def __init__(
        self,
        module: Any,
        ways: Mapping[str, Callable[[], Callable[..., Any]]],
        first: WholeRace,
        default: Callable[..., Any],
        seed: int = 0,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Nothing is raced yet.

        Args:
            module: torch's graph, as a module.
            ways: functions that return those that run it, by name.
            first: the race at the sizes of the call at which torch compiles.
            default: what runs until a race has been held.
            seed: of the order of races.
            clock: seconds.
        """
        self._module, self._ways, self._default, self._seed, self._clock = module, ways, default, seed, clock
        placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
        self._numbers = {n: node for n, node in enumerate(placeholders) if hasattr(value_of(node), "node")}
        self._at = tuple(number_of(node) for node in self._numbers.values())
        self._first = ways[first.winner]()
        self._table = EarnedWork[tuple[Any, ...], tuple[str, WholeRace]](MOST_BUCKETS, FREE_RACES, FIRST_RACE_S, clock)

    def __call__(self, *args: Any) -> Any:
        """The graph's results."""
        numbers = tuple(args[n] for n in self._numbers)
        if numbers == self._at:
            return self._first(*args)
        key = tuple(bucket_size(n) if isinstance(n, int) and n > 0 else n for n in numbers)
        found = self._table.find(key, lambda: self._race(numbers, args))
        if not isinstance(found, Waiting):
            return self._ways[found[1].winner]()(*args)
        start = self._clock()
        results = self._default(*args)
        self._table.spent(key, self._clock() - start)
        return results

    def _race(self, numbers: tuple[Any, ...], args: tuple[Any, ...]) -> tuple[str, WholeRace]:
        import torch

        ways = {name: way() for name, way in self._ways.items()}
        with torch.random.fork_rng(devices=[]):
            race = race_whole(self._module, args, ways, self._clock, self._seed, seconds=RACE_S)
        names = (str(value_of(node)) for node in self._numbers.values())
        return ", ".join(f"{name}={n}" for name, n in zip(names, numbers, strict=True)), race

    @property
    def races(self) -> tuple[tuple[str, WholeRace], ...]:
        """Per bucket, the sizes at which it was raced, and the race."""
        return self._table.values
