"""What a widget may request of a session: one row per command. None of them waits.

Commands that take long (an audit, a what-if, a certificate, a counterexample run again) become questions that are
answered in the background. `widgets.jupyter.live` checks the arguments before they come here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias

from prism_explore.diagnose.jobs import Questions, Tick
from prism_explore.errors import ShapeError
from prism_explore.session.stepping import Grain

Arguments: TypeAlias = Mapping[str, Any]


class Commanded(Protocol):
    """The methods of a session that commands call."""

    @property
    def questions(self) -> Questions:
        """The questions that are answered in the background."""
        ...

    def request_steps(self, n: int, grain: Grain) -> object:
        """Let the search do some steps."""
        ...

    def start(self) -> object:
        """Search in the background."""
        ...

    def pause(self) -> None:
        """Stop after the current step."""
        ...

    def cancel(self) -> None:
        """End the search."""
        ...

    def accept(self, family: str, note: str = "") -> None:
        """Tune a family before the others."""
        ...

    def reject(self, family: str, note: str = "") -> None:
        """Stop work on a family."""
        ...

    def prefer(self, which: str) -> None:
        """Tune families before the others."""
        ...

    def undo(self) -> None:
        """Take the last decision back."""
        ...

    def redo(self) -> None:
        """Repeat the decision that was taken back."""
        ...

    def select(self, subject: str) -> None:
        """Show something in every panel."""
        ...

    def withdraw(self, question: str = "") -> None:
        """Cancel a question."""
        ...

    def audit(self, subject: str, **how: Any) -> object:
        """Search a pruned region."""
        ...

    def what_if(self, **how: Any) -> object:
        """Search under other conditions."""
        ...

    def certify(self, candidate: str, tick: Tick) -> object:
        """Replay a proof."""
        ...

    def replay(self, candidate: str) -> object:
        """Run a counterexample again."""
        ...


def run_command(session: Commanded, name: str, arguments: Arguments) -> None:
    """Run one row of `COMMANDS`.

    Raises:
        ShapeError: no such command, or it is not possible.
    """
    if name not in COMMANDS:
        raise ShapeError(f"no command {name!r}")
    COMMANDS[name](session, arguments)


def _audit(session: Commanded, arguments: Arguments) -> None:
    subject, options = str(arguments.get("id", "")), _options(arguments)
    line = _python("audit", arguments)
    session.questions.submit("audit", subject, line, lambda tick: session.audit(subject, tick=tick, **options))


def _what_if(session: Commanded, arguments: Arguments) -> None:
    options = _options(arguments)
    line = _python("what_if", arguments)
    changes = line.removeprefix("sess.what_if(").removesuffix(")")
    session.questions.submit("what_if", changes, line, lambda tick: session.what_if(tick=tick, **options))


def _certify(session: Commanded, arguments: Arguments) -> None:
    subject = str(arguments.get("id", ""))
    line = _python("certify", arguments)
    session.questions.submit("certify", subject, line, lambda tick: session.certify(subject, tick))


def _replay(session: Commanded, arguments: Arguments) -> None:
    subject = str(arguments.get("id", ""))
    session.questions.submit("replay", subject, _python("replay", arguments), lambda _: session.replay(subject))


def _options(arguments: Arguments) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if name != "id"}


def _python(command: str, arguments: Arguments) -> str:
    """The line of Python that does the same."""
    subject = str(arguments.get("id", ""))
    given = [*([repr(subject)] if subject else []), *(f"{k}={v!r}" for k, v in _options(arguments).items())]
    return f"sess.{command}({', '.join(given)})"


COMMANDS: Mapping[str, Callable[[Commanded, Arguments], object]] = {
    "step": lambda sess, a: sess.request_steps(int(a.get("n", 1)), a.get("grain", "event")),
    "start": lambda sess, _: sess.start(),
    "resume": lambda sess, _: sess.start(),
    "pause": lambda sess, _: sess.pause(),
    "cancel": lambda sess, _: sess.cancel(),
    "undo": lambda sess, _: sess.undo(),
    "redo": lambda sess, _: sess.redo(),
    "accept": lambda sess, a: sess.accept(a["id"], a.get("note", "")),
    "reject": lambda sess, a: sess.reject(a["id"], a.get("note", "")),
    "prefer": lambda sess, a: sess.prefer(str(a["id"])),
    "select": lambda sess, a: sess.select(a["id"]),
    "audit": _audit,
    "what_if": _what_if,
    "certify": _certify,
    "replay": _replay,
    "withdraw": lambda sess, a: sess.withdraw(a["id"]),
}
