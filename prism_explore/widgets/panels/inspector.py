"""The inspector: what the selected id is, the reasons for its status, and the commands for it.

One row per kind of id. A row returns None for an id of another kind.
"""

from __future__ import annotations

from collections.abc import Callable

from prism_explore.widgets.panels.context import Context
from prism_explore.widgets.panels.families import candidate_inspector, family_inspector
from prism_explore.widgets.panels.proof import eclass_inspector, frame_inspector, tensor_inspector
from prism_explore.widgets.panels.pruned import node_inspector, reason_inspector, region_inspector
from prism_explore.widgets.panels.questions import inspect_question
from prism_explore.widgets.panels.result import overview
from prism_explore.widgets.panels.sections import Inspector
from prism_explore.widgets.panels.tuning import trial_inspector

INSPECTORS: tuple[Callable[[str, Context], Inspector | None], ...] = (
    overview,
    node_inspector,
    region_inspector,
    family_inspector,
    candidate_inspector,
    inspect_question,
    trial_inspector,
    tensor_inspector,
    frame_inspector,
    eclass_inspector,
    reason_inspector,
)


def inspect(ref: str, context: Context) -> Inspector | None:
    """Describe an id, or the result so far for an empty one; None if nothing has this id."""
    return next((found for row in INSPECTORS if (found := row(ref, context)) is not None), None)
