"""The garbage collector comes between pieces of work, not within them.

A verdict makes tens of thousands of terms, and next to none of them hold each other in a ring. Collected every few
hundred objects, as Python does by default, they are looked over again and again while they are still needed.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager
from threading import Lock

_holding = Lock()


@contextmanager
def held() -> Generator[None]:
    """Keep the collector from coming within, a short and bounded piece of work; behind it, it comes as it would.

    Where another thread holds it, or its user switched it off, nothing changes; so threads that take turns in such
    work never keep it away for longer than one piece.
    """
    if not gc.isenabled() or not _holding.acquire(blocking=False):
        yield
        return
    try:
        gc.disable()
        try:
            yield
        finally:
            gc.enable()
    finally:
        _holding.release()
