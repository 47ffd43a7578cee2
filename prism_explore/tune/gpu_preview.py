"""A Triton kernel for a GPU that this machine does not have: sizes by a model, checked, compiled, not timed.

Candidates at the sizes that `codegen.triton.heuristics` evaluated are tried in the order of their modelled time. The
first one that agrees with the reference in Triton's interpreter and compiles without spilling registers is returned.
The model estimates registers and shared memory. A kernel that needs more shows that the estimate is too low for this
program; what is tried after it needs a good deal less by the same estimate.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path

from prism_explore.codegen.triton.aot import AotCompiler, AotReport, compile_ahead
from prism_explore.codegen.triton.emit import emit_triton
from prism_explore.codegen.triton.heuristics import (
    Resources,
    choose_sizes,
    estimated_resources,
    modelled_kernel_s,
    rank_sizes,
    rank_sizes_of_all,
)
from prism_explore.codegen.triton.interpreter_check import (
    Interpreter,
    InterpreterCheck,
    NoInterpreterCheck,
    check_graph,
)
from prism_explore.codegen.triton.plan import Obstacle, plan_kernels
from prism_explore.codegen.triton.tuning_file import tuning_file
from prism_explore.cost.roofline import time_bound_of
from prism_explore.errors import TargetUnavailable
from prism_explore.ir.dims import dim
from prism_explore.ir.graph import SGraph
from prism_explore.ir.ops import Input, Node
from prism_explore.pipeline.stages import Candidate, Infeasible, Kernel, Parameters, Verified
from prism_explore.support.whole_files import write_whole
from prism_explore.targets import GPUS, Target
from prism_explore.targets.gpus import architecture_of
from prism_explore.verify.shapes.concretize import Extents

SAMPLES, MOST_GRAPHS = 4, 8
"""Choices of each candidate that are evaluated first; how many candidates are then examined closely."""

MOST_EXCEEDING = 8
"""Kernels that spill or need too much shared memory before the one that spills least is taken."""


@dataclass(frozen=True, slots=True)
class GpuKernel:
    """Triton source for one choice of sizes, with what is known about it without running it on a GPU."""

    kernel: Kernel
    target: str
    modelled_s: float
    checked: InterpreterCheck
    """Result of Triton's interpreter at small sizes, compared with the sGraph's reference."""
    reports: tuple[AotReport, ...]
    """Resources and instructions per kernel, from the compiler for the target's architecture."""
    rejected: tuple[str, ...]
    """Why candidates with a lower modelled time were rejected."""
    by_tma: float | Obstacle
    """Modelled seconds with `tma=1`, or why TMA can read no tile of it."""

    @property
    def source(self) -> str:
        """The Triton source."""
        return self.kernel.source

    @property
    def tuning_file(self) -> str:
        """Python source for a machine with a GPU: run there, it tunes, checks and times the kernel beside torch.

        It needs torch and Triton alone. Its `@triton.autotune` tries the configurations of least modelled time.
        """
        return tuning_file(self.kernel, GPUS[self.target])

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write `tuning_file`.

        Args:
            path: of the file, such as `kernel.py`; one that exists is replaced.

        Returns:
            The path of the file.
        """
        file = Path(path)
        write_whole(file, self.tuning_file.encode(), durable=True)
        return file

    @property
    def spill_bytes(self) -> int:
        """Spilled bytes per thread, of all kernels together."""
        return sum(r.spill_bytes for r in self.reports)

    def __repr__(self) -> str:
        candidate = self.kernel.verified.candidate.id
        lines = [
            f"{candidate} for {self.target} at {self.kernel.parameters}: {self.modelled_s * 1e6:,.1f} us (modelled)",
            f"  interpreter: error {self.checked.error:.0e} at {', '.join(f'{k}={v}' for k, v in self.checked.sizes)}",
        ]
        lines += [f"  {r.kernel} on {r.arch}: {r}" for r in self.reports]
        if isinstance(self.by_tma, Obstacle):
            lines.append(f"  {self.by_tma.reason}")
        else:
            lines.append(f"  tma=1: {self.by_tma * 1e6:,.1f} us (modelled; a choice of the tuning file)")
        return "\n".join(lines)


def write_gpu_kernel(verifieds: Sequence[Verified], shapes: Mapping[str, int], target: Target) -> GpuKernel | None:
    """The kernel with the least modelled time of those that check and compile; None if there is none.

    Args:
        verifieds: proved candidates of one program.
        shapes: values of the program's own symbols.
        target: a GPU that Triton compiles for.

    Raises:
        TargetUnavailable: the target is not such a GPU.
    """
    arch = architecture_of(target.name)
    if arch is None:
        raise TargetUnavailable(f"no Triton architecture is known for {target.name!r}; known are {', '.join(GPUS)}")
    found: list[GpuKernel] = []
    rejected: dict[str, None] = {}
    wrong: set[int] = set()
    most, exceeding = Resources(inf, target.shared_memory_bytes), 0
    with AotCompiler() as compiler, Interpreter() as interpreter:
        for modelled_s, position, parameters in _ranked_choices(verifieds, shapes, target, rejected):
            verified = verifieds[position]
            needs = estimated_resources(verified.candidate.sgraph, parameters, shapes, target)
            if position in wrong or isinstance(needs, Obstacle) or not needs.fit_in(most):
                continue
            kernel = emit_triton(verified, parameters, shapes, target)
            result = kernel if isinstance(kernel, Infeasible) else _check(kernel, arch.name, compiler, interpreter)
            if not isinstance(kernel, Infeasible) and not isinstance(result, Infeasible):
                by_tma = _modelled_by_tma(kernel, target)
                found.append(GpuKernel(kernel, target.name, modelled_s, *result, tuple(rejected), by_tma))
                if not found[-1].spill_bytes:
                    break
                why, most = f"spills {found[-1].spill_bytes} bytes per thread", most.with_less_registers(needs)
            else:
                why = _reason(kernel, result)
                if isinstance(result, Infeasible) and result.code == "tune.illegal":
                    most = most.with_less_shared(needs)
                else:
                    wrong.add(position)
            rejected.setdefault(f"{verified.candidate.id}: {why}")
            exceeding += position not in wrong
            if exceeding == MOST_EXCEEDING:
                break
    return min(found, key=lambda k: (k.spill_bytes, k.modelled_s), default=None)


def _ranked_choices(
    verifieds: Sequence[Verified], shapes: Mapping[str, int], target: Target, rejected: dict[str, None]
) -> list[tuple[float, int, Parameters]]:
    """Modelled seconds, position of the candidate and parameters of what was evaluated, the least time first.

    Where of the few choices that are sampled none is legal for any candidate, the candidates are searched for a legal
    one until there is one; `rejected` receives why there is none.
    """
    ranked = rank_sizes_of_all([v.candidate.sgraph for v in verifieds], shapes, target, SAMPLES, MOST_GRAPHS)
    if not any(ranked):
        for position, verified in enumerate(verifieds):
            chosen = choose_sizes(verified.candidate.sgraph, shapes, target)
            if not isinstance(chosen, Obstacle):
                ranked[position] = rank_sizes(verified.candidate.sgraph, shapes, target, dict(chosen.sizes))
                break
            rejected.setdefault(f"{verified.candidate.id}: {chosen.reason}")
    bounds_s = [time_bound_of(v.candidate, shapes, target).time_s for v in verifieds]  # with its library calls
    choices = [
        (max(kernels_s, bound_s), position, parameters)
        for position, (sizes, bound_s) in enumerate(zip(ranked, bounds_s, strict=True))
        for kernels_s, parameters in sizes
    ]
    return sorted(choices, key=lambda row: row[:2])


def _modelled_by_tma(kernel: Kernel, target: Target) -> float | Obstacle:
    """The modelled seconds of a kernel if TMA reads the tiles of its products, with library calls, or why it cannot."""
    candidate, shapes = kernel.verified.candidate, dict(kernel.shapes)
    schedule = (*((name, n) for name, n in kernel.parameters.schedule if name != "tma"), ("tma", 1))
    kernels_s = modelled_kernel_s(candidate.sgraph, Parameters(kernel.parameters.sizes, schedule), shapes, target)
    bound_s = time_bound_of(candidate, shapes, target).time_s
    return kernels_s if isinstance(kernels_s, Obstacle) else max(kernels_s, bound_s)


def _check(
    kernel: Kernel, arch: str, compiler: AotCompiler, interpreter: Interpreter
) -> tuple[InterpreterCheck, tuple[AotReport, ...]] | Infeasible:
    """Compile a kernel, and compare its result with the reference at small sizes."""
    reports = compile_ahead(kernel, arch, compiler)
    if isinstance(reports, Infeasible):
        return reports
    candidate, parameters = kernel.verified.candidate, kernel.parameters
    checked = check_at_small_sizes(candidate, parameters, dots_of(kernel), interpreter)
    if isinstance(checked, InterpreterCheck) and checked.agrees:
        return checked, reports
    why = f"off by {checked.error:.0e}" if isinstance(checked, InterpreterCheck) else checked.reason
    return Infeasible(candidate, parameters, "tune.wrong", f"not confirmed by the interpreter, {why}")


def check_at_small_sizes(
    candidate: Candidate,
    parameters: Parameters,
    dots: Mapping[int, frozenset[int]],
    interpreter: Interpreter,
    seed: int = 0,
    timeout_s: float = 60.0,
) -> InterpreterCheck | NoInterpreterCheck:
    """Run a candidate's Triton kernels at small sizes in Triton's interpreter; compare with the float64 reference.

    The sizes are those of the refuter: every axis has a different extent, and grid sizes and loop ranges are at least 2
    if the kernel's are more than 1.

    Args:
        candidate: the candidate.
        parameters: sizes and schedule of the kernel.
        dots: its products that use `tl.dot`; they use it here too, padded if necessary.
        interpreter: runs the kernels.
        seed: of the inputs.
        timeout_s: limit for the interpreter.
    """
    extents = Extents(candidate.family.program)
    pair = extents.pair(candidate.sgraph)
    alone = {name: 1 for name, n in parameters.sizes if n == 1}
    instance = pair if isinstance(pair, str) else extents.instance(pair, 0, alone)
    if isinstance(instance, str) and not isinstance(pair, str):
        instance = extents.instance(pair)
    if isinstance(instance, str):
        return NoInterpreterCheck(f"it has no small sizes: {instance}")
    sizes = {**instance.symbols, **dict(instance.sizes)}
    graph = _with_input_shapes(instance.candidate, dict(instance.shapes)).substitute(sizes)
    found = check_graph(graph, {}, parameters, interpreter, seed, timeout_s, dots=dots)
    return replace(found, sizes=instance.sizes) if isinstance(found, InterpreterCheck) else found


def dots_of(kernel: Kernel) -> dict[int, frozenset[int]]:
    """Per custom kernel, the products for which a Triton kernel uses `tl.dot`."""
    sizes = {**dict(kernel.shapes), **kernel.parameters.numbers}
    plans = plan_kernels(kernel.verified.candidate.sgraph, sizes, kernel.parameters)
    assert not isinstance(plans, Obstacle), "a kernel with a source has a plan"
    return {p.position: p.dots for p in plans}


def _with_input_shapes(graph: SGraph, shapes: Mapping[str, tuple[int, ...]]) -> SGraph:
    """The graph with fixed dims of its inputs."""
    nodes = list(graph.nodes)
    for position, node in enumerate(nodes):
        if isinstance(node.op, Input):
            dims = tuple(map(dim, shapes[node.op.name]))
            nodes[position] = Node(Input(node.op.name, replace(node.op.type, dims=dims, strides=())))
    return replace(graph, nodes=tuple(nodes))


def _reason(*outcomes: object) -> str:
    return next(o.reason for o in outcomes if isinstance(o, Infeasible))
