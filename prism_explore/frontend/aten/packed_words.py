"""Integers of 32 or 64 bits that pack numbers of few bits, as weights of GPTQ and AWQ do: the bytes of such words.

A word is no number that float32 has, so a program does not read it as one. Where code reads only a few bits of it, as
in `(word >> 20) & 15`, the program reads the bytes in which these bits are. They follow from the dtype alone, so that
the results are torch's for every word, negative ones included: `>>` copies the sign bit into the highest bits.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from typing import Any

from prism_explore.frontend.aten.integers import bits, moved, shifted
from prism_explore.frontend.aten.small_tables import numbers_of
from prism_explore.frontend.lower_aten import GUARDS, INTEGER_RANGES, Integers, Translation, Value, operator_name
from prism_explore.ir.dims import ONE, dim
from prism_explore.ir.tensors import broadcast, dtype_name

MOST_BITS = 24
"""Of a number that is read from words: as many as float32 holds exactly."""
ALL = -1
"""The mask of all bits."""
_SAME_BITS = frozenset(
    {
        *("view", "_unsafe_view", "reshape", "expand", "unsqueeze", "squeeze", "permute", "transpose", "t", "slice"),
        *("select", "clone", "contiguous", "alias", "detach", "flatten", "unflatten", "movedim", "narrow", "index"),
        *("index_select", "repeat", "repeat_interleave", "expand_as", "view_as", "reshape_as"),
    }
)
"""Operators whose results have elements of their first argument."""
_CASTS = frozenset({"to", "_to_copy", "prims::convert_element_type", "type_as"})
_AND = frozenset({"bitwise_and", "__and__"})
RIGHT_SHIFTS = frozenset({"bitwise_right_shift", "__rshift__"})
_WIDTHS: Mapping[str, int] = {name: (high - low).bit_length() for name, (low, high) in INTEGER_RANGES.items()}


def words_of(t: Translation, x: Any) -> Integers | None:
    """A traced argument as integers of which the bytes can be read; None for all else."""
    found = t.integers(t.value(x)) if hasattr(x, "op") and t.unpacks else None
    return found if found is not None and not found.offset and sys.byteorder == "little" else None


def bits_read(t: Translation, node: Any) -> int:
    """The bits of a traced integer on which what reads it depends, as a mask; `ALL` where that is not known.

    Args:
        t: the translation, which may not have come to the readers yet.
        node: a traced node.
    """
    found = 0
    for reader in node.users:
        found |= _bits_read_by(t, reader, node)
        if found == ALL:
            break
    return found


def _bits_read_by(t: Translation, reader: Any, node: Any) -> int:
    name = operator_name(reader.target)
    if name in GUARDS:
        return 0
    if reader.op != "call_function" or not reader.args or reader.all_input_nodes.count(node) != 1:
        return ALL
    if name in _AND:
        others = [t.known_constant(x) for x in reader.args if x is not node]
        number = others[0] if len(others) == 1 else None
        return int(number) if number is not None and number >= 0 else ALL
    if reader.args[0] is not node:
        return ALL
    if name in _SAME_BITS:
        return bits_read(t, reader)
    if name in _CASTS:
        width, own = (_WIDTHS.get(dtype_name(n.meta["val"].dtype)) for n in (reader, node))
        if width is None or own is None:
            return ALL
        read = bits_read(t, reader)
        if read == ALL and width >= own:
            return ALL
        return read if 0 <= read < 1 << width else (1 << width) - 1
    if name in RIGHT_SHIFTS and (amount := t.known_constant(reader.args[1])) is not None and amount >= 0:
        read = bits_read(t, reader)
        return read if read == ALL else read << int(amount)
    return ALL


def bits_of_words(t: Translation, x: Integers, mask: int, amounts: Sequence[int], along: int | None) -> Value | None:
    """Words shifted right by numbers that change along a dim, and then without the bits that a mask lacks.

    Args:
        t: the translation.
        x: the words, of which nothing changes along the dim.
        mask: the bits; `ALL` for all of the shifted words, with their sign.
        amounts: from 0 to below the width of a word; one where there is no dim.
        along: the number of the dim.

    Returns:
        The numbers, exact for every word; None where float32 may not have them.
    """
    width = 8 * t.bytes_per_word(x)
    needed = width - min(amounts) if mask == ALL else mask.bit_length()
    if needed > MOST_BITS or max(amounts) >= width:
        return None
    if along is None:
        return _at_one_amount(t, x, mask, amounts[0])
    if (found := _at_places_in_each_byte(t, x, mask, amounts, along)) is not None:
        return found
    narrow = replace(x, dims=(*x.dims[:along], ONE, *x.dims[along + 1 :]))
    parts = [_at_one_amount(t, narrow, mask, amount) for amount in amounts]
    if any(part is None for part in parts):
        return None
    return t.concatenated([part for part in parts if part is not None], along)


def _at_one_amount(t: Translation, x: Integers, mask: int, amount: int) -> int | None:
    """The sum of what each byte of a word has of the bits, and of the copies of the sign bit."""
    rank, count = len(x.dims), t.bytes_per_word(x)
    width, whole = 8 * count, t.bytes_of(x, rank)
    if whole is None:
        return None

    def byte(number: int) -> int:
        part = t.sliced(whole, rank, dim(number), dim(number + 1))
        return t.at(t.reshaped(part, t.dims_of(part)[:-1]))

    kept = (1 << width - amount) - 1 if mask == ALL else mask
    parts = [
        moved(t, bits(t, byte(number), own), 8 * number - amount)
        for number in range(count)
        if (own := kept << amount >> 8 * number & 255)
    ]
    if signs := mask >> width - amount:
        sign = t.rounded_product("floor", byte(count - 1), Fraction(1, 128))
        parts.append(t.build.scalar("mul", sign, Fraction(signs << width - amount), t.line))
    found = reduce(lambda a, b: t.build.binary("add", a, b, t.line), parts)
    half = float(1 << width - amount - 1)
    t.known_ranges[found] = (-half, half - 1.0) if mask == ALL else (0.0, float(mask))
    return t.at(t.expanded(found, x.dims))


def _at_places_in_each_byte(t: Translation, x: Integers, mask: int, amounts: Sequence[int], along: int) -> int | None:
    """The same where each byte has as many numbers, at the same places; None for all else."""
    count = t.bytes_per_word(x)
    each, rest = divmod(len(amounts), count)
    places = amounts[:each]
    in_order = [8 * byte + place for byte in range(count) for place in places]
    if rest or mask == ALL or list(amounts) != in_order or any(mask << place > 255 for place in places):
        return None
    whole = t.bytes_of(x, along)
    if whole is None:
        return None
    before, after = x.dims[:along], x.dims[along + 1 :]
    parts = [moved(t, bits(t, whole, mask << place), -place) for place in places]
    found = t.concatenated(parts, along + 1)
    t.known_ranges[found] = (0.0, float(mask))
    own = t.dims_of(found)
    merged = t.reshaped(found, (*own[:along], dim(len(amounts)), *own[along + 2 :]))
    return t.at(t.expanded(merged, (*before, dim(len(amounts)), *after)))


def shifted_right(t: Translation, x: Any, amount: Any) -> Value:
    """The row of `>>`."""
    words, read = words_of(t, x), ALL
    if words is not None and operator_name(t.node.target) in RIGHT_SHIFTS:
        read = bits_read(t, t.node)
        if (found := _shifted_words(t, words, read, amount)) is not None:
            return found
    return shifted(t, x, amount, to_right=True)


def _shifted_words(t: Translation, x: Integers, read: int, amount: Any) -> Value | None:
    number = t.known_constant(amount)
    if number is not None:
        dims = t.dims(amount) if hasattr(amount, "op") else ()
        found = bits_of_words(t, x, read, [int(number)], None) if number >= 0 and read else None
        return None if found is None else t.broadcast_with(found, dims)
    numbers = numbers_of(t, t.value(amount)) if hasattr(amount, "op") else None
    if numbers is None or not read or numbers.min() < 0:
        return None
    changing = [d for d, size in enumerate(numbers.shape) if size > 1]
    wide = t.expanded(x, broadcast((ONE,) * numbers.ndim, x.dims, t.line))
    if len(changing) > 1 or not isinstance(wide, Integers):
        return None
    amounts = [int(n) for n in numbers.reshape(-1)]
    if not changing:
        return bits_of_words(t, wide, read, amounts, None)
    along = len(wide.dims) - numbers.ndim + changing[0]
    return None if wide.groups[along] else bits_of_words(t, wide, read, amounts, along)


def with_ones(t: Translation, x: Any, y: Any) -> Value | None:
    """The bits of words where a number has ones, in either order; None for all else."""
    for words, other in ((x, y), (y, x)):
        found, number = words_of(t, words), t.known_constant(other)
        if found is not None and number is not None and number > 0:
            dims = t.dims(other) if hasattr(other, "op") else ()
            value = bits_of_words(t, found, int(number), [0], None)
            return None if value is None else t.broadcast_with(value, dims)
    return None
