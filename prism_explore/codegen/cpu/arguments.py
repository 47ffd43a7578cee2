"""Arguments of a CPU kernel: checks of torch tensors and NumPy arrays, and the addresses of their data.

Input: an argument and the buffer that it must match. Output: the address of its first element, or a `ShapeError`.
No argument is copied.
"""

from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any, TypeAlias, cast

import numpy as np

from prism_explore.codegen.cpu.loop_ir import Buffer
from prism_explore.errors import PositionError, ShapeError
from prism_explore.ir.tensors import INTEGER_NUMBERS, NAMES, WHOLE_NUMBERS, dtype_name, numpy_dtype

Array: TypeAlias = Any
"""A torch.Tensor or a numpy.ndarray."""


@dataclass(frozen=True, slots=True)
class ExpectedArgument:
    """The shape, strides and dtype that an argument must have."""

    buffer: Buffer
    strides_bytes: tuple[int, ...]
    dtype: np.dtype[Any]
    bounds: tuple[int, int] | None = None
    """Of an integer argument: its smallest and its largest element that may be."""

    @classmethod
    def for_buffer(cls, b: Buffer, positions: int | None = None) -> ExpectedArgument:
        """What a buffer expects; `positions` is the size of the dim that its elements look up."""
        dtype = numpy_dtype(b.dtype)
        bounds = WHOLE_NUMBERS[b.dtype] if b.dtype in INTEGER_NUMBERS else None
        bounds = bounds if positions is None else (0, positions - 1)
        return cls(b, tuple(s * dtype.itemsize for s in b.strides), dtype, bounds)

    def checked_address(self, x: Array) -> int:
        """The address of the first element of an argument with this shape, strides and dtype.

        Raises:
            ShapeError: it has others; a PositionError where an integer is no position in the dim that it looks up, or
                larger than those that kernels read as numbers.
        """
        address = self._address(x)
        if self.bounds is not None:
            (low, high), least, most = self.bounds, int(x.min()), int(x.max())
            if least < low or most > high:
                found, name = least if least < low else most, self.buffer.name
                raise PositionError(
                    f"{name!r} has the number {found}; kernels read integers from {low} to {high}"
                    if low
                    else f"{name!r} has the position {found}; the dim that it looks up has positions 0 to {high}"
                )
        return address

    def _address(self, x: Array) -> int:
        b = self.buffer
        # Fast paths for the usual cases: many kernels take no longer than the checks.
        array: Any = x
        if isinstance(x, np.ndarray):
            if (array.shape, array.strides, array.dtype) == (b.shape, self.strides_bytes, self.dtype):
                return data_address(x)
        elif (
            getattr(x, "is_cpu", False)
            and array.shape == b.shape
            and array.stride() == b.strides
            and dtype_name(array.dtype) == NAMES[b.dtype]
        ):
            return array.data_ptr()
        return self._diagnosed_address(x)

    def allocate_like(self, x: Array) -> tuple[Array, int]:
        """A new array or tensor of the library of `x`, and the address of its first element."""
        b = self.buffer
        if isinstance(x, np.ndarray):
            new: Any = np.empty(b.shape, dtype=self.dtype)
            return new, data_address(new)
        new = x.new_empty(b.shape, dtype=_torch_dtype(NAMES[b.dtype]))
        return new, new.data_ptr()

    def _diagnosed_address(self, x: Array) -> int:
        b = self.buffer
        shape: tuple[int, ...]
        if isinstance(x, np.ndarray):
            array = cast("np.ndarray[Any, np.dtype[Any]]", x)
            shape, dtype = array.shape, str(array.dtype)
            if any(n > 1 and s % array.itemsize for n, s in zip(shape, array.strides, strict=True)):
                raise ShapeError(f"{b.name!r} is a view with gaps between its elements; pass a copy")
            strides = tuple(s // array.itemsize for s in array.strides)
            address, place = data_address(array), "cpu"
        elif hasattr(x, "data_ptr"):
            shape, dtype = tuple(x.shape), dtype_name(x.dtype)
            strides, address, place = tuple(x.stride()), x.data_ptr(), x.device.type
        else:
            raise ShapeError(f"{b.name!r} must be a torch tensor or a NumPy array, found {type(x).__name__}")
        if shape != b.shape:
            raise ShapeError(f"{b.name!r} must have shape {b.shape}, found {shape}")
        if dtype != NAMES[b.dtype]:
            raise ShapeError(f"{b.name!r} must be {NAMES[b.dtype]}, found {dtype}; convert it first")
        if place != "cpu":
            raise ShapeError(f"{b.name!r} must be in main memory, found it on {place}")
        if any(n > 1 and s != expected for n, s, expected in zip(shape, strides, b.strides, strict=True)):
            raise ShapeError(
                f"{b.name!r} must have strides {b.strides} (in elements) for its shape {b.shape}, found {strides}; "
                + _layout_advice(b)
            )
        return int(address)


DATA_OFFSET = object.__basicsize__
"""The offset of the data pointer in NumPy's array object: directly after the object header."""


def _has_data_pointer() -> bool:
    """Whether arrays of this interpreter have their data pointer at `DATA_OFFSET`."""
    if sys.implementation.name != "cpython":
        return False
    probe = np.zeros(1)
    return ctypes.c_size_t.from_address(id(probe) + DATA_OFFSET).value == probe.__array_interface__["data"][0]


def data_address(x: Array) -> int:
    """The address of an array's first element."""
    # `__array_interface__` builds a dict with all of the array's properties: 1 us per input of every call.
    return (
        ctypes.c_size_t.from_address(id(x) + DATA_OFFSET).value
        if _HAS_DATA_POINTER
        else x.__array_interface__["data"][0]
    )


_HAS_DATA_POINTER = _has_data_pointer()


def _layout_advice(b: Buffer) -> str:
    """How to get a tensor of the buffer's strides."""
    wide = sorted((s, n) for n, s in zip(b.shape, b.strides, strict=True) if n > 1)
    if any(s != prod(m for _, m in wide[:at]) for at, (s, _) in enumerate(wide)):
        return "pass a view of this layout, as at the search, or search with this tensor as the example"
    return (
        "pass x.contiguous()"
        if b.strides == tuple(sorted(b.strides, reverse=True))
        else "pass the transpose of contiguous memory"
    )


@lru_cache(8)
def _torch_dtype(name: str) -> Any:
    import torch

    return getattr(torch, name)
