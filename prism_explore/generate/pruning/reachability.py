"""`expr.unreachable` and `expr.apart`: values that cannot be part of the result in any context, by the axioms A_eq.

Source: Mirage, arXiv 2405.05751, theorem 1; decided exactly by normal forms (`abstract_expr.subexpression`).
"""

from __future__ import annotations

from prism_explore.generate.abstract_expr.polynomial import show
from prism_explore.generate.pruning.facts import ILLEGAL_LOOP
from prism_explore.generate.pruning.facts import UNREACHABLE as NAME
from prism_explore.generate.pruning.loop_legality import SOME_LEGAL
from prism_explore.generate.pruning.rule import Checks, Failure, PruningRule
from prism_explore.generate.pruning.steps import BlockStep, BlockValue, PredefinedStep


def _is_part(step: BlockValue | PredefinedStep) -> Failure | None:
    facts, tensor = step.facts, step.tensor
    if facts.forms_with(tensor):
        return None
    return Failure("e ≤ result", show(tensor.expression), shared_symbols=facts.result_text)


def _closes(step: BlockStep) -> Failure | None:
    """Whether some loop is legal, or none is illegal because of a pending sum that is no part of the result."""
    if step.legal or step.may_match or not step.facts.space.active(ILLEGAL_LOOP):
        return None
    shown, pending = step.facts.illegal_loops(step.state, step.tensor)
    return Failure(SOME_LEGAL, shown, shared_symbols=step.facts.result_text) if pending else None


def _fit_together(step: BlockStep | PredefinedStep) -> Failure | None:
    """Whether the value and every unused one can be parts of one form of the result; reduces the possible forms."""
    facts, tensor, goals = step.facts, step.tensor, step.goals
    if len(facts.goals) > 1:
        goals &= facts.forms_with(tensor)
        if not goals:
            return Failure("result = C[e, ..] for some C", show(tensor.expression), shared_symbols=facts.result_text)
    for i in sorted(step.unused):
        other = step.state.tensors[i]
        goals &= facts.forms_with_both(tensor, other)
        if not goals:
            shown = f"e = {show(tensor.expression)}, e' = {show(other.expression)}"
            return Failure("result = C[e, e'] for some C", shown, shared_symbols=facts.result_text)
    step.goals = goals
    return None


UNREACHABLE = PruningRule(
    NAME,
    "No continuation makes this value a part of the program's result, by the axioms of equality.",
    "Mirage, arXiv 2405.05751, theorem 1, decided by normal forms instead of an e-graph.",
    "the axioms of equality proved more",
    checks=Checks(value=_is_part, predefined=_is_part, block=_closes),
)
NOT_TOGETHER = PruningRule(
    "expr.apart",
    "Two values that are still unused cannot both be parts of the program's result, by the axioms of equality.",
    "The same theorem for contexts with two holes: every unused value must be used in the end.",
    "the axioms of equality proved more",
    checks=Checks(predefined=_fit_together, block=_fit_together),
    code=NAME,
)
