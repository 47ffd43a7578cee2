"""The view of the search map that the user has chosen: its mode, what is collapsed, and what is marked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

MapMode: TypeAlias = Literal["icicle", "tree", "reasons", "time", "similar"]

MODES: Mapping[MapMode, tuple[str, str]] = {
    "icicle": ("Icicle", "The search tree as blocks: as wide as the number of leaves below."),
    "tree": ("Tree", "The search tree as nodes and links; subtrees without a family are collapsed."),
    "reasons": ("Reasons", "What was pruned: by reason, then by operator, then by node."),
    "time": ("Time", "The events from left to right: expansions, prunings, families, verdicts, trials."),
    "similar": ("Similar", "Subtrees with the same operators and reasons, by number and size."),
}
"""Per mode, its label and its tooltip."""
MAX_TOGGLED = 2_000
"""Largest number of ids that the user has opened or closed; the oldest are forgotten."""


@dataclass(frozen=True, slots=True)
class MapView:
    """What the search map shows."""

    mode: MapMode = "icicle"
    opened: tuple[str, ...] = ()
    """Ids that the user expanded, oldest first."""
    closed: tuple[str, ...] = ()
    """Ids that the user collapsed, oldest first."""
    similar: bool = False
    """Whether everything with the shape of the selection is marked."""
    interval: tuple[int, int] | None = None
    """First and last event that the mode over time shows; None for all."""

    def changed(self, change: Mapping[str, Any]) -> MapView:
        """The view after a message from the browser; what is not understood changes nothing."""
        match change:
            case {"mode": str(mode)} if mode in get_args(MapMode):
                return replace(self, mode=mode, similar=self.similar or mode == "similar")
            case {"open": str(ref)}:
                return replace(self, opened=_with(self.opened, ref), closed=_without(self.closed, ref))
            case {"close": str(ref)}:
                return replace(self, closed=_with(self.closed, ref), opened=_without(self.opened, ref))
            case {"similar": bool(similar)}:
                return replace(self, similar=similar)
            case {"interval": [int(first), int(last)]} if 0 <= first < last:
                return replace(self, interval=(first, last))
            case {"interval": []}:
                return replace(self, interval=None)
            case _:
                return self

    def is_open(self, ref: str, default: bool) -> bool:
        """Whether an id is expanded."""
        return ref in self.opened or (default and ref not in self.closed)


def _with(ids: tuple[str, ...], ref: str) -> tuple[str, ...]:
    return (*_without(ids, ref), ref[:128])[-MAX_TOGGLED:]


def _without(ids: tuple[str, ...], ref: str) -> tuple[str, ...]:
    return tuple(i for i in ids if i != ref)
