"""Processes that are killed and interrupted lose the last moments at most, and leave nothing behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from prism_explore.tune.runner import fork_server
from tests.crash.workloads import WORKLOADS

ROOT = Path(__file__).parents[2]


@pytest.mark.serial
@pytest.mark.slow
@pytest.mark.skipif(not fork_server.IS_SUPPORTED, reason="processes are found in /proc")
def test_nothing_is_lost_or_left_at_a_few_instants() -> None:
    names = [workload.name for workload in WORKLOADS if workload.in_tests]
    command = [sys.executable, "-m", "tests.crash", "--instants", "5", *names]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300, check=False)

    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
