"""Turns on one machine: any number of processes compile together, or one of them takes times, alone.

Workers of an executor would otherwise disturb each other's stop-watch. A turn is a lock (`flock`) on one file of the
user, so it ends with its process, however that ends.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from prism_explore.errors import TargetUnavailable

POLL_S = 0.02
"""How often somebody who waits looks whether it is his turn, or whether he should stop."""


class Turns:
    """Who may work on this machine now."""

    def __init__(self, path: Path | None) -> None:
        """`path` is the file that is locked; None where nobody else of ours works here, and every turn is free."""
        self._path = path

    @contextmanager
    def together(self, stop: Callable[[], bool] = lambda: False) -> Generator[bool]:
        """A turn beside everybody who does not take times; whether it came, for `stop` ends the waiting."""
        with self._turn(False, stop) as came:
            yield came

    @contextmanager
    def alone(self, stop: Callable[[], bool] = lambda: False) -> Generator[bool]:
        """A turn with nobody beside; whether it came, for `stop` ends the waiting."""
        with self._turn(True, stop) as came:
            yield came

    @contextmanager
    def _turn(self, alone: bool, stop: Callable[[], bool]) -> Generator[bool]:
        if self._path is None:
            yield True
            return
        import fcntl

        file = _opened(self._path)
        try:
            while not (came := _locks(file, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)) and not stop():
                time.sleep(POLL_S)
            yield came
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)  # closing would leave it locked to a process that was forked meanwhile
            os.close(file)


def turns_here(path: Path | None = None) -> Turns:
    """The turns of this user's processes on this machine; another file is a test's.

    Raises:
        TargetUnavailable: the system has no such locks, or the file is not this user's own.
    """
    if find_spec("fcntl") is None:
        raise TargetUnavailable(
            "an executor's workers take turns at timing with flock, which this system does not have; leave "
            "Budget(at_once=1) or the executor out"
        )
    # Neither TMPDIR nor XDG_RUNTIME_DIR: a worker that was started otherwise than its client may have others.
    file = path or Path("/tmp") / f"prism_explore.{os.geteuid()}.turns"
    try:
        os.close(_opened(file))
    except OSError as problem:
        raise TargetUnavailable(
            f"an executor's workers take turns at timing by a lock on {file}, which cannot be had: {problem}; remove "
            "that file, or leave Budget(at_once=1) or the executor out"
        ) from None
    return Turns(file)


def _opened(path: Path) -> int:
    """The file, made where there is none; nothing that somebody else put in its place."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    found = os.fstat(file)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
        os.close(file)
        raise PermissionError("it is not a file of this user's")
    return file


def _locks(file: int, how: int) -> bool:
    import fcntl

    try:
        fcntl.flock(file, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
