"""Background jobs of a search, called questions: audits, what-ifs, certificates, replays of counterexamples.

One thread runs them one after another, while the search continues. A job calls `tick` at every step: there it can be
cancelled, and it waits while kernels are timed, because it would disturb the timing.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from prism_explore.errors import PrismError

QuestionKind: TypeAlias = Literal["audit", "what_if", "certify", "replay", "fork", "adopt", "compare"]
QuestionState: TypeAlias = Literal["waiting", "running", "answered", "cancelled", "failed"]
Tick: TypeAlias = Callable[[], None]

WAIT_S = 0.05
"""Polling interval while kernels are timed."""


@dataclass(frozen=True, slots=True)
class Question:
    """A background job, its state, and its answer."""

    id: str
    """q1, q2, ... in order."""
    kind: QuestionKind
    subject: str
    """The subject, such as p17; for a what-if, the changes."""
    python: str
    """A Python line that runs the same and waits for the answer."""
    state: QuestionState = "waiting"
    answer: Any = None
    failure: str = ""
    """The error message of a failed job."""

    @property
    def is_open(self) -> bool:
        """Whether the job is waiting or running."""
        return self.state in ("waiting", "running")

    def __repr__(self) -> str:
        head = f"{self.id}: {self.python}  [{self.state}]"
        if self.state == "answered":
            return f"{head}\n{self.answer!r}"
        return f"{head}\n{self.failure}" if self.failure else head


class Cancelled(Exception):
    """Raised by `tick`."""


class Questions(Mapping[str, Question]):
    """All background jobs of a session by id.

    Args:
        changed: called, on any thread, when a job's state changed.
        busy: whether kernels are being timed.
    """

    def __init__(self, changed: Callable[[], None], busy: Callable[[], bool] = lambda: False) -> None:
        self._changed, self._busy = changed, busy
        self._all: dict[str, Question] = {}
        self._waiting: deque[tuple[str, Callable[[Tick], Any]]] = deque()
        self._cancelled: set[str] = set()
        self._lock = threading.Lock()
        self._idle = threading.Condition(self._lock)
        self._thread: threading.Thread | None = None

    def __getitem__(self, key: str) -> Question:
        if key not in self._all:
            raise KeyError(f"no question {key!r}; there are {', '.join(self._all) or 'none yet'}")
        return self._all[key]

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._all))

    def __len__(self) -> int:
        return len(self._all)

    def __repr__(self) -> str:
        return "\n".join(f"{q.id}  {q.state:<9}  {q.python}" for q in self.values()) or "no questions yet"

    def submit(
        self, kind: QuestionKind, subject: str, python: str, work: Callable[[Tick], Any], at_once: bool = False
    ) -> Question:
        """Queue a job and return at once.

        Args:
            kind: of the job.
            subject: what it is about.
            python: the line of Python that does the same.
            work: the job; it receives the `tick` function to call at every step.
            at_once: whether it runs now, in a thread of its own, also while kernels are timed.
        """
        with self._lock:
            question = Question(f"q{len(self._all) + 1}", kind, subject, python)
            if at_once:
                self._all[question.id] = replace(question, state="running")
                threading.Thread(
                    target=self._answer, args=(question.id, work, False), name="prism-question", daemon=True
                ).start()
                return self._all[question.id]
            self._all[question.id] = question
            self._waiting.append((question.id, work))
            if self._thread is None:
                self._thread = threading.Thread(target=self._loop, name="prism-questions", daemon=True)
                self._thread.start()
        self._changed()
        return question

    def cancel(self, question_id: str = "") -> None:
        """Cancel a job, or all open ones; a running job ends at its next step."""
        with self._lock:
            for question in tuple(self._all.values()):
                if question.is_open and question_id in ("", question.id):
                    self._cancelled.add(question.id)
                    if question.state == "waiting":
                        self._all[question.id] = replace(question, state="cancelled")
        self._changed()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Block until no job is open; False where the timeout expired first."""
        until = None if timeout_s is None else time.monotonic() + timeout_s
        with self._idle:
            while any(q.is_open for q in self._all.values()):
                left = None if until is None else until - time.monotonic()
                if left is not None and left <= 0:
                    return False
                self._idle.wait(0.1 if left is None else min(left, 0.1))
        return True

    def _loop(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._thread = None
                    return
                name, work = self._waiting.popleft()
                if name in self._cancelled:
                    continue
                self._all[name] = replace(self._all[name], state="running")
            self._changed()
            self._answer(name, work, True)

    def _answer(self, name: str, work: Callable[[Tick], Any], waits: bool) -> None:
        finished = self._run(self._all[name], work, waits)
        with self._lock:
            self._all[name] = finished
            self._idle.notify_all()
        self._changed()

    def _run(self, question: Question, work: Callable[[Tick], Any], waits: bool) -> Question:
        def tick() -> None:
            while waits and self._busy() and question.id not in self._cancelled:
                time.sleep(WAIT_S)
            if question.id in self._cancelled:
                raise Cancelled

        try:
            tick()
            return replace(question, state="answered", answer=work(tick))
        except Cancelled:
            return replace(question, state="cancelled")
        except PrismError as error:
            return replace(question, state="failed", failure=str(error))
        except BaseException as error:
            # Without this, a job whose thread died would stay open for ever.
            return replace(question, state="failed", failure=f"{type(error).__name__}: {error}")
