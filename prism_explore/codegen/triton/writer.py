"""The text of one `@triton.jit` kernel, from its plan.

Input: a `BlockPlan`. Output: `KernelText`, the source and the parameters that a launch passes. Method: one statement
per block node, in the section (before, in or after the loop) that the plan names. A loaded tile has its tensor's
name; every other value is named after its operator and its number in the sGraph (`mul_3` is `%3 = mul(...)`), so that
source and graph can be compared. Arithmetic is in float32, and in float64 for float64 tensors; `tl.dot` accumulates in
float32.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, assert_never

from prism_explore.codegen.triton.function_table import scalar_text
from prism_explore.codegen.triton.memory import GlobalMemory, is_boolean_band, needs_wide_index
from prism_explore.codegen.triton.plan import BlockPlan, Section
from prism_explore.codegen.triton.python_text import Names, indented, wrapped
from prism_explore.codegen.triton.reductions import Reductions
from prism_explore.codegen.triton.tile_values import TileValue, TileValues, axis_and_zero
from prism_explore.codegen.triton.views import Views
from prism_explore.ir.elementwise import BINARY, UNARY, BinaryFn
from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    Band,
    Binary,
    Concat,
    Custom,
    Expand,
    Input,
    Load,
    Lookup,
    MatMul,
    Node,
    Permute,
    Reduce,
    Reshape,
    Result,
    RunningMax,
    Scalar,
    Scan,
    Slice,
    Store,
    Unary,
)
from prism_explore.ir.tensors import DType

ArgumentKind: TypeAlias = Literal["pointer", "stride", "constant"]


@dataclass(frozen=True, slots=True)
class Argument:
    """A parameter of a kernel."""

    name: str
    kind: ArgumentKind
    operand: int
    """The tensor of a pointer or stride, by position: the operands in order, then the results."""
    dim: int
    """Of a stride: which dim."""
    value: int
    """Of a constant: its value; of a stride: its value by the tensor's type."""


@dataclass(frozen=True, slots=True)
class KernelText:
    """One kernel: its source and what a launch of it needs."""

    name: str
    position: int
    grid: tuple[int, ...]
    arguments: tuple[Argument, ...]
    dtypes: tuple[DType, ...]
    """Of the operands and the results, in order."""
    source: str
    wide_index: bool
    """Whether offsets into tensors are 64-bit."""


def write_kernel(
    plan: BlockPlan,
    name: str,
    operand_names: tuple[str, ...],
    operand_types: tuple[tuple[DType, tuple[int, ...]], ...],
    comment: tuple[str, ...],
) -> KernelText:
    """The source of one custom kernel.

    Args:
        plan: one that `plan_kernels` returned.
        name: of the function; legal.
        operand_names: of the kernel-level operands; made legal here.
        operand_types: dtype and strides of each operand, then of each result.
        comment: lines at the top of the body.
    """
    names = Names(("tl", "range", name))
    results = ("out", *(f"out{n}" for n in range(1, len(plan.block.stores))))
    pointers = tuple(names.fresh(f"{n}_ptr") for n in (*operand_names, *results))
    tiles = TileValues(plan, names)
    memory = GlobalMemory(tiles, pointers, needs_wide_index(plan))
    _Statements(tiles, memory, Views(tiles, memory), Reductions(tiles)).write()
    body = [f"# {line}".rstrip() for line in comment]
    body += [f"{pid} = tl.program_id({grid})" for grid, pid in sorted(memory.program_ids.items())]
    body += tiles.lines["before"]
    if tiles.lines["loop"]:
        body += [f"for {tiles.counter} in range({tiles.iterations}):", *indented(tiles.lines["loop"])]
    body += tiles.lines["after"]
    arguments = _arguments(tiles, memory, operand_types)
    source = "\n".join(["@triton.jit", *_signature(name, arguments), *indented(body)])
    dtypes: tuple[DType, ...] = tuple(t for t, _ in operand_types)
    return KernelText(name, plan.position, plan.grid, tuple(arguments), dtypes, source, memory.wide_index)


@dataclass(frozen=True, slots=True)
class _Statements:
    """Writes one statement per block node."""

    tiles: TileValues
    memory: GlobalMemory
    views: Views
    reductions: Reductions

    def write(self) -> None:
        """Write all nodes that some other node or the result needs."""
        plan = self.tiles.plan
        loop = plan.block.loop
        self.tiles.counter = self.tiles.names.fresh(loop.name) if loop and plan.iterations > 1 else ""
        unwritten = plan.unemitted
        for j, node in enumerate(plan.block.nodes):
            if j not in unwritten:
                value = self._value(j, node, plan.sections[j])
                if value is not None:
                    self.tiles.values[j] = value

    def _value(self, j: int, node: Node, section: Section) -> TileValue | None:
        """The value of a block node; None for a store, and for a product that its accumulator computes."""
        tiles, plan = self.tiles, self.tiles.plan
        args = [tiles.values[a] for a in node.args if a in tiles.values]
        match node.op:
            case Load(operand) as load:
                return self.memory.band(j, load) if operand in plan.bands else self.memory.load(j, load, section)
            case Unary(fn):
                row = UNARY[fn]
                zero = args[0].zero if row.zero_at_zero else tiles.no_padding(args[0].shape)
                return tiles.define(j, row.triton.format(args[0].name), zero)
            case Scalar(fn, value):
                keeps_zero = fn == "mul" or (fn == "pow" and value > 0) or not value
                zero = args[0].zero if keeps_zero else tiles.no_padding(args[0].shape)
                return tiles.define(j, scalar_text(fn, args[0].name, value), zero)
            case Binary(fn):
                right, minus_infinity = args[1].name, ""
                if fn == "mask":
                    minus_infinity = tiles.minus_infinity(j)
                    right = right if is_boolean_band(plan, node.args[1]) else f"{right} != 0"
                elif fn in ("keep", "drop"):
                    right = f"{right} != 0"
                text = BINARY[fn].triton.format(args[0].name, right, minus_infinity)
                return tiles.define(j, text, self._binary_zero(fn, args[0], args[1]))
            case MatMul():
                return None if j in plan.accumulated_products else self.reductions.matmul(j, section)
            case Reduce(fn, along):
                return self.reductions.reduce(j, fn, along, section)
            case Scan(fn, along):
                return self.reductions.scan(j, fn, along, section)
            case Accumulate():
                return self.reductions.accumulate(j, node.op)
            case AccumulateRescaled() if plan.iterations > 1:
                return self.reductions.rescaled_sum(j, node.op)
            case AccumulateRescaled(along):
                return self.reductions.accumulate(j, Accumulate("sum", along))
            case RunningMax(along):
                return self.reductions.running_max(j, along, section)
            case Permute(order):
                text = f"tl.permute({tiles.full_rank(node.args[0])}, {order})"
                return tiles.define(j, text, tuple(tiles.full_rank_zero(node.args[0])[d] for d in order))
            case Expand(along, _):
                zero = list(tiles.full_rank_zero(node.args[0]))
                zero[along] = tiles.no_padding(plan.shapes[j])[along]
                text = f"tl.broadcast_to({tiles.full_rank(node.args[0])}, {tiles.shape(plan.shapes[j])})"
                return tiles.define(j, text, tuple(zero))
            case Reshape():
                return self.views.reshape(j, section)
            case Slice(along, _, _):
                return self.views.slice(j, along, section)
            case Concat(along):
                return self.views.concat(j, along, section)
            case Store(omap):
                return self.memory.store(j, args[0], omap or (), section)
            case Input() | Band() | Lookup() | Custom() | Result():
                raise AssertionError("BlockGraph refuses kernel-level operators")
            case _:
                assert_never(node.op)

    def _binary_zero(self, fn: BinaryFn, a: TileValue, b: TileValue) -> tuple[bool, ...]:
        """Per dim, whether the padding of an elementwise result is still zero."""
        rank = max(len(a.shape), len(b.shape))
        zero: list[bool] = []
        for d in range(rank):
            (axis_a, zero_a), (axis_b, zero_b) = axis_and_zero(a, d, rank), axis_and_zero(b, d, rank)
            axis = axis_a or axis_b
            if axis is None or not self.tiles.plan.axes[axis].is_padded:
                zero.append(True)
                continue
            left, right = bool(axis_a) and zero_a, bool(axis_b) and zero_b
            match fn:
                case "add" | "sub" | "max" | "min":
                    zero.append(left and right)
                case "mul":
                    zero.append((left and (right or not axis_b)) or (right and not axis_a))
                case "div":
                    zero.append(left and not axis_b)
                case "mask":
                    zero.append(False)  # a masked lane is far from zero
                case "keep":
                    zero.append(left or right)
                case "drop":
                    zero.append(left)
        return tuple(zero)


def _arguments(
    tiles: TileValues, memory: GlobalMemory, operand_types: tuple[tuple[DType, tuple[int, ...]], ...]
) -> list[Argument]:
    """The parameters of a written kernel: pointers, strides, compile-time constants."""
    plan = tiles.plan
    arguments = [Argument(p, "pointer", o, 0, 0) for o, p in enumerate(memory.pointers) if o not in plan.bands]
    arguments += [
        Argument(text, "stride", o, d, operand_types[o][1][d]) for (o, d), text in sorted(memory.strides.items())
    ]
    order = {(kind, a): (i, kind == "PADDED") for i, a in enumerate(plan.axes) for kind in ("TILE", "PADDED")}
    constants = sorted(tiles.constants.items(), key=lambda c: order.get(c[0], (len(order), False)))
    return [*arguments, *(Argument(text, "constant", 0, 0, value) for _, (text, value) in constants)]


def _signature(name: str, arguments: list[Argument]) -> list[str]:
    lines = [f"def {name}("]
    lines += wrapped([a.name for a in arguments if a.kind == "pointer"])
    lines += wrapped([a.name for a in arguments if a.kind == "stride"])
    lines += [f"    {a.name}: tl.constexpr," for a in arguments if a.kind == "constant"]
    return [*lines, "):"]
