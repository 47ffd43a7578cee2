"""What a CPU kernel is made of: its numbers put in, its loops, its schedule, its text.

`emit` and `load` both come here, so the text that people see and the code that runs have one origin.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from prism_explore.codegen.cpu.emit import Choice, Schedule, complete, schedule_space, show_kernel
from prism_explore.codegen.cpu.llvm.jit import CpuModel, host_cpu
from prism_explore.codegen.cpu.loop_ir import LoopProgram
from prism_explore.codegen.cpu.lower_graph import Lowering, lower
from prism_explore.codegen.cpu.passes.bf16_operands import shortened
from prism_explore.errors import ShapeError
from prism_explore.ir.graph import SGraph
from prism_explore.pipeline.stages import Parameters
from prism_explore.support.caches import memoize

SCRATCH_BYTES = 256 << 20
"""A thread may not ask for more."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A program to compile, under a complete schedule."""

    loops: LoopProgram
    schedule: Schedule
    host: CpuModel

    @property
    def source(self) -> str:
        """For people, and the identity of the kernel: equal texts are equal code."""
        return show_kernel(self.loops, self.schedule, self.host.lanes)


def plan(graph: SGraph, parameters: Parameters, shapes: Mapping[str, int], lanes: int | None = None) -> Plan | str:
    """The plan for one choice of numbers, or the reason why there is none.

    Args:
        graph: an sGraph whose maps are closed.
        parameters: numbers for its own symbols, and schedule choices by name.
        shapes: numbers for the symbols of its inputs.
        lanes: a narrower vector width than the host's, for trying.
    """
    machine = host_cpu() if lanes is None else replace(host_cpu(), lanes=lanes)
    stored = {i.name: i.type.dtype for i in graph.inputs} | {"the result": graph.output_type.dtype}
    for name, dtype in stored.items():
        if dtype == "f64":
            return f"{name} is f64; the CPU backend computes in float32 and stores f32, bf16 and f16"
        if dtype == "f16" and not machine.converts_f16:
            return f"{name} is f16, which this CPU does not convert; take bf16 or f32"
    given = dict(parameters.schedule)
    choices = Lowering(hoist=bool(given.get("hoist", 1)), pack=bool(given.get("pack", 1)))
    try:
        loops = _lowered(graph, tuple(sorted({**parameters.numbers, **shapes}.items())), choices)
    except ShapeError as error:
        return str(error)
    if given.get("short", 1) and machine.has_bf16_dot:
        loops = shortened(loops)
    for nest in loops.nests:
        needed = sum(b.bytes for b in nest.scratch)
        if needed > SCRATCH_BYTES:
            return f"{nest.name} needs {needed >> 20} MiB of scratch per thread, the limit is {SCRATCH_BYTES >> 20}"
    try:
        return Plan(loops, complete(loops, machine, given), machine)
    except ValueError as error:
        return str(error)


def choices_of(graph: SGraph, parameters: Parameters, shapes: Mapping[str, int]) -> tuple[Choice, ...]:
    """The schedule choices at these sizes, the best guess first; none where the sizes are illegal."""
    made = plan(graph, Parameters(parameters.sizes), shapes)
    return () if isinstance(made, str) else schedule_space(made.loops, made.host)


@memoize(1024)
def _lowered(graph: SGraph, sizes: tuple[tuple[str, int], ...], choices: Lowering) -> LoopProgram:
    return lower(graph.substitute(dict(sizes)), choices)
