"""Exercises of notebook 08: decisions that are events, a rejection that costs the best kernel, and operators to try."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from prism_explore.course.chapters.drowning_by_enumeration import norm_linear
from prism_explore.course.exercise import Exercise, Judgement, Mistake
from prism_explore.errors import PrismError
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import Event, FamilyCompleted, NodeExpanded
from prism_explore.events.ledger import ledger
from prism_explore.generate import generate
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
OPERATORS = tuple(str(SPACE.block).split())
"""The operators of a block, by the names that graphs have for them."""
MOST_EXPANSIONS = 9
"""Partial graphs within which the best family can be complete."""
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


@dataclass(frozen=True, slots=True)
class Reached:
    """What a search with some of the operators came to."""

    expansions: int | None
    """Partial graphs that it kept until the best family was complete; None if it did not find it."""
    families: int

    def __repr__(self) -> str:
        found = "not found" if self.expansions is None else f"complete after {self.expansions} partial graphs"
        return f"the best family is {found}; {self.families} families"


def reached_with(operators: Iterable[str]) -> Reached:
    """Search with some of the operators of a block.

    Args:
        operators: out of `OPERATORS`.

    Raises:
        PrismError: there is no such operator.
    """
    return _reached(_operators(operators))


def _operators(operators: Any) -> frozenset[str]:
    chosen = frozenset([operators] if isinstance(operators, str) else operators)
    if not chosen or not chosen <= set(OPERATORS):
        raise PrismError(f"operators are a set of names out of {', '.join(OPERATORS)}; found {operators!r}")
    return chosen


@lru_cache(64)
def _reached(operators: frozenset[str]) -> Reached:
    block, journal = SPACE.block, Journal()
    block = replace(
        block,
        unary=tuple(fn for fn in block.unary if fn in operators),
        binary=tuple(fn for fn in block.binary if fn in operators),
        matmul="matmul" in operators,
        reductions=tuple(fn for fn in block.reductions if fn in operators),
        accumulators=tuple(a for a in block.accumulators if ("accum" if a == "plain" else f"accum_{a}") in operators),
    )
    best, families = _best_graph(), 0
    for family in generate(PROGRAM, replace(SPACE, block=block), target("h100"), journal):
        families += family is not None
    kept = 0
    for event in journal.events:
        kept += isinstance(event, NodeExpanded)
        if isinstance(event, FamilyCompleted) and event.sgraph == best:
            return Reached(kept, families)
    return Reached(None, families)


def _best_graph() -> str:
    times = modelled_bests(ROWS[0])
    best = min(times, key=times.__getitem__)
    return next(row.sgraph for row in ledger(events_after()).families if row.family == best)


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


def _judge_operators(answer: Any) -> Judgement:
    if isinstance(answer, str):
        raise PrismError(f"an answer is a set of names, found the text {answer!r}")
    found = reached_with(answer)
    right = found.expansions is not None and found.expansions <= MOST_EXPANSIONS
    return Judgement(right, str(found), {"allowed": MOST_EXPANSIONS})


def _lacks(name: str) -> Callable[[Any], bool]:
    return lambda answer: name not in _operators(answer)


def _has(*names: str) -> Callable[[Any], bool]:
    return lambda answer: bool(_operators(answer) & set(names))


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
    Exercise(
        "08-c",
        f"With which operators of a block is the best family complete within {MOST_EXPANSIONS} partial graphs?",
        'a set of names of operators, such as {"rms", "div"}',
        _judge_operators,
        (
            Mistake(
                {"rms", "div"},
                "The program multiplies matrices, and no other operator does. Without matmul nothing is found.",
                _lacks("matmul"),
            ),
            Mistake(
                {"div", "matmul", "rms"},
                "Without an accumulator no block has a loop. The best family has one for the norm, accum_rms, and one "
                "for the product, accum.",
                lambda answer: not {"accum", "accum_rms"} <= _operators(answer),
            ),
            Mistake(
                {"matmul", "accum", "accum_rms"},
                "The product has to be divided by the norm.",
                _lacks("div"),
            ),
            Mistake(
                {"div", "matmul", "rms", "accum", "accum_rms"},
                "With rms the search finishes the families without a loop first. The best one does not need it.",
                _has("rms"),
            ),
            Mistake(
                {"div", "matmul", "square", "accum", "accum_rms"},
                "x² is a part of the norm, so the search tries it and what follows from it. The best family has it "
                "inside accum_rms.",
                _has("square", "mul"),
            ),
        ),
        (
            "Print the graph of f3. Which operators does it have?",
            "Loads and the store are in every block. Four kinds of operators are left.",
        ),
        "px.Session(space=...) searches with the operators of a space, and its first event states them",
    ),
)
