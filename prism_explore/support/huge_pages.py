"""Large arrays on huge pages, where Linux permits it.

A weight that is read once per call passes through thousands of pages of 4 KiB: a processor looks up each of them, in a
virtual machine twice, and its prefetcher stops at their ends. NumPy asks the system for pages of 2 MiB for large
arrays, PyTorch does not.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterable

PAGE = 2 << 20
"""Bytes of a huge page; smaller ranges are left alone."""
_MADV_HUGEPAGE, _MADV_COLLAPSE = 14, 25


def move_to_huge_pages(ranges: Iterable[tuple[int, int]]) -> int:
    """Ask the system to put ranges of memory on huge pages now; addresses and contents stay.

    Each range is extended to whole pages, so up to one page of its neighbours is moved at either end. A system that
    cannot do it at once (Linux before 6.1) is left to do it later, and others than Linux do nothing.

    Args:
        ranges: address and bytes of each.

    Returns:
        Bytes of the ranges that the system moved.
    """
    if sys.platform != "linux":
        return 0
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    moved = 0
    for address, size in ranges:
        if size < PAGE:
            continue
        start, end = address // PAGE * PAGE, -(-(address + size) // PAGE) * PAGE
        madvise(start, end - start, _MADV_HUGEPAGE)  # fails at a gap beside the range, after it has advised the rest
        moved += sum(
            min(at + PAGE, address + size) - max(at, address)
            for at in range(start, end, PAGE)
            if madvise(at, PAGE, _MADV_COLLAPSE) == 0
        )
    return moved
