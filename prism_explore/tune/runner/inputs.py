"""Inputs of a program for checking and timing: random arrays, and a ring of copies that keeps the caches cold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import Any

import numpy as np

from prism_explore.ir.interpreter.reference import Array
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.tensors import TensorType, numpy_dtype

COLD_FACTOR = 4
"""Size of all copies together, in multiples of the last-level cache."""

RING_BYTES = 2 << 30
"""Memory limit of a ring. If it is too small for a cold cache, `InputRing.is_cold` is False."""

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
        copy_bytes = sum(a.nbytes for a in first.values())
        wanted = max(3, ceil(cold_bytes / copy_bytes) + 1)
        self.slots = max(1, min(wanted, most_bytes // copy_bytes))
        self.is_cold = self.slots * copy_bytes >= cold_bytes and self.slots > 1
        copies = {i.name: copies_in_layout(first[i.name], i.type, self.slots) for i in program.inputs}
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


def copies_in_layout(array: Array, t: TensorType, slots: int) -> list[Array]:
    """`slots` copies of an array in one allocation, each aligned and in the type's storage order."""
    order = t.storage_order
    stored_shape = tuple(array.shape[d] for d in order)
    stride = ceil(array.nbytes / ALIGNMENT) * ALIGNMENT
    buffer = np.empty(slots * stride + ALIGNMENT, dtype=np.uint8)
    offset = -buffer.ctypes.data % ALIGNMENT
    logical_order = np.argsort(order)
    copies: list[Array] = []
    for slot in range(slots):
        stored = buffer[offset + slot * stride :][: array.nbytes].view(array.dtype).reshape(stored_shape)
        stored[...] = array.transpose(order)
        copies.append(stored.transpose(logical_order))
    return copies


def random_inputs(
    program: TensorProgram, shapes: Mapping[str, int], seed: int | np.random.Generator
) -> dict[str, Array]:
    """Normally distributed random values for every input.

    Raises:
        ShapeError: a symbol has no value in `shapes`.
    """
    rng = np.random.default_rng(seed)
    inputs: dict[str, Array] = {}
    for i in program.inputs:
        shape = tuple(d.value(shapes) for d in i.type.dims)
        inputs[i.name] = rng.standard_normal(shape, dtype=np.float32).astype(numpy_dtype(i.type.dtype), copy=False)
    return inputs
