"""Lower bounds on the running time of partial graphs.

Input: a partial graph of the enumerator and one more step. Output: a bound for every graph that extends it. This
module converts the enumerator's tensors to types; `cost.roofline` computes the bounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from prism_explore.cost.roofline import PartialTimeBound, TimeToBeat, least_flops
from prism_explore.generate.state import KernelState, Tensor
from prism_explore.ir.dims import Dim, dim
from prism_explore.ir.ops import Band, ComputeOp, Input, LoopOp
from prism_explore.ir.tensors import TensorType


@dataclass(frozen=True, slots=True)
class TimeBounds:
    """The bounds of a search that has a time to beat."""

    time_to_beat: TimeToBeat
    extents: Mapping[str, Dim]
    """Of the program's axes."""
    warm: frozenset[str]
    """Inputs that a cache may hold before the first kernel reads them, by name."""

    def without_operators(self, inputs: Iterable[Tensor]) -> PartialTimeBound:
        """The bound of the graph without operators."""
        return self.time_to_beat.without_operators([self._type(t) for t in inputs if self._is_cold(t)])

    def open_kernel(self, state: KernelState, operands: Iterable[int]) -> PartialTimeBound:
        """The bound of a kernel graph with one more kernel, which reads these tensors."""
        cold: list[TensorType] = []
        warm: list[TensorType] = []
        for i in sorted(set(operands)):
            tensor = state.tensors[i]
            if isinstance(tensor.node.op, Band):
                continue
            first = i not in state.read and self._is_cold(tensor)
            (cold if first else warm).append(self._type(tensor))
        return self.time_to_beat.open_kernel(state.time_bound, cold, warm)

    def add_operator(
        self,
        before: PartialTimeBound,
        op: ComputeOp | LoopOp,
        operands: Sequence[Tensor],
        result: Tensor,
        pending: frozenset[str] = frozenset(),
    ) -> PartialTimeBound:
        """The bound with one more operator in the open kernel; a pending axis counts as one element."""
        flops = least_flops(op, [self._dims(t, pending) for t in operands], self._dims(result, pending))
        return self.time_to_beat.add_arithmetic(before, flops, result.dtype)

    def close_kernel(self, before: PartialTimeBound, result: Tensor) -> PartialTimeBound:
        """The bound with the open kernel closed and its result written."""
        return self.time_to_beat.close_kernel(before, self._type(result))

    def _is_cold(self, tensor: Tensor) -> bool:
        return isinstance(tensor.node.op, Input) and tensor.node.op.name not in self.warm

    def _dims(self, tensor: Tensor, pending: frozenset[str] = frozenset()) -> tuple[Dim, ...]:
        return tuple(self.extents[a] if a and a not in pending else dim(1) for a in tensor.axes)

    def _type(self, tensor: Tensor) -> TensorType:
        op = tensor.node.op
        strides = op.type.strides if isinstance(op, Input) else ()
        return TensorType(self._dims(tensor), tensor.dtype, strides=strides)
