# pyright: basic
# Most values are objects of torch, which pyright types only in part.
"""A region of a torch graph: nodes with one result that one kernel may replace.

Nodes whose recomputation is cheap, such as a norm, can be in several regions. `entry/torch_partition.py` chooses them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from prism_explore.entry.torch_nodes import (
    FLOATS,
    function_name,
    is_float,
    meta_tensor,
    node_text,
    number_of,
    sizes_of,
    strides_of,
    tensor_text,
    value_of,
)
from prism_explore.ir.elementwise import COMPOSITE, UNARY
from prism_explore.ir.tensors import dtype_name

_POINTWISE = {
    *("add", "sub", "mul", "truediv", "div", "pow", "maximum", "minimum", "to", "float"),
    *(aten for row in UNARY.values() for aten in row.aten),
    *COMPOSITE,
}
_PER_ROW = {"mean", "sum", "rms_norm", "layer_norm", "softmax"}
"""Reductions; rows stay independent if they are over the last dim."""


@dataclass(frozen=True)
class Region:
    """A set of nodes of torch's graph with one result."""

    nodes: tuple[Any, ...]
    """In graph order; the last is the result."""
    inputs: tuple[Any, ...]
    """Nodes outside the region that it reads; also numbers, where sizes are symbolic."""
    exclusive: frozenset[Any]
    """Nodes that nothing outside the region reads, except the result."""

    @classmethod
    def of(cls, core: frozenset[Any]) -> Region:
        """The region of some nodes, of which the last in graph order is the result."""
        nodes = tuple(sorted(core))
        inputs = tuple(dict.fromkeys(i for n in nodes for i in n.all_input_nodes if i not in core))
        needed: set[Any] = {nodes[-1]}
        for node in reversed(nodes[:-1]):
            if set(node.users) <= needed:
                needed.add(node)
        return cls(nodes, inputs, frozenset(needed))

    @property
    def name(self) -> str:
        """Display name."""
        return " ".join(n.name for n in self.nodes if n in self.exclusive)

    @property
    def result(self) -> Any:
        """The node whose value the region computes."""
        return self.nodes[-1]

    @cached_property
    def tensors(self) -> tuple[Any, ...]:
        """The inputs that are tensors, in order: the arguments of the region's program."""
        return tuple(i for i in self.inputs if hasattr(value_of(i), "shape"))

    @cached_property
    def text(self) -> str:
        """The region with its nodes and inputs numbered; equal regions have equal texts."""
        names = {n: f"%{k}" for k, n in enumerate((*self.inputs, *self.nodes))}
        read = [f"{names[i]} = {tensor_text(i) if i in self.tensors else number_of(i)}" for i in self.inputs]
        made = [f"{names[n]} = {node_text(n)} {[names[a] for a in n.all_input_nodes]}" for n in self.nodes]
        return "\n".join((*read, *made))

    @property
    def order(self) -> tuple[int, ...] | None:
        """The order of the result's dims in memory; None where it has gaps or repeats elements."""
        sizes, strides = sizes_of(self.result), strides_of(self.result)
        order = sorted(range(len(sizes)), key=lambda d: (-strides[d], d) if sizes[d] > 1 else (-strides[d] - 0.5, d))
        expected = 1
        for d in reversed(order):
            if sizes[d] > 1 and strides[d] != expected:
                return None
            expected *= sizes[d]
        return tuple(order)

    @cached_property
    def row_dims(self) -> tuple[int, ...] | None:
        """Leading dims to flatten into one, where every operator works on rows independently; None otherwise."""
        lead = self._leading_dims
        if len(lead) < 2 or self.order != tuple(range(len(lead) + 1)):
            return None
        for node in self.nodes:
            name = function_name(node)
            if name not in _POINTWISE | _PER_ROW | {"linear"} or sizes_of(node)[:-1] != lead:
                return None
            if not _is_along_rows(node):
                return None
            weights = node.args[1:] if name == "linear" else ()
            read = [i for i in node.all_input_nodes if i in self.tensors and i not in weights]
            given = [i for i in read if not self.has_rows(i)]
            if any(len(sizes_of(i)) > 1 for i in given):
                return None
        return lead if all(_has_flat_view(i) for i in self.tensors if self.has_rows(i)) else None

    @property
    def _leading_dims(self) -> tuple[int, ...]:
        return sizes_of(self.result)[:-1]

    def has_rows(self, node: Any) -> bool:
        """Whether a tensor has the leading dims of the result."""
        shape = sizes_of(node)
        return len(shape) == len(self._leading_dims) + 1 and shape[:-1] == self._leading_dims

    @property
    def obstacle(self) -> str:
        """Why no kernel can replace the region; empty where one can."""
        read = {dtype_name(value_of(i).dtype) for i in self.tensors if is_float(i)}
        written = dtype_name(value_of(self.result).dtype)
        if not read <= FLOATS:
            return f"it reads {', '.join(sorted(read - FLOATS))}; kernels compute in float32"
        if not read:
            return "it reads no float tensor"
        if written != (next(iter(read)) if len(read) == 1 else "float32"):
            return f"it reads {', '.join(sorted(read))} and writes {written}; a kernel writes the dtype of its operands"
        if self.order is None:
            return "its result has gaps or repeats elements"
        if any(None in sizes_of(i) for i in (*self.tensors, self.result)):
            return "one of its sizes depends on data"
        return ""

    @property
    def sizes_text(self) -> str:
        """The sizes of the search, as text, where torch's sizes are symbolic."""
        sizes = [n for i in self.tensors for n in value_of(i).shape if not str(n).isdecimal()]
        open_sizes = dict.fromkeys(f"{n}={n.node.hint}" for n in sizes)
        return f"; at {', '.join(open_sizes)}, torch runs at other sizes" if open_sizes else ""

    def example_inputs(self) -> dict[str, Any]:
        """Meta tensors with the inputs' shapes and strides, by argument name of the module."""
        rows = self.row_dims
        return {
            f"x{i}": flat_rows(meta_tensor(node)) if rows and self.has_rows(node) else meta_tensor(node)
            for i, node in enumerate(self.inputs)
            if node in self.tensors
        }

    def module(self, at_hints: bool = False) -> Any:
        """A separate module with the same nodes.

        Args:
            at_hints: whether it takes tensors only, symbolic sizes are those of the call at which torch compiles, and
                the result's dims are in the order of its memory.
        """
        import torch

        graph = torch.fx.Graph()
        made: dict[Any, Any] = {}
        for n, node in enumerate(self.inputs):
            is_number = at_hints and node not in self.tensors
            made[node] = number_of(node) if is_number else graph.placeholder(f"x{n}")
        for node in self.nodes:
            made[node] = graph.node_copy(node, lambda n: made[n])
        result = made[self.result]
        if at_hints and self.order is not None and self.order != tuple(range(len(self.order))):
            result = graph.call_method("permute", (result, *self.order))
        graph.output(result)
        return torch.fx.GraphModule(torch.nn.Module(), graph)


def _is_along_rows(node: Any) -> bool:
    name = function_name(node)
    if name not in _PER_ROW:
        return True
    along = [*node.args[1:2], *(node.kwargs[k] for k in ("dim", "normalized_shape") if k in node.kwargs)]
    return along in ([-1], [[-1]], [(-1,)]) or (name in ("rms_norm", "layer_norm") and len(along[0]) == 1)


def flat_rows(x: Any) -> Any:
    """A tensor with its leading dims as one."""
    return x.view(-1, x.shape[-1])


def _has_flat_view(node: Any) -> bool:
    """Whether the leading dims can be seen as one without a copy."""
    try:
        flat_rows(meta_tensor(node))
    except RuntimeError:
        return False
    return True
