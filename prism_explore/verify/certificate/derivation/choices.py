"""Choices of one attempt at a derivation, and which of them it asked about.

An attempt is a function of its statement and of the answers that it gets here. Another attempt at the same statement
that gets the same answers ends the same way, so it need not be made.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

Expansion: TypeAlias = Literal["no functions", "functions", "order", "root"]
"""The functions that are replaced by their definitions: none; all with a definition, and the absolute value by a root;
the same, with the absolute value by a maximum; the same as the second, and also max(a, b) by a root."""
EXPANSIONS: tuple[Expansion, ...] = ("no functions", "functions", "order", "root")
"""All of them, in the order of trial."""
Cuts: TypeAlias = Literal["own", "all", "joined", "values", "bands"]
"""What is split: sums and maxima at the borders of their own intervals; at those of all intervals of dims of the same
size; there, but of digits only the least significant, and axes that are only used as digits of one number are joined;
at those of all and, over at most `intervals.FEW_VALUES` values, between any two; or the same and also bands, into
diagonals, while an index is replaced by its value where an interval leaves it one."""
FEW_CUTS: tuple[Cuts, ...] = ("own", "all", "joined")
MANY_CUTS: tuple[Cuts, ...] = ("values", "bands")
"""Those that take long where dims are small."""


class Choices:
    """The expansion and the cuts of one attempt; remembers each question about them, with its answer."""

    def __init__(self, expansion: Expansion, cuts: Cuts) -> None:
        self._chosen = frozenset[Expansion | Cuts]({expansion, cuts})
        self._answers: dict[tuple[Expansion | Cuts, ...], bool] = {}

    def is_any(self, *options: Expansion | Cuts) -> bool:
        """Whether the choice is one of these options; ask only where the answer changes what is done."""
        if options not in self._answers:
            self._answers[options] = not self._chosen.isdisjoint(options)
        return self._answers[options]

    def expands(self) -> bool:
        """Whether any functions are replaced by their definitions."""
        return not self.is_any("no functions")

    def would_answer_like(self, tried: Choices) -> bool:
        """Whether all questions that an earlier attempt asked have the same answers here."""
        return all(answer != self._chosen.isdisjoint(options) for options, answer in tried._answers.items())
