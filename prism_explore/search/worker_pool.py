"""Families are settled by an executor's workers, while growth goes on here.

Any `concurrent.futures.Executor` will do. A worker chooses a family's maps and decides each candidate, with a prover of
its own that it keeps from one family to the next. Growth does not wait for that: it runs ahead, and what it notes
meanwhile is told when its turn has come. So the facts, and their order, are those of a search without an executor.

Still done here are growth, which learns too much on its way to be shared, the prover's look at every so many refuted
candidates, and whatever no worker answers.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from contextlib import suppress
from dataclasses import dataclass, replace

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
class Decided:
    """A candidate and its verdict, and the facts on the way to each."""

    before: tuple[Event, ...]
    candidate: Candidate
    steps: tuple[Event, ...]
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Answer:
    """What a worker found of a family."""

    candidates: tuple[Decided, ...]
    behind: tuple[Event, ...]
    """The facts behind the last candidate's."""


class Ahead:
    """Has the families of one search settled by an executor, in the order in which they grew."""

    def __init__(self, executor: Executor, space: Space, target: Target, seed: int, proving: WorkTimer) -> None:
        """Nothing is asked yet; `proving` is the time for proofs, of which waiting for them is part."""
        self._executor, self._given, self._proving = executor, (space, target, seed), proving
        self._asked: dict[str, Future[Answer]] = {}
        self._waiting: deque[tuple[int, Family]] = deque()
        self._stuck = False

    def is_waiting(self) -> bool:
        """Whether some family is not settled; who asks goes on no further before all are."""
        self._stuck = bool(self._waiting)
        return self._stuck

    def told(self, growing: Iterator[Family | None], notes: Journal, journal: Journal) -> Iterator[Family | None]:
        """The same families, each when it is decided, or when the time for proofs is over.

        Args:
            growing: growth that runs ahead, as far as it can.
            notes: what it notes.
            journal: hears of it in turn.
        """
        heard = 0

        def tell(upto: int) -> Iterator[None]:
            nonlocal heard
            for entry in notes.since(heard)[: upto - heard]:
                heard += 1
                journal.note(entry.event)
                yield None

        try:
            for family in growing:
                if family is not None:
                    self._ask(family)
                    self._waiting.append((len(notes), family))
                if self._waiting and self._is_due(self._waiting[0][1], wait=self._stuck):
                    yield from tell(self._waiting[0][0])
                    yield self._waiting.popleft()[1]
                elif not self._waiting:
                    yield from tell(len(notes))
                self._stuck = False
                yield None
            while self._waiting:
                if self._is_due(self._waiting[0][1], wait=True):
                    yield from tell(self._waiting[0][0])
                    yield self._waiting.popleft()[1]
                yield None
            yield from tell(len(notes))
        finally:
            for future in self._asked.values():
                future.cancel()

    def _ask(self, family: Family) -> None:
        with suppress(RuntimeError):  # of an executor that was shut down
            self._asked[family.id] = self._executor.submit(settled, family, *self._given)

    def _is_due(self, family: Family, wait: bool) -> bool:
        future = self._asked.get(family.id)
        if future is None or future.done() or self._proving.is_over():
            return True
        if wait:
            with self._proving, suppress(Exception):  # what a worker raised is asked for when it is due
                future.result(_POLL_S)
        return future.done()

    def answer(self, family: Family) -> Answer | None:
        """What a worker found, once; one that died, or an executor that was shut down, costs time and nothing else."""
        future = self._asked.pop(family.id, None)
        if future is None or future.cancel() or not future.done():
            return None
        try:
            return future.result()
        except Exception:  # what an executor raises for a broken pool, or a lost connection, is its own affair
            return None


def adopted(decided: Decided, family: Family, prover: Prover, journal: Journal, seed: int) -> Verdict:
    """A worker's verdict, noted in this prover's words with all that led to it; the prover's own, if it is its turn."""
    for fact in decided.before:
        journal.note(fact)
    candidate = replace(decided.candidate, family=family)
    verdict = prover.adopt(candidate, decided.verdict)
    if verdict is None:
        return prover.verify(candidate, journal, seed)
    for fact in (*decided.steps, verdict_event(verdict)):
        journal.note(fact)
    return verdict


# ---------------------------------------------------------------- in a worker
def settled(family: Family, space: Space, target: Target, seed: int) -> Answer:
    """A family's candidates and their verdicts."""
    prover, journal = _prover(show(family.program), threading.get_ident()), Journal()
    told: list[Decided] = []
    heard = 0

    def news() -> tuple[Event, ...]:
        nonlocal heard
        facts = tuple(e.event for e in journal.since(heard))
        heard += len(facts)
        return facts

    for candidate in instantiate(family, space, target, journal):
        before = news()
        verdict = prover.verify(candidate, journal, seed)
        told.append(Decided(before, candidate, tuple(e for e in news() if not isinstance(e, VerdictReached)), verdict))
    return Answer(tuple(told), news())


@memoize(16)
def _prover(program: str, thread: int) -> Prover:
    """A worker's prover for a program; threads have one each, because a prover has one owner."""
    return Prover(parse_program(program), audits=False)
