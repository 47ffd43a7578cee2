"""Jobs that run one after another on a thread of their own, while the caller goes on.

The thread starts with the first job and ends when there is none left. It is a daemon: at the end of the process the
jobs that have not begun are dropped, and the one that runs is asked to end (`is_stopped`) and waited for. A forked
process has no thread and no job of its parent.
"""

from __future__ import annotations

import atexit
import threading
import weakref
from collections import deque
from collections.abc import Callable
from typing import TypeAlias

from prism_explore.support.after_fork import renew_after_fork

Job: TypeAlias = Callable[[], None]
Start: TypeAlias = Callable[[Job], None]
"""Runs a job, now or later."""

_all: weakref.WeakSet[Background] = weakref.WeakSet()


def in_the_call(job: Job) -> None:
    """Run a job at once: the caller waits for it."""
    job()


class Background:
    """A queue of jobs with a thread; a `Start`.

    Example:
        >>> found = []
        >>> jobs = Background("example")
        >>> jobs(lambda: found.append(1))
        >>> jobs.wait(10.0), found
        (True, [1])
    """

    def __init__(self, name: str) -> None:
        """No thread yet.

        Args:
            name: of the thread.
        """
        self._name = name
        self.after_fork()
        renew_after_fork(self)
        _all.add(self)

    def after_fork(self) -> None:
        """In a forked process there is neither a thread nor a job."""
        self._changed = threading.Condition()
        self._jobs: deque[Job] = deque()
        self._thread: threading.Thread | None = None
        self.is_stopped = False
        """Whether jobs should end: whoever stops them waits for that."""
        self.last_failure: BaseException | None = None
        """What a job raised last; jobs after it run all the same."""

    def __call__(self, job: Job) -> None:
        """Run a job after those that were passed before; it is dropped if all were stopped.

        Args:
            job: called on the thread.
        """
        with self._changed:
            if self.is_stopped:
                return
            self._jobs.append(job)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._jobs:
                    self._thread = None
                    self._changed.notify_all()
                    return
                job = self._jobs.popleft()
            try:
                job()
            except BaseException as failure:  # whoever passed the job records what it does not raise
                self.last_failure = failure
            del job

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until there is no job left.

        Args:
            seconds: the longest time; without limit if None.

        Returns:
            Whether there is none.
        """
        with self._changed:
            return self._changed.wait_for(lambda: self._thread is None, seconds)

    def stop(self) -> None:
        """Drop the jobs that have not begun, and wait for the one that runs; no job runs afterwards."""
        with self._changed:
            self.is_stopped = True
            self._jobs.clear()
        self.wait()


@atexit.register
def _stop_all() -> None:
    for background in tuple(_all):
        background.stop()
