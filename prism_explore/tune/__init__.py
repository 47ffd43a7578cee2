"""From proved candidates to a timed kernel: choose numbers, compare, race, keep the best.

See the README of this folder. `tune` is pulled: it yields after every trial, so that pausing, stepping
and stopping are the caller's business.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace

from prism_explore.cost.roofline import TimeBound, time_bound_of
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import (
    CandidateBounded,
    IncumbentImproved,
    KernelGenerated,
    ParametersProposed,
    PlayedOff,
    TrialFailed,
    TrialMeasured,
)
from prism_explore.ir.text import show
from prism_explore.pipeline.stages import Infeasible, Kernel, Outcome, Parameters, Timed, Verified
from prism_explore.targets import Target
from prism_explore.tune.budget import Budget, StrategyName, strategy_of
from prism_explore.tune.database import Database, Known
from prism_explore.tune.failure_reasons import failed, too_slow
from prism_explore.tune.resume import Again, Saved, with_times
from prism_explore.tune.runner.backend import Backend, backend_of, named
from prism_explore.tune.runner.machine_lock import Turns, turns_here
from prism_explore.tune.runner.measure import Bench, Failure
from prism_explore.tune.runner.remote import Away, setting_of
from prism_explore.tune.runner.stopping_rule import FINALISTS, LUCKY_AMONG, NEARLY
from prism_explore.tune.runner.trial import Raced, Rival, Track
from prism_explore.tune.runner.worker import Worker
from prism_explore.tune.space.parameters import legal_sizes, parameters
from prism_explore.tune.space.time_model import Model, Modelled, model_of
from prism_explore.tune.strategies.local_search import Key, Point, Pool, Recalled, Strategy

__all__ = [
    "Backend",
    "Bench",
    "Budget",
    "Database",
    "Model",
    "Modelled",
    "Pool",
    "StrategyName",
    "TimeBound",
    "Worker",
    "legal_sizes",
    "model_of",
    "parameters",
    "strategy_of",
    "time_bound_of",
    "tune",
]


RECALLED = 3
"""Of what a database knows, so many of the fastest are raced again: winners of many races were lucky in some."""


@dataclass(frozen=True, slots=True)
class _Incumbent:
    trial: str
    point: Point
    timed: Timed

    @property
    def rival(self) -> Rival:
        """It, as trials are raced against it."""
        return Rival(self.trial, self.timed.kernel, self.timed.time_s)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A trial of a flight."""

    point: Point
    made: Kernel | Infeasible | None
    """None where what came of it was saved."""
    source: str
    """Of its kernel; empty where there is none."""


def tune(
    verifieds: Sequence[Verified],
    shapes: Mapping[str, int],
    target: Target,
    journal: Journal,
    *,
    budget: Budget | None = None,
    seed: int = 0,
    clock: Callable[[], float] = time.monotonic,
    backend: Backend | None = None,
    bench: Bench | None = None,
    strategy: Strategy | None = None,
    incumbent: Timed | None = None,
    beat_s: float | None = None,
    later: Collection[str] = (),
    database: Database | None = None,
    versions: tuple[tuple[str, str], ...] = (),
    stop: Callable[[], bool] = lambda: False,
    executor: Executor | None = None,
) -> Iterator[Outcome]:
    """Try numbers for proved candidates, cheapest bound first; yield each trial's outcome.

    A trial's time is the median of its rounds' ratios to the incumbent, times the incumbent's time: what
    it would have taken when the incumbent was measured. So times of one run compare, although the machine
    drifts. The first trial, which has nobody to race, is the yardstick.

    Where the budget has several trials at once, those of a flight are proposed before any of them is heard, race the
    incumbent of that moment, and are told in the order of their proposal. A trial that beat an incumbent which another
    of its flight has replaced meanwhile races the new one, too: two that won over a third were lucky to different
    degrees. So what is told does not depend on who runs a flight: an executor's workers, or this process.

    What the journal says was tried before is not tried again, so a second call continues the first. In a saved
    search that is told again, trials that were saved have the outcome that was saved; `seconds` go on from theirs.

    Args:
        verifieds: proved candidates of one program.
        shapes: numbers for the program's own symbols.
        target: the machine.
        journal: hears of every trial.
        budget: when to end.
        seed: of inputs and of random proposals; the order of trials depends on it and on which won.
        clock: seconds for the budget.
        backend: the code generator; the target's own if not given.
        bench: where kernels are compared and timed; a worker process of the target's own if not given.
        strategy: what to try next; the budget's if not given.
        incumbent: the kernel to beat, from an earlier call.
        later: ids of candidates that are proposed behind others that are as likely.
        beat_s: a time to beat, whoever's it is; candidates whose floor is not below it are not tried.
        database: remembers every trial. What it knows counts as tried, and against the budget; the fastest few are
            raced again, for times of another day do not compare.
        versions: of what makes kernels; trials of other versions are not known.
        stop: asked between trials, and by the worker while it waits.
        executor: whose workers run the trials of a flight of several, where the budget has any; a trial that they do
            not answer, or that flies alone, is run here. It is not shut down.

    Raises:
        TargetUnavailable: kernels cannot be timed on the target, and no bench was given; or not by workers that take
            turns.
        ShapeError: a data symbol has no number in `shapes`.
    """
    if not verifieds:
        return
    limits = budget or Budget()
    generator = backend or backend_of(target)
    pool = Pool(verifieds, shapes, target, generator.choices, later=later)
    program = verifieds[0].candidate.family.program
    away, turns = None, Turns(None)
    if executor is not None and limits.at_once > 1:
        away = Away(executor, setting_of(program, shapes, target, generator, seed, limits.race_s))
        turns = turns_here()
    there = bench or named(generator.bench)(program, shapes, target, generator.loader, seed=seed, stop=stop)
    track = Track(there, limits.race_s, turns, clock, stop)
    remembers = database is not None
    tuning = _Tuning(pool, shapes, target, journal, limits, clock, generator, track, away, stop, beat_s, remembers)
    kept = None if database is None else database.study(program, shapes, target, versions)
    chosen = strategy or strategy_of(limits.strategy, seed, kept)
    if database is not None:
        chosen = tuning.recall(database.known(program, shapes, target, versions), chosen)
    try:
        for outcome in tuning.run(chosen, incumbent):
            if database is not None and not tuning.was_saved:
                database.note(outcome, shapes, target, versions)
            yield outcome
    finally:
        if away is not None:
            away.forget()
        if there is not bench:
            track.close()


class _Tuning:
    """One run of `tune`."""

    def __init__(
        self,
        pool: Pool,
        shapes: Mapping[str, int],
        target: Target,
        journal: Journal,
        budget: Budget,
        clock: Callable[[], float],
        backend: Backend,
        track: Track,
        away: Away | None,
        stop: Callable[[], bool],
        beat_s: float | None,
        remembers: bool,
    ) -> None:
        self._pool, self._shapes, self._target, self._journal = pool, shapes, target, journal
        self._budget, self._clock, self._backend, self._stop = budget, clock, backend, stop
        self._track, self._away = track, away
        self._tried, self._trials = _so_far(journal)
        self._seen: set[str] = set()
        self._best: _Incumbent | None = None
        self._timed: list[_Incumbent] = []
        """The trials of this run that gave a time."""
        self._again = Again(journal)
        self._remembers = remembers
        self.was_saved = False
        """Whether the last outcome is a saved one."""
        self._doubted = False
        """Whether a kernel was faster than its floor allows; then no bound is trusted in this run any more.

        A shared machine has fast and slow minutes: the target's figures were taken in a slow one.
        """
        self._known = 0
        self._began = 0.0
        self._beat_s = math.inf if beat_s is None else beat_s

    def recall(self, known: Sequence[Known], then: Strategy) -> Strategy:
        """Take what is known as tried; the fastest of it is proposed first."""
        entrants = {show(e.verified.candidate.sgraph): e for e in self._pool.entrants}
        points = [
            (k, Point(entrants[k.candidate].verified, k.parameters, k.time_s or math.inf))
            for k in known
            if k.candidate in entrants
        ]
        own = self._tried | self._again.keys
        again = [p for k, p in points if k.time_s is not None and p.key not in own][:RECALLED]
        others = {p.key for _, p in points} - {p.key for p in again} - own
        self._tried |= others
        self._known = min(len(others), max(self._budget.trials - len(again), 0))
        return Recalled(again, then)

    def run(self, strategy: Strategy, incumbent: Timed | None) -> Iterator[Outcome]:
        """Propose, compile, compare, race, until the budget or the space ends; then the fastest play it off."""
        yield from self._races(strategy, incumbent)
        yield from self._play_off()
        self._track.only(*(i.trial for i in (self._best,) if i is not None))

    def _races(self, strategy: Strategy, incumbent: Timed | None) -> Iterator[Outcome]:
        self._began, first, idle = self._clock(), self._trials - self._known, 0
        if incumbent is not None:
            self._resume(incumbent)
        while not self._stop() and self._trials - first < self._budget.trials and idle < self._budget.patience:
            self._began += self._hold()
            self._bound()
            if self._again.is_open and self._again.proposed is None:
                return
            if self._spent_s >= self._budget.seconds or self._near_enough():
                return
            room = min(self._budget.trials - (self._trials - first), self._budget.patience - idle)
            rival = self._best
            flight = self._flight(strategy, min(room, 1 if rival is None else self._budget.at_once))
            if not flight:
                return
            for place, entry in enumerate(flight, 1):
                if (place > 1 and self._stop()) or (self._again.is_open and not self._is_next(entry.point)):
                    return
                before = self._best
                if entry.made is None:
                    outcome = self._told(entry.point)
                    self._began = self._clock() - self._again.spent_s
                else:
                    outcome = self._try(entry.point, entry.made, rival)
                self.was_saved = entry.made is None
                needed = (self._best, rival if place < len(flight) else None)
                self._track.only(*(i.trial for i in needed if i is not None))
                if outcome is None:
                    return
                strategy.hear(self._pool, entry.point, outcome)
                idle = 0 if self._best is not before else idle + 1
                yield outcome

    @property
    def _spent_s(self) -> float:
        """Seconds of the budget that are spent."""
        return self._again.spent_s if self._again.is_open else self._clock() - self._began

    # ------------------------------------------------------------ a flight
    def _flight(self, strategy: Strategy, room: float) -> list[_Entry]:
        """Propose trials that need not wait for each other, and ask the executor for them; none where it is the end.

        No two have the same kernel. As long as there are saved trials, they are those.
        """
        flight: list[_Entry] = []
        while len(flight) < room:
            point = strategy.propose(self._pool, self._tried, self._best.point if self._best else None)
            if point is None:
                break
            self._tried.add(point.key)
            saved = self._again.trial(len(flight))
            if saved is not None and saved.key == point.key:
                entry = _Entry(point, None, saved.source)
            else:
                made = self._backend.emit(point.verified, point.parameters, self._shapes, self._target)
                source = made.source if isinstance(made, Kernel) else ""
                if source in self._seen:  # other numbers, the same kernel
                    if self._stop() or self._spent_s >= self._budget.seconds:
                        return []
                    continue
                entry = _Entry(point, made, source) if saved is None else self._instead(saved)
            if entry is None:
                break  # another run of tuning came next
            flight.append(entry)
            if entry.source:
                self._seen.add(entry.source)
        if self._away is not None and self._best is not None and len(flight) > 1:
            for kernel in (e.made for e in flight if isinstance(e.made, Kernel)):
                self._away.ask(kernel, self._best.rival)
        return flight

    # ------------------------------------------------------------ one trial
    def _try(self, point: Point, made: Kernel | Infeasible, rival: _Incumbent | None) -> Outcome | None:
        """Propose a point, compare and race its kernel; None where somebody stopped it."""
        trial, floor_s = self._propose(point)
        if isinstance(made, Infeasible):
            return self._failed(trial, point, Failure(made.code, made.reason))
        self._journal.note(KernelGenerated(trial, point.verified.candidate.id, made.backend, made.source))
        found = self._raced(trial, made, rival)
        if isinstance(found, Failure):
            return self._failed(trial, point, found)
        race = found.race
        timed = Timed(made, race.time_s, race.p20_s, race.p80_s, race.samples, found.error, floor_s, race.waited)
        self._note(trial, timed)
        self._timed.append(_Incumbent(trial, point, timed))
        self._settle(self._timed[-1])
        return timed

    def _raced(self, trial: str, kernel: Kernel, rival: _Incumbent | None) -> Raced | Failure:
        """What comes of a kernel beside the incumbent of its flight; ahead of that, beside the one that stands now."""
        found = self._away.answer(kernel, self._stop) if self._away is not None else None
        while True:
            if found is None:
                found = self._track.trial(trial, kernel, None if rival is None else rival.rival)
            if found is None and rival is self._best:
                self._best = None  # it does not come through here
            elif found is not None and (rival is None or rival is self._best or not _is_ahead(found, rival)):
                return found
            rival, found = self._best, None

    def _propose(self, point: Point) -> tuple[str, float]:
        """Note the next trial; its name, and the bound of its candidate."""
        self._tried.add(point.key)
        self._trials += 1
        trial, candidate = f"u{self._trials}", point.verified.candidate.id
        floor_s = next(e.floor.time_s for e in self._pool.entrants if e.verified is point.verified)
        self._journal.note(ParametersProposed(trial, candidate, _numbers(point.parameters), point.modelled_s, floor_s))
        return trial, floor_s

    def _failed(self, trial: str, point: Point, failure: Failure) -> Infeasible | None:
        if failure.code == "tune.cancelled":
            return None
        numbers = _numbers(point.parameters)
        self._journal.note(TrialFailed(trial, point.verified.candidate.id, numbers, failed(failure)))
        return Infeasible(point.verified.candidate, point.parameters, failure.code, failure.reason)

    def _note(self, trial: str, timed: Timed) -> None:
        candidate, numbers = timed.kernel.verified.candidate, _numbers(timed.kernel.parameters)
        times = (timed.time_s, timed.p20_s, timed.p80_s, timed.samples, timed.error, timed.waited)
        self._journal.note(TrialMeasured(trial, candidate.id, numbers, *times))

    def _settle(self, trial: _Incumbent) -> None:
        if self._best is not None and trial.timed.time_s >= self._best.timed.time_s:
            return
        self._take(trial)
        candidate = trial.point.verified.candidate.id
        self._journal.note(IncumbentImproved(trial.trial, candidate, trial.timed.time_s))

    def _resume(self, incumbent: Timed) -> None:
        kernel = incumbent.kernel
        entrant = next((e for e in self._pool.entrants if e.verified.candidate == kernel.verified.candidate), None)
        if entrant is None:
            return
        self._seen.add(kernel.source)
        model = model_of(entrant.verified.candidate, self._shapes, self._target)
        point = Point(entrant.verified, kernel.parameters, model.at(kernel.parameters.numbers).time_s)
        self._take(_Incumbent(self._name_of(point), point, incumbent))

    def _name_of(self, point: Point) -> str:
        """The trial that gave an incumbent of an earlier call."""
        trials = (e for e in reversed(self._journal.events) if isinstance(e, TrialMeasured))
        return next((e.trial for e in trials if (e.candidate, e.parameters) == point.key), "incumbent")

    def _take(self, incumbent: _Incumbent) -> None:
        self._best = incumbent
        self._doubted |= incumbent.timed.time_s < incumbent.timed.floor_s

    def _hold(self) -> float:
        """Have an incumbent on the bench that is not there yet; none where it does not come through here.

        Returns:
            The seconds that it took, which no trial is charged for.
        """
        best, began = self._best, self._clock()
        is_due = self._away is None and not self._again.is_open
        if best is not None and is_due and isinstance(self._track.hold(best.trial, best.timed.kernel), Failure):
            self._best = None
        return self._clock() - began

    # ------------------------------------------------------------ the end
    def _play_off(self) -> Iterator[Outcome]:
        """Run the fastest once more, in the same rounds: some have won by good luck, and some have lost by bad luck."""
        finalists = self._finalists()
        if len(finalists) < 2 or self._near_enough() or self._stop():
            return
        fact = self._again.play_off if self._again.is_open else self._played(finalists)
        if fact is None:
            return
        self._journal.note(fact)
        winner, best = next((f for f in finalists if f.trial == fact.order[0]), finalists[0]), finalists[0]
        if winner is best:
            return
        self.was_saved = self._again.is_open
        timed = self._again.measured(winner.timed) if self.was_saved else self._measured(winner, best)
        if timed is not None:
            self._note(winner.trial, timed)
            self._settle(replace(winner, timed=timed))
            yield timed

    def _finalists(self) -> list[_Incumbent]:
        """The incumbent, and who may be as fast, the likeliest first."""

        def likely_s(trial: _Incumbent) -> float:  # `time_s` of one that lost is not below its rival's
            return math.sqrt(trial.timed.p20_s * trial.timed.p80_s)

        best = self._best
        if best is None or len(self._timed) < LUCKY_AMONG:
            return []
        others = [t for t in self._timed if t.trial != best.trial and likely_s(t) < NEARLY * best.timed.time_s]
        return [best, *sorted(others, key=likely_s)[: FINALISTS - 1]]

    def _played(self, finalists: Sequence[_Incumbent]) -> PlayedOff | None:
        found = self._track.fastest({f.trial: f.timed.kernel for f in finalists})
        return None if found is None else PlayedOff(*found)

    def _measured(self, winner: _Incumbent, best: _Incumbent) -> Timed | None:
        race = self._track.again(winner.trial, winner.timed.kernel, best.rival)
        return None if race is None else with_times(winner.timed, race)

    # ------------------------------------------------------------ trials that were saved
    def _is_next(self, point: Point) -> bool:
        """Whether a point is the saved trial that comes next."""
        saved = self._again.trial(0)
        return saved is not None and saved.key == point.key

    def _instead(self, saved: Saved) -> _Entry | None:
        """A saved trial where it is not what the strategy proposes.

        What a database remembered then is not what it remembers now, and what was saved counts. Without one, the run
        had ended.
        """
        point = saved.point(self._pool) if self._remembers else None
        return None if point is None else _Entry(point, None, saved.source)

    def _told(self, point: Point) -> Outcome | None:
        """Tell a saved trial; what came of it, None where somebody stopped it."""
        trial, floor_s = self._propose(point)
        found = self._again.outcome(point, self._shapes, floor_s)
        if found is None:
            return None
        outcome, improved = found
        if isinstance(outcome, Timed):
            if improved:
                self._best = None  # it took the incumbent's place, or that of one that was lost
            self._timed.append(_Incumbent(trial, point, outcome))
            self._settle(self._timed[-1])
        return outcome

    # ------------------------------------------------------------ bounds
    def _bound(self) -> None:
        """Drop candidates that even at their floor would beat neither the incumbent nor the time to beat."""
        best = self._best
        if self._doubted:
            return
        limit_s = min(self._beat_s, best.timed.time_s if best is not None else math.inf)
        for entrant in tuple(self._pool.entrants):
            if entrant.floor.time_s >= limit_s and (best is None or entrant.verified is not best.point.verified):
                self._pool.drop(entrant)
                whose = f"of {best.timed.kernel.verified.candidate.id}" if best and best.timed.time_s <= limit_s else ""
                reason = too_slow(entrant.floor, limit_s, whose or "to beat", self._target)
                name = entrant.verified.candidate.id
                self._journal.note(CandidateBounded(name, entrant.floor.time_s, limit_s, reason))

    def _near_enough(self) -> bool:
        best = self._best
        if best is None or not self._pool.entrants or self._doubted:
            return False
        least = min(e.floor.time_s for e in self._pool.entrants)
        return best.timed.time_s <= least * (1 + self._budget.near)


def _is_ahead(found: Raced | Failure, of: _Incumbent) -> bool:
    return isinstance(found, Raced) and found.race.time_s < of.timed.time_s


def _numbers(chosen: Parameters) -> tuple[tuple[str, int], ...]:
    return (*chosen.sizes, *chosen.schedule)


def _so_far(journal: Journal) -> tuple[set[Key], int]:
    """What the journal says was tried, and how many trials that were."""
    proposed = [e for e in journal.events if isinstance(e, ParametersProposed)]
    return {(e.candidate, e.parameters) for e in proposed}, len(proposed)
