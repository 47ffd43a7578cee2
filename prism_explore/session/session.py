"""One interactive search: run, step, steer and query it, and get its best kernel.

Every click in the explorer is a method here. Everything shown is computed from the event journal. The search runs on
the engine's thread; a method that waits can be interrupted without loss.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, overload

from prism_explore.diagnose.audit import Audit, audit
from prism_explore.diagnose.audit_sample import Sample, audit_sample
from prism_explore.diagnose.compare_runs import Run, RunComparison
from prism_explore.diagnose.jobs import Questions
from prism_explore.diagnose.what_if import WhatIf, what_if
from prism_explore.errors import JournalVersionError, ShapeError
from prism_explore.events.claim import claim
from prism_explore.events.journal import Journal, read_manifest
from prism_explore.events.kinds import Event, ExplorationFinished, ParametersProposed, SearchForked, Steered
from prism_explore.events.ledger import Steering
from prism_explore.events.phases import phase_of
from prism_explore.events.replay_journal import CachedJournal, ReplayedJournal
from prism_explore.frontend import Traced, declare_symbols, trace
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.text import show
from prism_explore.pipeline.search_space import Space
from prism_explore.pipeline.stages import Verified
from prism_explore.runtime.best import Best
from prism_explore.runtime.dispatch import Dispatch
from prism_explore.runtime.no_improvement import NoImprovement
from prism_explore.search.explore import Progress, Task
from prism_explore.session.autosave import Autosave, checked_path, is_notebook
from prism_explore.session.best_query import BestQuery, When
from prism_explore.session.commands import run_command
from prism_explore.session.comparison import compare
from prism_explore.session.engine import Engine, Job, State, wait
from prism_explore.session.families import FamilyHandle
from prism_explore.session.fork import adopted_task, first_events, fork_point, repeated_events, what_if_of
from prism_explore.session.interrupted import InterruptedSearch, find_interrupted
from prism_explore.session.new_task import Dominated, new_task
from prism_explore.session.options import changed_limits, library_of, one_symbol
from prism_explore.session.persistence import check_library, manifest_of, read_search, timed_library_calls
from prism_explore.session.progress_line import progress_line
from prism_explore.session.pruned import Pruned
from prism_explore.session.record import Record
from prism_explore.session.results import best_of, best_of_answer, chosen_candidate, dispatch_over, open_candidates
from prism_explore.session.search_cache import FoundSearch, SearchCache, cache_folder
from prism_explore.session.steering import SteeringLog
from prism_explore.session.stepping import Grain, StepLog, after_steps, replay_saved, search_steps
from prism_explore.session.stored_answer import answer_of
from prism_explore.session.trace_cache import TraceCache
from prism_explore.support.caches import lease_for
from prism_explore.support.listeners import Listeners
from prism_explore.support.live_objects import register
from prism_explore.support.terminal_text import terminal_text
from prism_explore.targets import Target, target
from prism_explore.tune import Budget
from prism_explore.tune.budget import BudgetName
from prism_explore.tune.runner.baseline_table import DEFAULT_BASELINES

if TYPE_CHECKING:
    from prism_explore.tune.gpu_preview import GpuKernel


class Session(Record):
    """One search over one program.

    Args:
        code: a torch function or module, a TensorProgram, or torch code that was traced before.
        target: the machine, by name or as a Target.
        at: values of the program's symbols, at which kernels are tuned; 8 by default.
        seed: the same seed and the same steering give the same events.
        budget: of tuning: "quick" (the default: it ends soon after trials stop gaining), "thorough", or a Budget.
        space: the search space; `default_space(program)` by default. With the budget "quick", and with a Budget whose
            limits are not above those of "quick", the default has smaller budgets: 2,000 partial graphs and 40
            families. The claim says where one was spent.
        name: what to call the program.
        baselines: names of the implementations that the kernel is compared with, from `baseline_table.BASELINES`.
            `best` runs torch eager, torch.compile or `library` if that was faster.
        allow_unsafe: whether a family may win that is equal over the reals but unsafe in floating point.
        database: a file that stores trials, so that later searches do not time them again.
        ranges: least and largest value of symbols, such as {"b": (1, 64)}, or constraints, such as "8 <= b <= 64":
            `best` says at which of them it holds and refuses to be called at others.
        time_to_beat_s: a time to beat, such as an earlier search's, or "baselines": that of the fastest of `baselines`
            and `library`, measured before the enumeration. What cannot be faster, by its lower bound, is pruned.
        library: one more baseline: a torch function with the same arguments and result, such as a library call. If it
            is left out and `baselines` names the "torch library call", the search looks for one that is proved equal.
        dominated: whether a family that never costs less than another one in the cost model is tuned later or not.
        executor: a `concurrent.futures.Executor`, such as a Dask client's. Its workers verify families while this
            process enumerates; the events are the same with any executor. It pays off with many candidates. With
            `Budget(at_once=8)` the workers also compile, compare and time eight trials in parallel, if their machines
            are like this one; workers on one machine take turns while timing. The executor is not shut down.
        cache: whether to answer from the cache where the same search ran to its end before, and to store it there. Its
            times are then those of that search, and the proof of the best kernel is checked again. A search with a
            `database` does neither. A function that was traced before is not traced again. `prism-explore cache` shows
            and clears the folder.
        inputs: per argument `T(...)` or an example tensor; for arguments with names like those above.
        more_inputs: the same, as keywords.

    Raises:
        UnsupportedOperator: the code uses an operator that is not supported; `WholeProgram` leaves it to torch.
        ShapeError: arguments, dims or `at` do not fit.
        TargetUnavailable: no such machine, or one where an executor's workers cannot take turns at timing.
        JournalVersionError: the database is damaged, or of a later version.

    Example:
        >>> import prism_explore as px
        >>> program = px.parse_program('''program twice
        ...   x = input f32[b, 8]
        ...   %1 = add(x, x)
        ...   return %1''')
        >>> with px.Session(program, target="h100", at={"b": 4}) as sess:
        ...     events = sess.step(1, grain="family")
        ...     print(sess.families["f1"].id, sess.state)
        f1 paused
    """

    def __init__(
        self,
        code: Callable[..., Any] | TensorProgram | Traced,
        *,
        target: str | Target = "cpu",
        at: Mapping[str, int] | None = None,
        seed: int = 0,
        budget: Budget | BudgetName | None = None,
        space: Space | None = None,
        name: str | None = None,
        baselines: Sequence[str] = DEFAULT_BASELINES,
        allow_unsafe: bool = False,
        database: str | Path | None = None,
        ranges: Mapping[str, tuple[int, int]] | str | Sequence[str] | None = None,
        time_to_beat_s: float | Literal["baselines"] | None = None,
        library: Callable[..., Any] | None = None,
        dominated: Dominated = "later",
        executor: Executor | None = None,
        cache: bool = True,
        inputs: Mapping[str, Any] | None = None,
        **more_inputs: Any,
    ) -> None:
        folder = cache_folder() if cache else None
        task = new_task(
            code,
            target=target,
            at=at,
            seed=seed,
            budget=budget,
            space=space,
            name=name,
            baselines=baselines,
            allow_unsafe=allow_unsafe,
            database=database,
            ranges=ranges,
            time_to_beat_s=time_to_beat_s,
            library=library,
            dominated=dominated,
            executor=executor,
            inputs=inputs,
            more_inputs=more_inputs,
            traces=None if folder is None else TraceCache(folder),
        )
        self._cache = None if folder is None or database is not None else SearchCache(folder)
        self._found = None if self._cache is None else self._cache.find(task)
        if self._found is None:
            self._begin(task, Journal())
        else:
            self._begin(self._found.task, self._open_found)
        if is_notebook():
            self._save_from(None, 0)

    _cache: SearchCache | None = None
    """Where the search is stored when it has ended; None for a loaded search and for a fork, except `time_again`."""
    _found: FoundSearch | None = None
    """The search of the same question in the cache."""
    _offered: FoundSearch | None = None
    """The same, where its answer is that of this session and the search was not repeated."""

    def _begin(self, task: Task, journal: Journal | Callable[[], Journal], parent: Session | None = None) -> None:
        super().__init__(journal)
        self._lock = threading.RLock()
        self._parent = parent
        self._forks: list[Session] = []
        self._fork_count = 0
        self._fork_lock = threading.Lock()
        self._own_step_log = StepLog()
        self._lease = lease_for(self)
        self.task, self.traced = task, task.reference
        # Not before it has a name: explorers of other sessions list this one from now on.
        self.id = register(self)
        """A short id of this session in this process, such as s1; `compare` takes it."""
        self.selection: str | None = None
        self._own_progress = Progress()
        self._listeners = Listeners()
        self._engine = Engine(self._steps, self._state_changed, lambda: self._own_progress.rest())
        self._steering_log: SteeringLog | None = None
        self.questions = Questions(lambda: self._notify("state", self.state), self._is_timing)
        """The questions that are answered in the background, by id; prints the answers."""
        self._widget: Any = None
        self._autosave: Autosave | None = None
        self.interrupted: InterruptedSearch | None = None
        """A search of the same program that was saved while it ran and did not end, found when this one was created."""

    @property
    def _steering(self) -> SteeringLog:
        if self._steering_log is not None:
            return self._steering_log  # also while the search is repeated, which holds the lock
        with self._lock:
            if self._steering_log is None:
                self._steering_log = SteeringLog(
                    self.journal,
                    lambda: self.families,
                    lambda: [f.id for f in tuple(self._progress.families)],
                    self._engine.reopen,
                )
            return self._steering_log

    # ------------------------------------------------------------ an answer from the cache

    def _open_found(self) -> Journal:
        """Read the events of the stored search, when they are asked for first; all are there after its answer.

        Raises:
            JournalVersionError: they cannot be read, after its answer was offered.
        """
        with self._lock:
            assert self._found is not None, "the journal is that of a stored search"
            if isinstance(self._opened, Journal):
                return self._opened
            try:
                journal = self._found.open()
            except JournalVersionError as error:
                self._found.set_aside(str(error))
                if self._offered is not None:
                    raise
                self._found, self._opened = None, Journal()
                return self._opened
            if self._offered is not None:
                journal.replay_rest()
            self._opened = journal
            return journal

    def _offer_answer(self) -> bool:
        """End with the answer of the stored search, if nothing was done or decided yet; whether it is so."""
        with self._lock:
            found = self._found
            is_new = self.state == "ready" and not self._own_progress.waits_for_all
            if found is None or found.answer is None or not is_new:
                return False
            if isinstance(self._opened, CachedJournal):
                if len(self._opened) or self._steering.has_predicates:
                    return False
                self._opened.replay_rest()
            self._offered = found
        self._engine.finish()
        return True

    @property
    def _progress(self) -> Progress:
        """The state of the search; after an answer from the cache, it is found by repeating the search.

        Raises:
            JournalVersionError: the search does not repeat the stored one.
        """
        self._repeat_if_offered()
        return self._own_progress

    @property
    def _step_log(self) -> StepLog:
        """The steps of the search; see `_progress`."""
        self._repeat_if_offered()
        return self._own_step_log

    def _repeat_if_offered(self) -> None:
        with self._lock:
            if self._offered is not None:
                self._repeat(self._offered)

    def _repeat(self, found: FoundSearch) -> None:
        """Repeat a stored search whose answer was offered, so that the search can go on."""

        def differs(why: str) -> None:
            found.set_aside(why)
            raise JournalVersionError(f"the search in the cache cannot go on, a new px.Session searches again: {why}")

        journal, progress, steps = found.open(differs), Progress(), StepLog()
        steering = SteeringLog(journal, lambda: self.families, tuple, lambda: None)
        for _ in search_steps(self.task, journal, steering, progress, lambda: False, steps):
            pass
        if not journal.is_replayed:
            differs(f"it ended before {journal.next_saved}")
        progress.certified |= self._own_progress.certified
        self._own_progress, self._own_step_log, self._offered = progress, steps, None

    @classmethod
    def from_module(
        cls, module: Any, *examples: Any, symbolic: Mapping[str, Mapping[int, str]] | None = None, **options: Any
    ) -> Session:
        """A search over a torch module as it is called on examples.

        Args:
            module: the module, or a function of tensors.
            examples: tensors by position; kernels are tuned at their sizes.
            symbolic: per argument, the dims that stay symbolic and their symbols: `{"x": {0: "b"}}`.
            options: arguments of `Session`, by name.

        Returns:
            The session; nothing was searched yet.

        Raises:
            ShapeError: more examples than arguments, no such argument or dim, or one symbol for two sizes.
            UnsupportedOperator: see `Session`.
        """
        inputs, at = declare_symbols(module, examples, symbolic or {})
        return cls(module, inputs=inputs, at={**at, **options.pop("at", {})}, **options)

    @classmethod
    def load(
        cls,
        path: str | Path,
        code: Callable[..., Any] | Traced | None = None,
        *,
        library: Callable[..., Any] | None = None,
        inputs: Mapping[str, Any] | None = None,
        tick: Callable[[], None] = lambda: None,
        **more_inputs: Any,
    ) -> Session:
        """A saved search, at the step at which it was saved; it can be continued.

        Enumeration and instantiation are repeated and compared with the file event by event. Verdicts, assessments
        and times are taken from the file. Steering is restored, except for predicates of `prefer`, which are code:
        the families that they selected stay preferred.

        Args:
            path: what `save` wrote.
            code: the torch code of the first session, or its trace. It is the baseline that kernels are timed against,
                and it names the arguments. Without it `best` takes the program's inputs in order, and no baseline is
                timed.
            library: the `library` of the first session; it is code, so it is not in the file. Without it, a baseline
                run that is still to come leaves it out, and `best` cannot call it where it was fastest. A library call
                that the search found by itself is found again.
            inputs: types of the arguments of `code`, as for a new session.
            tick: called at every repeated step; an exception from it ends the loading.
            more_inputs: the same, as keywords.

        Returns:
            The session at the step at which it was saved.

        Raises:
            JournalVersionError: no saved search, by another version, or the repeated search differs from the file.
            ShapeError: the code computes another program, or `library` another value; or `library` is passed without
                the code, or for a search whose baselines were timed without one.
        """
        match code:
            case None | Traced():
                traced = code
            case _:
                name = str(read_manifest(path).get("program", "")) or None
                traced = trace(code, {**(inputs or {}), **more_inputs}, name)
        task, saved = read_search(path, traced)
        also = library_of(library, traced, task.baselines, task.program.name, timed_library_calls(saved.events))
        if also.explicit is not None:
            check_library(path, task, also.explicit.traced, saved.events)
        task, journal = replace(task, library=also), ReplayedJournal(saved.entries)
        sess = cls.__new__(cls)
        sess._begin(task, journal)
        with ExitStack() as failing:
            failing.callback(sess.close)
            try:
                replay_saved(journal, sess._engine, sess._steering, tick)
            except JournalVersionError as error:
                raise JournalVersionError(f"{path}: {error}") from None
            failing.pop_all()
        if is_notebook():
            sess._save_from(None, len(journal))
        return sess

    def resume_interrupted(self, tick: Callable[[], None] = lambda: None) -> Session:
        """Continue the search in `interrupted`, with the torch code of this session as its baseline.

        This session is not changed. `Session.load` does the same for any file.

        Args:
            tick: called at every repeated step; an exception from it ends the loading.

        Returns:
            The interrupted search, at the step at which it was saved; `run` continues it.

        Raises:
            ShapeError: no interrupted search of this program, machine and sizes was found.
            JournalVersionError: the file is of another version, or the repeated search differs from it.
        """
        if self.interrupted is None:
            raise ShapeError(
                f"when this session was created, no interrupted search of {self.program.name} on "
                f"{self.task.target.name} at these sizes was found; px.Session.load(path, code) continues any saved one"
            )
        explicit = self.task.library.explicit
        library = None if explicit is None else explicit.traced.reference
        return Session.load(self.interrupted.path, self.traced, library=library, tick=tick)

    def target_figures(self) -> Target:
        """The machine of the search.

        Returns:
            Its figures.
        """
        return self.task.target

    @property
    def program(self) -> TensorProgram:
        """The program that is searched."""
        return self.task.program

    # ------------------------------------------------------------ the search

    @property
    def state(self) -> State:
        """ready, running, paused, finished, cancelled or failed."""
        return self._engine.state

    @property
    def failure(self) -> str:
        """The error of the engine if it failed, else empty."""
        error = self._engine.failure
        return "" if error is None else f"{type(error).__name__}: {error}"

    def step(self, n: int = 1, grain: Grain = "event") -> list[Event]:
        """Run some steps of the search and wait for them.

        Args:
            n: how many.
            grain: of what: events, decided candidates, completed families, or phases of the search.

        Returns:
            The events of these steps, in order.
        """
        before = len(self.journal)
        self._await(self.request_steps(n, grain))
        return [e.event for e in self.journal.since(before)]

    def request_steps(self, n: int = 1, grain: Grain = "event") -> Future[None]:
        """Start some steps of the search without waiting for them; see `step`.

        Args:
            n: how many.
            grain: of what: events, decided candidates, completed families, or phases of the search.

        Returns:
            A future that is done when the search pauses.
        """
        return self._advance(after_steps(self.journal, n, grain))

    def run(self, until: Callable[[Session], bool] | None = None) -> None:
        """Search to the end, or until a condition holds. An interrupt pauses; `run()` continues.

        Args:
            until: a function of the session, evaluated at every step; None to search to the end.

        Raises:
            ShapeError: `until` is not callable.
        """
        if until is not None and not callable(until):
            raise ShapeError(
                f"until= takes a function of the session, such as lambda s: len(s.families) > 2; found {until!r}"
            )
        if until is None and self._offer_answer():
            return
        self._progress.runs_to_end |= until is None
        self._await(self._advance((lambda: until(self)) if until else _never))

    def start(self) -> Job:
        """Search in the background; the job can be awaited, paused, resumed and cancelled.

        Returns:
            The job.
        """
        if not self._offer_answer():
            self._progress.runs_to_end = True
        return Job(self._engine, self._advance(_never), lambda: self._advance(_never))

    def pause(self) -> None:
        """Pause after the current step; nothing is lost."""
        self._engine.pause()

    def resume(self) -> Job:
        """Continue in the background.

        Returns:
            The job.
        """
        return self.start()

    def cancel(self) -> None:
        """End the search; its results are kept."""
        self._engine.cancel()

    def close(self) -> None:
        """Cancel the search, end its processes and free the memory of its caches.

        Results can still be read, and `best` works. A second call does nothing. The current step ends first, on the
        engine's thread. `with px.Session(...) as sess:` closes at the end of the block.
        """
        self.questions.cancel()
        self._engine.close(self._lease.end)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _steps(self) -> Iterator[None]:
        return search_steps(
            self.task,
            self.journal,
            self._steering,
            self._progress,
            lambda: self._engine.is_cancelled,
            self._step_log,
        )

    def _advance(self, stop: Callable[[], bool]) -> Future[None]:
        """Continue until `stop`. At the first step an interrupted search is offered, unless the explorer does so."""
        if self.interrupted is not None and not len(self.journal) and not self._is_shown():
            print(terminal_text(str(self.interrupted)))  # noqa: T201 - for the person whose process was killed
        return self._engine.advance(stop)

    def _is_shown(self) -> bool:
        from prism_explore.widgets.jupyter.display import display_mode  # a search without pictures does not import it

        return self._widget is not None and not self._widget.is_closed and display_mode() == "widget"

    def _await(self, done: Future[None]) -> None:
        try:
            with progress_line(self.journal) as update:
                wait(done, update=update)
        except KeyboardInterrupt:
            self._engine.pause()
            wait(done)
            print("paused; sess.run() continues, sess.cancel() ends the search")  # noqa: T201 - for the person waiting

    # ------------------------------------------------------------ steering

    @property
    def steering(self) -> Steering:
        """The decisions that are not undone."""
        return self._steering.decisions

    def accept(self, family: str | Sequence[str], note: str = "") -> None:
        """Accept a family: it is tuned before the others, also if it is unsafe in floating point.

        Args:
            family: the id of a family such as f2, or several of them.
            note: a reason, stored with the decision.

        Raises:
            ShapeError: no such family.
        """
        self._steering.decide("accept", family, note)

    def reject(self, family: str | Sequence[str], note: str = "") -> None:
        """Reject a family: it is neither verified nor tuned further, and `best` ignores it. `undo` reverts this.

        Args:
            family: the id of a family such as f2, or several of them.
            note: a reason, stored with the decision.

        Raises:
            ShapeError: no such family.
        """
        self._steering.decide("reject", family, note)

    def prefer(self, which: str | Callable[[FamilyHandle], object]) -> None:
        """Prefer families: they are tuned before the others, but after accepted ones.

        Args:
            which: the id of a family; or a text such as `accum_rms`, which selects every family with this text in its
                graph; or a predicate, which is called with each family. Texts and predicates also select later
                families. A predicate is code and is not saved; the families that it selects are.

        Raises:
            ShapeError: `which` is neither a text nor a function.
        """
        self._steering.prefer(which)

    def restrict(self, parameter: str, low: int, high: int, note: str = "") -> None:
        """Restrict tuning: only values of a parameter within a range are tried from now on. `undo` reverts this.

        Trials that were measured before keep their times. A search that has ended is tuned again within the range.

        Args:
            parameter: its name, such as gx.
            low: the least value.
            high: the largest value.
            note: a reason, stored with the decision.

        Raises:
            ShapeError: `low` and `high` are no range, or no trial and no family has such a parameter.
        """
        self._steering.restrict(parameter, low, high, note)

    def undo(self) -> None:
        """Undo the last steering decision, if there is one."""
        self._steering.undo()

    def redo(self) -> None:
        """Redo the steering decision that was undone last, if there is one."""
        self._steering.redo()

    # ------------------------------------------------------------ forks

    @property
    def parent(self) -> Session | None:
        """The search that this one was forked from; None if there is none in this process."""
        return self._parent

    @property
    def origin(self) -> SearchForked | None:
        """Where this search was forked; None if it was not."""
        return self.journal.origin if isinstance(self.journal, ReplayedJournal) else None

    @property
    def forks(self) -> tuple[Session, ...]:
        """The searches that were forked from this one, oldest first."""
        return tuple(self._forks)

    def fork(self, at: int | None = None, note: str = "", tick: Callable[[], None] = lambda: None) -> Session:
        """Another search that repeats the first events of this one, and then continues on its own.

        Task and seed are the same. Verdicts and times up to the moment are taken over, so nothing is measured again.
        Without new steering the fork continues with the same events as this search, except for measured times. This
        search is not changed or paused. The fork does not use the database of trials.

        Args:
            at: after how many events; all of them if left out. Within a step, the fork is at the end of the step
                before it, and the first line of its text says so.
            note: what the fork is for, stored with it.
            tick: called at every repeated step; an exception from it ends the fork.

        Returns:
            The other search, paused at that moment; it is in `forks`, and `parent` leads back.

        Raises:
            ShapeError: no such moment, or the search has not begun.
            JournalVersionError: the search does not repeat its own events.

        Example:
            >>> import prism_explore as px
            >>> program = px.parse_program('''program twice
            ...   x = input f32[b, 8]
            ...   %1 = add(x, x)
            ...   return %1''')
            >>> with px.Session(program, target="h100", at={"b": 4}) as sess:
            ...     sess.run()
            ...     other = sess.fork(at=4)
            ...     other.run()
            >>> other.name, len(other.journal) - len(sess.journal)
            ('twice.1', 1)
        """
        point = fork_point(self.journal, self._step_log, at)
        name = self._new_fork_name()
        event = SearchForked(self.name, point.at, name, note, point.requested)
        journal = ReplayedJournal(repeated_events(self.journal, point, event))
        other = self._open_fork(replace(self.task, database=None), journal, tick)
        other._steering.copy_predicates(self._steering, point.at)
        return self._add_fork(other)

    def time_again(self, tick: Callable[[], None] = lambda: None) -> Session:
        """Time the kernels and baselines of this search again, in another search.

        The other search is a fork before the first trial: families, verdicts and steering are those of this search, and
        all trials and the final race are measured anew. A time to beat that was measured before the enumeration stays.
        If this search can be answered from the cache, the new one replaces it there when it has ended.

        Args:
            tick: called at every repeated step; an exception from it ends the fork.

        Returns:
            The other search, which runs in the background; `run` waits for it. It is in `forks`, and `parent` leads
            back.

        Raises:
            ShapeError: no kernel was timed.
            JournalVersionError: the search does not repeat its own events.
        """
        events = self.journal.events
        first = next((n for n, event in enumerate(events) if isinstance(event, ParametersProposed)), None)
        if first is None:
            raise ShapeError("no kernel was timed, so there is nothing to time again; sess.run() searches to the end")
        other = self.fork(first, "timed again", tick)
        other._steering.repeat(event for event in events[first:] if isinstance(event, Steered))
        other._cache = self._cache
        other.start()
        return other

    def compare(self, other: Run) -> RunComparison:
        """Compare this search with another one; see `prism_explore.compare`.

        Args:
            other: a session, a saved search that `px.load` opened, its file, or the id of a live session such as s2.

        Returns:
            The two searches side by side; this one is A.

        Raises:
            JournalVersionError: a file is no saved search.
            ShapeError: `other` is neither a search nor a file.
        """
        return compare(self, other)

    def adopt(self, question: str | WhatIf, tick: Callable[[], None] = lambda: None) -> Session:
        """Search with the settings of a what-if, so that what it gained is proved and tuned too.

        The settings differ from the first event on, so nothing of this search is taken over: the new one enumerates,
        proves and tunes, as long as a new search takes. It finds the families that the what-if found, and tunes those
        that it gained first. A time to beat is the one of this search.

        Args:
            question: a what-if, or the id of its question such as q1.
            tick: called at every repeated step; an exception from it ends the adoption.

        Returns:
            The other search, which runs in the background; `run` waits for it. It is in `forks`, and `parent` leads
            back.

        Raises:
            ShapeError: no such question, no what-if, or one that changes nothing.
        """
        if isinstance(question, str) and question not in self.questions:
            raise ShapeError(f"no question {question!r}; there are {', '.join(self.questions) or 'none yet'}")
        answer = what_if_of(self.questions[question] if isinstance(question, str) else question)
        task = adopted_task(self.task, answer)
        event = SearchForked(self.name, 0, self._new_fork_name(), changes=answer.changes)
        other = self._add_fork(self._open_fork(task, ReplayedJournal(first_events(task, event, answer)), tick))
        other.start()
        return other

    def _new_fork_name(self) -> str:
        with self._fork_lock:
            self._fork_count += 1
            return f"{self.name}.{self._fork_count}"

    def _open_fork(self, task: Task, journal: ReplayedJournal, tick: Callable[[], None]) -> Session:
        other = Session.__new__(type(self))
        other._begin(task, journal, self)
        try:
            replay_saved(journal, other._engine, other._steering, tick)
        except BaseException:
            other.close()
            raise
        if is_notebook():
            other._save_from(None, len(journal))
        return other

    def _add_fork(self, other: Session) -> Session:
        self._forks.append(other)
        self._notify("fork", other)
        return other

    # ------------------------------------------------------------ queries

    @property
    def pruned(self) -> Pruned:
        """All pruned subtrees by id."""
        return Pruned(self, self.audit)

    @overload
    def audit(self, subject: str, **options: Any) -> Audit: ...

    @overload
    def audit(self, *, sample: int, seed: int = 0, **options: Any) -> Sample: ...

    def audit(self, subject: str = "", *, sample: int = 0, seed: int = 0, **options: Any) -> Audit | Sample:
        """Search a pruned subtree, or a rejected family, with its rule off. This search is not changed.

        Args:
            subject: such as p17 or f2.
            sample: instead of a subject, how many pruned subtrees of each rule to audit; they are drawn at random.
            seed: of the random sample.
            options: the budgets `nodes` and `candidates`, `steps` of the subtree, more `rules_off`; see
                `diagnose.audit.audit`.

        Returns:
            What the search of the subtree found; with `sample`, one result per subtree.

        Raises:
            ShapeError: no such subtree, or an invalid budget.
        """
        if not subject:
            return audit_sample(self.task, self.journal.events, sample, seed, **options)
        return audit(self.task, self.journal.events, subject, **options)

    def what_if(
        self,
        *,
        target: str | Target | None = None,
        space: Space | None = None,
        rules_off: Collection[str] = (),
        run: bool = False,
        tick: Callable[[], None] = lambda: None,
        **limits: int,
    ) -> WhatIf:
        """Which regions another target, another space or disabled rules would reopen. This search is not changed.

        Args:
            target: another machine.
            space: other operators and limits.
            rules_off: names of pruning rules.
            run: whether to search there too, up to proofs, and compare the families.
            tick: called at every step; an exception from it ends the question.
            limits: single limits of the space by name, such as `block_ops=13`, and `shared_memory_bytes`.

        Returns:
            The regions that would open or close, and with `run` the families there.

        Raises:
            ShapeError: no such rule or limit.
            TargetUnavailable: no such machine.
        """
        machine, other = changed_limits(self.task, target, space, limits)
        events = self.journal.events
        return what_if(self.task, events, target=machine, space=other, rules_off=rules_off, run=run, tick=tick)

    # ------------------------------------------------------------ results

    @property
    def best(self) -> BestQuery:
        """The best kernel: `sess.best()` runs the search to its end and returns it.

        `sess.best`, without parentheses, starts nothing. Printed, it is the answer so far and what to call next.
        """
        return BestQuery(self._best, self.state, lambda: self.index.ledger)

    def _best(self, when: When) -> Best | NoImprovement | None:
        if when not in get_args(When):
            raise ShapeError(f"best(when=...) is one of {', '.join(map(repr, get_args(When)))}; found {when!r}")
        if when == "all rivals":
            self._progress.waits_for_all = self.state != "finished" or bool(self.index.ledger.not_waited_for)
            if self._progress.waits_for_all:
                self._engine.reopen()
        if when != "now" and self.state not in ("finished", "cancelled"):
            self.run()
        try:
            offered = self._offered if self.state == "finished" else None
            if offered is None or offered.answer is None:
                return best_of(self.task, self.journal, self._progress, self.steering)
            return best_of_answer(
                self.task, offered.answer, self._own_progress, lambda: open_candidates(self._progress, self.steering)
            )
        except JournalVersionError as error:
            if self._found is not None:
                self._found.set_aside(str(error))
            raise

    def on_gpu(self, name: str | None = None) -> GpuKernel | None:
        """A Triton kernel of a proved family, for a GPU that this machine need not have; runs the search to its end.

        Its sizes are those that the cost model ranks first. It agreed with the reference in Triton's interpreter and
        was compiled ahead of time; it is not timed. Its `tuning_file` tunes and times it where there is a GPU.

        Args:
            name: of the GPU, such as `h100`; the session's own target by default, and `h100` where that is a CPU.

        Returns:
            The kernel, or None where no proved family has sizes that give one.

        Raises:
            TargetUnavailable: no such GPU, or Triton does not compile for it.
        """
        from prism_explore.tune.gpu_preview import write_gpu_kernel  # a search on a CPU does not import it

        own = self.task.target
        chosen = target(name) if name is not None else own if own.kind == "gpu" else target("h100")
        if self.state not in ("finished", "cancelled"):
            self.run()
        return write_gpu_kernel(open_candidates(self._progress, self.steering), self.task.shapes, chosen)

    def dispatch(self, budget: Budget | None = None, **values: Sequence[int]) -> Dispatch:
        """One callable for a range of values of a symbol, such as the batch: `sess.dispatch(b=(1, 4, 16))`.

        A proof holds for every value, so only the sizes are tuned again, at each of these values. There the fastest
        kernel is compared with torch eager, if it is a baseline of the session, and with the session's library call.

        Args:
            budget: of tuning at each value; the session's if left out.
            values: the symbol and the values to tune at; the smallest and the largest are the range.

        Returns:
            The callable.

        Raises:
            ShapeError: not one symbol of the program, no values, or no kernel could be timed at one of them.
            TargetUnavailable: kernels cannot be timed on the target.
        """
        one_symbol(self.program, values)
        if self.state not in ("finished", "cancelled"):
            self.run()
        return dispatch_over(values, budget, self.task, self.journal, self._progress, self.steering)

    @property
    def chosen(self) -> Verified | None:
        """The candidate of the fastest kernel; where none was timed, the first proved one that may win."""
        return chosen_candidate(self._progress, self.steering)

    def save(self, path: str | Path) -> Path:
        """Write the search to a file: `px.load` shows it anywhere, and `Session.load` continues it.

        The file is data. It can be written at any time; an unfinished step is run again when the search continues.

        Args:
            path: the file; an existing one is replaced.

        Returns:
            The path of the file.
        """
        return super().save(path)

    def _manifest_to_save(self) -> Mapping[str, Any]:
        return manifest_of(self.task)

    @property
    def autosave(self) -> Path | None:
        """The file to which the search is saved while it runs; None if it is not, or has no new event yet.

        In a notebook this is on, elsewhere off. Assign a path to save there, None to let a path be chosen, or False to
        stop. A chosen path has the program and the date in its name. It is in the folder of the notebook, or in that of
        the user's state if that cannot be written; the last five per program are kept, and the largest of the older
        ones. An existing file is never changed: a number is added to the name. After the process was killed, the file
        has all events but those of the last second; `px.load` shows it, and `Session.load` continues it.

        Raises:
            ShapeError: what is assigned is neither a path nor None nor False, or its folder does not exist.
        """
        return self._autosave.path if self._autosave is not None else None

    @autosave.setter
    def autosave(self, path: str | Path | Literal[False] | None) -> None:
        checked = checked_path(path)
        if self._autosave is not None:
            self._autosave.stop()
        self._autosave = None
        if checked is not False:
            self._save_from(checked, 0)

    def _save_from(self, path: Path | None, known: int) -> None:
        """Save from now on; `known` events are in another file already."""
        if path is None and not isinstance(self.journal, ReplayedJournal) and not len(self.journal):
            self.interrupted = find_interrupted(self.task)
        self._autosave = Autosave(self.journal, partial(manifest_of, self.task), self.program.name, path, known)
        weakref.finalize(self, self._autosave.stop)

    # ------------------------------------------------------------ the explorer

    def select(self, subject: str) -> None:
        """Select something in every panel.

        Args:
            subject: an id such as f2, f2.c1, p17 or n40.
        """
        self.selection = subject
        self._notify("select", subject)

    def view(
        self,
        panel: str = "",
        mode: str | None = None,
        *,
        root: str | None = None,
        cursor: int | None = None,
        kernel: str | None = None,
        program: bool | None = None,
        tab: str | None = None,
        filter: Mapping[str, Any] | None = None,
        find: str | None = None,
        sizes: Mapping[str, int] | None = None,
        brush: Mapping[str, tuple[float, float]] | None = None,
        families: Sequence[str] | None = None,
    ) -> None:
        """Set what the explorer shows; the search is not changed. A click that does the same is logged as this call.

        Args:
            panel: the panel to show: `map`, `graph`, `inspector`, `families`, `sizes`, `eclasses`, `tuning`,
                `ledger`, `questions`, `code`, `compare` or `bookmarks`.
            mode: its mode: of the map `icicle`, `tree`, `reasons`, `time` or `similar`; of tuning `curve`, `parallel`,
                `roofline` or `importance`.
            root: the node that the map is zoomed into; "" for the full map.
            cursor: the number of events that are shown, for an earlier state; 0 for now.
            kernel: the custom kernel that the sGraph shows alone, such as f2.c1/k3; "" for the full graph.
            program: whether the program is shown in place of the candidate.
            tab: one more panel to show, such as a tab of the dock next to the map.
            filter: the conditions of the filter: `status` and `reason`, each a text or several, `operator`, and
                `events`, a pair; {} shows everything.
            find: the text to find; the first match is shown.
            sizes: positions of the size sliders, by symbol; {} puts them back.
            brush: per tuning parameter the interval of trials to show, as a pair; {} shows all.
            families: ids of families to compare side by side; [] for none.

        Raises:
            ShapeError: no such panel or mode, or a wrong value; the message names the allowed ones.

        Example:
            >>> import prism_explore as px
            >>> program = px.parse_program('''program twice
            ...   x = input f32[b, 8]
            ...   %1 = add(x, x)
            ...   return %1''')
            >>> with px.Session(program, target="h100", at={"b": 4}) as sess:
            ...     sess.view("map", mode="tree", tab="families", filter={"status": "pruned"})
            ...     sess.view("map", mode="bush")
            Traceback (most recent call last):
                ...
            prism_explore.errors.ShapeError: no mode 'bush' of map; there are icicle, tree, reasons, time, similar
        """
        given = {"root": root, "cursor": cursor, "kernel": kernel, "program": program, "filter": filter, "tab": tab}
        given |= {"find": find, "sizes": sizes, "brush": brush, "families": families}
        self.widget.look(panel, mode, given)

    def on(self, what: Literal["select", "state", "fork"], fn: Callable[[Any], None]) -> Callable[[], None]:
        """Call a function whenever the selection or the state changes, or the search is forked.

        Args:
            what: `select`, `state` or `fork`.
            fn: called with the new selection or state, or with the fork, on the thread that changed it.

        Returns:
            A function that ends this.

        Raises:
            ShapeError: `what` is none of them.
        """
        if what not in ("select", "state", "fork"):
            raise ShapeError(f"there is no event {what!r} to listen to; there are 'select', 'state' and 'fork'")
        return self._listeners.add(what, fn)

    def submit(self, command: str, **args: Any) -> None:
        """Run a command of the explorer without waiting for its result; see `session.commands`.

        Args:
            command: the name of the command.
            args: its arguments.

        Raises:
            ShapeError: no such command, or it is not possible now.
        """
        run_command(self, command, args)

    def withdraw(self, question: str = "") -> None:
        """Cancel a question, or all open ones.

        Args:
            question: such as q2; empty for all.
        """
        self.questions.cancel(question)

    @property
    def widget(self) -> Any:
        """The explorer of this session; every display of it shows the same state.

        ipywidgets keeps each widget, and with it the search in memory, until `sess.widget.close()`. The explorer that a
        cell shows is closed when the cell has run again and shows another one. After that, this is a new explorer.
        """
        if self._widget is None or self._widget.is_closed:
            self._widget = super().widget
        return self._widget

    def session_to_show(self) -> Session:
        """This session: the explorer reads and commands it.

        Returns:
            The session itself.
        """
        return self

    def _is_timing(self) -> bool:
        last = self.journal.since(len(self.journal) - 1) if self.state == "running" and len(self.journal) else ()
        return any(phase_of(e.event) == "tune" for e in last)

    def _notify(self, what: str, value: Any) -> None:
        self._listeners.call(what, value)

    def _state_changed(self) -> None:
        if self.state == "cancelled":
            self._end_cancelled()
        if self.state == "finished" and self._cache is not None and self._found is None:
            self._cache.store(self.task, self.journal, answer_of(self.journal, self._progress, self.steering))
        if self._autosave is not None and self.state != "running":
            self._autosave.flush(sync=True)
        self._notify("state", self.state)

    def _end_cancelled(self) -> None:
        """Append the end of a search that was cancelled, unless it has one or is being replayed."""
        events = self.journal.events
        if isinstance(self.journal, CachedJournal):
            self.journal.cut()
        is_replaying = isinstance(self.journal, ReplayedJournal) and not self.journal.is_replayed
        ended = not events or isinstance(events[-1], ExplorationFinished)
        if not ended and not is_replaying:
            self.journal.append(ExplorationFinished("cancelled", claim(events, "cancelled")))

    def __repr__(self) -> str:
        at = ", ".join(f"{k}={v}" for k, v in self.task.shapes.items())
        where = f" at {at}" if at else ""
        head = f"<search of {self.program.name} on {self.task.target.name}{where}: {self.state}>{self._lineage_text}"
        return f"{head}\n{self.claim}" if len(self.journal) else f"{head}\n{show(self.program)}"


def _never() -> bool:
    return False
