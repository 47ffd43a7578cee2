"""Rows of which a mask keeps nothing: a proof excludes them, and a call with one runs the torch code.

A mask is a limit over the real numbers: scores outside go to minus infinity. A row without a kept score has no limit;
torch returns 0 or NaN there, and a kernel the mean of the values. `MaskedRows` finds such a row in the arguments of a
call. The check reads the masks only, not the scores.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, cast

import numpy as np

from prism_explore.codegen.load import Loaded
from prism_explore.errors import ShapeError
from prism_explore.ir.graph import SGraph, needed_by
from prism_explore.ir.interpreter.reference import Array, run
from prism_explore.ir.ops import Binary, MatMul, Node, Reduce, Scalar
from prism_explore.ir.program import TensorProgram
from prism_explore.support.caches import memoize

EXCLUDED = "rows of which the mask keeps nothing are excluded from the proof"


class MaskedRows:
    """The maxima of a program that are taken over masked scores, with their masks."""

    def __init__(self, program: TensorProgram) -> None:
        self._program = program

    @cached_property
    def _maxima(self) -> tuple[tuple[int, tuple[SGraph, ...]], ...]:
        """Per maximum its dim, counted from the last, and the graphs of the masks; none that are products."""
        nodes, types = self._program.graph.nodes, self._program.graph.types()
        found: list[tuple[int, tuple[SGraph, ...]]] = []
        for node in nodes:
            if isinstance(node.op, Reduce) and node.op.fn == "max":
                masks = tuple(_graph_of(nodes, keep) for keep in dict.fromkeys(_masks(nodes, node.args[0])))
                if masks and not any(isinstance(n.op, MatMul) for m in masks for n in m.nodes):
                    found.append((node.op.dim - types[node.args[0]].rank, masks))
        return tuple(dict.fromkeys(found))

    @property
    def has_maxima(self) -> bool:
        """Whether the program has a maximum over masked elements, so that calls must be looked at."""
        return bool(self._maxima)

    @property
    def has_arguments(self) -> bool:
        """Whether a mask depends on an argument, so that a call may have a row of which nothing is kept."""
        return any(m.inputs for _, masks in self._maxima for m in masks)

    def are_excluded(self, kernel: Loaded, inputs: Sequence[Any], sizes: Mapping[str, int]) -> bool:
        """Whether a mask keeps nothing of some row.

        Args:
            kernel: checks the inputs first.
            inputs: the program's inputs in their order, tensors or arrays.
            sizes: values of the program's symbols.

        Raises:
            ShapeError: the kernel does not take these inputs.
        """
        if not self.has_maxima:
            return False
        kernel.check(*inputs)
        return self.has_empty_row(inputs, sizes)

    def has_empty_row(self, inputs: Sequence[Any], sizes: Mapping[str, int]) -> bool:
        """Whether a mask keeps nothing of some row of inputs that fit the program.

        Args:
            inputs: the program's inputs in their order, tensors or arrays.
            sizes: values of the program's symbols.
        """
        named = {i.name: x for i, x in zip(self._program.inputs, inputs, strict=True)}
        return any(_has_empty_row(masks, along, named, sizes) for along, masks in self._maxima)

    def call_torch(self, code: Callable[..., Any] | None, inputs: Sequence[Any]) -> Any:
        """The program's result by torch, with a warning.

        Raises:
            ShapeError: there is no torch code, or an input is an array.
        """
        reason = f"{EXCLUDED}, and there is one"
        return call_torch(self._program.name, code, inputs, reason, f"a mask keeps nothing of a row: {EXCLUDED}")


def call_torch(name: str, code: Callable[..., Any] | None, inputs: Sequence[Any], why: str, refusal: str) -> Any:
    """A program's result by torch, with a warning, for a call that a proof excludes.

    Args:
        name: of the program.
        code: the torch code, called with the program's inputs.
        inputs: of the program.
        why: the reason, for the warning.
        refusal: the reason, for the error.

    Raises:
        ShapeError: there is no torch code, or an input is an array.
    """
    if code is None or any(isinstance(x, np.ndarray) for x in inputs):
        raise ShapeError(f"{refusal}; call the torch code with tensors instead")
    warnings.warn(f"{name} runs in torch: {why}", stacklevel=5)
    return code(*inputs)


def _masks(nodes: Sequence[Node], position: int) -> Iterator[int]:
    """Positions of the masks of the scores at a position, also where something was added to masked scores."""
    node = nodes[position]
    match node.op:
        case Binary("mask"):
            yield node.args[1]
            yield from _masks(nodes, node.args[0])
        case Scalar() | Binary("add" | "sub"):
            for a in node.args:
                yield from _masks(nodes, a)
        case _:
            pass


def _graph_of(nodes: Sequence[Node], position: int) -> SGraph:
    """The part of a graph that computes one node."""
    needed = sorted(needed_by(tuple(nodes), (position,)))
    return SGraph(
        tuple(Node(nodes[n].op, tuple(needed.index(a) for a in nodes[n].args)) for n in needed), needed.index(position)
    )


def _has_empty_row(masks: tuple[SGraph, ...], along: int, inputs: Mapping[str, Any], sizes: Mapping[str, int]) -> bool:
    arrays = {i.name: _array(inputs[i.name]) for mask in masks for i in mask.inputs}
    if not arrays:
        return _has_empty_row_always(masks, along, tuple(sorted(sizes.items())))
    return _is_some_row_empty(masks, along, arrays, sizes)


@memoize(256)
def _has_empty_row_always(masks: tuple[SGraph, ...], along: int, sizes: tuple[tuple[str, int], ...]) -> bool:
    """The same for masks of positions alone, which are equal in all calls."""
    return _is_some_row_empty(masks, along, {}, dict(sizes))


def _is_some_row_empty(
    masks: tuple[SGraph, ...], along: int, arrays: Mapping[str, Any], sizes: Mapping[str, int]
) -> bool:
    kept: Any = True
    for mask in masks:
        kept = kept & (run(mask, arrays, sizes)[mask.output] != 0)
    return not bool(np.any(kept, axis=along).all())


def _array(x: Any) -> Array:
    if isinstance(x, np.ndarray):
        return cast("Array", x)
    plain = x.detach().cpu()
    return (plain if str(plain.dtype) != "torch.bfloat16" else plain.float()).numpy()
