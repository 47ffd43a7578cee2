"""The header of a results file: the date, the machine and the package versions."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from importlib.metadata import distributions
from typing import Any

from prism_explore.targets import Target, cpus
from prism_explore.targets.devices import device_here
from prism_explore.targets.host import cpu_model

PACKAGES = ("prism-explore", "torch", "triton", "llvmlite", "numpy", "apache-tvm", "apache-tvm-ffi")
"""Packages that influence the time of a kernel."""


def run_header(target: Target | None = None) -> dict[str, str]:
    """Return the date and a description of the machine.

    Args:
        target: the machine that runs the kernels; by default the CPU of this process.
    """
    model = device_here() if target is not None and target.kind == "gpu" else cpu_model()
    cores = cpus.cores() if target is None else target.cores
    system = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    return {
        "date": datetime.now(UTC).isoformat(timespec="minutes"),
        "machine": f"{model}, {cores} cores, {system}",
    }


def package_versions() -> dict[str, Any]:
    """Return the versions of the installed packages among `PACKAGES`."""
    return {p: found.version for p in PACKAGES if (found := next(iter(distributions(name=p)), None))}
