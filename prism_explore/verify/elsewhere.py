"""Verdicts from other processes: a family's candidates are decided by an executor's workers, a family at a time.

Any `concurrent.futures.Executor` will do. A worker has a prover of its own, which keeps what it learns from one
candidate to the next; programs and graphs travel as text. What comes back is noted here in the order of the
candidates and in this prover's words, so the facts are those of a search without an executor. Two things are
still done here: every so many refuted candidates the prover is asked as well, and where no worker answers.

It pays where proofs are dear, above all where an e-graph is the last resort; a verdict by normal forms takes
about as long as its journey.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Executor, Future
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

from prism_explore.events.journal import Journal
from prism_explore.events.kinds import Event, VerdictReached
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.stages import Candidate, Family, Verdict
from prism_explore.ir.text import parse, parse_program, show
from prism_explore.verify.decide import Prover, noted


@dataclass(frozen=True, slots=True)
class Answer:
    """What a worker found: the facts on the way to the verdict, and the verdict."""

    steps: tuple[Event, ...]
    verdict: Verdict


class Elsewhere:
    """Has candidates of one program decided by an executor."""

    def __init__(self, executor: Executor, program: TensorProgram, seed: int) -> None:
        self._executor, self._program, self._seed = executor, show(program), seed
        self._asked: dict[str, Future[Answer]] = {}

    def ask(self, candidates: Sequence[Candidate]) -> None:
        """Send candidates; of a single one this process takes care as fast."""
        if len(candidates) > 1:
            with suppress(RuntimeError):  # of an executor that was shut down
                for c in candidates:
                    self._asked[c.id] = self._executor.submit(decide, self._program, show(c.sgraph), c.id, self._seed)

    def verify(self, prover: Prover, candidate: Candidate, journal: Journal) -> Verdict:
        """The verdict on a candidate, noted in the journal: a worker's, or the prover's where there is none.

        A worker that died, or an executor that was shut down, costs time and nothing else.
        """
        future = self._asked.pop(candidate.id, None)
        try:
            answer = future.result() if future is not None else None
        except Exception:  # what an executor raises for a broken pool, or a lost connection, is its own affair
            answer = None
        if answer is not None:
            verdict = prover.adopt(candidate, answer.verdict)
            if verdict is not None:
                for step in answer.steps:
                    journal.note(step)
                journal.note(noted(verdict))
                return verdict
        return prover.verify(candidate, journal, self._seed)


def decide(program: str, sgraph: str, name: str, seed: int) -> Answer:
    """In a worker: the verdict on a graph."""
    prover = _prover(program, threading.get_ident())
    graph, journal = parse(sgraph), Journal()
    family = Family(name.split(".")[0], prover.program, graph)
    verdict = prover.verify(Candidate(name, family, graph, (), graph.conditions()), journal, seed)
    return Answer(tuple(e for e in journal.events if not isinstance(e, VerdictReached)), verdict)


@lru_cache(16)
def _prover(program: str, thread: int) -> Prover:
    """A worker's prover for a program; threads have one each, because a prover has one owner."""
    return Prover(parse_program(program), audits=False)
