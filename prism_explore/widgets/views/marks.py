"""Marks of the search map: a letter per pruning reason, a pattern per soundness, an outline per family status."""

from __future__ import annotations

from prism_explore.events.kinds import Soundness
from prism_explore.events.ledger import FamilyRow
from prism_explore.widgets.scene import Outline

LETTERS: dict[str, str] = {
    "dominated.by": "B",
    "map.constraint": "P",
    "budget.nodes": "$",
    "budget.families": "$",
    "budget.time": "$",
}
"""Per reason code; the other codes have their first letter. Letters only, because many fonts lack symbols."""
PRUNED_KINDS: dict[Soundness, str] = {
    "sound": "pruned-sound",
    "heuristic": "pruned-heuristic",
    "budget": "pruned-budget",
    "user": "pruned-user",
}
"""Style of what was pruned, per soundness of the rule."""
FAMILY_OUTLINES: dict[str, Outline] = {
    "proved": "diamond",
    "unknown": "hexagon",
    "refuted": "square",
    "family": "circle",
    "pruned-user": "triangle",
    "pruned-sound": "triangle",
}
LEGEND: tuple[tuple[str, Outline, str], ...] = (
    ("frontier", "rect", "open"),
    ("pruned-sound", "rect", "pruned, sound"),
    ("pruned-heuristic", "rect", "pruned by a heuristic"),
    ("pruned-budget", "rect", "pruned by budget"),
    ("pruned-user", "rect", "rejected by you"),
    ("aggregate", "rect", "several nodes"),
    ("collapsed", "rect", "collapsed by you"),
    ("family", "circle", "family"),
    ("proved", "diamond", "proved"),
    ("unknown", "hexagon", "unknown"),
    ("refuted", "square", "refuted"),
    ("badge-accepted", "circle", "accepted by you"),
    ("badge-best", "star", "best"),
)
"""Style, outline and text of every mark."""


def letter_of(code: str, soundness: Soundness) -> str:
    """The letter of a pruning reason; an h follows it if the rule is a heuristic."""
    return LETTERS.get(code, code[:1].upper()) + ("h" if soundness == "heuristic" else "")


def mark_kind(row: FamilyRow) -> str:
    """The style of a family: a decision of the user comes before the verdict."""
    if row.choice == "rejected":
        return "pruned-user"
    if row.status == "impossible":
        return "pruned-sound"
    return "family" if row.status == "open" else row.status
