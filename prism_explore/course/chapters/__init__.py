"""The exercises of the notebooks, a file per notebook; `exercise` finds one by its id."""

from __future__ import annotations

from collections.abc import Mapping

from prism_explore.course.chapters import (
    drowning_by_enumeration,
    egraphs_step_by_step,
    from_family_to_fast,
    kernels_inside_kernels,
    make_it_yours,
    one_graph_many_programs,
    proved_unknown_refuted,
    same_search_two_runs,
    search_that_found_nothing,
    ten_minutes,
    why_was_this_pruned,
    you_are_the_heuristic,
)
from prism_explore.course.exercise import Exercise
from prism_explore.errors import PrismError

EXERCISES: Mapping[str, Exercise] = {
    exercise.id: exercise
    for chapter in (
        ten_minutes,
        kernels_inside_kernels,
        one_graph_many_programs,
        drowning_by_enumeration,
        why_was_this_pruned,
        egraphs_step_by_step,
        proved_unknown_refuted,
        from_family_to_fast,
        you_are_the_heuristic,
        search_that_found_nothing,
        same_search_two_runs,
        make_it_yours,
    )
    for exercise in chapter.EXERCISES
}


def exercise(id: str) -> Exercise:
    """An exercise of the notebooks.

    Args:
        id: number of the notebook and a letter, such as `01-a`.

    Returns:
        The exercise; `check(answer)` judges an answer, and `hint(1)` is a first hint.

    Raises:
        PrismError: there is no such exercise.

    Example:
        >>> import prism_explore as px
        >>> px.exercise("01-b").question
        'Which rows and columns of w does block 2 read in iteration 3?'
    """
    if id not in EXERCISES:
        raise PrismError(f"there is no exercise {id!r}; the exercises are {', '.join(EXERCISES)}")
    return EXERCISES[id]
