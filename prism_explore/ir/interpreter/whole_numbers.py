"""Random values of inputs whose elements are whole numbers, for trials, float assessments and timings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from prism_explore.ir.tensors import INTEGER_NUMBERS, WHOLE_NUMBERS, DType, numpy_dtype

_SMALL = 3
_SHARE_OF_SMALL = 0.75
_SHARE_OF_ENDS = 0.125
"""Of the elements of a trial: the smallest or the largest number of the dtype, where integers wrap around."""


@dataclass(frozen=True, slots=True)
class TableBytes:
    """The numbers to draw for an input that a table is read with; see `ir.analysis.table_inputs`."""

    dtype: DType
    moderate: tuple[int, ...]
    """Those for which the table has numbers of moderate size."""
    finite: tuple[int, ...]


Drawn: TypeAlias = DType | TableBytes
"""How to draw an input: any number of the dtype, or some of them."""


def draw_bits(rng: np.random.Generator, shape: tuple[int, ...]) -> npt.NDArray[np.bool_]:
    """Random truth values; a row of two elements or more has both."""
    bits = rng.random(shape) < 0.5
    if bits.ndim and bits.size:
        rows = bits.reshape(-1, shape[-1])
        at = np.arange(len(rows))
        rows[at, (at + 1) % shape[-1]] = False
        rows[at, at % shape[-1]] = True
    return bits


def draw_whole_numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: Drawn) -> npt.NDArray[Any]:
    """Random numbers of a dtype, all equally likely; truth values as `draw_bits` gives them.

    Those of 32 and 64 bits are positions, classes and flags in models, and small here.

    Args:
        rng: the source of randomness.
        shape: of the result.
        dtype: one of `WHOLE_NUMBERS`, or the numbers to choose from.

    Returns:
        An array of that dtype.
    """
    if isinstance(dtype, TableBytes):
        return rng.choice(np.array(dtype.moderate, numpy_dtype(dtype.dtype)), shape)
    if dtype == "bool":
        return draw_bits(rng, shape)
    low, high = (0, _SMALL) if dtype in INTEGER_NUMBERS else WHOLE_NUMBERS[dtype]
    return rng.integers(low, high, shape, numpy_dtype(dtype), endpoint=True)


def draw_for_trial(rng: np.random.Generator, shape: tuple[int, ...], dtype: Drawn) -> npt.NDArray[np.float64]:
    """The same for comparisons of programs: mostly of small magnitude, so that exponentials of sums are finite.

    Args:
        rng: the source of randomness.
        shape: of the result.
        dtype: one of `WHOLE_NUMBERS`, or the numbers to choose from.
    """
    if isinstance(dtype, TableBytes):
        chosen = dtype.moderate if rng.random() < _SHARE_OF_SMALL else dtype.finite
        return rng.choice(np.array(chosen, np.float64), shape)
    if dtype != "bool" and rng.random() < _SHARE_OF_SMALL:
        low, high = WHOLE_NUMBERS[dtype]
        return rng.integers(max(low, -_SMALL), min(high, _SMALL), shape, endpoint=True).astype(np.float64)
    drawn: DType = "i8" if dtype in INTEGER_NUMBERS else dtype
    found = draw_whole_numbers(rng, shape, drawn).astype(np.float64)
    if dtype == "bool":
        return found
    return np.where(rng.random(shape) < _SHARE_OF_ENDS, rng.choice(WHOLE_NUMBERS[drawn], shape), found)
