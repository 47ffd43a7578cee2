from __future__ import annotations

import pytest

from prism_explore.events.ledger import Trial, ledger
from prism_explore.widgets.scene import Scene
from prism_explore.widgets.views.parallel import MAX_LINES, Axis, parallel_axes, parallel_scene
from prism_explore.widgets.views.tuning_view import TuningView
from tests.widgets.pictures import check
from tests.widgets.recordings import story

TRIALS = ledger(story()).trials
WIDTH, HEIGHT = 600.0, 280.0


def trial(name: str, seconds: float | None = 1e-4, candidate: str = "f1.c1", **values: int) -> Trial:
    return Trial(name, candidate, tuple(values.items()), time_s=seconds, family=candidate.split(".")[0])


def drawn(trials: tuple[Trial, ...], view: TuningView | None = None) -> tuple[tuple[Axis, ...], Scene]:
    view = view or TuningView()
    axes = parallel_axes(trials, view, WIDTH, HEIGHT)
    return axes, parallel_scene(trials, axes, view, "u1", WIDTH, HEIGHT)


def test_every_parameter_with_several_values_has_an_axis_and_the_others_are_listed() -> None:
    axes, scene = drawn(TRIALS)
    check(scene)

    assert ["gx", "time"] == [a.name for a in axes]
    assert "One value only: f=8." in scene.desc
    assert 12 == sum(e.id.endswith("#line") for e in scene.edges)


def test_values_are_ordered_and_equally_spaced_and_faster_is_lower() -> None:
    gx, seconds = drawn(TRIALS)[0]

    assert list(gx.values) == sorted(gx.values)
    steps = [a - b for a, b in zip(gx.ys, gx.ys[1:], strict=False)]
    assert steps == pytest.approx([steps[0]] * len(steps))
    assert list(seconds.ys) == sorted(seconds.ys, reverse=True)


def test_the_brush_leaves_lines_outside_faint_and_says_how_many_are_inside() -> None:
    view = TuningView(brush=(("gx", 8, 64),))
    axes, scene = drawn(TRIALS, view)
    inside = {t.trial for t in TRIALS if 8 <= dict(t.parameters)["gx"] <= 64}
    kinds = {e.id.removesuffix("#line"): e.kind for e in scene.edges if e.id.endswith("#line")}

    assert inside
    assert {k for k, kind in kinds.items() if kind != "trial-outside"} == inside
    assert axes[0].is_brushed
    assert (8, 64) == (axes[0].values[axes[0].low], axes[0].values[axes[0].high])
    assert f"{len(inside)} are inside the brush" in scene.desc
    assert any(s.id == "brush-gx" for s in scene.shapes)


def test_a_trial_without_a_time_ends_in_a_cross_with_its_reason() -> None:
    _, scene = drawn(TRIALS)
    crosses = [s for s in scene.shapes if s.outline == "cross"]

    assert {"u5", "u10"} == {s.ref for s in crosses}
    assert all("tune.crash: the kernel crashed" in s.tip for s in crosses)


def test_candidates_have_an_axis_and_a_trial_lacks_the_parameters_of_another_one() -> None:
    trials = (
        trial("u1", gx=4),
        trial("u2", 2e-4, gx=8),
        trial("u3", 3e-4, "f2.c1", gy=2),
        trial("u4", 4e-4, "f2.c1", gy=4),
    )
    axes, scene = drawn(trials)
    check(scene)
    ends = {a.name: a for a in axes}

    assert ["candidate", "gx", "gy", "time"] == [a.name for a in axes]
    assert ("f1.c1", "f2.c1") == ends["candidate"].texts
    line = next(e for e in scene.edges if e.id == "u3#line")
    assert line.points[1][1] > ends["gx"].ys[0]
    assert not TuningView(brush=(("gx", 1, 8),)).holds(trials[2], ("f1.c1", "f2.c1"))


def test_many_trials_are_limited_with_a_count_and_the_fastest_are_kept() -> None:
    trials = tuple(trial(f"u{n}", 1e-4 * (1 + n), gx=2 ** (n % 9)) for n in range(1, MAX_LINES + 51))
    _, scene = drawn(trials)

    assert f"{MAX_LINES} of {MAX_LINES + 50} trials are drawn: the fastest." == scene.omitted
    assert "u1" in scene.refs
    assert f"u{MAX_LINES + 50}" not in scene.refs


def test_one_trial_and_no_trial() -> None:
    check(drawn((trial("u1", gx=4),))[1])
    assert "no trial has ended yet" == drawn(())[1].desc


def test_messages_that_are_not_understood_change_nothing() -> None:
    view = TuningView().changed({"mode": "parallel"}).changed({"brush": ["gx", 8, 64]}).changed({"top": 10})

    assert ("parallel", 10, (("gx", 8.0, 64.0),)) == (view.mode, view.top, view.brush)
    for wrong in ({"mode": "pie"}, {"top": 7}, {"top": True}, {"brush": ["gx", "a", 3]}, {"brush": "gx"}, {}):
        assert view == view.changed(wrong)
    assert (("gx", 2.0, 4.0),) == view.changed({"brush": ["gx", 2, 4]}).brush
    assert () == view.changed({"brush": ["gx"]}).brush
    assert () == view.changed({"brush": []}).brush
