"""Exact trials: program and candidate run on random residues of two prime fields, with a bound on the error rate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from prism_explore.ir.elementwise import UNARY, ElementwiseFunction
from prism_explore.ir.formulas import formula, functions
from prism_explore.ir.graph import SGraph
from prism_explore.ir.interpreter.reference import Array, run
from prism_explore.ir.interpreter.vectorized import run_vectorized
from prism_explore.ir.ops import Accumulate, Binary, Custom, Op, Reduce, RunningMax, Scalar, Unary, op_name
from prism_explore.verify.counterexample.prime_fields import Field, Inconclusive, P, Q, Residue, error_bound

MAX_DRAWS = 128
"""The largest number of draws until every root of the program exists."""


def unsupported_operator(graph: SGraph) -> str:
    """The first operator of a graph that has no meaning in prime fields; empty where there is none."""
    if graph.whole_inputs:
        return f"{next(iter(graph.whole_inputs.values()))} input: its values are too few for a bound on the error"
    if graph.index_limits:
        return "lookup: positions are too few for a bound on the error"
    for node in graph.nodes:
        if named := _unsupported(node.op):
            return named
        if isinstance(node.op, Custom):
            for inner in node.op.block.nodes:
                if named := _unsupported(inner.op):
                    return named
    return ""


_ORDER_FUNCTIONS = frozenset({"abs", "sign", "positive", "nonnegative"})
"""Functions whose proofs use the order of numbers. Other functions that are maxima by definition are hashed."""


def _unsupported(op: Op) -> str:
    match op:
        case Binary("max" | "min" | "mask" | "keep" | "drop") | Scalar("max" | "min", _):
            return op_name(op)
        case Unary(fn) if fn in _ORDER_FUNCTIONS:
            return fn
        case Reduce("max", _) | Accumulate("max", _) | RunningMax():
            return op_name(op)
        case _:
            return ""


def is_incomplete(graph: SGraph) -> bool:
    """Whether a graph has functions with laws that do not hold in the fields: roots, and functions that are hashed.

    If so, a difference in the fields is no counterexample.
    """
    operators: list[Op] = [node.op for node in graph.nodes]
    operators += [inner.op for _, block in graph.customs for inner in block.nodes]
    return any(
        (isinstance(op, Unary) and not _is_exact(UNARY[op.fn]))
        or (isinstance(op, Reduce | Accumulate) and op.fn == "rms")
        or (isinstance(op, Scalar) and op.fn == "pow" and op.value.denominator != 1)
        for op in operators
    )


def _is_exact(row: ElementwiseFunction) -> bool:
    """Whether a function is computed in the fields exactly, by arithmetic and exponentials."""
    if row.name == "exp":
        return True
    if row.lowering not in ("inline", "transparent"):
        return False
    known = functions(formula(row.definition)) - {"add", "sub", "mul", "div", "neg"}
    return all(_is_exact(UNARY[fn]) for fn in known)


@dataclass(frozen=True, slots=True)
class Draw:
    """The inputs of a trial, and the program's values on them."""

    inputs: Mapping[str, Array]
    values: tuple[Array, ...]
    """Those of all kernel-level tensors of the program."""
    expected: Array


def draw(graph: SGraph, shapes: tuple[tuple[str, tuple[int, ...]], ...], symbols: Mapping[str, int], seed: int) -> Draw:
    """Uniform independent inputs on which the program has a value, the same for the same seed.

    Where a root does not exist, only the inputs that it depends on are drawn again.

    Raises:
        Inconclusive: no such inputs were found in `MOST_DRAWS` draws, or fields cannot evaluate this program.
    """
    rng = np.random.default_rng((seed, P))
    field = Field.draw(rng)
    inputs: dict[str, Array] = {}
    bit = 1
    places: list[tuple[str, tuple[int, ...]]] = []
    for name, shape in shapes:
        values = np.empty(shape, dtype=object)
        for place in np.ndindex(*shape):
            values[place] = _random_residue(field, rng, bit)
            places.append((name, place))
            bit <<= 1
        inputs[name] = values
    for _ in range(MAX_DRAWS):
        try:
            values = run(graph, inputs, symbols, blocks=run_vectorized)
            return Draw(inputs, values, values[graph.output])
        except Inconclusive as stuck:
            if not stuck.depends:
                raise
            for n, (name, place) in enumerate(places):
                if stuck.depends >> n & 1:
                    inputs[name][place] = _random_residue(field, rng, 1 << n)
    raise Inconclusive(f"no square roots in the fields in {MAX_DRAWS} draws")


def _random_residue(field: Field, rng: np.random.Generator, bit: int) -> Residue:
    return Residue(field, int(rng.integers(P)), int(rng.integers(Q)), 1, depends=bit)


@dataclass(frozen=True, slots=True)
class Differs:
    """An element at which candidate and program differ, and both residues modulo p."""

    place: tuple[int, ...]
    expected: int
    found: int


def compare(draw: Draw, graph: SGraph, symbols: Mapping[str, int]) -> float | Differs:
    """Run a candidate on the inputs: the error bound where it agrees with the program, else a difference.

    Raises:
        Inconclusive: a root in the candidate does not exist for these inputs, or fields cannot evaluate the candidate.
    """
    return compare_results(draw.expected, run(graph, draw.inputs, symbols, blocks=run_vectorized)[graph.output])


def compare_results(expected: Array, found: Array) -> float | Differs:
    """The error bound where two results are equal, else a difference.

    Raises:
        Inconclusive: the program's result depends on no input.
    """
    bound = 0.0
    for place in np.ndindex(*found.shape):
        one, other = expected.item(place), found.item(place)
        if not isinstance(one, Residue):
            raise Inconclusive("a result without inputs")
        if one != other:
            return Differs(place, one.p, other.p if isinstance(other, Residue) else -1)
        bound = max(bound, error_bound(one, other))
    return bound
