"""A kernel for a GPU that is not here: numbers by the model, source in Triton, checked and compiled ahead.

Nothing is timed, and nothing here claims to be fast: sizes are taken in the order of the traffic model
(modelled, see roofline.py); the first choice that Triton can express, that agrees with the reference in
Triton's interpreter, and that compiles without spilling registers is taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from prism_explore.codegen.triton import emit_triton
from prism_explore.codegen.triton_aot import AotCompiler, AotReport, architecture_of, compile_ahead
from prism_explore.codegen.triton_check import Checked, Interpreter, check_triton
from prism_explore.errors import TargetUnavailable
from prism_explore.ir.stages import Infeasible, Kernel, Verified
from prism_explore.targets import Target
from prism_explore.tune.space import Choices
from prism_explore.tune.strategy import Pool

WARPS_AND_STAGES: Choices = (("num_warps", (4, 8)), ("num_stages", (3, 2)))
MOST_COMPILED = 12
"""How many choices are compiled, at some tenths of a second each, in search of one that spills nothing."""


@dataclass(frozen=True, slots=True)
class GpuKernel:
    """Triton source for one choice of numbers, with what is known of it without running it on a GPU."""

    kernel: Kernel
    target: str
    modelled_s: float
    checked: Checked
    """Its small twin against the reference, in Triton's interpreter."""
    reports: tuple[AotReport, ...]
    """Registers, spills and shared memory per kernel, as compiled for the target's architecture."""
    passed_over: tuple[str, ...]
    """Why choices that the model likes better were not taken, each reason once."""

    @property
    def source(self) -> str:
        """The Triton source."""
        return self.kernel.source

    @property
    def spill_bytes(self) -> int:
        """Of all kernels together, per thread."""
        return sum(r.spill_bytes for r in self.reports)

    def __repr__(self) -> str:
        candidate = self.kernel.verified.candidate.id
        lines = [
            f"{candidate} for {self.target} at {self.kernel.parameters}: {self.modelled_s * 1e6:,.1f} us (modelled)",
            f"  interpreter: error {self.checked.error:.0e} at {', '.join(f'{k}={v}' for k, v in self.checked.sizes)}",
        ]
        lines += [
            f"  {r.kernel} on {r.arch}: {r.registers} registers, {r.spill_bytes} B spilled, "
            f"{r.shared_memory_bytes:,} B of shared memory"
            for r in self.reports
        ]
        return "\n".join(lines)


def on_gpu(verifieds: Sequence[Verified], shapes: Mapping[str, int], target: Target) -> GpuKernel | None:
    """The kernel that the model likes best among those that check and compile; None where there is none.

    Args:
        verifieds: proved candidates of one program.
        shapes: numbers for the program's own symbols.
        target: a GPU that Triton compiles for.

    Raises:
        TargetUnavailable: the target is no such GPU.
    """
    arch = architecture_of(target.name)
    if arch is None:
        raise TargetUnavailable(f"no Triton architecture is known for {target.name!r}; try a100, h100, h200 or b200")
    pool = Pool(verifieds, shapes, target, _choices)
    found: list[GpuKernel] = []
    passed_over: dict[str, None] = {}
    compiled: int = 0
    with AotCompiler() as compiler, Interpreter() as interpreter:
        for point in pool.by_model():
            if compiled >= MOST_COMPILED:
                break
            made = emit_triton(point.verified, point.parameters, shapes, target)
            if isinstance(made, Infeasible):
                passed_over.setdefault(made.reason)
                continue
            compiled += 1
            reports = compile_ahead(made, arch, compiler)
            if isinstance(reports, Infeasible):
                passed_over.setdefault(reports.reason)
                continue
            checked = check_triton(made, interpreter)
            if not isinstance(checked, Checked) or not checked.agrees:
                why = f"off by {checked.error:.0e}" if isinstance(checked, Checked) else checked.reason
                passed_over.setdefault(f"not confirmed by the interpreter: {why}")
                continue
            kernel = GpuKernel(made, target.name, point.modelled_s, checked, reports, tuple(passed_over))
            found.append(kernel)
            if not kernel.spill_bytes:
                break
            passed_over.setdefault(f"{made.parameters} spills {kernel.spill_bytes} bytes per thread")
    return min(found, key=lambda k: (k.spill_bytes, k.modelled_s), default=None)


def _choices(_: Verified, _sizes: Sizes, _shapes: Mapping[str, int], _target: Target) -> Choices:
    return WARPS_AND_STAGES
