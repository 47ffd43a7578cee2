"""Reasons of regions that a budget left unsearched."""

from __future__ import annotations

from prism_explore.events.kinds import FAMILIES_SPENT, TIME_SPENT, Reason

AFTER_FAMILY = "nodes after the last family ≥ budget"
"""The formula of the budget that begins again with each family."""


def nodes_spent(nodes: int, found: bool = True) -> Reason:
    """The reason of a region that the node budget left; not `found`: the budget for finding a first family."""
    what = "The node budget was" if found else "The node budget for a first family was"
    return _spent("budget.nodes", what, "nodes expanded ≥ budget", str(nodes), "the node budget were")


def no_further_family(nodes: int) -> Reason:
    """The reason of a region that was left because the last family was found that many nodes before."""
    what = "The node budget for a further family was"
    return _spent("budget.nodes", what, AFTER_FAMILY, str(nodes), "that budget were")


def families_spent(families: int) -> Reason:
    """The reason of a region that the budget of families left."""
    what = "The budget of families was"
    return _spent(FAMILIES_SPENT, what, "families ≥ budget", str(families), "the budget of families were")


def time_spent(limit_s: float) -> Reason:
    """The reason of a region that the time budget left; where that is depends on the machine's speed."""
    return _spent(
        TIME_SPENT, "The time for growing graphs was", "seconds ≥ budget", f"{limit_s:g} s", "the time budget were"
    )


def _spent(code: str, what: str, formula: str, budget: str, reopens: str) -> Reason:
    return Reason(
        code=code,
        layer="generate",
        soundness="budget",
        rule=code,
        sentence=f"{what} spent before this region was searched.",
        formula=formula,
        substitution={"budget": budget},
        would_reopen_if=f"{reopens} larger",
    )
