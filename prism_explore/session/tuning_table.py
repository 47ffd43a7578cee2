"""The trials of a tuning run as a sequence and as rows of plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, overload

from prism_explore.events.format import seconds_text
from prism_explore.events.ledger import Trial
from prism_explore.tune.space.time_model import rank_correlation


class Tuning(Sequence[Trial]):
    """All trials in the order of their proposal: parameter values, modelled time, measured time or failure."""

    def __init__(self, trials: Sequence[Trial]) -> None:
        self._trials = tuple(trials)

    @overload
    def __getitem__(self, index: int) -> Trial: ...

    @overload
    def __getitem__(self, index: slice) -> Tuning: ...

    def __getitem__(self, index: int | slice) -> Trial | Tuning:
        return Tuning(self._trials[index]) if isinstance(index, slice) else self._trials[index]

    def __len__(self) -> int:
        return len(self._trials)

    @property
    def fastest(self) -> Tuning:
        """The trials that were timed, fastest first."""
        timed = [(t.time_s, n, t) for n, t in enumerate(self._trials) if t.time_s is not None]
        return Tuning([t for *_, t in sorted(timed, key=lambda row: row[:2])])

    @property
    def failures(self) -> dict[str, int]:
        """The number of failed trials by reason code."""
        return dict(Counter(t.failure.code for t in self._trials if t.failure is not None).most_common())

    @property
    def rank_correlation(self) -> float | None:
        """Spearman's coefficient of modelled and measured times; None where it is undefined."""
        pairs = [(t.modelled_s, t.time_s) for t in self._trials if t.time_s is not None and t.modelled_s is not None]
        return rank_correlation([m for m, _ in pairs], [s for _, s in pairs])

    @property
    def data(self) -> list[dict[str, Any]]:
        """One row per trial, of numbers and strings only: for `json` or a `DataFrame`."""
        rows: list[dict[str, Any]] = []
        computed = ("parameters", "failure", "race", "time_s")
        for t in self._trials:
            row = {f.name: getattr(t, f.name) for f in fields(t) if f.name not in computed}
            reason, time = t.failure, t.kernel_time
            rows.append(
                {
                    **row,
                    "time_s": None if time is None else time.time_s,
                    "time_source": "" if time is None else time.source,
                    "tuning_time_s": t.time_s,
                    "parameters": dict(t.parameters),
                    "failure": "" if reason is None else reason.code,
                    "reason": "" if reason is None else reason.sentence,
                }
            )
        return rows

    def __repr__(self) -> str:
        timed = self.fastest
        failed = "".join(f", {n} {code}" for code, n in self.failures.items())
        lines = [f"{len(self)} trials: {len(timed)} timed{failed}"]
        if (correlation := self.rank_correlation) is not None:
            lines[0] += f"; the model orders them with a rank correlation of {correlation:.2f}"
        for t in timed[:5]:
            values = ", ".join(f"{k}={v}" for k, v in t.parameters)
            measured = seconds_text(t.time_s) if t.time_s is not None else ""
            modelled = f", modelled {seconds_text(t.modelled_s)}" if t.modelled_s is not None else ""
            lines.append(f"  {t.trial} {t.candidate}: {measured} measured{modelled}: {values}")
        return "\n".join(lines)
