"""A table of values that are made when it is worth their time, in a bounded number.

Until a value has been made, something slower runs. A value is made once that has taken as long as a value takes to be
made (rent or buy): all work together takes at most twice what the best choice in hindsight takes. A few values are made
without that, where the caller says so. Values that were not used for the longest time are forgotten. A value is made in
the call that asks for it or later, on another thread, as the owner of the table chooses (`support/background.py`).
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from threading import Lock
from typing import Generic, TypeVar

from prism_explore.support.after_fork import renew_after_fork
from prism_explore.support.background import Start, in_the_call

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Waiting:
    """There is no value yet."""

    spent_s: float
    """What ran instead so far, in seconds."""
    needed_s: float
    """What has to run until the value is made."""
    is_being_made: bool = False
    """Whether another thread makes it, or will."""


class EarnedWork(Generic[Key, Value]):
    """The table; it can be used from several threads.

    Example:
        >>> table = EarnedWork[str, int](most=2, free=1, first_s=1.0)
        >>> table.find("a", lambda: 1), table.find("b", lambda: 2)
        (1, Waiting(spent_s=0.0, needed_s=..., is_being_made=False))
    """

    def __init__(
        self,
        most: int,
        free: int,
        first_s: float,
        clock: Callable[[], float] = time.perf_counter,
        start: Start = in_the_call,
    ) -> None:
        """No value has been made yet.

        Args:
            most: values that are kept, and keys without a value whose time is known.
            free: values that are made when they are first asked for.
            first_s: what a value is assumed to take until one has been made.
            clock: seconds.
            start: runs what makes a value.
        """
        self._most, self._free, self._needed_s, self._clock, self._start = most, free, first_s, clock, start
        self._made: OrderedDict[Key, Value] = OrderedDict()
        self._spent_s: OrderedDict[Key, float] = OrderedDict()
        self._count = 0
        self.after_fork()
        renew_after_fork(self)

    def after_fork(self) -> None:
        """In a forked process no other thread makes a value."""
        self._lock = Lock()
        self._being_made: dict[Key, None] = {}

    def find(self, key: Key, make: Callable[[], Value], may_be_free: bool = True) -> Value | Waiting:
        """The value of a key; where it is time to, it is made.

        Args:
            key: what it is for.
            make: makes it; an exception leaves the key without one.
            may_be_free: whether it may be made before it is earned.
        """
        with self._lock:
            if key in self._made:
                self._made.move_to_end(key)
                return self._made[key]
            spent_s = self._spent_s.setdefault(key, 0.0)
            self._spent_s.move_to_end(key)
            while len(self._spent_s) > self._most:
                self._spent_s.popitem(last=False)
            waiting = Waiting(spent_s, self._needed_s, is_being_made=key in self._being_made)
            is_free = may_be_free and self._count + len(self._being_made) < self._free
            if waiting.is_being_made or (not is_free and spent_s < self._needed_s):
                return waiting
            self._being_made[key] = None
        self._start(lambda: self._make(key, make))
        with self._lock:
            return self._made.get(key, Waiting(spent_s, self._needed_s, is_being_made=True))

    def _make(self, key: Key, make: Callable[[], Value]) -> None:
        start = self._clock()
        try:
            made = make()
            with self._lock:
                self._made[key] = made
                while len(self._made) > self._most:
                    self._made.popitem(last=False)
        finally:
            with self._lock:
                self._count += 1
                self._needed_s = self._clock() - start
                self._spent_s.pop(key, None)
                self._being_made.pop(key, None)

    def spent(self, key: Key, seconds: float) -> None:
        """Count the time of what ran instead of a value.

        Args:
            key: without a value.
            seconds: of one run.
        """
        with self._lock:
            if key in self._spent_s:
                self._spent_s[key] += seconds

    @property
    def values(self) -> tuple[Value, ...]:
        """Those that are kept, the one used last at the end."""
        with self._lock:
            return tuple(self._made.values())

    @property
    def being_made(self) -> tuple[Key, ...]:
        """The keys whose values another thread makes, or will, in this order."""
        with self._lock:
            return tuple(self._being_made)
