"""`map.constraint`: graphs for which no choice of looped axes is legal (`ir.analysis.loop_flow`)."""

from __future__ import annotations

from prism_explore.generate.pruning.facts import ILLEGAL_LOOP
from prism_explore.generate.pruning.rule import Checks, Failure, PruningRule
from prism_explore.generate.pruning.steps import BlockStep, SplitStep
from prism_explore.generate.split_kernels import illegal_first_loop, illegal_second_loop

SOME_LEGAL = "some choice of looped axes is legal"


def _has_legal_loop(step: BlockStep) -> Failure | None:
    """Whether some choice is legal; if a pending sum is among the reasons, `expr.unreachable` reports the cut."""
    if step.legal or step.may_match:
        return None
    shown, pending = step.facts.illegal_loops(step.state, step.tensor)
    return None if pending else Failure(SOME_LEGAL, shown)


def _split_has_legal_loops(step: SplitStep) -> Failure | None:
    if shown := illegal_first_loop(step.split):
        return Failure(SOME_LEGAL, shown)
    if shown := illegal_second_loop(step.split):
        return Failure("a loop over the shares is legal", shown)
    return None


LOOP_LEGALITY = PruningRule(
    ILLEGAL_LOOP,
    "Whichever axes the for-loop cuts, some operator would combine the wrong tiles.",
    "The transfer function of `ir.analysis.loop_flow`, for every choice of looped axes.",
    "a tensor could be loaded twice, cut in two ways",
    checks=Checks(block=_has_legal_loop, split=_split_has_legal_loops),
    layer="map",
    one_region_per_node=True,
    restricts="maps",
)
