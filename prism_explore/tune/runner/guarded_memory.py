"""Memory between pages that may not be accessed: a kernel that reads or writes beyond a tensor ends its process.

A tensor cannot touch both pages, so of two calls one has it at the end and the other at the start. The bytes between
the tensor and the other page are canaries: a kernel that writes there is found when it returns. Inputs cannot be
written at all.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import as_strided

from prism_explore.codegen.cpu.arguments import Array, ExpectedArgument, data_address
from prism_explore.tune.runner.bench import Run

IS_SUPPORTED = sys.platform == "linux"
CANARY = 0xFF
"""In bytes that a kernel may not write, and in those of results that it must: NaN in each dtype of floats."""
_NO_ACCESS, _READ_ONLY = 0, 1
"""`PROT_NONE` and `PROT_READ` of mprotect(2)."""


class WroteOutside(Exception):
    """A kernel wrote beyond a tensor."""


@dataclass(frozen=True, slots=True)
class Guarded:
    """Memory of one tensor."""

    pages: npt.NDArray[np.uint8]
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
            return cls(np.zeros(size, np.uint8), at_end, size)
        page = mmap.PAGESIZE
        inner = max(1, ceil(size / page)) * page
        whole = np.frombuffer(mmap.mmap(-1, inner + 2 * page, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS), np.uint8)
        for start in (0, page + inner):
            _protect(whole[start : start + page], _NO_ACCESS)
        made = cls(whole[page : page + inner], at_end, size)
        made._canaries.fill(CANARY)
        return made

    @property
    def memory(self) -> npt.NDArray[np.uint8]:
        """The tensor's own bytes."""
        return self.pages[self.pages.size - self.size :] if self.at_end else self.pages[: self.size]

    @property
    def is_intact(self) -> bool:
        """Whether no canary was overwritten."""
        return bool((self._canaries == CANARY).all())

    @property
    def _canaries(self) -> npt.NDArray[np.uint8]:
        return self.pages[: self.pages.size - self.size] if self.at_end else self.pages[self.size :]

    def forbid_writing(self) -> None:
        """Whoever writes the memory from now on ends the process."""
        if IS_SUPPORTED:
            _protect(self.pages, _READ_ONLY)


def _protect(pages: npt.NDArray[np.uint8], access: int) -> None:
    mprotect = ctypes.CDLL(None, use_errno=True).mprotect
    if mprotect(ctypes.c_void_p(data_address(pages)), ctypes.c_size_t(pages.size), access):
        raise OSError(ctypes.get_errno(), "mprotect failed")


class GuardedRun:
    """Calls a CPU kernel with results between guarded pages, which alternate between touching end and start."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._at_end = False
        self._results: list[Guarded] = []

    def __call__(self, *inputs: Array) -> Array:
        """What the kernel returns.

        Raises:
            WroteOutside: it wrote beyond a result, where no guarded page ended the process.
        """
        self._results.clear()
        found = self._run(*inputs, allocate=self._allocate)
        for number, result in enumerate(self._results):
            if not result.is_intact:
                raise WroteOutside(f"the kernel wrote {'before' if result.at_end else 'after'} result {number}")
        return found

    def _allocate(self, expected: ExpectedArgument, like: Array) -> tuple[Array, int]:
        """A result, and the address of its first element; see `ExpectedArgument.allocate_like`."""
        if not isinstance(like, np.ndarray):
            return expected.allocate_like(like)
        self._at_end = not self._at_end
        result = Guarded.new(expected.buffer.bytes, at_end=self._at_end)
        result.memory.fill(CANARY)  # an element that the kernel leaves out is no zero
        self._results.append(result)
        memory = result.memory.view(expected.dtype)
        new: np.ndarray[Any, np.dtype[Any]] = as_strided(memory, expected.buffer.shape, expected.strides_bytes)
        return new, data_address(new)
