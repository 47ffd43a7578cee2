"""The tuner: choose sizes and schedules for proved candidates, check and race their kernels, keep the fastest.

`tune` is a generator that yields after every trial, so the caller decides when to pause, step or stop. See README.md.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from prism_explore.events.journal import Journal
from prism_explore.events.kinds import (
    CandidateBounded,
    IncumbentImproved,
    KernelGenerated,
    ParametersProposed,
    PlayedOff,
    TrialFailed,
    TrialMeasured,
    TuningEnded,
)
from prism_explore.ir.text import show
from prism_explore.pipeline.stages import Infeasible, Kernel, Outcome, Parameters, Timed
from prism_explore.tune.budget import Budget, strategy_of
from prism_explore.tune.database import StoredTrial
from prism_explore.tune.failure_reasons import bound_reason, failure_reason
from prism_explore.tune.play_off import TimedTrial, finalists
from prism_explore.tune.request import TuneRequest
from prism_explore.tune.resume import ReplayedTrial, SavedTrials, with_times
from prism_explore.tune.runner.backend import backend_of, import_named
from prism_explore.tune.runner.bench import Failure
from prism_explore.tune.runner.machine_lock import MachineLock, open_machine_lock
from prism_explore.tune.runner.measured_limit import multiplies_16_bits
from prism_explore.tune.runner.remote import RemoteTrials, settings_of
from prism_explore.tune.runner.trial import TrialResult, TrialRunner
from prism_explore.tune.space.pool import Key, Point, Pool, within
from prism_explore.tune.space.time_model import model_of
from prism_explore.tune.strategies.ranked import WarmStart
from prism_explore.tune.strategies.strategy import Strategy

log = logging.getLogger(__name__)

WhyEnded: TypeAlias = Literal["patience", "bound", "limit", "trials", "seconds"]
"""See `TuningEnded.why`."""

LEAST_LIMITED_S = 1e-3
"""The machine's limit is measured beside kernels that take longer; a trial of others is as fast as that."""

RERACED = 3
"""The number of fastest trials of a database that are raced again: the fastest of many times are biased low."""


def tune(request: TuneRequest) -> Iterator[Outcome]:
    """Try sizes and schedules of proved candidates, in the order of the strategy; yield each trial's outcome.

    The time of a trial is the median of its rounds' ratios to the incumbent, times the incumbent's time. So the times
    of one run compare although the machine's speed drifts. The first trial is timed alone.

    If the budget allows several trials at once, a batch of trials is proposed before the outcome of any is known. They
    race the incumbent of that moment, and are reported in the order of their proposal. If a trial wins, but another
    trial of its batch has replaced the incumbent meanwhile, it also races the new incumbent: two kernels that were both
    faster than a third one are not comparable. So the outcomes are the same whether an executor's workers or this
    process run a batch.

    A second call with the same journal continues the first. If a saved search is replayed, trials that were saved have
    the saved outcome, and the budget's seconds continue from theirs.

    Args:
        request: what to tune, and within which limits.

    Yields:
        `Timed` or `Infeasible` for each trial.

    Raises:
        TargetUnavailable: kernels cannot be timed on the target, and the request has no bench; or an executor's workers
            cannot lock the machine.
        ShapeError: a data symbol has no value in the request's shapes.
    """
    if not request.verifieds:
        return
    tuner = Tuner(request)
    try:
        database = request.database
        for outcome in tuner.run():
            if database is not None and not tuner.was_saved:
                try:
                    database.store(outcome, request.shapes, request.target, request.versions)
                except OSError as error:
                    log.warning("this and later trials of the search are not stored: %s; the search goes on", error)
                    database = None
            yield outcome
    finally:
        tuner.close()


@dataclass(frozen=True, slots=True)
class _Proposal:
    """A proposed trial, before its outcome."""

    point: Point
    kernel: Kernel | Infeasible | None
    """None if its outcome was saved."""
    source: str
    """Of its kernel; empty if there is none."""


class Tuner:
    """One run of `tune`."""

    def __init__(self, request: TuneRequest) -> None:
        """Rank the points, and read what was tried; nothing is proposed yet.

        Raises:
            TargetUnavailable: see `tune`.
            ShapeError: see `tune`.
        """
        self._request, self._journal, self._stop = request, request.journal, request.stop
        self._budget = request.budget or Budget()
        self._backend = request.backend or backend_of(request.target)
        shapes, target, seed = request.shapes, request.target, request.seed
        deferred, ranges = request.deferred, request.ranges
        self._pool = Pool(
            request.verifieds,
            shapes,
            target,
            self._backend.choices,
            deferred=deferred,
            ranges=ranges,
            rank_sizes=self._backend.rank_sizes,
        )
        program = request.verifieds[0].candidate.family.program
        self._remote, lock = None, MachineLock(None)
        if request.executor is not None and self._budget.at_once > 1:
            settings = settings_of(program, shapes, target, self._backend, seed, self._budget.race_s)
            self._remote, lock = RemoteTrials(request.executor, settings), open_machine_lock()
        bench = request.bench or import_named(self._backend.bench)(
            program, shapes, target, self._backend.loader, seed=seed, stop=request.stop
        )
        self._runner = TrialRunner(bench, self._budget.race_s, lock, request.clock, request.stop)
        self._tried, self._trials = _tried_before(request.journal)
        self._sources: set[str] = set()
        """Sources of all kernels of this run."""
        self._best: TimedTrial | None = None
        self._timed: list[TimedTrial] = []
        self._saved = SavedTrials(request.journal)
        self.was_saved = False
        """Whether the last outcome was saved, not measured now."""
        self._ignores_bounds = False
        """Whether a kernel was faster than its lower bound, so that bounds are not used in the rest of this run.

        The speed of a shared machine varies, and the target's figures may have been measured in a slow period.
        """
        self._limit_shares: dict[str, float] = {}
        """Of incumbents, by trial."""
        self._stored_trials = 0
        self._start_s = 0.0
        self._time_to_beat_s = math.inf if request.time_to_beat_s is None else request.time_to_beat_s
        self._strategy = self._chosen_strategy()

    def close(self) -> None:
        """Cancel remote trials, and close the bench if it is not the caller's."""
        if self._remote is not None:
            self._remote.cancel()
        if self._request.bench is None:
            self._runner.close()

    def _chosen_strategy(self) -> Strategy:
        r = self._request
        program = r.verifieds[0].candidate.family.program
        study = None if r.database is None else r.database.study(program, r.shapes, r.target, r.versions)
        strategy = r.strategy or strategy_of(self._budget.strategy, r.seed, study)
        if r.database is None:
            return strategy
        return self._with_stored(r.database.trials(program, r.shapes, r.target, r.versions), strategy)

    def _with_stored(self, stored: Sequence[StoredTrial], then: Strategy) -> Strategy:
        """Count stored trials as tried; propose the fastest of them first."""
        candidates = {show(c.verified.candidate.sgraph): c for c in self._pool.candidates}
        points = [
            (s, Point(candidates[s.candidate].verified, s.parameters, s.time_s or math.inf))
            for s in stored
            if s.candidate in candidates
        ]
        own = self._tried | self._saved.keys
        raced = [p for s, p in points if s.time_s is not None and p.key not in own][:RERACED]
        others = {p.key for _, p in points} - {p.key for p in raced} - own
        self._tried |= others
        self._stored_trials = min(len(others), max(self._budget.trials - len(raced), 0))
        return WarmStart(raced, then)

    def run(self) -> Iterator[Outcome]:
        """Run trials until the budget or the space is exhausted, then the play-off."""
        first = self._trials
        why = yield from self._run_trials()
        if not self._saved.replay_end() and not self._saved.is_open and why is not None and not self._stop():
            limits = {
                "patience": self._budget.patience,
                "bound": self._budget.near,
                "limit": self._budget.near,
                "trials": self._budget.trials,
                "seconds": self._budget.seconds,
            }
            limit, gain = limits[why], self._budget.gain if why == "patience" else 0.0
            self._journal.append(TuningEnded(why, self._trials - first, limit, self._budget.strategy, gain))
        yield from self._play_off()
        self._runner.keep_only(*(t.name for t in (self._best,) if t is not None))

    def _run_trials(self) -> Generator[Outcome, None, WhyEnded | None]:
        """Run trials; returns which limit was reached, None if none was or the run was stopped."""
        self._start_s, first, idle, mark_s = self._request.clock(), self._trials - self._stored_trials, 0, math.inf
        if self._request.incumbent is not None:
            self._adopt_incumbent(self._request.incumbent)
        while not self._stop() and self._trials - first < self._budget.trials and idle < self._budget.patience:
            self._start_s += self._load_incumbent()
            self._drop_bounded()
            if self._saved.is_open and self._saved.proposed is None:
                return None
            if self._is_near_bound():
                return "bound"
            if self._is_near_limit():
                return "limit"
            if self._spent_s >= self._budget.seconds:
                return "seconds"
            room = min(self._budget.trials - (self._trials - first), self._budget.patience - idle)
            incumbent = self._best
            batch = self._propose_batch(min(room, 1 if incumbent is None else self._budget.at_once))
            if not batch:
                return "seconds" if self._pool.candidates and self._spent_s >= self._budget.seconds else None
            for place, proposal in enumerate(batch, 1):
                if (place > 1 and self._stop()) or (self._saved.is_open and not self._saved.is_next(proposal.point)):
                    return None
                if proposal.kernel is None:
                    outcome = self._replay(proposal.point)
                    self._start_s = self._request.clock() - self._saved.spent_s
                else:
                    outcome = self._run_trial(proposal.point, proposal.kernel, incumbent)
                self.was_saved = proposal.kernel is None
                needed = (self._best, incumbent if place < len(batch) else None)
                self._runner.keep_only(*(t.name for t in needed if t is not None))
                if outcome is None:
                    return None
                self._strategy.observe(self._pool, proposal.point, outcome)
                best_s = math.inf if self._best is None else self._best.timed.time_s
                gained = best_s < mark_s * (1 - self._budget.gain)
                idle, mark_s = (0, best_s) if gained else (idle + 1, mark_s)
                yield outcome
        if self._stop():
            return None
        return "patience" if idle >= self._budget.patience else "trials"

    @property
    def _spent_s(self) -> float:
        """Seconds of the budget that are spent."""
        return self._saved.spent_s if self._saved.is_open else self._request.clock() - self._start_s

    # ------------------------------------------------------------ a batch of proposals
    def _propose_batch(self, room: float) -> list[_Proposal]:
        """Propose trials that do not wait for each other, and submit them to the executor; empty at the end.

        No two have the same kernel. While saved trials are replayed, the batch consists of those.
        """
        batch: list[_Proposal] = []
        if self._saved.is_complete:
            return self._saved_batch(room)
        while len(batch) < room:
            point = self._strategy.propose(self._pool, self._tried, self._best.point if self._best else None)
            if point is None:
                break
            self._tried.add(point.key)
            if not within(point.key[1], self._request.ranges):  # a schedule, or a stored trial
                if self._stop() or self._spent_s >= self._budget.seconds:
                    return []
                continue
            saved = self._saved.trial(len(batch))
            if saved is not None and saved.key == point.key:
                proposal = _Proposal(point, None, saved.source)
            else:
                request = self._request
                emitted = self._backend.emit(point.verified, point.parameters, request.shapes, request.target)
                source = emitted.source if isinstance(emitted, Kernel) else ""
                if source in self._sources:  # other sizes, the same kernel
                    if self._stop() or self._spent_s >= self._budget.seconds:
                        return []
                    continue
                proposal = _Proposal(point, emitted, source) if saved is None else self._saved_proposal(saved)
            if proposal is None:
                break  # the next saved trial is of another run
            batch.append(proposal)
            if proposal.source:
                self._sources.add(proposal.source)
        if self._remote is not None and self._best is not None and len(batch) > 1:
            for kernel in (p.kernel for p in batch if isinstance(p.kernel, Kernel)):
                self._remote.submit(kernel, self._best.as_incumbent)
        return batch

    def _saved_batch(self, room: float) -> list[_Proposal]:
        """The next saved trials, of a run whose end was saved."""
        batch: list[_Proposal] = []
        while len(batch) < room and (saved := self._saved.trial(len(batch))) is not None:
            point = saved.point(self._pool)
            if point is None:
                break
            self._tried.add(point.key)
            batch.append(_Proposal(point, None, saved.source))
        return batch

    def _saved_proposal(self, saved: ReplayedTrial) -> _Proposal | None:
        """The saved trial, where the strategy now proposes another point; None if the saved run had ended.

        With a database that happens: its content has changed since, and the saved trials take precedence.
        """
        point = saved.point(self._pool) if self._request.database is not None else None
        return None if point is None else _Proposal(point, None, saved.source)

    # ------------------------------------------------------------ one trial
    def _run_trial(self, point: Point, emitted: Kernel | Infeasible, incumbent: TimedTrial | None) -> Outcome | None:
        """Note a proposal, check and race its kernel; None if it was stopped."""
        trial, floor_s = self._note_proposal(point)
        if isinstance(emitted, Infeasible):
            return self._note_failure(trial, point, Failure(emitted.code, emitted.reason))
        self._journal.append(KernelGenerated(trial, point.verified.candidate.id, emitted.backend, emitted.source))
        found = self._measure(trial, emitted, incumbent)
        if isinstance(found, Failure):
            return self._note_failure(trial, point, found)
        t = found.times
        timed = Timed(emitted, t.time_s, t.p20_s, t.p80_s, t.samples, found.error, floor_s, t.waited)
        self._note_times(trial, timed)
        self._timed.append(TimedTrial(trial, point, timed))
        self._update_incumbent(self._timed[-1])
        return timed

    def _measure(self, trial: str, kernel: Kernel, incumbent: TimedTrial | None) -> TrialResult | Failure:
        """Race a kernel against the incumbent of its batch and, if it wins, against the present one."""
        found = self._remote.result(kernel, self._stop) if self._remote is not None else None
        while True:
            if found is None:
                found = self._runner.run(trial, kernel, None if incumbent is None else incumbent.as_incumbent)
            if found is None and incumbent is self._best:
                self._best = None  # it fails in this process
            elif found is not None and (
                incumbent is None or incumbent is self._best or not _is_faster(found, incumbent)
            ):
                return found
            incumbent, found = self._best, None

    def _note_proposal(self, point: Point) -> tuple[str, float]:
        """Note the next trial; its name, and the lower bound of its candidate in seconds."""
        self._tried.add(point.key)
        self._trials += 1
        trial, candidate = f"u{self._trials}", point.verified.candidate.id
        floor_s = next(c.bound.time_s for c in self._pool.candidates if c.verified is point.verified)
        self._journal.append(ParametersProposed(trial, candidate, _values(point.parameters), point.modelled_s, floor_s))
        return trial, floor_s

    def _note_failure(self, trial: str, point: Point, failure: Failure) -> Infeasible | None:
        if failure.code == "tune.cancelled":
            return None
        values = _values(point.parameters)
        self._journal.append(TrialFailed(trial, point.verified.candidate.id, values, failure_reason(failure)))
        return Infeasible(point.verified.candidate, point.parameters, failure.code, failure.reason)

    def _note_times(self, trial: str, timed: Timed) -> None:
        candidate, values = timed.kernel.verified.candidate, _values(timed.kernel.parameters)
        times = (timed.time_s, timed.p20_s, timed.p80_s, timed.samples, timed.error, timed.waited)
        self._journal.append(TrialMeasured(trial, candidate.id, values, *times))

    # ------------------------------------------------------------ the incumbent
    def _update_incumbent(self, trial: TimedTrial) -> None:
        """Make a trial the incumbent if it is faster."""
        if self._best is not None and trial.timed.time_s >= self._best.timed.time_s:
            return
        self._set_incumbent(trial)
        candidate = trial.point.verified.candidate.id
        self._journal.append(IncumbentImproved(trial.name, candidate, trial.timed.time_s))

    def _set_incumbent(self, trial: TimedTrial) -> None:
        self._best = trial
        self._ignores_bounds |= trial.timed.time_s < trial.timed.floor_s

    def _adopt_incumbent(self, incumbent: Timed) -> None:
        """Start with an earlier run's incumbent, if its candidate is in the pool."""
        kernel = incumbent.kernel
        candidate = next((c for c in self._pool.candidates if c.verified.candidate == kernel.verified.candidate), None)
        if candidate is None:
            return
        self._sources.add(kernel.source)
        model = model_of(candidate.verified.candidate, self._request.shapes, self._request.target)
        point = Point(candidate.verified, kernel.parameters, model.estimate(kernel.parameters.numbers).time_s)
        trials = (e for e in reversed(self._journal.events) if isinstance(e, TrialMeasured))
        name = next((e.trial for e in trials if (e.candidate, e.parameters) == point.key), "incumbent")
        self._set_incumbent(TimedTrial(name, point, incumbent))

    def _load_incumbent(self) -> float:
        """Load the incumbent on the bench if it is not there; there is none afterwards if it fails in this process.

        Returns:
            The seconds that it took, which do not count for the budget.
        """
        best, start_s = self._best, self._request.clock()
        is_needed = self._remote is None and not self._saved.is_open
        if best is not None and is_needed and isinstance(self._runner.load(best.name, best.timed.kernel), Failure):
            self._best = None
        return self._request.clock() - start_s

    # ------------------------------------------------------------ bounds
    def _drop_bounded(self) -> None:
        """Drop candidates whose lower bound exceeds the incumbent's time or the time to beat."""
        best = self._best
        if self._ignores_bounds:
            return
        limit_s = min(self._time_to_beat_s, best.timed.time_s if best is not None else math.inf)
        for candidate in tuple(self._pool.candidates):
            bound_s = candidate.bound.time_s
            if bound_s >= limit_s and (best is None or candidate.verified is not best.point.verified):
                self._pool.drop(candidate)
                whose = f"of {best.timed.kernel.verified.candidate.id}" if best and best.timed.time_s <= limit_s else ""
                reason = bound_reason(candidate.bound, limit_s, whose or "to beat", self._request.target)
                self._journal.append(CandidateBounded(candidate.id, bound_s, limit_s, reason))

    @property
    def _best_in_range(self) -> TimedTrial | None:
        """The incumbent, unless an earlier run found it outside the ranges to which the user restricted this one."""
        best = self._best
        return best if best is not None and within(best.point.key[1], self._request.ranges) else None

    def _is_near_bound(self) -> bool:
        best = self._best_in_range
        if best is None or not self._pool.candidates or self._ignores_bounds:
            return False
        least_s = min(c.bound.time_s for c in self._pool.candidates)
        return best.timed.time_s <= least_s * (1 + self._budget.near)

    def _is_near_limit(self) -> bool:
        """Whether the incumbent is near the limit that is measured beside it, once for each incumbent."""
        best = self._best_in_range
        if best is None or best.timed.time_s < LEAST_LIMITED_S or self._budget.near < 0 or not self._pool.candidates:
            return False
        if self._saved.is_open or self._remote is not None:
            return False
        if best.name not in self._limit_shares:
            bound = min((c.bound for c in self._pool.candidates), key=lambda bound: bound.time_s)
            is_16_bit = multiplies_16_bits(best.point.verified.candidate.family.program, self._request.target)
            self._limit_shares[best.name] = self._runner.share_of_limit(best.name, bound, is_16_bit)
        return self._limit_shares[best.name] * (1 + self._budget.near) >= 1

    # ------------------------------------------------------------ the play-off
    def _play_off(self) -> Iterator[Outcome]:
        """Time the fastest trials once more in common rounds; yield the winner if it is not the incumbent."""
        entered = finalists(self._best, self._timed)
        if len(entered) < 2 or self._is_near_bound() or self._stop():
            return
        event = self._saved.play_off if self._saved.is_open else self._rank(entered)
        if event is None:
            return
        self._journal.append(event)
        best = entered[0]
        winner = next((t for t in entered if t.name == event.order[0]), best)
        if winner is best:
            return
        self.was_saved = self._saved.is_open
        timed = self._saved.measured_again(winner.timed) if self.was_saved else self._measure_again(winner, best)
        if timed is not None:
            self._note_times(winner.name, timed)
            self._update_incumbent(replace(winner, timed=timed))
            yield timed

    def _rank(self, entered: Sequence[TimedTrial]) -> PlayedOff | None:
        found = self._runner.rank({t.name: t.timed.kernel for t in entered})
        return None if found is None else PlayedOff(*found)

    def _measure_again(self, winner: TimedTrial, best: TimedTrial) -> Timed | None:
        times = self._runner.measure_again(winner.name, winner.timed.kernel, best.as_incumbent)
        return None if times is None else with_times(winner.timed, times)

    # ------------------------------------------------------------ saved trials
    def _replay(self, point: Point) -> Outcome | None:
        """Report a saved trial; None if it was stopped then."""
        trial, floor_s = self._note_proposal(point)
        found = self._saved.outcome(point, self._request.shapes, floor_s)
        if found is None:
            return None
        outcome, improved = found
        if isinstance(outcome, Timed):
            if improved:
                self._best = None  # the trial replaced the incumbent, or one that failed
            self._timed.append(TimedTrial(trial, point, outcome))
            self._update_incumbent(self._timed[-1])
        return outcome


def _is_faster(found: TrialResult | Failure, incumbent: TimedTrial) -> bool:
    return isinstance(found, TrialResult) and found.times.time_s < incumbent.timed.time_s


def _values(chosen: Parameters) -> tuple[tuple[str, int], ...]:
    return (*chosen.sizes, *chosen.schedule)


def _tried_before(journal: Journal) -> tuple[set[Key], int]:
    """The keys and the number of the trials in a journal."""
    proposed = [e for e in journal.events if isinstance(e, ParametersProposed)]
    return {(e.candidate, e.parameters) for e in proposed}, len(proposed)
