"""The time to beat of each kernel of a sequence: that of the sequence minus a bound on the other kernels.

The kernels of a sequence run one after another, each for one part of a program, so their times add up. The bound on
the others: an input of the program is read from memory once, by the first kernel that reads it. A result that one
kernel passes to another may still be in the last cache; only the bytes that do not fit count.

A part that only views its input reads nothing. Of a part with masks only reads under any mask count (see
`cost.roofline`); a mask in one part says nothing about other parts, because each kernel writes its result in full.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from prism_explore.cost.roofline import TimeToBeat, time_to_beat_of
from prism_explore.ir.ops import Band, Input, ViewOp
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.transforms.boundary_views import split_boundary_views
from prism_explore.ir.transforms.duplicate_inputs import duplicate_inputs
from prism_explore.ir.transforms.partition import Part, canonical_text
from prism_explore.targets import Target


def times_to_beat_of_parts(
    program: TensorProgram, parts: Sequence[Part], best_s: float, shapes: Mapping[str, int], target: Target
) -> dict[str, TimeToBeat | None]:
    """The time to beat of each part, by its canonical text; None for a part without a bound on partial graphs.

    Equal parts are searched once, so they share the largest of their times.

    Args:
        program: the full program.
        parts: its parts, in order.
        best_s: the time that the sequence must be faster than, in seconds.
        shapes: sizes of the program's symbols.
        target: the machine.
    """
    given = {op.name for op in program.inputs}
    seen: set[str] = set()
    alone = [time_to_beat_of(part.program, best_s, shapes, target) for part in parts]
    cold: list[dict[str, float]] = []
    for part, own in zip(parts, alone, strict=True):
        first = {op.name for op in part.program.inputs} & given - seen
        cold.append(_read_s(part.program, own, first) if has_operators(part.program) else {})
        seen |= first if has_operators(part.program) else set()
    total_s = sum(s for each in cold for s in each.values())
    found: dict[str, TimeToBeat | None] = {}
    for part, own, first in zip(parts, alone, cold, strict=True):
        key = canonical_text(part.program)
        if own is None:
            found[key] = None
            continue
        warm = frozenset(n for n, op in enumerate(part.program.inputs) if op.name not in first)
        before = found.get(key)
        rest_s = total_s - sum(first.values())
        if before is not None:
            warm, rest_s = warm | before.warm, min(rest_s, before.other_kernels_s)
        found[key] = replace(own, warm=warm, other_kernels_s=rest_s)
    return found


def is_looser(one: TimeToBeat | None, other: TimeToBeat | None) -> bool:
    """Whether the other time to beat may keep graphs that the first prunes."""
    if one is None or other is None:
        return one is not None
    return other.other_kernels_s < one.other_kernels_s or not other.warm <= one.warm


def has_operators(part: TensorProgram) -> bool:
    """Whether a part has operators that are no views."""
    return any(not isinstance(n.op, Input | Band | ViewOp) for n in part.graph.nodes)


def _read_s(part: TensorProgram, own: TimeToBeat | None, names: set[str]) -> dict[str, float]:
    """A lower bound on the seconds to read each input that a part is the first to read."""
    seconds = dict.fromkeys(names, 0.0)
    boundary = split_boundary_views(duplicate_inputs(part).program.graph)
    for viewed, node in zip(boundary.viewed_inputs, boundary.inputs, strict=True):
        assert isinstance(node.op, Input), "the inputs of the core are inputs of the program or views of them"
        if own is not None and node.op.name in names:
            seconds[node.op.name] = own.read_s(viewed.type)
    return seconds
