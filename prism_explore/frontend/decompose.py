# pyright: basic
# torch.export and torch's decompositions are untyped throughout.
"""An exported graph in operators that have rows, without in-place writes.

torch ships decompositions of most of its operators. An operator that has a row is kept, because its row is
shorter and keeps what the decomposition loses: norms, for example, end in `var_mean` and casts.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any

from prism_explore.frontend.lower_aten import GUARDS, operator_name
from prism_explore.frontend.opaque import named_arguments
from prism_explore.support.caches import memoize

RECURRENCES = frozenset({"lstm", "gru", "rnn_tanh", "rnn_relu"})
"""Operators that compute all steps of recurrent layers."""
UNROLLED_STEPS = 16
"""The most steps, of all layers and directions together, that are unrolled."""


def decomposed(exported: Any, known: Collection[str]) -> Any:
    """The same program, its operators replaced until each is `known` or has no decomposition.

    Args:
        exported: an `ExportedProgram`.
        known: names of ATen operators that are kept.

    Returns:
        `exported` itself where all operators are known, which saves the time of another trace.
    """
    known = {*known, *_long_recurrences(exported.graph)}
    names = {*known, *GUARDS, "sym_size"}
    if all(is_known(node, names) for node in exported.graph.nodes):
        return exported
    for is_wide in (True, False):
        with suppress(Exception):
            found = _run(exported, *_tables(frozenset(known), is_wide))
            if all(is_known(node, names) for node in found.graph.nodes):
                return found
            with suppress(Exception):
                return _with_whole_operators(exported, frozenset(known), names, is_wide)
            return found
    return exported


def _long_recurrences(graph: Any) -> set[str]:
    """The recurrent layers of a graph that stay whole: others become the operators of each of their steps.

    A step of an LSTM is about twenty operators, and a program is traced and searched as a whole.
    """
    return {
        operator_name(node.target)
        for node in graph.nodes
        if operator_name(node.target) in RECURRENCES and _is_long(node)
    }


def _is_long(node: Any) -> bool:
    named = named_arguments(node.target._schema, node.args, node.kwargs)
    if "input" not in named:
        return True  # of packed sequences, whose lengths are data
    shape = named["input"].meta["val"].shape
    steps = shape[1 if len(shape) == 3 and named["batch_first"] else 0]
    steps_of_all = steps * named["num_layers"] * (2 if named["bidirectional"] else 1)
    return not isinstance(steps_of_all, int) or steps_of_all > UNROLLED_STEPS


def without_empty_parts(graph: Any) -> Any:
    """The graph with concatenations of tensors that have elements: a cache begins as a tensor without any.

    Args:
        graph: torch's, with an example value at each node; it is not changed.
    """

    def has_elements(node: Any) -> bool:
        return all(not isinstance(n, int) or n for n in node.meta["val"].shape)

    def kept(node: Any) -> list[Any]:
        """The parts that make a concatenation what it is; empty where none can be left out."""
        if operator_name(node.target) != "cat":
            return []
        parts = [n for n in node.args[0] if has_elements(n)]
        are_same = all(n.meta["val"].dtype == node.meta["val"].dtype for n in parts)
        return parts if are_same and len(parts) < len(node.args[0]) else []

    if not any(map(kept, graph.nodes)):
        return graph
    graph = copy.deepcopy(graph)
    for node in list(graph.nodes):
        match kept(node):
            case []:
                pass
            case [only]:
                node.replace_all_uses_with(only)
                graph.erase_node(node)
            case parts:
                node.args = (parts, *node.args[1:])
    graph.eliminate_dead_code()
    return graph


def without_copies(graph: Any) -> Any:
    """The graph with what a copy has, in its place: a write into a slice does not read what was there.

    Args:
        graph: torch's, with an example value at each node; it is not changed.
    """
    import torch

    def is_same(node: Any) -> bool:
        if operator_name(node.target) != "copy" or not hasattr(node.args[1], "op"):
            return False
        found, source = node.meta["val"], node.args[1].meta["val"]
        kinds = (found.dtype, found.device) == (source.dtype, source.device)
        return kinds and all(isinstance(n, int) for n in found.shape)

    if not any(map(is_same, graph.nodes)):
        return graph
    graph = copy.deepcopy(graph)
    for node in list(filter(is_same, graph.nodes)):
        source, shape = node.args[1], list(node.meta["val"].shape)
        if list(source.meta["val"].shape) != shape:
            with graph.inserting_before(node):
                source = graph.call_function(torch.ops.aten.expand.default, (source, shape))
            source.meta = dict(node.meta)
        node.replace_all_uses_with(source)
        graph.erase_node(node)
    graph.eliminate_dead_code()
    return graph


def without_rewritten_tensors(graph: Any) -> Any:
    """The graph with what a loop wrote into a tensor in its place: `y[:, t]` is what was written there last.

    A tensor of which each position along a dim is written is the stack of these, and not a chain of copies of it.

    Args:
        graph: torch's, with an example value at each node; it is not changed.
    """
    import torch

    aten = torch.ops.aten
    if not any(operator_name(node.target) == "select_scatter" for node in graph.nodes):
        return graph
    graph = copy.deepcopy(graph)
    for node in list(graph.nodes):
        is_select = operator_name(node.target) == "select" and len(node.args) == 3
        if is_select and (place := _place(*node.args)) is not None:
            writes, base = _writes_before(node.args[0], place[0])
            if place[1] in writes:
                node.replace_all_uses_with(writes[place[1]])
            elif writes:
                node.args = (base, *node.args[1:])
    for node in reversed(list(graph.nodes)):
        writes = _writes_before(node, place[0])[0] if (place := _written_place(node)) is not None else {}
        is_last = any(_written_place(user) is None for user in node.users)
        if place is not None and is_last and len(writes) == node.meta["val"].shape[place[0]] > 1:
            with graph.inserting_before(node):
                stacked = graph.call_function(aten.stack.default, ([writes[k] for k in sorted(writes)], place[0]))
            stacked.meta = dict(node.meta)
            node.replace_all_uses_with(stacked)
    graph.eliminate_dead_code()
    return graph


def _place(tensor: Any, along: Any, position: Any) -> tuple[int, int] | None:
    """A dim and a position in it, both from the front; None where one is no number."""
    shape = tensor.meta["val"].shape
    if not all(isinstance(n, int) for n in (along, position, *shape)):
        return None
    return along % len(shape), position % shape[along]


def _written_place(node: Any) -> tuple[int, int] | None:
    """Where a node writes a part of a tensor: a dim and a position; None where it does not."""
    if operator_name(node.target) != "select_scatter" or len(node.args) != 4:
        return None
    written, part = node.meta["val"], node.args[1].meta["val"]
    return _place(node.args[0], *node.args[2:]) if written.dtype == part.dtype else None


def _writes_before(tensor: Any, along: int) -> tuple[dict[int, Any], Any]:
    """What was written into a tensor last, by the position along a dim, and the tensor before."""
    writes: dict[int, Any] = {}
    while (place := _written_place(tensor)) is not None and place[0] == along:
        writes.setdefault(place[1], tensor.args[1])
        tensor = tensor.args[0]
    return writes, tensor


_AS_NUMBER = ("item", "_local_scalar_dense")


def with_tensors_as_positions(graph: Any) -> Any:
    """The graph with `x[i]` of a tensor i without dims as a lookup, and a write there as one at a position.

    torch reads i as a number of Python.

    Args:
        graph: torch's, with an example value at each node; it is not changed.
    """
    import torch

    aten = torch.ops.aten
    position_of = {"select": 2, "select_scatter": 3}

    def index_of(node: Any) -> Any:
        """The tensor by which a node selects; None for others."""
        place = position_of.get(operator_name(node.target))
        number: Any = node.args[place] if place is not None and len(node.args) == place + 1 else None
        return number.args[0] if operator_name(getattr(number, "target", "")) in _AS_NUMBER else None

    def call(like: Any, target: Any, *args: Any) -> Any:
        found = graph.call_function(target, args)
        found.meta = {**like.meta, "val": target(*torch.fx.map_arg(args, lambda n: n.meta["val"]))}
        return found

    if all(index_of(node) is None for node in graph.nodes):
        return graph
    graph = copy.deepcopy(graph)
    for node in [n for n in graph.nodes if index_of(n) is not None]:
        x, along = node.args[0], node.args[-2]
        with graph.inserting_before(node), node.meta["val"].fake_mode:
            index = call(node, aten.reshape.default, index_of(node), [1])
            if operator_name(node.target) == "select":
                found = call(node, aten.squeeze.dim, call(node, aten.index_select.default, x, along, index), along)
            else:
                before = [None] * (along % x.meta["val"].dim())
                part = call(node, aten.unsqueeze.default, node.args[1], along)
                found = call(node, aten.index_put.default, x, [*before, index], part)
        node.replace_all_uses_with(found)
        graph.erase_node(node)
    for node in reversed(list(graph.nodes)):
        if not node.users and operator_name(node.target) in _AS_NUMBER:
            graph.erase_node(node)
    return graph


def _with_whole_operators(exported: Any, known: frozenset[str], names: Collection[str], is_wide: bool) -> Any:
    """The program without the decompositions that end in operators that are not known.

    torch has one kernel for what such a decomposition splits: `embedding` would become an `index` of a view.
    """
    known |= _indivisible()
    kernels = _run(exported, _tables(known, is_wide)[0], {})
    found = _run(kernels, *_tables(known, is_wide))
    origin = {node.name: operator_name(node.target) for node in kernels.graph.nodes}
    whole = {
        origin[source[-1].name]
        for node in found.graph.nodes
        if not is_known(node, names) and (source := node.meta.get("from_node")) and source[-1].name in origin
    }
    return _run(kernels, *_tables(known | whole, is_wide))


@memoize(1)
def _indivisible() -> frozenset[str]:
    """Operators that are split at once even where they are composite, and whose parts say less than the whole.

    Those that resample images, and those that raise where a matrix is singular: these become a variant that returns an
    error code, and a check of it, which is an effect.
    """
    import torch
    from torch._decomp import decomposition_table

    resampling = (name for name in map(operator_name, decomposition_table) if "upsample" in name)
    aten = torch.ops.aten
    checked = (
        name
        for name in map(operator_name, _all_decompositions(True)[0])
        if hasattr(aten, f"{name}_ex") or hasattr(aten, f"_{name}_ex")
    )
    return frozenset((*resampling, *checked))


def _run(exported: Any, kept: Mapping[Any, Any], table: Mapping[Any, Any]) -> Any:
    """`ExportedProgram.run_decompositions`, which scans all of torch's operators twice in each call.

    This takes 0.1 s instead of 0.7 s, because it overrides the composite operators with rows and no others.
    """
    from torch.export import exported_program

    with warnings.catch_warnings():  # torch copies objects of a class that it has deprecated, and warns of each
        warnings.filterwarnings("ignore", message=".*LeafSpec", category=FutureWarning)
        return exported_program._decompose_exported_program(
            exported,
            cia_to_decomp=dict(kept),
            python_decomp_table=dict(table),
            joint_loss_index=None,
            decompose_custom_triton_ops=False,
        )


def _tables(known: frozenset[str], is_wide: bool) -> tuple[Mapping[Any, Any], Mapping[Any, Any]]:
    """The composite operators that are kept, and torch's decompositions of other operators that are not known.

    `is_wide` adds those outside of the core ATen table. Some of them write in place, which a second trace rejects.
    """
    composite, table = _all_decompositions(is_wide)
    return (
        {op: how for op, how in composite.items() if operator_name(op) in known},
        {op: how for op, how in table.items() if operator_name(op) not in known and op not in composite},
    )


@memoize(2)
def _all_decompositions(is_wide: bool) -> tuple[Mapping[Any, Any], Mapping[Any, Any]]:
    """What keeps each composite operator, and the decompositions of the others."""
    from torch._decomp import decomposition_table
    from torch._export.utils import _collect_all_valid_cia_ops, _special_op_to_preserve_cia
    from torch.export import default_decompositions

    table = {**(decomposition_table if is_wide else {}), **dict(default_decompositions().items())}
    return dict.fromkeys(_collect_all_valid_cia_ops(), _special_op_to_preserve_cia), table


def is_known(node: Any, names: Collection[str]) -> bool:
    """Whether a node calls no operator, or one of these that writes into none of its arguments.

    What runs a graph of its own, or begins a region of autocast, is no known operator. Python's own are.
    """
    if node.op != "call_function":
        return True
    name, schema = operator_name(node.target), getattr(node.target, "_schema", None)
    if schema is None:
        return getattr(node.target, "__module__", "") in ("_operator", "builtins", "math")
    return name in names and not schema.is_mutable
