"""Functions that are called when something happens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Listeners:
    """Functions by what they listen to; they may be added and removed while others are called."""

    def __init__(self) -> None:
        self._functions: dict[str, list[Callable[[Any], None]]] = {}

    def add(self, what: str, fn: Callable[[Any], None]) -> Callable[[], None]:
        """Call a function whenever `what` happens.

        Returns:
            A function that ends this; it is called once.
        """
        functions = self._functions.setdefault(what, [])
        functions.append(fn)
        return lambda: functions.remove(fn)

    def call(self, what: str, value: Any) -> None:
        """Call the functions that listen to `what`, in the order in which they were added."""
        for fn in tuple(self._functions.get(what, ())):
            fn(value)

    def __len__(self) -> int:
        return sum(map(len, self._functions.values()))
