"""A Triton kernel for a GPU that this machine does not have: sizes by a model, checked, compiled, not timed.

Each proved candidate gets the sizes that `codegen.triton.heuristics` ranks first. Candidates are tried in the order of
their modelled time. The first one that agrees with the reference in Triton's interpreter and compiles without spilling
registers is returned.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from prism_explore.codegen.triton.aot import AotCompiler, AotReport, compile_ahead
from prism_explore.codegen.triton.emit import emit_triton
from prism_explore.codegen.triton.heuristics import choose_sizes, rank_sizes, rank_sizes_of_all
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
    with AotCompiler() as compiler, Interpreter() as interpreter:
        sized: list[tuple[float, int, Verified, Parameters]] = []
        rejected: dict[str, None] = {}
        ranked = rank_sizes_of_all([v.candidate.sgraph for v in verifieds], shapes, target)
        for position, (verified, sizes) in enumerate(zip(verifieds, ranked, strict=True)):
            graph = verified.candidate.sgraph
            if not sizes:  # of the few that were sampled none is legal
                chosen = choose_sizes(graph, shapes, target)
                if isinstance(chosen, Obstacle):
                    rejected.setdefault(f"{verified.candidate.id}: {chosen.reason}")
                    continue
                sizes = rank_sizes(graph, shapes, target, dict(chosen.sizes))
            kernels_s, parameters = sizes[0]
            bound_s = time_bound_of(verified.candidate, shapes, target).time_s  # with its library calls
            sized.append((max(kernels_s, bound_s), position, verified, parameters))
        for modelled_s, _, verified, parameters in sorted(sized, key=lambda row: row[:2]):
            kernel = emit_triton(verified, parameters, shapes, target)
            result = kernel if isinstance(kernel, Infeasible) else _check(kernel, arch.name, compiler, interpreter)
            if isinstance(kernel, Infeasible) or isinstance(result, Infeasible):
                rejected.setdefault(f"{verified.candidate.id}: {_reason(kernel, result)}")
                continue
            preview = GpuKernel(kernel, target.name, modelled_s, *result, tuple(rejected))
            found.append(preview)
            if not preview.spill_bytes:
                break
            rejected.setdefault(f"{verified.candidate.id}: spills {preview.spill_bytes} bytes per thread")
    return min(found, key=lambda k: (k.spill_bytes, k.modelled_s), default=None)


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
