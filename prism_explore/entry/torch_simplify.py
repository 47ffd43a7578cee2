# pyright: basic
# Most values are objects of torch, which pyright types only in part.
"""Graphs of torch in a form that regions can contain.

* An operand of `cat` without elements is left out. Rotary embeddings of a part of each head have one, where the part is
  the whole.
* An operator that writes its result into its operand, such as `nn.ReLU(inplace=True)` and `index_add_`, makes a new
  tensor instead if the graph made the operand and reads no view of it, nor what it is a view of, afterwards. Masks of
  `nn.Transformer`, sums of layers and activations of networks for images are so written.
* A tensor that is made empty and written part by part is the `cat` of its parts (`entry/torch_parts.py`).
* What nothing reads is left out, if it cannot raise. The last step of a scan has some, and models with options compute
  rotary embeddings that they do not use.
* `x.type_as(y)` is a cast to the dtype of y, and `x.expand_as(y)` an expansion to its sizes, where these are numbers: a
  region with one of them does not read y.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, cast

from prism_explore.entry.torch_nodes import (
    CALLS,
    argument_of,
    called_name,
    draws_random_numbers,
    has_side_effect,
    is_float,
    parameter_names,
    translation_of,
    value_of,
)
from prism_explore.entry.torch_parts import join_parts
from prism_explore.ir.elementwise import UNARY

_ELEMENTWISE = {
    *("add", "sub", "mul", "truediv", "div", "maximum", "minimum"),
    *(aten for row in UNARY.values() for aten in row.aten),
}
"""Functions whose result has the shape of their operands, which have equal shapes."""
_LIKE: Mapping[str, tuple[str, Callable[[Any], tuple[Any, ...]]]] = {
    "type_as": ("to", lambda like: (like.dtype,)),
    "expand_as": ("expand", lambda like: tuple(like.shape)),
    "view_as": ("view", lambda like: tuple(like.shape)),
    "reshape_as": ("reshape", lambda like: tuple(like.shape)),
}
"""Methods that read only the form of their argument: the method that takes this form, and its arguments."""
_IN_PLACE: Mapping[Any, Any] = {
    operator.iadd: operator.add,
    operator.isub: operator.sub,
    operator.imul: operator.mul,
    operator.itruediv: operator.truediv,
    operator.iand: operator.and_,
    operator.ior: operator.or_,
    operator.ixor: operator.xor,
}
"""Python's operators that write in place, with those that do not."""


def simplify(graph: Any) -> None:
    """Change a graph in place; it computes the same.

    Args:
        graph: torch's, with an example value at each node.
    """
    for node in list(graph.nodes):
        if called_name(node) == "cat":
            _drop_empty_operands(node)
        elif node.op == "call_method" and node.target in _LIKE and len(node.args) == 2:
            _name_form(node)
    join_parts(graph)
    _write_anew(graph)
    for node in reversed(graph.nodes):
        if node.op in CALLS and not node.users and _only_computes(node):
            graph.erase_node(node)
    graph.lint()


def _only_computes(node: Any) -> bool:
    """Whether a call has no effect: none on memory, no random number, and no error that depends on numbers."""
    reads_positions = any(hasattr(value_of(i), "dtype") and not is_float(i) for i in node.all_input_nodes)
    if has_side_effect(node) or draws_random_numbers(node) or reads_positions:
        return False
    return called_name(node) in _ELEMENTWISE | {"cat", "stack"} or not translation_of(node).obstacle


def _drop_empty_operands(node: Any) -> None:
    operands = node.args[0] if node.args else ()
    if not isinstance(operands, list | tuple) or not all(hasattr(o, "op") and is_float(o) for o in operands):
        return
    full = [o for o in operands if not any(isinstance(size, int) and size == 0 for size in value_of(o).shape)]
    if full and len(full) < len(operands) and len({value_of(o).dtype for o in operands}) == 1:
        node.args = (full, *node.args[1:])


def _name_form(node: Any) -> None:
    """Let a method take the form of another tensor by its numbers, where both are in one device's memory."""
    x, like = map(value_of, node.args)
    method, form_of = _LIKE[node.target]
    form = form_of(like)
    if x.device == like.device and not any(hasattr(n, "node") for n in form):
        node.target, node.args = method, (node.args[0], *form)


def _write_anew(graph: Any) -> None:
    """Let elementwise operators that write in place make new tensors, where nothing else can see the write."""
    from torch.fx.node import map_arg

    nodes = list(graph.nodes)
    written = [n for n, node in enumerate(nodes) if _out_of_place(node) is not None]
    if not written:
        return
    at = {node: n for n, node in enumerate(nodes)}
    memory: dict[int, list[Any]] = {}
    stored = {node: _storages(value_of(node)) for node in nodes}
    for node, storages in stored.items():
        for storage in storages:
            memory.setdefault(storage, []).append(node)
    for n in written:
        node = nodes[n]
        if (found := _out_of_place(node)) is None:
            continue
        target, args, kwargs = found
        aliases = [a for s in stored[node.args[0]] for a in memory[s] if at[a] < n]
        later = {u for a in aliases for u in a.users if a is not node.args[0] and at[u] > n}
        if later or any(a.op not in CALLS for a in aliases):
            continue
        before = value_of(node.args[0])
        given, named = cast("tuple[Any, Any]", map_arg((args, kwargs), value_of))
        with before.fake_mode:
            call = target if callable(target) else getattr(type(before), target)
            made: Any = call(*given, **named)
        if (made.dtype, made.shape, made.stride()) == (before.dtype, before.shape, before.stride()):
            node.args[0].replace_all_uses_with(node, lambda user, n=n: at[user] > n)
            node.target, node.args, node.kwargs = target, args, kwargs
            node.meta["example_value"] = made


def _out_of_place(node: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any]] | None:
    """The function and arguments that compute the same in a new tensor; None where a call writes nothing or more."""
    import torch

    args, kwargs = tuple(node.args), dict(node.kwargs)
    if not args or not hasattr(args[0], "op") or not hasattr(value_of(args[0]), "fake_mode"):
        return None
    if node.op == "call_method":
        name = called_name(node).removesuffix("_")
        is_other = name != node.target and callable(getattr(type(value_of(args[0])), name, None))
        return (name, args, kwargs) if is_other and not draws_random_numbers(node) else None
    if node.op != "call_function":
        return None
    if draws_random_numbers(node):
        return None
    if getattr(node.target, "namespace", "") == "aten":
        _, name, overload = *node.target._schema.name.split("::"), node.target._overloadname
        other = getattr(getattr(torch.ops.aten, name.removesuffix("_"), None), overload, None)
        return (other, args, kwargs) if name.endswith("_") and other is not None else None
    if argument_of(node, "inplace"):
        named = dict(zip(parameter_names(node.target)[1:], args[1:], strict=False))
        return node.target, args[:1], {**named, **kwargs, "inplace": False}
    return (_IN_PLACE[node.target], args, kwargs) if node.target in _IN_PLACE else None


def _storages(value: Any) -> set[int]:
    """The memory of a tensor, or of the tensors of a tuple."""
    if isinstance(value, tuple | list):
        return {s for v in value for s in _storages(v)}
    return {value.untyped_storage()._cdata} if hasattr(value, "untyped_storage") else set()
