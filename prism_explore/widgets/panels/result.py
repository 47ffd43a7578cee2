"""The result so far: the best kernel with its time, and the statement of what the search has shown."""

from __future__ import annotations

from prism_explore.events.claim import claim
from prism_explore.events.format import seconds_text
from prism_explore.events.ledger import Ledger
from prism_explore.widgets.panels.context import Context
from prism_explore.widgets.panels.sections import Card, Incumbent, Inspector, Link


def incumbent(ledger: Ledger) -> Incumbent | None:
    """The best kernel so far; after a search without an improvement, the baseline."""
    best = ledger.best
    if (held := ledger.nothing_faster) and ledger.finished and held.baseline:
        notes = (
            f"{held.baseline}, measured first",
            f"no candidate is faster: {held.nearest} at {held.bound} (modelled)",
        )
        return Incumbent(held.nearest, held.time_to_beat, notes)
    if best is None or best.time_s is None:
        return None
    notes = ["measured"]
    if by := ledger.faster_baseline:
        notes.append(f"{by.baseline.name} was faster: best() runs it")
    baselines = {b.name: b for b in ledger.final_race if b.samples}
    if "roofline" in baselines:
        notes.append(f"{baselines['roofline'].ratio:.0%} of roofline (measured)")
    elif best.floor_s:
        notes.append(f"{best.floor_s / best.time_s:.0%} of roofline (modelled)")
    notes += [f"{b.ratio:.2g}× {name}" for name, b in baselines.items() if b.ratio and name.startswith("torch")]
    return Incumbent(best.trial, seconds_text(ledger.best_s or best.time_s), tuple(notes[:4]))


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
        ("nodes expanded", n.expanded), ("regions pruned", n.pruned), ("families", n.families),
        ("maps forbidden", n.maps_rejected), ("candidates", n.candidates), ("proved", n.proved),
        ("unknown", n.unknown), ("refuted", n.refuted), ("trials timed", n.measured),
    )  # fmt: skip
    return Inspector(
        "",
        "The result so far",
        "badge-best" if ledger.best is not None else "proved" if n.proved else "frontier",
        description=(claim(ledger),),
        details=tuple((name, f"{count:,}") for name, count in counts),
        cards=(nearest,) if misses else (),
        links=tuple(Link(m.subject, m.subject) for m in misses),
    )
