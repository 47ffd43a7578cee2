"""What was tuned before is not timed again, and a file of trials is never lost."""

import sqlite3
from dataclasses import replace

import pytest

from prism_explore.errors import JournalVersionError
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import TrialMeasured
from prism_explore.ir.stages import Infeasible, Timed
from prism_explore.tune import Budget, tune
from prism_explore.tune.database import Database
from prism_explore.tune.strategy import Exhaustive
from tests.tune.test_tune import SHAPES, ToyBench
from tests.tune.toys import BACKEND, TOY, fused, split

VERSIONS = (("prism-explore", "1"),)
SMALL = Budget(trials=12, patience=100, seconds=1e9, near=-1.0)


@pytest.fixture
def database(tmp_path):
    return Database(tmp_path / "trials.sqlite")


def run(database, *verifieds, shapes=SHAPES, target=TOY, versions=VERSIONS, budget=SMALL, bench=None, strategy=None):
    there = bench or ToyBench()
    found = tune(
        verifieds or (fused(),),
        shapes,
        target,
        Journal(),
        budget=budget,
        backend=BACKEND,
        bench=there,
        database=database,
        versions=versions,
        strategy=strategy,
        clock=lambda: 0.0,
    )
    return list(found)


def numbers(outcome):
    parameters = outcome.kernel.parameters if isinstance(outcome, Timed) else outcome.parameters
    return parameters.sizes, parameters.schedule


def test_every_trial_is_remembered_fastest_first_failures_last(database):
    outcomes = run(database, bench=ToyBench(failing={"3": "tune.wrong"}), budget=replace(SMALL, trials=40))
    known = database.known(fused().candidate.family.program, SHAPES, TOY, VERSIONS)

    assert {numbers(o) for o in outcomes} == {(k.parameters.sizes, k.parameters.schedule) for k in known}
    timed = [k.time_s for k in known if k.time_s is not None]
    assert sorted(timed) == timed
    failed = [k for k in known if k.time_s is None]
    assert failed
    assert failed == list(known[-len(failed) :])
    assert {"tune.wrong"} == {k.outcome for k in failed}
    assert {"on request"} == {k.reason for k in failed}


def test_the_same_search_again_races_the_fastest_few_and_nothing_else(database):
    first = run(database)
    again = run(database)
    fastest = sorted((o for o in first if isinstance(o, Timed)), key=lambda o: o.time_s)[:3]

    assert 12 == len(first)
    assert {numbers(o) for o in fastest} == {numbers(o) for o in again}


def test_a_larger_budget_goes_on_where_the_smaller_one_ended(database):
    first = run(database, strategy=Exhaustive())
    more = run(database, strategy=Exhaustive(), budget=replace(SMALL, trials=16))
    old = {numbers(o) for o in first}

    assert 3 + 4 >= len(more) > 3
    assert 3 == sum(numbers(o) in old for o in more)


@pytest.mark.parametrize(
    "other",
    [
        {"shapes": {"b": 8}},
        {"target": replace(TOY, name="another")},
        {"target": replace(TOY, cores=1)},
        {"versions": (("prism-explore", "2"),)},
    ],
)
def test_other_shapes_machines_and_versions_know_nothing_of_it(database, other):
    run(database)

    assert 12 == len(run(database, **other))


def test_another_family_of_the_program_is_tuned_beside_what_is_known(database):
    run(database)
    both = run(database, fused(), split(), budget=replace(SMALL, trials=20))

    assert {fused().candidate.sgraph, split().candidate.sgraph} == {
        o.kernel.verified.candidate.sgraph for o in both if isinstance(o, Timed)
    }


def test_ids_of_a_search_play_no_part(database):
    run(database)
    renamed = replace(fused(), candidate=replace(fused().candidate, id="f9.c9"))

    assert 3 == len(run(database, renamed))


def test_a_remembered_kernel_that_is_wrong_today_does_not_win(database):
    first = run(database, strategy=Exhaustive())
    best = min((o for o in first if isinstance(o, Timed)), key=lambda o: o.time_s)
    gx = str(dict(best.kernel.parameters.sizes)["gx"])
    again = run(database, bench=ToyBench(failing={gx: "tune.wrong"}))

    assert any(isinstance(o, Infeasible) for o in again)
    assert all(str(dict(o.kernel.parameters.sizes)["gx"]) != gx for o in again if isinstance(o, Timed))


def test_the_journal_hears_only_of_what_was_timed_in_this_run(database):
    run(database)
    journal = Journal()
    there = ToyBench()
    found = tune(
        (fused(),),
        SHAPES,
        TOY,
        journal,
        budget=SMALL,
        backend=BACKEND,
        bench=there,
        database=database,
        versions=VERSIONS,
    )
    outcomes = list(found)

    assert len(outcomes) == sum(isinstance(e, TrialMeasured) for e in journal.events)


def test_trials_travel_to_another_file(database, tmp_path):
    run(database)
    other = Database(tmp_path / "other.sqlite")

    assert 12 == database.write(tmp_path / "trials.jsonl")
    assert 12 == other.read(tmp_path / "trials.jsonl")
    assert 12 == other.read(tmp_path / "trials.jsonl")
    program = fused().candidate.family.program
    assert database.known(program, SHAPES, TOY, VERSIONS) == other.known(program, SHAPES, TOY, VERSIONS)


@pytest.mark.parametrize("line", ["nonsense", '{"program": "p"}', "[1]"])
def test_a_bad_line_is_named_and_nothing_of_its_file_is_taken_in(database, tmp_path, line):
    run(database)
    path = tmp_path / "trials.jsonl"
    database.write(path)
    path.write_text(path.read_text() + line + "\n")
    other = Database(tmp_path / "other.sqlite")

    with pytest.raises(JournalVersionError, match="line 13 is no trial"):
        other.read(path)
    assert () == other.known(fused().candidate.family.program, SHAPES, TOY, VERSIONS)


def test_a_damaged_file_is_named_and_left_as_it_is(tmp_path):
    path = tmp_path / "trials.sqlite"
    path.write_bytes(b"this is no database at all" * 100)
    before = path.read_bytes()

    with pytest.raises(JournalVersionError, match="left as it is"):
        run(Database(path))
    assert before == path.read_bytes()


def test_a_file_of_a_later_version_or_of_others_is_refused(tmp_path):
    for name, statement in (("later", "pragma user_version = 99"), ("others", "create table t (x)")):
        path = tmp_path / name
        with sqlite3.connect(path) as file:
            file.execute(statement)

        with pytest.raises(JournalVersionError, match="this code reads version 1"):
            run(Database(path))


def test_a_search_without_a_database_writes_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(None)

    assert [] == list(tmp_path.iterdir())
