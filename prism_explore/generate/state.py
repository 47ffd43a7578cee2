"""Data of the enumeration: operators that may be applied, tensors, and partial graphs of both levels.

`expander` applies steps to partial graphs, and `enumerator` decides on the order of steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from prism_explore.cost.roofline import EMPTY, PartialTimeBound
from prism_explore.generate.abstract_expr.operator_lower_bound import Parts
from prism_explore.generate.abstract_expr.polynomial import Poly
from prism_explore.generate.canonical_order import Args, OperatorSet, Rank
from prism_explore.ir.analysis.loop_flow import Flow, FlowRule
from prism_explore.ir.axes import AxisNames
from prism_explore.ir.elementwise import COMMUTATIVE
from prism_explore.ir.ops import (
    Accumulate,
    AccumulateRescaled,
    Binary,
    ComputeOp,
    Concat,
    Expand,
    LoopOp,
    MatMul,
    Node,
    Permute,
    Reduce,
    Reshape,
    RunningMax,
    Scalar,
    Scan,
    Slice,
    Unary,
    op_name,
)
from prism_explore.ir.tensors import DType
from prism_explore.pipeline.search_space import Operators
from prism_explore.support.caches import memoize


@dataclass(frozen=True, slots=True)
class OperatorEntry:
    """An operator that may be applied at one level."""

    op: ComputeOp | LoopOp
    arity: int
    commutative: bool = False

    @property
    def label(self) -> str:
        """Its name, with its dim or constant where it has one."""
        return label_of(self.op)


@memoize(1024)
def label_of(op: ComputeOp | LoopOp) -> str:
    """An operator's name, with its dim or constant where it has one."""
    match op:
        case Reduce(_, along) | Scan(_, along) | Accumulate(_, int() as along):
            return f"{op_name(op)}[{along}]"
        case RunningMax(int() as along) | AccumulateRescaled(int() as along):
            return f"{op_name(op)}[{along}]"
        case Scalar(_, value):
            return f"{op_name(op)}[{value}]"
        case Permute(order):
            return f"permute[{', '.join(map(str, order))}]"
        case Reshape(dims):
            return f"reshape[{', '.join(map(str, dims))}]"
        case Slice(along, start, stop):
            return f"slice[{along}, {start}:{stop}]"
        case Expand(along, _) | Concat(along):
            return f"{op_name(op)}[{along}]"
        case _:
            return op_name(op)


def operator_set(operators: Operators, largest_rank: int) -> OperatorSet[OperatorEntry]:
    """The operators of a level in a fixed order; a reduction or scan along each dim is an entry of its own."""
    dims = range(largest_rank)
    entries: list[OperatorEntry] = [OperatorEntry(Unary(fn), 1) for fn in operators.unary]
    entries += [OperatorEntry(s, 1) for s in operators.scalars]
    entries += [OperatorEntry(Reduce(fn, d), 1) for fn in operators.reductions for d in dims]
    entries += [OperatorEntry(Scan(fn, d), 1) for fn in operators.scans for d in dims]
    for kind in operators.accumulators:
        if kind == "plain":
            entries.append(OperatorEntry(Accumulate("sum"), 1))
        elif kind == "rescaled":
            entries += [OperatorEntry(RunningMax(d), 1) for d in dims]
            entries += [OperatorEntry(AccumulateRescaled(d), 2) for d in (None, *dims)]
        else:
            entries += [OperatorEntry(Accumulate(kind, d), 1) for d in dims]
    entries += [OperatorEntry(view, 2 if isinstance(view, Concat) else 1) for view in operators.views]
    entries += [OperatorEntry(Binary(fn), 2, fn in COMMUTATIVE) for fn in operators.binary]
    return OperatorSet((*entries, *([OperatorEntry(MatMul(), 2)] if operators.matmul else [])))


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor of a partial graph, with the properties that rules need."""

    node: Node
    axes: AxisNames
    dtype: DType
    expression: Poly
    number: int
    """See `canonical_order.ExpressionNumbers`; in one block, equal numbers are equal values."""
    flows: tuple[Flow | FlowRule, ...] = ()
    """Inside a block: its loop state under each choice of looped axes."""
    after_loop: bool = False
    """Inside a block: whether it depends on an accumulator, so that no accumulator may take it."""
    loopless_number: int = -1
    """The number of the same value in a graph without a loop: an accumulator is a reduction or its operand."""


@dataclass(frozen=True, slots=True)
class BlockApplication:
    """An operator inside a block whose operands fit and whose value may be part of the result."""

    args: Args
    kind: int
    """Position in the block's operator set."""

    tensor: Tensor
    """Its result; the node is that of the first graph that had it."""


MergedAxes: TypeAlias = tuple[tuple[str, str], ...]
"""Where dims match by size: axes, and for each the first of those that it is one with."""


@dataclass(frozen=True, slots=True)
class KernelState:
    """A partial kernel graph."""

    id: str
    tensors: tuple[Tensor, ...]
    unused: frozenset[int]
    goals: frozenset[int] = frozenset()
    """The forms of the result that all of its values may be parts of."""
    last: Rank | None = None
    predefined: int = 0
    customs: int = 0
    time_bound: PartialTimeBound = EMPTY
    """A lower bound on the time; zero where there is no time to beat."""
    read: frozenset[int] = frozenset()
    """Tensors that some kernel reads."""
    deviations: int = 0
    """How many of its operators compute a value that the program does not."""
    merged_axes: MergedAxes = ()
    """The axes that are one, where dims match by size."""


@dataclass(frozen=True, slots=True)
class BlockState:
    """A partial block graph."""

    id: str
    operands: tuple[int, ...]
    operators_after: int
    """An upper bound on the operators that the kernel graph may still get after this block."""
    choices: tuple[frozenset[str], ...]
    """All choices of looped axes."""
    legal: frozenset[int]
    """The choices that are legal for all operators so far, by position."""
    tensors: tuple[Tensor, ...]
    unused: frozenset[int]
    goals: frozenset[int]
    """The forms of the result that all of its values, and those outside, may be parts of."""
    context: int = 0
    """A number for the loads, the choices of looped axes, and the axes that are one."""
    kernel_tensors: tuple[Tensor, ...] = ()
    """Kernel-level tensors that operators after this block may still use."""
    reduced: frozenset[str] = frozenset()
    """Axes that some operator reduces or scans, so that no grid dim may partition them."""
    accumulated: tuple[int, ...] = ()
    parts: tuple[Parts, ...] = ()
    """Per form of the result, the parts that its tensors and those outside have."""
    untried: tuple[BlockApplication, ...] = ()
    """Applications to tensors before the newest that are still to be tried, in canonical order."""
    time_bound: PartialTimeBound = EMPTY
    """A lower bound on the time; zero where there is no time to beat."""
    extensions: int = 0
    """How many kernel graphs extend the graph behind this block's kernel, for any operators in it."""
    stood_for: int = 0
    """How many graphs begin with this kernel's operands."""
    deviations: int = 0
    """How many operators, in earlier kernels too, compute a value that the program does not."""
    merged_axes: MergedAxes = ()
    """The axes that are one, where dims match by size."""
