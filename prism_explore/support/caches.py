"""Memoization whose entries live as long as somebody computes with them.

`memoize` makes a `functools.lru_cache` and registers it here. Every open `Session`, and every `Record` that was opened
from a file, holds a lease. When the last lease of the process ends, all registered caches are cleared, so that the
memory of a finished search is free again. A lease costs nothing per call: the caches are those of the standard library.

Clearing is always safe: a cached value is a function of its key, and nothing depends on two calls returning one object.
`generate.abstract_expr.polynomial.Mono`, whose equality is identity, is interned in a weak dictionary of its own: a
monomial that anybody still holds stays the only one with its parts.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import lru_cache
from threading import RLock
from typing import ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")

_clear_functions: list[Callable[[], None]] = []
_lock = RLock()  # reentrant: a lease may end in a garbage collection that starts while another one is taken
_open_leases: set[Lease] = set()


def memoize(max_entries: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator: keep the results of a pure function of hashable arguments, the last used ones first.

    Args:
        max_entries: how many results are kept at most.

    Returns:
        The decorator. What it returns is a `functools.lru_cache`, with `cache_clear` and `cache_info`.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        cached = lru_cache(max_entries)(function)
        _clear_functions.append(cached.cache_clear)
        return cast("Callable[P, R]", cached)

    return decorate


class Lease:
    """The right to find cached results again; the caches are cleared when the last one ends."""

    def __init__(self) -> None:
        with _lock:
            _open_leases.add(self)

    def end(self) -> None:
        """Give the lease back; a second call does nothing."""
        with _lock:
            if self not in _open_leases:
                return
            _open_leases.remove(self)
            if not _open_leases:
                clear()


def lease_for(owner: object) -> Lease:
    """A lease that ends with its owner's garbage collection, or before that when `end` is called."""
    lease = Lease()
    weakref.finalize(owner, lease.end)
    return lease


@contextmanager
def leased() -> Generator[None]:
    """Hold a lease within a block of code."""
    lease = Lease()
    try:
        yield
    finally:
        lease.end()


def open_leases() -> int:
    """How many leases are open in this process."""
    return len(_open_leases)


def clear() -> None:
    """Clear every registered cache."""
    for clear_one in _clear_functions:
        clear_one()
