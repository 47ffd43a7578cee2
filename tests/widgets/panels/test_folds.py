"""The folds of a journal: an earlier state, read through checkpoints and views, is that of the events up to there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism_explore.events.journal import Entry
from prism_explore.widgets.panels import context
from prism_explore.widgets.panels.context import Folds
from prism_explore.widgets.panels.event_index import EventIndex
from prism_explore.widgets.views.search_tree import SearchTree
from tests.widgets.made_up_search import made_up_search


def entries(count: int, seed: int = 0, **kind: int) -> list[Entry]:
    return [Entry(i, i / 10, event) for i, event in enumerate(made_up_search(count, seed, **kind))]


def content(container: Any) -> object:
    """What a container of `panels.timeline` gives, with its order."""
    return list(container.items()) if isinstance(container, Mapping) else list(container)


def index_of(events: EventIndex) -> dict[str, object]:
    found = {f.name: content(getattr(events, f.name)) for f in fields(events)}
    sizes = {f.name: len(getattr(events, f.name)) for f in fields(events)}
    return {**found, "sizes": sizes, "count": events.count, "phase": events.phase, "log": events.log}


def tree_of(tree: SearchTree) -> dict[str, object]:
    found = {"nodes": list(tree.nodes.items()), "roots": tree.roots, "finished": tree.finished}
    return {**found, "leaves": dict(tree.leaf_counts()), "paths": {n: tree.path(n) for n in tree.nodes}}


def assert_same(one: Folds, other: Folds) -> None:
    assert one.ledger.value() == other.ledger.value()
    assert index_of(one.events) == index_of(other.events)
    assert tree_of(one.tree) == tree_of(other.tree)


@pytest.fixture
def close_checkpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "CHECKPOINT_EVENTS", 7)
    monkeypatch.setattr(context, "MAX_CHECKPOINTS", 5)


@pytest.mark.usefixtures("close_checkpoints")
@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 250), st.lists(st.integers(0, 250), min_size=1, max_size=6))
def test_any_earlier_state_is_that_of_the_events_up_to_there(seed: int, count: int, cursors: list[int]) -> None:
    events = entries(count, seed, regions_per_node=2, nodes_per_family=2, tuned_every=2)
    folds = Folds()
    for number, cursor in enumerate(cursors):
        part = events[folds.events.count : count * (number + 1) // len(cursors)]  # the search goes on between two looks
        folds.extend(part)
        seen = min(cursor, folds.events.count)

        assert_same(folds.before(seen), Folds(events[:seen]))
    assert_same(folds, Folds(events[: folds.events.count]))


def read_per_look(folds: Folds, cursors: Sequence[int], monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Per look, how many events were read again."""
    read = [0]
    add = context.Fold.add
    monkeypatch.setattr(context.Fold, "add", lambda fold, event: (read.__setitem__(-1, read[-1] + 1), add(fold, event)))
    for cursor in cursors:
        folds.before(cursor)
        read.append(0)
    return read[:-1]


@pytest.mark.usefixtures("close_checkpoints")
def test_a_look_reads_the_events_between_two_checkpoints_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    folds = Folds(entries(1000))
    cursors = [999, 1, 500, 499, 501, 998, 3, 750]

    assert len(folds._checkpoints) <= 5
    assert max(read_per_look(folds, cursors, monkeypatch)) < folds._distance <= 2 * 1000 / 4


def test_an_earlier_state_does_not_change_when_the_search_goes_on() -> None:
    events = entries(400, regions_per_node=3)
    folds = Folds(events[:300])
    then = folds.before(200)
    before = (then.ledger.value(), index_of(then.events), tree_of(then.tree), then.tree.version)
    folds.extend(events[300:])
    folds.before(350)

    assert (then.ledger.value(), index_of(then.events), tree_of(then.tree), then.tree.version) == before


def test_views_of_one_version_are_equal_and_a_change_changes_the_version() -> None:
    folds = Folds(entries(600, regions_per_node=3, nodes_per_family=3))
    for name in (f.name for f in fields(EventIndex)):
        views = [getattr(folds.events.before(n), name) for n in range(0, 601, 5)]
        for one, other in pairwise(views):
            assert (one.version == other.version) == (content(one) == content(other)), name


def test_a_ledger_without_new_events_is_the_same_object() -> None:
    folds = Folds(entries(500))
    first = folds.ledger.value()

    assert folds.ledger.value() is first


def test_steps_of_the_enumeration_leave_the_families_of_the_ledger_as_they_are() -> None:
    events = entries(3000)
    folds = Folds(events[:2000])
    before = folds.ledger.value()
    steps = [e for e in events[2000:] if type(e.event).__name__ in ("NodeExpanded", "RegionPruned")]
    for entry in steps:
        folds.ledger.add(entry.event)
    after = folds.ledger.value()

    assert after.families is before.families and after.trials is before.trials and after.verdicts is before.verdicts
    assert after.funnel.pruned > before.funnel.pruned
