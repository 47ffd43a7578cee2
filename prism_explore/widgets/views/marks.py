"""Marks of the search map: a letter per pruning reason, a pattern per soundness, an outline per family status."""

from __future__ import annotations

from prism_explore.events.kinds import Soundness
from prism_explore.events.ledger import FamilyRow
from prism_explore.widgets.scene import Outline

LETTERS: dict[str, str] = {
    "expr.unreachable": "E",
    "dup.canonical": "D",
    "shape.mismatch": "S",
    "map.constraint": "P",
    "mem.smem": "M",
    "mem.regs": "R",
    "par.limits": "L",
    "dominated.by": "B",
    "verify.unknown": "?",
    "verify.refuted": "✕",
    "tune.illegal": "I",
    "tune.slower": "T",
    "budget.": "$",
    "user.reject": "U",
}
"""Per reason code; letters only, because many fonts lack symbols."""
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
    ("family", "circle", "family"),
    ("proved", "diamond", "proved"),
    ("unknown", "hexagon", "unknown"),
    ("refuted", "square", "refuted"),
    ("badge-accepted", "circle", "accepted by you"),
    ("badge-best", "star", "best"),
)
"""Style, outline and text of every mark."""


def letter_of(code: str, soundness: Soundness) -> str:
    """The letter of a pruning reason; an h follows it where the rule is a heuristic."""
    known = LETTERS.get(code) or next((v for k, v in LETTERS.items() if k.split(".")[0] == code.split(".")[0]), "")
    return (known or code[:1].upper() or "?") + ("h" if soundness == "heuristic" else "")


def mark_kind(row: FamilyRow) -> str:
    """The style of a family: a decision of the user comes before the verdict."""
    if row.choice == "rejected":
        return "pruned-user"
    if row.status == "impossible":
        return "pruned-sound"
    return "family" if row.status == "open" else row.status
