"""The time of a kernel: one number, with its spread, its source, and warnings about its quality.

A kernel can be timed twice: in its trial, against the kernel that was best then, and, if it is the best of the search,
in the final race against the baselines. What shows one kernel shows its `KernelTime`. What compares kernels, such as a
table or a chart of trials, orders and places them by the times of their trials, and shows the race separately.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from prism_explore.events.format import factor_text, seconds_text

TimeSource: TypeAlias = Literal["race", "trial"]

DOUBTFUL_RATIO = 1.5
"""A larger ratio between race and trial, or between p80 and p20, is reported."""
BEATEN_RATIO = 1.05
"""A lower bound of more than this times the time of the kernel is reported; measured times vary by less."""
BUSY_SHARE = 0.05
"""A larger share of the time that threads waited for a core is reported."""

REMEDY = "On an idle machine, sess.time_again() measures all times again."

SOURCE_TEXT: dict[TimeSource, str] = {"race": "in the final race", "trial": "in its trial"}


@dataclass(frozen=True, slots=True)
class KernelTime:
    """The time of a kernel: that of the final race if it took part, else that of its trial.

    `Trial.kernel_time` computes it; `Trial.trial_time` is always that of the trial. To show it:
    `seconds_text(t.time_s)`, `t.spread_text`, `t.source_text`, and a mark with `t.warning` as its text unless that is
    empty.

    Example:
        >>> raced = KernelTime(300e-6, 290e-6, 310e-6, 24, "race", trial_s=100e-6)
        >>> print(raced)
        300 µs (p20 to p80: 290 µs to 310 µs) in the final race
        >>> raced.doubt
        'race and trial differ 3×'
    """

    time_s: float
    """Median."""
    p20_s: float
    p80_s: float
    samples: int
    source: TimeSource
    trial_s: float
    """The time in its trial, which alone is comparable with the trials of other kernels."""
    waited: float = 0.0
    """Share of its trial for which its threads waited for a core because other work was running."""
    floor_s: float | None = None
    """The lower bound of its candidate (roofline), modelled from the figures of the machine."""

    @property
    def spread_text(self) -> str:
        """The 20th to the 80th percentile."""
        return f"{seconds_text(self.p20_s)} to {seconds_text(self.p80_s)}"

    @property
    def source_text(self) -> str:
        """Where it was measured, such as `in the final race`."""
        return SOURCE_TEXT[self.source]

    @property
    def race_to_trial(self) -> float:
        """The larger one of its times in race and trial, divided by the smaller one; 1 without a race."""
        low, high = sorted((self.time_s, self.trial_s))
        return high / low if low > 0 else 1.0

    @property
    def doubt(self) -> str:
        """The first of the warnings in a few words; empty if there is none."""
        if self.race_to_trial > DOUBTFUL_RATIO:
            return f"race and trial differ {factor_text(self.race_to_trial)}"
        if self.waited > BUSY_SHARE:
            return "the machine was busy"
        if self._beats_bound:
            return f"{factor_text(self._bound_s / self._least_s)} faster than its lower bound"
        return f"times vary {factor_text(self.p80_s / self.p20_s)}" if self._varies else ""

    @property
    def _varies(self) -> bool:
        return self.p20_s > 0 and self.p80_s > DOUBTFUL_RATIO * self.p20_s

    @property
    def _least_s(self) -> float:
        return min(self.time_s, self.trial_s)

    @property
    def _bound_s(self) -> float:
        return self.floor_s or 0.0

    @property
    def _beats_bound(self) -> bool:
        return 0 < self._least_s * BEATEN_RATIO < self._bound_s

    @property
    def warnings(self) -> tuple[str, ...]:
        """Reasons to doubt the time, a sentence each."""
        found: list[str] = []
        if self.race_to_trial > DOUBTFUL_RATIO:
            found.append(
                f"The final race measured {seconds_text(self.time_s)}, its trial {seconds_text(self.trial_s)}: "
                f"a factor of {self.race_to_trial:.3g}. Other work may have slowed one of them."
            )
        if self.waited > BUSY_SHARE:
            found.append(
                f"The machine was busy during its trial: its threads waited for a core {self.waited:.0%} of the time."
            )
        if self._beats_bound:
            found.append(
                f"{seconds_text(self._least_s)} is below its lower bound, {seconds_text(self._bound_s)} (modelled). "
                "Other work slowed the kernel that it was timed against, or its inputs were cached, or this machine is "
                "faster than the figures of the model."
            )
        if self._varies:
            found.append(f"Its measured times vary {self.source_text}: p20 to p80 is {self.spread_text}.")
        return tuple(found)

    @property
    def warning(self) -> str:
        """The warnings as one text, with what can be done; empty if there is none."""
        return " ".join((*self.warnings, REMEDY)) if self.warnings else ""

    def __str__(self) -> str:
        """The time with spread and source."""
        return f"{seconds_text(self.time_s)} (p20 to p80: {self.spread_text}) {self.source_text}"
