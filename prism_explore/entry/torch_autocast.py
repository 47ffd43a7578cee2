# pyright: basic
# Graphs of torch are untyped.
"""The casts of autocast, as operators of the graph, so that regions can contain what runs under autocast.

Under autocast torch casts the operands of some functions, such as products to bfloat16 and losses to float32. Which
ones, torch itself shows: a call is run on tensors without data, once under autocast, and once without on operands that
were cast before. Where both run the same functions on the same dtypes, the casts are written into the graph. They
change nothing there, because autocast finds the operands cast. What casts between its own steps stays as it is.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

from prism_explore.entry.torch_nodes import CALLS, call_again, called_name, has_side_effect, value_of

ENTER, EXIT = "_enter_autocast", "_exit_autocast"
_NAMED = "prism_casts_are_named"


def is_casting() -> bool:
    """Whether autocast is on where torch compiles."""
    import torch

    return any(torch.is_autocast_enabled(device) for device in ("cpu", "cuda"))


def name_casts(graph: Any) -> None:
    """Write the casts of autocast on the CPU into a graph, which computes the same.

    Args:
        graph: torch's, with an example value at each node.
    """
    made: dict[tuple[Any, Any], Any] = {}
    dtypes = dict(under_autocast(graph))
    for node in list(graph.nodes):
        if has_side_effect(node):
            made.clear()  # what was cast before may be written
        if node in dtypes:
            _name_casts_of(node, dtypes[node], made)


def _name_casts_of(node: Any, dtype: Any, made: dict[tuple[Any, Any], Any]) -> None:
    """Cast a call's operands before it, by a cast that was made already if there is one."""
    if node.target is operator.getitem and isinstance(value_of(node.args[0]), tuple | list):
        node.meta[_NAMED] = has_named_casts(node.args[0])
        return
    tensors = [i for i in node.all_input_nodes if hasattr(value_of(i), "fake_mode")]
    if not tensors or not all(value_of(i).is_cpu for i in tensors):
        return
    to = _cast_before(node, dtype)
    if to is None:
        return
    node.meta[_NAMED] = True
    for i in tensors if to is not _AS_IT_IS else ():
        if value_of(i).is_floating_point() and value_of(i).dtype != to:
            if (i, to) not in made:
                made[i, to] = _cast(node, i, to)
            node.replace_input_with(i, made[i, to])


def has_named_casts(node: Any) -> bool:
    """Whether autocast has no effect on a node, because all its casts are nodes or it reads no tensor."""
    return node.meta.get(_NAMED, False) or not any(hasattr(value_of(i), "dtype") for i in node.all_input_nodes)


_AS_IT_IS = object()


def autocast_to(dtype: Any) -> Any:
    """Autocast on the CPU to a dtype, or off if it is None, whatever is on around it.

    Args:
        dtype: torch's.
    """
    import torch

    return torch.autocast("cpu", dtype=dtype or torch.bfloat16, enabled=dtype is not None, cache_enabled=False)


def under_autocast(graph: Any) -> Iterator[tuple[Any, Any]]:
    """The calls that run under autocast for the CPU and for no other device, each with autocast's dtype.

    Args:
        graph: torch's.
    """
    import torch

    dtype = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else None
    modes = [("cpu", dtype)] + [("cuda", None)] * torch.is_autocast_enabled("cuda")
    entered: list[Any] = []
    for node in graph.nodes:
        name = called_name(node)
        if name == ENTER:
            device, dtype, enabled, *_ = (*node.args, True)
            modes.append((device, (dtype or torch.get_autocast_dtype(device)) if enabled else None))
            entered.append(node)
        elif name == EXIT:
            if not entered or entered.pop() is not node.args[0]:
                return
            modes.pop()
        else:
            own = next(found for device, found in reversed(modes) if device == "cpu")
            if node.op in CALLS and own is not None and all(device == "cpu" for device, _ in modes):
                yield node, own


def _cast_before(node: Any, dtype: Any) -> Any:
    """The dtype that its operands can be cast to before; `_AS_IT_IS` where none need be, None where no dtype does."""
    import torch

    wanted = _functions(node, _AS_IT_IS, dtype)
    if wanted is None:
        return None
    choices = (_AS_IT_IS,) if has_side_effect(node) else (_AS_IT_IS, dtype, torch.float32)
    return next((to for to in choices if _functions(node, to, None) == wanted), None)


def _functions(node: Any, to: Any, autocast: Any) -> list[Any] | None:
    """The functions that a call runs, with the dtypes and shapes that they read and return; None if it casts between.

    Args:
        node: the call.
        to: what its operands are cast to before.
        autocast: the dtype of autocast; None for none.
    """
    import torch
    from torch.fx.node import map_arg
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    def form(values: Any) -> Any:
        return [(v.dtype, tuple(v.shape)) if isinstance(v, torch.Tensor) else str(v) for v in tree_leaves(values)]

    found: list[Any] = []
    casts_late = False

    class Recorder(TorchDispatchMode):
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            nonlocal casts_late
            made = function(*args, **(kwargs or {}))
            if function is torch.ops.aten._to_copy.default:
                casts_late |= bool(found)
            elif not function.is_view and function.namespace != "prim":  # those ask for a device
                found.append((str(function), form((args, kwargs or {})), form(made)))
            return made

    def given(n: Any) -> Any:
        x = value_of(n)
        is_cast = to is not _AS_IT_IS and isinstance(x, torch.Tensor) and x.is_floating_point() and x.dtype != to
        return x.to(to) if is_cast else x

    try:
        mode = next(value_of(i).fake_mode for i in node.all_input_nodes if hasattr(value_of(i), "fake_mode"))
        with mode, autocast_to(autocast):
            args, kwargs = map_arg((node.args, node.kwargs), given)
            with Recorder():
                result = call_again(node, args, kwargs)
    except Exception:  # whatever torch raises where the dtypes do not fit
        return None
    return None if casts_late else [*found, form(result)]


def _cast(node: Any, operand: Any, to: Any) -> Any:
    with node.graph.inserting_before(node):
        made = node.graph.call_method("to", (operand, to))
    with value_of(operand).fake_mode:
        made.meta["example_value"] = value_of(operand).to(to)
    made.meta[_NAMED] = True
    return made
