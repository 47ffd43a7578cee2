"""The text of a CPU kernel: its loops, annotated with what the schedule makes of each statement.

The text is the kernel's identity: equal texts are equal code.
"""

from __future__ import annotations

from prism_explore.codegen.cpu.loop_ir import Contract, LoopProgram, Statement
from prism_explore.codegen.cpu.loop_text import LoopLine, loop_lines
from prism_explore.codegen.cpu.passes.prefetch import plan_prefetches
from prism_explore.codegen.cpu.schedule import Schedule, fused_sums, prefetch_streams, tiling_of
from prism_explore.targets.cpus import CpuModel


def show_kernel(program: LoopProgram, schedule: Schedule, cpu: CpuModel) -> str:
    """The annotated loops."""
    return "\n".join(line.text for line in kernel_lines(program, schedule, cpu))


def kernel_lines(program: LoopProgram, schedule: Schedule, cpu: CpuModel) -> list[LoopLine]:
    """The lines of `show_kernel`, each with the statement that it shows."""
    nests = program.nests if prefetch_streams(schedule) else ()
    requests = {s: rs for n in nests for s, rs in zip(n.body, plan_prefetches(n, cpu), strict=True) if rs}
    fused = {n.body[at]: found for n in program.nests for at, found in fused_sums(n.body, schedule).items()}

    def annotation(s: Statement) -> str:
        notes = [str(tiling_of(s, schedule))] if isinstance(s, Contract) else []
        notes += [f"beside it {fused[s].fold.target}"] if s in fused else []
        return "; ".join((*notes, *(f"meanwhile prefetch {request}" for request in requests.get(s, ()))))

    chosen = ", ".join(f"{k}={v}" for k, v in schedule)
    return [LoopLine(f"# float32 in {cpu.lanes} lanes; {chosen}"), *loop_lines(program, annotation)]
