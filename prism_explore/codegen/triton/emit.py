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

from prism_explore.codegen.triton.axes import partitions
from prism_explore.codegen.triton.plan import BlockPlan, Obstacle, plan_kernels, schedule_of
from prism_explore.codegen.triton.python_text import Names, wrapped
from prism_explore.codegen.triton.torch_operators import TORCH_DTYPE, band_text, operator_text
from prism_explore.codegen.triton.writer import KernelText, write_kernel
from prism_explore.ir.graph import SGraph, block_types
from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    Band,
    Custom,
    Input,
    Load,
    Result,
    RunningMax,
    Store,
)
from prism_explore.ir.tensors import DType, TensorType
from prism_explore.ir.text import show, show_block
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
    by_position = {p.position: p for p in plans}
    schedule = schedule_of(parameters)
    stem = title.split(",")[0]
    kernels: dict[int, KernelText] = {}
    names = Names(("tl", "triton", "torch", "launch"))
    variables: list[str] = []
    types = graph.types()
    shapes = [tuple(d.value(sizes) for d in t.dims) for t in types]
    body: list[str] = []
    inputs = ""
    written: dict[int, list[str]] = {}
    for position, node in enumerate(graph.nodes):
        args = [variables[a] for a in node.args]
        dtype = types[position].dtype
        match node.op:
            case Input(name, _):
                variables.append(names.fresh(name))
                inputs = f"{inputs}, {variables[-1]}" if inputs else variables[-1]
                body.append(_check(variables[-1], shapes[position], dtype))
            case Custom():
                plan = by_position[position]
                suffix = "" if len(plans) == 1 else f"_{position}"
                results = _results(graph, position)
                memory = (*(types[a] for a in node.args), *(t for _, t in results))
                kernel = write_kernel(
                    plan,
                    names.fresh(f"{stem}_kernel{suffix}"),
                    tuple(variables[a] or "band" for a in node.args),
                    tuple((t.dtype, _dense_strides(t, _extents(t, sizes))) for t in memory),
                    _kernel_comment(plan),
                )
                kernels[position] = kernel
                device_of = next(filter(None, args), inputs.split(",")[0])
                outs = [names.fresh("out" if at == graph.output else f"t{at}") for at, _ in results]
                for out, (_, t) in zip(outs, results, strict=True):
                    new = f"torch.empty({_extents(t, sizes)}, dtype={TORCH_DTYPE[t.dtype]}, device={device_of}.device)"
                    body.append(f"{out} = {new}")
                written[position] = outs
                variables.append(outs[0])
                body += _launch_lines(kernel, [*args, *outs], schedule)
            case Result(index):
                variables.append(written[node.args[0]][index])
            case Band() as band:
                if not _is_read(graph, position):
                    variables.append("")
                    continue
                variables.append(names.fresh(f"band{position}"))
                body.append(f"{variables[-1]} = {band_text(band, sizes, dtype, inputs)}")
            case Load() | Store() | Accumulate() | AccumulateRescaled() | RunningMax():
                raise AssertionError("SGraph refuses block-level operators")
            case op:
                variables.append(names.fresh(f"t{position}"))
                body.append(f"{variables[-1]} = {operator_text(op, args, shapes[position], sizes)}")
    lines = [*_header(graph, sizes, title), "", "import torch", "import triton"]
    lines += ["import triton.language as tl"]
    for kernel in kernels.values():
        lines += ["", "", kernel.source]
    lines += ["", "", f"def launch({inputs}):"]
    lines += [f"    {line}" for line in (*body, f"return {variables[graph.output]}")]
    return TritonModule("\n".join(lines) + "\n", tuple(kernels.values()), schedule["num_warps"], schedule["num_stages"])


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


# ---------------------------------------------------------------- comments
def _header(graph: SGraph, sizes: Mapping[str, int], title: str) -> list[str]:
    at = ", ".join(f"{s}={sizes[s]}" for s in (*graph.data_symbols, *graph.parameters))
    lines = [f"{title}{f', at {at}' if at else ''}.", "", *show(graph).splitlines()]
    quotients = [f"{c} = {c.value(sizes)}" for c in graph.conditions() if str(c) not in sizes]
    lines += ["", f"Whole numbers, as they must be: {', '.join(quotients)}."] if quotients else []
    return [_comment(line) for line in lines]


def _kernel_comment(plan: BlockPlan) -> tuple[str, ...]:
    """How each tile axis is partitioned: `n 64 of 4096, by grid x`."""
    header = show_block(plan.block).splitlines()[0].removeprefix("block ")
    blocks = " x ".join(map(str, plan.grid)) or "1"
    lines = [f"{header}: {blocks} blocks, iterations: {plan.iterations}"]
    by: dict[str, tuple[int, list[str]]] = {}
    for j, node in enumerate(plan.block.nodes):
        if not isinstance(node.op, Load):
            continue
        for axis, (grid, looped) in zip(plan.of[j], partitions(node.op, len(plan.of[j])), strict=True):
            if axis is None or axis in by:
                continue
            words = [f"grid {plan.block.grid[grid].name}"] if grid is not None else []
            words += [f"loop {plan.block.loop.name}"] if plan.block.loop and looped else []
            parts = (plan.grid[grid] if grid is not None else 1) * (plan.iterations if looped else 1)
            by[axis] = (parts, words)
    for axis in plan.axes.values():
        parts, words = by.get(axis.name, (1, []))
        padded = f", padded to {axis.padded}" if axis.is_padded else ""
        cut = f" of {axis.extent * parts} cut by {' and '.join(words)}" if words else " whole"
        lines.append(f"  {axis.name}: {axis.extent}{cut}{padded}")
    return tuple(_comment(line)[2:] for line in lines)


def _comment(line: str) -> str:
    """A comment line; characters that are not printable are replaced."""
    return "# " + "".join(c if c.isprintable() else "?" for c in line) if line else "#"


# ---------------------------------------------------------------- the launcher
def _check(name: str, shape: tuple[int, ...], dtype: DType) -> str:
    wanted = f"{name}.shape == {shape} and {name}.dtype == {TORCH_DTYPE[dtype]}"
    return f'assert {wanted}, f"{name} is {{tuple({name}.shape)}} {{{name}.dtype}}"'


def _launch_lines(kernel: KernelText, tensors: list[str], schedule: Mapping[str, int]) -> list[str]:
    pointers = [tensors[a.operand] for a in kernel.arguments if a.kind == "pointer"]
    strides = [f"{tensors[a.operand]}.stride({a.dim})" for a in kernel.arguments if a.kind == "stride"]
    constants = [f"{a.name}={a.value}" for a in kernel.arguments if a.kind == "constant"]
    constants += [f"{name}={value}" for name, value in schedule.items()]
    lines = (line for part in (pointers, strides, constants) for line in wrapped(part))
    return [f"{kernel.name}[{kernel.grid or (1,)}](", *lines, ")"]


def _results(graph: SGraph, position: int) -> tuple[tuple[int | str, TensorType], ...]:
    """The results of a custom kernel: its node in the graph, or a name where no node reads it, and its type."""
    node, types = graph.nodes[position], graph.types()
    assert isinstance(node.op, Custom), "results belong to custom kernels"
    block = node.op.block
    tiles = block_types(block, tuple(types[a] for a in node.args))
    shown: dict[int, int] = {0: position}
    for t, other in enumerate(graph.nodes):
        if isinstance(other.op, Result) and other.args[0] == position:
            shown.setdefault(other.op.index, t)
    return tuple((shown.get(n, f"{position}_{n}"), tiles[store]) for n, store in enumerate(block.stores))


def _dense_strides(type_: TensorType, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides in elements of a dense tensor that lies in its type's storage order."""
    strides = [0] * len(shape)
    step = 1
    for d in reversed(type_.storage_order):
        strides[d] = step
        step *= shape[d]
    return tuple(strides)


def _extents(t: TensorType, sizes: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(d.value(sizes) for d in t.dims)


def _is_read(graph: SGraph, band: int) -> bool:
    """Whether an operator between kernels reads a band; kernels compute bands in place."""
    return any(band in n.args and not isinstance(n.op, Custom) for n in graph.nodes)
