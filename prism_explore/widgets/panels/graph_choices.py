"""What the user chose to see in the sGraph panel: expanded, collapsed and entered kernels, or the program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

MAX_REF_CHARACTERS = 64
MAX_CHOICES = 512
"""Largest number of kernels whose choice is kept; the oldest is dropped."""


@dataclass(frozen=True, slots=True)
class GraphChoices:
    """The choices for all graphs; the key of a kernel is its ref, such as f5.c2/k3."""

    expanded: tuple[tuple[str, bool], ...] = ()
    """Per kernel that the user expanded or collapsed, whether it is expanded."""
    collapse: bool = False
    """Whether the other kernels are collapsed, whatever the size of the graph."""
    entered: str = ""
    """The kernel that is shown alone; empty for none."""
    program: bool = False
    """Whether the program is shown in place of the candidate."""

    def after(self, message: Mapping[str, Any]) -> GraphChoices:
        """The choices after a message from the browser; a message of another form changes nothing."""
        match message:
            case {"kernels": refs, "expanded": bool(expanded)} if isinstance(refs, list):
                known = dict(self.expanded)
                for ref in cast("list[object]", refs)[:MAX_CHOICES]:
                    if isinstance(ref, str):
                        known[ref[:MAX_REF_CHARACTERS]] = expanded
                return replace(self, expanded=tuple(known.items())[-MAX_CHOICES:])
            case {"entered": str(entered)}:
                return replace(self, entered=entered[:MAX_REF_CHARACTERS], program=False)
            case {"program": bool(program)}:
                return replace(self, program=program, entered="")
            case _:
                return self


NO_CHOICES = GraphChoices()
ALL_COLLAPSED = GraphChoices(collapse=True)
