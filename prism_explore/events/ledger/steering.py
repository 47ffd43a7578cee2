"""The user's steering decisions, kept as an undo history: accept, reject, prefer, restrict, undo, redo."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from prism_explore.events.kinds import Steered

Choice: TypeAlias = Literal["", "accepted", "rejected"]

_FAMILY = re.compile(r"f[0-9]+")


@dataclass(frozen=True, slots=True)
class Steering:
    """The steering steps in force, oldest first, and those that were undone."""

    standing: tuple[Steered, ...] = ()
    undone: tuple[Steered, ...] = ()
    """The steps that redo would restore, the next one last."""

    @property
    def choices(self) -> Mapping[str, Choice]:
        """Per subject, the last decision."""
        choices: dict[str, Choice] = {}
        for step in self.standing:
            if step.action in ("accept", "reject"):
                choices.pop(step.subject, None)
                choices[step.subject] = "accepted" if step.action == "accept" else "rejected"
        return choices

    @property
    def ranges(self) -> Mapping[str, tuple[int, int]]:
        """Per restricted tuning parameter, the least and the largest value that is tried; the last step counts."""
        steps = (step for step in self.standing if step.action == "restrict")
        return {step.subject: (step.values[0], step.values[1]) for step in steps}

    def prefers(self, family: str, text: str) -> bool:
        """Whether a family was preferred, by its id or by a text that its graph contains."""
        wanted = (step.subject for step in self.standing if step.action == "prefer")
        return any(w == family or (w in text and not _FAMILY.fullmatch(w)) for w in wanted)

    def named(self, choice: Choice) -> tuple[str, ...]:
        """Subjects with this choice."""
        return tuple(s for s, c in self.choices.items() if c == choice)

    def after(self, step: Steered) -> Steering:
        """The steering after one more step."""
        match step.action:
            case "undo":
                return Steering(self.standing[:-1], (*self.undone, *self.standing[-1:]))
            case "redo":
                return Steering((*self.standing, *self.undone[-1:]), self.undone[:-1])
            case "accept" | "reject" | "prefer" | "restrict":
                return Steering((*self.standing, step), ())
