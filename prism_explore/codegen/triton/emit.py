"""sGraphs with numbers as Triton source: one `@triton.jit` kernel per custom kernel, and a launcher.

The source is a module of its own: copied into a file it runs with torch and Triton alone. Its
`launch` takes the program's inputs as torch tensors (with any strides), checks their shapes and
dtypes, allocates the results and starts the kernels; operators between kernels are torch's.

Nothing here is compiled or run; `load_triton` does that on a machine with a GPU, `triton_check` in
Triton's interpreter, `triton_aot` ahead of time for a machine that is not there.
"""

from __future__ import annotations

import hashlib
import linecache
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from prism_explore.codegen.triton.axes import cuts
from prism_explore.codegen.triton.kernel_text import KernelText, Names, strides_of, wrapped, write_kernel
from prism_explore.codegen.triton.plan import BlockPlan, Obstacle, plan_kernels, schedule_of
from prism_explore.ir.dims import ZERO, Dim
from prism_explore.ir.graph import SGraph, block_types
from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    Band,
    Binary,
    BinaryFn,
    ComputeOp,
    Concat,
    Custom,
    Expand,
    Input,
    Load,
    MatMul,
    Permute,
    Reduce,
    ReduceFn,
    Reshape,
    Result,
    RunningMax,
    Scalar,
    ScalarFn,
    Slice,
    Store,
    Unary,
    UnaryFn,
)
from prism_explore.ir.tensors import DType, TensorType
from prism_explore.ir.text import show, show_block
from prism_explore.pipeline.stages import Infeasible, Kernel, Parameters, Verified
from prism_explore.targets import Target

TORCH_DTYPE: dict[DType, str] = {
    "f64": "torch.float64",
    "f32": "torch.float32",
    "bf16": "torch.bfloat16",
    "f16": "torch.float16",
}

TORCH_UNARY: dict[UnaryFn, str] = {
    "exp": "torch.exp({0})",
    "square": "torch.square({0})",
    "sqrt": "torch.sqrt({0})",
    "rsqrt": "torch.rsqrt({0})",
    "recip": "torch.reciprocal({0})",
    "neg": "torch.neg({0})",
    "silu": "torch.nn.functional.silu({0})",
    "sigmoid": "torch.sigmoid({0})",
    "relu": "torch.relu({0})",
    "tanh": "torch.tanh({0})",
    "abs": "torch.abs({0})",
    "erf": "torch.erf({0})",
    "gelu": "torch.nn.functional.gelu({0})",
    "gelu_tanh": 'torch.nn.functional.gelu({0}, approximate="tanh")',
}

TORCH_BINARY: dict[BinaryFn, str] = {
    "add": "torch.add({0}, {1})",
    "sub": "torch.sub({0}, {1})",
    "mul": "torch.mul({0}, {1})",
    "div": "torch.div({0}, {1})",
    "max": "torch.maximum({0}, {1})",
    "min": "torch.minimum({0}, {1})",
    "mask": "torch.where({1} != 0, {0}, torch.finfo({0}.dtype).min / 4)",
}

TORCH_SCALAR: dict[ScalarFn, str] = {
    "add": "torch.add({0}, {1})",
    "mul": "torch.mul({0}, {1})",
    "pow": "torch.pow({0}, {1})",
    "max": "torch.clamp({0}, min={1})",
    "min": "torch.clamp({0}, max={1})",
}


TORCH_REDUCE: dict[ReduceFn, str] = {
    "sum": "torch.sum({0}, {1})",
    "mean": "torch.mean({0}, {1})",
    "rms": "torch.sqrt(torch.mean(torch.square({0}), {1}))",
    "max": "torch.amax({0}, {1})",
}


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
    """Triton source for a proved candidate at these numbers, or why there is none.

    Args:
        verified: whose sGraph is written.
        parameters: sizes of grid dims and loops; of its schedule, `num_warps` and `num_stages`.
        shapes: numbers for the program's own symbols, such as the batch.
        target: the GPU whose limits hold; none are checked without one, but for Triton's own.

    Raises:
        ShapeError: a symbol has no number.
    """
    candidate = verified.candidate
    numbers = {**shapes, **parameters.numbers}
    title = f"{candidate.family.program.name}, candidate {candidate.id}"
    module = write_triton(candidate.sgraph, numbers, parameters, target, title)
    if isinstance(module, Obstacle):
        return Infeasible(candidate, parameters, module.code, module.reason)
    return Kernel(verified, parameters, tuple(sorted(shapes.items())), "triton", module.source)


def triton_module(kernel: Kernel) -> TritonModule:
    """The module whose source a Triton kernel holds, written again."""
    assert kernel.backend == "triton", f"a kernel for {kernel.backend} has no Triton module"
    candidate = kernel.verified.candidate
    title = f"{candidate.family.program.name}, candidate {candidate.id}"
    numbers = {**dict(kernel.shapes), **kernel.parameters.numbers}
    module = write_triton(candidate.sgraph, numbers, kernel.parameters, None, title)
    assert isinstance(module, TritonModule), "a kernel was written once, so it can be again"
    assert module.source == kernel.source, "the same candidate at the same numbers has one source"
    return module


def write_triton(
    graph: SGraph,
    numbers: Mapping[str, int],
    parameters: Parameters,
    target: Target | None = None,
    title: str = "sgraph",
    dots: Mapping[int, frozenset[int]] | None = None,
) -> TritonModule | Obstacle:
    """The source of an sGraph at `numbers`; see `emit_triton` and, for `dots`, `plan_kernels`.

    Raises:
        ShapeError: the maps are open, or a symbol has no number.
    """
    plans = plan_kernels(graph, numbers, parameters, target, dots)
    if isinstance(plans, Obstacle):
        return plans
    by_position = {p.position: p for p in plans}
    schedule = schedule_of(parameters)
    stem = title.split(",")[0]
    kernels: dict[int, KernelText] = {}
    names = Names(("tl", "triton", "torch", "launch"))
    called: list[str] = []
    types = graph.types()
    shapes = [tuple(d.value(numbers) for d in t.dims) for t in types]
    body: list[str] = []
    given = ""
    written: dict[int, list[str]] = {}
    for position, node in enumerate(graph.nodes):
        args = [called[a] for a in node.args]
        dtype = types[position].dtype
        match node.op:
            case Input(name, _):
                called.append(names.fresh(name))
                given = f"{given}, {called[-1]}" if given else called[-1]
                body.append(_check(called[-1], shapes[position], dtype))
            case Custom():
                plan = by_position[position]
                suffix = "" if len(plans) == 1 else f"_{position}"
                results = _results(graph, position)
                memory = (*(types[a] for a in node.args), *(t for _, t in results))
                kernel = write_kernel(
                    plan,
                    names.fresh(f"{stem}_kernel{suffix}"),
                    tuple(called[a] or "band" for a in node.args),
                    tuple((t.dtype, strides_of(t, _extents(t, numbers))) for t in memory),
                    _kernel_comment(plan),
                )
                kernels[position] = kernel
                near = next(filter(None, args), given.split(",")[0])
                outs = [names.fresh("out" if at == graph.output else f"t{at}") for at, _ in results]
                for out, (_, t) in zip(outs, results, strict=True):
                    made = f"torch.empty({_extents(t, numbers)}, dtype={TORCH_DTYPE[t.dtype]}, device={near}.device)"
                    body.append(f"{out} = {made}")
                written[position] = outs
                called.append(outs[0])
                body += _launch_lines(kernel, [*args, *outs], schedule)
            case Result(index):
                called.append(written[node.args[0]][index])
            case Band() as band:
                if not _is_read(graph, position):
                    called.append("")
                    continue
                called.append(names.fresh(f"band{position}"))
                body.append(f"{called[-1]} = {_band_text(band, numbers, dtype, given)}")
            case Load() | Store() | Accumulate() | AccumulateRescaled() | RunningMax():
                raise AssertionError("SGraph refuses block-level operators")
            case op:
                called.append(names.fresh(f"t{position}"))
                body.append(f"{called[-1]} = {_torch_text(op, args, shapes[position], numbers)}")
    lines = [*_header(graph, numbers, title), "", "import torch", "import triton"]
    lines += ["import triton.language as tl"]
    for kernel in kernels.values():
        lines += ["", "", kernel.source]
    lines += ["", "", f"def launch({given}):"]
    lines += [f"    {line}" for line in (*body, f"return {called[graph.output]}")]
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
def _header(graph: SGraph, numbers: Mapping[str, int], title: str) -> list[str]:
    at = ", ".join(f"{s}={numbers[s]}" for s in (*graph.data_symbols, *graph.parameters))
    lines = [f"{title}{f', at {at}' if at else ''}.", "", *show(graph).splitlines()]
    whole = [f"{c} = {c.value(numbers)}" for c in graph.conditions() if str(c) not in numbers]
    lines += ["", f"Whole numbers, as they must be: {', '.join(whole)}."] if whole else []
    return [_comment(line) for line in lines]


def _kernel_comment(plan: BlockPlan) -> tuple[str, ...]:
    """How each tile axis is cut: `n 64 of 4096, by grid x`."""
    header = show_block(plan.block).splitlines()[0].removeprefix("block ")
    blocks = " x ".join(map(str, plan.grid)) or "1"
    lines = [f"{header}: {blocks} blocks, iterations: {plan.iterations}"]
    by: dict[str, tuple[int, list[str]]] = {}
    for j, node in enumerate(plan.block.nodes):
        if not isinstance(node.op, Load):
            continue
        for axis, (grid, looped) in zip(plan.of[j], cuts(node.op, len(plan.of[j])), strict=True):
            if axis is None or axis in by:
                continue
            words = [f"grid {plan.block.grid[grid].name}"] if grid is not None else []
            words += [f"loop {plan.block.loop.name}"] if plan.block.loop and looped else []
            pieces = (plan.grid[grid] if grid is not None else 1) * (plan.iterations if looped else 1)
            by[axis] = (pieces, words)
    for axis in plan.axes.values():
        pieces, words = by.get(axis.name, (1, []))
        padded = f", padded to {axis.padded}" if axis.is_padded else ""
        cut = f" of {axis.extent * pieces} cut by {' and '.join(words)}" if words else " whole"
        lines.append(f"  {axis.name}: {axis.extent}{cut}{padded}")
    return tuple(_comment(line)[2:] for line in lines)


def _comment(line: str) -> str:
    """A line of comment, whatever names a program brings."""
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
    words = (line for part in (pointers, strides, constants) for line in wrapped(part))
    return [f"{kernel.name}[{kernel.grid or (1,)}](", *words, ")"]


def _results(graph: SGraph, position: int) -> tuple[tuple[int | str, TensorType], ...]:
    """What a custom kernel writes: where each result shows in the graph, or a name of its own, and its type."""
    node, types = graph.nodes[position], graph.types()
    assert isinstance(node.op, Custom), "results belong to custom kernels"
    block = node.op.block
    tiles = block_types(block, tuple(types[a] for a in node.args))
    shown: dict[int, int] = {0: position}
    for t, other in enumerate(graph.nodes):
        if isinstance(other.op, Result) and other.args[0] == position:
            shown.setdefault(other.op.index, t)
    return tuple((shown.get(n, f"{position}_{n}"), tiles[store]) for n, store in enumerate(block.stores))


def _extents(t: TensorType, numbers: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(d.value(numbers) for d in t.dims)


def _is_read(graph: SGraph, band: int) -> bool:
    """Whether torch needs a band as a tensor; kernels compute it in place."""
    return any(band in n.args and not isinstance(n.op, Custom) for n in graph.nodes)


def _band_text(band: Band, numbers: Mapping[str, int], dtype: DType, given: str) -> str:
    """A band as a tensor, for torch's own operators."""
    where = f"device={given.split(',')[0]}.device"
    rows, columns = (f"torch.arange({d.value(numbers)}, {where})" for d in (band.rows, band.columns))
    ahead = f"({columns} - {rows}[:, None])"
    tests = [f"({low} <= {ahead})" for low in _bounds(band.low, numbers)]
    tests += [f"({ahead} <= {high})" for high in _bounds(band.high, numbers)]
    return f"({' & '.join(tests) or f'{ahead} == {ahead}'}).to({TORCH_DTYPE[dtype]})"


def _bounds(d: Dim | None, numbers: Mapping[str, int]) -> tuple[float, ...]:
    return () if d is None else (float(d.rational(numbers)),)


def _torch_text(op: ComputeOp, args: list[str], shape: tuple[int, ...], numbers: Mapping[str, int]) -> str:
    match op:
        case Unary(fn):
            return TORCH_UNARY[fn].format(*args)
        case Binary(fn):
            return TORCH_BINARY[fn].format(*args)
        case Scalar(fn, value):
            return TORCH_SCALAR[fn].format(args[0], repr(float(value)))
        case MatMul():
            return f"torch.matmul({args[0]}, {args[1]})"
        case Reduce(fn, along):
            return TORCH_REDUCE[fn].format(args[0], f"dim={along}, keepdim=True")
        case Permute(order):
            return f"{args[0]}.permute({order})"
        case Reshape(dims):
            return f"{args[0]}.reshape({tuple(d.value(numbers) for d in dims)})"
        case Expand(along, _):
            shown = ", ".join("-1" if d != along else str(shape[d]) for d in range(len(shape)))
            return f"{args[0]}.expand({shown})"
        case Slice(along, start, _):
            first = start.value(numbers) if start != ZERO else 0
            return f"{args[0]}.narrow({along}, {first}, {shape[along]})"
        case Concat(along):
            return f"torch.cat(({', '.join(args)}), {along})"
