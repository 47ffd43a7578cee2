"""Traces torch code to one program per result, whose inputs are the variables of the check.

A trace names its inputs after the arguments that are read, in the order of dims in which they are read. Here both sides
get the same inputs, with the declared dims, whether they read them or not; a read in another order of dims is a
permutation.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from prism_explore.entry.equivalence.sides import Code
from prism_explore.errors import PrismError
from prism_explore.frontend import Traced, trace
from prism_explore.ir.ops import Input, Node, Permute
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.tensors import TensorType


def trace_result(side: Code, variables: Mapping[str, TensorType], result: int | None, name: str) -> TensorProgram | str:
    """The program of one result over all variables, or why there is none.

    Args:
        side: the torch code.
        variables: the type of each variable, in the order of the program's inputs.
        result: the position among several results, or of one that is a view of an argument; None for a single tensor
            that is computed.
        name: the name of the program.
    """
    code = side.code if result is None else _select(side.code, result)
    own = {argument: variables[variable] for argument, variable in side.arguments}
    try:
        traced = trace(code, own, name)
    except PrismError as error:
        return str(error)
    prefix = "" if result is None else "inner."
    return _over_variables(
        traced,
        {f"{prefix}{k}" if (k, v) in side.parameters else k: v for k, v in (*side.parameters, *side.arguments)},
        variables,
    )


def _select(code: Callable[..., Any], result: int) -> Callable[..., Any]:
    """The code with one of its results; it is multiplied by 1, since a program computes its result."""
    import torch
    from torch.utils._pytree import tree_leaves

    signature = inspect.signature(getattr(code, "forward", code))

    def one(found: Any) -> Any:
        return [x for x in tree_leaves(found) if x is not None][result] * 1

    if isinstance(code, torch.nn.Module):

        class Selected(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.inner = code

            def forward(self, *args: Any) -> Any:
                return one(self.inner(*args))

        selected: Any = Selected()
        selected.train(code.training)
        selected.forward.__func__.__signature__ = inspect.Signature(
            [inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY), *_by_position(signature)]
        )
        return selected

    def selected_function(*args: Any) -> Any:
        return one(code(*args))

    selected_function.__signature__ = inspect.Signature(_by_position(signature))  # pyright: ignore[reportFunctionMemberAccess]
    return selected_function


def _by_position(signature: inspect.Signature) -> list[inspect.Parameter]:
    kind = inspect.Parameter.POSITIONAL_ONLY
    allowed = (kind, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p.replace(kind=kind) for p in signature.parameters.values() if p.kind in allowed]


def _over_variables(
    traced: Traced, variable_of: Mapping[str, str], variables: Mapping[str, TensorType]
) -> TensorProgram:
    """The traced program with the variables as inputs."""
    graph = traced.program.graph
    nodes = [Node(Input(name, TensorType(t.dims, t.dtype))) for name, t in variables.items()]
    lines = [""] * len(nodes)
    position = {name: n for n, name in enumerate(variables)}
    source = {b.name: (variable_of[b.source], b.permute) for b in traced.bindings}
    moved: dict[int, int] = {}
    old_lines = traced.program.lines or ("",) * len(graph.nodes)
    for n, (node, line) in enumerate(zip(graph.nodes, old_lines, strict=True)):
        op, args = node.op, tuple(moved[a] for a in node.args)
        if isinstance(op, Input):
            variable, order = source[op.name]
            if not order:
                moved[n] = position[variable]
                continue
            op, args = Permute(order), (position[variable],)
        moved[n] = len(nodes)
        nodes.append(Node(op, args))
        lines.append(line)
    return TensorProgram(traced.program.name, graph.moved(tuple(nodes), moved), tuple(lines))
