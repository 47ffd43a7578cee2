"""Let the threads of this process take turns quickly while a user waits for one of them.

Python runs one thread at a time. A thread that wakes waits for `sys.getswitchinterval()`, 5 ms by default, until one
that computes lets it run. The answer to a click passes through several threads and wakes each several times, so with
the default it takes 0.4 s while a search runs.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from threading import Lock

INTERVAL_S = 0.0005
"""Longest wait of a thread for one that computes. Shorter ones answer no click sooner, and cost more switches."""

UNINTERRUPTED_S = 0.1
"""Longest time for which a thread computes without a turn of the others, while a user waits for it."""

_lock = Lock()
_blocks = 0
_before_s = 0.0


@contextmanager
def quick_switches() -> Generator[None]:
    """Shorten the switch interval inside the block; the last of several blocks restores it.

    A shorter interval, or one that was changed inside the block, is kept.
    """
    global _blocks, _before_s
    with _lock:
        if _blocks == 0:
            _before_s = sys.getswitchinterval()
            sys.setswitchinterval(min(_before_s, INTERVAL_S))
        _blocks += 1
    try:
        yield
    finally:
        with _lock:
            _blocks -= 1
            if _blocks == 0 and abs(sys.getswitchinterval() - INTERVAL_S) < INTERVAL_S / 10:
                sys.setswitchinterval(_before_s)


@contextmanager
def uninterrupted() -> Generator[None]:
    """Compute inside the block without turns of other threads that compute, for `UNINTERRUPTED_S` at most.

    The block should wait for nothing: a thread that waits loses its turn, and gets the next one as late. Threads that
    use it have quick switches otherwise. Of several blocks at once, the end of the one that began first restores them.
    """
    before_s = sys.getswitchinterval()
    sys.setswitchinterval(UNINTERRUPTED_S)
    try:
        yield
    finally:
        if before_s < UNINTERRUPTED_S:
            sys.setswitchinterval(before_s)
