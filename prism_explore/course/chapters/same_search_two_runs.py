"""Exercises of notebook 10: where two searches part, and which rule makes the difference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from prism_explore.course.chapters.why_was_this_pruned import PROGRAM
from prism_explore.course.exercise import Exercise, Judgement, Mistake
from prism_explore.diagnose.compare_runs import FirstDivergence, first_divergence
from prism_explore.errors import PrismError
from prism_explore.events.kinds import Event, NodeExpanded, RegionPruned
from prism_explore.pipeline.search_space import default_space
from prism_explore.session.session import Session
from prism_explore.tune.budget import Budget

SPACE = replace(default_space(PROGRAM), results=0, rows=0)
OFF = ("dup.canonical", "expr.apart", "limit.accumulators")
"""Rules of which one is off in a run."""


@lru_cache(8)
def run_without(*off: str) -> Session:
    """A search with proofs and without timing, which has ended.

    Args:
        off: names of rules and definitions that are off.
    """
    space = replace(SPACE, rules_off=frozenset(off))
    sess = Session(PROGRAM, target="h100", at={"b": 4}, space=space, budget=Budget(trials=0), cache=False)
    sess.run()
    sess.close()
    return sess


def events_of(*off: str) -> tuple[Event, ...]:
    """The events of `run_without`."""
    return tuple(run_without(*off).journal.events)


def expanded(*off: str) -> int:
    """The number of partial graphs that a run kept."""
    return sum(isinstance(event, NodeExpanded) for event in events_of(*off))


def prunings(*off: str) -> Mapping[str, int]:
    """How many subtrees each rule pruned in a run."""
    return Counter(event.reason.rule for event in events_of(*off) if isinstance(event, RegionPruned))


MYSTERY: Mapping[str, str] = {"X": "expr.apart", "Y": "limit.accumulators", "Z": "dup.canonical"}
"""The rule that is off in each of three runs."""


def _parting(rule: str) -> FirstDivergence:
    found = first_divergence(events_of(), events_of(rule))
    assert found is not None, "a rule that prunes something makes a difference"
    return found


def _judge_parting(answer: Any) -> Judgement:
    if not isinstance(answer, int) or isinstance(answer, bool):
        raise PrismError(f"an answer is the number of an event, found {answer!r}")
    right = _parting("expr.apart").numbers[0]
    return Judgement(answer == right, f"event {answer}", {"events of A": len(events_of())})


def _runs(answer: Any) -> Mapping[str, str]:
    if not isinstance(answer, dict) or set(answer) != set(MYSTERY):  # pyright: ignore[reportUnknownArgumentType]
        raise PrismError(f"an answer is a dict with the keys {', '.join(MYSTERY)}, found {answer!r}")
    if not set(answer.values()) <= set(OFF):  # pyright: ignore[reportUnknownArgumentType,reportUnknownMemberType]
        raise PrismError(f"the values are names out of {', '.join(OFF)}, found {answer!r}")
    return answer  # pyright: ignore[reportUnknownVariableType]


def _judge_runs(answer: Any) -> Judgement:
    wrong = [
        letter for letter, rule in _runs(answer).items() if not prunings()[rule] or prunings(MYSTERY[letter]).get(rule)
    ]
    if wrong:
        return Judgement(False, f"that rule did prune in run {', '.join(wrong)}", {})
    return Judgement(True, "each of these rules pruned in A, and not in its run", {})


def _mistake(letter: str, rule: str, hint: str) -> Mistake:
    return Mistake({**MYSTERY, letter: rule}, hint, lambda answer: _runs(answer)[letter] == rule)


EXERCISES = (
    Exercise(
        "10-a",
        "At which event does the run without expr.apart part from A?",
        "the number of an event, counted from 1",
        _judge_parting,
        (
            Mistake(
                118,
                "Events are counted from 1, and Python's enumerate from 0.",
                lambda answer: answer == _parting("expr.apart").numbers[0] - 1,
            ),
            Mistake(
                90,
                "p90 is the id of a subtree. Which number has its event?",
                lambda answer: f"p{answer}" == getattr(_parting("expr.apart").events[0], "region", ""),
            ),
            Mistake(
                9,
                "That is the run without dup.canonical. Compare with events_of('expr.apart').",
                lambda answer: answer == _parting("dup.canonical").numbers[0],
            ),
            Mistake(
                1,
                "The first events state the space, which differs of course. Compare what the searches did.",
                lambda answer: answer in (0, 1),
            ),
        ),
        (
            "first_difference(events_of(), events_of('expr.apart')) is written above.",
            "Both events are RegionPruned, of other rules.",
        ),
        "px.compare(a, b).divergence says it of any two runs, live or saved",
    ),
    Exercise(
        "10-b",
        "Which rule is off in each of the runs X, Y and Z?",
        f"a dict with the keys X, Y and Z, and a name out of {', '.join(OFF)} for each",
        _judge_runs,
        (
            _mistake(
                "Z",
                "expr.apart",
                "Z has three times as many families, all of them proved. A rule that compares with the result removes "
                "no such family; which rule removes a second way to write the same?",
            ),
            _mistake(
                "Y",
                "dup.canonical",
                "Y keeps as many partial graphs as A, and has the same families. Without dup.canonical there "
                "would be more.",
            ),
            _mistake(
                "X",
                "limit.accumulators",
                "X keeps twelve more partial graphs, and finds nothing by them. Which rule did prune in A and not in "
                "X?",
            ),
        ),
        (
            "A rule that is off prunes nothing. Look for the name that a run lacks.",
            "Without a rule other rules may prune the same subtrees, and then the counts hardly change.",
        ),
        "px.compare(a, b) prints settings, counts, prunings and families side by side",
    ),
)
