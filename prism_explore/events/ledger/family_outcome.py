"""The outcome of a family: the best one, or why it is not: rejected, not proved, unsafe, slower, failed, not timed.

Input: the row of a family and the ledger of its search. `OUTCOMES` has one row per outcome; the first that applies is
the outcome of the family. Tables, inspectors and `why()` all use it, so that they give the same reason.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from prism_explore.events.format import count_text, factor_text, seconds_text, why_tuning_ended
from prism_explore.events.kinds import Reason
from prism_explore.events.ledger.rows import FamilyRow, Ledger

OutcomeCode: TypeAlias = Literal[
    "best",
    "rejected",
    "impossible",
    "not instantiated",
    "refuted",
    "unknown",
    "no verdict",
    "unsafe",
    "slower",
    "failed",
    "pending",
    "bounded",
    "dominated",
    "not reached",
]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Why a family is the best, or why it was not timed or is not offered."""

    code: OutcomeCode
    short: str
    """A few words, for a table."""
    sentence: str
    by: str = ""
    """The id of what beat or excluded it; empty if it has none."""
    details: tuple[tuple[str, str], ...] = ()
    """The evidence: name, value."""
    reason: Reason | None = None
    """The rule that excluded it, with its formula; None if no rule did."""


def outcome(row: FamilyRow, book: Ledger) -> Outcome:
    """The outcome of a family.

    Args:
        row: the family.
        book: the ledger of its search.
    """
    return next(found for explain in OUTCOMES if (found := explain(row, book)) is not None)


def best_first(book: Ledger) -> tuple[FamilyRow, ...]:
    """The families: the best one, the other timed ones by time, then proved, unknown, undecided and refuted ones.

    Those that were not timed are in the order of their modelled lower bounds, as far as these are known. Families that
    the user rejected come last.
    """
    ranks = {"proved": 1, "unknown": 2, "open": 3, "refuted": 4, "impossible": 5}

    def key(row: FamilyRow) -> tuple[bool, int, float, int]:
        untimed_s = math.inf if row.floor_s is None else row.floor_s
        timed = row.best is not None and row.best.time_s is not None
        rank = 6 if row.choice == "rejected" else 0 if timed else ranks[row.status]
        # The race is not comparable with the trials of other families, so the trial decides.
        time_s = row.best.time_s if row.best is not None and row.best.time_s is not None else untimed_s
        return not row.is_best, rank, time_s, int(re.sub(r"\D", "", row.family) or 0)

    return tuple(sorted(book.families, key=key))


# ---------------------------------------------------------------- the rows
def _best(row: FamilyRow, book: Ledger) -> Outcome | None:
    best = book.best
    if not row.is_best or best is None or best.kernel_time is None:
        return None
    text = f"It has the fastest kernel, {best.trial} of {best.candidate}: {best.kernel_time}."
    faster = book.faster_baseline
    extra = f" Torch was faster in the final race: {faster}." if faster is not None else ""
    return Outcome("best", "the best", text + extra, best.trial)


def _rejected(row: FamilyRow, book: Ledger) -> Outcome | None:
    if row.choice != "rejected":
        return None
    steps = [s for s in book.steering.standing if s.subject == row.family and s.action == "reject"]
    details = tuple(("by", s.python) for s in steps[-1:]) + tuple(("note", s.note) for s in steps[-1:] if s.note)
    return Outcome(
        "rejected", "rejected by you", "You rejected it, so it is not offered; undo brings it back.", "", details
    )


def _impossible(row: FamilyRow, _: Ledger) -> Outcome | None:
    if row.status != "impossible":
        return None
    count = count_text(row.maps_rejected, "choice of maps is", "choices of maps are")
    text = f"It has no candidate: {count} forbidden, and no other is left."
    example = row.forbidden
    if example is None:
        return Outcome("impossible", "no legal maps", text)
    details = (
        ("for example", ", ".join(example.uses) or "no partition"),
        ("forbidden because", example.reason.sentence),
    )
    return Outcome("impossible", "no legal maps", text, "", details)


def _not_instantiated(row: FamilyRow, book: Ledger) -> Outcome | None:
    if row.candidates:
        return None
    return Outcome(
        "not instantiated", "maps not chosen", f"Its maps were not chosen: {_end(book, 'the search found none')}."
    )


def _refuted(row: FamilyRow, _: Ledger) -> Outcome | None:
    if row.status != "refuted" or row.verdict is None:
        return None
    text = f"It is not equal to the program: {_all(row.refuted)} refuted."
    return Outcome("refuted", "refuted", text, row.verdict.candidate, ((row.verdict.candidate, row.verdict.detail),))


def _unknown(row: FamilyRow, _: Ledger) -> Outcome | None:
    if row.status != "unknown" or row.verdict is None:
        return None
    short = "not proved: time spent" if row.verdict.budget else "not proved"
    count = count_text(row.unknown, "candidate is", "candidates are")
    text = f"Only proved families are timed. {count} neither proved nor refuted; it may still be equal."
    return Outcome("unknown", short, text, row.verdict.candidate, ((row.verdict.candidate, row.verdict.detail),))


def _no_verdict(row: FamilyRow, book: Ledger) -> Outcome | None:
    if row.status == "proved":
        return None
    return Outcome(
        "no verdict",
        "no verdict",
        f"Only proved families are timed, and it has no verdict: {_end(book, 'none was reached')}.",
    )


def _unsafe(row: FamilyRow, book: Ledger) -> Outcome | None:
    assessed = book.floats.get(row.family)
    if assessed is None or row.family not in book.withheld:
        return None
    text = (
        f"It is proved over the real numbers and unsafe in {assessed.dtype}, so it is not offered: {assessed.detail}. "
        "Accept it to have it all the same."
    )
    return Outcome(
        "unsafe", "unsafe in floats", text, assessed.candidate, tuple(("because", r) for r in assessed.reasons)
    )


def _slower(row: FamilyRow, book: Ledger) -> Outcome | None:
    own, best = row.best, book.best
    if own is None or best is None or own.time_s is None or best.time_s is None:
        return None
    longer = own.time_s / best.time_s - 1
    by = f"{best.trial} of {best.candidate}"
    if longer < 0.0005:
        short, text = f"no faster than {best.family}", f"Its fastest kernel was no faster than {by} in common rounds."
    else:
        short, text = _margin(longer, by)
    details = tuple(
        (f"{t.trial} of {t.candidate}", f"{seconds_text(t.time_s)} in its trial")
        for t in (own, best)
        if t.time_s is not None
    )
    return Outcome(
        "slower", short, f"{text} Both times are from tuning, where they are comparable.", best.trial, details
    )


def _margin(longer: float, by: str) -> tuple[str, str]:
    """How much longer the fastest kernel took than the best one, in two words and as a sentence."""
    if longer >= 1:
        times = factor_text(longer + 1)
        return f"{times} as long", f"Its fastest kernel took {times} as long as {by}."
    percent = f"{longer:.1%}" if longer < 0.1 else f"{longer:.0%}"
    return f"lost by {percent}", f"Its fastest kernel took {percent} longer than {by}."


def _failed(row: FamilyRow, _: Ledger) -> Outcome | None:
    if not row.trials or row.failed < row.trials or row.failure is None:
        return None
    count = "its one trial" if row.trials == 1 else f"each of its {row.trials} trials"
    text = f"No kernel of it was timed: {count} failed, most often because {_inner(row.failure.sentence)}."
    return Outcome("failed", f"no kernel: {row.failure.code}", text, reason=row.failure)


def _pending(row: FamilyRow, book: Ledger) -> Outcome | None:
    if not row.trials:
        return None
    if book.finished is None:
        return Outcome("pending", "being timed", "A kernel of it is being compiled, compared and timed.")
    return Outcome("pending", "trial not finished", f"Its trial was not finished: {_end(book)}.")


def _bounded(row: FamilyRow, _: Ledger) -> Outcome | None:
    if (bound := row.bound) is None:
        return None
    own, limit = seconds_text(bound.floor_s), seconds_text(bound.best_s)
    rival = next((key for key in bound.reason.substitution if key.startswith("time ")), "")
    whose = f", the {rival}" if rival else ""
    text = f"It was not timed: its modelled lower bound, {own}, is not below {limit}{whose}."
    by = rival.removeprefix("time of ") if rival.startswith("time of ") else bound.candidate
    return Outcome("bounded", f"bound {own}, not below {limit}", text, by, reason=bound.reason)


def _dominated(row: FamilyRow, book: Ledger) -> Outcome | None:
    event = row.dominated
    if event is None or not row.dominated_by:
        return None
    in_model = f"In the cost model, {event.by} costs no more for all sizes, which is no proof about time."
    if event.left_out:
        text = f"It was not tuned. {in_model}"
        return Outcome("dominated", f"dominated by {event.by}", text, event.by, reason=event.reason)
    text = f"{in_model} So it comes after {event.by} in tuning; {_end(book)}."
    return Outcome("dominated", f"behind {event.by} in the model", text, event.by, reason=event.reason)


def _not_reached(row: FamilyRow, book: Ledger) -> Outcome:
    if book.finished is None:
        return Outcome("not reached", "not timed yet", "It is proved, and no kernel of it has been timed yet.")
    others = sum(f.best is not None for f in book.families)
    measured = count_text(book.funnel.measured, "kernel", "kernels")
    timed = f"{measured} of {count_text(others, 'other family', 'other families')} were timed"
    details = (("its lower bound", f"{seconds_text(row.floor_s)} modelled"),) if row.floor_s is not None else ()
    text = f"It is proved and was not timed: {_end(book)}. {timed if others else 'No kernel of this search was timed'}."
    gained_nothing = book.tuning_ended is not None and book.tuning_ended.why in ("patience", "bound", "limit")
    short = "nothing tuned" if why_untuned(book) else "tuning had ended" if gained_nothing else "budget"
    return Outcome(
        "not reached", f"not timed: {short}", text, book.best.trial if book.best is not None else "", details
    )


OUTCOMES: tuple[Callable[[FamilyRow, Ledger], Outcome | None], ...] = (
    _best,
    _rejected,
    _impossible,
    _not_instantiated,
    _refuted,
    _unknown,
    _no_verdict,
    _unsafe,
    _slower,
    _failed,
    _pending,
    _bounded,
    _dominated,
    _not_reached,
)
"""One row per outcome, in the order in which they are tried; the last one always applies."""


# ---------------------------------------------------------------- parts of sentences
def why_untuned(book: Ledger) -> str:
    """Why a search of its full space tuned none of the families that it could have tuned; empty if it tuned some."""
    is_exhausted = book.finished is not None and book.finished.stop == "exhausted"
    if book.started is None or not is_exhausted or book.tuning_ended is not None or book.trials:
        return ""
    return (
        f"nothing was tuned: kernels for {book.started.target} are timed on that machine only, with a budget of trials"
    )


def _end(book: Ledger, exhausted: str = "") -> str:
    """Why something was not done, by the state of the search; `exhausted` if that searched its full space."""
    if book.finished is None:
        return "the search has not come to it yet"
    match book.finished.stop:
        case "cancelled":
            return "the search was cancelled before"
        case "budget":
            return "the search stopped at its budget before"
        case "exhausted":
            return exhausted or why_untuned(book) or _tuning_ended(book)


def _tuning_ended(book: Ledger) -> str:
    if book.tuning_ended is None:
        return "the budget of tuning was spent before its turn"
    return f"tuning ended before its turn, because {why_tuning_ended(book.tuning_ended)}"


def _all(count: int) -> str:
    return "its one candidate is" if count == 1 else f"all {count:,} candidates are"


def _inner(sentence: str) -> str:
    """A sentence as a part of another one."""
    return sentence.rstrip(".") or "of an unknown reason"
