"""Functions that are tables of numbers: codebooks of 4-bit and 8-bit weights, formats of 8-bit floats.

The name of such a function is its definition: `table16_` and 4 hexadecimal digits per entry for bfloat16 numbers,
`table32_` and 8 for float32, `table64_` and 16 for float64; or the name of an 8-bit float format. So equal names are
equal functions, a name in a file is all that there is to read, and every process knows what it means.

At a whole number n from 0 on the value is entry n. Elsewhere it is the entry whose position is nearest, so that the
function has a value for all numbers and never reads beyond its table. The frontend makes tables for positions that are
in range only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from prism_explore.support.caches import memoize

Array: TypeAlias = npt.NDArray[np.float64]
MOST_ENTRIES = 256
"""As many as 8 bits have values."""
FLOAT8: dict[str, str] = {
    f"from_{name}": name
    for name in ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu")
}
"""Functions from the bits of an 8-bit float, as a whole number from 0 to 255, to the float: per name the format."""
FLOAT8_FORMATS = frozenset(FLOAT8.values())
"""Their names in torch."""
_Width: TypeAlias = Literal[16, 32, 64]
_WIDTHS: tuple[_Width, ...] = (16, 32, 64)
_NAME = re.compile(r"table(16|32|64)_([0-9a-f]+)")


def table_name(entries: Sequence[float] | Array) -> str:
    """The name of the function that has these values at 0, 1, 2, ...

    Args:
        entries: 1 to `MOST_ENTRIES` numbers; infinities and NaN may be among them.
    """
    values = np.asarray(entries, np.float64)
    assert values.ndim == 1 and 1 <= values.size <= MOST_ENTRIES, "callers have small tables"
    width: _Width = next(w for w in _WIDTHS if np.array_equal(_decoded(_encoded(values, w), w), values, equal_nan=True))
    return f"table{width}_{''.join(f'{int(bits):0{width // 4}x}' for bits in _encoded(values, width))}"


@memoize(512)
def entries_of(name: str) -> Array | None:
    """The values of a tabulated function at 0, 1, 2, ...; None for a name that is none of these functions."""
    if name in FLOAT8:
        import ml_dtypes

        kind = np.dtype(getattr(ml_dtypes, FLOAT8[name]))
        found = np.arange(256, dtype=np.uint8).view(kind).astype(np.float64)
        found.setflags(write=False)
        return found
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    width: _Width = next(w for w in _WIDTHS if match[1] == str(w))
    digits = width // 4
    count, rest = divmod(len(match[2]), digits)
    if rest or count > MOST_ENTRIES:
        return None
    bits = [int(match[2][n * digits : (n + 1) * digits], 16) for n in range(count)]
    found = _decoded(np.array(bits, np.uint64), width)
    if table_name(found) != name:  # one function has one name
        return None
    found.setflags(write=False)
    return found


def function_label(name: str) -> str:
    """A name for readers: that of a long table says how many entries it has."""
    if not name.startswith("table") or (entries := entries_of(name)) is None:
        return name
    return f"table_of_{entries.size}"


def looked_up(entries: Array, x: Any) -> Any:
    """The values of a tabulated function: of the dtype of x, an array of floats."""
    positions = np.nan_to_num(np.asarray(x, np.float64))
    found = entries[np.clip(np.rint(positions), 0, entries.size - 1).astype(np.intp)]
    return found if x.dtype == object else found.astype(x.dtype)


def _encoded(values: Array, width: _Width) -> npt.NDArray[np.uint64]:
    """The bits of numbers; those of bfloat16 are the upper half of float32's. Each NaN is the same one."""
    with np.errstate(over="ignore"):
        narrow = values.astype(np.float64 if width == 64 else np.float32)
    narrow[np.isnan(narrow)] = np.nan
    bits = narrow.view(np.uint64 if width == 64 else np.uint32).astype(np.uint64)
    return bits >> np.uint64(16) if width == 16 else bits


def _decoded(bits: npt.NDArray[np.uint64], width: _Width) -> Array:
    if width == 64:
        return bits.view(np.float64)
    wide = bits << np.uint64(16) if width == 16 else bits
    return wide.astype(np.uint32).view(np.float32).astype(np.float64)
