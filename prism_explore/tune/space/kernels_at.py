"""Kernels of a proved candidate at other sizes than those for which it was tuned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from prism_explore.codegen import emit_cpu
from prism_explore.pipeline.stages import Kernel, Parameters, Verified
from prism_explore.targets import Target
from prism_explore.tune.space.parameters import legal_sizes
from prism_explore.tune.space.time_model import model_of

MAX_RANKED = 2_000
"""Number of legal sizes that are ranked by the cost model."""
MOST_KERNELS = 8
"""Number of those for which code is generated."""


def kernels_at(verified: Verified, tuned: Parameters, shapes: Mapping[str, int], target: Target) -> Iterator[Kernel]:
    """Kernels with the tuned parameters, where they are legal, and with those that the cost model ranks first.

    Args:
        verified: the candidate.
        tuned: its parameters at some sizes.
        shapes: the sizes of the data symbols.
        target: the machine.
    """
    own = emit_cpu(verified, tuned, shapes)
    if isinstance(own, Kernel):
        yield own
    candidate = verified.candidate
    model = model_of(candidate, shapes, target)
    legal = islice(legal_sizes(candidate, shapes, target), MAX_RANKED)
    for sizes in sorted(legal, key=lambda s: (model.estimate(dict(s)).time_s, s))[:MOST_KERNELS]:
        for schedule in dict.fromkeys((tuned.schedule, ())):
            parameters = Parameters(sizes, schedule)
            other = emit_cpu(verified, parameters, shapes) if parameters != tuned else None
            if isinstance(other, Kernel):
                yield other
                break
