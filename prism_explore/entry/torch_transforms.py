# pyright: basic
# Most values are objects of torch, which pyright types only in part.
"""Function transforms of `torch.func` in a graph of torch, such as `vmap`, `grad` and `jvp`, as the operators they run.

Between the nodes that begin and end a transform, tensors have a dim that is not shown, or record derivatives. No such
node means the same alone, so no region can contain one, and none may be left out. Here the nodes between are run on
tensors without data, and the ATen operators that torch runs for them take their place. Masks of transformers,
associative scans, gradients per sample and Hessians are so written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from prism_explore.entry.torch_autocast import ENTER, is_casting
from prism_explore.entry.torch_nodes import CALLS, call_again, called_name, value_of
from prism_explore.frontend.derivative_formulas import torch_formulas
from prism_explore.frontend.torch_tracing import transforms_ended

_BEGIN, _END = "_increment_nesting", "_decrement_nesting"
_AROUND = {"lazy_load_decompositions", "_saved_tensors_hooks_disable", "_saved_tensors_hooks_enable"}
"""What torch calls before and after a transform, for its sake only."""


def expand_transforms(graph: Any) -> str:
    """Replace the function transforms of a graph, in place; it computes the same.

    Args:
        graph: torch's, with an example value at each node.

    Returns:
        Why it is not possible; the graph is then unchanged or has fewer transforms. Empty where none is left.
    """
    segments = list(_segments(graph))
    if not segments:
        return ""
    if is_casting() or any(called_name(n) == ENTER for n in graph.nodes):
        return "it runs a transform of torch.func under autocast"
    for segment in segments:
        try:
            _expand(graph, segment)
        except Exception as error:  # whatever torch raises where it cannot run the nodes on tensors without data
            said = f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"
            return f"it runs a transform of torch.func that cannot be written as operators: {said}"
    for node in reversed(graph.nodes):
        if called_name(node) in _AROUND and not node.users:
            graph.erase_node(node)
    graph.lint()
    return ""


def _segments(graph: Any) -> Iterator[list[Any]]:
    """The nodes of each outermost transform, from the one that begins it to the one that ends it.

    What a transform leaves to a later one, as `vjp` leaves what its derivative is computed from, joins the two.
    """
    depth, segment = 0, list[Any]()
    for node in graph.nodes:
        name = called_name(node)
        depth += name.endswith(_BEGIN)
        if (depth or segment) and node.op in CALLS:
            segment.append(node)
        depth -= name.endswith(_END)
        if not depth and segment and not any(_records(value_of(n)) for n in _results(segment)):
            yield segment
            segment = []
    if segment:
        yield segment


def _results(segment: Sequence[Any]) -> list[Any]:
    inside = set(segment)
    return [n for n in segment if any(u not in inside for u in n.users)]


def _records(value: Any) -> bool:
    """Whether a value is a tensor that a transform still follows."""
    import torch
    from torch._C._functorch import is_functorch_wrapped_tensor

    return torch.is_tensor(value) and (value.requires_grad or is_functorch_wrapped_tensor(value))


def _expand(graph: Any, segment: Sequence[Any]) -> None:
    from torch._guards import TracingContext, tracing
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch.fx.node import map_arg

    inside = set(segment)
    inputs = list(dict.fromkeys(i for n in segment for i in n.all_input_nodes if i not in inside))
    results = _results(segment)

    def run(*given: Any) -> list[Any]:
        known = dict(zip(inputs, given, strict=True))
        for node in segment:
            known[node] = call_again(node, *map_arg((node.args, dict(node.kwargs)), known.__getitem__))
        return [known[n] for n in results]

    values = [value_of(i) for i in inputs]
    mode = next((v.fake_mode for v in values if hasattr(v, "fake_mode")), None)
    if mode is None:
        raise ValueError("it reads no tensor")
    with tracing(TracingContext(mode)), transforms_ended(), mode:
        traced = make_fx(run, decomposition_table=torch_formulas())(*values)
    traced.graph.eliminate_dead_code()
    if any(n.op not in ("placeholder", "output", *CALLS) for n in traced.graph.nodes):
        raise ValueError("it makes a tensor of numbers")
    made = dict(zip((n for n in traced.graph.nodes if n.op == "placeholder"), inputs, strict=True))
    with graph.inserting_before(segment[-1].next):
        for node in traced.graph.nodes:
            if node.op in CALLS:
                made[node] = graph.node_copy(node, made.__getitem__)
                made[node].meta["example_value"] = node.meta["val"]
    (returned,) = (n.args[0] for n in traced.graph.nodes if n.op == "output")
    for old, new in zip(results, returned, strict=True):
        old.replace_all_uses_with(made[new])
    for node in reversed(segment):
        graph.erase_node(node)
