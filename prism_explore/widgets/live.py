"""The bridge between a live search and its picture: clicks down, marks up.

A click is a message with a command's name, its arguments and an id. It may arrive on any thread, during
or after any cell, so nothing is done here but to check it and to put it into the session's queue. What
the click would be in Python is a line of the table below; it is what "copy as code" copies.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias, cast, get_args

from prism_explore.errors import PrismError, ShapeError
from prism_explore.events.journal import Entry, Journal
from prism_explore.events.kinds import ExplorationFinished, ExplorationStarted
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.text import parse_program

Grain: TypeAlias = Literal["event", "candidate", "family", "phase"]
State: TypeAlias = Literal["ready", "running", "paused", "finished", "cancelled", "failed"]
Value: TypeAlias = str | int

GRAINS: tuple[Grain, ...] = get_args(Grain)
LONGEST = 200
"""Characters of an argument; ids and notes are short, and the browser is not trusted to know it."""


class TargetLike(Protocol):
    """A machine."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...


class TaskLike(Protocol):
    """What is searched for, and where."""

    @property
    def target(self) -> TargetLike:
        """The machine."""
        ...

    @property
    def shapes(self) -> Mapping[str, int]:
        """Numbers for the program's own symbols, at which kernels are tuned."""
        ...


class SessionLike(Protocol):
    """What a picture needs of a session."""

    @property
    def program(self) -> TensorProgram:
        """What is searched for."""
        ...

    @property
    def task(self) -> TaskLike:
        """Where, and at which sizes."""
        ...

    @property
    def journal(self) -> Journal:
        """All facts so far."""
        ...

    @property
    def state(self) -> State:
        """What the search is doing."""
        ...

    @property
    def failure(self) -> str:
        """What the engine raised, where it failed; empty otherwise."""
        ...

    @property
    def selection(self) -> str | None:
        """Id of what is selected."""
        ...

    def submit(self, command: str, **args: Any) -> None:
        """Do what a click asks for, without waiting.

        Raises:
            PrismError: it cannot be done, and why.
        """
        ...

    def on(self, what: Literal["select", "state"], fn: Callable[[Any], None]) -> None:
        """Call `fn` whenever the selection or the state changes, on whatever thread changed it."""
        ...


@dataclass(frozen=True, slots=True)
class Parameter:
    """An argument of a command: a short text, a count, or one of a few words."""

    name: str
    kind: Literal["text", "count", "word"]
    words: tuple[str, ...] = ()
    default: Value | None = None
    """None where it must be given."""


@dataclass(frozen=True, slots=True)
class Command:
    """A row of the table: what a click may ask for."""

    name: str
    python: str
    """The same in Python, without its arguments."""
    says: str
    """One sentence, shown as the button's tooltip."""
    parameters: tuple[Parameter, ...] = ()


_ID = Parameter("id", "text")
_NOTE = Parameter("note", "text", default="")

COMMANDS: tuple[Command, ...] = (
    Command(
        "step",
        "sess.step",
        "Let the search do a little: one event, candidate, family or phase.",
        (Parameter("n", "count", default=1), Parameter("grain", "word", GRAINS, "event")),
    ),
    Command("start", "job = sess.start", "Let the search run on, in the background."),
    Command("pause", "sess.pause", "Stop after the present event; everything is kept."),
    Command("resume", "sess.resume", "Go on from where it stopped."),
    Command("cancel", "sess.cancel", "End the search for good; what was found is kept."),
    Command("accept", "sess.accept", "Search this before the others.", (_ID, _NOTE)),
    Command("reject", "sess.reject", "Withhold this and what follows from it; can be undone.", (_ID, _NOTE)),
    Command("undo", "sess.undo", "Take the last steering step back."),
    Command("redo", "sess.redo", "Repeat the steering step that was taken back."),
    Command("select", "sess.select", "Look at this in every panel.", (Parameter("id", "text"),)),
)


@dataclass(frozen=True, slots=True)
class NamedTarget:
    """A machine of which only the name is known."""

    name: str


@dataclass(frozen=True, slots=True)
class RecordedTask:
    """What a saved search was for."""

    target: NamedTarget
    shapes: Mapping[str, int]


class Recorded:
    """A saved search as the explorer wants it: to be looked at, not continued.

    Raises:
        ShapeError: the journal does not say what was searched.
    """

    def __init__(self, journal: Journal) -> None:
        first = journal.entries[0].event if len(journal) else None
        if not isinstance(first, ExplorationStarted):
            raise ShapeError("a search's journal begins with ExplorationStarted; this one does not")
        last = journal.entries[-1].event
        stopped = isinstance(last, ExplorationFinished) and last.stop != "cancelled"
        self.journal = journal
        self.program = parse_program(first.program)
        self.task = RecordedTask(NamedTarget(first.target), dict(first.shapes))
        self.state: State = "finished" if stopped else "cancelled"
        self.failure = ""
        self.selection: str | None = None
        self._told: list[Callable[[Any], None]] = []

    def submit(self, command: str, **args: Any) -> None:
        """Select; nothing else can be done.

        Raises:
            ShapeError: the command would continue or steer the search.
        """
        if command != "select":
            raise ShapeError(f"a saved search cannot {command}: start a session over the same program")
        self.selection = args["id"]
        for fn in self._told:
            fn(self.selection)

    def on(self, what: Literal["select", "state"], fn: Callable[[Any], None]) -> None:
        """Call `fn` when the selection changes; the state never does."""
        if what == "select":
            self._told.append(fn)

    def __repr__(self) -> str:
        return f"<saved search of {self.program.name}: {len(self.journal):,} facts>"


_BY_NAME: Mapping[str, Command] = {c.name: c for c in COMMANDS}


@dataclass(frozen=True, slots=True)
class Click:
    """A command that somebody gave in the browser, checked."""

    event_id: str
    command: Command
    args: Mapping[str, Value]

    @property
    def python(self) -> str:
        """The line that does the same."""
        given = [(p, self.args[p.name]) for p in self.command.parameters if self.args[p.name] != p.default]
        said = (f"{v!r}" if p.default is None else f"{p.name}={v!r}" for p, v in given)
        return f"{self.command.python}({', '.join(said)})"


def read_click(content: Mapping[str, Any]) -> Click:
    """The click that a message spells.

    Raises:
        ValueError: the message names no command, or its arguments are not those of the command.
    """
    event_id, name, given = content.get("event_id"), content.get("name"), content.get("args", {})
    if not isinstance(event_id, str) or not 0 < len(event_id) <= LONGEST:
        raise ValueError("a command needs an event_id")
    command = _BY_NAME.get(name) if isinstance(name, str) else None
    if command is None:
        raise ValueError(f"unknown command {name!r}; there are {', '.join(_BY_NAME)}")
    if not isinstance(given, Mapping):
        raise ValueError(f"{command.name}: args must be a mapping")
    values = cast("Mapping[str, Any]", given)
    if extra := sorted(str(k) for k in values if k not in {p.name for p in command.parameters}):
        raise ValueError(f"{command.name} takes no {', '.join(extra)}")
    return Click(event_id, command, {p.name: _argument(command, p, values) for p in command.parameters})


def _argument(command: Command, parameter: Parameter, given: Mapping[str, Any]) -> Value:
    value = given.get(parameter.name, parameter.default)
    where = f"{command.name}: {parameter.name}"
    match parameter.kind:
        case "text":
            if isinstance(value, str) and len(value) <= LONGEST:
                return value
            raise ValueError(f"{where} must be a text of at most {LONGEST} characters")
        case "count":
            if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 100_000:
                return value
            raise ValueError(f"{where} must be a whole number from 1 to 100000, found {value!r}")
        case "word":
            if isinstance(value, str) and value in parameter.words:
                return value
            raise ValueError(f"{where} must be one of {', '.join(parameter.words)}, found {value!r}")


@dataclass(slots=True)
class Seen:
    """Ids of the last clicks, so that a message that arrives twice acts once."""

    most: int = 1024
    _ids: OrderedDict[str, None] = field(default_factory=OrderedDict[str, None])

    def first_time(self, event_id: str) -> bool:
        """Whether this id is new; it is remembered."""
        if event_id in self._ids:
            return False
        self._ids[event_id] = None
        if len(self._ids) > self.most:
            self._ids.popitem(last=False)
        return True


class Bridge:
    """Follows a session's journal and passes clicks on to it.

    Args:
        session: the search.
        changed: called, on any thread, when there is something new to draw; must return at once.
    """

    def __init__(self, session: SessionLike, changed: Callable[[], None]) -> None:
        self.session = session
        self._changed = changed
        self._seen = Seen()
        self._lock = threading.Lock()
        session.journal.listeners.append(self._noted)
        session.on("state", self._heard)
        session.on("select", self._heard)

    def _noted(self, _: Entry) -> None:
        self._changed()

    def _heard(self, _: object) -> None:
        self._changed()

    def handle(self, content: Mapping[str, Any]) -> dict[str, Any] | None:
        """Enqueue the command of a message, and give the answer; None for a message seen before."""
        try:
            click = read_click(content)
        except ValueError as error:
            return {"event_id": str(content.get("event_id", ""))[:LONGEST], "ok": False, "says": str(error)}
        with self._lock:
            if not self._seen.first_time(click.event_id):
                return None
        try:
            self.session.submit(click.command.name, **click.args)
        except PrismError as error:
            return {"event_id": click.event_id, "ok": False, "says": str(error)}
        self._changed()
        return {"event_id": click.event_id, "ok": True, "python": click.python}

    def close(self) -> None:
        """Stop following."""
        if self._noted in self.session.journal.listeners:
            self.session.journal.listeners.remove(self._noted)
