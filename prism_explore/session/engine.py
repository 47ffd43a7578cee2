"""The engine thread: one thread advances a search, so that only this thread changes its e-graphs and journal.

A search is an iterator; the thread calls `next` on it. Stepping, pausing and cancelling start and stop these calls.
Commands may come from any thread (a notebook cell, a widget's callback) and return at once.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from prism_explore.support.gc_pause import full_collections_postponed

State: TypeAlias = Literal["ready", "running", "paused", "finished", "cancelled", "failed"]
IsDone: TypeAlias = Callable[[], bool]

SLICE_S = 0.1
"""How often a waiting cell checks for an interrupt."""

IDLE_S = 1.0
"""How long the idle thread waits for a command before it ends; the next command starts a new thread."""


@dataclass(slots=True)
class _Advance:
    """Advance the search until `is_done()`, until the search ends, or until it is paused."""

    is_done: IsDone
    done: Future[None] = field(default_factory=Future[None])


class Engine:
    """Owns the thread that advances one search."""

    def __init__(
        self,
        open_search: Callable[[], Iterator[Any]],
        changed: Callable[[], None],
        idle: Callable[[], None] = lambda: None,
    ) -> None:
        """Nothing runs yet.

        Args:
            open_search: begins or continues the search.
            changed: called after every change of state.
            idle: called on the thread when it has had no command for `IDLE_S` and ends.
        """
        self._open_search = open_search
        self._changed = changed
        self._idle = idle
        self._commands: queue.Queue[_Advance | Callable[[], None]] = queue.Queue()
        self._thread: threading.Thread | None = None
        self._pause = threading.Event()
        self._cancel = threading.Event()
        self._lock = threading.Lock()
        self._search: Iterator[Any] | None = None
        self.state: State = "ready"
        self.failure: BaseException | None = None

    def advance(self, is_done: IsDone) -> Future[None]:
        """Advance the search until `is_done()`; returns at once. The future fails if the search failed."""
        command = _Advance(is_done)
        if self.state == "failed" and self.failure is not None:
            command.done.set_exception(self.failure)
            return command.done
        if self.state in ("finished", "cancelled"):
            command.done.set_result(None)
            return command.done
        self._pause.clear()
        with self._lock:
            self._commands.put(command)
            if self._thread is None:
                self._thread = threading.Thread(target=self._loop, name="prism-engine", daemon=True)
                self._thread.start()
        return command.done

    def pause(self) -> None:
        """Stop after the current step; nothing is lost."""
        self._pause.set()

    @property
    def is_cancelled(self) -> bool:
        """Whether the search was cancelled; long steps check it."""
        return self._cancel.is_set()

    def cancel(self) -> None:
        """End the search after the current step, or within it where the step checks; results are kept."""
        self._cancel.set()
        self._pause.set()
        if self.state in ("ready", "paused"):
            self._set_state("cancelled")

    def reopen(self) -> None:
        """Let a finished search continue, because steering gave it new work."""
        if self.state == "finished":
            self._search = None
            self._set_state("paused")

    def finish(self) -> None:
        """End a search before its first step, because its answer is known."""
        if self.state == "ready":
            self._set_state("finished")

    def close(self, closed: Callable[[], None]) -> None:
        """Cancel, and release the resources of the search, such as its processes; results are kept.

        Args:
            closed: called after the last step has ended, on the engine's thread if there is one.
        """
        self.cancel()
        with self._lock:
            if self._thread is not None:
                self._commands.put(closed)
                return
        self._end_search()
        closed()

    @property
    def has_thread(self) -> bool:
        """Whether the thread exists; an idle thread ends."""
        return self._thread is not None

    def _loop(self) -> None:
        # An idle thread ends, since it would keep an unused session alive. The queue is checked under the lock, so
        # no command is lost between two threads.
        while True:
            try:
                command = self._commands.get(timeout=IDLE_S)
            except queue.Empty:
                self._idle()
                with self._lock:
                    if self._commands.empty():
                        self._thread = None
                        return
                continue
            if not isinstance(command, _Advance):
                self._end_search()
                with self._lock:
                    self._thread = None
                command()
                return
            try:
                condition_error = self._run(command)
            except BaseException as failure:
                self.failure = failure
                self._set_state("failed")
                command.done.set_exception(failure)
            else:
                if condition_error is None:
                    command.done.set_result(None)
                else:
                    command.done.set_exception(condition_error)
            if self.state == "cancelled":
                self._end_search()
            del command

    def _end_search(self) -> None:
        search, self._search = self._search, None
        if isinstance(search, Generator):
            search.close()

    @full_collections_postponed()
    def _run(self, command: _Advance) -> Exception | None:
        """Advance the search as a command wants; returns what its `is_done` raised, if it did."""
        if self.state in ("finished", "cancelled", "failed"):
            return None
        if self._search is None:
            self._search = self._open_search()
        self._set_state("running")
        while not self._pause.is_set() and not self._cancel.is_set():
            try:
                next(self._search)
            except StopIteration:
                self._set_state("cancelled" if self._cancel.is_set() else "finished")
                return None
            try:
                if command.is_done():
                    break
            except Exception as error:
                self._set_state("paused")
                return error
        self._set_state("cancelled" if self._cancel.is_set() else "paused")
        return None

    def _set_state(self, state: State) -> None:
        if state != self.state:
            self.state = state
            self._changed()


class Job:
    """A search that runs in the background; `await` it, or work on in the notebook."""

    def __init__(self, engine: Engine, done: Future[None], restart: Callable[[], Future[None]]) -> None:
        self._engine = engine
        self._done = done
        self._restart = restart

    @property
    def done(self) -> bool:
        """Whether this run has stopped: finished, paused, cancelled or failed."""
        return self._done.done()

    def pause(self) -> None:
        """Pause after the current step."""
        self._engine.pause()

    def resume(self) -> None:
        """Continue after a pause."""
        if self._done.done():
            self._done = self._restart()

    def cancel(self) -> None:
        """End the search; its results are kept."""
        self._engine.cancel()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Block until the run stops.

        Args:
            timeout_s: seconds to wait at most; None for no limit.

        Returns:
            Whether it stopped within the time.
        """
        return wait(self._done, timeout_s)

    def __await__(self) -> Generator[Any, None, None]:
        return self._wait().__await__()

    async def _wait(self) -> None:
        import asyncio  # whoever awaits has imported it

        # A sleeping coroutine is cancelled only when it wakes, so it wakes often. An interrupt pauses the search.
        try:
            while not self._done.done():
                await asyncio.sleep(SLICE_S)
        except (asyncio.CancelledError, KeyboardInterrupt):
            self._engine.pause()
            raise
        self._done.result()

    def __repr__(self) -> str:
        return f"<Job: search {self._engine.state}>"


def wait(done: Future[None], timeout_s: float | None = None, update: Callable[[], None] = lambda: None) -> bool:
    """Block in short slices, so that an interrupt is noticed; re-raises what the engine raised.

    Args:
        done: of a run.
        timeout_s: seconds to wait at most; None for no limit.
        update: called before every slice.

    Returns:
        Whether the run stopped within the time.
    """
    waited = 0.0
    while timeout_s is None or waited < timeout_s:
        update()
        try:
            done.result(SLICE_S)
            return True
        except TimeoutError:
            if done.done():
                raise
            waited += SLICE_S
    return done.done()
