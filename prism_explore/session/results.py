"""The results of a finished search: the best kernel, and one kernel per value of a symbol."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from prism_explore.codegen.load import load
from prism_explore.errors import ShapeError
from prism_explore.events.claim import claim
from prism_explore.events.fastest import EAGER, LIBRARY, find_faster_baseline
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import BaselineMeasured
from prism_explore.events.ledger import Steering, ledger
from prism_explore.events.replay_journal import ReplayedJournal
from prism_explore.floats import Assessment, Assessor
from prism_explore.pipeline.stages import Timed, Verified
from prism_explore.runtime.best import Best
from prism_explore.runtime.dispatch import Dispatch
from prism_explore.runtime.no_improvement import NoImprovement
from prism_explore.search.explore import Progress, Task, incumbent, may_win
from prism_explore.session.options import one_symbol
from prism_explore.session.persistence import prove_again, saved_lemmas
from prism_explore.session.stored_answer import StoredAnswer, first_proved
from prism_explore.tune import Budget, TuneRequest, tune
from prism_explore.tune.runner.baselines import compare_with_baselines


def best_of(task: Task, journal: Journal, progress: Progress, steering: Steering) -> Best | NoImprovement | None:
    """The fastest kernel of a search with its evidence; see `Session.best`."""
    fastest = incumbent(progress, steering)
    book = ledger(journal.events)
    if fastest is None:
        outcome = book.nothing_faster
        return NoImprovement(outcome, book.initial_baselines, task.reference, task.library.call) if outcome else None
    candidates = open_candidates(progress, steering)
    return _best(
        fastest,
        lambda: _certified(fastest, task, journal, progress),
        lambda: candidates,
        book.final_race,
        task,
        _assessment(fastest.kernel.verified, task, progress),
    )


def best_of_answer(
    task: Task, answer: StoredAnswer, progress: Progress, candidates: Callable[[], tuple[Verified, ...]]
) -> Best:
    """The fastest kernel of a search whose events were not read, proved again.

    Args:
        task: of the search.
        answer: of the search.
        progress: remembers the proof.
        candidates: returns the proved candidates that may win.

    Raises:
        JournalVersionError: it is not proved, or its parameters give another source.
    """
    kernel = answer.timed.kernel
    name = kernel.verified.candidate.id

    def certified() -> Verified:
        if name not in progress.certified:
            progress.certified[name] = prove_again(kernel, task, answer.lemmas)
        return progress.certified[name]

    return _best(
        answer.timed,
        certified,
        candidates,
        answer.race,
        task,
        partial(Assessor(task.program, seed=task.seed).assess, answer.assessed),
    )


def _best(
    fastest: Timed,
    certify: Callable[[], Verified],
    candidates: Callable[[], tuple[Verified, ...]],
    race: tuple[BaselineMeasured, ...],
    task: Task,
    assess: Callable[[], Assessment],
) -> Best:
    with ThreadPoolExecutor(1) as pool:
        compiled = pool.submit(load, fastest.kernel)  # LLVM needs no lock of Python while the proof is checked
        verified = certify()
    return Best(
        fastest,
        verified,
        candidates,
        race,
        task.reference,
        compiled.result(),
        task.target.name,
        task.versions,
        assess,
        task.ranges,
        # To find it imports torch's tracer, so it is looked for only where a call may run it.
        task.library.call if find_faster_baseline(race, available=(LIBRARY,)) is not None else None,
    )


def dispatch_over(
    values: Mapping[str, Sequence[int]],
    budget: Budget | None,
    task: Task,
    journal: Journal,
    progress: Progress,
    steering: Steering,
) -> Dispatch:
    """One tuned kernel per value of one symbol; see `Session.dispatch`."""
    symbol, points = one_symbol(task.program, values)
    candidates = open_candidates(progress, steering)
    kernels: list[tuple[int, Timed]] = []
    baselines: dict[int, tuple[BaselineMeasured, ...]] = {}
    modes, also = tuple(name for name in task.baselines if name == EAGER), task.library.call
    for value in points:
        trials = Journal()
        outcomes = tune(
            TuneRequest(
                candidates,
                {**task.shapes, symbol: value},
                task.target,
                trials,
                budget=budget or task.budget,
                seed=task.seed,
                database=task.database,
                versions=task.versions,
                executor=task.executor,
            )
        )
        timed = [o for o in outcomes if isinstance(o, Timed)]
        if not timed:
            raise ShapeError(f"no kernel could be timed at {symbol}={value}; {claim(journal.events)}")
        fastest = min(timed, key=lambda t: t.time_s)
        kernels.append((value, fastest))
        if task.reference is not None and (modes or also is not None):
            baselines[value] = compare_with_baselines(
                task.reference, fastest.kernel, task.target, trials, baselines=modes, library=also, seed=task.seed
            )
    return Dispatch(task.program, symbol, task.shapes, kernels, task.target, task.reference, baselines, also)


def chosen_candidate(progress: Progress, steering: Steering) -> Verified | None:
    """The candidate of the fastest kernel; where none was timed, the first proved one that may win."""
    fastest = incumbent(progress, steering)
    if fastest is not None:
        return fastest.kernel.verified
    return next(iter(open_candidates(progress, steering)), None)


def open_candidates(progress: Progress, steering: Steering) -> tuple[Verified, ...]:
    """The proved candidates that may win."""
    return tuple(v for v in progress.proved if may_win(progress, steering, v.candidate.family))


def _certified(fastest: Timed, task: Task, journal: Journal, progress: Progress) -> Verified:
    candidate = fastest.kernel.verified.candidate
    verified = progress.certified.get(candidate.id, fastest.kernel.verified)
    if isinstance(journal, ReplayedJournal) and not verified.proof.lemmas:
        verified = progress.certified[candidate.id] = prove_again(
            fastest.kernel, task, saved_lemmas(candidate.id, journal.events)
        )
    return verified


def _assessment(verified: Verified, task: Task, progress: Progress) -> Callable[[], Assessment]:
    """What assesses a family in floating point, or returns what the search found; it keeps no more of the search.

    Like the search, it assesses the first proved candidate of the family.
    """
    family = verified.candidate.family.id
    if (found := progress.assessed.get(family)) is not None:
        return lambda: found
    first = first_proved(family, progress) or verified
    return partial(Assessor(task.program, seed=task.seed).assess, first)
