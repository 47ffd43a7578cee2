"""Full collections are postponed inside a block, and as before after it."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping

import pytest

from prism_explore.support import gc_pause
from prism_explore.support.gc_pause import MIDDLE_COLLECTIONS, full_collections_postponed


@pytest.fixture(autouse=True)
def thresholds(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[int, int, int]]:
    monkeypatch.setattr(gc_pause, "_blocks", 0)
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 2)
    gc.freeze()  # else the objects of earlier tests decide when Python collects
    gc.collect()
    yield gc.get_threshold()
    gc.unfreeze()
    gc.set_threshold(*before)


def full_collections(objects: int) -> int:
    """Number of full collections while so many objects are made and kept."""
    count = 0

    def note(phase: str, info: Mapping[str, int]) -> None:
        nonlocal count
        count += phase == "start" and info["generation"] == 2

    gc.callbacks.append(note)
    kept: list[list[int]] = [[] for _ in range(objects)]
    gc.callbacks.remove(note)
    assert len(kept) == objects
    return count


def test_a_block_has_no_full_collection_where_the_same_code_outside_has_one() -> None:
    enough = len(gc.get_objects()) // 2 + 100_000  # Python collects when a quarter of the objects are new
    with full_collections_postponed():
        inside = full_collections(enough)

    assert inside == 0
    assert full_collections(enough) > 0


def test_a_long_block_has_full_collections() -> None:
    gc.set_threshold(50, 2, 2)
    with full_collections_postponed():
        assert full_collections(len(gc.get_objects()) // 2 + 100_000) > 0


def test_the_last_of_several_blocks_restores_the_threshold(thresholds: tuple[int, int, int]) -> None:
    with full_collections_postponed():
        with full_collections_postponed():
            assert gc.get_threshold() == (*thresholds[:2], MIDDLE_COLLECTIONS)
        assert gc.get_threshold() == (*thresholds[:2], MIDDLE_COLLECTIONS)

    assert gc.get_threshold() == thresholds


def test_what_a_user_sets_inside_a_block_is_kept() -> None:
    with full_collections_postponed():
        gc.set_threshold(700, 10, 20)

    assert gc.get_threshold() == (700, 10, 20)
