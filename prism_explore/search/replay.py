"""What a search takes from a saved one instead of working for it again: verdicts, rivals, assessments.

Each function looks at what the journal must be told next. Where that is the outcome of the work at hand, the
outcome is told and taken over; in any other journal, and behind the last saved fact, there is none and the
work is done. What is taken over is what was saved, so a kernel is proved anew before it is offered. What trials of
numbers gave is taken over by `tune.again`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from prism_explore.events.journal import Journal
from prism_explore.events.kinds import (
    TIME_SPENT,
    BaselineMeasured,
    CertificateReplayed,
    FloatsAssessed,
    RegionPruned,
    RivalTimed,
    SaturationStepped,
    VerdictReached,
)
from prism_explore.events.replay_journal import Retold
from prism_explore.pipeline.stages import Candidate, Verified
from prism_explore.support.work_timer import WorkTimer
from prism_explore.tune.runner.baseline_table import ROOFLINE
from prism_explore.verify.prover import Prover
from prism_explore.verify.verdict_events import restore_verified


def time_is_up(journal: Journal, watch: WorkTimer) -> Callable[[], bool]:
    """Whether the time for growing is spent: by the watch, or where the saved search noted that it was."""

    def over() -> bool:
        fact = journal.upcoming
        if fact is None:
            return watch.is_over()
        return isinstance(fact, RegionPruned) and fact.reason.code == TIME_SPENT

    return over


def rivals(journal: Journal) -> bool:
    """Whether the times of the rivals were saved, which are then told."""
    found = False
    while isinstance(journal, Retold) and isinstance(journal.upcoming, RivalTimed):
        journal.tell()
        found = True
    return found


@dataclass(frozen=True, slots=True)
class Decided:
    """A candidate's saved verdict."""

    verified: Verified | None
    """Without its certificate; None where it was not proved."""


def decided(journal: Journal, candidate: Candidate, prover: Prover, seed: int) -> Decided | None:
    """The saved verdict on a candidate, which the prover learns of; None where there is none."""
    if not isinstance(journal, Retold):
        return None
    fact = journal.ahead(lambda e: isinstance(e, SaturationStepped) and e.subject == candidate.id)
    if not isinstance(fact, VerdictReached) or fact.candidate != candidate.id:
        return None
    while journal.tell() is not fact:
        pass
    prover.restore(fact)
    return Decided(restore_verified(candidate, fact, seed))


def assessed(journal: Journal, family: str) -> FloatsAssessed | None:
    """How a family fared in floating point, where that was saved."""
    fact = journal.upcoming
    if not isinstance(journal, Retold) or not isinstance(fact, FloatsAssessed) or fact.family != family:
        return None
    journal.tell()
    return fact


def certified(journal: Journal, candidate: str) -> bool:
    """Whether the certificate of a candidate was saved; it is made again where somebody asks for it."""
    if not isinstance(journal, Retold):
        return False
    fact = journal.ahead(lambda e: isinstance(e, SaturationStepped) and e.subject.startswith(f"{candidate} "))
    if not isinstance(fact, CertificateReplayed) or fact.candidate != candidate:
        return False
    while journal.tell() is not fact:
        pass
    return True


def compared(journal: Journal) -> bool:
    """Whether the race against the rivals was saved to its end; rows of one that was not are told all the same."""
    last = ""
    while isinstance(journal, Retold) and isinstance(fact := journal.upcoming, BaselineMeasured):
        journal.tell()
        last = fact.name
    return bool(last) and (last == ROOFLINE or journal.upcoming is not None)
