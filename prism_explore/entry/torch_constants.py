# pyright: basic
# Most values are objects of torch, which pyright types only in part.
"""What a graph computes of no input, such as positions, slopes of ALiBi and masks: computed once, before it runs.

The default compiler folds constants as well, but only those that are one number everywhere. Here

* what is one number everywhere becomes `torch.full`, which a region makes anew; its operators know a mask by it;
* amounts of shifts become `torch.tensor` with the numbers, which a region makes anew, because its program has them;
* anything else that needs a table, such as `arange`, becomes a tensor of the module.

Nothing is folded that a call returns or writes, also not a view of it: each call must have memory of its own for that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any

from prism_explore.entry.torch_nodes import (
    CALLS,
    CONSTANTS,
    WHOLE,
    call_again,
    called_name,
    draws_random_numbers,
    elements_of,
    has_side_effect,
    value_of,
)
from prism_explore.entry.torch_shifts import MOST_AMOUNTS, is_amount, is_code, write_numbers
from prism_explore.ir.tabulated import MOST_ENTRIES
from prism_explore.ir.tensors import dtype_name

_MADE = CONSTANTS | {"tensor", "scalar_tensor", "arange", "linspace", "logspace", "eye", "tril_indices", "triu_indices"}
"""Functions that make a tensor of numbers."""
MOST_ELEMENTS = 2**20
"""Most elements of a tensor that is folded, or of one on the way to it."""
_TABLE = "prism_table_"
_FILL = {
    **{f"{start}zeros{end}": 0 for start in ("", "new_") for end in ("", "_like")},
    **{f"{start}ones{end}": 1 for start in ("", "new_") for end in ("", "_like")},
}
_FORM = {"dtype", "device", "layout", "pin_memory", "requires_grad", "memory_format", "size", "fill_value"}


def fold_constants(graph: Any, *, for_regions: bool = True) -> None:
    """Compute what depends on no input, and write it into a graph, which then computes the same.

    Args:
        graph: torch's, with an example value at each node and a module of its own.
        for_regions: whether regions may make the numbers of a small table anew; otherwise each is a tensor.
    """
    import torch
    from torch._subclasses.fake_tensor import unset_fake_temporarily

    _name_fills(graph)
    constant = _constants(graph)
    if not constant:
        return
    values: dict[Any, Any] = {}
    with ExitStack() as stack:
        stack.enter_context(unset_fake_temporarily())
        stack.enter_context(torch.inference_mode(False))
        stack.enter_context(torch.no_grad())
        stack.enter_context(torch.autocast("cpu", enabled=False))
        for node in constant:
            value = _computed(node, values)
            if _is_form_of(value, value_of(node)):
                values[node] = value
    for node in [n for n in values if torch.is_tensor(values[n]) and any(u not in values for u in n.users)]:
        if for_regions and _are_amounts(node, values):
            if called_name(node) != "tensor":
                write_numbers(node, values[node], before=node)
        else:
            _write(node, values[node], needs_table=any(m not in CONSTANTS for m in _origins(node)))
    for node in reversed(constant):
        if not node.users:
            graph.erase_node(node)


def _name_fills(graph: Any) -> None:
    """Let functions that read only the form of a tensor, such as `zeros_like`, take its sizes if those are numbers."""
    import torch

    for node in graph.nodes:
        fill = _fill_of(node)
        made = value_of(node)
        if fill is None or not _is_plain(made) or not made.is_contiguous() or made.requires_grad:
            continue
        node.op, node.target, node.args = "call_function", torch.full, (tuple(made.shape), fill)
        node.kwargs = {"dtype": made.dtype, "device": made.device}


def _fill_of(node: Any) -> Any:
    """The number that a function writes everywhere into a tensor of the form of another; None where it is none."""
    name = called_name(node)
    if not node.all_input_nodes or node.kwargs.keys() - _FORM:
        return None
    if name in ("full_like", "new_full"):
        fill = node.kwargs.get("fill_value", node.args[-1])
        return fill if isinstance(fill, int | float) else None
    return _FILL.get(name) if name.startswith("new_") or name.endswith("_like") else None


def _constants(graph: Any) -> list[Any]:
    """The calls that compute of no input what can be folded, in graph order."""
    shared = _written_or_returned(graph)
    found: dict[Any, None] = {}
    for node in graph.nodes:
        name = called_name(node)
        if node.op not in CALLS or has_side_effect(node) or draws_random_numbers(node):
            continue
        read = node.all_input_nodes
        is_known = name in _MADE if not read else all(n in found for n in read) and _is_of_torch(node)
        made = value_of(node)
        values = made if isinstance(made, tuple | list) else (made,)
        if is_known and all(_is_plain(v) and not v.requires_grad for v in values) and not _memory(made) & shared:
            found[node] = None
    return list(found)


def _is_of_torch(node: Any) -> bool:
    """Whether a call is none of an operator that someone registered, of which nobody knows whether it is a function."""
    module = getattr(node.target, "__module__", None) or ""
    return node.op == "call_method" or (module.partition(".")[0] in ("torch", "_operator") and "_ops" not in module)


def _is_plain(value: Any) -> bool:
    """Whether a value is a tensor in the memory of the CPU, of sizes that are numbers, and not too large."""
    import torch

    if not torch.is_tensor(value) or value.layout is not torch.strided or value.device.type != "cpu":
        return False
    return all(isinstance(n, int) for n in value.shape) and value.numel() <= MOST_ELEMENTS


def _written_or_returned(graph: Any) -> set[int]:
    """The memory that a call writes or returns."""
    readers = [n for n in graph.nodes if n.op == "output" or has_side_effect(n)]
    return {m for n in readers for i in n.all_input_nodes for m in _memory(value_of(i))}


def _memory(value: Any) -> set[int]:
    values = value if isinstance(value, tuple | list) else (value,)
    return {v.untyped_storage()._cdata for v in values if hasattr(v, "untyped_storage")}


def _computed(node: Any, values: dict[Any, Any]) -> Any:
    """What a call returns; None where it reads what is not known."""
    from torch.fx.node import map_arg

    if any(n not in values for n in node.all_input_nodes):
        return None
    args, kwargs = map_arg((node.args, dict(node.kwargs)), values.__getitem__)
    return call_again(node, args, kwargs)


def _is_form_of(value: Any, example: Any) -> bool:
    """Whether tensors have the dtypes, sizes and strides of the example value."""
    if isinstance(example, tuple | list):
        is_several = isinstance(value, tuple | list) and len(value) == len(example)
        return is_several and all(map(_is_form_of, value, example))
    forms = [(v.dtype, tuple(v.shape), v.stride()) for v in (value, example) if hasattr(v, "stride")]
    return len(forms) == 2 and forms[0] == forms[1]


def _origins(node: Any) -> Iterator[str]:
    """The functions that make what a constant is computed of."""
    seen, open_nodes = {node}, [node]
    while open_nodes:
        read = open_nodes.pop()
        if not read.all_input_nodes:
            yield called_name(read)
        open_nodes += [n for n in read.all_input_nodes if n not in seen]
        seen.update(read.all_input_nodes)


def _are_amounts(node: Any, values: Mapping[Any, Any]) -> bool:
    """Whether only shifts read a small table of integers, as their amounts, or only lookups a codebook."""
    readers = [u for u in node.users if u not in values]
    if value_of(node).is_floating_point():
        return elements_of(node) <= MOST_ENTRIES and all(is_code(node, u) for u in readers)
    is_whole = dtype_name(value_of(node).dtype) in WHOLE
    return is_whole and elements_of(node) <= MOST_AMOUNTS and all(is_amount(node, u) for u in readers)


def _write(node: Any, value: Any, needs_table: bool) -> None:
    """Let the readers of a constant read a tensor of one number, or a table."""
    import torch

    graph = node.graph
    is_uniform = elements_of(node) and not value.is_complex() and bool((value == value.flatten()[0]).all())
    with graph.inserting_before(node):
        if is_uniform and value.is_contiguous() and called_name(node) not in CONSTANTS:
            kwargs = {"dtype": value.dtype, "device": value.device}
            made = graph.call_function(torch.full, (tuple(value.shape), value.flatten()[0].item()), kwargs)
        elif not is_uniform and needs_table:
            taken = dict(graph.owning_module.named_buffers())
            name = next(name for n in range(len(taken) + 1) if (name := f"{_TABLE}{n}") not in taken)
            graph.owning_module.register_buffer(name, value, persistent=False)  # a copy has other strides if expanded
            made = graph.get_attr(name)
        else:
            return
    made.meta["example_value"] = value_of(node)
    node.replace_all_uses_with(made)
