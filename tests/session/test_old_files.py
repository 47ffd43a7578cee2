"""A search that was saved before options were renamed still opens."""

from pathlib import Path

import pytest

import prism_explore as px
from prism_explore.session import persistence
from prism_explore.session.persistence import read_search

OLD = Path(__file__).parent.parent / "data" / "saved" / "relu_double.prism"
"""relu(x) * 2, searched to the end at b=4 with `rivals`, `beat_s="rivals"`, `ranges` and `dominated`."""


def test_it_can_be_looked_at():
    record = px.load(OLD)

    assert len(record.journal) == 48
    assert list(record.families) == ["f1"]
    assert "The time to beat was that of torch eager" in record.claim


def test_its_options_have_their_new_names(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(persistence, "_DECIDING", ())  # whatever versions are installed: nothing is searched here

    task, journal = read_search(OLD)

    assert (task.baselines, task.time_to_beat_s) == (("torch eager",), "baselines")
    assert (task.seed, task.dominated, dict(task.shapes)) == (3, "left out", {"b": 4})
    assert task.ranges.bounds == (("b", 1, 64),)
    assert len(journal) == 48


def test_what_is_saved_again_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(persistence, "_DECIDING", ())
    task, journal = read_search(OLD)

    again, _ = read_search(journal.save(tmp_path / "new.prism", {"task": persistence.task_to_plain(task)}))

    assert again == task
