"""Sizes and random inputs of the trials of two sides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from prism_explore.ir.interpreter.reference import Array
from prism_explore.ir.interpreter.whole_numbers import draw_for_trial
from prism_explore.ir.tensors import INTEGERS, NAMES, WHOLE_NUMBERS, TensorType, numpy_dtype

PRIMES = (2, 3, 5, 7, 11, 13, 17, 19)


@dataclass(frozen=True, slots=True)
class Draw:
    """A distribution of inputs."""

    name: str
    kind: Literal["uniform", "normal", "bits"]
    low: float = 0.0
    """The lower end; unused for the normal distribution."""
    high: float = 1.0
    """The upper end, or the standard deviation."""
    extreme: bool = False
    """Whether floats may overflow; only finite values are compared."""


NORMAL = Draw("standard normal", "normal")
WIDE = Draw("normal, 30 times the standard deviation", "normal", high=30.0, extreme=True)
DRAWS = (
    NORMAL,
    Draw("uniform from -0.65 to 0.75", "uniform", -0.65, 0.75),
    Draw("normal, 0.001 times the standard deviation", "normal", high=1e-3),
    Draw("uniform from 0.05 to 0.75", "uniform", 0.05, 0.75),
    Draw("each element 0 or 1", "bits"),
    WIDE,
)
"""Small inputs show an epsilon, wide ones a clamp, positive ones a root or logarithm, zeros a division or a mask."""


def draw(
    types: Mapping[str, TensorType], sizes: Mapping[str, int], how: Draw, seed: int, masks: frozenset[str] = frozenset()
) -> dict[str, Array]:
    """Random numbers for every variable, the same for the same seed; about half of a mask is 0, but no full row."""
    rng = np.random.default_rng(seed)
    made: dict[str, Array] = {}
    for name, t in types.items():
        shape = tuple(d.value(sizes) for d in t.dims)
        match how.kind:
            case "uniform":
                value = rng.uniform(how.low, how.high, shape)
            case "normal":
                value = rng.normal(0.0, how.high, shape)
            case "bits":
                value = rng.integers(0, 2, shape).astype(float)
        if t.dtype in INTEGERS:
            # An index is below every dim that is no 1, so that most code can use it.
            extents = [n for other in types.values() for d in other.dims if (n := d.value(sizes)) > 1]
            made[name] = rng.integers(0, min(extents, default=1), shape).astype(NAMES[t.dtype])
            continue
        if name in masks and value.ndim:
            kept = rng.random(value.shape) < 0.5
            rows = kept.reshape(-1, value.shape[-1])
            rows[np.arange(len(rows)), np.arange(len(rows)) % value.shape[-1]] = True
            value = np.where(kept, np.where(value == 0.0, 1.0, value), 0.0)
        if t.dtype in WHOLE_NUMBERS:
            made[name] = draw_for_trial(rng, shape, t.dtype).astype(numpy_dtype(t.dtype))
            continue
        # Numbers of float32, so that both precisions start from equal inputs.
        made[name] = np.asarray(value, np.float32).astype(np.float64)
    return made


def sizes_to_try(symbols: tuple[str, ...]) -> Iterator[dict[str, int]]:
    """Sizes of the declared symbols: all different first, then equal ones, and multiples for code that splits dims."""
    tried: list[tuple[int, ...]] = []
    count = len(symbols)
    primes = tuple(PRIMES[n % len(PRIMES)] for n in range(count))
    multiples = tuple(4 * (n + 1) for n in range(count))
    large = tuple(16 * (n + 1) for n in range(count))
    for row in (primes, primes[::-1], (1,) * count, (2,) * count, multiples, multiples[::-1], (8,) * count, large):
        if row not in tried:
            tried.append(row)
            yield dict(zip(symbols, row, strict=True))
