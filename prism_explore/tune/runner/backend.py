"""The tuner's interface to a code generator: a few functions and names, so that a test can supply its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeAlias

from prism_explore.errors import TargetUnavailable
from prism_explore.pipeline.stages import Infeasible, Kernel, Parameters, Verified
from prism_explore.targets import Target
from prism_explore.targets.cpus import cores
from prism_explore.targets.host import cpu_model
from prism_explore.tune.space.parameters import Choices, ChoicesOf
from prism_explore.tune.space.pool import RankSizes
from prism_explore.tune.space.size_table import Sizes

CPU_LOADER = "prism_explore.codegen.load:load"
GPU_LOADER = "prism_explore.codegen.triton.launch:load"

Emit: TypeAlias = Callable[[Verified, Parameters, Mapping[str, int], Target], Kernel | Infeasible]
"""Writes a kernel's source without running anything."""


@dataclass(frozen=True, slots=True)
class Backend:
    """A code generator, as the tuner uses it."""

    emit: Emit
    choices: ChoicesOf
    """Schedule choices, best guess first."""
    loader: str
    """`module:function` that makes a kernel callable; the worker imports it."""
    bench: str = "prism_explore.tune.runner.worker:Worker"
    """`module:function` that makes a `Bench` from the arguments of `Worker`, in the client and in remote workers."""
    rank_sizes: RankSizes | None = None
    """The code generator's own model of sizes; without one, `tune.space.time_model` ranks them."""


def import_named(name: str) -> Any:
    """The object with the name `module:function`."""
    module, _, function = name.partition(":")
    return getattr(import_module(module), function)


def local_machine(target: Target) -> str:
    """What a kernel's time on this machine depends on; empty if kernels for the target cannot be timed here."""
    if why_untimed(target):
        return ""
    if target.kind == "gpu":
        from prism_explore.tune.runner.gpu_bench import device_name

        return device_name()
    return f"{cpu_model()}, {cores()} cores"


def why_untimed(target: Target) -> str:
    """Why kernels for a target cannot be timed here; empty if they can."""
    if target.kind == "cpu":
        return ""
    from prism_explore.tune.runner.gpu_bench import why_not_here

    return why_not_here(target)


def backend_of(target: Target) -> Backend:
    """The code generator for a target whose kernels this process can time.

    Raises:
        TargetUnavailable: the target is a GPU that this machine does not have.
    """
    from prism_explore.codegen import emit

    if reason := why_untimed(target):
        raise TargetUnavailable(
            f"kernels for {target.name} cannot be timed: {reason}. Search without tuning, or pass a Bench of your own"
        )
    if target.kind == "gpu":
        from prism_explore.tune.runner.gpu_bench import choices, rank

        return Backend(emit, choices, GPU_LOADER, rank_sizes=rank)
    return Backend(emit, _cpu_choices, CPU_LOADER)


def _cpu_choices(verified: Verified, sizes: Sizes, shapes: Mapping[str, int], target: Target) -> Choices:
    from prism_explore.codegen.cpu.plan import choices_of

    found = choices_of(verified.candidate.sgraph, Parameters(sizes), shapes)
    return tuple((choice.name, choice.values) for choice in found)
