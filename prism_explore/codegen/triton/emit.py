"""Triton source of an sGraph: one `@triton.jit` kernel per custom kernel, and a launcher.

Input: an sGraph with closed maps, and a size for each of its symbols. Output: a Python module that needs torch and
Triton alone. Its `launch` takes the program's inputs as torch tensors with any strides, checks their shapes and dtypes,
allocates the results and starts the kernels. The operators between kernels are torch's.

Nothing is compiled or run here. `launch.py` does that on a GPU, `interpreter_check.py` in Triton's interpreter;
`aot.py` compiles ahead of time for a GPU that need not be present.
"""

from __future__ import annotations

import hashlib
import linecache
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from prism_explore.codegen.triton.launcher_text import FOR_TMA, LauncherWriter, comment_line
from prism_explore.codegen.triton.plan import Obstacle, plan_kernels, schedule_of
from prism_explore.codegen.triton.writer import KernelText
from prism_explore.ir.graph import SGraph
from prism_explore.ir.text import show
from prism_explore.pipeline.stages import Infeasible, Kernel, Parameters, Verified
from prism_explore.targets import Target


@dataclass(frozen=True, slots=True)
class TritonModule:
    """Triton source and what compiling or launching it needs."""

    source: str
    kernels: tuple[KernelText, ...]
    num_warps: int
    num_stages: int


def emit_triton(
    verified: Verified, parameters: Parameters, shapes: Mapping[str, int], target: Target | None = None
) -> Kernel | Infeasible:
    """Triton source for a proved candidate at these sizes, or why there is none.

    Args:
        verified: the proved candidate.
        parameters: sizes of grid dims and loops; of its schedule, `num_warps` and `num_stages`.
        shapes: sizes for the program's own symbols, such as the batch.
        target: the GPU whose limits apply; without one, only Triton's own limits are checked.

    Raises:
        ShapeError: a symbol has no size.
    """
    candidate = verified.candidate
    sizes = {**shapes, **parameters.numbers}
    title = f"{candidate.family.program.name}, candidate {candidate.id}"
    module = write_triton(candidate.sgraph, sizes, parameters, target, title)
    if isinstance(module, Obstacle):
        return Infeasible(candidate, parameters, module.code, module.reason)
    return Kernel(verified, parameters, tuple(sorted(shapes.items())), "triton", module.source)


def triton_module(kernel: Kernel) -> TritonModule:
    """The module of a Triton kernel, generated again."""
    assert kernel.backend == "triton", f"a kernel for {kernel.backend} has no Triton module"
    candidate = kernel.verified.candidate
    title = f"{candidate.family.program.name}, candidate {candidate.id}"
    sizes = {**dict(kernel.shapes), **kernel.parameters.numbers}
    module = write_triton(candidate.sgraph, sizes, kernel.parameters, None, title)
    assert isinstance(module, TritonModule), "a kernel that was generated once can be generated again"
    assert module.source == kernel.source, "the same candidate at the same sizes has one source"
    return module


def write_triton(
    graph: SGraph,
    sizes: Mapping[str, int],
    parameters: Parameters,
    target: Target | None = None,
    title: str = "sgraph",
    dots: Mapping[int, frozenset[int]] | None = None,
) -> TritonModule | Obstacle:
    """The source of an sGraph at `sizes`; see `emit_triton` and, for `dots`, `plan_kernels`.

    Raises:
        ShapeError: the maps are open, or a symbol has no size.
    """
    plans = plan_kernels(graph, sizes, parameters, target, dots)
    if isinstance(plans, Obstacle):
        return plans
    schedule = schedule_of(parameters)
    launcher = LauncherWriter(graph, sizes, {p.position: p for p in plans}, schedule, title.split(",")[0])
    launcher.write()
    lines = [*header(graph, sizes, title), "", "import torch", "import triton"]
    lines += ["import triton.language as tl"]
    for kernel in launcher.kernels:
        lines += ["", "", kernel.source]
    lines += ["", *FOR_TMA.splitlines()] if launcher.has_descriptors else []
    lines += ["", "", *launcher.function("launch")]
    return TritonModule("\n".join(lines) + "\n", tuple(launcher.kernels), schedule["num_warps"], schedule["num_stages"])


def load_triton(source: str) -> Callable[..., Any]:
    """The `launch` of a source made by `write_triton` in this process; compiled at its first call.

    The source needs no file: it is registered where tracebacks and Triton look for lines.
    """
    digest = hashlib.sha256(source.encode()).hexdigest()[:16]
    path = f"<prism_explore triton {digest}>"
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)
    namespace: dict[str, Any] = {"__name__": f"prism_explore_triton_{digest}"}
    exec(compile(source, path, "exec"), namespace)
    return namespace["launch"]


def header(graph: SGraph, sizes: Mapping[str, int], title: str) -> list[str]:
    """Comment lines that say which sGraph a module computes, at which sizes."""
    at = ", ".join(f"{s}={sizes[s]}" for s in (*graph.data_symbols, *graph.parameters))
    lines = [f"{title}{f', at {at}' if at else ''}.", "", *show(graph).splitlines()]
    quotients = [f"{c} = {c.value(sizes)}" for c in graph.conditions() if str(c) not in sizes]
    lines += ["", f"Whole numbers, as they must be: {', '.join(quotients)}."] if quotients else []
    return [comment_line(line) for line in lines]
