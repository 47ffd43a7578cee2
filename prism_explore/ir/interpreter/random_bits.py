"""Random values of bool inputs, for trials, float assessments and timings."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def draw_bits(rng: np.random.Generator, shape: tuple[int, ...]) -> npt.NDArray[np.bool_]:
    """Random truth values; a row of two elements or more has both."""
    bits = rng.random(shape) < 0.5
    if bits.ndim and bits.size:
        rows = bits.reshape(-1, shape[-1])
        at = np.arange(len(rows))
        rows[at, (at + 1) % shape[-1]] = False
        rows[at, at % shape[-1]] = True
    return bits
