"""The connection between a live search and its explorer: commands go to the session, changes to the publisher.

A command can arrive on any thread, during or after any cell. The bridge checks it and puts it into the queue of
the session.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from prism_explore.diagnose.jobs import Questions
from prism_explore.errors import PrismError
from prism_explore.events.journal import Entry, Journal
from prism_explore.ir.program import TensorProgram
from prism_explore.pipeline.search_space import Space
from prism_explore.widgets.jupyter.commands import MAX_TEXT_CHARACTERS, parse_call

State: TypeAlias = Literal["ready", "running", "paused", "finished", "cancelled", "failed"]


class TargetLike(Protocol):
    """A machine."""

    @property
    def name(self) -> str:
        """Its name."""
        ...


class TaskLike(Protocol):
    """What is searched, and for which machine."""

    @property
    def target(self) -> TargetLike:
        """The machine."""
        ...

    @property
    def shapes(self) -> Mapping[str, int]:
        """Per symbol of the program, the size at which kernels are tuned."""
        ...

    @property
    def space(self) -> Space | None:
        """The search space; None in a saved search, which has a description only."""
        ...


class InterruptedLike(Protocol):
    """A saved search of the same program that did not end; its text is what is said about it."""

    @property
    def line(self) -> str:
        """The line of Python that continues it."""
        ...


class SessionLike(Protocol):
    """The part of a session that the explorer uses; a saved search has it too."""

    @property
    def program(self) -> TensorProgram:
        """The program to optimize."""
        ...

    @property
    def task(self) -> TaskLike:
        """The machine, the sizes and the search space."""
        ...

    @property
    def journal(self) -> Journal:
        """All events so far."""
        ...

    @property
    def state(self) -> State:
        """The state of the search."""
        ...

    @property
    def failure(self) -> str:
        """The error of the engine, if it failed; else empty."""
        ...

    @property
    def interrupted(self) -> InterruptedLike | None:
        """A saved search of the same program that did not end; None if there is none."""
        ...

    @property
    def selection(self) -> str | None:
        """The selected id."""
        ...

    @property
    def questions(self) -> Questions:
        """The questions that run in the background."""
        ...

    def submit(self, command: str, **args: Any) -> None:
        """Put a command into the queue, without waiting for it.

        Raises:
            PrismError: the command is not possible; the message says why.
        """
        ...

    def on(self, what: Literal["select", "state", "fork"], fn: Callable[[Any], None]) -> Callable[[], None]:
        """Call `fn` when the selection or the state changes or the search is forked, on the thread that did it.

        Returns:
            A function that ends this.
        """
        ...


@dataclass(slots=True)
class RecentIds:
    """Ids of the last commands, so that a message that arrives twice has one effect."""

    capacity: int = 1024
    _ids: OrderedDict[str, None] = field(default_factory=OrderedDict[str, None])

    def add(self, event_id: str) -> bool:
        """Add an id; whether it is new."""
        if event_id in self._ids:
            return False
        self._ids[event_id] = None
        if len(self._ids) > self.capacity:
            self._ids.popitem(last=False)
        return True


class Bridge:
    """Reports changes of a session, and submits commands to it.

    Args:
        session: the search.
        changed: called on any thread when the panels can have changed; it must return at once.
        awaited: called instead of `changed` when the state changed, because a user waits for a pause.
        forked: called with each fork of the search.
    """

    def __init__(
        self,
        session: SessionLike,
        changed: Callable[[], None],
        awaited: Callable[[], None] | None = None,
        forked: Callable[[Any], None] | None = None,
    ) -> None:
        self.session = session
        self._changed, self._awaited = changed, awaited or changed
        self._recent = RecentIds()
        self._lock = threading.Lock()
        session.journal.listeners.append(self._on_entry)
        self._ends = [session.on("state", self._on_state), session.on("select", self._on_change)]
        if forked is not None:
            self._ends.append(session.on("fork", forked))

    def _on_entry(self, _: Entry) -> None:
        self._changed()

    def _on_change(self, _: object) -> None:
        self._changed()

    def _on_state(self, _: object) -> None:
        self._awaited()

    def handle(self, content: Mapping[str, Any]) -> dict[str, Any] | None:
        """Submit the command of a message and return the reply; None for a message that arrived before."""
        try:
            call = parse_call(content)
        except ValueError as error:
            return _refusal(str(content.get("event_id", ""))[:MAX_TEXT_CHARACTERS], error)
        with self._lock:
            if not self._recent.add(call.event_id):
                return None
        try:
            self.session.submit(call.command.name, **call.args)
        except PrismError as error:
            return _refusal(call.event_id, error)
        self._changed()
        return {"event_id": call.event_id, "ok": True, "python": call.python}

    def close(self) -> None:
        """Stop listening to the session, which then does not keep what listened in memory."""
        if self._on_entry in self.session.journal.listeners:
            self.session.journal.listeners.remove(self._on_entry)
        while self._ends:
            self._ends.pop()()


def _refusal(event_id: str, error: Exception) -> dict[str, Any]:
    return {"event_id": event_id, "ok": False, "message": str(error)}
