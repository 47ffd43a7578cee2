"""Memory of one call of a CPU kernel at a time: its intermediate tensors, and the scratch of its threads.

Canaries lie before, between and after them: bytes that no kernel may write, so that a changed one shows that it wrote
beyond a tensor. The layout is the same wherever a kernel runs, so what is timed is what a caller gets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from prism_explore.codegen.cpu.arguments import data_address
from prism_explore.codegen.cpu.loop_ir import Buffer

Bytes: TypeAlias = "np.ndarray[Any, np.dtype[np.uint8]]"

NewMemory: TypeAlias = Callable[[int, int], Bytes]
"""So many new bytes at a multiple of an alignment."""

CANARY = 0xFF
"""In bytes that a kernel may not write: NaN in each dtype of floats, for a kernel that reads them."""


def aligned_memory(size: int, alignment: int) -> Bytes:
    """New bytes at a multiple of the alignment, of any value.

    Args:
        size: in bytes.
        alignment: in bytes.
    """
    memory = np.empty(size + alignment, dtype=np.uint8)
    start = -data_address(memory) % alignment
    return memory[start : start + size]


@dataclass(frozen=True, slots=True)
class MemoryLayout:
    """Where the tensors of a call lie in its memory, in bytes; each begins a cache line."""

    temporaries: tuple[int, ...]
    """The start of each intermediate tensor."""
    scratch: int
    """The start of the scratch of the first thread."""
    size: int
    canaries: tuple[slice, ...]

    @classmethod
    def of(cls, temporaries: Iterable[Buffer], threads: int, scratch_bytes: int, line_bytes: int) -> MemoryLayout:
        """The layout of a kernel's call.

        Args:
            temporaries: its intermediate tensors.
            threads: that run it.
            scratch_bytes: of each thread; the last line of it is not used.
            line_bytes: of a cache line.
        """
        starts, at, canaries = list[int](), line_bytes, [slice(0, line_bytes)]
        for b in temporaries:
            starts.append(at)
            end = at + b.bytes
            at = -(-end // line_bytes) * line_bytes + line_bytes
            canaries.append(slice(end, at))
        ends = [at + (thread + 1) * scratch_bytes for thread in range(threads)]
        canaries += (slice(end - line_bytes, end) for end in ends)
        return cls(tuple(starts), at, ends[-1], tuple(canaries))

    def set_canaries(self, memory: Bytes) -> None:
        """Write the canaries into the memory of a call."""
        for gap in self.canaries:
            memory[gap] = CANARY

    def are_canaries_intact(self, memory: Bytes) -> bool:
        """Whether a kernel changed none of them."""
        return all(bool((memory[gap] == CANARY).all()) for gap in self.canaries)
