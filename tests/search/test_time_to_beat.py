"""The fastest rival's time is the time to beat: measured before anything grows, noted, and taken over when resumed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import prism_explore as px
import prism_explore.search.explore as search
from prism_explore.events.fastest import EAGER, LIBRARY
from prism_explore.events.format import parse_seconds
from prism_explore.events.kinds import CandidateBounded, NodeExpanded, RegionPruned, RivalTimed
from prism_explore.events.ledger import ledger
from prism_explore.frontend import LibraryCall
from prism_explore.tune import TuneRequest
from prism_explore.tune.runner.baseline_table import AUTOTUNED
from prism_explore.tune.runner.baselines import time_baselines
from prism_explore.widgets.panels.context import Folds, ViewState, search_info
from prism_explore.widgets.panels.panels import sections
from tests.session.test_session import QUICK, machine


def chain(x: Any, y: Any, z: Any) -> Any:
    return (x @ y) @ z


INPUTS = {"x": px.T("b", 64), "y": px.T(64, 4), "z": px.T(4, 96)}


def session(**more: Any) -> px.Session:
    return px.Session(chain, inputs=INPUTS, at={"b": 4}, time_to_beat_s="baselines", baselines=(EAGER,), **more)


def told(*rows: RivalTimed) -> Any:
    """In the place of a measurement."""
    return lambda *_, **__: rows


def searched(monkeypatch: pytest.MonkeyPatch, *rows: RivalTimed, **more: Any) -> px.Session:
    """A search with these rivals that times nothing."""
    monkeypatch.setattr(search, "time_baselines", told(*rows))
    monkeypatch.setattr(search, "tune", TUNER)
    TUNER.beat_s.clear()
    sess = session(target=machine().replace(measured=True), **more)
    sess.run()
    sess.close()
    return sess


class Tuner:
    """Tries nothing, and remembers what there was to beat."""

    def __init__(self) -> None:
        self.beat_s: list[float | None] = []

    def __call__(self, request: TuneRequest) -> Iterator[Any]:
        self.beat_s.append(request.time_to_beat_s)
        return iter(())


TUNER = Tuner()
FAST = RivalTimed(EAGER, 1e-12, 1e-12, 1e-12, 24)
SLOW = RivalTimed(LIBRARY, 1.0, 1.0, 1.0, 24)


def test_the_fastest_rival_is_what_partial_graphs_are_held_against(monkeypatch: pytest.MonkeyPatch) -> None:
    sess = searched(monkeypatch, SLOW, FAST)
    facts = sess.journal.events
    cards = [e.reason for e in facts if isinstance(e, RegionPruned) and e.reason.rule == "cost.floor"]

    assert facts.index(FAST) < next(n for n, e in enumerate(facts) if isinstance(e, NodeExpanded))
    assert (SLOW, FAST) == ledger(facts).initial_baselines
    assert not sess.families
    assert cards
    assert {"0.001 ns"} == {c.substitution["time to beat"] for c in cards}
    assert {"heuristic"} == {c.soundness for c in cards}
    assert f"The time to beat was that of {EAGER}, 0.001 ns, measured first." in sess.claim
    assert "by heuristic rules" in sess.claim


def test_a_slow_rival_cuts_nothing_that_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    sess = searched(monkeypatch, SLOW)

    assert "proved" in {f.row.status for f in sess.families.values()}
    assert [1.0] == TUNER.beat_s


def test_where_no_rival_could_be_timed_nothing_is_held_against_one_and_it_says_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sess = searched(monkeypatch, RivalTimed(EAGER, 0.0, 0.0, 0.0, 0, "torch crashed"))

    assert sess.families
    assert [None] == TUNER.beat_s
    assert "none could be timed (torch eager: torch crashed)" in sess.claim


def test_a_search_that_goes_on_takes_the_rivals_times_from_its_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sess = searched(monkeypatch, SLOW)
    path = sess.save(tmp_path / "run.prism")
    monkeypatch.setattr(search, "time_baselines", None)
    for code in (chain, None):
        loaded = px.Session.load(path, code, inputs=INPUTS)

        assert sess.journal.events == loaded.journal.events
        assert "baselines" == loaded.task.time_to_beat_s
        loaded.close()


# ---------------------------------------------------------------- where nothing is below it
GIVEN = (torch.randn(4, 64), torch.randn(64, 4), torch.randn(4, 96))


def test_where_everything_is_cut_it_says_what_came_nearest_and_the_rival_is_called(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sess = searched(monkeypatch, SLOW, FAST, library=library)
    best = sess.best()
    floors = {
        e.region: parse_seconds(e.reason.substitution["e"])
        for e in sess.journal.events
        if isinstance(e, RegionPruned) and e.reason.rule == "cost.floor"
    }

    assert isinstance(best, px.NoImprovement)
    assert (EAGER, "0.001 ns") == (best.outcome.baseline, best.outcome.time_to_beat)
    assert floors[best.outcome.nearest] == min(floors.values()) == parse_seconds(best.outcome.bound) > FAST.time_s
    said = "Nothing that was searched is below the time to beat, that of torch eager, 0.001 ns: "
    assert said in best.why
    assert f"{best.outcome.nearest} came nearest, with a bound of {best.outcome.bound}; torch eager remains" in best.why
    assert best.why in sess.claim
    assert best.why in repr(best)
    assert EAGER == best.implementation
    torch.testing.assert_close(chain(*GIVEN), best(GIVEN[0], z=GIVEN[2], y=GIVEN[1]), rtol=0, atol=0)
    for wrong in ((), GIVEN[:2], (*GIVEN, GIVEN[0])):
        with pytest.raises(px.ShapeError, match=r"chain takes \(x, y, z\); missing: "):
            best(*wrong)
    with pytest.raises(px.ShapeError, match="chain was given x twice, by position and by name"):
        best(GIVEN[0], x=GIVEN[0])


def test_a_rival_that_no_call_can_run_leaves_the_call_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    frozen = RivalTimed(AUTOTUNED, 1e-12, 1e-12, 1e-12, 24)
    best = searched(monkeypatch, frozen, *BOTH, library=library).best()

    assert isinstance(best, px.NoImprovement)
    assert (AUTOTUNED, LIBRARY) == (best.outcome.baseline, best.implementation)
    assert f"A call runs {LIBRARY}, for {AUTOTUNED} packs its weights beforehand." in best.why
    torch.testing.assert_close(chain(*GIVEN), best(*GIVEN), rtol=1e-4, atol=1e-4)


def test_a_proved_candidate_that_is_not_tuned_came_nearer_than_any_partial_graph(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    space = replace(px.Session(chain, inputs=INPUTS, target="h100").task.space, rules_off=frozenset({"cost.floor"}))
    monkeypatch.setattr(search, "time_baselines", told(FAST))
    sess = session(target=machine().replace(measured=True), space=space)
    sess.run()
    sess.close()
    bounded = [e for e in sess.journal.events if isinstance(e, CandidateBounded)]
    best = sess.best()

    assert bounded
    assert "proved" in {f.row.status for f in sess.families.values()}
    assert isinstance(best, px.NoImprovement)
    assert min(bounded, key=lambda e: e.floor_s).candidate == best.outcome.nearest
    assert str(best.outcome) in sess.claim


def test_a_time_that_was_given_is_no_rival_and_without_torch_code_there_is_nothing_to_call() -> None:
    program = px.Session(chain, inputs=INPUTS, target="h100").program
    sess = px.Session(program, at={"b": 4}, target="h100", time_to_beat_s=1e-12)
    sess.run()
    best = sess.best()

    assert isinstance(best, px.NoImprovement)
    assert ("", "0.001 ns", "") == (best.outcome.baseline, best.outcome.time_to_beat, best.implementation)
    assert "below the time to beat, 0.001 ns: " in best.why
    assert best.why.endswith("there is nothing to put in its place.")
    with pytest.raises(px.ShapeError, match="no torch code to call"):
        best(*GIVEN)


def test_where_something_may_still_win_nothing_is_said_to_be_unbeaten(monkeypatch: pytest.MonkeyPatch) -> None:
    sess = searched(monkeypatch, SLOW)

    assert ledger(sess.journal.events).nothing_faster is None
    assert sess.best() is None
    assert "Nothing that was searched" not in sess.claim


def test_the_explorer_shows_the_rival_that_remains(monkeypatch: pytest.MonkeyPatch) -> None:
    sess = searched(monkeypatch, FAST)
    held = ledger(sess.journal.events).nothing_faster
    shown = sections(search_info(sess), Folds(sess.journal.entries), ViewState()).result

    assert held is not None
    assert (EAGER, "0.001 ns", "measured first") == (shown.title, shown.time, shown.spread)
    assert f"{held.nearest} comes nearest; its lower bound is {held.bound} (modelled)." == shown.sentence
    assert [("Nearest", held.nearest)] == [(link.label, link.ref) for link in shown.links]


# ---------------------------------------------------------------- the library call, which is code and not saved
def library(x: Any, y: Any, z: Any) -> Any:
    return torch.linalg.multi_dot((x, y, z))


BOTH = (SLOW, RivalTimed(EAGER, 2.0, 2.0, 2.0, 24))


def test_a_search_that_goes_on_takes_its_library_call_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sess = searched(monkeypatch, *BOTH, library=library)
    loaded = px.Session.load(sess.save(tmp_path / "run.prism"), chain, library=library, inputs=INPUTS)

    assert sess.journal.events == loaded.journal.events
    assert loaded.task.library.call is not None
    assert library is loaded.task.library.call.traced.reference
    loaded.close()


def test_a_race_that_is_still_to_come_is_held_with_the_library_call_that_was_given_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    raced: list[Any] = []
    monkeypatch.setattr(search, "compare_with_baselines", lambda *_, library, **__: raced.append(library))
    sess = px.Session(chain, inputs=INPUTS, at={"b": 4}, target=machine(), budget=QUICK)
    sess.run(until=lambda s: bool(s.families))
    loaded = px.Session.load(sess.save(tmp_path / "run.prism"), chain, library=library, inputs=INPUTS)
    sess.close()
    loaded.run()
    loaded.close()

    assert [loaded.task.library.call] == raced
    assert loaded.task.library.call is not None


def test_another_library_call_than_was_raced_is_refused_with_what_was_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = searched(monkeypatch, *BOTH, library=library).save(tmp_path / "run.prism")
    with pytest.raises(
        px.ShapeError, match=r"run.prism: library= is not the call that was timed there.*a row deviates"
    ):
        px.Session.load(path, chain, library=lambda x, y, z: x @ (y @ z) * 2, inputs=INPUTS)
    with pytest.raises(px.ShapeError, match="called with the arguments of chain in their order, x, y, z: missing"):
        px.Session.load(path, chain, library=lambda x, y, z, u: x @ y @ z @ u, inputs=INPUTS)
    with pytest.raises(px.ShapeError, match=r"is a program without it.*px.Session.load\(path, code, library="):
        px.Session.load(path, library=library)


def test_a_library_call_is_refused_where_the_rivals_were_timed_without_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = searched(monkeypatch, BOTH[1]).save(tmp_path / "run.prism")
    with pytest.raises(px.ShapeError, match=r"timed without a library call \(torch eager\); .* in a new px.Session"):
        px.Session.load(path, chain, library=library, inputs=INPUTS)


def test_questions_about_what_was_cut_hold_against_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    sess = searched(monkeypatch, FAST)
    (region,) = [e.region for e in sess.journal.events if getattr(e, "parent", "") == "n1" and "x, y, z" in e.operator]
    asked = sess.pruned[region].audit(nodes=200, candidates=20)

    assert "cost.floor" == asked.rule
    assert {"excluded"} == {f.status for f in asked.found}
    assert "no kernel of it beats" in asked.found[0].explanation
    assert sess.what_if(rules_off=["cost.floor"]).reopened


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"target": "h100"}, "needs this machine as the target, such as cpu, and the target is h100"),
        ({"baselines": ()}, r"needs a baseline, and baselines=\(\) names none"),
        ({"time_to_beat_s": "library"}, "seconds above 0 or 'baselines', found 'library'"),
        ({"time_to_beat_s": 0.0}, "seconds above 0 or 'baselines', found 0.0"),
        ({"library": lambda x, y: x @ y}, "called with the arguments of chain in their order, x, y, z: too many"),
    ],
)
def test_what_cannot_be_measured_is_refused_with_the_reason(options: dict[str, Any], says: str) -> None:
    given = {"target": machine(), "baselines": (EAGER,), "time_to_beat_s": "baselines", **options}
    with pytest.raises(px.ShapeError, match=says):
        px.Session(chain, inputs=INPUTS, at={"b": 4}, **given)


def test_a_program_has_no_torch_code_to_measure() -> None:
    traced = px.Session(chain, inputs=INPUTS, target="h100")
    with pytest.raises(px.ShapeError, match="needs torch code, and this is a program"):
        px.Session(traced.program, target=machine(), time_to_beat_s="baselines")
    with pytest.raises(px.ShapeError, match="library= is compared with torch code"):
        px.Session(traced.program, target=machine(), library=chain)


# ---------------------------------------------------------------- really measured
@pytest.fixture(scope="module")
def rows() -> Iterator[dict[str, RivalTimed]]:
    traced = px.Session(chain, inputs=INPUTS, target="h100").traced
    assert traced is not None

    def wrong(x: Any, y: Any, z: Any) -> Any:
        return x @ (y @ z) * 2

    def run(code: Any) -> tuple[RivalTimed, ...]:
        library = LibraryCall("", replace(traced, reference=code))
        return time_baselines(
            traced, traced.program, {"b": 4}, machine(), baselines=(EAGER,), library=library, rounds=3
        )

    right, other = run(lambda x, y, z: x @ (y @ z)), run(wrong)
    yield {"eager": right[0], "library": right[1], "wrong": other[1]}


def test_rivals_are_compared_with_float64_and_timed_without_a_kernel(rows: dict[str, RivalTimed]) -> None:
    for name in ("eager", "library"):
        assert 3 == rows[name].samples
        assert 0 < rows[name].p20_s <= rows[name].time_s <= rows[name].p80_s


def test_a_library_call_of_another_value_is_no_rival(rows: dict[str, RivalTimed]) -> None:
    assert (LIBRARY, 0) == (rows["wrong"].name, rows["wrong"].samples)
    assert "a row deviates by" in rows["wrong"].note
