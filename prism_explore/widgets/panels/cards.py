"""Parts that several panels use: the card of a reason, command buttons, and the texts of statuses."""

from __future__ import annotations

import re
from collections.abc import Mapping

from prism_explore.events.format import seconds_text
from prism_explore.events.kinds import Reason, Soundness
from prism_explore.events.ledger import KernelTime, Trial
from prism_explore.widgets.formulas.mathml import to_mathml
from prism_explore.widgets.jupyter.commands import COMMAND, Value, parse_call
from prism_explore.widgets.panels.sections import Action, Card, Cell, Definition, Pair
from prism_explore.widgets.views.marks import PRUNED_KINDS

SOUNDNESS: Mapping[Soundness, str] = {
    "sound": "Nothing is lost: what the rule prunes is not equal to the program, or is found elsewhere.",
    "heuristic": "The rule can prune a good program.",
    "budget": "A limit was reached, and this part was not searched.",
    "user": "Rejected by you; undo brings it back.",
}
STATUS_TEXT: Mapping[str, str] = {
    "open": "No candidate of it has a verdict yet.",
    "proved": "At least one candidate is proved equal to the program.",
    "unknown": "No candidate is proved; at least one is neither proved nor refuted.",
    "refuted": "Every candidate is refuted.",
    "impossible": "No choice of maps satisfies the constraints.",
}
STATUS_KIND: Mapping[str, str] = {
    "open": "frontier",
    "proved": "proved",
    "unknown": "unknown",
    "refuted": "refuted",
    "impossible": "pruned-sound",
}
TRIAL_TIME_TIP = (
    "median time in tuning, where the kernels were timed alike: compare and sort by this one; point at a cell for the "
    "20th to the 80th percentile"
)
"""Tooltip of a column of the times of trials."""
RACE_TIP = (
    "median time in the final race of the best kernel against the baselines; the machine may have been faster or "
    "slower then, so it is not comparable with the times of trials"
)
"""Tooltip of a column of the times in the final race."""
MAX_LINKS = 24
"""Largest number of links in a panel."""

_SYMBOL = re.compile(r"[A-Za-z_]\w*")
"""A symbol in the formula of a reason; journals store formulas as text."""
_DEFINITION = re.compile(r", (?=\w+'* = )")
_QUANTITY = re.compile(r"[\w.%]+( \w+)?|.* [<>≤≥] .*")
"""A number, a size or a name, perhaps with its unit; or a relation between two numbers."""


def reason_card(reason: Reason, title: str = "") -> Card:
    """The card of a reason, with the values of the formula's symbols."""
    definitions, values = symbol_meanings(reason.substitution)
    return Card(
        title=title or reason.code,
        kind=PRUNED_KINDS[reason.soundness],
        sentence=reason.sentence,
        soundness=reason.soundness,
        soundness_text=SOUNDNESS[reason.soundness],
        formula=reason.formula,
        formula_math=to_mathml(reason.formula),
        substituted=substitute_symbols(reason.formula, dict(values)),
        where=definitions,
        details=(("rule", f"{reason.rule}, in {reason.layer}"), *values),
        would_reopen_if=reason.would_reopen_if,
    )


def symbol_meanings(substitution: Mapping[str, str]) -> tuple[tuple[Definition, ...], tuple[Pair, ...]]:
    """The formulas, and the other values, of a substitution.

    A value can define several symbols: `e = g/√(…), e' = x/√(…)`.
    """
    definitions: list[Definition] = []
    values: list[Pair] = []
    for symbol, value in substitution.items():
        parts = _DEFINITION.split(value)
        pairs = [tuple(part.split(" = ", 1)) for part in parts] if " = " in value else [(symbol, value)]
        formulas = [(name, text, to_mathml(text)) for name, text in pairs]
        if all(math and not _QUANTITY.fullmatch(text) for _, text, math in formulas):
            definitions += [Definition(*formula) for formula in formulas]
        else:
            values.append((symbol, value))
    return tuple(definitions), tuple(values)


def substitute_symbols(formula: str, values: Mapping[str, str]) -> str:
    """Replace all symbols of a formula at once; empty if the formula has none of them.

    >>> substitute_symbols("2*bm > smem", {"bm": "64", "smem": "232448"})
    '2*64 > 232448'
    """
    text = _SYMBOL.sub(lambda m: values.get(m.group(), m.group()), formula)
    return text if text != formula else ""


def action(label: str, command: str, args: Mapping[str, Value], enabled: bool) -> Action:
    """A button for a command, with the line of Python that does the same."""
    message = {k: list(v) if isinstance(v, tuple) else v for k, v in args.items()}
    call = parse_call({"event_id": "-", "name": command, "args": message})
    return Action(label, command, args, call.python, COMMAND[command].description, enabled)


def steering_actions(family: str, choice: str) -> tuple[Action, ...]:
    """The buttons that steer a family; `choice` is the current decision of the user about it."""
    return (
        action(f"Accept {family}", "accept", {"id": family}, choice != "accepted"),
        action(f"Reject {family}", "reject", {"id": family}, choice != "rejected"),
        action(f"Prefer {family}", "prefer", {"id": family}, not choice),
        action("Undo", "undo", {}, bool(choice)),
    )


def seconds_cell(seconds: float | None) -> Cell:
    """A time as a table cell."""
    return Cell("–") if seconds is None else Cell(seconds_text(seconds), seconds)


def trial_time_cell(trial: Trial | None) -> Cell:
    """The time of a trial as a table cell, comparable with that of other trials; a mark if it is doubtful."""
    return _time_cell(trial.trial_time if trial is not None else None)


def race_cell(trial: Trial | None) -> Cell:
    """The time of a kernel in the final race; a dash if it did not take part."""
    time = trial.kernel_time if trial is not None else None
    return _time_cell(time if time is not None and time.source == "race" else None)


def _time_cell(time: KernelTime | None) -> Cell:
    if time is None:
        return Cell("–")
    tip = " ".join(filter(None, (f"{time}, median of {time.samples}.", time.warning)))
    return Cell(seconds_text(time.time_s), time.time_s, "warning" if time.warning else "", tip)


def time_details(time: KernelTime) -> list[Pair]:
    """The time of a kernel as details of an inspector."""
    details: list[Pair] = [
        ("time", f"{seconds_text(time.time_s)} measured {time.source_text}, median of {time.samples}"),
        ("p20 to p80", time.spread_text),
    ]
    if time.source == "race":
        details.append(("time in its trial", f"{seconds_text(time.trial_s)} measured, comparable with other trials"))
    return details


def time_cards(time: KernelTime | None) -> tuple[Card, ...]:
    """A card with the reasons to doubt a time; none if there are none."""
    return () if time is None or not time.warning else (Card("doubtful time", "warning", time.warning, "Warning"),)


def error_cell(error: float | None) -> Cell:
    """A relative error as a table cell."""
    return Cell("–") if error is None else Cell(f"{error:.1e}", error)
