"""Who is called: the kernel, or torch's own code where that was faster beside it.

A fold over the rows of one side-by-side run, so a search that was saved decides like the one that measured. This is
the only place where it is decided: `best`, `dispatch`, the torch.compile backend, the claim and the explorer ask here.

Noise is what the rounds of the run show: torch is faster where it was so in three quarters of them or more. A tie
goes to the kernel: nothing is lost that could be measured, and it is what was asked for, proved and checked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from prism_explore.events.format import seconds_text
from prism_explore.events.kinds import BaselineMeasured

OURS = "ours"
EAGER = "torch eager"
COMPILED = "torch.compile"
LIBRARY = "torch library call"
CALLABLE = (EAGER, LIBRARY, COMPILED)
"""Rivals that a call can run as they were measured, what needs no compiler first.

One with frozen weights cannot be run so: a call brings its own.
"""


@dataclass(frozen=True, slots=True)
class FasterBaseline:
    """Torch's own code was faster than the kernel beside it."""

    baseline: BaselineMeasured
    kernel_s: float

    def __str__(self) -> str:
        """Both times and their ratio."""
        by = self.baseline
        return (
            f"{by.name} took {seconds_text(by.time_s)} and the kernel {seconds_text(self.kernel_s)} in one run, "
            f"{by.ratio:.2f} times as long ({by.ratio_p25:.2f} to {by.ratio_p75:.2f} in half of the rounds)"
        )


def find_faster_baseline(
    rows: Iterable[BaselineMeasured], at_least: float = 1.0, available: Collection[str] = CALLABLE
) -> FasterBaseline | None:
    """The fastest of torch's ways that beat the kernel beyond the noise; None where the kernel is to be called.

    Args:
        rows: of one run.
        at_least: how many times as fast as torch the kernel has to be.
        available: names out of `CALLABLE` whose code is known.
    """
    timed = [r for r in rows if r.samples and r.ratio > 0]
    ours = next((r for r in timed if r.name == OURS), None)
    faster = [r for r in timed if r.name in CALLABLE and r.name in available and r.ratio_p75 < at_least]
    if ours is None or not faster:
        return None
    return FasterBaseline(min(faster, key=lambda r: (r.ratio, CALLABLE.index(r.name))), ours.time_s)
