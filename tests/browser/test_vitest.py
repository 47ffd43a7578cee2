"""The browser half's own tests."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


def test_vitest(node: Path) -> None:
    ran = subprocess.run(["npm", "test", "--silent"], cwd=node, capture_output=True, text=True)

    if ran.returncode != 0:
        pytest.fail(f"{ran.stdout}{ran.stderr}", pytrace=False)
