"""An exercise: a question, a judge of answers, the hints for wrong answers that are common, and hints on request.

The judge computes what is right, so that every right answer passes. An answer in which something is left blank, `...`
or a `?` of an sGraph, is told so. Nothing that an answer does is an error of the notebook: what a judge raises is what
was found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from prism_explore.entry.equivalence.rows import Row, as_html, as_text
from prism_explore.errors import PrismError

State: TypeAlias = Literal["right", "wrong", "not yet"]
LONGEST_FOUND = 800
"""Characters of what was found in an answer that cannot be judged."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a judge found of one answer."""

    right: bool
    found: str
    """What the answer is or does, as a sentence."""
    counters: Mapping[str, int]
    """Figures that were computed on the way, by their names."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """A wrong answer that is common, and the hint that fits it."""

    sample: Any
    """One such answer."""
    hint: str
    fits: Callable[[Any], bool] | None = None
    """Whether an answer is such a one; None for those that are equal to the sample."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of a check, for a notebook and a terminal."""

    exercise: str
    state: State
    expected: str
    found: str = ""
    counted: str = ""
    """Figures that were computed on the way."""
    hint: str = ""
    real: str = ""
    """For a right answer, what does it for real."""

    @property
    def rows(self) -> tuple[Row, ...]:
        """What is printed below the state."""
        texts = (
            ("expected", self.expected),
            ("found", self.found),
            ("counted", self.counted),
            ("hint", self.hint),
            ("for real", self.real),
        )
        return tuple(Row(label, text) for label, text in texts if text)

    def __str__(self) -> str:
        return as_text(f"exercise {self.exercise}: {self.state}", self.rows)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return as_html(f"exercise {self.exercise}: {self.state}", self.rows)


@dataclass(frozen=True, slots=True)
class Exercise:
    """An exercise of a notebook.

    Example:
        >>> import prism_explore as px
        >>> print(px.exercise("02-a").check(...))
        exercise 02-a: not yet
          expected   a number of programs
          hint       Put your answer in place of the blank. px.exercise("02-a").hint(1) gives a first hint.
    """

    id: str
    """Number of the notebook and a letter, such as `01-a`."""
    question: str
    """What is asked, as a sentence."""
    expected: str
    """What an answer is, in a few words."""
    judge: Callable[[Any], Judgement]
    """Computes what is right and compares an answer with it."""
    mistakes: tuple[Mistake, ...]
    """Common wrong answers; the first that fits gives the hint."""
    hints: tuple[str, ...]
    """From a nudge to nearly the answer."""
    real: str
    """The module of the package that does it for real."""

    def check(self, answer: Any) -> Checked:
        """Judge an answer.

        Args:
            answer: what `expected` says; `...` while there is none.

        Returns:
            Whether it is right, what was expected and found, and a hint; a table in a notebook, lines as text.
        """
        if is_blank(answer):
            asked = f'Put your answer in place of the blank. px.exercise("{self.id}").hint(1) gives a first hint.'
            return Checked(self.id, "not yet", self.expected, hint=asked)
        try:
            judged = self.judge(answer)
        except PrismError as error:
            return Checked(self.id, "wrong", self.expected, _shortened(str(error)), hint=self._hint_for(answer))
        except Exception as error:  # an answer may be any code
            what = "None" if answer is None else f"an answer of the type {type(answer).__name__}"
            found = _shortened(f"{what}, which has another form ({type(error).__name__}: {error})")
            return Checked(self.id, "wrong", self.expected, found, hint=self._hint_for(answer))
        counted = ", ".join(f"{name}: {count:,}" for name, count in judged.counters.items())
        if judged.right:
            return Checked(self.id, "right", "", judged.found, counted, real=self.real)
        return Checked(self.id, "wrong", self.expected, judged.found, counted, self._hint_for(answer))

    def _hint_for(self, answer: Any) -> str:
        """The hint for a mistake, else how to get one."""
        for mistake in self.mistakes:
            try:
                if answer == mistake.sample if mistake.fits is None else mistake.fits(answer):
                    return mistake.hint
            except Exception:  # an answer of another kind is no such mistake
                continue
        return f'px.exercise("{self.id}").hint(1) gives a first hint.'

    def hint(self, number: int) -> str:
        """One of the hints.

        Args:
            number: from 1 on; beyond the last one, the last one.

        Returns:
            One or two sentences.

        Raises:
            PrismError: the number is not positive.
        """
        if number < 1:
            raise PrismError(f"hints of exercise {self.id} have the numbers 1 to {len(self.hints)}, found {number}")
        return self.hints[min(number, len(self.hints)) - 1]


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_FOUND else f"{text[: LONGEST_FOUND - 4]} ..."


def is_blank(answer: Any) -> bool:
    """Whether something is left blank in an answer: `...`, or a `?` in an sGraph."""
    match answer:
        case str():
            return not answer.strip() or "?" in answer
        case dict():
            return any(map(is_blank, answer.values()))  # pyright: ignore[reportUnknownArgumentType]
        case list() | tuple() | set():
            return any(map(is_blank, answer))  # pyright: ignore[reportUnknownArgumentType]
        case _:
            return answer is ...
