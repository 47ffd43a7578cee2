"""The sessions of this process that are still in use, by a short id, so that a click can name one."""

from __future__ import annotations

import threading
import weakref
from typing import Any, Protocol


class Named(Protocol):
    """An object with a name."""

    @property
    def name(self) -> str:
        """Its name."""
        ...


_lock = threading.Lock()
_objects: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()
_count = 0


def register(live: Named) -> str:
    """Give an object an id, such as s1, for as long as it is in use."""
    global _count
    with _lock:
        _count += 1
        key = f"s{_count}"
        _objects[key] = live
        return key


def live_object(key: str) -> Any:
    """The object with this id; None if there is none."""
    with _lock:
        return _objects.get(key)


def live_names() -> tuple[tuple[str, str], ...]:
    """The id and the name of each object, oldest first."""
    with _lock:
        found = tuple(_objects.items())
    return tuple((key, live.name) for key, live in found)
