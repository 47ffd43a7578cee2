"""A line that shows the progress of a search while `sess.run()` waits in a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager

from prism_explore.events.format import seconds_text
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import NodeExpanded, RegionPruned, TrialMeasured, VerdictReached
from prism_explore.events.phases import phase_of


class ProgressText:
    """The progress of a search in one line; every call reads only the new events."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._count = 0
        self._phase = ""
        self._counts = {"expanded": 0, "pruned": 0, "proved": 0, "trials": 0}
        self._best_s: float | None = None

    def __call__(self) -> str:
        """The line now."""
        for entry in self._journal.since(self._count):
            self._count += 1
            event = entry.event
            self._phase = phase_of(event) or self._phase
            match event:
                case NodeExpanded():
                    self._counts["expanded"] += 1
                case RegionPruned():
                    self._counts["pruned"] += 1
                case VerdictReached(verdict="proved"):
                    self._counts["proved"] += 1
                case TrialMeasured(time_s=time_s):
                    self._counts["trials"] += 1
                    self._best_s = time_s if self._best_s is None else min(self._best_s, time_s)
                case _:
                    pass
        best = "" if self._best_s is None else f", best trial {seconds_text(self._best_s)}"
        counts = ", ".join(f"{n:,} {name}" for name, n in self._counts.items())
        return f"{self._phase or 'start'}: {counts}{best}"


@contextmanager
def progress_line(journal: Journal) -> Generator[Callable[[], None]]:
    """Show the line in a terminal while the block runs; the function that it yields updates it.

    Without a terminal, as in a notebook or a pipe, nothing is shown.
    """
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.text import Text

    text = ProgressText(journal)
    with Console(stderr=True).status(Text(text())) as status:
        yield lambda: status.update(Text(text()))
