"""Trials as data: what a notebook, a DataFrame or a file takes away from tuning."""

import json

import pytest
from rich.console import Console

from prism_explore.events.journal import Journal
from prism_explore.session.record import Record
from prism_explore.tune import Budget
from prism_explore.tune.strategies.ranked import Exhaustive
from tests.tune.test_tune import ToyBench, run


@pytest.fixture(scope="module")
def tuning():
    journal = Journal()
    bench = ToyBench(failing={"3": "tune.wrong", "6": "tune.crash"})
    budget = Budget(trials=200, patience=1000, seconds=1e9, near=-1.0)
    run(journal=journal, bench=bench, budget=budget, strategy=Exhaustive())
    return Record(journal).tuning


def test_every_trial_is_there_in_order(tuning):
    assert [f"u{n}" for n in range(1, len(tuning) + 1)] == [t.trial for t in tuning]
    assert len(tuning) == len(tuning.fastest) + sum(tuning.failures.values())
    assert tuning[0] in tuning
    assert [t.trial for t in tuning[1:3]] == ["u2", "u3"]


def test_the_fastest_come_first_and_failures_are_counted_by_code(tuning):
    times = [t.time_s for t in tuning.fastest]

    assert sorted(times) == times
    assert {"tune.wrong", "tune.crash"} == set(tuning.failures)


def test_rows_are_plain_and_complete(tuning):
    rows = json.loads(json.dumps(tuning.data))

    assert len(tuning) == len(rows)
    for row, trial in zip(rows, tuning, strict=True):
        assert dict(trial.parameters) == row["parameters"]
        assert trial.time_s == row["time_s"]
        assert (row["time_s"] is None) == bool(row["failure"]) == bool(row["reason"])
    assert "f1" == rows[0]["family"]


def test_the_text_says_how_well_the_model_orders(tuning):
    assert f"rank correlation of {tuning.rank_correlation:.2f}" in repr(tuning)
    assert repr(tuning).startswith(f"{len(tuning)} trials: {len(tuning.fastest)} timed, ")
    assert 6 == len(repr(tuning).splitlines())


def test_a_terminal_and_a_notebook_get_a_row_per_trial_and_the_best_one_is_marked(tuning):
    console = Console(width=200, color_system=None)
    with console.capture() as capture:
        console.print(tuning)
    marked = [line for line in capture.get().splitlines() if "★" in line]

    assert len(tuning) + 1 == len(capture.get().splitlines())
    assert [tuning.fastest[0].trial] == [line.split()[0] for line in marked]
    assert len(tuning) + 1 == tuning._repr_html_().count("<tr>")
    assert str(len(tuning)) in tuning._repr_html_()


def test_before_the_first_trial_there_is_nothing_to_say():
    nothing = Record(Journal()).tuning

    assert ([], None, "0 trials: 0 timed") == (nothing.data, nothing.rank_correlation, repr(nothing))
