"""Floating-point errors: the difference of two results, and whether float64 is accurate enough for it.

float64 overflows, underflows, cancels and divides by 0, while the claims are about real numbers with x/0 = 0. So a
difference counts only if all intermediate values have magnitudes at which these errors are small.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, isnan

import numpy as np

from prism_explore.ir.elementwise import UNARY
from prism_explore.ir.formulas import functions
from prism_explore.ir.graph import SGraph
from prism_explore.ir.interpreter.reference import Array, run
from prism_explore.ir.interpreter.vectorized import run_vectorized
from prism_explore.ir.ops import AccumulateRescaled, Binary, Custom, Node, Op, Scalar, Unary
from prism_explore.verify.shapes.instance import Instance

TINY_DIVISOR = Fraction(1, 10**300)
TRUSTED_MAGNITUDES = (1e-7, 1e7)
"""Floats are accurate enough if all intermediate values are 0 or of such magnitudes: no divisor magnifies rounding."""
LARGEST_EXPONENT = 600.0
"""The upper bound in graphs with exponentials; exponentials of larger numbers overflow or underflow."""
SMALLEST_SCALE = 1e-4
"""Relative errors are relative to at least this."""
UNBOUNDED = 1e100
"""Larger magnitudes represent infinity, as masked values do; both sides must have them, with the same sign."""
EXPONENTIAL = frozenset({"exp", "expm1", "tanh", "erf"})
"""Functions that overflow or underflow, as do functions that use them."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The program's result at one instance; all candidates are compared with it."""

    inputs: Mapping[str, Array]
    expected: Array
    finite: Array
    scale: float
    """The largest magnitude of its bounded results."""
    trustworthy: bool
    """Whether floats are accurate enough for the program's intermediate values."""
    bounded: bool
    """Whether all its results are below `UNBOUNDED`."""


def run_recording(
    graph: SGraph, inputs: Mapping[str, Array], symbols: Mapping[str, int], recorded: list[Array]
) -> tuple[Array, ...]:
    """Every kernel-level tensor; the result of each operator, also block-level, is appended to `recorded`."""

    def record(value: Array) -> Array:
        recorded.append(value)
        return value

    return run(graph, inputs, symbols, record, run_vectorized)


def has_race(instance: Instance, side: Expected) -> bool:
    """Whether a kernel has a NaN result although all values that it computed are finite, which only a race causes."""
    graph = instance.candidate
    with np.errstate(all="ignore"):
        values = run_recording(graph, side.inputs, instance.symbols, [])
        first = next((n for n, value in enumerate(values) if not np.isfinite(value).all()), None)
        if first is None:
            return False
        recorded: list[Array] = []
        run_recording(SGraph(graph.nodes[: first + 1], first), side.inputs, instance.symbols, recorded)
        return all(np.isfinite(value).all() for value in recorded)


def is_trustworthy(recorded: list[Array], graph: SGraph) -> bool:
    """Whether floats are accurate enough for the recorded values; with masks, some of them represent minus infinity."""
    magnitudes = np.abs(np.concatenate([value.ravel() for value in recorded])) if recorded else np.zeros(0)
    low, high = TRUSTED_MAGNITUDES
    if contains(graph, _has_exponential):
        high = LARGEST_EXPONENT
    accurate = (magnitudes == 0) | ((magnitudes >= low) & (magnitudes <= high))
    return bool((accurate | (magnitudes >= UNBOUNDED) if contains(graph, is_mask) else accurate).all())


def with_total_division(graph: SGraph) -> SGraph:
    """The same graph with a/b replaced by a b / max(b^2, tiny), which is 0 where b is 0."""
    nodes, place = _with_total_division(graph.nodes)
    return graph.moved(nodes, place)


def _with_total_division(nodes: tuple[Node, ...]) -> tuple[tuple[Node, ...], list[int]]:
    """The nodes with such quotients, and the new position of each old node."""
    out: list[Node] = []
    place: list[int] = []
    for node in nodes:
        args = tuple(place[a] for a in node.args)
        match node.op:
            case Binary("div") | Unary("recip"):
                divisor = args[-1]
                numerator = divisor
                if len(args) > 1:
                    out.append(Node(Binary("mul"), args))
                    numerator = len(out) - 1
                out.append(Node(Unary("square"), (divisor,)))
                out.append(Node(Scalar("max", TINY_DIVISOR), (len(out) - 1,)))
                out.append(Node(Binary("div"), (numerator, len(out) - 1)))
            case Custom(block):
                out.append(Node(Custom(replace(block, nodes=_with_total_division(block.nodes)[0])), args))
            case op:
                out.append(Node(op, args))
        place.append(len(out) - 1)
    return tuple(out), place


def contains(graph: SGraph, which: Callable[[Op], bool]) -> bool:
    """Whether some operator of the graph or of its blocks satisfies a predicate."""
    return any(which(n.op) for nodes in (graph.nodes, *(b.nodes for _, b in graph.customs)) for n in nodes)


def is_mask(op: Op) -> bool:
    """Whether an operator is the mask operator: minus infinity where a mask is 0."""
    return op == Binary("mask")


def is_step(op: Op) -> bool:
    """Whether an operator jumps between integers, so that rounding before it may be a difference of 1 behind it."""
    return isinstance(op, Unary) and UNARY[op.fn].is_step


def _has_exponential(op: Op) -> bool:
    return isinstance(op, AccumulateRescaled) or (
        isinstance(op, Unary) and not EXPONENTIAL.isdisjoint(functions(UNARY[op.fn].high_precision))
    )


def scale_of(expected: Array) -> float:
    """The largest magnitude of the bounded results."""
    size = np.abs(expected)
    return max(float(np.max(size, initial=0.0, where=size < UNBOUNDED)), SMALLEST_SCALE)


def relative_errors(expected: Array, found: Array, difference: Array, scale: float) -> Array:
    """The error of each element, relative to the scale; a NaN or a missing infinity is an infinite error."""
    difference = difference / scale
    beyond = np.abs(expected) >= UNBOUNDED
    if beyond.any():
        agree = (np.abs(found) >= UNBOUNDED) & (np.sign(found) == np.sign(expected))
        difference = np.where(beyond, np.where(agree, 0.0, inf), difference)
    error = np.where(np.isfinite(expected), difference, 0.0)
    return np.where(np.isnan(error), inf, error)


def largest_error(side: Expected, found: Array) -> float:
    """The largest relative error of a result; infinite for a result of another shape."""
    if found.shape != side.expected.shape:
        return inf
    if side.bounded:
        largest = float(np.abs(side.expected - found).max()) / side.scale
        return inf if isnan(largest) else largest
    return float(relative_errors(side.expected, found, np.abs(side.expected - found), side.scale).max())


def worst_place(error: Array) -> tuple[int, ...]:
    """The element with the largest error."""
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(error)), error.shape))
