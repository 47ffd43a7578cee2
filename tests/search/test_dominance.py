"""A dominated family is tuned after others, or not at all if the caller wants that; the ledger says which."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import prism_explore.search.explore as search
from prism_explore.events.claim import claim
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import CandidateBounded, FamilyCompleted, FamilyDominated, Steered, VerdictReached
from prism_explore.events.ledger import Steering, ledger
from prism_explore.ir.text import show
from prism_explore.pipeline.search_space import default_space
from prism_explore.pipeline.stages import Kernel, Outcome, Parameters, Proof, Timed, Verified
from prism_explore.search.explore import Progress, Task, explore, incumbent
from prism_explore.session.record import Record
from prism_explore.session.session import Session
from prism_explore.tune import Budget, TuneRequest, tune
from tests.cost.linear import linear
from tests.tune.test_tune import ToyBench
from tests.tune.toys import BACKEND, TOY

LEAN, FAT = linear("f1", "n", True), linear("f2", "n", True, extra=True)
SECONDS = {"f1.c1": 2e-6, "f2.c1": 1e-6}
"""What costs more in the model is the faster one."""


class Tuner:
    """Times nothing, and remembers what it was given."""

    def __init__(self) -> None:
        self.given: list[str] = []
        self.later: list[str] = []

    def __call__(self, request: TuneRequest) -> Iterator[Outcome]:
        self.later = sorted(request.deferred)
        for v in request.verifieds:
            self.given.append(v.candidate.id)
            seconds = SECONDS[v.candidate.id]
            yield Timed(Kernel(v, Parameters(()), (), "cpu", ""), seconds, seconds, seconds, 1, 0.0, seconds)


@pytest.fixture
def tuner(monkeypatch: pytest.MonkeyPatch) -> Tuner:
    made = Tuner()

    def certify(verified: Verified, _: Journal) -> Verified:
        return verified

    monkeypatch.setattr(search, "tune", made)
    monkeypatch.setattr(search, "certify", certify)
    return made


def begun(**options: Any) -> tuple[Task, Progress]:
    """A search that has proved two families, one of which does needless work."""
    proved = [Verified(c, Proof("normal form", "equal", ()), ()) for c in (LEAN, FAT)]
    program = LEAN.family.program
    task = Task(program, default_space(program), TOY, {"b": 4}, 0, Budget(), **options)
    return task, Progress(enumeration=iter(()), decided={"f1", "f2"}, proved=proved)


def searched(task: Task, progress: Progress, *steps: Steered) -> Journal:
    journal = Journal()
    for c in (LEAN, FAT):
        journal.append(FamilyCompleted(c.family.id, "n1", show(c.sgraph)))
        journal.append(VerdictReached(c.id, "proved", "normal form", ""))
    steering = Steering(steps)
    for step in steps:
        journal.append(step)
    for _ in explore(task, journal, lambda: steering, progress):
        pass
    return journal


def dominated_in(journal: Journal) -> list[tuple[str, str, bool]]:
    return [(e.family, e.by, e.left_out) for e in journal.events if isinstance(e, FamilyDominated)]


def test_by_default_a_dominated_family_comes_behind_and_may_still_win(tuner: Tuner) -> None:
    task, progress = begun()
    journal = searched(task, progress)
    best = incumbent(progress, Steering())

    assert [("f2", "f1", False)] == dominated_in(journal)
    assert {"f1.c1", "f2.c1"} == set(tuner.given)
    assert ["f2.c1"] == tuner.later
    assert best is not None and "f2.c1" == best.kernel.verified.candidate.id
    assert not [c for c in ledger(journal.events).prune_counts if c.what == "family"]
    assert ["", "f1"] == [row.dominated_by for row in ledger(journal.events).families]


def test_who_leaves_dominated_families_out_reads_so_in_the_ledger_and_in_the_claim(tuner: Tuner) -> None:
    task, progress = begun(dominated="left out")
    journal = searched(task, progress)
    (cut,) = [c for c in ledger(journal.events).prune_counts if c.what == "family"]

    assert ["f1.c1"] == tuner.given
    assert [("f2", "f1", True)] == dominated_in(journal)
    assert ("dominated.by", "cost.dominance", "heuristic", 1, 1.0) == (
        cut.code,
        cut.rule,
        cut.soundness,
        cut.count,
        cut.stood_for,
    )
    assert "except 1 proved family by heuristic rules" in claim(journal.events)
    assert "dominated.by" in Record(journal).text("pruned")


def test_a_family_says_by_which_other_and_with_which_numbers(tuner: Tuner) -> None:
    task, progress = begun()
    record = Record(searched(task, progress))

    assert record.families["f1"].dominated is None
    why = record.families["f2"].why()
    assert "Whatever its numbers, f1 has some with no more traffic" in why
    assert "which is no proof about time. It is tuned after families of the same priority." in why
    assert "numbers of f1.c1: gx=gx, f=f" in why


def test_who_rejects_the_dominating_family_opens_the_other_again(tuner: Tuner) -> None:
    task, progress = begun(dominated="left out")
    journal = searched(task, progress, Steered("reject", "f1", ""))

    assert ["f2.c1"] == tuner.given
    assert [] == dominated_in(journal)
    assert [] == tuner.later


def test_who_rejects_it_later_opens_it_too(tuner: Tuner) -> None:
    task, progress = begun(dominated="left out")
    searched(task, progress)
    journal = searched(task, progress, Steered("reject", "f1", ""))

    assert ["f1.c1", "f2.c1"] == tuner.given
    assert ["", ""] == [row.dominated_by for row in ledger(journal.events).families]


def test_who_accepts_a_dominated_family_has_it_tuned(tuner: Tuner) -> None:
    task, progress = begun(dominated="left out")
    searched(task, progress, Steered("accept", "f2", ""))

    assert ["f2.c1", "f1.c1"] == tuner.given


# ---------------------------------------------------------------- a time to beat
def test_what_cannot_beat_a_given_time_is_bounded_before_anything_is_timed() -> None:
    journal = Journal()
    verified = Verified(LEAN, Proof("normal form", "equal", ()), ())
    outcomes = list(
        tune(TuneRequest([verified], {"b": 4}, TOY, journal, backend=BACKEND, bench=ToyBench(), time_to_beat_s=1e-9))
    )

    assert [] == outcomes
    assert ["f1.c1"] == [e.candidate for e in journal.events if isinstance(e, CandidateBounded)]


def test_a_search_with_a_time_to_beat_states_it() -> None:
    session = Session(LEAN.family.program, target=TOY, at={"b": 4}, time_to_beat_s=1e-9)
    session.run()
    session.close()
    book = ledger(session.journal.events)

    assert book.started is not None
    assert "1 ns" in book.started.space["time to beat"]
    assert not book.families
    assert {"cost.floor"} <= {c.rule for c in book.prune_counts}
    assert "cost.floor" in session.text("pruned")
    (root,) = [e.region for e in session.journal.events if getattr(e, "parent", "") == "n1" and "x, w" in e.operator]
    asked = session.pruned[root].audit()
    assert ("cost.floor", "right") == (asked.rule, asked.answer)
    assert {"excluded"} == {f.status for f in asked.found}
    assert "no kernel of it beats 1 ns" in asked.found[0].explanation
