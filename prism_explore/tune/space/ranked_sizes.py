"""The sizes of a candidate, in the model's order.

The numbers of one kernel are nothing to another one where no condition joins them, and what a kernel of a few
microseconds is cut into must not take the places of the kernel that takes the time. So they are ranked apart, by the
model with all others held, and only then combined.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, product
from math import prod

from prism_explore.pipeline.stages import Candidate
from prism_explore.targets import Target
from prism_explore.tune.space.parameters import Sizes, independent, limits_of, some_of
from prism_explore.tune.space.time_model import Model


def likely_sizes(
    candidate: Candidate, shapes: Mapping[str, int], target: Target, model: Model, most: int
) -> tuple[tuple[tuple[float, Sizes], ...], bool]:
    """Modelled seconds and sizes, the likeliest first; and whether that is every legal choice.

    Where there are more than `most`: each group's numbers with the likeliest of the others, and combinations of the
    likeliest of all; of a group that alone has too many, a part from everywhere.
    """
    limits = limits_of(candidate, shapes, target)
    groups, whole = list[Sequence[Sizes]](), True
    for part in independent(limits):
        found, all_of_it = some_of(part, target, most)
        groups.append(found)
        whole &= all_of_it
    if not all(groups):
        return (), whole

    def joined(parts: Sequence[Sizes]) -> Sizes:
        numbers = dict(chain.from_iterable(parts))
        return tuple((symbol, numbers[symbol]) for symbol in limits.symbols)

    def ranked(own: Sequence[Sizes], every: Sequence[Sizes]) -> list[tuple[float, Sizes]]:
        times, _ = model.of(every)
        return sorted(zip(times.tolist(), own, strict=True))

    if len(groups) == 1:
        combined = list(groups[0])
    elif prod(map(len, groups)) <= most:
        combined = [joined(parts) for parts in product(*groups)]
    else:
        first = [group[0] for group in groups]
        rows = [
            [own for _, own in ranked(group, [joined([*first[:at], own, *first[at + 1 :]]) for own in group])]
            for at, group in enumerate(groups)
        ]
        best = [row[0] for row in rows]
        deep = 1
        while prod(min(deep + 1, len(row)) for row in rows) + sum(map(len, rows)) <= most:
            deep += 1
        likely = [joined(parts) for parts in product(*(row[:deep] for row in rows))]
        alone = [joined([*best[:at], own, *best[at + 1 :]]) for at, row in enumerate(rows) for own in row]
        combined = list(dict.fromkeys((*likely, *alone)))[: max(most, len(likely))]
        whole = False
    return tuple(ranked(combined, combined)), whole
