"""Inputs of a program for checking and timing: random arrays, and a ring of copies that keeps the caches cold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from math import ceil
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import as_strided

from prism_explore.ir.interpreter.random_bits import draw_bits
from prism_explore.ir.interpreter.reference import Array
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.tensors import numpy_dtype
from prism_explore.targets.cpus import cores

RING_BYTES = 2 << 30
"""Memory limit of a ring. If it is too small for a cold cache, `InputRing.is_cold` is False."""

MOST_SLOTS = 1 << 15
"""Limit on the number of copies: inputs of a few bytes would need millions to fill a cache."""

ALIGNMENT = 64
"""Of every copy, in bytes."""


class InputRing:
    """Copies of a program's inputs, read in turn; enough copies that none is still in a cache when its turn comes.

    The copies are made at the first use, or in the background after `start_filling`: writing memory for the first time
    can take seconds per GB on a virtual machine.
    """

    def __init__(
        self,
        program: TensorProgram,
        shapes: Mapping[str, int],
        inputs: Mapping[str, Array],
        cold_bytes: int,
        most_bytes: int = RING_BYTES,
    ) -> None:
        """Allocate the ring.

        Args:
            program: whose inputs to copy.
            shapes: values of its symbols.
            inputs: an array per input.
            cold_bytes: least size of all copies together.
            most_bytes: their largest size.
        """
        self._arrays = [(inputs[i.name], i.type.strides_at(shapes)) for i in program.inputs]
        read_bytes = sum(i.type.bytes.value(shapes) for i in program.inputs)
        copy_bytes = sum(_span_bytes(*array) for array in self._arrays)
        wanted = max(3, ceil(cold_bytes / read_bytes) + 1)
        self.slots = max(1, min(wanted, most_bytes // copy_bytes, MOST_SLOTS))
        self.is_cold = self.slots * read_bytes >= cold_bytes and self.slots > 1
        self._slot_bytes = sum(_aligned_bytes(*array) for array in self._arrays)
        self._memory = _zeros(self.slots * self._slot_bytes)
        self._inputs: list[tuple[Any, ...]] = []
        self._filling: tuple[Future[list[tuple[Array, ...]]], ...] = ()
        self._position = 0

    def start_filling(self) -> None:
        """Make the copies in the background, on all cores; a second call does nothing."""
        if self._filling or self._inputs:
            return
        threads = min(self.slots, cores())
        pool = ThreadPoolExecutor(threads)
        self._filling = tuple(pool.submit(self._copies, range(n, self.slots, threads)) for n in range(threads))
        pool.shutdown(wait=False)

    def _copies(self, slots: range) -> list[tuple[Array, ...]]:
        return [self._copy(slot * self._slot_bytes) for slot in slots]

    def _copy(self, offset: int) -> tuple[Array, ...]:
        """A copy of the inputs at an offset in the memory."""
        found: list[Array] = []
        for array, strides in self._arrays:
            found.append(_view_in_layout(self._memory[offset:], array, strides))
            found[-1][...] = array
            offset += _aligned_bytes(array, strides)
        return tuple(found)

    def next(self) -> tuple[Any, ...]:
        """The least recently read copy."""
        self._position = (self._position + 1) % self.slots
        return self.all[self._position]

    def convert(self, to: Callable[[Array], Any]) -> None:
        """Replace every array by `to(array)`, such as a tensor on a device."""
        self._inputs = [tuple(map(to, inputs)) for inputs in self.all]

    @property
    def all(self) -> Sequence[tuple[Any, ...]]:
        """Every copy."""
        if not self._inputs:
            self.start_filling()
            filled = [filling.result() for filling in self._filling]
            self._inputs = [filled[slot % len(filled)][slot // len(filled)] for slot in range(self.slots)]
            self._filling = ()
        return self._inputs

    @property
    def as_floats(self) -> npt.NDArray[np.float32]:
        """The memory of all copies, as float32; empty if there are bool inputs, which would be subnormal numbers."""
        if any(array.dtype == np.bool_ for array, _ in self._arrays):
            return np.zeros(0, dtype=np.float32)
        assert self.all, "filled by reading them"
        return self._memory.view(np.float32)

    @property
    def position(self) -> int:
        """The index of the copy that `next` returned last."""
        return self._position


def in_layout(array: Array, strides: Sequence[int]) -> Array:
    """An aligned copy of an array with these strides in elements.

    Elements that share memory, such as those along an expanded dim, have the value of the last of them.
    """
    copy = _view_in_layout(_zeros(_aligned_bytes(array, strides)), array, strides)
    copy[...] = array
    return copy


def _zeros(size: int) -> npt.NDArray[np.uint8]:
    """Aligned bytes; the system provides a page when it is first written."""
    buffer = np.zeros(size + ALIGNMENT, dtype=np.uint8)
    return buffer[-buffer.ctypes.data % ALIGNMENT :][:size]


def _view_in_layout(memory: npt.NDArray[np.uint8], array: Array, strides: Sequence[int]) -> Array:
    """The beginning of the memory as an array of the same shape and dtype, with these strides in elements."""
    own = memory[: _span_bytes(array, strides)].view(array.dtype)
    return as_strided(own, array.shape, [s * array.itemsize for s in strides])


def _span_bytes(array: Array, strides: Sequence[int]) -> int:
    """The memory from the first to the last element of an array with these strides."""
    return (1 + sum((n - 1) * s for n, s in zip(array.shape, strides, strict=True))) * array.itemsize


def _aligned_bytes(array: Array, strides: Sequence[int]) -> int:
    return ceil(_span_bytes(array, strides) / ALIGNMENT) * ALIGNMENT


def random_inputs(
    program: TensorProgram, shapes: Mapping[str, int], seed: int | np.random.Generator
) -> dict[str, Array]:
    """Normally distributed random values for every input; random bits for a bool one.

    Raises:
        ShapeError: a symbol has no value in `shapes`.
    """
    rng = np.random.default_rng(seed)
    inputs: dict[str, Array] = {}
    for i in program.inputs:
        shape = tuple(d.value(shapes) for d in i.type.dims)
        if i.type.dtype == "bool":
            inputs[i.name] = draw_bits(rng, shape)
            continue
        inputs[i.name] = rng.standard_normal(shape, dtype=np.float32).astype(numpy_dtype(i.type.dtype), copy=False)
    return inputs
