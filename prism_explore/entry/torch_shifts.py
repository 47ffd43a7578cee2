# pyright: basic
# Most values are objects of torch, which pyright types only in part.
"""Small tensors that a module holds, as numbers: amounts of shifts, and codebooks of weights of 4 or 8 bits.

What a shift by a tensor or a lookup at computed positions is depends on the tensor's numbers, as the sizes of a result
depend on numbers that a call gets: regions have them as constants. A call for which the tensor has other numbers runs
torch's code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from prism_explore.entry.torch_nodes import CALLS, called_name, value_of
from prism_explore.ir.tabulated import MOST_ENTRIES
from prism_explore.ir.tensors import dtype_name

SHIFTS = frozenset({"rshift", "lshift", "__rshift__", "__lshift__", "bitwise_right_shift", "bitwise_left_shift"})
MOST_AMOUNTS = 64
"""Of a tensor whose numbers are read."""
_BYTES = frozenset({"uint8", "int8"})
_CODES = frozenset({"float32", "bfloat16", "float16"})
_SAME_NUMBERS = frozenset(
    {
        *("to", "int", "long", "short", "char", "byte", "float", "bfloat16", "half"),
        *("view", "reshape", "unsqueeze", "squeeze", "expand", "getitem"),
    }
)


class KnownAmounts:
    """The numbers of a tensor in the call at which torch compiles."""

    def __init__(self, position: int, tensor: Any) -> None:
        """`position`: of the tensor among the arguments of the graph."""
        self.position = position
        self._numbers = tensor.clone()
        self._seen: tuple[Any, int] | None = None
        """A tensor that has the numbers, and the version of it that has."""

    def are_those_of(self, tensor: Any) -> bool:
        """Whether a tensor has these numbers; its memory is read only where it may have changed."""
        import torch

        version = -1 if tensor.is_inference() else tensor._version
        if self._seen is not None and self._seen[0] is tensor and self._seen[1] == version != -1:
            return True
        is_same = torch.equal(self._numbers, tensor)
        self._seen = (tensor, version) if is_same else None
        return is_same


def name_amounts(graph: Any, examples: Sequence[Any]) -> tuple[KnownAmounts, ...]:
    """Write the numbers of tensors into a graph by which integers are shifted, or that are codebooks of bytes.

    Args:
        graph: torch's, with an example value at each node.
        examples: its arguments.

    Returns:
        The tensors whose numbers are in the graph now.
    """
    placeholders = [n for n in graph.nodes if n.op == "placeholder"]
    found: list[KnownAmounts] = []
    for position, (node, tensor) in enumerate(zip(placeholders, examples, strict=True)):
        is_shift = _is_small_table(tensor) and _is_only(node, is_amount)
        if is_shift or (_is_codebook(tensor) and _is_only(node, is_code)):
            first = next(n for n in graph.nodes if n.op not in ("placeholder", "get_attr"))
            write_numbers(node, tensor, before=first)
            found.append(KnownAmounts(position, tensor))
    return tuple(found)


def unless_changed(
    known: Sequence[KnownAmounts], chosen: Callable[..., Any], otherwise: Callable[[], Callable[..., Any]]
) -> Callable[..., Any]:
    """A graph's code for calls in which the tensors have the numbers that it was made for.

    Args:
        known: the tensors.
        chosen: the code.
        otherwise: returns what runs other calls.
    """

    def call(*given: Any) -> Any:
        same = all(k.are_those_of(given[k.position]) for k in known)
        return chosen(*given) if same else otherwise()(*given)

    return call if known else chosen


def is_amount(node: Any, reader: Any) -> bool:
    """Whether a node reads another only as the amount of a shift."""
    return called_name(reader) in SHIFTS and len(reader.args) == 2 and reader.args[0] is not node


def is_code(node: Any, reader: Any) -> bool:
    """Whether a node reads another only as the numbers at positions that are computed of bytes."""
    match called_name(reader):
        case "getitem":
            table, places = reader.args
        case "index_select" if len(reader.args) == 3:
            table, _, places = reader.args
        case "embedding" if len(reader.args) > 1:
            places, table = reader.args[:2]
        case _:
            return False
    places = [p for p in (places if isinstance(places, tuple | list) else (places,)) if hasattr(p, "op")]
    return table is node and bool(places) and all(p is not node and _is_of_bytes(p) for p in places)


def _is_of_bytes(node: Any) -> bool:
    """Whether a call computes integers of bytes."""
    seen, left = {node}, [node]
    reads_bytes = False
    while left:
        source = left.pop()
        kind = dtype_name(getattr(value_of(source), "dtype", ""))
        if source.op not in CALLS or kind in _CODES:
            if kind not in _BYTES:
                return False
            reads_bytes = True
            continue
        left += [n for n in source.all_input_nodes if n not in seen]
        seen.update(source.all_input_nodes)
    return reads_bytes and node.op in CALLS


def _is_codebook(tensor: Any) -> bool:
    import torch
    from torch._subclasses.fake_tensor import FakeTensor

    if not isinstance(tensor, torch.Tensor) or isinstance(tensor, FakeTensor) or tensor.requires_grad:
        return False
    is_small = 1 < tensor.numel() <= MOST_ENTRIES and tensor.numel() == max(tensor.shape)
    return dtype_name(tensor.dtype) in _CODES and tensor.device.type == "cpu" and is_small


def _is_small_table(tensor: Any) -> bool:
    import torch
    from torch._subclasses.fake_tensor import FakeTensor

    if not isinstance(tensor, torch.Tensor) or isinstance(tensor, FakeTensor):
        return False
    is_integer = not (tensor.is_floating_point() or tensor.is_complex() or tensor.dtype == torch.bool)
    return is_integer and tensor.device.type == "cpu" and 0 < tensor.numel() <= MOST_AMOUNTS


def _is_only(node: Any, is_read_so: Callable[[Any, Any], bool]) -> bool:
    """Whether the numbers of a tensor are only used as amounts of shifts, or as codes, under views and casts."""
    left, is_read = [node], False
    while left:
        source = left.pop()
        for reader in source.users:
            if is_read_so(source, reader):
                is_read = True
            elif reader.op in CALLS and called_name(reader) in _SAME_NUMBERS and reader.all_input_nodes == [source]:
                left.append(reader)
            else:
                return False
    return is_read


def write_numbers(node: Any, tensor: Any, before: Any) -> None:
    """Let the readers of a node read a tensor that is made of its numbers.

    Args:
        node: with an example value.
        tensor: with the numbers.
        before: the node before which the tensor is made.
    """
    import torch

    with node.graph.inserting_before(before):
        made = node.graph.call_function(torch.tensor, (tensor.tolist(),), {"dtype": tensor.dtype})
    with value_of(node).fake_mode:
        made.meta["example_value"] = torch.empty(tuple(tensor.shape), dtype=tensor.dtype)
    node.replace_all_uses_with(made)
