"""A target machine: the rates, sizes and costs that bound the time of any kernel on it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

COLD_FACTOR = 4
"""Data that is read in turn comes from memory if it is this many times as large as the last-level cache."""


@dataclass(frozen=True, slots=True)
class Target:
    """A machine: the peak rates that bound every kernel, and the resources of one block.

    Rates are in operations or bytes per second, sizes in bytes, times in seconds.

    Example:
        >>> from prism_explore import target
        >>> a100 = target("a100")
        >>> a100.cores, a100.peak("bf16")
        (108, 312000000000000.0)
    """

    name: str
    """Such as `h100`."""
    kind: Literal["cpu", "gpu"]
    """It decides which code is generated."""
    peak_flops_per_s: float
    """float32 arithmetic, a fused multiply-add counted as two; on GPUs the TF32 tensor cores, dense."""
    peak_half_flops_per_s: float
    """16-bit operands, float32 sums; on GPUs the tensor cores, dense."""
    dram_bytes_per_s: float
    """Bandwidth of the main memory."""
    shared_memory_bytes: int
    """Limit for the scratch memory of one block: shared memory on a GPU, the L2 cache of one core on a CPU."""
    caches_bytes: tuple[int, ...]
    """Cache sizes, nearest first; the last is shared by all cores."""
    cores: int
    """Blocks that run at the same time: streaming multiprocessors, or cores."""
    max_blocks: int
    """Largest number of blocks of one kernel."""
    max_threads: int
    """Threads of one block; 1 on a CPU, where a block is the work of one thread."""
    launch_s: float
    """Cost of starting one kernel."""
    source: str
    """Where the figures come from."""
    measured: bool
    """Whether the rates were measured on this machine, not quoted from a datasheet."""
    full_precision_flops_per_s: float = 0.0
    """float32 products of operands that are not rounded to TF32, as in the generated kernels; 0: as `peak_flops_per_s`.
    It orders kernels. Bounds use the peak rate."""
    effective_cache_bytes: int = 0
    """How much of the caches one program gets, measured: less than the system reports where other virtual machines use
    the same last-level cache. 0 where it was not measured."""

    def __post_init__(self) -> None:
        for name in ("peak_flops_per_s", "peak_half_flops_per_s", "dram_bytes_per_s", "cores", "max_blocks"):
            assert getattr(self, name) > 0, f"{self.name}: {name} must be positive"
        assert self.caches_bytes, f"{self.name}: a target has at least one cache"

    @property
    def last_cache_bytes(self) -> int:
        """Size of the last-level cache."""
        return self.caches_bytes[-1]

    @property
    def cold_bytes(self) -> int:
        """Data of this size that is read in turn is in no cache when its turn comes."""
        return COLD_FACTOR * (self.effective_cache_bytes or self.last_cache_bytes)

    def peak(self, dtype: str) -> float:
        """Peak rate for operands of a dtype.

        Args:
            dtype: such as `f32` or `bf16`.

        Returns:
            Operations per second; a fused multiply-add counts as two.
        """
        return self.peak_half_flops_per_s if dtype in ("f16", "bf16") else self.peak_flops_per_s

    def usual_rate(self, dtype: str) -> float:
        """The rate of the instructions that generated kernels use for a dtype, at most the peak rate.

        Args:
            dtype: such as `f32` or `bf16`.

        Returns:
            Operations per second; a fused multiply-add counts as two.
        """
        return (
            self.full_precision_flops_per_s if dtype == "f32" and self.full_precision_flops_per_s else self.peak(dtype)
        )

    def replace(self, **changes: Any) -> Target:
        """A copy with some figures changed: `t.replace(dram_bytes_per_s=1e12)`.

        Args:
            changes: new values of fields, by name.

        Returns:
            The changed copy.
        """
        return replace(self, **changes)
