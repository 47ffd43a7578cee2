"""Floats are not reals: an unsafe family is never chosen silently, and the claim says what was done."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import prism_explore.search.explore as search
from prism_explore.errors import ShapeError
from prism_explore.events.claim import claim, shown_claim
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import (
    FamilyCompleted,
    FloatsAssessed,
    Steered,
    TrialMeasured,
    VerdictReached,
)
from prism_explore.events.ledger import Steering, ledger
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.text import show
from prism_explore.pipeline.search_space import default_space
from prism_explore.pipeline.stages import Kernel, Outcome, Parameters, Timed, Verified
from prism_explore.search.explore import Progress, Task, explore, incumbent, may_win
from prism_explore.session.record import Record
from prism_explore.session.session import Session
from prism_explore.support.work_timer import WorkTimer
from prism_explore.targets import target
from prism_explore.tune import Budget, TuneRequest
from tests.floats.forms import ONLINE_ATTENTION, PLAIN_ATTENTION, attention, proved

ACCEPT = Steered("accept", "f1", "sess.accept('f1')")
SECONDS = {"f1.c1": 1e-6, "f2.c1": 2e-6}
"""The unsafe one is the faster."""


@pytest.fixture
def tuned(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was given to a tuner that times nothing; certificates are not what this is about."""
    seen: list[str] = []

    def tune(request: TuneRequest) -> Iterator[Outcome]:
        for v in request.verifieds:
            seen.append(v.candidate.id)
            seconds = SECONDS[v.candidate.id]
            yield Timed(Kernel(v, Parameters(()), (), "cpu", ""), seconds, seconds, seconds, 1, 0.0, seconds)

    def certify(verified: Verified, _: Journal) -> Verified:
        return verified

    monkeypatch.setattr(search, "tune", tune)
    monkeypatch.setattr(search, "certify", certify)
    return seen


def begun(program: TensorProgram, allow_unsafe: bool = False) -> tuple[Task, Progress]:
    """A search that has two families proved: one drops the maximum, the other keeps it running."""
    shapes = {"h": 2, "t": 64}
    task = Task(program, default_space(program), target("cpu"), shapes, 0, Budget(), allow_unsafe=allow_unsafe)
    plain, online = proved(program, PLAIN_ATTENTION, "f1.c1"), proved(program, ONLINE_ATTENTION, "f2.c1")
    progress = Progress(enumeration=iter(()), decided={"f1", "f2"}, proved=[plain, online])
    return task, progress


def searched(task: Task, progress: Progress, steering: Steering) -> Journal:
    journal = Journal()
    for _ in explore(task, journal, lambda: steering, progress):
        pass
    return journal


def test_an_unsafe_family_is_not_tuned_and_does_not_win(tuned: list[str]) -> None:
    task, progress = begun(attention(True))
    journal = searched(task, progress, Steering())
    best = incumbent(progress, Steering())

    assert ["f2.c1"] == tuned
    assert best is not None and "f2.c1" == best.kernel.verified.candidate.id
    assert [("f1", "unsafe"), ("f2", "safe")] == [
        (e.family, e.outcome) for e in journal.events if isinstance(e, FloatsAssessed)
    ]


def test_each_family_is_assessed_once(tuned: list[str]) -> None:
    task, progress = begun(attention(True))
    searched(task, progress, Steering())

    again = searched(task, progress, Steering((ACCEPT,)))

    assert not [e for e in again.events if isinstance(e, FloatsAssessed)]


def test_who_accepts_an_unsafe_family_gets_it(tuned: list[str]) -> None:
    task, progress = begun(attention(True))
    searched(task, progress, Steering())
    accepted = Steering((ACCEPT,))
    searched(task, progress, accepted)
    best = incumbent(progress, accepted)

    assert ["f2.c1", "f1.c1"] == tuned[:2]
    assert best is not None and "f1.c1" == best.kernel.verified.candidate.id
    # taken back, the safe one is the best again, although the other was timed
    assert (after := incumbent(progress, Steering())) is not None
    assert "f2.c1" == after.kernel.verified.candidate.id


def test_who_allows_unsafe_families_has_them_compete(tuned: list[str]) -> None:
    task, progress = begun(attention(True), allow_unsafe=True)
    journal = searched(task, progress, Steering())
    best = incumbent(progress, Steering())

    assert ["f1.c1", "f2.c1"] == tuned
    assert best is not None and "f1.c1" == best.kernel.verified.candidate.id
    assert all(e.allowed for e in journal.events if isinstance(e, FloatsAssessed))


def test_a_program_without_a_maximum_is_no_reproach_to_its_candidates(tuned: list[str]) -> None:
    task, progress = begun(attention(False))
    searched(task, progress, Steering())

    assert ["f1.c1", "f2.c1"] == tuned
    assert all(may_win(progress, Steering(), v.candidate.family) for v in progress.proved)


def test_a_rejected_family_is_not_assessed(tuned: list[str]) -> None:
    task, progress = begun(attention(True))
    journal = searched(task, progress, Steering((Steered("reject", "f1", ""),)))

    assert ["f2"] == [e.family for e in journal.events if isinstance(e, FloatsAssessed)]


# ---------------------------------------------------------------- the claim
def facts(allowed: bool = False, timed: bool = True) -> list[Any]:
    said = "not finite, where the program is, on large values in q"
    story: list[Any] = [
        FamilyCompleted("f1", "n1", ""),
        FamilyCompleted("f2", "n2", ""),
        VerdictReached("f1.c1", "proved", "normal form", ""),
        VerdictReached("f2.c1", "proved", "normal form", ""),
        FloatsAssessed("f1", "f1.c1", "unsafe", "f32", f"unsafe in f32: {said}", (said,), ("large values",), allowed),
        FloatsAssessed("f2", "f2.c1", "safe", "f32", "no harm", allowed=allowed),
        TrialMeasured("u1", "f2.c1", (), 2e-6, 2e-6, 2e-6, 9, 0.0),
    ]
    return [*story, TrialMeasured("u2", "f1.c1", (), 1e-6, 1e-6, 1e-6, 9, 0.0)] if timed else story


def test_the_claim_names_what_is_equal_over_the_reals_and_unsafe_in_floats() -> None:
    said = claim(facts(timed=False))

    assert "Best of the 2 proved families, of which 1 was timed, within the stated space: f2.c1 at 2 µs." in said
    assert (
        "1 family equal over the reals is unsafe in float32: f1, not finite, where the program is, on large values "
        "in q. f1 is not offered for it; accept a family to have it all the same."
    ) in said


def test_the_claim_for_people_names_three_of_many_unsafe_families_and_counts_the_others() -> None:
    events: list[Any] = []
    for number in range(1, 10):
        family, candidate = f"f{number}", f"f{number}.c1"
        events += [FamilyCompleted(family, "n1", ""), VerdictReached(candidate, "proved", "normal form", "")]
        events.append(FloatsAssessed(family, candidate, "unsafe", "f32", "unsafe", ("not finite",), ("x",)))

    assert "f1, not finite; f2, f3, f4 and 5 others likewise. f1, f2, f3 and 6 others are not offered for it" in (
        shown_claim(events)
    )
    assert "f8 and f9 likewise" in claim(events), "the stored sentences name all"


def test_a_faster_unsafe_trial_is_not_the_best_until_somebody_says_so() -> None:
    silent, accepted, allowed = facts(), [*facts(), ACCEPT], facts(allowed=True)

    assert ["f2.c1", "f1.c1", "f1.c1"] == [
        best.candidate for events in (silent, accepted, allowed) if (best := ledger(events).best) is not None
    ]
    assert "The best is unsafe in floating point: you accepted it." in claim(accepted)
    assert "The best is unsafe in floating point: unsafe families were allowed." in claim(allowed)
    assert "The best is unsafe" not in claim(silent)
    assert "not offered" not in claim(accepted) + claim(allowed)


def test_what_was_not_assessed_is_said_and_not_withheld() -> None:
    events = [*facts(), FloatsAssessed("f2", "f2.c1", "unassessed", "f64", "there is no wider arithmetic")]
    said = claim(events)

    assert "1 family was not assessed in floating point: f2, there is no wider arithmetic." in said
    assert ("f1",) == ledger(events).withheld


def test_a_family_row_says_how_it_fares() -> None:
    assert {"f1": "unsafe", "f2": "safe"} == {r.family: r.floats for r in ledger(facts()).families}


def test_tables_say_which_family_is_not_safe() -> None:
    journal = Journal()
    for event in facts():
        journal.append(event)
    table = Record(journal).text("families")

    assert "proved, unsafe in floats" in table
    assert 1 == table.count("in floats")


def test_a_record_tells_why_and_keeps_the_evidence(tmp_path: Any) -> None:
    journal = Journal()
    for event in facts():
        journal.append(event)
    record = Record(Journal.load(journal.save(tmp_path / "search.prism")))

    assert record.families["f1"].floats == facts()[4]
    assert "In floating point, unsafe: unsafe in f32: not finite" in record.families["f1"].why()


# ---------------------------------------------------------------- equalities of a search
def test_the_equalities_of_any_candidate_can_be_asked_of_a_record() -> None:
    from tests.strategies import rmsnorm_linear

    session = Session(rmsnorm_linear(64, 96), target="h100", at={"b": 8})
    session.run()
    verdicts = {e.candidate: e for e in session.of(VerdictReached)}
    first = next(c for c, e in verdicts.items() if e.verdict == "proved")
    found = session.equalities(first)
    session.close()

    assert verdicts[first].classes == tuple((c.id, c.term, c.members) for c in found.classes)
    assert found.disagreement is None
    assert found.lemma().frames[-1].is_proved
    assert show(found.program) == show(session.program)
    with pytest.raises(ShapeError, match=r"no candidate 'f99\.c1'"):
        session.equalities("f99.c1")


def test_families_that_the_time_does_not_reach_are_unassessed_and_say_so(tuned: list[str]) -> None:
    task, progress = begun(attention(True))
    progress.assessment_timer = WorkTimer(0.0)
    journal = searched(task, progress, Steering())
    said = [e for e in journal.events if isinstance(e, FloatsAssessed)]

    assert ["unassessed", "unassessed"] == [e.outcome for e in said]
    assert all("the time for assessments, 300 s, was spent before" in e.detail for e in said)
    assert not progress.assessed
