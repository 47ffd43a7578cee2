# pyright: basic
# Most values are objects of torch, which pyright types only in part.
"""A region of a torch graph: nodes with one result that one kernel may replace.

Nodes whose recomputation is cheap, such as a norm, can be in several regions. `entry/torch_partition.py` chooses them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, Literal, TypeAlias

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
    translation_of,
    value_of,
)
from prism_explore.entry.torch_sizes import OpenSizes
from prism_explore.ir.dims import dim
from prism_explore.ir.elementwise import COMPOSITE, UNARY
from prism_explore.ir.tensors import DTYPE_OF_NAME, TensorType, dtype_name, layout_of

_POINTWISE = {
    *("add", "sub", "mul", "truediv", "div", "pow", "maximum", "minimum", "to", "float"),
    *(aten for row in UNARY.values() for aten in row.aten),
    *COMPOSITE,
}
ModuleForm: TypeAlias = Literal["as it is", "at hints", "at any sizes"]
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
    merges_sizes: bool = False
    """Whether symbolic sizes that are equal in the call at which torch compiles are one symbol of its program."""

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
        read = [f"{names[i]} = {self._tensor_text(i) if i in self.tensors else self._number(i)}" for i in self.inputs]
        made = [f"{names[n]} = {node_text(n)} {[names[a] for a in n.all_input_nodes]}" for n in self.nodes]
        return "\n".join((*read, *made))

    def _tensor_text(self, node: Any) -> str:
        dims = f" as [{', '.join(map(str, self.sizes.dims(self._shape(node))))}]" if self.sizes else ""
        return f"{tensor_text(node)}{dims}"

    def _number(self, node: Any) -> Any:
        """A number in terms of the program's symbols; that of the call at which torch compiles where it is fixed."""
        return number_of(node) if node in self.fixed_numbers else self.sizes.computed(value_of(node), dim, _apply)

    @cached_property
    def sizes(self) -> OpenSizes:
        """The sizes of its tensors that are symbols of its program."""
        return OpenSizes.of([self._shape(i) for i in self.tensors], self.merges_sizes)

    @cached_property
    def fixed_numbers(self) -> tuple[Any, ...]:
        """The numbers that its program has as they are in the call at which torch compiles."""
        numbers = (i for i in self.inputs if i not in self.tensors)
        return tuple(i for i in numbers if not _is_integer(i) or self.sizes.computed(value_of(i), dim, _apply) is None)

    def _shape(self, node: Any) -> tuple[Any, ...]:
        """The sizes of an input of the program, integers or torch's symbolic ones."""
        shape = tuple(value_of(node).shape)
        return (prod(shape[:-1]), shape[-1]) if self.row_dims and self.has_rows(node) else shape

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
        if written not in FLOATS:
            return f"it writes {written}; kernels write {', '.join(sorted(FLOATS))}"
        narrower = next((n for n in self.nodes if self._rounds(n)), None)
        if narrower is not None:
            dtype = dtype_name(value_of(narrower).dtype)
            return f"it computes in {dtype} and writes {written}; a kernel rounds only its result"
        if self.order is None:
            return "its result has gaps or repeats elements"
        if any(None in sizes_of(i) for i in (*self.tensors, self.result)):
            return "one of its sizes depends on data"
        return ""

    def _rounds(self, node: Any) -> bool:
        """Whether a node computes what is rounded to a narrower dtype than the result's."""
        if not is_float(node) or value_of(node).dtype.itemsize >= value_of(self.result).dtype.itemsize:
            return False
        return not translation_of(node).is_view

    def example_inputs(self) -> dict[str, Any]:
        """Meta tensors with the inputs' shapes and strides, by argument name of the module."""
        rows = self.row_dims
        return {
            f"x{i}": flat_rows(meta_tensor(node)) if rows and self.has_rows(node) else meta_tensor(node)
            for i, node in enumerate(self.inputs)
            if node in self.tensors
        }

    def types(self) -> dict[str, TensorType]:
        """The types of the inputs with symbols as sizes, by argument name of the module."""
        found: dict[str, TensorType] = {}
        for (name, x), node in zip(self.example_inputs().items(), self.tensors, strict=True):
            dims = self.sizes.dims(self._shape(node))
            found[name] = TensorType(dims, DTYPE_OF_NAME[dtype_name(x.dtype)], *layout_of(dims, x.shape, x.stride()))
        return found

    def module(self, form: ModuleForm = "as it is") -> Any:
        """A separate module with the same nodes.

        Args:
            form: where it is not "as it is", the module takes tensors only, and the result's dims are in the order of
                its memory. Symbolic sizes are then those of the call at which torch compiles ("at hints"), or those of
                the tensors ("at any sizes"), of which numbers are computed where they can be.
        """
        import torch

        graph = torch.fx.Graph()
        made: dict[Any, Any] = {}
        for n, node in enumerate(self.inputs):
            if form == "as it is" or node in self.tensors:
                made[node] = graph.placeholder(f"x{n}")

        def size(symbol: str) -> Any:
            number, position = self.sizes.places[symbol]
            return graph.call_method("size", (made[self.tensors[number]], position))

        def call(function: Any, *args: Any) -> Any:
            return graph.call_function(function, args)

        for node in self.inputs:
            if node not in made:
                is_fixed = form == "at hints" or node in self.fixed_numbers
                made[node] = number_of(node) if is_fixed else self.sizes.computed(value_of(node), size, call)
        for node in self.nodes:
            made[node] = graph.node_copy(node, lambda n: made[n])
        result = made[self.result]
        if form != "as it is" and self.order is not None and self.order != tuple(range(len(self.order))):
            result = graph.call_method("permute", (result, *self.order))
        graph.output(result)
        return torch.fx.GraphModule(torch.nn.Module(), graph)


def _is_integer(node: Any) -> bool:
    return isinstance(number_of(node), int)


def _apply(function: Any, *args: Any) -> Any:
    return function(*args)


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
