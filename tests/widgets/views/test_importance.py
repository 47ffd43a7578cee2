from __future__ import annotations

import random

import pytest

from prism_explore.events.ledger import Trial
from prism_explore.widgets.views.importance import importance_scene, importances
from tests.widgets.pictures import check


def trial(number: int, seconds: float | None, candidate: str = "f1.c1", **values: int) -> Trial:
    return Trial(f"u{number}", candidate, tuple(values.items()), time_s=seconds, family=candidate.split(".")[0])


def test_the_parameter_that_decides_the_time_explains_all_and_noise_explains_nothing() -> None:
    draw = random.Random(0)
    trials = [trial(n, 1e-4 * 2 ** (n % 4), decisive=n % 4, noise=draw.randrange(4)) for n in range(80)]
    found = {i.name: i for i in importances(trials)}

    assert found["decisive"].share == pytest.approx(1.0)
    assert found["noise"].share < 0.1
    assert ["decisive", "noise"] == list(found)


def test_two_parameters_share_the_variance_in_proportion() -> None:
    trials = [trial(n, 1e-4 * 4 ** (n % 2) * 2 ** (n // 2 % 2), strong=n % 2, weak=n // 2 % 2) for n in range(64)]
    found = {i.name: i.share for i in importances(trials)}

    assert found["strong"] == pytest.approx(0.8, abs=0.02)
    assert found["weak"] == pytest.approx(0.2, abs=0.03)


def test_chance_is_subtracted_so_that_a_parameter_with_many_values_gains_nothing() -> None:
    draw = random.Random(1)
    trials = [trial(n, 1e-4 * draw.uniform(1, 4), many=n // 2) for n in range(60)]

    assert importances(trials)[0].share < 0.35


def test_the_difference_between_candidates_is_not_counted_for_parameters() -> None:
    trials = [trial(n, 1e-4 * (1 if n % 2 else 8), f"f{n % 2}.c1", gx=2 if n % 2 else 4) for n in range(40)]
    found = {i.name: i.share for i in importances(trials)}

    assert found["candidate"] == pytest.approx(1.0)
    assert found["gx"] == 0.0


def test_failed_trials_do_not_count_and_few_samples_are_marked() -> None:
    trials = [*(trial(n, 1e-4 * (1 + n % 2), gx=n % 2) for n in range(6)), trial(9, None, gx=7)]
    (found,) = importances(trials)
    scene = importance_scene((found,), 6, 500)
    check(scene)

    assert (6, 2) == (found.trials, found.values)
    assert found.is_uncertain
    assert "? · 2 values, 6 trials" in scene.desc
    assert "Few samples" in scene.desc
    assert "bar-uncertain" in {s.kind for s in scene.shapes}


def test_too_few_trials_give_a_sentence() -> None:
    scene = importance_scene(importances([trial(1, 1e-4, gx=1)]), 1, 400)

    assert "at least 4 with different values are needed" in scene.desc
