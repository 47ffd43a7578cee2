"""How much work of a build each region gets: in proportion to its share of the modelled time of all regions.

A search can gain at most what its region takes. A region with `FULL_SHARE` of the time, or more, gets the whole budget
of tuning and the limits of a quick search. A smaller one gets a half, a quarter, ... of both. The smallest ones
are timed beside torch eager alone, because the default compiler's code of the whole graph is in the last race anyway.
What is asked of a proof is the same for all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import floor, log2

from prism_explore.events.fastest import COMPILED
from prism_explore.ir.program import TensorProgram
from prism_explore.pipeline.search_space import Space, quick_space
from prism_explore.tune import Budget

FULL_SHARE = 0.2
"""The share of the modelled time from which on a region is searched without restriction."""
LEAST_SCALE = 1 / 16
FEW = 1 / 4
"""A region with less than this share of the work is not timed beside the default compiler."""
LEAST_NODES = 150
"""Partial sGraphs that are expanded in any case; most programs have their first family within a hundred."""
LEAST_PART_NODES = 75
"""The same for one part of a kernel sequence; attention with grouped heads has its first family after 50."""
NODES_AFTER_FAMILY = 300
"""Partial sGraphs that are expanded after the last family, for the largest regions."""
LEAST_FAMILIES = 10
"""Each is assessed in floating point, which takes up to 40 ms; the smallest regions have one trial."""
FULL_TIME_S, LEAST_TIME_S = 120.0, 30.0
"""Seconds for enumeration, for proofs, and for float assessments. Unless the machine is busy, the number of partial
sGraphs ends them before."""


@dataclass(frozen=True, slots=True)
class Effort:
    """The work for one region, relative to what the largest regions get.

    Example:
        >>> Effort(0.03, 1 / 8).budget(Budget(trials=16, seconds=10.0)).trials
        2
    """

    share: float = 1.0
    """Of the modelled time of all regions; equal regions are counted together."""
    scale: float = 1.0
    """A power of two, so that regions of nearly equal shares ask the same question of the cache."""

    def budget(self, full: Budget) -> Budget:
        """The budget of tuning.

        Args:
            full: that of the largest regions.
        """
        full = replace(full, early_trial=False, details=False)
        if self.scale == 1.0:
            return full
        trials, patience = (round(n * self.scale) for n in (full.trials, full.patience))
        trials, seconds = max(min(1, full.trials), trials), full.seconds * self.scale
        return replace(full, trials=trials, patience=max(1, patience), seconds=seconds)

    def space(self, program: TensorProgram) -> Space:
        """The search space: that of a quick search of the program, with fewer partial sGraphs and less time.

        Args:
            program: of the region.
        """
        full = quick_space(program)
        nodes, patience = (max(LEAST_NODES, int(n * self.scale)) for n in (full.nodes, full.patience))
        after_family = max(LEAST_NODES, int(NODES_AFTER_FAMILY * self.scale))
        part_nodes = max(LEAST_PART_NODES, int(full.row_nodes * self.scale))
        families = max(LEAST_FAMILIES, int(full.families * self.scale))
        time_s = max(LEAST_TIME_S, FULL_TIME_S * self.scale)
        return replace(
            full,
            nodes=nodes,
            patience=patience,
            nodes_after_family=after_family,
            row_nodes=part_nodes,
            families=families,
            time_s=time_s,
        )

    def baselines(self, names: Sequence[str]) -> tuple[str, ...]:
        """What the kernel is timed beside.

        Args:
            names: for the largest regions.
        """
        return tuple(n for n in names if n != COMPILED or self.scale >= FEW)

    def __str__(self) -> str:
        return "" if self.scale == 1.0 else f"searched quickly, for {self.share:.1%} of the modelled time"


def efforts(texts: Sequence[str], seconds: Sequence[float]) -> dict[str, Effort]:
    """The effort of each different region of a graph.

    Args:
        texts: per region, its text; equal ones are searched once.
        seconds: per region, its modelled or measured time.

    Example:
        >>> {text: effort.scale for text, effort in efforts("aab", [4.0, 4.0, 1.0]).items()}
        {'a': 1.0, 'b': 0.5}
    """
    total: dict[str, float] = defaultdict(float)
    for text, time_s in zip(texts, seconds, strict=True):
        total[text] += time_s
    whole = sum(total.values()) or 1.0
    return {text: _effort(time_s / whole) for text, time_s in total.items()}


def _effort(share: float) -> Effort:
    scale = 2.0 ** floor(log2(min(1.0, share / FULL_SHARE))) if share > 0 else LEAST_SCALE
    return Effort(share, max(LEAST_SCALE, scale))
