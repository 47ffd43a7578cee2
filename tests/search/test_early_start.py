"""A search that runs to its end starts the workers of tuning at its first step, and ends them; the answer so far."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import inf
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

import prism_explore as px
from prism_explore.events.fastest import COMPILED, EAGER, NOT_WAITED_FOR, OURS, ROOFLINE
from prism_explore.events.journal import Journal
from prism_explore.events.kinds import BaselineMeasured, TrialMeasured, TuningEnded
from prism_explore.frontend import trace
from prism_explore.search import early_start
from prism_explore.search import explore as search
from prism_explore.search.early_start import start_early
from prism_explore.session import engine, new_task
from prism_explore.session.session import Session
from prism_explore.tune.runner import fork_server
from prism_explore.tune.runner.baseline_worker import BaselineWorker
from prism_explore.tune.runner.bench import Failure
from prism_explore.tune.runner.worker import Worker
from tests.session.test_session import machine, rmsnorm_linear

INPUTS = {"x": px.T("b", 64), "g": px.T(64), "w": px.T(64, 32)}


def session(code: Any = rmsnorm_linear, **more: Any) -> Session:
    options: dict[str, Any] = {"target": machine(), "at": {"b": 4}, "budget": px.Budget(trials=3, seconds=8.0)}
    return px.Session(code, inputs=INPUTS, **{"baselines": (EAGER, COMPILED), **options, **more})


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[search.EarlyStart]]:
    """What was started."""
    found: list[search.EarlyStart] = []
    start = search.start_early

    def recorded(*args: Any, **options: Any) -> search.EarlyStart:
        found.append(start(*args, **{**options, "baselines": ()}))
        return found[-1]

    monkeypatch.setattr(search, "start_early", recorded)
    monkeypatch.setattr(search, "compare_with_baselines", lambda *_, **__: None)
    yield found
    until = monotonic() + 20.0  # a session that is closed while it is paused ends its processes on its own thread
    while any(early.bench.pid for early in found):
        assert monotonic() < until
        sleep(0.01)


def test_one_worker_starts_at_the_first_step_of_a_run_and_times_all_kernels(
    started: list[search.EarlyStart], monkeypatch: pytest.MonkeyPatch
) -> None:
    timed_by: set[Worker] = set()
    time = Worker.time
    monkeypatch.setattr(Worker, "time", lambda self, *args: timed_by.add(self) or time(self, *args))
    with session() as sess:
        sess.run(until=lambda _: True)
        assert not started
        sess.run()

    assert {started[0].bench} == timed_by
    assert 1 == len(started)


def test_a_paused_search_ends_its_worker_and_starts_it_again_when_it_goes_on(
    started: list[search.EarlyStart], monkeypatch: pytest.MonkeyPatch
) -> None:
    def trials(sess: Session) -> int:
        return sum(isinstance(e, TrialMeasured) for e in sess.journal.events)

    monkeypatch.setattr(engine, "IDLE_S", 0.05)
    with session(budget=px.Budget()) as sess:
        job = sess.start()
        while not trials(sess):
            assert not job.wait(0.01)
        sess.pause()
        job.wait()
        while sess._engine.has_thread:
            sleep(0.01)
        timed = trials(sess)
        assert ("paused", None) == (sess.state, started[0].bench.pid)
        sess.run(until=lambda sess: trials(sess) > timed)

        assert "paused" == sess.state
        assert 1 == len(started)


@pytest.mark.parametrize(("cores", "at_once"), [(2, False), (64, True)])
def test_on_two_cores_the_rivals_start_after_the_first_timing_and_import_nothing_before(
    monkeypatch: pytest.MonkeyPatch, cores: int, at_once: bool
) -> None:
    calls: list[str] = []
    monkeypatch.setattr(fork_server, "hold", lambda: calls.append("hold"))
    monkeypatch.setattr(fork_server, "release", lambda: calls.append("release"))
    monkeypatch.setattr(BaselineWorker, "start", lambda _: calls.append("rivals"))
    monkeypatch.setattr(Worker, "start", lambda _: calls.append("bench"))
    monkeypatch.setattr(Worker, "request", lambda *_: calls.append("time") or Failure("tune.hang", "made up"))
    traced = trace(rmsnorm_linear, INPUTS)
    early = start_early(
        traced.program,
        {"b": 4},
        machine().replace(cores=cores),
        traced,
        baselines=(EAGER, COMPILED),
        seed=0,
        stop=lambda: False,
    )
    early.bench.time([], 1)
    early.close()

    if at_once:
        assert ["bench", "rivals", "time", "rivals"] == calls  # a second start does nothing
    else:
        assert ["bench", "hold", "time", "rivals", "release"] == calls


def test_one_process_times_kernels_and_the_baselines_where_none_of_these_is_compiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[int | None, str]] = []
    exchange = Worker._exchange
    monkeypatch.setattr(
        Worker, "_exchange", lambda self, m, limit: asked.append((self.pid, str(m["do"]))) or exchange(self, m, limit)
    )
    with session(cache=False, baselines=(EAGER,), budget=px.Budget(trials=1)) as sess:
        sess.run()
        rows = [e for e in sess.journal.events if isinstance(e, BaselineMeasured)]

    assert 1 == len({pid for pid, _ in asked})
    assert ["start", "check", "time"] == list(dict.fromkeys(did for _, did in asked))[:3]
    assert {OURS, EAGER, ROOFLINE} == {row.name for row in rows if row.samples}


COMPILER = "prism_explore.tune.runner.torch_code:set_up_compiler"
"""Called in what workers with the default compiler are forked from."""


def test_what_workers_need_is_imported_while_the_program_is_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    monkeypatch.setattr(early_start, "start_fork_servers", lambda imports: calls.extend(imports))
    monkeypatch.setattr(new_task, "trace", lambda *args: calls.append("trace") or trace(*args))
    with session(cache=False), session(trace(rmsnorm_linear, INPUTS)), session(budget=px.Budget(trials=0)):
        servers = ["torch.export.pt2_archive", "torch._inductor.compile_fx", COMPILER]
        assert [*servers, "trace", "trace"] == calls


def test_steps_start_nothing(started: list[search.EarlyStart]) -> None:
    with session() as sess:
        sess.step(20)
    assert not started


def test_nothing_is_started_where_nothing_will_be_timed(started: list[search.EarlyStart]) -> None:
    with session(target="h100") as gpu, session(budget=px.Budget(trials=0)) as untuned:
        gpu.run()
        untuned.run()
    assert not started


def test_the_events_are_those_of_a_search_that_starts_its_worker_when_it_needs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(search, "compare_with_baselines", lambda *_, **__: None)
    with session(budget=px.Budget(trials=1)) as early, session(budget=px.Budget(trials=1)) as late:
        early.run()
        while late.state != "finished":
            late.step(500)

    assert _without_times(early) == _without_times(late)


def _without_times(sess: Session) -> list[Any]:
    return [
        replace(e, time_s=0.0, p20_s=0.0, p80_s=0.0, samples=0, waited=0.0) if isinstance(e, TrialMeasured) else type(e)
        for e in sess.journal.events
    ]


# ---------------------------------------------------------------- the answer so far, and all rivals
@pytest.fixture
def races(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that each race was to wait; torch.compile is ready only where it waits for ever."""
    asked: list[float] = []

    def compare(_: Any, __: Any, ___: Any, journal: Journal, *, wait_s: float, **____: Any) -> None:
        asked.append(wait_s)
        for name, time_s in ((OURS, 1e-4), (EAGER, 3e-4), (COMPILED, 2e-4)):
            is_late = name == COMPILED and wait_s < inf
            times = (0.0, 0.0, 0.0, 0, f"{NOT_WAITED_FOR}: compiled") if is_late else (time_s, time_s, time_s, 24, "")
            ratio = 0.0 if is_late else time_s / 1e-4
            journal.append(BaselineMeasured(name, *times, ratio, ratio, ratio))

    monkeypatch.setattr(search, "compare_with_baselines", compare)
    return asked


def test_the_answer_so_far_needs_no_end_of_the_search(races: list[float]) -> None:
    with session() as sess:
        assert sess.best("now") is None
        sess.run(until=lambda s: any(isinstance(e, TrialMeasured) for e in s.journal.events))
        count = len(sess.journal)
        best = sess.best("now")

        assert isinstance(best, px.Best)
        assert () == best.baselines
        assert (count, "paused") == (len(sess.journal), sess.state)


def test_a_rival_that_was_not_waited_for_is_named_in_the_claim_and_raced_on_request(
    races: list[float], tmp_path: Path
) -> None:
    with session() as sess:
        first = sess.best()
        assert "did not wait for torch.compile" in sess.claim
        second = sess.best("all rivals")
        sess.best("all rivals")
        loaded = Session.load(sess.save(tmp_path / "run.prism"), rmsnorm_linear, inputs=INPUTS)

    assert isinstance(first, px.Best) and isinstance(second, px.Best)
    assert 2 == len(races)
    assert search.WAIT_UNTIL_S / 2 <= races[0] < races[1] == inf
    assert {EAGER: 3.0, COMPILED: 2.0} == pytest.approx(second.ratios)
    assert "did not wait" not in sess.claim
    assert sess.journal.events == loaded.journal.events


@pytest.mark.parametrize(("spent_s", "wait_s"), [(1.0, 9.0), (5.0, 5.0), (60.0, 60.0)])
def test_a_rival_is_waited_for_as_long_as_all_else_took_and_a_quick_search_a_few_seconds(
    spent_s: float, wait_s: float
) -> None:
    assert wait_s == search._wait_s(spent_s)


def test_rivals_are_not_waited_for_longer_because_the_search_was_paused(races: list[float]) -> None:
    with session() as sess:
        sess.run(until=lambda s: any(isinstance(e, TrialMeasured) for e in s.journal.events))
        sess.journal._began -= 3600.0  # an hour passes
        sess.best()
    assert races[0] < 600.0


def test_another_moment_is_an_error() -> None:
    with session() as sess, pytest.raises(px.ShapeError, match="'now', 'end', 'all rivals'; found 'later'"):
        sess.best("later")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("budget", "why"),
    [(px.Budget(trials=1), "1 trial was allowed"), (px.Budget(patience=2, gain=0.9), "2 trials in a row")],
)
def test_the_claim_says_why_tuning_ended(races: list[float], budget: px.Budget, why: str) -> None:
    with session(budget=budget) as sess:
        sess.run()
    assert [e.why for e in sess.journal.events if isinstance(e, TuningEnded)]
    assert f"Tuning ended, because {why}" in sess.claim
