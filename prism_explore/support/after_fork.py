"""What has to be renewed in a forked process: it has one thread only, and locks that others held stay locked."""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class Renewed(Protocol):
    """An object with locks, or with a thread."""

    def after_fork(self) -> None:
        """Make new locks; forget threads, and what they would do."""
        ...


_objects: weakref.WeakSet[Renewed] = weakref.WeakSet()


def renew_after_fork(owner: Renewed) -> None:
    """Call `after_fork` of an object in each forked process, as long as the object exists.

    Args:
        owner: the object, with an identity of its own.
    """
    _objects.add(owner)


def _renew() -> None:
    for owner in tuple(_objects):
        owner.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
