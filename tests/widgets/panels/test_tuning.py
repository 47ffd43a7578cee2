from __future__ import annotations

from dataclasses import replace

from prism_explore.events.claim import claim
from prism_explore.events.kinds import Steered
from prism_explore.targets import GPUS
from prism_explore.widgets.panels.context import Folds, SearchInfo, ViewState
from prism_explore.widgets.panels.panels import sections
from prism_explore.widgets.panels.sections import Cell, Tuning
from prism_explore.widgets.views.tuning_view import MODES, TuningView
from tests.widgets.fakes import FakeSession, program
from tests.widgets.recordings import story

SESSION = FakeSession(story())
SEARCH = SearchInfo(program(), "cpu", "b=8", "finished", machine=GPUS["h100"], shapes=(("b", 8),))


def panel(view: TuningView, search: SearchInfo = SEARCH) -> Tuning:
    return sections(search, Folds(SESSION.journal.entries), ViewState(tuning=view)).tuning


def test_every_chart_is_drawn_and_has_its_button() -> None:
    for mode in MODES:
        found = panel(TuningView(mode))
        assert mode == found.mode
        assert list(MODES) == [m.name for m in found.modes]
        assert found.scene is not None
        assert found.scene.desc


def test_the_brush_filters_the_table_and_offers_to_restrict_tuning() -> None:
    found = panel(TuningView("parallel", brush=(("gx", 8.0, 64.0),)))
    (interval,) = found.brush

    assert ["u3", "u4", "u5", "u6"] == [r.ref for r in found.trials.rows]
    assert "4 of 12 trials in the brush" in found.caption
    assert "gx 8 … 64" == interval.text
    assert interval.restrict is not None
    assert ("restrict", "sess.restrict(parameter='gx', low=8, high=64)") == (
        interval.restrict.command,
        interval.restrict.python,
    )
    assert {"parameter": "gx", "low": 8, "high": 64} == dict(interval.restrict.args)


def test_an_interval_to_which_tuning_is_restricted_is_not_offered_again() -> None:
    events = (*story(), Steered("restrict", "gx", "sess.restrict('gx', 8, 8)", values=(8, 8)))
    view = ViewState(tuning=TuningView("parallel", brush=(("gx", 8.0, 8.0),)))
    (used,) = sections(SEARCH, Folds(FakeSession(events).journal.entries), view).tuning.brush
    (fresh,) = panel(TuningView("parallel", brush=(("gx", 8.0, 8.0),))).brush

    assert ("gx = 8, tuned only", None) == (used.text, used.restrict)
    assert fresh.restrict is not None and "Tune only gx = 8" == fresh.restrict.label
    assert "You restricted tuning: gx = 8." in claim(events, "exhausted")


def test_an_interval_of_time_filters_and_restricts_nothing() -> None:
    (interval,) = panel(TuningView("parallel", brush=(("time", 0.0, 1.0),))).brush

    assert interval.restrict is None


def test_the_fastest_trials_are_listed_fastest_first_with_what_differs_from_the_best() -> None:
    found = panel(TuningView(top=5)).trials
    cells = [[c if isinstance(c, Cell) else Cell(c) for c in r.cells] for r in found.rows]
    times = [row[1].sort for row in cells]
    differences = [(row[3].text, row[3].tip) for row in cells]

    assert 5 == len(times)
    assert times == sorted(t for t in times if t is not None)
    assert ("–", "") == differences[0]
    assert all(text.startswith("gx=") and ", best " in tip for text, tip in differences[1:])
    assert "5 of 12 trials are listed." == found.omitted


def test_the_roofline_has_every_trial_and_says_what_is_modelled() -> None:
    scene = panel(TuningView("roofline")).scene
    assert scene is not None
    marks = {s.ref: s for s in scene.shapes if s.role == "mark"}

    assert {f"u{n}" for n in range(1, 13)} == set(marks)
    assert "cross" == marks["u5"].outline
    assert "tune.crash" in marks["u5"].tip
    assert "modelled" in marks["u1"].tip
    assert any("datasheet of h100" in t.text for s in scene.shapes for t in s.texts)


def test_without_the_figures_of_the_machine_the_roofline_is_a_sentence() -> None:
    scene = panel(TuningView("roofline"), replace(SEARCH, machine=None)).scene

    assert scene is not None
    assert "The figures of cpu are not in this file" in scene.desc
