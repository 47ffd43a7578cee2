"""Result rows of a comparison with baselines: medians, quantiles, ratios, and the machine's limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from prism_explore.cost.roofline import TimeBound
from prism_explore.events.fastest import OURS, ROOFLINE
from prism_explore.events.kinds import BaselineMeasured, RivalTimed
from prism_explore.targets import Target
from prism_explore.tune.runner.bench import Ceilings, Failure, Samples
from prism_explore.tune.runner.local_bench import CEILING_PREFIX
from prism_explore.tune.runner.measured_limit import EXCEEDED, fastest_reader, limits_s
from prism_explore.tune.runner.timing import counted_rounds, quantile, ratios


def comparison_rows(
    samples: Samples | Failure,
    names: Sequence[str],
    failures: Mapping[str, str],
    notes: Mapping[str, str],
    ceilings: Ceilings | None,
    bound: TimeBound,
) -> tuple[BaselineMeasured, ...]:
    """The kernel's row, the baselines' rows, and the row of the machine's limit.

    Args:
        samples: times of all that was timed, or why nothing was.
        names: of the kernel and the baselines.
        failures: reasons of those that were not timed.
        notes: texts for those that were.
        ceilings: the loops that measure the limit, if they were timed.
        bound: the kernel's least bytes and operations.
    """
    if isinstance(samples, Failure):
        return tuple(_not_timed(n, failures.get(n, samples.reason)) for n in names)
    counted = counted_rounds(samples.waits)
    times = {n: [t[i] for i in counted] for n, t in samples.times_s.items()}
    ours = times[OURS]
    rows = [
        _row(n, times[n], ours, notes.get(n, "")) if n in times else _not_timed(n, failures.get(n, "not measured"))
        for n in names
    ]
    return (*rows, *([_limit_row(times, ours, ceilings, bound)] if ceilings is not None else []))


def _limit_row(
    times: Mapping[str, Sequence[float]], ours: Sequence[float], c: Ceilings, bound: TimeBound
) -> BaselineMeasured:
    best, limit = fastest_reader(times, c), limits_s(times, c)
    limited_by = "memory" if median(times[best]) * c.scale >= median(times[c.arithmetic]) else "compute"
    note = (
        f"measured: {bound.bytes / 1e6:.1f} MB by {best.removeprefix(CEILING_PREFIX)}, {bound.flops / 1e6:.0f} Mflop; "
        f"bound by {limited_by}"
    )
    if median(ours) < EXCEEDED * median(limit):
        note += "; the kernel outran it, so it is no limit"
    return _row(ROOFLINE, limit, ours, note)


def _not_timed(name: str, reason: str) -> BaselineMeasured:
    return BaselineMeasured(name, 0.0, 0.0, 0.0, 0, reason)


def _row(name: str, times: Sequence[float], ours: Sequence[float], note: str) -> BaselineMeasured:
    to_ours = ratios(times, ours)
    return BaselineMeasured(
        name,
        median(times),
        quantile(times, 0.2),
        quantile(times, 0.8),
        len(times),
        note,
        median(to_ours),
        quantile(to_ours, 0.25),
        quantile(to_ours, 0.75),
    )


def baseline_row(name: str, samples: Samples, note: str) -> RivalTimed:
    """The row of a baseline that was timed without a kernel."""
    times = [samples.times_s[name][i] for i in counted_rounds(samples.waits)]
    return RivalTimed(name, median(times), quantile(times, 0.2), quantile(times, 0.8), len(times), note)


def with_measured_rates(
    target: Target, samples: Samples, ceilings: Ceilings, bound: TimeBound, is_16_bit: bool
) -> Target:
    """The target with the rates that the ceiling loops reached, by the 20 % quantile of their times."""
    read_s = min(quantile(samples.times_s[n], 0.2) for n in ceilings.readers if n in samples.times_s) * ceilings.scale
    read_per_s = bound.bytes / read_s if bound.bytes else 0.0  # a kernel may skip all that its mask hides
    arithmetic_s = quantile(samples.times_s[ceilings.arithmetic], 0.2)
    flops_per_s = bound.flops / arithmetic_s if bound.flops > 1e7 and not is_16_bit else 0.0
    return target.replace(
        dram_bytes_per_s=max(target.dram_bytes_per_s, read_per_s),
        peak_flops_per_s=max(target.peak_flops_per_s, flops_per_s),
    )
