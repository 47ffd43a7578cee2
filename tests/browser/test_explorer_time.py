"""The part of the benchmark of the explorer that needs no Jupyter server, with a small search."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmarks.explorer_time import FILE, MADE_UP, report_times, run_python

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.needs_browser, pytest.mark.slow]


def test_the_benchmark_writes_opens_and_clicks_a_report(chromium: Browser, tmp_path: Path) -> None:
    events = int(run_python(MADE_UP.format(events=900, file=FILE), tmp_path))
    found = report_times(tmp_path, chromium, repeat=2, events=events)

    assert 900 == events
    assert {"report_s", "report_mb", "report_open_s", "report_click_s", "report_look_back_s"} == set(found)
    assert [] == [name for name, value in found.items() if value is None or value <= 0]
    assert (found["report_mb"] or 0) < 1
