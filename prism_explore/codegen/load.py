"""A kernel as a callable: `load` dispatches to the CPU or GPU loader."""

from __future__ import annotations

from typing import Any, Literal, Protocol, TypeAlias

from prism_explore.codegen.cpu import load as cpu
from prism_explore.pipeline.stages import Kernel

Array: TypeAlias = Any
"""A torch.Tensor or a numpy.ndarray."""


class Loaded(Protocol):
    """A kernel that can be called with the program's inputs in their order."""

    @property
    def source(self) -> str:
        """The kernel's text."""
        ...

    def __call__(self, *inputs: Array) -> Array:
        """The result, a new tensor of the inputs' library."""
        ...

    def check(self, *inputs: Array) -> None:
        """Raise what a call with these inputs would raise for them, without computing."""
        ...


def load(kernel: Kernel, pool: Literal["auto", "openmp", "python"] = "auto") -> Loaded:
    """The callable of a kernel. A CPU kernel is compiled at once, a GPU kernel at its first call.

    Args:
        kernel: made by `emit`.
        pool: the threads of a CPU kernel; auto takes torch's OpenMP pool where there is one.

    Raises:
        TargetUnavailable: the kernel is for a GPU and there is none, or OpenMP is required and not found.
        ShapeError: the kernel's sizes do not fit its sGraph.
    """
    if kernel.backend == "triton":
        from prism_explore.codegen.triton import launch

        return launch.load(kernel)
    return cpu.load(kernel, pool)
