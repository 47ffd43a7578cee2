"""The legal sizes of a candidate, ranked by modelled time.

Parameters of different kernels are independent unless a constraint links them, and sizes of a kernel of a few
microseconds must not displace those of the kernel that takes the time. So each group of linked symbols is ranked
separately, with all others fixed, and the best of each group are combined.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, product
from math import prod

from prism_explore.pipeline.stages import Candidate
from prism_explore.targets import Target
from prism_explore.tune.space.parameters import Sizes, independent_groups, limits_of, sample_sizes
from prism_explore.tune.space.time_model import TimeModel


def ranked_sizes(
    candidate: Candidate, shapes: Mapping[str, int], target: Target, model: TimeModel, most: int
) -> tuple[tuple[tuple[float, Sizes], ...], bool]:
    """Modelled seconds and sizes, fastest first; and whether these are all legal choices.

    If there are more than `most`, the result has each group's sizes combined with the best of the others, and
    combinations of the best of all groups. A group that alone has too many is sampled evenly.
    """
    limits = limits_of(candidate, shapes, target)
    groups, is_complete = list[Sequence[Sizes]](), True
    for group_limits in independent_groups(limits):
        found, has_all = sample_sizes(group_limits, target, most)
        groups.append(found)
        is_complete &= has_all
    if not all(groups):
        return (), is_complete
    if len(groups) == 1:
        choices = groups[0]
    elif prod(map(len, groups)) <= most:
        choices = [_merge(parts, limits.symbols) for parts in product(*groups)]
    else:
        choices, is_complete = _best_combinations(groups, limits.symbols, model, most), False
    return tuple(_rank(choices, choices, model)), is_complete


def _best_combinations(
    groups: Sequence[Sequence[Sizes]], symbols: Sequence[str], model: TimeModel, most: int
) -> Sequence[Sizes]:
    """Each group's sizes combined with the best of the others, and combinations of the best of all groups.

    A group's best sizes are those with the least modelled time while every other group has its first sizes.
    """
    first = [group[0] for group in groups]
    ranked = [
        [own for _, own in _rank(group, _with_each(group, first, place, symbols), model)]
        for place, group in enumerate(groups)
    ]
    best = [group[0] for group in ranked]
    depth = 1
    while prod(min(depth + 1, len(group)) for group in ranked) + sum(map(len, ranked)) <= most:
        depth += 1
    combinations = [_merge(parts, symbols) for parts in product(*(group[:depth] for group in ranked))]
    single = [sizes for place, group in enumerate(ranked) for sizes in _with_each(group, best, place, symbols)]
    return list(dict.fromkeys((*combinations, *single)))[: max(most, len(combinations))]


def _with_each(group: Sequence[Sizes], fixed: Sequence[Sizes], place: int, symbols: Sequence[str]) -> list[Sizes]:
    """Every choice of one group, combined with fixed sizes of the others."""
    merged, places = list(_merge(fixed, symbols)), [symbols.index(name) for name, _ in fixed[place]]
    found: list[Sizes] = []
    for own in group:
        for at, value in zip(places, own, strict=True):
            merged[at] = value
        found.append(tuple(merged))
    return found


def _merge(parts: Sequence[Sizes], symbols: Sequence[str]) -> Sizes:
    """The sizes of all groups together, in the order of `symbols`."""
    values = dict(chain.from_iterable(parts))
    return tuple((symbol, values[symbol]) for symbol in symbols)


def _rank(own: Sequence[Sizes], full: Sequence[Sizes], model: TimeModel) -> list[tuple[float, Sizes]]:
    """Choices of a group by the modelled time of the full sizes that they belong to."""
    times, _ = model.estimate_all(full)
    return sorted(zip(times.tolist(), own, strict=True))
