"""Memory between pages that may not be accessed: a kernel that reads or writes beyond a tensor ends its process.

A tensor cannot touch both pages, so of two calls one has it at the end and the other at the start. The bytes between
the tensor and the other page are canaries: a kernel that writes there is found when it returns. Inputs cannot be
written at all. A kernel's intermediate tensors and the scratch of its threads are one block between such pages, with
canaries between them.

Pages are too slow for timing: new ones take longer than a small kernel. There an untimed call before each group of
rounds has canaries beside its results. The call right before a timed one has none: it would change what caches hold.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from prism_explore.codegen.cpu.arguments import Array, ExpectedArgument, data_address
from prism_explore.codegen.cpu.call_memory import CANARY, Bytes, aligned_memory
from prism_explore.codegen.cpu.load import LoadedKernel

IS_SUPPORTED = sys.platform == "linux"
SPACE_BYTES = 64
"""Canaries on each side of a result where there are no pages; its memory keeps the alignment that it has without."""
_NO_ACCESS, _READ_ONLY = 0, 1
"""`PROT_NONE` and `PROT_READ` of mprotect(2)."""

MOST_FILLED_BYTES = 16 << 20
"""Of intermediate tensors and scratch. Much scratch is never touched, and to touch new memory takes long."""


class WroteOutside(Exception):
    """A kernel wrote beyond a tensor."""


@dataclass(frozen=True, slots=True)
class Guarded:
    """Memory of one tensor."""

    pages: Bytes
    """All that may be accessed: the memory, and canaries before or after it."""
    at_end: bool
    size: int

    @classmethod
    def new(cls, size: int, *, at_end: bool) -> Guarded:
        """Memory whose last or first byte is next to a page without access; ordinary memory without `mprotect`.

        Args:
            size: in bytes.
            at_end: whether the page after the last byte is guarded closely, or the one before the first.
        """
        if not IS_SUPPORTED:
            return cls(aligned_memory(size, SPACE_BYTES), at_end, size)
        page = mmap.PAGESIZE
        inner = max(1, ceil(size / page)) * page
        whole = np.frombuffer(mmap.mmap(-1, inner + 2 * page, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS), np.uint8)
        for start in (0, page + inner):
            _protect(whole[start : start + page], _NO_ACCESS)
        made = cls(whole[page : page + inner], at_end, size)
        made._canaries.fill(CANARY)
        return made

    def turned(self) -> Guarded:
        """The same pages with the memory at their other end."""
        made = replace(self, at_end=not self.at_end)
        made._canaries.fill(CANARY)
        return made

    @property
    def memory(self) -> Bytes:
        """The tensor's own bytes."""
        return self.pages[self.pages.size - self.size :] if self.at_end else self.pages[: self.size]

    @property
    def is_intact(self) -> bool:
        """Whether no canary was overwritten."""
        return bool((self._canaries == CANARY).all())

    @property
    def _canaries(self) -> Bytes:
        return self.pages[: self.pages.size - self.size] if self.at_end else self.pages[self.size :]

    def forbid_writing(self) -> None:
        """Whoever writes the memory from now on ends the process."""
        if IS_SUPPORTED:
            _protect(self.pages, _READ_ONLY)


def _protect(pages: Bytes, access: int) -> None:
    mprotect = ctypes.CDLL(None, use_errno=True).mprotect
    if mprotect(ctypes.c_void_p(data_address(pages)), ctypes.c_size_t(pages.size), access):
        raise OSError(ctypes.get_errno(), "mprotect failed")


class GuardedRun:
    """Calls a CPU kernel in memory between guarded pages, which alternates between touching the end and the start.

    Results begin as canaries, and so do intermediate tensors and scratch of up to `MOST_FILLED_BYTES`: an element that
    the kernel leaves out is NaN, not zero.
    """

    def __init__(self, run: LoadedKernel) -> None:
        self._run = run
        self._at_end = False
        self._results: list[Guarded] = []
        self._own: Guarded | None = None
        """Memory of intermediate tensors and scratch; kept, because it can be large."""

    def __call__(self, *inputs: Array) -> Array:
        """What the kernel returns.

        Raises:
            WroteOutside: it wrote beyond a tensor, where no guarded page ended the process.
        """
        self._results.clear()
        run = self._run.in_memory(self._new_memory)
        found = run(*inputs, allocate=self._allocate)
        for number, result in enumerate(self._results):
            if not result.is_intact:
                raise WroteOutside(f"the kernel wrote {'before' if result.at_end else 'after'} result {number}")
        if not run.is_memory_intact or (self._own is not None and not self._own.is_intact):
            raise WroteOutside(BEYOND_OWN)
        return found

    def _new_memory(self, size: int, alignment: int) -> Bytes:
        """Memory of the kernel's own; both ends of a page are aligned, if the size is."""
        assert size % alignment == 0, "a layout has whole lines"
        self._own = Guarded.new(size, at_end=True) if self._own is None else self._own.turned()
        if size <= MOST_FILLED_BYTES:
            self._own.memory.fill(CANARY)
        return self._own.memory

    def _allocate(self, expected: ExpectedArgument, like: Array) -> tuple[Array, int]:
        """A result, and the address of its first element; see `ExpectedArgument.allocate_like`."""
        if not isinstance(like, np.ndarray):
            return expected.allocate_like(like)
        self._at_end = not self._at_end
        result = Guarded.new(expected.buffer.bytes, at_end=self._at_end)
        result.memory.fill(CANARY)
        self._results.append(result)
        return _as_result(expected, result.memory)


class CanaryRun:
    """Calls a CPU kernel with canaries beside its results, in memory as a call without them would get it."""

    def __init__(self, run: LoadedKernel) -> None:
        self._run = run
        self._results: list[Bytes] = []

    def __call__(self, *inputs: Array) -> Array:
        """What the kernel returns.

        Raises:
            WroteOutside: it wrote beyond a result.
        """
        self._results.clear()
        found = self._run(*inputs, allocate=self._allocate)
        for number, memory in enumerate(self._results):
            for space, where in ((memory[:SPACE_BYTES], "before"), (memory[-SPACE_BYTES:], "after")):
                if space.tobytes() != _SPACE:
                    raise WroteOutside(f"the kernel wrote {where} result {number}")
        return found

    def _allocate(self, expected: ExpectedArgument, like: Array) -> tuple[Array, int]:
        if not isinstance(like, np.ndarray):
            return expected.allocate_like(like)
        memory = np.empty(expected.buffer.bytes + 2 * SPACE_BYTES, np.uint8)
        memory[:SPACE_BYTES] = memory[-SPACE_BYTES:] = CANARY
        self._results.append(memory)
        return _as_result(expected, memory[SPACE_BYTES:-SPACE_BYTES])


_SPACE = bytes([CANARY]) * SPACE_BYTES
BEYOND_OWN = "the kernel wrote beyond an intermediate tensor or the scratch of a thread"
"""The reason of a trial whose kernel did."""


def _as_result(expected: ExpectedArgument, memory: Bytes) -> tuple[Array, int]:
    """Memory as a result, and the address of its first element."""
    new: np.ndarray[Any, np.dtype[Any]] = as_strided(
        memory.view(expected.dtype), expected.buffer.shape, expected.strides_bytes
    )
    return new, data_address(new)
