from __future__ import annotations

import subprocess
import sys

import pytest

INTERRUPTED = """
import sys


class Interrupting:
    def find_spec(self, name, *_):
        if name == {name!r}:
            raise KeyboardInterrupt


sys.meta_path.insert(0, Interrupting())
sys.argv[1:] = ["list"]
from prism_explore.__main__ import main

sys.exit(main())
"""


@pytest.mark.parametrize("name", ["rich.console", "prism_explore.frontend.workloads", "prism_explore.entry.cli"])
def test_an_interrupt_during_an_import_ends_the_command_without_a_traceback(name: str) -> None:
    ended = subprocess.run([sys.executable, "-c", INTERRUPTED.format(name=name)], capture_output=True, text=True)

    assert (ended.returncode, ended.stderr) == (130, "prism-explore: interrupted\n")


def test_the_package_runs_as_the_command() -> None:
    ended = subprocess.run([sys.executable, "-m", "prism_explore", "list"], capture_output=True, text=True)

    assert ended.returncode == 0
    assert "rmsnorm_linear" in ended.stdout
