"""The commands of the explorer: one row per command, and the check of a message from the browser.

Input: a message `{event_id, name, args}`. Output: a `CommandCall` with checked arguments and the line of Python that
does the same. The browser is not trusted: unknown names and arguments of a wrong type are errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, cast, get_args

from prism_explore.generate.pruning.rules import RULE_NAMES
from prism_explore.pipeline.search_space import LIMITS
from prism_explore.targets import GPUS

Grain: TypeAlias = Literal["event", "candidate", "family", "phase"]
Value: TypeAlias = str | int | bool | tuple[str, ...]

GRAINS: tuple[Grain, ...] = get_args(Grain)
MAX_TEXT_CHARACTERS = 200
"""Largest number of characters of a text argument."""
MAX_TEXTS = 1_000
"""Largest number of texts in one argument."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a command."""

    name: str
    kind: Literal["text", "texts", "count", "choice", "choices", "flag"]
    """`texts` is one text or several."""
    choices: tuple[str, ...] = ()
    default: Value | None = None
    """None if the argument is required."""
    optional: bool = False
    """Whether the argument may be absent; then the call does not pass it."""
    minimum: int = 1
    maximum: int = 100_000
    characters: int = MAX_TEXT_CHARACTERS
    """Largest length of a text."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command that the browser can send."""

    name: str
    python: str
    """The function of the session that does the same."""
    description: str
    """One sentence: the tooltip of its buttons."""
    parameters: tuple[Parameter, ...] = ()


_ID = Parameter("id", "text")
_FAMILIES = Parameter("id", "texts")
_NOTE = Parameter("note", "text", default="", characters=4_000)
_BOOKMARK = Parameter("id", "text")

COMMANDS: tuple[Command, ...] = (
    Command(
        "step",
        "sess.step",
        "Advance the search by one event, candidate, family or phase.",
        (Parameter("n", "count", default=1), Parameter("grain", "choice", GRAINS, "event")),
    ),
    Command("start", "job = sess.start", "Run the search in the background."),
    Command("pause", "sess.pause", "Pause after the current event; all results are kept."),
    Command("resume", "sess.resume", "Continue the paused search."),
    Command("cancel", "sess.cancel", "End the search for good; all results so far are kept."),
    Command("accept", "sess.accept", "Search this before the others.", (_FAMILIES, _NOTE)),
    Command("reject", "sess.reject", "Exclude this and everything derived from it; can be undone.", (_FAMILIES, _NOTE)),
    Command("prefer", "sess.prefer", "Tune this before the others, after the accepted ones; can be undone.", (_ID,)),
    Command(
        "restrict",
        "sess.restrict",
        "Try only these values of a tuning parameter from now on; can be undone.",
        (
            Parameter("parameter", "text"),
            Parameter("low", "count", minimum=0, maximum=1 << 40),
            Parameter("high", "count", minimum=0, maximum=1 << 40),
        ),
    ),
    Command("undo", "sess.undo", "Undo the last steering step."),
    Command("redo", "sess.redo", "Redo the steering step that was undone last."),
    Command(
        "audit",
        "sess.audit",
        "Search this subtree in the background with the rule off, and report whether it was right to prune it.",
        (
            Parameter("id", "text", optional=True),
            Parameter("sample", "count", optional=True, maximum=1_000),
            Parameter("nodes", "count", optional=True),
            Parameter("rules_off", "choices", RULE_NAMES, optional=True),
        ),
    ),
    Command(
        "what_if",
        "sess.what_if",
        "Report which subtrees another machine, another limit or a disabled rule would reopen.",
        (
            Parameter("target", "choice", tuple(GPUS), optional=True),
            Parameter("rules_off", "choices", RULE_NAMES, optional=True),
            Parameter("shared_memory_bytes", "count", optional=True, maximum=1 << 40),
            *(Parameter(name, "count", optional=True, minimum=0) for name in LIMITS),
            Parameter("run", "flag", optional=True),
        ),
    ),
    Command("certify", "sess.certify", "Let egglog replay every lemma of this proof from the axioms.", (_ID,)),
    Command("replay", "sess.replay", "Run the counterexample to this candidate again.", (_ID,)),
    Command(
        "fork",
        "sess = sess.fork",
        "Continue from this moment in another search; this search is not changed.",
        (
            Parameter("at", "count", optional=True, maximum=1 << 40),
            Parameter("note", "text", default="", optional=True),
        ),
    ),
    Command(
        "adopt",
        "sess = sess.adopt",
        "Search with the settings of this what-if, from the start; this search is not changed.",
        (_ID,),
    ),
    Command(
        "time_again",
        "sess = sess.time_again",
        "Time all kernels and baselines again, in another search with the same families and verdicts.",
    ),
    Command(
        "compare",
        "sess.compare",
        "Compare this search with another live one, or with a saved file.",
        (Parameter("id", "text", characters=4_096),),
    ),
    Command("withdraw", "sess.withdraw", "Cancel a question; its partial results are dropped.", (_ID,)),
    Command(
        "bookmark",
        "sess.bookmark",
        "Keep this id, and the moment that is shown, with a note.",
        (_ID, _NOTE, Parameter("at", "count", default=0, minimum=0, maximum=10_000_000)),
    ),
    Command("edit_bookmark", "sess.bookmarks.edit", "Change the note.", (_BOOKMARK, _NOTE)),
    Command("delete_bookmark", "sess.bookmarks.delete", "Delete the bookmark; can be restored.", (_BOOKMARK,)),
    Command("restore_bookmark", "sess.bookmarks.restore", "Restore the deleted bookmark.", (_BOOKMARK,)),
    Command("undo_bookmark", "sess.bookmarks.undo", "Revert the last change of a bookmark."),
    Command("select", "sess.select", "Show this in every panel.", (Parameter("id", "text"),)),
)


STEERING: frozenset[str] = frozenset({"accept", "reject", "prefer", "restrict", "undo", "redo"})
"""Commands that change the present search, so that they are disabled while an earlier state is shown."""

COMMAND: Mapping[str, Command] = {c.name: c for c in COMMANDS}
"""Every command by name."""


@dataclass(frozen=True, slots=True)
class CommandCall:
    """A command with checked arguments."""

    event_id: str
    command: Command
    args: Mapping[str, Value]

    @property
    def python(self) -> str:
        """The line of Python that does the same."""
        passed = [
            (p, self.args[p.name])
            for p in self.command.parameters
            if p.name in self.args and self.args[p.name] != p.default
        ]
        values = ((p, list(v) if p.kind == "texts" and isinstance(v, tuple) else v) for p, v in passed)
        texts = (f"{v!r}" if p.name == "id" else f"{p.name}={v!r}" for p, v in values)
        return f"{self.command.python}({', '.join(texts)})"


def parse_call(content: Mapping[str, Any]) -> CommandCall:
    """Check a message from the browser.

    Raises:
        ValueError: the message names no command, or its arguments do not fit the command.
    """
    event_id, name, args = content.get("event_id"), content.get("name"), content.get("args", {})
    if not isinstance(event_id, str) or not 0 < len(event_id) <= MAX_TEXT_CHARACTERS:
        raise ValueError("a command needs an event_id")
    command = COMMAND.get(name) if isinstance(name, str) else None
    if command is None:
        raise ValueError(f"unknown command {name!r}; the commands are {', '.join(COMMAND)}")
    if not isinstance(args, Mapping):
        raise ValueError(f"{command.name}: args must be a mapping")
    values = cast("Mapping[str, Any]", args)
    if extra := sorted(str(k) for k in values if k not in {p.name for p in command.parameters}):
        raise ValueError(f"{command.name} takes no {', '.join(extra)}")
    wanted = [p for p in command.parameters if p.name in values or not p.optional]
    return CommandCall(event_id, command, {p.name: _argument(command, p, values) for p in wanted})


def _argument(command: Command, parameter: Parameter, args: Mapping[str, Any]) -> Value:
    value = args.get(parameter.name, parameter.default)
    where = f"{command.name}: {parameter.name}"
    match parameter.kind:
        case "text":
            if isinstance(value, str) and len(value) <= parameter.characters:
                return value
            raise ValueError(f"{where} must be a text of at most {parameter.characters} characters")
        case "texts":
            if isinstance(value, str):
                return _argument(command, replace(parameter, kind="text"), args)
            several = cast("list[object]", value) if isinstance(value, list) else []
            if 0 < len(several) <= MAX_TEXTS and all(
                isinstance(v, str) and len(v) <= parameter.characters for v in several
            ):
                return tuple(str(v) for v in several)
            raise ValueError(f"{where} must be a text, or a list of at most {MAX_TEXTS} texts")
        case "count":
            low, high = parameter.minimum, parameter.maximum
            if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
                return value
            raise ValueError(f"{where} must be an integer from {low} to {high}, found {value!r}")
        case "choice":
            if isinstance(value, str) and value in parameter.choices:
                return value
            raise ValueError(f"{where} must be one of {', '.join(parameter.choices)}, found {value!r}")
        case "choices":
            chosen = cast("list[object]", value) if isinstance(value, list) else [None]
            if all(choice in parameter.choices for choice in chosen):
                return tuple(choice for choice in parameter.choices if choice in chosen)
            raise ValueError(f"{where} must be some of {', '.join(parameter.choices)}, found {value!r}")
        case "flag":
            if isinstance(value, bool):
                return value
            raise ValueError(f"{where} must be true or false, found {value!r}")
