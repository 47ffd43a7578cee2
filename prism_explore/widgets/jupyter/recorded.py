"""A saved search as a session for the explorer: everything can be selected, and nothing can be searched.

Two commands need only the journal, so they work: `certify` replays a proof, `replay` runs a counterexample. To
continue the search, or to audit it, start a session for the same program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from prism_explore.diagnose.jobs import QuestionKind, Questions
from prism_explore.errors import ShapeError
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import ExplorationFinished, ExplorationStarted, SearchForked
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.text import parse_program
from prism_explore.pipeline.search_space import Space
from prism_explore.support.listeners import Listeners
from prism_explore.widgets.jupyter.live import State


@dataclass(frozen=True, slots=True)
class NamedTarget:
    """A machine, by its name only."""

    name: str


@dataclass(frozen=True, slots=True)
class RecordedTask:
    """The machine and the sizes of a saved search."""

    target: NamedTarget
    shapes: Mapping[str, int]
    space: Space | None = None
    """Always None: the journal only describes the search space."""


class Verdicts(Protocol):
    """Commands that need only the verdicts of a journal; `prism_explore.session.record.Record` has them."""

    def certify(self, candidate: str, tick: Callable[[], None] = ...) -> Any:
        """Replay the lemmas of a proof in egglog, and return the evidence of the candidate."""
        ...

    def replay(self, candidate: str) -> Any:
        """Run the counterexample to a refuted candidate again."""
        ...

    def bookmark(self, ref: str, note: str = "", at: int = 0) -> Any:
        """Make a bookmark."""
        ...

    @property
    def bookmarks(self) -> Any:
        """The bookmarks; its methods `edit`, `delete`, `restore` and `undo` change them."""
        ...


class SavedFile(Verdicts, Protocol):
    """Commands that need the file of a saved search; `prism_explore.session.saved.SavedSearch` has them."""

    def fork(self, at: int | None, note: str, tick: Callable[[], None]) -> Any:
        """Another search that repeats the first events of the saved one, and continues."""
        ...

    def compare(self, other: str) -> Any:
        """Compare with another search."""
        ...


class RecordedSession:
    """A session over a saved journal.

    Args:
        journal: the events of the saved search.
        verdicts: certifies and replays the verdicts of the journal.
        file: forks and compares the saved search; None for a journal without a file.

    Raises:
        ShapeError: the journal does not begin with ExplorationStarted.
    """

    def __init__(self, journal: Journal, verdicts: Verdicts, file: SavedFile | None = None) -> None:
        events = journal.events
        first = events[0] if events else None
        if not isinstance(first, ExplorationStarted):
            raise ShapeError("the journal of a search begins with ExplorationStarted; this journal does not")
        end = next((e for e in reversed(events) if isinstance(e, ExplorationFinished)), None)
        self.journal = journal
        self.program: TensorProgram = parse_program(first.program)
        self.task = RecordedTask(NamedTarget(first.target), dict(first.shapes))
        self.state: State = "finished" if end is not None and end.stop != "cancelled" else "cancelled"
        self.failure = ""
        self.interrupted = None
        self.selection: str | None = None
        self.questions = Questions(lambda: self._notify("state", self.state))
        self._verdicts, self._file = verdicts, file
        of_file: tuple[QuestionKind, ...] = ("fork", "compare") if file is not None else ()
        self.allowed: tuple[QuestionKind, ...] = ("certify", "replay", *of_file)
        """The kinds of question that it can answer."""
        self.id = f"record-{id(self)}"
        self.parent = None
        self.origin = next((e for e in reversed(events) if isinstance(e, SearchForked)), None)
        self.name = self.origin.fork if self.origin is not None else self.program.name
        self.forks: tuple[Any, ...] = ()
        self._listeners = Listeners()

    def submit(self, command: str, **args: Any) -> None:
        """Run a command that needs only the journal.

        Raises:
            ShapeError: the command would continue or steer the search, or start another one.
        """
        subject = str(args.get("id", ""))
        match command:
            case "select":
                self.selection = subject
                self._notify("select", subject)
            case "certify":
                line = f"record.certify({subject!r})"
                self.questions.submit("certify", subject, line, lambda tick: self._verdicts.certify(subject, tick))
            case "replay":
                line = f"record.replay({subject!r})"
                self.questions.submit("replay", subject, line, lambda _: self._verdicts.replay(subject))
            case "bookmark":
                self._verdicts.bookmark(subject, str(args.get("note", "")), int(args.get("at", 0)))
            case "edit_bookmark":
                self._verdicts.bookmarks.edit(subject, str(args.get("note", "")))
            case "delete_bookmark":
                self._verdicts.bookmarks.delete(subject)
            case "undo_bookmark":
                self._verdicts.bookmarks.undo()
            case "restore_bookmark":
                self._verdicts.bookmarks.restore(subject)
            case "fork" if (file := self._file) is not None:
                at, note = args.get("at"), str(args.get("note", ""))
                line = f"sess = record.fork({at or ''}{f', note={note!r}' if note else ''})"
                what = f"event {at:,}" if at is not None else "the end"
                self.questions.submit("fork", what, line, lambda tick: self._fork(file, at, note, tick), at_once=True)
            case "compare" if (file := self._file) is not None:
                line = f"record.compare({subject!r})"
                self.questions.submit("compare", subject, line, lambda _: file.compare(subject), at_once=True)
            case "withdraw":
                self.questions.cancel(subject)
            case _:
                raise ShapeError(f"a saved search cannot {command}: start a session for the same program")

    def _fork(self, file: SavedFile, at: int | None, note: str, tick: Callable[[], None]) -> Any:
        fork = file.fork(at, note, tick)
        self.forks = (*self.forks, fork)
        self._notify("fork", fork)
        return fork

    def on(self, what: Literal["select", "state", "fork"], fn: Callable[[Any], None]) -> Callable[[], None]:
        """Call `fn` when the selection or the state of a question changes, or the search is forked.

        Returns:
            A function that ends this.
        """
        return self._listeners.add(what, fn)

    def _notify(self, what: str, value: Any) -> None:
        self._listeners.call(what, value)

    def __repr__(self) -> str:
        return f"<saved search of {self.program.name}: {len(self.journal):,} events>"
