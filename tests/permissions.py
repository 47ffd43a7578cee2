"""Tests that run as root, and need folders that cannot be written."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Generator

_VERSION_3 = 0x20080522
_OVERRIDES = 1 << 1 | 1 << 2
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH: by these root reads and writes whatever the permissions of a file are."""


@contextlib.contextmanager
def permissions_respected() -> Generator[None]:
    """This thread, also of root, writes only where the permissions of files and folders let their owner write."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        yield
        return
    header, before = (ctypes.c_uint32 * 2)(_VERSION_3, 0), (ctypes.c_uint32 * 6)()
    libc = ctypes.CDLL(None, use_errno=True)
    _check(libc.capget(header, before))
    fewer = (ctypes.c_uint32 * 6)(*before)
    fewer[0] &= ~_OVERRIDES  # of the effective ones; those that are permitted stay, so that they can be had again
    _check(libc.capset(header, fewer))
    try:
        yield
    finally:
        _check(libc.capset(header, before))


def _check(result: int) -> None:
    if result:
        raise OSError(ctypes.get_errno(), "the capabilities of this thread cannot be read or set")
