"""Pause the cyclic garbage collector during short, bounded computations.

One proof creates tens of thousands of terms, and almost none of them are in reference cycles. Python's collector, which
runs every few hundred allocations by default, would scan them repeatedly while they are still in use.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager
from threading import Lock

_pausing = Lock()


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
