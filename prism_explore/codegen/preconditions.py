"""What a proved candidate and its sizes must fulfil before a kernel is generated, whatever the code generator."""

from __future__ import annotations

from collections.abc import Mapping

from prism_explore.pipeline.stages import Infeasible, Parameters, Verified


def unmet_precondition(verified: Verified, parameters: Parameters, shapes: Mapping[str, int]) -> Infeasible | None:
    """Why there is no kernel of a candidate at these sizes; None if there may be one.

    A proof holds for sizes that satisfy its conditions. It knows inputs by name, and a call passes them by position.
    """
    candidate = verified.candidate
    taken, given = ([i.name for i in x.inputs] for x in (candidate.sgraph, candidate.family.program))
    if taken != given:
        reason = f"its kernel takes {', '.join(taken)}; its program has the inputs {', '.join(given)}, in this order"
    elif violated := verified.proof.broken_at({**shapes, **parameters.numbers}):
        reason = f"the proof needs other sizes: {violated[0]}"
    else:
        return None
    return Infeasible(candidate, parameters, "tune.illegal", reason)
