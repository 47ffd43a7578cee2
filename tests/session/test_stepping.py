"""Steps are counted event by event as they are counted from the start."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_explore.events.journal import Journal
from prism_explore.events.kinds import Event, FamilyCompleted, VerdictReached
from prism_explore.events.phases import phase_of
from prism_explore.session.stepping import Grain, after_steps
from tests.widgets.recordings import saturation, story

EVENTS: tuple[Event, ...] = (*story(), *saturation(2))


def count_from_the_start(before: Sequence[Event], since: Sequence[Event], grain: Grain) -> int:
    match grain:
        case "event":
            return len(since)
        case "candidate":
            return sum(isinstance(e, VerdictReached) for e in since)
        case "family":
            return sum(isinstance(e, FamilyCompleted) for e in since)
        case "phase":
            phases = [phase for e in (*before[-1:], *since) if (phase := phase_of(e))]
            return sum(a != b for a, b in pairwise(phases))


@pytest.mark.parametrize("grain", get_args(Grain))
@given(st.lists(st.sampled_from(EVENTS), max_size=4), st.lists(st.sampled_from(EVENTS), max_size=30), st.integers(1, 9))
def test_the_condition_holds_from_the_last_of_the_steps_on(
    grain: Grain, before: list[Event], since: list[Event], n: int
) -> None:
    journal = Journal()
    for event in before:
        journal.append(event)
    is_done = after_steps(journal, n, grain)
    for read, event in enumerate(since, 1):
        journal.append(event)

        assert (count_from_the_start(before, since[:read], grain) >= n) == is_done()
