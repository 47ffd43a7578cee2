"""The plan of a CPU kernel: its loop program at chosen sizes, under a complete schedule.

Input: an sGraph, sizes and schedule choices. Output: a `Plan`, or why there is none. `emit` makes a kernel's text
from it, and `load` its machine code, so that both are the same kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from prism_explore.codegen.cpu.block_analysis import LoweringOptions
from prism_explore.codegen.cpu.kernel_source import show_kernel
from prism_explore.codegen.cpu.loop_ir import LoopProgram
from prism_explore.codegen.cpu.lower_graph import lower_graph
from prism_explore.codegen.cpu.passes.bf16_operands import with_bf16_operands
from prism_explore.codegen.cpu.schedule import Choice, Schedule, complete_schedule, schedule_space
from prism_explore.errors import ShapeError
from prism_explore.ir.graph import SGraph
from prism_explore.pipeline.stages import Parameters
from prism_explore.support.caches import memoize
from prism_explore.targets.cpus import CpuModel, host_cpu

SCRATCH_BYTES = 256 << 20
"""The limit per thread."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A loop program, a complete schedule, the CPU."""

    loops: LoopProgram
    schedule: Schedule
    host: CpuModel

    @property
    def source(self) -> str:
        """The kernel's text, and its identity: equal texts are equal code."""
        return show_kernel(self.loops, self.schedule, self.host)


def plan(graph: SGraph, parameters: Parameters, shapes: Mapping[str, int], lanes: int | None = None) -> Plan | str:
    """The plan for one choice of sizes, or the reason why there is none.

    Args:
        graph: an sGraph whose maps are closed.
        parameters: sizes for its own symbols, and schedule choices by name.
        shapes: sizes for the symbols of its inputs.
        lanes: a narrower vector width than the host's, for tests.
    """
    cpu = host_cpu() if lanes is None else replace(host_cpu(), lanes=lanes)
    stored = {i.name: i.type.dtype for i in graph.inputs}
    stored |= {"the result" if not n else f"result {n}": t.dtype for n, t in enumerate(graph.output_types)}
    for name, dtype in stored.items():
        if dtype == "f64":
            return f"{name} is f64; the CPU backend computes in float32 and stores f32, bf16 and f16"
        if dtype == "f16" and not cpu.converts_f16:
            return f"{name} is f16, which this CPU does not convert; take bf16 or f32"
    chosen = dict(parameters.schedule)
    options = LoweringOptions(hoist=bool(chosen.get("hoist", 1)), pack=bool(chosen.get("pack", 1)))
    try:
        loops = _lowered(graph, tuple(sorted({**parameters.numbers, **shapes}.items())), options)
    except ShapeError as error:
        return str(error)
    if chosen.get("short", 1) and cpu.bf16_dot:
        loops = with_bf16_operands(loops)
    for nest in loops.nests:
        needed = sum(b.bytes for b in nest.scratch)
        if needed > SCRATCH_BYTES:
            return f"{nest.name} needs {needed >> 20} MiB of scratch per thread, the limit is {SCRATCH_BYTES >> 20}"
    try:
        return Plan(loops, complete_schedule(loops, cpu, chosen), cpu)
    except ValueError as error:
        return str(error)


def choices_of(graph: SGraph, parameters: Parameters, shapes: Mapping[str, int]) -> tuple[Choice, ...]:
    """The schedule choices at these sizes, each with its default first; none where the sizes are illegal."""
    found = plan(graph, Parameters(parameters.sizes), shapes)
    return () if isinstance(found, str) else schedule_space(found.loops, found.host)


@memoize(1024)
def _lowered(graph: SGraph, sizes: tuple[tuple[str, int], ...], options: LoweringOptions) -> LoopProgram:
    return lower_graph(graph.substitute(dict(sizes)), options)
