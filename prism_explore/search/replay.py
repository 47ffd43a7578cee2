"""Replay the outcomes of a saved search instead of computing them again: verdicts, baseline times, float assessments.

Each function looks at the next saved event. Where that is the outcome of the work at hand, the event is stored and
its outcome returned; in any other journal, and after the last saved event, there is none and the work is done. A
kernel is still proved anew before it is returned. Trials of sizes are replayed by `tune.resume`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from prism_explore.events.fastest import ROOFLINE
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
from prism_explore.events.replay_journal import ReplayedJournal
from prism_explore.pipeline.stages import Candidate, Verified
from prism_explore.support.work_timer import WorkTimer
from prism_explore.verify.prover import Prover
from prism_explore.verify.verdict_events import restore_verified


def time_is_up(journal: Journal, watch: WorkTimer) -> Callable[[], bool]:
    """Whether the time for the enumeration is spent: by the timer, or where the saved search reported that it was."""

    def over() -> bool:
        event = journal.next_saved
        if event is None:
            return watch.is_over()
        return isinstance(event, RegionPruned) and event.reason.code == TIME_SPENT

    return over


def replay_baselines(journal: Journal) -> bool:
    """Whether the times of the baselines were saved; they are then replayed."""
    found = False
    while isinstance(journal, ReplayedJournal) and isinstance(journal.next_saved, RivalTimed):
        journal.replay_next()
        found = True
    return found


@dataclass(frozen=True, slots=True)
class SavedVerdict:
    """A candidate's saved verdict."""

    verified: Verified | None
    """Without its certificate; None where it was not proved."""


def replay_verdict(journal: Journal, candidate: Candidate, prover: Prover, seed: int) -> SavedVerdict | None:
    """The saved verdict on a candidate, which the prover stores too; None where there is none."""
    if not isinstance(journal, ReplayedJournal):
        return None
    event = journal.next_saved_except(lambda e: isinstance(e, SaturationStepped) and e.subject == candidate.id)
    if not isinstance(event, VerdictReached) or event.candidate != candidate.id:
        return None
    while journal.replay_next() is not event:
        pass
    prover.restore(event)
    return SavedVerdict(restore_verified(candidate, event, seed))


def replay_assessment(journal: Journal, family: str) -> FloatsAssessed | None:
    """The saved assessment of a family in floating point; None where there is none."""
    event = journal.next_saved
    if not isinstance(journal, ReplayedJournal) or not isinstance(event, FloatsAssessed) or event.family != family:
        return None
    journal.replay_next()
    return event


def replay_certificate(journal: Journal, candidate: str) -> bool:
    """Whether the certificate of a candidate was saved; it is made again on request."""
    if not isinstance(journal, ReplayedJournal):
        return False
    event = journal.next_saved_except(
        lambda e: isinstance(e, SaturationStepped) and e.subject.startswith(f"{candidate} ")
    )
    if not isinstance(event, CertificateReplayed) or event.candidate != candidate:
        return False
    while journal.replay_next() is not event:
        pass
    return True


def replay_race(journal: Journal) -> bool:
    """Whether the race against the baselines was saved to its end; rows of an unfinished race are stored too."""
    last = ""
    while isinstance(journal, ReplayedJournal) and isinstance(event := journal.next_saved, BaselineMeasured):
        journal.replay_next()
        last = event.name
    return bool(last) and (last == ROOFLINE or journal.next_saved is not None)
