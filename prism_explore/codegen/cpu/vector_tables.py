"""Expressions over a few bits of an integer operand, which a vector register can tabulate.

A weight of 4 bits has 16 values, as many as an AVX-512 register has float32 lanes. Where a loop reads such weights and
all else in `(weight - zero_point) * scale` is the same in all iterations, the 16 results are computed in front of the
loop, and each iteration looks its own up: one permutation instead of a conversion, a mask, a subtraction and a product.
A looked-up value is computed by the same operations, so it is bit for bit what the loop would have computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from prism_explore.codegen.cpu.loop_ir import Apply, Constant, Expression, Place, Read, places_read, range_tests
from prism_explore.ir.elementwise import BINARY, UNARY
from prism_explore.ir.tensors import BYTE_INTEGERS

_EXACT: Mapping[str, Callable[..., Any]] = {
    **{name: BINARY[name].numpy for name in ("add", "drop", "keep", "max", "min", "mul", "sub")},
    **{
        name: row.numpy
        for name, row in UNARY.items()
        if row.is_step or name in ("abs", "neg", "nonzero", "positive", "relu")
    },
}
"""Operations that are exact in float32 wherever float32 holds the exact result."""


@dataclass(frozen=True, slots=True)
class BitField:
    """Adjacent bits of the integer at a place, and the value that an expression has for each number they can be."""

    place: Place
    shift: int
    """The lowest of the bits."""
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Tabulated:
    """An expression that varies in a loop only by one field of bits."""

    expression: Expression
    fields: tuple[tuple[Expression, BitField], ...]
    """Its parts that depend on nothing but those bits."""

    @property
    def place(self) -> Place:
        """Of the integer."""
        return self.fields[0][1].place

    @property
    def shift(self) -> int:
        """The lowest of the bits."""
        return self.fields[0][1].shift


def tabulated(e: Expression, along: str, entries: int, *, alone: bool = False) -> Iterator[Tabulated]:
    """The largest parts of an expression that a table can replace in a loop over `along`.

    Args:
        e: the expression.
        along: the loop's variable, over which the integers are adjacent in memory, or in adjacent words.
        entries: the size of a table, a power of two.
        alone: whether a part may depend on nothing but the bits.
    """
    fields = _fields(e, along, entries)
    if fields and len({(f.place, f.shift) for _, f in fields}) == 1 and (not alone or fields[0][0] == e):
        yield Tabulated(e, fields)
    elif isinstance(e, Apply):
        for part in e.args:
            yield from tabulated(part, along, entries, alone=alone)


def _fields(e: Expression, along: str, entries: int) -> tuple[tuple[Expression, BitField], ...] | None:
    """The parts by which an expression varies, if all are fields of bits; empty if it does not vary."""
    if not any(along in x.variables for x in (*places_read(e), *range_tests(e))):
        return ()
    if (field := bit_field(e, entries)) is not None and (
        field.place.stride(along) == 1 or field.place.is_byte_of_words(along)
    ):
        return ((e, field),)
    if not isinstance(e, Apply):
        return None
    found: dict[Expression, BitField] = {}
    for part in e.args:
        fields = _fields(part, along, entries)
        if fields is None:
            return None
        found.update(fields)
    return tuple(found.items())


def bit_field(e: Expression, entries: int) -> BitField | None:
    """An expression of one 8-bit integer as a function of some of its bits; None where it needs more of them.

    Args:
        e: the expression.
        entries: how many numbers the bits can be at most, a power of two.
    """
    places = {*places_read(e)}
    if len(places) != 1 or [*range_tests(e)]:
        return None
    (place,) = places
    if place.buffer.dtype not in BYTE_INTEGERS:
        return None
    bits = np.arange(256, dtype=np.uint8)
    results = _evaluated(e, bits.view(np.int8) if place.buffer.dtype == "i8" else bits)
    if results is None:
        return None
    for shift in range(8):
        numbers = (bits >> shift) & (entries - 1)
        values = results[np.arange(entries) << shift & 255]
        if np.array_equal(values[numbers], results):
            return BitField(place, shift, tuple(map(float, values)))
    return None


def _evaluated(e: Expression, integers: np.ndarray) -> np.ndarray | None:
    """The values of an expression; None if float32 operations could round one of them."""
    match e:
        case Read():
            values = integers.astype(np.float64)
        case Constant(value):
            values = np.full(integers.shape, float(value))
        case Apply(fn, args) if fn in _EXACT:
            operands = [_evaluated(a, integers) for a in args]
            if any(x is None for x in operands):
                return None
            values = _EXACT[fn](*operands)
        case _:
            return None
    return values if np.array_equal(values.astype(np.float32), values) else None
