"""Machine lock: processes share it while they compile, and one holds it exclusively while it times kernels.

Without it, workers of an executor on one machine would disturb each other's measurements. It is a lock (`flock`) on a
file of the user, so the system releases it when the process ends.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from prism_explore.errors import TargetUnavailable
from prism_explore.support.file_lock import system_has_locks, try_lock

POLL_S = 0.02
"""Interval at which a waiting process tries again and checks whether it should stop."""


class MachineLock:
    """A lock between processes, held shared or exclusively."""

    def __init__(self, path: Path | None) -> None:
        """`path` is the file that is locked; None if no other process of ours runs here, so that nothing is locked."""
        self._path = path

    def shared(self, stop: Callable[[], bool] = lambda: False) -> AbstractContextManager[bool]:
        """Hold the lock with others that hold it shared; False if `stop` ended the waiting."""
        return self._hold(False, stop)

    def exclusive(self, stop: Callable[[], bool] = lambda: False) -> AbstractContextManager[bool]:
        """Hold the lock alone; False if `stop` ended the waiting."""
        return self._hold(True, stop)

    @contextmanager
    def _hold(self, exclusive: bool, stop: Callable[[], bool]) -> Generator[bool]:
        if self._path is None:
            yield True
            return
        import fcntl

        file = _open_own(self._path)
        try:
            while not (acquired := try_lock(file, exclusive=exclusive)) and not stop():
                time.sleep(POLL_S)
            yield acquired
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)  # closing alone leaves it locked if a process was forked meanwhile
            os.close(file)


def open_machine_lock(path: Path | None = None) -> MachineLock:
    """The lock of this user's processes on this machine; tests pass another file.

    Raises:
        TargetUnavailable: the system has no `flock`, or the file is not this user's own.
    """
    if not system_has_locks():
        raise TargetUnavailable(
            "an executor's workers lock the machine with flock, which this system does not have; use "
            "Budget(at_once=1) or no executor"
        )
    # Neither TMPDIR nor XDG_RUNTIME_DIR: a worker started in another way than its client may have other values.
    file = path or Path("/tmp") / f"prism_explore.{os.geteuid()}.turns"
    try:
        os.close(_open_own(file))
    except OSError as problem:
        raise TargetUnavailable(
            f"an executor's workers lock the machine by the file {file}, which cannot be locked: {problem}; remove "
            "that file, or use Budget(at_once=1) or no executor"
        ) from None
    return MachineLock(file)


def _open_own(path: Path) -> int:
    """Open the file, creating it if necessary; reject a link or a file of another user."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    found = os.fstat(file)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
        os.close(file)
        raise PermissionError("it is not a file of this user")
    return file
