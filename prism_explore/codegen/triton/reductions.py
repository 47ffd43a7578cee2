"""Reductions of a Triton kernel: matrix products, sums and maxima, accumulators over the loop's iterations.

A product goes to `tl.dot` where the plan says so, else to a broadcast multiplication and `tl.sum`. A running maximum
and the sums that are rescaled by it (online softmax) are variables that are updated in every iteration.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from prism_explore.codegen.triton.function_table import TRITON_DTYPE, finish_reduction
from prism_explore.codegen.triton.plan import BlockPlan, Section
from prism_explore.codegen.triton.tile_values import LOWEST, TileValue, TileValues, axis_and_zero
from prism_explore.ir.ops import Accumulate, AccumulateRescaled, ReduceFn, ScanFn
from prism_explore.ir.tensors import DType

TextAndZero: TypeAlias = tuple[str, tuple[bool, ...]]
"""An expression, and per dim whether its padding is zero."""


@dataclass(frozen=True, slots=True)
class Reductions:
    """Writes the reductions of a kernel; each public method gives the value of the block node %j."""

    tiles: TileValues
    _factors: dict[int, str] = field(default_factory=dict[int, str])
    """Per scale of rescaled sums: the variable that holds this iteration's factor."""

    @property
    def plan(self) -> BlockPlan:
        """The kernel's plan."""
        return self.tiles.plan

    # ------------------------------------------------------------ within a tile
    def matmul(self, j: int, section: Section) -> TileValue:
        """A matrix product."""
        return self.tiles.define(j, *self._product(j, section))

    def reduce(self, j: int, fn: ReduceFn, along: int, section: Section) -> TileValue:
        """A reduction of a tile along a dim."""
        arg = self.plan.block.nodes[j].args[0]
        value, d = self.tiles.values[arg], self._own_dim(arg, along)
        if d < 0:
            return self.tiles.define(j, f"tl.abs({value.name})" if fn == "rms" else value.name, value.zero)
        text, zero = self._partial(value, fn, d, section)
        return self.tiles.define(j, finish_reduction(fn, text, self.plan.dims[arg][along]), zero)

    def scan(self, j: int, fn: ScanFn, along: int, section: Section) -> TileValue:
        """Prefix sums of a tile along a dim, all of which the block has."""
        arg = self.plan.block.nodes[j].args[0]
        value, d = self.tiles.values[arg], self._own_dim(arg, along)
        if d < 0:
            return self.tiles.define(j, value.name, value.zero)
        value = self.tiles.with_zero_padding(value, d, section)
        if fn == "reverse_cumsum":
            return self.tiles.define(j, f"tl.cumsum({value.name}, axis={d}, reverse=True)", value.zero)
        zero = (*value.zero[:d], self.tiles.no_padding(value.shape)[d], *value.zero[d + 1 :])
        return self.tiles.define(j, f"tl.cumsum({value.name}, axis={d})", zero)

    # ------------------------------------------------------------ over the iterations
    def running_max(self, j: int, along: int | None, section: Section) -> TileValue:
        """A maximum that is carried from one iteration to the next."""
        text, zero = self._maximum(self.plan.block.nodes[j].args[0], along, section)
        if section != "loop":
            return self.tiles.define(j, text, zero)
        name = self.tiles.names.fresh(f"running_max_{j}")
        self.tiles.initialize(j, name, LOWEST)
        self.tiles.lines["loop"].append(f"{name} = tl.maximum({name}, {text})")
        return TileValue(name, self.plan.shapes[j], self.tiles.no_padding(self.plan.shapes[j]))

    def rescaled_sum(self, j: int, op: AccumulateRescaled) -> TileValue:
        """A sum that is rescaled to this iteration's maximum before the iteration's part is added."""
        plan = self.plan
        arg, scale = plan.block.nodes[j].args
        factor, total = self._rescale_factor(scale), self.tiles.names.fresh(f"acc_{j}")
        self.tiles.initialize(j, total, 0.0)
        d = self._own_dim(arg, op.dim)
        if arg in plan.accumulated_products:
            text, zero = self._product(arg, "loop", f"{total} * {factor}")
        elif d >= 0:
            text, zero = self._partial(self.tiles.values[arg], "sum", d, "loop")
            text = f"{total} * {factor} + {text}"
        else:
            value = self.tiles.values[arg]
            text, zero = f"{total} * {factor} + {value.name}", value.zero
        self.tiles.lines["loop"].append(f"{total} = {text}")
        return TileValue(total, plan.shapes[j], zero)

    def accumulate(self, j: int, op: Accumulate) -> TileValue:
        """A sum or maximum over the iterations, and along a dim of the tile where one is named."""
        plan = self.plan
        arg = plan.block.nodes[j].args[0]
        has_loop = plan.iterations > 1
        section: Section = "loop" if has_loop else "before"
        if op.fn == "max":
            return self.running_max(j, op.dim, section)
        total, d = self.tiles.names.fresh(f"acc_{j}"), self._own_dim(arg, op.dim)
        if arg in plan.accumulated_products:
            text, zero = self._product(arg, section, total)
            line = f"{total} = {text}"
        else:
            value = self.tiles.values[arg]
            if d >= 0:
                text, zero = self._partial(value, op.fn, d, section)
            else:
                is_rms = op.fn == "rms" and op.dim is not None
                text, zero = f"{value.name} * {value.name}" if is_rms else value.name, value.zero
            line = f"{total} {'+=' if has_loop else '='} {text}"
        self.tiles.lines[section].append(line)
        if has_loop:
            self.tiles.initialize(j, total, 0.0)
        if op.fn == "sum" or op.dim is None:
            return TileValue(total, plan.shapes[j], zero)
        count = plan.iterations * plan.dims[arg][op.dim]
        name = self.tiles.assign(plan.sections[j], f"{op.fn}_{j}", finish_reduction(op.fn, total, count))
        return TileValue(name, plan.shapes[j], zero)

    def _rescale_factor(self, scale: int) -> str:
        """exp(previous maximum - maximum), once per iteration for all sums of one scale."""
        if scale not in self._factors:
            current = self.tiles.values[scale].name
            previous = self.tiles.names.fresh(f"{current}_before")
            factor = self.tiles.names.fresh(f"rescale_{scale}")
            self.tiles.initialize(scale, previous, LOWEST)
            self.tiles.lines["loop"] += [f"{factor} = tl.exp({previous} - {current})", f"{previous} = {current}"]
            self._factors[scale] = factor
        return self._factors[scale]

    # ------------------------------------------------------------ expressions
    def _own_dim(self, arg: int, along: int | None) -> int:
        """The dim of the tile %arg for a dim of its tensor; negative where there is none."""
        return -1 if along is None else along - (len(self.plan.dims[arg]) - len(self.plan.shapes[arg]))

    def _partial(self, value: TileValue, fn: ReduceFn, d: int, section: Section) -> TextAndZero:
        """The maximum over dim `d`, or the sum; of squares for rms."""
        zero = (*value.zero[:d], True, *value.zero[d + 1 :])
        if fn == "max":
            value = self.tiles.with_lowest_padding(value, d, section)
            return f"tl.max({value.name}, axis={d}, keep_dims=True)", zero
        value = self.tiles.with_zero_padding(value, d, section)
        term = f"{value.name} * {value.name}" if fn == "rms" else value.name
        return f"tl.sum({term}, axis={d}, keep_dims=True)", zero

    def _maximum(self, arg: int, along: int | None, section: Section) -> TextAndZero:
        """The maximum over a dim, if one is named and the tile has it."""
        value, d = self.tiles.values[arg], self._own_dim(arg, along)
        return self._partial(value, "max", d, section) if d >= 0 else (value.name, value.zero)

    def _product(self, j: int, section: Section, total: str = "") -> TextAndZero:
        """A matrix product, added to `total` where one is named."""
        plan = self.plan
        x, y = plan.block.nodes[j].args
        a = self.tiles.with_zero_padding(self.tiles.values[x], len(plan.shapes[x]) - 1, section)
        b = self.tiles.with_zero_padding(self.tiles.values[y], len(plan.shapes[y]) - 2, section)
        rank = len(plan.shapes[j])
        batch = (
            plan.shapes[j][d] is None or (axis_and_zero(a, d, rank)[1] and axis_and_zero(b, d, rank)[1])
            for d in range(rank - 2)
        )
        zero = (*batch, a.zero[-2], b.zero[-1])
        if j not in plan.dots:
            left = f"{a.name}[{', '.join(':' * len(a.shape))}, None]"
            right = f"{b.name}[{', '.join((*':' * (len(b.shape) - 2), 'None', ':', ':'))}]"
            text = f"tl.sum({left} * {right}, axis={rank - 1})"
            return (f"{total} + {text}" if total else text), zero
        arguments = [self._dot_operand(v, plan.types[n].dtype, j) for v, n in ((a, x), (b, y))]
        if total:
            arguments.append(total)
        if plan.types[j].dtype == "f32":
            arguments.append(f'input_precision="{plan.precision}"')
        return f"tl.dot({', '.join(arguments)})", zero

    def _dot_operand(self, value: TileValue, stored: DType, j: int) -> str:
        """An operand of `tl.dot`, stored in some dtype: in the dtype of the product %j, with its batch dims."""
        result, dtype = self.plan.shapes[j], self.plan.types[j].dtype
        as_loaded = value.unconverted if stored == dtype else ""
        text = as_loaded or value.name
        if dtype != "f32" and not as_loaded:
            text = f"{text}.to({TRITON_DTYPE[dtype]})"
        batch = result[:-2]
        if batch and (len(value.shape) < len(result) or value.shape[:-2] != batch):
            batched = f"{text}[None, :, :]" if len(value.shape) == 2 else text
            return f"tl.broadcast_to({batched}, {self.tiles.shape((*batch, *value.shape[-2:]))})"
        return text
