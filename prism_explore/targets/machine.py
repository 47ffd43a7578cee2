"""A target machine: the rates, sizes and costs that bound the time of any kernel on it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal


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
