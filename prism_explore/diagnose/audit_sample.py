"""Audits of a random sample of the pruned regions of each rule.

The sample is stratified by rule: each rule gets the same number of audits, however many regions it pruned. A sample
without a wrong pruning bounds the share of wrong ones statistically; it proves nothing about regions not drawn.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from prism_explore.diagnose.audit import Audit, audit
from prism_explore.diagnose.audit_answer import Answer
from prism_explore.errors import ShapeError
from prism_explore.events.kinds import CandidateRejected, Event, RegionPruned, Soundness
from prism_explore.search.explore import Task
from prism_explore.support.work_timer import WorkTimer

NODES = 200
"""Default budget of nodes per audit."""
CANDIDATES = 30
"""Default budget of candidates per audit."""
SECONDS = 60.0
"""Default time budget."""
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class RuleSample:
    """The audits of one rule."""

    rule: str
    soundness: Soundness
    regions: int
    """How many regions the rule pruned in the search."""
    audits: tuple[Audit, ...]
    """In the order of the search."""

    def count(self, *answers: Answer) -> int:
        """The number of audits with one of these answers."""
        return sum(a.answer in answers for a in self.audits)

    @property
    def wrong_share_bound(self) -> float | None:
        """Upper bound of the share of wrong prunings at 95 % confidence; None where one was wrong or none decided.

        With n decided prunings and none wrong, the bound is 1 - 0.05^(1/n). Covered ones count as decided: the rule
        that prunes the same steps is on.
        """
        decided = self.count("right", "covered")
        if self.count("wrong") or not decided:
            return None
        return 0.0 if decided == self.regions else 1.0 - (1.0 - CONFIDENCE) ** (1.0 / decided)


@dataclass(frozen=True, slots=True)
class Sample:
    """Audits of a sample of all regions, per rule; prints as a table."""

    seed: int
    rows: tuple[RuleSample, ...]
    """Most regions first."""
    maps: int
    """Choices of maps that constraints rejected; these are not audited."""
    not_reached: int = 0
    """Drawn regions that were not audited, since the time was over."""

    @property
    def wrong(self) -> tuple[Audit, ...]:
        """The prunings that lost a proved family of the stated space."""
        return tuple(a for row in self.rows for a in row.audits if a.answer == "wrong")

    @property
    def text(self) -> str:
        """The result in one or two sentences."""
        audits = [a for row in self.rows for a in row.audits]
        wrong = f"{len(self.wrong):,} were wrong" if self.wrong else "none was found wrong"
        left = (
            f" The time was over before {self.not_reached:,} more subtrees of the sample." if self.not_reached else ""
        )
        return f"Of {len(audits):,} prunings that were audited, {wrong}.{left}"

    def __repr__(self) -> str:
        head = ("rule", "soundness", "subtrees", "audited", "right", "covered", "undecided", "wrong", "gained")
        table: list[tuple[str, ...]] = [head]
        notes: list[str] = []
        for row in self.rows:
            counts = (row.count("right"), row.count("covered"), row.count("undecided"), row.count("wrong"))
            cells = (row.regions, len(row.audits), *counts, row.count("gained"))
            table.append((row.rule, row.soundness, *(f"{c:,}" for c in cells)))
            if (share := row.wrong_share_bound) is not None and share:
                notes.append(f"{row.rule}: no decided pruning was wrong, so at most {share:.0%} are ({CONFIDENCE:.0%})")
        widths = [max(len(line[i]) for line in table) for i in range(len(head))]
        lines = [
            "  ".join(c.ljust(w) if i < 2 else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths, strict=True)))
            for line in table
        ]
        lines += [a.text for a in self.wrong] or ["No audited pruning was found wrong."]
        lines += notes
        if self.not_reached:
            lines.append(
                f"The time was over before {self.not_reached:,} more subtrees of the sample; pass a larger seconds=..."
            )
        if self.maps:
            lines.append(f"Constraints rejected {self.maps:,} choices of maps; these are not audited.")
        return "\n".join(line.rstrip() for line in lines)


def audit_sample(
    task: Task,
    events: Sequence[Event],
    sample: int,
    seed: int = 0,
    *,
    nodes: int = NODES,
    candidates: int = CANDIDATES,
    seconds: float = SECONDS,
    clock: Callable[[], float] = time.monotonic,
    tick: Callable[[], None] = lambda: None,
    **options: Any,
) -> Sample:
    """Audit up to `sample` regions of each rule, round-robin over the rules, until the time is over.

    Args:
        task: what was searched.
        events: the events of the search.
        sample: how many regions per rule.
        seed: for the random sample.
        nodes: budget of each audit.
        candidates: budget of each audit.
        seconds: time budget of all audits; an audit that it ends is left out.
        clock: the time in seconds.
        tick: called at every step.
        options: further arguments of `audit.audit`.

    Raises:
        ShapeError: a sample below 1, no time, or as `audit.audit`.
    """
    if sample < 1:
        raise ShapeError(f"a sample starts at 1, found {sample}")
    if not seconds > 0:
        raise ShapeError(f"the time of a sample is above 0, found seconds={seconds}")
    by_rule: dict[tuple[str, Soundness], list[str]] = {}
    for event in events:
        if isinstance(event, RegionPruned):
            by_rule.setdefault((event.reason.rule, event.reason.soundness), []).append(event.region)
    drawn: dict[tuple[str, Soundness], list[str]] = {}
    for key, regions in sorted(by_rule.items(), key=lambda item: -len(item[1])):
        picks = random.Random(f"{seed} {key[0]}").sample(range(len(regions)), min(sample, len(regions)))
        drawn[key] = [regions[n] for n in sorted(picks)]
    audits: dict[tuple[str, Soundness], list[Audit]] = {key: [] for key in drawn}
    timer = WorkTimer(seconds, clock)

    def check_time() -> None:
        tick()
        if timer.is_over():
            raise _TimeIsOver

    rounds = zip_longest(*([(key, region) for region in regions] for key, regions in drawn.items()))
    order = [item for one_round in rounds for item in one_round if item is not None]
    with timer, suppress(_TimeIsOver):
        for key, region in order:
            check_time()
            audits[key].append(
                audit(task, events, region, nodes=nodes, candidates=candidates, tick=check_time, **options)
            )
    rows = tuple(RuleSample(*key, len(by_rule[key]), tuple(done)) for key, done in audits.items())
    left = len(order) - sum(map(len, audits.values()))
    return Sample(seed, rows, sum(isinstance(e, CandidateRejected) for e in events), left)


class _TimeIsOver(Exception):
    """Raised within an audit when the time is over."""
