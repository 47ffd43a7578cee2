"""The tabs of the Code panel, and what the user chose there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

Tab: TypeAlias = Literal["program", "sgraph", "loops", "cpu", "triton", "llvm", "assembly"]

TABS: Mapping[Tab, tuple[str, str]] = {
    "program": ("Program", "The tensor program that is optimized."),
    "sgraph": ("sGraph", "The graph of the family or candidate as text."),
    "loops": ("Loops", "The graph as a loop nest with symbolic sizes."),
    "cpu": ("CPU source", "The loops of the CPU kernel at chosen sizes, with its schedule."),
    "triton": ("Triton", "The Triton kernel at chosen sizes."),
    "llvm": ("LLVM", "The LLVM text of the CPU kernel."),
    "assembly": ("Assembly", "The machine instructions of the CPU kernel."),
}
"""Per tab, its label and its tooltip."""
SLOW_TABS: frozenset[Tab] = frozenset({"llvm", "assembly"})
"""Tabs that are computed when they are chosen."""


@dataclass(frozen=True, slots=True)
class CodeView:
    """What the Code panel shows."""

    tab: Tab | None = None
    """None for the generated source, or the sGraph while there is none."""
    other: str = ""
    """The family or candidate that the subject is compared with; empty for none."""
    ready: int = 0
    """Number of slow texts that have been computed so far."""

    def changed(self, change: Mapping[str, Any]) -> CodeView:
        """The view after a message from the browser; what is not understood changes nothing."""
        match change:
            case {"tab": str(tab)} if tab in get_args(Tab):
                return replace(self, tab=tab)
            case {"other": str(other)}:
                return replace(self, other=other[:64])
            case _:
                return self


DEFAULT_CODE = CodeView()
