"""Exercises of notebook 08: decisions that are events, and a rejection that costs the best kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from prism_explore.course.chapters.drowning_by_enumeration import norm_linear
from prism_explore.course.exercise import Exercise, Judgement, Mistake
from prism_explore.errors import PrismError
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import Event
from prism_explore.events.ledger import ledger
from prism_explore.instantiate import instantiate
from prism_explore.ir.text import parse
from prism_explore.pipeline.search_space import default_space
from prism_explore.pipeline.stages import Family
from prism_explore.session.session import Session
from prism_explore.targets import target
from prism_explore.tune.budget import Budget
from prism_explore.tune.space.ranked_sizes import ranked_sizes
from prism_explore.tune.space.time_model import model_of

PROGRAM = norm_linear(4096)
SPACE = replace(default_space(PROGRAM), results=0, rows=0)
ROWS = (16, 1024)
"""Numbers of rows at which the families are compared."""
_MOST_SIZES = 400


def new_search() -> Session:
    """A search with proofs and without timing, which has ended; decisions may still be made."""
    sess = Session(PROGRAM, target="h100", at={"b": ROWS[0]}, space=SPACE, budget=Budget(trials=0), cache=False)
    sess.run()
    return sess


@lru_cache(1)
def names() -> tuple[str, ...]:
    """The families of the search."""
    with new_search() as sess:
        return tuple(sess.families)


@lru_cache(64)
def events_after(*decisions: tuple[str, str]) -> tuple[Event, ...]:
    """The events of a search after some decisions.

    Args:
        decisions: an action, accept, reject or undo, and the family; no family for undo.
    """
    with new_search() as sess:
        for action, family in decisions:
            match action:
                case "accept":
                    sess.accept(family)
                case "reject":
                    sess.reject(family)
                case "undo":
                    sess.undo()
                case _:
                    raise PrismError(f"a decision is accept, reject or undo, found {action!r}")
        return tuple(sess.journal.events)


@lru_cache(4)
def modelled_bests(rows: int) -> Mapping[str, float]:
    """The modelled time of each family on an H100, with the best of its maps and sizes. Units: s.

    Args:
        rows: of x.
    """
    machine, shapes = target("h100"), {"b": rows}
    found: dict[str, float] = {}
    for row in ledger(events_after()).families:
        family = Family(row.family, PROGRAM, parse(row.sgraph))
        for candidate in instantiate(family, SPACE, machine, Journal()):
            ranked, _ = ranked_sizes(candidate, shapes, machine, model_of(candidate, shapes, machine), _MOST_SIZES)
            if ranked:
                found[row.family] = min(found.get(row.family, ranked[0][0]), ranked[0][0])
    return found


def best_without(rejected: Sequence[str], rows: int) -> float:
    """The modelled time of the best family that is left. Units: s."""
    return min(time_s for family, time_s in modelled_bests(rows).items() if family not in rejected)


DECISIONS: tuple[tuple[str, str], ...] = (
    ("reject", "f1"),
    ("reject", "f3"),
    ("undo", ""),
    ("accept", "f2"),
    ("reject", "f2"),
    ("undo", ""),
)
"""Decisions of the first exercise, in their order."""


def choices_after(*decisions: tuple[str, str]) -> Mapping[str, str]:
    """Per family, rejected or accepted, or nothing, after some decisions."""
    return {family: ledger(events_after(*decisions)).steering.choices.get(family, "nothing") for family in names()}


def _choices(answer: Any) -> Mapping[str, str]:
    if not isinstance(answer, dict) or set(answer) != set(names()):  # pyright: ignore[reportUnknownArgumentType]
        raise PrismError(f"an answer is a dict with the keys {', '.join(names())}, found {answer!r}")
    return answer  # pyright: ignore[reportUnknownVariableType]


def _judge_choices(answer: Any) -> Judgement:
    right = choices_after(*DECISIONS)
    wrong = [family for family, choice in _choices(answer).items() if choice != right[family]]
    text = f"the search has another choice for {', '.join(wrong)}" if wrong else "so does the search"
    return Judgement(not wrong, text, {"events": len(events_after(*DECISIONS)) - len(events_after())})


def _judge_cost(answer: Any) -> Judgement:
    if answer not in names():
        raise PrismError(f"an answer is one of {', '.join(names())}, found {answer!r}")
    costs = {family: best_without((family,), ROWS[0]) for family in names()}
    least = best_without((), ROWS[0])
    text = f"without {answer} the best takes {costs[answer] * 1e6:,.0f} µs, with all {least * 1e6:,.0f} µs, modelled"
    return Judgement(costs[answer] > least, text, {})


EXERCISES = (
    Exercise(
        "08-a",
        "What is the state of each family after the six decisions?",
        "a dict with the keys f1, f2 and f3, and rejected, accepted or nothing for each",
        _judge_choices,
        (
            Mistake(
                {"f1": "rejected", "f2": "rejected", "f3": "nothing"},
                "The last decision is undo. Which one does it take back?",
                lambda answer: _choices(answer)["f2"] == "rejected",
            ),
            Mistake(
                {"f1": "rejected", "f2": "nothing", "f3": "nothing"},
                "Undo takes back the last decision only. What was decided about f2 before that?",
                lambda answer: _choices(answer)["f2"] == "nothing",
            ),
            Mistake(
                {"f1": "rejected", "f2": "accepted", "f3": "rejected"},
                "The third decision is undo. Which one does it take back?",
                lambda answer: _choices(answer)["f3"] == "rejected",
            ),
            Mistake(
                {"f1": "nothing", "f2": "accepted", "f3": "nothing"},
                "Nothing took the first decision back.",
                lambda answer: _choices(answer)["f1"] == "nothing",
            ),
        ),
        ("Keep a list: a decision is put at its end, and undo takes the last one off.",),
        "prism_explore.events.ledger folds the events of a search into its present state",
    ),
    Exercise(
        "08-b",
        "Which family must not be rejected?",
        "the id of a family, such as 'f1'",
        _judge_cost,
        (
            Mistake(
                "f1",
                "It is found first, because it is most like the program. But its blocks have no loop, so they hold "
                "whole rows of x and whole columns of w.",
            ),
            Mistake(
                "f2",
                "Its product comes first, but its blocks have no loop: a norm and a product need all of a row at once.",
            ),
        ),
        (
            "A block with a loop loads a part of its rows and columns at a time.",
            "modelled_bests(16) has the time of each family with its best sizes.",
        ),
        "sess.tuning.best is the fastest kernel that was measured; sess.claim says what you rejected",
    ),
)
