"""A long search times a first kernel before its enumeration ends, at a moment that the seed determines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import prism_explore as px
from prism_explore.events.kinds import (
    FamilyCompleted,
    FloatsAssessed,
    SpaceCounted,
    TrialFailed,
    TrialMeasured,
    TuningEnded,
    VerdictReached,
)
from prism_explore.search import explore as search
from prism_explore.session.session import Session
from prism_explore.tune import TuneRequest, tune
from tests.search.test_early_start import session
from tests.search.test_worker_pool import Here
from tests.tune.benches import PureBench


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search of a few events is long, kernels have times without a clock, and nothing is raced at the end."""

    def pure(request: TuneRequest) -> Iterator[Any]:
        return tune(replace(request, bench=PureBench()))

    monkeypatch.setattr(search, "tune", pure)
    monkeypatch.setattr(search, "times_here", lambda *_: False)
    monkeypatch.setattr(search, "FIRST_TRIAL_AT", 20)
    monkeypatch.setattr(search, "compare_with_baselines", lambda *_, **__: None)


def places(sess: Session, *kinds: Any) -> list[int]:
    return [n for n, event in enumerate(sess.journal.events) if isinstance(event, kinds)]


def test_one_kernel_is_timed_while_the_enumeration_goes_on_and_the_tuning_starts_with_its_time() -> None:
    with session(budget=px.Budget(trials=2)) as sess:
        sess.run(until=lambda s: bool(places(s, TrialMeasured)))
        assert not places(sess, TuningEnded)
        so_far = sess.best("now")
        sess.run()
    first, *others = places(sess, TrialMeasured)
    points = [(e.candidate, e.parameters) for e in sess.journal.events if isinstance(e, TrialMeasured)]

    assert isinstance(so_far, px.Best)
    assert first < places(sess, SpaceCounted)[-1] < others[0]
    assert len(points) == len(set(points))
    assert 1 == len(places(sess, TuningEnded))


def test_it_does_not_wait_for_another_family(monkeypatch: pytest.MonkeyPatch) -> None:
    with session(budget=px.Budget(trials=0)) as sess:
        sess.run()
    families = places(sess, FamilyCompleted)
    gaps = {after - max(v for v in places(sess, VerdictReached) if v < after): after for after in families[1:]}
    longest, next_family = max(gaps.items())
    monkeypatch.setattr(search, "FIRST_TRIAL_AT", next_family - longest + 3)
    for executor in (None, Here()):
        with session(budget=px.Budget(trials=1), executor=executor) as timed:
            timed.run(until=lambda s: bool(places(s, TrialMeasured)))
            assert next_family - longest < places(timed, FloatsAssessed)[0] < next_family


def test_a_search_that_ends_before_times_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "FIRST_TRIAL_AT", 100_000)
    with session(budget=px.Budget(trials=1)) as sess:
        sess.run()
    assert places(sess, SpaceCounted)[-1] < places(sess, TrialMeasured)[0]


def test_a_search_that_nobody_watches_times_none_before_its_end() -> None:
    with session(budget=px.Budget(trials=1, early_trial=False)) as sess:
        sess.run()
    assert 1 == len(places(sess, TrialMeasured))
    assert places(sess, SpaceCounted)[-1] < places(sess, TrialMeasured)[0]


def test_a_search_that_may_try_nothing_times_none() -> None:
    with session(budget=px.Budget(trials=0)) as sess:
        sess.run()
    assert not places(sess, TrialMeasured, TrialFailed)


def test_it_comes_at_the_same_event_in_steps_and_with_workers_that_verify() -> None:
    budget = px.Budget(trials=1)
    with session(budget=budget) as run, session(budget=budget) as steps, session(budget=budget, executor=Here()) as of:
        run.run()
        of.run()
        while steps.state != "finished":
            steps.step(200)

    assert run.journal.events == steps.journal.events == of.journal.events


@pytest.mark.parametrize("trials_before", [0, 1])
def test_a_saved_search_repeats_it_or_comes_to_it(tmp_path: Path, trials_before: int) -> None:
    with session(budget=px.Budget(trials=1)) as sess:
        sess.run(until=lambda s: bool(places(s, TrialMeasured if trials_before else FamilyCompleted)))
        path = sess.save(tmp_path / "run.prism")
        sess.run()
    with Session.load(path) as loaded:
        assert trials_before == len(places(loaded, TrialMeasured))
        loaded.run()

    assert sess.journal.events == loaded.journal.events
    with Session.load(loaded.save(path)) as again:
        assert loaded.journal.events == again.journal.events


def test_a_file_of_a_search_without_it_is_repeated_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched, session(budget=px.Budget(trials=1)) as sess:
        patched.setattr(search, "FIRST_TRIAL_AT", 100_000)
        sess.run()
    with Session.load(sess.save(tmp_path / "run.prism")) as loaded:
        assert sess.journal.events == loaded.journal.events
