"""`Session.best`: a call is the best kernel, and without a call it prints the answer so far and what to call next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Literal, TypeAlias

from prism_explore.events.claim import shown_claim
from prism_explore.events.ledger import Ledger
from prism_explore.runtime.best import Best
from prism_explore.runtime.no_improvement import NoImprovement
from prism_explore.session.engine import State

When: TypeAlias = Literal["now", "end", "all rivals"]
"""When `Session.best` answers."""


@dataclass(frozen=True, slots=True, repr=False)
class BestQuery:
    """The answer of a session as far as it is known, and a call that returns it.

    Example:
        >>> import prism_explore as px
        >>> program = px.parse_program('''program twice
        ...   x = input f32[b, 8]
        ...   %1 = add(x, x)
        ...   return %1''')
        >>> px.Session(program, target="cpu", at={"b": 4}).best
        The search has not begun. sess.best() runs it to its end and returns the best kernel.
    """

    answer: Callable[[When], Best | NoImprovement | None]
    state: State
    """Of the session, when it was asked for `best`."""
    ledger: Callable[[], Ledger]
    """Of the events so far; read when the answer is printed."""

    def __call__(self, when: When = "end") -> Best | NoImprovement | None:
        """The fastest checked kernel, or torch where torch was faster; runs the search to its end first.

        Printing it says which of the two a call runs. Its time, the baselines' times and the machine's limit were
        measured in one interleaved run. Where every candidate was pruned because of `time_to_beat_s`, the result is a
        `NoImprovement`, which runs torch. Where no kernel was timed for another reason, it is None, and `claim` says
        how far the search came.

        Args:
            when: "end", after the search. "now", the answer so far, which also works while the search runs in the
                background; before the final race it has no baselines. "all rivals", after a race that waits for every
                baseline, also for one that takes longer to compile than the search; its row says "not waited for"
                otherwise.

        Returns:
            The kernel, a `NoImprovement`, or None.

        Raises:
            ShapeError: `when` is none of them.
        """
        return self.answer(when)

    def __repr__(self) -> str:
        return " ".join(self._sentences)

    def _repr_html_(self) -> str:
        return "".join(f"<p>{escape(sentence)}</p>" for sentence in self._sentences)

    @property
    def _sentences(self) -> tuple[str, ...]:
        """The claim, and what to call next."""
        book = self.ledger()
        claim = shown_claim(book)
        kernel = f"the kernel of {book.best.candidate}" if book.best is not None else ""
        match self.state:
            case "ready":
                return ("The search has not begun. sess.best() runs it to its end and returns the best kernel.",)
            case "running" | "paused":
                so_far = f"sess.best('now') returns {kernel}, " if kernel else ""
                return claim, f"The search is {self.state}: {so_far}sess.best() runs it to its end first."
            case "failed":
                return claim, "The search failed; sess.failure says why."
            case "finished" | "cancelled":
                code = kernel or ("the torch code" if book.nothing_faster is not None else "")
                if not code:
                    return claim, f"No kernel was timed, so sess.best() returns None.{_untimed(book)}"
                return claim, f"sess.best() returns {code}, which is called like the program."


def _untimed(book: Ledger) -> str:
    if not any(family.status == "proved" for family in book.families):
        return ""
    return " sess.on_gpu() returns a Triton kernel of a proved family, which is checked and not timed."
