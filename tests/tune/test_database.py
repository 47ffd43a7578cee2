"""The database of trials: no trial is repeated, and no file is lost."""

import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

import prism_explore as px
from prism_explore.entry import cli
from prism_explore.errors import JournalVersionError
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import TrialMeasured
from prism_explore.pipeline.stages import Infeasible, Timed
from prism_explore.tune import Budget, TuneRequest, tune
from prism_explore.tune import database as database_module
from prism_explore.tune.database import Database
from prism_explore.tune.strategies.ranked import Exhaustive
from tests.support.test_whole_files import full_disk
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
        TuneRequest(
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
    )
    return list(found)


def numbers(outcome):
    parameters = outcome.kernel.parameters if isinstance(outcome, Timed) else outcome.parameters
    return parameters.sizes, parameters.schedule


def test_every_trial_is_stored_fastest_first_failures_last(database):
    outcomes = run(database, bench=ToyBench(failing={"3": "tune.wrong"}), budget=replace(SMALL, trials=40))
    known = database.trials(fused().candidate.family.program, SHAPES, TOY, VERSIONS)

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


def test_another_family_of_the_program_is_tuned_with_stored_trials(database):
    run(database)
    both = run(database, fused(), split(), budget=replace(SMALL, trials=20))

    assert {fused().candidate.sgraph, split().candidate.sgraph} == {
        o.kernel.verified.candidate.sgraph for o in both if isinstance(o, Timed)
    }


def test_ids_of_a_search_play_no_part(database):
    run(database)
    renamed = replace(fused(), candidate=replace(fused().candidate, id="f9.c9"))

    assert 3 == len(run(database, renamed))


def test_a_stored_kernel_that_is_wrong_now_does_not_win(database):
    first = run(database, strategy=Exhaustive())
    best = min((o for o in first if isinstance(o, Timed)), key=lambda o: o.time_s)
    gx = str(dict(best.kernel.parameters.sizes)["gx"])
    again = run(database, bench=ToyBench(failing={gx: "tune.wrong"}))

    assert any(isinstance(o, Infeasible) for o in again)
    assert all(str(dict(o.kernel.parameters.sizes)["gx"]) != gx for o in again if isinstance(o, Timed))


def test_the_journal_has_only_trials_of_this_run(database):
    run(database)
    journal = Journal()
    there = ToyBench()
    found = tune(
        TuneRequest(
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
    )
    outcomes = list(found)

    assert len(outcomes) == sum(isinstance(e, TrialMeasured) for e in journal.events)


def test_trials_travel_to_another_file(database, tmp_path):
    run(database)
    other = Database(tmp_path / "other.sqlite")

    assert 12 == database.export_to(tmp_path / "trials.jsonl")
    assert 12 == other.import_from(tmp_path / "trials.jsonl")
    assert 12 == other.import_from(tmp_path / "trials.jsonl")
    program = fused().candidate.family.program
    assert database.trials(program, SHAPES, TOY, VERSIONS) == other.trials(program, SHAPES, TOY, VERSIONS)


def changed(**fields):
    return lambda row: json.dumps({**row, **fields})


@pytest.mark.parametrize(
    "line",
    [
        lambda _: "nonsense",
        lambda _: '{"program": "p"}',
        lambda _: "[1]",
        changed(time_s=float("nan")),
        changed(time_s=-1.0),
        changed(time_s="fast"),
        changed(time_s=None),
        changed(program=None),
        changed(numbers="[1]"),
        changed(more=1),
    ],
)
def test_a_bad_line_is_named_and_nothing_of_its_file_is_taken_in(database, tmp_path, line):
    run(database)
    path = tmp_path / "trials.jsonl"
    database.export_to(path)
    path.write_text(path.read_text() + line(json.loads(path.read_text().splitlines()[0])) + "\n")
    other = Database(tmp_path / "other.sqlite")

    with pytest.raises(JournalVersionError, match="line 13 is not a trial"):
        other.import_from(path)
    assert () == other.trials(fused().candidate.family.program, SHAPES, TOY, VERSIONS)


def test_a_damaged_file_is_named_and_left_as_it_is(tmp_path):
    path = tmp_path / "trials.sqlite"
    path.write_bytes(b"this is no database at all" * 100)
    before = path.read_bytes()

    with pytest.raises(JournalVersionError, match="It was not changed"):
        run(Database(path))
    assert before == path.read_bytes()


def test_a_file_of_a_later_version_or_of_others_is_refused_and_left_as_it_is(tmp_path):
    for name, statement in (("later", "pragma user_version = 99"), ("others", "create table t (x)")):
        path = tmp_path / name
        with sqlite3.connect(path) as file:
            file.execute(statement)
        before = path.read_bytes()

        with pytest.raises(JournalVersionError, match="this code reads version 2"):
            run(Database(path))
        assert before == path.read_bytes()


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_file_that_was_cut_short_is_named_and_left_as_it_is(database, share):
    run(database, budget=replace(SMALL, trials=40))
    whole = database.path.read_bytes()
    database.path.write_bytes(whole[: int(len(whole) * share)])
    before = database.path.read_bytes()

    with pytest.raises(JournalVersionError, match="move it away or name another file"):
        database.contents()
    assert before == database.path.read_bytes()


# ---------------------------------------------------------------- versions
def first_version(database):
    """The same trials as a file of version 1, which knew no spread."""
    with sqlite3.connect(database.path) as file:
        for column in ("p20_s", "p80_s"):
            file.execute(f"alter table trials drop column {column}")
        file.execute("pragma user_version = 1")
    file.close()


def dumped(path):
    with sqlite3.connect(path) as file:
        found = list(file.iterdump())
    file.close()
    return found


def test_an_old_file_is_brought_up_to_date_and_kept_as_it_was(database):
    run(database)
    program = fused().candidate.family.program
    new = database.trials(program, SHAPES, TOY, VERSIONS)
    first_version(database)
    old = dumped(database.path)
    known = database.trials(program, SHAPES, TOY, VERSIONS)

    assert tuple(replace(k, p20_s=None, p80_s=None) for k in new) == known
    assert any(k.p20_s is not None for k in new)
    assert old == dumped(database.path.with_name("trials.sqlite.version-1"))
    assert 3 == len(run(database))


def test_an_earlier_copy_is_never_replaced(database):
    run(database)
    first_version(database)
    earlier = database.path.with_name("trials.sqlite.version-1")
    earlier.write_text("somebody's")
    database.contents()

    assert "somebody's" == earlier.read_text()
    assert dumped(database.path.with_name("trials.sqlite.version-1.2"))


def test_a_step_that_fails_changes_nothing(database, monkeypatch):
    run(database)
    first_version(database)
    before = dumped(database.path)
    monkeypatch.setattr(database_module, "_UPGRADES", (*database_module._UPGRADES[:2], ("no sql at all",)))
    monkeypatch.setattr(database_module, "VERSION", 3)

    with pytest.raises(JournalVersionError, match="It was not changed"):
        database.contents()
    assert before == dumped(database.path)


def test_what_an_earlier_version_exported_is_taken_in(database, tmp_path):
    run(database)
    database.export_to(tmp_path / "new.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "new.jsonl").read_text().splitlines()]
    old = [{k: v for k, v in row.items() if k not in ("p20_s", "p80_s")} for row in rows]
    (tmp_path / "old.jsonl").write_text("".join(json.dumps(row) + "\n" for row in old))
    other = Database(tmp_path / "other.sqlite")

    assert 12 == other.import_from(tmp_path / "old.jsonl")
    assert [replace(h) for h in database.contents()] == list(other.contents())


def test_on_a_full_disk_the_search_goes_on_says_so_once_and_what_was_stored_stays(database, caplog):
    run(database, budget=replace(SMALL, trials=2))
    before = database.contents()
    with full_disk(8 << 10):
        assert 12 == len(run(database))

    (said,) = caplog.messages
    assert str(database.path) in said and "the search goes on" in said
    assert before == database.contents()


def test_without_the_folder_of_the_database_the_search_goes_on_and_says_so_once(tmp_path, caplog):
    assert 12 == len(run(Database(tmp_path / "none" / "trials.sqlite")))

    (said,) = caplog.messages
    assert "none/trials.sqlite cannot be opened, read or written: unable to open database file" in said
    assert not list(tmp_path.iterdir())


def test_a_locked_database_is_not_called_damaged(database, monkeypatch):
    run(database)
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda path, timeout=0.0: connect(path, timeout=0.0))
    with connect(database.path) as other:
        other.execute("begin exclusive")
        with pytest.raises(OSError, match="database is locked"):
            database.contents()


def test_many_threads_make_and_fill_one_file(tmp_path):
    outcomes = [o for o in run(None, budget=replace(SMALL, trials=40), strategy=Exhaustive()) if isinstance(o, Timed)]
    path = tmp_path / "shared.sqlite"
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda o: Database(path).store(o, SHAPES, TOY, VERSIONS), outcomes))

    assert [len(outcomes)] == [held.timed for held in Database(path).contents()]


def test_an_interrupt_loses_no_trial_and_the_search_continues(database):
    class Interrupted(ToyBench):
        def time(self, keys, rounds):
            if "u5" in keys:
                raise KeyboardInterrupt
            return super().time(keys, rounds)

    with pytest.raises(KeyboardInterrupt):
        run(database, bench=Interrupted(), strategy=Exhaustive())
    (held,) = database.contents()
    before = database.trials(fused().candidate.family.program, SHAPES, TOY, VERSIONS)
    more = run(database, strategy=Exhaustive())
    old = {(k.parameters.sizes, k.parameters.schedule) for k in before}

    assert 4 == held.timed
    assert 3 == sum(numbers(o) in old for o in more)
    assert 12 == sum(h.timed + h.failed for h in database.contents())


def test_contents_are_grouped_by_program_shapes_machine_and_versions(database):
    run(database, bench=ToyBench(failing={"3": "tune.wrong"}), budget=replace(SMALL, trials=40))
    run(database, shapes={"b": 8})
    small, large = database.contents()

    assert ("rmsnorm_linear", "rmsnorm_linear") == (small.program, large.program)
    assert {(("b", 4),), (("b", 8),)} == {small.shapes, large.shapes}
    assert VERSIONS == small.versions
    assert small.machine.startswith("toy, ")
    assert 0 < small.failed + large.failed
    assert all(held.fastest_s and held.fastest_s > 0 for held in (small, large))


# ---------------------------------------------------------------- by people
def test_a_database_travels_by_two_functions(database, tmp_path):
    run(database)
    there = tmp_path / "there.sqlite"

    assert 12 == px.export_trials(database.path, tmp_path / "trials.jsonl")
    assert 12 == px.import_trials(tmp_path / "trials.jsonl", there)
    assert database.contents() == Database(there).contents()
    with pytest.raises(px.JournalVersionError, match="there is no database at"):
        px.export_trials(tmp_path / "nowhere", tmp_path / "trials.jsonl")
    assert not (tmp_path / "nowhere").exists()


def test_a_database_travels_on_the_command_line(database, tmp_path, capsys):
    run(database)
    file, there = str(tmp_path / "trials.jsonl"), str(tmp_path / "there.sqlite")

    assert 0 == cli.main(["trials", str(database.path), "--export", file])
    assert 0 == cli.main(["trials", there, "--import", file])
    said = capsys.readouterr().out.splitlines()
    assert f"12 trials imported from {file}" in said
    assert [f"12 trials written to {file}"] == [line for line in said if "written" in line]
    assert 2 == sum(line.startswith("rmsnorm_linear b=4 on toy, ") for line in said)
    assert 2 == cli.main(["trials", str(tmp_path / "nowhere"), "--export", file])
    assert "there is no database at" in capsys.readouterr().err


def test_a_session_rejects_a_damaged_database_at_once(tmp_path):
    path = tmp_path / "trials.sqlite"
    path.write_bytes(b"nothing of the kind" * 100)

    with pytest.raises(px.JournalVersionError, match="It was not changed"):
        px.Session(fused().candidate.family.program, target=TOY, database=path)


def test_a_search_without_a_database_writes_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(None)

    assert [] == list(tmp_path.iterdir())
