"""The importance of tuning parameters: the share of the variation of time that each of them explains alone.

Input: the measured trials. Output: a list of `Importance`, and a bar chart. The measure is the correlation ratio,
corrected for chance (epsilon squared), of the logarithm of the time. For each parameter the trials are grouped by its
value:

    share = (between groups − (groups − 1) · within groups / (trials − groups)) / total      (sums of squares)

0 means that the value makes no difference beyond chance, 1 that it alone determines the time. Candidates differ in
their mean time, so that mean is subtracted first; the candidate has a row of its own. Logarithms are used because a
change of a parameter multiplies the time. The measure has two limits, which the panel states: the tuner does not choose
trials at random, so two parameters that it changes together share one effect; and effects of combinations count for no
parameter alone.

Source: Kelley, "An unbiased correlation ratio measure", PNAS 21(9), 1935. It is the first-order term of functional
ANOVA (Hutter, Hoos, Leyton-Brown, ICML 2014), estimated on the trials without a model.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from prism_explore.codegen.parameter_text import describe_parameter
from prism_explore.events.ledger import Trial
from prism_explore.widgets.drawing.charts import empty_scene
from prism_explore.widgets.drawing.text_metrics import shorten, width_px, wrap_text
from prism_explore.widgets.scene import Item, Scene, Shape, Text
from prism_explore.widgets.views.tuning_view import CANDIDATE

FEW_TRIALS = 20
"""With fewer trials, or fewer than `FEW_PER_VALUE` per value, the shares are marked as uncertain."""
FEW_PER_VALUE = 3
LEAST_TRIALS = 4
"""With fewer trials there is no measure."""
ROW_PX = 26.0


@dataclass(frozen=True, slots=True)
class Importance:
    """How much one parameter explains."""

    name: str
    share: float
    """From 0 to 1."""
    values: int
    """Number of different values."""
    trials: int
    """Number of measured trials that have the parameter."""

    @property
    def is_uncertain(self) -> bool:
        """Whether there are few trials for so many values."""
        return self.trials < FEW_TRIALS or self.trials < FEW_PER_VALUE * self.values


def importances(trials: Iterable[Trial]) -> tuple[Importance, ...]:
    """The importance of the candidate and of every parameter with several values, most important first."""
    timed = [t for t in trials if t.time_s is not None and t.time_s > 0]
    if len(timed) < LEAST_TRIALS:
        return ()
    log_times = [math.log(t.time_s or 1.0) for t in timed]
    found: list[Importance] = []
    candidates = [t.candidate for t in timed]
    if len(set(candidates)) > 1:
        found.append(_importance(CANDIDATE, candidates, log_times))
    residuals = _without_means(candidates, log_times)
    for name in dict.fromkeys(n for t in timed for n, _ in t.parameters):
        rows = [
            (dict(t.parameters)[name], r) for t, r in zip(timed, residuals, strict=True) if name in dict(t.parameters)
        ]
        if len({v for v, _ in rows}) > 1 and len(rows) >= LEAST_TRIALS:
            found.append(_importance(name, [v for v, _ in rows], [r for _, r in rows]))
    return tuple(sorted(found, key=lambda i: -i.share))


def _importance(name: str, values: Sequence[object], numbers: Sequence[float]) -> Importance:
    n, groups = len(numbers), len(set(values))
    total = _squares(numbers)
    within = _squares(_without_means(values, numbers), 0.0)
    if n <= groups or total <= 1e-12 * n:
        return Importance(name, 0.0, groups, n)
    between = total - within
    share = (between - (groups - 1) * within / (n - groups)) / total
    return Importance(name, min(1.0, max(0.0, share)), groups, n)


def _without_means(groups: Sequence[object], numbers: Sequence[float]) -> list[float]:
    """The numbers minus the mean of their group."""
    members: dict[object, list[float]] = {}
    for group, number in zip(groups, numbers, strict=True):
        members.setdefault(group, []).append(number)
    means = {group: fmean(own) for group, own in members.items()}
    return [number - means[group] for group, number in zip(groups, numbers, strict=True)]


def _squares(numbers: Sequence[float], around: float | None = None) -> float:
    centre = fmean(numbers) if around is None else around
    return sum((x - centre) ** 2 for x in numbers)


def importance_note(found: Sequence[Importance], timed: int) -> str:
    """The number of samples, what the measure leaves out, and a warning where there are few samples."""
    if not found:
        return f"{timed:,} measured trials: at least {LEAST_TRIALS} with different values are needed."
    warning = "" if not any(i.is_uncertain for i in found) else " Few samples: rows marked with ? can be chance."
    return (
        f"Share of the variance of log time that a parameter explains alone, over {timed:,} measured trials."
        f"{warning} The tuner does not choose trials at random, so parameters that change together share an effect."
    )


def importance_scene(found: Sequence[Importance], timed: int, width: float) -> Scene:
    """Draw a bar per parameter.

    Args:
        found: the importances, most important first.
        timed: number of measured trials.
        width: width of the picture. Units: px.
    """
    note = importance_note(found, timed)
    if not found:
        return empty_scene("tuning", note, width)
    left = max(width_px(shorten(i.name, 20), "mono") for i in found) + 14
    texts = [_row_text(i) for i in found]
    right = max(width_px(t, "small") for t in texts) + 12
    items: list[Item] = []
    for number, (row, text) in enumerate(zip(found, texts, strict=True)):
        y, w = number * ROW_PX, max(1.0, (width - left - right) * row.share)
        line = (
            Text(0, y + 17, shorten(row.name, 20), "mono", "start"),
            Text(left + w + 8, y + 17, text, "small", "start"),
        )
        kind = "bar-uncertain" if row.is_uncertain else "bar"
        items.append(Shape(row.name, "block", kind, left, y + 4, w, ROW_PX - 8, texts=line, tip=_tip(row, text)))
    y = len(found) * ROW_PX + 4
    for line in wrap_text(note, int(width // width_px("n", "small")), 4):
        items.append(
            Shape(f"note{y:g}", "text", "plain", 0, y, width, 18, "none", (Text(0, y + 13, line, "muted", "start"),))
        )
        y += 18
    desc = f"{'; '.join(f'{i.name}: {t}' for i, t in zip(found, texts, strict=True))}. {note}"
    return Scene("tuning", "importance of the parameters", desc, width, y, tuple(items))


def _tip(row: Importance, text: str) -> str:
    return "\n".join(s for s in (f"{row.name}: {text}", describe_parameter(row.name)) if s)


def _row_text(row: Importance) -> str:
    mark = " ?" if row.is_uncertain else ""
    return f"{row.share:.0%}{mark} · {row.values:,} values, {row.trials:,} trials"
