"""Files of before still open: options that were renamed since, and sizes that were written as their terms."""

import json
from dataclasses import asdict
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


VIEWS = """program halves
  x = input f32[b, 6]
  %1 = slice(x, dim=1, start=0, stop=3)
  %2 = slice(x, dim=1, start=3, stop=6)
  %3 = concat(%2, %1, dim=1)
  %4 = reshape(%3, dims=[2*b, 3])
  %5 = permute(%4, order=[1, 0])
  return %5"""


def test_the_task_of_a_program_with_views_is_saved_and_read(tmp_path: Path):
    session = px.Session(px.parse_program(VIEWS), target="h100", at={"b": 4})
    assert session.task.space.block.views, "its space has the program's views"

    task, _ = read_search(session.save(tmp_path / "views.prism"))

    assert task == session.task


def test_a_size_that_was_written_as_its_terms_is_read(tmp_path: Path):
    session = px.Session(px.parse_program(VIEWS), target="h100", at={"b": 4})
    task = persistence.task_to_plain(session.task)
    for level, operators in (("block", session.task.space.block), ("kernel", session.task.space.kernel)):
        task["space"][level]["views"] = json.loads(json.dumps([asdict(view) for view in operators.views], default=str))
    assert "_hash" in str(task), "the form in which sizes were written before"

    read, _ = read_search(session.journal.save(tmp_path / "views.prism", {"task": task}))

    assert read == session.task
