"""The commands that the explorer sends to a session: one row per command. None of them waits.

Slow commands (an audit, a what-if, a certificate, a counterexample that is run again) become questions, which are
answered in the background. `widgets.jupyter.live` has checked the arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from prism_explore.diagnose.jobs import Questions, Tick
from prism_explore.errors import ShapeError
from prism_explore.session.bookmarks import Bookmarks
from prism_explore.session.stepping import Grain

Arguments: TypeAlias = Mapping[str, Any]


class _Session(Protocol):
    """The methods of `Session` that commands call; `Session` imports this module, so it cannot be imported here."""

    @property
    def questions(self) -> Questions: ...
    def request_steps(self, n: int, grain: Grain) -> object: ...
    def start(self) -> object: ...
    def pause(self) -> None: ...
    def cancel(self) -> None: ...
    def accept(self, family: str | Sequence[str], note: str = "") -> None: ...
    def reject(self, family: str | Sequence[str], note: str = "") -> None: ...
    def prefer(self, which: str) -> None: ...
    def restrict(self, parameter: str, low: int, high: int) -> None: ...
    def bookmark(self, ref: str, note: str = "", at: int = 0) -> object: ...
    @property
    def bookmarks(self) -> Bookmarks: ...
    def undo(self) -> None: ...
    def redo(self) -> None: ...
    def select(self, subject: str) -> None: ...
    def withdraw(self, question: str = "") -> None: ...
    def audit(self, subject: str, **options: Any) -> object: ...
    def what_if(self, **options: Any) -> object: ...
    def certify(self, candidate: str, tick: Tick) -> object: ...
    def replay(self, candidate: str) -> object: ...
    def fork(self, at: int | None, note: str, tick: Tick) -> object: ...
    def adopt(self, question: str, tick: Tick) -> object: ...
    def time_again(self, tick: Tick) -> object: ...
    def compare(self, other: str) -> object: ...


def run_command(session: _Session, name: str, arguments: Arguments) -> None:
    """Run one row of `COMMANDS`.

    Raises:
        ShapeError: no such command, or it is not possible now.
    """
    if name not in COMMANDS:
        raise ShapeError(f"no command {name!r}")
    COMMANDS[name](session, arguments)


def _audit(session: _Session, arguments: Arguments) -> None:
    subject, options = str(arguments.get("id", "")), _options(arguments)
    line = _python("audit", arguments)
    session.questions.submit("audit", subject, line, lambda tick: session.audit(subject, tick=tick, **options))


def _what_if(session: _Session, arguments: Arguments) -> None:
    options = _options(arguments)
    line = _python("what_if", arguments)
    changes = line.removeprefix("sess.what_if(").removesuffix(")")
    session.questions.submit("what_if", changes, line, lambda tick: session.what_if(tick=tick, **options))


def _certify(session: _Session, arguments: Arguments) -> None:
    subject = str(arguments.get("id", ""))
    line = _python("certify", arguments)
    session.questions.submit("certify", subject, line, lambda tick: session.certify(subject, tick))


def _replay(session: _Session, arguments: Arguments) -> None:
    subject = str(arguments.get("id", ""))
    session.questions.submit("replay", subject, _python("replay", arguments), lambda _: session.replay(subject))


def _fork(session: _Session, arguments: Arguments) -> None:
    at, note = arguments.get("at"), str(arguments.get("note", ""))
    line = f"sess = {_python('fork', arguments)}"
    subject = f"event {at:,}" if at is not None else "the present"
    session.questions.submit("fork", subject, line, lambda tick: session.fork(at, note, tick), at_once=True)


def _adopt(session: _Session, arguments: Arguments) -> None:
    subject = str(arguments.get("id", ""))
    line = f"sess = {_python('adopt', arguments)}"
    session.questions.submit("adopt", subject, line, lambda tick: session.adopt(subject, tick), at_once=True)


def _time_again(session: _Session, _: Arguments) -> None:
    line = "sess = sess.time_again()"
    session.questions.submit("fork", "the first trial", line, session.time_again, at_once=True)


def _compare(session: _Session, arguments: Arguments) -> None:
    subject = str(arguments.get("id", ""))
    line = _python("compare", arguments)
    session.questions.submit("compare", subject, line, lambda _: session.compare(subject), at_once=True)


def _options(arguments: Arguments) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if name != "id"}


def _python(command: str, arguments: Arguments) -> str:
    """The line of Python that does the same."""
    subject = str(arguments.get("id", ""))
    options = [f"{name}={value!r}" for name, value in _options(arguments).items()]
    return f"sess.{command}({', '.join([repr(subject), *options] if subject else options)})"


COMMANDS: Mapping[str, Callable[[_Session, Arguments], object]] = {
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
    "restrict": lambda sess, a: sess.restrict(a["parameter"], a["low"], a["high"]),
    "select": lambda sess, a: sess.select(a["id"]),
    "bookmark": lambda sess, a: sess.bookmark(a["id"], a.get("note", ""), a.get("at", 0)),
    "edit_bookmark": lambda sess, a: sess.bookmarks.edit(a["id"], a.get("note", "")),
    "delete_bookmark": lambda sess, a: sess.bookmarks.delete(a["id"]),
    "undo_bookmark": lambda sess, _: sess.bookmarks.undo(),
    "restore_bookmark": lambda sess, a: sess.bookmarks.restore(a["id"]),
    "audit": _audit,
    "what_if": _what_if,
    "certify": _certify,
    "replay": _replay,
    "fork": _fork,
    "adopt": _adopt,
    "time_again": _time_again,
    "compare": _compare,
    "withdraw": lambda sess, a: sess.withdraw(a["id"]),
}
