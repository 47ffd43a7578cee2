"""Verify families in the workers of an executor, while this process enumerates more families.

Any `concurrent.futures.Executor` works. A worker chooses a family's maps and verifies each candidate, with a prover
that it keeps from one family to the next. The enumeration does not wait: its events are buffered and forwarded when
the verdicts before them are known. So the events, and their order, are those of a search without an executor.

This process still does the enumeration (its caches cannot be shared cheaply), the prover's audit of every so many
refuted candidates, and every family that no worker returns.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice

from prism_explore.events.journal import Journal
from prism_explore.events.kinds import Event, VerdictReached
from prism_explore.instantiate import instantiate
from prism_explore.ir.text import parse_program, show
from prism_explore.pipeline.search_space import Space
from prism_explore.pipeline.stages import Candidate, Family, Verdict
from prism_explore.support.caches import memoize
from prism_explore.support.work_timer import WorkTimer
from prism_explore.targets import Target
from prism_explore.verify.prover import Prover
from prism_explore.verify.verdict_events import verdict_event

_POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class DecidedCandidate:
    """A candidate and its verdict, with the events before the candidate and those of the prover."""

    events_before: tuple[Event, ...]
    candidate: Candidate
    prover_events: tuple[Event, ...]
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class FamilyVerdicts:
    """The verdicts of a worker on one family."""

    candidates: tuple[DecidedCandidate, ...]
    events_after: tuple[Event, ...]
    """The events after the last candidate."""


class WorkerPool:
    """Verifies the families of one search in an executor, in the order in which they were enumerated."""

    def __init__(self, executor: Executor, space: Space, target: Target, seed: int, proving: WorkTimer) -> None:
        """Nothing is submitted yet; `proving` is the time budget for proofs, waiting included."""
        self._executor, self._arguments, self._proving = executor, (space, target, seed), proving
        self._futures: dict[str, Future[FamilyVerdicts]] = {}
        self._waiting: deque[tuple[int, Family]] = deque()
        self._stuck = False

    def is_waiting(self) -> bool:
        """Whether some family is not verified; the caller has to wait until all are."""
        self._stuck = bool(self._waiting)
        return self._stuck

    def in_order(
        self, growing: Iterator[Family | None], buffered: Journal, journal: Journal
    ) -> Iterator[Family | None]:
        """The same families, each when it is verified, or when the time for proofs is over.

        Args:
            growing: the enumeration, pulled as far as possible.
            buffered: its events.
            journal: receives the buffered events in order.
        """
        received, ends = 0, deque[int]()  # of the events of each step

        def forward(upto: int) -> Iterator[None]:
            """Append the events of the steps that end there or before; the last one is yielded by the caller."""
            nonlocal received
            entries = iter(buffered.since(received))
            while ends and ends[0] <= upto:
                end = ends.popleft()
                for entry in islice(entries, end - received):
                    journal.append(entry.event)
                received = end
                if end < upto:
                    yield None

        try:
            for family in growing:
                if len(buffered) > (ends[-1] if ends else received):
                    ends.append(len(buffered))
                if family is not None:
                    self._submit(family)
                    self._waiting.append((len(buffered), family))
                if self._waiting and self._is_due(self._waiting[0][1], wait=self._stuck):
                    yield from forward(self._waiting[0][0])
                    yield self._waiting.popleft()[1]
                elif not self._waiting:
                    yield from forward(len(buffered))
                self._stuck = False
                yield None
            while self._waiting:
                if self._is_due(self._waiting[0][1], wait=True):
                    yield from forward(self._waiting[0][0])
                    yield self._waiting.popleft()[1]
                yield None
            yield from forward(len(buffered))
        finally:
            for future in self._futures.values():
                future.cancel()

    def _submit(self, family: Family) -> None:
        with suppress(RuntimeError):  # the executor was shut down
            self._futures[family.id] = self._executor.submit(verify_family, family, *self._arguments)

    def _is_due(self, family: Family, wait: bool) -> bool:
        future = self._futures.get(family.id)
        if future is None or future.done() or self._proving.is_over():
            return True
        if wait:
            with self._proving, suppress(Exception):  # an exception of a worker is handled when its family is due
                future.result(_POLL_S)
        return future.done()

    def take_verdicts(self, family: Family) -> FamilyVerdicts | None:
        """The verdicts of a worker, once; None where the worker died or the executor was shut down."""
        future = self._futures.pop(family.id, None)
        if future is None or future.cancel() or not future.done():
            return None
        try:
            return future.result()
        except Exception:  # executors differ in what they raise for a broken pool
            return None


def adopt_verdict(decided: DecidedCandidate, family: Family, prover: Prover, journal: Journal, seed: int) -> Verdict:
    """Store a worker's verdict and its events; where this prover audits the candidate, its own verdict."""
    for event in decided.events_before:
        journal.append(event)
    candidate = replace(decided.candidate, family=family)
    verdict = prover.adopt(candidate, decided.verdict)
    if verdict is None:
        return prover.verify(candidate, journal, seed)
    for event in (*decided.prover_events, verdict_event(verdict)):
        journal.append(event)
    return verdict


# ---------------------------------------------------------------- in a worker
def verify_family(family: Family, space: Space, target: Target, seed: int) -> FamilyVerdicts:
    """Choose a family's maps and verify its candidates; runs in a worker."""
    prover, journal = _prover(show(family.program), threading.get_ident()), Journal()
    decided: list[DecidedCandidate] = []
    received = 0

    def new_events() -> tuple[Event, ...]:
        nonlocal received
        events = tuple(e.event for e in journal.since(received))
        received += len(events)
        return events

    for candidate in instantiate(family, space, target, journal):
        before = new_events()
        verdict = prover.verify(candidate, journal, seed)
        decided.append(
            DecidedCandidate(
                before, candidate, tuple(e for e in new_events() if not isinstance(e, VerdictReached)), verdict
            )
        )
    return FamilyVerdicts(tuple(decided), new_events())


@memoize(16)
def _prover(program: str, thread: int) -> Prover:
    """A worker's prover for a program; threads have one each, because a prover has one owner."""
    return Prover(parse_program(program), audit_interval=None)
