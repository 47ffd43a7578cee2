"""Slow results that a panel needs: computed on another thread, once, and announced when they are there."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")

MAX_RESULTS = 32


class Background(Generic[T]):
    """Computes results one after another on a thread of its own.

    Args:
        announce: called on that thread when a result is there; without it, results are computed at once.
    """

    def __init__(self, announce: Callable[[], None] | None = None) -> None:
        self._announce = announce
        self._lock = threading.Lock()
        self._turn = threading.Lock()
        self._results: OrderedDict[Hashable, T] = OrderedDict()
        self._running: set[Hashable] = set()

    def get(self, key: Hashable, compute: Callable[[], T]) -> T | None:
        """The result, or None while it is being computed."""
        with self._lock:
            if key in self._results:
                return self._results[key]
            if key in self._running:
                return None
            self._running.add(key)
        if self._announce is None:
            return self._run(key, compute)
        threading.Thread(target=self._run, args=(key, compute), name="prism_explore code", daemon=True).start()
        return None

    def _run(self, key: Hashable, compute: Callable[[], T]) -> T:
        try:
            with self._turn:
                result = compute()
            with self._lock:
                self._results[key] = result
                while len(self._results) > MAX_RESULTS:
                    self._results.popitem(last=False)
        finally:
            with self._lock:
                self._running.discard(key)
        if self._announce is not None:
            self._announce()
        return result
