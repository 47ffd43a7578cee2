# pyright: basic
# torch's graphs are untyped throughout.
"""Finds the steps of a loop that torch.export unrolled.

torch.export has no loops: 256 steps of a recurrence are 256 times the same operators. They show as a repetition in the
order of the trace: the operator at each place is the one a period before it. The steps are then cut alike, and since
each reads its own part of the arguments from outside, they are equal programs, for which one search is made.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence
from itertools import pairwise
from math import prod
from typing import Any, TypeVar

from prism_explore.frontend.lower_aten import operator_name

T = TypeVar("T")

LEAST_STEPS = 3
"""The fewest repetitions that are a loop."""


def repetition(labels: Sequence[Hashable], longest: int) -> tuple[int, int, int]:
    """The longest stretch of labels in which each is the one a period before it.

    Args:
        labels: in order.
        longest: the longest period.

    Returns:
        Start, end and period, of equal stretches that with the smallest period; (0, 0, 0) where nothing is repeated
        `LEAST_STEPS` times.

    >>> repetition("cabababd", 4)
    (1, 7, 2)
    """
    best = (0, 0, 0)
    for period in range(1, min(longest, len(labels) // LEAST_STEPS) + 1):
        start = 0
        for at in range(period, len(labels) + 1):
            if at == len(labels) or labels[at] != labels[at - period]:
                if at - start >= LEAST_STEPS * period and at - start > best[1] - best[0]:
                    best = (start, at, period)
                start = at - period + 1
    return best


def loops_in(nodes: Sequence[Any], longest: int) -> Iterator[tuple[Sequence[Any], int]]:
    """The nodes of each loop, and of one of its steps the number of nodes.

    Args:
        nodes: what a graph computes, in its order.
        longest: the most nodes of a step, and of what is small enough without being cut into steps.
    """
    start, end, period = repetition([_label(n) for n in nodes], longest)
    if end - start > longest:
        yield from loops_in(nodes[:start], longest)
        yield nodes[start:end], period
        yield from loops_in(nodes[end:], longest)


def _label(node: Any) -> Hashable:
    """What equal operators of different steps have in common."""
    value = node.meta.get("val")
    form = (str(value.dtype), tuple(map(str, value.shape))) if hasattr(value, "shape") else ()
    constants = [a if isinstance(a, int | float | str | bool) else None for a in node.args]
    return operator_name(node.target), form, str(constants), str(list(node.kwargs))


def steps_of(nodes: Sequence[T], period: int, results: Sequence[int]) -> list[tuple[T, ...]]:
    """The nodes of a loop cut into what is before the first step, the steps, and what is behind the last one.

    A loop has no first operator; the steps begin where the fewest results go from one to the next.

    Args:
        nodes: of the loop, in order.
        period: the number of nodes of a step.
        results: per offset of the first step, how many results a step has that is not at the ends.
    """
    first = min(range(period), key=lambda offset: (results[offset], offset))
    whole = (len(nodes) - first) // period
    ends = [first + k * period for k in range(whole + 1)]
    pieces = [nodes[:first], *(nodes[a:b] for a, b in pairwise(ends)), nodes[ends[-1] :]]
    return [tuple(p) for p in pieces if p]


def parts_read(step: Sequence[Any], known: Collection[Any]) -> list[Any]:
    """The views of a part of a tensor through which a step reads what is outside of it.

    Args:
        step: its nodes.
        known: the nodes that compute, and results of calls.
    """
    members, seen = set(step), set[Any]()
    found: list[Any] = []
    open_nodes = [i for n in step for i in n.all_input_nodes]
    while open_nodes:
        node = open_nodes.pop()
        if node in seen or node in known or node.op == "placeholder":
            continue
        seen.add(node)
        read = [node.args[0]] if operator_name(node.target) == "getitem" else [node]
        sources = [i for n in read for i in n.all_input_nodes]
        if sources and members.isdisjoint(sources) and all(_elements(i) > _elements(node) > 0 for i in sources):
            found.append(node)
        else:
            open_nodes += sources
    return found


def _elements(node: Any) -> int:
    """The elements of a tensor; 0 where that is no number."""
    shape = getattr(node.meta.get("val"), "shape", (0,))
    return prod(shape) if all(isinstance(n, int) for n in shape) else 0
