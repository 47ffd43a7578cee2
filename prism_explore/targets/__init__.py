"""Target machines: peak rates, memory, caches and launch cost, each with its source.

GPUs are rows of a table, from datasheets (`gpus.py`). The host CPU is measured once, and the figures are stored
(`host.py`). `Target.measured` and `Target.source` say whether a figure is measured or quoted. What is computed from
these figures is *modelled*.
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
    """The target machine with this name.

    `cpu` is the host. The first call measures it, which takes about two seconds; later calls read a file in the user's
    cache directory. `cuda` is the GPU of this machine, NVIDIA's or AMD's, as in torch.

    Args:
        name: one of `KNOWN`.
        cache: the file with the host's figures; one in the user's cache directory if None.
        measure: measures the host if no figures are stored; `host.measure_host` if None.

    Returns:
        The machine's figures.

    Raises:
        TargetUnavailable: the name is unknown, or it is `cuda` and there is no GPU here, or an unknown one.

    Example:
        >>> target("h100").dram_bytes_per_s
        3350000000000.0
        >>> target("h100").replace(dram_bytes_per_s=4e12).dram_bytes_per_s
        4000000000000.0
    """
    if name == "cpu":
        from prism_explore.targets import host

        return host.load_or_measure(cache or host.cache_file(), measure or host.measure_host)
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
            f"no GPU is here: {devices.NVIDIA_COMMAND[0]} names none, and AMD's driver lists none in {devices.NODES}"
        )
    row = devices.row_of(name)
    if row is None:
        raise TargetUnavailable(
            f"no figures are known for {name}; start from those of a similar GPU: "
            f"target({'mi300x' if name.startswith('AMD') else 'h100'!r}).replace(name=..., ...)"
        )
    return GPUS[row]
