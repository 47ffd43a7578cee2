"""The benchmark of the time to a kernel: its processes, its moments, and the replay of a budget."""

from __future__ import annotations

import os
import sys

import pytest

from benchmarks.time_to_kernel import MOMENTS, last_json_line, moments, replay, summary
from prism_explore.events.journal import Entry
from prism_explore.events.kinds import IncumbentImproved, VerdictReached
from prism_explore.tune.budget import Budget


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("print('torch warns'); print('{\"done_s\": 1}')", {"done_s": 1}),
        ("raise SystemExit('no compiler')", {"error": "exit status 1: no compiler"}),
        ("pass", {"error": "exit status 0: nothing was said"}),
        ("import time; time.sleep(60)", {"error": "not done after 0.5 s"}),
    ],
)
def test_a_run_that_fails_or_hangs_is_an_error_and_noise_before_the_result_is_skipped(
    code: str, found: dict[str, object]
) -> None:
    limit_s = 0.5 if "sleep" in code else 60.0

    assert found == last_json_line([sys.executable, "-c", code], os.environ, limit_s)


def test_a_kernel_is_close_from_the_first_within_five_percent_of_the_last() -> None:
    improved = (IncumbentImproved("t1", "c1", time_s) for time_s in (2e-4, 1.04e-4, 1e-4))
    events = (VerdictReached("c1", "proved", "normal form", ""), *improved)
    found = moments([Entry(n, float(n), e) for n, e in enumerate(events)])

    assert (0.0, 2.0) == (found["proved_s"], found["close_s"])
    assert found["done_s"] is None


def test_a_replay_stops_after_the_patience_and_tells_what_was_lost() -> None:
    found = replay([1.0, None, 0.9, 0.89, 0.89, 0.5], Budget(patience=2, gain=0.02))

    assert {"trials": 5, "loss": pytest.approx(0.78)} == found


def test_a_summary_names_the_moments_and_what_failed() -> None:
    first = {**dict.fromkeys(MOMENTS, 1.0), "close_s": None, "cpu_s": 30.0}
    again = {"done_s": 0.5, "best_s": 0.25}

    assert "proved 1.0, timed 1.0, certified 1.0" in summary({"row": "a", "first": first, "again": again})
    assert summary({"row": "a", "first": first, "again": again}).endswith("30.0 CPU s; again 0.75 s")
    assert "a: not done" == summary({"row": "a", "first": {"error": "not done"}, "again": again})
    assert summary({"row": "a", "first": first, "again": {"error": "not done"}}).endswith("again not done")
