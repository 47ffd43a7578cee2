"""With how many threads libraries work: what the environment said of it when this package was imported.

A Dask `LocalCluster` says OMP_NUM_THREADS=1, for its workers, in the environment of whoever makes it, and leaves it so.
A process that was begun behind that would time torch on one core, and call a kernel on all of them faster.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

_BEGIN = ("OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_")


def _said() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith(_BEGIN)}


GIVEN: Mapping[str, str] = _said()
"""Variables and their values."""


def as_in(given: Mapping[str, str]) -> dict[str, str | None]:
    """What must be put on top of this process's environment for threads to be as in another; None removes."""
    return {**dict.fromkeys(_said()), **given}
