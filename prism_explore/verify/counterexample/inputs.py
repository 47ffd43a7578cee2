"""Random inputs of a trial."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import numpy as np

from prism_explore.ir.elementwise import BITS
from prism_explore.ir.graph import SGraph
from prism_explore.ir.interpreter.reference import Array
from prism_explore.ir.interpreter.whole_numbers import Drawn, draw_bits, draw_for_trial
from prism_explore.ir.ops import Binary, Expand, Input, Permute, Reshape, Slice, Unary
from prism_explore.verify.counterexample.float_errors import contains, is_step

RANGE = (-0.65, 0.75)
"""The range from which inputs are drawn uniformly."""
POSITIVE_RANGE = (0.05, 0.75)
"""The range where the program has no finite value on inputs of both signs, as with roots."""

STEP_RANGE = (-2.6, 3.1)
"""The first range for programs with step functions, which show in RANGE only one jump."""
POSITIVE_STEP_RANGE = (0.05, 3.1)
SMALLEST = 1e-3
"""The smallest magnitude of an input that is not 0.

The square of a smaller one would be below the magnitudes at which floats are trusted, and the trial would be repeated
in high precision, which takes a thousand times as long.
"""


NO_LIMITS: Mapping[str, int] = MappingProxyType({})
NO_WHOLE: Mapping[str, Drawn] = MappingProxyType({})


def ranges_of(*graphs: SGraph) -> tuple[tuple[float, float], ...]:
    """The ranges of inputs of graphs that are compared, each for when the ones before it give no finite value."""
    has_steps = any(contains(graph, is_step) for graph in graphs)
    return ((STEP_RANGE, POSITIVE_STEP_RANGE) if has_steps else ()) + (RANGE, POSITIVE_RANGE)


def draw_inputs(
    shapes: tuple[tuple[str, tuple[int, ...]], ...],
    seed: int,
    between: tuple[float, float] = RANGE,
    masks: frozenset[str] = frozenset(),
    whole: Mapping[str, Drawn] = NO_WHOLE,
    compared: frozenset[str] = frozenset(),
    limits: Mapping[str, int] = NO_LIMITS,
) -> dict[str, Array]:
    """Random float64 inputs, the same for the same seed.

    About half of a mask tensor is 0, but never a full row. A bool tensor is 0 or 1, and a row of two elements or more
    has both. Inputs of i8 and u8 are whole numbers. A tensor that is compared with 0 is 0 at about half of its
    elements. Inputs with a limit are integers from 0 to that limit - 1.
    """
    rng = np.random.default_rng(seed)
    inputs = {name: _away_from_zero(rng.uniform(*between, shape)) for name, shape in shapes}
    for name in sorted(masks - whole.keys() - compared):
        keep = inputs[name]
        kept = rng.random(keep.shape) < 0.5
        if keep.ndim:
            rows = kept.reshape(-1, keep.shape[-1])
            rows[np.arange(len(rows)), np.arange(len(rows)) % keep.shape[-1]] = True
        inputs[name] = np.where(kept, keep, 0.0)
    for name in sorted(compared - whole.keys()):
        inputs[name] = np.where(draw_bits(rng, inputs[name].shape), inputs[name], 0.0)
    for name, dtype in sorted(whole.items()):
        inputs[name] = draw_for_trial(rng, inputs[name].shape, dtype)
    for name, limit in sorted(limits.items()):
        inputs[name] = rng.integers(limit, size=inputs[name].shape)
    return inputs


def _away_from_zero(values: Array) -> Array:
    return np.where(np.abs(values) < SMALLEST, values + np.copysign(SMALLEST, values), values)


def masks_of(graph: SGraph) -> frozenset[str]:
    """Inputs that are the mask of a mask operator, directly or through views."""
    return _inputs_of(graph, [node.args[1] for node in graph.nodes if node.op == Binary("mask")])


def compared_inputs(graph: SGraph) -> frozenset[str]:
    """Inputs that are compared with 0 or select, directly or through views."""
    conditions = [node.args[1] for node in graph.nodes if node.op in (Binary("keep"), Binary("drop"))]
    compared = [n.args[0] for n in graph.nodes if isinstance(n.op, Unary) and n.op.fn in BITS]
    return _inputs_of(graph, [*conditions, *compared])


def _inputs_of(graph: SGraph, positions: Iterable[int]) -> frozenset[str]:
    found: set[str] = set()
    for position in positions:
        source = graph.nodes[position]
        while isinstance(source.op, Permute | Reshape | Expand | Slice):
            source = graph.nodes[source.args[0]]
        if isinstance(source.op, Input):
            found.add(source.op.name)
    return frozenset(found)
