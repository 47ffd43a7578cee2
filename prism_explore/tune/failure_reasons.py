"""Reasons in the journal: why a candidate was not timed, or why a trial gave no time."""

from __future__ import annotations

from prism_explore.cost.roofline import TimeBound, rates_of
from prism_explore.events.format import seconds_text
from prism_explore.events.kinds import Reason
from prism_explore.targets import Target
from prism_explore.tune.runner.bench import Failure

_SOUND = ("tune.illegal", "tune.wrong")
"""Failures that would occur on every machine; others may depend on this machine or its load."""

_REOPENS = {
    "tune.compile": "the code generator learned this form",
    "tune.crash": "the code generator were mended",
    "tune.hang": "the time limit of a trial were longer",
    "tune.memory": "the machine had more memory",
}


def failure_reason(failure: Failure) -> Reason:
    """The reason of a trial that gave no time."""
    return Reason(
        code=failure.code,
        layer="tune",
        soundness="sound" if failure.code in _SOUND else "budget",
        rule=failure.code.removeprefix("tune."),
        sentence=failure.reason,
        would_reopen_if=_REOPENS.get(failure.code, ""),
    )


def bound_reason(bound: TimeBound, limit_s: float, whose: str, target: Target) -> Reason:
    """The reason of a candidate that is not timed because of its lower bound."""
    causes = {"memory": f"{bound.bytes:.4g} B of compulsory traffic", "compute": f"{bound.flops:.4g} flops at least"}
    return Reason(
        code="cost.floor",
        layer="tune",
        soundness="heuristic" if target.measured else "sound",
        rule="cost.floor",
        sentence="Whatever its numbers, compulsory traffic and arithmetic alone take as long as the time that it has "
        f"to stay below. {rates_of(target)}",
        formula=f"floor < time {whose}",
        substitution={
            "floor": f"{seconds_text(bound.time_s)}, of {causes[bound.bound_by]}",
            f"time {whose}": f"{seconds_text(limit_s)}, measured",
            "machine": target.name,
        },
        would_reopen_if="that time were longer, or the machine faster than its figures say",
    )
