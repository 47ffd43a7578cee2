"""The machine's limit for a program, measured beside a kernel: loops that read its bytes and that do its arithmetic.

A rate that was measured earlier is no limit on a shared machine, whose memory is twice as fast in some minutes as in
others. So the loops are timed in the same rounds as the kernel, and each round gives a share of the limit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from prism_explore.cost.roofline import TimeBound
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.tensors import WHOLE_NUMBERS
from prism_explore.targets import Target
from prism_explore.tune.runner.bench import Bench, Ceilings, Failure, Samples
from prism_explore.tune.runner.stopping_rule import FIRST_ROUNDS, LEAST_ROUNDS
from prism_explore.tune.runner.timing import counted_rounds, was_disturbed

EXCEEDED = 0.95
"""A kernel that takes less than this share of the measured limit shows that the limit was too slow."""

FAR = 0.75
"""A kernel whose share of the limit is below this in the first rounds is not timed further beside it."""


def multiplies_16_bits(program: TensorProgram, target: Target) -> bool:
    """Whether the arithmetic limit of a program is that of 16-bit operands."""
    paired = ("bf16",) if target.kind == "cpu" else ("bf16", "f16")
    return all(i.type.dtype in paired for i in program.inputs if i.type.dtype not in WHOLE_NUMBERS)


def limits_s(times_s: Mapping[str, Sequence[float]], ceilings: Ceilings) -> list[float]:
    """Per round, the limit in seconds: the longer of reading, by the fastest pattern, and of arithmetic.

    Args:
        times_s: times of the ceiling loops, at least of one reader.
        ceilings: their keys.
    """
    reads_s = times_s[fastest_reader(times_s, ceilings)]
    return [max(r * ceilings.scale, a) for r, a in zip(reads_s, times_s[ceilings.arithmetic], strict=True)]


def fastest_reader(times_s: Mapping[str, Sequence[float]], ceilings: Ceilings) -> str:
    """The key of the fastest pattern of reading among those that were timed."""
    return min((key for key in ceilings.readers if key in times_s), key=lambda key: median(times_s[key]))


def share_of_limit(bench: Bench, key: str, bound: TimeBound, is_16_bit: bool) -> float:
    """The limit divided by a kernel's time, the median over common rounds; 0 where it cannot be measured.

    Args:
        bench: where the kernel is kept.
        key: of the kernel.
        bound: the bytes and operations that any kernel of the program needs.
        is_16_bit: whether the arithmetic has 16-bit operands.

    Returns:
        About 1 for a kernel that cannot become faster. It is 0, too, where the kernel is far from the limit, where
        other work disturbed the rounds, and where the kernel took less than `EXCEEDED` of the limit.
    """
    ceilings = bench.prepare_ceilings(bound.bytes, bound.flops, is_16_bit)
    if isinstance(ceilings, Failure):
        return 0.0
    first = bench.time([key, *ceilings.keys], FIRST_ROUNDS)
    if isinstance(first, Failure) or (not was_disturbed(first.waits) and _share(first, key, ceilings) < FAR):
        return 0.0
    found = bench.time([key, fastest_reader(first.times_s, ceilings), ceilings.arithmetic], LEAST_ROUNDS)
    if isinstance(found, Failure) or was_disturbed(found.waits):
        return 0.0
    share = _share(found, key, ceilings)
    return share if share <= 1 / EXCEEDED else 0.0


def _share(samples: Samples, key: str, ceilings: Ceilings) -> float:
    own_s, all_s = samples.times_s[key], limits_s(samples.times_s, ceilings)
    return median(all_s[i] / own_s[i] for i in counted_rounds(samples.waits))
