# pyright: basic
# torch is only partly typed, and Triton ships no types.
"""A bench for kernels on this machine's GPU, in the tuner's worker process, in place of `LocalBench`.

Inputs and reference results are those of the CPU bench, moved to the device. `QueuedTimer` measures times by events on
the device, on cold inputs. One *round* is one such measurement of every kernel, in shuffled order; ratios are computed
per round, as on a CPU.

After an illegal memory access the device no longer works for the process that caused it. Such a bench is `lost`: the
tuner ends its worker and starts another.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import ceil
from pathlib import Path
from statistics import median
from types import MappingProxyType
from typing import Any, TypeAlias

from prism_explore.codegen.triton.heuristics import ordered_choices, rank_sizes_of_all
from prism_explore.codegen.triton.launch import tensor_of
from prism_explore.ir.ops import MatMul
from prism_explore.ir.program import TensorProgram
from prism_explore.pipeline.stages import Verified
from prism_explore.support.file_lock import system_has_locks
from prism_explore.targets import GPUS, Target
from prism_explore.targets.devices import amd_name, row_of
from prism_explore.tune.runner.bench import Ceilings, CheckPassed, Failure, Load, Run, Samples
from prism_explore.tune.runner.correctness import ReferenceCase
from prism_explore.tune.runner.inputs import Transposed
from prism_explore.tune.runner.local_bench import CEILING_PREFIX, LocalBench, one_line
from prism_explore.tune.runner.machine_lock import MachineLock, open_machine_lock
from prism_explore.tune.space.parameters import Choices
from prism_explore.tune.space.pool import Ranked
from prism_explore.tune.space.size_table import RankedSizes, Sizes

TimeCall: TypeAlias = Callable[[Callable[[], Any]], float]
"""The seconds that a function takes on the device, as `QueuedTimer` measures them."""

REPEATS = 8
"""Calls of one measurement, of which the median counts; few, because there are several rounds."""

EVICTING_BYTES = 256 << 20
"""Read before each call, so that nothing else is in the last-level cache. Written memory would have to be written back
while the kernel runs: on an H100 that makes 15 us of reading 19."""

MOST_AHEAD = 256
"""Reads of `EVICTING_BYTES` that a measurement begins with at most; each takes about 0.1 ms on an H100."""

LOST = ("CUDA error", "HIP error", "device-side assert", "illegal memory access", "unspecified launch failure")
"""Parts of the messages of torch and Triton after which the device is lost to the process."""


def why_not_here(target: Target) -> str:
    """Why kernels for a GPU cannot be timed in this process; empty if they can."""
    import torch

    if not torch.cuda.is_available():
        return "torch finds no GPU here"
    name = device_name()
    here = row_of(name)
    if here != target.name and (here is not None or target.name in GPUS):
        return f"the GPU here is {name}, not {target.name}"
    return ""


def device_name() -> str:
    """The device's name; for an AMD GPU derived from its figures, because torch's name depends on the board."""
    import torch

    if torch.version.hip is None:
        return torch.cuda.get_device_name()
    properties = torch.cuda.get_device_properties(0)
    return amd_name(properties.gcnArchName, properties.multi_processor_count, properties.total_memory)


def choices(verified: Verified, sizes: Sizes, shapes: Mapping[str, int], target: Target) -> Choices:
    """Warps per block, stages of a loop, the precision of float32 products, TMA; the best by the model first."""
    return ordered_choices(verified.candidate.sgraph, {**shapes, **dict(sizes)}, target)


def rank(verifieds: Sequence[Verified], shapes: Mapping[str, int], target: Target) -> list[Ranked]:
    """Some legal sizes of each candidate, by the model of Triton's kernels."""
    ranked = rank_sizes_of_all([v.candidate.sgraph for v in verifieds], shapes, target)
    return [
        (RankedSizes.of_rows(v.candidate.sgraph.parameters, [(time_s, p.sizes) for time_s, p in found]), False)
        for v, found in zip(verifieds, ranked, strict=True)
    ]


def device_lock() -> MachineLock:
    """What processes of this user hold while they time kernels on a GPU; none where the system has no such locks."""
    path = Path("/tmp") / f"prism_explore.{os.geteuid()}.gpu"
    return open_machine_lock(path) if system_has_locks() else MachineLock(None)


class DeviceBench(LocalBench):
    """Checks and times kernels on a GPU, in this process."""

    def __init__(
        self,
        program: TensorProgram,
        shapes: Mapping[str, int],
        target: Target,
        load: Load,
        *,
        seed: int = 0,
        device: str = "cuda",
        time_call: TimeCall | None = None,
        lock: MachineLock | None = None,
        transposed: Transposed = MappingProxyType({}),
    ) -> None:
        """Compute inputs and reference results; tests pass another device and `time_call` to run without a GPU.

        Args:
            program: the reference for the kernels.
            shapes: values of its symbols.
            target: the GPU.
            load: makes a kernel callable.
            seed: of the inputs, and of the order of the kernels in each round.
            device: torch's name of it.
            time_call: times a call.
            lock: held exclusively while kernels are timed, and shared while they are checked.
            transposed: inputs that have the values of others.
        """
        super().__init__(program, shapes, target, load, seed=seed, most_bytes=1, transposed=transposed)
        self._lock = lock or MachineLock(None)
        if self.roundings > 1:  # `tl.dot` takes 16-bit operands, also those that the kernel has computed
            self.kernel_roundings = 1 + sum(isinstance(n.op, MatMul) for n in program.graph.nodes)
        self.convert_inputs(lambda a: tensor_of(a).to(device))
        self.device = device
        self._time_call = time_call or QueuedTimer(device)

    def _compared(
        self, run: Run, cases: Sequence[ReferenceCase], roundings: float = 1.0, *, may_overflow: bool = False
    ) -> CheckPassed | Failure:
        with self._lock.shared():
            return self._with_device_state(super()._compared(run, cases, roundings, may_overflow=may_overflow))

    def prepare_ceilings(self, read_bytes: float, flops: float, is_16_bit: bool) -> Ceilings | Failure:
        """Keep sums over as many bytes, by torch and by a Triton kernel, and a product of square matrices."""
        import torch

        values = torch.ones(max(1, int(read_bytes / 4)), dtype=torch.float32, device=self.device)
        readers: dict[str, Run] = {f"{CEILING_PREFIX}a sum over all bytes": lambda *_: values.sum()}
        if self.device == "cuda":
            from prism_explore.tune.runner.device_read import reader

            readers[f"{CEILING_PREFIX}a kernel that reads all bytes"] = reader(values)
        side = max(1, ceil((flops / 2) ** (1 / 3) / 128)) * 128  # square, so that it is bound by arithmetic
        a = torch.ones((side, side), dtype=torch.bfloat16 if is_16_bit else torch.float32, device=self.device)
        return self._keep_ceilings(readers, lambda *_: a @ a)

    def time(self, keys: Sequence[str], rounds: int) -> Samples | Failure:
        """Time kept callables in the same rounds; no thread waits for a core here, so every round counts."""
        runs = self._kept(keys)
        order, times = list(keys), {key: list[float]() for key in keys}
        inputs = self.ring.next()
        try:
            for _ in range(rounds):
                self._rng.shuffle(order)
                with self._lock.exclusive():
                    for key in order:
                        times[key].append(self._time_call(partial(runs[key], *inputs)))
        except Exception as failure:
            return self._with_device_state(Failure("tune.crash", one_line(failure)))
        return Samples({key: tuple(t) for key, t in times.items()}, (0.0,) * rounds)

    def _with_device_state(self, found: CheckPassed | Failure) -> Any:
        """The same outcome; record a lost device, and give memory failures their own code."""
        if isinstance(found, Failure):
            self.lost = self.lost or any(text in found.reason for text in LOST)
            if "out of memory" in found.reason and not self.lost:
                return Failure("tune.memory", found.reason)
        return found


class QueuedTimer:
    """Times calls by events on the device, which has always the next call in its queue.

    A small kernel takes less time than its launch takes on the host. Timed one by one, such a kernel shows the time of
    the host's Python. So the device first gets other work, and all calls are queued while it does that. If it reached
    the first call before the last one was queued, the measurement is repeated with more work in front. A function that
    waits for the device cannot be queued; its time has the waiting in it.
    """

    def __init__(self, device: str) -> None:
        """Allocate the memory that is read before each call."""
        import torch

        self._memory = torch.zeros(EVICTING_BYTES // 4, dtype=torch.float32, device=device)
        self._ahead = 8

    def __call__(self, call: Callable[[], Any]) -> float:
        """The median time of `REPEATS` calls, in seconds."""
        call()
        while True:
            times_s, was_queued = self._measure(call)
            if was_queued or self._ahead >= MOST_AHEAD:
                return median(times_s)
            self._ahead *= 2

    def _measure(self, call: Callable[[], Any]) -> tuple[list[float], bool]:
        """The time of each call, and whether all were queued before the first one began."""
        import torch

        events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(REPEATS)]
        torch.cuda.synchronize()
        for _ in range(self._ahead):
            self._memory.sum()
        for start, end in events:
            self._memory.sum()  # inputs are cold in every call
            start.record()
            call()
            end.record()
        was_queued = not events[0][0].query()
        torch.cuda.synchronize()
        return [start.elapsed_time(end) / 1e3 for start, end in events], was_queued
