"""The view of the e-class panel that the user has chosen: classes, e-graph or path, and what is marked in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

EGraphMode: TypeAlias = Literal["classes", "egraph", "path"]

MODES: Mapping[EGraphMode, tuple[str, str]] = {
    "classes": ("Classes", "Which tensors of program and candidate are equal."),
    "egraph": ("E-graph", "The e-graph of one lemma, frame by frame."),
    "path": ("Path", "How one term becomes an equal one, step by step."),
}
NODES = 150
"""Number of e-nodes that are drawn."""
MAX_NODES = 1_200
"""Largest number of e-nodes that can be asked for."""
MAX_STEP = 10_000


@dataclass(frozen=True, slots=True)
class EGraphView:
    """What the e-class panel shows."""

    path: bool = False
    """Whether it shows a path between two terms."""
    rule: str = ""
    """The axiom whose nodes are marked."""
    nodes: int = NODES
    start: str = ""
    """The tensor where the path starts; empty for the program's result."""
    end: str = ""
    step: int = 0
    """The step of the path that is shown; 0 for its start."""

    def changed(self, change: Mapping[str, Any]) -> EGraphView:
        """The view after a message from the browser; what is not understood changes nothing."""
        match change:
            case {"mode": str(mode)} if mode in get_args(EGraphMode):
                return replace(self, path=mode == "path")
            case {"rule": str(rule)}:
                return replace(self, rule="" if rule == self.rule else rule[:128])
            case {"more": True}:
                return replace(self, nodes=min(MAX_NODES, 2 * self.nodes))
            case {"start": str(start)}:
                return replace(self, start=start[:64], step=0)
            case {"end": str(end)}:
                return replace(self, end=end[:64], step=0)
            case {"step": int(step)} if 0 <= step <= MAX_STEP:
                return replace(self, step=step)
            case _:
                return self
