from __future__ import annotations

from typing import get_args

import pytest

from prism_explore.events.kinds import Event
from prism_explore.widgets.drawing.colors import STYLES
from prism_explore.widgets.panels.event_text import log_line
from tests.widgets.recordings import saturation, story

EVENTS = {type(e): e for e in (*story(), *saturation(1))}


@pytest.mark.parametrize("event", EVENTS.values(), ids=lambda e: type(e).__name__)
def test_an_event_is_one_line_with_a_known_mark(event: Event) -> None:
    line = log_line(event)

    assert line.text and "\n" not in line.text
    assert not line.kind or line.kind in STYLES


def test_most_kinds_of_event_are_tried() -> None:
    assert len(EVENTS) >= 15
    assert set(EVENTS) <= set(get_args(Event))
