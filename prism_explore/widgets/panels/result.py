"""The overview: the statement of what the search has shown, and its counts."""

from __future__ import annotations

from prism_explore.events.claim import shown_claim
from prism_explore.widgets.panels.context import Context
from prism_explore.widgets.panels.sections import Card, Inspector, Link


def overview(ref: str, context: Context) -> Inspector | None:
    """The inspector without a selection: the result, the counts, and the near misses of a search without a proof."""
    if ref or not context.events.count:
        return None
    ledger = context.ledger
    misses = ledger.near_misses
    nearest = Card(
        "near misses",
        "unknown",
        "The candidates that came furthest, nearest first, and the restriction that stopped each.",
        details=tuple(
            (m.subject, f"{m.description}." + (f" Passes if {m.reopens}." if m.reopens else "")) for m in misses
        ),
    )
    n = ledger.funnel
    counts = (
        ("nodes expanded", n.expanded), ("subtrees pruned", n.pruned), ("families", n.families),
        ("maps forbidden", n.maps_rejected), ("candidates", n.candidates), ("proved", n.proved),
        ("unknown", n.unknown), ("refuted", n.refuted), ("trials timed", n.measured),
    )  # fmt: skip
    return Inspector(
        "",
        "Result" if ledger.finished is not None else "The result so far",
        "badge-best" if ledger.best is not None else "proved" if n.proved else "frontier",
        description=(shown_claim(ledger),),
        details=tuple((name, f"{count:,}") for name, count in counts),
        cards=(nearest,) if misses else (),
        links=tuple(Link(m.subject, m.subject) for m in misses),
    )
