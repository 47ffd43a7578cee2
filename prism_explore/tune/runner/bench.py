"""The bench interface: where kernels are checked against the reference and timed, and what comes of it.

Implementations: `local_bench.LocalBench` in this process, `worker.Worker` in another, `gpu_bench.DeviceBench` on a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from prism_explore.pipeline.stages import Kernel

Run: TypeAlias = Callable[..., Any]
"""A loaded kernel or baseline: takes the program's inputs in order, returns an array."""

Load: TypeAlias = Callable[[Kernel], Run]
"""Makes a kernel callable; any exception means that the kernel does not compile."""


@dataclass(frozen=True, slots=True)
class CheckPassed:
    """A kernel whose result agrees with the reference."""

    error: float
    """On random inputs: largest deviation, divided by the reference's largest magnitude."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a kernel cannot be timed."""

    code: str
    """tune.compile, tune.wrong, tune.crash, tune.hang, tune.memory, tune.cancelled."""
    reason: str


@dataclass(frozen=True, slots=True)
class Samples:
    """Times of several kernels from the same rounds, in the order of the rounds."""

    times_s: Mapping[str, tuple[float, ...]]
    waits: tuple[float, ...]
    """Per round, the share of its timed span in which threads of this process waited for a core."""

    @property
    def waited(self) -> float:
        """The mean of `waits`."""
        return sum(self.waits) / len(self.waits) if self.waits else 0.0

    def extended(self, more: Samples) -> Samples:
        """These rounds and more rounds, of the kernels that both have."""
        times_s = {key: (*self.times_s[key], *times_s) for key, times_s in more.times_s.items()}
        return Samples(times_s, (*self.waits, *more.waits))


def no_samples(keys: Sequence[str]) -> Samples:
    """Samples of no rounds."""
    return Samples(dict.fromkeys(keys, ()), ())


@dataclass(frozen=True, slots=True)
class Ceilings:
    """Loops that a bench keeps for timing: they read as many bytes as a program must, or do as much arithmetic."""

    readers: Sequence[str]
    """Keys of the loops that only read, each in another pattern."""
    arithmetic: str
    """The key of the loop that only computes."""
    scale: float = 1.0
    """Multiplies the times of the readers to be those of all bytes."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of all loops."""
        return (*self.readers, self.arithmetic)


class Bench(Protocol):
    """Checks and times kernels, in this process or in another."""

    def check(self, key: str, kernel: Kernel) -> CheckPassed | Failure:
        """Compile a kernel, compare its result with the reference, and keep it under `key`."""
        ...

    def time(self, keys: Sequence[str], rounds: int) -> Samples | Failure:
        """Time kernels in the same rounds; each was kept by `check`."""
        ...

    def prepare_ceilings(self, read_bytes: float, flops: float, is_16_bit: bool) -> Ceilings | Failure:
        """Keep loops that read as many bytes, or do as many operations, on 16-bit operands if `is_16_bit`."""
        ...

    def drop(self, key: str) -> None:
        """Release a kernel."""
        ...

    def close(self) -> None:
        """Release everything."""
        ...
