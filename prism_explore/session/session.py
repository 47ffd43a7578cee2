"""One interactive search: run, step, steer and query it, and get its best kernel.

Every click in the explorer is a method here. Everything shown is computed from the event journal. The search runs on
the engine's thread; a method that waits can be interrupted without loss.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from prism_explore.diagnose.audit import Audit, audit
from prism_explore.diagnose.audit_sample import Sample, audit_sample
from prism_explore.diagnose.evidence import Evidence
from prism_explore.diagnose.jobs import Questions
from prism_explore.diagnose.what_if import WhatIf, what_if
from prism_explore.errors import JournalVersionError, ShapeError
from prism_explore.events.claim import claim
from prism_explore.events.journal import Journal, read_manifest
from prism_explore.events.kinds import (
    Event,
    ExplorationFinished,
)
from prism_explore.events.ledger import Steering
from prism_explore.events.near_misses import Miss
from prism_explore.events.phases import phase_of
from prism_explore.events.replay_journal import Retold
from prism_explore.frontend import Traced, declare_symbols, trace
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.text import show
from prism_explore.ir.to_networkx import to_networkx
from prism_explore.pipeline.search_space import LIMITS, Space
from prism_explore.pipeline.stages import Verified
from prism_explore.runtime.best import Best
from prism_explore.runtime.dispatch import Dispatch
from prism_explore.runtime.no_improvement import NoImprovement
from prism_explore.search.explore import Progress, Task
from prism_explore.session.commands import run_command
from prism_explore.session.constraints import ranges_from_text
from prism_explore.session.engine import Engine, Job, State, wait
from prism_explore.session.families import Families, FamilyHandle
from prism_explore.session.new_task import Dominated, check_dominated, new_task
from prism_explore.session.options import (
    baseline_names,
    check_options,
    check_turns,
    library_of,
    machine_of,
    one_symbol,
)
from prism_explore.session.persistence import check_library, library_raced, read_search, task_to_plain
from prism_explore.session.pruned import Pruned
from prism_explore.session.record import Record
from prism_explore.session.results import best_of, chosen_candidate, dispatch_over
from prism_explore.session.steering import SteeringLog
from prism_explore.session.stepping import Grain, after_steps, is_cancellation, search_steps
from prism_explore.session.tuning_table import Tuning
from prism_explore.support.caches import lease_for
from prism_explore.targets import Target
from prism_explore.tune import Budget
from prism_explore.tune.runner.baseline_table import DEFAULT_BASELINES
from prism_explore.verify.normal_form.equalities import Equalities
from prism_explore.verify.replay import Replay

if TYPE_CHECKING:
    from networkx import MultiDiGraph


class Session:
    """One search over one program.

    Args:
        code: a torch function or module, or a TensorProgram.
        target: the machine, by name or as a Target.
        at: values of the program's symbols, at which kernels are tuned; 8 by default.
        seed: the same seed and the same steering give the same events.
        budget: of tuning.
        space: the search space; `default_space(program)` by default.
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
        inputs: per argument `T(...)` or an example tensor; for arguments with names like those above.
        more_inputs: the same, as keywords.

    Raises:
        UnsupportedOperator: the code uses an operator that is not supported.
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
        code: Callable[..., Any] | TensorProgram,
        *,
        target: str | Target = "cpu",
        at: Mapping[str, int] | None = None,
        seed: int = 0,
        budget: Budget | None = None,
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
        inputs: Mapping[str, Any] | None = None,
        **more_inputs: Any,
    ) -> None:
        check_options(
            target=target,
            at=at,
            seed=seed,
            budget=budget,
            space=space,
            name=name,
            database=database,
            ranges=ranges,
            executor=executor,
            inputs=inputs,
        )
        check_turns(executor, budget)
        baseline_names(baselines)
        check_dominated(dominated)
        traced: Traced | None = None
        if isinstance(code, TensorProgram):
            program = code
        else:
            traced = trace(code, {**(inputs or {}), **more_inputs}, name)
            program = traced.program
        task = new_task(
            program,
            traced,
            target=target,
            at=at or {},
            seed=seed,
            budget=budget,
            space=space,
            baselines=baselines,
            allow_unsafe=allow_unsafe,
            database=database,
            ranges=ranges if isinstance(ranges, Mapping) else ranges_from_text(ranges or ()),
            time_to_beat_s=time_to_beat_s,
            library=library,
            dominated=dominated,
            executor=executor,
        )
        self._begin(task, Journal())

    def _begin(self, task: Task, journal: Journal) -> None:
        self._lease = lease_for(self)
        self.task, self.program, self.traced = task, task.program, task.reference
        self.journal = journal
        self.record = Record(self.journal)
        self.selection: str | None = None
        self._progress = Progress()
        self._listeners: dict[str, list[Callable[[Any], None]]] = {}
        self._engine = Engine(self._steps, self._state_changed)
        self._steering = SteeringLog(
            journal,
            lambda: self.families,
            lambda: [f.id for f in tuple(self._progress.families)],
            self._engine.reopen,
        )
        self.questions = Questions(lambda: self._tell("state", self.state), self._is_timing)
        """The questions that are answered in the background, by id; prints the answers."""
        self._widget: Any = None

    @classmethod
    def from_module(
        cls, module: Any, *examples: Any, symbolic: Mapping[str, Mapping[int, str]] | None = None, **options: Any
    ) -> Session:
        """A search over a torch module as it is called on examples.

        Args:
            module: the module, or a function of tensors.
            examples: tensors by position; their sizes are those that kernels are tuned at.
            symbolic: per argument, the dims that stay symbolic and their symbols: `{"x": {0: "b"}}`.
            options: as of `Session`, by name.

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
        code: Callable[..., Any] | None = None,
        *,
        library: Callable[..., Any] | None = None,
        inputs: Mapping[str, Any] | None = None,
        **more_inputs: Any,
    ) -> Session:
        """A saved search, at the step at which it was saved; it can be continued.

        Enumeration and instantiation are repeated and compared with the file event by event. Verdicts, assessments
        and times are taken from the file. Steering is restored, except for predicates of `prefer`, which are code:
        the families that they picked stay preferred.

        Args:
            path: what `save` wrote.
            code: the torch code, as it was given to the first session, for its arguments by name and for the race
                against it; without it `best` takes the program's inputs in order, and nothing is raced.
            library: the library call that was the first session's `library`: code, which is not saved. Without it a
                race that is still to come is held without it, and `best` cannot call it where it won. One that was
                found is found again.
            inputs: types of its arguments, as for a new session.
            more_inputs: the same, as keywords.

        Returns:
            The session at the step at which it was saved.

        Raises:
            JournalVersionError: no saved search, by another version, or the search does not repeat what it says.
            ShapeError: the code computes another program, or `library` another value; or `library` is given without
                the code, or to a search whose rivals were timed without one.
        """
        traced = None
        if code is not None:
            name = str(read_manifest(path).get("program", "")) or None
            traced = trace(code, {**(inputs or {}), **more_inputs}, name)
        task, saved = read_search(path, traced)
        also = library_of(library, traced, task.baselines, task.program.name, library_raced(saved.events))
        if also.given is not None:
            check_library(path, task, also.given.traced, saved.events)
        task, journal = replace(task, also=also), Retold(saved.entries)
        sess = cls.__new__(cls)
        sess._begin(task, journal)
        sess._retell(journal)
        return sess

    def _retell(self, journal: Retold) -> None:
        """Repeat the search up to where it was saved; events after a finished search are steering."""
        while not journal.is_told:
            if is_cancellation(journal.upcoming):
                journal.tell()
                self._engine.cancel()
                return
            before = len(journal)
            wait(self._engine.pull(lambda: journal.is_told or is_cancellation(journal.upcoming)))
            self._steering.put_into_force()
            if self.state == "finished" and not journal.is_told:
                self._engine.reopen()
                if len(journal) == before:
                    raise JournalVersionError(f"the saved search went on behind its end, with {journal.upcoming}")

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
        """Let the search do some steps without waiting for it; see `step`.

        Args:
            n: how many.
            grain: of what: events, decided candidates, completed families, or phases of the search.

        Returns:
            A future that is done when the search pauses.
        """
        return self._engine.pull(after_steps(self.journal, n, grain))

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
        self._await(self._engine.pull((lambda: until(self)) if until else _never))

    def start(self) -> Job:
        """Search in the background; the job can be awaited, paused, resumed and cancelled.

        Returns:
            The job.
        """
        return Job(self._engine, self._engine.pull(_never), lambda: self._engine.pull(_never))

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
        return search_steps(self.task, self.journal, self._steering, self._progress, lambda: self._engine.is_cancelled)

    def _await(self, done: Future[None]) -> None:
        try:
            wait(done)
        except KeyboardInterrupt:
            self._engine.pause()
            wait(done)
            print("paused; sess.run() goes on, sess.cancel() ends the search")  # noqa: T201 - for the person waiting

    # ------------------------------------------------------------ steering
    @property
    def steering(self) -> Steering:
        """The decisions that are not undone."""
        return self._steering.standing

    def accept(self, family: str, note: str = "") -> None:
        """Accept a family: it is tuned before the others, also if it is unsafe in floating point.

        Args:
            family: the id of a family, such as f2.
            note: a reason, stored with the decision.

        Raises:
            ShapeError: no such family.
        """
        self._steering.decide("accept", family, note)

    def reject(self, family: str, note: str = "") -> None:
        """Reject a family: it is neither verified nor tuned further, and `best` ignores it. `undo` reverts this.

        Args:
            family: the id of a family, such as f2.
            note: a reason, stored with the decision.

        Raises:
            ShapeError: no such family.
        """
        self._steering.decide("reject", family, note)

    def prefer(self, which: str | Callable[[FamilyHandle], object]) -> None:
        """Prefer families: they are tuned before the others, but after accepted ones.

        Args:
            which: the name of a family; or a text such as `accum_rms`, for every family, also a later one, whose
                graph has it; or a predicate of a family, asked of each one that there is and of each one to come.
                A predicate is code and does not go into the journal: the families that it picks do.

        Raises:
            ShapeError: `which` is neither a text nor a function.
        """
        self._steering.prefer(which)

    def undo(self) -> None:
        """Undo the last steering decision, if there is one."""
        self._steering.undo()

    def redo(self) -> None:
        """Redo the steering decision that was undone last, if there is one."""
        self._steering.redo()

    # ------------------------------------------------------------ what was found

    @property
    def families(self) -> Families:
        """All families by id."""
        return self.record.families

    @property
    def pruned(self) -> Pruned:
        """All pruned regions by id."""
        return Pruned(self.record, self.audit)

    @property
    def tuning(self) -> Tuning:
        """All trials so far, as data: `sess.tuning.fastest[:3]`, `sess.tuning.data`."""
        return self.record.tuning

    @property
    def misses(self) -> tuple[Miss, ...]:
        """The partial results that came nearest, and the restriction that stopped each; empty if a family is proved."""
        return self.record.misses

    @overload
    def audit(self, subject: str, **how: Any) -> Audit: ...

    @overload
    def audit(self, *, sample: int, seed: int = 0, **how: Any) -> Sample: ...

    def audit(self, subject: str = "", *, sample: int = 0, seed: int = 0, **how: Any) -> Audit | Sample:
        """Search a pruned region, or a rejected family, with its rule off. This search is not changed.

        Args:
            subject: such as p17 or f2.
            sample: instead of a subject, how many regions of each rule; they are drawn by `seed`.
            seed: of the draw.
            how: the budgets `nodes` and `candidates`, `steps` of the region, more `rules_off`; see `audit.audit`.

        Returns:
            What the search of the region found; with `sample`, one result per region.

        Raises:
            ShapeError: no such region, or a budget that is none.
        """
        if not subject:
            return audit_sample(self.task, self.journal.events, sample, seed, **how)
        return audit(self.task, self.journal.events, subject, **how)

    @property
    def claim(self) -> str:
        """One sentence that says what was shown and what was not."""
        return self.record.claim

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
        """What another target, another space or disabled rules would reopen. This search is not changed.

        Args:
            target: another machine.
            space: other operators and limits.
            rules_off: names of pruning rules.
            run: whether to search there too, up to proofs, and compare the families.
            tick: called at every step; what it raises ends the question.
            limits: single limits of the space by name, such as `block_ops=13`, and `shared_memory_bytes`.

        Returns:
            The regions that would open or close, and with `run` the families there.

        Raises:
            ShapeError: no such rule or limit.
            TargetUnavailable: no such machine.
        """
        machine = self.task.target if target in (None, self.task.target.name) else machine_of(target)
        if (memory := limits.pop("shared_memory_bytes", None)) is not None:
            machine = machine.replace(shared_memory_bytes=memory)
        other = space or self.task.space
        if unknown := sorted(set(limits) - set(LIMITS)):
            raise ShapeError(f"no limit {', '.join(unknown)}; there are {', '.join((*LIMITS, 'shared_memory_bytes'))}")
        other = replace(other, **limits)
        facts = self.journal.events
        return what_if(self.task, facts, target=machine, space=other, rules_off=rules_off, run=run, tick=tick)

    def evidence(self, candidate: str) -> Evidence:
        """The evidence of a verdict: proof and trials, a counterexample, or how far both sides agree.

        Args:
            candidate: the id of a candidate, such as f2.c1.

        Returns:
            The evidence; `str` gives it as text.

        Raises:
            ShapeError: no such candidate, or it has not been decided.
        """
        return self.record.evidence(candidate)

    def certify(self, candidate: str, tick: Callable[[], None] = lambda: None) -> Evidence:
        """Have egglog replay every lemma of a candidate's proof; see `Record.certify`.

        Args:
            candidate: the id of a candidate, such as f2.c1.
            tick: called at every step; an exception from it ends the replay.

        Returns:
            The evidence, with the certificate.

        Raises:
            ShapeError: no such candidate, or it is not proved.
        """
        return self.record.certify(candidate, tick)

    def replay(self, candidate: str) -> Replay:
        """Run the counterexample against a candidate again; see `Record.replay`.

        Args:
            candidate: the id of a candidate, such as f2.c1.

        Returns:
            Whether program and candidate still differ.

        Raises:
            ShapeError: no such candidate, or nothing stands against it.
        """
        return self.record.replay(candidate)

    def equalities(self, candidate: str) -> Equalities:
        """What is equal to what in a candidate and the program, whatever its verdict; e-graphs step by step.

        Args:
            candidate: the id of a candidate, such as f2.c1.

        Returns:
            The classes of equal tensors.

        Raises:
            ShapeError: no such candidate.
        """
        return self.record.equalities(candidate)

    def text(self, table: str) -> str:
        """A table as text.

        Args:
            table: `families`, `pruned`, `ledger`, `classes`, `trials` or `baselines`.

        Returns:
            The table.

        Raises:
            ShapeError: no such table.
        """
        return self.record.text(table)

    def svg(self, picture: str = "search") -> str:
        """A picture as SVG.

        Args:
            picture: `search`, `reasons`, `program`, `classes`, `saturation`, `tuning`, the id of a family or candidate,
                or a frame of an e-graph such as f1.c1/goal@0.

        Returns:
            The SVG source.

        Raises:
            ShapeError: no such picture.
        """
        return self.record.svg(picture)

    def graph(self, of: str = "") -> MultiDiGraph[str]:
        """A graph as a `networkx.MultiDiGraph`; its attributes are listed in `ir.to_networkx`.

        Args:
            of: the id of a family or a candidate, such as "f2" or "f2.c1"; the program if left out.

        Returns:
            The graph.

        Raises:
            ShapeError: no such family or candidate.
        """
        return to_networkx(self.record.graph(of) if of else self.program.graph)

    def best(self) -> Best | NoImprovement | None:
        """What is called in place of the code, with its evidence; searches to the end first where that is left to do.

        That is the fastest checked kernel, or torch where that was faster beside it; printing it says which. Its time,
        the baselines' and the machine's limit were measured side by side in one run. Where all that may win was cut
        because of `time_to_beat_s`, a `NoImprovement`, which says so and runs torch. None where no kernel was timed for
        another reason; `claim` says how far the search came.

        Returns:
            The kernel, a `NoImprovement`, or None.
        """
        if self.state not in ("finished", "cancelled"):
            self.run()
        return best_of(self.task, self.journal, self._progress, self.steering)

    def dispatch(self, budget: Budget | None = None, **values: Sequence[int]) -> Dispatch:
        """One callable for a range of values of a symbol, such as the batch: `sess.dispatch(b=(1, 4, 16))`.

        What is proved holds for every value; only numbers are chosen anew at each of these, and the fastest kernel is
        raced there against torch eager, if that is among the session's baselines, and against its library call.

        Args:
            budget: of tuning at each value; the session's if left out.
            values: the symbol and the values to tune at; the smallest and the largest are the range.

        Returns:
            The callable.

        Raises:
            ShapeError: not one symbol of the program, no values, or nothing that can be timed at one of them.
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

    # ------------------------------------------------------------ looking, keeping

    def select(self, subject: str) -> None:
        """Select something in every panel.

        Args:
            subject: an id such as f2, f2.c1, p17 or n40.
        """
        self.selection = subject
        self._tell("select", subject)

    def on(self, what: Literal["select", "state"], fn: Callable[[Any], None]) -> None:
        """Call a function whenever the selection or the state changes.

        Args:
            what: `select` or `state`.
            fn: called with the new selection or state, on the thread that changed it.

        Raises:
            ShapeError: `what` is neither.
        """
        if what not in ("select", "state"):
            raise ShapeError(f"nothing is told of {what!r}; 'select' and 'state' are")
        self._listeners.setdefault(what, []).append(fn)

    def submit(self, command: str, **args: Any) -> None:
        """Run a command of a widget without waiting for its result; see `session.commands`.

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

    def _is_timing(self) -> bool:
        last = self.journal.since(len(self.journal) - 1) if self.state == "running" and len(self.journal) else ()
        return any(phase_of(e.event) == "tune" for e in last)

    def save(self, path: str | Path) -> Path:
        """Write the search to a file: `px.load` shows it anywhere, and `Session.load` goes on with it.

        The file is data. It may be written at any moment; a step in hand is done again when the search goes on.

        Args:
            path: the file; an existing one is replaced.

        Returns:
            The path of the file.
        """
        manifest = {"program": self.program.name, "versions": dict(self.task.versions)}
        return self.journal.save(path, {**manifest, "task": task_to_plain(self.task)})

    def report(self, path: str | Path) -> Path:
        """Write the explorer as one HTML file that opens anywhere: to look at and to share, not to steer.

        Args:
            path: the file; an existing one is replaced.

        Returns:
            The path of the file.
        """
        from prism_explore.widgets.report import report_page

        Path(path).write_text(report_page(self), encoding="utf-8")
        return Path(path)

    def _tell(self, what: str, value: Any) -> None:
        for fn in tuple(self._listeners.get(what, ())):
            fn(value)

    def _state_changed(self) -> None:
        events = self.journal.events
        if self.state == "cancelled" and events and not isinstance(events[-1], ExplorationFinished):
            self.journal.note(ExplorationFinished("cancelled", claim(events, "cancelled")))
        self._tell("state", self.state)

    @property
    def widget(self) -> Any:
        """The explorer following this session; one per session, shown as often as wanted."""
        if self._widget is None:
            from prism_explore.widgets.explorer import Explorer

            self._widget = Explorer(self)
        return self._widget

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        return self.widget._repr_mimebundle_(**kwargs)

    def __repr__(self) -> str:
        at = ", ".join(f"{k}={v}" for k, v in self.task.shapes.items())
        where = f" at {at}" if at else ""
        head = f"<search of {self.program.name} on {self.task.target.name}{where}: {self.state}>"
        return f"{head}\n{self.claim}" if len(self.journal) else f"{head}\n{show(self.program)}"


def _never() -> bool:
    return False


def open_record(path: str | Path) -> Record:
    """The search that was saved, to look at; `Session.load` goes on with it.

    Args:
        path: what `Session.save` wrote.

    Returns:
        The search as it was recorded.

    Raises:
        JournalVersionError: not a saved search, damaged, or of a version this code does not read.

    Example:
        >>> import tempfile
        >>> import prism_explore as px
        >>> program = px.parse_program('''program twice
        ...   x = input f32[b, 8]
        ...   %1 = add(x, x)
        ...   return %1''')
        >>> with tempfile.TemporaryDirectory() as folder, px.Session(program, target="h100", at={"b": 4}) as sess:
        ...     sess.run()
        ...     record = px.load(sess.save(f"{folder}/twice.prism"))
        >>> list(record.families)
        ['f1']
    """
    record = Record(Journal.load(path))
    lease_for(record)
    return record
