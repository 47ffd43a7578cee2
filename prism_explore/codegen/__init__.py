"""From a proved candidate and numbers to a kernel: loops, machine code or Triton, a callable.

`emit` writes a kernel's source and never runs anything; `load.load` turns a kernel into a callable.
See the README of this folder.
"""

from __future__ import annotations

from collections.abc import Mapping

from prism_explore.codegen.cpu.plan import plan
from prism_explore.pipeline.stages import Infeasible, Kernel, Parameters, Verified
from prism_explore.targets import Target

__all__ = ["emit", "emit_cpu"]


def emit(verified: Verified, parameters: Parameters, shapes: Mapping[str, int], target: Target) -> Kernel | Infeasible:
    """The kernel for one choice of numbers, or why there is none.

    A proof speaks of the sizes that meet its conditions; they are checked again for these.

    Args:
        verified: the proved candidate.
        parameters: numbers for its grid sizes and loop ranges, and schedule choices by name.
        shapes: numbers for the program's own symbols, such as the batch.
        target: a CPU gets loops, a GPU gets Triton.
    """
    if target.kind == "cpu":
        return emit_cpu(verified, parameters, shapes)
    if broken := _broken(verified, parameters, shapes):
        return broken
    from prism_explore.codegen.triton.emit import emit_triton

    return emit_triton(verified, parameters, shapes, target)


def emit_cpu(verified: Verified, parameters: Parameters, shapes: Mapping[str, int]) -> Kernel | Infeasible:
    """The kernel for the CPU that this runs on, whatever is known of it; see `emit`."""
    if broken := _broken(verified, parameters, shapes):
        return broken
    made = plan(verified.candidate.sgraph, parameters, shapes)
    if isinstance(made, str):
        return Infeasible(verified.candidate, parameters, "tune.illegal", made)
    return Kernel(verified, parameters, tuple(sorted(shapes.items())), "cpu", made.source)


def _broken(verified: Verified, parameters: Parameters, shapes: Mapping[str, int]) -> Infeasible | None:
    broken = verified.proof.broken_at({**shapes, **parameters.numbers})
    if not broken:
        return None
    return Infeasible(verified.candidate, parameters, "tune.illegal", f"the proof needs other sizes: {broken[0]}")
