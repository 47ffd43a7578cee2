"""Kernels of a proved candidate at other sizes: made and compared with float64, in this process or in a worker.

A worker generates and compiles code, which takes seconds in Python, and runs it first: it returns machine code, which
is loaded here in milliseconds. So the threads of this process go on, and code that crashes ends the worker only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

from prism_explore.codegen.cpu.load import load as load_cpu
from prism_explore.codegen.load import Loaded, load
from prism_explore.errors import PrismError
from prism_explore.pipeline.stages import Kernel
from prism_explore.targets import Target
from prism_explore.tune.runner.backend import CPU_LOADER
from prism_explore.tune.runner.bench import Failure
from prism_explore.tune.runner.correctness import check_results, reference_cases
from prism_explore.tune.runner.worker import Worker
from prism_explore.tune.space.kernels_at import kernels_at

MOST_CANDIDATES = 2
"""Choices of parameters that are compiled."""
NICE = 10
"""What is added to the niceness of a worker: the calls of this process come first."""


@dataclass(frozen=True, slots=True)
class Built:
    """What was made for some sizes."""

    kernels: tuple[Loaded, ...]
    """Those that agree with float64."""
    why: str
    """Why there are no others."""


Build: TypeAlias = Callable[[Kernel, Mapping[str, int], Target, int], Built]
"""Makes kernels of the candidate of a tuned kernel, for these sizes of its symbols and this machine; with the seed of
the inputs on which they are compared."""


def build_here(tuned: Kernel, sizes: Mapping[str, int], target: Target, seed: int) -> Built:
    """A `Build` in this process."""
    program = tuned.verified.candidate.family.program
    kernels: list[Loaded] = []
    why = "no parameters are legal"
    cases = None
    for kernel in islice(kernels_at(tuned.verified, tuned.parameters, sizes, target), MOST_CANDIDATES):
        cases = cases or reference_cases(program, sizes, seed)
        try:
            compiled = load(kernel)
            checked = check_results(compiled, cases)
        except PrismError as error:
            why = str(error).splitlines()[0]
            continue
        if isinstance(checked, Failure):
            why = checked.reason
        else:
            kernels.append(compiled)
    return Built(tuple(kernels), why)


def build_in_worker(stop: Callable[[], bool]) -> Build:
    """A `Build` in another process, which ends afterwards.

    Args:
        stop: called while it works; it is ended at once where that returns True.
    """

    def build(tuned: Kernel, sizes: Mapping[str, int], target: Target, seed: int) -> Built:
        program = tuned.verified.candidate.family.program
        with Worker(program, sizes, target, CPU_LOADER, seed=seed, stop=stop, fill=False, nice=NICE) as worker:
            found = worker.compile_at(tuned, target, MOST_CANDIDATES)
        if isinstance(found, Failure):
            return Built((), found.reason)
        kernels, why = found
        return Built(tuple(load_cpu(kernel, code=code) for kernel, code in kernels), why)

    return build
