"""The bar on top of the explorer: what is searched, the state and phase of the search, counts, and the result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from prism_explore.diagnose.evidence import VERDICT_SENTENCES
from prism_explore.events.claim import shown_claim
from prism_explore.events.ledger import Ledger
from prism_explore.events.phases import PHASES
from prism_explore.widgets.drawing.text_metrics import shorten
from prism_explore.widgets.jupyter.live import State
from prism_explore.widgets.panels.context import Context, SearchInfo
from prism_explore.widgets.panels.event_text import log_line
from prism_explore.widgets.panels.sections import Counter, Phase, Transport

MAX_LAST_CHARACTERS = 80
"""Length of the last event in the sentences above an earlier state; the log has all of it."""
PHASE_TEXT: Mapping[str, str] = {
    "generate": "Extend partial sGraphs operator by operator, and prune those that cannot be a result.",
    "instantiate": "Choose how each dim is partitioned: imap, omap, fmap.",
    "verify": "Prove a candidate equal to the program, refute it, or report unknown.",
    "tune": "Choose parameter values for proved candidates, and time the kernels.",
}


def transport(context: Context) -> Transport:
    """The section of the bar."""
    search, ledger, events = context.search, context.ledger, context.events
    cursor = context.view.cursor
    n = ledger.funnel
    counters = (
        Counter("proved", "proved", f"{n.proved:,}", VERDICT_SENTENCES["proved"]),
        Counter("unknown", "unknown", f"{n.unknown:,}", VERDICT_SENTENCES["unknown"]),
        Counter("refuted", "refuted", f"{n.refuted:,}", "Candidates that are not equal to the program."),
        Counter(
            "pruned-sound", "subtrees pruned", f"{n.pruned:,}", "Subtrees of the search tree that were not searched."
        ),
    )
    last = log_line(events.log[-1].event).text if events.log else "The search has not started. Press . for one step."
    finished = search.state == "finished" and not cursor
    interrupted = None if events.log else search.interrupted
    total = max(search.count, events.count)
    return Transport(
        search.program.name,
        _target_text(search),
        search.state,
        total,
        cursor,
        past_notice(events.count, total, last) if cursor else "",
        tuple(Phase(p, p == events.phase and not finished, PHASE_TEXT[p]) for p in PHASES),
        counters,
        () if cursor else _enabled(search.state, ledger),
        # One line of the page: the panels have the other sentences of the claim.
        f"{shown_claim(ledger).partition('. ')[0].rstrip('.')}." if finished else last,
        search.saved_as,
        str(interrupted) if interrupted is not None else "",
        interrupted.line if interrupted is not None else "",
    )


def past_notice(count: int, total: int, last: str) -> str:
    """The sentences above the panels of an earlier state.

    Args:
        count: number of events that are shown.
        total: number of all events.
        last: the last event that is shown, as a line of the log.
    """
    return (
        f"Earlier state, event {count:,} of {total:,} ({shorten(last.rstrip('.'), MAX_LAST_CHARACTERS)}). "
        "The search is not changed; steering is disabled."
    )


def _target_text(search: SearchInfo) -> str:
    return f"on {search.target}" + (f" at {search.sizes}" if search.sizes else "")


def _enabled(state: State, ledger: Ledger) -> tuple[str, ...]:
    """Names of the commands that have an effect."""
    match state:
        case "ready":
            commands = ["step", "start", "cancel"]
        case "paused":
            commands = ["step", "resume", "cancel"]
        case "running":
            commands = ["pause", "cancel"]
        case "finished" | "cancelled" | "failed":
            commands = []
        case _:
            assert_never(state)
    commands += ["undo"] if ledger.steering.standing else []
    commands += ["redo"] if ledger.steering.undone else []
    return tuple(commands)
