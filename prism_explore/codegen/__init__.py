"""Code generation: a kernel from a proved candidate, for the CPU (LLVM) or a GPU (Triton).

Input: a verified candidate, and a size for each symbol. Output: `emit` returns the kernel's source and runs nothing;
`load.load` makes a kernel a callable. See the README of this folder.
"""

from __future__ import annotations

from collections.abc import Mapping

from prism_explore.codegen.cpu.plan import plan
from prism_explore.codegen.preconditions import unmet_precondition
from prism_explore.pipeline.stages import Infeasible, Kernel, Parameters, Verified
from prism_explore.targets import Target

__all__ = ["emit", "emit_cpu"]


def emit(verified: Verified, parameters: Parameters, shapes: Mapping[str, int], target: Target) -> Kernel | Infeasible:
    """The kernel for one choice of sizes, or why there is none.

    Args:
        verified: the proved candidate.
        parameters: its grid sizes and loop ranges, and schedule choices by name.
        shapes: sizes of the program's own symbols, such as the batch.
        target: a loop program is generated for a CPU, Triton source for a GPU.
    """
    if target.kind == "cpu":
        return emit_cpu(verified, parameters, shapes)
    from prism_explore.codegen.triton.emit import emit_triton

    return unmet_precondition(verified, parameters, shapes) or emit_triton(verified, parameters, shapes, target)


def emit_cpu(verified: Verified, parameters: Parameters, shapes: Mapping[str, int]) -> Kernel | Infeasible:
    """The kernel for the CPU of this process; see `emit`."""
    if unmet := unmet_precondition(verified, parameters, shapes):
        return unmet
    found = plan(verified.candidate.sgraph, parameters, shapes)
    if isinstance(found, str):
        return Infeasible(verified.candidate, parameters, "tune.illegal", found)
    return Kernel(verified, parameters, tuple(sorted(shapes.items())), "cpu", found.source)
