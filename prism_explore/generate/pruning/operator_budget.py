"""`limit.ops`, `limit.needed` and `limit.terms`: graphs that need more operators than the space still allows.

The lower bounds of the last two are in `abstract_expr.operator_lower_bound`.
"""

from __future__ import annotations

from prism_explore.generate.pruning.rule import Checks, Failure, PruningRule
from prism_explore.generate.pruning.steps import BlockStep, KernelGraph, KernelOpening, OpenedBlock

_CODE = "limit.ops"


def _too_many(joins: int, missing: int, left: int) -> Failure:
    return Failure("joins + makings ≤ operators left", f"{joins} + {missing} > {left}")


def _can_join_rest(step: KernelOpening) -> Failure | None:
    joins = len(step.unused)
    return _too_many(joins, 0, step.operators_after) if joins > step.operators_after else None


def _can_join_in_block(step: BlockStep) -> Failure | None:
    joins, missing = step.joins, step.missing
    return _too_many(joins, missing, step.left) if joins > step.left_in_block or joins + missing > step.left else None


def _can_join(step: KernelGraph) -> Failure | None:
    joins, missing = step.joins, step.missing
    return _too_many(joins, missing, step.left) if joins + missing > step.left else None


def _can_make_parts(step: BlockStep | KernelGraph | OpenedBlock) -> Failure | None:
    bounds, parts, joins = step.facts.lower_bounds, step.parts, step.joins
    return _enough(min([bounds[n].needed(joins, parts[n]) for n in step.goals]), step.left)


def _can_make_terms(step: BlockStep | KernelGraph | OpenedBlock) -> Failure | None:
    bounds, parts, joins = step.facts.lower_bounds, step.parts, step.joins
    return _enough(min([bounds[n].needed_with_terms(joins, parts[n]) for n in step.goals]), step.left)


def _enough(needed: int, left: int) -> Failure | None:
    return Failure("operators needed ≤ operators left", f"{needed} > {left}") if needed > left else None


OPERATORS = PruningRule(
    _CODE,
    "The operators left are too few to use up what is unused and to make what is missing.",
    "A count: an operator with two operands reduces the number of unused tensors by one, and an operator with one "
    "operand makes one of the roots, means, exponentials, constants and functions in the result.",
    "a larger number of operators were allowed",
    checks=Checks(block=_can_join_in_block, kernel_graph=_can_join),
    always_checks=Checks(opening=_can_join_rest),
)
NEEDED = PruningRule(
    "limit.needed",
    "The operators left are too few for the sums, quotients, roots and functions that are still to be made.",
    "An admissible bound (`operator_lower_bound`): no operator makes two of these parts of the result, and parts never "
    "cancel.",
    "a larger number of operators were allowed",
    checks=Checks(block=_can_make_parts, kernel_graph=_can_make_parts, opened=_can_make_parts),
    code=_CODE,
)
TERMS = PruningRule(
    "limit.terms",
    "The operators left are too few for the additions and products that are still to come as well.",
    "An admissible bound (`operator_lower_bound`): nothing cancels, so operators added each monomial of the result to "
    "a sum, and others combined the inputs of a monomial.",
    "a larger number of operators were allowed",
    checks=Checks(block=_can_make_terms, kernel_graph=_can_make_terms, opened=_can_make_terms),
    code=_CODE,
)
