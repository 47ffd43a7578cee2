"""The part of a record that the handles of families and pruned regions read.

`Record` creates these handles, so they cannot import it; they take any object with these members.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

from prism_explore.diagnose.evidence import Evidence
from prism_explore.events.journal import Journal
from prism_explore.session.journal_index import JournalIndex
from prism_explore.targets import Target

E = TypeVar("E")


class ReadableRecord(Protocol):
    """The events of a search, and what is computed from them; `prism_explore.session.record.Record` has them."""

    @property
    def journal(self) -> Journal:
        """The journal of the search."""
        ...

    @property
    def index(self) -> JournalIndex:
        """What was read of the journal so far."""
        ...

    def of(self, kind: type[E]) -> tuple[E, ...]:
        """All events of one kind, in order."""
        ...

    def evidence(self, candidate: str) -> Evidence:
        """The evidence for the verdict on a candidate."""
        ...

    def target_figures(self) -> Target:
        """The machine of the search."""
        ...

    def text(self, table: str) -> str:
        """A table as text."""
        ...
