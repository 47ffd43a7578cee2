"""Random inputs of a trial."""

from __future__ import annotations

import numpy as np

from prism_explore.ir.graph import SGraph
from prism_explore.ir.interpreter.reference import Array
from prism_explore.ir.ops import Binary, Expand, Input, Permute, Reshape, Slice

RANGE = (-0.65, 0.75)
"""The range from which inputs are drawn uniformly."""
POSITIVE_RANGE = (0.05, 0.75)
"""The range where the program has no finite value on inputs of both signs, as with roots."""


def draw_inputs(
    shapes: tuple[tuple[str, tuple[int, ...]], ...],
    seed: int,
    between: tuple[float, float] = RANGE,
    masks: frozenset[str] = frozenset(),
) -> dict[str, Array]:
    """Random float64 inputs, the same for the same seed.

    About half of a mask tensor is 0, but never a full row.
    """
    rng = np.random.default_rng(seed)
    inputs = {name: rng.uniform(*between, shape) for name, shape in shapes}
    for name in sorted(masks):
        keep = inputs[name]
        kept = rng.random(keep.shape) < 0.5
        if keep.ndim:
            rows = kept.reshape(-1, keep.shape[-1])
            rows[np.arange(len(rows)), np.arange(len(rows)) % keep.shape[-1]] = True
        inputs[name] = np.where(kept, keep, 0.0)
    return inputs


def masks_of(graph: SGraph) -> frozenset[str]:
    """Inputs that are the mask of a mask operator, directly or through views."""
    found: set[str] = set()
    for node in graph.nodes:
        if node.op != Binary("mask"):
            continue
        source = graph.nodes[node.args[1]]
        while isinstance(source.op, Permute | Reshape | Expand | Slice):
            source = graph.nodes[source.args[0]]
        if isinstance(source.op, Input):
            found.add(source.op.name)
    return frozenset(found)
