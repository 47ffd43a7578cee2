"""The pruned subtrees of a search by id, each with its reason; a running search can audit them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from prism_explore.diagnose.audit import Audit
from prism_explore.errors import ShapeError
from prism_explore.events.format import definition_text
from prism_explore.events.kinds import Reason, RegionPruned
from prism_explore.session.readable_record import ReadableRecord

Auditor: TypeAlias = Callable[..., Audit]
"""Audits a pruned subtree by its id."""


@dataclass(frozen=True, slots=True)
class PrunedHandle:
    """One pruned subtree and the reason for it."""

    id: str
    event: RegionPruned
    auditor: Auditor | None = None

    @property
    def reason(self) -> Reason:
        """The code, rule, formula, substitution and soundness, and the change that would reopen the subtree."""
        return self.event.reason

    def why(self) -> str:
        """The reason as text, one fact a line."""
        r = self.reason
        lines = [f"{self.id}: {self.event.operator} was pruned [{r.soundness}] by {r.rule} ({r.code}): {r.sentence}"]
        if r.formula:
            lines.append(f"  {r.formula}")
        lines += [f"  where {definition_text(symbol, meaning)}" for symbol, meaning in r.substitution.items()]
        lines.append(f"  it represents {self.event.stood_for:g} programs ({self.event.counted})")
        if r.would_reopen_if:
            lines.append(f"  reopens if {r.would_reopen_if}")
        return "\n".join(lines)

    def audit(self, **options: Any) -> Audit:
        """Search the subtree again without the rule, separately from the search, and judge the pruning.

        Args:
            options: `nodes`, `candidates`, `steps` and `rules_off`; see `diagnose.audit.audit`.

        Returns:
            Whether the subtree was pruned rightly, and the proved families that were found in it.

        Raises:
            ShapeError: the search was loaded from a file, so its space and target are unknown; or see
                `diagnose.audit.audit`.
        """
        if self.auditor is None:
            raise ShapeError(
                f"{self.id} belongs to a recorded search, which has events but no space and target; search the program "
                "again in a px.Session, which has the same events, and audit there"
            )
        return self.auditor(self.id, **options)

    def __repr__(self) -> str:
        return self.why()


class Pruned(Mapping[str, PrunedHandle]):
    """All pruned subtrees by id; prints as counts by reason."""

    def __init__(self, record: ReadableRecord, auditor: Auditor | None = None) -> None:
        """`auditor` searches a subtree again; None for a recorded search."""
        self._record = record
        self._auditor = auditor

    def __getitem__(self, key: str) -> PrunedHandle:
        event = self._record.index.region(key)
        if event is None:
            raise KeyError(f"no pruned subtree {key!r}; ids are p1 to p{len(self)}")
        return PrunedHandle(key, event, self._auditor)

    def __iter__(self) -> Iterator[str]:
        return (e.region for e in self._record.of(RegionPruned))

    def __len__(self) -> int:
        return len(self._record.of(RegionPruned))

    def by_reason(self) -> dict[str, int]:
        """The number of pruned subtrees by reason code, largest first."""
        counts: dict[str, int] = {}
        for cut in self._record.index.ledger.prune_counts:
            if cut.regions:
                counts[cut.code] = counts.get(cut.code, 0) + cut.regions
        return counts

    def __repr__(self) -> str:
        return self._record.text("pruned")
