from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_explore.events.claim import claim
from prism_explore.events.format import parse_seconds, seconds_text, verdict_text
from prism_explore.events.journal import Entry
from prism_explore.events.kinds import (
    KINDS,
    BaselineMeasured,
    CandidateBounded,
    CandidateInstantiated,
    CandidateRejected,
    Event,
    ExplorationFinished,
    FamilyCompleted,
    IncumbentImproved,
    NodeExpanded,
    ParametersProposed,
    RegionPruned,
    RivalTimed,
    Steered,
    TrialMeasured,
    VerdictReached,
)
from prism_explore.events.ledger import (
    Fold,
    Funnel,
    Steering,
    family_rows,
    fastest_baseline,
    ledger,
    was_limited_by_budget,
)
from prism_explore.events.ledger.rows import Status
from prism_explore.events.phases import phase_of, seconds_per_stage
from tests.conftest import Golden
from tests.widgets.recordings import BUDGET, MAPS, R1, STARTED, UNREACHABLE, large, story, tuning

STORY = story()


def family(name: str, *verdicts: str) -> list[Event]:
    events: list[Event] = [FamilyCompleted(name, "n1", R1)]
    for i, word in enumerate(verdicts, 1):
        events.append(CandidateInstantiated(f"{name}.c{i}", name, R1, (), ()))
        if word:
            events.append(VerdictReached(f"{name}.c{i}", word, "normal form", ""))  # type: ignore[arg-type]
    return events


def accept(subject: str) -> Steered:
    return Steered("accept", subject, "")


def reject(subject: str) -> Steered:
    return Steered("reject", subject, "")


UNDO, REDO = Steered("undo", "", ""), Steered("redo", "", "")


# ---------------------------------------------------------------- counts
def test_the_funnel_counts_every_stage() -> None:
    expected = Funnel(5, 15, 3, 3, 4, 2, 1, 1, 1, 10, 2)

    assert expected == ledger(STORY).funnel


def test_facts_one_by_one_add_up_to_the_same_as_all_at_once() -> None:
    fold = Fold()
    for event in STORY:
        fold.add(event)

    assert ledger(STORY) == fold.value()
    assert ledger(STORY[:20]) != fold.value()


@given(st.integers(0, 2**32))
def test_cuts_do_not_depend_on_the_order_of_facts(seed: int) -> None:
    shuffled = [e for e in STORY if isinstance(e, RegionPruned | CandidateRejected | CandidateBounded)]
    random.Random(seed).shuffle(shuffled)

    def counts(events: list[Event]) -> list[tuple[str, int, float]]:
        return [(c.code, c.count, c.stood_for) for c in ledger(events).prune_counts]

    assert counts(list(STORY)) == counts(list(shuffled))


def test_candidates_that_were_not_timed_for_their_bound_are_rows_with_their_reason() -> None:
    (event,) = [e for e in STORY if isinstance(e, CandidateBounded)]
    (row,) = [c for c in ledger(STORY).prune_counts if c.what == "candidate"]

    assert (row.code, row.count, row.example, row.regions) == (event.reason.code, 1, event.candidate, 0)


def test_the_time_of_the_fastest_rival_is_said_and_of_none_why() -> None:
    slow, fast = RivalTimed("torch eager", 2e-3, 2e-3, 2e-3, 24), RivalTimed("torch library call", 1e-3, 1e-3, 1e-3, 24)
    absent = RivalTimed("torch.compile", 0.0, 0.0, 0.0, 0, "no compiler")

    assert fast == fastest_baseline([slow, absent, fast])
    assert "The time to beat was that of torch library call, 1 ms, measured first." in claim([slow, absent, fast])
    assert "none could be timed (torch.compile: no compiler)" in claim([absent])
    assert "beat" not in claim(STORY)


def test_cuts_add_up_to_all_that_was_cut() -> None:
    events = large(500)
    book = ledger(events)

    assert book.funnel.pruned == sum(c.regions for c in book.prune_counts) == sum(book.by_soundness().values())
    assert [c.count for c in book.prune_counts] == sorted((c.count for c in book.prune_counts), reverse=True)
    assert {e.reason.code for e in events if isinstance(e, RegionPruned)} == {c.code for c in book.prune_counts}


def test_one_reason_with_two_soundnesses_makes_two_cuts() -> None:
    events = [
        RegionPruned("p1", "n0", "exp(%0)", "block", UNREACHABLE),
        RegionPruned("p2", "n0", "exp(%0)", "block", replace(UNREACHABLE, soundness="heuristic")),
    ]

    assert [("heuristic", 1, "p2"), ("sound", 1, "p1")] == [
        (c.soundness, c.count, c.example) for c in ledger(events).prune_counts
    ]


def test_only_cuts_for_want_of_budget_count_as_such() -> None:
    assert was_limited_by_budget(STORY)
    assert not was_limited_by_budget([e for e in STORY if not (isinstance(e, RegionPruned) and e.reason is BUDGET)])
    assert was_limited_by_budget([CandidateRejected("f1", (), replace(MAPS, soundness="budget"))])


# ---------------------------------------------------------------- families
@pytest.mark.parametrize(
    ("status", "verdicts"),
    [
        ("open", ()),
        ("open", ("",)),
        ("proved", ("refuted", "unknown", "proved")),
        ("unknown", ("refuted", "unknown")),
        ("refuted", ("refuted", "refuted")),
        ("open", ("refuted", "")),
    ],
)
def test_a_family_is_what_its_best_candidate_came_to_and_unknown_is_never_no(
    status: str, verdicts: tuple[str, ...]
) -> None:
    assert status == family_rows(family("f1", *verdicts))[0].status


def test_a_family_without_maps_is_impossible_once_all_its_maps_were_tried() -> None:
    fold, steered = Fold(), Steered("reject", "f1", "sess.reject('f1')")
    seen: list[Status] = []
    expanded = NodeExpanded("n2", "", "exp(%0)", "block", "e")
    for event in [*family("f1"), CandidateRejected("f1", (), MAPS), steered, expanded]:
        fold.add(event)
        seen += [row.status for row in fold.value().families]

    assert ["open", "open", "open", "impossible"] == seen


def test_a_later_verdict_replaces_an_earlier_one() -> None:
    events = [*family("f1", "unknown"), VerdictReached("f1.c1", "proved", "e-graph", "")]
    book = ledger(events)

    assert "proved" == book.families[0].status
    assert (1, 0) == (book.funnel.proved, book.funnel.unknown)


def test_a_family_knows_its_trials_its_best_time_and_its_modelled_floor() -> None:
    row = family_rows(STORY)[0]
    times = [e.time_s for e in STORY if isinstance(e, TrialMeasured)]

    assert ("f1", 12, 2, min(times), 250e-6) == (row.family, row.trials, row.failed, row.best_s, row.floor_s)
    assert [True, False, False] == [f.is_best for f in family_rows(STORY)]


def test_what_was_not_decided_was_decided_by_nothing() -> None:
    assert "proved by e-graph" == verdict_text(VerdictReached("f1.c1", "proved", "e-graph", ""))
    assert "unknown" == verdict_text(VerdictReached("f1.c1", "unknown", "", "a limit"))


def test_a_likely_time_is_no_floor() -> None:
    untold = [replace(e, floor_s=0.0) if isinstance(e, ParametersProposed) else e for e in STORY]
    untold = [e for e in untold if not isinstance(e, CandidateBounded)]

    assert family_rows(untold)[0].floor_s is None
    assert {(280e-6, None)} == {(t.modelled_s, t.floor_s) for t in ledger(untold).trials}
    assert {(280e-6, 250e-6)} == {(t.modelled_s, t.floor_s) for t in ledger(STORY).trials}


# ---------------------------------------------------------------- steering
def choices(*steps: Steered) -> dict[str, str]:
    book = ledger(steps)
    return dict(book.steering.choices)


def test_undo_takes_back_the_last_step_that_stands_and_redo_puts_it_back() -> None:
    assert {"f1": "rejected"} == choices(reject("f1"))
    assert {} == choices(reject("f1"), UNDO)
    assert {"f1": "rejected"} == choices(reject("f1"), UNDO, REDO)
    assert {"f1": "accepted"} == choices(accept("f1"), reject("f1"), UNDO)
    assert {"f1": "accepted", "f2": "rejected"} == choices(accept("f1"), reject("f2"), reject("f1"), UNDO)


def test_a_new_step_forgets_what_was_undone() -> None:
    assert {"f2": "accepted"} == choices(reject("f1"), UNDO, accept("f2"), REDO)


def test_undo_and_redo_with_nothing_to_do_change_nothing() -> None:
    assert {} == choices(UNDO, REDO)
    assert {"f1": "rejected"} == choices(UNDO, reject("f1"), REDO)


@given(st.lists(st.sampled_from((accept("f1"), reject("f1"), accept("f2"), reject("f2"), UNDO, REDO))))
def test_undo_after_any_step_gives_back_what_stood_before_it(steps: list[Steered]) -> None:
    before = Steering()
    for step in steps:
        before = before.after(step)

    assert before.choices == before.after(reject("f9")).after(UNDO).choices
    if before.standing:
        assert before == before.after(UNDO).after(REDO)


def test_a_rejected_family_is_not_the_best() -> None:
    events = [
        *family("f1", "proved"), *family("f2", "proved"),
        TrialMeasured("u1", "f1.c1", (), 1e-3, 1e-3, 1e-3, 5, 0.0), IncumbentImproved("u1", "f1.c1", 1e-3),
        TrialMeasured("u2", "f2.c1", (), 2e-3, 2e-3, 2e-3, 5, 0.0),
    ]  # fmt: skip

    assert "u1" == ledger(events).best.trial  # type: ignore[union-attr]
    book = ledger([*events, reject("f1")])
    assert "u2" == book.best.trial  # type: ignore[union-attr]
    assert [False, True] == [f.is_best for f in book.families]
    assert ledger([*events, reject("f1"), reject("f2")]).best is None


def test_the_incumbents_curve_falls() -> None:
    curve = ledger(tuning(40)).incumbents
    times = [i.time_s for i in curve]

    assert len(times) > 1
    assert times == sorted(times, reverse=True)
    assert [i.number for i in curve] == sorted(i.number for i in curve)


# ---------------------------------------------------------------- time
def test_every_kind_of_fact_has_a_phase_or_none_on_purpose() -> None:
    without = {"ExplorationStarted", "Steered", "ExplorationFinished"}
    seen = {type(e).__name__: phase_of(e) for e in STORY}

    assert {k for k, phase in seen.items() if phase is None} == without
    assert {"generate", "instantiate", "verify", "tune"} == set(seen.values()) - {None}
    assert set(seen) <= {k.__name__ for k in KINDS}


def test_seconds_go_to_the_stage_of_the_fact_that_ends_them() -> None:
    facts = (STARTED, *family("f1", "proved"), BaselineMeasured("torch", 1.0, 1.0, 1.0, 1))
    times = (0.5, 1.0, 3.0, 7.0, 15.0)
    entries = [Entry(n, at, e) for n, (at, e) in enumerate(zip(times, facts, strict=True))]

    expected = {"generate": 0.5, "instantiate": 2.0, "verify": 4.0, "tune": 8.0}
    assert expected == seconds_per_stage(entries)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("312 µs", 312e-6),
        ("1.5 ms", 0.0015),
        ("1 µs", 9.996e-7),
        ("12.3 s", 12.34),
        ("400 s", 400.0),
        ("3 ns", 3e-9),
        ("0 ns", 0.0),
    ],
)
def test_times_have_three_digits_and_a_unit(text: str, seconds: float) -> None:
    assert text == seconds_text(seconds)


@given(st.floats(min_value=1e-12, max_value=1e6))
def test_a_time_that_was_told_is_read_to_its_three_digits(seconds: float) -> None:
    assert parse_seconds(seconds_text(seconds)) == pytest.approx(seconds, rel=0.0051)


# ---------------------------------------------------------------- the claim
def test_claims(golden: Golden) -> None:
    sound = [RegionPruned(f"p{i}", "n0", "exp(%0)", "block", UNREACHABLE) for i in range(1200)]
    heuristic = RegionPruned("p", "n0", "exp(%0)", "block", replace(UNREACHABLE, soundness="heuristic"))
    by_hand = RegionPruned("p", "n0", "exp(%0)", "block", replace(UNREACHABLE, soundness="user"))
    timed = [*family("f1", "proved"), *tuning(3)]
    stories: dict[str, list[Event]] = {
        "nothing yet": [],
        "just begun": [STARTED],
        "families, none proved": [STARTED, *family("f1", "unknown"), *family("f2", "refuted", "")],
        "proved, none timed": [STARTED, *sound, *family("f1", "proved"), *family("f2", "proved")],
        "exhausted, all sound": [STARTED, *sound, *timed, ExplorationFinished("exhausted", "")],
        "by budget": [STARTED, *timed, *STORY[15:21], ExplorationFinished("budget", "")],
        "cancelled": [STARTED, *timed, ExplorationFinished("cancelled", "")],
        "heuristics": [STARTED, heuristic, *timed, ExplorationFinished("exhausted", "")],
        "cut by hand": [STARTED, by_hand, *timed, ExplorationFinished("exhausted", "")],
        "the only proved family rejected": [STARTED, *timed, reject("f1")],
        "rejected and undone": [STARTED, *timed, reject("f1"), UNDO],
        "everything": list(STORY),
    }

    golden("events/claims", "\n\n".join(f"{name}:\n  {claim(events)}" for name, events in stories.items()))


def test_a_claim_never_says_optimal_and_says_best_only_of_what_was_timed() -> None:
    for end in range(len(STORY) + 1):
        said = claim(STORY[:end])
        assert "optimal" not in said.lower()
        timed = any(isinstance(e, TrialMeasured) for e in STORY[:end])
        assert ("Best of" in said) == timed


def test_the_end_of_a_search_can_be_told_before_it_is_noted() -> None:
    unfinished = STORY[:-1]

    assert "has not ended" in claim(unfinished)
    assert claim(STORY) == claim(unfinished, "exhausted") == claim(ledger(unfinished), "exhausted")
