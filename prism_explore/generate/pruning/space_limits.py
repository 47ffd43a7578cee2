"""`limit.accumulators` and `limit.results`: limits of the stated space on accumulators and partial results."""

from __future__ import annotations

from prism_explore.generate.pruning.rule import Checks, Failure, PruningRule
from prism_explore.generate.pruning.steps import BlockStep, SplitStep


def _within_accumulators(step: BlockStep) -> Failure | None:
    if not step.accumulates:
        return None
    accumulated = step.accumulated
    if len(accumulated) >= step.facts.space.accumulators:
        return Failure("accumulators < limit", str(len(accumulated)))
    if step.args[0] in accumulated:
        return Failure("e is not accumulated yet", f"%{step.args[0]}")
    return None


def _within_results(step: SplitStep) -> Failure | None:
    stored, limit = len(step.split.stored), step.facts.space.results
    return Failure("partial results ≤ limit", f"{stored} > {limit}") if stored > limit else None


ACCUMULATORS = PruningRule(
    "limit.accumulators",
    "The stated space has no block graph with more accumulators, or with two of one tensor.",
    "Mirage and Prism's published search: at most 3 accumulators.",
    "a larger number of accumulators were allowed",
    checks=Checks(block=_within_accumulators),
    restricts="space",
)
PARTIAL_RESULTS = PruningRule(
    "limit.results",
    "The stated space has no kernel that stores more partial results.",
    "Mirage's hand-written split attention stores two; as many as there may be accumulators.",
    "a larger number of partial results were allowed",
    checks=Checks(),
    always_checks=Checks(split=_within_results),
)
