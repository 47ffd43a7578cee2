"""A bench in this process: checks kernels against the reference, then times them in interleaved rounds.

A worker process runs one; tests use it with a fake clock.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import ceil
from types import MappingProxyType
from typing import Any

import numpy as np

from prism_explore.codegen.cpu.load import LoadedKernel
from prism_explore.ir.interpreter.reference import Array
from prism_explore.ir.program import TensorProgram
from prism_explore.pipeline.stages import Kernel
from prism_explore.targets import Target, ceilings
from prism_explore.targets.cpus import cores
from prism_explore.tune.runner.bench import Ceilings, CheckPassed, Failure, Load, Run, Samples
from prism_explore.tune.runner.correctness import RANDOM, TOLERANCE, ReferenceCase, check_results, reference_cases
from prism_explore.tune.runner.guarded_memory import BEYOND_OWN, CanaryRun, GuardedRun, WroteOutside
from prism_explore.tune.runner.inputs import RING_BYTES, InputRing, Transposed
from prism_explore.tune.runner.timing import InterleavedTimer

BASELINE_DEVIATION = 0.25
"""Of a row's magnitude, by which a baseline in 16 bits may deviate. It is the user's own code, run as it is: where it
takes exp of unnormalized logits, torch in bfloat16 deviates by 0.1."""

CEILING_PREFIX = "ceiling: "
ARITHMETIC = f"{CEILING_PREFIX}multiply-add"
"""The key of the loop that only computes; the others have the names of their read patterns."""


class LocalBench:
    """Checks and times kernels in this process."""

    def __init__(
        self,
        program: TensorProgram,
        shapes: Mapping[str, int],
        target: Target,
        load: Load,
        *,
        seed: int = 0,
        timer: InterleavedTimer | None = None,
        most_bytes: int = RING_BYTES,
        fill: bool = True,
        transposed: Transposed = MappingProxyType({}),
    ) -> None:
        """Compute inputs and reference results; see `reference_cases` and `InputRing` for exceptions.

        Args:
            program: the reference for the kernels.
            shapes: values of its symbols.
            target: the machine.
            load: makes a kernel callable.
            seed: of the inputs, and of the order of the kernels in each round.
            timer: times rounds.
            most_bytes: largest size of the ring of inputs.
            fill: whether the ring is filled from now on, in the background, or when kernels are first timed.
            transposed: inputs that have the values of others.
        """
        self.shapes = dict(shapes)
        """The values of the program's symbols."""
        self._load = load
        self._timer = timer or InterleavedTimer()
        self._rng = random.Random(seed)
        self.ring = InputRing(
            program, shapes, seed, target.cold_bytes, most_bytes, is_filled_soon=fill, transposed=transposed
        )
        self.cases = reference_cases(program, shapes, seed, self.ring, is_guarded=True, transposed=transposed)
        if fill:
            self.ring.start_filling()
        short = {t.dtype for t in program.graph.output_types} & {"f16", "bf16"}
        tolerance = max((TOLERANCE[dtype] for dtype in short), default=0.0)
        self.roundings = max(1 + len(program.graph.nodes), BASELINE_DEVIATION / tolerance) if short else 1
        """How often a baseline may round: torch rounds each intermediate value to 16 bits, a kernel its result only."""
        self.kernel_roundings = 1
        """How often a kernel may round to 16 bits."""
        self.cold_bytes = target.cold_bytes
        self.weights = tuple(n for n, i in enumerate(program.inputs) if not any(d.symbols for d in i.type.dims))
        """Positions of the inputs without symbols in their shape: weights, which a baseline may pack in advance."""
        self.device = "cpu"
        """Torch's name of the device that holds the inputs."""
        self.lost = False
        """Whether a kernel left this process in a state in which no later kernel can be timed."""
        self._runs: dict[str, Run] = {}

    def convert_inputs(self, to: Callable[[Array], Any]) -> None:
        """Pass kernels `to(array)` instead of each input array, such as a tensor on a device."""
        self.ring.convert(to)
        self.cases = tuple(replace(case, inputs=tuple(map(to, case.inputs))) for case in self.cases)

    def check(self, key: str, kernel: Kernel) -> CheckPassed | Failure:
        """Compile a kernel, compare its result with the reference, and keep it if it agrees."""
        try:
            run = self._load(kernel)
        except MemoryError:
            return Failure("tune.memory", "out of memory while compiling")
        except Exception as failure:
            return Failure("tune.compile", one_line(failure))
        # A kernel that writes into its inputs ends at those that cannot be written, before it changes the ring's.
        guarded_first = sorted(self.cases, key=lambda case: case.name == RANDOM)
        guarded_run = GuardedRun(run) if isinstance(run, LoadedKernel) else run
        return self._keep_right(key, run, self._compared(guarded_run, guarded_first, self.kernel_roundings))

    def check_callable(self, key: str, run: Run, roundings: float = 1.0) -> CheckPassed | Failure:
        """The same for a callable; see `check_results`. One that rounds intermediate values may overflow."""
        return self._keep_right(key, run, self._compared(run, self.cases, roundings, may_overflow=roundings > 1))

    def _compared(
        self, run: Run, cases: Sequence[ReferenceCase], roundings: float = 1.0, *, may_overflow: bool = False
    ) -> CheckPassed | Failure:
        try:
            return check_results(run, cases, roundings, may_overflow=may_overflow)
        except MemoryError:
            return Failure("tune.memory", "out of memory while running")
        except WroteOutside as failure:
            return Failure("tune.crash", str(failure))
        except Exception as failure:
            return Failure("tune.crash", one_line(failure))

    def _keep_right(self, key: str, run: Run, found: CheckPassed | Failure) -> CheckPassed | Failure:
        if isinstance(found, CheckPassed):
            self._runs[key] = run
        return found

    def keep(self, key: str, run: Run) -> None:
        """Keep a callable without a result to compare, such as a ceiling measurement."""
        self._runs[key] = run

    def prepare_ceilings(self, read_bytes: float, flops: float, is_16_bit: bool) -> Ceilings | Failure:
        """Keep loops that read as many bytes, or do as many operations; they read the ring of the inputs."""
        unit = 8 * ceilings.ROW_FLOATS * cores()
        floats = max(1, int(read_bytes / 4) // unit) * unit
        slots = max(3, ceil(self.cold_bytes / (4 * floats)) + 1)
        inputs = self.ring.as_floats  # writing other memory for the first time would take seconds on a virtual machine
        buffer = inputs if inputs.size >= slots * floats else np.ones(slots * floats, dtype=np.float32)
        slots, position = buffer.size // floats, 0

        def reading(loop: ceilings.CeilingLoop) -> Run:
            def run(*_: Any) -> None:
                nonlocal position
                position = (position + 1) % slots
                loop.read(buffer[position * floats : (position + 1) * floats])

            return run

        readers = {f"{CEILING_PREFIX}{p.name.removeprefix('read: ')}": reading(p) for p in ceilings.read_loops()}
        arithmetic = (ceilings.bf16_loop() if is_16_bit else None) or ceilings.fma_loop()
        return self._keep_ceilings(readers, lambda *_: arithmetic.compute(flops), read_bytes / (4 * floats))

    def _keep_ceilings(self, readers: Mapping[str, Run], arithmetic: Run, scale: float = 1.0) -> Ceilings:
        for key, run in {**readers, ARITHMETIC: arithmetic}.items():
            self.keep(key, run)
        return Ceilings(tuple(readers), ARITHMETIC, scale)

    def time(self, keys: Sequence[str], rounds: int) -> Samples | Failure:
        """Time kept callables in the same rounds; before them, each compiled kernel is called with canaries."""
        runs = self._kept(keys)
        own = [run for run in runs.values() if isinstance(run, LoadedKernel)]
        try:
            for run in own:
                CanaryRun(run)(*self.ring.next())
            found = self._timer.time(runs, self.ring, rounds, self._rng)
        except MemoryError:
            return Failure("tune.memory", "out of memory while timing")
        except WroteOutside as failure:
            return self._lost(f"{failure} while it was timed")
        except Exception as failure:
            return Failure("tune.crash", one_line(failure))
        if not self.ring.are_canaries_intact():
            return self._lost("a kernel wrote before or after an input while it was timed")
        if not all(run.is_memory_intact for run in own):
            return self._lost(f"{BEYOND_OWN} while it was timed")
        return found

    def _lost(self, reason: str) -> Failure:
        """The failure of a kernel that wrote into memory of others."""
        self.lost = True
        return Failure("tune.crash", reason)

    def _kept(self, keys: Sequence[str]) -> dict[str, Run]:
        missing = [key for key in keys if key not in self._runs]
        assert not missing, f"never checked: {', '.join(missing)}; a kernel is compared before it is timed"
        return {key: self._runs[key] for key in keys}

    def kept(self, key: str) -> Run:
        """A callable that was compared and kept."""
        return self._kept([key])[key]

    def drop(self, key: str) -> None:
        """Release a kernel."""
        self._runs.pop(key, None)

    def close(self) -> None:
        """Release all kernels."""
        self._runs.clear()


def one_line(failure: BaseException) -> str:
    """An exception's type and the first line of its message."""
    lines = str(failure).strip().splitlines()
    return f"{type(failure).__name__}: {lines[0]}" if lines else type(failure).__name__
