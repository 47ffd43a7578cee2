# pyright: basic
# Graphs of torch are untyped.
"""Tensors that a graph makes and then writes part by part, as one operator without writes.

    y = x.new_empty(2, 16)                  y = torch.cat([a, b], 1)
    y[:, :8] = a                        →
    y[:, 8:] = b

Keys of latent attention, rotary embeddings of neighbours and shifts by one position are so written. Parts with steps,
such as `y[:, ::2]` and `y[:, 1::2]`, are a `stack`. What is not written of a tensor of zeros is one more part. Regions
contain no write, and do not span one.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from prism_explore.entry.torch_nodes import CALLS, called_name, example_of, has_side_effect, value_of

_EMPTY = frozenset({"empty", "new_empty", "empty_like"})
_ZEROS = frozenset({"zeros", "new_zeros", "zeros_like"})


@dataclass(frozen=True, slots=True)
class _Write:
    """One part that is written."""

    along: int
    """The dim of which it is a part."""
    positions: range
    """In this dim."""
    source: Any
    """The node of what is written."""
    call: Any
    """The node that writes."""
    nodes: tuple[Any, ...]
    """What is left out with the write, users first."""


def join_parts(graph: Any) -> None:
    """Replace such tensors in place; the graph computes the same.

    Args:
        graph: torch's, with an example value at each node.
    """
    for node in list(graph.nodes):
        is_made = node.op in CALLS and called_name(node) in _EMPTY | _ZEROS and hasattr(value_of(node), "fake_mode")
        if is_made and (writes := _writes(node)):
            _join(graph, node, writes)


def _writes(made: Any) -> list[_Write]:
    """All writes to a tensor, by position, if nothing reads it before and nothing else is written meanwhile."""
    found: list[_Write] = []
    reads: list[Any] = []
    for user in made.users:
        write = _write_of(made, user)
        found += [write] if write is not None else []
        reads += [user] if write is None else []
    if not found or len({w.along for w in found}) > 1:
        return []
    calls = {w.call for w in found}
    first, last = min(calls), max(calls)
    between = first
    while between is not last:
        if has_side_effect(between) and between not in calls:
            return []
        between = between.next
    return sorted(found, key=lambda w: w.positions.start) if all(last < read for read in reads) else []


def _write_of(made: Any, user: Any) -> _Write | None:
    """The write that a user of a tensor is, or is a view for; None where it is another user."""
    is_index = user.target in (operator.getitem, operator.setitem) and user.args[0] is made
    part = _part(user.args[1], tuple(value_of(made).shape)) if is_index else None
    if part is None:
        return None
    if user.target is operator.setitem:
        call, source, nodes = user, user.args[2], (user,)
    elif len(user.users) == 1:
        (call,) = user.users
        is_copy = call.op == "call_method" and call.target == "copy_" and call.args[0] is user
        if not is_copy or call.users or len(call.args) != 2 or call.kwargs:
            return None
        source, nodes = call.args[1], (call, user)
    else:
        return None
    is_given = hasattr(source, "op") and hasattr(value_of(source), "dtype") and source is not made
    return _Write(*part, source, call, nodes) if is_given and value_of(source).device == value_of(made).device else None


def _part(index: Any, shape: Sequence[Any]) -> tuple[int, range] | None:
    """The dim and the positions in it that an index selects; None where it is no slice of one dim."""
    given = index if isinstance(index, tuple) else (index,)
    if any(not isinstance(i, slice) and i is not Ellipsis for i in given) or given.count(Ellipsis) > 1:
        return None
    missing = (slice(None),) * (len(shape) - len(given) + given.count(Ellipsis))
    at = given.index(Ellipsis) if Ellipsis in given else len(given)
    slices = (*given[:at], *missing, *given[at + 1 :])
    cut = [n for n, s in enumerate(slices) if s != slice(None)]
    if len(cut) != 1 or not all(isinstance(size, int) for size in shape):
        return None
    bounds = slices[cut[0]]
    if any(not isinstance(b, int | None) for b in (bounds.start, bounds.stop, bounds.step)):
        return None
    return cut[0], range(*bounds.indices(shape[cut[0]]))


def _join(graph: Any, made: Any, writes: Sequence[_Write]) -> None:
    """Replace a tensor by its parts, if they are all of it, each element once."""
    import torch

    value, along = value_of(made), writes[0].along
    is_stack = _interleave(writes, value.shape[along])
    sources = writes if is_stack else _in_a_row(writes, value.shape[along], called_name(made) in _ZEROS)
    before = set(graph.nodes)
    with graph.inserting_before(max(w.call for w in writes)):
        parts = [_part_node(graph, s, value, along) for s in sources]
        if is_stack:
            stacked = graph.call_function(torch.stack, (parts, along + 1))
            joined = graph.call_method("flatten", (stacked, along, along + 1))
        elif parts:
            joined = graph.call_function(torch.cat, (parts, along))
        else:
            return
    new = [n for n in graph.nodes if n not in before]
    with value.fake_mode:
        for node in new:
            node.meta["example_value"] = example_of(node)
    found = value_of(joined)
    if (found.dtype, found.shape, found.stride()) == (value.dtype, value.shape, value.stride()):
        made.replace_all_uses_with(joined)
        left_out = [*(n for w in writes for n in w.nodes), made]
    else:
        left_out = new[::-1]
    for node in left_out:
        graph.erase_node(node)


def _interleave(writes: Sequence[_Write], size: int) -> bool:
    """Whether each write is of every n-th position, and all together are all positions."""
    count = len(writes)
    return count > 1 and size % count == 0 and all(w.positions == range(n, size, count) for n, w in enumerate(writes))


def _in_a_row(writes: Sequence[_Write], size: int, has_zeros: bool) -> list[_Write | range]:
    """The writes in order, with the positions between them; none where they overlap, or what is between is unknown."""
    found: list[_Write | range] = []
    end = 0
    for write in writes:
        if write.positions.step != 1 or write.positions.start < end:
            return []
        found += [range(end, write.positions.start), write] if write.positions.start > end else [write]
        end = write.positions.stop
    found += [range(end, size)] if end < size else []
    return found if has_zeros or all(isinstance(part, _Write) for part in found) else []


def _part_node(graph: Any, part: _Write | range, value: Any, along: int) -> Any:
    """The node of a part: what is written, in the shape and dtype of what it is written to; or zeros."""
    import torch

    positions = part if isinstance(part, range) else part.positions
    sizes = [len(positions) if n == along else size for n, size in enumerate(value.shape)]
    if isinstance(part, range):
        return graph.call_function(torch.zeros, (sizes,), {"dtype": value.dtype, "device": value.device})
    source, given = part.source, value_of(part.source)
    if given.dtype != value.dtype:
        source = graph.call_method("to", (source, value.dtype))
    return source if list(given.shape) == sizes else graph.call_method("expand", (source, *sizes))
