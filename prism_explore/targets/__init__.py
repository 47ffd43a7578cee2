"""Target machines as numbers with a source: peak rates, memory, caches, launch cost.

GPUs are rows of a table, from their datasheets (`gpus.py`). The host CPU is measured once, and the figures are stored
(`host.py`). `Target.measured` and `Target.source` say whether a figure is measured or quoted. What is computed
from these figures is *modelled*.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from prism_explore.errors import TargetUnavailable
from prism_explore.targets.gpus import GPUS
from prism_explore.targets.machine import Target

__all__ = ["GPUS", "KNOWN", "Target", "target"]

KNOWN: tuple[str, ...] = ("cpu", "cuda", *GPUS)


def target(
    name: str,
    *,
    cache: Path | None = None,
    measure: Callable[[], Target] | None = None,
) -> Target:
    """The machine of this name.

    `cpu` is the host: measured at the first call, in about two seconds, then read from a file of the
    user's cache directory. `cuda` is the row of the GPU that is here, which may be AMD's, as in torch.

    Args:
        name: one of `KNOWN`.
        cache: where the host's figures are remembered; the user's cache directory if not given.
        measure: how the host is measured when nothing is remembered; `host.measure_host` if not given.

    Raises:
        TargetUnavailable: no such machine is known, or no GPU is here.
    """
    if name == "cpu":
        from prism_explore.targets import host

        return host.remembered(cache or host.cache_file(), measure or host.measure_host)
    if name == "cuda":
        return _device()
    if name in GPUS:
        return GPUS[name]
    raise TargetUnavailable(
        f"no target {name!r}; known are {', '.join(KNOWN)}. For another machine, start from a known one: "
        f"target('h100').replace(name={name!r}, dram_bytes_per_s=...)"
    )


def _device() -> Target:
    from prism_explore.targets import devices

    name = devices.device_here()
    if name is None:
        raise TargetUnavailable(
            f"no GPU is here: {devices.ASK[0]} names none, and AMD's driver lists none below {devices.NODES}"
        )
    row = devices.row_of(name)
    if row is None:
        raise TargetUnavailable(
            f"no figures are known of {name}; start from those of a GPU that is like it: "
            f"target({'mi300x' if name.startswith('AMD') else 'h100'!r}).replace(name=..., ...)"
        )
    return GPUS[row]
