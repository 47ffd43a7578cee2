"""The legal sizes of a candidate, ranked by modelled time.

Parameters of different kernels are independent unless a constraint links them, and sizes of a kernel of a few
microseconds must not displace those of the kernel that takes the time. So each group of linked symbols is ranked
separately, with all others fixed, and the best of each group are combined.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from prism_explore.pipeline.stages import Candidate
from prism_explore.targets import Target
from prism_explore.tune.space.parameters import independent_groups, limits_of, sample_sizes
from prism_explore.tune.space.size_table import RankedSizes, SizeTable, Values
from prism_explore.tune.space.time_model import TimeModel


def ranked_sizes(
    candidate: Candidate, shapes: Mapping[str, int], target: Target, model: TimeModel, most: int
) -> tuple[RankedSizes, bool]:
    """Modelled seconds and sizes, fastest first; and whether these are all legal choices.

    If there are more than `most`, the result has each group's sizes combined with the best of the others, and
    combinations of the best of all groups. A group that alone has too many is sampled evenly.
    """
    limits = limits_of(candidate, shapes, target)
    groups, is_complete = list[SizeTable](), True
    for group_limits in independent_groups(limits):
        found, has_all = sample_sizes(group_limits, target, most)
        groups.append(found)
        is_complete &= has_all
    if not all(groups):
        none = SizeTable(limits.symbols, np.zeros((len(limits.symbols), 0), np.int64))
        return RankedSizes(np.zeros(0), none), is_complete
    if len(groups) == 1:
        choices = groups[0]
    elif prod(map(len, groups)) <= most:
        choices = _combined(groups, limits.symbols)
    else:
        choices, is_complete = _best_combinations(groups, limits.symbols, model, most), False
    times_s, _ = model.estimate_all(choices)
    return RankedSizes.of(times_s, choices), is_complete


def _best_combinations(groups: Sequence[SizeTable], symbols: tuple[str, ...], model: TimeModel, most: int) -> SizeTable:
    """Each group's sizes combined with the best of the others, and combinations of the best of all groups.

    A group's best sizes are those with the least modelled time while every other group has its first sizes.
    """
    ranked: list[SizeTable] = []
    for place, group in enumerate(groups):
        times_s, _ = model.estimate_all(_combined(_alone(groups, place), symbols))
        ranked.append(RankedSizes.of(times_s, group).table)
    depth = 1
    while prod(min(depth + 1, len(group)) for group in ranked) + sum(map(len, ranked)) <= most:
        depth += 1
    combinations = _combined([group[:depth] for group in ranked], symbols)
    single = [_combined(_alone(ranked, place), symbols) for place in range(len(ranked))]
    every = np.concatenate([table.values for table in (combinations, *single)], axis=1)
    _, first = np.unique(every, axis=1, return_index=True)
    return SizeTable(symbols, every[:, np.sort(first)[: max(most, len(combinations))]])


def _alone(groups: Sequence[SizeTable], place: int) -> list[SizeTable]:
    """All sizes of one group, and the first of each other."""
    return [group if n == place else group[:1] for n, group in enumerate(groups)]


def _combined(groups: Sequence[SizeTable], symbols: tuple[str, ...]) -> SizeTable:
    """Every combination of sizes of all groups, with the symbols in this order."""
    left, rows = prod(map(len, groups)), dict[str, Values]()
    every = np.arange(left)  # NumPy has arrays of at most 64 dims, and there may be more groups
    for group in groups:
        left //= len(group)
        rows.update(zip(group.symbols, group.values[:, every // left % len(group)], strict=True))
    return SizeTable(symbols, np.stack([rows[symbol] for symbol in symbols]))
