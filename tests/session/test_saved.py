from __future__ import annotations

import gc
from pathlib import Path

import pytest

import prism_explore as px
from prism_explore.session import saved

FILE = Path(__file__).parents[1] / "data" / "saved" / "relu_double.prism"


def test_in_a_notebook_the_events_of_a_loaded_search_are_read_for_its_first_explorer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(saved, "is_notebook", lambda: True)
    gc.collect()  # other sessions that are still alive can be chosen for a comparison
    record = px.load(FILE)
    first, second = record.widget, record.widget
    ahead = first._ahead

    assert ahead is not None and second._ahead is None
    assert first.picture() == second.picture()
    assert first._folds is ahead.result()
    assert len(record.journal) == first._folds.events.count
    first.close()
    second.close()
