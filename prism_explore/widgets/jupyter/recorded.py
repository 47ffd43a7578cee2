"""A saved search as the explorer wants it: to be looked at, in any kernel, years later.

What its facts allow can be asked of it too: a witness runs again, and what was proved can be certified. Only
going on with the search, and what searches beside it, needs a session over the same program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from prism_explore.diagnose.jobs import Questions
from prism_explore.errors import ShapeError
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import ExplorationFinished, ExplorationStarted
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.text import parse_program
from prism_explore.pipeline.search_space import Space
from prism_explore.widgets.jupyter.live import State


@dataclass(frozen=True, slots=True)
class NamedTarget:
    """A machine of which only the name is known."""

    name: str


@dataclass(frozen=True, slots=True)
class RecordedTask:
    """What a saved search was for."""

    target: NamedTarget
    shapes: Mapping[str, int]
    space: Space | None = None
    """Not known: the facts state it in words."""


class Verdicts(Protocol):
    """What can be asked again of the verdicts that a journal holds; `prism_explore.session.handles.Record` is one."""

    def certify(self, candidate: str, tick: Callable[[], None] = ...) -> Any:
        """Replay the lemmas of a proof in egglog, and return the evidence of the candidate."""
        ...

    def replay(self, candidate: str) -> Any:
        """Run the counterexample of a refuted candidate again."""
        ...


class Recorded:
    """A session that only looks.

    Args:
        journal: the events of the saved search.
        verdicts: certifies and replays the verdicts of that journal.

    Raises:
        ShapeError: the journal does not say what was searched.
    """

    def __init__(self, journal: Journal, verdicts: Verdicts) -> None:
        first = journal.entries[0].event if len(journal) else None
        if not isinstance(first, ExplorationStarted):
            raise ShapeError("a search's journal begins with ExplorationStarted; this one does not")
        ends = [e for e in journal.events if isinstance(e, ExplorationFinished)]
        self.journal = journal
        self.program: TensorProgram = parse_program(first.program)
        self.task = RecordedTask(NamedTarget(first.target), dict(first.shapes))
        self.state: State = "finished" if ends and ends[-1].stop != "cancelled" else "cancelled"
        self.failure = ""
        self.selection: str | None = None
        self.questions = Questions(lambda: self._tell("state", self.state))
        self._verdicts = verdicts
        self._told: dict[str, list[Callable[[Any], None]]] = {}

    def submit(self, command: str, **args: Any) -> None:
        """Do what a click asks for, as far as facts alone allow.

        Raises:
            ShapeError: the command would continue or steer the search, or search beside it.
        """
        subject = str(args.get("id", ""))
        match command:
            case "select":
                self.selection = subject
                self._tell("select", subject)
            case "certify":
                line = f"record.certify({subject!r})"
                self.questions.ask("certify", subject, line, lambda tick: self._verdicts.certify(subject, tick))
            case "replay":
                line = f"record.replay({subject!r})"
                self.questions.ask("replay", subject, line, lambda _: self._verdicts.replay(subject))
            case "withdraw":
                self.questions.cancel(subject)
            case _:
                raise ShapeError(f"a saved search cannot {command}: start a session over the same program")

    def on(self, what: Literal["select", "state"], fn: Callable[[Any], None]) -> None:
        """Call `fn` when the selection changes, or something that was asked was answered."""
        self._told.setdefault(what, []).append(fn)

    def _tell(self, what: str, value: Any) -> None:
        for fn in tuple(self._told.get(what, ())):
            fn(value)

    def __repr__(self) -> str:
        return f"<saved search of {self.program.name}: {len(self.journal):,} facts>"
