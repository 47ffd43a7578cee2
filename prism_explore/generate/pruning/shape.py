"""`shape.mismatch`: operands with different index axes in dims that must match."""

from __future__ import annotations

from prism_explore.generate.pruning.rule import Checks, Failure, PruningRule
from prism_explore.generate.pruning.steps import OperandTypes
from prism_explore.ir.tensors import promoted
from prism_explore.pipeline.search_space import MATCH_BY_AXIS


def _fits(step: OperandTypes) -> Failure | None:
    operands = step.operands
    if step.result is not None and promoted(t.dtype for t in operands) is not None:
        return None
    shown, sizes_agree = step.facts.mismatch(tuple([(t.dtype, t.axes) for t in operands]))
    detail = "Some of their sizes happen to agree, but the stated space matches axes, not sizes."
    return Failure("axes match", shown, detail if sizes_agree else "")


def _has_distinct_axes(step: OperandTypes) -> Failure | None:
    result = step.result or ()
    double = [a for a in result if a and a not in step.facts.repeated and result.count(a) > 1]
    if not double:
        return None
    detail = "Here one axis would fill two dims of the result."
    return Failure("no axis occurs twice", double[0], detail, heuristic=True)


SHAPE_MISMATCH = PruningRule(
    MATCH_BY_AXIS,
    "The operands' dims are different index axes, so they match for no choice of maps and sizes.",
    "Prism, symbolic dimension matching; here on axes named once for the whole program.",
    "sizes that only happen to agree were allowed to match",
    checks=Checks(typing=_has_distinct_axes),
    always_checks=Checks(typing=_fits),
    one_region_per_node=True,
    restricts="space",
)
