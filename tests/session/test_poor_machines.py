"""A machine that lacks something: the search ends with a right kernel, more slowly, or says what is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SEARCH = """
import os, resource, sys
from tests.permissions import permissions_respected
restricted = permissions_respected()
restricted.__enter__()
{lack}
import numpy as np
import prism_explore as px
from tests.crash.workloads import GATE, HOST
budget = px.Budget(trials=1, seconds=0.5)
with px.Session(px.parse_program(GATE), target=HOST, at={{"b": 4}}, budget=budget) as sess:
    best = sess.best()
    x, w = np.ones((4, 16), np.float32), np.ones((16, 8), np.float32)
    print(float(best(x, w)[3, 7]), os.listdir())
"""
ONE_CORE = "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})"
FEW_FILES = "resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))"
NOWHERE_TO_WRITE = "os.chmod('.', 0o500); os.environ['HOME'] = sys.executable"
LITTLE_MEMORY = "resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))"
LACKS = {
    "one core, 64 open files, a working folder and a home that cannot be written": (
        f"{ONE_CORE}; {FEW_FILES}; {NOWHERE_TO_WRITE}"
    ),
    "2 GB of memory, no HOME, no compiler on PATH": f"{LITTLE_MEMORY}; del os.environ['HOME'], os.environ['PATH']",
}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="these limits are Linux's")
@pytest.mark.parametrize("lack", LACKS)
def test_a_search_ends_with_a_right_kernel_and_leaves_nothing(lack: str, tmp_path: Path) -> None:
    root = str(Path(__file__).parents[2])
    environment = {k: v for k, v in os.environ.items() if k not in ("PRISM_EXPLORE_CACHE", "XDG_CACHE_HOME")}
    environment |= {"PYTHONPATH": root, "HOME": str(tmp_path / "home")}
    here = tmp_path / "here"
    here.mkdir()
    command = [sys.executable, "-c", SEARCH.format(lack=LACKS[lack])]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=here, timeout=180, check=False)

    assert done.returncode == 0, done.stderr
    value, _, files = done.stdout.splitlines()[-1].partition(" ")
    assert float(value) == pytest.approx(16.0, rel=1e-5)
    assert files == "[]"
