"""The text of a Triton module's launcher, which checks the inputs, allocates the results and starts the kernels.

Input: an sGraph, its sizes and the kernels' plans. Output: the lines of `def launch(...)`, and the text of each kernel.
Method: one statement per kernel-level node, in order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from prism_explore.codegen.triton.plan import BlockPlan, result_positions
from prism_explore.codegen.triton.python_text import Names, wrapped
from prism_explore.codegen.triton.torch_operators import TORCH_DTYPE, band_text, operator_text
from prism_explore.codegen.triton.writer import KernelText, write_kernel
from prism_explore.ir.graph import SGraph
from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    Band,
    Custom,
    Input,
    Load,
    Node,
    Result,
    RunningMax,
    Store,
)
from prism_explore.ir.tensors import DType, TensorType
from prism_explore.ir.text import show_block

LAUNCH_OPTIONS = ("num_warps", "num_stages")
"""Schedule choices that Triton takes at a launch; the others are in the kernel's text."""

FOR_TMA = '''
def for_tma(t, strides):
    """`t`, or a copy with these strides, which TMA can read: a row's elements are adjacent, rows are 16 bytes apart."""
    rows = [s for s, wanted in zip(t.stride(), strides) if wanted != 1]
    elements = [s for s, wanted in zip(t.stride(), strides) if wanted == 1]
    steps = [t.data_ptr(), *(s * t.element_size() for s in rows)]
    if elements == [1] and all(step > 0 and step % 16 == 0 for step in steps):
        return t
    return torch.empty_strided(t.shape, strides, dtype=t.dtype, device=t.device).copy_(t)


def workspace(size, alignment, stream):
    """Memory for the tensor descriptors of one launch."""
    return torch.empty(size, dtype=torch.int8, device="cuda")
'''
"""Functions of modules whose kernels have tensor descriptors, which are legal for the strides of the tensors' types."""


@dataclass(slots=True)
class LauncherWriter:
    """Writes the launcher of one sGraph."""

    graph: SGraph
    sizes: Mapping[str, int]
    plans: Mapping[int, BlockPlan]
    """Per custom kernel, by position."""
    schedule: Mapping[str, int]
    stem: str
    """Of the kernels' names."""
    tuned_grids: Mapping[int, str] = field(default_factory=dict[int, str])
    """Of kernels that Triton's autotuner starts, by position: the grid as an expression of `meta`, their constants."""
    kernels: list[KernelText] = field(default_factory=list[KernelText])
    has_descriptors: bool = False
    """Whether a kernel has tensor descriptors, so that the module needs `FOR_TMA`."""
    _names: Names = field(default_factory=lambda: Names(("tl", "triton", "torch", "launch", "for_tma", "workspace")))
    _inputs: list[str] = field(default_factory=list[str])
    _variables: list[str] = field(default_factory=list[str])
    """Per node; empty for a band that only kernels read."""
    _results: dict[int, list[str]] = field(default_factory=dict[int, list[str]])
    """Variables of the results, per custom kernel."""
    _checks: list[str] = field(default_factory=list[str])
    _body: list[str] = field(default_factory=list[str])

    def write(self) -> None:
        """Write the statements of all nodes, and the kernels."""
        types = self.graph.types()
        for position, node in enumerate(self.graph.nodes):
            self._variables.append(self._write_node(position, node, types))

    def function(self, name: str, *, checks_inputs: bool = True) -> list[str]:
        """The lines of the function, once it is written; with `checks_inputs` it asserts their shapes and dtypes."""
        body = (*(self._checks if checks_inputs else ()), *self._body)
        result = f"return {', '.join(self._variables[n] for n in self.graph.outputs)}"
        return [f"def {name}({', '.join(self._inputs)}):", *(f"    {line}" for line in (*body, result))]

    def _write_node(self, position: int, node: Node, types: Sequence[TensorType]) -> str:
        """Write one node; returns its variable."""
        args = [self._variables[a] for a in node.args]
        dtype, shape = types[position].dtype, types[position].shape_at(self.sizes)
        match node.op:
            case Input(name, _):
                self._inputs.append(self._names.fresh(name))
                self._checks.append(_check_text(self._inputs[-1], shape, dtype))
                return self._inputs[-1]
            case Custom():
                return self._write_kernel(position, args)
            case Result(index):
                return self._results[node.args[0]][index]
            case Band() as band:
                if not _is_read(self.graph, position):
                    return ""
                return self._assign(f"band{position}", band_text(band, self.sizes, dtype, self._inputs[0]))
            case Load() | Store() | Accumulate() | AccumulateRescaled() | RunningMax():
                raise AssertionError("SGraph refuses block-level operators")
            case op:
                return self._assign(f"t{position}", operator_text(op, args, shape, self.sizes))

    def _assign(self, wanted: str, text: str) -> str:
        name = self._names.fresh(wanted)
        self._body.append(f"{name} = {text}")
        return name

    def _write_kernel(self, position: int, args: list[str]) -> str:
        """Write a custom kernel, the allocation of its results and its launch; returns its first result."""
        plan = self.plans[position]
        suffix = "" if len(self.plans) == 1 else f"_{position}"
        tensors = (*plan.operands, *plan.results)
        kernel = write_kernel(
            plan,
            self._names.fresh(f"{self.stem}_kernel{suffix}"),
            tuple(name or "band" for name in args),
            tuple((t.dtype, t.strides_at(self.sizes)) for t in tensors),
            _kernel_comment(plan),
        )
        self.kernels.append(kernel)
        near = next(filter(None, args), "") or self._inputs[0]
        described = {load.operand for j in plan.described if isinstance(load := plan.block.nodes[j].op, Load)}
        for o in sorted(described):
            self._body.append(f"{args[o]} = for_tma({args[o]}, {plan.operands[o].strides_at(self.sizes)})")
        if described and not self.has_descriptors:
            self.has_descriptors = True
            self._body.append("triton.set_allocator(workspace)")
        outs: list[str] = [
            self._names.fresh("out" if at in self.graph.outputs else f"t{position}_{n}" if at is None else f"t{at}")
            for n, at in enumerate(result_positions(self.graph, position))
        ]
        for out, t in zip(outs, plan.results, strict=True):
            extents = t.shape_at(self.sizes)
            self._body.append(f"{out} = torch.empty({extents}, dtype={TORCH_DTYPE[t.dtype]}, device={near}.device)")
        self._results[position] = outs
        self._body += _launch_lines(kernel, [*args, *outs], self.schedule, self.tuned_grids.get(position))
        return outs[0]


def _check_text(name: str, shape: tuple[int, ...], dtype: DType) -> str:
    wanted = f"{name}.shape == {shape} and {name}.dtype == {TORCH_DTYPE[dtype]}"
    return f'assert {wanted}, f"{name} is {{tuple({name}.shape)}} {{{name}.dtype}}"'


def _launch_lines(
    kernel: KernelText, tensors: list[str], schedule: Mapping[str, int], tuned_grid: str | None
) -> list[str]:
    pointers = [tensors[a.operand] for a in kernel.arguments if a.kind == "pointer"]
    strides = [f"{tensors[a.operand]}.stride({a.dim})" for a in kernel.arguments if a.kind == "stride"]
    constants = [f"{a.name}={a.value}" for a in kernel.arguments if a.kind == "constant"]
    constants += [f"{name}={schedule[name]}" for name in LAUNCH_OPTIONS]
    parts = (pointers, strides) if tuned_grid is not None else (pointers, strides, constants)
    grid = f"lambda meta: {tuned_grid}" if tuned_grid is not None else f"{kernel.grid or (1,)}"
    return [f"{kernel.name}[{grid}](", *(line for part in parts for line in wrapped(part)), ")"]


def _is_read(graph: SGraph, band: int) -> bool:
    """Whether an operator between kernels reads a band; kernels compute bands in place."""
    return any(band in n.args and not isinstance(n.op, Custom) for n in graph.nodes)


def _kernel_comment(plan: BlockPlan) -> tuple[str, ...]:
    """How each tile axis is partitioned: `n 64 of 4096, by grid x`."""
    header = show_block(plan.block).splitlines()[0].removeprefix("block ")
    blocks = " x ".join(map(str, plan.grid)) or "1"
    lines = [f"{header}: {blocks} blocks, iterations: {plan.iterations}"]
    by: dict[str, tuple[int, list[str]]] = {}
    for name, grid, looped in plan.cuts:
        if name in by:
            continue
        words = [f"grid {plan.block.grid[grid].name}"] if grid is not None else []
        words += [f"loop {plan.block.loop.name}"] if plan.block.loop and looped else []
        parts = (plan.grid[grid] if grid is not None else 1) * (plan.iterations if looped else 1)
        by[name] = (parts, words)
    for axis in plan.axes.values():
        parts, words = by.get(axis.name, (1, []))
        padded = f", padded to {axis.padded}" if axis.is_padded else ""
        cut = f" of {axis.extent * parts} cut by {' and '.join(words)}" if words else " whole"
        lines.append(f"  {axis.name}: {axis.extent}{cut}{padded}")
    return tuple(comment_line(line)[2:] for line in lines)


def comment_line(line: str) -> str:
    """A comment line; characters that are not printable are replaced."""
    return "# " + "".join(c if c.isprintable() else "?" for c in line) if line else "#"
