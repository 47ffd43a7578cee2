"""The view of the tuning panel that the user has chosen: the chart, the number of listed trials, and the brush."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, cast, get_args

from prism_explore.events.ledger import Trial

TuningMode: TypeAlias = Literal["curve", "parallel", "roofline", "importance"]
Interval: TypeAlias = tuple[str, float, float]
"""Name of an axis, least and largest value."""

MODES: Mapping[TuningMode, tuple[str, str]] = {
    "curve": ("Best so far", "The best time after each trial, with its spread."),
    "parallel": ("Parameters", "Parallel coordinates: one axis per parameter, one line per trial. Drag on an axis."),
    "roofline": ("Roofline", "Performance of every trial against the limits of the machine."),
    "importance": ("Importance", "How much of the variation of time each parameter explains."),
}
"""Per chart, its label and its tooltip."""
TOP_CHOICES: tuple[int, ...] = (0, 5, 10, 25)
"""Numbers of fastest trials that can be listed; 0 for all trials."""
CANDIDATE, TIME = "candidate", "time"
"""Names of the two axes that are no parameters."""
MAX_INTERVALS = 32


@dataclass(frozen=True, slots=True)
class TuningView:
    """What the tuning panel shows."""

    mode: TuningMode = "curve"
    top: int = 0
    """Number of fastest trials in the table; 0 for all trials."""
    brush: tuple[Interval, ...] = ()
    """Intervals that trials must lie in, at most one per axis."""

    def changed(self, change: Mapping[str, Any]) -> TuningView:
        """The view after a message from the browser; what is not understood changes nothing."""
        match change:
            case {"mode": str(mode)} if mode in get_args(TuningMode):
                return replace(self, mode=mode)
            case {"top": int(top)} if top in TOP_CHOICES and not isinstance(top, bool):
                return replace(self, top=top)
            case {"brush": []}:
                return replace(self, brush=())
            case {"brush": [str(name)]}:
                return replace(self, brush=self._without(name))
            case {"brush": [str(name), int() | float() as low, int() | float() as high]}:
                interval = (name[:64], float(low), float(high))
                return replace(self, brush=(*self._without(name), interval)[-MAX_INTERVALS:])
            case _:
                return self

    def _without(self, name: str) -> tuple[Interval, ...]:
        return tuple(i for i in self.brush if i[0] != name)

    def holds(self, trial: Trial, candidates: Sequence[str]) -> bool:
        """Whether a trial lies in every interval; `candidates` gives the values of the candidate axis."""
        return all(
            (value := axis_value(trial, name, candidates)) is not None and low <= value <= high
            for name, low, high in self.brush
        )


def axis_value(trial: Trial, name: str, candidates: Sequence[str]) -> float | None:
    """The value of a trial on an axis; None if it has none, as a failed trial has no time."""
    if name == TIME:
        return trial.time_s
    if name == CANDIDATE:
        return float(candidates.index(trial.candidate)) if trial.candidate in candidates else None
    value = cast("Mapping[str, int]", dict(trial.parameters)).get(name)
    return None if value is None else float(value)
