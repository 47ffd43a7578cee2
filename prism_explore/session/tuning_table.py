"""The trials of a tuning run as a sequence and as rows of plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import fields
from html import escape
from typing import TYPE_CHECKING, Any, overload

from prism_explore.events.format import seconds_text
from prism_explore.events.ledger import Trial
from prism_explore.tune.space.time_model import rank_correlation

if TYPE_CHECKING:
    from prism_explore.widgets.panels.tables import TextTable


class Tuning(Sequence[Trial]):
    """All trials in the order of their proposal: parameter values, modelled time, measured time or failure.

    It prints as a summary; `rich.print` shows all trials as a table, and a notebook does, too.
    """

    def __init__(self, trials: Sequence[Trial], best: str = "") -> None:
        """`best`: the id of the best trial of the search; empty for none."""
        self._trials = tuple(trials)
        self._best = best

    @overload
    def __getitem__(self, index: int) -> Trial: ...

    @overload
    def __getitem__(self, index: slice) -> Tuning: ...

    def __getitem__(self, index: int | slice) -> Trial | Tuning:
        return Tuning(self._trials[index], self._best) if isinstance(index, slice) else self._trials[index]

    def __len__(self) -> int:
        return len(self._trials)

    @property
    def fastest(self) -> Tuning:
        """The trials that were timed, fastest first."""
        timed = [(t.time_s, n, t) for n, t in enumerate(self._trials) if t.time_s is not None]
        return Tuning([t for *_, t in sorted(timed, key=lambda row: row[:2])], self._best)

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

    def _table(self) -> TextTable:
        from prism_explore.widgets.panels.tables import trials_table

        return trials_table(self._trials, self._best)

    def __rich__(self) -> object:
        return self._table()

    def _repr_html_(self) -> str:
        return f"<p>{escape(self._summary())}</p>{self._table().html()}"

    def _summary(self) -> str:
        failed = "".join(f", {n} {code}" for code, n in self.failures.items())
        text = f"{len(self)} trials: {len(self.fastest)} timed{failed}"
        if (correlation := self.rank_correlation) is not None:
            text += f"; the model orders them with a rank correlation of {correlation:.2f}"
        return text

    def __repr__(self) -> str:
        timed = self.fastest
        lines = [self._summary()]
        for t in timed[:5]:
            values = ", ".join(f"{k}={v}" for k, v in t.parameters)
            measured = seconds_text(t.time_s) if t.time_s is not None else ""
            modelled = f", modelled {seconds_text(t.modelled_s)}" if t.modelled_s is not None else ""
            lines.append(f"  {t.trial} {t.candidate}: {measured} measured{modelled}: {values}")
        return "\n".join(lines)
