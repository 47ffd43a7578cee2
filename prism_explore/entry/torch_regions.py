# pyright: basic
# Most values are objects of torch, which pyright types only in part.
"""Regions of a torch graph that one kernel may replace.

A *region* is a product with the cheap operators before it (such as a norm, recomputed for each product that reads it)
and after it (an activation, a residual), and a second product where both meet, as in gated layers. Input: a node of
torch's graph. Output: candidate regions around it, largest first.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

from prism_explore.ir.elementwise import COMPOSITE, UNARY
from prism_explore.ir.tensors import dtype_name

MAX_NODES = 24
"""Largest number of nodes in one region."""
RECOMPUTE_RATIO = 8
"""A shared operator is recomputed in a region whose weights have at least this many times its elements."""

PRODUCTS = {"linear", "matmul", "mm", "bmm", "addmm", "scaled_dot_product_attention"}
_POINTWISE = {
    *("add", "sub", "mul", "truediv", "div", "pow", "maximum", "minimum", "to", "float"),
    *(aten for row in UNARY.values() for aten in row.aten),
    *COMPOSITE,
}
_PER_ROW = {"mean", "sum", "rms_norm", "layer_norm", "softmax"}
"""Reductions; a region includes them only over the last dim."""


@dataclass(frozen=True, slots=True)
class Region:
    """A set of nodes of torch's graph with one result."""

    nodes: tuple[Any, ...]
    """In graph order; the last is the result."""
    inputs: tuple[Any, ...]
    """Nodes outside the region that it reads."""
    exclusive: frozenset[Any]
    """Nodes that nothing outside the region reads, except the result."""

    @property
    def name(self) -> str:
        """Display name."""
        return " ".join(n.name for n in self.nodes if n in self.exclusive)

    @property
    def row_dims(self) -> tuple[int, ...] | None:
        """Leading dims to flatten into one, where every operator works on rows independently; None otherwise."""
        lead = self._leading_dims
        if len(lead) < 2:
            return None
        for node in self.nodes:
            name = function_name(node)
            if name not in _POINTWISE | _PER_ROW | {"linear"} or sizes_of(node)[:-1] != lead:
                return None
            weights = node.args[1:] if name == "linear" else ()
            given = [i for i in node.all_input_nodes if i in self.inputs and not self.has_rows(i) and i not in weights]
            if any(len(sizes_of(i)) > 1 for i in given):
                return None
        return lead if all(_has_flat_view(i) for i in self.inputs if self.has_rows(i)) else None

    @property
    def _leading_dims(self) -> tuple[int, ...]:
        return sizes_of(self.nodes[-1])[:-1]

    def has_rows(self, node: Any) -> bool:
        """Whether a tensor has the leading dims of the result."""
        shape = sizes_of(node)
        return len(shape) == len(self._leading_dims) + 1 and shape[:-1] == self._leading_dims

    @property
    def obstacle(self) -> str:
        """Why no kernel can replace the region; empty where one can."""
        import torch

        tensors = (*self.inputs, *self.nodes)
        if torch.is_grad_enabled() and any(getattr(_value(n), "requires_grad", False) for n in self.inputs):
            return "torch records gradients, and its backward would repeat a kernel's work; call it in torch.no_grad()"
        if numbers := [n.name for n in tensors if not hasattr(_value(n), "shape")]:
            return f"it reads {numbers[0]}, a number that is known only when it runs"
        if unknown := [n.name for n in tensors if None in sizes_of(n)]:
            return f"a size of {unknown[0]} depends on data"
        floating = (_value(n).dtype for n in tensors if _value(n).is_floating_point())
        dtypes = dict.fromkeys(map(dtype_name, floating))
        if len(dtypes) > 1 and "float64" in dtypes:
            return f"{', '.join(dtypes)} meet in it; kernels compute in float32"
        read = {dtype_name(_value(i).dtype) for i in self.inputs if _value(i).is_floating_point()}
        written = dtype_name(_value(self.nodes[-1]).dtype)
        if written != (next(iter(read)) if len(read) == 1 else "float32"):
            return f"it reads {', '.join(sorted(read))} and writes {written}; a kernel writes the dtype of its operands"
        node = self.nodes[0]
        while not _has_side_effect(node):
            if node is self.nodes[-1]:
                return ""
            node = node.next
        return f"{node.name} writes in place or switches something between its operators, so their order matters"

    @property
    def sizes_text(self) -> str:
        """The sizes of the search, as text, where torch's sizes are symbolic."""
        shapes = [tuple(_value(i).shape) for i in self.inputs]
        open_sizes = dict.fromkeys(f"{n}={n.node.hint}" for s in shapes for n in s if not isinstance(n, int))
        return f"; at {', '.join(open_sizes)}, torch runs at other sizes" if open_sizes else ""

    def example_inputs(self) -> dict[str, Any]:
        """Meta tensors with the inputs' shapes and strides, by argument name of the module."""
        rows = self.row_dims
        return {
            f"x{i}": flat_rows(_meta_tensor(node)) if rows and self.has_rows(node) else _meta_tensor(node)
            for i, node in enumerate(self.inputs)
        }

    def module(self) -> Any:
        """A separate module with the same nodes."""
        import torch

        graph = torch.fx.Graph()
        made: dict[Any, Any] = {n: graph.placeholder(f"x{i}") for i, n in enumerate(self.inputs)}
        for node in self.nodes:
            made[node] = graph.node_copy(node, lambda n: made[n])
        graph.output(made[self.nodes[-1]])
        return torch.fx.GraphModule(torch.nn.Module(), graph)


def regions_around(product: Any, taken: set[Any]) -> Iterator[Region]:
    """Regions around a product, largest first; `taken` are nodes of other regions."""
    seen: set[frozenset[Any]] = set()
    for with_consumers in (True, False):
        for with_producers in (True, False):
            core = _grow(product, taken, with_producers, with_consumers)
            if core is not None and frozenset(core) not in seen:
                seen.add(frozenset(core))
                yield _region(core)


def _grow(product: Any, taken: set[Any], with_producers: bool, with_consumers: bool) -> set[Any] | None:
    core = {product} | (_producers(product, taken) if with_producers else set())
    result, products = product, 1
    while with_consumers and len(result.users) == 1:
        (user,) = result.users
        if function_name(user) not in _POINTWISE or user in taken:
            break
        grown = {user}
        for other in user.all_input_nodes:
            if other is result or other in core:
                continue
            branch = _branch(other, user, taken, with_producers) if products == 1 else None
            if branch is not None and branch & core == branch:
                continue
            if branch is not None:
                grown |= branch
                products += 1
        if len(core | grown) > MAX_NODES or not _is_convex(core | grown, user):
            break
        core |= grown
        result = user
    if len(core) > MAX_NODES or not _is_convex(core, result):
        return None
    return core


def _branch(node: Any, user: Any, taken: set[Any], with_producers: bool) -> set[Any] | None:
    """A chain of cheap operators from a product that nothing else reads, with its producers; None for no such chain."""
    chain: set[Any] = set()
    while set(node.users) == {user} and node not in taken:
        chain.add(node)
        if function_name(node) in PRODUCTS:
            return chain | (_producers(node, taken) if with_producers else set())
        if function_name(node) not in _POINTWISE or len(node.all_input_nodes) != 1:
            return None
        node, user = node.all_input_nodes[0], node
    return None


def _producers(product: Any, taken: set[Any]) -> set[Any]:
    """The cheap operators before a product whose recomputation cost is negligible."""
    weights = max((_elements(i) for i in product.all_input_nodes if i.op in ("placeholder", "get_attr")), default=0)
    found: set[Any] = set()
    open_nodes = list(product.all_input_nodes)
    while open_nodes:
        node = open_nodes.pop()
        cheap = _is_cheap(node) and node not in taken and node not in found
        if not cheap or (len(node.users) > 1 and _elements(node) * RECOMPUTE_RATIO > weights):
            continue
        found.add(node)
        open_nodes += node.all_input_nodes
    return found


def _region(core: set[Any]) -> Region:
    graph = next(iter(core)).graph
    nodes = tuple(n for n in graph.nodes if n in core)
    inputs = tuple(dict.fromkeys(i for n in nodes for i in n.all_input_nodes if i not in core))
    needed: set[Any] = {nodes[-1]}
    for node in reversed(nodes[:-1]):
        if set(node.users) <= needed:
            needed.add(node)
    return Region(nodes, inputs, frozenset(needed))


def _is_convex(core: set[Any], result: Any) -> bool:
    """Whether no input of a region depends on its result or on a node that only the region computes."""
    inner = {n for n in core if not _is_cheap(n) or n is result}
    outside = [i for n in core for i in n.all_input_nodes if i not in core]
    seen: set[Any] = set()
    while outside:
        node = outside.pop()
        if node in inner:
            return False
        if node not in seen:
            seen.add(node)
            outside += node.all_input_nodes
    return all(n is result or set(n.users) <= core or _is_cheap(n) for n in core)


def _is_cheap(node: Any) -> bool:
    name = function_name(node)
    if name in _PER_ROW:
        along = [*node.args[1:2], *(node.kwargs[k] for k in ("dim", "normalized_shape") if k in node.kwargs)]
        return along in ([-1], [[-1]], [(-1,)]) or name in ("rms_norm", "layer_norm")
    return name in _POINTWISE and _value(node) is not None


def function_name(node: Any) -> str:
    """Name of the called function; empty where the node returns no floating-point tensor."""
    if node.op not in ("call_function", "call_method") or not getattr(_value(node), "is_floating_point", bool)():
        return ""
    if node.op == "call_method":
        return node.target
    if node.target is operator.matmul:
        return "matmul"
    return getattr(node.target, "__name__", "")


def _has_side_effect(node: Any) -> bool:
    """Whether a node has a side effect: autocast, a change of the gradient mode, a write in place."""
    name = node.target if node.op == "call_method" else getattr(node.target, "__name__", "")
    in_place = (name.endswith("_") and not name.endswith("__")) or name in _IN_PLACE or node.kwargs.get("inplace")
    return node.op in ("call_function", "call_method") and bool(in_place or node.is_impure())


_IN_PLACE = {"setitem", "iadd", "isub", "imul", "itruediv", "ipow", "imatmul"}


def _value(node: Any) -> Any:
    return node.meta.get("example_value")


def sizes_of(node: Any) -> tuple[Any, ...]:
    """A tensor's sizes in the call at which torch compiles; None for a data-dependent size."""
    return tuple(n if isinstance(n, int) else n.node.hint for n in _value(node).shape)


def flat_rows(x: Any) -> Any:
    """A tensor with its leading dims as one."""
    return x.view(-1, x.shape[-1])


def _meta_tensor(node: Any) -> Any:
    import torch

    strides = [s if isinstance(s, int) else s.node.hint for s in _value(node).stride()]
    return torch.empty_strided(sizes_of(node), strides, dtype=_value(node).dtype, device="meta")


def _has_flat_view(node: Any) -> bool:
    """Whether the leading dims can be seen as one without a copy."""
    try:
        flat_rows(_meta_tensor(node))
    except RuntimeError:
        return False
    return True


def _elements(node: Any) -> int:
    return prod(n or 0 for n in sizes_of(node)) if hasattr(_value(node), "shape") else 0
