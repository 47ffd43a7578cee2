"""Memory between pages that may not be accessed: a kernel that reads or writes beyond a tensor ends its process.

A tensor cannot touch both pages, so of two calls one has it at the end and the other at the start.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from math import ceil
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import as_strided

from prism_explore.codegen.cpu.arguments import Array, ExpectedArgument, data_address

IS_SUPPORTED = sys.platform == "linux"
_NO_ACCESS = 0
"""`PROT_NONE` of mprotect(2)."""


def guarded(size: int, *, at_end: bool) -> npt.NDArray[np.uint8]:
    """Zeros whose last or first byte is next to a page without access; ordinary memory where there is no `mprotect`.

    Args:
        size: in bytes.
        at_end: whether the page after the last byte is guarded closely, or the one before the first.
    """
    if not IS_SUPPORTED:
        return np.zeros(size, dtype=np.uint8)
    page = mmap.PAGESIZE
    inner = max(1, ceil(size / page)) * page
    whole = np.frombuffer(mmap.mmap(-1, inner + 2 * page, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS), np.uint8)
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    for start in (0, page + inner):
        if protect(ctypes.c_void_p(data_address(whole) + start), ctypes.c_size_t(page), _NO_ACCESS):
            raise OSError(ctypes.get_errno(), "mprotect failed")
    first = page + (inner - size if at_end else 0)
    return whole[first : first + size]


class GuardedResults:
    """Allocates the results of a kernel between guarded pages, which alternate between touching end and start."""

    def __init__(self) -> None:
        self._at_end = False

    def __call__(self, expected: ExpectedArgument, like: Array) -> tuple[Array, int]:
        """A result, and the address of its first element; see `ExpectedArgument.allocate_like`."""
        if not isinstance(like, np.ndarray):
            return expected.allocate_like(like)
        self._at_end = not self._at_end
        memory = guarded(expected.buffer.bytes, at_end=self._at_end).view(expected.dtype)
        new: np.ndarray[Any, np.dtype[Any]] = as_strided(memory, expected.buffer.shape, expected.strides_bytes)
        return new, data_address(new)
