"""Locks of files between processes."""

from __future__ import annotations

from importlib.util import find_spec


def system_has_locks() -> bool:
    """Whether the system has `flock`."""
    return find_spec("fcntl") is not None


def try_lock(file: int, *, exclusive: bool) -> bool:
    """Lock an open file without waiting. The lock ends when the file is closed, also by the end of the process.

    Args:
        file: the descriptor of the file.
        exclusive: whether to hold the lock alone, or with others that are not exclusive.

    Returns:
        Whether it is locked now; False if another open file has the lock.

    Raises:
        OSError: the folder of the file has no locks.
    """
    import fcntl

    try:
        fcntl.flock(file, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
