"""Decides whether a call runs the kernel, or torch's own code because that was faster.

Input: the rows of one race, in which kernel and baselines are timed in the same rounds. A search and its saved file
have the same rows, so they decide alike. `Best`, `Dispatch`, the torch.compile backend, the claim and the explorer all
use this module.

Torch counts as faster only where it was faster in three quarters of the rounds or more. Otherwise the difference may be
noise, and the kernel, which is proved and checked, is called.
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
ROOFLINE = "roofline"
"""The row with the time in which the machine moves the kernel's bytes and does its arithmetic, at measured rates."""
CALLABLE = (EAGER, LIBRARY, COMPILED)
"""Baselines that a call can run; of equally fast ones the first, because torch.compile has to compile first.

The other torch baseline, with frozen weights, cannot be called: each call has its own weights.
"""

NOT_WAITED_FOR = "not waited for"
"""The beginning of the note of a baseline that was still being compiled when the final race began."""


@dataclass(frozen=True, slots=True)
class FasterBaseline:
    """A torch baseline that was faster than the kernel in the same race."""

    baseline: BaselineMeasured
    kernel_s: float
    """The kernel's time in that race."""

    def __str__(self) -> str:
        """Both times and their ratio; the claim of a search stores this sentence."""
        row = self.baseline
        return (
            f"{row.name} took {seconds_text(row.time_s)} and the kernel {seconds_text(self.kernel_s)} in one run, "
            f"{row.ratio:.2f} times as long ({row.ratio_p25:.2f} to {row.ratio_p75:.2f} in half of the rounds)"
        )


def find_faster_baseline(
    rows: Iterable[BaselineMeasured], at_least: float = 1.0, available: Collection[str] = CALLABLE
) -> FasterBaseline | None:
    """The fastest torch baseline that beat the kernel by more than the noise; None where the kernel is to be called.

    Args:
        rows: of one race.
        at_least: the speed-up over torch that the kernel needs.
        available: names out of `CALLABLE` whose code can be called.
    """
    timed = [r for r in rows if r.samples and r.ratio > 0]
    ours = next((r for r in timed if r.name == OURS), None)
    faster = [r for r in timed if r.name in CALLABLE and r.name in available and r.ratio_p75 < at_least]
    if ours is None or not faster:
        return None
    return FasterBaseline(min(faster, key=lambda r: (r.ratio, CALLABLE.index(r.name))), ours.time_s)
