"""Inputs of a program for checking and timing: random arrays, and a ring of copies that keeps the caches cold."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import accumulate
from math import ceil, prod
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import as_strided

from prism_explore.codegen.cpu.call_memory import CANARY
from prism_explore.ir.analysis.table_inputs import drawn_numbers
from prism_explore.ir.dims import ONE, Dim
from prism_explore.ir.interpreter.reference import Array
from prism_explore.ir.interpreter.whole_numbers import draw_whole_numbers
from prism_explore.ir.program import TensorProgram
from prism_explore.ir.tensors import INTEGERS, WHOLE_NUMBERS, TensorType, numpy_dtype
from prism_explore.targets.cpus import cores
from prism_explore.tune.runner.guarded_memory import Guarded

RING_BYTES = 2 << 30
"""Memory limit of a ring. If it is too small for a cold cache, `InputRing.is_cold` is False."""

MOST_SLOTS = 1 << 15
"""Limit on the number of copies: inputs of a few bytes would need millions to fill a cache."""

PERIOD = 1_048_573
"""Random values of an input after which they repeat: 90 million take 1.5 s to draw, and a fifth of that to copy. It is
a prime number, so that no two rows and no two tiles have the same values."""

ALIGNMENT = 64
"""Of every copy, in bytes."""

GAP_BYTES = 64
"""Least distance of two arrays."""


Guard: TypeAlias = Literal["start", "end"]

Transposed: TypeAlias = Mapping[str, tuple[str, tuple[int, ...]]]
"""Inputs with the values of an earlier one, its dims in another order: its name, and for each dim the dim of it. They
have memory of their own."""


class InputRing:
    """Copies of a program's inputs, read in turn; enough copies that none is still in a cache when its turn comes.

    The inputs are drawn into the first copy. The others are made at the first use, or in the background after
    `start_filling`. Writing memory for the first time can take seconds per GB on a virtual machine, so another thread
    may do that while the inputs are drawn. Canaries before and after each array show whether a kernel wrote beyond it.
    """

    def __init__(
        self,
        program: TensorProgram,
        shapes: Mapping[str, int],
        seed: int,
        cold_bytes: int,
        most_bytes: int = RING_BYTES,
        *,
        is_filled_soon: bool = False,
        transposed: Transposed = MappingProxyType({}),
    ) -> None:
        """Allocate the ring, and draw the inputs; see `random_inputs`.

        Args:
            program: whose inputs to draw.
            shapes: values of its symbols.
            seed: of the inputs.
            cold_bytes: least size of all copies together.
            most_bytes: their largest size.
            is_filled_soon: whether the memory of all copies is written for the first time from now on, in the
                background.
            transposed: inputs that are not drawn.

        Raises:
            ShapeError: a symbol has no value in `shapes`.
        """
        self._layouts = [_Layout.of(i.type, shapes) for i in program.inputs]
        read_bytes = sum(i.type.bytes.value(shapes) for i in program.inputs)
        copy_bytes = sum(layout.span_bytes for layout in self._layouts)
        wanted = max(3, ceil(cold_bytes / read_bytes) + 1)
        self.slots = max(1, min(wanted, most_bytes // copy_bytes, MOST_SLOTS))
        self.is_cold = self.slots * read_bytes >= cold_bytes and self.slots > 1
        self._slot_bytes = sum(layout.spaced_bytes for layout in self._layouts)
        self._memory = _zeros(GAP_BYTES + self.slots * self._slot_bytes)
        self._memory[:GAP_BYTES] = CANARY
        self._touching = _first_written(self._memory[GAP_BYTES + self._slot_bytes :]) if is_filled_soon else None
        names = [i.name for i in program.inputs]
        own = dict(zip(names, self._slot(0), strict=True))
        self.drawn = random_inputs(program, shapes, seed, own, transposed)
        """The first copy, by the names of the inputs."""
        self._set_canaries(0)
        self._inputs: list[tuple[Any, ...]] = []
        self._filling: tuple[Future[None], ...] = ()
        self._position = 0
        self._unchecked = 0
        """Copies that were read since their canaries were last compared."""

    def start_filling(self) -> None:
        """Make the copies in the background, on all cores; a second call does nothing."""
        if self._filling or self._inputs:
            return
        self._await_touching()
        first, others = self._slots[0], np.array_split(self._slots[1:], cores())
        pool = ThreadPoolExecutor(len(others))
        self._filling = tuple(pool.submit(np.copyto, own, first) for own in others)  # with its canaries
        pool.shutdown(wait=False)

    @property
    def unfilled(self) -> npt.NDArray[np.uint8]:
        """The memory of the copies that are made after the first one, to be used until `start_filling`."""
        self._await_touching()
        return self._memory[GAP_BYTES + self._slot_bytes :]

    def _await_touching(self) -> None:
        """Wait until the other thread does not write the memory of the copies any more."""
        if self._touching is not None:
            self._touching.result()

    def _slot(self, slot: int) -> tuple[Array, ...]:
        """The arrays of a copy, as they are in the memory."""
        own = self._slots[slot]
        return tuple(layout.view(own[at:]) for layout, at in zip(self._layouts, self._starts, strict=True))

    @property
    def _slots(self) -> npt.NDArray[np.uint8]:
        """The memory of each copy: per input the array, and the gap after it."""
        return self._memory[GAP_BYTES:].reshape(self.slots, self._slot_bytes)

    @property
    def _starts(self) -> list[int]:
        """Where each array begins in the memory of a copy."""
        return list(accumulate((layout.spaced_bytes for layout in self._layouts[:-1]), initial=0))

    def _gaps(self) -> list[slice]:
        """The canaries after each array in the memory of a copy."""
        return [
            slice(at + x.span_bytes, at + x.spaced_bytes) for at, x in zip(self._starts, self._layouts, strict=True)
        ]

    def _set_canaries(self, slot: int) -> None:
        for gap in self._gaps():
            self._slots[slot, gap] = CANARY

    def are_canaries_intact(self) -> bool:
        """Whether nothing was written next to the copies that were read since the last call."""
        used = min(self._unchecked, self.slots)
        self._unchecked = 0
        if not used:
            return True
        # The canary before a copy is the last one of the copy before it.
        at = np.arange(self._position - used, self._position + 1) % self.slots
        spaces = (self._memory[:GAP_BYTES], *(self._slots[at, gap] for gap in self._gaps()))
        return all(bool((space == CANARY).all()) for space in spaces)

    def next(self) -> tuple[Any, ...]:
        """The least recently read copy."""
        self._position = (self._position + 1) % self.slots
        self._unchecked += 1
        return self.all[self._position]

    def convert(self, to: Callable[[Array], Any]) -> None:
        """Replace every array by `to(array)`, such as a tensor on a device."""
        self._inputs = [tuple(map(to, inputs)) for inputs in self.all]

    @property
    def all(self) -> Sequence[tuple[Any, ...]]:
        """Every copy."""
        if not self._inputs:
            self.start_filling()
            for filling in self._filling:
                filling.result()
            copies = [layout.views(self._slots[:, at:]) for layout, at in zip(self._layouts, self._starts, strict=True)]
            self._inputs = [tuple(of_input[slot, ...] for of_input in copies) for slot in range(self.slots)]
            self._filling = ()
        return self._inputs

    @property
    def as_floats(self) -> npt.NDArray[np.float32]:
        """The memory of all copies, as float32; empty if there are bool inputs, which would be subnormal numbers."""
        if any(layout.dtype == np.bool_ for layout in self._layouts):
            return np.zeros(0, dtype=np.float32)
        assert self.all, "filled by reading them"
        return self._memory.view(np.float32)

    @property
    def position(self) -> int:
        """The index of the copy that `next` returned last."""
        return self._position


@dataclass(frozen=True, slots=True)
class _Layout:
    """How an input lies in memory."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """In elements."""
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, given: TensorType, shapes: Mapping[str, int]) -> _Layout:
        """That of a type, with these values of its symbols."""
        shape = given.shape_at(shapes)
        return cls(shape, given.strides_at(shapes), np.dtype(numpy_dtype(given.dtype)))

    @property
    def span_bytes(self) -> int:
        """The memory from the first to the last element."""
        return (1 + sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True))) * self.dtype.itemsize

    @property
    def spaced_bytes(self) -> int:
        """The memory that it takes with a gap after it, if the next array is aligned."""
        return ceil((self.span_bytes + GAP_BYTES) / ALIGNMENT) * ALIGNMENT

    def view(self, memory: npt.NDArray[np.uint8]) -> Array:
        """The beginning of the memory as an array in this layout."""
        own = memory[: self.span_bytes].view(self.dtype)
        return as_strided(own, self.shape, [s * self.dtype.itemsize for s in self.strides])

    def views(self, rows: npt.NDArray[np.uint8]) -> Array:
        """`view` of each row, as one array: to make thousands of views one by one takes a second."""
        first = self.view(rows[0])
        return as_strided(first, (len(rows), *first.shape), (rows.strides[0], *first.strides))


def laid_out(
    program: TensorProgram,
    inputs: Mapping[str, Array],
    shapes: Mapping[str, int],
    write: Callable[[Array, Array], None] = np.copyto,
    guard: Guard | None = None,
    transposed: Transposed = MappingProxyType({}),
) -> dict[str, Array]:
    """The inputs in the memory layout of their types; elements that share memory get one value.

    Args:
        program: the program.
        inputs: an array per input.
        shapes: values of its symbols.
        write: writes an input, or a change of it, into new memory: its first argument.
        guard: the end of each input that is next to a page without access; who writes such an input afterwards ends
            the process. Aligned memory if None.
        transposed: inputs that have the values of others.
    """
    found: dict[str, Array] = {}
    for i in program.inputs:
        layout = _Layout.of(i.type, shapes)
        guarded = None if guard is None else Guarded.new(layout.span_bytes, at_end=guard == "end")
        found[i.name] = layout.view(_zeros(layout.span_bytes) if guarded is None else guarded.memory)
        if i.name in transposed:
            np.copyto(found[i.name], _transposed(found, transposed[i.name]))
        else:
            write(found[i.name], inputs[i.name])
        if guarded is not None:
            guarded.forbid_writing()
    return found


def _first_written(memory: npt.NDArray[np.uint8]) -> Future[None]:
    """Write a byte of every page of new memory, in another thread; it stays zeros."""
    pool = ThreadPoolExecutor(1)
    touching = pool.submit(memory[:: mmap.PAGESIZE].fill, 0)
    pool.shutdown(wait=False)
    return touching


def _zeros(size: int) -> npt.NDArray[np.uint8]:
    """Aligned bytes; the system provides a page when it is first written."""
    buffer = np.zeros(size + ALIGNMENT, dtype=np.uint8)
    return buffer[-buffer.ctypes.data % ALIGNMENT :][:size]


def random_inputs(
    program: TensorProgram,
    shapes: Mapping[str, int],
    seed: int | np.random.Generator,
    into: Mapping[str, Array] | None = None,
    transposed: Transposed = MappingProxyType({}),
) -> dict[str, Array]:
    """Normally distributed random values for every input; random whole numbers for one of bool, i8 or u8.

    Args:
        program: the program.
        shapes: values of its symbols.
        seed: a seed, or a generator that continues.
        into: where to write them, an array per input; new memory if None.
        transposed: inputs that have the values of others.

    Raises:
        ShapeError: a symbol has no value in `shapes`.
    """
    rng = np.random.default_rng(seed)
    inputs: dict[str, Array] = {}
    whole = drawn_numbers(program.graph)
    for i in program.inputs:
        shape = i.type.shape_at(shapes)
        place = None if into is None else into[i.name]
        drawn: Array
        if i.name in transposed:
            drawn = _transposed(inputs, transposed[i.name])
        elif limits := _position_limits(program, {i.name, *(n for n, (of, _) in transposed.items() if of == i.name)}):
            below = min(d.value(shapes) for d in limits)
            drawn = np.asarray(rng.integers(below, size=shape)).astype(numpy_dtype(i.type.dtype), copy=False)
        elif i.type.dtype in WHOLE_NUMBERS:
            drawn = draw_whole_numbers(rng, shape, whole[i.name])
        else:
            drawn = _normal(rng, shape, i.type.storage_order, place).astype(numpy_dtype(i.type.dtype), copy=False)
        if place is not None and drawn is not place:
            place[...] = drawn
        inputs[i.name] = drawn if place is None else place
    return inputs


def _position_limits(program: TensorProgram, names: set[str]) -> tuple[Dim, ...]:
    """Sizes that positions stay below where some of the inputs, which have the same values, are positions."""
    positions = [i.name for i in program.inputs if i.name in names and i.type.dtype in INTEGERS]
    return tuple(d for name in positions for d in program.graph.index_limits.get(name, (ONE,)))


def _transposed(inputs: Mapping[str, Array], view: tuple[str, tuple[int, ...]]) -> Array:
    of, axes = view
    return inputs[of].transpose(axes)


def _normal(rng: np.random.Generator, shape: tuple[int, ...], order: tuple[int, ...], place: Array | None) -> Array:
    """Random float32 values in the order in which they are stored; written into `place` where that is possible."""
    if place is not None and place.dtype == np.float32 and (stored := place.transpose(order)).flags.c_contiguous:
        _fill_normal(rng, stored.reshape(-1))
        return place
    flat = np.empty(prod(shape), np.float32)
    _fill_normal(rng, flat)
    return flat.reshape([shape[d] for d in order]).transpose(np.argsort(order))


def _fill_normal(rng: np.random.Generator, flat: npt.NDArray[np.float32]) -> None:
    """Draw the first `PERIOD` values, and repeat them."""
    done = min(PERIOD, flat.size)
    rng.standard_normal(dtype=np.float32, out=flat[:done])
    while done < flat.size:  # the values so far are whole periods
        more = min(done, flat.size - done)
        flat[done : done + more] = flat[:more]
        done += more
