"""The outcome of a family: one case per row of the table, by events that lead to it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from prism_explore.events.kinds import (
    CandidateBounded,
    CandidateInstantiated,
    CandidateRejected,
    Event,
    ExplorationFinished,
    ExplorationStarted,
    FamilyCompleted,
    FamilyDominated,
    FloatsAssessed,
    NodeExpanded,
    ParametersProposed,
    Reason,
    Steered,
    TrialFailed,
    TrialMeasured,
    TuningEnded,
    VerdictReached,
)
from prism_explore.events.ledger import best_first, ledger, outcome
from prism_explore.events.ledger.family_outcome import OUTCOMES
from tests.widgets.recordings import MAPS, R1, SLOW, large, story

NUMBERS = (("gx", 8),)
DOMINATED = Reason("dominated.by", "tune", "heuristic", "cost.dominance", "f1 costs no more", "cost(f1) ≤ cost(f2)")
BOUND = Reason(
    "cost.floor",
    "tune",
    "sound",
    "cost.floor",
    "too slow",
    "floor < time of f1.c1",
    {"floor": "200 µs", "time of f1.c1": "100 µs, measured"},
)
EXHAUSTED = ExplorationFinished("exhausted", "")


def family(name: str, verdict: str = "proved", budget: str = "") -> list[Event]:
    events: list[Event] = [FamilyCompleted(name, "n1", R1), CandidateInstantiated(f"{name}.c1", name, R1, (), ())]
    if verdict:
        detail = f"{name} is {verdict}"
        events.append(VerdictReached(f"{name}.c1", verdict, "normal form", detail, budget=budget))  # type: ignore[arg-type]
    return events


def trial(number: int, name: str, time_s: float) -> list[Event]:
    trial, candidate = f"u{number}", f"{name}.c1"
    return [
        ParametersProposed(trial, candidate, NUMBERS, 1e-4),
        TrialMeasured(trial, candidate, NUMBERS, time_s, time_s, time_s, 20, 1e-7),
    ]


WON = [*family("f1"), *trial(1, "f1", 100e-6)]
UNSAFE = FloatsAssessed("f2", "f2.c1", "unsafe", "f32", "it overflows", ("exp overflows",))
FAILED = [ParametersProposed("u2", "f2.c1", NUMBERS, 1e-4), TrialFailed("u2", "f2.c1", NUMBERS, SLOW)]

EXPANDED = NodeExpanded("n2", "", "exp(%0)", "block", "e")

CASES: dict[str, tuple[list[Event], str, str]] = {
    "rejected": ([*family("f2"), Steered("reject", "f2", "sess.reject('f2')")], "rejected by you", ""),
    "impossible": ([FamilyCompleted("f2", "n1", R1), CandidateRejected("f2", (), MAPS), EXPANDED], "no legal maps", ""),
    "not instantiated": ([FamilyCompleted("f2", "n1", R1)], "maps not chosen", ""),
    "refuted": (family("f2", "refuted"), "refuted", "f2.c1"),
    "unknown": (family("f2", "unknown"), "not proved", "f2.c1"),
    "no verdict": (family("f2", ""), "no verdict", ""),
    "unsafe": ([*family("f2"), UNSAFE], "unsafe in floats", "f2.c1"),
    "slower": ([*family("f2"), *trial(2, "f2", 103e-6)], "lost by 3.0%", "u1"),
    "failed": ([*family("f2"), *FAILED], "no kernel: tune.crash", ""),
    "pending": ([*family("f2"), FAILED[0]], "trial not finished", ""),
    "bounded": (
        [*family("f2"), CandidateBounded("f2.c1", 200e-6, 100e-6, BOUND)],
        "bound 200 µs, not below 100 µs",
        "f1.c1",
    ),
    "dominated": ([*family("f2"), FamilyDominated("f2", "f1", DOMINATED, False)], "behind f1 in the model", "f1"),
    "not reached": (family("f2"), "not timed: budget", "u1"),
}


@pytest.mark.parametrize("code", CASES)
def test_a_family_that_is_not_the_best_has_its_reason(code: str) -> None:
    events, short, by = CASES[code]
    book = ledger([*WON, *events, EXHAUSTED])
    best, other = (outcome(row, book) for row in book.families)

    assert ("best", "u1") == (best.code, best.by)
    assert (code, short, by) == (other.code, other.short, other.by)
    assert other.sentence.endswith(".") and ".." not in other.sentence


def test_every_row_of_the_table_has_a_case() -> None:
    assert len(OUTCOMES) == 1 + len(CASES)


def test_the_best_family_is_never_called_dominated() -> None:
    book = ledger([*WON, *family("f2"), FamilyDominated("f1", "f2", DOMINATED, False), EXHAUSTED])
    (best, other) = (outcome(row, book) for row in book.families)

    assert "best" == best.code and best.reason is None
    assert "f2" not in best.sentence and "model" not in best.sentence
    assert "not reached" == other.code


def test_a_family_that_is_left_out_is_not_tuned_and_one_whose_better_is_rejected_is_not_dominated() -> None:
    out = [*family("f2"), FamilyDominated("f2", "f1", DOMINATED, True), EXHAUSTED]
    book = ledger([*WON, *out])
    assert "dominated by f1" == outcome(book.families[1], book).short

    book = ledger([*WON, *family("f3"), *out, Steered("reject", "f1", "sess.reject('f1')")])
    assert "not reached" == outcome(book.families[2], book).code


def test_a_search_that_goes_on_or_was_cancelled_says_so() -> None:
    going_on = ledger([*WON, *family("f2")])
    cancelled = ledger([*WON, *family("f2"), ExplorationFinished("cancelled", "")])
    spent = ledger([*WON, *family("f2", "unknown", budget="budget.time"), EXHAUSTED])

    assert "not timed yet" == outcome(going_on.families[1], going_on).short
    assert "cancelled" in outcome(cancelled.families[1], cancelled).sentence
    assert "not proved: time spent" == outcome(spent.families[1], spent).short


def test_where_nothing_was_tuned_no_budget_was_spent() -> None:
    begun = ExplorationStarted("program p", "h100", 0, {}, (), ())
    untuned = ledger([begun, *family("f1"), *family("f2"), FamilyDominated("f2", "f1", DOMINATED, False), EXHAUSTED])
    first, second = (outcome(row, untuned) for row in untuned.families)
    why = "nothing was tuned: kernels for h100 are timed on that machine only, with a budget of trials"
    tuned = ledger([begun, *family("f1"), TuningEnded("seconds", 0, 5.0), EXHAUSTED])

    assert (first.code, first.short) == ("not reached", "not timed: nothing tuned")
    assert why in first.sentence and why in second.sentence
    assert "not timed: budget" == outcome(tuned.families[0], tuned).short


def test_a_family_behind_trials_that_gained_nothing_says_that_tuning_had_ended() -> None:
    book = ledger([*WON, *family("f2"), TuningEnded("patience", 7, 6, gain=0.02), EXHAUSTED])
    other = outcome(book.families[1], book)

    assert other.short == "not timed: tuning had ended"
    assert "because 6 trials in a row gained less than 2 %" in other.sentence


def test_an_accepted_unsafe_family_competes() -> None:
    book = ledger([*WON, *family("f2"), UNSAFE, Steered("accept", "f2", ""), *trial(2, "f2", 90e-6)])

    assert ["slower", "best"] == [outcome(row, book).code for row in book.families]


def test_a_family_that_is_twice_as_slow_or_slower_has_a_factor_and_no_percentage() -> None:
    book = ledger([*WON, *family("f2"), *trial(2, "f2", 4277e-6)])
    found = outcome(book.families[1], book)

    assert "42.8× as long" == found.short
    assert "Its fastest kernel took 42.8× as long as u1 of f1.c1." in found.sentence


def test_a_trial_that_lost_in_common_rounds_has_at_least_the_time_of_the_best() -> None:
    book = ledger([*WON, *family("f2"), *trial(2, "f2", 100e-6)])

    assert "no faster than f1" == outcome(book.families[1], book).short


def test_the_best_comes_first_then_by_time_then_by_status() -> None:
    events: list[Event] = [
        *family("f1", "refuted"),
        *family("f2", "unknown"),
        *family("f3", ""),
        *family("f4"),
        *family("f5"),
        *trial(1, "f5", 110e-6),
        *family("f6"),
        *trial(2, "f6", 100e-6),
        *family("f10"),
        *family("f9"),
        Steered("reject", "f9", ""),
    ]

    assert ["f6", "f5", "f4", "f10", "f2", "f3", "f1", "f9"] == [row.family for row in best_first(ledger(events))]


@pytest.mark.parametrize("events", [story(), large(300)], ids=["story", "large"])
def test_every_family_of_a_search_has_an_outcome_and_one_is_the_best_at_most(events: list[Event]) -> None:
    book = ledger(events)
    codes = [outcome(row, book).code for row in book.families]

    assert codes.count("best") == (book.best is not None)
    assert len(codes) == len(best_first(book)) == len(book.families)


def test_the_reason_of_a_failed_family_is_its_most_frequent_one() -> None:
    other = replace(SLOW, code="tune.hang", sentence="it hung")
    more = [e for n in (3, 4) for e in (
        ParametersProposed(f"u{n}", "f2.c1", NUMBERS, 1e-4), TrialFailed(f"u{n}", "f2.c1", NUMBERS, other)
    )]  # fmt: skip
    book = ledger([*WON, *family("f2"), *FAILED, *more, EXHAUSTED])

    found = outcome(book.families[1], book)
    assert ("no kernel: tune.hang", other) == (found.short, found.reason)
