"""Machines as numbers with a source: peak rates, memory, caches, launch cost.

GPUs are rows of a table, from their datasheets. The host CPU is measured once and remembered (see
`host.py`). A figure is *measured* or *quoted*, and `Target.measured` and `Target.source` say which;
what is computed from it is *modelled*.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from prism_explore.errors import TargetUnavailable


@dataclass(frozen=True, slots=True)
class Target:
    """A machine: the ceilings that no kernel can pass, and what one block may use.

    Units: rates in operations or bytes per second, sizes in bytes, times in seconds.
    """

    name: str
    kind: Literal["cpu", "gpu"]
    peak_flops_per_s: float
    """float32 arithmetic, a fused multiply-add counted as two; on GPUs the TF32 tensor cores, dense."""
    peak_half_flops_per_s: float
    """16-bit operands, float32 sums; on GPUs the tensor cores, dense."""
    dram_bytes_per_s: float
    shared_memory_bytes: int
    """What the scratch of one block may take: shared memory on a GPU, the L2 cache of one core on a CPU."""
    caches_bytes: tuple[int, ...]
    """Cache sizes, nearest first; the last is shared by all cores."""
    cores: int
    """Blocks that run at the same time: streaming multiprocessors, or cores."""
    max_blocks: int
    max_threads: int
    """Threads of one block; 1 on a CPU, where a block is the work of one thread."""
    launch_s: float
    """What starting one kernel costs."""
    source: str
    """Where the numbers come from."""
    measured: bool
    """Whether the rates were measured on this very machine, not quoted from a datasheet."""

    def __post_init__(self) -> None:
        for name in ("peak_flops_per_s", "peak_half_flops_per_s", "dram_bytes_per_s", "cores", "max_blocks"):
            assert getattr(self, name) > 0, f"{self.name}: {name} must be positive"
        assert self.caches_bytes, f"{self.name}: a target has at least one cache"

    @property
    def last_cache_bytes(self) -> int:
        """The cache behind which is only memory."""
        return self.caches_bytes[-1]

    def peak(self, dtype: str) -> float:
        """flop/s that no kernel on operands of this dtype exceeds."""
        return self.peak_half_flops_per_s if dtype in ("f16", "bf16") else self.peak_flops_per_s

    def replace(self, **changes: Any) -> Target:
        """The same machine with other numbers, for a what-if: `t.replace(dram_bytes_per_s=1e12)`."""
        return replace(self, **changes)


def _gpu(
    name: str,
    tf32: float,
    half: float,
    dram: float,
    *,
    sms: int,
    shared_kib: int,
    l2_mib: int,
    source: str,
) -> Target:
    return Target(
        name=name,
        kind="gpu",
        peak_flops_per_s=tf32,
        peak_half_flops_per_s=half,
        dram_bytes_per_s=dram,
        shared_memory_bytes=shared_kib << 10,
        caches_bytes=(shared_kib << 10, l2_mib << 20),
        cores=sms,
        max_blocks=2**31 - 1,
        max_threads=1024,
        launch_s=3e-6,
        source=f"{source}; launch cost assumed, 3 us",
        measured=False,
    )


GPUS: dict[str, Target] = {
    row.name: row
    for row in (
        _gpu(
            "a100",
            156e12,
            312e12,
            2.039e12,
            sms=108,
            shared_kib=163,
            l2_mib=40,
            source="NVIDIA A100 80GB SXM datasheet and A100 whitepaper, table 4",
        ),
        _gpu(
            "h100",
            494.7e12,
            989.4e12,
            3.35e12,
            sms=132,
            shared_kib=227,
            l2_mib=50,
            source="NVIDIA H100 SXM5 datasheet and H100 whitepaper, table 2",
        ),
        _gpu(
            "h200",
            494.7e12,
            989.4e12,
            4.8e12,
            sms=132,
            shared_kib=227,
            l2_mib=50,
            source="NVIDIA H200 SXM datasheet; chip as H100 SXM5",
        ),
        _gpu(
            "b200",
            1.1e15,
            2.25e15,
            8e12,
            sms=148,
            shared_kib=227,
            l2_mib=126,
            source="NVIDIA DGX B200 datasheet, one eighth, sparse rates halved",
        ),
        _gpu(
            "mi300x",
            653.7e12,
            1307.4e12,
            5.3e12,
            sms=304,
            shared_kib=64,
            l2_mib=256,
            source="AMD Instinct MI300X data sheet and CDNA 3 white paper; the last cache is the Infinity Cache",
        ),
        _gpu(
            "rtx4090",
            82.6e12,
            165.2e12,
            1.008e12,
            sms=128,
            shared_kib=99,
            l2_mib=72,
            source="NVIDIA Ada GPU architecture whitepaper, appendix A",
        ),
    )
}
"""Quoted, never measured here."""

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
