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
from prism_explore.tune.space.parameters import Sizes, independent, limits_of, sample_sizes
from prism_explore.tune.space.time_model import Model


def ranked_sizes(
    candidate: Candidate, shapes: Mapping[str, int], target: Target, model: Model, most: int
) -> tuple[tuple[tuple[float, Sizes], ...], bool]:
    """Modelled seconds and sizes, fastest first; and whether these are all legal choices.

    If there are more than `most`, the result has each group's sizes combined with the best of the others, and
    combinations of the best of all groups. A group that alone has too many is sampled evenly.
    """
    limits = limits_of(candidate, shapes, target)
    groups, is_complete = list[Sequence[Sizes]](), True
    for part in independent(limits):
        found, has_all = sample_sizes(part, target, most)
        groups.append(found)
        is_complete &= has_all
    if not all(groups):
        return (), is_complete

    def merged(parts: Sequence[Sizes]) -> Sizes:
        numbers = dict(chain.from_iterable(parts))
        return tuple((symbol, numbers[symbol]) for symbol in limits.symbols)

    def ranked(own: Sequence[Sizes], every: Sequence[Sizes]) -> list[tuple[float, Sizes]]:
        times, _ = model.of(every)
        return sorted(zip(times.tolist(), own, strict=True))

    if len(groups) == 1:
        combined = list(groups[0])
    elif prod(map(len, groups)) <= most:
        combined = [merged(parts) for parts in product(*groups)]
    else:
        first = [group[0] for group in groups]
        rows = [
            [own for _, own in ranked(group, [merged([*first[:at], own, *first[at + 1 :]]) for own in group])]
            for at, group in enumerate(groups)
        ]
        best = [row[0] for row in rows]
        depth = 1
        while prod(min(depth + 1, len(row)) for row in rows) + sum(map(len, rows)) <= most:
            depth += 1
        combinations = [merged(parts) for parts in product(*(row[:depth] for row in rows))]
        alone = [merged([*best[:at], own, *best[at + 1 :]]) for at, row in enumerate(rows) for own in row]
        combined = list(dict.fromkeys((*combinations, *alone)))[: max(most, len(combinations))]
        is_complete = False
    return tuple(ranked(combined, combined)), is_complete
