# pyright: basic
# torch is only partly typed, and Triton ships no types.
"""A bench for kernels on this machine's GPU, in the tuner's worker process, in place of `LocalBench`.

Inputs and reference results are those of the CPU bench, moved to the device. `triton.testing.do_bench` measures times:
it uses events on the device and overwrites the cache before every run, so inputs are cold. One *round* is a `do_bench`
of every kernel, in shuffled order; ratios are computed per round, as on a CPU.

After an illegal memory access the device no longer works for the process that caused it. Such a bench is `lost`: the
tuner ends its worker and starts another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from prism_explore.codegen.triton.launch import tensor_of
from prism_explore.ir.program import TensorProgram
from prism_explore.pipeline.stages import Verified
from prism_explore.targets import GPUS, Target
from prism_explore.targets.devices import amd_name, row_of
from prism_explore.tune.runner.bench import CheckPassed, Failure, Load, Run, Samples
from prism_explore.tune.runner.correctness import ReferenceCase
from prism_explore.tune.runner.local_bench import LocalBench, one_line
from prism_explore.tune.space.parameters import Choices, Sizes

DoBench: TypeAlias = Callable[..., Any]
"""As `triton.testing.do_bench`: the milliseconds that a function takes."""

WARMUP_MS, REPEAT_MS = 5, 20
"""Of one `do_bench`; short, because there are several rounds."""

WARPS, STAGES = (4, 8, 2, 1), (3, 2, 4, 1)
"""Schedule choices, best guess first."""

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
    """Warps per block and, if a kernel has a loop, the number of pipeline stages."""
    loops = any(block.loop is not None for _, block in verified.candidate.sgraph.customs)
    return (("num_warps", WARPS), *((("num_stages", STAGES),) if loops else ()))


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
        do_bench: DoBench | None = None,
    ) -> None:
        """Compute inputs and reference results; tests pass another device and timer to run without a GPU."""
        super().__init__(program, shapes, target, load, seed=seed, most_bytes=1)
        self.convert_inputs(lambda a: tensor_of(a).to(device))
        self.device = device
        self._do_bench = do_bench or _do_bench()

    def _compared(self, run: Run, cases: Sequence[ReferenceCase], roundings: float = 1.0) -> CheckPassed | Failure:
        return self._with_device_state(super()._compared(run, cases, roundings))

    def time(self, keys: Sequence[str], rounds: int) -> Samples | Failure:
        """Time kept callables in the same rounds; no thread waits for a core here, so every round counts."""
        runs = self._kept(keys)
        order, times = list(keys), {key: list[float]() for key in keys}
        inputs = self.ring.next()
        try:
            for _ in range(rounds):
                self._rng.shuffle(order)
                for key in order:
                    run = runs[key]
                    time_ms = self._do_bench(
                        lambda run=run: run(*inputs), warmup=WARMUP_MS, rep=REPEAT_MS, return_mode="median"
                    )
                    times[key].append(float(time_ms) / 1e3)
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


def _do_bench() -> DoBench:
    from triton.testing import do_bench

    return do_bench
