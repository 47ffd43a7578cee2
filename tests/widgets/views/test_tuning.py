from __future__ import annotations

from itertools import pairwise

import pytest

from prism_explore.events.format import seconds_text
from prism_explore.events.kinds import BaselineMeasured, TrialMeasured
from prism_explore.events.ledger import ledger
from prism_explore.widgets.scene import Scene
from prism_explore.widgets.views.tuning import tuning_scene
from tests.widgets.pictures import check
from tests.widgets.recordings import story, tuning

EVENTS = story()


def marks(scene: Scene) -> dict[str, tuple[str, str]]:
    return {s.id: (s.kind, s.outline) for s in scene.shapes if s.role == "mark"}


def test_trials_are_points_failures_are_crosses_on_the_axis() -> None:
    scene = tuning_scene(ledger(EVENTS))
    check(scene)
    shapes = {s.id: s for s in scene.shapes}
    axis = next(e for e in scene.edges if e.id == "axis-x").points[0][1]

    assert 12 == len(marks(scene))
    for failed in ("u5", "u10"):
        assert ("trial-failed", "cross") == marks(scene)[failed]
        assert axis == shapes[failed].y + shapes[failed].h / 2
        assert "tune.crash: the kernel crashed" in shapes[failed].tip
    assert [("trial-best", "star")] == [m for m in marks(scene).values() if m[0] == "trial-best"]


def test_less_time_is_lower_and_equal_ratios_are_equal_steps() -> None:
    scene = tuning_scene(ledger(EVENTS))
    lines = {e.id: e.points[0][1] for e in scene.edges if e.kind in ("baseline", "modelled")}
    grid = {e.texts[0].text: e.points[0][1] for e in scene.edges if e.kind == "grid"}

    assert lines["baseline0"] < lines["baseline1"] < lines["bound"]
    assert grid["500 µs"] == pytest.approx(lines["baseline0"])


def test_the_curve_never_rises_and_its_band_holds_it() -> None:
    scene = tuning_scene(ledger(EVENTS))
    curve = next(e for e in scene.edges if e.kind == "curve" and e.id.startswith("line"))
    band = next(e for e in scene.edges if e.closed)
    ys = [y for _, y in curve.points]

    assert ys == sorted(ys)
    half = len(band.points) // 2
    low, high = band.points[:half], tuple(reversed(band.points[half:]))
    assert all(h[1] <= y <= lower[1] for (_, y), lower, h in zip(curve.points, low, high, strict=True))


def test_what_is_modelled_is_dashed_and_says_so() -> None:
    scene = tuning_scene(ledger(EVENTS))
    bound = next(e for e in scene.edges if e.id == "bound")

    assert "modelled" == bound.kind
    assert bound.tip == "roofline 250 µs (modelled): a lower bound from the cost model, not a measurement"
    assert "roofline 250 µs (modelled)" in [t.text for s in scene.shapes for t in s.texts]


def test_labels_on_the_right_keep_apart() -> None:
    close = [BaselineMeasured(f"rival {i}", (500 + i) * 1e-6, 1.0, 1.0, 5) for i in range(4)]
    scene = tuning_scene(ledger([*EVENTS, *close]))
    ys = sorted(s.texts[0].y for s in scene.shapes if s.id.endswith("#label"))

    assert 7 == len(ys)
    assert all(b - a >= 15 for a, b in pairwise(ys))


def test_a_rivals_ratio_and_a_trials_waiting_are_said() -> None:
    rival = BaselineMeasured("torch", 5e-4, 5e-4, 5e-4, 5, ratio=1.57)
    slow = TrialMeasured("u99", "f1.c1", (("gx", 1),), 9e-4, 9e-4, 9e-4, 5, 0.0, 0.31)
    scene = tuning_scene(ledger([*EVENTS, rival, slow]))

    assert "race: torch 500 µs, 1.57 × the best" in [t.text for s in scene.shapes for t in s.texts]
    assert "its threads waited for a core 31% of the time" in next(s.tip for s in scene.shapes if s.id == "u99")


def test_without_an_ended_trial_the_picture_is_a_sentence() -> None:
    assert "no trial has ended yet" == tuning_scene(ledger([])).desc


@pytest.mark.parametrize("trials", [1, 2, 300])
def test_any_number_of_trials_fits(trials: int) -> None:
    check(tuning_scene(ledger(tuning(trials))))


def test_only_failures_make_a_picture_too() -> None:
    failures = [e for e in EVENTS if type(e).__name__ in ("TrialFailed", "ParametersProposed")]
    scene = tuning_scene(ledger(failures))

    check(scene)
    assert {("trial-failed", "cross")} == set(marks(scene).values())


def test_the_best_is_drawn_at_its_time_in_tuning_and_both_times_are_said() -> None:
    best = ledger(EVENTS).best
    assert best is not None and best.time_s is not None
    raced = BaselineMeasured("ours", 2 * best.time_s, best.time_s, 3 * best.time_s, 9, ratio=1.0)
    scene = tuning_scene(ledger([*EVENTS, raced]))
    star = next(s for s in scene.shapes if s.id == best.trial)
    marks_of_trials = [s for s in scene.shapes if s.role == "mark" and s.kind in ("trial", "trial-best")]

    assert star.y + star.h / 2 == max(s.y + s.h / 2 for s in marks_of_trials), "the best trial is the lowest one"
    assert f"{seconds_text(2 * best.time_s)} (p20 to p80" in star.tip
    assert "in its trial, measured" in star.tip
    assert "a factor of 2" in star.tip
    assert f"{seconds_text(2 * best.time_s)} (p20" in scene.desc
    assert f"race: best kernel {seconds_text(2 * best.time_s)}" in scene.desc
