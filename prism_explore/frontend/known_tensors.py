# pyright: basic
# torch and its graphs are untyped throughout.
"""Tensors of a graph that depend on no argument, computed once: tables of angles, position buckets, slopes.

What rows know as a mask or as positions stays code, because pruning, proofs and kernels use its structure. So does what
has a symbolic size. All else becomes a constant of the code, as if the user had computed it outside of the function.
Proofs then hold for any values of it. `px.check` compares formulas, so it traces without this.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Container, Mapping
from contextlib import suppress
from math import prod
from typing import Any

from prism_explore.errors import PrismError
from prism_explore.frontend.aten.constants import ConstantTensor, DiagonalBand, MaskedConstant, Ramp, known_constant
from prism_explore.frontend.aten.lookups import LOOKUPS
from prism_explore.frontend.aten.table import BY_NAME
from prism_explore.frontend.lower_aten import GUARDS, Translation, Unused, operator_name
from prism_explore.frontend.opaque import why_not_opaque
from prism_explore.ir.tensors import DTYPE_OF_NAME, INTEGERS, dtype_name

MOST_ELEMENTS = 1 << 20
"""Of a tensor that is computed while tracing."""


def known_tensors(name: str, graph: Any, constants: Mapping[str, Any]) -> tuple[Any, Mapping[str, Any]]:
    """A graph in which what depends on no argument is a placeholder, and the tensors of these.

    Args:
        name: of the program.
        graph: torch's graph.
        constants: tensors that the code holds, by the names of their placeholders.

    Returns:
        The graph and the constants; both as given where there is nothing to compute.
    """
    graph = _with_zeros_for_memory(graph)
    known = _values(graph, constants)
    has_structure = _structured(name, known)
    found = [node for node in known if _is_read(node, known) and not has_structure(node)]
    if not found:
        return graph, constants
    import torch

    graph = copy.deepcopy(graph)
    nodes, of_known = {n.name: n for n in graph.nodes}, {n.name for n in known}
    first, more = next(iter(graph.nodes)), dict[Any, Any]()
    for guard in [n for n in graph.nodes if operator_name(n.target) in GUARDS]:
        if all(n.name in of_known for n in guard.all_input_nodes):
            graph.erase_node(guard)
    for node in found:
        value = torch.view_as_real(known[node].resolve_conj()) if known[node].is_complex() else known[node]
        placeholder = next((p for p, tensor in more.items() if _are_same(tensor, value)), None)
        if placeholder is None:
            with graph.inserting_before(first):
                placeholder = graph.placeholder(f"known_{node.name}")
            placeholder.meta = {**node.meta, "val": _meta_of(node, value)}
            more[placeholder] = value
        nodes[node.name].replace_all_uses_with(_complex_of(graph, node, placeholder, first))
    for node in reversed(known):
        if node.op == "call_function" and not nodes[node.name].users:
            graph.erase_node(nodes[node.name])
    return graph, {**constants, **{p.name: tensor for p, tensor in more.items()}}


def constant_of(graph: Any, placeholder: str, tensor: Any, *, in_parts: bool = False) -> ConstantTensor | None:
    """What rows know a constant of the code as; None where they read it as a tensor. Arguments as `known_constant`."""
    known = known_constant(tensor, in_parts=in_parts)
    if not isinstance(known, Ramp):
        return known
    (node,) = (n for n in graph.nodes if n.op == "placeholder" and n.name == placeholder)
    return None if is_position_table(node, tensor, known) else known


def _meta_of(node: Any, value: Any) -> Any:
    """The fake tensor of a known one, of which the graph may have the complex form."""
    import torch

    fake = node.meta["val"]
    if not fake.dtype.is_complex:
        return fake
    with fake.fake_mode:
        return torch.empty_like(value, device=fake.device)


def _complex_of(graph: Any, node: Any, placeholder: Any, first: Any) -> Any:
    """What reads a known tensor in the place of its node: the tensor, or the complex one of its pairs."""
    import torch

    if not node.meta["val"].dtype.is_complex:
        return placeholder
    with graph.inserting_before(first):
        pair = graph.call_function(torch.ops.aten.view_as_complex.default, (placeholder,))
    pair.meta = dict(node.meta)
    return pair


_WRITES = frozenset({"index_put", "index_copy", "scatter", "masked_scatter"})
"""Operators that write at positions or where a mask is true, which both may be arguments."""


def _with_zeros_for_memory(graph: Any) -> Any:
    """The graph with zeros in place of memory without a value that is only read by writes into it.

    Whether they fill all of it depends on data, such as on whether positions are a permutation. What they leave out has
    no value in torch, so that 0 is as good as any.
    """
    import torch

    aten = torch.ops.aten
    zeros = {
        aten.empty.memory_format: aten.zeros.default,
        aten.empty_like.default: aten.zeros_like.default,
        aten.new_empty.default: aten.new_zeros.default,
    }

    def is_filled(node: Any) -> bool:
        writes = (operator_name(u.target) in _WRITES and u.args[0] is node for u in node.users)
        return node.op == "call_function" and node.target in zeros and bool(node.users) and all(writes)

    if not any(map(is_filled, graph.nodes)):
        return graph
    graph = copy.deepcopy(graph)
    for node in filter(is_filled, graph.nodes):
        node.target = zeros[node.target]
        node.kwargs = {name: x for name, x in node.kwargs.items() if name != "memory_format"}
    return graph


def _are_same(a: Any, b: Any) -> bool:
    import torch

    return a.dtype == b.dtype and torch.equal(a, b)


def _values(graph: Any, constants: Mapping[str, Any]) -> dict[Any, Any]:
    """The tensors that can be computed now, by their nodes."""
    import torch

    known: dict[Any, Any] = {}
    for node in graph.nodes:
        if node.op == "placeholder" and constants.get(node.name) is not None:
            known[node] = constants[node.name]
        elif node.op == "call_function" and _is_computable(node, known):
            with suppress(Exception), torch.no_grad():  # what torch cannot compute stays in the graph
                args, kwargs = torch.fx.map_arg((node.args, node.kwargs), known.__getitem__)
                known[node] = node.target(*args, **kwargs)
    return known


def _is_computable(node: Any, known: Container[Any]) -> bool:
    if not all(a in known for a in node.all_input_nodes):
        return False
    if operator_name(node.target) == "getitem":
        return True
    found = node.meta.get("val")
    results = found if isinstance(found, tuple | list) else (found,)
    sizes = [getattr(r, "shape", None) for r in results]
    if not all(s is not None and all(isinstance(n, int) for n in s) and prod(s) <= MOST_ELEMENTS for s in sizes):
        return False
    return not why_not_opaque(node.target)


def _is_read(node: Any, known: Mapping[Any, Any]) -> bool:
    """Whether code that depends on arguments reads a computed tensor, as what a constant of the code can be."""
    import torch

    value, readers = known[node], [u for u in node.users if u not in known and operator_name(u.target) not in GUARDS]
    if not readers or not isinstance(value, torch.Tensor) or not value.numel():
        return False
    if value.dtype in (torch.complex64, torch.complex128):
        return bool(value.isfinite().all())
    if node.op != "call_function":
        return False
    dtype = DTYPE_OF_NAME.get(dtype_name(value.dtype))
    if dtype is None or not bool(value.isfinite().all()):
        return False
    # Rows compute with integers as numbers; only lookups read them as they are.
    return dtype not in INTEGERS or all(operator_name(u.target) in LOOKUPS for u in readers)


def _is_table(node: Any) -> bool:
    """Whether only lookups read a tensor, at positions in it: kernels read these from memory."""
    return bool(node.users) and all(
        operator_name(u.target) in LOOKUPS and u.args[0] is node and node not in u.all_input_nodes[1:]
        for u in node.users
    )


MOST_PARTS = 8
"""So many slices, of evenly spaced positions each, are taken rather than a lookup; none that would be flipped."""


def is_position_table(node: Any, value: Any, known: ConstantTensor | None) -> bool:
    """Whether positions are evenly spaced along several dims, as relative positions are, and only lookups read them.

    A lookup at them is one of an integer tensor, because it would be a slice per position along one of the dims.

    Args:
        node: of the graph.
        value: its tensor.
        known: what rows know it as.
    """
    if not isinstance(known, Ramp):
        return False
    sizes = [d.constant for d, step in zip(known.dims, known.steps, strict=True) if step and not d.is_one]
    most = MOST_PARTS if min(known.steps) >= 0 else 1
    has_many = len(sizes) > 1 and all(n is not None and n > most for n in sizes)
    lookups = all(operator_name(u.target) in LOOKUPS and u.args[0] is not node for u in node.users)
    return has_many and lookups and not bool((value < 0).any())


def _structured(name: str, known: Mapping[Any, Any]) -> Callable[[Any], bool]:
    """Whether rows know a tensor as a mask, as positions, or as one number."""
    fixed = {n.name: known_constant(known[n]) or Unused("a constant") for n in known if n.op == "placeholder"}
    translation = Translation(name, {}, BY_NAME, fixed)
    structured: set[Any] = set()
    for node in known:
        try:
            translation.visit(node)
            value = translation.value(node)
        except (PrismError, KeyError):
            continue
        is_band = isinstance(value, MaskedConstant) and isinstance(value.condition, DiagonalBand)
        is_ramp = isinstance(value, Ramp) and not is_position_table(node, known[node], value)
        if is_ramp or (is_band and not _is_table(node)):
            structured.add(node)
    return structured.__contains__
