"""The folders of this package in the user's home, by the rules of the operating system."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Literal

_NO_HOME = Path("/nonexistent")
"""The home that Debian's list of users gives to those without one."""


def user_folder(kind: Literal["cache", "state"]) -> Path:
    """The folder for what can be computed again, or for what programs keep between runs; it need not exist.

    On Linux by the rules of XDG, where a relative path in the environment is ignored. A user without a home has a
    folder that, as a rule, cannot be made, so that nothing is stored.
    """
    try:
        home = Path.home()
    except RuntimeError:  # HOME is not set, and the system does not know the user, as in many containers
        home = _NO_HOME
    match sys.platform:
        case "win32":
            base = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
        case "darwin":
            base = home / "Library" / ("Caches" if kind == "cache" else "Application Support")
        case _:
            given = os.environ.get(f"XDG_{kind.upper()}_HOME", "")
            own = home / ".cache" if kind == "cache" else home / ".local" / "state"
            base = Path(given) if given and Path(given).is_absolute() else own
    return base / "prism_explore"
