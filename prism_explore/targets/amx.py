"""Permission to use the tile registers of AMX, which Linux gives per process.

`amx-tile` among the processor's features is not enough: the kernel must save the 8 KiB of tiles at each switch of
threads, and does so for processes that ask. The permission holds for all threads of the process and for its forks.
"""

from __future__ import annotations

import ctypes
import platform
import sys
from functools import lru_cache

_ARCH_PRCTL = 158
"""Number of the system call on x86-64."""
_REQUEST_PERMISSION = 0x1023
_TILE_DATA = 18
"""The state component of the tiles."""


@lru_cache(1)
def request_tiles() -> bool:
    """Ask Linux for the tile registers in this process; whether they may be used.

    False on other systems, where the processor has none, and where they are refused.
    """
    if sys.platform != "linux" or platform.machine().lower() not in ("x86_64", "amd64"):
        return False
    return ctypes.CDLL(None).syscall(_ARCH_PRCTL, _REQUEST_PERMISSION, ctypes.c_ulong(_TILE_DATA)) == 0
