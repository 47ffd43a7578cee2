from __future__ import annotations

from dataclasses import replace

import pytest

from prism_explore.events.kinds import BaselineMeasured, Event, FamilyCompleted, ParametersProposed, TrialMeasured
from prism_explore.events.ledger import KernelTime, Ledger, ledger
from tests.widgets.recordings import R1


def measured(trial: str, family: str, time_s: float, waited: float = 0.0, spread: float = 1.05) -> list[Event]:
    candidate = f"{family}.c1"
    return [
        ParametersProposed(trial, candidate, (("gx", 8),), 1e-4),
        TrialMeasured(trial, candidate, (("gx", 8),), time_s, time_s / spread, time_s * spread, 20, 1e-7, waited),
    ]


def race(time_s: float, samples: int = 24) -> list[Event]:
    return [
        BaselineMeasured("ours", time_s, 0.9 * time_s, 1.1 * time_s, samples, ratio=1.0),
        BaselineMeasured("torch eager", 3 * time_s, 3 * time_s, 3 * time_s, samples, ratio=3.0),
    ]


FOUND: list[Event] = [
    FamilyCompleted("f1", "n1", R1),
    FamilyCompleted("f2", "n1", R1),
    *measured("u1", "f1", 92e-6),
    *measured("u2", "f2", 93e-6),
]


def time_of(book: Ledger, trial: str) -> KernelTime:
    found = next(t.kernel_time for t in book.trials if t.trial == trial)
    assert found is not None
    return found


def test_without_a_race_the_time_is_that_of_the_trial() -> None:
    time = time_of(ledger(FOUND), "u1")

    assert (92e-6, "trial", 92e-6) == (time.time_s, time.source, time.trial_s)
    assert time.p20_s < time.time_s < time.p80_s
    assert "" == time.warning


def test_the_race_gives_the_time_of_the_best_kernel_everywhere() -> None:
    book = ledger([*FOUND, *race(100e-6)])
    winner, loser = book.families

    assert (100e-6, "race") == (time_of(book, "u1").time_s, time_of(book, "u1").source)
    assert book.best_s == winner.best_s == time_of(book, "u1").time_s
    assert winner.time == book.best_time
    assert (93e-6, "trial") == (loser.best_s, time_of(book, "u2").source)
    assert winner.is_best, "the race does not change which kernel is the best"


def test_a_race_in_which_the_kernel_failed_changes_no_time() -> None:
    assert "trial" == time_of(ledger([*FOUND, *race(0.0, samples=0)]), "u1").source


def test_a_kernel_keeps_its_race_when_a_faster_one_is_raced_later() -> None:
    book = ledger([*FOUND, *race(100e-6), *measured("u3", "f2", 80e-6), *race(85e-6)])

    assert [100e-6, 93e-6, 85e-6] == [time_of(book, t).time_s for t in ("u1", "u2", "u3")]
    assert 85e-6 == book.best_s


@pytest.mark.parametrize(("raced_s", "doubtful"), [(100e-6, False), (137e-6, False), (139e-6, True), (60e-6, True)])
def test_race_and_trial_that_differ_by_half_are_reported(raced_s: float, doubtful: bool) -> None:
    time = time_of(ledger([*FOUND, *race(raced_s)]), "u1")

    assert doubtful == bool(time.warnings)
    assert doubtful == ("its trial 92 µs" in time.warning)


def test_a_busy_machine_and_a_wide_spread_are_reported() -> None:
    busy = ledger([FOUND[0], *measured("u1", "f1", 92e-6, waited=0.3)])
    varying = ledger([FOUND[0], *measured("u1", "f1", 92e-6, spread=1.3)])

    assert "waited for a core 30% of the time" in time_of(busy, "u1").warning
    assert "70.8 µs to 120 µs" in time_of(varying, "u1").warning


@pytest.mark.parametrize(("floor_s", "beaten"), [(95e-6, False), (97e-6, True), (368e-6, True)])
def test_a_trial_below_its_lower_bound_is_reported(floor_s: float, beaten: bool) -> None:
    proposed, timed = measured("u1", "f1", 92e-6)
    assert isinstance(proposed, ParametersProposed)
    time = time_of(ledger([FOUND[0], replace(proposed, floor_s=floor_s), timed]), "u1")

    assert beaten == bool(time.warnings)
    assert beaten == ("92 µs is below its lower bound" in time.warning)
    assert beaten == ("sess.time_again()" in time.warning)
    assert beaten == ("faster than its lower bound" in time.doubt)
