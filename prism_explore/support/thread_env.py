"""Environment variables that set the number of threads of numeric libraries, as of when the package was imported.

A Dask `LocalCluster` writes OMP_NUM_THREADS=1 into the environment of the process that creates it, for its workers, and
leaves it there. A worker process started afterwards would time torch on one core, while kernels run on all cores.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

_PREFIXES = ("OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_")


def _current() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith(_PREFIXES)}


AT_IMPORT: Mapping[str, str] = _current()
"""The variables and their values at import time."""


def environment_changes(wanted: Mapping[str, str]) -> dict[str, str | None]:
    """The changes to this process's environment that give a child process the `wanted` thread variables.

    Args:
        wanted: variables and their values, such as `AT_IMPORT`.

    Returns:
        Variables to set; None for a variable to remove.
    """
    return {**dict.fromkeys(_current()), **wanted}
