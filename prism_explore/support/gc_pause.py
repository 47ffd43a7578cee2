"""Pause the cyclic garbage collector, or its full collections, during bounded computations.

One proof creates tens of thousands of terms, and almost none of them are in reference cycles. Python's collector, which
runs every few hundred allocations by default, would scan them repeatedly while they are still in use.

A process that has imported torch has half a million objects. A full collection scans all of them, takes a third of a
second or more, and no other thread runs meanwhile, so that a click is not answered. A computation that fills tables and
drops them again causes one after the other: they were 40 % of the CPU time of the search of a transformer block.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager
from threading import Lock

MIDDLE_COLLECTIONS = 200
"""Collections of younger objects after which a full one may follow inside a block; 10 is Python's default. By its other
defaults that is after 1.4 million new objects."""

_pausing = Lock()
_postponing = Lock()
_blocks = 0
_threshold_before = 0


@contextmanager
def gc_paused() -> Generator[None]:
    """Disable the collector inside the block, and enable it again afterwards.

    Nothing changes if the collector is already disabled, or if another thread has paused it. So threads that run such
    blocks in turn disable it for the duration of one block at most.
    """
    if not gc.isenabled() or not _pausing.acquire(blocking=False):
        yield
        return
    try:
        gc.disable()
        try:
            yield
        finally:
            gc.enable()
    finally:
        _pausing.release()


@contextmanager
def full_collections_postponed() -> Generator[None]:
    """Start full collections seldom inside the block; younger objects are collected as usual.

    The last of several blocks restores the threshold, unless it was changed inside.
    """
    global _blocks, _threshold_before
    with _postponing:
        if _blocks == 0:
            young, middle, _threshold_before = gc.get_threshold()
            gc.set_threshold(young, middle, MIDDLE_COLLECTIONS)
        _blocks += 1
    try:
        yield
    finally:
        with _postponing:
            _blocks -= 1
            young, middle, old = gc.get_threshold()
            if _blocks == 0 and old == MIDDLE_COLLECTIONS:
                gc.set_threshold(young, middle, _threshold_before)
