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

from prism_explore.diagnose.jobs import Asked, Questions
from prism_explore.errors import PrismError
from prism_explore.events.journal import Entry, Journal
from prism_explore.ir.program import TensorProgram
from prism_explore.pipeline.search_space import LIMITS, RULE_NAMES, Space
from prism_explore.targets import GPUS

Grain: TypeAlias = Literal["event", "candidate", "family", "phase"]
State: TypeAlias = Literal["ready", "running", "paused", "finished", "cancelled", "failed"]
Ability: TypeAlias = Asked
"""What can be asked of a session."""
Value: TypeAlias = str | int | bool | tuple[str, ...]

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

    @property
    def space(self) -> Space | None:
        """What is searched; None where only its words are known."""
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

    @property
    def questions(self) -> Questions:
        """What was asked beside the search."""
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
    """An argument of a command: a short text, a count, one or some of a few words, or a yes."""

    name: str
    kind: Literal["text", "count", "word", "words", "flag"]
    words: tuple[str, ...] = ()
    default: Value | None = None
    """None where it must be given."""
    optional: bool = False
    """Whether it is left out unless it is given."""
    least: int = 1
    most: int = 100_000


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
    Command("prefer", "sess.prefer", "Tune this before the others, behind what was accepted; can be undone.", (_ID,)),
    Command("undo", "sess.undo", "Take the last steering step back."),
    Command("redo", "sess.redo", "Repeat the steering step that was taken back."),
    Command(
        "audit",
        "sess.audit",
        "Search this region with the rule off, beside the search, and say whether the cut was right.",
        (
            Parameter("id", "text", optional=True),
            Parameter("sample", "count", optional=True, most=1_000),
            Parameter("nodes", "count", optional=True),
            Parameter("rules_off", "words", RULE_NAMES, optional=True),
        ),
    ),
    Command(
        "what_if",
        "sess.what_if",
        "Say what another machine, another limit or a rule switched off would reopen.",
        (
            Parameter("target", "word", tuple(GPUS), optional=True),
            Parameter("rules_off", "words", RULE_NAMES, optional=True),
            Parameter("shared_memory_bytes", "count", optional=True, most=1 << 40),
            *(Parameter(name, "count", optional=True, least=0) for name in LIMITS),
            Parameter("run", "flag", optional=True),
        ),
    ),
    Command("certify", "sess.certify", "Have egglog replay every lemma of this proof from axioms alone.", (_ID,)),
    Command("replay", "sess.replay", "Run the witness against this candidate again.", (_ID,)),
    Command("withdraw", "sess.withdraw", "Take a question back; what it found is dropped.", (_ID,)),
    Command("select", "sess.select", "Look at this in every panel.", (Parameter("id", "text"),)),
)


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
        given = [
            (p, self.args[p.name])
            for p in self.command.parameters
            if p.name in self.args and self.args[p.name] != p.default
        ]
        said = (f"{v!r}" if p.name == "id" else f"{p.name}={v!r}" for p, v in given)
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
    wanted = [p for p in command.parameters if p.name in values or not p.optional]
    return Click(event_id, command, {p.name: _argument(command, p, values) for p in wanted})


def _argument(command: Command, parameter: Parameter, given: Mapping[str, Any]) -> Value:
    value = given.get(parameter.name, parameter.default)
    where = f"{command.name}: {parameter.name}"
    match parameter.kind:
        case "text":
            if isinstance(value, str) and len(value) <= LONGEST:
                return value
            raise ValueError(f"{where} must be a text of at most {LONGEST} characters")
        case "count":
            low, high = parameter.least, parameter.most
            if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
                return value
            raise ValueError(f"{where} must be a whole number from {low} to {high}, found {value!r}")
        case "word":
            if isinstance(value, str) and value in parameter.words:
                return value
            raise ValueError(f"{where} must be one of {', '.join(parameter.words)}, found {value!r}")
        case "words":
            given_words = cast("list[object]", value) if isinstance(value, list) else [None]
            if all(word in parameter.words for word in given_words):
                return tuple(word for word in parameter.words if word in given_words)
            raise ValueError(f"{where} must be some of {', '.join(parameter.words)}, found {value!r}")
        case "flag":
            if isinstance(value, bool):
                return value
            raise ValueError(f"{where} must be true or false, found {value!r}")


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
