"""A replayed tuning run continues as if it had not been interrupted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import pytest

from prism_explore.events.journal import Journal
from prism_explore.events.kinds import CandidateBounded, IncumbentImproved, ParametersProposed, TrialFailed, TuningEnded
from prism_explore.events.replay_journal import ReplayedJournal
from prism_explore.pipeline.stages import Kernel, Outcome, Timed
from prism_explore.tune import Budget, StrategyName, TuneRequest, tune
from prism_explore.tune.runner.bench import CheckPassed, Failure, Samples
from prism_explore.tune.space import pool
from tests.tune.test_tune import SHAPES, ToyBench, best_of
from tests.tune.toys import BACKEND, TOY, fused, split


class Ticking(ToyBench):
    """The same times in every run; a comparison takes a second, and some kernels are wrong."""

    def __init__(self, limit_s: float = 0.0) -> None:
        super().__init__(limit_s=limit_s)
        self.minute = 1.0
        self.now_s = 0.0

    def check(self, key: str, kernel: Kernel) -> CheckPassed | Failure:
        self.now_s += 1.0
        if sum(n for _, n in kernel.parameters.sizes) % 5 == 0:
            return Failure("tune.wrong", "on request")
        return super().check(key, kernel)

    def time(self, keys: Sequence[str], rounds: int) -> Samples | Failure:
        times_s = {key: self.seconds(self.kernels[key]) / 3 if key in self.kernels else self.limit_s for key in keys}
        return Samples({key: (time_s,) * rounds for key, time_s in times_s.items()}, (0.0,) * rounds)


def runs(
    journal: Journal, bench: Ticking, strategy: StrategyName, seconds: float = 1e9, near: float = -1.0
) -> list[Outcome]:
    """Two consecutive runs: the second has one candidate more, and the incumbent of the first."""
    outcomes: list[Outcome] = []
    for verifieds in ([fused()], [fused(), split()]):
        timed = [o for o in outcomes if isinstance(o, Timed)]
        outcomes += tune(TuneRequest(
            verifieds, SHAPES, TOY, journal,
            budget=Budget(trials=14, seconds=seconds, near=near, strategy=strategy),
            backend=BACKEND, bench=bench, clock=lambda: bench.now_s,
            incumbent=best_of(timed) if timed else None,
        ))  # fmt: skip
    return outcomes


@pytest.mark.parametrize("strategy", get_args(StrategyName))
def test_resuming_after_any_event_gives_the_same_events(strategy: StrategyName) -> None:
    if strategy in ("tpe", "gp", "random"):
        pytest.importorskip("optuna")
    if strategy == "gp":
        pytest.importorskip("scipy")
        pytest.importorskip("torch")
    journal = Journal()
    outcomes = runs(journal, Ticking(), strategy)
    assert {ParametersProposed, IncumbentImproved, TrialFailed} <= {type(e) for e in journal.events}
    for length in range(0, len(journal), 23 if strategy == "gp" else 7):
        again = ReplayedJournal(journal.entries[:length])

        assert outcomes == runs(again, Ticking(), strategy), f"cut at {length}"
        assert journal.events == again.events


def test_nothing_is_compiled_or_timed_or_ranked_for_what_was_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    journal, bench = Journal(), Ticking()
    outcomes = runs(journal, Ticking(), "climbing")
    monkeypatch.delattr(pool, "ranked_sizes")

    assert outcomes == runs(ReplayedJournal(journal.entries), bench, "climbing")
    assert not bench.kernels
    assert 0.0 == bench.now_s


def test_where_seconds_ended_the_first_run_the_second_begins_there_again() -> None:
    bench = Ticking()
    journal = Journal(clock=lambda: bench.now_s)
    outcomes = runs(journal, bench, "climbing", seconds=7.0)
    assert 7 <= len(outcomes) < 28
    for length in (*range(0, len(journal), 4), len(journal)):
        again = ReplayedJournal(journal.entries[:length])

        assert outcomes == runs(again, Ticking(), "climbing", seconds=7.0), f"cut at {length}"
        assert journal.events == again.events


def test_a_run_that_ended_near_the_measured_limit_ends_there_again() -> None:
    journal = Journal()
    outcomes = runs(journal, Ticking(limit_s=0.37), "climbing", near=0.05)
    assert {"limit"} == {e.why for e in journal.events if isinstance(e, TuningEnded)}
    assert len(outcomes) < 14
    for length in range(len(journal) + 1):
        again = ReplayedJournal(journal.entries[:length])

        assert outcomes == runs(again, Ticking(limit_s=0.37), "climbing", near=0.05), f"cut at {length}"
        assert journal.events == again.events


def test_a_kernel_below_its_lower_bound_disables_the_bounds_after_an_interruption_too() -> None:
    journal = Journal()
    slow = TOY.replace(dram_bytes_per_s=1e3, peak_flops_per_s=1e3)
    budget = Budget(trials=10, seconds=1e9, near=0.03)
    whole = [
        *tune(TuneRequest([split(), fused()], SHAPES, slow, journal, budget=budget, backend=BACKEND, bench=Ticking()))
    ]
    cut = next(n for n, e in enumerate(journal.events) if isinstance(e, IncumbentImproved)) + 1
    again = ReplayedJournal(journal.entries[:cut])

    assert whole == [
        *tune(TuneRequest([split(), fused()], SHAPES, slow, again, budget=budget, backend=BACKEND, bench=Ticking()))
    ]
    assert not [e for e in again.events if isinstance(e, CandidateBounded)]
