"""Inputs of a program for checking and timing: random arrays, and a ring of copies that keeps the caches cold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from prism_explore.ir.interpreter.random_bits import draw_bits
from prism_explore.ir.interpreter.reference import Array
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.tensors import numpy_dtype

COLD_FACTOR = 4
"""Size of all copies together, in multiples of the last-level cache."""

RING_BYTES = 2 << 30
"""Memory limit of a ring. If it is too small for a cold cache, `InputRing.is_cold` is False."""

MOST_SLOTS = 1 << 15
"""Limit on the number of copies: inputs of a few bytes would need millions to fill a cache."""

ALIGNMENT = 64
"""Of every copy, in bytes."""


class InputRing:
    """Copies of a program's inputs, read in turn; enough copies that none is still in a cache when its turn comes."""

    def __init__(
        self,
        program: TensorProgram,
        shapes: Mapping[str, int],
        seed: int,
        cold_bytes: int,
        most_bytes: int = RING_BYTES,
    ) -> None:
        """Fill the ring.

        Args:
            program: whose inputs to copy.
            shapes: values of its symbols.
            seed: of the random values.
            cold_bytes: least size of all copies together.
            most_bytes: their largest size.
        """
        first = random_inputs(program, shapes, seed)
        read_bytes = sum(i.type.bytes.value(shapes) for i in program.inputs)
        copy_bytes = sum(_span_bytes(first[i.name], i.type.strides_at(shapes)) for i in program.inputs)
        wanted = max(3, ceil(cold_bytes / read_bytes) + 1)
        self.slots = max(1, min(wanted, most_bytes // copy_bytes, MOST_SLOTS))
        self.is_cold = self.slots * read_bytes >= cold_bytes and self.slots > 1
        copies = {
            i.name: copies_in_layout(first[i.name], i.type.strides_at(shapes), self.slots) for i in program.inputs
        }
        self._inputs = [tuple(copies[i.name][slot] for i in program.inputs) for slot in range(self.slots)]
        self._position = 0

    def next(self) -> tuple[Array, ...]:
        """The least recently read copy."""
        self._position = (self._position + 1) % self.slots
        return self._inputs[self._position]

    def convert(self, to: Callable[[Array], Any]) -> None:
        """Replace every array by `to(array)`, such as a tensor on a device."""
        self._inputs = [tuple(map(to, inputs)) for inputs in self._inputs]

    @property
    def all(self) -> Sequence[tuple[Array, ...]]:
        """Every copy."""
        return self._inputs

    @property
    def position(self) -> int:
        """The index of the copy that `next` returned last."""
        return self._position


def copies_in_layout(array: Array, strides: Sequence[int], slots: int) -> list[Array]:
    """`slots` copies of an array in one allocation, each aligned and with these strides in elements.

    Elements that share memory, such as those along an expanded dim, have the value of the last of them.
    """
    span_bytes = _span_bytes(array, strides)
    slot_bytes = ceil(span_bytes / ALIGNMENT) * ALIGNMENT
    buffer = np.zeros(slots * slot_bytes + ALIGNMENT, dtype=np.uint8)
    offset = -buffer.ctypes.data % ALIGNMENT
    copies: list[Array] = []
    for slot in range(slots):
        memory = buffer[offset + slot * slot_bytes :][:span_bytes].view(array.dtype)
        copies.append(as_strided(memory, array.shape, [s * array.itemsize for s in strides]))
        copies[-1][...] = array
    return copies


def _span_bytes(array: Array, strides: Sequence[int]) -> int:
    """The memory from the first to the last element of an array with these strides."""
    return (1 + sum((n - 1) * s for n, s in zip(array.shape, strides, strict=True))) * array.itemsize


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
