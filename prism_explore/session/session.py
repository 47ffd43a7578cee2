"""A search in a notebook: stepped, steered, watched, and asked for its result.

Everything a click does is a method here, and everything shown is a fold over `journal`. Work runs on the
engine's own thread; methods that wait can be interrupted and lose nothing.
"""

from __future__ import annotations

import platform
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, TypeAlias, assert_never, get_args, overload

from prism_explore.codegen.load import load
from prism_explore.diagnose.audit import Audit, audit
from prism_explore.diagnose.audit_sample import Sample, audit_sample
from prism_explore.diagnose.evidence import Evidence
from prism_explore.diagnose.jobs import Asked, Questions
from prism_explore.diagnose.what_if import WhatIf, what_if
from prism_explore.errors import JournalVersionError, ShapeError
from prism_explore.events.claim import claim
from prism_explore.events.fastest import EAGER
from prism_explore.events.journal import Journal, read_manifest
from prism_explore.events.kinds import (
    BaselineMeasured,
    Event,
    ExplorationFinished,
    FamilyCompleted,
    Steered,
    VerdictReached,
)
from prism_explore.events.ledger import Steering, ledger
from prism_explore.events.near_misses import Miss
from prism_explore.events.phases import phase_of
from prism_explore.events.replay_journal import Retold
from prism_explore.floats import Assessment, Assessor
from prism_explore.frontend import Traced, data_sizes, declared, trace
from prism_explore.generate.abstract_expr.size_estimate import beyond
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.symbol_ranges import ranges_of
from prism_explore.ir.text import show
from prism_explore.pipeline.search_space import LIMITS, Space, default_space
from prism_explore.pipeline.stages import Timed, Verified
from prism_explore.runtime.best import Best
from prism_explore.runtime.dispatch import Dispatch
from prism_explore.runtime.no_improvement import NoImprovement
from prism_explore.search.explore import Progress, Task, explore, incumbent, may_win
from prism_explore.session.engine import Engine, Enough, Job, State, wait
from prism_explore.session.handles import Families, FamilyHandle, Pruned, Record, Tuning
from prism_explore.session.options import (
    baseline_names,
    check_options,
    check_turns,
    database_at,
    library_of,
    machine_of,
    one_symbol,
    time_to_beat,
)
from prism_explore.session.persistence import check_library, library_raced, proved_again, read_search, task_to_plain
from prism_explore.support.caches import lease_for
from prism_explore.targets import Target
from prism_explore.tune import Budget, tune
from prism_explore.tune.runner.baselines import USUAL, compare
from prism_explore.verify.normal_form.equalities import Equalities
from prism_explore.verify.prover import Replay

Dominated: TypeAlias = Literal["later", "left out"]
Grain: TypeAlias = Literal["event", "candidate", "family", "phase"]

TUNED_AT = 8
"""The number that a symbol stands for while tuning, where the caller names none."""

_PACKAGES = ("prism-explore", "torch", "triton", "egglog", "llvmlite", "numpy")


class Session:
    """One search over one program.

    Args:
        code: a torch function or module, or a TensorProgram.
        target: the machine, by name or as a Target.
        at: numbers for the program's symbols, at which kernels are tuned; 8 where none is given.
        seed: same seed and same steering give the same stream of facts.
        budget: how far tuning goes.
        space: what is searched; `default_space` otherwise.
        name: what to call the program.
        baselines: what the kernel is raced against, names out of `tune.baselines.MODES`; `best` runs torch eager,
            torch.compile or `library` where that was faster.
        allow_unsafe: whether a family that is unsafe in floating point, though equal over the reals, may win.
        database: a file in which trials are remembered, so that no later search times them again.
        ranges: least and largest value of symbols, such as {"b": (1, 64)}: `best` says at which of them it holds and
            refuses to be called at others.
        time_to_beat_s: a time to beat, such as an earlier search's, or "baselines": that of the fastest of `baselines`
            and `library`, measured before the enumeration. What cannot be faster, by its lower bound, is pruned.
        library: one more rival: a torch function of the same arguments and value, such as a library call. Where none
            is given and `baselines` names the "torch library call", one that is proved equal is looked for.
        dominated: whether families that cost no less than another in the cost model come behind it or are left out.
        executor: a `concurrent.futures.Executor`, such as a Dask client's, whose workers settle families while
            this process grows more; the facts are the same with any. It pays where there are many candidates. With
            `Budget(at_once=8)` they also compile, compare and race eight trials beside one another, if they are on
            machines like this one; on one machine they take turns at the stop-watch. Trials go one at a time, here,
            without that. It is not shut down.
        inputs: per argument `T(...)` or an example tensor; for arguments with names like those above.
        more_inputs: the same, as keywords.

    Raises:
        UnsupportedOperator: the code uses an operator that is not supported.
        ShapeError: arguments, dims or `at` do not fit.
        TargetUnavailable: no such machine, or one where an executor's workers cannot take turns at timing.
        JournalVersionError: the database is damaged, or of a later version.
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
        baselines: Sequence[str] = USUAL,
        allow_unsafe: bool = False,
        database: str | Path | None = None,
        ranges: Mapping[str, tuple[int, int]] | None = None,
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
        raced = baseline_names(baselines)
        if dominated not in get_args(Dominated):
            raise ShapeError(f"dominated= is one of {', '.join(map(repr, get_args(Dominated)))}; found {dominated!r}")
        traced: Traced | None = None
        if isinstance(code, TensorProgram):
            program = code
        else:
            traced = trace(code, {**(inputs or {}), **more_inputs}, name)
            program = traced.program
        if reason := beyond(program):
            raise ShapeError(reason)
        symbols = program.graph.data_symbols
        bounds = ranges_of(ranges or {}, symbols, program.name)
        usual = {**dict.fromkeys(symbols, TUNED_AT), **{s: min(max(TUNED_AT, low), n) for s, low, n in bounds.bounds}}
        shapes = data_sizes(program, {**usual, **(at or {})})
        also = library_of(library, traced, raced, program.name)
        bounds.check(shapes, f"at={dict(at or {})}")
        machine = machine_of(target)
        task = Task(
            program=program,
            space=space or default_space(program),
            target=machine,
            shapes=shapes,
            seed=seed,
            budget=budget or Budget(),
            reference=traced,
            baselines=raced,
            versions=_versions(),
            allow_unsafe=allow_unsafe,
            ranges=bounds,
            executor=executor,
            database=None if database is None else database_at(database),
            time_to_beat_s=time_to_beat(time_to_beat_s, traced, machine, raced, also),
            also=also,
            dominated=dominated,
        )
        self._begin(task, Journal())

    def _begin(self, task: Task, journal: Journal) -> None:
        self._lease = lease_for(self)
        self.task, self.program, self.traced = task, task.program, task.reference
        self.journal = journal
        self.record = Record(self.journal)
        self.steering = Steering()
        """What was decided by hand and still stands."""
        self._in_force = self.steering
        self._steered = threading.RLock()
        self._in_step = False
        self._late: list[Steered] = []
        """Decided while a step was in hand."""
        self._predicates: list[tuple[Callable[[FamilyHandle], object], str]] = []
        self._asked: set[tuple[int, str]] = set()
        self.selection: str | None = None
        self._progress = Progress()
        self._listeners: dict[str, list[Callable[[Any], None]]] = {}
        self._engine = Engine(self._open, self._state_changed)
        self.questions = Questions(lambda: self._tell("state", self.state), self._is_timing)
        """What was asked with a click and is answered beside the search, by id; prints its answers."""
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

        Raises:
            ShapeError: more examples than arguments, no such argument or dim, or one symbol for two sizes.
            UnsupportedOperator: see `Session`.
        """
        inputs, at = declared(module, examples, symbolic or {})
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
        """A saved search, in this process, at the step where it was saved; it goes on as if nothing had been.

        Growing and choosing maps are done again and compared with the file fact by fact; verdicts, assessments and
        times are taken from it. The steering in it stands again, but for predicates of `prefer`, which are code:
        the families that they had picked stay preferred.

        Args:
            path: what `save` wrote.
            code: the torch code, as it was given to the first session, for its arguments by name and for the race
                against it; without it `best` takes the program's inputs in order, and nothing is raced.
            library: the library call that was the first session's `library`: code, which is not saved. Without it a
                race that is still to come is held without it, and `best` cannot call it where it won. One that was
                found is found again.
            inputs: types of its arguments, as for a new session.
            more_inputs: the same, as keywords.

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
        """Let the search come again to where it was saved; what follows a finished search was steering."""
        while not journal.is_told:
            if _is_cancelled(journal.upcoming):
                journal.tell()
                self._engine.cancel()
                return
            before = len(journal)
            wait(self._engine.pull(lambda: journal.is_told or _is_cancelled(journal.upcoming)))
            self._take_steering()
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
        """What the engine raised, where it failed; empty otherwise."""
        error = self._engine.failure
        return "" if error is None else f"{type(error).__name__}: {error}"

    def step(self, n: int = 1, grain: Grain = "event") -> list[Event]:
        """Let the search do a little and wait for it; what happened.

        Args:
            n: how many.
            grain: of what: events, decided candidates, completed families, or phases of the search.
        """
        before = len(self.journal)
        self._await(self._engine.pull(self._after(n, grain)))
        return [e.event for e in self.journal.since(before)]

    def run(self, until: Callable[[Session], bool] | None = None) -> None:
        """Search to the end, or until a condition holds; an interrupt pauses, and `run()` goes on."""
        if until is not None and not callable(until):
            raise ShapeError(
                f"until= takes a function of the session, such as lambda s: len(s.families) > 2; found {until!r}"
            )
        self._await(self._engine.pull((lambda: until(self)) if until else _never))

    def start(self) -> Job:
        """Search behind the notebook; the job can be awaited, paused, resumed and cancelled."""
        return Job(self._engine, self._engine.pull(_never), lambda: self._engine.pull(_never))

    def pause(self) -> None:
        """Stop after the step in hand; everything is kept."""
        self._engine.pause()

    def resume(self) -> Job:
        """Go on behind the notebook."""
        return self.start()

    def cancel(self) -> None:
        """End the search for good; what was found is kept."""
        self._engine.cancel()

    def close(self) -> None:
        """Cancel the search, end its processes and free the memory of its caches.

        The session can still be read, and has its `best`. A second call does nothing. A step in hand ends first, on
        the engine's thread. `with px.Session(...) as sess:` closes at the end of the block.
        """
        self.questions.cancel()
        self._engine.close(self._lease.end)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self) -> Iterator[None]:
        """The search, step by step; steering is noted and comes into force between two, so that it can be repeated."""
        search = self._explored()
        while True:
            with self._steered:
                self._take_steering()
                self._in_step = True
            try:
                ended = next(search, self) is self
            finally:
                with self._steered:
                    self._in_step = False
                    late = self._late
                    self._late = []
                    for fact in late:
                        self.journal.note(fact)
            self._ask_predicates()
            if ended and not late:
                return
            if ended:
                search = self._explored()
            yield

    def _explored(self) -> Iterator[object]:
        return explore(
            self.task, self.journal, lambda: self._in_force, self._progress, lambda: self._engine.is_cancelled
        )

    def _take_steering(self) -> None:
        if isinstance(self.journal, Retold):
            for step in self.journal.steered():
                self.steering = self.steering.after(step)
        self._in_force = self.steering

    def _after(self, n: int, grain: Grain) -> Enough:
        if grain not in get_args(Grain):
            raise ShapeError(f"no grain {grain!r}; there are {', '.join(get_args(Grain))}")
        if type(n) is not int or n < 1:
            raise ShapeError(f"a number of steps is a whole number from 1 on, found {n!r}")
        seen = len(self.journal)

        def count() -> int:
            since = [e.event for e in self.journal.since(seen)]
            match grain:
                case "event":
                    return len(since)
                case "candidate":
                    return sum(isinstance(e, VerdictReached) for e in since)
                case "family":
                    return sum(isinstance(e, FamilyCompleted) for e in since)
                case "phase":
                    phases = [phase_of(e) for e in self.journal.events[max(seen - 1, 0) :]]
                    known = [p for p in phases if p]
                    return sum(a != b for a, b in pairwise(known))

        return lambda: count() >= n

    def _await(self, done: Future[None]) -> None:
        try:
            wait(done)
        except KeyboardInterrupt:
            self._engine.pause()
            wait(done)
            print("paused; sess.run() goes on, sess.cancel() ends the search")  # noqa: T201 - for the person waiting

    # ------------------------------------------------------------ steering

    def accept(self, family: str, note: str = "") -> None:
        """Mark a family as wanted: it is tuned before the others, also if it is unsafe in floating point."""
        self._steer("accept", family, note)

    def reject(self, family: str, note: str = "") -> None:
        """Withhold a family: no more work goes into it and `best` passes it over. `undo` takes it back.

        Raises:
            ShapeError: no such family.
        """
        self._steer("reject", family, note)

    def prefer(self, which: str | Callable[[FamilyHandle], object]) -> None:
        """Have families tuned before the others, but behind those that were accepted.

        Args:
            which: the name of a family; or a text such as `accum_rms`, for every family, also a later one, whose
                graph has it; or a predicate of a family, asked of each one that there is and of each one to come.
                A predicate is code and does not go into the journal: the families that it picks do.
        """
        if which == "" or not (isinstance(which, str) or callable(which)):
            raise ShapeError(
                "prefer takes a family such as 'f2', a text that its graph has, such as 'accum_rms', or a function of "
                f"a family; found {which!r}"
            )
        if isinstance(which, str):
            self._note(Steered("prefer", which, f"sess.prefer({which!r})"))
        else:
            self._predicates.append((which, getattr(which, "__name__", "a predicate")))
            self._ask_predicates()

    def _ask_predicates(self) -> None:
        """Note which families the predicates pick, each asked once of each."""
        for number, (picks, name) in enumerate(tuple(self._predicates)):
            for family in [f.id for f in tuple(self._progress.families)]:
                if (number, family) not in self._asked:
                    self._asked.add((number, family))
                    if picks(self.families[family]):
                        self._note(Steered("prefer", family, f"sess.prefer({family!r})", f"picked by {name}"))

    def undo(self) -> None:
        """Take the last steering step back; without one, nothing happens."""
        if self.steering.standing:
            self._note(Steered("undo", self.steering.standing[-1].subject, "sess.undo()"))

    def redo(self) -> None:
        """Repeat the steering step that was taken back; without one, nothing happens."""
        if self.steering.undone:
            self._note(Steered("redo", self.steering.undone[-1].subject, "sess.redo()"))

    def _steer(self, action: Literal["accept", "reject"], family: str, note: str) -> None:
        if family not in self.families:
            raise ShapeError(f"no family {family!r} to {action}; there are {', '.join(self.families) or 'none yet'}")
        said = f", note={note!r}" if note else ""
        self._note(Steered(action, family, f"sess.{action}({family!r}{said})", note))

    def _note(self, fact: Steered) -> None:
        """Note a decision, at once or when the step in hand is done."""
        with self._steered:
            self.steering = self.steering.after(fact)
            if self._in_step:
                self._late.append(fact)
            else:
                self.journal.note(fact)
        self._engine.reopen()

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
        """What came farthest, nearest first, and which restriction stopped each; none where something is proved."""
        return self.record.misses

    @overload
    def audit(self, subject: str, **how: Any) -> Audit: ...

    @overload
    def audit(self, *, sample: int, seed: int = 0, **how: Any) -> Sample: ...

    def audit(self, subject: str = "", *, sample: int = 0, seed: int = 0, **how: Any) -> Audit | Sample:
        """Search a pruned region, or a family that you rejected, beside this search, which is not touched.

        Args:
            subject: such as p17 or f2.
            sample: instead of a subject, how many regions of each rule; they are drawn by `seed`.
            seed: of the draw.
            how: the budgets `nodes` and `candidates`, `steps` of the region, more `rules_off`; see `audit.audit`.

        Raises:
            ShapeError: no such region, or a budget that is none.
        """
        if not subject:
            return audit_sample(self.task, self.journal.events, sample, seed, **how)
        return audit(self.task, self.journal.events, subject, **how)

    @property
    def claim(self) -> str:
        """The honest sentence about what was and was not shown."""
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
        """What would reopen on another target, in another space, or with rules off; this search is not touched.

        Args:
            target: another machine.
            space: other operators and limits.
            rules_off: names of pruning rules.
            run: whether to search there too, up to proofs, and compare the families.
            tick: called at every step; what it raises ends the question.
            limits: single limits of the space by name, such as `block_ops=13`, and `shared_memory_bytes`.

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
        """What stands behind the verdict on a candidate: proof and trials, a witness, or how far both sides agree.

        Raises:
            ShapeError: no such candidate, or it has not been decided.
        """
        return self.record.evidence(candidate)

    def certify(self, candidate: str, tick: Callable[[], None] = lambda: None) -> Evidence:
        """Have egglog replay every lemma of a candidate's proof; see `Record.certify`.

        Raises:
            ShapeError: no such candidate, or it is not proved.
        """
        return self.record.certify(candidate, tick)

    def replay(self, candidate: str) -> Replay:
        """Run the witness against a candidate again; see `Record.replay`.

        Raises:
            ShapeError: no such candidate, or nothing stands against it.
        """
        return self.record.replay(candidate)

    def equalities(self, candidate: str) -> Equalities:
        """What is equal to what in a candidate and the program, whatever its verdict; e-graphs step by step.

        Raises:
            ShapeError: no such candidate.
        """
        return self.record.equalities(candidate)

    def text(self, table: str) -> str:
        """A table as text: families, pruned, ledger, classes, trials."""
        return self.record.text(table)

    def svg(self, picture: str = "search") -> str:
        """A picture as SVG: search, tuning, or the id of a family or candidate."""
        return self.record.svg(picture)

    def best(self) -> Best | NoImprovement | None:
        """What is called in place of the code, with its evidence; searches to the end first where that is left to do.

        That is the fastest checked kernel, or torch where that was faster beside it; printing it says which. Its time,
        the baselines' and the machine's limit were measured side by side in one run. Where all that may win was cut
        because of `time_to_beat_s`, a `NoImprovement`, which says so and runs torch. None where no kernel was timed for
        another reason; `claim` says how far the search came.
        """
        if self.state not in ("finished", "cancelled"):
            self.run()
        found = incumbent(self._progress, self.steering)
        book = ledger(self.journal.events)
        if found is None:
            outcome = book.unbeaten
            return NoImprovement(outcome, book.rivals, self.traced, self.task.also.call) if outcome else None
        verified, baselines = self._certified(found), book.baselines
        proved = tuple(v for v in self._progress.proved if may_win(self._progress, self.steering, v.candidate.family))
        task = self.task
        return Best(
            found,
            verified,
            proved,
            baselines,
            self.traced,
            load(found.kernel),
            task.target.name,
            task.versions,
            self._floats(verified),
            task.ranges,
            task.also.call,
        )

    def dispatch(self, budget: Budget | None = None, **values: Sequence[int]) -> Dispatch:
        """One callable for a range of values of a symbol, such as the batch: `sess.dispatch(b=(1, 4, 16))`.

        What is proved holds for every value; only numbers are chosen anew at each of these, and the fastest kernel is
        raced there against torch eager, if that is among the session's baselines, and against its library call.

        Args:
            budget: of tuning at each value; the session's if left out.
            values: the symbol and the values to tune at; the smallest and the largest are the range.

        Raises:
            ShapeError: not one symbol of the program, no values, or nothing that can be timed at one of them.
            TargetUnavailable: kernels cannot be timed on the target.
        """
        symbol, points = one_symbol(self.program, values)
        if self.state not in ("finished", "cancelled"):
            self.run()
        open_now = [v for v in self._progress.proved if may_win(self._progress, self.steering, v.candidate.family)]
        task, found, raced = self.task, list[tuple[int, Timed]](), dict[int, tuple[BaselineMeasured, ...]]()
        modes, also = tuple(name for name in task.baselines if name == EAGER), task.also.call
        for value in points:
            journal = Journal()
            outcomes = tune(
                open_now,
                {**task.shapes, symbol: value},
                task.target,
                journal,
                budget=budget or task.budget,
                seed=task.seed,
                database=task.database,
                versions=task.versions,
                executor=task.executor,
            )
            timed = [o for o in outcomes if isinstance(o, Timed)]
            if not timed:
                raise ShapeError(f"no kernel could be timed at {symbol}={value}; {self.claim}")
            fastest = min(timed, key=lambda t: t.time_s)
            found.append((value, fastest))
            if self.traced is not None and (modes or also is not None):
                raced[value] = compare(
                    self.traced, fastest.kernel, task.target, journal, modes=modes, library=also, seed=task.seed
                )
        return Dispatch(self.program, symbol, task.shapes, found, task.target, self.traced, raced, also)

    @property
    def chosen(self) -> Verified | None:
        """The candidate of the fastest kernel; where none was timed, the first proved one that may win."""
        found = incumbent(self._progress, self.steering)
        if found is not None:
            return found.kernel.verified
        open_now = (v for v in self._progress.proved if may_win(self._progress, self.steering, v.candidate.family))
        return next(open_now, None)

    def _certified(self, found: Timed) -> Verified:
        candidate = found.kernel.verified.candidate
        known = self._progress.certified.get(candidate.id, found.kernel.verified)
        if isinstance(self.journal, Retold) and not known.proof.lemmas:
            known = self._progress.certified[candidate.id] = proved_again(found.kernel, self.task)
        return known

    def _floats(self, verified: Verified) -> Assessment:
        family = verified.candidate.family.id
        if family not in self._progress.assessed:
            self._progress.assessed[family] = Assessor(self.program, seed=self.task.seed).assess(verified)
        return self._progress.assessed[family]

    # ------------------------------------------------------------ looking, keeping

    def select(self, subject: str) -> None:
        """Look at something in every panel: an id such as f2, f2.c1, p17 or n40."""
        self.selection = subject
        self._tell("select", subject)

    def on(self, what: Literal["select", "state"], fn: Callable[[Any], None]) -> None:
        """Call `fn` with the selection or the state whenever it changes, on whatever thread changed it."""
        if what not in ("select", "state"):
            raise ShapeError(f"nothing is told of {what!r}; 'select' and 'state' are")
        self._listeners.setdefault(what, []).append(fn)

    def submit(self, command: str, **args: Any) -> None:
        """Do what a click asks for, without waiting: the widget's one way in."""
        match command:
            case "step":
                self._engine.pull(self._after(int(args.get("n", 1)), args.get("grain", "event")))
            case "start" | "resume":
                self.start()
            case "pause" | "cancel" | "undo" | "redo":
                getattr(self, command)()
            case "accept" | "reject":
                self._steer(command, args["id"], args.get("note", ""))
            case "prefer":
                self.prefer(str(args["id"]))
            case "select":
                self.select(args["id"])
            case "audit" | "what_if" | "certify" | "replay":
                self._ask(command, args)
            case "withdraw":
                self.withdraw(args["id"])
            case _:
                raise ShapeError(f"no command {command!r}")

    def withdraw(self, question: str = "") -> None:
        """Take back a question such as q2, or all that are open."""
        self.questions.cancel(question)

    def _ask(self, kind: Asked, given: Mapping[str, Any]) -> None:
        """Have a question answered on a thread of its own, by the method of its name."""
        subject = str(given.get("id", ""))
        words = {k: v for k, v in given.items() if k != "id"}
        said = [*([repr(subject)] if subject else []), *(f"{k}={v!r}" for k, v in words.items())]
        python = f"sess.{kind}({', '.join(said)})"
        match kind:
            case "audit":
                self.questions.ask(kind, subject, python, lambda tick: self.audit(subject, tick=tick, **words))
            case "what_if":
                self.questions.ask(kind, ", ".join(said), python, lambda tick: self.what_if(tick=tick, **words))
            case "certify":
                self.questions.ask(kind, subject, python, lambda tick: self.certify(subject, tick))
            case "replay":
                self.questions.ask(kind, subject, python, lambda _: self.replay(subject))
            case _:
                assert_never(kind)

    def _is_timing(self) -> bool:
        last = self.journal.since(len(self.journal) - 1) if self.state == "running" and len(self.journal) else ()
        return any(phase_of(e.event) == "tune" for e in last)

    def save(self, path: str | Path) -> Path:
        """Write the search to a file: `px.load` shows it anywhere, and `Session.load` goes on with it.

        The file is data. It may be written at any moment; a step in hand is done again when the search goes on.
        """
        manifest = {"program": self.program.name, "versions": dict(self.task.versions)}
        return self.journal.save(path, {**manifest, "task": task_to_plain(self.task)})

    def report(self, path: str | Path) -> Path:
        """Write the explorer as one HTML file that opens anywhere: to look at and to share, not to steer."""
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


def _is_cancelled(fact: Event | None) -> bool:
    return isinstance(fact, ExplorationFinished) and fact.stop == "cancelled"


def _versions() -> tuple[tuple[str, str], ...]:
    found: list[tuple[str, str]] = [("python", platform.python_version())]
    for package in _PACKAGES:
        try:
            found.append((package, version(package)))
        except PackageNotFoundError:
            continue
    return tuple(found)


def open_record(path: str | Path) -> Record:
    """The search that was saved, to look at; `Session.load` goes on with it.

    Raises:
        JournalVersionError: not a saved search, damaged, or of a version this code does not read.
    """
    record = Record(Journal.load(path))
    lease_for(record)
    return record
