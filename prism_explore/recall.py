"""What a search takes from a saved one instead of working for it again: verdicts, times, assessments.

Each function looks at what the journal must be told next. Where that is the outcome of the work at hand, the
outcome is told and taken over; in any other journal, and behind the last saved fact, there is none and the
work is done. What is taken over is what was saved, so a kernel is proved anew before it is offered.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace

from prism_explore.errors import JournalVersionError
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import (
    TIME_SPENT,
    BaselineMeasured,
    CandidateBounded,
    CertificateReplayed,
    FloatsAssessed,
    IncumbentImproved,
    KernelGenerated,
    ParametersProposed,
    RegionPruned,
    RivalTimed,
    SaturationStepped,
    TrialFailed,
    TrialMeasured,
    VerdictReached,
)
from prism_explore.events.retold import Retold
from prism_explore.ir.stages import Candidate, Infeasible, Kernel, Outcome, Parameters, Timed, Verified
from prism_explore.ir.stopwatch import Stopwatch
from prism_explore.tune import Budget
from prism_explore.tune.baselines import ROOFLINE
from prism_explore.verify.decide import Prover, recalled


def time_is_up(journal: Journal, watch: Stopwatch) -> Callable[[], bool]:
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
    prover.learn(candidate, fact)
    return Decided(recalled(candidate, fact, seed))


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


@dataclass(frozen=True, slots=True)
class Left:
    """What a run of tuning that was saved in its midst has still to do."""

    verifieds: Sequence[Verified]
    budget: Budget
    idle: int = 0
    """Trials in a row at its end that did not improve the incumbent."""


def trials(
    journal: Journal,
    verifieds: Sequence[Verified],
    shapes: Mapping[str, int],
    budget: Budget,
    stop: Callable[[], bool],
) -> Generator[Outcome, None, Left | None]:
    """The saved trials of a run of tuning; then what is left of it, None where the saved run had ended."""
    if not isinstance(journal, Retold) or journal.is_told:
        return Left(verifieds, budget)
    by_id = {v.candidate.id: v for v in verifieds}
    began_s, idle = journal.seconds(), 0
    proposed: dict[str, ParametersProposed] = {}
    kernels: dict[str, Kernel] = {}
    bounded: set[str] = set()
    while not stop() and isinstance(fact := journal.upcoming, _OF_TUNING):
        verified = by_id.get(fact.candidate)
        if verified is None:
            raise JournalVersionError(f"the saved search timed {fact.candidate}, which is not proved in it")
        journal.tell()
        match fact:
            case CandidateBounded():
                bounded.add(fact.candidate)
            case ParametersProposed():
                proposed[fact.trial] = fact
            case KernelGenerated():
                kernels[fact.trial] = _kernel(verified, proposed[fact.trial], shapes, fact)
            case TrialFailed():
                idle += 1
                numbers = _parameters(verified.candidate, fact.parameters)
                yield Infeasible(verified.candidate, numbers, fact.reason.code, fact.reason.sentence)
            case TrialMeasured():
                is_best = isinstance(journal.upcoming, IncumbentImproved)
                if is_best:
                    journal.tell()
                idle = 0 if is_best else idle + 1
                yield _timed(kernels[fact.trial], fact, proposed[fact.trial].floor_s)
            case IncumbentImproved():
                pass
    if not journal.is_told:
        return None
    spent_s = journal.seconds() - began_s
    left = replace(
        budget,
        trials=max(budget.trials - len(proposed), 0),
        seconds=max(budget.seconds - spent_s, 0.0),
    )
    return Left([v for v in verifieds if v.candidate.id not in bounded], left, idle)


_OF_TUNING = (ParametersProposed, KernelGenerated, TrialMeasured, TrialFailed, IncumbentImproved, CandidateBounded)


def _parameters(candidate: Candidate, numbers: tuple[tuple[str, int], ...]) -> Parameters:
    """Sizes of the sGraph's symbols, and what the code generator chose, which are told together."""
    symbols = candidate.sgraph.parameters
    return Parameters(
        tuple(n for n in numbers if n[0] in symbols),
        tuple(n for n in numbers if n[0] not in symbols),
    )


def _kernel(verified: Verified, given: ParametersProposed, shapes: Mapping[str, int], made: KernelGenerated) -> Kernel:
    numbers = _parameters(verified.candidate, given.parameters)
    backend = "cpu" if made.backend == "cpu" else "triton"
    return Kernel(verified, numbers, tuple(sorted(shapes.items())), backend, made.source)


def _timed(kernel: Kernel, fact: TrialMeasured, floor_s: float) -> Timed:
    return Timed(kernel, fact.time_s, fact.p20_s, fact.p80_s, fact.samples, fact.error, floor_s, fact.waited)
