"""What a results file says of where and when its figures were taken."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from importlib.metadata import distributions
from typing import Any

from prism_explore.targets import Target, ceilings
from prism_explore.targets.devices import device_here
from prism_explore.targets.host import cpu_model

PACKAGES = ("prism-explore", "torch", "triton", "llvmlite", "numpy", "apache-tvm", "apache-tvm-ffi")
"""Whose versions matter to a kernel's time."""


def head(target: Target | None = None) -> dict[str, str]:
    """The date and the machine, in words: that of a target, or what this process runs on."""
    model = device_here() if target is not None and target.kind == "gpu" else cpu_model()
    cores = ceilings.cores() if target is None else target.cores
    system = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    return {
        "date": datetime.now(UTC).isoformat(timespec="minutes"),
        "machine": f"{model}, {cores} cores, {system}",
    }


def versions() -> dict[str, Any]:
    """Of what makes kernels, where it is installed."""
    return {p: found.version for p in PACKAGES if (found := next(iter(distributions(name=p)), None))}
