# pyright: basic
# It speaks to torch and Triton, which ships no types.
"""Kernels on a GPU that is here: what the tuner's worker does there in place of `LocalBench`.

Inputs and references are those of the CPU's bench, moved to the device. Time is taken by
`triton.testing.do_bench`: events on the device, its cache overwritten before every run, so that inputs are
cold. One *round* is a `do_bench` of every kernel, in shuffled order; ratios are taken round by round, as
everywhere else in this folder.

After an illegal access the device answers nothing more to the process that made it. Such a bench is `lost`:
the tuner ends its worker and starts another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from prism_explore.codegen.triton.launch import tensor_of
from prism_explore.ir.program import TensorProgram
from prism_explore.pipeline.stages import Verified
from prism_explore.targets import GPUS, Target
from prism_explore.targets.devices import amd_name, row_of
from prism_explore.tune.runner.measure import Checked, Failure, Load, LocalBench, Run, Samples, said
from prism_explore.tune.space.parameters import Choices, Sizes

DoBench: TypeAlias = Callable[..., Any]
"""As `triton.testing.do_bench`: the milliseconds that a function takes."""

WARMUP_MS, REPEAT_MS = 5, 20
"""Of one `do_bench`: short, for there are several rounds of them."""

WARPS, STAGES = (4, 8, 2, 1), (3, 2, 4, 1)
"""What a schedule may choose, best guess first."""

LOST = ("CUDA error", "HIP error", "device-side assert", "illegal memory access", "unspecified launch failure")
"""What torch and Triton say when the device is lost to this process."""


def lacking(target: Target) -> str:
    """Why kernels for a GPU cannot be timed in this process; empty where they can."""
    import torch

    if not torch.cuda.is_available():
        return "torch finds no GPU here"
    name = device_name()
    here = row_of(name)
    if here != target.name and (here is not None or target.name in GPUS):
        return f"the GPU here is {name}, not {target.name}"
    return ""


def device_name() -> str:
    """The device's name; an AMD one's is made of what it has, which is all that torch knows for certain."""
    import torch

    if torch.version.hip is None:
        return torch.cuda.get_device_name()
    told = torch.cuda.get_device_properties(0)
    return amd_name(told.gcnArchName, told.multi_processor_count, told.total_memory)


def choices(verified: Verified, sizes: Sizes, shapes: Mapping[str, int], target: Target) -> Choices:
    """Warps of a block and, where there is a loop, of how many iterations the tiles are in flight."""
    loops = any(block.loop is not None for _, block in verified.candidate.sgraph.customs)
    return (("num_warps", WARPS), *((("num_stages", STAGES),) if loops else ()))


class DeviceBench(LocalBench):
    """Compares and times on a GPU, in this process."""

    def __init__(
        self,
        program: TensorProgram,
        shapes: Mapping[str, int],
        target: Target,
        load: Load,
        *,
        seed: int = 0,
        device: str = "cuda",
        do_bench: DoBench | None = None,
    ) -> None:
        """Prepare inputs and references; with another device and stop-watch, a test does without a GPU."""
        super().__init__(program, shapes, target, load, seed=seed, most_bytes=1)
        self.move(lambda a: tensor_of(a).to(device))
        self.device = device
        self._do_bench = do_bench or _do_bench()

    def adopt(self, key: str, run: Run, lenient: float = 1.0) -> Checked | Failure:
        """Compare something that is callable already, and keep it if it agrees."""
        return self._noticed(super().adopt(key, run, lenient))

    def time(self, keys: Sequence[str], rounds: int) -> Samples | Failure:
        """Time kept kernels against one another; no thread waits for a core here, so every round counts."""
        runs = self._kept(keys)
        order, times = list(keys), {key: list[float]() for key in keys}
        inputs = self.ring.next()
        try:
            for _ in range(rounds):
                self._rng.shuffle(order)
                for key in order:
                    run = runs[key]
                    took_ms = self._do_bench(
                        lambda run=run: run(*inputs), warmup=WARMUP_MS, rep=REPEAT_MS, return_mode="median"
                    )
                    times[key].append(float(took_ms) / 1e3)
        except Exception as failure:
            return self._noticed(Failure("tune.crash", said(failure)))
        return Samples({key: tuple(t) for key, t in times.items()}, (0.0,) * rounds)

    def _noticed(self, found: Checked | Failure) -> Any:
        if isinstance(found, Failure):
            self.lost = self.lost or any(word in found.reason for word in LOST)
            if "out of memory" in found.reason and not self.lost:
                return Failure("tune.memory", found.reason)
        return found


def _do_bench() -> DoBench:
    from triton.testing import do_bench

    return do_bench
