# pyright: basic
# Most values are objects of torch, which pyright types only in part.
"""Graphs of torch in a form that regions can contain.

* An operand of `cat` without elements is left out. Rotary embeddings of a part of each head have one, where the part is
  the whole.
* `torch.vmap` over elementwise operators is the operators themselves, on tensors with one dim more. Associative scans
  have them.
* An operator that writes its result into its operand, such as `nn.ReLU(inplace=True)`, makes a new tensor instead if
  the graph made the operand and reads neither it nor a view of it afterwards. Masks of `nn.Transformer`, sums of layers
  and activations of networks for images are so written.
* A tensor that is made empty and written part by part is the `cat` of its parts (`entry/torch_parts.py`).
* What nothing reads is left out, if it cannot raise. The last step of a scan has some, and models with options compute
  rotary embeddings that they do not use.
* `x.type_as(y)` is a cast to the dtype of y, and `x.expand_as(y)` an expansion to its sizes, where these are numbers: a
  region with one of them does not read y.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
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

ENTER_VMAP, LEAVE_VMAP = "_vmap_increment_nesting", "_vmap_decrement_nesting"
_ADD, _REMOVE = "_add_batch_dim", "_remove_batch_dim"
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
_IN_PLACE_METHODS = frozenset(f"{name}_" for name in (_ELEMENTWISE | {"clamp", "masked_fill"}))


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
    entered: list[int] = []
    nodes = list(graph.nodes)
    for n, node in enumerate(nodes):
        if called_name(node) == ENTER_VMAP:
            entered.append(n)
        elif called_name(node) == LEAVE_VMAP and entered:
            start = entered.pop()
            if not entered and _can_be_unwrapped(nodes[start + 1 : n]):
                _unwrap(nodes[start : n + 1])
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
    written = {n: call for n, node in enumerate(nodes) if (call := _out_of_place(node)) is not None}
    if not written:
        return
    at = {node: n for n, node in enumerate(nodes)}
    memory: dict[int, list[Any]] = {}
    stored = {node: _storages(value_of(node)) for node in nodes}
    for node, storages in stored.items():
        for storage in storages:
            memory.setdefault(storage, []).append(node)
    for n, (target, args, kwargs) in written.items():
        node = nodes[n]
        aliases = [a for s in stored[node.args[0]] for a in memory[s] if at[a] < n]
        if any(a.op not in CALLS or any(at[user] > n for user in a.users) for a in aliases):
            continue
        before = value_of(node.args[0])
        given, named = cast("tuple[Any, Any]", map_arg((args, kwargs), value_of))
        with before.fake_mode:
            call = target if callable(target) else getattr(type(before), target)
            made: Any = call(*given, **named)
        if (made.dtype, made.shape, made.stride()) == (before.dtype, before.shape, before.stride()):
            node.target, node.args, node.kwargs = target, args, kwargs
            node.meta["example_value"] = made


def _out_of_place(node: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any]] | None:
    """The function and arguments that compute the same in a new tensor; None where a call writes nothing or more."""
    args, kwargs = tuple(node.args), dict(node.kwargs)
    if not args or not hasattr(args[0], "op") or not hasattr(value_of(args[0]), "fake_mode"):
        return None
    if node.op == "call_method":
        return (node.target.removesuffix("_"), args, kwargs) if node.target in _IN_PLACE_METHODS else None
    if node.op != "call_function":
        return None
    if argument_of(node, "inplace") and not draws_random_numbers(node):
        named = dict(zip(parameter_names(node.target)[1:], args[1:], strict=False))
        return node.target, args[:1], {**named, **kwargs, "inplace": False}
    return (_IN_PLACE[node.target], args, kwargs) if node.target in _IN_PLACE else None


def _storages(value: Any) -> set[int]:
    """The memory of a tensor, or of the tensors of a tuple."""
    if isinstance(value, tuple | list):
        return {s for v in value for s in _storages(v)}
    return {value.untyped_storage()._cdata} if hasattr(value, "untyped_storage") else set()


def _can_be_unwrapped(body: Sequence[Any]) -> bool:
    """Whether all nodes of a vmap are elementwise on tensors of equal shapes, with the batch as the first dim."""
    batched: set[Any] = set()
    for node in body:
        name = called_name(node)
        read = node.all_input_nodes
        if name == _ADD:
            if node.args[1] != 0:
                return False
            batched.add(node)
        elif name == _REMOVE:
            if node.args[3] != 0 or node.args[0] not in batched:
                return False
        elif name in _ELEMENTWISE:
            shapes = {tuple(value_of(n).shape) for n in (*read, node)}
            if node.kwargs or len(shapes) != 1 or not all(n in batched and is_float(n) for n in read):
                return False
            batched.add(node)
        else:
            return False
    return not any(user not in body for node in batched for user in node.users)


def _unwrap(nodes: Sequence[Any]) -> None:
    """Replace the nodes of a vmap by those of its body."""
    for node in nodes:
        if called_name(node) in (_ADD, _REMOVE):
            node.replace_all_uses_with(node.args[0])
        elif called_name(node) in _ELEMENTWISE:
            given = [value_of(a) if hasattr(a, "op") else a for a in node.args]
            with next(g.fake_mode for g in given if hasattr(g, "fake_mode")):
                node.meta["example_value"] = (
                    getattr(given[0], node.target)(*given[1:]) if node.op == "call_method" else node.target(*given)
                )
    for node in reversed(nodes):
        if not node.users:
            node.graph.erase_node(node)
