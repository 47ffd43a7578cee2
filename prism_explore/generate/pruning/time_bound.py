"""`cost.floor`: branch and bound against a time to beat, by the roofline of the partial graph (`cost.roofline`)."""

from __future__ import annotations

from prism_explore.cost.roofline import rates_of
from prism_explore.events.format import seconds_text
from prism_explore.generate.pruning.facts import TOO_SLOW
from prism_explore.generate.pruning.rule import Checks, Failure, PruningRule
from prism_explore.generate.pruning.steps import BlockStep, KernelOpening, PredefinedStep


def _is_faster(step: BlockStep | KernelOpening | PredefinedStep) -> Failure | None:
    bounds = step.facts.bounds
    if bounds is None or step.time_bound.time_s < bounds.time_to_beat.best_s:
        return None
    time_to_beat, target = bounds.time_to_beat, bounds.time_to_beat.target
    common = {"time to beat": seconds_text(time_to_beat.best_s), "machine": target.name}
    if time_to_beat.other_kernels_s:
        common["of e, other kernels"] = f"{seconds_text(time_to_beat.other_kernels_s)} at least"
    shown = seconds_text(step.time_bound.time_s)
    return Failure("e < time to beat", shown, rates_of(target), heuristic=target.measured, shared_symbols=common)


TIME_BOUND = PruningRule(
    TOO_SLOW,
    "However it goes on, compulsory traffic and arithmetic alone take as long as the time to beat.",
    "Branch and bound on the roofline of a partial graph; `cost.roofline` proves it for all graphs that extend it.",
    "the time to beat were longer, or the target faster than its figures say",
    checks=Checks(block=_is_faster, opening=_is_faster, predefined=_is_faster),
)
