"""Style, types and layers, in both languages. `make lint` runs this file alone."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def run(command: list[str], cwd: Path = ROOT) -> None:
    """Fail with what the command printed, and with nothing else."""
    beside_python = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    ran = subprocess.run(command, cwd=cwd, env={**os.environ, "PATH": beside_python}, capture_output=True, text=True)
    if ran.returncode != 0:
        pytest.fail(f"$ {' '.join(command)}\n{ran.stdout}{ran.stderr}", pytrace=False)


def test_ruff_finds_nothing() -> None:
    run(["ruff", "check", "--quiet", "."])


def test_python_and_notebooks_are_formatted() -> None:
    run(["ruff", "format", "--check", "--quiet", "."])


def test_types_are_strict() -> None:
    if shutil.which("node") is None:
        pytest.skip("no node (20 or newer), which pyright runs on")
    run(["pyright", "--pythonpath", sys.executable])


def test_modules_with_relaxed_types_say_why() -> None:
    for path in sorted((ROOT / "prism_explore").rglob("*.py")):
        lines = path.read_text(encoding="utf-8").splitlines()
        for line, following in itertools.pairwise(lines):
            if line.startswith("# pyright:"):
                assert following.startswith("# "), f"{path.relative_to(ROOT)}: the reason goes below `{line}`"


def test_imports_point_downwards() -> None:
    run(["lint-imports", "--no-logo"])


def test_notebooks_hold_no_outputs() -> None:
    notebooks = sorted(str(path) for path in (ROOT / "notebooks").glob("*.ipynb"))

    assert notebooks
    run(["nbstripout", "--verify", *notebooks])


def test_typescript_types_and_style(node: Path) -> None:
    run(["npm", "run", "--silent", "check"], cwd=node)
