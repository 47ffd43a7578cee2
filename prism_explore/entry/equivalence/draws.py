"""Sizes and random inputs of the trials of two sides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Literal

import numpy as np

from prism_explore.ir.graph import SGraph
from prism_explore.ir.interpreter.reference import Array
from prism_explore.ir.interpreter.whole_numbers import draw_for_trial
from prism_explore.ir.ops import Scalar, Unary
from prism_explore.ir.tensors import INTEGERS, NAMES, WHOLE_NUMBERS, TensorType, numpy_dtype

PRIMES = (2, 3, 5, 7, 11, 13, 17, 19)


@dataclass(frozen=True, slots=True)
class Draw:
    """A distribution of inputs."""

    name: str
    kind: Literal["uniform", "normal", "bits", "numbers"]
    low: float = 0.0
    """The lower end; unused for the normal distribution."""
    high: float = 1.0
    """The upper end, or the standard deviation."""
    extreme: bool = False
    """Whether floats may overflow; only finite values are compared."""
    numbers: tuple[float, ...] = ()
    """What elements are chosen from, with either sign, for `numbers`."""
    below: int = 0
    """The number below which positions are, if not 0; one is then the largest."""


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


MOST_NUMBERS = 256
"""Of which elements are chosen."""
_SIGNS = ((1.0,), (-1.0,), (1.0, -1.0))
_ROUNDINGS = frozenset({"floor", "ceil", "round", "trunc"})


def near_numbers_of(graphs: Iterable[SGraph]) -> Draw | None:
    """Elements at the numbers of the code and near to them: two sides may differ only at a threshold or beyond it.

    Returns:
        None where the graphs have no numbers.
    """
    nodes = [node.op for graph in graphs for node in graph.nodes]
    scalars = [(op.fn, float(op.value)) for op in nodes if isinstance(op, Scalar)]
    added = {x for fn, x in scalars if fn != "mul"} - {0.0}
    factors = {x for fn, x in scalars if fn == "mul"} - {0.0}
    found = dict.fromkeys(x for x in sorted(added | factors, key=abs) if x not in (1.0, -1.0))
    sums = added | {a + s * b for a, b in combinations(sorted(added), 2) for s in (1, -1)}
    found |= dict.fromkeys(a / f for a in sorted(sums, key=abs) for f in sorted(factors | {1.0}, key=abs))
    has_roundings = any(isinstance(op, Unary) and op.fn in _ROUNDINGS for op in nodes)
    if not found and not has_roundings:
        return None
    near = (y for x in found for y in (x, x * (1 + 2**-10), x * (1 - 2**-10), x + 1, x - 1, 2 * x))
    halves = [n / 2 for n in range(8)] if has_roundings else [0.0, 1.0]
    numbers = tuple(dict.fromkeys((*islice(map(abs, near), MOST_NUMBERS), *halves)))
    return Draw("elements at the numbers of the code and near to them", "numbers", extreme=True, numbers=numbers)


def draw(
    types: Mapping[str, TensorType], sizes: Mapping[str, int], how: Draw, seed: int, masks: frozenset[str] = frozenset()
) -> dict[str, Array]:
    """Random numbers for every variable, the same for the same seed; no full row of a mask is 0."""
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
            case "numbers":
                numbers = np.sort(np.abs(how.numbers))
                small = numbers[: rng.integers(1, len(numbers) + 1)]  # a large one hides what small ones show
                chosen = rng.choice(small, shape) * rng.choice(_SIGNS[rng.integers(len(_SIGNS))], shape)
                value = np.where(rng.random(shape) < 0.2, rng.normal(0.0, 1.0, shape), chosen)
        if t.dtype in INTEGERS:
            positions = rng.integers(0, how.below or least_size(types, sizes), shape)
            if how.below:
                positions.flat[:1] = how.below - 1
            made[name] = positions.astype(NAMES[t.dtype])
            continue
        is_of_rows = how.kind == "numbers" and t.dtype == "bool"
        if (name in masks or is_of_rows) and value.ndim:
            share = rng.choice([0.1, 0.9, 1.0], (*value.shape[:-1], 1)) if how.kind == "numbers" else 0.5
            kept = rng.random(value.shape) < share
            rows = kept.reshape(-1, value.shape[-1])
            rows[np.arange(len(rows)), np.arange(len(rows)) % value.shape[-1]] = True
            value = np.where(kept, np.where(value == 0.0, 1.0, value), 0.0)
        if t.dtype in WHOLE_NUMBERS:
            whole = (value != 0.0) if is_of_rows else draw_for_trial(rng, shape, t.dtype)
            made[name] = whole.astype(numpy_dtype(t.dtype))
            continue
        # Numbers of float32, so that both precisions start from equal inputs.
        made[name] = np.asarray(value, np.float32).astype(np.float64)
    return made


def least_size(types: Mapping[str, TensorType], sizes: Mapping[str, int]) -> int:
    """The least dim of all variables that is no 1: an index below it can be used by most code."""
    return min((n for t in types.values() for d in t.dims if (n := d.value(sizes)) > 1), default=1)


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
