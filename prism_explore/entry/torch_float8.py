# pyright: basic
# Most values are objects of torch, which pyright types only in part.
"""8-bit floats that a graph casts, as bytes: regions read these, and have the cast as a table of their floats."""

from __future__ import annotations

from typing import Any

from prism_explore.entry.torch_nodes import CALLS, called_name, value_of
from prism_explore.ir.tabulated import FLOAT8_FORMATS
from prism_explore.ir.tensors import dtype_name

_CASTS = frozenset({"to", "float", "bfloat16", "half"})


def read_as_bytes(graph: Any) -> None:
    """Let casts of a graph's 8-bit floats read a view of their bytes, which torch takes before a region does.

    Args:
        graph: torch's, with an example value at each node.
    """
    import torch

    given = [n for n in graph.nodes if n.op in ("placeholder", "get_attr") and _is_float8(n)]
    for node in given:
        casts = [u for u in node.users if u.op in CALLS and called_name(u) in _CASTS and u.all_input_nodes == [node]]
        if not casts:
            continue
        kind = value_of(node).dtype
        with graph.inserting_before(next(n for n in graph.nodes if n.op not in ("placeholder", "get_attr"))):
            of_bytes = graph.call_method("view", (node, torch.uint8))
            floats = graph.call_method("view", (of_bytes, kind))
        with value_of(node).fake_mode:
            of_bytes.meta["example_value"] = value_of(node).view(torch.uint8)
            floats.meta["example_value"] = of_bytes.meta["example_value"].view(kind)
        for cast in casts:
            cast.replace_input_with(node, floats)


def _is_float8(node: Any) -> bool:
    return dtype_name(getattr(value_of(node), "dtype", "")) in FLOAT8_FORMATS
