# pyright: basic
# Most values are objects of torch, which pyright types only in part.
"""Integers that pack numbers of few bits, such as codes of weights, as bytes: regions read these, and words of them."""

from __future__ import annotations

from typing import Any

from prism_explore.entry.torch_nodes import CALLS, called_name, value_of
from prism_explore.entry.torch_shifts import SHIFTS
from prism_explore.ir.tensors import WORDS, dtype_name

_VIEWS = frozenset({"unsqueeze", "expand", "view", "reshape", "getitem", "permute", "transpose", "t", "contiguous"})
_ANDS = frozenset({"and_", "__and__", "bitwise_and"})


def read_words_as_bytes(graph: Any) -> None:
    """Let shifts and masks of a graph's integers read a view of their bytes, which torch takes before a region does.

    Args:
        graph: torch's, with an example value at each node.
    """
    import torch

    given = [n for n in graph.nodes if n.op in ("placeholder", "get_attr") and _are_words(n)]
    first = next((n for n in graph.nodes if n.op not in ("placeholder", "get_attr")), None)
    for node in given:
        readers = [u for u in node.users if _reads_bits(u, node)]
        if not readers or len(readers) < len(node.users):
            continue
        kind = value_of(node).dtype
        with graph.inserting_before(first):
            made = [graph.call_method("unsqueeze", (node, -1))]
            made.append(graph.call_method("view", (made[-1], torch.uint8)))
            made.append(graph.call_method("view", (made[-1], kind)))
            made.append(graph.call_method("squeeze", (made[-1], -1)))
        with value_of(node).fake_mode:
            apart = value_of(node).unsqueeze(-1)
            values = (
                apart,
                apart.view(torch.uint8),
                apart.view(torch.uint8).view(kind),
                value_of(node).view_as(apart[..., 0]),
            )
        for call, value in zip(made, values, strict=True):
            call.meta["example_value"] = value
        for reader in readers:
            reader.replace_input_with(node, made[-1])


def _are_words(node: Any) -> bool:
    value = value_of(node)
    return dtype_name(getattr(value, "dtype", "")) in WORDS and value.dim() > 0


def _reads_bits(reader: Any, node: Any) -> bool:
    """Whether a call reads integers only to shift or to mask them, under views."""
    if reader.op not in CALLS or reader.all_input_nodes[:1] != [node]:
        return False
    name = called_name(reader)
    if name in SHIFTS | _ANDS:
        return reader.args[0] is node
    is_view = name in _VIEWS and reader.all_input_nodes == [node]
    return is_view and bool(reader.users) and all(_reads_bits(u, reader) for u in reader.users)
